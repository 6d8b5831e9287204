"""Inputs of studies: a run, a data set or judgments, read as a table with a context."""

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
"""Human judgments: a data set that has them, or one judgment set."""


@dataclass(frozen=True)
class JudgeInput:
    """The judgments of a run and the context of the data.

    `reduce` maps the signature of each judge to the reduction of judgments to scores.
    """

    table: JudgmentTable
    reduce: Mapping[str, str] = field(default_factory=dict)
    context: Context = field(default_factory=Context)

    @cached_property
    def rows(self) -> dict[Question, Ints]:
        """Row numbers of each question (judge, signature and aspect)."""
        return self.table.questions()

    @cached_property
    def composites(self) -> dict[Question, Composite]:
        """Composites that can be computed from the scores of the run, by question."""
        return {composite.question: composite for composite in composite_rule(self.rows)}

    def questions(self, aspect: str | None = None, judge: str | None = None) -> list[Question]:
        """Return the questions, including composites.

        If an aspect or a judge (a name or a signature) is given, only questions with it are returned.
        """
        return [
            question
            for question in (*self.rows, *self.composites)
            if judge in (None, question.judge, question.signature) and aspect in (None, question.aspect)
        ]

    def fields(self, question: Question) -> dict[str, Any]:
        """Return the judge, signature, model and aspect of a question as fields of a `Row`."""
        return {**question._asdict(), "model": model_names(self.table.take(self.rows[question]).model)}

    def scores(self, question: Question, level: Level, use: ValueOrLabel = ValueOrLabel.VALUE) -> Sample:
        """Return one judge's values at a level.

        A composite is the mean of the scores of its three aspects.
        """
        if (composite := self.composites.get(question)) is not None:
            parts = [self.table.take(self.rows[part]) for questions in composite.parts.values() for part in questions]
            return composite_sample(parts, composite, self.reduce)
        return sample_of(self.table.take(self.rows[question]), question, level, self.reduce, use)


RunLike = RunFolder | JudgeInput | JudgmentTable | Iterable[Judgment]
"""Judgments of judges: a run, or judgments without a run."""


LARGEST = 1e100
"""Largest score that studies accept. Squares and sums of larger scores overflow."""


class TooLargeError(UsageError):
    """Raised if the absolute value of a score is above `LARGEST`."""


def judge_input(run: RunLike) -> JudgeInput:
    """Return a run, a table or judgments as `JudgeInput`.

    Judgments without a run have an empty context, and the scores computed from them are shares of labels. Raises
    UsageError if a score is beyond `LARGEST`.
    """
    if isinstance(run, JudgeInput):
        return run
    if isinstance(run, RunFolder):
        return JudgeInput(
            _checked(without(run.table(), run.partial)), run.reduce, Context.lazy(lambda: context_of(run.data))
        )
    return JudgeInput(_table(run))


def gold_input(gold: Gold, name: str = RAW) -> tuple[JudgmentTable, Context]:
    """Return the judgment set `name` of a data set, or judgments, as a table with a context.

    The context of judgments without a data set is empty. Raises UsageError if a score is beyond `LARGEST`.
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
            f"{aspect} of {document} by {system} is {large.value[0]:g}; "
            f"scores must be between {-LARGEST:g} and {LARGEST:g}"
        )
    return table


def context_of(data: Dataset) -> Context:
    """Return the domains, categories and extra columns of a data set."""
    return Context.of(data.documents.values(), data.summaries)
