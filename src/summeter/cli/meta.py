"""`summeter meta`: studies of judges, systems and annotators, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter import meta
from summeter.cli.common import check_suffix, folder_argument, in_options
from summeter.cli.studies import Given, study_command
from summeter.data.atomic import write_text
from summeter.data.dataset import load
from summeter.data.human import RAW
from summeter.meta._agree import AgreeOptions, OverrideOptions
from summeter.meta._agree import export as export_votes
from summeter.meta._card import tables
from summeter.meta._compare import matrices
from summeter.meta._jury import items
from summeter.meta._overlap import lists_of
from summeter.meta.inputs import context_of
from summeter.meta.options import STUDIES
from summeter.meta.results import Study
from summeter.meta.sample import Context
from summeter.meta.verdicts import MOST_NAMED
from summeter.records import UsageError
from summeter.runs.run import MANIFEST, RunFolder
from summeter.tables import Table

app = typer.Typer(no_args_is_help=True)
ORDER = (
    "correlate", "classify", "errors", "prefer", "stability", "reliability", "compare", "agree", "estimate",
    "calibrate", "bias", "overlap", "card",
)  # fmt: skip
"""The first commands in the help, in order; the commands of other studies follow."""


for _study in STUDIES.values():
    if _study.command is not None:
        study_command(app, _study.name, runs=_study.command)(lambda given: given.studies())


@study_command(app, "reliability", "self_consistency")
def reliability(
    given: Given,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="Measure how far each judge agrees with itself; the runs are repeats.")
    ] = False,
) -> list[Study]:
    """Compare two judges, or the repeats of one judge."""
    if repeats:
        return given.studies("self_consistency", "with --repeats")
    data = given.data()
    gold = data if given.values.get("judgment_set", RAW) in data.judgment_sets else None
    return [meta.reliability(given.runs, gold, **given.keywords("reliability", "without --repeats"))]


@study_command(app, "agree", "override_rate", runs="[RUN...]")
def agree(
    given: Given,
    shown: Annotated[
        str | None,
        typer.Option(
            metavar="RUN|SET", help="Measure how often people overruled these machine labels, which they were shown."
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="File for the votes, with one row per unit and one column per annotator."
        ),
    ] = None,
) -> list[Study]:
    """Measure agreement, and export the votes."""
    data = given.data()
    studies = [meta.agree(data, judges=given.runs, **given.values)]
    if shown is not None:
        labels = data.judgments(shown) if shown in data.judgment_sets else RunFolder(shown)
        known = {name: value for name, value in given.values.items() if name in OverrideOptions.model_fields}
        studies.append(meta.override_rate(labels, data, **known))
    if export is not None:
        table = export_votes(data, AgreeOptions.checked(given.values))
        write_text(export, table.csv())
        typer.echo(f"{len(table.rows)} units: {export}", err=True)
    return studies


@study_command(app, "compare", runs="[RUN...]")
def compare(given: Given) -> list[Study]:
    """Compare systems or judges; many pairs are shown as matrices."""
    studies = [meta.compare(given.runs or None, given.data() if given.has_gold else None, **given.values)]
    if any(len(table.rows) > MOST_NAMED for study in studies for table in matrices(study)):
        given.parts = [table for study in studies for table in matrices(study)]
        given.parts.append("row against column: + better, - worse, . no significant difference")
        given.parts += [in_options(text) for study in studies for text in (*study.signatures(), *study.notes)]
    return studies


@study_command(app, "estimate", "simulate")
def estimate(
    given: Given,
    simulate: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="LABELS",
            help="Measure the coverage of intervals from this number of labelled documents, on fully labelled data.",
        ),
    ] = None,
    last_judge: Annotated[
        bool,
        typer.Option(
            "--last-judge", help="Estimate the means of a cascade's last judge over all items from its random sample."
        ),
    ] = False,
) -> list[Study]:
    """Estimate means from labels of people or of a cascade's last judge, or simulate such estimates."""
    if last_judge:
        from summeter.engine.derive import cascade_samples

        options = given.keywords("estimate_last_judge", "with --last-judge")
        return [meta.estimate_last_judge(run, cascade_samples(run), **options) for run in given.runs]
    if simulate is not None:
        return given.studies("simulate", "with --simulate", simulate)
    return given.studies("estimate", "without --simulate")


@study_command(app, "calibrate", runs="RUN")
def calibrate(
    given: Given,
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="File for the calibration, for `summeter gate`.")
    ] = None,
) -> list[Study]:
    """Calibrate a judge, and write the calibration to a file."""
    if calibration is not None:
        check_suffix(calibration, ".json", option="--calibration")
    calibrated = meta.calibrate(given.runs[0], given.data(), **given.values)
    if calibration is not None:
        meta.save_calibration(calibrated, calibration)
        typer.echo(f"written to {calibration}", err=True)
    return [meta.calibration_study(calibrated)]


@study_command(app, "overlap", runs=None)
def overlap(
    given: Given,
    first: Annotated[
        str,
        typer.Argument(
            metavar="FIRST",
            help="Run, data, or file of rows with doc_id, claims or key_facts, and system for lists of summaries.",
        ),
    ],
    second: Annotated[str | None, typer.Argument(metavar="[SECOND]", help="Source of the reference lists.")] = None,
    gold: Annotated[str | None, typer.Option("--gold", metavar="DATA", help="Same as SECOND.")] = None,
    judge: Annotated[str | None, typer.Option(help="Judge whose lists are compared, if a run has several.")] = None,
) -> list[Study]:
    """Compare claims or key facts of two sources."""
    other, by = second or gold, given.values.get("by")
    if other is None or (second is not None and gold is not None):
        raise UsageError("give the reference lists either as SECOND or with --gold")
    context = None
    if by is not None:
        context = _context(other) or _context(first)
        if context is None:
            raise UsageError(f"--by {by} needs a run or data as FIRST or SECOND; files of lists have no {by}")
    return [meta.overlap(lists_of(first, judge), lists_of(other, judge), context=context, **given.values)]


def _context(source: str) -> Context | None:
    path = Path(source)
    if not path.is_dir():
        return None
    return context_of(RunFolder(path).data if (path / MANIFEST).is_file() else load(path))


@study_command(app, "bridge", runs=None)
def bridge(
    given: Given,
    old: Annotated[Path, folder_argument("OLD", "Run of the old judge.")],
    new: Annotated[Path, folder_argument("NEW", "Run of the new judge.")],
) -> list[Study]:
    """Compare an old judge with a new one."""
    return [meta.bridge(RunFolder(old), RunFolder(new), **given.values)]


@study_command(app, "recheck")
def recheck(given: Given) -> None:
    """List the labels to judge again, or write them to a file for a campaign."""
    (study,) = given.studies()
    rows = items(study)
    shown = ("doc_id", "system", "aspect", "index", "people", "jury", "probability", "expected_change", "text")
    lines = [[f"{cell:.4f}" if isinstance(cell := row[name], float) else cell for name in shown] for row in rows]
    table = Table.of([name.replace("_", " ") for name in shown], lines, align="lllrrrrrl")
    notes = map(in_options, study.notes)
    given.output.write_study(study, [table, *study.signatures(), *notes], csv=rows)


@study_command(app, "card", runs="[RUN]")
def card(
    given: Given,
    people: Annotated[bool, typer.Option("--people", help="Show human judgments next to those of the judges.")] = False,
) -> list[Study]:
    """Show the card, or write it to a file."""
    run = given.runs[0] if given.runs else None
    gold = given.data(run) if people or given.has_gold or run is None else None
    study = meta.card(run, gold, **given.values)
    given.title = f"Benchmark card: {run.manifest.data.source if run else given.data().card.name}"
    given.parts = [*tables(study), *study.signatures(), *map(in_options, study.notes)]
    return [study]


app.registered_commands.sort(key=lambda command: ORDER.index(command.name) if command.name in ORDER else len(ORDER))
