"""What every kind of training is: settings in one file, what is read before any work, and what comes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from summeter.engine.progress import Progress
from summeter.records import Record, digest
from summeter.training.split import Split
from summeter.training.work import Work


class Trained(NamedTuple):
    """The outcome of a training.

    `card` says what it was trained on and how good it is (`card.json`), `readme` the same as Markdown; `lines` are what
    a terminal shows; `write` fills a fresh folder with all but the card. Equal settings, data and seed give equal
    folders: no time, no path.
    """

    card: dict[str, Any]
    lines: Sequence[str]
    readme: str
    write: Callable[[Path], None]


class Task(ABC):
    """A training that can begin: everything it needs was read and checked.

    `key` is a digest of all that bears on the result (settings, data, weights): a training that was interrupted is
    carried on where it is the same. `test` names the test part by its hash (None: nothing is looked at). `space` is how
    many bytes the folder and the work beside it will take, roughly.
    """

    key: str
    test: str | None
    space: int = 0

    @abstractmethod
    def train(self, work: Work, show: Progress) -> Trained:
        """Do the work, keeping in `work` what an interrupted training is carried on from."""


class Training(Record):
    """Settings that all kinds of training share; each kind is a subclass with settings of its own.

    `seed` decides all that is random. `split` divides the documents. `look_at_test` False leaves the test part alone:
    choose settings so, and look once at the end. `resamples` is how many draws of documents an interval is made of.
    """

    kind: str
    seed: int = Field(default=0, ge=0)
    split: Split = Split()
    look_at_test: bool = True
    resamples: int = Field(default=1000, ge=0)

    def task(self, base: Path) -> Task:
        """Read and check everything; paths are relative to `base`. Raises UsageError, InputError, InstallError."""
        raise NotImplementedError(self.kind)

    def digest(self, **more: Any) -> str:
        """A digest of the settings and of what else bears on the result."""
        return digest({"settings": self.model_dump(mode="json"), **more})
