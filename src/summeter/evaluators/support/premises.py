"""Which part of the evidence text is put before the network beside a claim: it reads a few sentences at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Set

from summeter.evaluators.support.evidence import Evidence
from summeter.interrupt import checkpoint

ROOM = 110
"""Words of a premise; one sentence may have more."""
NEAR = 0.2
"""What a sentence counts of the better of its neighbours: the one before often says who `she` is."""
LENGTH = 0.3
"""The power of its length that a sentence's count is divided by: long sentences have words of everything."""


def premise(evidence: Evidence, keys: Set[str], needed: Collection[int] = ()) -> str:
    """The sentences that speak most of a claim, in the order of the text, as many as ROOM holds.

    A sentence counts by its words of the claim's content words (`keys`: their stems), rare ones more than those in
    every sentence, and by those of its neighbours. `needed` are sentences that are taken first, by number. The evidence
    must have a sentence with words.

    >>> from summeter.evaluators.support.evidence import prepare
    >>> text = "Profits rose in May. It rained. Staff fell in May."
    >>> premise(prepare(text, [(0, 20), (21, 31), (32, 50)]), {"profit", "staff", "may"})
    'Profits rose in May. It rained. Staff fell in May.'
    """
    checkpoint()
    count = len(evidence.sentences)
    shared = [{word.key for word in evidence.words_of(i, i + 1)} & keys for i in range(count)]
    weight = {key: math.log(1 + count / max(1, sum(key in own for own in shared))) for key in keys}
    # Sets have no order of their own; sums in another order differ in the last digit, and ties would fall otherwise.
    own = [math.fsum(weight[key] for key in held) for held in shared]
    near = [max(own[max(0, i - 1) : i] + own[i + 1 : i + 2], default=0.0) for i in range(count)]
    score = [(own[i] + NEAR * near[i]) / _size(evidence, i) ** LENGTH for i in range(count)]
    chosen: list[int] = []
    words = 0
    for i in sorted(range(count), key=lambda i: (i not in needed, -score[i], i)):
        if not chosen or i in needed or words + _size(evidence, i) <= ROOM:
            chosen.append(i)
            words += _size(evidence, i)
    return " ".join(evidence.text[slice(*evidence.sentences[i])].strip() for i in sorted(chosen))


def _size(evidence: Evidence, sentence: int) -> int:
    return evidence.bounds[sentence + 1] - evidence.bounds[sentence]
