"""A run that compares three systems on eight documents, by a rule whose numbers can be counted by hand.

aster against birch: aster both times on d0 to d6; on d7 whoever is shown first: (7 + 0.5) / 8 = 0.9375, 1 flip of 8.
aster against cedar: whoever is shown first: 0.5, 8 flips of 8.
birch against cedar: unparsed on d0; on d1 to d4 equal when birch is shown first, else birch: (0.5 + 1) / 2 = 0.75;
    on d5 to d7 cedar both times: 0. In all (4 * 0.75) / 7 = 3/7, 1 missing, no flip of 7.
"""

from __future__ import annotations

from pathlib import Path

from report import fake_runs as fake

from summeter.records import Document, Judgment, Summary
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

SYSTEMS = ("aster", "birch", "cedar")
DUEL = JudgeEntry(
    name="mock.duel", signature="mock.duel|judge:scripted/one|v:1", model="scripted/one",
    models={"judge": "scripted/one"}, aspects=("fluency",), reduce="mean", file="mock.duel",
)  # fmt: skip


def rows(systems: tuple[str, ...] = SYSTEMS, documents: int = 8) -> list[fake.Row]:
    """Flat rows."""
    return [
        {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}.", "summary": f"Rain, says {system}."}
        for n in range(documents)
        for system in systems
    ]


def value(document: int, first: str, second: str) -> float | None:
    """The verdict with `first` shown first: 1 it wins, 0 it loses."""
    pair = tuple(sorted((first, second)))
    if pair == ("aster", "cedar") or (pair == ("aster", "birch") and document == 7):
        return 1.0
    if pair == ("aster", "birch"):
        return float(first == "aster")
    if document == 0:
        return None
    if document < 5:
        return 0.5 if first == "birch" else 0.0
    return float(first == "cedar")


def duel(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """The summary against each other one, shown first."""
    made = []
    for rival in SYSTEMS:
        if rival != summary.system:
            found = value(int(document.id[1:]), summary.system, rival)
            fields: fake.Row = {"unit": "pair", "rival": rival}
            fields |= {"value": found, "reason": f"{rival} says less"} if found is not None else {
                "status": "unparsed", "reason": "no letter"}  # fmt: skip
            made.append(fake.judgment(document, summary, entry, "fluency", **fields))
    return made


def make(folder: Path, *judges: tuple[JudgeEntry, fake.Judge]) -> RunFolder:
    """The run, with other judges beside the one that compares."""
    return fake.make(folder, rows(), ((DUEL, duel), *judges))
