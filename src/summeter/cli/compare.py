"""`summeter compare`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import Output, assignments, in_options, output_options

if TYPE_CHECKING:
    from summeter.meta._versions import Versions

LISTED = 10
"""Number of changed summaries that the terminal and Markdown list."""
Old = Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of the old run.", exists=True, file_okay=False)]
New = Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of the new run.", exists=True, file_okay=False)]
By = Annotated[
    str | None, typer.Option("--by", metavar="COLUMN", help="Add rows for each value of this column, such as domain.")
]
PairSystems = Annotated[
    list[str] | None,
    typer.Option(
        "--pair-systems",
        metavar="OLD=NEW",
        help="Pair a system of RUN_A with another of RUN_B. Default: equal names. Repeatable.",
    ),
]


@output_options("text", "markdown", "html", "json", "junit")
def compare(run_a: Old, run_b: New, output: Output, by: By = None, pair_systems: PairSystems = None) -> None:
    """Show what changed from RUN_A to RUN_B, and whether it got better.

    Pairs summaries by document and system, also if their texts differ. Writes the tested differences of means and the
    summaries whose verdicts changed; as HTML, with both texts, the source and the evidence.
    """
    from summeter.meta._versions import compare as study
    from summeter.records import UsageError

    found = study(run_a, run_b, by=by, pair_systems=assignments(pair_systems, "--pair-systems", "OLD=NEW"))
    if not found.pairing.paired.any():
        raise UsageError(found.sentence)
    match output.format:
        case "html":
            from summeter.report import page, render

            output.put("".join(render(page([found]))))
        case "junit":
            output.put(junit_of(found))
        case "json":
            notes = [in_options(note) for note in found.notes]
            output.write([], found.to_dicts(), **found.payload(), notes=notes)
        case _:
            changed = [found.changed_table(LISTED)] if len(found.changes) else []
            parts = (in_options(part) if isinstance(part, str) else part for part in found.parts())
            output.write([*parts, *changed], ())


def junit_of(found: Versions) -> str:
    """Return JUnit XML with a case for each row, which fails if the new run is significantly worse."""
    from summeter.cli.junit import Case, Outcome, junit
    from summeter.meta._versions import NOT_COMPARED, WORSE, outcome
    from summeter.meta.results import judge_labels
    from summeter.meta.selection import group_label

    cases = []
    for row, judge in zip(found, judge_labels(found.rows), strict=True):
        about = f"{row.system or 'all systems'}: {row.aspect} by {judge}"
        group = group_label(row)
        results: dict[str, Outcome] = {WORSE: "failed", NOT_COMPARED: "skipped"}
        result = results.get(outcome(row), "passed")
        properties = {name: getattr(row, name) for name in ("value", "low", "high", "n", "missing")}
        cases.append(Case(f"{about} in {group}" if group else about, result, found.said(row), properties=properties))
    return junit("summeter compare", cases, {"verdict": found.sentence})
