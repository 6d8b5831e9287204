"""A token classifier, or extractive question answering: the raw outputs of every token of a text or a pair."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.models.local.loaded_model import LoadedModel, by_settings
from summeter.models.networks import ClassifyTokens, TokenLogits
from summeter.records import UsageError
from summeter.runs.usage import Usage


def classify_tokens(loaded: LoadedModel, requests: Sequence[ClassifyTokens], usage: Usage) -> list[TokenLogits]:
    """The outputs of each request's tokens, marks included."""
    if any(request.framing.template is not None for request in requests):
        raise ValueError("tokens are classified in one text or a pair, not in a template")
    # Framings may differ from request to request (a cut of its own): all go through the network together.
    inputs = by_settings(
        requests,
        lambda request: request.framing,
        lambda some, framing: loaded.tokens.inputs([request.texts for request in some], framing),
    )
    every = loaded.run_by_token(inputs, usage, lambda batch: loaded.backend.token_logits(*batch))
    rows = []
    for request, input_, logits in zip(requests, inputs, every, strict=True):
        if logits.shape[1] != request.classes:
            raise UsageError(
                f"{loaded.model.name} has {logits.shape[1]} outputs a token, and the evaluator reads "
                f"{request.classes}: it is another kind of checkpoint"
            )
        rows.append(TokenLogits(logits, input_.offsets, input_.text, input_.truncated))
    return rows
