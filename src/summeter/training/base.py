"""Define the base classes of all kinds of training: the settings, the checked task, and the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from summeter.data.dataset import Dataset
from summeter.engine.progress import Progress
from summeter.records import Record, digest
from summeter.training.ratings import LABELS, Ratings, scale_ends
from summeter.training.split import Split, split_texts, subset_masks
from summeter.training.work import Work


class Trained(NamedTuple):
    """The result of a training.

    `card` describes the training data and the quality of the judge (`card.json`), `readme` contains the same
    information as Markdown, and `lines` are the lines shown in the terminal. `write` writes all files except the card
    to a new folder. Equal settings, data and seeds give equal folders, which contain neither times nor paths.
    """

    card: dict[str, Any]
    lines: Sequence[str]
    readme: str
    write: Callable[[Path], None]


class Task(ABC):
    """A training whose settings and data have been read and checked.

    `how` are the settings, `data` the dataset, `ratings` its human ratings, `ends` the ends of the scale of each
    aspect, `partition` the subsets of the documents, and `rows` the mask of the summaries in each subset. `key` is a
    digest of everything that affects the result (settings, data, weights); an interrupted training is resumed if its
    key is the same. `test` identifies the test set, or is None if no test set is evaluated. `space` is the
    approximate disk space that the training needs, in bytes.
    """

    key: str
    space: int = 0

    def __init__(self, how: Training, data: Dataset, ratings: Ratings) -> None:
        self.how, self.data, self.ratings = how, data, ratings
        self.ends = {aspect: scale_ends(ratings, aspect, how.scale) for aspect in ratings.aspects}
        self.partition = split_texts(ratings.texts, how.split, ratings.domains)
        items = [(row.document_id, row.system) for row in ratings.summaries]
        self.rows = subset_masks(self.partition, how.split, items)
        has_test = how.look_at_test and self.rows["test"].any()
        self.test = f"{data.card.name}:{self.partition.test}" if has_test else None

    @abstractmethod
    def train(self, work: Work, show: Progress) -> Trained:
        """Train the judge and return the result.

        Intermediate results are stored in `work`, so that an interrupted training can be resumed.
        """


class Training(Record):
    """Settings of all kinds of training; each kind is a subclass with further settings.

    `preset` and `map` have the same meaning as in `summeter score`. `labels` is the judgment set with the human
    ratings, and `aspects` defaults to all rated aspects. `scale` holds the ends of the rating scale (by default the
    lowest and the highest rating). `coverage` is the share of human ratings that intervals are calibrated to contain.
    `seed` is the random seed. `split` says how the documents are divided into subsets. If `look_at_test` is False, the
    test set is not evaluated, so that settings can be compared without using it. `resamples` is the number of bootstrap
    resamples for each interval.
    """

    kind: str
    preset: str | None = None
    map: dict[str, str] = Field(default_factory=dict)
    labels: str = LABELS
    aspects: tuple[str, ...] | None = Field(default=None, min_length=1)
    scale: tuple[float, float] | None = None
    coverage: float = Field(default=0.9, gt=0, lt=1)
    seed: int = Field(default=0, ge=0)
    split: Split = Split()
    look_at_test: bool = True
    resamples: int = Field(default=1000, ge=0)

    @field_validator("scale")
    @classmethod
    def _check_scale(cls, scale: tuple[float, float] | None) -> tuple[float, float] | None:
        if scale is not None and not scale[0] < scale[1]:
            raise ValueError(f"{scale[0]:g} must be below {scale[1]:g}")
        return scale

    def task(self, base: Path) -> Task:
        """Read and check the data and the models, and return the task; paths are relative to `base`.

        Raises UsageError for unsuitable settings or data, InputError for invalid files, and InstallError if a package
        is missing.
        """
        raise NotImplementedError(self.kind)

    def digest(self, **more: Any) -> str:
        """Return a digest of the settings and of `more`, which holds other values that affect the result."""
        return digest({"settings": self.model_dump(mode="json"), **more})
