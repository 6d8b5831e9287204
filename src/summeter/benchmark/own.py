"""Systems and evaluators on a benchmark of one's own, in the layouts of UniSumEval's tables.

    protocol: own
    data: benchmark/release
    evaluators: [support, "finesure[strategy=evidence]"]
    models: {judge: openai/gpt-4o}

For people and every evaluator: each aspect by system and domain, with the average and the domain stability, and the
same by length and kind of text (UniSumEval, tables 5 and 14-17). For every evaluator: its correlation with people by
domain, length and kind, of summaries and of systems (its tables of evaluators).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from summeter.choices import Level
from summeter.data.dataset import Dataset, load
from summeter.meta import card, correlate
from summeter.meta._card import across_tables, mean_tables
from summeter.meta.inputs import context_of
from summeter.meta.protocol_layouts import formatted
from summeter.meta.results import Row, Study, judge_labels, pivot
from summeter.records import UsageError, nearest
from summeter.runs.run import RunFolder
from summeter.tables import Table, number, with_interval, with_missing

STUDY = "benchmark"
DOMAIN = "domain"
USUAL = ("length", "kind")
_LONG = (
    "study", "judge", "signature", "aspect", "gold_aspect", "level", "statistic", "system", "domain", "by", "group",
    "value", "low", "high", "n", "missing", "reason",
)  # fmt: skip


def read(source: Path, judgment_set: str, by: Sequence[str] | None) -> Dataset:
    """The data. Raises InputError for faulty ones, UsageError where people judged nothing in them, or a column of `by`
    is not there."""
    data = load(source)
    if judgment_set not in data.judgment_sets:
        known = ", ".join(data.judgment_sets) or "none"
        raise UsageError(f"{source} has no judgment set {judgment_set!r}; it has: {known}")
    columns_of(data, by)
    return data


def columns_of(data: Dataset, by: Sequence[str] | None) -> Sequence[str]:
    """The columns by which everything is given, beside the domain: by default `length` and `kind`, where they are.
    Raises UsageError for one that is not there."""
    context = context_of(data)
    known = sorted(context.extra)
    known += [name for name, of in (("category", context.categories), ("split", context.splits)) if any(of.values())]
    if by is None:
        return [name for name in USUAL if name in known]
    for name in by:
        if name == DOMAIN or name not in known:
            why = "stands in every table already" if name == DOMAIN else "is no column of the data"
            raise UsageError(f"by: {name!r} {why}{nearest(name, known)}; columns: {', '.join(known) or 'none'}")
    return by


def measure(
    data: Dataset,
    runs: Sequence[RunFolder],
    *,
    by: Sequence[str] | None,
    aspects: Sequence[str],
    coefficients: Sequence[str],
    judgment_set: str,
    resamples: int,
    seed: int,
) -> Study:
    """The rows of people's and every run's card, and of every evaluator's correlation with people."""
    columns, aspect = columns_of(data, by), list(aspects) or None
    people = card(None, data, across=columns, aspect=aspect, judgment_set=judgment_set, resamples=resamples, seed=seed)
    rows, notes = list(people), list(people.notes)
    for run in runs:
        measured = card(run, across=columns, resamples=resamples, seed=seed)
        rows += (row for row in measured if aspect is None or row.aspect in aspect)
        for level in (Level.SUMMARY, Level.SYSTEM):
            found: list[Row] = []
            for name in (DOMAIN, *columns):
                study = correlate(
                    run,
                    data,
                    level=level.value,
                    by=name,
                    coefficients=coefficients,
                    aspect=aspect,
                    judgment_set=judgment_set,
                    resamples=resamples,
                    seed=seed,
                )
                found += (row for row in study if row not in found)
                notes += (note for note in study.notes if note not in notes)
            rows += found
    return Study(STUDY, rows, notes)


def laid_out(study: Study, form: str) -> str:
    """The study as `markdown`, `csv` or `latex`, ending in a line feed."""
    long = Table.of(_LONG, [[_long(row).get(name) for name in _LONG] for row in study])
    return formatted(study, form, tables(study), long)


def tables(study: Study) -> Iterator[Table]:
    """The tables: systems by domain and by each column for every judge and aspect, then evaluators beside people."""
    cards = Study("card", [row for row in study if row.study == "card"], ())
    yield from mean_tables(cards)
    yield from across_tables(cards)
    yield from _evaluator_tables(study.where(study="correlation"))


def _long(row: Row) -> Mapping[str, Any]:
    place = {"by": row.details.get("by"), "group": row.details.get("group")}
    return {**row.model_dump(exclude={"details"}), **place}


def _evaluator_tables(study: Study) -> Iterator[Table]:
    """A table an aspect, level and coefficient: evaluators by domain and by each column's values."""
    labels = dict(zip(((row.judge, row.signature) for row in study), judge_labels(study.rows), strict=True))
    keys = dict.fromkeys((row.gold_aspect or row.aspect, row.level, row.statistic) for row in study)
    for aspect, level, statistic in keys:
        rows = [row for row in study if (row.gold_aspect or row.aspect, row.level, row.statistic) ==
                (aspect, level, statistic)]  # fmt: skip
        groups = sorted(dict.fromkeys(map(_group, rows)), key=lambda group: group == "all")
        names = {
            (row.judge, row.signature, row.aspect): str(labels[row.judge, row.signature])
            + ("" if row.aspect == aspect else f" ({row.aspect})")
            for row in rows
        }
        yield pivot(
            rows,
            line=lambda row: (row.judge, row.signature, row.aspect),
            column=_group,
            show=_value,
            lines=names,
            columns={group: group for group in groups},
            heads=["evaluator"],
            title=f"{aspect}: {statistic} of evaluators with people, {level} level",
        )


def _group(row: Row) -> str:
    if row.domain is not None:
        return row.domain
    if row.category is not None:
        return f"category: {row.category}"
    return f"{row.details['by']}: {row.details['group']}" if "group" in row.details else "all"


def _value(row: Row | None) -> str:
    if row is None or row.value is None:
        return number(None)
    shown = with_interval(row.value, row.low, row.high, 2) if _group(row) == "all" else number(row.value, 2)
    return with_missing(shown, row.missing)
