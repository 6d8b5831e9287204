"""Generate text, score targets, and score the first word of an answer with encoder-decoders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from summeter.interrupt import checkpoint
from summeter.models.local.batcher import plan
from summeter.models.local.loaded_model import LoadedModel, by_settings
from summeter.models.local.tokens import Batch
from summeter.models.networks import FirstWord, Framing, Generate, Generation, ScoreTarget
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_PADDED = 0.3
"""Maximum share of padding in the targets of a pass: targets are short, and passes of few tokens are inefficient."""
_SEVERAL = 3
"""Minimum mean number of targets per source for which each source has its own pass, so that its keys and values are not
copied."""


def generate(loaded: LoadedModel, requests: Sequence[Generate], usage: Usage) -> list[str]:
    """Return the text that is generated from each source.

    A text that reaches its maximum length is counted as truncated in `usage`.
    """

    def generated(group: Sequence[Generate], settings: tuple[Generation, Framing]) -> list[str]:
        generation, framing = settings
        inputs = loaded.tokens.inputs([request.source for request in group], framing)
        start = None if generation.start is None else loaded.tokens.special_id(generation.start, loaded.model.name)

        def compute(batch: Batch) -> list[list[int]]:
            ids: list[list[int]] = loaded.backend.generate(batch.ids, batch.mask, generation, start)
            return ids

        rows = loaded.run(inputs, usage, compute)
        ends = loaded.backend.eos
        # Truncated sources are already counted.
        usage.truncated += sum(
            not input_.truncated and not ends.intersection(row) for input_, row in zip(inputs, rows, strict=True)
        )
        return [loaded.tokens.decode(row) for row in rows]

    return by_settings(requests, lambda request: (request.how, request.framing), generated)


def score_targets(loaded: LoadedModel, requests: Sequence[ScoreTarget], usage: Usage) -> list[float]:
    """Return the mean log-probability per token of each target given its source, which is at most 0."""

    def scored(group: Sequence[ScoreTarget], framing: Framing) -> list[float]:
        tokens = loaded.tokens
        unique = dict.fromkeys(request.source for request in group)
        source_index = {source: index for index, source in enumerate(unique)}
        sources = tokens.inputs([(source,) for source in unique], framing)
        targets = tokens.inputs([(request.target,) for request in group], framing)
        targets_of: dict[int, list[int]] = defaultdict(list)
        for index, request in enumerate(group):
            targets_of[source_index[request.source]].append(index)
        scores: dict[int, float] = {}

        def compute(batch: Sequence[int]) -> Sequence[None]:
            padded = tokens.padded([sources[index] for index in batch])
            encoded = loaded.backend.encode(padded.ids, padded.mask)
            for owners, indices in _passes(loaded, batch, targets_of, [len(target.ids) for target in targets]):
                checkpoint()
                padded_targets = tokens.padded([targets[index] for index in indices])
                values = loaded.backend.log_likelihoods(encoded, owners, padded_targets.ids, padded_targets.mask)
                scores.update(zip(indices, np.asarray(values, dtype=np.float64).tolist(), strict=True))
            return [None] * len(batch)

        loaded.in_batches([len(source.ids) for source in sources], usage, compute)
        usage.tokens += sum(len(target.ids) for target in targets)
        usage.truncated += sum(
            sources[source_index[request.source]].truncated or target.truncated
            for request, target in zip(group, targets, strict=True)
        )
        return [scores[index] for index in range(len(group))]

    return by_settings(requests, lambda request: request.framing, scored)


def _passes(
    loaded: LoadedModel, batch: Sequence[int], targets_of: dict[int, list[int]], lengths: Sequence[int]
) -> list[tuple[NDArray[np.int64], list[int]]]:
    """Return the passes of the decoder as (sources, targets).

    `sources` holds the index in the batch of each target's source, and `targets` the indices of the targets.
    """
    pairs = [(owner, target) for owner, source in enumerate(batch) for target in targets_of[source]]
    apart = len(pairs) >= _SEVERAL * len(batch)
    groups = [[pair for pair in pairs if pair[0] == owner] for owner in range(len(batch))] if apart else [pairs]
    # In a pass with several sources, their keys and values are copied for each target: at most one copy per source.
    most = 1 if loaded.runtime.alone else None if apart or len(batch) == 1 else len(batch)
    passes = []
    for group in groups:
        sizes = [lengths[target] for _, target in group]
        for indices in plan(sizes, loaded.budget, waste=_PADDED, most=most):
            owners = np.array([group[index][0] for index in indices], dtype=np.int64)
            passes.append((owners, [group[index][1] for index in indices]))
    return passes


def first_words(loaded: LoadedModel, requests: Sequence[FirstWord], usage: Usage) -> list[Floats]:
    """Return the log-probability of each word's first token at the first step of the decoder, for each request."""

    def scored(group: Sequence[FirstWord], settings: tuple[tuple[str, ...], Framing]) -> list[Floats]:
        words, framing = settings
        pieces = loaded.tokens.first_pieces(words, loaded.model.name)

        def compute(batch: Batch) -> list[Floats]:
            return list(np.asarray(loaded.backend.first(batch.ids, batch.mask, pieces), dtype=np.float64))

        return loaded.run(loaded.tokens.inputs([request.source for request in group], framing), usage, compute)

    return by_settings(requests, lambda request: (request.words, request.framing), scored)
