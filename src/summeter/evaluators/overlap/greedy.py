"""The arithmetic of BERTScore, which matches each token with the most similar other token.

See Zhang et al. (ICLR 2020, equations 2 and 3). Let x_i and y_j be the embeddings of a candidate and a reference,
normalised to unit length, and let w be weights. Then precision = sum_i w_i max_j x_i . y_j / sum_i w_i, recall is the
same with the texts exchanged, and F1 is the harmonic mean of both. w is 1, or the idf of the token over references. As
in the released package, special tokens ([CLS], </s>) have weight 0, but other tokens may be matched with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.models.fitted import DataFile, read_fitted, write_fitted
from summeter.models.networks import TokenStates
from summeter.records import HASH, InputError, digest

IDF_SCHEMA = "summeter-bertscore-idf/1"
IDF_COUNTS, IDF_SCRIPT = "idf counts", "scripts/bertscore_idf.py"
Floats = NDArray[np.float64]


class Greedy(NamedTuple):
    """Precision, recall and F1, and the similarity and weight of each candidate token."""

    precision: float
    recall: float
    f1: float
    best: Floats
    weights: Floats


@dataclass(frozen=True)
class Frequencies:
    """The number of references that contain each token.

    The idf of a token is ln((number of references + 1) / (number of references with the token + 1)).

    >>> one = Frequencies(3, {"the": 3, "mill": 1})
    >>> [round(one.idf(token), 4) for token in ("the", "mill", "boat")]
    [0.0, 0.6931, 1.3863]
    """

    references: int
    holding: Mapping[str, int]

    def idf(self, token: str) -> float:
        """Return the weight of a token; tokens that occur in no reference have the largest weight."""
        return log((self.references + 1) / (self.holding.get(token, 0) + 1))

    @property
    def id(self) -> str:
        """The first sixteen hexadecimal digits of the hash of all numbers."""
        return digest([self.references, dict(self.holding)], HASH)

    @classmethod
    def of(cls, references: Iterable[TokenStates]) -> Frequencies:
        """Count the references in which each token occurs."""
        counts: Counter[str] = Counter()
        total = 0
        for states in references:
            counts.update(set(states.tokens))
            total += 1
        return cls(total, dict(sorted(counts.items())))

    def save(self, file: Path, card: Mapping[str, Any]) -> None:
        """Write the counts as JSON; `card` documents their origin."""
        values = {"card": dict(card), "references": self.references, "holding": dict(self.holding)}
        write_fitted(file, IDF_SCHEMA, values)

    @classmethod
    def load(cls, file: str | Path | DataFile) -> Frequencies:
        """Read a file written by `save`.

        Raises UsageError if the file does not exist, and InputError if it is invalid.
        """
        return _frequencies(DataFile.read(file, IDF_COUNTS, f"; {IDF_SCRIPT} creates one"))


@lru_cache(maxsize=8)
def _frequencies(file: DataFile) -> Frequencies:
    """Read the counts in a file. The result is cached because every document of a run uses it."""
    values = read_fitted(file, IDF_SCHEMA, IDF_COUNTS, IDF_SCRIPT)
    try:
        counts = {str(token): int(count) for token, count in values["holding"].items()}
        return Frequencies(int(values["references"]), counts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError.at(file.path, f"cannot be read as idf counts: {error!r}") from error


def greedy(candidate: TokenStates, reference: TokenStates, idf: Frequencies | None = None) -> Greedy | None:
    """Return the match of two texts, or None if one of them has no token with a positive weight."""
    candidate_weights, reference_weights = weights(candidate, idf), weights(reference, idf)
    if not candidate_weights.sum() or not reference_weights.sum():
        return None
    similar = _unit(candidate.states) @ _unit(reference.states).T
    best, other = similar.max(axis=1), similar.max(axis=0)
    precision = float(best @ candidate_weights / candidate_weights.sum())
    recall = float(other @ reference_weights / reference_weights.sum())
    total = precision + recall
    return Greedy(precision, recall, 2 * precision * recall / total if total else 0.0, best, candidate_weights)


def weights(text: TokenStates, idf: Frequencies | None = None) -> Floats:
    """Return the weight of each token: 0 for special tokens, and 1 or the idf for other tokens."""
    values = [
        0.0 if special else idf.idf(token) if idf else 1.0
        for token, special in zip(text.tokens, text.special, strict=True)
    ]
    return np.array(values)


def _unit(states: NDArray[np.float32]) -> Floats:
    wide = states.astype(np.float64)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: Floats = np.divide(wide, length, out=np.zeros_like(wide), where=length > 0)
    return unit
