"""`summeter annotate plan | simulate`: before a campaign: which items to have judged, and how one would go."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.annotate_options import Campaign, Database
from summeter.cli.common import AsJson, print_json

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk
    from summeter.annotate.simulate.profile import Profile
    from summeter.annotate.simulate.script import Script
    from summeter.annotate.simulate.truth import Truth


class Question(StrEnum):
    """What people are to settle."""

    COMPARE = "compare"
    CALIBRATE = "calibrate"


def plan(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUN... SYSTEM_A SYSTEM_B | RUN... JUDGE", help="Runs; then what is asked about."),
    ],
    question: Annotated[
        Question, typer.Option(help="Which of two systems is better, or how far a judge lies from people.")
    ],
    aspect: Annotated[str | None, typer.Option(help="The aspect; needed where the runs have several.")] = None,
    judge: Annotated[str | None, typer.Option(help="compare: whose scores help people; default: the first's.")] = None,
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="DATA", help="The data with the labels there are already.")
    ] = None,
    labels: Annotated[
        int | None, typer.Option(help="How many to propose; default: the least that should settle it.")
    ] = None,
    sizes: Annotated[list[int] | None, typer.Option("--at", help="A number of labels to look at. Repeatable.")] = None,
    expect: Annotated[
        float, typer.Option(help="The correlation with people assumed where nothing is known of it.", min=0, max=1)
    ] = 0.5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="ITEMS.jsonl", help="Write the items to have judged.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Of the simulation, for each number of labels.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the simulation and of the sample.")] = 0,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Say how wide an interval will be after k labels, and propose the items that people should judge."""
    from summeter.annotate.plan import Asked, plan_calibration, plan_comparison
    from summeter.data.atomic import write_lines
    from summeter.data.dataset import load
    from summeter.meta import judge_input
    from summeter.records import UsageError
    from summeter.runs.run import RunFolder

    last = 2 if question is Question.COMPARE else 1
    if len(words) <= last:
        raise UsageError(
            "compare: give one run or more, then two systems" if last == 2 else
            "calibrate: give one run or more, then the judge"
        )  # fmt: skip
    runs = [judge_input(RunFolder(one)) for one in words[:-last]]
    data = None if gold is None else load(gold)
    asked = Asked(aspect, judge, data, expect, labels, tuple(sizes or ()), draws, seed)
    if question is Question.COMPARE:
        found = plan_comparison(runs, (words[-2], words[-1]), asked)
    else:
        found = plan_calibration(runs, words[-1], asked)
    if output is not None:
        write_lines(output, found.lines())
    if as_json:
        print_json(found.study.to_dicts(), study="plan", notes=list(found.study.notes), labels=found.labels,
                   settled_at=found.settled_at, items=[list(one) for one in found.items])  # fmt: skip
        return
    for note in found.study.notes:
        typer.echo(note)
    where = "name a file with -o to have them" if output is None else f"written to {output}; in a campaign: "
    more = "" if output is None else f"select: {{items: {output.name}}}"
    typer.echo(f"{found.labels} labels, {len(found.items)} summaries to judge, {where}{more}")


def simulate(
    campaign: Campaign,
    annotators: Annotated[int, typer.Option(min=1, help="How many.")] = 3,
    accuracy: Annotated[float, typer.Option(min=0, max=1, help="The chance that an answer is right.")] = 0.9,
    bias: Annotated[float, typer.Option(min=-1, max=1, help="The share turned to the good (below 0: bad) side.")] = 0.0,
    seconds: Annotated[float, typer.Option(min=0.1, help="The usual time for a task.")] = 20.0,
    laziness: Annotated[float, typer.Option(min=0, max=1, help="The chance to answer without reading.")] = 0.0,
    trust: Annotated[float, typer.Option(min=0, max=1, help="The chance to follow the machine's verdict.")] = 0.0,
    lazy: Annotated[int, typer.Option(min=0, help="So many of them never read at all.")] = 0,
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="DATA", help="What is right; default: a truth made from the seed.")
    ] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Work over HTTP, at the server of CAMPAIGN.")] = None,
    drop: Annotated[
        float, typer.Option(min=0, max=0.9, help="With --url: the chance that a request, or its reply, is lost.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    add: Annotated[bool, typer.Option("--add", help="Although people have answered already.")] = False,
    database: Database = None,
) -> None:  # fmt: skip
    """Have made-up annotators do CAMPAIGN, to see how it goes before people do. Their answers are stored like any."""
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.simulate.profile import Profile
    from summeter.annotate.simulate.script import crowd
    from summeter.records import UsageError

    if lazy > annotators:
        raise UsageError(f"{lazy} of {annotators} annotators cannot be lazy")
    folder = CampaignFolder(campaign)
    usual = Profile(accuracy=accuracy, bias=bias, laziness=laziness, trust=trust, seconds=seconds)
    idle = usual.model_copy(update={"laziness": 1.0})
    profiles: list[Profile] = [usual] * (annotators - lazy) + [idle] * lazy
    scripts = crowd(folder, profiles, _truth(gold, seed), seed=seed)
    if url is not None:
        typer.echo(_over_http(url, scripts, drop, seed))
        return
    with folder.open(database) as desk:
        _not_among_people(desk, add=add)
        typer.echo(_at_the_desk(desk, scripts, seed))
    typer.echo(f"next: summeter annotate status {campaign}")


def _truth(gold: str | None, seed: int) -> Truth:
    from summeter.annotate.aggregate import merge
    from summeter.annotate.simulate.truth import Truth
    from summeter.data.dataset import load

    return Truth(() if gold is None else merge(load(gold).judgments("human.raw")), seed=seed)


def _not_among_people(desk: Desk, *, add: bool) -> None:
    from summeter.records import UsageError

    real = [one.annotator for one in desk.state.people.values() if not one.made]
    if real and not add:
        raise UsageError(
            f"{len(real)} people have worked on this campaign; made-up answers do not belong among theirs. "
            "Make the campaign anew elsewhere, or say --add"
        )


def _at_the_desk(desk: Desk, scripts: list[Script], seed: int) -> str:
    from summeter.annotate.simulate.drive import simulate as run

    count = run(desk, scripts, seed=seed)
    whole = sum(one.open == 0 and not one.held for one in desk.state.items.values())
    tasks = len(desk.state.items)
    return f"{count} answers (checks included) by {len(scripts)} made-up annotators; {whole} of {tasks} tasks complete"


def _over_http(url: str, scripts: list[Script], drop: float, seed: int) -> str:
    import asyncio

    from summeter.annotate.simulate.network import Network
    from summeter.annotate.simulate.network import simulate as run

    network = asyncio.run(run(url, scripts, Network(drop=drop, seed=seed)))
    return (
        f"{len(network.acknowledged)} answers acknowledged; {network.lost} requests or replies were lost and repeated"
    )
