"""Rate summaries with trained judges.

An encoder reads the texts, and a small head predicts one number per aspect. The folder of a trained judge, which
`summeter train` writes, is that of an encoder (`config.json`, tokenizer, weights) with an additional file
`regressor.json`. This file defines the states that the head reads, the weights of the head, and how the outputs of the
head are converted to ratings. A judge that was trained on prompts reads a summary once per aspect, in the prompt of the
aspect, which is stored in `regressor.json`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, ValidationError

from summeter.models.local.loaded_model import LoadedModel
from summeter.models.local.names import file_hash
from summeter.models.local.tokens import Input
from summeter.models.networks import AspectRating, Framing, Rate, Rated
from summeter.models.prompts import fence_codes
from summeter.records import Record, UsageError, invalid
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FILE = "regressor.json"
SCHEMA: Final = "summeter-regressor/1"
FRAMING = Framing(cut="only_first")
"""The framing of pairs: in an input that is too long, only the document is truncated."""
AT_ONCE = 128
"""Maximum number of inputs whose token states are in memory at the same time."""

Pool = Literal["match", "mean", "first", "last", "pair"]
"""The input of the head. For `match`, both texts are encoded separately, and the head reads the similarities of their
tokens (`matches`). Otherwise, both texts are encoded together, and the head reads the mean of all token states
(`mean`), the state of the first token (`first`; the special token of an encoder) or of the last token (`last`; for
decoders), or a, b, |a - b| and a * b, where a and b are the means of the two texts (`pair`)."""
_SHARES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
MATCHES: Final = 3 * (2 + len(_SHARES)) + 5
"""The number of values that `matches` returns."""
_TIED = 1e-4
"""Cosines that differ by less than this are treated as equal, since their order depends on the runtime."""


def _packed(array: Floats) -> dict[str, Any]:
    values = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(values.shape), "data": base64.b64encode(values.tobytes()).decode("ascii")}


def _unpacked(value: Any) -> Floats:
    if isinstance(value, np.ndarray):
        return value
    try:
        data = base64.b64decode(value["data"], validate=True)
        return np.frombuffer(data, dtype="<f8").reshape(value["shape"]).astype(np.float64)
    except (KeyError, TypeError) as error:
        raise ValueError("is not an array, which has a shape and data") from error


Packed = Annotated[np.ndarray[Any, np.dtype[np.float64]], PlainValidator(_unpacked), PlainSerializer(_packed)]
"""An array that is stored in JSON with its shape and its numbers in base64."""


@dataclass(frozen=True)
class Layer:
    """An affine map; `weight` has shape (inputs, outputs)."""

    weight: Packed
    bias: Packed


def framed(
    pairs: Sequence[tuple[str, ...]], prompts: Mapping[str, str]
) -> list[tuple[Framing, Sequence[tuple[str, ...]]]]:
    """Return the inputs for (document, summary) pairs, as rows of texts with their framing.

    `prompts` holds the template of each aspect, with the placeholders {0} (the document), {1} (the summary), {2} and
    {3} (their fence codes). If it is empty, the inputs are the pairs, and the list has one entry; otherwise it has one
    entry per prompt.
    """
    if not prompts:
        return [(FRAMING, pairs)]
    rows = [(document, summary, *fence_codes(document, summary).values()) for document, summary in pairs]
    return [(FRAMING._replace(template=prompt), rows) for prompt in prompts.values()]


class Scale(Record):
    """The conversion of the outputs for an aspect to ratings.

    The scale from `low` to `high` corresponds to outputs from 0 to 1. Outputs are calibrated by linear interpolation
    between the points (`outputs`, `ratings`); two points define a line. The human ratings of a share `coverage` of new
    summaries of the same kind as the training data are expected to differ from the predicted ratings by at most
    `half_width`, which is None if it is unknown.
    """

    low: float
    high: float
    outputs: tuple[float, ...]
    ratings: tuple[float, ...]
    half_width: float | None
    coverage: float

    def rated(self, values: Floats) -> Floats:
        """Return the ratings for outputs, not clipped to the ends of the scale."""
        x, y = np.asarray(self.outputs), np.asarray(self.ratings)
        if len(x) == 1:
            return np.full_like(values, y[0])
        segment = np.clip(np.searchsorted(x, values) - 1, 0, len(x) - 2)
        if len(x) > 2:  # isotonic: constant beyond the ends
            values = np.clip(values, x[0], x[-1])
        rise, run = y[segment + 1] - y[segment], x[segment + 1] - x[segment]
        rated: Floats = y[segment] + (values - x[segment]) * rise / run
        return rated


class RegressionHead(Record):
    """The head of a trained judge, which is stored in `regressor.json`: affine layers with tanh between them.

    `outputs` holds the aspect of each output; an aspect has one output, or one output per annotator, in which case the
    outputs are averaged. `scales` holds the scale of each aspect. `span_free` is the index of the output whose logistic
    function is the probability that the summary has no inconsistent span, or None if there is no such output. `prompts`
    holds the prompts by aspect (see `framed`). With prompts, the states of all summaries in the first prompt are
    followed by those in the next prompt, and all aspects share one output. `files` holds the hashes of the other files
    in the folder by name.
    """

    schema_: Literal["summeter-regressor/1"] = Field(default=SCHEMA, alias="schema")
    pool: Pool
    max_tokens: int
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]
    scales: dict[str, Scale]
    span_free: int | None
    files: dict[str, str]
    prompts: dict[str, str]

    def apply(self, states: Floats) -> Floats:
        """Return the outputs for pooled states in an array of shape (inputs, outputs)."""
        values = np.asarray(states, dtype=np.float64)
        for number, layer in enumerate(self.layers):
            values = (np.tanh(values) if number else values) @ layer.weight + layer.bias
        return values

    def by_aspect(self, outputs: Floats) -> dict[str, Floats]:
        """Return the mean outputs of each aspect before calibration.

        In these outputs, 0 and 1 stand for the ends of the scale.
        """
        if self.prompts:
            return dict(zip(self.prompts, outputs[:, 0].reshape(len(self.prompts), -1), strict=True))
        return {
            aspect: outputs[:, [index for index, name in enumerate(self.outputs) if name == aspect]].mean(axis=1)
            for aspect in dict.fromkeys(self.outputs)
        }

    def rated(self, outputs: Floats, cut: Floats) -> list[Rated]:
        """Return the ratings of each summary.

        `cut` holds the number of truncated tokens of each input, or NaN if there was no room for the document.
        """
        ratings = {aspect: self.scales[aspect].rated(values) for aspect, values in self.by_aspect(outputs).items()}
        span_free = None if self.span_free is None else 1 / (1 + np.exp(-outputs[:, self.span_free]))
        summaries = len(outputs) // max(1, len(self.prompts))
        by_aspect = np.broadcast_to(cut.reshape(-1, summaries), (len(ratings), summaries))
        truncated = dict(zip(ratings, by_aspect, strict=True))
        return [
            Rated(
                {
                    aspect: AspectRating(
                        value := float(values[row]),
                        None if (half := self.scales[aspect].half_width) is None else value - half,
                        None if half is None else value + half,
                        self.scales[aspect].coverage,
                    )
                    for aspect, values in ratings.items()
                    if not np.isnan(truncated[aspect][row])
                },
                None if span_free is None else float(span_free[row]),
                {aspect: int(np.nan_to_num(counts[row])) for aspect, counts in truncated.items()},
            )
            for row in range(summaries)
        ]


def read_head(folder: Path) -> RegressionHead:
    """Read the head of a trained judge from its folder.

    Raises UsageError if the folder contains no head, if this version cannot read the head, or if other files in the
    folder differ from those that the training wrote.
    """
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder} is not a trained judge: it has no {FILE}; `summeter train` writes such folders")
    try:
        head = RegressionHead.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise invalid(file, None, error) from error
    for name, hashed in head.files.items():
        if not (folder / name).is_file() or file_hash(folder / name) != hashed:
            raise UsageError(
                f"{folder / name} is missing or differs from the file of the training; copy the complete folder, or "
                "train again"
            )
    return head


def pooled_states(
    loaded: LoadedModel, rows: Sequence[tuple[str, ...]], pool: Pool, usage: Usage, framing: Framing = FRAMING
) -> Floats:
    """Return the pooled states of each row (document, summary, ...).

    The array has shape (rows, dimensions + 1). The last column holds the number of truncated tokens, or NaN if the
    framing leaves no room for the document; the states of such a row must not be used.
    """
    if pool == "match":
        return _matched(loaded, rows, usage)
    pooled = []
    for start in range(0, len(rows), AT_ONCE):
        inputs = loaded.tokens.inputs(list(rows[start : start + AT_ONCE]), framing)
        states = _states(loaded, inputs, usage)
        pooled += [
            np.append(_pooled(token_states, input_, pool), input_.cut if input_.has_room else np.nan)
            for token_states, input_ in zip(states, inputs, strict=True)
        ]
    return np.stack(pooled)


def _states(loaded: LoadedModel, inputs: Sequence[Input], usage: Usage) -> list[NDArray[np.float32]]:
    """Return the last hidden states of each input, including those of special tokens."""
    backend = loaded.backend
    return loaded.run_by_token(inputs, usage, lambda batch: backend.hidden(*batch, backend.layers))


def _matched(loaded: LoadedModel, pairs: Sequence[tuple[str, ...]], usage: Usage) -> Floats:
    """Return the `matches` of each pair; texts are not truncated.

    The vectors of tokens are held in memory for one document at a time.
    """
    rows = np.zeros((len(pairs), MATCHES + 1))
    rows_of: dict[str, list[int]] = {}
    for row, (document, _) in enumerate(pairs):
        rows_of.setdefault(document, []).append(row)
    for document, indices in rows_of.items():
        texts = list(dict.fromkeys([document, *(pairs[row][1] for row in indices)]))
        # Long texts are read in windows; the vectors of tokens are normalised and have shape (tokens, dimensions).
        windows = loaded.tokens.windows(texts)
        states = iter(_states(loaded, [input_ for inputs in windows for input_ in inputs], usage))
        vectors = {}
        for text, inputs in zip(texts, windows, strict=True):
            tokens = np.concatenate([next(states)[input_.text >= 0] for input_ in inputs])
            vectors[text] = tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-12)
        for row in indices:
            rows[row, :-1] = matches(vectors[document], vectors[pairs[row][1]])
    return rows


def matches(document: NDArray[np.float32], summary: NDArray[np.float32]) -> Floats:
    """Return `MATCHES` features of the similarities between the tokens of two texts.

    Tokens are given as unit vectors; if a text is empty, all features are 0. The features are, in this order: the mean,
    standard deviation and quantiles of the maximum cosine of each summary token to the document (support), of each
    document token to the summary (coverage), and of each summary token to the other summary tokens (repetition); the
    mean cosine between summary tokens; the share of consecutive summary tokens whose best matches are consecutive in
    the document (copying); and, as fractions of the document's length, the mean step between these matches and the mean
    and standard deviation of their positions. The means of the first two maxima are the precision and the recall of
    BERTScore (Zhang et al., 2020).

    >>> both = np.eye(3, dtype=np.float32)
    >>> values = matches(both, both[:2])
    >>> values[0].item(), values[8].round(2).item(), values[25:27].round(2).tolist()
    (1.0, 0.67, [1.0, 0.33])
    """
    if not len(document) or not len(summary):
        return np.zeros(MATCHES)
    cosines = summary @ document.T
    within = summary @ summary.T
    np.fill_diagonal(within, 0.0)
    best = cosines.max(axis=1)
    positions = (cosines >= best[:, None] - _TIED).argmax(axis=1)
    steps = np.diff(positions) if len(positions) > 1 else np.zeros(1)
    maxima = [values.astype(np.float64) for values in (best, cosines.max(axis=0), within.max(axis=1))]
    return np.concatenate([
        *([values.mean(), values.std(), *np.quantile(values, _SHARES)] for values in maxima),
        [within.sum(dtype=np.float64) / max(1, len(within) * (len(within) - 1)), (steps == 1).mean()],
        np.array([np.abs(steps).mean(), positions.mean(), positions.std()]) / len(document),
    ])  # fmt: skip


def _pooled(states: NDArray[np.float32], input_: Input, pool: Pool) -> Floats:
    values = states.astype(np.float64)
    if pool == "first":
        return np.asarray(values[0])
    if pool == "last":
        return np.asarray(values[-1])
    if pool == "mean":
        return np.asarray(values.mean(axis=0))
    texts = [values[input_.text == number] for number in (0, 1)]
    # The mean of a text without tokens is 0.
    document, summary = (text.mean(axis=0) if len(text) else np.zeros(values.shape[1]) for text in texts)
    return np.concatenate([document, summary, np.abs(document - summary), document * summary])


def rate(loaded: LoadedModel, requests: Sequence[Rate], usage: Usage) -> list[Rated]:
    """Return the ratings for each (document, summary) pair."""
    head = loaded.once(checked_head)
    pairs = [(request.document, request.summary) for request in requests]
    rows = framed(pairs, head.prompts)
    states = np.concatenate([pooled_states(loaded, texts, head.pool, usage, framing) for framing, texts in rows])
    return head.rated(head.apply(states[:, :-1]), states[:, -1])


def checked_head(loaded: LoadedModel) -> RegressionHead:
    """Return the head of a trained judge.

    Raises UsageError if the settings of the model differ from those of the training, since the calibration would then
    be invalid.
    """
    head = read_head(loaded.model.folder)
    if loaded.tokens.limit != head.max_tokens:
        raise UsageError(
            f"{loaded.model.name} was trained on inputs of {head.max_tokens} tokens, not {loaded.tokens.limit}; remove "
            "max_tokens"
        )
    if loaded.runtime.precision != "fp32":
        raise UsageError(
            f"{loaded.model.name} was calibrated in fp32, but would run in {loaded.runtime.precision}; set "
            "precision=fp32 after the model's name"
        )
    return head
