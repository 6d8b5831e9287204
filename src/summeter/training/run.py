"""`train`: from a file of settings to a folder, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from summeter._version import __version__
from summeter.data.atomic import building, check_folder, write_text
from summeter.data.mapping import faults_of, in_order, read_mapping, repetitions, yaml_lines
from summeter.engine.progress import Progress
from summeter.records import Fault, InputError, nearest
from summeter.training.base import Task, Training
from summeter.training.split import text_hash
from summeter.training.work import Work, check_space, record_look

KINDS: Final[dict[str, str]] = {
    "fused": "summeter.training.fused:FusedTraining",
    "regression": "summeter.training.regression:Regression",
}
"""Kind -> "module:Class", imported when it is first asked for."""

CARD = "card.json"
README = "README.md"
SCHEMA = "summeter-trained/1"


class Outcome(NamedTuple):
    """A finished training: its folder, its card, and what a terminal shows."""

    folder: Path
    card: Mapping[str, Any]
    lines: tuple[str, ...]


def train(
    config: str | Path | Mapping[str, Any], out: str | Path, *, force: bool = False, progress: Progress | None = None
) -> Outcome:
    """Train what a file of settings (or a mapping) describes, and write the folder `out`.

    Paths in a file are relative to it; in a mapping, to the working directory. A training that was interrupted is
    carried on by the same call. Raises InputError with every fault of the file, UsageError where the data do not do or
    the folder holds something (`force` replaces a trained folder, anything else never), InstallError for a package that
    is missing: all before any work.
    """
    target, show = Path(out), progress or Progress()
    check_folder(target, "the folder of a training", is_trained, force=force)
    task = read_task(config)
    check_space(target, task.space)
    work = Work(target, task.key)
    with show:
        if work.discarded:
            show.note("settings or data have changed since the interrupted training: begun anew")
        trained = task.train(work, show)
    card = {"schema": SCHEMA, "summeter": __version__, **trained.card, "key": task.key}
    lines = list(trained.lines)
    if task.test is not None:
        looks = record_look(target, task.test, task.key)
        card["test"] = {**card.get("test", {}), "hash": task.test, "looks": looks}
        if looks > 1:
            lines.append(
                f"the test part was looked at by {looks - 1} other training{'s' if looks > 2 else ''} before: figures "
                "on it are no longer those of data that nothing was chosen by"
            )
    with building(target) as fresh:
        trained.write(fresh)
        write_text(fresh / CARD, json.dumps(card, ensure_ascii=False, indent=1) + "\n")
        write_text(fresh / README, trained.readme)
    work.remove()
    return Outcome(target, card, tuple(lines))


def read_task(config: str | Path | Mapping[str, Any]) -> Task:
    """The training that settings describe, its data read and checked."""
    if isinstance(config, Mapping):
        return read_settings(config, None).task(Path())
    path = Path(config)
    try:
        given = read_mapping(path, "a training needs at least kind and data")
    except OSError as error:
        raise InputError.at(path, None, None, f"cannot be read: {error.strerror or error}") from error
    return read_settings(given, path).task(path.parent)


def read_settings(given: Mapping[str, Any], path: Path | None) -> Training:
    """The settings in a mapping, which stands in the file `path`. Raises InputError with every fault, by line and
    field."""
    lines, repeated = ({}, []) if path is None else yaml_lines(path)
    file = Path("settings") if path is None else path
    faults = list(repetitions(file, repeated))
    kind = given.get("kind")
    if kind not in KINDS:
        missing = "is missing" if kind is None else f"there is no kind {kind!r}{nearest(kind, KINDS)}"
        faults.append(Fault(str(file), lines.get(("kind",)), "kind", f"{missing}; kinds: {', '.join(KINDS)}"))
        raise in_order(faults)
    settings = kind_named(str(kind))
    try:
        checked = settings.model_validate(given)
    except ValidationError as error:
        raise in_order([*faults, *faults_of(file, lines, error, settings)]) from error
    if faults:
        raise in_order(faults)
    return checked


def kind_named(kind: str) -> type[Training]:
    """The class of a kind's settings."""
    module, _, name = KINDS[kind].partition(":")
    settings: type[Training] = getattr(import_module(module), name)
    return settings


def is_trained(folder: Path) -> bool:
    """Whether a folder was written by `train`."""
    return read_card(folder) is not None


def read_card(folder: Path) -> dict[str, Any] | None:
    """The card of a folder that `train` wrote; None for another folder."""
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text("utf-8"))
        return card if card.get("schema") == SCHEMA else None
    except (OSError, ValueError, AttributeError):
        return None


def fitted_among(folder: Path, texts: Iterable[str]) -> int:
    """How many of these documents' texts a trained judge was fitted to, or its settings chosen by: its agreement with
    people there says nothing of others. 0 for a folder that `train` did not write."""
    card = read_card(folder)
    known = frozenset((card or {}).get("split", {}).get("fitted_on", ()))
    return sum(text_hash(text) in known for text in texts) if known else 0
