"""How `annotate status` draws agreement and annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from summeter.annotate.quality import Quality
    from summeter.meta.results import Row


def show_quality(found: Quality, people: list[dict[str, Any]], console: Console) -> None:
    """Agreement in words, then a row an annotator, then what assistance does."""
    from summeter.annotate.quality import in_words

    for row in found.headline():
        typer.echo(f"agreement on {row.aspect}: {row.statistic} {_number(row)}, {in_words(row)}")
    for note in found.notes:
        typer.echo(note)
    console.print(_table(found, people))
    for row in found.assistance:
        typer.echo(_assistance(row))


def _table(found: Quality, people: list[dict[str, Any]]) -> Table:
    table, stages = Table(), {one["annotator"]: one["stage"] for one in people}
    helped = bool(found.assistance)
    heads = ["annotator", "arm", "stage", "answers", "checks", "seconds", "agrees", *["follows"] * helped, ""]
    for name in heads:
        table.add_column(name, justify="right" if name in {"answers", "checks", "seconds", "agrees"} else "left")
    for one in found.annotators:
        blind = "" if one.endorsement is None else f"{round(one.endorsement * one.endorsement_n)}/{one.endorsement_n}"
        cells = [
            one.annotator, one.arm, (one.outcome or stages[one.annotator]).replace("_", " "), str(one.answered),
            f"{one.checks_passed}/{one.checks_seen}", "" if one.seconds_median is None else f"{one.seconds_median:.1f}",
            "" if one.agreement is None else f"{one.agreement:.2f}", *((blind,) if helped else ()),
            "excluded" if one.excluded else "",
        ]  # fmt: skip
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _number(row: Row, of: str = "units") -> str:
    if row.value is None:
        return "-"
    value, low, high = (None if one is None else round(one, 2) + 0.0 for one in (row.value, row.low, row.high))
    ends = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.2f}{ends} ({row.n} {of})"


def _assistance(row: Row) -> str:
    where = {"checks": "attention checks", "work": "tasks", "all": "checks and tasks"}[str(row.details["tasks"])]
    if row.statistic == "pull":
        return f"the machine's pull on {where} where it is wrong: {_number(row, 'answers')} (assisted less unassisted)"
    seen = "saw" if row.details["arm"] == "assisted" else "did not see"
    return f"those who {seen} its verdict say what it says on {where} where it is wrong: {_number(row, 'answers')}"
