"""What a study takes: a run, a data set, or plain judgments, made into columns with what is known around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.data.human import RAW
from summeter.meta.columns import Columns, combine, join, of_judgments, read_lines
from summeter.meta.context import Context
from summeter.meta.gold import composite
from summeter.meta.matrix import Scores, Use, series
from summeter.records import Judgment, composite_signature
from summeter.runs.run import Failure, RunFolder
from summeter.scoring import COMPOSED, COMPOSITE, is_rating
from summeter.stats.base import Ints

Gold = Dataset | Columns | Iterable[Judgment]
"""What people said: a data set with judgments, or a judgment set."""

Question = tuple[str, str, str]
"""(judge, signature, aspect)."""


@dataclass(frozen=True)
class JudgeInput:
    """A run's judgments as columns, how each judge's units become a score, and the context of its data."""

    columns: Columns
    reduce: Mapping[str, str] = field(default_factory=dict)
    context: Context = field(default_factory=Context)

    @cached_property
    def rows(self) -> dict[Question, Ints]:
        """The rows of each question."""
        return self.columns.by_question()

    def questions(self, aspect: str | None = None, judge: str | None = None) -> list[Question]:
        """The (judge, signature, aspect) there are, composites included, by aspect or judge (or signature)."""
        found = [*self.rows, *self._families]
        named = [one for one in found if judge is None or judge in one[:2]]
        return [one for one in named if aspect is None or one[2] == aspect]

    def scores(self, question: Question, level: Level, use: Use = Use.VALUE) -> Scores:
        """One judge's values at a level; a composite is the mean of its three aspects' scores of summaries."""
        if question in self._families:
            parts = [self.scores(part, level) for part in self._families[question]]
            return composite(parts, question[0])
        rows = self.columns.take(self.rows[question])
        return series(rows, question, level, reduce=self.reduce.get(question[0], "share"), use=use)

    @cached_property
    def _families(self) -> dict[Question, list[Question]]:
        """Composites by the rule of `scoring.composites`: of one signature, else of a family of judges."""
        whole: dict[tuple[str, str], dict[str, Question]] = {}
        for one in self.rows:
            if one[2] in COMPOSED and not is_rating(one[1]):
                whole.setdefault(one[:2], {})[one[2]] = one
        made: dict[Question, list[Question]] = {}
        family: dict[str, dict[str, list[Question]]] = {}
        for (judge, _), found in whole.items():
            if len(found) == len(COMPOSED):
                made |= _composed(judge, [found[aspect] for aspect in COMPOSED])
                continue
            for aspect, one in found.items():
                family.setdefault(judge.split(".")[0], {}).setdefault(aspect, []).append(one)
        for name, by_aspect in family.items():
            if len(by_aspect) == len(COMPOSED) and all(len(found) == 1 for found in by_aspect.values()):
                made |= _composed(name, [by_aspect[aspect][0] for aspect in COMPOSED])
        return made


def _composed(judge: str, parts: list[Question]) -> dict[Question, list[Question]]:
    return {(judge, composite_signature([signature for _, signature, _ in parts]), COMPOSITE): parts}


RunLike = RunFolder | JudgeInput | Columns | Iterable[Judgment]
"""Whose trust is in question: a run, or its judgments."""


def judge_input(run: RunLike) -> JudgeInput:
    """A run, columns or judgments as `JudgeInput`. Judgments alone have no context and reduce units by share."""
    if isinstance(run, JudgeInput):
        return run
    if isinstance(run, RunFolder):
        return JudgeInput(run_columns(run), run.reduce, context_of(run.data))
    return JudgeInput(run if isinstance(run, Columns) else of_judgments(run))


def gold_input(gold: Gold, name: str = RAW) -> tuple[Columns, Context]:
    """A judgment set of a data set, or judgments, as columns with the context (empty for judgments alone)."""
    if isinstance(gold, Dataset):
        return of_judgments(gold.judgments(name)), context_of(gold)
    return (gold if isinstance(gold, Columns) else of_judgments(gold)), Context()


def context_of(data: Dataset) -> Context:
    """Domains, categories and further columns of a data set."""
    return Context.of(data.documents.values(), data.summaries)


def run_columns(run: RunFolder) -> Columns:
    """A run's judgments as columns, read without building a record: what `run.judgments()` gives, faster.

    Judgments of items that were not finished are left out; items that failed for good are in, as errors.
    """
    done = {entry.key for entry in run.progress()}
    parts = []
    for judge in run.manifest.judges:
        file = run.folder / "judgments" / f"{judge.file}.jsonl"
        parts.append(_finished(read_lines(_lines(file), str(file)), done))
    if any(one.status == "error" and _item_of(one) not in done for one in run.failures()):
        # Rare, so the records themselves are asked for.
        parts.append(of_judgments(one for one in run.judgments() if one.status == "error"))
    return join(parts)


def _item_of(failure: Failure) -> tuple[str, str, str, str | None]:
    return failure.signature, failure.document_id, failure.system, failure.rival


def _lines(file: Path) -> Iterator[bytes]:
    if file.exists():
        with file.open("rb") as lines:
            yield from lines


def _finished(columns: Columns, done: set[tuple[str, str, str, str | None]]) -> Columns:
    keys = (columns.signature, columns.document, columns.system, columns.rival)
    _, first, place = np.unique(combine(*keys), return_index=True, return_inverse=True)
    items = zip(*(column.take(first).labels() for column in keys), strict=True)
    kept = np.array([item in done for item in items], dtype=np.bool_)
    return columns if kept.all() else columns.take(kept[place])
