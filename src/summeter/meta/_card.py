"""The dataset card: what UniSumEval's tables and figures tell of a set of systems, for any run or labelled data.

    means             each aspect by system, over all and by domain, with their average over domains (Tables 14-17)
    composite         the mean of faithfulness, completeness and conciseness (Table 4)
    domain stability  100 - (max - min) of a system's domain means in percent (Tables 5 and 14-17)
    error types       how often each occurs, by domain, system, category and length (Tables 18-21, Figure 3)
    abstractiveness   against faithfulness: correlation by system and domain, and over systems (Figure 4)
    redaction         redacted minus unredacted, where a column tells which is which
    groups            means by category and any other column

Judges and, where there are any, people are columns alike. Formulas: UniSumEval (Lee et al., 2024), appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from summeter.choices import Coefficient, Level
from summeter.data.dataset import Dataset
from summeter.meta.context import Context
from summeter.meta.gold import PEOPLE, gold_scores
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.inputs import context_of, gold_input, judge_input
from summeter.meta.matrix import Scores
from summeter.meta.results import Row, Study, interval_row, resampling, status_of
from summeter.meta.selection import Selection, SelectionArgs, checks_keywords
from summeter.records import UsageError, error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable, Names
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats
from summeter.stats.resample import Resampling, of_rows
from summeter.tables import Table, escape_markdown, interval, number, p_value, with_missing
from summeter.text.ngrams import words

Key = TypeVar("Key")

STUDY = "card"
FAITHFULNESS, ABSTRACTIVENESS = "faithfulness", "abstractiveness"
LENGTH, LENGTH_IN_WORDS = "length", "length_in_words"
"""The derived column, length of the document in words, in buckets; the second name where the data have a `length`."""
REDACTED = ("redacted", "redact_type", "redaction")
"""Columns that may tell whether a document is redacted, in the order they are looked for."""
_YES = frozenset({"1", "true", "yes", "redacted", "redact"})
_NO = frozenset({"0", "false", "no", "none", "unredacted", "original", "raw", ""})
_UNITS = ("sentence", "claim", "span")
_NAMED = ("system", "domain", "category")


@checks_keywords
def card(
    run: RunFolder | None = None,
    gold: Dataset | None = None,
    *,
    group_by: Sequence[str] = (),
    edges: Sequence[int] = (250, 500, 1000, 2000),
    redacted: str | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **select: Unpack[SelectionArgs],
) -> Study:
    """The card of a run; with `gold`, people's judgments stand in it as a judge of their own. Either can be left out.

    `group_by` are further columns, of either side, by which means are given; `edges` the lengths of documents in
    words at which a new bucket begins; `redacted` the column that tells ("column" or "column=value", value being
    the redacted one). Of the shared keywords `aspect` and `judge` choose, the others merge people's judgments.

    Rows of the study "card": `mean`, `domain_average` (mean of the domain means), `domain_stability` (in %),
    `error_share` (of all errors) and `error_rate` (of all judged units) with `details.error_type`, `pearson` and
    `spearman` of abstractiveness with faithfulness, `redaction_delta`. Grouping keys stand in `system`, `domain`,
    `category`, others in `details.by` and `details.group`. Raises UsageError where nothing fits.

        sm.meta.card(gold=data, group_by=["source"])
    """
    if run is None and gold is None:
        raise UsageError("give a run, data with people's judgments, or both")
    if list(edges) != sorted(set(edges)) or any(edge < 1 for edge in edges):
        raise UsageError(f"the edges of length buckets must be rising numbers above 0, got {list(edges)}")
    selection, resample = Selection(**select), resampling(resamples, confidence, seed)
    data = [source for source in (run.data if run is not None else None, gold) if source is not None]
    context = _joined([context_of(source) for source in data])
    length = LENGTH if LENGTH not in context.extra else LENGTH_IN_WORDS
    buckets = {
        (summary.document_id, summary.system): bucket(len(words(source.documents[summary.document_id].text)), edges)
        for source in data
        for summary in source.summaries
    }
    context = replace(context, extra={**context.extra, length: buckets})
    further = [name for name in (selection.by, *group_by) if name is not None]
    columns = list(dict.fromkeys(("system", "domain", "category", length, *further)))
    series = _series(run, gold, selection)
    rows: list[Row] = []
    for scores in series:
        rows.extend(_score_rows(scores, context, columns, redacted, resample))
    rows.extend(_error_rows(run, gold, context, columns, selection))
    rows.extend(_abstractness(series, context))
    domains = len({name for name in context.domains.values() if name is not None})
    note = f"domain stability is 100 - (max - min) of a system's domain means in %; there are {domains} domains"
    return Study(STUDY, rows, [note])


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


def _joined(contexts: Sequence[Context]) -> Context:
    """What either side knows of documents and summaries; where both know something, the first counts."""
    whole = contexts[-1]
    for context in reversed(contexts[:-1]):
        extra = {
            name: {**whole.extra.get(name, {}), **context.extra.get(name, {})}
            for name in (*context.extra, *(name for name in whole.extra if name not in context.extra))
        }
        whole = Context(
            {**whole.domains, **_known(context.domains)},
            {**whole.splits, **_known(context.splits)},
            {**whole.categories, **_known(context.categories)},
            extra,
        )
    return whole


def _known(values: Mapping[Key, str | None]) -> dict[Key, str]:
    return {key: value for key, value in values.items() if value is not None}


def _series(run: RunFolder | None, gold: Dataset | None, selection: Selection) -> list[Scores]:
    """The scores of summaries of every judge, then people's, on the aspects that were chosen."""
    chosen = selection.aspects
    series, there = [], []
    if run is not None:
        judges = judge_input(run)
        there = [f"{aspect} ({judge})" for judge, _, aspect in judges.questions()]
        series += [
            judges.scores(question, Level.SUMMARY)
            for question in judges.questions(judge=selection.judge)
            if not chosen or question[2] in chosen
        ]
    if gold is not None:
        columns, _ = gold_input(gold, selection.judgment_set)
        there += [f"{aspect} ({PEOPLE})" for aspect in judged_aspects(columns)]
        for aspect in judged_aspects(columns):
            if not chosen or aspect in chosen:
                series += gold_scores(columns, aspect, Level.SUMMARY, selection.rule, selection.source)
    series = [scores for scores in series if len(scores)]
    lost = [name for name in chosen if name not in {scores.aspect for scores in series}]
    if lost or not series:
        where = "the run" if run is not None else "the data"
        known = ", ".join(sorted(set(there))) or "none"
        raise UsageError(f"nothing in {where} fits{f' {lost[0]!r}' if lost else ''}; it has: {known}")
    return series


class _Part(NamedTuple):
    """The rows of one value of a column, and the fields of a row about them."""

    fields: dict[str, Any]
    rows: Bools


def _parts(column: str, values: Names) -> Iterator[_Part]:
    for code in dict.fromkeys(values.codes.tolist()):
        value = values.names[code]
        if value is not None:
            yield _Part(group_fields(column, value), np.asarray(values.codes == code))


def group_fields(column: str, value: str) -> dict[str, Any]:
    """The fields that say which group a row is about."""
    return {column: value} if column in _NAMED else {"details": {"by": column, "group": value}}


def _about(scores: Scores) -> dict[str, Any]:
    return {
        "study": STUDY, "judge": scores.judge, "signature": scores.signature, "model": scores.model,
        "aspect": scores.aspect,
    }  # fmt: skip


# ---- means, domain stability, redaction ----


def _score_rows(
    scores: Scores, context: Context, columns: Sequence[str], redacted: str | None, resample: Resampling
) -> Iterator[Row]:
    """Everything about one judge's aspect."""
    about = _about(scores)
    parts = {name: list(_parts(name, context.column(name, scores.document, scores.system))) for name in columns}

    def mean(rows: Bools, **fields: Any) -> Row:
        estimate = resample(scores.document.take(rows).codes).mean(scores.value[rows])
        return interval_row(estimate, **{**about, **fields}, level="summary", statistic="mean")

    for system, rows in parts["system"]:
        yield mean(rows, **system)
        means = [mean(rows & inside, **system, **domain) for domain, inside in parts["domain"] if (rows & inside).any()]
        yield from means
        if means:
            yield from _over_domains({**about, **system}, [row.value for row in means], scores.value)
    for name in columns[1:]:
        for fields, rows in parts[name]:
            yield mean(rows, **fields)
    for category, rows in parts["category"]:
        for domain, inside in parts["domain"]:
            if (rows & inside).any():
                yield mean(rows & inside, **category, **domain)
    yield from _redaction(scores, context, parts["system"], redacted, resample)


def _over_domains(about: Mapping[str, Any], means: Sequence[float | None], values: Floats) -> Iterator[Row]:
    """The average of a system's domain means, and how stable they are."""
    known = [mean for mean in means if mean is not None]
    fields: dict[str, Any] = {**about, "level": "domain", "n": len(known), "missing": len(means) - len(known)}
    average = fmean(known) if known else None
    reason = None if known else "no domain has a mean"
    yield Row(**fields, statistic="domain_average", value=average, status=status_of(average), reason=reason)
    there = values[~np.isnan(values)]
    value, reason = domain_stability(means, shares=bool(((there >= 0) & (there <= 1)).all()))
    yield Row(
        **fields, statistic="domain_stability", value=value, status=status_of(value), reason=reason,
        details={"unit": "%"},
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
    scores: Scores, context: Context, systems: Sequence[_Part], column: str | None, resample: Resampling
) -> Iterator[Row]:
    """Redacted minus unredacted, over all and by system."""
    marked = redaction_column(context, column)
    if marked is None:
        return
    name, is_redacted = marked
    values = context.column(name, scores.document, scores.system)
    states = [is_redacted(value) for value in values.names]
    marks = np.array([np.nan if state is None else float(state) for state in states])[values.codes]
    for fields, rows in (_Part({}, np.ones(len(scores), dtype=np.bool_)), *systems):
        inside = rows & ~np.isnan(scores.value + marks)
        missing, value, mark = int(rows.sum() - inside.sum()), scores.value[inside], marks[inside]
        about = {**_about(scores), **fields, "level": "summary", "statistic": "redaction_delta"}
        counts = {"redacted": int((mark == 1).sum()), "unredacted": int((mark == 0).sum())}
        details = {"column": name, **counts}
        if not all(counts.values()):
            reason = f"{name} does not tell redacted from unredacted summaries here"
            about |= {"status": "undefined", "reason": reason, "details": details}
            yield Row(**about, value=None, n=len(value), missing=missing)
            continue
        bootstrap = resample(scores.document.take(inside).codes)
        estimate = bootstrap.interval(of_rows(_gap, [value, mark], bootstrap.codes), missing=missing)
        yield interval_row(estimate, **about, details=details)


def _gap(values: Floats, marks: Floats) -> float | None:
    if not (marks == 1).any() or not (marks == 0).any():
        return None
    return float(values[marks == 1].mean() - values[marks == 0].mean())


def redaction_column(context: Context, column: str | None) -> tuple[str, Callable[[str | None], bool | None]] | None:
    """The column that tells which documents are redacted, and how to read it; None where there is none.

    A value that says neither yes nor no is left out (None). Raises UsageError for an unknown column.
    """
    if column is None:
        name = next((name for name in REDACTED if name in context.extra), None)
        return None if name is None else (name, _redacted)
    name, equals, redacted = column.partition("=")
    context.lookup(name)  # raises for an unknown column
    return name, (lambda value: None if value is None else value == redacted) if equals else _redacted


def _redacted(value: str | None) -> bool | None:
    text = None if value is None else value.strip().casefold()
    return text in _YES if text in _YES | _NO else None


# ---- types of error ----


def _error_rows(
    run: RunFolder | None, gold: Dataset | None, context: Context, columns: Sequence[str], selection: Selection
) -> Iterator[Row]:
    """`error_share` (of all typed errors) and `error_rate` (of all judged units) of each type, by each column.

    A unit is a sentence, claim or span with a verdict on its error; each of its types counts. People's votes count
    one each, so a sentence that two of three annotators call an entity error has two votes for it.
    """
    if selection.aspects and FAITHFULNESS not in selection.aspects:
        return
    if run is not None:
        judges = judge_input(run)
        for question in judges.questions(FAITHFULNESS, selection.judge):
            if question in judges.rows:
                judgments = judges.table.take(judges.rows[question])
                about = {"judge": question[0], "signature": question[1], "model": _model(judgments)}
                yield from _distribution(judgments, about, context, columns)
    if gold is not None:
        votes, _ = gold_input(gold, selection.judgment_set)
        votes = votes.take(votes.aspect.equal(FAITHFULNESS))
        for signature in votes.signature.used():
            about = {"judge": PEOPLE, "signature": f"{signature}|merge:votes"}
            yield from _distribution(votes.take(votes.signature.equal(signature)), about, context, columns)


def _model(judgments: JudgmentTable) -> str | None:
    return ",".join(name for name in judgments.model.used() if name is not None) or None


def _distribution(
    judgments: JudgmentTable, about: Mapping[str, Any], context: Context, columns: Sequence[str]
) -> Iterator[Row]:
    units = judgments.take(np.isin(judgments.unit.labels(), _UNITS))
    named = [error_types(name) - {NO_ERROR} for name in units.error_type.names]
    kinds = {
        kind: np.array([kind in types for types in named], dtype=np.bool_)[units.error_type.codes]
        for kind in dict.fromkeys(kind for types in named for kind in sorted(types))
    }
    if not kinds:
        return
    usable: Bools = units.status.equal("ok")
    parts = [_Part({}, np.ones(len(units), dtype=np.bool_))]
    for name in columns:
        parts += _parts(name, context.column(name, units.document, units.system))
    for fields, rows in parts:
        judged = int((rows & usable).sum())
        counts = {kind: int((given & rows & usable).sum()) for kind, given in kinds.items()}
        errors = sum(counts.values())
        for kind, count in counts.items():
            details = {"error_type": kind, "count": count, "errors": errors, "units": judged}
            for statistic, whole, why in (
                ("error_share", errors, "no error of any type here"),
                ("error_rate", judged, "no unit has a verdict"),
            ):
                yield Row(
                    study=STUDY, **{**about, **fields, "details": {**fields.get("details", {}), **details}},
                    aspect=FAITHFULNESS, level="sentence", statistic=statistic, value=count / whole if whole else None,
                    status="ok" if whole else "undefined", reason=None if whole else why, n=whole,
                    missing=int((rows & ~usable).sum()),
                )  # fmt: skip


# ---- abstractiveness against faithfulness ----


def _abstractness(series: Sequence[Scores], context: Context) -> Iterator[Row]:
    """Abstractiveness against faithfulness: over all summaries, within systems and domains, and over systems."""
    novel = next((scores for scores in series if scores.aspect == ABSTRACTIVENESS), None)
    if novel is None:
        return
    for faithful in (scores for scores in series if scores.aspect == FAITHFULNESS):
        place = {item: row for row, item in enumerate(_items(faithful))}
        rows = np.array([row for row, item in enumerate(_items(novel)) if item in place], dtype=np.int64)
        there = np.array([place[item] for item in _items(novel) if item in place], dtype=np.int64)
        x, y = novel.value[rows], faithful.value[there]
        document, system = novel.document.take(rows), novel.system.take(rows)
        about = {**_about(novel), "gold_aspect": FAITHFULNESS, "gold_signature": faithful.signature,
                 "average": "pooled"}  # fmt: skip
        parts = [_Part({}, np.ones(len(x), dtype=np.bool_))]
        for name in ("system", "domain"):
            parts += _parts(name, context.column(name, document, system))
        for fields, inside in parts:
            for coefficient in (Coefficient.PEARSON, Coefficient.SPEARMAN):
                yield _correlation({**about, **fields, "level": "summary"}, x[inside], y[inside], coefficient)
        there = ~np.isnan(x + y)
        means = np.array(
            [
                [side[part.rows & there].mean() if (part.rows & there).any() else np.nan for side in (x, y)]
                for part in _parts("system", system)
            ]
        ).reshape(-1, 2)
        yield _correlation({**about, "level": "system"}, means[:, 0], means[:, 1], Coefficient.SPEARMAN)


def _items(scores: Scores) -> Iterator[tuple[Any, Any]]:
    return zip(scores.document.labels(), scores.system.labels(), strict=True)


def _correlation(about: Mapping[str, Any], x: Floats, y: Floats, coefficient: Coefficient) -> Row:
    got = correlate(x, y, coefficient)
    return Row(
        **about, statistic=coefficient.value, value=got.value, n=got.n, missing=got.missing, p=got.p,
        status=status_of(got.value), reason=got.reason,
    )  # fmt: skip


# ---- the card as Markdown ----


def markdown(study: Study, title: str = "Benchmark card") -> str:
    """The card as Markdown, ending in a line feed. Every cell with missing scores says how many."""
    tables = [
        *_mean_tables(study), *_group_tables(study), *_error_tables(study), _abstractness_table(study),
        _redaction_table(study),
    ]  # fmt: skip
    parts = [f"# {escape_markdown(title)}\n", *(table.markdown() for table in tables if table.rows)]
    made = "".join(f"- {escape_markdown(text)}\n" for text in (*study.signatures(), *study.notes))
    return "\n".join([*parts, f"## How it was made\n\n{made}"])


def _mean_tables(study: Study) -> Iterator[Table]:
    """A table a judge and aspect: systems by domains, with their average and stability."""
    means = study.where(statistic="mean")
    domains = list(dict.fromkeys(row.domain for row in means if row.domain is not None))
    heads = [*domains, *(["average of domains", "domain stability (%)"] if domains else []), "all"]
    wanted: list[tuple[str, str | None]] = [("mean", domain) for domain in domains]
    wanted += [("domain_average", None), ("domain_stability", None)] if domains else []
    for judge, signature, aspect in _judges(study):
        cells = {
            (row.system, row.statistic, row.domain): row
            for row in study.where(judge=judge, signature=signature, aspect=aspect, category=None)
            if "group" not in row.details and row.system is not None
        }
        lines = [
            [system, *(_cell(cells.get((system, *key))) for key in (*wanted, ("mean", None)))]
            for system in dict.fromkeys(system for system, *_ in cells)
        ]
        yield Table.of(["system", *heads], lines, align="lr", title=f"{aspect} by {judge}")


def _judges(study: Study) -> list[tuple[str | None, str | None, str | None]]:
    """(judge, signature, aspect) of the means, in order."""
    return list(dict.fromkeys((row.judge, row.signature, row.aspect) for row in study.where(statistic="mean")))


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row.value is None:
        return f"- ({row.reason})"
    return with_missing(number(row.value, 1 if row.statistic == "domain_stability" else 3), row.missing)


def _group(row: Row) -> tuple[str, str] | None:
    """(column, value) of the one group a row is about; None where it is about all or about several."""
    groups = [(name, value) for name in _NAMED if (value := getattr(row, name)) is not None]
    if "group" in row.details:
        groups.append((str(row.details["by"]), str(row.details["group"])))
    return groups[0] if len(groups) == 1 else None


def _place(row: Row) -> str:
    group = _group(row)
    return "everything" if group is None else ": ".join(group)


def _group_tables(study: Study) -> Iterator[Table]:
    """A table a column to group by: its values by judge and aspect."""
    judges = _judges(study)
    columns: dict[str, dict[str, dict[tuple[str | None, ...], Row]]] = {}
    for row in study.where(statistic="mean", system=None):
        if group := _group(row):
            cells = columns.setdefault(group[0], {}).setdefault(group[1], {})
            cells[row.judge, row.signature, row.aspect] = row
    for name, values in columns.items():
        heads = [name, *(f"{aspect} ({judge})" for judge, _, aspect in judges)]
        lines = [[value, *(_cell(cells.get(key)) for key in judges)] for value, cells in values.items()]
        yield Table.of(heads, lines, align="lr", title=f"By {name}")


def _error_tables(study: Study) -> Iterator[Table]:
    """A table a judge: the share of each type among all errors, over all and by group, with the number of errors."""
    shares = study.where(statistic="error_share")
    for judge, signature in dict.fromkeys((row.judge, row.signature) for row in shares):
        places: dict[str, dict[str, Row]] = {}
        for row in shares.where(judge=judge, signature=signature):
            places.setdefault(_place(row), {})[str(row.details["error_type"])] = row
        types = list(dict.fromkeys(kind for cells in places.values() for kind in cells))
        lines = []
        for place, cells in places.items():
            first = next(iter(cells.values()))
            shown = ["-" if cells[kind].value is None else _share(cells[kind]) for kind in types]
            units = with_missing(str(first.details["units"]), first.missing)
            lines.append([place, *shown, first.n, units])
        heads = ["where", *types, "errors", "of units"]
        yield Table.of(heads, lines, align="lr", title=f"Types of error by {judge}")


def _share(row: Row) -> str:
    return with_missing(number(row.value), row.missing)


def _abstractness_table(study: Study) -> Table:
    lines = [
        ["over systems" if row.level == "system" else _place(row), (row.gold_signature or "").partition("|")[0],
         row.statistic, _cell(row), p_value(row.p), row.n]
        for row in study.where(aspect=ABSTRACTIVENESS) if row.statistic in set(Coefficient)
    ]  # fmt: skip
    heads = ["where", "faithfulness by", "coefficient", "value", "p", "n"]
    return Table.of(heads, lines, align="lr", title="Abstractiveness against faithfulness")


def _redaction_table(study: Study) -> Table:
    lines = [
        [row.system or "all systems", f"{row.aspect} ({row.judge})",
         f"{_cell(row)} {interval(row.low, row.high)}".rstrip(),
         f"{row.details['redacted']} and {row.details['unredacted']}"]
        for row in study.where(statistic="redaction_delta")
    ]  # fmt: skip
    heads = ["system", "score", "difference", "summaries"]
    return Table.of(heads, lines, align="lr", title="Redacted minus unredacted")
