"""Agreement on highlighted spans, character by character."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from .base import Statistic, undefined

Spans = Sequence[tuple[int, int]]


class Overlap(NamedTuple):
    """Characters marked by both, by the first, and by the second annotator."""

    both: int
    first: int
    second: int

    @property
    def f1(self) -> float | None:
        """2 both / (first + second); None when nobody marked anything."""
        marked = self.first + self.second
        return 2 * self.both / marked if marked else None


def characters(spans: Spans) -> set[int]:
    """Return the code points covered by (start, end) spans, end exclusive; overlapping spans count once.

    Raises ValueError for a span that starts below 0 or ends before it starts.

    >>> sorted(characters([(0, 2), (1, 4)]))
    [0, 1, 2, 3]
    """
    marked: set[int] = set()
    for start, end in spans:
        if start < 0 or end < start:
            raise ValueError(f"not a span: ({start}, {end})")
        marked.update(range(start, end))
    return marked


def overlap(first: Spans, second: Spans) -> Overlap:
    """Count the characters two annotators marked on one text.

    >>> overlap([(0, 4)], [(2, 6)])
    Overlap(both=2, first=4, second=4)
    """
    left, right = characters(first), characters(second)
    return Overlap(len(left & right), len(left), len(right))


def span_f1(first: Sequence[Spans | None], second: Sequence[Spans | None], average: str = "pooled") -> Statistic:
    """Return the character F1 of two annotators over texts; it is the same whichever of them is called gold.

    ``pooled`` sums characters over all texts first; ``item`` averages the F1 of the texts, where a text nobody
    marked is an agreement of 1. None in place of a list of spans means the annotator did not see that text; such
    texts are dropped and counted. Pooled F1 is undefined when nobody marked anything.

    >>> span_f1([[(0, 4)], []], [[(2, 6)], []]).value, span_f1([[(0, 4)], []], [[(2, 6)], []], "item").value
    (0.5, 0.75)
    """
    if average not in ("pooled", "item"):
        raise ValueError(f"average must be 'pooled' or 'item', got {average!r}")
    if len(first) != len(second):
        raise ValueError(f"annotations of {len(first)} and {len(second)} texts")
    both = zip(first, second, strict=True)
    seen = [overlap(left, right) for left, right in both if left is not None and right is not None]
    n, missing = len(seen), len(first) - len(seen)
    if n == 0:
        return undefined("span_f1", "no text was seen by both", n, missing)
    if average == "item":
        values = [1.0 if overlapping.f1 is None else overlapping.f1 for overlapping in seen]
        return Statistic("span_f1", sum(values) / n, n, missing)
    whole = Overlap(sum(o.both for o in seen), sum(o.first for o in seen), sum(o.second for o in seen))
    if whole.f1 is None:
        return undefined("span_f1", "nothing was marked", n, missing)
    return Statistic("span_f1", whole.f1, n, missing)


def mean_span_f1(annotators: Sequence[Sequence[Spans | None]], average: str = "pooled") -> Statistic:
    """Return the mean span F1 over all pairs of annotators (rows: annotators, columns: texts).

    ``n`` counts texts seen by at least two annotators. Pairs without a value are left out.
    """
    texts = max((len(row) for row in annotators), default=0)
    shared = sum(sum(row[i] is not None for row in annotators) >= 2 for i in range(texts))
    pairs = [span_f1(left, right, average) for left, right in combinations(annotators, 2)]
    values = [pair.value for pair in pairs if pair.value is not None]
    if not values:
        reason = pairs[0].reason if pairs and pairs[0].reason else "fewer than 2 annotators"
        return undefined("span_f1", reason, shared, texts - shared)
    return Statistic("span_f1", sum(values) / len(values), shared, texts - shared)
