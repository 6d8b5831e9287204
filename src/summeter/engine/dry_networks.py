"""Local models of a dry run: they count what would go through them, and answer as if nothing were certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

from summeter.models.base import Entailment, Generation, Kind, TokenStates
from summeter.runs.results import result_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Count = Callable[[str, Sequence[tuple[str, ...]]], None]
LIMIT = 500
"""Tokens that a network is taken to read."""


def counting(model: str, tally: Counter[str], seen: set[bytes], stored: Container[bytes] = ()) -> Count:
    """What notes the inputs of a task (as the models name it in the store) in `tally[model]`, each once, and none that
    is stored."""

    def count(task: str, inputs: Sequence[tuple[str, ...]]) -> None:
        for one in inputs:
            key = result_key(model, task, one)
            if key not in seen:
                seen.add(key)
                tally[model] += key not in stored

    return count


def dry_network(kind: Kind, model: str, count: Count) -> Any:
    """A network that only counts. Nothing entails anything, so that what depends on a result is asked for in full."""
    made = {"nli": _NLI, "embed": _Encoder, "encoder": _Encoder, "seq2seq": _Seq2Seq, "coref": _Coref}[kind]
    return made(model, count)


class _Dry:
    def __init__(self, id_: str, count: Count) -> None:
        self.id = id_
        self._count = count


class _NLI(_Dry):
    limit = LIMIT

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 1 for text in texts]

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self._count("nli", pairs)
        return [Entailment(0.0, 1.0, 0.0)] * len(pairs)


class _Encoder(_Dry):
    layers = 12

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        self._count("embedding", [(text,) for text in texts])
        return np.ones((len(texts), 1), dtype=np.float32)

    async def states(self, texts: Sequence[str], layer: int | None = None) -> list[TokenStates]:
        self._count("states", [(text, str(layer)) for text in texts])
        return [_words(text) for text in texts]


class _Seq2Seq(_Dry):
    async def generate(self, sources: Sequence[str], how: Generation | None = None) -> list[str]:
        self._count("generated", [(one, str(how)) for one in sources])
        return list(sources)

    async def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self._count("log-likelihood", pairs)
        return [-1.0] * len(pairs)


class _Coref(_Dry):
    async def clusters(self, text: str) -> list[list[tuple[int, int]]]:
        self._count("coref", [(text,)])
        return []


def _words(text: str) -> TokenStates:
    import re

    import numpy as np

    found = list(re.finditer(r"\S+", text))
    return TokenStates(
        tokens=tuple(one[0] for one in found), ids=tuple(range(len(found))), offsets=tuple(one.span() for one in found),
        special=(False,) * len(found), states=np.ones((len(found), 2), dtype=np.float32),
    )  # fmt: skip
