"""A trained judge: an encoder reads (document, summary), and a small head gives one number an aspect.

Its folder is that of an encoder (`config.json`, tokenizer, weights) with `regressor.json` beside: which states the head
reads, its weights, and how its outputs become ratings. `summeter train` writes such folders. A judge that was trained
on prompts reads a summary once for each aspect, in the aspect's prompt, which `regressor.json` holds.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np
from pydantic import ValidationError

from summeter.models.local.loaded_model import LoadedModel
from summeter.models.local.names import file_hash, read_json
from summeter.models.local.tokens import Input
from summeter.models.networks import AspectRating, Framing, Rate, Rated
from summeter.models.prompts import fence_codes
from summeter.records import Record, UsageError
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FILE = "regressor.json"
SCHEMA: Final = "summeter-regressor/1"
FRAMING = Framing(cut="only_first")
"""Of an input that is too long the document is cut, never the summary, and never a prompt."""
AT_ONCE = 128
"""Inputs whose token states are held at a time."""

Pool = Literal["match", "mean", "first", "last", "pair"]
"""What the head reads. `match`: both texts are encoded apart, and the head reads how their tokens match (`matches`).
Otherwise one pass reads both: the mean of all tokens, the first one's (an encoder's mark), the last one's (a decoder),
or of both texts' means a and b the four a, b, |a - b| and a * b."""
_SHARES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
MATCHES: Final = 3 * (2 + len(_SHARES)) + 5
"""How many numbers `matches` gives."""
_TIED = 1e-4
"""Cosines that are so near count as equal: which of them is the largest differs from runtime to runtime."""


class Layer(NamedTuple):
    """An affine map: `weight` has shape (inputs, outputs)."""

    weight: Floats
    bias: Floats


def framed(
    pairs: Sequence[tuple[str, ...]], prompts: Mapping[str, str]
) -> list[tuple[Framing, Sequence[tuple[str, ...]]]]:
    """What the network reads of (document, summary) pairs: the pairs, or each in the prompt of every aspect.

    `prompts`: by aspect a template with the places {0} (document), {1} (summary), {2} and {3} (the codes of their
    fences); empty for pairs. Returns the rows of texts with their framing, once for pairs, else once for each prompt.
    """
    if not prompts:
        return [(FRAMING, pairs)]
    rows = [(document, summary, *fence_codes(document, summary).values()) for document, summary in pairs]
    return [(FRAMING._replace(template=prompt), rows) for prompt in prompts.values()]


class Scale(Record):
    """How an output becomes a rating of an aspect.

    Outputs lie on 0 to 1 where ratings go from `low` to `high`; they are calibrated by straight lines between the
    points (`outputs`, `ratings`), the first and the last of which are carried on (two points: one straight line).
    Of new summaries of the training's kind the share `coverage` have ratings within `half_width` (None: not known).
    """

    low: float
    high: float
    outputs: tuple[float, ...]
    ratings: tuple[float, ...]
    half_width: float | None
    coverage: float

    def rated(self, values: Floats) -> Floats:
        """Ratings of outputs, not clipped to the scale."""
        x, y = np.asarray(self.outputs), np.asarray(self.ratings)
        if len(x) == 1:
            return np.full_like(values, y[0])
        at = np.clip(np.searchsorted(x, values) - 1, 0, len(x) - 2)
        if len(x) > 2:  # steps (isotonic): flat beyond the ends
            values = np.clip(values, x[0], x[-1])
        rated: Floats = y[at] + (values - x[at]) * (y[at + 1] - y[at]) / (x[at + 1] - x[at])
        return rated


class Head(NamedTuple):
    """What is made of pooled states: affine layers with tanh between them. `outputs` names the aspect of each output
    (an aspect has one, or one an annotator, whose mean counts); `scales` by aspect; `span_free` is the number of the
    output whose logistic is the probability that the summary has no inconsistent span. `prompts` by aspect (see
    `framed`): where there are any, the states of all summaries in the first prompt are followed by those in the next,
    and all aspects share one output."""

    pool: Pool
    max_tokens: int
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]
    scales: Mapping[str, Scale]
    span_free: int | None
    files: Mapping[str, str]
    prompts: Mapping[str, str]

    def apply(self, states: Floats) -> Floats:
        """Outputs of pooled states: shape (inputs, outputs)."""
        values = np.asarray(states, dtype=np.float64)
        for number, layer in enumerate(self.layers):
            values = (np.tanh(values) if number else values) @ layer.weight + layer.bias
        return values

    def by_aspect(self, outputs: Floats) -> dict[str, Floats]:
        """The mean output of each aspect, on 0 to 1, before calibration."""
        if self.prompts:
            return dict(zip(self.prompts, outputs[:, 0].reshape(len(self.prompts), -1), strict=True))
        return {
            aspect: outputs[:, [place for place, own in enumerate(self.outputs) if own == aspect]].mean(axis=1)
            for aspect in self.scales
        }

    def rated(self, outputs: Floats, cut: Floats) -> list[Rated]:
        """The ratings of each summary; `cut` counts the cut tokens of each input, NaN where it had no room."""
        ratings = {aspect: self.scales[aspect].rated(own) for aspect, own in self.by_aspect(outputs).items()}
        free = None if self.span_free is None else 1 / (1 + np.exp(-outputs[:, self.span_free]))
        summaries = len(outputs) // max(1, len(self.prompts))
        by_aspect = np.broadcast_to(cut.reshape(-1, summaries), (len(ratings), summaries))
        cuts = dict(zip(ratings, by_aspect, strict=True))
        return [
            Rated(
                {
                    aspect: AspectRating(
                        value := float(own[row]),
                        None if (half := self.scales[aspect].half_width) is None else value - half,
                        None if half is None else value + half,
                        self.scales[aspect].coverage,
                    )
                    for aspect, own in ratings.items()
                    if not np.isnan(cuts[aspect][row])
                },
                None if free is None else float(free[row]),
                {aspect: int(np.nan_to_num(own[row])) for aspect, own in cuts.items()},
            )
            for row in range(summaries)
        ]

    def dump(self) -> str:
        """The text of `regressor.json`."""
        values = {
            "schema": SCHEMA, "pool": self.pool, "max_tokens": self.max_tokens, "outputs": self.outputs,
            "span_free": self.span_free, "files": dict(self.files), "prompts": dict(self.prompts),
            "scales": {aspect: scale.model_dump() for aspect, scale in self.scales.items()},
            "layers": [{"weight": _packed(layer.weight), "bias": _packed(layer.bias)} for layer in self.layers],
        }  # fmt: skip
        return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def read_head(folder: Path) -> Head:
    """The head of a trained judge's folder. UsageError where there is none, where this version cannot read it, and
    where files beside it are not those it was trained with."""
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder} is no trained judge: it has no {FILE}; `summeter train` writes such folders")
    given = read_json(file)
    if given.get("schema") != SCHEMA:
        raise UsageError(f"{file} is {given.get('schema')!r}, and this version reads {SCHEMA}")
    if given.get("pool") not in get_args(Pool):
        raise UsageError(f"{file}: pool is {given.get('pool')!r}, and this version knows {', '.join(get_args(Pool))}")
    try:
        head = Head(
            given["pool"], int(given["max_tokens"]),
            tuple(Layer(_unpacked(layer["weight"]), _unpacked(layer["bias"])) for layer in given["layers"]),
            tuple(given["outputs"]),
            {aspect: Scale.model_validate(scale) for aspect, scale in given["scales"].items()},
            given["span_free"], given["files"], given["prompts"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    for name, hashed in head.files.items():
        if not (folder / name).is_file() or file_hash(folder / name) != hashed:
            raise UsageError(
                f"{folder / name} is not the file that the judge was trained with; copy the folder whole, or train "
                "again"
            )
    return head


def pooled_states(
    loaded: LoadedModel, rows: Sequence[tuple[str, ...]], pool: Pool, usage: Usage, framing: Framing = FRAMING
) -> Floats:
    """What a head reads of each row (document, summary, ...), shape (rows, dimensions + 1).

    The last column counts the tokens that were cut off. It is NaN where the framing leaves no room for the document:
    the states of such a row are of no use.
    """
    if pool == "match":
        return _matched(loaded, rows, usage)
    pooled = []
    for start in range(0, len(rows), AT_ONCE):
        inputs = loaded.tokens.inputs(list(rows[start : start + AT_ONCE]), framing)
        states = _states(loaded, inputs, usage)
        pooled += [
            np.append(_pooled(own, input_, pool), input_.cut if input_.has_room else np.nan)
            for own, input_ in zip(states, inputs, strict=True)
        ]
    return np.stack(pooled)


def _states(loaded: LoadedModel, inputs: Sequence[Input], usage: Usage) -> list[NDArray[np.float32]]:
    """The last states of each input's tokens, marks included."""
    backend = loaded.backend
    return loaded.run_by_token(inputs, usage, lambda batch: backend.hidden(*batch, backend.layers))


def _matched(loaded: LoadedModel, pairs: Sequence[tuple[str, ...]], usage: Usage) -> Floats:
    """`matches` of each pair; nothing is cut off. The tokens of one document and its summaries are held at a time."""
    rows = np.zeros((len(pairs), MATCHES + 1))
    places: dict[str, list[int]] = {}
    for place, (document, _) in enumerate(pairs):
        places.setdefault(document, []).append(place)
    for document, own in places.items():
        texts = list(dict.fromkeys([document, *(pairs[place][1] for place in own)]))
        vectors = dict(zip(texts, _token_vectors(loaded, texts, usage), strict=True))
        for place in own:
            rows[place, :-1] = matches(vectors[document], vectors[pairs[place][1]])
    return rows


def _token_vectors(loaded: LoadedModel, texts: Sequence[str], usage: Usage) -> list[NDArray[np.float32]]:
    """The states of each text's tokens as unit vectors, shape (tokens, dimensions); long texts are read in windows."""
    windows = loaded.tokens.windows(texts)
    states = iter(_states(loaded, [input_ for own in windows for input_ in own], usage))
    vectors = []
    for own in windows:
        tokens = np.concatenate([next(states)[input_.text >= 0] for input_ in own])
        vectors.append(tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-12))
    return vectors


def matches(document: NDArray[np.float32], summary: NDArray[np.float32]) -> Floats:
    """How the tokens of two texts match, by the cosines of their unit vectors: `MATCHES` numbers, 0 for an empty text.

    Of the best cosines of the summary's tokens to the document's (is it said there?), of the document's to the
    summary's (is it covered?) and of the summary's to each other (is it repeated?), each mean, standard deviation and
    quantiles; the mean cosine of the summary's tokens; and of the places in the document where its tokens match best
    the share that follow each other (is it copied?), the mean step, the mean and the standard deviation, in lengths of
    the document. The first two are what BERTScore (Zhang et al., 2020) takes the mean of.

    >>> both = np.eye(3, dtype=np.float32)
    >>> values = matches(both, both[:2])
    >>> values[0].item(), values[8].round(2).item(), values[25:27].round(2).tolist()
    (1.0, 0.67, [1.0, 0.33])
    """
    if not len(document) or not len(summary):
        return np.zeros(MATCHES)
    cosines = summary @ document.T
    own = summary @ summary.T
    np.fill_diagonal(own, 0.0)
    best = cosines.max(axis=1)
    places = (cosines >= best[:, None] - _TIED).argmax(axis=1)
    steps = np.diff(places) if len(places) > 1 else np.zeros(1)
    where = [np.abs(steps).mean(), places.mean(), places.std()]
    return np.concatenate([
        *(_spread(values) for values in (best, cosines.max(axis=0), own.max(axis=1))),
        [own.sum(dtype=np.float64) / max(1, len(own) * (len(own) - 1)), (steps == 1).mean()],
        np.array(where) / len(document),
    ])  # fmt: skip


def _spread(values: NDArray[np.float32]) -> Floats:
    wide = values.astype(np.float64)
    return np.array([wide.mean(), wide.std(), *np.quantile(wide, _SHARES)])


def _pooled(states: NDArray[np.float32], input_: Input, pool: Pool) -> Floats:
    values = states.astype(np.float64)
    if pool == "first":
        return np.asarray(values[0])
    if pool == "last":
        return np.asarray(values[-1])
    if pool == "mean":
        return np.asarray(values.mean(axis=0))
    texts = [values[input_.text == number] for number in (0, 1)]
    # A text without tokens has the mean 0.
    document, summary = (own.mean(axis=0) if len(own) else np.zeros(values.shape[1]) for own in texts)
    return np.concatenate([document, summary, np.abs(document - summary), document * summary])


def rate(loaded: LoadedModel, requests: Sequence[Rate], usage: Usage) -> list[Rated]:
    """What the judge says of each (document, summary)."""
    head = loaded.once(checked_head)
    pairs = [(request.document, request.summary) for request in requests]
    rows = framed(pairs, head.prompts)
    states = np.concatenate([pooled_states(loaded, texts, head.pool, usage, framing) for framing, texts in rows])
    return head.rated(head.apply(states[:, :-1]), states[:, -1])


def checked_head(loaded: LoadedModel) -> Head:
    """The head of a trained judge. UsageError where the model does not run as the judge was trained: its calibration
    holds for nothing else."""
    head = read_head(loaded.model.folder)
    if loaded.tokens.limit != head.max_tokens:
        raise UsageError(
            f"{loaded.model.name} was trained on inputs of {head.max_tokens} tokens, not {loaded.tokens.limit}; leave "
            "max_tokens out"
        )
    if loaded.runtime.precision != "fp32":
        raise UsageError(
            f"{loaded.model.name} was calibrated in fp32, and {loaded.runtime.precision} gives other numbers; set "
            "precision=fp32 behind the model's name"
        )
    return head


def _packed(array: Floats) -> dict[str, Any]:
    values = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(values.shape), "data": base64.b64encode(values.tobytes()).decode("ascii")}


def _unpacked(given: Mapping[str, Any]) -> Floats:
    data = base64.b64decode(given["data"], validate=True)
    return np.frombuffer(data, dtype="<f8").reshape(given["shape"]).astype(np.float64)
