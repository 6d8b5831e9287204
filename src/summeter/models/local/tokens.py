"""Texts to token ids: one text or a pair is one input, framed by the tokenizer and cut to the model's length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.models.local.names import Located, maybe_json
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

PLAIN = 512
"""Tokens an input may have where no file of the model says otherwise."""
_HUGE = 1_000_000  # tokenizer configs write 1e30 for "no limit"


class Input(NamedTuple):
    """One input of a model: its token ids and segment ids, and the tokenizer's own account of them."""

    ids: Ids
    segments: Ids
    encoding: Any

    @property
    def truncated(self) -> bool:
        """Whether the end of a text was cut off."""
        return bool(self.encoding.overflowing)


class Batch(NamedTuple):
    """Inputs padded to the longest: arrays of shape (inputs, tokens); the mask is 1 where a token is."""

    ids: Ids
    mask: Ids
    segments: Ids


class Tokens:
    """A tokenizer that cuts at `limit` tokens, special tokens counted; of a pair the longer text is cut first."""

    def __init__(self, tokenizer: Any, limit: int, pad: int, *, segmented: bool = True) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._cutting = type(tokenizer).from_str(tokenizer.to_str())
        self._cutting.enable_truncation(limit, strategy="longest_first")
        self._segmented = segmented
        self.limit = limit
        self.pad = pad

    @property
    def pair_limit(self) -> int:
        """Tokens that two texts may have together, special tokens left out."""
        return self.limit - int(self._tokenizer.num_special_tokens_to_add(is_pair=True))

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text before anything is cut, special tokens left out."""
        return [len(encoding.ids) for encoding in self._whole(texts)]

    def texts(self, texts: Sequence[str]) -> list[Input]:
        """Each text as an input."""
        return self._inputs(self._cutting.encode_batch([_clean(text) for text in texts]))

    def pairs(self, pairs: Sequence[tuple[str, ...]]) -> list[Input]:
        """Each pair of texts as an input; each different text is tokenised once."""
        unique = list(dict.fromkeys(text for pair in pairs for text in pair))
        encodings = dict(zip(unique, self._whole(unique), strict=True))
        return self._inputs(
            [self._cutting.post_process(encodings[first], encodings[second]) for first, second in pairs]
        )

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

    def _whole(self, texts: Sequence[str]) -> list[Any]:
        encodings: list[Any] = self._tokenizer.encode_batch([_clean(text) for text in texts], add_special_tokens=False)
        return encodings

    def _inputs(self, encodings: Sequence[Any]) -> list[Input]:
        inputs = []
        for encoding in encodings:
            ids = np.asarray(encoding.ids, dtype=np.int64)
            segments = np.asarray(encoding.type_ids, dtype=np.int64) if self._segmented else np.zeros_like(ids)
            inputs.append(Input(ids, segments, encoding))
        return inputs


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
        pad = next((known for sign in ("[PAD]", "<pad>") if (known := tokenizer.token_to_id(sign)) is not None), 0)
    # A tokenizer's own config may say that the model was trained without segments.
    names = maybe_json(model.folder / "tokenizer_config.json").get("model_input_names")
    tokens = Tokens(tokenizer, int(limit), int(pad), segmented=not names or "token_type_ids" in names)
    if tokens.pair_limit <= 0:
        raise UsageError(f"{model.name}: {tokens.limit} tokens have no room for any text; set max_tokens higher")
    return tokens


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
    length = sentences or maybe_json(folder / "tokenizer_config.json").get("model_max_length")
    return int(length) if length and length < _HUGE else None


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
