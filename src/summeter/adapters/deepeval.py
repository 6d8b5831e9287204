"""Metric for deepeval.

from deepeval.test_case import LLMTestCase
from summeter.adapters.deepeval import SummaryMetric

metric = SummaryMetric("faithfulness", threshold=0.8)
metric.measure(LLMTestCase(input=document, actual_output=summary))
"""

from __future__ import annotations

from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from summeter.adapters import ModelNames, Result, chosen, judge, judge_async
from summeter.engine.plan import Evaluators


class SummaryMetric(BaseMetric):  # type: ignore[misc]  # deepeval has no types for mypy
    """The score of a summary on an aspect.

    The document is the `context` of the test case (its parts in order), or else its `input`; the summary is its
    `actual_output`. If the judge has no score, `score` is None, `error` has the reason, and the metric fails.
    """

    def __init__(
        self,
        aspect: str = "faithfulness",
        threshold: float = 0.5,
        evaluators: Evaluators = "support",
        models: ModelNames = None,
    ) -> None:
        self.aspect = aspect
        self.threshold = threshold
        self.evaluators = evaluators
        self.models = models
        self.async_mode = True

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Judge a test case, and return the score."""
        return self._take(judge(*_texts(test_case), self.evaluators, self.models))

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Do the same in a running event loop."""
        return self._take(await judge_async(*_texts(test_case), self.evaluators, self.models))

    def is_successful(self) -> bool:
        """Return whether the score is at least the threshold."""
        return bool(self.success)

    def _take(self, results: dict[str, Result]) -> float | None:
        self.score, self.reason = chosen(results, self.aspect)
        self.error = None if self.score is not None else self.reason or "the judge has no score"
        self.success = self.score is not None and self.score >= self.threshold
        return self.score

    @property
    def __name__(self) -> str:
        """Name in deepeval's tables."""
        return f"summeter {self.aspect}"


def _texts(test_case: LLMTestCase) -> tuple[str, str]:
    context = test_case.context
    return "\n\n".join(context) if context else str(test_case.input), str(test_case.actual_output)
