"""The base of the steps of a benchmark.

Each step reads a folder and writes a folder with a manifest of what it did. The folder of a step is a dataset folder
with two additional files:

    manifest.json   settings, seed, models, versions, hashes of inputs and outputs, counts, the earlier steps
    dropped.jsonl   what the step left out, and why (only if it left something out)

The `extra` of a document contains its provenance (`source`, `origin`, `licence`, `share`, `language`, `words`,
`length`, `kind`), as written by the step `source`. The folder of a step contains no times and no absolute paths, so
that the same input, settings and seed give the same bytes. The folder is written atomically. Files that a step needs to
resume after a crash (calls, runs, campaigns) are in `work/STEP` beside the folder, and times and errors are in
`log.jsonl`.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from summeter._version import __version__
from summeter.benchmark.sources import read_documents
from summeter.data.atomic import building, write_lines, write_text
from summeter.data.dataset import Dataset, load, save
from summeter.data.folder import file_hash, hash_differences, is_dataset
from summeter.data.hub import is_address
from summeter.data.remote import is_remote
from summeter.engine.options import Options
from summeter.engine.progress import Progress
from summeter.engine.runs import copy_stores
from summeter.evaluators.catalog import build as build_evaluator
from summeter.models.local.names import is_local, modules
from summeter.records import InputError, InstallError, Record, SummeterError, UsageError, canonical, digest, invalid
from summeter.records.addresses import masked
from summeter.runs.run import RunFolder

MANIFEST, DROPPED, WORK, LOG = "manifest.json", "dropped.jsonl", "work", "log.jsonl"
SCRIPTED = "scripted/"
BEDROCK_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105 - a variable's name
DATA = "data"
"""Name of the input folder in the `inputs` of a manifest."""


class Package(NamedTuple):
    """An optional package.

    `module` is its module, `extra` the extra of summeter that installs it, and `alternative` a setting with which it is
    not needed, or an empty string.
    """

    module: str
    extra: str
    alternative: str = ""


_STRATA = ("source", "origin", "licence", "language", "words", "length", "kind")
DOCUMENT_COLUMNS = frozenset({*_STRATA, "words_left_out", "commit", "redaction", "original"})
"""Columns of documents that steps write; they contain no text of the document, so a release may include them."""
SUMMARY_COLUMNS = frozenset({"model", "asked_sentences", "written_sentences"})
"""Columns of summaries that steps write."""


class StepSettings(Record):
    """Base of the settings of every step.

    Paths are relative to the working folder, which `bench run` sets to the folder of BENCH.yaml.
    """

    seed: int = Field(0, description="Random seed.")

    def recorded(self) -> dict[str, Any]:
        """Return the settings as JSON for a manifest, with the secrets in addresses masked."""
        recorded: dict[str, Any] = masked(self.model_dump(mode="json"))
        return recorded

    def asked_models(self) -> Iterable[str]:
        """Return the models that the step calls."""
        return ()

    def files(self) -> Iterable[Path]:
        """Return the files and folders that the step reads besides its input.

        If one of them changes, the step becomes stale. By default, these are the values of all fields that are paths,
        and the replies of scripted models.
        """
        paths = [value for name in type(self).model_fields if isinstance(value := getattr(self, name), Path)]
        return [*paths, *scripts(self)]

    def check(self) -> None:
        """Check files that must exist before any step is run. Raises InputError. Default: nothing."""

    def packages(self) -> Iterable[Package]:
        """Return the optional packages that the step imports.

        By default, these are the packages for its models.
        """
        for model in self.asked_models():
            if is_local(model):
                yield from itertools.starmap(Package, modules(model).items())
            elif model.startswith("bedrock/") and not os.environ.get(BEDROCK_TOKEN):
                yield Package("botocore", "bedrock", f"or set {BEDROCK_TOKEN}")

    def secret_hashes(self) -> Mapping[str, str]:
        """Return keyed hashes of the files whose SHA-256 is secret, by name.

        If one of these files changes, the step becomes stale.
        """
        return {}


class ModelSettings(StepSettings):
    """Base of the settings of steps that call models."""

    models: dict[str, str] = Field(min_length=1, description="Models by name.")
    prompts: Path | None = Field(None, description="Folder of your own prompt templates.")
    temperature: float | None = Field(0.0, ge=0, le=10, description="Sampling temperature.")
    max_reply: int | None = Field(None, ge=1, description="Maximum length of a reply, in tokens.")
    concurrency: int = Field(16, ge=1, description="Number of documents processed concurrently.")
    timeout: float = Field(120.0, gt=0, description="Timeout of a call, in seconds.")
    base_url: str | None = Field(None, repr=False, description="Base URL of the model endpoint.")

    @property
    def run_options(self) -> dict[str, Any]:
        """The options of a run: the seed and all fields except `models` and `prompts`."""
        return {name: getattr(self, name) for name in ModelSettings.model_fields if name not in ("models", "prompts")}

    def asked_models(self) -> Iterable[str]:
        """Return the models that the step calls."""
        return self.models.values()


def scripts(settings: StepSettings) -> list[Path]:
    """Return the files that contain the replies of scripted models."""
    models = sorted({model for model in settings.asked_models() if model.startswith(SCRIPTED)})
    return [Path(model.removeprefix(SCRIPTED)) for model in models]


class LeftOut(NamedTuple):
    """A record that a step left out.

    `what` is the kind of the record ("document", "summary" or "key fact"). The manifest counts reasons, so `reason`
    does not depend on the record, whereas `detail` does.
    """

    what: str
    id: str
    reason: str
    detail: str | None = None


class StepRecord(Record):
    """The record of one step in a manifest.

    `inputs` and `files` map names to SHA-256. `dropped` maps reasons to the numbers of records that were left out.
    """

    step: str
    settings: dict[str, Any]
    seed: int
    models: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    inputs: dict[str, str] = Field(default_factory=dict)
    counts_in: dict[str, int] = Field(default_factory=dict)
    counts_out: dict[str, int] = Field(default_factory=dict)
    dropped: dict[str, int] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class Manifest(StepRecord):
    """The content of manifest.json; `history` contains the records of earlier steps, in order."""

    schema_: Literal["summeter-bench-step/1"] = Field(
        default="summeter-bench-step/1", alias="schema", serialization_alias="schema"
    )
    history: tuple[StepRecord, ...] = ()


class Inputs(NamedTuple):
    """The inputs of a step.

    `data` is None for the first step, and `folder` is None if the input is remote. `history` contains the records of
    the earlier steps.
    """

    data: Dataset | None
    folder: Path | None
    history: tuple[StepRecord, ...]

    @property
    def dataset(self) -> Dataset:
        """The input dataset. Raises UsageError if it does not exist."""
        if self.data is None:
            raise UsageError("the step has no input data. Set `input`, or add an earlier step that writes data")
        return self.data


class StepContext(NamedTuple):
    """The environment of a step.

    `out` becomes the folder of the step, and `work` is a folder that survives a crash. `log` records data that no
    release contains, such as usage and ids of runs.
    """

    out: Path
    work: Path
    progress: Progress
    log: Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Result:
    """The result of a step.

    `data` is None if the step wrote only files to `StepContext.out`. `counts` and `details` are recorded in the
    manifest and must not contain times or absolute paths. `packages` names the packages on whose versions the result
    depends. `finish` is called with the folder after the dataset is saved, and writes files that describe the dataset.
    If `history` is given, it replaces the records of the earlier steps.
    """

    data: Dataset | None = None
    dropped: Sequence[LeftOut] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[[Path], None] | None = None
    history: tuple[StepRecord, ...] | None = None


S = TypeVar("S", bound=StepSettings)


@dataclass(frozen=True)
class Step(Generic[S]):
    """A step: the name, the class of the settings, and the function that runs it.

    `changed` takes the work folder and the manifest of a finished step, and returns why the step is stale, or None.
    `waits` takes the work folder and the settings of a waiting step, and returns what it still waits for, or None.
    `reads` is `documents` for a step whose input need not have summaries.
    """

    name: str
    settings: type[S]
    run: Callable[[Inputs, S, StepContext], Result]
    changed: Callable[[Path, Manifest], str | None] | None = None
    waits: Callable[[Path, S], str | None] | None = None
    reads: Literal["dataset", "documents"] = "dataset"


class WaitingError(SummeterError):
    """Raised if a step waits for annotators or reviewers.

    Running the same command later resumes the step.
    """

    exit_code: ClassVar[int] = 130


State = Literal["done", "stale", "left", "failed", "waiting"]


# ---- running a step ----


def check_packages(steps: Iterable[tuple[Step[Any], StepSettings]]) -> None:
    """Raise InstallError if packages that the steps need are missing.

    The message contains the command that installs these packages.
    """
    missing = [
        (step.name, package)
        for step, settings in steps
        for package in settings.packages()
        if find_spec(package.module) is None
    ]
    if missing:
        needs = "; ".join(
            f"{step} needs {package.module}{f' ({package.alternative})' if package.alternative else ''}"
            for step, package in missing
        )
        extras = ",".join(sorted({package.extra for _, package in missing}))
        raise InstallError(f"not installed: {needs}. Fix: pip install 'summeter[{extras}]'")


def run_step(
    step: Step[S], source: str | Path | None, out: str | Path, settings: S, *, progress: Progress | None = None
) -> Manifest:
    """Run one step, which reads `source` and writes the folder `out` atomically.

    `source` is the folder of a step, a dataset folder, a flat file or an address. If `out` is a folder of the same
    step, it is replaced. Raises UsageError if `out` is anything else that exists, InputError if the input is invalid,
    WaitingError if the step waits for annotators, and the errors of the step itself.
    """
    target = Path(out)
    check_packages([(step, settings)])
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not target.is_dir() or not (target / MANIFEST).is_file():
            raise UsageError(
                f"{target} exists and is not the folder of a step. Nothing was written. Choose another folder"
            )
        if (existing := read_manifest(target).step) != step.name:
            raise UsageError(
                f"{target} holds the step {existing}, not {step.name}. Nothing was written. Choose another folder"
            )
    inputs = _read_inputs(source, step)
    hashes = _input_hashes(source, settings)
    log = log_of(target)
    work = work_folder(target)
    work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()

    def log_end(event: str, **fields: str) -> None:
        log({"event": event, "seconds": round(time.monotonic() - started, 2), **fields})

    log({"event": "start", "key": _attempt_key(settings, hashes)})
    try:
        with building(target) as fresh:
            result = step.run(inputs, settings, StepContext(fresh, work, progress or Progress(), log))
            manifest = write_result(
                step,
                settings,
                result,
                fresh,
                inputs=hashes,
                counts_in=counts_of(inputs.data),
                history=inputs.history,
            )
    except BaseException as error:
        log_end("waiting" if isinstance(error, WaitingError) else "failed", reason=str(error) or type(error).__name__)
        raise
    log_end("done")
    return manifest


def work_folder(out: Path) -> Path:
    """Return the work folder of the step that writes `out`; it survives a crash."""
    return out.parent / WORK / out.name


def state_of(
    step: Step[S], source: str | Path | None, out: Path, settings: S, last: Mapping[str, Any] | None
) -> tuple[State, str]:
    """Return the state of a step, and the reason unless the step is done or not started.

    `last` holds the last lines about the step in the log, or is None.

    A step is failed or waiting only if its settings and inputs are those of the failed attempt.
    """
    last = last or {}
    event, hashes = last.get("event"), _input_hashes(source, settings)
    if event in ("failed", "waiting") and last.get("key") == _attempt_key(settings, hashes):
        if event == "failed" or step.waits is None:
            return event, last["reason"]
        if why := step.waits(work_folder(out), settings):
            return "waiting", why
        return "left", "what it waited for is finished"
    if not (out / MANIFEST).is_file():
        attempts = {"failed": "changed since it failed", "waiting": "changed since it waited", "done": ""}
        return "left", attempts.get(event, "interrupted") if event else ""
    manifest = read_manifest(out)
    for name, what in changed_files(out, manifest.files):
        return "stale", f"{name} {what} since the step wrote it"
    now, then = settings.recorded(), manifest.settings
    for name in [*now, *then]:  # a setting that is missing in one of them was added or removed by an update
        old, new = (excerpt(each[name], 60) if name in each else "unset" for each in (then, now))
        if name not in now or name not in then or canonical(now[name]) != canonical(then[name]):
            return "stale", f"the setting {name} has changed from {old} to {new}"
    for name in sorted({*hashes, *manifest.inputs}):
        if hashes.get(name) != manifest.inputs.get(name):
            what = f"the input {Path(source or '').name}" if name == DATA else name
            return "stale", f"{what} has changed"
    why = None if step.changed is None else step.changed(work_folder(out), manifest)
    return ("done", "") if why is None else ("stale", why)


def _attempt_key(settings: StepSettings, hashes: Mapping[str, str]) -> str:
    """Return a hash of the settings and inputs of a step."""
    return digest([settings.recorded(), dict(hashes)])


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest in the folder of a step. Raises InputError if the manifest is invalid."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(path, None, error, f"remove {folder} and run the step again") from error


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Read the log of a chain, skipping lines that a crash truncated."""
    path = folder / LOG
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def log_of(out: Path) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that appends a line about the step of `out` to the log beside it."""

    def log(row: Mapping[str, Any]) -> None:
        out.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "step": out.name,
            "process": os.getpid(),
            **masked(row),
        }
        with (out.parent / LOG).open("a+b") as handle:
            torn = handle.seek(0, os.SEEK_END) and (handle.seek(-1, os.SEEK_END), handle.read(1))[1] != b"\n"
            handle.write(b"\n" * bool(torn) + json.dumps(line, ensure_ascii=False).encode() + b"\n")

    return log


def _read_inputs(source: str | Path | None, step: Step[S]) -> Inputs:
    if source is None:
        return Inputs(None, None, ())
    read = read_documents if step.reads == "documents" else load
    if _is_remote(source):
        return Inputs(read(source), None, ())
    folder = Path(source)
    history: tuple[StepRecord, ...] = ()
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        for name, what in changed_files(folder, manifest.files):
            raise InputError.at(folder, f"{name} {what} since the step wrote it. Run the step again")
        record = StepRecord(**{name: getattr(manifest, name) for name in StepRecord.model_fields})
        history = (*manifest.history, record)
    elif not folder.exists():
        raise UsageError(f"the input {folder} of the step {step.name} does not exist")
    return Inputs(read(folder) if is_dataset(folder) or not history else None, folder, history)


def _is_remote(source: str | Path) -> bool:
    return is_address(source) or is_remote(source)


def write_result(
    step: Step[S],
    settings: S,
    result: Result,
    fresh: Path,
    *,
    inputs: Mapping[str, str],
    counts_in: Mapping[str, int],
    history: tuple[StepRecord, ...],
) -> Manifest:
    """Write the result and the manifest of a step to the empty folder `fresh`.

    `inputs` contains the hashes of the step's inputs, and `counts_in` the counts of their records.
    """
    if result.data is not None:
        data = fresh / ".dataset"  # `fresh` may contain other files of the step
        save(result.data, data)
        for path in sorted(data.iterdir()):
            path.rename(fresh / path.name)
        data.rmdir()
    if result.dropped:
        write_lines(fresh / DROPPED, (json.dumps(row._asdict(), ensure_ascii=False) for row in result.dropped))
    if result.finish is not None:
        result.finish(fresh)
    manifest = Manifest(
        step=step.name,
        settings=settings.recorded(),
        seed=settings.seed,
        models=masked(result.models),
        versions={"summeter": __version__, **{name: version(name) for name in result.packages}},
        inputs=dict(inputs),
        counts_in=dict(counts_in),
        counts_out={**counts_of(result.data), **result.counts},
        dropped=dict(sorted(Counter(f"{row.what}: {row.reason}" for row in result.dropped).items())),
        details=masked(result.details),
        files=file_hashes(fresh),
        history=history if result.history is None else result.history,
    )
    write_text(fresh / MANIFEST, manifest.model_dump_json(by_alias=True, indent=1) + "\n")
    return manifest


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder except the manifest, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: file_hash(path) for name, path in names.items() if name != MANIFEST}


def changed_files(folder: Path, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files of a folder that differ from the known hashes, and how each differs."""
    for name, what in sorted(hash_differences(known, file_hashes(folder))):
        yield name, f"was {what}"


def _input_hashes(source: str | Path | None, settings: StepSettings) -> dict[str, str]:
    """Return the hashes of a step's input and of the files that its settings name."""
    hashes = {}
    if source is not None:
        manifest = Path(source) / MANIFEST
        content = manifest if manifest.is_file() else source
        hashes[DATA] = digest(str(source)) if _is_remote(source) else hash_of(content)
    files = {masked(path.as_posix()): hash_of(path) for path in settings.files()}
    return hashes | files | dict(settings.secret_hashes())


def hash_of(path: str | Path) -> str:
    """Return a hash of the content of a file or folder, or "missing" if there is none."""
    path = Path(path)
    if path.is_dir():
        return digest(file_hashes(path))
    return file_hash(path) if path.is_file() else "missing"


def excerpt(value: Any, longest: int) -> str:
    """Return a value as JSON, shortened to a number of characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def scripted_work(work: Path, settings: StepSettings) -> Path:
    """Return the work folder, or a subfolder if models are scripted.

    Calls are stored by the name of the model, but a script with different replies is a different model.
    """
    files = scripts(settings)
    if not files:
        return work
    folder = work / f"scripted-{digest([hash_of(file) for file in files])[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run_folder(work: Path, name: str, data: Dataset, *identity: Any) -> Path:
    """Return the folder of a run over the data with these settings, in a work folder.

    A new folder begins with the stored calls and results of the latest run of this name, so they are not repeated.
    """
    folder = work / f"{name}-{digest([data.hash, *identity])[:12]}"
    earlier = sorted(work.glob(f"{name}-*"), key=lambda run: run.stat().st_mtime)
    if earlier and not folder.exists():
        copy_stores(earlier[-1], folder)
    return folder


def _accepted_by(check: Callable[[Any], object]) -> AfterValidator:
    """Return a validator that reports a UsageError of `check` as a fault of the field."""

    def validate(value: Any) -> Any:
        try:
            check(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return value

    return AfterValidator(validate)


RunOptions = Annotated[dict[str, Any], _accepted_by(lambda options: Options.of(**options))]
"""Options of a run by name, which are checked when the settings are read."""
EvaluatorName = Annotated[str, _accepted_by(build_evaluator)]
"""Name of an evaluator, possibly with settings, which is checked when the settings are read."""


def run_over(data: Dataset, folder: str | Path) -> RunFolder:
    """Open a run over the summaries of the data.

    Raises UsageError if the run is over other summaries.
    """
    run = RunFolder(folder)
    run.check_data(data, f"Give a run over these {len(data):,} summaries")
    return run


def counts_of(data: Dataset | None) -> dict[str, int]:
    """Return the numbers of documents, summaries, key facts, and judgments per judgment set.

    Returns an empty dict if `data` is None.
    """
    if data is None:
        return {}
    counts = {
        "documents": len(data.documents),
        "summaries": len(data),
        "key_facts": sum(len(document.key_facts) for document in data.documents.values()),
    }
    return counts | {f"judgments/{name}": sum(1 for _ in data.iter_judgments(name)) for name in data.judgment_sets}
