"""`summeter meta compare, estimate, calibrate, overlap, card`: what can be said of systems, and of a judge."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.choices import Average, ClusterRule, Coefficient, Level, Population, Tie
from summeter.cli.common import AsJson, Format, Map, Preset, mapping
from summeter.cli.meta_options import (
    Aspects,
    AverageOver,
    By,
    GoldAtLeast,
    GoldData,
    Judge,
    MergeBy,
    MinVotes,
    Resamples,
    Runs,
    Seed,
    SetName,
    Source,
    TieRule,
    named,
    read_runs,
    selection,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from summeter.meta.context import Context
    from summeter.meta.results import Study


class Of(StrEnum):
    """What is compared."""

    SYSTEMS = "systems"
    JUDGES = "judges"
    PEOPLE = "people"


OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", exists=True, file_okay=False)]
Alpha = Annotated[float, typer.Option(help="The corrected p-value from which a difference counts.")]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to `summeter meta`."""
    for command in (compare, estimate, calibrate, overlap, card):
        app.command()(command)


def compare(
    runs: Runs,
    of: Annotated[
        Of | None,
        typer.Option(help="systems (by each judge), judges (by agreement with people), people (systems by people's "
                          "own judgments). Default: judges where --gold is given, else systems."),
    ] = None,
    gold: GoldData = None,
    aspect: Aspects = None,
    judge: Judge = None,
    by: By = None,
    level: Annotated[Level, typer.Option(help="Judges: what is correlated.")] = Level.SUMMARY,
    average: AverageOver = Average.POOLED,
    coefficient: Annotated[Coefficient, typer.Option(help="Judges: by which they agree.")] = Coefficient.PEARSON,
    permutations: Annotated[int, typer.Option(min=1, help="Of the permutation test.")] = 10_000,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap by document.")] = 2000,
    confidence: Confidence = 0.95,
    alpha: Alpha = 0.05,
    rule: Annotated[ClusterRule, typer.Option(help="How clusters of equals are cut.")] = ClusterRule.GREEDY,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    gold_at_least: GoldAtLeast = None,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Say which system, or which judge, is better than which: pairs, correction, clusters and a verdict in words."""
    from summeter.meta.compare import Settings, compare_by_people, compare_systems
    from summeter.meta.compare_judges import compare_evaluators

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, gold_at_least, by)
    plan = Settings(permutations, resamples, confidence, alpha, seed, rule.value, coefficient.value)
    read = list(read_runs(runs, gold, map_, preset, format_))
    what = of or (Of.SYSTEMS if gold is None else Of.JUDGES)
    if what is Of.JUDGES:
        found = compare_evaluators(
            [run for run, _ in read], read[0][1], level=level, average=average, select=chosen, settings=plan
        )
        show([found], as_json=as_json)
        return
    if what is Of.PEOPLE:
        show((named(compare_by_people(data, select=chosen, settings=plan), run, len(read)) for run, data in read),
             as_json=as_json)  # fmt: skip
        return
    show(
        (named(compare_systems(run, aspect=aspect, judge=judge, by=by, settings=plan), run, len(read))
         for run, _ in read),
        as_json=as_json,
    )  # fmt: skip


def estimate(
    runs: Runs,
    gold: GoldData = None,
    aspect: Aspects = None,
    judge: Judge = None,
    by: By = None,
    pair: Annotated[
        list[str] | None, typer.Option(metavar="A-B", help="Only this pair of systems; default: all. Repeatable.")
    ] = None,
    power: Annotated[float, typer.Option(help="Chance to find the difference that labels are planned for.")] = 0.8,
    difference: Annotated[
        float | None, typer.Option(help="The difference to plan for; default: the one estimated.")
    ] = None,
    confidence: Confidence = 0.95,
    plain: Annotated[bool, typer.Option("--plain", help="Give the machine the weight 1, not a tuned one.")] = False,
    simulate: Annotated[
        int | None, typer.Option(min=2, metavar="LABELS", help="Data labelled in full: how often do intervals from so "
                                                               "many labelled documents hold the truth?")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Of the simulation.")] = 500,
    about: Annotated[
        Population, typer.Option(help="Draw documents anew too, or only their labels.")
    ] = Population.POPULATION,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    gold_at_least: GoldAtLeast = None,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Estimate systems' scores from many machine judgments and a random sample of people's, without the bias."""
    from summeter.meta.coverage import Drawing
    from summeter.meta.coverage import simulate as simulated
    from summeter.meta.estimate import Plan
    from summeter.meta.estimate import estimate as study

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, gold_at_least, by)
    found: list[Study] = []
    for run, data in read_runs(runs, gold, map_, preset, format_):
        plan = Plan(confidence, not plain, pairs_of(pair, run.data.systems), power, difference)
        made = (
            study(run, data, select=chosen, plan=plan) if simulate is None
            else simulated(run, data, simulate, select=chosen, plan=plan, drawing=Drawing(draws, seed, about.value))
        )  # fmt: skip
        found.append(named(made, run, len(runs)))
    show(found, as_json=as_json)


def pairs_of(texts: Sequence[str] | None, systems: Sequence[str]) -> list[tuple[str, str]] | None:
    """Pairs named "A-B"; names may hold hyphens themselves, as long as only one cut gives two known systems.

    >>> pairs_of(["gpt-4-t5"], ["gpt-4", "t5"])
    [('gpt-4', 't5')]
    """
    from summeter.records import UsageError

    if not texts:
        return None
    found = []
    for text in texts:
        cuts = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "-"]
        known = [cut for cut in cuts if cut[0] in systems and cut[1] in systems and cut[0] != cut[1]]
        if len(known) != 1:
            why = "can be read in two ways" if known else "names no two systems"
            raise UsageError(f"--pair {text} {why}; the systems are: {', '.join(systems)}")
        found.append(known[0])
    return found


def calibrate(
    run: OneRun,
    aspect: Annotated[str, typer.Option(metavar="A|JUDGE:GOLD", help="The aspect to calibrate.")],
    gold: GoldData = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The calibration file, for `summeter gate`.")
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(metavar="[COLUMN=]VALUE", help="Tune a threshold on this split; measure on the rest."),
    ] = None,
    level: Annotated[
        Level | None, typer.Option(help="Default: sentences, else key facts, else summaries, as people labelled.")
    ] = None,
    judge: Judge = None,
    allow_few: Annotated[bool, typer.Option("--allow-few", help="Accept fewer than 50 labels.")] = False,
    listed: Annotated[int, typer.Option(min=0, help="Disagreements to keep in the file.")] = 100,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    gold_at_least: GoldAtLeast = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Calibrate a judge on 50 or more human labels: agreement, baseline, people's own, and where they differ."""
    from summeter.meta.calibrate import Plan, calibration_study, save_calibration
    from summeter.meta.calibrate import calibrate as study

    chosen = selection(None, judge, set_name, source, merge, tie, min_votes, gold_at_least, None)
    plan = Plan(dev, allow_few, listed, max(1, resamples), seed)
    for found, data in read_runs([run], gold, map_, preset, format_):
        made = study(found, data, aspect=aspect, level=level, select=chosen, plan=plan)
        if out is not None:
            save_calibration(made, out)
        show([calibration_study(made)], as_json=as_json)
        if out is not None and not as_json:
            typer.echo(f"calibration: {out}")


def overlap(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A run (what a judge prepared), data, or a file of "
                                                               "rows with doc_id and claims or key_facts.")],
    second: Annotated[str | None, typer.Argument(metavar="[SECOND]", help="The reference lists, likewise.")] = None,
    gold: Annotated[str | None, typer.Option("--gold", metavar="DATA", help="The same as SECOND.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose lists, where a run holds several.")] = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Easiness of claims or key facts against reference ones: precision, recall, F1 by ROUGE-1 (FENICE, eq. 9-10)."""
    from summeter.meta.overlap import lists_of
    from summeter.meta.overlap import overlap as study
    from summeter.records import UsageError

    other = second or gold
    if other is None or (second is not None and gold is not None):
        raise UsageError("give the reference lists once: as SECOND, or with --gold")
    context = None
    if by is not None:
        context = _context(other) or _context(first)
        if context is None:
            raise UsageError(f"--by {by} needs a run or data as FIRST or SECOND; files of lists have no {by}")
    show([study(lists_of(first, judge), lists_of(other, judge), context=context, by=by)], as_json=as_json)


def _context(source: str) -> Context | None:
    from summeter.data.dataset import load
    from summeter.meta.inputs import context_of
    from summeter.runs.run import MANIFEST, RunFolder

    path = Path(source)
    if not path.is_dir():
        return None
    return context_of(RunFolder(path).data if (path / MANIFEST).is_file() else load(path))


def card(
    run: OneRun,
    gold: GoldData = None,
    people: Annotated[bool, typer.Option("--people", help="Put people's judgments beside the judges'.")] = False,
    aspect: Aspects = None,
    judge: Judge = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="Also means by this column. Repeatable.")
    ] = None,
    edges: Annotated[
        str, typer.Option(metavar="N,N...", help="Lengths of documents, in words, at which a bucket begins.")
    ] = "250,500,1000,2000",
    redacted: Annotated[
        str | None, typer.Option(metavar="COLUMN[=VALUE]", help="Which column says that a document is redacted.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE.md", help="The card as Markdown.")] = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap by document.")] = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Write a benchmark card: means, domain stability, types of error, abstractiveness, redaction, groups."""
    from summeter.data.atomic import write_text
    from summeter.data.dataset import load
    from summeter.meta.card import Plan
    from summeter.meta.card import card as study
    from summeter.meta.card_text import markdown
    from summeter.runs.run import RunFolder

    found = RunFolder(run)
    data = load(gold, map=mapping(map_), preset=preset, format=format_) if gold is not None else None
    plan = Plan(
        tuple(aspect or ()), judge, tuple(by or ()), _edges(edges), redacted,
        selection(None, None, set_name, source, merge, tie, min_votes, None, None), resamples, seed,
    )  # fmt: skip
    made = study(found, data if data is not None else found.data if people else None, plan=plan)
    text = markdown(made, f"Benchmark card: {found.manifest.data.source}")
    if out is not None:
        write_text(out, text)
    if as_json:
        show([made], as_json=True)
    elif out is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"card: {out}")


def _edges(text: str) -> tuple[int, ...]:
    from summeter.records import UsageError

    try:
        return tuple(int(one) for one in text.split(",") if one.strip())
    except ValueError as error:
        raise UsageError(f"--edges {text!r} is not a list of whole numbers such as 250,500") from error
