"""The benchmark card of a run: what UniSumEval's tables and figures tell of a set of systems, for any run.

    means         each aspect by system, over all and by domain, with their average over domains (Tables 14-17)
    composite     the mean of faithfulness, completeness and conciseness (Table 4)
    stability     domain stability, 100 - (max - min) of a system's domain means in percent (Tables 5 and 14-17)
    errors        how often each type of error occurs, by domain, system, category and length (Tables 18-21, Figure 3)
    abstractness  abstractiveness against faithfulness: correlation by system and domain, and over systems (Figure 4)
    redaction     redacted minus unredacted, where a column tells which is which
    groups        means by category and any other column

Judges and, where there are any, people are columns alike. Formulas: UniSumEval (Lee et al., 2024), appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Coefficient, Level
from summeter.data.dataset import Dataset
from summeter.meta.card_errors import error_rows
from summeter.meta.columns import Coded
from summeter.meta.context import Context
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.gold import gold_scores
from summeter.meta.inputs import JudgeInput, gold_input, judge_input
from summeter.meta.matrix import Scores
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import Selection
from summeter.records import Document, UsageError
from summeter.runs.run import RunFolder
from summeter.stats import bootstrap, bootstrap_mean, correlate
from summeter.stats.base import Bools, Floats
from summeter.text.ngrams import words

STUDY = "card"
LENGTH = "length"
"""The derived column: length of the document in words, in buckets."""
REDACTED = ("redacted", "redact_type", "redaction")
"""Columns that may tell whether a document is redacted, in the order they are looked for."""
_YES = frozenset({"1", "true", "yes", "redacted", "redact"})
_NO = frozenset({"0", "false", "no", "none", "unredacted", "original", "raw", ""})


@dataclass(frozen=True)
class Plan:
    """What goes into a card.

    `aspects` (all by default), `judge` (a name or signature, all by default), `by` further columns to group means
    by, `edges` the lengths of documents in words at which a new bucket begins, `redacted` the column that tells
    ("column" or "column=value", value being the redacted one). `select` says how people's judgments are merged.
    """

    aspects: Sequence[str] = ()
    judge: str | None = None
    by: Sequence[str] = ()
    edges: Sequence[int] = (250, 500, 1000, 2000)
    redacted: str | None = None
    select: Selection = field(default_factory=Selection)
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if list(self.edges) != sorted(set(self.edges)) or any(edge < 1 for edge in self.edges):
            raise UsageError(f"the edges of length buckets must be rising numbers above 0, got {list(self.edges)}")

    def interval(self) -> str:
        """What stands beside an interval."""
        return f"95% percentile bootstrap by document, {self.resamples} resamples, seed {self.seed}"


class _Column(NamedTuple):
    """A column to group by, and the fields of a row about one of its values."""

    name: str
    of: Coded

    def parts(self) -> Iterator[tuple[dict[str, Any], Bools]]:
        for code in dict.fromkeys(self.of.codes.tolist()):
            value = self.of.names[code]
            if value is not None:
                yield group_fields(self.name, value), np.asarray(self.of.codes == code)


def group_fields(column: str, value: str) -> dict[str, Any]:
    """The fields that say which group a row is about."""
    if column in {"system", "domain", "category"}:
        return {column: value}
    return {"details": {"by": column, "group": value}}


def bucket(count: int, edges: Sequence[int]) -> str:
    """The bucket of a length.

    >>> bucket(100, [250, 500]), bucket(250, [250, 500]), bucket(900, [250, 500])
    ('under 250 words', '250-499 words', '500 words or more')
    """
    below = [edge for edge in edges if edge <= count]
    above = [edge for edge in edges if edge > count]
    if not below:
        return f"under {above[0]} words" if above else "all"
    return f"{below[-1]}-{above[0] - 1} words" if above else f"{below[-1]} words or more"


def card(run: RunFolder, gold: Dataset | None = None, *, plan: Plan | None = None) -> Study:
    """The benchmark card of a run; with `gold`, people's judgments stand in it as a judge of their own.

    Rows of the study "card": `mean`, `domain_average` (mean of the domain means), `domain_stability` (in %),
    `error_share` (of all errors) and `error_rate` (of all judged units) with `details.error_type`, `pearson` and
    `spearman` of abstractiveness with faithfulness, `redaction_delta`. Grouping keys stand in `system`, `domain`,
    `category`, others in `details.by` and `details.group`. Raises UsageError where nothing fits the plan.
    """
    how = plan or Plan()
    read = judge_input(run)
    context = _with_lengths(read.context, run.data.documents, run, how.edges)
    found = _series(read, gold, how)
    lost = [name for name in how.aspects if name not in {one.aspect for one in found}]
    if lost or not found:
        there = ", ".join(sorted({f"{one[2]} ({one[0]})" for one in read.questions()})) or "none"
        raise UsageError(f"nothing in the run fits{f' {lost[0]!r}' if lost else ''}; it has: {there}")
    rows: list[Row] = []
    for one in found:
        rows.extend(_of(one, context, how))
    rows.extend(error_rows(read, gold, context, (LENGTH, *how.by), how))
    rows.extend(_abstractness(found, context))
    domains = len(context_domains(context))
    notes = [f"domain stability is 100 - (max - min) of a system's domain means in %; there are {domains} domains"]
    return Study(STUDY, rows, notes)


def context_domains(context: Context) -> list[str]:
    """The domains, in order."""
    return [name for name in dict.fromkeys(context.domains.values()) if name is not None]


def _with_lengths(context: Context, documents: Mapping[str, Document], run: RunFolder, edges: Sequence[int]) -> Context:
    lengths = {name: bucket(len(words(one.text)), edges) for name, one in documents.items()}
    column = {(one.document_id, one.system): lengths[one.document_id] for one in run.data.summaries}
    return replace(context, extra={**context.extra, LENGTH: column})


def _series(read: JudgeInput, gold: Dataset | None, plan: Plan) -> list[Scores]:
    questions = [
        one for one in read.questions(judge=plan.judge) if not plan.aspects or one[2] in plan.aspects
    ]  # fmt: skip
    found = [read.scores(one, Level.SUMMARY) for one in questions]
    if gold is not None:
        columns, _ = gold_input(gold, plan.select.set_name)
        wanted = [name for name in judged_aspects(columns) if not plan.aspects or name in plan.aspects]
        for name in wanted:
            found += gold_scores(columns, name, Level.SUMMARY, plan.select.rule, plan.select.source)
    return [one for one in found if len(one)]


def _common(series: Scores) -> dict[str, Any]:
    return {
        "study": STUDY, "judge": series.judge, "signature": series.signature, "model": series.model,
        "aspect": series.aspect,
    }  # fmt: skip


def mean_row(common: Mapping[str, Any], values: Floats, documents: Coded, fields: Mapping[str, Any], plan: Plan) -> Row:
    """The mean of summaries' scores with its interval by document."""
    got = bootstrap_mean(values, documents.codes, plan.resamples, seed=plan.seed)
    return Row(
        **{**common, **fields}, level="summary", statistic="mean", value=got.value, low=got.low, high=got.high, n=got.n,
        missing=got.missing, status=status_of(got.value, got.status), reason=got.reason,
        interval=plan.interval() if got.low is not None else None,
    )  # fmt: skip


def _of(series: Scores, context: Context, plan: Plan) -> Iterator[Row]:
    """Everything about one judge's aspect."""
    common = _common(series)
    columns = {
        name: _Column(name, context.column(name, series.document, series.system))
        for name in ("system", "domain", "category", LENGTH, *plan.by)
    }
    for about, rows in columns["system"].parts():
        yield mean_row(common, series.value[rows], series.document.take(rows), about, plan)
        yield from _domains(common, series, rows, about, columns["domain"], plan)
    for name in ("domain", "category", LENGTH, *plan.by):
        for about, rows in columns[name].parts():
            yield mean_row(common, series.value[rows], series.document.take(rows), about, plan)
    for about, rows in columns["category"].parts():
        for inner, inside in columns["domain"].parts():
            both = rows & inside
            if both.any():
                yield mean_row(common, series.value[both], series.document.take(both), {**about, **inner}, plan)
    yield from _redaction(common, series, context, columns["system"], plan)


def _domains(
    common: Mapping[str, Any], series: Scores, rows: Bools, about: Mapping[str, Any], domains: _Column, plan: Plan
) -> Iterator[Row]:
    """A system's mean in each domain, their average, and how stable they are."""
    found: list[Row] = []
    for inner, inside in domains.parts():
        both = rows & inside
        if both.any():
            found.append(mean_row(common, series.value[both], series.document.take(both), {**about, **inner}, plan))
    yield from found
    if found:
        yield from _over_domains(common, [row.value for row in found], about, series.value)


def _over_domains(
    common: Mapping[str, Any], means: Sequence[float | None], about: Mapping[str, Any], values: Floats
) -> Iterator[Row]:
    known = [mean for mean in means if mean is not None]
    lost = len(means) - len(known)
    average = bootstrap_mean(known, resamples=1)
    yield Row(
        **{**common, **about}, level="domain", statistic="domain_average", value=average.value, n=len(known),
        missing=lost, status=status_of(average.value), reason=None if known else "no domain has a mean",
    )  # fmt: skip
    value, reason = domain_stability(means, shares=bool(((values[~np.isnan(values)] >= 0) &
                                                         (values[~np.isnan(values)] <= 1)).all()))  # fmt: skip
    yield Row(
        **{**common, **about}, level="domain", statistic="domain_stability", value=value, n=len(known), missing=lost,
        status=status_of(value), reason=reason, details={"unit": "%"},
    )  # fmt: skip


def domain_stability(means: Sequence[float | None], *, shares: bool = True) -> tuple[float | None, str | None]:
    """100 - (max - min) of the domain means in percent (UniSumEval, appendix D), and why there is none.

    Means of 0.9, 0.8 and 0.6: 100 - 100 * 0.3 = 70. A domain without a mean is left out. `shares=False` says that
    the values do not lie in [0, 1], so that they are no percentages.

    >>> value, _ = domain_stability([0.9, 0.8, None, 0.6])
    >>> round(value, 9)
    70.0
    """
    known = [mean for mean in means if mean is not None]
    if not shares:
        return None, "the scores do not lie in 0-1, so they have no percentages"
    if len(known) < 2:
        return None, "fewer than 2 domains have a mean"
    return 100 - 100 * (max(known) - min(known)), None


def _redaction(
    common: Mapping[str, Any], series: Scores, context: Context, systems: _Column, plan: Plan
) -> Iterator[Row]:
    """Redacted minus unredacted, over all and by system."""
    told = redaction_column(context, plan.redacted)
    if told is None:
        return
    name, reads = told
    column = context.column(name, series.document, series.system)
    marks = np.array([_mark(reads, one) for one in column.names], dtype=np.float64)[column.codes]
    parts: list[tuple[dict[str, Any], Bools]] = [({}, np.ones(len(series), dtype=np.bool_)), *systems.parts()]
    for about, rows in parts:
        yield _delta(common, about, (series.value[rows], marks[rows], series.document.take(rows)), name, plan)


def _mark(reads: Callable[[str | None], bool | None], value: str | None) -> float:
    found = reads(value)
    return np.nan if found is None else float(found)


def redaction_column(context: Context, asked: str | None) -> tuple[str, Callable[[str | None], bool | None]] | None:
    """The column that tells which documents are redacted, and how to read it; None where there is none.

    A value that says neither yes nor no is left out (None). Raises UsageError for an unknown column.
    """
    if asked is None:
        name = next((one for one in REDACTED if one in context.extra), None)
        return None if name is None else (name, _redacted)
    name, equals, value = asked.partition("=")
    context.lookup(name)  # raises for an unknown column
    return (name, (lambda found: None if found is None else found == value) if equals else _redacted)


def _redacted(value: str | None) -> bool | None:
    said = (value or "").strip().casefold() if value is not None else None
    if said is None or said not in _YES | _NO:
        return None
    return said in _YES


def _delta(
    common: Mapping[str, Any], about: Mapping[str, Any], columns: tuple[Floats, Floats, Coded], name: str, plan: Plan
) -> Row:
    values, marks, documents = columns

    def gap(value: Floats, mark: Floats) -> float | None:
        if not (mark == 1).any() or not (mark == 0).any():
            return None
        return float(value[mark == 1].mean() - value[mark == 0].mean())

    got = bootstrap(gap, [values, marks], documents.codes, plan.resamples, seed=plan.seed)
    kept = ~np.isnan(values + marks)
    details = {
        **about.get("details", {}), "column": name, "redacted": int((marks[kept] == 1).sum()),
        "unredacted": int((marks[kept] == 0).sum()),
    }  # fmt: skip
    fields = {key: value for key, value in about.items() if key != "details"}
    reason = got.reason if got.value is not None else f"{name} does not tell redacted from unredacted summaries here"
    return Row(
        **{**common, **fields}, level="summary", statistic="redaction_delta", value=got.value, low=got.low,
        high=got.high, n=got.n, missing=got.missing, status=status_of(got.value, got.status), reason=reason,
        interval=plan.interval() if got.low is not None else None, details=details,
    )  # fmt: skip


def _abstractness(found: Sequence[Scores], context: Context) -> Iterator[Row]:
    """Abstractiveness against faithfulness: over all summaries, within systems and domains, and over systems."""
    novel = next((one for one in found if one.aspect == "abstractiveness"), None)
    if novel is None:
        return
    for faithful in (one for one in found if one.aspect == "faithfulness"):
        x, y, rows = _beside(novel, faithful)
        common = {**_common(novel), "gold_aspect": "faithfulness", "gold_signature": faithful.signature}
        everything: list[tuple[dict[str, Any], Bools]] = [({}, np.ones(len(x), dtype=np.bool_))]
        for name in ("system", "domain"):
            column = context.column(name, novel.document.take(rows), novel.system.take(rows))
            everything.extend(_Column(name, column).parts())
        for about, inside in everything:
            for coefficient in (Coefficient.PEARSON, Coefficient.SPEARMAN):
                got = correlate(x[inside], y[inside], coefficient)
                yield Row(
                    **{**common, **about}, level="summary", average="pooled", statistic=coefficient.value,
                    value=got.value, n=got.n, missing=got.missing, p=got.p, status=status_of(got.value),
                    reason=got.reason,
                )  # fmt: skip
        yield _over_systems(common, novel.system.take(rows), x, y)


def _beside(novel: Scores, faithful: Scores) -> tuple[Floats, Floats, Any]:
    keys = {key: row for row, key in enumerate(zip(faithful.document.labels(), faithful.system.labels(), strict=True))}
    both = [(row, keys[key]) for row, key in
            enumerate(zip(novel.document.labels(), novel.system.labels(), strict=True)) if key in keys]  # fmt: skip
    here, there = (np.array([pair[side] for pair in both], dtype=np.int64) for side in (0, 1))
    return novel.value[here], faithful.value[there], here


def _over_systems(common: Mapping[str, Any], systems: Coded, x: Floats, y: Floats) -> Row:
    both = ~np.isnan(x + y)
    means = []
    for code in np.unique(systems.codes):
        rows = (systems.codes == code) & both
        if rows.any():
            means.append([bootstrap_mean(side[rows], resamples=1).value for side in (x, y)])
    got = correlate([one[0] for one in means], [one[1] for one in means], Coefficient.SPEARMAN)
    return Row(
        **common, level="system", average="pooled", statistic=Coefficient.SPEARMAN.value, value=got.value, n=got.n,
        missing=len(np.unique(systems.codes)) - len(means), p=got.p, status=status_of(got.value), reason=got.reason,
    )  # fmt: skip
