"""Judgments of claims from the values of all pairs of a chunk and a claim, based on the best chunk of each claim."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.entailment.premises import Floats
from summeter.evaluators.entailment.reasons import rounded
from summeter.models.networks import CountTokens, Framing, Network, TokenLimit
from summeter.records import Judgment, count
from summeter.text.spans import TextSpan, evidence


async def unread(network: Network, texts: Sequence[str], claims: Sequence[str], how: Framing) -> int | None:
    """Return the estimated number of tokens truncated next to the longest claim, or None if it is 0."""
    lengths = await network.ask([CountTokens(text) for text in (*texts, *claims)])
    (room,) = await network.ask([TokenLimit(how)])
    longest = max(lengths[len(texts) :])
    return sum(max(0, min(size, size + longest - room)) for size in lengths[: len(texts)]) or None


def at_best_chunk(
    builder: JudgmentBuilder,
    index: int | None,
    values: Floats,
    chunks: Sequence[TextSpan],
    threshold: float,
    verdicts: tuple[str, str],
) -> Judgment:
    """Return the judgment of a sentence from its highest value.

    If `index` is None, the judgment is that of the summary.

    `verdicts` are the beginnings of the reason for values of at least `threshold` and for lower values.
    """
    best = int(values.argmax())
    value = float(values[best])
    supported = value >= threshold
    chunk = "the document" if len(chunks) == 1 else f"chunk {best + 1} of {len(chunks)}"
    return builder.ok(
        builder.evaluator.aspects[0],
        "summary" if index is None else "sentence",
        index,
        value=value,
        label=int(supported),
        reason=f"{verdicts[0] if supported else verdicts[1]} {chunk} ({rounded(value, threshold)})",
        evidence=evidence([chunks[best]]),
    )


def over_sentences(
    builder: JudgmentBuilder, best: Floats, chunks: Sequence[TextSpan], threshold: float, pool: str = "mean"
) -> Judgment:
    """Return the judgment of the summary from the values of its sentences.

    The value is the mean or, if `pool` is "min", the minimum.
    """
    value, weakest = float(best.mean() if pool == "mean" else best.min()), rounded(float(best.min()), threshold)
    sentences, among = count(len(best), "sentence"), count(len(chunks), "chunk")
    reason = f"{pool} over {sentences}, each at the best of {among}; lowest {weakest}"
    return builder.ok(builder.evaluator.aspects[0], value=value, label=int(value >= threshold), reason=reason)
