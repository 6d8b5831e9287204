"""Overview of a dataset and the agreement of its annotators, for HTML and the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from summeter.data.atomic import write_lines
from summeter.data.dataset import Dataset
from summeter.data.overview import VOTES, Overview, describe
from summeter.meta import agree
from summeter.meta.inputs import TooLargeError, gold_input
from summeter.meta.results import Row
from summeter.pages.numbers import count
from summeter.pages.templates import one_file
from summeter.records import UsageError
from summeter.report.rendering import TEMPLATES
from summeter.tables import Table, number

ALPHA = "alpha_ordinal"
"""Coefficient in the agreement line; for labels with two values, it equals the nominal alpha."""
_PLURALS = {"summary": "summaries"}


def agreements(dataset: Dataset) -> list[tuple[str, Row]]:
    """Return Krippendorff's ordinal alpha of each aspect that several people judged.

    Each row comes with the name of the judgment set.
    """
    results = []
    for name in dataset.judgment_sets:
        rows: Iterable[Row]
        try:
            table, _ = gold_input(dataset.iter_judgments(name))
            rows = agree(table, coefficients=[ALPHA], resamples=0, judgment_set=name)
        except TooLargeError as error:
            about = {"aspect": "every aspect", "level": "summary", "status": "undefined", "reason": str(error)}
            rows = [Row(study="agree", statistic=ALPHA, value=None, n=0, **about)]
        except UsageError:
            continue  # no unit was judged by two or more people
        results += [(name, row) for row in rows]
    return results


def agreement_line(rows: Sequence[tuple[str, Row]]) -> str | None:
    """Return the agreement of all aspects in one line, or None if no unit was judged twice.

    >>> row = Row(study="agree", statistic=ALPHA, aspect="faithfulness", level="sentence", value=0.612, n=953)
    >>> agreement_line([("human.raw", row)])
    "agreement (Krippendorff's ordinal alpha): faithfulness 0.61 (953 sentences)"
    """
    if not rows:
        return None
    by_set: dict[str, list[str]] = {}
    for name, row in rows:
        value = number(row.value, 2) if row.value is not None else f"not known, {row.reason}"
        unit = (row.level or "").replace("_", " ")
        by_set.setdefault(name, []).append(f"{row.aspect} {value} ({count(row.n, unit, _PLURALS.get(unit))})")
    parts = (f"{name}: {', '.join(texts)}" if len(by_set) > 1 else ", ".join(texts) for name, texts in by_set.items())
    return f"agreement (Krippendorff's ordinal alpha): {'; '.join(parts)}"


def overview_tables(overview: Overview, agreement: Sequence[tuple[str, Row]]) -> list[Table]:
    """Return the tables of an overview. The agreement of annotators is a note of the table of votes."""
    line = agreement_line(agreement)
    return [
        replace(table, notes=(*table.notes, line)) if line and table.title == VOTES else table
        for table in overview.tables()
    ]


def dataset_page(overview: Overview, agreement: Sequence[tuple[str, Row]]) -> Iterator[str]:
    """Yield the page of a dataset in chunks."""
    counts = overview.counts
    values = {"title": counts["name"], "counts": counts, "tables": overview_tables(overview, agreement)}
    return one_file(TEMPLATES, "dataset.html.j2", values)


def dataset_html(dataset: Dataset, out: str | Path) -> Path:
    """Write an overview of a dataset to `out` as one HTML file, and return the path.

    The file is written atomically.

        sm.report.dataset_html(sm.load("rows.jsonl"), "rows.html")
    """
    target = Path(out)
    write_lines(target, dataset_page(describe(dataset), agreements(dataset)))
    return target
