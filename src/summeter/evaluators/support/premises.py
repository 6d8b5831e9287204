"""Which part of the evidence text is put before the network beside a claim: it reads a few sentences at a time."""

from collections.abc import Collection, Set

from summeter.evaluators.support.evidence import Evidence

ROOM = 85
"""Words of a premise; one sentence may have more."""
MOST = 4
"""Sentences of a premise."""


def premises(evidence: Evidence, keys: Set[str]) -> tuple[str, ...]:
    """The sentence that has most of the claim's content words (`keys`: their stems), and the few that have most.

    One text where both are the same; the first sentence where none has any of the words. The evidence must have a
    sentence with words.

    >>> from summeter.evaluators.support.evidence import prepare
    >>> text = "Profits rose in May. It rained. Staff fell in May."
    >>> premises(prepare(text, [(0, 20), (21, 31), (32, 50)]), {"profit", "ris", "may"})
    ('Profits rose in May.', 'Profits rose in May. Staff fell in May.')
    """
    held = [len({word.key for word in evidence.words_of(i, i + 1)} & keys) for i in range(len(evidence.sentences))]
    order = sorted(range(len(held)), key=lambda i: (-held[i], i))
    few, size = order[:1], _size(evidence, order[0])
    for i in order[1:MOST]:
        if held[i] and size + _size(evidence, i) <= ROOM:
            few.append(i)
            size += _size(evidence, i)
    return tuple(dict.fromkeys((_text(evidence, order[:1]), _text(evidence, sorted(few)))))


def _size(evidence: Evidence, sentence: int) -> int:
    return evidence.bounds[sentence + 1] - evidence.bounds[sentence]


def _text(evidence: Evidence, sentences: Collection[int]) -> str:
    return " ".join(evidence.text[slice(*evidence.sentences[i])].strip() for i in sentences)
