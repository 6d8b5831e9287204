"""Convert one text, a pair, or texts in a template to the token ids of one input.

Inputs are truncated to the model's maximum length. Tokenizers parse special tokens (`</s>`, `[SEP]`) inside texts, so
that a document could end its own input. Here, special tokens are only those that the tokenizer adds or a template
contains; in texts, they are read as plain characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.models.local.names import Located, maybe_json
from summeter.models.networks import Cut, Framing
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

PLAIN = 512
"""The maximum length of an input in tokens if no file of the model sets it."""
_HUGE = 1_000_000  # 1e30 in tokenizer configs means "no limit"


class Encoded(NamedTuple):
    """The token ids of a text before truncation, and the tokenizer's encoding of the text."""

    ids: Ids
    encoding: Any

    @property
    def offsets(self) -> Ids:
        """The offsets (start, end) of all tokens in code points, as an array of shape (tokens, 2)."""
        return np.asarray(self.encoding.offsets, dtype=np.int64).reshape(-1, 2)


class Input(NamedTuple):
    """An input of a model.

    `text` holds the index of each token's text, or -1 for special tokens. `cut` is the number of truncated tokens.
    `has_room` is False if a template leaves no room for its first text.
    """

    ids: Ids
    segments: Ids
    text: Ids
    texts: tuple[Encoded, ...]
    cut: int
    has_room: bool = True

    @property
    def truncated(self) -> bool:
        """Whether a text was truncated."""
        return self.cut > 0

    @property
    def offsets(self) -> Ids:
        """The offsets (start, end) of all tokens in their texts, in code points.

        The array has shape (tokens, 2); the offsets of special tokens are (0, 0).
        """
        offsets = np.zeros((len(self.ids), 2), dtype=np.int64)
        for number, encoded in enumerate(self.texts):
            indices = np.flatnonzero(self.text == number)
            offsets[indices] = encoded.offsets[: len(indices)]
        return offsets


class Batch(NamedTuple):
    """Inputs padded to the length of the longest one, as arrays of shape (inputs, tokens).

    The mask is 1 for tokens and 0 for padding.
    """

    ids: Ids
    mask: Ids
    segments: Ids


class _Frame(NamedTuple):
    """The special tokens before, between and after the texts of an input.

    `special_segments` holds the segments of the special tokens, and `segments` those of the texts.
    """

    special: tuple[Ids, ...]
    special_segments: tuple[Ids, ...]
    segments: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.special))

    def around(self, texts: Sequence[Encoded], sizes: Sequence[int], *, segmented: bool) -> Input:
        """Return the input made from these texts, each of which is truncated to its size in tokens."""
        ids, segments, text = [self.special[0]], [self.special_segments[0]], [np.full(len(self.special[0]), -1)]
        for number, (encoded, size) in enumerate(zip(texts, sizes, strict=True)):
            after = self.special[number + 1]
            ids += [encoded.ids[:size], after]
            segments += [np.full(min(size, len(encoded.ids)), self.segments[number]), self.special_segments[number + 1]]
            text += [np.full(min(size, len(encoded.ids)), number), np.full(len(after), -1)]
        joined = np.concatenate(ids)
        segment_ids = np.concatenate(segments) if segmented else np.zeros_like(joined)
        cut = sum(max(0, len(encoded.ids) - size) for encoded, size in zip(texts, sizes, strict=True))
        return Input(joined, segment_ids, np.concatenate(text), tuple(texts), cut)


class Tokens:
    """A tokenizer with the maximum input length `limit` in tokens, including special tokens.

    A framing may set another limit of at most `most` tokens, or of any number if `most` is None.
    """

    def __init__(
        self, tokenizer: Any, limit: int, pad: int, *, segmented: bool = True, most: int | None = None
    ) -> None:  # fmt: skip
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True
        self._segmented = segmented
        added = tokenizer.get_added_tokens_decoder()
        # The token for unknown words is harmless in a text.
        unknown = {"<unk>", "[UNK]", "<|unk|>"}
        self._special = {
            id_: token.content for id_, token in added.items() if token.special and token.content not in unknown
        }
        self._special_ids = np.array(sorted(self._special), dtype=np.int64)
        self._added = tuple(token.content for token in added.values() if not token.special)
        self.limit = limit
        self.pad = pad
        self._most = most

    @cached_property
    def _parsing(self) -> Any:
        """The variant of the tokenizer that parses special tokens inside texts, as in released code."""
        tokenizer = type(self._tokenizer).from_str(self._tokenizer.to_str())
        tokenizer.encode_special_tokens = False
        return tokenizer

    @cached_property
    def _frames(self) -> tuple[_Frame, _Frame]:
        """The special tokens and segments around a single text and around a pair."""
        probe = self._tokenizer.encode("a", add_special_tokens=False)
        size = len(probe.ids)
        frames = []
        for count in (1, 2):
            framed = self._tokenizer.post_process(probe, probe if count == 2 else None)
            indices = np.flatnonzero(np.asarray(framed.special_tokens_mask) == 0)
            starts = [int(indices[number * size]) for number in range(count)]
            ids, segments = np.asarray(framed.ids, dtype=np.int64), np.asarray(framed.type_ids, dtype=np.int64)
            edges = [0, *(edge for start in starts for edge in (start, start + size)), len(ids)]
            between = [slice(edges[index], edges[index + 1]) for index in range(0, len(edges), 2)]
            frames.append(
                _Frame(
                    tuple(ids[span] for span in between),
                    tuple(segments[span] for span in between),
                    tuple(int(segments[start]) for start in starts),
                )
            )
        return frames[0], frames[1]

    @property
    def pair_limit(self) -> int:
        """The maximum number of tokens of two texts together, without special tokens."""
        return self.limit - self._frames[1].size

    @cached_property
    def end(self) -> str:
        """The token that ends an input, which replaces `{eos}` in a template.

        Raises UsageError if the tokenizer adds no special token at the end of an input.
        """
        last = self._frames[0].special[-1]
        if not len(last):
            raise UsageError("a template needs {eos}, but the tokenizer adds no special token at the end of an input")
        return str(self._tokenizer.id_to_token(int(last[-1])))

    def texts(self, texts: Sequence[str]) -> list[Input]:
        """Return an input for each text."""
        return self.inputs([(text,) for text in texts])

    def windows(self, texts: Sequence[str]) -> list[list[Input]]:
        """Return each text as the smallest possible number of inputs of about equal length, without truncation."""
        frame = self._frames[0]
        room = self.limit - frame.size
        windows = []
        for encoded in self.encoded(texts):
            chunks = np.array_split(encoded.ids, max(1, -(-len(encoded.ids) // room)))
            windows.append(
                [frame.around([Encoded(chunk, None)], [len(chunk)], segmented=self._segmented) for chunk in chunks]
            )
        return windows

    def inputs(
        self, rows: Sequence[tuple[str, ...]], framing: Framing = Framing()  # noqa: B008 - immutable
    ) -> list[Input]:  # fmt: skip
        """Return an input for each row of texts: one text, a pair, or the texts of a template.

        Equal texts are encoded once.
        """
        if framing.template is not None:
            return self._templated(rows, framing.template, framing)
        unique = list(dict.fromkeys(text for row in rows for text in row))
        encodings = dict(zip(unique, self.encoded(unique, marks=framing.marks), strict=True))
        inputs = []
        for row in rows:
            texts, frame = [encodings[text] for text in row], self._frames[len(row) - 1]
            sizes = cut_sizes([len(encoded.ids) for encoded in texts], self._room(frame, framing), framing.cut)
            inputs.append(frame.around(texts, sizes, segmented=self._segmented and framing.segments))
        return inputs

    def room(self, framing: Framing) -> int:
        """Return the maximum total number of tokens of a pair or of the texts in a template."""
        return self._room(self._frames[0 if framing.template else 1], framing)

    def _room(self, frame: _Frame, framing: Framing) -> int:
        limit = self.limit if framing.limit is None else min(framing.limit, self._most or framing.limit)
        return limit - frame.size

    def first_pieces(self, words: Sequence[str], model: str) -> tuple[int, ...]:
        """Return the id of each word's first token.

        Raises UsageError if two words have the same first token or if a word has no tokens.
        """
        pieces: dict[int, str] = {}
        for word, encoded in zip(words, self.encoded(words), strict=True):
            if not len(encoded.ids):
                raise UsageError(f"{model}: its tokenizer has no tokens for the word {word!r}")
            piece = int(encoded.ids[0])
            if piece in pieces:
                raise UsageError(
                    f"{model}: the words {pieces[piece]!r} and {word!r} begin with the same token "
                    f"({self._tokenizer.id_to_token(piece)!r}), so the first step cannot distinguish them; choose a "
                    "checkpoint that was trained to answer with these words"
                )
            pieces[piece] = word
        return tuple(pieces)

    def special_id(self, text: str, model: str) -> int:
        """Return the id of a special token.

        Raises UsageError if the tokenizer does not have this token.
        """
        token_id = self._tokenizer.token_to_id(text)
        if token_id is None:
            raise UsageError(f"{model}: its tokenizer has no token {text!r}")
        return int(token_id)

    def of_words(self, words: Sequence[str]) -> tuple[Ids, list[int]]:
        """Return the token ids of a text given as words, and the index of each token's word, or -1 for special tokens.

        The text is not truncated.
        Byte-level tokenizers encode each word as if a space preceded it.
        """
        encoding = self._word_tokenizer.encode([_clean(word) for word in words], is_pretokenized=True)
        indices = [-1 if word is None else int(word) for word in encoding.word_ids]
        return np.asarray(encoding.ids, dtype=np.int64), indices

    @cached_property
    def _word_tokenizer(self) -> Any:
        import json

        settings = json.loads(self._tokenizer.to_str())
        pre_tokenizer = settings.get("pre_tokenizer") or {}
        for component in pre_tokenizer.get("pretokenizers", [pre_tokenizer]):
            if component.get("type") == "ByteLevel":
                component["add_prefix_space"] = True
        tokenizer = type(self._tokenizer).from_str(json.dumps(settings))
        tokenizer.encode_special_tokens = True
        return tokenizer

    def padded(self, inputs: Sequence[Input]) -> Batch:
        """Return a batch of these inputs, padded to the length of the longest one."""
        longest = max(len(input_.ids) for input_ in inputs)
        ids = np.full((len(inputs), longest), self.pad, dtype=np.int64)
        mask, segments = np.zeros_like(ids), np.zeros_like(ids)
        for row, input_ in enumerate(inputs):
            size = len(input_.ids)
            ids[row, :size], mask[row, :size], segments[row, :size] = input_.ids, 1, input_.segments
        return Batch(ids, mask, segments)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of generated token ids, without special tokens."""
        return str(self._tokenizer.decode([int(token) for token in ids], skip_special_tokens=True)).strip()

    def names(self, ids: Ids) -> tuple[str, ...]:
        """Return the tokens with these ids as strings."""
        return tuple(str(self._tokenizer.id_to_token(int(token))) for token in ids)

    def encoded(self, texts: Sequence[str], *, marks: bool = False) -> list[Encoded]:
        """Return the encodings of texts, to which no special tokens are added.

        With `marks`, special tokens inside the texts are parsed.
        """
        cleaned = [_clean(text) for text in texts]
        encoded = self._encode(self._parsing if marks else self._tokenizer, cleaned)
        if marks:
            return encoded
        # A vocabulary (T5, DeBERTa-v3) may also contain a special token as an ordinary word.
        indices = [
            index
            for index, each in enumerate(encoded)
            if len(self._special_ids) and np.isin(each.ids, self._special_ids).any()
        ]
        escaped = self._encode(self._tokenizer, [self._escaped(cleaned[index]) for index in indices])
        for index, each in zip(indices, escaped, strict=True):
            encoded[index] = each
        return encoded

    def _templated(self, rows: Sequence[tuple[str, ...]], template: str, framing: Framing) -> list[Input]:
        frame = self._frames[0]
        if not isinstance(framing.cut, str):
            raise ValueError("a template is truncated at its end (longest_first) or in its first text (only_first)")
        before, placeholder, _ = template.partition("{0}")
        if not placeholder:
            raise ValueError(f"the template {template!r} has no placeholder {{0}} for the first text")
        # Special tokens of the template that the tokenizer does not declare as special (<m>).
        added = tuple(token for token in self._added if token in template)
        eos = self.end if "{eos}" in template else ""
        filled, spans = [], []
        for row in rows:
            texts = [_clean(text) if framing.marks else self._escaped(_clean(text), added) for text in row]
            start = len(before.format(*texts, eos=eos))
            filled.append(template.format(*texts, eos=eos))
            spans.append((start, start + len(texts[0])))
        inputs, room = [], self._room(frame, framing)
        for encoded, (start, end) in zip(self._encode(self._parsing, filled), spans, strict=True):
            excess = len(encoded.ids) - room
            if excess > 0 and framing.cut == "only_first":
                # The indices of the tokens of the first text.
                inside = np.flatnonzero((encoded.offsets[:, 1] > start) & (encoded.offsets[:, 0] < end))
                shorter = encoded._replace(ids=np.delete(encoded.ids, inside[max(0, len(inside) - excess) :]))
                input_ = frame.around([shorter], [room], segmented=self._segmented)
                inputs.append(input_._replace(cut=excess, has_room=excess < len(inside)))
            else:
                size = min(len(encoded.ids), room)
                inputs.append(frame.around([encoded], [size], segmented=self._segmented))
        return inputs

    def _escaped(self, text: str, added: Sequence[str] = ()) -> str:
        """Return the text with special tokens in it changed to plain characters of the same length."""
        for token in (*self._special.values(), *added):
            if token in text:
                text = text.replace(token, f"({token[1:]}")
        return text

    def _encode(self, tokenizer: Any, texts: Sequence[str]) -> list[Encoded]:
        encodings: list[Any] = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [Encoded(np.asarray(encoding.ids, dtype=np.int64), encoding) for encoding in encodings]


def cut_sizes(lengths: Sequence[int], room: int, cut: Cut) -> tuple[int, ...]:
    """Return the number of tokens of each text after truncation to `room` tokens in total.

    "longest_first" works as in the package `tokenizers`: the longer text is truncated until both texts have the same
    length, and then both are truncated; if the total is odd, the longer text keeps one token more. If the second text
    leaves no room, "only_first" falls back to "longest_first".

    >>> cut_sizes([100, 20], 60, "longest_first"), cut_sizes([40, 90], 61, "longest_first")
    ((40, 20), (30, 31))
    >>> cut_sizes([100, 50], 60, "only_first"), cut_sizes([100, 50], 300, (60, 40))
    ((10, 50), (60, 40))
    """
    if not isinstance(cut, str):
        sizes = tuple(min(length, most) for length, most in zip(lengths, cut, strict=True))
        return sizes if sum(sizes) <= room else cut_sizes(sizes, room, "longest_first")
    if sum(lengths) <= room:
        return tuple(lengths)
    if len(lengths) == 1:
        return (room,)
    first, second = lengths
    if cut == "only_first" and second < room:
        return room - second, second
    shorter = min(first, second)
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room // 2 + room % 2
    return (longer, shorter) if first > second else (shorter, longer)


def load_tokens(model: Located, wanted: int | None) -> Tokens:
    """Return the tokenizer of a model with a maximum length.

    The maximum length is `wanted` or, if this is None, the one in the model's files. Raises UsageError if `wanted`
    exceeds the number of positions of the model, or if the maximum length leaves no room for a text.
    """
    config = model.config
    most = _positions(config)
    if wanted is not None and most is not None and wanted > most:
        raise UsageError(f"{model.name}: max_tokens={wanted}, but the model supports at most {most} tokens")
    tokenizer_config = maybe_json(model.folder / "tokenizer_config.json")
    sentences = maybe_json(model.folder / "sentence_bert_config.json").get("max_seq_length")
    configured = int(sentences or tokenizer_config.get("model_max_length") or _HUGE)
    longest = wanted or (configured if configured < _HUGE else None) or config.get("max_position_embeddings") or PLAIN
    limit = min(longest, most or _HUGE)
    tokenizer = _tokenizer(model)
    pad = config.get("pad_token_id")
    if pad is None:
        pad = next((id_ for token in ("[PAD]", "<pad>") if (id_ := tokenizer.token_to_id(token)) is not None), 0)
    # The config of a tokenizer may state that the model was trained without segments.
    names = tokenizer_config.get("model_input_names")
    tokens = Tokens(
        tokenizer, int(limit), int(pad), segmented=not names or "token_type_ids" in names, most=wanted or most
    )
    if tokens.pair_limit <= 0:
        raise UsageError(f"{model.name}: {tokens.limit} tokens leave no room for a text; set a higher max_tokens")
    return tokens


def reads_segments(config: Any) -> bool:
    """Return whether a transformers encoder with this config has segment embeddings."""
    return int(getattr(config, "type_vocab_size", 0) or 0) > 1


def _positions(config: dict[str, Any]) -> int | None:
    """Return the number of positions of a model, or None if it is unknown or unlimited (relative positions)."""
    if config.get("position_biased_input") is False or config.get("model_type") in {"t5", "mt5", "umt5"}:
        return None
    most = config.get("max_position_embeddings") or config.get("n_positions")
    if most is None:
        return None
    # RoBERTa and its relatives number positions from the padding id.
    roberta = config.get("model_type") in {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}
    return int(most) - (int(config.get("pad_token_id") or 1) + 1 if roberta else 0)


def _tokenizer(model: Located) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise InstallError.missing("tokenizers", "local") from error
    file = model.folder / "tokenizer.json"
    if file.is_file():
        try:
            return Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises Exception itself
            raise UsageError(f"{file} is not a tokenizer: {error}") from error
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UsageError(
            f"{file} is missing, so transformers is needed to create the tokenizer: pip install 'summeter[torch]'"
        ) from error
    try:
        return AutoTokenizer.from_pretrained(model.folder).backend_tokenizer
    except (OSError, ValueError, ImportError, AttributeError) as error:
        raise UsageError(f"{model.folder}: its tokenizer cannot be created: {error}") from error


def _clean(text: str) -> str:
    # Tokenizers need UTF-8, which cannot encode lone surrogates.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
