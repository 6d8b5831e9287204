"""`summeter audit`: test a judge against prompt injection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import AsJson, Reading, print_study_json, read_data, reading_options
from summeter.cli.run_options import run_options
from summeter.cli.score import Evaluators, Models, Replay, chosen_evaluators

if TYPE_CHECKING:
    from summeter.meta.results import Row, Study

app = typer.Typer(no_args_is_help=True)


@app.command()
@run_options(
    "temperature", "max_reply", "max_cost", "max_tokens", "prices", "context", "on_overflow", "concurrency",
    "timeout", "base_url",
)  # fmt: skip
@reading_options
def injection(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A flat file, a dataset folder, hf:ORG/NAME#SPLIT, or - for stdin.")
    ],
    evaluators: Evaluators = None,
    models: Models = None,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="Folder of the run.")] = Path(
        "runs/injection"
    ),
    sample: Annotated[int, typer.Option(min=1, help="Number of randomly sampled summaries to attack.")] = 20,
    attacks: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="File with attacks. Default: the attacks in the package.")
    ] = None,
    *,
    reading: Reading,
    seed: Annotated[int, typer.Option(help="Random seed of sample, bootstrap and models.")] = 0,
    replay: Replay = None,
    as_json: AsJson = False,
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
        progress=progress(quiet=as_json), **options,
    )  # fmt: skip
    if as_json:
        print_study_json(study)
        return
    _show(study)
    file = out / "injection.json"
    typer.echo(f"study: {file} (plot it with `summeter report {out} --study {file}`)")


def _show(study: Study) -> None:
    """Print one block per judge and aspect.

    It lists the attacks that flipped a verdict, and the number of other attacks.
    """
    from summeter.audit.injection import ALL
    from summeter.records import shown_signatures

    blocks: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in study:
        blocks.setdefault((row.judge or "", row.signature or "", row.aspect or "", row.level or ""), []).append(row)
    known = {(judge, signature) for judge, signature, *_ in blocks}
    shown = shown_signatures(signature for _, signature in known)
    for (judge, signature, aspect, unit), rows in blocks.items():
        alone = sum(name == judge for name, _ in known) == 1
        typer.echo(f"{judge if alone else shown[signature]}: {aspect}, by {unit}")
        unchanged = [row for row in rows if row.value == row.details["control"] == 0 and row.details["attack"] != ALL]
        for row in reversed(rows):
            if row not in unchanged:
                typer.echo(f"  {_line(row)}")
        if unchanged:
            typer.echo(f"  {len(unchanged)} attacks flipped no verdict, and neither did their controls")
    for text in (*study.signatures(), *study.notes):
        typer.echo(text)


def _line(row: Row) -> str:
    from summeter.audit.injection import ALL
    from summeter.tables import number

    about = row.details
    name = f"{about['attack']} ({about['aim']})" if about["attack"] != ALL else ALL
    if row.value is None:
        return f"{name:<34} -  {row.reason}"
    ends = ""
    if about["net_low"] is not None and about["net_low"] < about["net_high"]:
        ends = f" [{about['net_low']:+.3f}, {about['net_high']:+.3f}]"
    net = "-" if about["net"] is None else f"{about['net']:+.3f}{ends}"
    unusable = f", {row.missing} unusable" if row.missing else ""
    return f"{name:<34} {row.value:.3f} flipped, control {number(about['control'])}, net {net}, n {row.n}{unusable}"
