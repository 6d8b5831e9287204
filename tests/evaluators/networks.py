"""Fake networks: results from a table, or computed from the words of the texts."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from evaluators.judging import judgments_of
from numpy.typing import NDArray

from summeter.evaluators.base import Evaluator, Tools
from summeter.models.networks import (
    AspectRating,
    Classify,
    ClassifyTokens,
    CompareStates,
    CountLayers,
    CountTokens,
    Embed,
    Encode,
    FindCoreference,
    FindLabels,
    FindTokens,
    FirstWord,
    Generate,
    Labels,
    ModelTask,
    NetworkRequest,
    Rate,
    Rated,
    ScoreTarget,
    TokenLimit,
    TokenLogits,
    TokenStates,
)
from summeter.records import Document, Item, Judgment, Span, Summary
from summeter.text.split import split

T = TypeVar("T")
Row = tuple[float, float, float]
"""Probabilities (entailed, neutral, contradicted)."""
Answers = Mapping[type[NetworkRequest[Any]], Callable[[Any], Any]]


class FakeNetwork:
    """A network that answers each class of requests by a function; equal requests are answered once.

    `asked` are the answered requests (without those of the tokenizer), `texts` their texts. Tokens are words, of which
    `limit` are read.
    """

    def __init__(self, answers: Answers, id_: str = "fake/network", *, limit: int = 512) -> None:
        self.id = id_
        self.answers: dict[type[NetworkRequest[Any]], Callable[[Any], Any]] = {
            CountTokens: lambda request: len(request.text.split()),
            FindTokens: lambda request: tokens_of(request.text),
            TokenLimit: lambda request: min(limit, request.framing.limit or limit),
            CountLayers: lambda _: 12,
            **answers,
        }
        self.asked: list[Any] = []
        self._results: dict[NetworkRequest[Any], Any] = {}

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        await asyncio.sleep(0)
        for request in dict.fromkeys(requests):
            if request not in self._results:
                self._results[request] = self.answers[type(request)](request)
                self.asked += [request] if request.counted else []
        return [self._results[request] for request in requests]

    @property
    def texts(self) -> list[Any]:
        """The texts of each request."""
        return [texts_of(request) for request in self.asked]

    @property
    def framings(self) -> set[Any]:
        """The framing of the texts of each request."""
        return {request.framing for request in self.asked}


def texts_of(request: Any) -> Any:
    """Return the text of a request, or its texts, as a tuple."""
    match request:
        case Classify() | ClassifyTokens():
            return request.texts
        case Generate() | FirstWord():
            return request.source
        case ScoreTarget():
            return request.source, request.target
        case CompareStates():
            return request.first, request.second
        case Rate():
            return request.document, request.summary
    return request.text


@cache
def tokens_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of words and punctuation marks."""
    return tuple(match.span() for match in re.finditer(r"\w+|[^\w\s]", text))


# ---- by table ----


def table_nli(table: Mapping[tuple[str, str], Row] | None = None, *, limit: int = 512) -> FakeNetwork:
    """Return an NLI network with the probabilities in the table; other pairs are neutral."""
    known = table or {}
    return FakeNetwork(
        {Classify: lambda request: logits_of(known.get(request.texts, (0.0, 1.0, 0.0)))}, "table/nli", limit=limit
    )


def logits_of(row: Row) -> NDArray[np.float64]:
    """Return logits whose softmax are these probabilities."""
    return np.log(np.maximum(row, 1e-300))


def table_seq2seq(table: Mapping[str, str] | None = None) -> FakeNetwork:
    """Return a network that generates the table's text for the first text.

    The score increases with the share of the target's words in the source, the probability of the first word with the
    words that the first text shares with the last.
    """

    def first(request: FirstWord) -> NDArray[np.float64]:
        share = 0.05 + 0.9 * (1 - missing(request.source[0], request.source[-1]))
        others = len(request.words) - 1
        return np.log(np.array([share, *[(1 - share) / len(request.words)] * others]))

    answers: Answers = {
        Generate: lambda request: (table or {})[request.source[0]],
        ScoreTarget: lambda request: -0.1 - missing(request.target, request.source),
        FirstWord: first,
    }
    return FakeNetwork(answers, "table/seq2seq")


def table_coreference(*clusters: Sequence[str | tuple[str, int]]) -> FakeNetwork:
    """Return clusters from texts of mentions: a text is its first occurrence, (text, n) the n-th one."""

    def place(text: str, mention: str | tuple[str, int]) -> tuple[int, int]:
        wanted, number = (mention, 0) if isinstance(mention, str) else mention
        at = -1
        for _ in range(number + 1):
            at = text.index(wanted, at + 1)
        return at, at + len(wanted)

    return FakeNetwork(
        {FindCoreference: lambda request: [[place(request.text, one) for one in cluster] for cluster in clusters]},
        "table/coref",
    )


# ---- by words ----


def word_share(premise: str, hypothesis: str) -> float:
    """Return the share of the hypothesis's words found in the premise."""
    have, want = set(words(premise)), words(hypothesis)
    return sum(word in have for word in want) / len(want) if want else 0.0


def word_classifier(*, limit: int = 512) -> FakeNetwork:
    """Return a classifier: the more words of the last text the first has, the higher the supporting class.

    As NLI, entailment is that share, and the rest is neutral.
    """

    def logits(request: Classify) -> NDArray[np.float64]:
        share = word_share(request.texts[0], request.texts[-1])
        if request.classes == "nli":
            return logits_of((share, 1 - share, 0.0))
        if request.classes == 1:
            return np.array([share])
        row = np.zeros(request.classes)
        row[-1] = 8 * share - 4
        return row

    labels = Labels(("entity error", "no error"), several=False)
    return FakeNetwork({Classify: logits, FindLabels: lambda _: labels}, "words/classifier", limit=limit)


def word_tokens() -> FakeNetwork:
    """Return a number per token: the share of the second text's words found in the first."""

    def logits(request: ClassifyTokens) -> TokenLogits:
        offsets, text = [(0, 0)], [-1]
        for number, part in enumerate(request.texts):
            offsets += [*tokens_of(part), (0, 0)]
            text += [*[number] * len(tokens_of(part)), -1]
        share = word_share(request.texts[0], request.texts[-1])
        row = np.full((len(text), request.classes), share, dtype=np.float32)
        return TokenLogits(row, np.array(offsets), np.array(text))

    return FakeNetwork({ClassifyTokens: logits}, "words/tokens")


@cache
def vector(word: str, size: int = 16) -> NDArray[np.float32]:
    """Return a direction that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def word_encoder() -> FakeNetwork:
    """Return an encoder with one token per word between two special tokens.

    The vector of a text is the sum of its words' vectors, normalised to unit length.
    """

    def states(text: str) -> TokenStates:
        inner = tokens_of(text)
        tokens = ("[CLS]", *(text[start:end].lower() for start, end in inner), "[SEP]")
        ids = tuple(int.from_bytes(hashlib.sha256(token.encode()).digest()[:4], "big") for token in tokens)
        special = (True, *[False] * len(inner), True)
        return TokenStates(tokens, ids, ((0, 0), *inner, (0, 0)), special, np.stack([vector(one) for one in tokens]))

    def embedding(request: Embed) -> NDArray[np.float32]:
        total = sum(map(vector, words(request.text)), start=vector("[none]") * 1e-3)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    answers: Answers = {
        Encode: lambda request: states(request.text),
        CompareStates: lambda request: request.measure.of(states(request.first), states(request.second)),
        Embed: embedding,
    }
    return FakeNetwork(answers, "hf/words/roberta-base@0")


def echo() -> FakeNetwork:
    """Return an encoder-decoder that generates its input."""
    network = table_seq2seq()
    network.answers[Generate] = lambda request: request.source[0]
    return network


def word_regressor() -> FakeNetwork:
    """Return coherence from 1 to 5 by the share of the summary's words found in the document."""

    def rated(request: Rate) -> Rated:
        value = 1 + 4 * word_share(request.document, request.summary)
        return Rated({"coherence": AspectRating(value, value - 1, value + 1, 0.9)}, None, {"coherence": 0})

    return FakeNetwork({Rate: rated}, "words/regressor")


def local_models() -> dict[ModelTask, FakeNetwork]:
    """Return a fake network for every task."""
    return {
        "classifier": word_classifier(),
        "token_classifier": word_tokens(),
        "encoder": word_encoder(),
        "seq2seq": echo(),
        "coreference": table_coreference(),
        "regressor": word_regressor(),
    }


def networks(evaluator: Evaluator, **tasks: FakeNetwork) -> dict[str, FakeNetwork]:
    """Return a network for each local role of an evaluator; `tasks` replace those of `local_models`."""
    by_task = {**local_models(), **tasks}
    return {name: by_task[role.kind] for name, role in evaluator.roles.items() if role.kind != "llm"}


# ---- documents and judgments ----


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


def judge(
    evaluator: Evaluator, source: Document, *summaries: str, tools: Tools | None = None, **networks: FakeNetwork
) -> list[list[Judgment]]:
    """Return the judgments of each summary; the document is prepared once, the summaries are judged concurrently.

    `networks` are those of the roles, unless `tools` are given.
    """
    tools = tools or Tools("s", networks=networks)

    async def run() -> list[list[Judgment]]:
        prepared = await evaluator.prepare(source, tools)
        items = [item(source, text, f"s{at}") for at, text in enumerate(summaries)]
        return list(await asyncio.gather(*(judgments_of(evaluator, one, prepared, tools) for one in items)))

    return asyncio.run(run())


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def missing(text: str, other: str) -> float:
    """Return the share of a text's words that the other text lacks."""
    have, want = set(words(other)), words(text)
    return sum(word not in have for word in want) / len(want) if want else 1.0
