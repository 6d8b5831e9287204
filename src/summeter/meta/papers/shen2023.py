"""Tables of Shen et al., Large Language Models are Not Yet Human-Level Evaluators (Findings of EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from summeter.meta._agree import agree
from summeter.meta._prefer import prefer
from summeter.meta._reliability import reliability
from summeter.meta._stability import stability
from summeter.meta.papers.base import (
    Inputs,
    PaperTable,
    average_line,
    averages,
    by_judge,
    coefficient_columns,
    place,
    place_of,
)
from summeter.meta.results import Row, judge_labels
from summeter.meta.selection import PEOPLE
from summeter.records import UsageError

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
COEFFICIENTS = ("spearman", "pearson", "kendall_b")
_IMPORT = "`summeter outputs import --preset shen2023 RELEASE -o RUNS --parser legacy`"
_RATINGS = f"runs of rating judges (from replies: {_IMPORT}), and experts' ratings of the four dimensions"


def _pooled(inputs: Inputs) -> list[Row]:
    return by_judge(inputs.correlations(DIMENSIONS, coefficients=COEFFICIENTS), coefficient_columns)


def _preferences(inputs: Inputs) -> Iterator[Row]:
    study = prefer(inputs.runs, inputs.gold, aspect=inputs.aspects(DIMENSIONS), strengths=False, **inputs.draws)
    wanted = {"all": "66 pairs", "chain": "11 pairs"}
    rows = [
        row for row in study.where(study="correct_preferences")
        if row.details["pairs"] in wanted and (row.details["pairs"] == "chain" or row.n > len(inputs.data.systems))
    ]  # fmt: skip
    placed = by_judge(rows, lambda row: f"{row.gold_aspect} {wanted[row.details['pairs']]}")
    yield from averages(placed, lambda column: f"Avg. {column.split(maxsplit=1)[1]}")


def _meta_correlation(inputs: Inputs) -> list[Row]:
    study = stability(
        inputs.runs, inputs.gold, aspect=inputs.aspects(DIMENSIONS), coefficients=COEFFICIENTS, **inputs.draws
    )
    return by_judge(study.where(study="meta_correlation"), coefficient_columns)


def _by_system(judge: str) -> Callable[[Inputs], list[Row]]:
    def rows(inputs: Inputs) -> list[Row]:
        _judged(inputs, judge)
        study = stability(inputs.runs, inputs.gold, judge=judge, coefficients=COEFFICIENTS, **inputs.draws)
        listed = by_judge(study.where(study="per_candidate"), coefficient_columns)
        single = len({place_of(row)[0] for row in listed}) == 1
        return [
            place(row, str(row.system) if single else f"{place_of(row)[0]} {row.system}", place_of(row)[1])
            for row in listed
        ]

    return rows


def _judged(inputs: Inputs, *judges: str) -> None:
    """Raise UsageError if a judge is in no run."""
    present = {question.judge for question in inputs.runs.questions()}
    for name in judges:
        if name not in present:
            raise UsageError(f"no run has the judge {name}; the judges are: {', '.join(sorted(present))}")


def _reliability(study: str) -> Callable[[Inputs], list[Row]]:
    def rows(inputs: Inputs) -> list[Row]:
        _judged(inputs, "rts", "mcq")
        rows_of_systems = reliability(
            inputs.runs, inputs.gold, judges=("rts", "mcq"), dependence=False, coefficients=COEFFICIENTS,
            **inputs.draws,
        ).where(study=study)  # fmt: skip
        if study == "reliability":
            return [place(row, str(row.system), coefficient_columns(row)) for row in rows_of_systems]
        return [place(row, f"rho(R, P_{str(row.judge).upper()})", coefficient_columns(row)) for row in rows_of_systems]

    return rows


def _deviation(inputs: Inputs) -> Iterator[Row]:
    study = agree(inputs.data, coefficients=("rater_deviation",), by="system", aspect=DIMENSIONS, **inputs.draws)
    rows = [place(row, str(row.system), str(row.aspect)) for row in study if row.system is not None]
    yield from average_line(list(averages(rows, lambda _: "Avg.")), "Avg.")


def _human_means(inputs: Inputs) -> Iterator[Row]:
    rows = [place(row, str(row.system), str(row.aspect)) for row in _means(inputs, runs=False)]
    rounded = [place(row, *place_of(row), value=float(HUMAN_MEANS.shown(row))) for row in rows]
    means = [row for row in averages(rounded, lambda _: "Avg.") if row.statistic == "average"]
    yield from (*rows, *means)


def _means(inputs: Inputs, *, runs: bool = True) -> list[Row]:
    cards = inputs.cards(runs=runs)
    return [
        row for row in cards if row.statistic == "mean" and row.aspect in DIMENSIONS and row.system and not row.domain
    ]


def _all_means(inputs: Inputs) -> Iterator[Row]:
    rows = _means(inputs)
    rows.sort(key=lambda row: DIMENSIONS.index(str(row.aspect)))
    placed = [
        place(row, str(row.system), f"{row.aspect} {label}")
        for row, label in zip(rows, judge_labels(rows), strict=True)
    ]
    yield from average_line(placed, "Avg.")


def _pairs(inputs: Inputs) -> Iterator[Row]:
    study = prefer(inputs.runs, inputs.gold, judge="h2h", strengths=False, **inputs.draws)
    for row in study.where(study="pair", statistic="points"):
        pair, aspect = str(row.pair), str(row.aspect)
        yield place(row, pair, f"{aspect} LLM")
        yield place(row, pair, f"{aspect} Human", value=row.details["gold_points"])
        yield place(row, pair, f"{aspect} agree", value=float(row.details["agree"]))


def _is(row: Row, model: str, *dimensions: str) -> bool:
    return (row.model or "").rpartition("/")[2].startswith(model) and (row.gold_aspect or row.aspect) in dimensions


def _is_exchanged(row: Row) -> bool:
    return _is(row, "gpt-4", "coherence", "relevance")


_M15 = (
    lambda row: row.system == "M15" and row.aspect == "consistency" and row.judge == PEOPLE,
    "The paper prints 4.95; the released ratings give 4.94.",
)
HUMAN_MEANS = PaperTable(
    "human mean of each system", _human_means, "experts' ratings of the four dimensions", "system", digits=2,
    half_up=True, notes=("Avg. is the mean of the four cells as printed.",), differing=(_M15,),
)  # fmt: skip

TABLES = {
    "shen2023.4": PaperTable(
        "correlation with people over all summaries", _pooled, _RATINGS,
        differing=(
            (_is_exchanged, "In the paper, coherence and relevance are exchanged in the row of GPT-4."),
            (
                lambda row: row.judge == "rts" and _is(row, "gpt-3.5", "coherence"),
                "The paper prints .388, .399 and .312 for ChatGPT-RTS; the released replies give others.",
            ),
        ),
    ),
    "shen2023.5": PaperTable(
        "correct preferences between systems, of all pairs and of neighbours in people's ranking", _preferences,
        _RATINGS, digits=1,
        differing=(
            (
                lambda row: _is_exchanged(row) and place_of(row)[1].endswith("11 pairs"),
                "In the paper, coherence and relevance are exchanged in the row of GPT-4.",
            ),
        ),
    ),
    "shen2023.6": PaperTable(
        "meta-correlation: a judge's correlation with people on a system, against the quality of the system",
        _meta_correlation, _RATINGS, best=False,
        notes=("A system on which a correlation is undefined is left out of all coefficients.",),
    ),
    "shen2023.7": PaperTable(
        "reliability of a judge (RTS against MCQ) against its correlation with people, over systems",
        _reliability("reliability_check"), f"runs of rts and mcq ({_IMPORT}), and experts' ratings", "", best=False,
    ),
    "shen2023.18": PaperTable(
        "correlation with people over all summaries: RTS2 and MCQ2", _pooled, _RATINGS,
        notes=("Of replies that were asked twice for MCQ2, the first one counts in the paper.",),
    ),
    "shen2023.19": PaperTable(
        "correlation with people over all summaries: Llama-2", _pooled, _RATINGS,
        differing=(
            (lambda row: row.missing > 0, "In the paper, a reply without a score counts as -1; here it is missing."),
        ),
    ),
    "shen2023.20": PaperTable(
        "deviation of the experts' ratings", _deviation, "experts' ratings of the four dimensions", "system",
        best=False, notes=("Population standard deviation of the ratings of a summary, averaged over summaries.",),
    ),
    "shen2023.21": HUMAN_MEANS,
    "shen2023.22": PaperTable(
        "head-to-head comparisons: points of the first system of each pair", _pairs,
        f"a run of h2h ({_IMPORT}), and experts' ratings", "pair", digits=1, best=False,
        notes=("Points of both orders, halved; agree is 1 if judge and people prefer the same system.",),
    ),
    "shen2023.23": PaperTable(
        "correlation with people on each system, RTS", _by_system("rts"), _RATINGS, "system", best=False
    ),
    "shen2023.24": PaperTable(
        "correlation with people on each system, MCQ", _by_system("mcq"), _RATINGS, "system", best=False
    ),
    "shen2023.25": PaperTable(
        "mean of each system by people and judges", _all_means, _RATINGS, "system", digits=2, half_up=True, best=False,
        differing=(_M15,),
    ),
    "shen2023.28": PaperTable(
        "correlation with people on each system, RTS by GPT-4", _by_system("rts"), _RATINGS, "system", best=False
    ),
    "shen2023.29": PaperTable(
        "reliability on each system: correlation of RTS and MCQ", _reliability("reliability"),
        f"runs of rts and mcq: {_IMPORT}", "system", best=False,
    ),
}  # fmt: skip
