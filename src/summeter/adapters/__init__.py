"""Adapters: summeter's judges inside other evaluation tools.

`compute` has the interface of Hugging Face's `evaluate`. The modules `inspect_ai`, `deepeval`, `ragas` and `mlflow`
have a scorer for the tool of the same name, which must be installed:

    from summeter.adapters.inspect_ai import summary_scorer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from summeter.engine.api import evaluate, evaluate_async
from summeter.engine.plan import Evaluators
from summeter.engine.runs import Run
from summeter.records import Parameter, UsageError

__all__ = ["Result", "compute", "judge", "judge_async"]


ModelNames = Mapping[str, str] | str | None
"""The name of a model, or names by role, as in `summeter.evaluate`."""


class Result(NamedTuple):
    """The score of a summary on an aspect, or None, and the reasons of the judge for what it marked down."""

    value: float | None
    reason: str


def compute(
    predictions: Sequence[str],
    sources: Sequence[str],
    references: Sequence[str] | None = None,
    evaluators: Evaluators = "support",
    models: ModelNames = None,
    **options: Any,
) -> dict[str, Any]:
    """Judge summaries, given as lists, and return scores by aspect.

    `predictions` are the summaries and `sources` their documents. `evaluators`, `models` and `options` are those of
    `summeter.evaluate`. For each aspect, the result has the mean under its name, the list of scores (None if missing)
    under `ASPECT_scores`, and the number of missing ones under `ASPECT_missing`; names start with that of the judge if
    there are several. Raises UsageError if the lists have different lengths.

    >>> compute(["The mill was open."], sources=["The mill was closed on Monday."])["faithfulness"]
    0.0
    """
    columns: dict[str, Sequence[str]] = {"document": sources, "summary": predictions}
    if references is not None:
        columns["reference"] = references
    if len({len(values) for values in columns.values()}) > 1:
        raise UsageError("the lists of texts have different lengths: ", str([len(each) for each in columns.values()]))
    rows = [
        {"doc_id": f"{number}", **dict(zip(columns, texts, strict=True))}
        for number, texts in enumerate(zip(*columns.values(), strict=True))
    ]
    scores: dict[str, Any] = {}
    for name, results in _results(evaluate(rows, evaluators, models=models, **options)).items():
        values = [results[str(number)].value if str(number) in results else None for number in range(len(rows))]
        known = [value for value in values if value is not None]
        scores |= {
            name: fmean(known) if known else None,
            f"{name}_scores": values,
            f"{name}_missing": len(values) - len(known),
        }
    return scores


def judge(
    document: str,
    summary: str,
    evaluators: Evaluators = "support",
    models: ModelNames = None,
    **options: Any,
) -> dict[str, Result]:
    """Judge one summary, and return its result on each aspect.

    >>> judge("The mill was closed on Monday.", "The mill was open.")["faithfulness"].value
    0.0
    """
    rows = [{"doc_id": "0", "document": document, "summary": summary}]
    return _of_one(evaluate(rows, evaluators, models=models, **options))


async def judge_async(
    document: str,
    summary: str,
    evaluators: Evaluators = "support",
    models: ModelNames = None,
    **options: Any,
) -> dict[str, Result]:
    """Do the same as `judge` in a running event loop."""
    rows = [{"doc_id": "0", "document": document, "summary": summary}]
    return _of_one(await evaluate_async(rows, evaluators, models=models, **options))


def chosen(results: Mapping[str, Result], aspect: str) -> Result:
    """Return the result on an aspect. Raises UsageError if there is none."""
    if aspect not in results:
        raise UsageError("the judge has no ", Parameter("aspect", aspect), f"; it has: {', '.join(results)}")
    return results[aspect]


def _of_one(run: Run) -> dict[str, Result]:
    return {name: results["0"] for name, results in _results(run).items() if "0" in results}


def _results(run: Run) -> dict[str, dict[str, Result]]:
    """Return the results of each judge and aspect by document."""
    scores = list(run.scores())
    several = len({(score.judge, score.signature) for score in scores if score.aspect != "composite"}) > 1
    reasons = reasons_of(run)
    results: dict[str, dict[str, Result]] = {}
    for score in scores:
        name = f"{score.judge}/{score.aspect}" if several else score.aspect
        reason = reasons.get((score.doc_id, score.system, score.signature, score.aspect), "")
        results.setdefault(name, {})[score.doc_id] = Result(score.value, reason)
    return results


def reasons_of(run: Run) -> dict[tuple[str, str, str, str], str]:
    """Return the reasons for what judges marked down, by document, system, signature and aspect."""
    reasons: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for judgment in run.judgments():
        wrong = judgment.label == 0 if judgment.label is not None else judgment.target.unit == "summary"
        if judgment.reason and (wrong or judgment.status != "ok"):
            target = judgment.target
            key = (target.document_id, str(target.system), judgment.signature, judgment.aspect)
            reasons.setdefault(key, {})[judgment.reason] = None
    return {key: "; ".join(found) for key, found in reasons.items()}
