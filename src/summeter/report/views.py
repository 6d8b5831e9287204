"""What a report reads of each run: data, scores, table, sources, and judgments one summary at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase

import numpy as np

from summeter.data.dataset import Dataset
from summeter.records import JudgeKey, KeyFacts, judge_names
from summeter.report.words import scale_of
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.places import HumanReader, RunReader
from summeter.runs.run import RunFolder, prepared_rows
from summeter.scoring import PairScore, ScoreTable, SystemTable
from summeter.scoring.table import Question

LISTED = 20_000
"""Summaries up to which a page lists all; of more it lists the WORST by the score that ranks, and as many DRAWN."""
WORST, DRAWN = 1000, 1000

Summaries = frozenset[tuple[str, str]]
"""(document, system) of some summaries."""


@dataclass(frozen=True)
class Source:
    """One judge with one signature in one run: where verdicts come from. `label` tells it from the others; `reduction`
    says how its judgments become a score."""

    run: int
    letter: str
    entry: JudgeEntry
    label: str
    reduction: str

    @property
    def key(self) -> tuple[int, str, str]:
        """The run's number, the judge and its signature."""
        return self.run, self.entry.name, self.entry.signature


@dataclass(frozen=True)
class RunView:
    """A run as a report reads it. `letter` tells runs apart where there are several, else it is empty. `listed` are the
    summaries that the page lists, None for all."""

    place: int
    letter: str
    folder: RunFolder
    listed: Summaries | None = None

    @property
    def manifest(self) -> Manifest:
        """The run's manifest."""
        return self.folder.manifest

    @property
    def name(self) -> str:
        """The folder's own name; local paths are not written."""
        return self.folder.folder.resolve().name

    @property
    def seed(self) -> int:
        """The seed of every interval of this run."""
        return self.folder.seed

    @cached_property
    def data(self) -> Dataset:
        """The run's own copy of the data."""
        return self.folder.data

    @cached_property
    def shown(self) -> Dataset:
        """The documents of the summaries that the page lists."""
        return self.data if self.listed is None else self.data.with_documents({document for document, _ in self.listed})

    @cached_property
    def items(self) -> RunReader:
        """The judgments of any summary, read when they are asked for."""
        return RunReader(self.folder, self.listed)

    @cached_property
    def scores(self) -> ScoreTable:
        """One score a summary, judge and aspect."""
        return self.folder.totals.scores

    @cached_property
    def table(self) -> SystemTable:
        """Means of systems, as in the run's summary.json."""
        return self.folder.totals.systems

    @cached_property
    def pairs(self) -> list[PairScore]:
        """Mean preferences of pairs of systems, as in the run's summary.json."""
        return self.folder.totals.pairs

    @cached_property
    def coverage(self) -> float | None:
        """Share of what was to be judged that could be, each summary and aspect counting once."""
        return self.folder.totals.coverage

    @cached_property
    def judged(self) -> set[tuple[str, str]]:
        """(document, system) of every summary that was judged, alone or in a pair."""
        return set(self.items.items())

    @cached_property
    def people(self) -> HumanReader:
        """Judgments of people on the same summaries, where the data hold any, read when they are asked for."""
        return HumanReader(self.folder, self.listed)

    @cached_property
    def key_facts(self) -> dict[str, KeyFacts]:
        """Every list of key facts a judgment on the page may name, by id."""
        lists = [
            KeyFacts.of(document.key_facts, "given") for document in self.shown.documents.values() if document.key_facts
        ]
        for judge in self.manifest.judges:
            # What an evaluator derived: prepared data that hold `key_facts` (texts) and their `origin`.
            rows = prepared_rows(self.folder.folder / "prepared" / f"{judge.file}.jsonl")
            lists += [facts for _, row in rows if (facts := _facts(row["data"])) is not None]
        # The list given with the data wins over an equal one from elsewhere.
        return {facts.id: facts for facts in reversed(lists)}

    @cached_property
    def judges(self) -> list[JudgeEntry]:
        """The evaluators that judge (not those that only prepare)."""
        return [judge for judge in self.manifest.judges if not judge.prepares_only]


def views(runs: Sequence[RunFolder]) -> list[RunView]:
    """One view a run; letters where there is more than one."""
    many = len(runs) > 1
    listed = _listed(runs)
    return [RunView(place, _letter(place) if many else "", run, listed) for place, run in enumerate(runs)]


def _listed(runs: Sequence[RunFolder]) -> Summaries | None:
    """The summaries that a page lists of runs that are too large to list all: the lowest by the score that ranks
    the systems of the first run, and others drawn at random (seed 0); None where all are."""
    if sum(run.manifest.data.summaries for run in runs) <= LISTED:
        return None
    scores = runs[0].totals.scores
    column = runs[0].totals.systems.lead()
    if column is None:
        return frozenset()
    lead = scores.take(scores.question(Question(*column)))
    order = np.argsort(lead.value, kind="stable")  # unknown values last
    worst, rest = order[:WORST], order[WORST:]
    drawn = np.random.default_rng(0).choice(rest, min(DRAWN, len(rest)), replace=False)
    chosen = lead.take(np.concatenate([worst, drawn]))
    return frozenset(zip(chosen.document.labels(), chosen.system.labels(), strict=True))


def _letter(place: int) -> str:
    rounds, index = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[index] + (str(rounds) if rounds else "")


def sources(views: Sequence[RunView]) -> list[Source]:
    """Every source, in the order of the runs and their judges, with a label that tells it from the others."""
    listed: list[Source] = []
    for view in views:
        keys = [JudgeKey(judge.name, judge.signature, judge.model) for judge in view.judges]
        names = judge_names(keys)
        for judge, key in zip(view.judges, keys, strict=True):
            label = f"{view.letter} · {names[key]}" if view.letter else names[key]
            listed.append(Source(view.place, view.letter, judge, label, _reduction(view, judge)))
    return listed


_REDUCTIONS = {
    "share": "share of units labelled 1",
    "mean": "mean of values",
    "whole": "value of the whole summary",
}


def _reduction(view: RunView, judge: JudgeEntry) -> str:
    """What a number of this judge is."""
    if any((pair.judge, pair.signature) == (judge.name, judge.signature) for pair in view.pairs):
        return "mean preference over documents"
    if (scale := scale_of(judge.signature)) is not None:
        return f"mean of ratings from {scale[0]:g} to {scale[1]:g}"
    return _REDUCTIONS[judge.reduce]


def _facts(data: object) -> KeyFacts | None:
    if not isinstance(data, Mapping):
        return None
    texts, origin = data.get("key_facts"), data.get("origin")
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)):
        return None
    return KeyFacts.of(texts, origin if origin in ("given", "reference", "document") else "document")
