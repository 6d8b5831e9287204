"""`summeter annotate`: campaigns in which people judge summaries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli import annotate_after, annotate_made
from summeter.cli.annotate_options import Campaign, Database
from summeter.cli.common import AsJson, print_json

if TYPE_CHECKING:
    from summeter.annotate.folder import CampaignFolder

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Campaigns in which people judge summaries. Calls no model."""


@app.command()
def new(
    file: Annotated[
        Path, typer.Argument(metavar="CAMPAIGN.yaml", help="What is asked, of whom.", exists=True, dir_okay=False)
    ],
    folder: Annotated[Path, typer.Option("-o", "--output", metavar="CAMPAIGN", help="The folder to make.")],
) -> None:
    """Check CAMPAIGN.yaml and its data, and make the campaign's folder: whole, or not at all."""
    from summeter.annotate.build import build
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.notices import notices

    made = CampaignFolder(build(file, folder))
    tasks, one = made.tasks, made.campaign
    typer.echo(
        f"{one.name}: {len(tasks.work)} tasks of {one.kind}, {one.answers_per_item} answers each; "
        f"{len(tasks.checks)} attention checks, {len(tasks.training)} for training"
    )
    for notice in notices(made):
        typer.echo(f"note: {notice}", err=True)
    typer.echo(f"written to {folder}; next: summeter annotate serve {folder}")


@app.command()
def serve(
    campaign: Campaign,
    host: Annotated[str, typer.Option(help="Where to listen; default: this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 8300,
    database: Database = None,
) -> None:
    """Serve CAMPAIGN's pages until interrupted. What was acknowledged is committed."""
    import asyncio

    from summeter.annotate.app.server import serve as run
    from summeter.annotate.folder import CampaignFolder

    folder = CampaignFolder(campaign)

    def ready(address: str) -> None:
        for line in _addresses(folder, address):
            typer.echo(line)

    with folder.open(database) as desk:
        asyncio.run(run(desk, host, port, ready))
    typer.echo("stopped; every acknowledged answer is stored", err=True)


@app.command()
def status(
    campaign: Campaign,
    quick: Annotated[bool, typer.Option("--quick", help="Progress only: no agreement, no table of people.")] = False,
    database: Database = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Say how far CAMPAIGN is, and how its people do. May be asked while it is served."""
    import time

    from rich.console import Console

    from summeter.annotate import status as figures
    from summeter.annotate.adjudicate import disputes
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.quality import quality
    from summeter.cli.annotate_show import show_quality

    with CampaignFolder(campaign).open(database, readonly=True) as desk:
        found = figures.status(desk, desk.state, int(time.time() * 1000), desk.log.last_seq)
        people = figures.people(desk, desk.state)
        found["disputes"] = len(disputes(desk))
        looked = None if quick else quality(desk, brief=not as_json)
    if looked is None:
        if as_json:
            print_json(people, status=found)
        else:
            typer.echo("\n".join(_overview(found)))
        return
    if as_json:
        standing = {one.annotator: one.to_json() for one in looked.annotators}
        print_json([{**standing[str(one["annotator"])], **one} for one in people], status=found,
                   agreement=looked.agreement.to_dicts(), assistance=[row.model_dump() for row in looked.assistance],
                   notes=list(looked.notes))  # fmt: skip
        return
    typer.echo("\n".join(_overview(found)))
    if people:
        show_quality(looked, people, Console())


@app.command()
def export(
    campaign: Campaign,
    events: Annotated[
        Path | None, typer.Option("--events", metavar="FILE", help="The whole log as JSON Lines, for `import`.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Submissions and outcomes, for the campaign's platform."),
    ] = None,
    bonuses: Annotated[
        Path | None,
        typer.Option("--bonuses", metavar="FILE", help="Bonuses, as the platform's bulk payment takes them."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", metavar="FILE", help="What the platform must be told, as JSON.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="The data with the judgments, as a dataset folder.")
    ] = None,
    complete_only: Annotated[
        bool, typer.Option("--complete-only", help="No merged label where there are fewer answers than wanted.")
    ] = False,
    database: Database = None,
) -> None:
    """Write CAMPAIGN's judgments to its judgments/ folder; and the log, a platform's CSV or a dataset where asked."""
    import json

    from summeter.annotate.aggregate import incomplete
    from summeter.annotate.export import study_of, write_bonuses_of, write_csv_of, write_judgments
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.store.files import export_events
    from summeter.data.atomic import write_text
    from summeter.data.dataset import save

    folder = CampaignFolder(campaign)
    with folder.open(database, readonly=True) as desk:
        for path, count in write_judgments(desk, complete_only=complete_only).items():
            typer.echo(f"{count} judgments written to {path}")
        for line in _unfinished(incomplete(desk), desk.campaign.answers_per_item, complete_only=complete_only):
            typer.echo(line, err=True)
        if events is not None:
            typer.echo(f"{export_events(desk, events)} events written to {events}")
        if csv is not None:
            typer.echo(f"{write_csv_of(desk, csv)} submissions written to {csv}")
        if bonuses is not None:
            typer.echo(f"{write_bonuses_of(desk, bonuses)} bonuses written to {bonuses}")
        if study is not None:
            write_text(study, json.dumps(study_of(folder.campaign), indent=2, ensure_ascii=False) + "\n")
            typer.echo(f"study settings written to {study}")
        if data is not None:
            save(folder.dataset(desk, complete_only=complete_only), data)
            typer.echo(f"dataset written to {data}")


@app.command("import")
def import_(
    campaign: Campaign,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Events, or a platform's CSV.", exists=True, dir_okay=False)
    ],
    database: Database = None,
) -> None:
    """Add to CAMPAIGN what an export of its own holds, or what its platform's CSV says of people."""
    from summeter.annotate.export import import_csv
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.store.files import import_events

    with CampaignFolder(campaign).open(database) as desk:
        if file.suffix.lower() == ".csv":
            noted, unknown = import_csv(desk, file)
            typer.echo(f"{noted} submissions noted, {unknown} rows about submissions that never came here")
        else:
            typer.echo(f"{import_events(desk, file)} events added")


for _command in (annotate_after.adjudicate, annotate_after.exclude, annotate_after.reinstate, annotate_made.plan,
                 annotate_made.simulate):  # fmt: skip
    app.command()(_command)


def _unfinished(short: dict[int, int], wanted: int, *, complete_only: bool) -> list[str]:
    """What a researcher should hear of merged labels that rest on too few answers."""
    some, none = {answers: tasks for answers, tasks in short.items() if answers}, short.get(0, 0)
    lines = []
    if some:
        each = ", ".join(f"{tasks} with {answers}" for answers, tasks in some.items())
        done = "have no merged label" if complete_only else "are merged all the same; --complete-only leaves them out"
        lines.append(f"note: {sum(some.values())} tasks have fewer than {wanted} answers ({each}) and {done}")
    if none:
        lines.append(f"note: {none} tasks have no answer and no label")
    return lines


def _addresses(folder: CampaignFolder, address: str) -> list[str]:
    from summeter.annotate.platforms import platform_named

    platform = platform_named(folder.campaign.platform.name)
    lines = [f"{name}: {address}/{query}" for name, query in folder.links().items()]
    if platform.name != "local":
        lines.append(f"study link: {address}/{platform.link}")
    lines += [f"preview: {address}/?preview=1", f"admin: {address}/admin?token={folder.keys.admin}"]
    return [*lines, "Ctrl-C ends; nothing that was acknowledged is lost"]


def _overview(found: dict[str, object]) -> list[str]:
    size = (
        f"{found['campaign']} ({found['kind']}): {found['counted']} of {found['needed']} answers, "
        f"{found['complete_items']} of {found['items']} tasks complete, {found['held']} held now, "
        f"{found['surplus']} surplus"
    )
    return [
        size,
        f"{found['people']} people, {found['excluded']} excluded; outcomes: {_pairs(found['outcomes'])}",
        f"attention checks: {_pairs(found['checks'])}; pay: {_pairs(found['pay'])}",
        f"annotators differ on {found['disputes']} tasks, {found['adjudicated']} are adjudicated",
    ]


def _pairs(found: object) -> str:
    return ", ".join(f"{key} {value}" for key, value in found.items()) if isinstance(found, dict) and found else "none"
