"""Tables of FineSurE (Song et al., ACL 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from summeter.choices import Level
from summeter.meta._classify import classify
from summeter.meta._errors import LOCALISATION, errors
from summeter.meta._reliability import self_consistency
from summeter.meta.inputs import gold_input
from summeter.meta.papers.base import Inputs, PaperTable, by_judge
from summeter.meta.results import Row
from summeter.meta.selection import aspects

FAITHFULNESS, COMPLETENESS, CONCISENESS = "faithfulness", "completeness", "conciseness"
LEAST = 5
"""Number of summaries that a system needs at the system level, as in the released code."""
_LABELS = {FAITHFULNESS: Level.SENTENCE, COMPLETENESS: Level.KEY_FACT, CONCISENESS: Level.SENTENCE}
_BALANCED, _PEARSON, _SPEARMAN, _RANK, _SUCCESS = "bAcc", "Pear.", "Spear.", "Rank", "success"


def _joined_levels(inputs: Inputs, dimension: str, *, accuracy: bool = False) -> Iterator[Row]:
    """Yield balanced accuracy of labels, correlations of summaries and systems, and the success ratio."""
    yield from inputs.correlations([dimension], coefficients=("pearson", "spearman"))
    yield from inputs.correlations([dimension], coefficients=("spearman",), level="system", min_items=LEAST)
    wanted = {"success_ratio", *(["balanced_accuracy"] if accuracy else [])}
    if inputs.have_labels(dimension, _LABELS[dimension]):  # ROUGE has none: the paper's cells are N/A
        study = classify(inputs.runs, inputs.gold, aspect=dimension, level=_LABELS[dimension], **inputs.draws)
        yield from (row for row in study if row.statistic in wanted)


def _column(row: Row) -> str:
    if row.level == Level.SYSTEM:
        return _RANK
    return {
        "pearson": _PEARSON, "spearman": _SPEARMAN, "balanced_accuracy": _BALANCED, "success_ratio": _SUCCESS,
    }[row.statistic]  # fmt: skip


def _faithfulness(inputs: Inputs) -> list[Row]:
    return by_judge(_joined_levels(inputs, FAITHFULNESS, accuracy=True), _column)


def _key_facts(inputs: Inputs) -> list[Row]:
    rows = list(_joined_levels(inputs, COMPLETENESS))
    if CONCISENESS in aspects(gold_input(inputs.gold)[0]):  # people did not judge it in REALSumm
        rows += _joined_levels(inputs, CONCISENESS)
    return by_judge(rows, lambda row: f"{row.gold_aspect or row.aspect} {_column(row)}")


def _error_types(inputs: Inputs) -> list[Row]:
    study = errors(inputs.runs, inputs.gold).where(statistic=LOCALISATION)
    return by_judge(study, lambda row: {"mean of types": "Mean"}.get(row.details["group"], row.details["group"]))


def _deviation(inputs: Inputs) -> Iterator[Row]:
    study = self_consistency(inputs.runs, **inputs.draws).where(statistic="rater_deviation")
    yield from by_judge(study, lambda row: str(row.aspect))


def _tables() -> dict[str, PaperTable]:
    labels = "a run (`summeter score DATA -e finesure -m MODEL -o RUN`), and people's labels of sentences"
    facts = "a run (`summeter score DATA -e finesure -m MODEL -o RUN`), and people's labels of key facts"
    columns = [_BALANCED, _PEARSON, _SPEARMAN, _RANK, _SUCCESS]
    by_dimension: Sequence[str] = [f"{name} {column}" for name in (COMPLETENESS, CONCISENESS) for column in columns[1:]]
    note = (
        "bAcc is over sentences, Pear. and Spear. over summaries, Rank is the rank correlation over systems with at "
        f"least {LEAST} summaries, and success is the share of summaries with usable and complete judgments."
    )
    faithfulness = PaperTable("faithfulness of evaluators", _faithfulness, labels, columns=columns, notes=(note,))
    key_facts = PaperTable(
        "completeness and conciseness of evaluators", _key_facts, facts, columns=by_dimension, notes=(note,)
    )
    types = PaperTable(
        "localisation accuracy by error type", _error_types, f"{labels} with error types", digits=1, scale=100.0
    )
    return {
        "finesure.1": faithfulness,
        "finesure.2": types,
        "finesure.3": key_facts,
        "finesure.4": PaperTable(
            "deviation of scores over repeated runs", _deviation,
            "repeats (`summeter score DATA -e finesure -m MODEL --repeats 3 -o RUN`)", best=False,
            notes=("Population standard deviation over the repeats of a summary, averaged over summaries.",),
        ),
        "finesure.5": replace(faithfulness, title="faithfulness by model of the judge"),
        "finesure.6": replace(key_facts, title="completeness and conciseness by model of the judge"),
        "finesure.7": replace(types, title="localisation accuracy by error type and model of the judge"),
    }  # fmt: skip


TABLES = _tables()
