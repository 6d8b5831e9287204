"""`summeter meta`: how far an evaluator can be trusted."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from summeter.choices import Average, Items, Level, Tie
from summeter.cli import meta_people, meta_systems
from summeter.cli.common import AsJson, Format, Map, Preset
from summeter.cli.meta_options import (
    Aspects,
    AverageOver,
    By,
    GoldAtLeast,
    GoldData,
    ItemsOf,
    Judge,
    MergeBy,
    MinItems,
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

Coefficients = Annotated[
    list[str] | None,
    typer.Option(
        "--coefficient",
        help="pearson, spearman, kendall_b (these by default), kendall_c, pairwise_accuracy. Repeatable.",
    ),
]

app = typer.Typer(no_args_is_help=True)
meta_people.add_to(app)
meta_systems.add_to(app)


class Match(StrEnum):
    """Which of the annotators' types a judge must give."""

    MAJORITY = "majority"
    ANY = "any"


@app.callback()
def _group() -> None:
    """Judge the judges: studies of runs against people. Reads judgments only; calls no model."""


@app.command()
def correlate(
    runs: Runs,
    gold: GoldData = None,
    level: Annotated[Level, typer.Option(help="What is correlated.")] = Level.SUMMARY,
    average: AverageOver = Average.POOLED,
    aspect: Aspects = None,
    coefficient: Coefficients = None,
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    gold_at_least: GoldAtLeast = None,
    items: ItemsOf = Items.COMMON,
    min_items: MinItems = 1,
    only_significant: Annotated[
        float | None, typer.Option(metavar="P", help="Average only groups whose own p is at most this (REALSumm: .05).")
    ] = None,
    calibrate_ties: Annotated[
        bool, typer.Option("--calibrate-ties", help="Pairwise accuracy: find the difference that counts as a tie.")
    ] = False,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Correlate judges with people."""
    from summeter.meta.correlate import USUAL, Settings
    from summeter.meta.correlate import correlate as study

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, gold_at_least, by, items, min_items)
    plan = Settings(
        coefficients=tuple(coefficient or USUAL), resamples=resamples, seed=seed, only_significant=only_significant,
        calibrate_ties=calibrate_ties,
    )  # fmt: skip
    show(
        (
            named(study(run, data, level=level, average=average, select=chosen, settings=plan), run, len(runs))
            for run, data in read_runs(runs, gold, map_, preset, format_)
        ),
        as_json=as_json,
    )


@app.command()
def classify(
    runs: Runs,
    gold: GoldData = None,
    level: Annotated[Level, typer.Option(help="sentence, key_fact or summary.")] = Level.SENTENCE,
    aspect: Aspects = None,
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    gold_at_least: GoldAtLeast = None,
    threshold: Annotated[float | None, typer.Option(help="A score above it is decided 1.")] = None,
    tune: Annotated[
        str | None, typer.Option(metavar="[COLUMN=]VALUE", help="Tune the threshold on this split, test on the rest.")
    ] = None,
    thresholds_by: Annotated[str | None, typer.Option(metavar="COLUMN", help="One tuned threshold a value.")] = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Measure judges as classifiers: balanced accuracy, sensitivity, specificity, precision, recall, F1, AUROC."""
    from summeter.meta.classify import Settings
    from summeter.meta.classify import classify as study

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, gold_at_least, by)
    plan = Settings(threshold=threshold, tune=tune, thresholds_by=thresholds_by, resamples=resamples, seed=seed)
    show(
        (
            named(study(run, data, level=level, select=chosen, settings=plan), run, len(runs))
            for run, data in read_runs(runs, gold, map_, preset, format_)
        ),
        as_json=as_json,
    )


@app.command()
def errors(
    runs: Runs,
    gold: GoldData = None,
    aspect: Annotated[str, typer.Option(help="The aspect whose errors have types.")] = "faithfulness",
    match: Annotated[Match, typer.Option(help="Which annotators' types the judge must give.")] = Match.MAJORITY,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="TYPE=NAME", help="Rename a type on both sides. Repeatable.")
    ] = None,
    judge: Judge = None,
    set_name: SetName = "human.raw",
    merge: MergeBy = "auto",
    min_votes: MinVotes = 1,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Compare the types of errors that judges find with those people find."""
    from summeter.meta.errors import Match as MatchRule
    from summeter.meta.errors import Settings
    from summeter.meta.errors import errors as study

    chosen = selection(None, judge, set_name, None, merge, Tie.FINESURE, min_votes, None, None)
    plan = Settings(mapping=_renames(rename), match=MatchRule(match), min_votes=min_votes)
    show(
        (
            named(study(run, data, aspect=aspect, select=chosen, settings=plan), run, len(runs))
            for run, data in read_runs(runs, gold, map_, preset, format_)
        ),
        as_json=as_json,
    )


def _renames(pairs: list[str] | None) -> dict[str, str]:
    from summeter.records import UsageError

    found = {}
    for pair in pairs or []:
        name, equals, new = pair.partition("=")
        if not equals or not name.strip() or not new.strip():
            raise UsageError(f"--rename {pair!r} is not TYPE=NAME")
        found[name.strip()] = new.strip()
    return found
