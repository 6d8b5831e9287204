"""`summeter meta`: studies of judges, systems and annotators. Each command calls the study of its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from summeter.choices import (
    PAIRWISE,
    USUAL_COEFFICIENTS,
    Average,
    Coefficient,
    Level,
    Of,
)
from summeter.cli.common import check_suffix, in_options
from summeter.cli.studies import Given as OptionsGiven
from summeter.cli.studies import add_study
from summeter.cli.studies import study_command as study_options
from summeter.cli.study_command import BOOTSTRAP, PEOPLE, Given, numbers, study_command
from summeter.data.atomic import write_text
from summeter.data.dataset import load
from summeter.data.human import RAW
from summeter.meta import calibrate as calibration_of
from summeter.meta import calibration_study, estimate_last_judge, save_calibration
from summeter.meta import card as card_of
from summeter.meta import overlap as lists_overlap
from summeter.meta import reliability as two_judges
from summeter.meta._card import markdown
from summeter.meta._compare import matrices
from summeter.meta._overlap import lists_of
from summeter.meta.context import Context
from summeter.meta.inputs import context_of
from summeter.meta.results import Study
from summeter.meta.verdicts import MOST_NAMED
from summeter.records import UsageError
from summeter.runs.run import MANIFEST, RunFolder


def _named(coefficients: Iterable[str]) -> str:
    """The help of --coefficient: those computed by default, then the others."""
    others = [name for name in coefficients if name not in USUAL_COEFFICIENTS]
    return f"{', '.join(USUAL_COEFFICIENTS)} (these by default), {', '.join(others)}. Repeatable."


Alpha = Annotated[float, typer.Option(help="The corrected p-value from which a difference counts.")]
AverageOver = Annotated[Average, typer.Option(help="All rows at once, or within each document or system.")]
Coefficients = Annotated[list[str] | None, typer.Option("--coefficient", help=_named(Coefficient))]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
Resamples = Annotated[int, typer.Option(min=0, help="Resamples of the bootstrap by document; 0 for no intervals.")]
Separately = Annotated[
    bool,
    typer.Option("--separately", help="Drop a system only from the coefficient that is undefined on it, not from all."),
]

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Judge the judges: studies of runs against people. Reads judgments only; calls no model."""


@study_command(app, f"runs gold aspect judge by {PEOPLE} gold_at_least min_items {BOOTSTRAP}")
def correlate(
    given: Given,
    level: Annotated[Level, typer.Option(help="What is correlated.")] = Level.SUMMARY,
    average: AverageOver = Average.POOLED,
    coefficient: Annotated[list[str] | None, typer.Option(help=_named([*Coefficient, PAIRWISE]))] = None,
    only_significant: Annotated[
        float | None, typer.Option(metavar="P", help="Average only groups whose own p is at most this (REALSumm: .05).")
    ] = None,
    calibrate_ties: Annotated[
        bool, typer.Option("--calibrate-ties", help="Pairwise accuracy: find the difference that counts as a tie.")
    ] = False,
) -> list[Study]:
    """Correlate judges with people."""
    from summeter.meta import correlate as study

    names = coefficient or USUAL_COEFFICIENTS
    how: dict[str, Any] = {"only_significant": only_significant, "calibrate_ties": calibrate_ties}
    return given.each(partial(study, level=level, average=average, coefficients=names, **how, **given.keywords))


@study_command(app, f"runs gold aspect judge by {PEOPLE} gold_at_least {BOOTSTRAP}")
def classify(
    given: Given,
    level: Annotated[Level, typer.Option(help="sentence, key_fact or summary.")] = Level.SENTENCE,
    threshold: Annotated[float | None, typer.Option(help="A score above it is decided 1.")] = None,
    tune: Annotated[
        str | None, typer.Option(metavar="[COLUMN=]VALUE", help="Tune the threshold on this split, test on the rest.")
    ] = None,
    thresholds_by: Annotated[str | None, typer.Option(metavar="COLUMN", help="One tuned threshold a value.")] = None,
) -> list[Study]:
    """Measure judges as classifiers: balanced accuracy, sensitivity, specificity, precision, recall, F1, AUROC."""
    from summeter.meta import classify as study

    thresholds: dict[str, Any] = {"threshold": threshold, "tune": tune, "thresholds_by": thresholds_by}
    return given.each(partial(study, level=level, **thresholds, **given.keywords))


@study_command(app, f"runs gold aspect judge by {PEOPLE} {BOOTSTRAP}")
def stability(given: Given, coefficient: Coefficients = None, separately: Separately = False) -> list[Study]:
    """Ask whether judges are as good on good systems as on bad ones: per-candidate and meta-correlation."""
    from summeter.meta import stability as study

    names = coefficient or USUAL_COEFFICIENTS
    return given.each(partial(study, together=not separately, coefficients=names, **given.keywords))


@study_options(app, "reliability", "self_consistency")
def reliability(
    given: OptionsGiven,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="The runs are repeats: how far does each judge agree with itself?")
    ] = False,
) -> list[Study]:
    """Compare two judges, or one with itself."""
    if repeats:
        return given.studies("self_consistency", "with --repeats")
    data = given.data()
    gold = data if given.values.get("judgment_set", RAW) in data.judgment_sets else None
    return [two_judges(given.runs, gold, **given.keywords("reliability", "without --repeats"))]


@study_command(app, f"some_runs gold aspect judge by {PEOPLE} {BOOTSTRAP}")
def agree(
    given: Given,
    coefficient: Annotated[
        list[str] | None,
        typer.Option(help="`summeter meta agree` has all; default: those that suit the votes. Repeatable."),
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
) -> list[Study]:
    """Measure how far annotators agree, and how far judges agree with them in the same coefficients."""
    from summeter.meta import agree as study
    from summeter.meta import override_rate
    from summeter.meta._agree import export as export_votes
    from summeter.runs.run import RunFolder

    data = given.data()
    votes: dict[str, Any] = {"level": level, "error_types": error_types}
    how: dict[str, Any] = {"scale": numbers(scale, "--scale"), "weights": weights, "icc_model": icc_model}
    studies = [
        study(data, coefficients=coefficient or (), **votes, **how, each=each, judges=given.runs, **given.keywords)
    ]
    if shown is not None:
        labels = data.judgments(shown) if shown in data.judgment_sets else RunFolder(shown)
        studies.append(override_rate(labels, data, level=level or "sentence", **given.keywords))
    if export is not None:
        from summeter.data.atomic import write_text

        table = export_votes(data, **votes, **given.selection)
        write_text(export, table.csv())
        typer.echo(f"{len(table.rows)} units: {export}", err=True)
    return studies


@study_options(app, "compare_systems", "compare_by_people", "compare_evaluators", name="compare", runs="[RUN...]")
def compare(
    given: OptionsGiven,
    of: Annotated[
        Of | None,
        typer.Option(
            help="systems (by each judge), judges (by agreement with people), people (systems by people's "
            "own judgments; needs no RUN). Default: judges where --gold is given beside a RUN, else systems."
        ),
    ] = None,
) -> list[Study]:
    """Say which system, or which judge, is better than which: pairs, correction, clusters and a verdict in words."""
    of = of or (Of.SYSTEMS if given.gold_source is None else Of.JUDGES if given.folders else Of.PEOPLE)
    compared = {Of.SYSTEMS: "compare_systems", Of.JUDGES: "compare_evaluators", Of.PEOPLE: "compare_by_people"}
    studies = given.studies(compared[of], f"with --of {of}")
    if any(len(table.rows) > MOST_NAMED for study in studies for table in matrices(study)):
        given.tables = False
        given.lines += _matrices(studies)
    return studies


def _matrices(studies: Sequence[Study]) -> Iterator[str]:
    """Comparisons of many as matrices, with what is said of them."""
    for study in studies:
        for table in matrices(study):
            yield f"{table.title}\n{table.text()}\n"
        yield "+ better, - worse, . cannot be told apart: the line against the column"
        yield from (in_options(text) for text in (*study.signatures(), *study.notes))


@study_options(app, "estimate", "simulate")
def estimate(
    given: OptionsGiven,
    simulate: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="LABELS",
            help="Data labelled in full: how often do intervals from so many labelled documents hold the truth?",
        ),
    ] = None,
    last_judge: Annotated[
        bool, typer.Option("--last-judge", help="What a cascade's last judge would say of all, from its random sample.")
    ] = False,
) -> list[Study]:
    """Estimate from people's labels, or a cascade's last judge's, or simulate such estimates."""
    if last_judge:
        from summeter.engine.derive import cascade_samples

        options = given.keywords("estimate_last_judge", "with --last-judge")
        return given.each_run(lambda run: estimate_last_judge(run, cascade_samples(run), **options))
    if simulate is not None:
        return given.studies("simulate", "with --simulate", simulate)
    return given.studies("estimate", "without --simulate")


@study_options(app, "calibrate", runs="RUN")
def calibrate(
    given: OptionsGiven,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The calibration file, for `summeter gate`.")
    ] = None,
) -> list[Study]:
    """Calibrate a judge and keep the calibration in a file."""
    if out is not None:
        check_suffix(out, ".json")
    calibration = calibration_of(given.runs[0], given.data(), **given.values)
    if out is not None:
        save_calibration(calibration, out)
        given.lines.append(f"calibration: {out}")
    return [calibration_study(calibration)]


for name in ("errors", "bias"):
    add_study(app, name)
add_study(app, "prefer", runs="[RUN...]")


@study_options(app, "overlap", runs=None)
def overlap(
    given: OptionsGiven,
    first: Annotated[
        str,
        typer.Argument(
            metavar="FIRST",
            help="A run (what a judge prepared or judged), data, or a file of rows with doc_id, claims or key_facts, "
            "and system where lists are of summaries.",
        ),
    ],
    second: Annotated[str | None, typer.Argument(metavar="[SECOND]", help="The reference lists, likewise.")] = None,
    gold: Annotated[str | None, typer.Option("--gold", metavar="DATA", help="The same as SECOND.")] = None,
    judge: Annotated[str | None, typer.Option(help="Whose lists, where a run holds several.")] = None,
) -> list[Study]:
    """Compare the lists of two sources."""
    other, by = second or gold, given.values.get("by")
    if other is None or (second is not None and gold is not None):
        raise UsageError("give the reference lists once: as SECOND, or with --gold")
    context = None
    if by is not None:
        context = _context(other) or _context(first)
        if context is None:
            raise UsageError(f"--by {by} needs a run or data as FIRST or SECOND; files of lists have no {by}")
    return [lists_overlap(lists_of(first, judge), lists_of(other, judge), context=context, **given.values)]


def _context(source: str) -> Context | None:
    path = Path(source)
    if not path.is_dir():
        return None
    return context_of(RunFolder(path).data if (path / MANIFEST).is_file() else load(path))


@study_options(app, "card", runs="[RUN]")
def card(
    given: OptionsGiven,
    people: Annotated[bool, typer.Option("--people", help="Put people's judgments beside the judges'.")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE.md", help="The card as Markdown.")] = None,
) -> list[Study]:
    """Write a card to the terminal or a file."""
    if out is not None:
        check_suffix(out, ".md")
    run = given.runs[0] if given.runs else None
    gold = given.data(run) if people or given.gold is not None or run is None else None
    study = card_of(run, gold, **given.values)
    text = markdown(study, f"Benchmark card: {run.manifest.data.source if run else given.data().card.name}")
    given.tables = False
    if out is not None:
        write_text(out, text)
    given.lines.append(text.rstrip("\n") if out is None else f"card: {out}")
    return [study]
