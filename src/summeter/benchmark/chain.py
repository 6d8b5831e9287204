"""Build a benchmark from one file, by running the steps that the file names in order.

    name: nine domains
    seed: 7
    input: documents.jsonl
    summarize:
      models: {big: openai/gpt-4o, small: ollama/llama3.1}
    release:
      licence: CC-BY-4.0

Each section of the file is a step. The steps run in the order of `STEPS`. Each step writes `FOLDER/STEP` and reads the
folder of the previous step; the first step reads `input`. If the settings, the input or the output files of a step have
changed, this step and all later steps run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import chdir
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
"""The steps in order: a mapping of names to `module:Step`."""
FIRST = "source"
CHAIN = "chain.json"
"""File that names the settings file from which a folder was built."""


def step_named(name: str) -> Step[Any]:
    """Return the step with a name. Raises UsageError if it does not exist."""
    if name not in STEPS:
        raise UsageError(f"there is no step {name!r}{nearest(name, STEPS)}; steps: {', '.join(STEPS)}")
    module, _, attribute = STEPS[name].partition(":")
    step: Step[Any] = getattr(import_module(module), attribute)
    return step


class Shared(Record):
    """The top-level fields of BENCH.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="Name of the benchmark.")
    seed: int = Field(0, description="Random seed of all sections without their own seed.")
    input: str | None = Field(
        None,
        description="Input of the first step, unless that is `source`: the folder of a step, a dataset folder, a flat "
        "file, or `hf:...`.",
    )
    output: Path | None = Field(None, description="Folder of the benchmark, if the command does not give one.")


class Chain(NamedTuple):
    """The steps of a BENCH.yaml file in order, each with its settings."""

    file: Path
    shared: Shared
    steps: tuple[tuple[Step[Any], StepSettings], ...]


class StepRow(NamedTuple):
    """The state of a step, with counts of inputs and outputs and the duration in seconds.

    A count is None if it is unknown.
    """

    step: str
    state: State
    reason: str
    documents_in: int | None = None
    documents_out: int | None = None
    summaries_out: int | None = None
    judgments_out: int | None = None
    dropped: int | None = None
    seconds: float | None = None


def read_chain(file: str | Path) -> Chain:
    """Read a chain from a YAML file. Raises InputError with all faults, by line and field."""
    path = Path(file)
    fields = read_mapping(path, "a benchmark needs a name and at least one section")
    lines, repeated = yaml_lines(path)
    faults = list(repetitions(path, repeated))
    names = [name for name in STEPS if name in fields]
    if not names:
        faults.append(Fault(str(path), None, None, f"names no step. Sections are: {', '.join(STEPS)}"))
    steps = {name: step_named(name) for name in names}
    if names and (names[0] == FIRST) == (fields.get("input") is not None):
        message = "is not used, because `source` names its own files" if names[0] == FIRST else "is missing"
        line = lines.get(("input",), 1)
        faults.append(Fault(str(path), line, "input", f"{message}. The first step is `{names[0]}`"))
    sections: Any = {name: (step.settings, ...) for name, step in steps.items()}
    unused: Any = {name: (None, None) for name in STEPS if name not in steps}
    model: type[Shared] = create_model("Benchmark", __base__=Shared, **sections, **unused)
    values = {name: {} if name in steps and value is None else value for name, value in fields.items()}
    for name, step in steps.items():
        if isinstance(section := values[name], dict):
            shared = [field for field in ("name", "seed") if field in values and field in step.settings.model_fields]
            values[name] = {field: values[field] for field in shared} | section
    try:
        checked = model.model_validate(values)
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
    """Run the steps of a file that are not done or stale, and return the manifests in order.

    With `until`, later steps are not run. With `only`, just this step is run, if the steps before it are done. Paths in
    the file are relative to the folder of the file. `folder` defaults to `output` in the file. `tell` is called with a
    line of text for every step. Finished steps are kept if a later step fails.

    Raises InputError if the file is invalid, InstallError if a step to be run needs a missing package, UsageError if
    the folder belongs to another benchmark or another process is writing it, WaitingError if a step waits for
    annotators, and the errors of the steps themselves.
    """
    import fcntl

    chain = read_chain(file)
    target = output_of(chain, folder)
    names = [step.name for step, _ in chain.steps]
    for name in (until, only):
        if name is not None and name not in names:
            raise UsageError(f"the file has no step {name!r}{nearest(name, names)}; it has: {', '.join(names)}")
    if until is not None and only is not None:
        raise UsageError(Parameter("only", only), " and ", Parameter("until", until), " cannot be combined. Give one")
    last_name = only or until
    steps = chain.steps if last_name is None else chain.steps[: names.index(last_name) + 1]
    _claim(target, chain)
    manifests: list[Manifest] = []
    with (target / ".lock").open("wb") as lock, chdir(chain.file.parent):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another process is building the benchmark in {target}. Wait for it to end") from error
        sweep(target)
        last = _last_events(target)
        source: str | Path | None = chain.shared.input
        for index, (step, settings) in enumerate(steps):
            out = target / step.name
            state, reason = state_of(step, source, out, settings, last.get(step.name))
            if state == "done" and step.name != only:
                tell(f"{step.name}: done")
                manifests.append(read_manifest(out))
            elif only not in (None, step.name):
                raise UsageError(f"{only} needs the step {step.name}, which is {state}. Run that step first")
            else:
                check_packages(steps[index:])
                for _, later in steps[index:]:
                    later.check()
                tell(f"{step.name}: running again ({reason})" if state == "stale" else f"{step.name}: running")
                manifests.append(run_step(step, source, out, settings, progress=progress))
            source = out
    return manifests


def output_of(chain: Chain, folder: str | Path | None = None) -> Path:
    """Return `folder`, or else `output` in the file. Raises UsageError if both are missing."""
    if folder is not None:
        return Path(folder).resolve()
    if chain.shared.output is None:
        raise UsageError(f"{chain.file} has no `output`. Give a folder with ", Parameter("out", "FOLDER"))
    return (chain.file.parent / chain.shared.output).resolve()


def chain_status(folder: str | Path, file: str | Path | None = None) -> list[StepRow]:
    """Return the state of each step in a folder.

    `file` is the path of the benchmark's BENCH.yaml file, if it has been moved. Raises UsageError if the folder was not
    created by `run_chain`, and InputError if the file is invalid.
    """
    target = Path(folder).resolve()
    entry = _read_entry(target)
    if entry is None:
        raise UsageError(
            f"{folder} is not the folder of a benchmark. Create one with `summeter bench run BENCH.yaml -o FOLDER`"
        )
    chain = read_chain(Path(entry["file"]) if file is None else file)
    last, rows = _last_events(target), []
    source: str | Path | None = chain.shared.input
    stale = ""
    with chdir(chain.file.parent):
        for step, settings in chain.steps:
            out = target / step.name
            state, reason = state_of(step, source, out, settings, last.get(step.name))
            if state == "done" and stale:
                state, reason = "stale", f"made from {stale}, which is not done"
            if state != "done":
                stale = stale or step.name
            row = StepRow(step.name, state, reason, seconds=last.get(step.name, {}).get("seconds"))
            if state in ("done", "stale"):
                manifest = read_manifest(out)
                counts = manifest.counts_out
                judgments = [count for key, count in counts.items() if key.startswith("judgments/")]
                row = row._replace(
                    documents_in=manifest.counts_in.get("documents"),
                    documents_out=counts.get("documents"),
                    summaries_out=counts.get("summaries"),
                    judgments_out=sum(judgments) if judgments else None,
                    dropped=sum(manifest.dropped.values()),
                )
            rows.append(row)
            source = out
    return rows


def status_table(rows: list[StepRow]) -> Table:
    """Return the rows of `chain_status` as a table, without the reasons, which may be long."""
    heads = ["step", "state", "documents", "summaries", "judgments", "dropped", "seconds"]
    cells = []
    for row in rows:
        documents = None if row.documents_out is None else str(row.documents_out)
        if documents is not None and row.documents_in not in (None, row.documents_out):
            documents = f"{row.documents_in} -> {documents}"
        counts = [documents, row.summaries_out, row.judgments_out, row.dropped]
        cells.append([row.step, row.state, *counts, row.seconds])
    show: list[Callable[[Any], str]] = [plain] * len(heads)
    show[heads.index("seconds")] = lambda value: number(value, 1)
    return Table.of(heads, cells, align="llrrrrr", show=show)


def _last_events(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the fields of the last events of each step in the log; later ones replace earlier ones."""
    last: dict[str, dict[str, Any]] = {}
    for row in read_log(folder):
        if "event" in row and "step" in row:
            last[row["step"]] = ({} if row["event"] == "start" else last.get(row["step"], {})) | row
    return last


def _read_entry(folder: Path) -> dict[str, Any] | None:
    """Return the content of chain.json, or None if there is no such file.

    Raises InputError if the content is not JSON.
    """
    path = folder / CHAIN
    if not path.is_file():
        return None
    try:
        entry: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError.at(path, f"is not JSON: {error}. Remove it and run the benchmark again") from error
    return entry


def _claim(folder: Path, chain: Chain) -> None:
    """Create the folder, and write chain.json.

    Raises UsageError if the folder has other content.
    """
    entry = _read_entry(folder) if folder.is_dir() else None
    if entry is not None and entry.get("name") != chain.shared.name:
        raise UsageError(
            f"{folder} is the folder of the benchmark {entry.get('name')!r}, but {chain.file} describes "
            f"{chain.shared.name!r}. Choose another folder"
        )
    if entry is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        known = {CHAIN, LOG, ".lock"}  # left by a crash before chain.json was written
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else [folder.name]
        others = [name for name in names if name not in known and not half_built(name, CHAIN)]
        if others:
            raise UsageError(
                f"{folder} contains {others[0]} and is not the folder of a benchmark. Choose another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    new_entry = {"schema": "summeter-bench/1", "name": chain.shared.name, "file": str(chain.file)}
    if entry != new_entry:
        write_text(folder / CHAIN, json.dumps(new_entry, ensure_ascii=False, indent=1) + "\n")
