"""A benchmark from one file: the steps it names, one after the other, in one folder; and how far they are.

    name: nine domains
    seed: 7
    input: documents.jsonl
    summarize:
      models: {big: openai/gpt-4o, small: ollama/llama3.1}
    release:
      licence: CC-BY-4.0

Each section is a step (`STEPS`), done in their order, each in `FOLDER/STEP` from the folder of the section before.
The first one reads `input`. A step is done again where its settings, its input or its own files have changed, and so
is what follows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field, ValidationError, create_model

from summeter.benchmark.step import (
    LOG,
    Manifest,
    State,
    Step,
    StepSettings,
    StepState,
    check_packages,
    read_log,
    read_manifest,
    run_step,
    state_of,
)
from summeter.data.atomic import half_built, sweep, write_text
from summeter.data.mapping import faults_of, in_order, read_mapping, repetitions, yaml_lines
from summeter.engine.progress import Progress
from summeter.records import Fault, InputError, Parameter, Record, UsageError, nearest
from summeter.tables import Table, number, plain

STEPS: dict[str, str] = {
    "source": "summeter.benchmark.raw.source:STEP",
    "summarize": "summeter.benchmark.summarize:STEP",
    "detect": "summeter.benchmark.select:DETECT",
    "select": "summeter.benchmark.select:SELECT",
    "facts": "summeter.benchmark.facts:STEP",
    "redact": "summeter.benchmark.redaction.step:STEP",
    "annotate": "summeter.benchmark.annotate:STEP",
    "release": "summeter.benchmark.release:STEP",
    "verify": "summeter.benchmark.verify:STEP",
}
"""The steps in the order they are done: name -> "module:Step"."""
FIRST = "source"
CHAIN = "chain.json"
"""Says of which file of settings a folder is."""


def step_named(name: str) -> Step[Any]:
    """The step of a name. Raises UsageError where there is none."""
    if name not in STEPS:
        raise UsageError(f"there is no step {name!r}{nearest(name, STEPS)}; steps: {', '.join(STEPS)}")
    module, _, attribute = STEPS[name].partition(":")
    step: Step[Any] = getattr(import_module(module), attribute)
    return step


class Shared(Record):
    """The fields of BENCH.yaml above its sections."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="Name of the benchmark.")
    seed: int = Field(0, description="Random seed of all sections that give none.")
    input: str | None = Field(
        None,
        description="What the first step reads, unless it is `source`: the folder of a step, a dataset folder, a flat "
        "file, or `hf:...`.",
    )
    output: Path | None = Field(None, description="The folder of the benchmark, where the command names none.")


class Chain(NamedTuple):
    """The steps of one BENCH.yaml, with their settings, in order; `file` is where it stands."""

    file: Path
    shared: Shared
    steps: tuple[tuple[Step[Any], StepSettings], ...]


class StepRow(NamedTuple):
    """One step of a chain: how far it is, why where that needs one, what went in and out, and how long it took."""

    step: str
    state: State
    reason: str
    documents_in: int | None
    documents_out: int | None
    summaries_out: int | None
    judgments_out: int | None
    dropped: int | None
    seconds: float | None


def read_chain(file: str | Path) -> Chain:
    """The chain that a YAML file describes. Raises InputError with every fault, by line and field."""
    path = Path(file)
    try:
        given = read_mapping(path, "a benchmark needs a name and at least one section")
        lines, repeated = yaml_lines(path)
    except OSError as error:
        raise InputError.at(path, None, None, f"cannot be read: {error.strerror or error}") from error
    faults = list(repetitions(path, repeated))
    wanted = [name for name in STEPS if name in given]
    if not wanted:
        faults.append(Fault(str(path), None, None, f"names no step; sections are: {', '.join(STEPS)}"))
    steps = {name: step_named(name) for name in wanted}
    if wanted and (wanted[0] == FIRST) == (given.get("input") is not None):
        message = "is read by no step: `source` names its files itself" if wanted[0] == FIRST else "is needed"
        line = lines.get(("input",), 1)
        faults.append(Fault(str(path), line, "input", f"{message}; the first step is `{wanted[0]}`"))
    sections: Any = {name: (step.settings, ...) for name, step in steps.items()}
    unused: Any = {name: (None, None) for name in STEPS if name not in steps}
    model: type[Shared] = create_model("Benchmark", __base__=Shared, **sections, **unused)
    whole = {name: {} if name in steps and value is None else value for name, value in given.items()}
    for name, step in steps.items():
        if isinstance(section := whole[name], dict):
            common = {field: whole[field] for field in ("name", "seed") if field in whole}
            whole[name] = {field: common[field] for field in common if field in step.settings.model_fields} | section
    try:
        checked = model.model_validate(whole)
    except ValidationError as error:
        faults += [fault for fault in faults_of(path, lines, error, model) if fault not in faults]
    if faults:
        raise in_order(faults)
    return Chain(path.resolve(), checked, tuple((step, getattr(checked, name)) for name, step in steps.items()))


def run_chain(
    file: str | Path,
    folder: str | Path | None = None,
    *,
    only: str | None = None,
    until: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> list[Manifest]:
    """Do every step that is left or stale, up to `until`; or `only` one, whatever its state, if those before it are
    done.

    Paths in the file are relative to it. `tell` is given a line for every step. `folder` is by default the file's
    `output`. Returns the manifests, in order. Raises InputError for a faulty file, InstallError for a package that is
    missing for this or a later step, UsageError for a folder of another benchmark or one that another process writes,
    WaitingError where people are waited for, and whatever a step raises; what was done stays.
    """
    chain = read_chain(file)
    target = output_of(chain, folder)
    names = [step.name for step, _ in chain.steps]
    for name in (until, only):
        if name is not None and name not in names:
            raise UsageError(f"the file has no step {name!r}{nearest(name, names)}; it has: {', '.join(names)}")
    if until is not None and only is not None:
        raise UsageError(Parameter("only", only), " and ", Parameter("until", until), " exclude each other; give one")
    last_name = only or until
    wanted = chain.steps if last_name is None else chain.steps[: names.index(last_name) + 1]
    _take(target, chain)
    manifests: list[Manifest] = []
    with _locked(target), chdir(chain.file.parent):
        sweep(target)
        last = _last(target)
        source: str | Path | None = chain.shared.input
        for place, (step, settings) in enumerate(wanted):
            out = target / step.name
            state = state_of(step, source, out, settings, last.get(step.name))
            if state.state == "done" and step.name != only:
                tell(f"{step.name}: done")
                manifests.append(read_manifest(out))
            elif only not in (None, step.name):
                raise UsageError(f"{only} needs the step {step.name}, which is {state.state}; run that first")
            else:
                check_packages(wanted[place:])
                tell(f"{step.name}: again ({state.reason})" if state.state == "stale" else f"{step.name}: now")
                manifests.append(run_step(step, source, out, settings, progress=progress))
            source = out
    return manifests


def output_of(chain: Chain, folder: str | Path | None = None) -> Path:
    """The folder of a benchmark: the one given, else the file's `output`. UsageError where there is neither."""
    if folder is not None:
        return Path(folder).resolve()
    if chain.shared.output is None:
        raise UsageError(f"{chain.file} has no `output`; give a folder with ", Parameter("out", "FOLDER"))
    return (chain.file.parent / chain.shared.output).resolve()


def chain_status(folder: str | Path, file: str | Path | None = None) -> list[StepRow]:
    """How far each step of a folder is. `file`: its BENCH.yaml, where that has moved.

    Raises UsageError for a folder that `run_chain` did not make, InputError for a faulty file.
    """
    target = Path(folder).resolve()
    about = _about(target)
    if about is None:
        raise UsageError(
            f"{folder} is no folder of a benchmark; make one with `summeter bench run BENCH.yaml -o FOLDER`"
        )
    chain = read_chain(Path(about["file"]) if file is None else file)
    last, rows = _last(target), []
    source: str | Path | None = chain.shared.input
    stale = ""
    with chdir(chain.file.parent):
        for step, settings in chain.steps:
            out = target / step.name
            state = state_of(step, source, out, settings, last.get(step.name))
            if state.state == "done" and stale:
                state = StepState("stale", f"made from {stale}, which is not done")
            if state.state != "done":
                stale = stale or step.name
            rows.append(_row(step.name, state, out, last.get(step.name, {})))
            source = out
    return rows


def status_table(rows: list[StepRow]) -> Table:
    """The rows of `chain_status` as a table."""
    heads = ["step", "state", "documents", "summaries", "judgments", "dropped", "seconds", "why"]
    cells = [
        [
            row.step,
            row.state,
            None if row.documents_out is None else _from_to(row.documents_in, row.documents_out),
            row.summaries_out,
            row.judgments_out,
            row.dropped,
            row.seconds,
            " ".join(row.reason.split()) or None,
        ]
        for row in rows
    ]
    show: list[Callable[[Any], str]] = [plain] * len(heads)
    show[heads.index("seconds")] = lambda value: number(value, 1)
    return Table.of(heads, cells, align="llrrrrrl", show=show)


def _from_to(before: int | None, after: int) -> str:
    return str(after) if before in (None, after) else f"{before} -> {after}"


def _row(name: str, state: StepState, out: Path, last: Mapping[str, Any]) -> StepRow:
    seconds = last.get("seconds")
    if state.state not in ("done", "stale"):
        return StepRow(name, state.state, state.reason, None, None, None, None, None, seconds)
    manifest = read_manifest(out)
    counts = manifest.counts_out
    judgments = [count for key, count in counts.items() if key.startswith("judgments/")]
    return StepRow(
        name,
        state.state,
        state.reason,
        manifest.counts_in.get("documents"),
        counts.get("documents"),
        counts.get("summaries"),
        sum(judgments) if judgments else None,
        sum(manifest.dropped.values()),
        seconds,
    )


def _last(folder: Path) -> dict[str, dict[str, Any]]:
    """The last event of each step in the log."""
    return {row["step"]: row for row in read_log(folder) if "event" in row and "step" in row}


def _about(folder: Path) -> dict[str, Any] | None:
    path = folder / CHAIN
    if not path.is_file():
        return None
    try:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError.at(path, None, None, f"is not JSON: {error}; remove it and run the benchmark again") from error
    return about


def _take(folder: Path, chain: Chain) -> None:
    """Make the folder, and say of which benchmark it is."""
    about = _about(folder) if folder.is_dir() else None
    if about is not None and about.get("name") != chain.shared.name:
        raise UsageError(
            f"{folder} is the folder of the benchmark {about.get('name')!r}, and {chain.file} is of "
            f"{chain.shared.name!r}; choose another folder"
        )
    if about is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        known = {CHAIN, LOG, ".lock"}  # a kill before the file that says of which benchmark it is
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else [folder.name]
        others = [name for name in names if name not in known and not half_built(name, CHAIN)]
        if others:
            raise UsageError(f"{folder} holds {others[0]}, and is no folder of a benchmark; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    here = {"schema": "summeter-bench/1", "name": chain.shared.name, "file": str(chain.file)}
    if about != here:
        write_text(folder / CHAIN, json.dumps(here, ensure_ascii=False, indent=1) + "\n")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder: one process runs its benchmark at a time."""
    import fcntl

    with (folder / ".lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{folder}: another process builds this benchmark; wait for it") from error
        yield
