"""Texts to token ids: one text, a pair, or texts in a template are one input, framed by the tokenizer and cut to the
model's length.

A tokenizer would read a mark of its own (`</s>`, `[SEP]`) inside a text as that mark, so that a document could end its
own input. Here marks stand where the tokenizer's frame or a template puts them; in a text they are plain characters.
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
"""Tokens an input may have where no file of the model says otherwise."""
_HUGE = 1_000_000  # tokenizer configs write 1e30 for "no limit"


class Encoded(NamedTuple):
    """A text's tokens before anything is cut, and the tokenizer's own account of them."""

    ids: Ids
    encoding: Any

    @property
    def offsets(self) -> Ids:
        """Where each token stands in the text, in code points: shape (tokens, 2)."""
        return np.asarray(self.encoding.offsets, dtype=np.int64).reshape(-1, 2)


class Input(NamedTuple):
    """One input of a model: token ids, segment ids, which text each token is of (-1: none, a mark of the frame), and
    the texts. `cut`: how many tokens of the texts were cut off. `has_room` False: the rest of a template leaves no room
    for a token of its first text."""

    ids: Ids
    segments: Ids
    text: Ids
    texts: tuple[Encoded, ...]
    cut: int
    has_room: bool = True

    @property
    def truncated(self) -> bool:
        """Whether the end of a text was cut off."""
        return self.cut > 0

    @property
    def offsets(self) -> Ids:
        """Where each token stands in its text, in code points; (0, 0) for marks: shape (tokens, 2)."""
        offsets = np.zeros((len(self.ids), 2), dtype=np.int64)
        for number, encoded in enumerate(self.texts):
            places = np.flatnonzero(self.text == number)
            offsets[places] = encoded.offsets[: len(places)]
        return offsets


class Pieces(NamedTuple):
    """A text given as words: token ids, frame counted, and of each token the place of its word (-1: a mark)."""

    ids: Ids
    words: list[int]


class Batch(NamedTuple):
    """Inputs padded to the longest: arrays of shape (inputs, tokens); the mask is 1 where a token is."""

    ids: Ids
    mask: Ids
    segments: Ids


class _Frame(NamedTuple):
    """The marks before, between and behind the texts of an input, with their segment ids, and the texts' segments."""

    marks: tuple[Ids, ...]
    mark_segments: tuple[Ids, ...]
    segments: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.marks))

    def around(self, texts: Sequence[Encoded], sizes: Sequence[int], *, segmented: bool) -> Input:
        """The input of these texts, each cut at its size."""
        ids, segments, text = [self.marks[0]], [self.mark_segments[0]], [np.full(len(self.marks[0]), -1)]
        for number, (encoded, size) in enumerate(zip(texts, sizes, strict=True)):
            behind = self.marks[number + 1]
            ids += [encoded.ids[:size], behind]
            segments += [np.full(min(size, len(encoded.ids)), self.segments[number]), self.mark_segments[number + 1]]
            text += [np.full(min(size, len(encoded.ids)), number), np.full(len(behind), -1)]
        joined = np.concatenate(ids)
        kinds = np.concatenate(segments) if segmented else np.zeros_like(joined)
        cut = sum(max(0, len(encoded.ids) - size) for encoded, size in zip(texts, sizes, strict=True))
        return Input(joined, kinds, np.concatenate(text), tuple(texts), cut)


class Tokens:
    """A tokenizer that cuts at `limit` tokens, special tokens counted, or where a framing says, up to `most`."""

    def __init__(
        self, tokenizer: Any, limit: int, pad: int, *, segmented: bool = True, most: int | None = None
    ) -> None:  # fmt: skip
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True
        self._segmented = segmented
        known = tokenizer.get_added_tokens_decoder()
        # What a tokenizer does not know is no mark: a text may hold its name.
        unknown = {"<unk>", "[UNK]", "<|unk|>"}
        self._marks = {
            place: token.content for place, token in known.items() if token.special and token.content not in unknown
        }
        self._mark_ids = np.array(sorted(self._marks), dtype=np.int64)
        self._added = tuple(token.content for token in known.values() if not token.special)
        self.limit = limit
        self.pad = pad
        self._most = most

    @cached_property
    def _parsing(self) -> Any:
        """The tokenizer as released code uses it: it reads marks inside texts."""
        tokenizer = type(self._tokenizer).from_str(self._tokenizer.to_str())
        tokenizer.encode_special_tokens = False
        return tokenizer

    @cached_property
    def _frames(self) -> tuple[_Frame, _Frame]:
        """The frame of one text, and that of a pair."""
        probe = self._tokenizer.encode("a", add_special_tokens=False)
        size = len(probe.ids)
        frames = []
        for count in (1, 2):
            framed = self._tokenizer.post_process(probe, probe if count == 2 else None)
            places = np.flatnonzero(np.asarray(framed.special_tokens_mask) == 0)
            first = [int(places[number * size]) for number in range(count)]
            ids, kinds = np.asarray(framed.ids, dtype=np.int64), np.asarray(framed.type_ids, dtype=np.int64)
            edges = [0, *(edge for start in first for edge in (start, start + size)), len(ids)]
            between = [slice(edges[at], edges[at + 1]) for at in range(0, len(edges), 2)]
            frames.append(
                _Frame(
                    tuple(ids[part] for part in between),
                    tuple(kinds[part] for part in between),
                    tuple(int(kinds[start]) for start in first),
                )
            )
        return frames[0], frames[1]

    @property
    def pair_limit(self) -> int:
        """Tokens that two texts may have together, special tokens left out."""
        return self.limit - self._frames[1].size

    @cached_property
    def end(self) -> str:
        """The mark that ends an input: `{eos}` of a template. UsageError where the tokenizer sets none."""
        last = self._frames[0].marks[-1]
        if not len(last):
            raise UsageError("the tokenizer ends an input with no mark, and a template needs one")
        return str(self._tokenizer.id_to_token(int(last[-1])))

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text before anything is cut, special tokens left out."""
        return [len(encoded.ids) for encoded in self.encoded(texts)]

    def texts(self, texts: Sequence[str]) -> list[Input]:
        """Each text as an input."""
        return self.inputs([(text,) for text in texts])

    def windows(self, texts: Sequence[str]) -> list[list[Input]]:
        """Each text whole, as one input or as many as it needs: neighbouring tokens, as equal in number as can be."""
        frame = self._frames[0]
        room = self.limit - frame.size
        listed = []
        for encoded in self.encoded(texts):
            parts = np.array_split(encoded.ids, max(1, -(-len(encoded.ids) // room)))
            listed.append(
                [frame.around([Encoded(part, None)], [len(part)], segmented=self._segmented) for part in parts]
            )
        return listed

    def inputs(self, rows: Sequence[tuple[str, ...]], how: Framing = Framing()) -> list[Input]:  # noqa: B008 - frozen
        """Each row of texts (one, a pair, or as many as a template takes) as an input; each different text is
        tokenised once."""
        if how.template is not None:
            return self._templated(rows, how.template, how)
        unique = list(dict.fromkeys(text for row in rows for text in row))
        encodings = dict(zip(unique, self.encoded(unique, marks=how.marks), strict=True))
        inputs = []
        for row in rows:
            texts, frame = [encodings[text] for text in row], self._frames[len(row) - 1]
            sizes = cut_sizes([len(encoded.ids) for encoded in texts], self._room(frame, how), how.cut)
            inputs.append(frame.around(texts, sizes, segmented=self._segmented and how.segments))
        return inputs

    def room(self, how: Framing) -> int:
        """Tokens that the texts of an input (a pair, or those of a template) may have together."""
        return self._room(self._frames[0 if how.template else 1], how)

    def _room(self, frame: _Frame, how: Framing) -> int:
        """Tokens that the texts of an input may have."""
        limit = self.limit if how.limit is None else min(how.limit, self._most or how.limit)
        return limit - frame.size

    def first_pieces(self, words: Sequence[str], where: str) -> tuple[int, ...]:
        """The id of each word's first token. UsageError where two words share it, or a word has none."""
        pieces: dict[int, str] = {}
        for word, encoded in zip(words, self.encoded(words), strict=True):
            if not len(encoded.ids):
                raise UsageError(f"{where}: its tokenizer makes nothing of the word {word!r}")
            piece = int(encoded.ids[0])
            if piece in pieces:
                raise UsageError(
                    f"{where}: the words {pieces[piece]!r} and {word!r} begin with the same piece "
                    f"({self._tokenizer.id_to_token(piece)!r}), so its first step cannot tell them apart: it is not a "
                    "checkpoint that answers with these words"
                )
            pieces[piece] = word
        return tuple(pieces)

    def mark(self, text: str, where: str) -> int:
        """The id of a mark. UsageError where the tokenizer has none of this name."""
        place = self._tokenizer.token_to_id(text)
        if place is None:
            raise UsageError(f"{where}: its tokenizer has no mark {text!r}")
        return int(place)

    def of_words(self, words: Sequence[str]) -> Pieces:
        """A text given as words, in the frame of one text and not cut; a word of a byte-level tokenizer is read as
        behind a blank."""
        encoding = self._of_words.encode([_clean(word) for word in words], is_pretokenized=True)
        places = [-1 if word is None else int(word) for word in encoding.word_ids]
        return Pieces(np.asarray(encoding.ids, dtype=np.int64), places)

    @cached_property
    def _of_words(self) -> Any:
        import json

        told = json.loads(self._tokenizer.to_str())
        before = told.get("pre_tokenizer") or {}
        for part in before.get("pretokenizers", [before]):
            if part.get("type") == "ByteLevel":
                part["add_prefix_space"] = True
        tokenizer = type(self._tokenizer).from_str(json.dumps(told))
        tokenizer.encode_special_tokens = True
        return tokenizer

    def padded(self, inputs: Sequence[Input]) -> Batch:
        """A batch of these inputs."""
        longest = max(len(input_.ids) for input_ in inputs)
        ids = np.full((len(inputs), longest), self.pad, dtype=np.int64)
        mask, segments = np.zeros_like(ids), np.zeros_like(ids)
        for row, input_ in enumerate(inputs):
            size = len(input_.ids)
            ids[row, :size], mask[row, :size], segments[row, :size] = input_.ids, 1, input_.segments
        return Batch(ids, mask, segments)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of generated ids, special tokens left out."""
        return str(self._tokenizer.decode([int(token) for token in ids], skip_special_tokens=True)).strip()

    def names(self, ids: Ids) -> tuple[str, ...]:
        """The tokens of ids."""
        return tuple(str(self._tokenizer.id_to_token(int(token))) for token in ids)

    def encoded(self, texts: Sequence[str], *, marks: bool = False) -> list[Encoded]:
        """Each text's tokens, without a frame; with `marks` those in the text are read as marks."""
        cleaned = [_clean(text) for text in texts]
        encoded = self._whole(self._parsing if marks else self._tokenizer, cleaned)
        if marks:
            return encoded
        # A vocabulary (T5's, DeBERTa-v3's) may hold the mark as a word of its own.
        held = [at for at, one in enumerate(encoded) if len(self._mark_ids) and np.isin(one.ids, self._mark_ids).any()]
        for at, one in zip(held, self._whole(self._tokenizer, [self._broken(cleaned[at]) for at in held]), strict=True):
            encoded[at] = one
        return encoded

    def _templated(self, rows: Sequence[tuple[str, ...]], template: str, how: Framing) -> list[Input]:
        frame = self._frames[0]
        if not isinstance(how.cut, str):
            raise ValueError("a template is cut as a whole (longest_first) or in its first text (only_first)")
        composed = [self._composed(row, template, marks=how.marks) for row in rows]
        encodings = self._whole(self._parsing, [text for text, _ in composed])
        inputs, room = [], self._room(frame, how)
        for encoded, (_, first) in zip(encodings, composed, strict=True):
            over = len(encoded.ids) - room
            if over > 0 and how.cut == "only_first":
                # The places of the tokens of the first text.
                inside = np.flatnonzero((encoded.offsets[:, 1] > first[0]) & (encoded.offsets[:, 0] < first[1]))
                shorter = encoded._replace(ids=np.delete(encoded.ids, inside[max(0, len(inside) - over) :]))
                input_ = frame.around([shorter], [room], segmented=self._segmented)
                inputs.append(input_._replace(cut=over, has_room=over < len(inside)))
            else:
                size = min(len(encoded.ids), room)
                inputs.append(frame.around([encoded], [size], segmented=self._segmented))
        return inputs

    def _composed(self, row: tuple[str, ...], template: str, *, marks: bool) -> tuple[str, tuple[int, int]]:
        """A template with the texts in it, and where the first of them stands."""
        # Tokens that a template's own marks are (<m>), though the tokenizer calls them no special ones.
        own = tuple(mark for mark in self._added if mark in template)
        texts = [_clean(text) if marks else self._broken(_clean(text), own) for text in row]
        before, slot, _ = template.partition("{0}")
        if not slot:
            raise ValueError(f"the template {template!r} has no place {{0}} for the first text")
        eos = self.end if "{eos}" in template else ""
        start = len(before.format(*texts, eos=eos))
        return template.format(*texts, eos=eos), (start, start + len(texts[0]))

    def _broken(self, text: str, more: Sequence[str] = ()) -> str:
        """The text with every mark in it made plain characters, of which there are as many as before."""
        for mark in (*self._marks.values(), *more):
            if mark in text:
                text = text.replace(mark, f"({mark[1:]}")
        return text

    def _whole(self, tokenizer: Any, texts: Sequence[str]) -> list[Encoded]:
        encodings: list[Any] = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [Encoded(np.asarray(encoding.ids, dtype=np.int64), encoding) for encoding in encodings]


def cut_sizes(lengths: Sequence[int], room: int, cut: Cut) -> tuple[int, ...]:
    """How many tokens of each text are read where `room` holds them all.

    "longest_first" as `tokenizers` does it: the longer text until both are equal, then both; an odd token goes to the
    longer one. "only_first" falls back on it where the second text leaves no room.

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
    """The tokenizer of a model, cutting where `wanted` says, else where the model's own files say.

    UsageError for a `wanted` that is more than the model has positions for.
    """
    config = model.config
    most = _positions(config)
    if wanted is not None and most is not None and wanted > most:
        raise UsageError(f"{model.name}: max_tokens={wanted}, but the model has positions for {most} tokens only")
    tokenizer_config = maybe_json(model.folder / "tokenizer_config.json")
    sentences = maybe_json(model.folder / "sentence_bert_config.json").get("max_seq_length")
    told = int(sentences or tokenizer_config.get("model_max_length") or _HUGE)
    longest = wanted or (told if told < _HUGE else None) or config.get("max_position_embeddings") or PLAIN
    limit = min(longest, most or _HUGE)
    tokenizer = _tokenizer(model)
    pad = config.get("pad_token_id")
    if pad is None:
        pad = next((known for sign in ("[PAD]", "<pad>") if (known := tokenizer.token_to_id(sign)) is not None), 0)
    # A tokenizer's own config may say that the model was trained without segments.
    names = tokenizer_config.get("model_input_names")
    tokens = Tokens(
        tokenizer, int(limit), int(pad), segmented=not names or "token_type_ids" in names, most=wanted or most
    )
    if tokens.pair_limit <= 0:
        raise UsageError(f"{model.name}: {tokens.limit} tokens have no room for any text; set max_tokens higher")
    return tokens


def reads_segments(config: Any) -> bool:
    """Whether an encoder with this config of transformers tells two segments apart."""
    return int(getattr(config, "type_vocab_size", 0) or 0) > 1


def _positions(config: dict[str, Any]) -> int | None:
    """How many tokens a model has places for; None where places are relative, and any length can be read."""
    if config.get("position_biased_input") is False or config.get("model_type") in {"t5", "mt5", "umt5"}:
        return None
    most = config.get("max_position_embeddings") or config.get("n_positions")
    if most is None:
        return None
    # RoBERTa and its kin count places from the padding id on.
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
            f"{file} is missing; without it the tokenizer can only be made by transformers: "
            "pip install 'summeter[torch]'"
        ) from error
    try:
        return AutoTokenizer.from_pretrained(model.folder).backend_tokenizer
    except (OSError, ValueError, ImportError, AttributeError) as error:
        raise UsageError(f"{model.folder}: its tokenizer cannot be made: {error}") from error


def _clean(text: str) -> str:
    # A lone surrogate has no UTF-8, which tokenizers are given.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
