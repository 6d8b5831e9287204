"""Measurement of systems and evaluators on a user's own benchmark, as in UniSumEval.

    protocol: own
    data: benchmark/release
    evaluators: [support, "finesure[strategy=evidence]"]
    models: {judge: openai/gpt-4o}

The tables have the layouts of UniSumEval. There is one table for the annotators and one for each evaluator, with each
aspect by system and domain, the average and the domain stability, and the same by length and kind of text (tables 5 and
14-17). Further tables contain the correlation of each evaluator with the annotators by domain, length and kind, at the
summary level and at the system level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from summeter.choices import Level
from summeter.data.dataset import Dataset, load
from summeter.meta import card, correlate
from summeter.meta._card import across_tables, mean_tables
from summeter.meta.inputs import context_of
from summeter.meta.results import Row, Study, judge_labels, pivot
from summeter.records import UsageError, nearest
from summeter.runs.run import RunFolder
from summeter.tables import Table, number, with_interval, with_missing

STUDY = "benchmark"
DOMAIN = "domain"
USUAL = ("length", "kind")
_LONG_COLUMNS = (
    "study", "judge", "signature", "aspect", "gold_aspect", "level", "statistic", "system", "domain", "by", "group",
    "value", "low", "high", "n", "missing", "reason",
)  # fmt: skip


def read(source: Path, judgment_set: str, by: Sequence[str] | None) -> Dataset:
    """Read the data.

    Raises InputError if the data are invalid, and UsageError if the judgment set or a column of `by` is missing.
    """
    data = load(source)
    if judgment_set not in data.judgment_sets:
        known = ", ".join(data.judgment_sets) or "none"
        raise UsageError(f"{source} has no judgment set {judgment_set!r}; it has: {known}")
    columns_of(data, by)
    return data


def columns_of(data: Dataset, by: Sequence[str] | None) -> Sequence[str]:
    """Return the columns, besides the domain, by which results are broken down.

    By default, these are `length` and `kind`, if they are present. Raises UsageError if a column is missing.
    """
    context = context_of(data)
    known = sorted(context.extra)
    known += [name for name, of in (("category", context.categories), ("split", context.splits)) if any(of.values())]
    if by is None:
        return [name for name in USUAL if name in known]
    for name in by:
        if name == DOMAIN or name not in known:
            why = "is in every table already" if name == DOMAIN else "is not a column of the data"
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
    """Return the means by annotators and by each run, and the evaluators' correlations.

    The correlations are those with the annotators.
    """
    columns, aspect = columns_of(data, by), list(aspects) or None
    people = card(None, data, across=columns, aspect=aspect, judgment_set=judgment_set, resamples=resamples, seed=seed)
    rows, notes = list(people), list(people.notes)
    for run in runs:
        measured = card(run, across=columns, resamples=resamples, seed=seed)
        rows += (row for row in measured if aspect is None or row.aspect in aspect)
        for level in (Level.SUMMARY, Level.SYSTEM):
            level_rows: list[Row] = []
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
                level_rows += (row for row in study if row not in level_rows)
                notes += (note for note in study.notes if note not in notes)
            rows += level_rows
    return Study(STUDY, rows, notes)


def long_rows(study: Study) -> list[dict[str, Any]]:
    """Return the rows of the study with the fields of its CSV file."""
    cells = ({**row.details, **row.model_dump(exclude={"details"})} for row in study)
    return [{name: row.get(name) for name in _LONG_COLUMNS} for row in cells]


def tables(study: Study) -> Iterator[Table]:
    """Yield the tables of systems, followed by the tables of the evaluators' correlations.

    For each judge and aspect, there is one table by domain and one by each further column. There is one table of
    correlations per aspect, level and coefficient.
    """
    cards = Study("card", [row for row in study if row.study == "card"], ())
    yield from mean_tables(cards)
    yield from across_tables(cards)
    study = study.where(study="correlation")
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
            show=_cell,
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


def _cell(row: Row | None) -> str:
    if row is None or row.value is None:
        return number(None)
    shown = with_interval(row.value, row.low, row.high, 2) if _group(row) == "all" else number(row.value, 2)
    return with_missing(shown, row.missing)
