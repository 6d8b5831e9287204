"""Dataset summary ("card"): the tables and figures of UniSumEval, for any run or labelled data.

    means             of each aspect by system, overall and by domain, with the average over domains (Tables 14-17)
    composite         the mean of faithfulness, completeness and conciseness (Table 4)
    domain stability  100 - (max - min) of the domain means of a system in percent (Tables 14-17)
    error types       frequencies by domain, system, category and length
    abstractiveness   the correlation with faithfulness by system and domain, and over systems
    redaction         the mean of redacted minus that of unredacted summaries, if a column marks redacted documents
                      (Table 5)
    groups            means by category and by other columns

Judges and people are treated alike. The formulas are those of UniSumEval (Lee et al., 2024), appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.data.overview import EDGES, bucket
from summeter.meta._bias import difference_of_means
from summeter.meta.inputs import context_of, gold_input, judge_input
from summeter.meta.measure import over_groups
from summeter.meta.options import CommandLine, Draws, Selection, study
from summeter.meta.results import Row, Study, interval_row, judge_labels, merged, named, pivot
from summeter.meta.sample import Context, Grid, Sample, rows_by_name
from summeter.meta.selection import PEOPLE, Group, gold_scores, group_fields
from summeter.meta.selection import aspects as judged_aspects
from summeter.meta.verdicts import listed
from summeter.records import UsageError, error_types, judge_names
from summeter.records.taxonomy import NO_ERROR
from summeter.runs.run import RunFolder
from summeter.scoring.systems import shared_documents
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.stats import correlate
from summeter.stats.base import Bools, Estimate, Floats, undefined
from summeter.stats.correlation import CORRELATIONS
from summeter.stats.resample import Resampling
from summeter.tables import Table, interval, number, p_value, with_missing
from summeter.text.ngrams import words

STUDY = "card"
FAITHFULNESS, ABSTRACTIVENESS = "faithfulness", "abstractiveness"
LENGTH, LENGTH_IN_WORDS = "length", "length_in_words"
"""Names of the derived column of document lengths (in words, in buckets).

The second name is used if the data already have a column `length`.
"""
ORIGINAL = "original"
"""Column with the id of the original of a redacted document."""
REDACTED = ("redacted", "redact_type", "redaction")
"""Columns that can mark redacted documents, in order of preference."""
_YES = frozenset({"1", "true", "yes", "redacted", "redact"})
_NO = frozenset({"0", "false", "no", "none", "unredact", "unredacted", "original", "raw", ""})
_UNITS = ("sentence", "claim", "span")
_NAMED = ("system", "domain", "category")


class CardOptions(Selection, Draws):
    """The options of `card`."""

    by: Annotated[str | Sequence[str], CommandLine(metavar="COLUMN")] = Field(
        (), description="Add means by this column. Repeatable."
    )
    across: Annotated[Sequence[str], CommandLine(metavar="COLUMN")] = Field(
        (),
        description="Add the means of each system by this column, with their average and stability, as by domain. "
        "Repeatable.",
    )
    redacted: Annotated[str | None, CommandLine(metavar="COLUMN[=VALUE]")] = Field(
        None, description="Column that marks redacted documents, optionally with the value of redacted ones."
    )


@study(CardOptions)
def card(run: RunFolder | None, gold: Dataset | None, options: CardOptions) -> Study:
    """Summarise a run or labelled data.

    The human judgments in `gold` are treated as those of an additional judge. Either `run` or `gold` can be None.

    Rows have the study "card" and these statistics: `mean`, `domain_average` (mean of the domain means),
    `domain_stability` (in %), `group_average` and `group_stability` (the same over the values of `details.by`),
    `error_share` (among all errors) and `error_rate` (among all judged units) with `details.error_type`, `pearson` and
    `spearman` of abstractiveness and faithfulness, and `redaction_delta`. The groups are in `system`, `domain` and
    `category`, or in `details.by` and `details.group`. Raises UsageError if there are no scores.

        sm.meta.card(gold=data, by=["source"])
    """
    if run is None and gold is None:
        raise UsageError("give a run, data with human judgments, or both")
    resample, across = options.resampling, options.across
    data = [source for source in (run.data if run is not None else None, gold) if source is not None]
    context = reduce(Context.joined, map(context_of, data))
    length = LENGTH if LENGTH not in context.extra else LENGTH_IN_WORDS
    buckets = {
        (summary.document_id, summary.system): bucket(len(words(source.documents[summary.document_id].text)), EDGES)
        for source in data
        for summary in source.summaries
        if not source.documents[summary.document_id].is_withheld
    }
    context = replace(context, extra={**context.extra, length: buckets})
    further = [*([options.by] if isinstance(options.by, str) else options.by), *across]
    columns = list(dict.fromkeys(("system", "domain", "category", length, *further)))
    series = _series(run, gold, options)
    rows: list[Row] = []
    for scores in series:
        with_columns = replace(scores, units=replace(scores.units, context=context))
        rows.extend(_score_rows(with_columns, columns, across, options.redacted, resample))
    rows.extend(_error_rows(run, gold, context, columns, options))
    rows.extend(_abstractness(series, context))
    domains = len({name for name in context.domains.values() if name is not None})
    note = f"domain stability is 100 - (max - min) of a system's domain means in %; there are {domains} domains"
    notes, labels = [note], judge_names(scores.judge.key for scores in series)
    unlike = []
    for scores in series:
        grid = Grid.of(scores)
        if shared_documents(dict(zip(grid.systems, grid.judge, strict=True))).note:
            unlike.append(f"{scores.judge.aspect} by {labels[scores.judge.key]}")
    if unlike:
        notes.append(f"means are over each system's own documents (n), which differ between systems: {listed(unlike)}")
    return Study(STUDY, rows, notes)


def _series(run: RunFolder | None, gold: Dataset | None, options: CardOptions) -> list[Sample]:
    """Return the scores of summaries by each judge and by people, on the selected aspects."""
    selected = options.aspects
    series, known = [], []
    if run is not None:
        judges = judge_input(run)
        known = [f"{question.aspect} ({question.judge})" for question in judges.questions()]
        series += [judges.scores(question, Level.SUMMARY) for question in judges.questions(selected, options.judge)]
    if gold is not None:
        columns, _ = gold_input(gold, options.judgment_set)
        known += [f"{aspect} ({PEOPLE})" for aspect in judged_aspects(columns)]
        for aspect in judged_aspects(columns):
            if not selected or aspect in selected:
                series += gold_scores(columns, aspect, Level.SUMMARY, options)
    series = [scores for scores in series if len(scores)]
    missing = [name for name in selected if name not in {scores.judge.aspect for scores in series}]
    if missing or not series:
        source = "the run has" if run is not None else "the data have"
        what = f"scores of {missing[0]!r}" if missing else "scores of summaries"
        raise UsageError(f"{source} no {what}; the aspects are: {', '.join(sorted(set(known))) or 'none'}")
    return series


def _parts(columns: Mapping[str, Categorical]) -> Iterator[tuple[dict[str, Any], Bools]]:
    """Yield the fields and the mask of all rows, then those of each value of each column."""
    yield {}, np.ones(len(next(iter(columns.values())).codes), dtype=np.bool_)
    for name, column in columns.items():
        for value, rows in rows_by_name(column):
            yield group_fields(name, value), rows


# ---- means, domain stability, redaction ----


def _score_rows(
    scores: Sample, columns: Sequence[str], across: Sequence[str], redacted: str | None, resample: Resampling
) -> Iterator[Row]:
    """Yield the rows on the scores of one judge and aspect."""
    about = merged(named(scores.judge), study=STUDY)

    def mean(part: Sample, *fields: Mapping[str, Any]) -> Row:
        estimate = resample(part.units.document.codes).mean(part.x)
        return interval_row(estimate, about, *fields, level="summary", statistic="mean")

    for system, of_system in scores.split("system"):
        yield mean(of_system, {"system": system})
        for name, what in (("domain", "domain"), *((name, "group") for name in across)):
            of_domain = what == "domain"
            own: dict[str, Any] = {"system": system} | ({} if of_domain else {"details": {"by": name}})
            means = [
                mean(part, own, {"domain": value} if of_domain else {"details": {"group": value}})
                for value, part in of_system.split(name)
            ]
            yield from means
            if means or not of_domain:
                yield from _over_groups(merged(about, own), [row.value for row in means], scores.x, what)
    for name in columns[1:]:
        for value, part in scores.split(name):
            yield mean(part, group_fields(name, value))
    for category, of_category in scores.split("category"):
        for domain, part in of_category.split("domain"):
            yield mean(part, {"category": category, "domain": domain})
    yield from _redaction(scores, redacted, resample)


def _over_groups(about: Mapping[str, Any], means: Sequence[float | None], values: Floats, what: str) -> Iterator[Row]:
    """Yield the average and the stability of a system's means by domain (or by another column)."""
    average = over_groups("mean", np.array(means, dtype=np.float64), what=f"{what} has a mean")
    yield interval_row(average, about, statistic=f"{what}_average", level=what)
    present = values[~np.isnan(values)]
    stability = domain_stability(means, shares=bool(((present >= 0) & (present <= 1)).all()), what=what)
    yield interval_row(stability, merged(about, details={"unit": "%"}), statistic=f"{what}_stability", level=what)


def domain_stability(means: Sequence[float | None], *, shares: bool = True, what: str = "domain") -> Estimate:
    """Return 100 - (max - min) of the domain means in percent (UniSumEval, appendix D).

    Domains without a mean are left out. If `shares` is False, the values are not in [0, 1], and the result is
    undefined. In the example, the result is 100 - 100 * (0.9 - 0.6) = 70.

    >>> round(domain_stability([0.9, 0.8, None, 0.6]).value, 9)
    70.0
    """
    spread = over_groups("range", np.array(means, dtype=np.float64), what=f"{what}s have a mean")
    if not shares:
        return undefined("the scores are not between 0 and 1, so they are not percentages", spread.n, spread.missing)
    return spread if spread.value is None else replace(spread, value=100 - 100 * spread.value)


def _redaction(scores: Sample, column: str | None, resample: Resampling) -> Iterator[Row]:
    """Yield the mean of redacted minus that of unredacted summaries, overall and by system.

    A redacted document is resampled together with its original (column `original`), so that the interval is paired.
    """
    marked = redaction_column(scores.units.context, column)
    if marked is None:
        return
    name, is_redacted = marked
    values = scores.units.column(name)
    states = [is_redacted(value) for value in values.names]
    marks = np.array([np.nan if state is None else float(state) for state in states])[values.codes]
    copied = scores.units.document
    if ORIGINAL in scores.units.context.extra:
        labels = scores.units.column(ORIGINAL).labels()
        copied = Categorical.of(
            original or name for original, name in zip(labels, scores.units.document.labels(), strict=True)
        )
    for fields, rows in _parts({"system": scores.units.system}):
        inside = rows & ~np.isnan(scores.x + marks)
        value, mark = scores.x[inside], marks[inside]
        counts = {"redacted": int((mark == 1).sum()), "unredacted": int((mark == 0).sum())}
        means = {
            f"mean_{kind}": float(value[mark == number].mean()) if (mark == number).any() else None
            for kind, number in (("redacted", 1), ("unredacted", 0))
        }
        originals = copied.take(inside)
        pairs = len(set(originals.codes[mark == 1].tolist()) & set(originals.codes[mark == 0].tolist()))
        why = f"there are not both redacted and unredacted summaries (column {name})"
        estimate = difference_of_means(value, mark == 1, resample(originals.codes), why)
        estimate = replace(estimate, missing=int(rows.sum() - inside.sum()))
        yield interval_row(
            estimate, named(scores.judge), fields, study=STUDY, level="summary", statistic="redaction_delta",
            details={"column": name, **counts, **means, "pairs": pairs},
        )  # fmt: skip


def redaction_column(context: Context, column: str | None) -> tuple[str, Callable[[str | None], bool | None]] | None:
    """Return the column that marks redacted documents, and a function that interprets the values.

    The function returns None for values that mean neither yes nor no. Without such a column, the result is None. Raises
    UsageError for an unknown column.
    """
    if column is None:
        name = next((name for name in REDACTED if name in context.extra), None)
        return None if name is None else (name, _redacted)
    name, equals, redacted = column.partition("=")
    context.lookup(name)  # raises if the column is unknown
    return name, (lambda value: None if value is None else value == redacted) if equals else _redacted


def _redacted(value: str | None) -> bool | None:
    text = None if value is None else value.strip().casefold()
    return text in _YES if text in _YES | _NO else None


# ---- error types ----


def _error_rows(
    run: RunFolder | None, gold: Dataset | None, context: Context, columns: Sequence[str], options: CardOptions
) -> Iterator[Row]:
    """Yield `error_share` and `error_rate` of each error type, by each column.

    The share is among all errors, the rate among all judged units. Units are sentences, claims and spans with a
    judgment; each error type of a unit counts. Each human vote counts, so that an error type assigned by two of three
    annotators counts twice.
    """
    if options.aspects and FAITHFULNESS not in options.aspects:
        return
    several: list[tuple[dict[str, Any], JudgmentTable]] = []
    if run is not None:
        judges = judge_input(run)
        several += (
            (judges.fields(question), judges.table.take(judges.rows[question]))
            for question in judges.questions([FAITHFULNESS], options.judge)
            if question in judges.rows
        )
    if gold is not None:
        votes, _ = gold_input(gold, options.judgment_set)
        votes = votes.take(votes.aspect.equal(FAITHFULNESS))
        several += (
            ({"judge": PEOPLE, "signature": f"{name}|merge:votes"}, votes.take(votes.signature.equal(name)))
            for name in votes.signature.used()
        )
    for about, judgments in several:
        units = judgments.take(np.isin(judgments.unit.labels(), _UNITS))
        types = [error_types(name) - {NO_ERROR} for name in units.error_type.names]
        kinds = {
            kind: np.array([kind in names for names in types], dtype=np.bool_)[units.error_type.codes]
            for kind in dict.fromkeys(kind for names in types for kind in sorted(names))
        }
        usable: Bools = units.status.equal("ok")
        groups = {name: context.column(name, units.document, units.system) for name in columns if kinds}
        for fields, rows in _parts(groups) if kinds else ():
            judged, missing = int((rows & usable).sum()), int((rows & ~usable).sum())
            counts = {kind: int((has_kind & rows & usable).sum()) for kind, has_kind in kinds.items()}
            errors = sum(counts.values())
            for kind, count in counts.items():
                details = {"error_type": kind, "count": count, "errors": errors, "units": judged}
                row = {"study": STUDY, "aspect": FAITHFULNESS, "level": "sentence", "details": details}
                for statistic, whole, why in (
                    ("error_share", errors, "there are no errors"),
                    ("error_rate", judged, "no unit was judged"),
                ):
                    share = Estimate(count / whole, whole, missing) if whole else undefined(why, missing=missing)
                    yield interval_row(share, about, fields, row, statistic=statistic)


# ---- abstractiveness against faithfulness ----


def _abstractness(series: Sequence[Sample], context: Context) -> Iterator[Row]:
    """Yield correlations of abstractiveness and faithfulness.

    They are computed overall, by system and domain, and over systems.
    """
    abstractive = next((scores for scores in series if scores.judge.aspect == ABSTRACTIVENESS), None)
    if abstractive is None:
        return
    for faithful in (scores for scores in series if scores.judge.aspect == FAITHFULNESS):
        pairs = Sample.join([abstractive, faithful], context)
        about = merged(named(abstractive.judge, faithful.judge), study=STUDY, average="pooled")
        subgroups = [Group(name, value, part) for name in ("system", "domain") for value, part in pairs.split(name)]
        for group in (Group(None, None, pairs), *subgroups):
            for coefficient in ("pearson", "spearman"):
                got = correlate(group.sample.x, group.sample.y, coefficient)
                yield interval_row(got, about, group.fields(), level="summary", statistic=coefficient)
        means = pairs.at(Level.SYSTEM)
        got = correlate(means.x, means.y, "spearman")
        yield interval_row(got, about, level="system", statistic="spearman")


# ---- tables ----


def tables(study: Study) -> list[Table]:
    """Return the tables of a card. Cells show the number of missing scores."""
    found = [
        *mean_tables(study), *_group_tables(study), *_error_tables(study), _abstractness_table(study),
        _redaction_table(study),
    ]  # fmt: skip
    return [table for table in found if table.rows]


def mean_tables(study: Study) -> Iterator[Table]:
    """Yield a table of systems by domains for each judge and aspect, then those of each column in `across`.

    The tables include the average and the stability.
    """
    labels = _labels(study.where(statistic="mean"))
    across = dict.fromkeys(row.details["by"] for row in study.where(statistic="group_stability"))
    for name in (None, *across):
        what = "domain" if name is None else "group"

        def place(row: Row, what: str = what) -> tuple[str, str | None]:
            return row.statistic, row.domain if what == "domain" else row.details.get("group")

        rows = [row for row in study.where(category=None) if row.system and row.details.get("by") == name]
        means = dict.fromkeys(place(row) for row in rows if row.statistic == "mean")
        columns: dict[tuple[str, str | None], str]
        columns = {(statistic, value): value for statistic, value in means if value is not None}
        if columns:
            columns |= {(f"{what}_average", None): f"average of {what}s"}
            columns |= {(f"{what}_stability", None): f"{what} stability (%)"}
        if name is None:
            columns |= {("mean", None): "all"}
        for (judge, signature, aspect), label in labels.items():
            yield pivot(
                Study(STUDY, rows).where(judge=judge, signature=signature, aspect=aspect),
                line="system",
                column=place,
                show=_cell,
                columns=columns,
                heads=["system"],
                title=f"{aspect} by {label}{'' if name is None else f', by {name}'}",
            )


_Judge = tuple[str | None, str | None, str | None]


def _labels(rows: Study) -> dict[_Judge, str | None]:
    """Return a distinct label for each (judge, signature, aspect), in order of appearance."""
    keys = [(row.judge, row.signature, row.aspect) for row in rows]
    return dict(zip(keys, judge_labels(rows.rows), strict=True))


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row.value is None:
        return f"- ({row.reason})"
    return with_missing(number(row.value, 1 if str(row.statistic).endswith("_stability") else 3), row.missing)


def _groups(row: Row) -> dict[str, str]:
    """Return the value of each grouping column of a row."""
    if "group" in row.details:  # a group of crossed columns also has a domain or a category
        return {str(row.details["by"]): str(row.details["group"])}
    return {name: value for name in _NAMED if (value := getattr(row, name)) is not None}


def _place(row: Row) -> str:
    return ", ".join(map(": ".join, _groups(row).items())) or "overall"


def _group_tables(study: Study) -> Iterator[Table]:
    """Yield a table for each grouping column: the values of the column by judge and aspect."""
    judges = _labels(study.where(statistic="mean"))
    grouped: dict[str, list[Row]] = {}
    for row in study.where(statistic="mean", system=None):
        if len(groups := _groups(row)) == 1:
            grouped.setdefault(next(iter(groups)), []).append(row)
    for name, rows in grouped.items():
        yield pivot(
            rows,
            line=lambda row: next(iter(_groups(row).values())),
            column=lambda row: (row.judge, row.signature, row.aspect),
            show=_cell,
            columns={key: f"{key[2]} ({label})" for key, label in judges.items()},
            heads=[name],
            title=f"By {name}",
        )


def _error_tables(study: Study) -> Iterator[Table]:
    """Yield a table for each judge: the share of each error type, overall and by group.

    The table includes the numbers of errors.
    """
    shares = study.where(statistic="error_share")
    for (judge, signature, _), label in _labels(shares).items():
        yield pivot(
            shares.where(judge=judge, signature=signature),
            line=_place,
            column=lambda row: str(row.details["error_type"]),
            show=lambda row: with_missing(number(row.value), row.missing) if row and row.value is not None else "-",
            heads=["group"],
            after={
                "errors": lambda rows: rows[0].n,
                "of units": lambda rows: with_missing(str(rows[0].details["units"]), rows[0].missing),
            },
            title=f"Error types by {label}",
        )


def _abstractness_table(study: Study) -> Table:
    labels = {signature: label for (_, signature, aspect), label in _labels(study.where(statistic="mean")).items()
              if aspect == FAITHFULNESS}  # fmt: skip
    lines = [
        ["over systems" if row.level == "system" else _place(row), labels.get(row.gold_signature), row.statistic,
         _cell(row), p_value(row.p), row.n]
        for row in study.where(aspect=ABSTRACTIVENESS) if row.statistic in CORRELATIONS
    ]  # fmt: skip
    heads = ["group", "faithfulness by", "coefficient", "value", "p", "n"]
    return Table.of(heads, lines, align="lr", title="Correlation of abstractiveness and faithfulness")


def _redaction_table(study: Study) -> Table:
    rows = study.where(statistic="redaction_delta")
    labels = _labels(rows)
    lines = [
        [row.system or "all systems", f"{row.aspect} ({labels[row.judge, row.signature, row.aspect]})",
         number(row.details["mean_redacted"]), number(row.details["mean_unredacted"]),
         f"{_cell(row)} {interval(row.low, row.high)}".rstrip(),
         f"{row.details['redacted']} and {row.details['unredacted']}"]
        for row in rows
    ]  # fmt: skip
    heads = ["system", "score", "redacted", "unredacted", "difference", "summaries"]
    return Table.of(heads, lines, align="lrr", title="Redacted minus unredacted")
