"""What is in a dataset as one HTML file, or as lines for a terminal: its overview beside people's agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from summeter.data.atomic import write_lines
from summeter.data.dataset import Dataset
from summeter.data.overview import VOTES, Overview, describe
from summeter.meta import agree
from summeter.meta.inputs import TooLargeError, gold_input
from summeter.meta.results import Row, Study
from summeter.pages.numbers import count
from summeter.pages.templates import one_file
from summeter.records import UsageError
from summeter.report.rendering import TEMPLATES
from summeter.tables import number

ALPHA = "alpha_ordinal"
"""The coefficient of the one line: of labels with two values it is the nominal alpha."""
_PLURALS = {"summary": "summaries"}


def agreements(dataset: Dataset) -> list[tuple[str, Row]]:
    """Krippendorff's ordinal alpha of each aspect that two people or more judged, beside the judgment set's name."""
    return [(name, row) for name in dataset.judgment_sets for row in _agreements(dataset, name)]


def _agreements(dataset: Dataset, name: str) -> Study:
    try:
        table, _ = gold_input(dataset.iter_judgments(name))
        return agree(table, coefficients=[ALPHA], resamples=0, judgment_set=name)
    except TooLargeError as error:
        about = {"aspect": "every aspect", "level": "summary", "status": "undefined", "reason": str(error)}
        return Study("agree", [Row(study="agree", statistic=ALPHA, value=None, n=0, **about)])
    except UsageError:
        return Study("agree", [])  # nothing that two people judged


def agreement_line(rows: Sequence[tuple[str, Row]]) -> str | None:
    """All of them in one line; None where nothing was judged twice.

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
