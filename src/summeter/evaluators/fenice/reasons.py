"""Reasons of FENICE's verdicts: the claim, the deciding passage and contradictions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from summeter.evaluators.entailment.premises import CONTRADICT, Floats
from summeter.evaluators.entailment.reasons import TELLING, against, rounded, shares, short
from summeter.evaluators.fenice.coref import Version
from summeter.text.spans import TextSpan

LONGEST = 120
"""Maximum number of characters of a claim in a reason; longer claims are truncated."""


LevelName = Literal["sentence", "coref", "window", "document"]


class Best(NamedTuple):
    """A passage: its level, its score, the network's probabilities, and its spans in the document."""

    level: LevelName
    score: float
    row: Floats
    spans: tuple[TextSpan, ...]
    version: Version | None = None


class Verdict(NamedTuple):
    """The deciding passage of a claim, and the probabilities for all sentences.

    `narrow` is the best sentence if a larger passage decides.
    """

    best: Best
    sentences: Floats
    narrow: Best | None = None


def explanation(
    claim: str, verdict: Verdict, sentences: Sequence[TextSpan], threshold: float, gate: float, *, neutral: bool
) -> str:
    """Return the reason for a verdict.

    It names the deciding passage, a better sentence below the gate, and a contradiction.

    `sentences` are those of the document, which the reason counts from 1. If `neutral` is true, the reason includes the
    probability of that class.
    """
    best = verdict.best
    where, score = place(best, sentences), f"score {rounded(best.score, threshold)}"
    score += f" ({shares(best.row, neutral=neutral)})"
    if best.score >= threshold:
        parts = [f"{quoted(claim)} is supported by {where}: {score}"]
    elif best.row[CONTRADICT] >= TELLING:
        parts = [f"{quoted(claim)} is contradicted by {where}: {score}"]
    else:
        parts = [f"{quoted(claim)} is supported by no passage; best: {where}: {score}; threshold {short(threshold)}"]
    if verdict.narrow is not None and verdict.narrow.score > best.score:
        higher = f"{place(verdict.narrow, sentences)} has {short(verdict.narrow.score)}"
        parts.append(f"{higher}, which is below the gate of {short(gate)} and does not decide")
    worst = strongest_contradiction(verdict, sentences, threshold)
    if worst is not None:
        parts.append(f"sentence {worst + 1} contradicts it ({shares(verdict.sentences[worst], neutral=neutral)})")
    return "; ".join(parts)


def strongest_contradiction(verdict: Verdict, sentences: Sequence[TextSpan], threshold: float) -> int | None:
    """Return the index of the sentence that most contradicts a claim, or None.

    The result is None if no sentence contradicts the claim, if that sentence is part of the deciding passage, or if the
    score of that passage is at least `threshold`.
    """
    worst = against(verdict.sentences)
    if worst is None or verdict.best.score >= threshold or sentences[worst] in verdict.best.spans:
        return None
    return worst


def place(best: Best, sentences: Sequence[TextSpan]) -> str:
    """Return a description of a passage.

    >>> sentences = [TextSpan("A b.", 0, 4), TextSpan("C d.", 5, 9), TextSpan("E f.", 10, 14)]
    >>> row = (0.5, 0.5, 0.0)
    >>> place(Best("window", 0.5, row, (TextSpan("A b. C d.", 0, 9),)), sentences)
    'the window of sentences 1 to 2 (of 3)'
    >>> place(Best("document", 0.5, row, (TextSpan("A b. C d. E f.", 0, 14),)), sentences)
    'the whole document'
    """
    span = best.spans[0]
    first = bisect_left(sentences, span.start, key=attrgetter("start"))
    last = bisect_right(sentences, span.end, key=attrgetter("end")) - 1
    if best.level == "document" and first == 0 and last == len(sentences) - 1:
        return "the whole document"
    where = f"sentence {first + 1}" if first >= last else f"sentences {first + 1} to {last + 1}"
    where += f" (of {len(sentences)})"
    if best.version is not None:
        return f"{where} with '{best.version.mention}' read as '{best.version.replacement}'"
    named = {"window": f"the window of {where}", "document": f"the passage of {where}"}
    return named.get(best.level, where)


def quoted(claim: str) -> str:
    """Return a claim in quotation marks, shortened if it is long.

    >>> quoted("Ada sold the mill.")
    '"Ada sold the mill."'
    """
    text = " ".join(claim.split())
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition(" ")[0] or text[:LONGEST]
        return f'"{text} ..."'
    return f'"{text}"'
