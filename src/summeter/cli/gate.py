"""`summeter gate`: stop a build whose summaries got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, print_study_json

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", exists=True, file_okay=False)]


def gate(
    run: Folder,
    minimum: Annotated[
        list[str], typer.Option("--min", metavar="ASPECT=VALUE", help="The least a mean may be. Repeatable.")
    ],
    calibration: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A calibration (`summeter meta calibrate`): the judge must be the one "
                                          "calibrated, and its threshold decides. Repeatable."),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge (name or signature); default: each.")] = None,
    system: Annotated[list[str] | None, typer.Option(help="Only this system; default: each. Repeatable.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Exit with 3 where the mean of an aspect is under its bound, or missing, for any system and judge of RUN."""
    from summeter.meta import gate as study
    from summeter.meta import load_calibration
    from summeter.meta._gate import check, sentences
    from summeter.runs.run import RunFolder

    found = study(
        RunFolder(run), bounds(minimum), calibrations=[load_calibration(file) for file in calibration or []],
        judge=judge, systems=tuple(system or ()),
    )  # fmt: skip
    if as_json:
        passed = all(row.details["passed"] for row in found)
        print_study_json(found, passed=passed)
    else:
        for text in (*sentences(found), *found.notes):
            typer.echo(text)
    check(found)


def bounds(texts: list[str]) -> dict[str, float]:
    """`ASPECT=VALUE` options as a dict."""
    import math

    from summeter.records import UsageError

    found: dict[str, float] = {}
    for text in texts:
        aspect, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or not aspect.strip() or not math.isfinite(number):
            raise UsageError(f"--min {text!r} is not ASPECT=VALUE, such as faithfulness=0.8")
        if aspect.strip() in found:
            raise UsageError(f"--min gives {aspect.strip()} twice")
        found[aspect.strip()] = number
    return found
