"""`summeter annotate adjudicate | exclude | reinstate`: what is done with answers, and by whom; each is an event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.annotate_options import Campaign, Database
from summeter.cli.common import AsJson, print_json

if TYPE_CHECKING:
    from summeter.annotate.adjudicate import Dispute

SHOWN = 10
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides; stands in the log.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; stands in the log.")]


def adjudicate(
    campaign: Campaign,
    task: Annotated[str | None, typer.Option("--set", metavar="TASK", help="The task to decide, by its key.")] = None,
    taken: Annotated[
        str | None, typer.Option("--as", metavar="ANNOTATOR", help="Decide as this annotator answered.")
    ] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="JSON", help="Decide with this answer, as stored in the log.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Decisions as JSON Lines: task, as or answer, reason.",
                     exists=True, dir_okay=False),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="The queue as JSON Lines, to fill in for --from.")
    ] = None,
    reason: Why = None, by: By = "adjudicator",
    everything: Annotated[bool, typer.Option("--all", help="List what is decided already too.")] = False,
    database: Database = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """List the tasks of CAMPAIGN on which annotators differ, with their answers side by side; or decide some."""
    from summeter.annotate import adjudicate as room
    from summeter.annotate.folder import CampaignFolder
    from summeter.data.atomic import write_lines

    folder = CampaignFolder(campaign)
    if task is not None or file is not None:
        with folder.open(database) as desk:
            found = [] if file is None else room.read_decisions(desk, file, by)
            if task is not None:
                found.append(room.Decision(task, _given(desk, task, taken, answer), reason, by))
            events = room.adjudicate(desk, found)
        typer.echo(f"{len(events)} decisions written to the log; `summeter annotate export` writes the labels")
        return
    if taken is not None or answer is not None:
        raise typer.BadParameter("say which task is decided: --set TASK")
    with folder.open(database, readonly=True) as desk:
        open_ = room.disputes(desk, settled=everything)
    if write is not None:
        typer.echo(f"{write_lines(write, room.queue_lines(open_))} tasks written to {write}; fill in `as` or `answer`")
    elif as_json:
        print_json([one.to_json() for one in open_])
    else:
        _show(open_, campaign)


def _given(desk: Any, task: str, taken: str | None, answer: str | None) -> Any:
    import json

    from summeter.annotate.adjudicate import answer_of
    from summeter.records import UsageError

    if (taken is None) == (answer is None):
        raise UsageError("decide with --as ANNOTATOR or with --answer JSON")
    if taken is not None:
        return answer_of(desk, task, taken)
    try:
        return json.loads(answer or "")
    except ValueError as error:
        raise UsageError(f"--answer is not JSON: {error}") from error


def _show(found: list[Dispute], campaign: Path) -> None:
    for one in found[:SHOWN]:
        typer.echo(f"{one.task.key}: {one.why}")
        focus = one.task.body.get("sentence") or one.task.body.get("key_fact")
        if focus:
            typer.echo(f"    “{focus}”")
        shown = one.to_json()
        for answer in shown["answers"]:
            typer.echo(f"    {answer['annotator']}: {answer['said']}")
        if shown["adjudicated"]:
            typer.echo(f"    decided by {shown['adjudicated']['by']}: {shown['adjudicated']['said']}")
    even = sum(one.even for one in found)
    rest = f" (the first {SHOWN} are shown; --json lists all)" if len(found) > SHOWN else ""
    typer.echo(f"{len(found)} tasks on which annotators differ, {even} of them without a majority{rest}")
    if found:
        typer.echo(f"decide: summeter annotate adjudicate {campaign} --set {found[0].task.key} --as "
                   f"{found[0].answers[0].annotator if found[0].answers else 'ANNOTATOR'}")  # fmt: skip


def exclude(
    campaign: Campaign,
    annotators: Annotated[list[str] | None, typer.Argument(metavar="[ANNOTATOR]...", help="By name.")] = None,
    checks_below: Annotated[float | None, typer.Option(help="Passed a smaller share of attention checks.")] = None,
    seconds_below: Annotated[float | None, typer.Option(help="A median time per task under this.")] = None,
    agreement_below: Annotated[float | None, typer.Option(help="Agreement with the others under this.")] = None,
    endorsement_above: Annotated[
        float | None, typer.Option(help="Follows the machine where it is wrong in more than this share.")
    ] = None,
    min_answers: Annotated[int, typer.Option(min=1, help="Judge nobody by fewer answers.")] = 10,
    min_checks: Annotated[int, typer.Option(min=1, help="Judge nobody by fewer checks.")] = 4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say who would be excluded.")] = False,
    reason: Why = None, by: By = "researcher", database: Database = None,
) -> None:  # fmt: skip
    """Exclude annotators from CAMPAIGN, by name or by rule: their answers stop counting. Can be taken back."""
    from summeter.annotate import exclusion
    from summeter.annotate.folder import CampaignFolder
    from summeter.annotate.quality import standings
    from summeter.records import UsageError

    rules = exclusion.Rules(checks_below, seconds_below, agreement_below, endorsement_above, min_answers, min_checks)
    if annotators and (rules.any or not (reason or "").strip()):
        raise UsageError("exclude by name with --reason TEXT, or by rule; not both at once")
    with CampaignFolder(campaign).open(database, readonly=dry_run) as desk:
        if annotators:
            found = [exclusion.Proposal(one, "by name", reason or "") for one in annotators]
            for one in annotators:
                if one not in desk.state.people:
                    raise UsageError(f"nobody called {one!r} has taken part")
        else:
            found = exclusion.proposals(standings(desk), rules)
        for proposal in found:
            typer.echo(f"{proposal.annotator}: {proposal.reason}")
        if not dry_run:
            exclusion.exclude(desk, found, by=by)
    typer.echo(f"{len(found)} {'would be' if dry_run else 'are'} excluded")


def reinstate(
    campaign: Campaign,
    annotators: Annotated[list[str] | None, typer.Argument(metavar="[ANNOTATOR]...", help="By name.")] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Everybody excluded by it: checks, seconds, agreement, endorsement."),
    ] = None,
    reason: Why = None, by: By = "researcher", database: Database = None,
) -> None:  # fmt: skip
    """Take exclusions from CAMPAIGN back: the answers count again, where a place is still free."""
    from summeter.annotate.exclusion import reinstate_rule
    from summeter.annotate.folder import CampaignFolder
    from summeter.records import UsageError

    if bool(annotators) == (rule is not None):
        raise UsageError("name annotators, or a rule with --rule")
    said = (reason or "").strip()
    if not said:
        raise UsageError("say why with --reason TEXT; it stands in the log")
    with CampaignFolder(campaign).open(database) as desk:
        if rule is not None:
            events = reinstate_rule(desk, rule, said, by=by)
        else:
            events = [desk.reinstate(one, said, by=by) for one in annotators or ()]
    typer.echo(f"reinstated: {', '.join(str(one.annotator) for one in events)}")
