"""Tables of UniSumEval (Lee et al., EMNLP 2024), for people's judgments or for those of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from summeter.choices import Level
from summeter.data.overview import describe
from summeter.meta._agree import agree, override_rate
from summeter.meta.inputs import context_of, gold_input
from summeter.meta.papers.base import ARRANGED, COUNT, Inputs, PaperTable, averages, by_judge, place, place_of
from summeter.meta.results import Row, judge_labels
from summeter.meta.selection import aspects, group_label

DIMENSIONS = ("faithfulness", "completeness", "conciseness")
COMPOSITE = "composite"
TASKS = {"faithfulness": "fact verification", "completeness": "key-fact alignment"}
_LENGTHS = {
    "documents": "documents", "words": "document_words", "sentences": "document_sentences", "key facts": "key_facts",
    "summaries": "summaries", "words of summaries": "summary_words", "sentences of summaries": "summary_sentences",
}  # fmt: skip
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


def _redaction(inputs: Inputs) -> list[Row]:
    placed = []
    for row in inputs.cards():
        if row.statistic == "redaction_delta" and row.aspect in DIMENSIONS:
            means = {kind: row.details[f"mean_{kind}"] for kind in ("unredacted", "redacted")}
            line = row.system or "all"
            placed += [place(row, line, f"{row.aspect} {kind}", mean) for kind, mean in means.items()]
            placed.append(place(row, line, f"{row.aspect} difference"))
    return _judges(placed)


def _agreement(*columns: str) -> Callable[[Inputs], list[Row]]:
    def rows(inputs: Inputs) -> list[Row]:
        context, labelled = context_of(inputs.data), aspects(gold_input(inputs.data)[0])
        tasks = [name for name in TASKS if name in labelled]
        known = {"domain": any(context.domains.values()), **dict.fromkeys(context.extra, True)}
        placed = []
        for by in (None, *(name for name in columns if known.get(name))) if tasks else ():
            study = agree(inputs.data, aspect=tasks, coefficients=("alpha_nominal",), by=by, **inputs.draws)
            grouped = [row for row in study if (group_label(row) is None) == (by is None)]
            placed += [place(row, group_label(row) or "all", TASKS[str(row.aspect)]) for row in grouped]
        return placed

    return rows


def _lengths(inputs: Inputs) -> Iterator[Row]:
    for values in describe(inputs.data).lengths:
        for column, name in _LENGTHS.items():
            statistic = COUNT if column == name else "mean"
            row = {"study": "lengths", "statistic": statistic, "value": values[name], "n": values["documents"]}
            if values[name] is not None:
                yield place(Row.model_validate(row), values["group"], column)


def _overruled(inputs: Inputs) -> list[Row]:
    study = override_rate(inputs.runs, inputs.gold, aspect="faithfulness", **inputs.draws)
    shown = {0: "errors shown", 1: "no error shown", None: "all"}
    return by_judge(study, lambda row: shown[row.details.get("shown")])


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


def _correlations(dimension: str, also: Sequence[str], level: Level) -> Callable[[Inputs], Iterator[Row]]:
    def rows(inputs: Inputs) -> Iterator[Row]:
        coefficient = "spearman" if level is Level.SYSTEM else "pearson"
        study = inputs.correlations([dimension], also, coefficients=(coefficient,), level=level, by="domain")
        rows = [row for row in study if row.domain is not None]
        yield from averages(by_judge(rows, lambda row: str(row.domain)), lambda _: "Avg.")

    return rows


_ALPHA = "Krippendorff's alpha. For AC1 of key-fact validation, see `summeter annotate status --json` of its campaign."
_LABELS = "data with labels of sentences or key facts by several people"
TABLES = {
    "unisumeval.2": PaperTable(
        "agreement of annotators by domain, type and length", _agreement("domain", "input_type", "length"), _LABELS,
        "documents", digits=2, best=False, notes=(_ALPHA, ARRANGED),
    ),
    "unisumeval.3": PaperTable(
        "agreement of annotators", _agreement(), _LABELS, "documents", digits=2, best=False,
        notes=(_ALPHA, "The paper's other lines are those of other benchmarks.", ARRANGED),
    ),
    "unisumeval.4": PaperTable(
        "scores of summarizers", _scores, _NEEDS, "summarizer", digits=1, scale=100.0,
        notes=("The composite is the mean of the three dimensions.",),
    ),
    "unisumeval.5": PaperTable(
        "scores of summarizers on redacted and unredacted texts", _redaction,
        f"{_NEEDS}, and a column that marks redacted documents, such as `redact_type`", "summarizer", digits=1,
        scale=100.0, best=False, notes=(ARRANGED,),
    ),
    **{
        f"unisumeval.{first + place}": PaperTable(
            f"{dimension}: {what} of evaluators and people, by domain", _correlations(dimension, also, level),
            "a run of evaluators, and people's labels of sentences and key facts in several domains", digits=2,
        )
        for first, level, what in (
            (6, Level.SUMMARY, "correlation (Pearson)"), (18, Level.SYSTEM, "rank correlation over summarizers")
        )
        for place, (dimension, also) in enumerate(
            (("faithfulness", ()), ("completeness", ("coherence",)), ("conciseness", ("relevance",)))
        )
    },
    "unisumeval.9": PaperTable(
        "lengths of documents and summaries, by domain and length", _lengths, "data with documents and summaries",
        "documents", digits=1, best=False, notes=("Means of words, sentences and key facts.", ARRANGED),
    ),
    "unisumeval.12": PaperTable(
        "share of shown machine labels that people overruled", _overruled,
        "a run with the labels of sentences that annotators were shown, and their own labels", digits=2, scale=100.0,
        best=False,
        notes=("If annotators did not see the labels of the run, these are only shares of differing labels.", ARRANGED),
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
