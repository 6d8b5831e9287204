"""The study of a protocol laid out as the papers print it: Markdown, LaTeX and CSV. Nothing is computed here.

A table has a line a cell and a column a judge, in per cent with one decimal; below stand the means. Where scores were
missing the cell says how many, and a value that does not exist is a dash with a letter, which says why below the table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from summeter.meta.protocol import ACCURACY, AREA, DIFFERENCE, MEAN
from summeter.meta.results import Row, Study, show_p

FORMATS = ("markdown", "csv", "latex")

_LONG = (
    "table", "of", "origin", "dataset", "category", "judge", "signature", "n", "missing", "balanced_accuracy", "low",
    "high", "draws_undefined", "draws_partial", "auroc", "auroc_low", "auroc_high", "auroc_draws_undefined",
    "threshold", "dev_n", "dev_missing", "dev_balanced_accuracy", "one_class", "reason", "auroc_reason",
)  # fmt: skip
_HEADS = {"origin": "Origin", "dataset": "Data set", "category": "Group"}
_WEIGHTS = {"rows": "mean by rows", "cells": "mean"}
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip


class Grid(NamedTuple):
    """A table as texts. The first `names` columns name a line; `breaks` are the lines before which a rule is drawn,
    `notes` what its letters mean."""

    title: str
    head: list[str]
    lines: list[list[str]]
    names: int
    breaks: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class _Letters(dict[str, str]):
    """A letter for each note of a table, in the order in which they come up."""

    def __missing__(self, note: str) -> str:
        tens, ones = divmod(len(self), 26)
        self[note] = f"({chr(96 + tens) if tens else ''}{chr(97 + ones)})"
        return self[note]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{letter} {note}" for note, letter in self.items())


def laid_out(study: Study, form: str) -> str:
    """The study in one of FORMATS, ending in a line feed."""
    return {"markdown": markdown, "csv": as_csv, "latex": latex}[form](study)


def markdown(study: Study) -> str:
    """Tables of balanced accuracy, of AUROC and of differences; then what was noted, and the signatures."""
    parts = [
        "\n\n".join([f"## {grid.title}", _piped(grid), *(["; ".join(grid.notes)] if grid.notes else [])])
        for grid in grids(study)
    ]
    signatures = [f"- {text}" for text in (*study.notes, *study.signatures())]
    return "\n\n".join([*parts, "\n".join(signatures)]) + "\n"


def latex(study: Study) -> str:
    r"""The same tables for `\usepackage{booktabs}`; notes and signatures stand as comments."""
    notes = "".join(f"% {text}\n" for text in (*study.notes, *study.signatures()))
    return "\n".join(_tabular(grid) for grid in grids(study)) + notes


def as_csv(study: Study) -> str:
    """One line a cell or mean and judge, with everything known of it; shares, not per cent."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _LONG, lineterminator="\n")
    writer.writeheader()
    areas = {_place(row): row for row in study if row.statistic == AREA}
    for row in study:
        if row.statistic in (ACCURACY, MEAN):
            writer.writerow(_long(row, areas.get(_place(row)) if row.statistic == ACCURACY else None))
    return out.getvalue()


def grids(study: Study) -> Iterator[Grid]:
    """The tables of the study, one after the other."""
    for table in dict.fromkeys(row.details["table"] for row in study):
        rows = [row for row in study if row.details["table"] == table]
        judges = list(dict.fromkeys(row.details["name"] for row in rows if "name" in row.details))
        title = rows[0].details["title"]
        yield _grid(f"{title}: balanced accuracy, %", rows, judges, ACCURACY)
        yield _grid(f"{title}: AUROC, %", rows, judges, AREA)
        if pairs := [row for row in rows if row.statistic == DIFFERENCE]:
            yield _pairs(f"{title}: differences, points", pairs)


def _place(row: Row) -> tuple[Any, ...]:
    return row.details["table"], row.details.get("name"), tuple(row.details["cell"].items())


def _grid(title: str, rows: Sequence[Row], judges: Sequence[str], statistic: str) -> Grid:
    cells = list(dict.fromkeys(tuple(row.details["cell"].items()) for row in rows if row.statistic == statistic))
    names, letters = [name for name, _ in cells[0]], _Letters()
    lines = [[*_label(names, cell), *_values(_at(rows, statistic, cell), judges, letters)] for cell in cells]
    breaks: tuple[int, ...] = ()
    if statistic == ACCURACY:
        means = dict.fromkeys(
            (tuple(row.details["cell"].items()), row.details["weight"]) for row in rows if row.statistic == MEAN
        )
        breaks = (len(lines),) if means else ()
        lines += [
            [*_label(names, cell, weight), *_values(_at(rows, MEAN, cell), judges, letters)] for cell, weight in means
        ]
    head = [*(_HEADS.get(name, name) for name in names), "n", *judges]
    return Grid(title, head, lines, len(names) + 1, breaks, letters.notes)


_Cell = tuple[tuple[str, str], ...]


def _at(rows: Sequence[Row], statistic: str, cell: _Cell) -> dict[str, Row]:
    """The rows of a cell by judge."""
    return {
        row.details["name"]: row for row in rows
        if row.statistic == statistic and tuple(row.details["cell"].items()) == cell
    }  # fmt: skip


def _label(names: Sequence[str], cell: _Cell, weight: str | None = None) -> list[str]:
    at = dict(cell)
    label = [at.get(name, "") for name in names]
    if weight is not None:
        label[next((place for place, text in enumerate(label) if not text), -1)] = _WEIGHTS[weight]
    return label


def _values(here: dict[str, Row], judges: Sequence[str], letters: _Letters) -> list[str]:
    size = max((row.n + row.missing for row in here.values()), default=0)
    return [str(size), *(_value(here.get(name), letters) for name in judges)]


def _value(row: Row | None, letters: _Letters) -> str:
    if row is None or row.value is None:
        return f"- {letters['not measured' if row is None else row.reason or 'no value']}"
    lost = f" ({row.missing} missing)" if row.missing else ""
    return f"{100 * row.value:.1f}{lost}"


def _pairs(title: str, rows: Sequence[Row]) -> Grid:
    lines, letters = [], _Letters()
    for row in rows:
        where = "/".join(row.details["cell"].values()) or "all"
        ends = "" if row.low is None or row.high is None else f" [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        value = "-" if row.value is None else f"{100 * row.value:+.1f}{ends}"
        if row.reason:
            value += f" {letters[row.reason]}"
        holm = row.details["p_holm"]
        lines.append([where, f"{row.details['first']} - {row.details['second']}", str(row.n), value,
                      "" if holm is None else show_p(holm)])  # fmt: skip
    return Grid(title, ["Where", "Judges", "n", "Difference", "p (Holm)"], lines, 3, notes=letters.notes)


def _piped(grid: Grid) -> str:
    table = [[_escaped(text) for text in line] for line in (grid.head, *grid.lines)]
    widths = [max(3, *(len(line[place]) for line in table)) for place in range(len(grid.head))]
    right = [place >= grid.names - 1 for place in range(len(widths))]

    def shown(line: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if end else text.ljust(width)
            for text, width, end in zip(line, widths, right, strict=True)
        )  # fmt: skip
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * (width - 1)}{':' if end else '-'}" for width, end in zip(widths, right, strict=True)]
    return "\n".join([shown(table[0]), f"| {' | '.join(rule)} |", *map(shown, table[1:])])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _tabular(grid: Grid) -> str:
    shape = "l" * (grid.names - 1) + "r" * (len(grid.head) - grid.names + 1)
    lines = [f"% {grid.title}", rf"\begin{{tabular}}{{{shape}}}", r"\toprule", _amped(grid.head), r"\midrule"]
    for place, line in enumerate(grid.lines):
        lines += [r"\midrule"] * (place in grid.breaks)
        lines.append(_amped(line))
    lines.append(r"\bottomrule")
    width = len(grid.head)
    lines += [rf"\multicolumn{{{width}}}{{l}}{{{note.translate(_SPECIAL)}}} \\" for note in grid.notes]
    return "\n".join([*lines, r"\end{tabular}", ""])


def _amped(line: Sequence[str]) -> str:
    return " & ".join(text.translate(_SPECIAL) for text in line) + r" \\"


def _long(row: Row, area: Row | None) -> dict[str, Any]:
    at, details = row.details["cell"], row.details
    found = {
        "table": details["table"], "of": "cell" if row.statistic == ACCURACY else _WEIGHTS[details["weight"]],
        "origin": at.get("origin"), "dataset": at.get("dataset"), "category": at.get("category"),
        "judge": details["name"], "signature": row.signature, "n": row.n, "missing": row.missing,
        "balanced_accuracy": row.value, "low": row.low, "high": row.high, "reason": row.reason,
        **{name: details.get(name) for name in _LONG if name in details and name != "table"},
    }  # fmt: skip
    if area is not None:
        found |= {
            "auroc": area.value, "auroc_low": area.low, "auroc_high": area.high, "auroc_reason": area.reason,
            "auroc_draws_undefined": area.details["draws_undefined"],
        }  # fmt: skip
    return found
