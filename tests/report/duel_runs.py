"""A run that compares three systems on eight documents, by a rule with hand-counted results.

aster and birch: aster wins both orders on d0 to d6, the one shown first on d7: (7 + 0.5) / 8 = 0.9375, 1 flip of 8.
aster and cedar: the one shown first wins: 0.5, 8 flips of 8.
birch and cedar: unparsed on d0; on d1 to d4 a tie if birch is shown first, else birch wins: (0.5 + 1) / 2 = 0.75;
    on d5 to d7 cedar wins both orders: 0. The mean is (4 * 0.75) / 7 = 3/7, with 1 missing and no flip of 7.
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
    """Return one flat row per summary."""
    return [
        {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}.", "summary": f"Rain, says {system}."}
        for n in range(documents)
        for system in systems
    ]


def value(document: int, first: str, second: str) -> float | None:
    """Return the verdict with `first` shown first: 1 if it wins, 0 if it loses, 0.5 for a tie."""
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
    """Compare a summary, shown first, with each other one."""
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
    """Return the run, with further judges if given."""
    return fake.make(folder, rows(), ((DUEL, duel), *judges))
