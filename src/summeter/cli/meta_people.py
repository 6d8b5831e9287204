"""`summeter meta prefer | stability | reliability | agree | bias | reasons`: systems, judges and people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.choices import Tie
from summeter.cli.common import AsJson, Format, Map, Preset, mapping, print_json
from summeter.cli.meta_options import (
    Aspects,
    By,
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
    named_pairs,
    numbers,
    read_runs,
    selection,
    two_names,
)

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.meta.inputs import RunLike
    from summeter.meta.results import Study

Coefficients = Annotated[
    list[str] | None,
    typer.Option("--coefficient", help="pearson, spearman, kendall_b (these by default), kendall_c. Repeatable."),
]
Separately = Annotated[
    bool,
    typer.Option("--separately", help="Drop a system only from the coefficient that is undefined on it, not from all."),
]
PeopleOnly = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[RUN...]", help="Runs whose judges are set beside people.", exists=True, file_okay=False),
]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into `summeter meta`."""
    for command in (prefer, stability, reliability, agree, bias, reasons):
        app.command()(command)


def prefer(
    runs: Runs,
    gold: GoldData = None,
    aspect: Aspects = None,
    pairs: Annotated[
        str | None, typer.Option("--pairs", metavar="A-B,B-C", help="Only these pairs of systems; default: all.")
    ] = None,
    rank_by: Annotated[
        str, typer.Option(help="The chain follows people's mean over the whole block of ratings, or of the aspect.")
    ] = "block",
    strengths: Annotated[bool, typer.Option(help="Win rates and Bradley-Terry strengths too.")] = True,
    prior: Annotated[
        float, typer.Option(min=0, help="Half-won games between every two systems, where one wins everything.")
    ] = 0.0,
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Ask whether judges prefer the systems people prefer: correct preferences, win rates, Bradley-Terry."""
    from summeter.meta.grids import Draws
    from summeter.meta.prefer import Pairing, parse_pairs
    from summeter.meta.prefer import prefer as study

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, None, by)
    found = []
    for run, data in read_runs(runs, gold, map_, preset, format_):
        wanted = None if pairs is None else parse_pairs(pairs, data.systems)
        pairing = Pairing(wanted, rank_by, strengths, prior)
        found.append(named(study(run, data, select=chosen, pairing=pairing, draws=Draws(resamples, seed=seed)), run,
                           len(runs)))  # fmt: skip
    show_parts(found, as_json=as_json)


def stability(
    runs: Runs,
    gold: GoldData = None,
    aspect: Aspects = None,
    coefficient: Coefficients = None,
    separately: Separately = False,
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Ask whether judges are as good on good systems as on bad ones: per-candidate and meta-correlation."""
    from summeter.meta.grids import Draws
    from summeter.meta.stability import USUAL, Steady
    from summeter.meta.stability import stability as study

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, None, by)
    steady = Steady(tuple(coefficient or USUAL), together=not separately)
    draws = Draws(resamples, seed=seed)
    show_parts(
        [
            named(study(run, data, select=chosen, steady=steady, draws=draws), run, len(runs))
            for run, data in read_runs(runs, gold, map_, preset, format_)
        ],
        as_json=as_json,
    )


def reliability(
    runs: Runs,
    gold: GoldData = None,
    aspect: Aspects = None,
    judges: Annotated[
        str | None, typer.Option("--judges", metavar="A,B", help="The two judges (names or signatures); default: all.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Say which systems need people: where judges agree less.")
    ] = None,
    coefficient: Coefficients = None,
    separately: Separately = False,
    dependence: Annotated[bool, typer.Option(help="Correlations between the aspects of a judge too.")] = True,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="The runs are repeats: how far does each judge agree with itself?")
    ] = False,
    level: Annotated[str, typer.Option(help="Repeats compared by sentence, key_fact or summary.")] = "summary",
    judge: Judge = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Compare two judges system by system (of one run or several), and say where people are needed."""
    from summeter.meta.consistency import self_consistency
    from summeter.meta.grids import Draws
    from summeter.meta.reliability import Trust
    from summeter.meta.reliability import reliability as study
    from summeter.meta.stability import USUAL

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, None, None)
    draws = Draws(resamples, seed=seed)
    read = list(read_runs(runs, gold, map_, preset, format_))
    both = [run for run, _ in read]
    if repeats:
        show_parts([self_consistency(both, select=chosen, level=level, draws=draws)], as_json=as_json)
        return
    trust = Trust(two_names(judges), tuple(coefficient or USUAL), tolerance, not separately, dependence)
    data = read[0][1] if set_name in read[0][1].judgment_sets else None
    show_parts([study(both, data, select=chosen, trust=trust, draws=draws)], as_json=as_json)


def agree(
    runs: PeopleOnly = None,
    gold: GoldData = None,
    aspect: Aspects = None,
    with_judge: Annotated[
        list[Path] | None,
        typer.Option(
            "--with-judge",
            metavar="RUN",
            help="A run whose judges are set beside people. Repeatable.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    coefficient: Annotated[
        list[str] | None,
        typer.Option(
            "--coefficient",
            help="alpha_nominal, alpha_ordinal, alpha_interval, alpha_ratio, kappa_cohen, "
            "kappa_fleiss, ac1, ac2, icc, mean_pairwise_pearson, rater_deviation, "
            "identical, span_f1... Default: those that suit the votes. Repeatable.",
        ),
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="sentence, key_fact or summary (each one's score); default: what was voted on.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="1,2,3,4,5", help="All values there could be, in order; default: those seen.")
    ] = None,
    weights: Annotated[str, typer.Option(help="Of ac2: linear, quadratic or ordinal.")] = "quadratic",
    icc_model: Annotated[str, typer.Option("--icc", help="1,1 2,1 3,1 1,k 2,k 3,k (Shrout and Fleiss).")] = "2,1",
    error_types: Annotated[
        bool, typer.Option("--error-types", help="Compare the names of errors, not the labels.")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Each annotator beside the others, and the others without each.")
    ] = False,
    shown: Annotated[
        str | None,
        typer.Option(metavar="RUN|SET", help="Machine labels that people were shown: how often were they overruled?"),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the votes, a row a unit, a column an annotator.")
    ] = None,
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Measure how far annotators agree, and how far judges agree with them in the same coefficients."""
    from summeter.meta.agree import Panel
    from summeter.meta.agree import agree as study
    from summeter.meta.grids import Draws
    from summeter.runs.run import RunFolder

    judging = [RunFolder(folder) for folder in (*(runs or []), *(with_judge or []))]
    data = _people(gold, judging[0].data if judging else None, map_, preset, format_)
    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, None, by)
    panel = Panel(tuple(coefficient or ()), level, numbers(scale), weights, icc_model, error_types, each)
    draws = Draws(resamples, seed=seed)
    found = [study(data, select=chosen, panel=panel, judges=judging, draws=draws)]
    if shown is not None:
        from summeter.meta.overruled import overruled

        at = level or "sentence"
        found.append(overruled(_shown(shown, data), data, select=chosen, level=at, draws=draws))
    if export is not None:
        from summeter.data.atomic import write_text
        from summeter.meta.agree import export as table

        made = table(data, select=chosen, panel=panel)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([made.head, *made.rows])
        write_text(export, text.getvalue())
        typer.echo(f"{len(made.rows)} units: {export}", err=True)
    show_parts(found, as_json=as_json)


def bias(
    runs: Runs,
    gold: GoldData = None,
    aspect: Aspects = None,
    family: Annotated[
        list[str] | None, typer.Option("--family", metavar="SYSTEM=NAME", help="Who made a system. Repeatable.")
    ] = None,
    judge_family: Annotated[
        list[str] | None,
        typer.Option(
            "--judge-family",
            metavar="JUDGE=NAME",
            help="Who made a judge; default: the family whose name stands in its model's name. Repeatable.",
        ),
    ] = None,
    length: Annotated[str, typer.Option(help="How length is counted: words or characters.")] = "words",
    judge: Judge = None,
    by: By = None,
    set_name: SetName = "human.raw",
    source: Source = None,
    merge: MergeBy = "auto",
    tie: TieRule = Tie.FINESURE,
    min_votes: MinVotes = 1,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Audit judges for what should not move them: place in the prompt, length, their own family."""
    from summeter.meta.bias import Suspicion
    from summeter.meta.bias import bias as study
    from summeter.meta.grids import Draws

    chosen = selection(aspect, judge, set_name, source, merge, tie, min_votes, None, by)
    suspicion = Suspicion(named_pairs(family, "--family"), named_pairs(judge_family, "--judge-family"), length)
    draws = Draws(resamples, seed=seed)
    show_parts(
        [
            named(study(run, data, select=chosen, suspicion=suspicion, draws=draws), run, len(runs))
            for run, data in read_runs(runs, gold, map_, preset, format_)
        ],
        as_json=as_json,
    )


def reasons(
    runs: Runs,
    aspect: Annotated[list[str] | None, typer.Option("--aspect", help="Only this aspect. Repeatable.")] = None,
    judge: Judge = None,
    words: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="More words by aspect, for reading what a reason speaks of.",
                     exists=True, dir_okay=False),
    ] = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Ask whether judges' reasons speak of the aspect they were asked about, or of another."""
    from summeter.meta.grids import Draws
    from summeter.meta.reasons import read_words
    from summeter.meta.reasons import reasons as study
    from summeter.meta.selection import Selection
    from summeter.runs.run import RunFolder

    lists = None if words is None else read_words(words)
    chosen, draws = Selection(aspects=tuple(aspect or ()), judge=judge), Draws(resamples, seed=seed)
    read = [RunFolder(folder) for folder in runs]
    show_parts(
        [named(study(run, select=chosen, words=lists, draws=draws), run, len(read)) for run in read], as_json=as_json
    )


def show_parts(studies: Iterable[Study], *, as_json: bool) -> None:
    """Print every kind of row as a table of its own with its name above, or all as one JSON object."""
    from summeter.meta.results import Study as Made
    from summeter.meta.results import join

    found = list(studies)
    whole = join(found[0].name, found)
    if as_json:
        print_json(whole.to_dicts(), study=whole.name, notes=list(whole.notes))
        return
    for name in dict.fromkeys(row.study for row in whole):
        typer.echo(f"{name}\n{Made(name, [row for row in whole if row.study == name])}\n")
    for note in whole.notes:
        typer.echo(note)


def _people(
    gold: str | None, own: Dataset | None, map_: list[str] | None, preset: str | None, format_: str | None
) -> Dataset:
    from summeter.data.dataset import load
    from summeter.records import UsageError

    if gold is not None:
        return load(gold, map=mapping(map_), preset=preset, format=format_)
    if own is None:
        raise UsageError("whose agreement? give the data with --gold DATA, or a RUN that has them")
    return own


def _shown(text: str, data: Dataset) -> RunLike:
    """A judgment set of the data, else the folder of a run."""
    from summeter.runs.run import RunFolder

    return data.judgments(text) if text in data.judgment_sets else RunFolder(text)
