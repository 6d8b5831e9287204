"""A leaderboard: judges measured on labelled datasets, as one static page.

    title: Judges of faithfulness
    sets:
      news: {data: news.jsonl, aspect: faithfulness, statistic: auroc, options: {level: sentence}}
    judges:
      support: {evaluator: support, needs: no download}
      ROUGE-L: {evaluator: rouge, needs: no download, aspects: {faithfulness: rougeL}}

A cell is a judge on a dataset. It contains the statistic with its interval, the alternative annotator test where items
have votes of several people, the verdict of `trust`, cost and speed. Each judge has a run on each dataset. A run that
exists is resumed, so the page of a finished leaderboard is written again without calling a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationInfo, field_validator

from summeter.benchmark.step import EvaluatorName, RunOptions, run_over
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset, load
from summeter.data.hub import is_address
from summeter.data.mapping import read_model
from summeter.engine.api import evaluate
from summeter.engine.progress import Progress
from summeter.meta import classify, correlate, trust
from summeter.meta._classify import STATISTICS, ClassifyOptions
from summeter.meta._correlate import CorrelateOptions
from summeter.meta._trust import TrustOptions
from summeter.meta.results import Row, Study, payload
from summeter.pages.templates import one_file
from summeter.records import Record, UsageError, canonical, nearest
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import MANIFEST, RunFolder
from summeter.runs.usage import Usage
from summeter.tables import Table, csv_rows, number, with_interval, with_missing

STUDY = "leaderboard"
PAGE, STUDY_FILE, ROWS = "index.html", "leaderboard.json", "leaderboard.csv"
TEMPLATES = Path(__file__).parent / "templates"
TRUST_LEVELS = ("sentence", "key_fact", "summary")
Needs = Literal["no download", "CPU network", "GPU network", "LLM"]


class LabelledSet(Record):
    """A dataset with human judgments, and the statistic by which judges are compared on it."""

    data: str = Field(description="A dataset folder, a flat file or an address on a hub.")
    preset: str | None = Field(None, description="Layout of a public dataset.")
    aspect: str = Field(description="People's aspect.")
    statistic: str = Field(description="A statistic of `meta classify` or a coefficient of `meta correlate`.")
    options: dict[str, Any] = Field(default_factory=dict, description="Other options of that study, such as `level`.")
    source: str = Field("", description="Origin and licence, as shown on the page.")

    @field_validator("statistic")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in (known := (*STATISTICS, *CorrelateOptions.known)):
            raise ValueError(f"unknown statistic {name!r}{nearest(name, known)}; choose from: {', '.join(known)}")
        return name

    @field_validator("options")
    @classmethod
    def _valid(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        of = ClassifyOptions if info.data.get("statistic") in STATISTICS else CorrelateOptions
        if taken := sorted({"aspect", "judge", "by", "coefficients", "resamples", "seed"} & {*options}):
            raise ValueError(f"{', '.join(taken)} cannot be set here")
        try:
            of.checked(options)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return options


class BoardJudge(Record):
    """A judge of a leaderboard: an evaluator to run, or the runs that contain its judgments."""

    evaluator: EvaluatorName | None = Field(None, description="Evaluator, as in `-e` of `summeter score`.")
    models: dict[str, str] = Field(default_factory=dict, description="Models of the evaluator, by role.")
    options: RunOptions = Field(default_factory=dict, description="Other options of `summeter score`, by name.")
    runs: dict[str, str] = Field(default_factory=dict, description="Finished runs, by set; these are not run again.")
    judge: str | None = Field(None, description="Name of the judge in `runs` that contain several.")
    aspects: dict[str, str] = Field(default_factory=dict, description="The judge's name for an aspect, by people's.")
    needs: Needs = Field(description="What the judge needs to run.")
    note: str = Field("", description="A remark, as shown on the page.")


class Board(Record):
    """The settings of a leaderboard. Paths are relative to the file."""

    title: str = Field(description="Title of the page.")
    sets: dict[str, LabelledSet] = Field(min_length=1, description="Datasets by name.")
    judges: dict[str, BoardJudge] = Field(min_length=1, description="Judges by name.")
    runs: str = Field("runs", description="Folder for the runs of the evaluators. It contains the texts of the data.")
    resamples: int = Field(1000, ge=20, description="Resamples of the bootstrap by document.")
    seed: int = Field(0, description="Random seed of the intervals.")

    @field_validator("sets", "judges")
    @classmethod
    def _file_names(cls, named: dict[str, Any]) -> dict[str, Any]:
        for name in named:
            if name.startswith(".") or not name.strip() or any(char in name for char in "/\\\0"):
                raise ValueError(f"{name!r} is also the name of a folder, so it must not start with '.' or contain '/'")
        return named

    @field_validator("judges")
    @classmethod
    def _complete(cls, judges: dict[str, BoardJudge], info: ValidationInfo) -> dict[str, BoardJudge]:
        sets = info.data.get("sets", {})
        for name, judge in judges.items():
            if judge.evaluator is None and not judge.runs:
                raise ValueError(f"{name}: give an evaluator or runs")
            if unknown := [each for each in judge.runs if sets and each not in sets]:
                raise ValueError(f"{name}: runs of unknown set {unknown[0]!r}{nearest(unknown[0], sets)}")
        return judges


class Leaderboard(NamedTuple):
    """A leaderboard: its settings, one row per judged dataset, and a line on each dataset by name."""

    board: Board
    study: Study
    about: Mapping[str, str]

    def cells(self) -> Mapping[str, Mapping[str, Row]]:
        """Return the rows by judge and set, in order of the judges' mean ranks over the sets.

        Judges that have a value on more sets come first.
        """
        found: dict[str, dict[str, Row]] = {name: {} for name in self.board.judges}
        ranks: dict[str, list[float]] = {name: [] for name in self.board.judges}
        for name in self.board.sets:
            rows = [row for row in self.study if row.details["set"] == name]
            known = [row.value for row in rows if row.value is not None]
            for row in rows:
                found[row.details["entry"]][name] = row
                if row.value is not None:
                    ranks[row.details["entry"]].append(sum(value > row.value for value in known))
        order = sorted(found, key=lambda name: (-len(ranks[name]), sum(ranks[name]) / max(1, len(ranks[name]))))
        return {name: found[name] for name in order}

    def ranking(self) -> Table:
        """Return a table with one line per judge and one column per set, judges in the order of `cells`."""
        lines = [
            (name, self.board.judges[name].needs, *(value_of(rows.get(each)) for each in self.board.sets))
            for name, rows in self.cells().items()
        ]
        return Table.of(["judge", "needs", *self.board.sets], lines, align="llr")

    def table(self) -> Table:
        """Return one line per judge and dataset, with all numbers."""
        heads = ["dataset", "judge", "statistic", "value", "n", "omega", "of a constant", "verdict", "why not"]
        lines = [
            (
                row.details["set"], row.details["entry"], row.statistic.replace("_", " "), value_of(row), row.n,
                number(row.details.get("omega"), 2), number(row.details.get("omega_of_constant"), 2),
                row.details.get("verdict") or "", row.reason or row.details.get("omega_reason") or "",
            )
            for row in self.study
        ]  # fmt: skip
        return Table.of(heads, lines, align="lllrrrrll")


def read_board(file: str | Path) -> Board:
    """Read the settings in a YAML file. Raises InputError with every fault, by line and field."""
    return read_model(Path(file), Board, "give at least title, sets and judges")


def leaderboard(board: Board, *, base: str | Path = ".", progress: Progress | None = None) -> Leaderboard:
    """Run the evaluators that have no finished run, and measure all judges on all sets.

    Paths in `board` are relative to `base`. Raises InputError for invalid data, and UsageError if an evaluator cannot
    run, or if a run is over other data.
    """
    root, rows, about = Path(base), list[Row](), dict[str, str]()
    for name, each in board.sets.items():
        data = load(each.data if is_address(each.data) else root / each.data, preset=each.preset)
        judged = {judgment.aspect for block in data.judgment_sets for judgment in data.iter_judgments(block)}
        if each.aspect not in judged:
            hint, known = nearest(each.aspect, judged), ", ".join(sorted(judged)) or "nothing"
            raise UsageError(f"sets.{name}.aspect: people did not judge {each.aspect!r}{hint}; they judged: {known}")
        about[name] = f"{len(data.documents):,} documents, {len(data):,} summaries by {len(data.systems)} systems"
        for entry, judge in board.judges.items():
            if name in judge.runs:
                run = run_over(data, root / judge.runs[name])
            elif judge.evaluator is None:
                continue
            else:
                out = root / board.runs / name / entry
                if (out / MANIFEST).exists():
                    RunFolder(out).check_data(data, "Set another folder `runs`, or remove this run")
                run = evaluate(
                    data, judge.evaluator, models=judge.models, out=out, progress=progress,
                    **{"seed": board.seed, **judge.options},
                )  # fmt: skip
            row = _measured(board, each, judge, run, data)
            details = {**row.details, "entry": entry, "set": name, "needs": judge.needs}
            rows.append(row.model_copy(update={"study": STUDY, "details": details}))
    return Leaderboard(board, Study(STUDY, rows), about)


def write(found: Leaderboard, folder: str | Path) -> Path:
    """Write the page, the rows as JSON and CSV to `folder`, and return the path of the page."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_text(target / STUDY_FILE, canonical(payload(found.study)) + "\n")
    write_text(target / ROWS, csv_rows(long_rows(found.study)))
    values = {
        "title": found.board.title,
        "found": found,
        "cells": found.cells(),
        "needs": get_args(Needs),
        "shares": STATISTICS,
        "mean_of": mean_of,
    }
    write_lines(
        target / PAGE,
        one_file(
            TEMPLATES,
            "leaderboard.html.j2",
            values,
            style=TEMPLATES / "leaderboard.css",
            script=TEMPLATES / "leaderboard.js",
        ),
    )
    return target / PAGE


def long_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield one row per judge and set, with all fields."""
    for row in study:
        own = {"set": row.details["set"], "judge": row.details["entry"], "needs": row.details["needs"]}
        names = ("aspect", "gold_aspect", "level", "statistic", "value", "low", "high", "n", "missing", "reason")
        measured = {name: getattr(row, name) for name in names}
        more = ("omega", "omega_of_constant", "omega_reason", "verdict", "cost", "cost_reason", "seconds")
        yield {**own, **measured, **{name: row.details.get(name) for name in more}, "signature": row.signature}


def _measured(board: Board, each: LabelledSet, judge: BoardJudge, run: RunFolder, data: Dataset) -> Row:
    """Return the row of a judge on a dataset, which has a reason instead of a value if nothing can be compared."""
    entries = [entry for entry in run.manifest.judges if judge.judge in (None, entry.name, entry.signature)]
    if not entries:
        known = list(dict.fromkeys(entry.name for entry in run.manifest.judges))
        hint = nearest(judge.judge or "", known)
        raise UsageError(f"{run.folder} has no judge {judge.judge!r}{hint}; it has: {', '.join(known) or 'none'}")
    own = judge.aspects.get(each.aspect, each.aspect)
    aspect = each.aspect if own == each.aspect else f"{own}:{each.aspect}"
    shared = {"aspect": aspect, "judge": judge.judge, "seed": board.seed, "resamples": board.resamples}
    try:
        if not any(own in entry.aspects for entry in entries):
            raise UsageError(f"it does not judge {own}")
        if each.statistic in STATISTICS:
            study = classify(run, data, **shared, **each.options)
        else:
            study = correlate(run, data, **shared, **each.options, coefficients=[each.statistic])
        row = study.one(statistic=each.statistic, system=None)
    except UsageError as error:
        return Row(
            study=STUDY, judge=judge.judge, statistic=each.statistic, value=None, status="undefined", n=0,
            aspect=own, gold_aspect=each.aspect, reason=str(error),
        )  # fmt: skip
    except LookupError:
        found = dict.fromkeys(row.judge or "" for row in study.where(statistic=each.statistic, system=None))
        raise UsageError(
            f"{run.folder} has several judges of {own}: {', '.join(found)}; set `judge` of the judge on the board"
        ) from None
    also = {name: value for name, value in each.options.items() if name in TrustOptions.model_fields}
    if row.level in TRUST_LEVELS:
        also["level"] = row.level
    entry = next((entry for entry in entries if entry.signature == row.signature), None)
    details = {**_trusted(run, data, {**shared, **also}), **_spent(run, entry)}
    return row.model_copy(update={"details": {**row.details, **details}})


def _trusted(run: RunFolder, data: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the winning rate of the alternative annotator test and the verdict, or a reason for having none."""
    try:
        study = trust(run, data, **options)
    except UsageError as error:
        return {"omega": None, "omega_reason": str(error)}
    rates = {row.statistic: row for row in study if row.statistic.startswith("alt_test")}
    omega, constant = rates["alt_test_winning_rate"], rates["alt_test_winning_rate_of_constant"]
    return {
        "omega": omega.value, "omega_of_constant": constant.value, "omega_reason": omega.reason,
        "verdict": study.verdict,
    }  # fmt: skip


def _spent(run: RunFolder, entry: JudgeEntry | None) -> dict[str, Any]:
    """Return the cost of 1,000 summaries in US dollars and the seconds of computing per summary, or reasons."""
    if entry is None or entry.imported:
        why = "stored judgments" if entry else "not recorded"
        return {"cost": None, "cost_reason": why, "seconds": None, "seconds_reason": why}
    usage = run.manifest.judge_usage.get(entry.signature, Usage())
    compute = run.manifest.compute.get(entry.signature, Usage())
    return {
        "cost": None if usage.cost is None else usage.cost / max(1, usage.items) * 1000,
        "cost_reason": usage.reason,
        "seconds": compute.seconds / compute.items if compute.items else None,
        "seconds_reason": None if compute.items else "not recorded",
    }


def mean_of(rows: Iterable[Row], name: Literal["seconds", "cost"]) -> tuple[float | None, str]:
    """Return the mean `seconds` per summary, or `cost` of 1,000 summaries in US dollars, of the rows of a judge.

    It is None, with the reason, if it is unknown on one of the sets on which the judge has a value.
    """
    known = [row for row in rows if name in row.details]
    reason = next((row.details[f"{name}_reason"] for row in known if row.details[name] is None), None)
    if not known or reason is not None:
        return None, reason or "no value"
    return sum(row.details[name] for row in known) / len(known), ""


def value_of(row: Row | None) -> str:
    """Return a value with its interval and the number of missing values, or an empty string for None."""
    return "" if row is None else with_missing(with_interval(row.value, row.low, row.high, 2), row.missing)
