"""Metric for ragas.

from summeter.adapters.ragas import summary_metric

metric = summary_metric("faithfulness")
metric.score(response=summary, retrieved_contexts=[document]).value
"""

from __future__ import annotations

from ragas.metrics import MetricResult, numeric_metric
from ragas.metrics.numeric import NumericMetric

from summeter.adapters import ModelNames, chosen, judge
from summeter.engine.plan import Evaluators


def summary_metric(
    aspect: str = "faithfulness",
    evaluators: Evaluators = "support",
    models: ModelNames = None,
    allowed_values: tuple[float, float] = (0.0, 1.0),
) -> NumericMetric:
    """Return a metric of the score of `response` as a summary of `retrieved_contexts`.

    `allowed_values` are the ends of the judge's scale. The value is None if the judge has no score.
    """

    def score(response: str, retrieved_contexts: list[str]) -> MetricResult:
        result = chosen(judge("\n\n".join(retrieved_contexts), response, evaluators, models), aspect)
        return MetricResult(value=result.value, reason=result.reason)

    return numeric_metric(name=f"summeter_{aspect}", allowed_values=allowed_values)(score)
