"""`summeter advise`: recommend a judge for the given data."""

from __future__ import annotations

from summeter.cli.common import in_options
from summeter.cli.studies import Given, study_command
from summeter.meta import advise as study
from summeter.meta._advise import overview
from summeter.meta.results import Study


@study_command(None, "advise")
def advise(given: Given) -> list[Study]:
    """Recommend a judge; `summeter plot cost` draws agreement against cost."""
    result = study(given.runs, given.data(), **given.values)
    given.parts = [overview(result), *result.signatures(), *map(in_options, result.notes)]
    return [result]
