"""Layouts of the results of a protocol in Markdown, LaTeX and CSV, as in the papers.

A table has one line per cell, followed by the means, and one column per judge. Values are in percent with one decimal.
A cell shows the number of missing scores. An undefined value is shown as a dash with a letter, which refers to a note
that gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from summeter.meta._protocol import ACCURACY, AREA, DIFFERENCE, MEAN
from summeter.meta.results import Row, Study, pivot
from summeter.tables import Table, interval, number, p_value, signed, with_missing

FILES = {"markdown": "table.md", "csv": "table.csv", "latex": "table.tex"}
"""Name of the file of each format."""

_HEADERS = {"origin": "Origin", "dataset": "Dataset", "category": "Group"}
_WEIGHTS = {"rows": "mean by rows", "cells": "mean"}


class _Letters(dict[str, str]):
    """Letters that refer to the notes of a table, in order of appearance."""

    def __missing__(self, note: str) -> str:
        tens, ones = divmod(len(self), 26)
        self[note] = f"({chr(96 + tens) if tens else ''}{chr(97 + ones)})"
        return self[note]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{letter} {note}" for note, letter in self.items())


def tables(study: Study) -> Iterator[Table]:
    """Yield the tables of the study."""
    for table in dict.fromkeys(row.details["table"] for row in study):
        rows = [row for row in study if row.details["table"] == table]
        title = rows[0].details["title"]
        yield _grid(f"{title}: balanced accuracy, %", rows, ACCURACY)
        yield _grid(f"{title}: AUROC, %", rows, AREA)
        if pairs := [row for row in rows if row.statistic == DIFFERENCE]:
            yield _pairs(f"{title}: differences, points", pairs)


def _grid(title: str, rows: Sequence[Row], statistic: str) -> Table:
    cells = [row for row in rows if row.statistic == statistic]
    means = [row for row in rows if row.statistic == MEAN and statistic == ACCURACY]
    names, letters = list(cells[0].details["cell"]), _Letters()
    sizes: dict[tuple[str, ...], int] = {}
    for row in (*cells, *means):
        label = _label(row, names)
        sizes[label] = max(sizes.get(label, 0), row.n + row.missing)
    judges = dict.fromkeys(row.details["name"] for row in rows if "name" in row.details)
    table = pivot(
        (*cells, *means),
        line=lambda row: _label(row, names),
        column=lambda row: row.details["name"],
        show=lambda row: _value(row, letters),
        lines={label: (*label, str(size)) for label, size in sizes.items()},
        columns={name: name for name in judges},
        heads=[*(_HEADERS.get(name, name) for name in names), "n"],
        align="l" * len(names) + "r",
        title=title,
    )
    breaks = (len({_label(row, names) for row in cells}),) if means else ()
    return replace(table, rules=breaks, notes=letters.notes)


def _label(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    """Return the label of a row in each label column. The label of a mean includes the weighting."""
    label = [row.details["cell"].get(name, "") for name in names]
    if row.statistic == MEAN:
        label[label.index("") if "" in label else -1] = _WEIGHTS[row.details["weight"]]
    return tuple(label)


def _value(row: Row | None, letters: _Letters) -> str:
    if row is None or row.value is None:
        return f"- {letters['not measured' if row is None else row.reason or 'no value']}"
    return with_missing(number(100 * row.value, 1), row.missing)


def _pairs(title: str, rows: Sequence[Row]) -> Table:
    lines, letters = [], _Letters()
    for row in rows:
        where = "/".join(row.details["cell"].values()) or "all"
        low, high = (None if end is None else 100 * end for end in (row.low, row.high))
        value = "-" if row.value is None else f"{signed(100 * row.value, 1)} {interval(low, high, 1)}".rstrip()
        if row.reason:
            value += f" {letters[row.reason]}"
        judges = f"{row.details['first']} - {row.details['second']}"
        lines.append([where, judges, str(row.n), value, p_value(row.details["p_holm"])])
    heads = ["Where", "Judges", "n", "Difference", "p (Holm)"]
    return Table.of(heads, lines, align="llr", title=title, notes=letters.notes)
