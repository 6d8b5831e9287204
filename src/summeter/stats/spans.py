"""Agreement on highlighted spans, character by character."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .base import Floats, Ints, mean_present, ratio
from .resample import Measurement

Spans = Sequence[tuple[int, int]]


def characters(spans: Spans) -> set[int]:
    """Return the offsets of the code points covered by (start, end) spans, end exclusive.

    Code points in several spans count once.

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


def span_f1(annotators: Sequence[Sequence[Spans | None]], clusters: Ints | None = None) -> Measurement:
    """Return the character F1 of two annotators, or the mean over all pairs of annotators.

    Rows are annotators and columns are texts; None instead of a list of spans means that the annotator did not see the
    text. F1 is 2 |both| / (|first| + |second|), with characters summed over the texts that both annotators saw, so it
    does not depend on which annotator is called gold. A pair without any marked character has no F1 and is left out.
    ``n`` is the number of texts seen by at least two annotators. ``clusters`` gives the cluster of each text as 0, 1,
    ...; by default each text is a cluster.

    >>> span_f1([[[(0, 4)], []], [[(2, 6)], []]]).value
    0.5
    """
    sizes = [len(row) for row in annotators]
    if len(set(sizes)) > 1:
        raise ValueError(f"annotations of {' and '.join(map(str, sizes))} texts")
    texts = max(sizes, default=0)
    unit = np.arange(texts) if clusters is None else clusters
    units = int(unit.max(initial=-1)) + 1
    marked = [[None if spans is None else characters(spans) for spans in row] for row in annotators]
    seen = [sum(spans is not None for spans in text) for text in zip(*annotators, strict=True)]
    sums = np.zeros((len(marked) * (len(marked) - 1) // 2, units, 2))
    for counts, (first, second) in zip(sums, combinations(marked, 2), strict=True):
        for cluster, left, right in zip(unit.tolist(), first, second, strict=True):
            if left is not None and right is not None:
                counts[cluster] += 2 * len(left & right), len(left) + len(right)

    def weighted(weights: Floats) -> Floats:
        sampled = weights @ sums
        return mean_present(ratio(sampled[..., 0], sampled[..., 1]))

    n, value = sum(count >= 2 for count in seen), float(weighted(np.ones((1, units)))[0])
    reason = "nothing was marked" if n else "no text was seen by both"
    return Measurement(
        None if np.isnan(value) else value,
        n,
        texts - n,
        reason=None if not np.isnan(value) else reason if len(sums) else "fewer than 2 annotators",
        weighted=weighted,
        width=len(sums),
        details={"raters": len(marked)},
    )
