"""Scorer for inspect_ai.

    from inspect_ai import Task, task
    from summeter.adapters.inspect_ai import summary_scorer

    @task
    def briefing():
        return Task(dataset=..., solver=..., scorer=summary_scorer("support"))

`summeter trust LOG --judge summary_scorer.faithfulness --human label` then reads the log.
"""

from __future__ import annotations

import math

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from summeter.adapters import ModelNames, judge_async
from summeter.engine.plan import Evaluators


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def summary_scorer(
    evaluators: Evaluators = "support", models: ModelNames = None, document: str | None = None
) -> Scorer:
    """Return a scorer that judges the output of a sample as a summary of its input.

    `document` is the field of the metadata that contains the document; by default, it is the text of the input. The
    value is a dict of the scores by aspect, NaN (unscored) if one is missing, and the explanation has the reasons.
    """

    async def score(state: TaskState, target: Target) -> Score:
        text = state.input_text if document is None else str(state.metadata[document])
        results = await judge_async(text, state.output.completion, evaluators, models)
        values = {name: math.nan if result.value is None else result.value for name, result in results.items()}
        reasons = [f"{name}: {result.reason}" for name, result in results.items() if result.reason]
        return Score(value=values, answer=state.output.completion, explanation="\n".join(reasons))

    return score
