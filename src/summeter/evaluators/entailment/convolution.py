"""SummaC-Conv: a convolution over the histogram of a sentence's entailment probabilities.

See Laban et al. (TACL 2022, section 3.2). The probabilities with which the passages of the document entail a summary
sentence are binned. A 1-D convolution over the bins (one weight per bin, shared by all sentences) gives the score of
the sentence. The score of the summary is the mean over its sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, NEUTRAL, Floats
from summeter.models.fitted import DataFile, read_fitted, write_fitted
from summeter.records import HASH, InputError, digest

SCHEMA = "summeter-summac-conv/1"
WEIGHTS, SCRIPT = "SummaC-Conv weights", "scripts/train_summac.py"
COLUMNS = {"e": ENTAIL, "c": CONTRADICT, "n": NEUTRAL}
EVEN50 = tuple(round(step / 50, 2) for step in range(51))
"""Fifty bins of equal width."""


@dataclass(frozen=True)
class Convolution:
    """The weights of SummaC-Conv.

    `bins` are the edges of the bins, from 0 to 1; the last bin is closed on both sides. `labels` are the counted
    probabilities (`e`, `c`, `n`), each with len(bins) - 1 consecutive weights. The score of a sentence is weights x
    counts + `bias`. The probability of a summary is sigmoid(final x (min, mean, max of the scores) + final_bias).
    `rows` is the maximum number of sentences of a summary, or None to use all. `card` documents the origin of the
    weights.

    >>> one = Convolution(bins=(0.0, 0.5, 1.0), labels="e", weights=(-1.0, 2.0), bias=0.5)
    >>> table = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]])
    >>> one.score(table)      # one passage in the lower bin, two in the upper: -1 + 4 + .5
    3.5
    """

    bins: tuple[float, ...]
    labels: str
    weights: tuple[float, ...]
    bias: float = 0.0
    final: tuple[float, float, float] = (0.0, 1.0, 0.0)
    final_bias: float = 0.0
    rows: int | None = None
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        edges = np.array(self.bins)
        if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or np.any(np.diff(edges) <= 0):
            raise ValueError("`bins` must increase from 0 to 1")
        if not self.labels or set(self.labels) - set(COLUMNS):
            raise ValueError(f"`labels` must consist of e, c and n, got {self.labels!r}")
        expected = len(self.labels) * (len(edges) - 1)
        if len(self.weights) != expected:
            raise ValueError(f"there are {len(self.weights)} weights for {expected} bins")

    @property
    def id(self) -> str:
        """The first sixteen hexadecimal digits of the hash of all numbers."""
        return digest([value for name, value in asdict(self).items() if name != "card"], HASH)

    def score(self, table: Floats) -> float:
        """Return the unbounded score of a sentence.

        With the default `final`, a higher score is more consistent.
        """
        return float(histogram(table, self.bins, self.labels) @ np.array(self.weights) + self.bias)

    def probability(self, scores: Sequence[float]) -> float:
        """Return the probability that a summary with these sentence scores is consistent."""
        used = np.array(scores[: self.rows])
        pooled = np.array([used.min(), used.mean(), used.max()])
        return float(1 / (1 + np.exp(-(pooled @ np.array(self.final) + self.final_bias))))

    def save(self, file: Path) -> None:
        """Write the weights as JSON."""
        write_fitted(file, SCHEMA, asdict(self), indent=1)


def histogram(table: Floats, bins: Sequence[float], labels: str) -> Floats:
    """Return the counts of passages by bin, concatenated over the labels.

    Rows of NaN are left out.

    >>> histogram(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]), (0.0, 0.5, 1.0), "en").tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    classified = table[~np.isnan(table[:, ENTAIL])]
    # Probabilities may exceed 1 by a rounding error.
    counts = [np.histogram(np.clip(classified[:, COLUMNS[label]], 0, 1), bins=np.array(bins))[0] for label in labels]
    return np.concatenate(counts).astype(np.float64)


def load(file: str | Path | DataFile) -> Convolution:
    """Read weights that were written by `Convolution.save`.

    Raises UsageError if the file does not exist and InputError if it is invalid.
    """
    file = DataFile.read(file, WEIGHTS, f"; {SCRIPT} creates one")
    values = read_fitted(file, SCHEMA, WEIGHTS, SCRIPT)
    try:
        lists = {name: tuple(map(float, values[name])) for name in ("bins", "weights", "final")}
        return Convolution(**{**values, **lists})
    except (KeyError, TypeError, ValueError) as error:
        raise InputError.at(file.path, f"cannot be read as SummaC-Conv weights: {error}") from error


def released(
    mlp: tuple[Sequence[float], float],
    final: tuple[Sequence[Sequence[float]], Sequence[float]],
    *,
    bins: Sequence[float],
    labels: str = "e",
    aggregate: str = "mean",
) -> Convolution:
    """Convert the weights of the released code (`mlp` and `layer_final`, each a weight and a bias).

    The released code applies a softmax to two outputs, so only the difference of the outputs matters. The last layer
    receives the mean three times, or the minimum, mean and maximum if `aggregate` is "all". Only the first ten
    sentences of a summary are used.
    """
    (against, support), (bias_against, bias_support) = final
    gap = np.array(support, dtype=np.float64) - np.array(against, dtype=np.float64)
    place = {"min": 0, "mean": 1, "max": 2}
    pooled = gap if aggregate == "all" else np.eye(3)[place[aggregate]] * gap.sum()
    first, second, third = map(float, pooled)
    return Convolution(
        tuple(map(float, bins)),
        labels,
        tuple(map(float, mlp[0])),
        float(mlp[1]),
        (first, second, third),
        float(bias_support) - float(bias_against),
        10,
    )
