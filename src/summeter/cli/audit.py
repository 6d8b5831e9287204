"""`summeter audit`: test a judge against prompt injection, and its sensitivity to errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import (
    SUFFIXES,
    TABLES,
    TERMINAL,
    Output,
    Reading,
    destination,
    in_options,
    output_options,
    read_data,
    reading_options,
)
from summeter.cli.run_options import run_options
from summeter.cli.score import Evaluators, Models, Replay, chosen_evaluators

if TYPE_CHECKING:
    from summeter.meta.results import Row, Study
    from summeter.tables import Table

app = typer.Typer(no_args_is_help=True)
_RUN_OPTIONS = (
    "temperature", "max_reply", "max_cost", "max_tokens", "prices", "context", "on_overflow", "concurrency",
    "timeout", "base_url",
)  # fmt: skip
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A flat file, a dataset folder, hf:ORG/NAME#SPLIT, or - for stdin.")
]
_SENSITIVITY = Path("runs/sensitivity")
Seed = Annotated[int, typer.Option(help="Random seed of sample, bootstrap and models.")]


@app.command()
@run_options(*_RUN_OPTIONS)
@output_options(file=False)
@reading_options
def injection(
    data: Data,
    evaluators: Evaluators = None,
    models: Models = None,
    out: Annotated[Path, destination("RUN", "Folder of the run.")] = Path("runs/injection"),
    sample: Annotated[int, typer.Option(min=1, help="Number of randomly sampled summaries to attack.")] = 20,
    attacks: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="File with attacks. Default: the attacks in the package.")
    ] = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    replay: Replay = None,
    output: Output,
    **options: Any,
) -> None:
    """Add instructions to texts of DATA and count flipped verdicts.

    Each rate is compared with that of a control, a harmless sentence added to the same texts.
    """
    from summeter.audit import injection as audit
    from summeter.audit import read_attacks
    from summeter.engine.progress import progress
    from summeter.models.resolve import parse_bindings

    loaded = read_data(data, reading)
    study = audit(
        loaded, chosen_evaluators(evaluators, replay), models=parse_bindings(models or []), out=out,
        sample=sample, attacks=read_attacks(attacks), seed=seed, replay=replay,
        progress=progress(quiet=output.format == "json"), **options,
    )  # fmt: skip
    output.write_study(study, [*_tables(study), *study.signatures(), *map(in_options, study.notes)])
    file = out / "injection.json"
    typer.echo(f"study: {file} (plot it with `summeter report {out} --study {file}`)", err=True)


@app.command()
@run_options(*_RUN_OPTIONS)
@output_options(file=False)
@reading_options
def sensitivity(
    data: Data,
    evaluators: Evaluators = None,
    models: Models = None,
    out: Annotated[
        Path, destination("RUN|FILE", "Folder of the run, or file for the tables (.csv, .md, .html...).")
    ] = _SENSITIVITY,
    sample: Annotated[int, typer.Option(min=1, help="Number of randomly sampled summaries to change.")] = 20,
    *,
    reading: Reading,
    seed: Seed = 0,
    replay: Replay = None,
    output: Output,
    **options: Any,
) -> None:
    """Plant errors in texts of DATA and count those noticed.

    The same summaries are also rewritten without changing their meaning, which should not lower a verdict.
    """
    from summeter.audit import sensitivity as audit
    from summeter.engine.progress import progress
    from summeter.models.resolve import parse_bindings

    if out.suffix.lower() in {suffix for name in TABLES for suffix in SUFFIXES[name]}:
        output, out = Output.of(None if output == TERMINAL else output.format, out, as_json=False), _SENSITIVITY
    study = audit(
        read_data(data, reading), chosen_evaluators(evaluators, replay), models=parse_bindings(models or []), out=out,
        sample=sample, seed=seed, replay=replay, progress=progress(quiet=output.format == "json"), **options,
    )  # fmt: skip
    output.write_study(study, [*_noticed(study), *study.signatures(), *map(in_options, study.notes)])
    typer.echo(f"study and planted texts: {out / 'sensitivity.json'}", err=True)


def _noticed(study: Study) -> Iterator[Table | str]:
    """Yield a sentence and a table for each judge and aspect, with errors that were not noticed."""
    from summeter.audit.sensitivity import ALL
    from summeter.meta.results import judge_labels

    blocks: dict[tuple[str, str], list[Row]] = {}
    for row, label in zip(study, judge_labels(study.rows), strict=True):
        blocks.setdefault((label or "", row.aspect or ""), []).append(row)
    for (judge, aspect), rows in blocks.items():
        yield f"{judge} on {aspect}: {' and '.join(_share(row) for row in rows if row.details['kind'] == ALL)}."
    for (judge, aspect), rows in blocks.items():
        missed = [
            f"Not noticed: {item['marked']} ({row.details['kind']}, {item['doc_id']}, {item['system']})"
            for row in rows
            for item in [item for item in row.details.get("items", ()) if item["fell"] is False][:1]
            if row.statistic == "noticed"
        ]
        plain = [row.model_copy(update={"judge": None, "aspect": None, "level": None}) for row in rows]
        table = type(study)(study.name, plain).table()
        yield replace(table, title=f"{judge}: {aspect}", notes=tuple(missed[:2]))


def _share(row: Row) -> str:
    """Return the rate of a row as a part of a sentence."""
    verb, changes = ("notices", "planted errors") if row.statistic == "noticed" else ("punishes", "harmless rewrites")
    if row.value is None:
        return f"no rate of {changes} ({row.reason})"
    ends = "" if row.low is None or row.high is None else f" [{100 * row.low:.0f}, {100 * row.high:.0f}]"
    left_out = f" ({row.details['rejected']} in sentences rejected before)" if row.details["rejected"] else ""
    return f"{verb} {100 * row.value:.0f}%{ends} of {row.n} {changes}{left_out}"


def _tables(study: Study) -> Iterator[Table]:
    """Yield one table per judge and aspect, with the attacks that flipped a verdict, and the number of the others."""
    from summeter.audit.injection import ALL
    from summeter.meta.results import judge_labels
    from summeter.tables import Table, number, plain

    blocks: dict[tuple[str, str, str], list[Row]] = {}
    for row, label in zip(study, judge_labels(study.rows), strict=True):
        blocks.setdefault((label or "", row.aspect or "", row.level or ""), []).append(row)
    for (judge, aspect, unit), rows in blocks.items():
        unchanged = [row for row in rows if row.value == row.details["control"] == 0 and row.details["attack"] != ALL]
        lines = [
            [
                row.details["attack"], None if row.details["attack"] == ALL else row.details["aim"], row.value,
                row.details["control"], _net(row.details), row.n, row.missing,
                row.reason if row.value is None else None,
            ]
            for row in reversed(rows)
            if row not in unchanged
        ]  # fmt: skip
        note = f"{len(unchanged)} attacks flipped no verdict, and neither did their controls"
        yield Table.of(
            ["attack", "aim", "flipped", "control", "net", "n", "unusable", "why"],
            lines,
            align="llrrlrrl",
            show=[plain, plain, number, number],
            title=f"{judge}: {aspect}, by {unit}",
            notes=[note] if unchanged else [],
        )


def _net(details: Mapping[str, Any]) -> str:
    """Return the difference from the control with its interval."""
    if details["net"] is None:
        return "-"
    from summeter.tables import signed

    low, high = details["net_low"], details["net_high"]
    ends = f" [{signed(low)}, {signed(high)}]" if low is not None and low < high else ""
    return f"{signed(details['net'])}{ends}"
