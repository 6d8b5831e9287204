"""`summeter annotate`: run annotation campaigns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from summeter.cli.common import Output, check_suffix, in_options, output_options
from summeter.tables import wrapped

if TYPE_CHECKING:
    from summeter.annotate.analysis.quality import Quality
    from summeter.annotate.campaign.disputes import Dispute
    from summeter.annotate.campaign.folder import CampaignFolder
    from summeter.annotate.campaign.service import CampaignService
    from summeter.meta._plan import Proposal
    from summeter.meta.results import Row
    from summeter.tables import Table

app = typer.Typer(no_args_is_help=True, add_completion=False)
SHOWN = 10
"""Maximum number of disputes that are printed."""

Campaign = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="Folder of the campaign.", exists=True, file_okay=False)
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Name of the person who decides, for the log.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Reason, for the log.")]
GoldData = Annotated[str | None, typer.Option("--gold", metavar="DATA", help="Data with existing labels.")]


def _to(option: str, help_: str, metavar: str = "FILE") -> Any:
    """Return an option for the path of a file to write."""
    return typer.Option(option, metavar=metavar, help=help_)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN.yaml", help="Campaign file.", dir_okay=False)],
    folder: Annotated[Path, typer.Option("-o", "--output", metavar="CAMPAIGN", help="New folder for the campaign.")],
) -> None:
    """Create a campaign's folder from CAMPAIGN.yaml and its data."""
    from summeter.annotate.campaign.build import build, warnings_of
    from summeter.annotate.campaign.folder import CampaignFolder
    from summeter.records import UsageError

    if not file.is_file():
        raise UsageError(
            f"{file} does not exist; copy one from examples/campaigns and edit it (fields: docs/campaign-file.md)"
        )
    new_folder = CampaignFolder(build(file, folder))
    tasks, campaign = new_folder.tasks, new_folder.campaign
    size = f"{len(tasks.work)} tasks of {campaign.task_type}, {campaign.answers_per_item} answers each"
    checks = f"{len(tasks.checks)} attention checks, {len(tasks.training)} for training"
    typer.echo(wrapped(f"{campaign.name}: {size}; {checks}"))
    for warning in warnings_of(new_folder):
        typer.echo(f"note: {warning}", err=True)
    typer.echo(f"written to {folder}; next: summeter annotate serve {folder}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of campaign files, for editors."""
    from summeter.annotate.campaign.config import Campaign as Settings

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "campaign.yaml of summeter"}
    typer.echo(json.dumps({**Settings.model_json_schema(), **dialect}, indent=2, ensure_ascii=False))


@app.command()
def serve(
    campaign: Campaign,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, or 0 for any free port.", min=0, max=65535)] = 8300,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Host name under which the pages are reached. Repeatable.")
    ] = None,
) -> None:
    """Serve CAMPAIGN's pages until interrupted.

    Every answer that the server acknowledges is stored.
    """
    import asyncio

    from summeter.annotate.server.app import serve as run

    def ready(address: str) -> None:
        for line in _addresses(service.folder, address):
            typer.echo(line)

    with _open(campaign) as service:
        asyncio.run(run(service, host, port, ready, hosts=allow_host or ()))
    typer.echo("stopped; every acknowledged answer is stored", err=True)


@app.command()
@output_options()
def status(
    campaign: Campaign,
    quick: Annotated[
        bool, typer.Option("--quick", help="Show progress only, without agreement and annotator statistics.")
    ] = False,
    *,
    output: Output,
) -> None:
    """Show the progress of CAMPAIGN and annotator statistics.

    The command also works while the campaign is being served.
    """
    import time

    from summeter.annotate.analysis import status as figures
    from summeter.annotate.analysis.adjudicate import disputes
    from summeter.annotate.analysis.quality import quality

    with _without_collector(), _open(campaign, readonly=True) as service:
        counts = figures.status(service, service.state, int(time.time() * 1000), service.log.last_seq)
        people = figures.people(service)
        counts["disputes"] = len(disputes(service))
        measured = None if quick else quality(service, brief=output.format != "json")
    about: dict[str, Any] = {"status": counts, "log_broken": service.log.broken}
    if measured is None:
        output.write(_overview(counts), people, **about)
        return
    output.write(
        [*_overview(counts), *(_quality(measured) if people else ())],
        measured.annotators,
        **about,
        agreement=measured.agreement.to_dicts(),
        assistance=[row.model_dump() for row in measured.assistance],
        notes=list(measured.notes),
    )


@app.command()
def export(
    campaign: Campaign,
    events: Annotated[Path | None, _to("--events", "File for the log as JSON Lines, for `import`.")] = None,
    submissions: Annotated[
        Path | None, _to("--submissions", "File for submissions and outcomes, as CSV for the platform.")
    ] = None,
    bonuses: Annotated[
        Path | None, _to("--bonuses", "File for bonuses, in the format of the platform's bulk payment.")
    ] = None,
    study: Annotated[Path | None, _to("--study", "File for study settings of the platform, as JSON.")] = None,
    data: Annotated[Path | None, _to("--data", "Dataset folder for the data with the judgments.", "FOLDER")] = None,
    complete_only: Annotated[
        bool, typer.Option("--complete-only", help="Leave out merged labels of tasks with too few answers.")
    ] = False,
    apply: Annotated[Path | None, _to("--apply", "Folder for the data with the validated key facts.", "FOLDER")] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File for all answers (.csv, .tsv, .jsonl, .parquet, .xlsx)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset folder.")] = False,
) -> None:
    """Write CAMPAIGN's judgments to its judgments/ folder.

    Options also write the log, files for the platform, or a dataset.
    """
    from summeter.annotate.analysis import export as files
    from summeter.annotate.analysis.aggregate import dataset_of, incomplete
    from summeter.data.dataset import save
    from summeter.data.exports import target_of

    if data is not None:
        _check_dataset_target(data, apply, force=force)
    if answers is not None:
        target_of(answers)
    with _without_collector(), _open(campaign, readonly=True) as service:
        if apply is not None:
            for line in _applied(service, apply, force=force):
                typer.echo(line)
        for path, count in files.write_judgments(service, complete_only=complete_only).items():
            typer.echo(f"{count} judgments written to {path}")
        wanted = service.campaign.answers_per_item
        for line in _unfinished(incomplete(service), wanted, complete_only=complete_only):
            typer.echo(line, err=True)
        chosen = {
            "events": events, "answers": answers, "submissions": submissions, "bonuses": bonuses, "study": study,
        }  # fmt: skip
        for name, target in chosen.items():
            if target is not None:
                exported = files.FILES[name]
                typer.echo(f"{exported.write(service, target)} {exported.title.lower()} written to {target}")
        if data is not None:
            save(dataset_of(service, complete_only=complete_only), data, force=force)
            typer.echo(f"dataset written to {data}")


def _check_dataset_target(data: Path, applied_to: Path | None, *, force: bool) -> None:
    """Raise UsageError if the folder for the data must not be written.

    This is the case if the folder must not be replaced or overlaps with the folder for the validated key facts.
    """
    from summeter.data.atomic import check_folder
    from summeter.data.folder import is_dataset
    from summeter.records import UsageError

    if applied_to is not None:
        applied, labelled = applied_to.resolve(), data.resolve()
        if applied == labelled or applied in labelled.parents or labelled in applied.parents:
            raise UsageError(
                f"--apply {applied_to} and --data {data} overlap, and one would replace the other; nothing was written"
            )
    check_folder(data, "a dataset", is_dataset, force=force)


def _applied(service: CampaignService, folder: Path, *, force: bool) -> Iterator[str]:
    from collections import Counter

    from summeter.annotate.analysis.key_facts import CHANGES, apply_changes

    changes = apply_changes(service, folder, force=force)
    counts = Counter(change.action for change in changes)
    yield (
        f"{len(changes)} key facts: {counts['kept']} kept, {counts['reworded']} reworded, {counts['dropped']} dropped; "
        f"dataset written to {folder}, changes with reasons to {folder / CHANGES}"
    )
    left = {change.document_id for change in changes if change.action != "dropped"}
    without = list(dict.fromkeys(change.document_id for change in changes if change.document_id not in left))
    if without:
        yield f"documents without a key fact: {', '.join(without)}"


@app.command("import")
def import_(
    campaign: Campaign,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Exported log, or CSV file of the platform.", exists=True, dir_okay=False),
    ],
) -> None:
    """Import an exported log, or a CSV file of the platform.

    The log is restored into CAMPAIGN; the CSV file gives the status of submissions.
    """
    from summeter.annotate.analysis.export import import_events, import_submissions

    with _open(campaign) as service:
        if file.suffix.lower() == ".csv":
            noted, unknown = import_submissions(service, file)
            typer.echo(f"{noted} submissions updated, {unknown} rows about unknown submissions")
        else:
            typer.echo(f"{import_events(service, file)} events added")


@app.command()
def backup(
    campaign: Campaign,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="New folder for the copy.")],
) -> None:
    """Copy CAMPAIGN with its log to a new folder.

    The command also works while the campaign is being served.
    """
    with _open(campaign, readonly=True) as service:
        service.backup(output)
    typer.echo(f"{campaign} copied to {output}")


@app.command()
@output_options()
def plan(
    words: Annotated[
        list[str],
        typer.Argument(metavar="RUN... SYSTEM_A SYSTEM_B | RUN... JUDGE", help="Runs, then two systems or a judge."),
    ],
    question: Annotated[
        Literal["compare", "calibrate"], typer.Option(help="Compare two systems, or estimate the bias of a judge.")
    ],
    aspect: Annotated[str | None, typer.Option(help="Aspect; required if the runs have several.")] = None,
    judge: Annotated[
        str | None, typer.Option(help="Judge whose scores complement the labels, for compare. Default: the first.")
    ] = None,
    gold: GoldData = None,
    labels: Annotated[
        int | None, typer.Option(min=2, help="Number of labels to propose. Default: the smallest sufficient number.")
    ] = None,
    sizes: Annotated[
        list[int] | None, typer.Option("--at", min=2, help="Number of labels to evaluate. Repeatable.")
    ] = None,
    expect: Annotated[
        float, typer.Option(help="Assumed correlation with people, if there are no labels.", min=0, max=1)
    ] = 0.5,
    items: Annotated[Path | None, _to("--items", "File for the selected items.", "ITEMS.jsonl")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Simulated samples for each number of labels.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    *,
    output: Output,
) -> None:
    """Estimate how many labels are needed, and select the items."""
    from summeter.data.atomic import write_lines
    from summeter.data.dataset import load
    from summeter.meta import plan_calibration, plan_comparison
    from summeter.records import UsageError
    from summeter.runs.run import RunFolder

    if items is not None:
        check_suffix(items, ".jsonl", option="--items")
    systems = question == "compare"
    names = 2 if systems else 1
    if len(words) <= names:
        raise UsageError(f"{question}: give one run or more, then {'two systems' if systems else 'the judge'}")
    runs = [RunFolder(run) for run in words[:-names]]
    known = None if gold is None else load(gold)
    propose: Callable[..., Proposal] = (
        partial(plan_comparison, runs, (words[-2], words[-1]), judge=judge)
        if systems
        else partial(plan_calibration, runs, words[-1])
    )
    proposal = propose(
        aspect=aspect, gold=known, expect=expect, labels=labels, sizes=tuple(sizes or ()), draws=draws, seed=seed
    )
    if items is not None:
        write_lines(items, proposal.lines())
    where = "write them to a file with --items" if items is None else f"written to {items}; in a campaign: "
    more = "" if items is None else f"select: {{items: {items.name}}}"
    output.write_study(
        proposal.study,
        [
            *map(in_options, proposal.study.notes),
            f"{proposal.labels} labels, {len(proposal.items)} summaries to judge, {where}{more}",
        ],
        labels=proposal.labels,
        settled_at=proposal.settled_at,
        items=[list(item) for item in proposal.items],
    )


@app.command()
def simulate(
    campaign: Campaign,
    annotators: Annotated[int, typer.Option(min=1, help="Number of simulated annotators.")] = 3,
    accuracy: Annotated[float, typer.Option(min=0, max=1, help="Probability of a correct answer.")] = 0.9,
    bias: Annotated[
        float, typer.Option(min=-1, max=1, help="Share of labels changed to positive (or negative).")
    ] = 0.0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Median seconds for a task.")] = 20.0,
    laziness: Annotated[float, typer.Option(min=0, max=1, help="Probability of answering without reading.")] = 0.0,
    trust: Annotated[float, typer.Option(min=0, max=1, help="Probability of following the machine's verdict.")] = 0.0,
    trust_reasons: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Probability of following a verdict with a reason. Default: --trust."),
    ] = None,
    lazy: Annotated[int, typer.Option(min=0, help="Number of simulated annotators who answer without reading.")] = 0,
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="DATA", help="Data with gold labels. Default: random labels.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    add: Annotated[
        bool, typer.Option("--add", help="Allow simulated answers in a campaign that already has real ones.")
    ] = False,
) -> None:
    """Let simulated annotators answer CAMPAIGN.

    Their answers are stored like those of people.
    """
    from summeter.annotate.analysis.aggregate import merge
    from summeter.annotate.campaign.folder import CampaignFolder
    from summeter.annotate.simulate import crowd
    from summeter.annotate.simulate import simulate as run
    from summeter.annotate.tasks.simulation import Gold, Profile
    from summeter.data.dataset import load
    from summeter.pages.numbers import count
    from summeter.records import UsageError

    if lazy > annotators:
        raise UsageError(f"there are only {annotators} annotators, so {lazy} cannot be lazy")
    folder = CampaignFolder(campaign)
    usual = Profile(
        accuracy=accuracy, bias=bias, laziness=laziness, trust=trust, trust_reasons=trust_reasons, seconds=seconds
    )
    idle = usual.model_copy(update={"laziness": 1.0})
    labels = Gold(() if gold is None else merge(load(gold).judgments("human.raw")), seed=seed)
    scripts = crowd(folder, [usual] * (annotators - lazy) + [idle] * lazy, labels, seed=seed)
    with _open(campaign) as service:
        people = sum(not person.simulated for person in service.state.people.values())
        if people and not add:
            raise UsageError(
                f"this campaign has answers of {count(people, 'annotator')}; simulate in another campaign, "
                "or add simulated answers to theirs with --add"
            )
        answers = run(service, scripts, seed=seed)
        slots = service.state.items.values()
    complete = sum(task.open == 0 and not task.held for task in slots)
    made_by = f"{len(scripts)} simulated annotators"
    done = f"{complete} of {len(slots)} tasks complete"
    typer.echo(wrapped(f"{answers} answers (checks included) by {made_by}; {done}"))
    typer.echo(f"next: summeter annotate status {campaign}")


@app.command()
@output_options()
def assistance(
    campaigns: Annotated[
        list[Path],
        typer.Argument(
            metavar="CAMPAIGN...", help="Folders of the arms, baseline first.", exists=True, file_okay=False
        ),
    ],
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    *,
    output: Output,
) -> None:
    """Measure the effect of assistance by comparing CAMPAIGNs.

    The campaigns show different parts of a machine's verdict.
    """
    from contextlib import ExitStack

    from summeter.annotate.analysis.arms import arm_names, arms, table

    with ExitStack() as stack:
        services = [stack.enter_context(_open(campaign, readonly=True)) for campaign in campaigns]
        study = arms(arm_names(services), resamples=resamples, seed=seed)
    output.write_study(study, [table(study), *map(in_options, study.notes)])


@app.command("adjudicate")
@output_options()
def adjudicate_(
    campaign: Campaign,
    task: Annotated[str | None, typer.Option("--set", metavar="TASK", help="Key of the task to decide.")] = None,
    taken: Annotated[
        str | None, typer.Option("--as", metavar="ANNOTATOR", help="Adopt this annotator's answer.")
    ] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="JSON", help="The answer, in the form stored in the log.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Decisions as JSON Lines: task, as or answer, reason.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    write: Annotated[Path | None, _to("--write", "File for the queue as JSON Lines, to fill in for --from.")] = None,
    reason: Why = None,
    by: By = "adjudicator",
    everything: Annotated[bool, typer.Option("--all", help="List decided tasks too.")] = False,
    *,
    output: Output,
) -> None:
    """List tasks on which annotators differ, or decide them."""
    from summeter.annotate.analysis.adjudicate import (
        adjudicate,
        decision_of_row,
        disputes,
        queue_lines,
        read_decisions,
    )
    from summeter.data.atomic import write_lines
    from summeter.records import UsageError

    try:
        stored = None if answer is None else json.loads(answer)
    except ValueError as error:
        raise UsageError(f"--answer is not JSON: {error}") from error
    if task is not None or file is not None:
        with _open(campaign) as service:
            decisions = [] if file is None else read_decisions(service, file, by)
            if task is not None:
                row = {"task": task, "as": taken, "answer": stored, "reason": reason}
                decisions.append(decision_of_row(service, row, by))
            events = adjudicate(service, decisions)
        count = "1 decision" if len(events) == 1 else f"{len(events)} decisions"
        typer.echo(f"{count} written to the log; `summeter annotate export` writes the labels")
        return
    if taken is not None or answer is not None:
        raise typer.BadParameter("give the task to decide with --set TASK")
    with _open(campaign, readonly=True) as service:
        queue = disputes(service, include_adjudicated=everything)
    if write is not None:
        typer.echo(f"{write_lines(write, queue_lines(queue))} tasks written to {write}; fill in `as` or `answer`")
    else:
        output.write(_queue(queue, campaign), (dispute.to_json() for dispute in queue))


@app.command()
def exclude(
    campaign: Campaign,
    annotators: Annotated[
        list[str] | None, typer.Argument(metavar="[ANNOTATOR]...", help="Annotators by name.")
    ] = None,
    checks_below: Annotated[
        float | None, typer.Option(help="Exclude below this share of passed attention checks.")
    ] = None,
    seconds_below: Annotated[float | None, typer.Option(help="Exclude below this median time for a task.")] = None,
    agreement_below: Annotated[float | None, typer.Option(help="Exclude below this agreement with the others.")] = None,
    endorsement_above: Annotated[
        float | None, typer.Option(help="Exclude above this share of wrong machine verdicts that were followed.")
    ] = None,
    min_answers: Annotated[int, typer.Option(min=1, help="Minimum number of answers for a rule to apply.")] = 10,
    min_checks: Annotated[
        int, typer.Option(min=1, help="Minimum number of attention checks for --checks-below to apply.")
    ] = 4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the annotators without excluding them.")] = False,
    reason: Why = None,
    by: By = "researcher",
) -> None:
    """Exclude annotators of CAMPAIGN by name or by rule.

    Their answers no longer count. `reinstate` reverses this.
    """
    from summeter.annotate.analysis.exclusion import Proposal, proposals
    from summeter.annotate.analysis.exclusion import exclude as exclude_all
    from summeter.annotate.analysis.quality import annotator_statistics
    from summeter.records import UsageError

    limits = {
        "checks_below": checks_below,
        "seconds_below": seconds_below,
        "agreement_below": agreement_below,
        "endorsement_above": endorsement_above,
    }
    by_rule = any(limit is not None for limit in limits.values())
    if annotators and (by_rule or not (reason or "").strip()):
        raise UsageError("exclude annotators either by name with --reason TEXT, or by rule")
    with _open(campaign, readonly=dry_run) as service:
        for name in annotators or ():
            if name not in service.state.people:
                raise UsageError(f"there is no annotator {name!r} in this campaign")
        if annotators:
            proposed = [Proposal(name, "by name", reason or "") for name in annotators]
        else:
            proposed = proposals(
                annotator_statistics(service), **limits, min_answers=min_answers, min_checks=min_checks
            )
        for proposal in proposed:
            typer.echo(f"{proposal.annotator}: {proposal.reason}")
        if not dry_run:
            exclude_all(service, proposed, by=by)
    verb = "would be" if dry_run else "is" if len(proposed) == 1 else "are"
    typer.echo(f"{len(proposed)} {verb} excluded")


@app.command()
def reinstate(
    campaign: Campaign,
    annotators: Annotated[
        list[str] | None, typer.Argument(metavar="[ANNOTATOR]...", help="Annotators by name.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Reinstate annotators excluded by this rule: checks, seconds, agreement or endorsement.",
        ),
    ] = None,
    reason: Why = None,
    by: By = "researcher",
) -> None:
    """Reinstate excluded annotators of CAMPAIGN.

    Their answers count again if their tasks still need answers.
    """
    from summeter.annotate.analysis.exclusion import reinstate_rule
    from summeter.records import UsageError

    if bool(annotators) == (rule is not None):
        raise UsageError("give either annotators, or a rule with --rule")
    why = (reason or "").strip()
    if not why:
        raise UsageError("give a reason with --reason TEXT; it is written to the log")
    with _open(campaign) as service:
        if rule is not None:
            events = reinstate_rule(service, rule, why, by=by)
        else:
            events = [service.reinstate(name, why, by=by) for name in annotators or ()]
    typer.echo(f"reinstated: {', '.join(str(event.annotator) for event in events)}")


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector in this context.

    With hundreds of thousands of judgments, the garbage collector would take most of the time.
    """
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _open(campaign: Path, *, readonly: bool = False) -> CampaignService:
    from summeter.annotate.campaign.folder import CampaignFolder
    from summeter.annotate.campaign.log import RESTORE
    from summeter.annotate.campaign.service import CampaignService

    service = CampaignService(CampaignFolder(campaign), readonly=readonly)
    if service.log.broken is not None:
        typer.echo(f"warning: {service.log.file}: {service.log.broken}; {RESTORE}", err=True)
    return service


def _unfinished(short: dict[int, int], wanted: int, *, complete_only: bool) -> list[str]:
    """Return notes about merged labels that have too few answers."""
    partial, unanswered = {answers: tasks for answers, tasks in short.items() if answers}, short.get(0, 0)
    lines = []
    if partial:
        each = ", ".join(f"{tasks} with {answers}" for answers, tasks in partial.items())
        done = "have no merged label" if complete_only else "are merged; --complete-only leaves them out"
        lines.append(f"note: {sum(partial.values())} tasks have fewer than {wanted} answers ({each}) and {done}")
    if unanswered:
        lines.append(f"note: {unanswered} tasks have no answer and no label")
    return lines


def _addresses(folder: CampaignFolder, address: str) -> list[str]:
    from summeter.annotate.platforms import platform_named

    platform = platform_named(folder.campaign.platform.name)
    lines = [f"{name}: {address}/{query}" for name, query in folder.links().items()]
    if platform.name != "local":
        lines.append(f"study link: {address}/{platform.link}")
    lines += [f"preview: {address}/?preview=1", f"adjudicator: {address}/{folder.adjudication_link()}"]
    lines.append(f"admin: {address}/admin?token={folder.keys['admin']}")
    return [*lines, "press Ctrl-C to stop; every acknowledged answer is stored"]


def _overview(counts: dict[str, Any]) -> list[str]:
    from datetime import UTC, datetime

    from summeter.pages.numbers import count

    end = counts["expected_end"]
    when = "" if end["at"] is None else f"{datetime.fromtimestamp(end['at'] / 1000, UTC):%Y-%m-%d %H:%M} UTC, "
    people = count(counts["people"], "annotator")
    answers = f"{counts['counted']} of {counts['needed']} answers"
    tasks = f"{counts['complete_items']} of {counts['items']} tasks complete"
    return [
        f"{counts['campaign']} ({counts['kind']})",
        f"{answers}, {tasks}, {counts['held']} held now, {counts['surplus']} not counted",
        f"{people}, {counts['excluded']} excluded; outcomes: {_pairs(counts['outcomes'])}",
        f"expected end: {when}{end['how']}",
        f"attention checks: {_pairs(counts['checks'])}; pay: {_pairs(counts['pay'])}",
        f"disagreements: {counts['disputes']} to adjudicate, {counts['adjudicated']} adjudicated",
    ]


def _pairs(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) if values else "none"


def _quality(measured: Quality) -> Iterator[Table | str]:
    """Yield the agreement in words, a table of annotators, and the effect of assistance."""
    from summeter.annotate.analysis.quality import in_words
    from summeter.tables import Table, number

    for row in measured.headline():
        yield f"agreement on {row.aspect}: {row.statistic} {_value(row, 'unit')}, {in_words(row)}"
    yield from measured.notes
    rows = [
        (
            row["annotator"],
            "excluded" if row["excluded"] else (row["outcome"] or row["stage"]).replace("_", " "),
            row["answered"],
            f"{row['checks_passed']}/{row['checks_seen']}",
            number(row["seconds_median"], 1),
            number(row["agreement"], 2),
            f"{round((row['endorsement'] or 0) * row['endorsement_n'])}/{row['endorsement_n']}",
        )
        for row in measured.annotators
    ]
    heads = ["annotator", "stage", "answers", "checks", "seconds", "agrees", "follows"]
    yield Table.of(heads, rows, align="llrrrrr")
    without = [row["annotator"] for row in measured.annotators if row["arm"] == "unassisted"]
    if without:
        yield f"without assistance: {', '.join(without)}"
    yield from map(_assistance, measured.assistance)


def _value(row: Row, of: str) -> str:
    from summeter.pages.numbers import count
    from summeter.tables import with_interval

    value = with_interval(row.value, row.low, row.high, 2)
    return value if row.value is None else f"{value} ({count(row.n or 0, of)})"


def _assistance(row: Row) -> str:
    where = {"checks": "attention checks", "work": "tasks", "all": "checks and tasks"}[str(row.details["tasks"])]
    if row.statistic == "pull":
        return f"automation bias on {where} with a wrong verdict: {_value(row, 'answer')} (assisted - unassisted)"
    verb = {"assisted": "saw", "unassisted": "did not see"}[str(row.details["arm"])]
    return f"annotators who {verb} a wrong verdict give it on {where}: {_value(row, 'answer')}"


def _queue(queue: list[Dispute], campaign: Path) -> Iterator[str]:
    for dispute in queue[:SHOWN]:
        task = dispute.task
        yield f"{task.key}: {dispute.why}"
        focus = dispute.task_type.focus(task)
        if focus:
            yield f"    “{focus}”"
        shown = dispute.to_json()
        for answer in shown["answers"]:
            yield f"    {answer['annotator']}: {answer['said']}"
        if shown["adjudicated"]:
            yield f"    decided by {shown['adjudicated']['by']}: {shown['adjudicated']['said']}"
    even = sum(dispute.even for dispute in queue)
    rest = f" (the first {SHOWN} are shown; --json lists all)" if len(queue) > SHOWN else ""
    yield f"{len(queue)} tasks on which annotators differ, {even} of them without a majority{rest}"
    if queue:
        first = queue[0]
        annotator = first.answers[0].annotator if first.answers else "ANNOTATOR"
        yield f"decide: summeter annotate adjudicate {campaign} --set {first.task.key} --as {annotator}"
