"""Extractive question answering as in SQuAD 2.0.

The decoding is that of QAEval (Deutsch et al., 2021), which returns the best answer even if the null answer is more
probable, together with the probabilities of both.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.models.networks import ClassifyTokens, FindTokens, Framing, Network, softmax
from summeter.text.chunks import windows
from summeter.text.fold import Offsets

Floats = NDArray[np.floating[Any]]

MARKS = 3
"""Number of special tokens in a pair."""
QUESTION_TOKENS = 64
"""Maximum number of tokens of a question (QAEval), which are at most half of an input."""
N_BEST, LONGEST = 20, 30
"""Number of starts, ends and answers to combine, and the maximum number of tokens of an answer (QAEval)."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(answer: str) -> str:
    """Return an answer in lower case, without punctuation, articles or extra white space (SQuAD).

    >>> normalized("The  mill, (in Bern)")
    'mill in bern'
    """
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, other: str) -> float:
    """Return the F1 of the words of two normalised answers, which is 1 if neither has words (SQuAD).

    >>> token_f1("the old mill", "a mill"), token_f1("the", ""), token_f1("mill", "")
    (0.6666666666666666, 1.0, 0.0)
    """
    first, second = normalized(answer).split(), normalized(other).split()
    if not first or not second:
        return float(first == second)
    shared = sum((Counter(first) & Counter(second)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(second), shared / len(first)
    return 2 * precision * recall / (precision + recall)


_LOOSE = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" 's", "'s")),
    *((" 've", "'ve"), (" 're", "'re")),
)


def without_loose_blanks(text: str) -> str:
    """Remove blanks before punctuation and contractions, as the decoders of transformers 3 and 4 do.

    >>> without_loose_blanks("Who does n't sell the mill ?")
    "Who doesn't sell the mill?"
    """
    for loose, tight in _LOOSE:
        text = text.replace(loose, tight)
    return text


class Answer(NamedTuple):
    """The best answer, its offsets (None if unknown), its probability, and that of the null answer.

    `text` is None if the network gives no answer.
    """

    text: str | None
    probability: float
    null: float
    place: Offsets | None = None

    @property
    def answered(self) -> bool:
        """Whether the answer is more probable than the null answer."""
        return self.text is not None and self.probability > self.null


class Logits(NamedTuple):
    """The logits of the tokens of a window as the start and the end of an answer.

    The first token represents the null answer. `first` and `last` are the first and the last token that an answer may
    contain.
    """

    start: Sequence[float] | Floats
    end: Sequence[float] | Floats
    first: frozenset[int]
    last: frozenset[int]


def decode(
    windows: Sequence[Logits],
    text_of: Callable[[int, int, int], tuple[str, Offsets | None]],
    *,
    n_best: int = N_BEST,
    longest: int = LONGEST,
    nonce: str | None = None,
) -> Answer:
    """Return the best answer over all windows.

    `text_of` receives a window, a first token and a last token, and returns the text and its offsets. The null score is
    the minimum of start[0] + end[0] over the windows. Answers with the same text count once, with their highest score.
    The probability is a softmax over the `n_best` highest scores and the null answer. If there is only the null answer,
    `nonce` ("empty" in QAEval) is returned as an answer with a score of 0; if `nonce` is None, the text is None.
    """
    candidates: list[tuple[float, tuple[int, int, int] | None]] = []
    null = min(float(window.start[0]) + float(window.end[0]) for window in windows)
    for number, window in enumerate(windows):
        ends = _highest(window.end, n_best)
        for start in _highest(window.start, n_best):
            candidates += [
                (float(window.start[start]) + float(window.end[end]), (number, start, end))
                for end in ends
                if start in window.first and end in window.last and start <= end < start + longest
            ]
    candidates.append((null, None))
    best: dict[str, tuple[float, Offsets | None]] = {}
    scores: list[float] = []
    null_at: int | None = None
    for score, at in sorted(candidates, key=lambda candidate: -candidate[0]):
        if len(scores) >= n_best:
            break
        if at is None:
            null_at = len(scores)
        else:
            text, place = text_of(*at)
            if text in best:
                continue
            best[text] = (len(scores), place)
        scores.append(score)
    if null_at is None:
        null_at = len(scores)
        scores.append(null)
    if not best and nonce is not None:
        best, scores, null_at = {nonce: (0, None)}, [0.0, *scores], null_at + 1
    shares = softmax(np.array(scores))
    if not best:
        return Answer(None, 0.0, float(shares[null_at]))
    text, (rank, place) = next(iter(best.items()))
    return Answer(text, float(shares[int(rank)]), float(shares[null_at]), place)


def _highest(logits: Sequence[float] | Floats, count: int) -> list[int]:
    """Return the indexes of the highest logits in descending order; ties keep their order."""
    order: list[int] = np.argsort(-np.asarray(logits, dtype=np.float64), kind="stable")[:count].tolist()
    return order


def owners(spans: Sequence[tuple[int, int]]) -> NDArray[np.intp]:
    """Return, for each token, the window with the most context on its shorter side (SQuAD).

    Ties go to the first window.

    >>> owners([(0, 6), (3, 9)]).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1]
    """
    size = max(last for _, last in spans)
    best, owner = np.full(size, -1.0), np.zeros(size, dtype=np.intp)
    for number, (first, last) in enumerate(spans):
        positions = np.arange(first, last)
        context = np.minimum(positions - first, last - 1 - positions) + 0.01 * (last - first)
        wider = context > best[first:last]
        best[first:last][wider], owner[first:last][wider] = context[wider], number
    return owner


async def answer_all(
    network: Network,
    pairs: Sequence[tuple[str, str]],
    length: int,
    stride: int,
    *,
    nonce: str | None = None,
) -> list[Answer]:
    """Return the answer to each (question, text), read in windows that start at a word.

    `length` is the number of tokens of an input, and `stride` the number of tokens between the starts of windows. A
    token can start an answer only in the window in which it has the most context.
    """
    unique = list(dict.fromkeys(text for pair in pairs for text in pair))
    offsets = dict(zip(unique, await network.ask([FindTokens(text) for text in unique]), strict=True))
    requests: list[ClassifyTokens] = []
    spans_of: list[list[tuple[int, int]]] = []
    for question, text in pairs:
        asked = min(len(offsets[question]), QUESTION_TOKENS, length // 2)
        room = length - asked - MARKS
        # SQuAD's windows: the last window may be shorter, and an empty text has one window.
        spans = windows(len(offsets[text]), room, stride, tail="short") or [(0, 0)]
        # Each window starts at a word, because the end of a word would be read as a different word.
        for number, (begin, last) in enumerate(spans):
            first, known = begin, offsets[text]
            while 0 < first < len(known) and known[first - 1][1] == known[first][0]:
                first += 1
            spans[number] = (first if first < last else begin, last)
        spans_of.append(spans)
        framing = Framing(cut=(asked, room))
        passages = [text[slice(*_covered(span, offsets[text]))] for span in spans]
        requests += [ClassifyTokens((question, passage), 2, framing) for passage in passages]
    logits = iter(await network.ask(requests))
    return [
        _decoded(text, offsets[text], spans, [next(logits) for _ in spans], nonce)
        for (_, text), spans in zip(pairs, spans_of, strict=True)
    ]


def _covered(span: tuple[int, int], offsets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the span of code points that a window covers."""
    first, last = span
    return (offsets[first][0], offsets[last - 1][1]) if first < last else (0, 0)


def _decoded(
    text: str,
    offsets: Sequence[tuple[int, int]],
    spans: Sequence[tuple[int, int]],
    rows: Sequence[Any],
    nonce: str | None,
) -> Answer:
    shifts = [_covered(span, offsets)[0] for span in spans]
    owner, decoded = owners(spans), []
    for number, (span, row) in enumerate(zip(spans, rows, strict=True)):
        inside = np.flatnonzero(row.text == 1).tolist()
        tokens = zip(inside, owner[slice(*span)].tolist(), strict=False)  # fewer if the network truncates
        first = frozenset(place for place, of in tokens if of == number)
        decoded.append(Logits(row.logits[:, 0], row.logits[:, 1], first, frozenset(inside)))

    def text_of(number: int, start: int, end: int) -> tuple[str, Offsets]:
        begin = shifts[number] + int(rows[number].offsets[start][0])
        close = shifts[number] + int(rows[number].offsets[end][1])
        return " ".join(text[begin:close].split()), Offsets(begin, close)

    return decode(decoded, text_of, nonce=nonce)
