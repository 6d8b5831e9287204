"""Networks by table: what a premise says of a hypothesis is written down; whatever is not is neutral."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from evaluators.judging import judgments_of
from numpy.typing import NDArray

from summeter.evaluators.base import Evaluator, Tools
from summeter.models.base import (
    AspectRating,
    Classes,
    Entailment,
    Framing,
    Generation,
    Rated,
    Source,
    StatesMeasure,
    TokenLogits,
    TokenStates,
)
from summeter.records import Document, Item, Judgment, Span, Summary
from summeter.text.split import split

PLAIN = Framing()
Row = tuple[float, float, float]
"""Probabilities (entailed, neutral, contradicted)."""


class TableNLI:
    """Answers from the table; counts words as tokens; remembers what it was asked."""

    id = "table/nli"

    def __init__(self, table: Mapping[tuple[str, str], Row] | None = None, *, limit: int = 512) -> None:
        self.table = dict(table or {})
        self.limit = limit
        self.asked: list[tuple[str, str]] = []
        self.calls = 0

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self.calls += 1
        self.asked += pairs
        await asyncio.sleep(0)
        return [Entailment(*self.table.get(pair, (0.0, 1.0, 0.0))) for pair in pairs]


class TableSeq2Seq:
    """Writes what the table says of a text."""

    id = "table/seq2seq"

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        self.table = table or {}
        self.framings: set[Framing] = set()
        self.asked: list[tuple[str, ...]] = []

    async def generate(
        self, sources: Sequence[Source], how: Generation | None = None, framing: Framing = PLAIN
    ) -> list[str]:
        return [self.table[source if isinstance(source, str) else source[0]] for source in sources]

    async def score(self, pairs: Sequence[tuple[str, str]], framing: Framing = PLAIN) -> list[float]:
        """The more words of the target the source has, the likelier; the framing is remembered."""
        self.framings.add(framing)
        self.asked += pairs
        return [-0.1 - missing(target, source) for source, target in pairs]

    async def first(
        self, sources: Sequence[Source], words: tuple[str, ...], framing: Framing = PLAIN
    ) -> NDArray[np.float64]:
        """The first word is the likelier, the more words the first text shares with the last."""
        self.framings.add(framing)
        rows = [(source,) if isinstance(source, str) else source for source in sources]
        self.asked += rows
        shares = np.array([0.05 + 0.9 * (1 - missing(row[0], row[-1])) for row in rows])
        return np.log(np.stack([shares, *[(1 - shares) / len(words)] * (len(words) - 1)], axis=1))


class TableCoref:
    """Clusters given as the texts of mentions: each stands for all its places, or (text, n) for the n-th one."""

    id = "table/coref"

    def __init__(self, *clusters: Sequence[str | tuple[str, int]]) -> None:
        self.given = clusters
        self.asked = 0

    async def clusters(self, text: str) -> list[list[tuple[int, int]]]:
        self.asked += 1
        return [[self._place(text, one) for one in cluster] for cluster in self.given]

    @staticmethod
    def _place(text: str, mention: str | tuple[str, int]) -> tuple[int, int]:
        wanted, number = (mention, 0) if isinstance(mention, str) else mention
        at = -1
        for _ in range(number + 1):
            at = text.index(wanted, at + 1)
        return at, at + len(wanted)


def document(*sentences: str, text: str | None = None) -> Document:
    whole = text if text is not None else " ".join(sentences)
    spans, at = [], 0
    for sentence in sentences:
        start = whole.index(sentence, at)
        at = start + len(sentence)
        spans.append(Span(of="document", start=start, end=at))
    return Document(id="d", text=whole, sentences=tuple(spans))


def item(source: Document, text: str, system: str = "s") -> Item:
    spans = tuple(Span(of="summary", start=start, end=end) for start, end in split(text))
    summary = Summary(document_id=source.id, system=system, text=text, sentences=spans, splitter="rules-1")
    return Item(document=source, summary=summary)


def judge(evaluator: Evaluator, source: Document, *summaries: str, tools: Tools) -> list[list[Judgment]]:
    """What the evaluator says of each summary; the document is prepared once, the summaries judged side by side."""

    async def run() -> list[list[Judgment]]:
        prepared = await evaluator.prepare(source, tools)
        items = [item(source, text, f"s{at}") for at, text in enumerate(summaries)]
        return list(await asyncio.gather(*(judgments_of(evaluator, one, prepared, tools) for one in items)))

    return asyncio.run(run())


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def missing(text: str, other: str) -> float:
    """The share of a text's words that the other one has not."""
    have, want = set(words(other)), words(text)
    return sum(word not in have for word in want) / len(want) if want else 1.0


class WordNLI(TableNLI):
    """Entailment is the share of the hypothesis' words that the premise has."""

    id = "words/nli"

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self.asked += pairs
        return [self._one(premise, hypothesis) for premise, hypothesis in pairs]

    @staticmethod
    def _one(premise: str, hypothesis: str) -> Entailment:
        have, want = set(words(premise)), words(hypothesis)
        share = sum(word in have for word in want) / len(want) if want else 0.0
        return Entailment(share, 1 - share, 0.0)


class WordClassifier:
    """Of any number of classes: the more of the last text's words the first one has, the higher the class that speaks
    for it."""

    id = "words/classifier"

    def __init__(self, *, limit: int = 512) -> None:
        self.limit = limit
        self.asked: list[tuple[str, ...]] = []
        self.how: list[Framing] = []

    def room(self, how: Framing) -> int:
        return min(self.limit, how.limit or self.limit)

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def logits(
        self,
        rows: Sequence[tuple[str, ...]],
        classes: Classes,
        how: Framing = Framing(),  # noqa: B008 - frozen
    ) -> NDArray[np.float64]:
        self.asked += rows
        self.how += [how] * len(rows)
        shares = [WordNLI._one(row[0], row[-1]).entail for row in rows]
        if classes == 1:
            return np.array(shares).reshape(len(rows), 1)
        places = {"nli": 0, 2: 1, 3: 2}
        table = np.zeros((len(rows), 3 if classes == "nli" else classes))
        table[:, places[classes]] = [8 * share - 4 for share in shares]
        return table


class WordTokens:
    """A number for each token: at the first one the share of the second text's words that the first one has."""

    id = "words/tokens"

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [[match.span() for match in re.finditer(r"\w+|[^\w\s]", text)] for text in texts]

    async def logits(
        self,
        rows: Sequence[tuple[str, ...]],
        classes: int,
        how: Framing = Framing(),  # noqa: B008 - frozen
    ) -> list[TokenLogits]:
        self.asked += rows
        return [await self._row(row, classes) for row in rows]

    async def _row(self, row: tuple[str, ...], classes: int) -> TokenLogits:
        offsets, text = [(0, 0)], [-1]
        for number, places in enumerate(await self.offsets(row)):
            offsets += [*places, (0, 0)]
            text += [*[number] * len(places), -1]
        logits = np.full((len(text), classes), WordNLI._one(row[0], row[-1]).entail, dtype=np.float32)
        return TokenLogits(logits, np.array(offsets), np.array(text))


def vector(word: str, size: int = 16) -> NDArray[np.float32]:
    """A direction of the word's own."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


class WordEmbedder:
    """The sum of a text's word vectors, made a unit vector."""

    id = "words/embed"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        sums = np.stack([sum(map(vector, words(text)), start=vector("[none]") * 1e-3) for text in texts])
        return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)


class WordEncoder:
    """One token a word, between two special ones; a layer above turns the states a little."""

    id = "hf/words/roberta-base@0"
    layers = 12

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.layer: int | None = None

    async def states(self, texts: Sequence[str], layer: int | None = None) -> list[TokenStates]:
        self.asked += texts
        self.layer = layer
        return [self._one(text) for text in texts]

    async def measured(self, pairs: Sequence[tuple[str, str]], layer: int, measure: StatesMeasure) -> list[float]:
        return [measure.of(*await self.states(pair, layer)) for pair in pairs]

    @staticmethod
    def _one(text: str) -> TokenStates:
        found = list(re.finditer(r"\w+|[^\w\s]", text))
        tokens = ("[CLS]", *(match[0].lower() for match in found), "[SEP]")
        inner = [(match.start(), match.end()) for match in found]
        ids = tuple(int.from_bytes(hashlib.sha256(token.encode()).digest()[:4], "big") for token in tokens)
        return TokenStates(
            tokens, ids, ((0, 0), *inner, (0, 0)), (True, *[False] * len(found), True),
            np.stack([vector(token) for token in tokens]),
        )  # fmt: skip


class EchoSeq2Seq(TableSeq2Seq):
    """Writes what it is given."""

    id = "echo/seq2seq"

    def __init__(self) -> None:
        super().__init__({})

    async def generate(
        self, sources: Sequence[Source], how: Generation | None = None, framing: Framing = PLAIN
    ) -> list[str]:
        return [source if isinstance(source, str) else source[0] for source in sources]


class WordRegressor:
    """Coherence from 1 to 5 by the share of the summary's words that the document has; no other aspect."""

    id = "words/regressor"

    async def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Rated]:
        return [self._rated(*pair) for pair in pairs]

    @staticmethod
    def _rated(document: str, summary: str) -> Rated:
        own = words(summary)
        value = 1 + 4 * sum(word in words(document) for word in own) / max(1, len(own))
        return Rated({"coherence": AspectRating(value, value - 1, value + 1, 0.9)}, None, {"coherence": 0})


def local_models() -> dict[str, Any]:
    """A model of every kind, by kind."""
    return {
        "nli": WordNLI(), "classifier": WordClassifier(), "tokens": WordTokens(), "embed": WordEmbedder(),
        "encoder": WordEncoder(), "seq2seq": EchoSeq2Seq(), "coref": TableCoref(), "regressor": WordRegressor(),
    }  # fmt: skip


def networks(evaluator: Evaluator, **kinds: Any) -> dict[str, Any]:
    """A model in each role of an evaluator that takes a local one; `kinds` replace those of `local_models`."""
    by_kind = {**local_models(), **kinds}
    return {name: by_kind[role.kind] for name, role in evaluator.roles.items() if role.kind != "llm"}
