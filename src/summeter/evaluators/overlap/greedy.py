"""BERTScore's arithmetic: tokens of one text matched with the most similar ones of another (Zhang et al., ICLR 2020).

With token states x_i of a candidate and y_j of a reference, made unit vectors, and weights w: precision =
sum_i w_i max_j x_i . y_j / sum_i w_i, recall the same the other way round, F1 their harmonic mean (equations 2 and 3; w
is 1, or the idf of the token over references). As in the released package a special token ([CLS], </s>) weighs nothing,
but other tokens may be matched with it.
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
    """Precision, recall and F1, and for each token of the candidate its highest similarity and its weight."""

    precision: float
    recall: float
    f1: float
    best: Floats
    weights: Floats


@dataclass(frozen=True)
class Frequencies:
    """In how many of so many references each token stands: idf = ln((references + 1) / (those with the token + 1)).

    >>> one = Frequencies(3, {"the": 3, "mill": 1})
    >>> [round(one.idf(token), 4) for token in ("the", "mill", "boat")]
    [0.0, 0.6931, 1.3863]
    """

    references: int
    holding: Mapping[str, int]

    def idf(self, token: str) -> float:
        """The token's weight; a token of no reference has the largest."""
        return log((self.references + 1) / (self.holding.get(token, 0) + 1))

    @property
    def id(self) -> str:
        """Eight hex digits that change with any number."""
        return digest([self.references, dict(self.holding)], HASH)

    @classmethod
    def of(cls, references: Iterable[TokenStates]) -> Frequencies:
        """Counted over references; each token once a reference."""
        held: Counter[str] = Counter()
        count = 0
        for states in references:
            held.update(set(states.tokens))
            count += 1
        return cls(count, dict(sorted(held.items())))

    def save(self, file: Path, card: Mapping[str, Any]) -> None:
        """Write the counts as JSON; `card` says of what."""
        values = {"card": dict(card), "references": self.references, "holding": dict(self.holding)}
        write_fitted(file, IDF_SCHEMA, values)

    @classmethod
    def load(cls, file: str | Path | DataFile) -> Frequencies:
        """Read what `save` wrote. UsageError where there is no such file, InputError where it is another."""
        return _frequencies(DataFile.read(file, IDF_COUNTS, f"; {IDF_SCRIPT} makes one"))


@lru_cache(maxsize=8)
def _frequencies(file: DataFile) -> Frequencies:
    """The counts of a file, parsed once: every document of a run reads them."""
    values = read_fitted(file, IDF_SCHEMA, IDF_COUNTS, IDF_SCRIPT)
    try:
        held = {str(token): int(many) for token, many in values["holding"].items()}
        return Frequencies(int(values["references"]), held)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError.at(file.path, None, None, f"cannot be read as idf counts: {error!r}") from error


def greedy(candidate: TokenStates, reference: TokenStates, idf: Frequencies | None = None) -> Greedy | None:
    """The match of two texts; None where one of them has no token that weighs anything."""
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
    """The weight of each token: 0 for special ones; else 1, or its idf."""
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
