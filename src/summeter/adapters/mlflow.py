"""Scorer for MLflow.

import mlflow
from summeter.adapters.mlflow import summary_scorer

mlflow.genai.evaluate(data=[{"inputs": {"document": ...}, "outputs": ...}], scorers=[summary_scorer()])
"""

from __future__ import annotations

from typing import Any

from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer, scorer

from summeter.adapters import ModelNames, judge
from summeter.engine.plan import Evaluators


def summary_scorer(evaluators: Evaluators = "support", models: ModelNames = None, document: str = "document") -> Scorer:
    """Return a scorer that judges `outputs` as a summary of the field `document` of `inputs`.

    It returns one feedback per aspect, with the reasons as the rationale; a missing score is a feedback with an error.
    """

    @scorer(name="summeter")  # type: ignore[untyped-decorator]
    def score(inputs: dict[str, Any], outputs: Any) -> list[Feedback]:
        source = AssessmentSource(source_type="LLM_JUDGE" if models else "CODE", source_id="summeter")
        return [
            Feedback(
                name=name, value=result.value, rationale=result.reason or None, source=source,
                error=None if result.value is not None else ValueError(result.reason or "the judge has no score"),
            )
            for name, result in judge(str(inputs[document]), str(outputs), evaluators, models).items()
        ]  # fmt: skip

    return score
