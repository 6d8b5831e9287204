"""A factuality benchmark from one file of settings: read, judged with resume, measured by its protocol, laid out.

    protocol: aggrefact
    data: aggre_fact_final.csv
    evaluators: [support, fenice]
    models: {nli: local/deberta, seq2seq: local/t5}

The benchmark's files are the user's own: none is fetched. Evaluators run through the engine into a run's folder, so
the same command carries on what was broken off; scores that came in the files, and further runs, are judges like them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AllowInfNan, Field, ValidationError, field_validator

from summeter.benchmark.own import OWN, OwnConfig
from summeter.data.atomic import write_text
from summeter.data.factuality import Benchmark, Files, read_benchmark
from summeter.data.mapping import read_mapping
from summeter.engine.api import evaluate
from summeter.engine.options import Options
from summeter.engine.progress import Progress
from summeter.meta._protocol import OneClass, Protocol, protocol, protocol_named
from summeter.meta.protocol_layouts import FILES, laid_out
from summeter.meta.results import Study, payload
from summeter.records import Fault, InputError, Record, UsageError, canonical
from summeter.runs.run import RunFolder
from summeter.stats.thresholds import Candidates

RUN, STUDY = "run", "study.json"
"""What is written beside the run: the table in each layout."""
MOST_RESAMPLES = 100_000
"""More would tell nothing new, and take long."""


class Config(Record):
    """One benchmark run.

    `data` is a file, a list of files, or files by split (`{val: FILE, test: FILE}`); `texts` are files of documents
    (story-summeval's stories), `columns` names columns that go by another name. `scores` are columns of the file that
    hold other people's scores (`auto`: AggreFact's `*_score`; `none`), `runs` further runs over the same data.
    `evaluators` and `models` are as `-e` and `-m` of `summeter score`, `options` its other options by name. `aspects`
    overrules which aspects are measured. `thresholds` is `protocol`, `cell`, `single` or a number; `candidates` and
    `one_class` overrule the protocol's. Paths are relative to the file of settings.
    """

    protocol: str
    data: str | list[str] | dict[str, str | list[str]]
    texts: list[str] = Field(default_factory=list)
    columns: dict[str, str] = Field(default_factory=dict)
    scores: Literal["auto", "none"] | list[str] = "auto"
    evaluators: list[str] = Field(default_factory=list)
    models: dict[str, str] = Field(default_factory=dict)
    runs: list[str] = Field(default_factory=list)
    aspects: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    thresholds: str | Annotated[float, AllowInfNan()] = "protocol"  # `with_thresholds` says what is wrong with it
    candidates: Candidates | None = None
    one_class: OneClass | None = None
    resamples: int = Field(default=1000, ge=0, le=MOST_RESAMPLES)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    seed: int = 0

    @field_validator("texts", "runs", "evaluators", "aspects", mode="before")
    @classmethod
    def _one_or_many(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

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

    def files(self, base: Path) -> Files:
        """The files, found from the folder `base`."""
        by_split = self.data if isinstance(self.data, dict) else {"": self.data}
        pairs = [
            (split or None, base / file)
            for split, files in by_split.items()
            for file in ([files] if isinstance(files, str) else files)
        ]
        scores = None if self.scores == "auto" else () if self.scores == "none" else tuple(self.scores)
        return Files(pairs, [base / file for file in self.texts], self.columns, scores)


class Outcome(NamedTuple):
    """A benchmark run: its folder, what was read, the run (None where nothing was to be judged), the study."""

    folder: Path
    benchmark: Benchmark
    run: RunFolder | None
    study: Study


def read_config(file: str | Path) -> Config | OwnConfig:
    """The settings in a YAML file. Raises InputError with every fault, by field."""
    path = Path(file)
    try:
        data = read_mapping(path, "give at least protocol and data")
    except IsADirectoryError as error:
        raise InputError.at(path, None, None, "is a folder; name the YAML file of settings") from error
    except OSError as error:
        raise InputError.at(path, None, None, f"cannot be read: {error.strerror or error}") from error
    own = data.get("protocol") == OWN
    try:
        config = OwnConfig.model_validate(data) if own else Config.model_validate(data)
        Options(**config.options)
    except ValidationError as error:
        inside = "options" if error.title == Options.__name__ else None
        faults = (_fault(path, inside, fault, own=own) for fault in error.errors())
        raise InputError(list(dict.fromkeys(faults))) from error
    return config


_SHAPES = {
    "data": "takes a file, a list of files, or files by split, as in {val: dev.csv, test: test.csv}",
    "scores": "takes auto, none, or a list of columns that hold scores",
}
"""What the fields that take several shapes take."""


def _fault(path: Path, inside: str | None, error: Mapping[str, Any], *, own: bool) -> Fault:
    place = [inside, *error["loc"]]
    shape = None if inside or own else _SHAPES.get(str(error["loc"][0]) if error["loc"] else "")
    if shape is not None and error["type"] != "missing" and len(error["loc"]) > 1:
        # Each shape that would do has a fault of its own; one says it.
        return Fault(str(path), None, str(error["loc"][0]), shape)
    field = ".".join(str(part) for part in place if part is not None) or None
    known = ", ".join((Options if inside else OwnConfig if own else Config).model_fields)
    message = {"missing": "is needed and not there", "extra_forbidden": f"is not known; fields are: {known}"}.get(
        error["type"], error["msg"].removeprefix("Value error, ")
    )
    return Fault(str(path), None, field, message)


def read_files(config: Config, base: str | Path) -> Benchmark:
    """The benchmark's files, checked and counted; nothing is judged. Raises InputError with every fault."""
    config.rules()
    return read_benchmark(config.protocol, config.files(Path(base)))


def run_protocol(
    config: Config, out: str | Path, *, base: str | Path = ".", progress: Progress | None = None
) -> Outcome:
    """Judge what is not judged yet, measure, and write `study.json` and the tables into `out`; the run is `out/run`.

    Raises UsageError for what cannot be done as asked (nothing to measure, a run over other data), InputError for
    faulty files.
    """
    rules, folder = config.rules(), Path(out)
    benchmark = read_files(config, base)
    judges: list[Any] = [judge for judge in benchmark.released.values() if judge]
    run: RunFolder | None = None
    others = [_same_data(Path(base) / other, benchmark) for other in config.runs]
    if not (judges or config.evaluators or others):
        raise UsageError("nothing to measure: name evaluators, runs, or columns of scores")
    if config.evaluators:
        run = evaluate(
            benchmark.data,
            config.evaluators,
            models=config.models,
            out=folder / RUN,
            progress=progress,
            **config.options,
        )
    all_judges = [*judges, *others, *([run] if run else [])]
    study = protocol(
        all_judges,
        benchmark.data,
        rules,
        aspects=config.aspects,
        resamples=config.resamples,
        alpha=config.alpha,
        seed=config.seed,
    )
    study = Study(study.name, study.rows, (*study.notes, *benchmark.tally.lines(), rules.description()))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / STUDY, canonical(payload(study)) + "\n")
    for form, name in FILES.items():
        write_text(folder / name, laid_out(study, form))
    return Outcome(folder, benchmark, run, study)


def _same_data(folder: Path, benchmark: Benchmark) -> RunFolder:
    run = RunFolder(folder)
    if run.manifest.data.hash != benchmark.data.hash:
        raise UsageError(
            f"{folder} is a run over other data ({run.manifest.data.source}, {run.manifest.data.summaries} summaries); "
            "give runs over the files named under data"
        )
    return run
