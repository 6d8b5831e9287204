"""A verdict in words: which claim, the passage that decides and its level, the score, and what stands against it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from summeter.evaluators.entailment.premises import CONTRADICT, Floats
from summeter.evaluators.entailment.reasons import TELLING, against, beside, shares, short
from summeter.evaluators.fenice.coref import Version
from summeter.text.spans import TextSpan

LONGEST = 120
"""A claim of more characters is quoted by its beginning."""


LevelName = Literal["sentence", "coref", "window", "document"]


class Best(NamedTuple):
    """The passage that decides: its level, its score, the network's probabilities, and the spans of the document it
    is made of."""

    level: LevelName
    score: float
    row: Floats
    spans: tuple[TextSpan, ...]
    version: Version | None = None


class Verdict(NamedTuple):
    """What decides on a claim, the network's rows of all sentences, and, where a larger passage decides, the sentence
    it came before or replaced."""

    best: Best
    sentences: Floats
    narrow: Best | None = None


def explanation(
    claim: str, verdict: Verdict, sentences: Sequence[TextSpan], threshold: float, gate: float, *, neutral: bool
) -> str:
    """What the alignment found for a claim: the deciding passage with its score and level, a better sentence below the
    gate, and the sentence that contradicts the claim most.

    `sentences` are the document's, counted from 1; `neutral` shows the probability of that class too.
    """
    best = verdict.best
    where, much = place(best, sentences), f"score {beside(best.score, threshold)} ({shares(best.row, neutral=neutral)})"
    if best.score >= threshold:
        parts = [f"{quoted(claim)} is supported by {where}: {much}"]
    elif best.row[CONTRADICT] >= TELLING:
        parts = [f"{quoted(claim)} is contradicted by {where}: {much}"]
    else:
        parts = [f"{quoted(claim)} is supported by no passage; the best is {where}: {much}; needed: {short(threshold)}"]
    if verdict.narrow is not None and verdict.narrow.score > best.score:
        higher = f"{place(verdict.narrow, sentences)} has {short(verdict.narrow.score)}"
        parts.append(f"{higher}, which is under the gate of {short(gate)} and so does not decide")
    worst = opposed(verdict, sentences, threshold)
    if worst is not None:
        parts.append(f"sentence {worst + 1} contradicts it ({shares(verdict.sentences[worst], neutral=neutral)})")
    return "; ".join(parts)


def opposed(verdict: Verdict, sentences: Sequence[TextSpan], threshold: float) -> int | None:
    """The sentence that contradicts an unsupported claim most strongly, where it is not the one that decides."""
    worst = against(verdict.sentences)
    if worst is None or verdict.best.score >= threshold or sentences[worst] in verdict.best.spans:
        return None
    return worst


def place(best: Best, sentences: Sequence[TextSpan]) -> str:
    """The passage in words.

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
        return f"{where} with '{best.version.read}' read as '{best.version.as_}'"
    named = {"window": f"the window of {where}", "document": f"the stretch of {where}"}
    return named.get(best.level, where)


def quoted(claim: str) -> str:
    """
    >>> quoted("Ada sold the mill.")
    '"Ada sold the mill."'
    """
    text = " ".join(claim.split())
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition(" ")[0] or text[:LONGEST]
        return f'"{text} ..."'
    return f'"{text}"'
