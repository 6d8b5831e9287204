"""Evaluators measured on a benchmark as one file of settings says: read, judged with resume, measured, laid out.

    protocol: aggrefact
    data: aggre_fact_final.csv
    evaluators: [support, fenice]
    models: {nli: local/deberta, seq2seq: local/t5}

The files are the user's own: none is fetched. Evaluators run through the engine into a run's folder, so the same
command carries on what was broken off; scores that came in the files, and further runs, are judges like them.
`protocol: own` is a benchmark of one's own (`summeter.benchmark.own`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AllowInfNan, Field, field_validator

from summeter.benchmark import own
from summeter.benchmark.step import RunOptions, run_over
from summeter.choices import USUAL_COEFFICIENTS
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset
from summeter.data.factuality import Files, read_benchmark
from summeter.data.human import RAW
from summeter.data.mapping import read_mapping, read_model
from summeter.engine.api import evaluate
from summeter.engine.progress import Progress
from summeter.meta._protocol import OneClass, Protocol, protocol, protocol_named
from summeter.meta.protocol_layouts import FILES, laid_out
from summeter.meta.results import Study, payload
from summeter.records import InputError, Judgment, Record, UsageError, canonical
from summeter.runs.run import RunFolder
from summeter.stats.thresholds import Candidates

OWN = "own"
RUN, STUDY = "run", "study.json"
"""What is written beside the run: the table in each layout."""
MOST_RESAMPLES = 100_000
"""More would tell nothing new, and take long."""
LEAST = "give at least protocol and data"


class Benchmark(NamedTuple):
    """A benchmark read: its data, the scores that came in its files (a list a judge), and what is in it, in words."""

    data: Dataset
    released: Sequence[list[Judgment]]
    lines: Sequence[str]


class JudgeSettings(Record):
    """Who is measured: fields of every protocol. Paths are relative to the file of settings."""

    evaluators: list[str] = Field(default_factory=list, description="As `-e` of `summeter score`.")
    models: dict[str, str] = Field(default_factory=dict, description="Models of the evaluators, by role.")
    options: RunOptions = Field(default_factory=dict, description="Other options of `summeter score`, by name.")
    runs: list[str] = Field(default_factory=list, description="Folders of further runs over the same data.")
    aspects: list[str] = Field(default_factory=list, description="Which aspects are measured.")
    resamples: int = Field(1000, ge=0, le=MOST_RESAMPLES, description="Resamples of the intervals and tests.")
    seed: int = Field(0, description="Random seed of the intervals and tests.")

    @field_validator("runs", "evaluators", "aspects", mode="before")
    @classmethod
    def _one_or_many(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    def read(self, base: Path) -> Benchmark:
        """The benchmark's files, checked and counted. Raises InputError with every fault."""
        raise NotImplementedError

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """The study of these judges: runs, and lists of judgments."""
        raise NotImplementedError

    def laid_out(self, study: Study, form: str) -> str:
        """The study as `markdown`, `csv` or `latex`."""
        return laid_out(study, form)


class Config(JudgeSettings):
    """A published benchmark of factuality (docs/aggrefact.md)."""

    protocol: str = Field(description="aggrefact, llm-aggrefact, summac or story-summeval.")
    data: str | list[str] | dict[str, str | list[str]] = Field(
        description="A file, a list of files, or files by split: `{val: FILE, test: FILE}`."
    )
    texts: list[str] = Field(default_factory=list, description="Files of documents (story-summeval's stories).")
    columns: dict[str, str] = Field(default_factory=dict, description="Columns that go by another name, by field.")
    scores: Literal["auto", "none"] | list[str] = Field(
        "auto", description="Columns with other people's scores; auto: AggreFact's `*_score`; none."
    )
    thresholds: str | Annotated[float, AllowInfNan()] = Field(
        "protocol", description="`protocol`, `cell` (one each), `single` (one a table), or a number."
    )
    candidates: Candidates | None = Field(None, description="Overrules the protocol's: released, percentiles, scores.")
    one_class: OneClass | None = Field(None, description="Overrules the protocol's: recall or undefined.")
    alpha: float = Field(0.05, gt=0, lt=1, description="Significance level.")

    @field_validator("texts", mode="before")
    @classmethod
    def _files(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("data", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if not isinstance(given, str | list | dict):
            raise ValueError("takes a file, a list of files, or files by split, as in {val: dev.csv, test: test.csv}")
        return given

    @field_validator("scores", mode="before")
    @classmethod
    def _columns(cls, given: Any) -> Any:
        if given not in ("auto", "none") and not isinstance(given, list):
            raise ValueError("takes auto, none, or a list of columns that hold scores")
        return given

    @field_validator("thresholds", mode="before")
    @classmethod
    def _text_or_number(cls, given: Any) -> Any:
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            raise ValueError("is none of protocol, cell, single and a number")
        return given

    def rules(self) -> Protocol:
        """The protocol with what the settings overrule. Raises UsageError."""
        named = protocol_named(self.protocol).with_thresholds(self.thresholds)
        return replace(
            named, candidates=self.candidates or named.candidates, one_class=self.one_class or named.one_class
        )

    def read(self, base: Path) -> Benchmark:
        """The benchmark's files, checked and counted. Raises InputError with every fault."""
        self.rules()
        by_split = self.data if isinstance(self.data, dict) else {"": self.data}
        pairs = [
            (split or None, base / file)
            for split, files in by_split.items()
            for file in ([files] if isinstance(files, str) else files)
        ]
        scores = None if self.scores == "auto" else () if self.scores == "none" else tuple(self.scores)
        found = read_benchmark(self.protocol, Files(pairs, [base / file for file in self.texts], self.columns, scores))
        return Benchmark(found.data, [judge for judge in found.released.values() if judge], found.tally.lines())

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """The tables of the protocol. Raises UsageError without judges."""
        if not judges:
            raise UsageError("nothing to measure: name evaluators, runs, or columns of scores")
        rules = self.rules()
        study = protocol(
            judges,
            benchmark.data,
            rules,
            aspects=self.aspects,
            resamples=self.resamples,
            alpha=self.alpha,
            seed=self.seed,
        )
        return Study(study.name, study.rows, (*study.notes, *benchmark.lines, rules.description()))


class OwnConfig(JudgeSettings):
    """A benchmark of one's own: data with people's judgments (docs/build.md)."""

    protocol: Literal["own"] = Field("own", description="own.")
    data: str = Field(description="A dataset folder, a step's folder, a release, or a flat file.")
    by: list[str] | None = Field(
        None, description="Columns beside the domain by which everything is given; default: `length`, `kind`."
    )
    judgment_set: str = Field(RAW, description="Which of people's judgments count.")
    coefficients: list[str] = Field(default_factory=lambda: list(USUAL_COEFFICIENTS), description="Of correlation.")

    @field_validator("by", "coefficients", mode="before")
    @classmethod
    def _names(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    def read(self, base: Path) -> Benchmark:
        """The data. Raises InputError for faulty ones, UsageError without the judgments or columns that are named."""
        data = own.read(base / self.data, self.judgment_set, self.by)
        votes = sum(1 for _ in data.iter_judgments(self.judgment_set))
        line = (
            f"{len(data.documents)} documents in {len(data.domains)} domains, {len(data)} summaries by "
            f"{len(data.systems)} systems, {votes} judgments in {self.judgment_set}"
        )
        return Benchmark(data, (), [line])

    def measure(self, benchmark: Benchmark, judges: Sequence[Any]) -> Study:
        """Systems and evaluators, in the layouts of UniSumEval's tables."""
        return own.measure(
            benchmark.data,
            judges,
            by=self.by,
            aspects=self.aspects,
            coefficients=self.coefficients,
            judgment_set=self.judgment_set,
            resamples=self.resamples,
            seed=self.seed,
        )

    def laid_out(self, study: Study, form: str) -> str:
        """The study as `markdown`, `csv` or `latex`."""
        return own.laid_out(study, form)


class Outcome(NamedTuple):
    """A benchmark run: its folder, what was read, the run (None where nothing was to be judged), the study."""

    folder: Path
    benchmark: Benchmark
    run: RunFolder | None
    study: Study


def read_config(file: str | Path) -> Config | OwnConfig:
    """The settings in a YAML file. Raises InputError with every fault, by line and field."""
    path = Path(file)
    try:
        name = read_mapping(path, LEAST).get("protocol")
    except OSError as error:
        raise InputError.at(path, None, None, f"cannot be read: {error.strerror or error}") from error
    return read_model(path, OwnConfig, LEAST) if name == OWN else read_model(path, Config, LEAST)


def run_protocol(
    config: JudgeSettings, out: str | Path, *, base: str | Path = ".", progress: Progress | None = None
) -> Outcome:
    """Judge what is not judged yet, measure, and write `study.json` and the tables into `out`; the run is `out/run`.

    Raises UsageError for what cannot be done as asked (nothing to measure, a run over other data), InputError for
    faulty files.
    """
    folder = Path(out)
    benchmark = config.read(Path(base))
    judges: list[Any] = [*benchmark.released, *(run_over(benchmark.data, Path(base) / name) for name in config.runs)]
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
    for form, name in FILES.items():
        write_text(folder / name, config.laid_out(study, form))
    return Outcome(folder, benchmark, run, study)
