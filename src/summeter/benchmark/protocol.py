"""Measurement of evaluators on a benchmark that is described by one settings file.

    protocol: aggrefact
    data: aggre_fact_final.csv
    evaluators: [support, fenice]
    models: {nli: local/deberta, seq2seq: local/t5}

No file is downloaded. The evaluators are run by the engine, which writes a run folder, so the same command resumes an
interrupted run. Scores in the files, and further runs, are measured in the same way as the evaluators. With
`protocol: own`, evaluators are measured on a user's own benchmark (see `CustomConfig`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AllowInfNan, BeforeValidator, Field, ValidationInfo, field_validator

from summeter.benchmark.step import RunOptions, run_over
from summeter.choices import USUAL_COEFFICIENTS, Level
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset, load
from summeter.data.factuality import Benchmark, read_benchmark
from summeter.data.human import RAW
from summeter.data.mapping import read_model
from summeter.engine.api import evaluate
from summeter.engine.progress import Progress
from summeter.meta import card, correlate, protocol_layouts
from summeter.meta._card import mean_tables
from summeter.meta._protocol import OneClass, Protocol, protocol, protocol_named
from summeter.meta.inputs import context_of
from summeter.meta.results import Row, Study, judge_labels, payload, pivot
from summeter.records import Record, UsageError, canonical, nearest
from summeter.runs.run import RunFolder
from summeter.stats.thresholds import Candidates
from summeter.tables import Table, csv_rows, document, number, with_interval, with_missing

OWN = "own"
RUN, STUDY = "run", "study.json"
MOST_RESAMPLES = 100_000
DOMAIN = "domain"
USUAL_COLUMNS = ("length", "kind")
TextList = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
"""A list of strings; a single string is accepted as a list of one."""


class JudgeSettings(Record):
    """Fields that all protocols share. Paths are relative to the settings file."""

    evaluators: TextList = Field(default_factory=list, description="Evaluators, as in `-e` of `summeter score`.")
    models: dict[str, str] = Field(default_factory=dict, description="Models of the evaluators, by role.")
    options: RunOptions = Field(default_factory=dict, description="Other options of `summeter score`, by name.")
    runs: TextList = Field(default_factory=list, description="Folders of further runs over the same data.")
    aspects: TextList = Field(default_factory=list, description="Aspects to measure; default: all.")
    resamples: int = Field(1000, ge=0, le=MOST_RESAMPLES, description="Resamples for intervals and tests.")
    seed: int = Field(0, description="Random seed of the intervals and tests.")

    def read(self, base: Path) -> Benchmark:
        """Read and check the benchmark's files. Raises InputError with every fault."""
        raise NotImplementedError

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """Return the study of the judges, each of which is a run or a list of judgments."""
        raise NotImplementedError

    def tables(self, study: Study) -> Iterable[Table]:
        """Return the tables of the study, as in the papers."""
        return protocol_layouts.tables(study)


class Config(JudgeSettings):
    """Settings of a published factuality benchmark (docs/aggrefact.md)."""

    protocol: str = Field(description="aggrefact, llm-aggrefact, summac or story-summeval.")
    data: str | list[str] | dict[str, str | list[str]] = Field(
        description="A file, a list of files, or files by split: `{val: FILE, test: FILE}`."
    )
    texts: TextList = Field(default_factory=list, description="Files of documents (the stories of story-summeval).")
    columns: dict[str, str] = Field(default_factory=dict, description="Names of columns in the files, by field.")
    scores: Literal["auto", "none"] | list[str] = Field(
        "auto",
        description="Columns of published scores that are measured too: a list, none, or auto (AggreFact's `*_score`).",
    )
    thresholds: str | Annotated[float, AllowInfNan()] = Field(
        "protocol",
        description="`protocol`, `cell` (one threshold per cell), `single` (one per table), or a number.",
    )
    candidates: Candidates | None = Field(
        None, description="Candidate thresholds: released, percentiles or scores; default: the protocol's."
    )
    one_class: OneClass | None = Field(
        None, description="Score of a cell with one class: recall or undefined; default: the protocol's."
    )
    alpha: float = Field(0.05, gt=0, lt=1, description="Significance level.")

    @field_validator("data", "scores", "thresholds", mode="before")
    @classmethod
    def _check_type(cls, value: Any, info: ValidationInfo) -> Any:
        match info.field_name:
            case "data" if not isinstance(value, str | list | dict):
                raise ValueError(
                    "must be a file, a list of files, or files by split, as in {val: dev.csv, test: test.csv}"
                )
            case "scores" if value not in ("auto", "none") and not isinstance(value, list):
                raise ValueError("must be auto, none, or a list of columns that hold scores")
            case "thresholds" if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError("must be protocol, cell, single or a number")
        return value

    def rules(self) -> Protocol:
        """Return the protocol, changed by these settings.

        Raises UsageError if the protocol is unknown.
        """
        named = protocol_named(self.protocol).with_thresholds(self.thresholds)
        return replace(
            named, candidates=self.candidates or named.candidates, one_class=self.one_class or named.one_class
        )

    def read(self, base: Path) -> Benchmark:
        """Read and check the benchmark's files. Raises InputError with every fault."""
        self.rules()
        by_split = self.data if isinstance(self.data, dict) else {"": self.data}
        pairs = [
            (split or None, base / file)
            for split, files in by_split.items()
            for file in ([files] if isinstance(files, str) else files)
        ]
        scores = None if self.scores == "auto" else () if self.scores == "none" else tuple(self.scores)
        texts = [base / file for file in self.texts]
        return read_benchmark(self.protocol, pairs, texts=texts, columns=self.columns, scores=scores)

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """Return the tables of the protocol. Raises UsageError if there is no judge."""
        if not judges:
            raise UsageError("there is nothing to measure. Name evaluators, runs, or columns of scores")
        rules = self.rules()
        options = self.model_dump(include={"aspects", "resamples", "alpha", "seed"})
        study = protocol(judges, benchmark.data, rules, **options)
        return Study(study.name, study.rows, (*study.notes, *benchmark.lines, rules.description()))


class CustomConfig(JudgeSettings):
    """Settings of a user's own benchmark: data with human judgments (docs/build.md).

    The tables have the layouts of UniSumEval. There is one table for the annotators and one for each evaluator, with
    each aspect by system and domain, the average and the domain stability, and the same by length and kind of text
    (tables 5 and 14-17). Further tables contain the correlation of each evaluator with the annotators by domain, length
    and kind, at the summary level and at the system level.
    """

    protocol: Literal["own"] = Field("own", description="Must be `own`.")
    data: str = Field(description="A dataset folder, a step's folder, a release, or a flat file.")
    by: TextList | None = Field(
        None, description="Columns, besides the domain, to break the results down by; default: `length`, `kind`."
    )
    judgment_set: str = Field(RAW, description="Set of human judgments to measure with.")
    coefficients: TextList = Field(
        default_factory=lambda: list(USUAL_COEFFICIENTS), description="Correlation coefficients."
    )

    def read(self, base: Path) -> Benchmark:
        """Read the data.

        Raises InputError if the data are invalid, and UsageError if the judgment set or a column is missing.
        """
        source = base / self.data
        data = load(source)
        if self.judgment_set not in data.judgment_sets:
            known = ", ".join(data.judgment_sets) or "none"
            raise UsageError(f"{source} has no judgment set {self.judgment_set!r}; it has: {known}")
        self.columns_of(data)
        votes = sum(1 for _ in data.iter_judgments(self.judgment_set))
        line = (
            f"{len(data.documents)} documents in {len(data.domains)} domains, {len(data)} summaries by "
            f"{len(data.systems)} systems, {votes} judgments in {self.judgment_set}"
        )
        return Benchmark(data, {}, [line], Counter())

    def columns_of(self, data: Dataset) -> Sequence[str]:
        """Return the columns, besides the domain, by which results are broken down.

        By default, these are `length` and `kind`, if they are present. Raises UsageError if a column is missing.
        """
        context = context_of(data)
        known = sorted(context.extra)
        known += [
            name for name, of in (("category", context.categories), ("split", context.splits)) if any(of.values())
        ]
        if self.by is None:
            return [name for name in USUAL_COLUMNS if name in known]
        for name in self.by:
            if name == DOMAIN or name not in known:
                why = "is in every table already" if name == DOMAIN else "is not a column of the data"
                raise UsageError(f"by: {name!r} {why}{nearest(name, known)}; columns: {', '.join(known) or 'none'}")
        return self.by

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """Return the means by annotators and by each run, and the evaluators' correlations with the annotators."""
        data, columns, aspect = benchmark.data, self.columns_of(benchmark.data), self.aspects or None
        draws: dict[str, Any] = {"resamples": self.resamples, "seed": self.seed}
        people = {"aspect": aspect, "judgment_set": self.judgment_set}
        means = card(None, data, across=columns, **people, **draws)
        rows, notes = list(means), list(means.notes)
        for run in judges:
            rows += (row for row in card(run, across=columns, **draws) if aspect is None or row.aspect in aspect)
            for level in (Level.SUMMARY, Level.SYSTEM):
                level_rows: list[Row] = []
                for by in (DOMAIN, *columns):
                    study = correlate(
                        run, data, level=level.value, by=by, coefficients=self.coefficients, **people, **draws
                    )
                    level_rows += (row for row in study if row not in level_rows)
                    notes += (note for note in study.notes if note not in notes)
                rows += level_rows
        return Study("benchmark", rows, notes)

    def tables(self, study: Study) -> Iterator[Table]:
        """Yield the tables of systems, followed by the tables of the evaluators' correlations.

        For each judge and aspect, there is one table by domain and one by each further column. There is one table of
        correlations per aspect, level and coefficient.
        """
        cards = Study("card", [row for row in study if row.study == "card"], ())
        yield from mean_tables(cards)
        study = study.where(study="correlation")
        labels = dict(zip(((row.judge, row.signature) for row in study), judge_labels(study.rows), strict=True))
        keys = dict.fromkeys((row.gold_aspect or row.aspect, row.level, row.statistic) for row in study)
        for aspect, level, statistic in keys:
            rows = [row for row in study if (row.gold_aspect or row.aspect, row.level, row.statistic) ==
                    (aspect, level, statistic)]  # fmt: skip
            groups = sorted(dict.fromkeys(map(_group, rows)), key=lambda group: group == "all")
            names = {
                (row.judge, row.signature, row.aspect): str(labels[row.judge, row.signature])
                + ("" if row.aspect == aspect else f" ({row.aspect})")
                for row in rows
            }
            yield pivot(
                rows,
                line=lambda row: (row.judge, row.signature, row.aspect),
                column=_group,
                show=_cell,
                lines=names,
                columns={group: group for group in groups},
                heads=["evaluator"],
                title=f"{aspect}: {statistic} of evaluators with people, {level} level",
            )


def long_rows(study: Study) -> list[dict[str, Any]]:
    """Return the rows of a study for CSV, with a column for each of their details."""
    rows = ((row.model_dump(exclude={"details"}), row.details) for row in study)
    return [{**fields, **{name: cell for name, cell in more.items() if name not in fields}} for fields, more in rows]


def _group(row: Row) -> str:
    if row.domain is not None:
        return row.domain
    if row.category is not None:
        return f"category: {row.category}"
    return f"{row.details['by']}: {row.details['group']}" if "group" in row.details else "all"


def _cell(row: Row | None) -> str:
    if row is None or row.value is None:
        return number(None)
    shown = with_interval(row.value, row.low, row.high, 2) if _group(row) == "all" else number(row.value, 2)
    return with_missing(shown, row.missing)


class Outcome(NamedTuple):
    """The result of `run_protocol`; `run` is None if no evaluator was named."""

    folder: Path
    benchmark: Benchmark
    run: RunFolder | None
    study: Study


def read_config(file: str | Path) -> Config | CustomConfig:
    """Read the settings in a YAML file. Raises InputError with every fault, by line and field."""

    def model(settings: Mapping[str, Any]) -> type[Config | CustomConfig]:
        return CustomConfig if settings.get("protocol") == OWN else Config

    return read_model(Path(file), model, "give at least protocol and data")


def run_protocol(
    config: JudgeSettings, out: str | Path, *, base: str | Path = ".", progress: Progress | None = None
) -> Outcome:
    """Judge the items that are not judged yet, measure the judges, and write the results.

    The folder `out` then contains the run (`run`), the study (`study.json`) and the tables of the study. Paths in
    `config` are relative to `base`. Raises UsageError if there is nothing to measure or a run is over other data, and
    InputError if a file is invalid.
    """
    folder = Path(out)
    benchmark = config.read(Path(base))
    judges: list[Any] = [judgments for judgments in benchmark.released.values() if judgments]
    judges += (run_over(benchmark.data, Path(base) / name) for name in config.runs)
    run: RunFolder | None = None
    if config.evaluators:
        run = evaluate(
            benchmark.data,
            config.evaluators,
            models=config.models,
            out=folder / RUN,
            progress=progress,
            **config.options,
        )
        judges.append(run)
    study = config.measure(benchmark, judges)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / STUDY, canonical(payload(study)) + "\n")
    parts: list[Table | str] = [*config.tables(study), *map(str, study.notes), *study.signatures()]
    for format_, name in protocol_layouts.FILES.items():
        text = csv_rows(long_rows(study)) if format_ == "csv" else document(parts, format_)
        write_text(folder / name, text)
    return Outcome(folder, benchmark, run, study)
