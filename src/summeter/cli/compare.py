"""`summeter compare`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from summeter.cli.common import folder_argument, in_options
from summeter.cli.junit import Case, Outcome, junit
from summeter.cli.studies import Given, study_command
from summeter.meta import compare_runs
from summeter.meta._versions import NOT_COMPARED, WORSE, Versions, outcome
from summeter.meta.results import judge_labels
from summeter.meta.selection import group_label

LISTED = 10
"""Number of changed summaries that the terminal and Markdown list."""


@study_command(None, "compare_runs", name="compare", runs=None, formats=("text", "markdown", "html", "json", "junit"))
def compare(
    given: Given,
    run_a: Annotated[Path, folder_argument("RUN_A", "Folder of the old run.")],
    run_b: Annotated[Path, folder_argument("RUN_B", "Folder of the new run.")],
) -> None:
    """Show what changed from RUN_A to RUN_B, and whether it got better.

    Pairs summaries by document and system, also if their texts differ. Writes the tested differences of means and the
    summaries whose verdicts changed; as HTML, with both texts, the source and the evidence.
    """
    found, output = compare_runs(run_a, run_b, **given.values), given.output
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
    cases = []
    for row, judge in zip(found, judge_labels(found.rows), strict=True):
        about = f"{row.system or 'all systems'}: {row.aspect} by {judge}"
        group = group_label(row)
        results: dict[str, Outcome] = {WORSE: "failed", NOT_COMPARED: "skipped"}
        result = results.get(outcome(row), "passed")
        properties = {name: getattr(row, name) for name in ("value", "low", "high", "n", "missing")}
        cases.append(Case(f"{about} in {group}" if group else about, result, found.said(row), properties=properties))
    return junit("summeter compare", cases, {"verdict": found.sentence})
