"""What is in a dataset as one HTML file, or as lines for a terminal: its overview beside people's agreement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from summeter.data.atomic import write_lines
from summeter.data.dataset import Dataset
from summeter.data.overview import VOTES, Overview, describe
from summeter.meta import agree
from summeter.meta.inputs import TooLargeError, gold_input
from summeter.pages.numbers import count
from summeter.pages.templates import one_file
from summeter.records import UsageError
from summeter.report.rendering import TEMPLATES
from summeter.tables import number

ALPHA = "alpha_ordinal"
"""The coefficient of the one line: of labels with two values it is the nominal alpha."""
_PLURALS = {"summary": "summaries"}


class Agreement(NamedTuple):
    """How far the annotators of a judgment set agree on an aspect: ordinal alpha, None where `reason` says why."""

    judgment_set: str
    aspect: str
    unit: str
    value: float | None
    reason: str | None
    annotators: int
    items: int


def agreements(dataset: Dataset) -> list[Agreement]:
    """Krippendorff's ordinal alpha of each aspect that two people or more judged, in each judgment set."""
    return [agreement for name in dataset.judgment_sets for agreement in _agreements(dataset, name)]


def _agreements(dataset: Dataset, name: str) -> Iterator[Agreement]:
    try:
        table, _ = gold_input(dataset.iter_judgments(name))
        study = agree(table, coefficients=[ALPHA], resamples=0, judgment_set=name)
    except TooLargeError as error:
        yield Agreement(name, "every aspect", "summary", None, str(error), 0, 0)
    except UsageError:
        return  # nothing that two people judged
    else:
        for row in study:
            raters = int(row.details.get("raters", 0))
            reason = row.reason if row.value is None else None
            yield Agreement(name, row.aspect or "", row.level or "", row.value, reason, raters, row.n)


def agreement_line(rows: list[Agreement]) -> str | None:
    """All of them in one line; None where nothing was judged twice.

    >>> agreement_line([Agreement("human.raw", "faithfulness", "sentence", 0.612, None, 3, 953)])
    "agreement (Krippendorff's ordinal alpha): faithfulness 0.61 (953 sentences)"
    """
    if not rows:
        return None
    by_set: dict[str, list[str]] = {}
    for row in rows:
        value = number(row.value, 2) if row.value is not None else f"not known, {row.reason}"
        words = f"{row.aspect} {value} ({count(row.items, row.unit.replace('_', ' '), _PLURALS.get(row.unit))})"
        by_set.setdefault(row.judgment_set, []).append(words)
    parts = (f"{name}: {', '.join(words)}" if len(by_set) > 1 else ", ".join(words) for name, words in by_set.items())
    return f"agreement (Krippendorff's ordinal alpha): {'; '.join(parts)}"


def dataset_html(dataset: Dataset, out: str | Path, *, overview: Overview | None = None) -> Path:
    """Write what is in a dataset to `out` as one HTML file, whole or not at all; returns its path.

    `overview` is what `describe` said of it, where that is at hand.

        sm.report.dataset_html(sm.load("rows.jsonl"), "rows.html")
    """
    whole = overview or describe(dataset)
    line = agreement_line(agreements(dataset))
    said = (f"{line[0].upper()}{line[1:]}.",) if line else ()
    tables = [
        replace(table, notes=(*table.notes, *said)) if table.title == VOTES else table for table in whole.tables()
    ]
    values = {"title": whole.counts["name"], "counts": whole.counts, "tables": tables}
    target = Path(out)
    write_lines(target, one_file(TEMPLATES, "dataset.html.j2", values))
    return target
