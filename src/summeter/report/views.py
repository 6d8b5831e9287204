"""What a report reads from each run: data, scores, tables, sources and judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase

from summeter.data.dataset import Dataset
from summeter.records import JudgeKey, KeyFacts, Phrase, judge_names
from summeter.report.words import scale_of
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.readers import RunReader, SummaryReader, human_reader, key_fact_lists
from summeter.runs.run import RunFolder
from summeter.scoring import PairScore, ScoreTable, SystemTable
from summeter.scoring.table import Question

Summaries = frozenset[tuple[str, str]]
"""A set of summaries, each given as (document, system)."""


@dataclass(frozen=True)
class Source:
    """One judge with one signature in one run.

    `label` distinguishes the source from other sources, and `reduction` says how its judgments are reduced to a score.
    """

    run: int
    letter: str
    entry: JudgeEntry
    label: str
    reduction: str

    @property
    def key(self) -> tuple[int, str, str]:
        """The key of the source: (run number, judge, signature)."""
        return self.run, self.entry.name, self.entry.signature


@dataclass(frozen=True)
class RunView:
    """The data of a run, as a report reads it.

    `letter` distinguishes runs, and is an empty string if there is only one run. `listed` contains the summaries that
    the page lists, or is None if it lists all.
    """

    number: int
    letter: str
    folder: RunFolder
    listed: Summaries | None = None

    @property
    def manifest(self) -> Manifest:
        """The manifest of the run."""
        return self.folder.manifest

    @property
    def name(self) -> str:
        """The name of the run's folder, without the local path."""
        return self.folder.folder.resolve().name

    @property
    def seed(self) -> int:
        """The random seed for all intervals of this run."""
        return self.folder.seed

    @cached_property
    def data(self) -> Dataset:
        """The run's copy of the data."""
        return self.folder.data

    @cached_property
    def shown(self) -> Dataset:
        """The part of the data with the documents of the listed summaries."""
        if self.listed is None:
            return self.data
        return self.data.with_documents({name for name, _ in self.listed} & self.data.documents.keys())

    @cached_property
    def items(self) -> RunReader:
        """A reader of the judgments on single summaries."""
        return RunReader(self.folder, self.listed)

    @cached_property
    def scores(self) -> ScoreTable:
        """The scores by summary, judge and aspect."""
        return self.folder.totals.scores

    @cached_property
    def table(self) -> SystemTable:
        """The means of systems, as in the run's `summary.json`."""
        return self.folder.totals.systems

    @cached_property
    def questions(self) -> frozenset[Question]:
        """What each judge evaluated, also if no judgment was usable."""
        return frozenset(Question(key.judge, key.signature, key.aspect) for key in self.folder.totals.tally)

    @cached_property
    def pairs(self) -> list[PairScore]:
        """The mean preferences of pairs of systems, as in the run's `summary.json`."""
        return self.folder.totals.pairs

    @cached_property
    def coverage(self) -> float | None:
        """The fraction of units with a usable judgment, or None (see `scoring.coverage`)."""
        return self.folder.totals.coverage

    @cached_property
    def judged(self) -> set[tuple[str, str]]:
        """All summaries that were judged, alone or in a pair, given as (document, system)."""
        return set(self.items.items())

    @cached_property
    def people(self) -> SummaryReader:
        """A reader of people's judgments on the same summaries, if there are any."""
        return human_reader(self.folder, self.listed)

    @cached_property
    def key_facts(self) -> dict[str, KeyFacts]:
        """The lists of key facts to which judgments on the page may refer, by id."""
        return key_fact_lists(self.folder, self.shown.documents.values())

    @cached_property
    def judges(self) -> list[JudgeEntry]:
        """The evaluators that judge, without those that only prepare data."""
        return [judge for judge in self.manifest.judges if not judge.prepares_only]


def views(runs: Sequence[RunFolder], listed: Summaries | None = None) -> list[RunView]:
    """Return one view per run; if there are several runs, the views are labelled with letters.

    `listed` contains the summaries that the page lists, or is None if it lists all.
    """
    letters = [""] if len(runs) == 1 else [
        ascii_uppercase[index] + (str(rounds) if rounds else "")
        for rounds, index in (divmod(number, len(ascii_uppercase)) for number in range(len(runs)))
    ]  # fmt: skip
    return [
        RunView(number, letter, run, listed) for number, (letter, run) in enumerate(zip(letters, runs, strict=True))
    ]


def sources(views: Sequence[RunView]) -> list[Source]:
    """Return all sources in the order of runs and judges, each with a distinct label."""
    found: list[Source] = []
    for view in views:
        keys = [JudgeKey(judge.name, judge.signature, judge.model) for judge in view.judges]
        names = judge_names(keys)
        for judge, key in zip(view.judges, keys, strict=True):
            label = f"{view.letter} · {names[key]}" if view.letter else names[key]
            found.append(Source(view.number, view.letter, judge, label, _reduction(view, judge)))
    return found


_REDUCTIONS = {
    "share": "share of units labelled 1",
    "mean": "mean of values",
    "whole": "value of the whole summary",
}


def _reduction(view: RunView, judge: JudgeEntry) -> str:
    """Return a description of how the judgments of a judge are reduced to a score."""
    if any((pair.judge, pair.signature) == (judge.name, judge.signature) for pair in view.pairs):
        return "mean preference over documents"
    if (scale := scale_of(judge.signature)) is not None:
        return Phrase("mean of ratings from {low} to {high}", low=f"{scale[0]:g}", high=f"{scale[1]:g}")
    return _REDUCTIONS[judge.reduce]
