"""Protocols of everything that answers: LLMs, and the local models (NLI, classifier, classifier of tokens, embedder,
encoder, seq2seq, coreference).

A layer (cache, limit, retry, replay...) wraps an LLM and is an LLM. A local model's `id` names its weights. It batches
concurrent calls by itself: hand over as much as is at hand, in any order. What is longer than it reads is cut at the
end and counted; who would rather not be cut asks `count` and `limit` first. An encoder (BERTScore) gives token
states; an embedder (similarity of texts) one unit vector a text. Both give numpy arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import pydantic_core
from pydantic import Field

from summeter.records import ModelError, Record, ReplyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Role = Literal["system", "user", "assistant"]
Format = Literal["json_schema", "json_object", "text"]


# As `records.canonical`, which makes an encoder a call.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Message(Record):
    """One turn of a conversation."""

    role: Role
    content: str


def to_json(value: Any) -> str:
    """Plain data as JSON without spare blanks, non-ASCII as it is: for long texts, faster than `json`."""
    try:
        return pydantic_core.to_json(value).decode()
    except pydantic_core.PydanticSerializationError:
        # A lone surrogate has no UTF-8.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_bytes(value: Any) -> bytes:
    """Plain data as JSON in UTF-8; a lone surrogate, which has none, is its escape."""
    return to_json(value).encode("utf-8", "backslashreplace")


class TokenLogprobs(Record):
    """One token of a reply, its log-probability, and its likeliest alternatives (token, log-probability)."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    @property
    def alternatives(self) -> tuple[tuple[str, float], ...]:
        """The likeliest alternatives, and the token itself where it is not among them. ReplyError for a
        log-probability that is none."""
        drawn = ((self.token, self.logprob),)
        every = self.top if any(text == self.token for text, _ in self.top) else self.top + drawn
        if wrong := [logprob for _, logprob in every + drawn if not -math.inf < logprob <= 0]:
            raise ReplyError(f"the log-probability {wrong[0]} is none: one is finite, and 0 at most")
        return every


_TURNS = frozenset({"messages", "unkeyed"})


class Request(Record):
    """All that decides an LLM's reply. Equal requests share one key, hence one stored call.

    `draw` tells apart independent samples of one prompt. `top_logprobs` asks for so many alternatives with
    every token of the reply. `format` is the strictest format the server is
    asked to enforce (a server that lacks it is asked for the next weaker one; `Completion.format` says
    which it was); `schema_` is the JSON schema of the reply. `unkeyed` are the messages with fences that no secret
    keys, where those that are sent have others: the key and what is stored are made of them.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    format: Format = "text"
    schema_name: str | None = None
    schema_: dict[str, Any] | None = Field(default=None)
    draw: int = 0
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    unkeyed: tuple[Message, ...] | None = Field(default=None, exclude=True, repr=False)

    # A prompt is long and its key is asked for several times a call: text and hash are made once.
    @cached_property
    def canonical(self) -> str:
        """The request as canonical JSON."""
        # As canonical(self.model_dump()), at a third of its cost: the long texts go another way.
        rest = {name: getattr(self, name) for name in type(self).model_fields if name not in _TURNS}
        if self.top_logprobs is None:
            del rest["top_logprobs"]  # calls stored before there was such a field keep their keys
        before, after = _CANONICAL.encode({**rest, "messages": None}).split('"messages":null', 1)
        turns = to_json([{"content": turn.content, "role": turn.role} for turn in self.unkeyed or self.messages])
        return f'{before}"messages":{turns}{after}'

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of the request."""
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def prompt(self) -> str:
        """The turns' texts, one below the other."""
        return "\n\n".join(message.content for message in self.messages)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the copy's key is its own."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in ("canonical", "key"):
            copied.__dict__.pop(cached, None)
        return copied


class Completion(Record):
    """What came back. `finish_reason` is the server's ("stop", "length", "content_filter"...).

    `model` is the name the server says it served; `format` what it enforced, where that is known;
    `seconds` from sending to the last byte; `tokens_cached` the prompt tokens that the provider's prefix cache
    served, `tokens_written` those it stored; `logprobs` one entry a token of the reply, where they were asked for;
    `batch` the id of the batch it came in, if it did.
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    format: Format | None = None
    tokens_cached: int | None = None
    tokens_written: int | None = None
    logprobs: tuple[TokenLogprobs, ...] | None = None
    batch: str | None = None


@contextmanager
def turned_away(completion: Completion) -> Iterator[None]:
    """Around the checks of a reply that came: the error of one that cannot be used holds it, so that it is counted."""
    try:
        yield
    except ModelError as error:
        error.reply = completion
        raise


def paid_reply(error: Exception) -> Completion | None:
    """The reply that was turned away with this error, None where none came."""
    reply = error.reply if isinstance(error, ModelError) else None
    return reply if isinstance(reply, Completion) else None


@runtime_checkable
class LLM(Protocol):
    """Anything that completes a request. `id` is the model string that stands in signatures."""

    @property
    def id(self) -> str: ...

    async def complete(self, request: Request) -> Completion:
        """Answer, or raise TransientError (worth a retry), CapabilityError or ModelError."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...


class Entailment(NamedTuple):
    """Probabilities that the premise entails, is neutral to, contradicts the hypothesis; they sum to 1."""

    entail: float
    neutral: float
    contradict: float


Kind = Literal["nli", "classifier", "tokens", "embed", "encoder", "seq2seq", "coref", "regressor"]
"""What a local model is."""

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

    @property
    def key(self) -> str:
        """What stands in the key of a stored result; empty for the usual framing."""
        changed = {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}
        return to_json(changed) if changed else ""

    @classmethod
    def from_key(cls, key: str) -> Framing:
        """The framing of a `key`."""
        fields: dict[str, Any] = json.loads(key) if key else {}
        if isinstance(fields.get("cut"), list):
            fields["cut"] = tuple(fields["cut"])
        return cls(**fields)


class NLI(Protocol):
    """Natural-language inference over (premise, hypothesis) pairs."""

    @property
    def id(self) -> str: ...

    @property
    def limit(self) -> int:
        """Tokens of a premise and a hypothesis together that the model reads, its special tokens left out."""
        ...

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens left out."""
        ...

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]: ...


class Classifier(Protocol):
    """A sequence classifier, or a regression (one output), over rows of one text, a pair or the texts of a template."""

    @property
    def id(self) -> str: ...

    @property
    def limit(self) -> int:
        """Tokens of a pair that the model reads, its special tokens left out."""
        ...

    def room(self, how: Framing) -> int:
        """Tokens that the texts of an input framed so may have together: a pair, or those of a template."""
        ...

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens left out."""
        ...

    async def logits(
        self, rows: Sequence[tuple[str, ...]], classes: Classes, how: Framing = ...
    ) -> NDArray[np.float64]:
        """Raw outputs, shape (rows, classes). UsageError where the model has other classes."""
        ...


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


class TokenClassifier(Protocol):
    """A classifier of tokens (or the two outputs of extractive question answering) over one text or a pair."""

    @property
    def id(self) -> str: ...

    async def offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """(start, end) of each token of each text, in code points, before anything is cut."""
        ...

    async def logits(self, rows: Sequence[tuple[str, ...]], classes: int, how: Framing = ...) -> list[TokenLogits]:
        """Raw outputs of each row's tokens. UsageError where the model has another number of them."""
        ...


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def id(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, dimensions), rows of length 1, in the order of the texts."""
        ...


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


class TokenEmbedder(Protocol):
    """Texts to contextual token states (hidden states of one layer)."""

    @property
    def id(self) -> str: ...

    @property
    def layers(self) -> int:
        """How many layers there are; `layer` counts from 0, the input embeddings, to this, the last one."""
        ...

    async def states(self, texts: Sequence[str], layer: int | None = None) -> list[TokenStates]:
        """The states of `layer` (None: the last) for each text. UsageError for a layer that is not there."""
        ...

    async def measured(self, pairs: Sequence[tuple[str, str]], layer: int, measure: StatesMeasure) -> list[float]:
        """What `measure` makes of the states of each pair of texts. Unlike states, it is stored, and a replay needs no
        network. UsageError for a layer that is not there."""
        ...


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

    @property
    def key(self) -> str:
        """What stands in the key of a stored result."""
        plain = f"{self.max_new_tokens or ''}/{self.num_beams or ''}"
        more = {name: value for name, value in list(self._asdict().items())[2:] if value is not None}
        return plain + (to_json(more) if more else "")

    @classmethod
    def from_key(cls, key: str) -> Generation:
        """The settings of a `key`."""
        plain, brace, more = key.partition("{")
        most, _, beams = plain.partition("/")
        return cls(int(most) if most else None, int(beams) if beams else None, **json.loads(brace + more or "{}"))


Source = str | tuple[str, ...]
"""What an encoder reads: a text, or the texts of a template."""


class Seq2SeqKeys:
    """What the stored results of an encoder-decoder go by: the texts, and behind them how they are read and asked.

    Plain texts in the usual framing keep the keys that they had before there were others.
    """

    @staticmethod
    def generation(source: Source, how: Generation | None, framing: Framing) -> tuple[str, ...]:
        """A text that is generated from a source."""
        row, settings = _row(source), (how or Generation()).key
        return (*row, settings, framing.key) if len(row) > 1 or framing.key else (*row, settings)

    @staticmethod
    def scoring(pair: tuple[str, str], framing: Framing) -> tuple[str, ...]:
        """The score of a (source, target)."""
        return (*pair, framing.key) if framing.key else pair

    @staticmethod
    def first(source: Source, words: tuple[str, ...], framing: Framing) -> tuple[str, ...]:
        """The first word behind a source."""
        return (*_row(source), to_json(words), framing.key)


def _row(source: Source) -> tuple[str, ...]:
    return (source,) if isinstance(source, str) else source


class Seq2Seq(Protocol):
    """An encoder-decoder: generates, scores targets, and says how likely its first word is."""

    @property
    def id(self) -> str: ...

    async def generate(
        self, sources: Sequence[Source], how: Generation | None = None, framing: Framing = ...
    ) -> list[str]:
        """A text from each source."""
        ...

    async def score(self, pairs: Sequence[tuple[str, str]], framing: Framing = ...) -> list[float]:
        """Of each (source, target): mean over the target's tokens of ln p(token | source, tokens before), special
        tokens that the tokenizer adds counted (BARTScore, Yuan et al., 2021, eq. 2 with equal weights); <= 0. The
        framing holds for both texts, each on its own."""
        ...

    async def first(
        self, sources: Sequence[Source], words: tuple[str, ...], framing: Framing = ...
    ) -> NDArray[np.float64]:
        """ln p of each word's first piece at the first step of the decoder, over the whole vocabulary: shape (sources,
        words). UsageError where two words share their first piece, which the model cannot tell apart then."""
        ...


class Coref(Protocol):
    """Clusters of mentions; a mention is (start, end) in code points of the text."""

    @property
    def id(self) -> str: ...

    async def clusters(self, text: str) -> list[list[tuple[int, int]]]: ...


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

    def pack(self) -> bytes:
        """As bytes, for the store."""
        return json.dumps([self.ratings, self.span_free, self.truncated_tokens]).encode()

    @classmethod
    def unpack(cls, data: bytes) -> Rated:
        """From bytes."""
        ratings, span_free, truncated = json.loads(data)
        return cls({aspect: AspectRating(*rating) for aspect, rating in ratings.items()}, span_free, truncated)


class Regressor(Protocol):
    """A trained judge: one rating an aspect for a pair of (document, summary)."""

    @property
    def id(self) -> str: ...

    async def predict(self, pairs: Sequence[tuple[str, str]]) -> list[Rated]: ...
