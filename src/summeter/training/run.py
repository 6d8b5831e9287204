"""Train a judge: read the settings, train, and write a folder either completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from summeter._version import __version__
from summeter.data.atomic import building, check_folder, write_text
from summeter.data.mapping import faults_of, in_order, read_model, yaml_lines
from summeter.engine.progress import Progress, in_notebook
from summeter.records import InputError, nearest
from summeter.training.base import Task, Training
from summeter.training.split import text_hash
from summeter.training.work import Work, record_evaluation

KINDS: Final[dict[str, str]] = {
    "fused": "summeter.training.fused:FusedTraining",
    "regression": "summeter.training.regression:Regression",
}
"""The settings class of each kind of training as "module:Class", which is imported on first use."""

CARD = "card.json"
README = "README.md"
SCHEMA = "summeter-trained/1"


class Outcome(NamedTuple):
    """The result of a training: the folder, the card, and the lines for the terminal."""

    folder: Path
    card: Mapping[str, Any]
    lines: tuple[str, ...]


def train(
    config: str | Path | Mapping[str, Any], out: str | Path, *, force: bool = False, progress: Progress | None = None
) -> Outcome:
    """Train the judge described by a settings file or a mapping, and write the folder `out`.

    Paths in a settings file are relative to the file, and paths in a mapping to the working directory. The same call
    resumes an interrupted training. Before the training begins, InputError is raised with all errors in the file,
    UsageError if the data are not suitable or the folder is not empty, and InstallError if a package is not installed.
    With `force`, a folder that was written by an earlier training is replaced, but no other folder.
    """
    target, show = Path(out), progress or in_notebook("training")
    check_folder(target, "the folder of a training", lambda folder: read_card(folder) is not None, force=force)
    task = read_task(config)
    work = Work(target, task.key, task.space)
    with show:
        if work.discarded:
            show.note("settings or data have changed since the interrupted training run: starting again")
        trained = task.train(work, show)
    card = {"schema": SCHEMA, "summeter": __version__, **trained.card, "key": task.key}
    lines = list(trained.lines)
    if task.test is not None:
        evaluations = record_evaluation(target, task.test, task.key)
        card["test"] = {**card.get("test", {}), "hash": task.test, "looks": evaluations}
        if evaluations > 1:
            lines.append(
                f"{evaluations - 1} other training run{'s' if evaluations > 2 else ''} evaluated this test set before: "
                "if settings were chosen by these figures, the figures are optimistic"
            )
    with building(target) as fresh:
        trained.write(fresh)
        write_text(fresh / CARD, json.dumps(card, ensure_ascii=False, indent=1) + "\n")
        write_text(fresh / README, trained.readme)
    work.remove()
    return Outcome(target, card, tuple(lines))


def read_task(config: str | Path | Mapping[str, Any]) -> Task:
    """Return the training that the settings describe, after reading and checking its data."""
    file = Path("settings") if isinstance(config, Mapping) else Path(config)

    def model(values: Mapping[str, Any]) -> type[Training]:
        kind = values.get("kind")
        if kind not in KINDS:
            problem = "is missing" if kind is None else f"{kind!r} is unknown{nearest(kind, KINDS)}"
            line = None if isinstance(config, Mapping) else yaml_lines(file)[0].get(("kind",))
            raise InputError.at(file, f"{problem}; kinds: {', '.join(KINDS)}", line=line, field="kind")
        return kind_named(str(kind))

    if not isinstance(config, Mapping):
        return read_model(file, model, "a training file needs at least kind and data").task(file.parent)
    settings = model(config)
    try:
        return settings.model_validate(config).task(Path())
    except ValidationError as error:
        raise in_order(list(faults_of(file, {}, error, settings))) from error


def kind_named(kind: str) -> type[Training]:
    """Import and return the settings class of a kind of training."""
    module, _, name = KINDS[kind].partition(":")
    settings: type[Training] = getattr(import_module(module), name)
    return settings


def read_card(folder: Path) -> dict[str, Any] | None:
    """Return the card of a folder written by `train`, or None for other folders."""
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text("utf-8"))
        return card if card.get("schema") == SCHEMA else None
    except (OSError, ValueError, AttributeError):
        return None


def fitted_among(folder: Path, texts: Iterable[str]) -> int:
    """Return how many of the texts were used for the training or selection of a trained judge.

    For these texts, the measured agreement of the judge with people is optimistic. Returns 0 for a folder that was not
    written by `train`.
    """
    card = read_card(folder)
    known = frozenset((card or {}).get("split", {}).get("fitted_on", ()))
    return sum(text_hash(text) in known for text in texts) if known else 0
