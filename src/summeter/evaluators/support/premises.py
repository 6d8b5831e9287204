"""Which part of the evidence text is put before the network beside a claim: it reads a few sentences at a time."""

from collections.abc import Collection, Set

from summeter.evaluators.support.evidence import Evidence
from summeter.interrupt import checkpoint

ROOM = 100
"""Words of a premise; one sentence may have more."""
MOST = 5
"""Sentences of a premise."""
LEAST = 3
"""Where the claim's words stand in fewer, the sentences beside the best one make up this many."""
_POINTING = frozenset(
    ["he", "she", "it", "they", "his", "her", "its", "their", "him", "them", "this", "that", "these", "those"]
)


def premises(evidence: Evidence, keys: Set[str]) -> tuple[str, ...]:
    """The sentence that has most of the claim's content words (`keys`: their stems), and a few that together have most.

    The few are found one by one: next comes the sentence that has most words of the claim not yet found, and with one
    that opens with a pronoun the sentence before it; then, where these are very few, the neighbours of the best. One
    text where both are the same; the first sentences where none has any of the words. The evidence must have a sentence
    with words.

    >>> from summeter.evaluators.support.evidence import prepare
    >>> text = "Profits rose in May. It rained. Staff fell in May."
    >>> premises(prepare(text, [(0, 20), (21, 31), (32, 50)]), {"profit", "staff", "may"})
    ('Profits rose in May.', 'Profits rose in May. It rained. Staff fell in May.')
    """
    checkpoint()
    shared = [{word.key for word in evidence.words_of(i, i + 1)} & keys for i in range(len(evidence.sentences))]
    best = max(range(len(shared)), key=lambda i: (len(shared[i]), -i))
    few: list[int] = []
    missing = set(keys)
    left = {i for i, held in enumerate(shared) if held} or {best}

    def add(i: int, most: int = MOST) -> None:
        if i not in few and len(few) < most and (not few or _size(evidence, [*few, i]) <= ROOM):
            few.append(i)
            missing.difference_update(shared[i])

    while left and len(few) < MOST:
        # Who comes next depends on what is missing: the order holds until a sentence is added.
        many = len(few)
        for at in sorted(left, key=lambda i: (-len(shared[i] & missing), -len(shared[i]), i)):
            left.discard(at)
            add(at)
            if at and _points_back(evidence, at):
                add(at - 1)
            if len(few) > many:
                break
    for i in (best + 1, best - 1, best + 2):
        if 0 <= i < len(shared):
            add(i, LEAST)
    return tuple(dict.fromkeys((_text(evidence, [best]), _text(evidence, sorted(few)))))


def _points_back(evidence: Evidence, sentence: int) -> bool:
    """Whether the sentence opens with a word that stands for something said before."""
    start, end = evidence.sentences[sentence]
    first = evidence.text[start:end].split(maxsplit=1)[:1]
    return bool(first) and first[0].strip("\"'“‘(").lower() in _POINTING


def _size(evidence: Evidence, sentences: Collection[int]) -> int:
    return sum(evidence.bounds[i + 1] - evidence.bounds[i] for i in sentences)


def _text(evidence: Evidence, sentences: Collection[int]) -> str:
    return " ".join(evidence.text[slice(*evidence.sentences[i])].strip() for i in sentences)
