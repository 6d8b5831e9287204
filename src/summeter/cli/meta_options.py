"""What the commands of `summeter meta` share: option types, how a gold is read, how a study is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.choices import Average, Items, Tie
from summeter.cli.common import mapping, print_json

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.meta.results import Study
    from summeter.meta.selection import Selection
    from summeter.runs.run import RunFolder


Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", exists=True, file_okay=False)]
GoldData = Annotated[
    str | None,
    typer.Option("--gold", metavar="DATA", help="The data with people's judgments; default: the run's own copy."),
]
SetName = Annotated[str, typer.Option("--set", metavar="NAME", help="The judgment set of the data.")]
Source = Annotated[
    str | None,
    typer.Option(help="Which of people's judgments: sentence_labels, key_fact_labels, alignment, ratings, overall... "
                      "Default: labels of units, else ratings, else overall."),
]  # fmt: skip
MergeBy = Annotated[
    str,
    typer.Option("--merge", help="How annotators are merged: auto (majority of labels, mean of ratings), mean, "
                                 "majority, mode_else_mean, each; or the id of one annotator."),
]  # fmt: skip


def tie_rule(value: str) -> Tie:
    """A tie rule by its name; `original`, the name of `finesure` in earlier versions, still works."""
    if value not in [*Tie, "original"]:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(repr(tie.value) for tie in Tie)}.")
    return Tie.FINESURE if value == "original" else Tie(value)


TieRule = Annotated[
    Tie,
    typer.Option(
        "--tie",
        parser=tie_rule,
        metavar=f"[{'|'.join(Tie)}]",
        help="What a majority does with a tie; finesure: a sentence is then supported, anything else absent.",
    ),
]
MinVotes = Annotated[int, typer.Option(min=1, help="Leave out what has fewer votes.")]
GoldAtLeast = Annotated[float | None, typer.Option(help="People's values from this one on count as yes, others no.")]
Aspects = Annotated[
    list[str] | None,
    typer.Option("--aspect", metavar="A|JUDGE:GOLD", help="An aspect, or the judge's and people's. Repeatable."),
]
Judge = Annotated[str | None, typer.Option("--judge", help="Only this judge (name or signature).")]
By = Annotated[str | None, typer.Option("--by", metavar="COLUMN", help="Also each domain, category, system, split...")]
AverageOver = Annotated[Average, typer.Option(help="All rows at once, or within each document or system.")]
ItemsOf = Annotated[Items, typer.Option(help="Means of documents and systems: over common items, or each side's own.")]
MinItems = Annotated[int, typer.Option(min=1, help="Leave out systems or documents with fewer items.")]
Resamples = Annotated[int, typer.Option(min=0, help="Of the bootstrap by document; 0 for no intervals.")]
Seed = Annotated[int, typer.Option(help="Of the bootstrap.")]


def read_runs(
    runs: Iterable[Path], gold: str | None, map_: list[str] | None = None, preset: str | None = None,
    format_: str | None = None,
) -> Iterator[tuple[RunFolder, Dataset]]:  # fmt: skip
    """Each run with its gold: the data given, else the run's own copy of what it judged."""
    from summeter.data.dataset import load
    from summeter.runs.run import RunFolder

    data = None if gold is None else load(gold, map=mapping(map_), preset=preset, format=format_)
    for folder in runs:
        run = RunFolder(folder)
        yield run, run.data if data is None else data


def selection(
    aspects: list[str] | None, judge: str | None, set_name: str, source: str | None, merge: str, tie: str,
    min_votes: int, gold_at_least: float | None, by: str | None, items: str = "common", min_items: int = 1,
) -> Selection:  # fmt: skip
    """The options as the studies take them."""
    from summeter.meta.gold import Aggregation
    from summeter.meta.selection import Selection

    return Selection(
        aspects=tuple(aspects or ()), judge=judge, set_name=set_name, source=source,
        rule=Aggregation(merge, tie, min_votes), gold_at_least=gold_at_least, by=by, items=Items(items),
        min_items=min_items,
    )  # fmt: skip


def named(study: Study, run: RunFolder, runs: int) -> Study:
    """The study; with several runs each row says which one it is of."""
    from summeter.meta.results import Study as Made

    if runs == 1:
        return study
    rows = [row.model_copy(update={"details": {**row.details, "run": str(run.folder)}}) for row in study]
    return Made(study.name, rows, study.notes)


def show(studies: Iterable[Study], *, as_json: bool) -> None:
    """Print studies as one table, or as one JSON object."""
    from summeter.meta.results import join

    found = list(studies)
    whole = join(found[0].name if found else "study", found)
    if as_json:
        print_json(whole.to_dicts(), study=whole.name, notes=list(whole.notes))
    else:
        typer.echo(str(whole))


def two_names(text: str | None) -> tuple[str, str] | None:
    """`A,B` as two names."""
    from summeter.records import UsageError

    if text is None:
        return None
    first, comma, second = (part.strip() for part in text.partition(","))
    if not comma or not first or not second or "," in second:
        raise UsageError(f"--judges takes two names, A,B, not {text!r}")
    return first, second


def numbers(text: str | None) -> tuple[float, ...]:
    """`1,2,3` as numbers in order."""
    from summeter.records import UsageError

    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise UsageError(f"--scale takes numbers, 1,2,3, not {text!r}") from error


def named_pairs(pairs: list[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE` options as a dict."""
    from summeter.records import UsageError

    found = {}
    for pair in pairs or []:
        name, equals, value = pair.rpartition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option} {pair!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
