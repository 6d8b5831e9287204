"""An encoder-decoder: generates from a source, scores targets, and says how likely its first word is."""

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
"""The share of the targets in a pass that may be padding: they are short, and a pass of few tokens costs more."""
_SEVERAL = 3
"""Targets a source from which on each source is a pass of its own: its keys and values are then not copied."""


def generate(loaded: LoadedModel, requests: Sequence[Generate], usage: Usage) -> list[str]:
    """A text from each source. One that was ended by its greatest length counts as cut in `usage`."""

    def generated(some: Sequence[Generate], settings: tuple[Generation, Framing]) -> list[str]:
        how, framing = settings
        inputs = loaded.tokens.inputs([request.source for request in some], framing)
        start = None if how.start is None else loaded.tokens.mark(how.start, loaded.model.name)

        def compute(batch: Batch) -> list[list[int]]:
            ids: list[list[int]] = loaded.backend.generate(batch.ids, batch.mask, how, start)
            return ids

        rows = loaded.run(inputs, usage, compute)
        ends = loaded.backend.eos
        # Those whose source was cut are counted already.
        usage.truncated += sum(
            not input_.truncated and not ends.intersection(row) for input_, row in zip(inputs, rows, strict=True)
        )
        return [loaded.tokens.decode(row) for row in rows]

    return by_settings(requests, lambda request: (request.how, request.framing), generated)


def score_targets(loaded: LoadedModel, requests: Sequence[ScoreTarget], usage: Usage) -> list[float]:
    """The mean log-probability a token of each target, given its source; 0 is certain."""

    def scored(some: Sequence[ScoreTarget], framing: Framing) -> list[float]:
        tokens = loaded.tokens
        places = {source: place for place, source in enumerate(dict.fromkeys(request.source for request in some))}
        sources = tokens.inputs([(source,) for source in places], framing)
        targets = tokens.inputs([(request.target,) for request in some], framing)
        wanted: dict[int, list[int]] = defaultdict(list)
        for at, request in enumerate(some):
            wanted[places[request.source]].append(at)
        scores: dict[int, float] = {}

        def compute(batch: Sequence[int]) -> Sequence[None]:
            padded = tokens.padded([sources[place] for place in batch])
            encoded = loaded.backend.encode(padded.ids, padded.mask)
            for owners, asked in _passes(loaded, batch, wanted, [len(target.ids) for target in targets]):
                checkpoint()
                goal = tokens.padded([targets[at] for at in asked])
                values = loaded.backend.log_likelihoods(encoded, owners, goal.ids, goal.mask)
                scores.update(zip(asked, np.asarray(values, dtype=np.float64).tolist(), strict=True))
            return [None] * len(batch)

        loaded.in_batches([len(source.ids) for source in sources], usage, compute)
        usage.tokens += sum(len(target.ids) for target in targets)
        usage.truncated += sum(
            sources[places[request.source]].truncated or target.truncated
            for request, target in zip(some, targets, strict=True)
        )
        return [scores[at] for at in range(len(some))]

    return by_settings(requests, lambda request: request.framing, scored)


def _passes(
    loaded: LoadedModel, batch: Sequence[int], wanted: dict[int, list[int]], lengths: Sequence[int]
) -> list[tuple[NDArray[np.int64], list[int]]]:
    """Which targets go through the decoder together, with the place of each one's source in the batch."""
    owned = [(owner, at) for owner, place in enumerate(batch) for at in wanted[place]]
    apart = len(owned) >= _SEVERAL * len(batch)
    groups = [[pair for pair in owned if pair[0] == owner] for owner in range(len(batch))] if apart else [owned]
    # Targets of several sources have copies of what the decoder reads of them: no more than there are sources.
    most = 1 if loaded.runtime.alone else None if apart or len(batch) == 1 else len(batch)
    passes = []
    for group in groups:
        sizes = [lengths[at] for _, at in group]
        for part in plan(sizes, loaded.budget, waste=_PADDED, most=most):
            owners = np.array([group[place][0] for place in part], dtype=np.int64)
            passes.append((owners, [group[place][1] for place in part]))
    return passes


def first_words(loaded: LoadedModel, requests: Sequence[FirstWord], usage: Usage) -> list[Floats]:
    """The log-probability of each word's first piece at the decoder's first step."""

    def begun(some: Sequence[FirstWord], settings: tuple[tuple[str, ...], Framing]) -> list[Floats]:
        words, framing = settings
        pieces = loaded.tokens.first_pieces(words, loaded.model.name)

        def compute(batch: Batch) -> list[Floats]:
            return list(np.asarray(loaded.backend.first(batch.ids, batch.mask, pieces), dtype=np.float64))

        return loaded.run(loaded.tokens.inputs([request.source for request in some], framing), usage, compute)

    return by_settings(requests, lambda request: (request.words, request.framing), begun)
