"""Requests to local networks: what each task takes and gives, and readings of the results.

A network is asked one way, whatever it computes:

    logits, other = await network.ask([Classify((premise, hypothesis), "nli"), Classify((premise, other), "nli")])

A request is a frozen record that holds all that decides its result. So it is also the key of the stored result
(`key`), and its class knows how a result is stored (`codec`), how many requests are computed together (`at_once`), and
whether they are work of the network or only of its tokenizer and files (`counted`). A new task is a request here, a
function in `summeter.models.local` that computes it, and a row in the table of `summeter.models.local.load`.

A network batches concurrent requests by itself: pass as many as there are, in any order. An input that is longer than
the network reads is cut at the end and counted; ask `CountTokens` and `TokenLimit` first to avoid that.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from summeter.models.base import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

ModelTask = Literal["classifier", "token_classifier", "encoder", "seq2seq", "coreference", "regressor"]
"""What a local model is, which decides the requests that it answers."""

Cut = Literal["longest_first", "only_first"] | tuple[int, ...]
"""What is cut where an input is longer than the model reads: the longer text, the first text alone (the longer one
where the second leaves no room), or each text at a number of tokens of its own."""

Classes = Literal["nli"] | int
"""The outputs of a classifier: how many it must have, in its own order, or "nli": entailment, neutral, contradiction,
as its config names them."""


class Framing(NamedTuple):
    """How texts become one input of a local model.

    `template`: the texts stand in one text, at the places {0}, {1}...; {eos} is the mark that ends an input, and marks
    of the tokenizer in the template are read as marks (`{0}{eos}{1}`). Without one, a row is one text or a pair.
    `marks`: also those inside the texts are, as released code does; else they are plain characters. `limit`: tokens of
    the input, marks counted, where the method says it and not the model's files; a model with fewer positions, or with
    a `max_tokens` of its own, reads fewer. `segments` False: both texts of a pair have segment 0, as some methods have
    it.
    """

    cut: Cut = "longest_first"
    template: str | None = None
    marks: bool = False
    limit: int | None = None
    segments: bool = True


PLAIN = Framing()


class Generation(NamedTuple):
    """How an encoder-decoder generates; None leaves it to the model's own generation config. Nothing is sampled.

    `min_new_tokens` and `max_new_tokens` count what is generated, the end mark too; `length_penalty` and
    `early_stopping` are those of beam search; `start` is the mark that the decoder starts with (`<s>`).

    `search="plain_sum"` is AllenNLP's beam search: a hypothesis that has ended keeps its place in the beam, and the sum
    of log-probabilities ranks all of them. It reads nothing of the model's generation config except the end mark, and
    takes `max_new_tokens`, `num_beams` and `start` alone. `search="qaeval"` is the same search with the decoder
    positions of QAEval 0.1.0, which numbers them 0, 2, 3, ...
    """

    max_new_tokens: int | None = None
    num_beams: int | None = None
    min_new_tokens: int | None = None
    length_penalty: float | None = None
    early_stopping: bool | None = None
    start: str | None = None
    search: Literal["plain_sum", "qaeval"] | None = None


AS_CONFIGURED = Generation()


# ---- results ----


class Entailment(NamedTuple):
    """Probabilities that the premise entails, is neutral to, contradicts the hypothesis; they sum to 1."""

    entail: float
    neutral: float
    contradict: float


class Labels(NamedTuple):
    """What the outputs of a classifier stand for, in their order. `several`: an input may have more than one label, and
    each has a probability of its own."""

    names: tuple[str, ...]
    several: bool


class TokenLogits(NamedTuple):
    """Raw outputs of every token of an input, marks included.

    `logits` has shape (tokens, classes); `offsets` (tokens, 2) are (start, end) in code points of the token's text,
    (0, 0) for marks; `text` is which text a token is of (0, 1; -1 for marks); `truncated` says that the end of a text
    is missing.
    """

    logits: NDArray[np.float32]
    offsets: NDArray[np.int64]
    text: NDArray[np.int64]
    truncated: bool = False


class TokenStates(NamedTuple):
    """A text as an encoder sees it, special tokens included (`special` marks them).

    `offsets` are (start, end) in code points of the text, (0, 0) for special tokens; `states` has shape
    (tokens, dimensions) and is not normalised; `truncated` says that the end of the text is missing.
    """

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    special: tuple[bool, ...]
    states: NDArray[np.float32]
    truncated: bool = False


class StatesMeasure(NamedTuple):
    """A number of two texts' token states; its name stands in the key of a stored result."""

    name: str
    of: Callable[[TokenStates, TokenStates], float]


class AspectRating(NamedTuple):
    """What a trained judge gives an aspect, on people's scale and not clipped to it: the share `coverage` of people's
    ratings are to lie from `low` to `high` (None: not known)."""

    value: float
    low: float | None
    high: float | None
    coverage: float


class Rated(NamedTuple):
    """A trained judge's ratings of a summary by aspect.

    `span_free` is the probability that the summary has no inconsistent span, None where the judge was not trained for
    it. `truncated_tokens` counts by aspect the document's tokens that were cut off; an aspect that is there and has no
    rating was not rated, because its prompt and the summary leave no room for the document.
    """

    ratings: Mapping[str, AspectRating]
    span_free: float | None
    truncated_tokens: Mapping[str, int]


# ---- how results are stored ----


class Codec(NamedTuple, Generic[T]):
    """How results of one type become bytes in the store, and come back."""

    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]


def _pack_token_logits(row: TokenLogits) -> bytes:
    header = struct.pack("<iiB", *row.logits.shape, row.truncated)
    arrays = (row.logits.astype("<f4"), row.offsets.astype("<i4"), row.text.astype("i1"))
    return b"".join([header, *(array.tobytes() for array in arrays)])


def _unpack_token_logits(data: bytes) -> TokenLogits:
    tokens, classes, truncated = struct.unpack_from("<iiB", data)
    place = struct.calcsize("<iiB")
    logits = np.frombuffer(data, "<f4", tokens * classes, place).reshape(tokens, classes)
    place += logits.nbytes
    offsets = np.frombuffer(data, "<i4", tokens * 2, place).reshape(tokens, 2)
    text = np.frombuffer(data, "i1", tokens, place + offsets.nbytes)
    return TokenLogits(logits, offsets.astype(np.int64), text.astype(np.int64), bool(truncated))


def _unpack_labels(data: bytes) -> Labels:
    names, several = json.loads(data)
    return Labels(tuple(names), several)


def _unpack_rated(data: bytes) -> Rated:
    ratings, span_free, truncated = json.loads(data)
    return Rated({aspect: AspectRating(*rating) for aspect, rating in ratings.items()}, span_free, truncated)


INTEGER: Codec[int] = Codec(lambda value: struct.pack("<q", value), lambda data: int(struct.unpack("<q", data)[0]))
NUMBER: Codec[float] = Codec(lambda value: struct.pack("<d", value), lambda data: float(struct.unpack("<d", data)[0]))
SINGLES: Codec[Any] = Codec(lambda row: row.astype("<f4").tobytes(), lambda data: np.frombuffer(data, "<f4"))
DOUBLES: Codec[Any] = Codec(lambda row: row.astype("<f8").tobytes(), lambda data: np.frombuffer(data, "<f8"))
TEXT: Codec[str] = Codec(str.encode, bytes.decode)
PLACES: Codec[list[tuple[int, int]]] = Codec(
    lambda places: json.dumps(places).encode(), lambda data: [(start, end) for start, end in json.loads(data)]
)
CLUSTERS: Codec[list[list[tuple[int, int]]]] = Codec(
    lambda clusters: json.dumps(clusters).encode(),
    lambda data: [[(start, end) for start, end in cluster] for cluster in json.loads(data)],
)
TOKEN_LOGITS: Codec[TokenLogits] = Codec(_pack_token_logits, _unpack_token_logits)
LABELS: Codec[Labels] = Codec(lambda labels: json.dumps(labels).encode(), _unpack_labels)
RATED: Codec[Rated] = Codec(lambda rated: json.dumps(rated).encode(), _unpack_rated)


# ---- requests ----


def _words(text: str) -> list[tuple[int, int]]:
    return [word.span() for word in re.finditer(r"\S+", text)]


class NetworkRequest(Generic[T]):
    """What a network is to compute; T is the type of the result. Equal requests have equal results."""

    codec: ClassVar[Codec[Any] | None]
    """None: results are too large to store, and a replay computes them anew."""
    at_once: ClassVar[int] = 8192
    """Requests that are computed together: enough to sort well by length, few enough to hold their results."""
    counted: ClassVar[bool] = True

    @property
    def key(self) -> str:
        """The fields as JSON."""
        return to_json(vars(self))

    @property
    def blank(self) -> T:
        """A result of the right form for a dry run: nothing entails anything, so that what depends on a result is asked
        for in full."""
        raise NotImplementedError


@dataclass(frozen=True)
class Classify(NetworkRequest["NDArray[np.float32]"]):
    """The raw outputs of a sequence classifier, or of a regression (one output), for a text, a pair or the texts of a
    template. UsageError where the model has other classes."""

    codec = SINGLES

    texts: tuple[str, ...]
    classes: Classes
    framing: Framing = PLAIN

    @property
    def blank(self) -> NDArray[np.float32]:
        # Neutral, where that is a class.
        return np.zeros(3 if self.classes == "nli" else self.classes, dtype=np.float32)


@dataclass(frozen=True)
class FindLabels(NetworkRequest[Labels]):
    """The labels of a sequence classifier, as its config names them."""

    codec = LABELS
    counted = False


@dataclass(frozen=True)
class ClassifyTokens(NetworkRequest[TokenLogits]):
    """The raw outputs of a token classifier (or the two outputs of extractive question answering) for a text or a pair.
    UsageError where the model has another number of them, ValueError for a template."""

    codec = TOKEN_LOGITS
    at_once = 512

    texts: tuple[str, ...]
    classes: int
    framing: Framing = PLAIN

    @property
    def blank(self) -> TokenLogits:
        offsets, text = [(0, 0)], [-1]
        for number, part in enumerate(self.texts):
            words = _words(part)
            offsets += [*words, (0, 0)]
            text += [*[number] * len(words), -1]
        return TokenLogits(np.zeros((len(text), self.classes), dtype=np.float32), np.array(offsets), np.array(text))


@dataclass(frozen=True)
class Embed(NetworkRequest["NDArray[np.float32]"]):
    """The unit vector of a text."""

    codec = SINGLES

    text: str

    @property
    def blank(self) -> NDArray[np.float32]:
        return np.ones(1, dtype=np.float32)


@dataclass(frozen=True)
class Encode(NetworkRequest[TokenStates]):
    """The token states of a layer: 0 are the input embeddings, `CountLayers` (None) is the last one. UsageError for a
    layer that is not there."""

    codec = None
    at_once = 128

    text: str
    layer: int | None = None

    @property
    def blank(self) -> TokenStates:
        words = _words(self.text)
        return TokenStates(
            tokens=tuple(self.text[start:end] for start, end in words),
            ids=tuple(range(len(words))),
            offsets=tuple(words),
            special=(False,) * len(words),
            states=np.ones((len(words), 2), dtype=np.float32),
        )


@dataclass(frozen=True)
class CompareStates(NetworkRequest[float]):
    """What `measure` makes of the token states of two texts; unlike the states it is stored."""

    codec = NUMBER
    at_once = 64

    first: str
    second: str
    layer: int
    measure: StatesMeasure

    @property
    def key(self) -> str:
        """The fields as JSON, the measure by its name."""
        return to_json({**vars(self), "measure": self.measure.name})

    @property
    def blank(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Generate(NetworkRequest[str]):
    """A text that is generated from a source."""

    codec = TEXT

    source: tuple[str, ...]
    how: Generation = AS_CONFIGURED
    framing: Framing = PLAIN

    @property
    def blank(self) -> str:
        return " ".join(self.source)


@dataclass(frozen=True)
class ScoreTarget(NetworkRequest[float]):
    """The mean over the target's tokens of ln p(token | source, tokens before), special tokens that the tokenizer adds
    counted (BARTScore, Yuan et al., 2021, eq. 2 with equal weights); <= 0. The framing holds for both texts, each on
    its own. A source is encoded once for all its targets."""

    codec = NUMBER

    source: str
    target: str
    framing: Framing = PLAIN

    @property
    def blank(self) -> float:
        return -1.0


@dataclass(frozen=True)
class FirstWord(NetworkRequest["NDArray[np.float64]"]):
    """ln p of each word's first piece at the first step of the decoder, over the whole vocabulary. UsageError where two
    words share their first piece, which the model cannot tell apart then."""

    codec = DOUBLES

    source: tuple[str, ...]
    words: tuple[str, ...]
    framing: Framing = PLAIN

    @property
    def blank(self) -> NDArray[np.float64]:
        return np.full(len(self.words), -1.0)


@dataclass(frozen=True)
class FindCoreference(NetworkRequest[list[list[tuple[int, int]]]]):
    """Clusters of at least two mentions; a mention is (start, end) in code points of the text."""

    codec = CLUSTERS

    text: str

    @property
    def blank(self) -> list[list[tuple[int, int]]]:
        return []


@dataclass(frozen=True)
class Rate(NetworkRequest[Rated]):
    """The ratings that a trained judge gives a summary."""

    codec = RATED

    document: str
    summary: str

    @property
    def blank(self) -> Rated:
        return Rated({}, None, {})


@dataclass(frozen=True)
class CountTokens(NetworkRequest[int]):
    """Tokens of a text before anything is cut, special tokens left out."""

    codec = INTEGER
    counted = False

    text: str

    @property
    def blank(self) -> int:
        return len(self.text) // 4 + 1


@dataclass(frozen=True)
class FindTokens(NetworkRequest[list[tuple[int, int]]]):
    """(start, end) of each token of a text, in code points, before anything is cut."""

    codec = PLACES
    counted = False

    text: str

    @property
    def blank(self) -> list[tuple[int, int]]:
        return _words(self.text)


@dataclass(frozen=True)
class TokenLimit(NetworkRequest[int]):
    """Tokens that the texts of an input framed so may have together (a pair, or those of a template), special tokens
    left out."""

    codec = INTEGER
    counted = False

    framing: Framing = PLAIN

    @property
    def blank(self) -> int:
        return 500


@dataclass(frozen=True)
class CountLayers(NetworkRequest[int]):
    """How many layers an encoder has."""

    codec = INTEGER
    counted = False

    @property
    def blank(self) -> int:
        return 12


class Network(Protocol):
    """A local network. `id` names its weights, and stands in signatures."""

    @property
    def id(self) -> str: ...

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        """The result of each request, in their order; equal requests are computed once."""
        ...


# ---- readings ----


async def entailments(network: Network, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
    """Natural-language inference over (premise, hypothesis) pairs by a classifier whose config names its three classes:
    the softmax of their logits."""
    if not pairs:
        return []
    logits = await network.ask([Classify(pair, "nli") for pair in pairs])
    return [Entailment(*row) for row in softmax(np.array(logits, dtype=np.float64)).tolist()]


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of the last axis.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares
