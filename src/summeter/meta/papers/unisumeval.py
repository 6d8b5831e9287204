"""Tables of UniSumEval (Lee et al., EMNLP 2024), for people's judgments or for those of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from summeter.meta.papers.base import Inputs, PaperTable, averages, by_judge, place, place_of
from summeter.meta.results import Row, judge_labels

DIMENSIONS = ("faithfulness", "completeness", "conciseness")
COMPOSITE = "composite"
_NEEDS = "judgments of all three dimensions: a run, or people's labels of sentences and key facts"


def _judges(rows: list[Row]) -> list[Row]:
    """Return the rows, with the judge in the line if an aspect has several judges."""
    labels = judge_labels(rows)
    if len({*zip((row.aspect for row in rows), labels, strict=True)}) == len({row.aspect for row in rows}):
        return rows
    return [
        place(row, f"{label}: {place_of(row)[0]}", place_of(row)[1]) for row, label in zip(rows, labels, strict=True)
    ]


def _scores(inputs: Inputs) -> list[Row]:
    rows = [row for row in inputs.cards() if row.statistic == "mean" and row.system and not row.domain]
    wanted = [row for row in rows if row.aspect in (*DIMENSIONS, COMPOSITE) and not row.details.get("by")]
    return _judges([place(row, str(row.system), str(row.aspect)) for row in wanted])


def _stability(inputs: Inputs) -> list[Row]:
    rows = [
        row for row in inputs.cards() if row.statistic == "domain_stability" and row.aspect in (*DIMENSIONS, COMPOSITE)
    ]
    return _judges([place(row, str(row.system), str(row.aspect)) for row in rows])


def _by_domain(aspect: str) -> Callable[[Inputs], list[Row]]:
    def rows(inputs: Inputs) -> list[Row]:
        placed = []
        for row in inputs.cards():
            if row.aspect == aspect and row.system:
                column = {"mean": row.domain, "domain_average": "Avg.", "domain_stability": "DoS"}.get(row.statistic)
                if column is not None and not row.details.get("by"):
                    # Stability is in percent already, while means are shown times 100.
                    value = row.value / 100 if row.value is not None and row.statistic == "domain_stability" else None
                    placed.append(place(row, str(row.system), column, value))
        return _judges(placed)

    return rows


def _correlations(inputs: Inputs) -> Iterator[Row]:
    for dimension in DIMENSIONS:
        study = inputs.correlations([dimension], coefficients=("pearson",), by="domain")
        rows = [row for row in study if row.domain is not None]
        placed = by_judge(rows, lambda row: f"{row.gold_aspect} {row.domain}")
        yield from averages(placed, lambda column: f"{column.split(maxsplit=1)[0]} Avg.")


TABLES = {
    "unisumeval.4": PaperTable(
        "scores of summarizers", _scores, _NEEDS, "summarizer", digits=1, scale=100.0,
        notes=("The composite is the mean of the three dimensions.",),
    ),
    "unisumeval.5": PaperTable(
        "domain stability of summarizers", _stability, f"{_NEEDS}, in several domains", "summarizer", digits=1,
        notes=("100 - (max - min) of the domain means in percent.",),
    ),
    "unisumeval.6": PaperTable(
        "correlation of evaluators with people over the summaries of a domain", _correlations,
        "a run of evaluators, and people's labels of sentences and key facts in several domains", digits=2,
    ),
    **{
        f"unisumeval.{number}": PaperTable(
            f"{aspect} of summarizers by domain", _by_domain(aspect), f"{_NEEDS}, in several domains", "summarizer",
            digits=1, scale=100.0, best=False,
            notes=("Several printed averages and stabilities in Tables 14 to 17 do not follow from their cells.",),
        )
        for number, aspect in enumerate((*DIMENSIONS, COMPOSITE), 14)
    },
}  # fmt: skip
