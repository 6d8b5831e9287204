"""Requests to local networks, their results, and how results are stored.

All networks have one method:

    first, second = await network.ask([Classify((premise, claim), "nli"), Classify((premise, other), "nli")])

A request is a frozen dataclass with everything that determines its result, so its fields are also the key of the stored
result (`key`). The class of a request defines how results are stored (`codec`), how many requests are computed together
(`at_once`), and whether they are computed by the network or only from its tokenizer and files (`counted`). A new task
needs a request class here, a function in `summeter.models.local` that computes the result, and a row in the table of
`summeter.models.local.load`.

A network batches concurrent requests itself: pass as many as are available, in any order. An input that is longer than
the network's limit is truncated at the end and counted as truncated; use `CountTokens` and `TokenLimit` to avoid this.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from pydantic import TypeAdapter

from summeter.models.base import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

ModelTask = Literal["classifier", "token_classifier", "encoder", "seq2seq", "coreference", "regressor"]
"""The task of a local model, which determines the requests that it supports."""

Cut = Literal["longest_first", "only_first"] | tuple[int, ...]
"""How an input that is longer than the model's limit is truncated: in the longer text ("longest_first"), in the first
text only ("only_first"; in the longer text if the second leaves no room), or each text to a given number of tokens."""

Classes = Literal["nli"] | int
"""The outputs of a classifier: their number, for outputs in the model's order, or "nli" for entailment, neutral and
contradiction, which are found by their names in the model's config."""


class Framing(NamedTuple):
    """How one or several texts are combined into one input of a local model.

    `cut` says how an input that is too long is truncated. `template` combines the texts into one text: the placeholders
    {0}, {1}, ... stand for the texts and {eos} for the end-of-sequence token, and special tokens in the template are
    parsed (`{0}{eos}{1}`). Without a template, an input is one text or a pair of texts. With `marks`, special tokens
    inside the texts are parsed too, as in released code; otherwise they are read as plain characters. `limit` is the
    maximum length of the input in tokens, including special tokens, or None if the method does not define it; a model
    with fewer positions or a smaller `max_tokens` reads fewer tokens. If `segments` is False, both texts of a pair have
    segment id 0, as some methods require.
    """

    cut: Cut = "longest_first"
    template: str | None = None
    marks: bool = False
    limit: int | None = None
    segments: bool = True


PLAIN = Framing()


class Generation(NamedTuple):
    """Generation settings of an encoder-decoder.

    None stands for the value in the model's generation config. Generation is deterministic: nothing is sampled.

    `min_new_tokens` and `max_new_tokens` count the generated tokens, including the end-of-sequence token.
    `length_penalty` and `early_stopping` are parameters of beam search. `start` is the token with which the decoder
    starts, such as `<s>`.

    `search="plain_sum"` is the beam search of AllenNLP: finished hypotheses stay in the beam, and all are ranked by the
    sum of their log-probabilities. It uses only the end-of-sequence token of the model's generation config, and only
    the settings `max_new_tokens`, `num_beams` and `start`. `search="qaeval"` is the same search with the decoder
    positions of QAEval 0.1.0, which are 0, 2, 3, ...
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
    """The probabilities of entailment, neutral and contradiction for a (premise, hypothesis) pair.

    The three probabilities sum to 1.
    """

    entail: float
    neutral: float
    contradict: float


class Labels(NamedTuple):
    """The names of a classifier's labels in the order of its outputs.

    `several` is True for a multi-label classifier.
    """

    names: tuple[str, ...]
    several: bool


class TokenLogits(NamedTuple):
    """The logits of all tokens of an input, including special tokens.

    `logits` has shape (tokens, classes). `offsets` has shape (tokens, 2) and holds (start, end) in code points of the
    token's text, or (0, 0) for special tokens. `text` holds the index of each token's text, or -1 for special tokens.
    `truncated` is True if the end of a text was cut off.
    """

    logits: NDArray[np.float32]
    offsets: NDArray[np.int64]
    text: NDArray[np.int64]
    truncated: bool = False


class TokenStates(NamedTuple):
    """The tokens of a text, including special tokens, and their hidden states.

    `special` says which tokens are special. `offsets` holds (start, end) in code points of the text, or (0, 0) for
    special tokens. `states` has shape (tokens, dimensions) and is not normalised. `truncated` is True if the end of the
    text was cut off.
    """

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    special: tuple[bool, ...]
    states: NDArray[np.float32]
    truncated: bool = False


class StatesMeasure(NamedTuple):
    """A function of the token states of two texts, with a name that is part of the key of a stored result."""

    name: str
    of: Callable[[TokenStates, TokenStates], float]


class AspectRating(NamedTuple):
    """A trained judge's rating of one aspect on the annotators' scale, not clipped to the ends of the scale.

    `low` and `high` are the bounds of the prediction interval, which is calibrated to contain the share `coverage` of
    the annotators' ratings; both are None if no interval was calibrated.
    """

    value: float
    low: float | None
    high: float | None
    coverage: float


class Rated(NamedTuple):
    """A trained judge's ratings of a summary by aspect.

    `span_free` is the probability that the summary has no inconsistent span, or None if the judge does not predict it.
    `truncated_tokens` holds the number of truncated tokens of the document by aspect. An aspect that is listed there
    but has no rating was not rated, because its prompt and the summary leave no room for the document.
    """

    ratings: Mapping[str, AspectRating]
    span_free: float | None
    truncated_tokens: Mapping[str, int]


# ---- how results are stored ----


class Codec(NamedTuple, Generic[T]):
    """The functions that convert results of one type to bytes for the store (`pack`) and back (`unpack`)."""

    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]


def _pack_token_logits(row: TokenLogits) -> bytes:
    header = struct.pack("<iiB", *row.logits.shape, row.truncated)
    arrays = (row.logits.astype("<f4"), row.offsets.astype("<i4"), row.text.astype("i1"))
    return b"".join([header, *(array.tobytes() for array in arrays)])


def _unpack_token_logits(data: bytes) -> TokenLogits:
    tokens, classes, truncated = struct.unpack_from("<iiB", data)
    position = struct.calcsize("<iiB")
    logits = np.frombuffer(data, "<f4", tokens * classes, position).reshape(tokens, classes)
    position += logits.nbytes
    offsets = np.frombuffer(data, "<i4", tokens * 2, position).reshape(tokens, 2)
    text = np.frombuffer(data, "i1", tokens, position + offsets.nbytes)
    return TokenLogits(logits, offsets.astype(np.int64), text.astype(np.int64), bool(truncated))


def _as_json(type_: Any) -> Codec[Any]:
    adapter: TypeAdapter[Any] = TypeAdapter(type_)
    return Codec(adapter.dump_json, adapter.validate_json)


INTEGER: Codec[int] = _as_json(int)
NUMBER: Codec[float] = Codec(lambda value: struct.pack("<d", value), lambda data: float(struct.unpack("<d", data)[0]))
SINGLES: Codec[Any] = Codec(lambda row: row.astype("<f4").tobytes(), lambda data: np.frombuffer(data, "<f4"))


# ---- requests ----


def _words(text: str) -> list[tuple[int, int]]:
    return [word.span() for word in re.finditer(r"\S+", text)]


class NetworkRequest(Generic[T]):
    """A request to a network with a result of type T; equal requests have equal results."""

    codec: ClassVar[Codec[Any] | None]
    """How results are stored, or None if they are too large to store; a replay then computes them again."""
    at_once: ClassVar[int] = 8192
    """Maximum number of requests computed together: large enough to sort them by length, small enough for memory."""
    counted: ClassVar[bool] = True
    """Whether the network computes the result, rather than only its tokenizer or files."""

    @property
    def key(self) -> str:
        """The fields of the request as JSON."""
        return to_json(vars(self))

    @property
    def blank(self) -> T:
        """A placeholder result for a dry run.

        Placeholders entail nothing, so that all calls that depend on the result are counted.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Classify(NetworkRequest["NDArray[np.float32]"]):
    """The logits of a sequence classifier, or the output of a regression model.

    The input is a text, a pair of texts or a template. The request raises UsageError if the model's classes are not
    `classes`.
    """

    codec = SINGLES

    texts: tuple[str, ...]
    classes: Classes
    framing: Framing = PLAIN

    @property
    def blank(self) -> NDArray[np.float32]:
        # For NLI, neutral.
        return np.zeros(3 if self.classes == "nli" else self.classes, dtype=np.float32)


@dataclass(frozen=True)
class FindLabels(NetworkRequest[Labels]):
    """The names of the labels in the config of a sequence classifier."""

    codec = _as_json(Labels)
    counted = False


@dataclass(frozen=True)
class ClassifyTokens(NetworkRequest[TokenLogits]):
    """The logits of a token classifier for a text, a pair or a template; offsets are those in the filled template.

    For extractive question answering, these are the logits of the answer's start and end. The request raises UsageError
    if the model does not have `classes` outputs.
    """

    codec = Codec(_pack_token_logits, _unpack_token_logits)
    at_once = 512

    texts: tuple[str, ...]
    classes: int
    framing: Framing = PLAIN

    @property
    def blank(self) -> TokenLogits:
        offsets, text = [(0, 0)], [-1]
        for number, each in enumerate(self.texts):
            words = _words(each)
            offsets += [*words, (0, 0)]
            text += [*[number] * len(words), -1]
        return TokenLogits(np.zeros((len(text), self.classes), dtype=np.float32), np.array(offsets), np.array(text))


@dataclass(frozen=True)
class Embed(NetworkRequest["NDArray[np.float32]"]):
    """The embedding of a text as a unit vector."""

    codec = SINGLES

    text: str

    @property
    def blank(self) -> NDArray[np.float32]:
        return np.ones(1, dtype=np.float32)


@dataclass(frozen=True)
class Encode(NetworkRequest[TokenStates]):
    """The token states of a layer of an encoder.

    Layer 0 is that of the input embeddings, the number of the last layer is the result of `CountLayers`, and None also
    stands for the last layer. The request raises UsageError if the model does not have the layer.
    """

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
    """The value of `measure` for the token states of two texts.

    Unlike the states, the value is stored.
    """

    codec = NUMBER
    at_once = 64
    blank = 0.0

    first: str
    second: str
    layer: int
    measure: StatesMeasure

    @property
    def key(self) -> str:
        """The fields of the request as JSON, with the measure given by its name."""
        return to_json({**vars(self), "measure": self.measure.name})


@dataclass(frozen=True)
class Generate(NetworkRequest[str]):
    """The text that an encoder-decoder generates from a source text."""

    codec = Codec(str.encode, bytes.decode)

    source: tuple[str, ...]
    how: Generation = AS_CONFIGURED
    framing: Framing = PLAIN

    @property
    def blank(self) -> str:
        return " ".join(self.source)


@dataclass(frozen=True)
class ScoreTarget(NetworkRequest[float]):
    """The mean of ln p(token | source, previous tokens) over the target's tokens, which is at most 0.

    Special tokens that the tokenizer adds are included (BARTScore; Yuan et al., 2021, eq. 2 with equal weights). The
    framing is applied to each text separately. A source is encoded once for all its targets.
    """

    codec = NUMBER
    blank = -1.0

    source: str
    target: str
    framing: Framing = PLAIN


@dataclass(frozen=True)
class FirstWord(NetworkRequest["NDArray[np.float64]"]):
    """The ln p of the first token of each word at the first step of the decoder.

    The probabilities are normalised over the whole vocabulary. The request raises UsageError if two words have the same
    first token, since the first step cannot distinguish them.
    """

    codec = Codec(lambda row: row.astype("<f8").tobytes(), lambda data: np.frombuffer(data, "<f8"))

    source: tuple[str, ...]
    words: tuple[str, ...]
    framing: Framing = PLAIN

    @property
    def blank(self) -> NDArray[np.float64]:
        return np.full(len(self.words), -1.0)


@dataclass(frozen=True)
class FindCoreference(NetworkRequest[list[list[tuple[int, int]]]]):
    """The coreference clusters of a text.

    A cluster has at least two mentions, which are given as (start, end) in code points.
    """

    codec = _as_json(list[list[tuple[int, int]]])

    text: str

    @property
    def blank(self) -> list[list[tuple[int, int]]]:
        return []


@dataclass(frozen=True)
class Rate(NetworkRequest[Rated]):
    """A trained judge's ratings of a summary."""

    codec = _as_json(Rated)

    document: str
    summary: str

    @property
    def blank(self) -> Rated:
        return Rated({}, None, {})


@dataclass(frozen=True)
class CountTokens(NetworkRequest[int]):
    """The number of tokens of a text before truncation, without special tokens."""

    codec = INTEGER
    counted = False

    text: str

    @property
    def blank(self) -> int:
        return len(self.text) // 4 + 1


@dataclass(frozen=True)
class FindTokens(NetworkRequest[list[tuple[int, int]]]):
    """The offsets (start, end) of all tokens of a text before truncation, in code points."""

    codec = _as_json(list[tuple[int, int]])
    counted = False

    text: str

    @property
    def blank(self) -> list[tuple[int, int]]:
        return _words(self.text)


@dataclass(frozen=True)
class TokenLimit(NetworkRequest[int]):
    """The maximum total number of tokens of a pair or of the texts in a template, without special tokens."""

    codec = INTEGER
    counted = False
    blank = 500

    framing: Framing = PLAIN


@dataclass(frozen=True)
class CountLayers(NetworkRequest[int]):
    """The number of layers of an encoder."""

    codec = INTEGER
    counted = False
    blank = 12


class Network(Protocol):
    """A local network; its `id` identifies the weights and is used in signatures."""

    @property
    def id(self) -> str: ...

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        """Return the results in the order of the requests; equal requests are computed once."""
        ...


# ---- results of several requests ----


async def entailments(network: Network, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
    """Return the NLI probabilities of (premise, hypothesis) pairs.

    The network must be a classifier whose config names its three classes.
    """
    if not pairs:
        return []
    logits = await network.ask([Classify(pair, "nli") for pair in pairs])
    return [Entailment(*row) for row in softmax(np.array(logits, dtype=np.float64)).tolist()]


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of the logits along the last axis.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities
