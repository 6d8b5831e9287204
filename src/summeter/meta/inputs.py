"""What a study takes: a run, a data set, or plain judgments, as a table with what is known around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from summeter.choices import Level, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.data.human import RAW
from summeter.meta.context import Context
from summeter.meta.sample import Sample, composite_sample, sample_of
from summeter.records import Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.runs.totals import without
from summeter.scoring.scores import Composite, composite_rule
from summeter.scoring.table import JudgmentTable, Question, model_names
from summeter.stats.base import Ints

Gold = Dataset | JudgmentTable | Iterable[Judgment]
"""What people said: a data set with judgments, or a judgment set."""


@dataclass(frozen=True)
class JudgeInput:
    """A run's judgments, how each judge's units become a score, and the context of its data."""

    table: JudgmentTable
    reduce: Mapping[str, str] = field(default_factory=dict)
    context: Context = field(default_factory=Context)

    @cached_property
    def rows(self) -> dict[Question, Ints]:
        """The rows of each question."""
        return self.table.questions()

    @cached_property
    def composites(self) -> dict[Question, Composite]:
        """The composites there are, by the rule of the run's own scores."""
        return {composite.question: composite for composite in composite_rule(self.rows)}

    def questions(self, aspect: str | None = None, judge: str | None = None) -> list[Question]:
        """The (judge, signature, aspect) there are, composites included, by aspect or judge (or signature)."""
        questions = [*self.rows, *self.composites]
        named = [question for question in questions if judge is None or judge in (question.judge, question.signature)]
        return [question for question in named if aspect is None or question.aspect == aspect]

    def fields(self, question: Question) -> dict[str, Any]:
        """Who answered a question, on what, as fields of a row."""
        return {**question._asdict(), "model": model_names(self.table.take(self.rows[question]).model)}

    def scores(self, question: Question, level: Level, use: ValueOrLabel = ValueOrLabel.VALUE) -> Sample:
        """One judge's values at a level; a composite is the mean of its three aspects' scores of summaries."""
        if (composite := self.composites.get(question)) is not None:
            parts = [self.table.take(self.rows[part]) for questions in composite.parts.values() for part in questions]
            return composite_sample(parts, composite, self.reduce)
        return sample_of(self.table.take(self.rows[question]), question, level, self.reduce, use)


RunLike = RunFolder | JudgeInput | JudgmentTable | Iterable[Judgment]
"""Whose trust is in question: a run, or its judgments."""


LARGEST = 1e100
"""Squares and sums of larger scores overflow: no study could compute with them."""


class TooLargeError(UsageError):
    """A score is beyond LARGEST."""


def judge_input(run: RunLike) -> JudgeInput:
    """A run, a table or judgments as `JudgeInput`. Judgments alone have no context and reduce units by share.

    Raises UsageError for scores beyond LARGEST.
    """
    if isinstance(run, JudgeInput):
        return run
    if isinstance(run, RunFolder):
        return JudgeInput(
            _checked(without(run.table(), run.partial)), run.reduce, Context.later(lambda: context_of(run.data))
        )
    return JudgeInput(_table(run))


def gold_input(gold: Gold, name: str = RAW) -> tuple[JudgmentTable, Context]:
    """A judgment set of a data set, or judgments, as a table with the context (empty for judgments alone).

    Raises UsageError for scores beyond LARGEST.
    """
    if isinstance(gold, Dataset):
        return _table(gold.iter_judgments(name)), context_of(gold)
    return _table(gold), Context()


def _table(judgments: JudgmentTable | Iterable[Judgment]) -> JudgmentTable:
    return _checked(judgments if isinstance(judgments, JudgmentTable) else JudgmentTable.of(judgments))


def _checked(table: JudgmentTable) -> JudgmentTable:
    large = table.take(np.abs(table.value) > LARGEST)
    if len(large):
        aspect, document, system = (column.labels()[0] for column in (large.aspect, large.document, large.system))
        raise TooLargeError(
            f"{aspect} of {document} by {system} is {large.value[0]:g}, and scores beyond {LARGEST:g} mean nothing"
        )
    return table


def context_of(data: Dataset) -> Context:
    """Domains, categories and further columns of a data set."""
    return Context.of(data.documents.values(), data.summaries)
