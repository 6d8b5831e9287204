"""Texts to token ids: each text is tokenised once, and pairs are put together from the parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.models.local.files import Located, maybe_json
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

PLAIN = 512
"""Tokens an input may have where no file of the model says otherwise."""
_HUGE = 1_000_000  # tokenizer configs write 1e30 for "no limit"


class Input(NamedTuple):
    """One input of a model: its token ids and segment ids, and whether its end was cut off."""

    ids: Ids
    segments: Ids
    truncated: bool = False


class Parts(NamedTuple):
    """A text's tokens without special tokens; `offsets` in code points."""

    ids: Ids
    tokens: Sequence[str]
    offsets: Sequence[tuple[int, int]]


class Frame(NamedTuple):
    """The special tokens around one text (`between` is then empty) or two, and the segments of all parts."""

    before: Ids
    between: Ids
    after: Ids
    segments: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return len(self.before) + len(self.between) + len(self.after)


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of two texts is kept when they share `room` tokens: the longer one is cut, then both to a half.

    As tokenizers do it (strategy "longest_first").

    >>> longest_first(100, 10, 60), longest_first(100, 90, 61)
    ((50, 10), (31, 30))
    """
    if first + second <= room:
        return first, second
    short, long = min(first, second), max(first, second)
    long = max(short, room - short)
    if short + long > room:
        short, long = room // 2, room - room // 2
    return (long, short) if first > second else (short, long)


class Tokens:
    """A tokenizer that cuts at `limit` tokens, special tokens counted, and says so."""

    def __init__(self, tokenizer: Any, limit: int, pad: int, *, segmented: bool = True) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.limit = limit
        self.pad = pad
        self.single = _frame(tokenizer, pair=False)
        self.pair = _frame(tokenizer, pair=True)
        if not segmented:
            self.single = self.single._replace(segments=(0,) * 5)
            self.pair = self.pair._replace(segments=(0,) * 5)

    def parts(self, texts: Sequence[str]) -> list[Parts]:
        """The tokens of texts."""
        made = self._tokenizer.encode_batch([_clean(one) for one in texts], add_special_tokens=False)
        return [Parts(np.asarray(one.ids, dtype=np.int64), one.tokens, one.offsets) for one in made]

    def texts(self, texts: Sequence[str]) -> list[Input]:
        """Each text as an input."""
        return [self.one(parts.ids) for parts in self.parts(texts)]

    def pairs(self, pairs: Sequence[tuple[str, ...]]) -> list[Input]:
        """Each pair as an input; each different text is tokenised once."""
        unique = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = {text: parts.ids for text, parts in zip(unique, self.parts(unique), strict=True)}
        return [self.two(ids[first], ids[second]) for first, second in pairs]

    def one(self, ids: Ids) -> Input:
        """A text's ids with the special tokens around them."""
        kept = ids[: max(0, self.limit - self.single.size)]
        return _framed(self.single, (kept, ids[:0]), truncated=len(kept) < len(ids))

    def two(self, first: Ids, second: Ids) -> Input:
        """Two texts' ids with the special tokens around and between them."""
        left, right = longest_first(len(first), len(second), self.limit - self.pair.size)
        cut = left < len(first) or right < len(second)
        return _framed(self.pair, (first[:left], second[:right]), truncated=cut)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of generated ids, special tokens left out."""
        return str(self._tokenizer.decode([int(one) for one in ids], skip_special_tokens=True)).strip()

    def names(self, ids: Ids) -> list[str]:
        """The tokens of ids."""
        return [str(self._tokenizer.id_to_token(int(one))) for one in ids]


def padded(inputs: Sequence[Input], pad: int) -> tuple[Ids, Ids, Ids]:
    """(ids, mask, segments) of a batch, each of shape (inputs, longest); the mask is 1 where a token is."""
    longest = max(len(one.ids) for one in inputs)
    ids = np.full((len(inputs), longest), pad, dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, one in enumerate(inputs):
        size = len(one.ids)
        ids[row, :size], mask[row, :size], segments[row, :size] = one.ids, 1, one.segments
    return ids, mask, segments


def load_tokens(model: Located, wanted: int | None) -> Tokens:
    """The tokenizer of a model, cutting where `wanted` says, else where the model's own files say.

    UsageError for a `wanted` that is more than the model has positions for.
    """
    config = model.config
    most = _positions(config)
    if wanted is not None and most is not None and wanted > most:
        raise UsageError(f"{model.name}: max_tokens={wanted}, but the model has positions for {most} tokens only")
    limit = min(wanted or _told(model.folder) or config.get("max_position_embeddings") or PLAIN, most or _HUGE)
    tokenizer = _tokenizer(model)
    pad = config.get("pad_token_id")
    if pad is None:
        pad = next((found for sign in ("[PAD]", "<pad>") if (found := tokenizer.token_to_id(sign)) is not None), 0)
    # A tokenizer's own config may say that the model was trained without segments.
    names = maybe_json(model.folder / "tokenizer_config.json").get("model_input_names")
    made = Tokens(tokenizer, int(limit), int(pad), segmented=not names or "token_type_ids" in names)
    if made.limit <= made.pair.size:
        raise UsageError(f"{model.name}: {made.limit} tokens have no room for any text; set max_tokens higher")
    return made


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


def _told(folder: Path) -> int | None:
    sentences = maybe_json(folder / "sentence_bert_config.json").get("max_seq_length")
    told = sentences or maybe_json(folder / "tokenizer_config.json").get("model_max_length")
    return int(told) if told and told < _HUGE else None


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


def _frame(tokenizer: Any, *, pair: bool) -> Frame:
    """What the tokenizer puts around texts, seen on two short ones."""
    text = next(one for one in ("a", "1", ".", "the") if tokenizer.encode(one, add_special_tokens=False).ids)
    made = tokenizer.encode(text, text if pair else None)
    owners = made.sequence_ids
    first = [place for place, owner in enumerate(owners) if owner == 0]
    second = [place for place, owner in enumerate(owners) if owner == 1]
    ids, kinds = np.asarray(made.ids, dtype=np.int64), made.type_ids
    start, end = first[0], first[-1] + 1
    if not pair:
        segments = (_one(kinds[:start]), kinds[start], 0, 0, _one(kinds[end:]))
        return Frame(ids[:start], ids[:0], ids[end:], segments)
    again, last = second[0], second[-1] + 1
    segments = (_one(kinds[:start]), kinds[start], _one(kinds[end:again]), kinds[again], _one(kinds[last:]))
    return Frame(ids[:start], ids[end:again], ids[last:], segments)


def _one(kinds: Sequence[int]) -> int:
    return kinds[0] if kinds else 0


def _framed(frame: Frame, texts: tuple[Ids, Ids], *, truncated: bool) -> Input:
    parts = (frame.before, texts[0], frame.between, texts[1], frame.after)
    segments = np.repeat(np.asarray(frame.segments, dtype=np.int64), [len(one) for one in parts])
    return Input(np.concatenate(parts), segments, truncated)


def _clean(text: str) -> str:
    # A lone surrogate has no UTF-8, which tokenizers are given.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
