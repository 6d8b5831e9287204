"""The common form of a step of a benchmark: a folder in, a folder out, a manifest that says how one became the other.

A step's folder is a dataset folder with two files more:

    manifest.json   settings, seed, models, versions, hashes of what went in and came out, counts, the steps before
    dropped.jsonl   what the step left out, and why (where it left something out)

Where a document is from stands in its `extra` (`source`, `origin`, `licence`, `share`, `language`, `words`, `length`,
`kind`), as the step `source` wrote it. A step's folder holds no time and no absolute path: the same input, settings and
seed give the same bytes. It appears whole or not at all. What a step keeps to carry on after a kill (calls, runs,
campaigns) lies in `work/STEP` beside the folder; times and errors lie in `log.jsonl` there.
"""

from __future__ import annotations

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
from summeter.models.local.names import EMBEDDED, is_local
from summeter.records import InputError, InstallError, Record, SummeterError, UsageError, canonical, digest, invalid
from summeter.records.addresses import masked
from summeter.runs.run import RunFolder

MANIFEST, DROPPED, WORK, LOG = "manifest.json", "dropped.jsonl", "work", "log.jsonl"
SCRIPTED = "scripted/"
DATA = "data"
"""The name, among a manifest's inputs, of the folder that the step was given."""


class Package(NamedTuple):
    """A package that a step imports: its module, the extra of summeter that installs it, and how to do without it."""

    module: str
    extra: str
    without: str = ""


_STRATA = ("source", "origin", "licence", "language", "words", "length", "kind")
DOCUMENT_COLUMNS = frozenset({*_STRATA, "words_left_out", "commit", "redaction", "original"})
"""Columns of documents that steps write; they hold no text of the document, and a release may hold them in any case."""
SUMMARY_COLUMNS = frozenset({"model", "asked_sentences", "written_sentences"})
"""Columns of summaries that steps write."""


class StepSettings(Record):
    """Base of the settings of every step. Paths are relative to the working folder; `bench run` makes that the folder
    of BENCH.yaml.
    """

    seed: int = Field(0, description="Random seed.")

    def recorded(self) -> dict[str, Any]:
        """The settings as a manifest holds them: JSON, addresses without their secrets."""
        recorded: dict[str, Any] = masked(self.model_dump(mode="json"))
        return recorded

    def asked_models(self) -> Iterable[str]:
        """The models that the step asks."""
        return ()

    def files(self) -> Iterable[Path]:
        """The files and folders that the step reads beside its input: a change in one makes the step stale. By default
        all fields that are paths, and the replies of scripted models."""
        paths = [value for name in type(self).model_fields if isinstance(value := getattr(self, name), Path)]
        return [*paths, *scripts(self)]

    def packages(self) -> Iterable[Package]:
        """The optional packages that the step imports with these settings; by default those of local networks."""
        local = any(is_local(model) and not model.startswith(EMBEDDED) for model in self.asked_models())
        return [Package("tokenizers", "local")] if local else []

    def marks(self) -> Mapping[str, str]:
        """Hashes, by name, of files whose own SHA-256 must stay secret: a change in one makes the step stale."""
        return {}


class ModelSettings(StepSettings):
    """Base of the settings of steps that ask models; all but `models` and `prompts` are options of a run."""

    models: dict[str, str] = Field(min_length=1, description="Models by name.")
    prompts: Path | None = Field(None, description="A folder of your own prompt templates.")
    temperature: float | None = Field(0.0, ge=0, le=10, description="Sampling temperature.")
    max_reply: int | None = Field(None, ge=1, description="Longest reply, in tokens.")
    concurrency: int = Field(16, ge=1, description="Documents at a time.")
    timeout: float = Field(120.0, gt=0, description="Timeout of a call, in seconds.")
    base_url: str | None = Field(None, repr=False, description="Address of an endpoint.")

    def asked_models(self) -> Iterable[str]:
        """The models."""
        return self.models.values()


def scripts(settings: StepSettings) -> list[Path]:
    """The files that hold the replies of scripted models."""
    models = sorted({model for model in settings.asked_models() if model.startswith(SCRIPTED)})
    return [Path(model.removeprefix(SCRIPTED)) for model in models]


class LeftOut(NamedTuple):
    """What a step left out: `what` it was ("document", "summary", "key fact"...), its id, and why, in words that do
    not depend on the one that was left out: reasons are counted in the manifest. `detail` says the rest."""

    what: str
    id: str
    reason: str
    detail: str | None = None


class StepRecord(Record):
    """What a manifest says of one step. `inputs` and `files` map names to SHA-256; `dropped` counts reasons."""

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
    """The whole of manifest.json; `history` holds the records of the steps before, the first one first."""

    schema_: Literal["summeter-bench-step/1"] = Field(
        default="summeter-bench-step/1", alias="schema", serialization_alias="schema"
    )
    history: tuple[StepRecord, ...] = ()


class Inputs(NamedTuple):
    """What a step is given: the dataset of its input (None for the first step), the file or folder of the input (None
    where it is not local), and the records of the steps before."""

    data: Dataset | None
    folder: Path | None
    history: tuple[StepRecord, ...]

    @property
    def dataset(self) -> Dataset:
        """The dataset. Raises UsageError where the step was given none."""
        if self.data is None:
            raise UsageError("the step has no data to read; name them under `input`, or add the step before it")
        return self.data


class Place(NamedTuple):
    """Where a step works. `out` becomes its folder (for files beside the dataset), `work` survives a kill, `log` keeps
    a line that belongs to no release (usage, ids of runs)."""

    out: Path
    work: Path
    progress: Progress
    log: Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Result:
    """What a step gives back; `data` None: it wrote files into `Place.out` and no dataset. `counts` are further
    counts, `details` whatever the step's readers need; both without times and absolute paths. `packages` are those
    whose versions the result depends on. `finish` writes into the step's folder what describes the dataset, once that
    is saved there; `history` stands in place of the records of the steps before, where these are not to be kept."""

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
    """A step: its name, its settings, and the function that does it.

    `changed` is given the work folder and the manifest of a finished step, and returns why the work folder makes it
    stale, else None. `reads` is `documents` for a step whose input needs no summaries.
    """

    name: str
    settings: type[S]
    run: Callable[[Inputs, S, Place], Result]
    changed: Callable[[Path, Manifest], str | None] | None = None
    reads: Literal["dataset", "documents"] = "dataset"


class WaitingError(SummeterError):
    """A step waits for people: the message says what to do, and the same command carries on."""

    exit_code: ClassVar[int] = 130


State = Literal["done", "stale", "left", "failed", "waiting"]


class StepState(NamedTuple):
    """How far a step is, and, unless it is done or left, why."""

    state: State
    reason: str = ""


# ---- doing a step ----


def check_packages(steps: Iterable[tuple[Step[Any], StepSettings]]) -> None:
    """Raise InstallError with every package that is missing for these steps, and the command that installs them all."""
    missing = [
        (step.name, package)
        for step, settings in steps
        for package in settings.packages()
        if find_spec(package.module) is None
    ]
    if missing:
        needs = "; ".join(
            f"{step} needs {package.module}{f' ({package.without})' if package.without else ''}"
            for step, package in missing
        )
        extras = ",".join(sorted({package.extra for _, package in missing}))
        raise InstallError(f"not installed: {needs}. Fix: pip install 'summeter[{extras}]'")


def run_step(
    step: Step[S], source: str | Path | None, out: str | Path, settings: S, *, progress: Progress | None = None
) -> Manifest:
    """Do one step: read `source` (the folder of a step, a dataset folder, a flat file or an address), write the folder
    `out`, whole or not at all.

    A folder that is there is replaced where it is a step's of the same name. Raises UsageError where `out` is
    something else, InputError for faulty input, WaitingError where people are waited for, and whatever the step raises.
    """
    target = Path(out)
    check_packages([(step, settings)])
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not target.is_dir() or not (target / MANIFEST).is_file():
            raise UsageError(
                f"{target} exists and is no step of a benchmark; nothing was written: choose another folder"
            )
        if (there := read_manifest(target).step) != step.name:
            raise UsageError(
                f"{target} holds the step {there}, not {step.name}; nothing was written: choose another folder"
            )
    inputs = _read(source, step)
    hashes = _input_hashes(source, settings)
    log = log_of(target)
    work = work_folder(target)
    work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()

    def ended(event: str, **more: str) -> None:
        log({"event": event, "seconds": round(time.monotonic() - started, 2), **more})

    log({"event": "start"})
    try:
        with building(target) as fresh:
            result = step.run(inputs, settings, Place(fresh, work, progress or Progress(), log))
            manifest = seal(
                step,
                settings,
                result,
                fresh,
                inputs=hashes,
                counts_in=counts_of(inputs.data),
                history=inputs.history,
            )
    except BaseException as error:
        ended("waiting" if isinstance(error, WaitingError) else "failed", reason=str(error) or type(error).__name__)
        raise
    ended("done")
    return manifest


def work_folder(out: Path) -> Path:
    """The folder in which the step that writes `out` keeps what survives a kill."""
    return out.parent / WORK / out.name


def state_of(
    step: Step[S], source: str | Path | None, out: Path, settings: S, last: Mapping[str, Any] | None
) -> StepState:
    """How far a step is, by its folders alone; `last` is the last line of the log about it."""
    if not (out / MANIFEST).is_file():
        event = None if last is None else last["event"]
        if last is not None and event in ("failed", "waiting"):
            return StepState(event, last["reason"])
        return StepState("left", "" if event in (None, "done") else "broken off")
    manifest = read_manifest(out)
    for name, what in changed_files(out, manifest.files):
        return StepState("stale", f"{name} {what} since the step wrote it")
    if (why := _differing(settings.recorded(), manifest.settings)) is not None:
        return StepState("stale", why)
    hashes = _input_hashes(source, settings)
    for name in sorted({*hashes, *manifest.inputs}):
        if hashes.get(name) != manifest.inputs.get(name):
            what = f"what {Path(source or '').name} gave" if name == DATA else name
            return StepState("stale", f"{what} has changed")
    why = None if step.changed is None else step.changed(work_folder(out), manifest)
    return StepState("done") if why is None else StepState("stale", why)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a step's folder. Raises InputError for a faulty one."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(path, None, error, f"remove {folder} and do the step again") from error


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a chain's log; one that was torn by a kill is passed over."""
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
    """A function that adds a line about the step of folder `out` to the log beside it."""

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


def _read(source: str | Path | None, step: Step[S]) -> Inputs:
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
            raise InputError.at(folder, None, None, f"{name} {what} since the step wrote it; do the step again")
        own = {name: getattr(manifest, name) for name in StepRecord.model_fields}
        history = (*manifest.history, StepRecord(**own))
    elif not folder.exists():
        raise UsageError(f"there is no file or folder {folder} for the step {step.name} to read")
    return Inputs(read(folder) if is_dataset(folder) or not history else None, folder, history)


def _is_remote(source: str | Path) -> bool:
    return is_address(source) or is_remote(source)


def seal(
    step: Step[S],
    settings: S,
    result: Result,
    fresh: Path,
    *,
    inputs: Mapping[str, str],
    counts_in: Mapping[str, int],
    history: tuple[StepRecord, ...],
) -> Manifest:
    """Write what a step gave back, and the manifest, into a fresh folder. `inputs` are the hashes and `counts_in` the
    counts of what it was given."""
    if result.data is not None:
        data = fresh / ".dataset"  # `fresh` may hold other files of the step
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
    """The SHA-256 of every file of a folder but its manifest, by its path there."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: file_hash(path) for name, path in names.items() if name != MANIFEST}


def changed_files(folder: Path, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of a step's folder that differ from the hashes in its manifest, and what happened to each."""
    for name, what in sorted(hash_differences(known, file_hashes(folder))):
        yield name, f"was {what}"


def _input_hashes(source: str | Path | None, settings: StepSettings) -> dict[str, str]:
    """The hashes of what a step reads: its input, and the files that its settings name."""
    hashes = {}
    if source is not None:
        sealed = Path(source) / MANIFEST
        hashes[DATA] = digest(str(source)) if _is_remote(source) else hash_of(sealed if sealed.is_file() else source)
    files = {masked(path.as_posix()): hash_of(path) for path in settings.files()}
    return hashes | files | dict(settings.marks())


def hash_of(path: str | Path) -> str:
    """A hash of the content of a file or folder; "missing" where there is none."""
    place = Path(path)
    if place.is_dir():
        return digest(file_hashes(place))
    return file_hash(place) if place.is_file() else "missing"


def _differing(now: Mapping[str, Any], then: Mapping[str, Any]) -> str | None:
    for name in now:
        if canonical(now[name]) != canonical(then.get(name)):
            if name not in then:
                return f"the setting {name} is new"
            return f"the setting {name} has changed from {_short(then[name])} to {_short(now[name])}"
    gone = next((name for name in then if name not in now), None)
    return None if gone is None else f"the setting {gone} is gone"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def scripted_work(work: Path, settings: StepSettings) -> Path:
    """The work folder, or one in it where models are scripted: calls are kept under a model's name, and a file that
    says something else is another model."""
    files = scripts(settings)
    if not files:
        return work
    folder = work / f"scripted-{digest([hash_of(file) for file in files])[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _known_options(given: dict[str, Any]) -> dict[str, Any]:
    try:
        Options.of(**given)
    except UsageError as error:
        raise ValueError(str(error)) from error
    return given


RunOptions = Annotated[dict[str, Any], AfterValidator(_known_options)]
"""Options of a run by name, as settings hold them."""


def run_over(data: Dataset, folder: str | Path) -> RunFolder:
    """A run over the summaries of the data. Raises UsageError for one over others."""
    run = RunFolder(folder)
    about = run.manifest.data
    if about.hash != data.hash:
        raise UsageError(
            f"{folder} is a run over other data ({about.source}, {about.summaries} summaries); give one over these "
            f"{len(data)} summaries"
        )
    return run


def counts_of(data: Dataset | None) -> dict[str, int]:
    """Documents, summaries, key facts, and the judgments of each set; nothing of no dataset."""
    if data is None:
        return {}
    counts = {
        "documents": len(data.documents),
        "summaries": len(data),
        "key_facts": sum(len(document.key_facts) for document in data.documents.values()),
    }
    return counts | {f"judgments/{name}": sum(1 for _ in data.iter_judgments(name)) for name in data.judgment_sets}
