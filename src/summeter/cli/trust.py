"""`summeter trust`: how far a judge can be trusted, from a run or from any file with votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import check_unread, in_options
from summeter.cli.studies import Given, study_command
from summeter.meta import trust as study
from summeter.meta.results import Study
from summeter.meta.trust_study import TrustStudy
from summeter.records import UsageError


@study_command(None, "trust", runs=None)
def trust(
    given: Given,
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|RUN...", help="File with votes of a judge and people, or folders of runs."),
    ],
) -> list[Study] | None:
    """Say how far a judge can be trusted, with the rule of the verdict."""
    values = dict(given.values)
    if all(source.is_dir() for source in sources):
        check_unread(given.reading, gold=given.gold_source)
        values.pop("rater", None)  # belongs to --ratings
        given.folders = sources
        runs = given.runs[0] if len(sources) == 1 else given.runs
        result: TrustStudy = study(runs, given.data(), **values)
    else:
        if len(sources) > 1:
            raise UsageError("give one FILE, or folders of runs")
        of_runs = {"gold": given.gold_source, **{n: given.reading[n] for n in ("aspects", "preset")}}
        if given.reading["on"] and not given.reading["ratings"]:
            raise UsageError("--on has no effect without --ratings; leave it out")
        for name, value in {**of_runs, "map": given.reading["map_"]}.items():
            if value:
                raise UsageError(f"--{name} has no effect on a FILE; leave it out")
        names = ("delimiter", "encoding", "ratings", "on")
        reading = {"format": given.reading["input_format"], **{name: given.reading[name] for name in names}}
        result = study(sources[0], reading=reading, **values)
    if given.output.format == "html":
        from summeter.report import page, render

        worded = TrustStudy(result.name, result.rows, map(in_options, result.notes))
        given.output.put("\n".join(render(page([worded]))))
        return None
    parts = result.card() if given.output.format == "markdown" else result.parts()
    given.parts = [part if not isinstance(part, str) else in_options(part) for part in parts]
    given.fields = {"verdict": result.verdict}
    return [result]
