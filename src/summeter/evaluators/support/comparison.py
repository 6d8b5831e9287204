"""A claim compared with a text: the words that they share, the best sentences, and the differences."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from summeter.evaluators.support.numbers import Number, currency
from summeter.evaluators.support.words import PREFIX, Evidence, Passage, Word
from summeter.interrupt import checkpoint

WINDOW_SIZES = (1, 2, 3, 5)  # sentences
MIN_GAIN = 0.1  # minimum share of words that a longer window must add
RELATED_CREDIT = 0.5  # credit for a word if the text only has a related word, with the same first letters
_MAX_ABBREVIATION: Final = 3  # letters; the case of shorter words is compared, because US is not us

FindingKind = Literal["number", "negation", "opposite", "sibling", "name", "missing", "elsewhere"]
CONFLICTS: Final[tuple[FindingKind, ...]] = ("number", "negation", "opposite", "sibling", "name")
"""The kinds of findings that count against a claim. The other kinds only describe words without overlap."""


class Overlap(NamedTuple):
    """The shares of the claim that occur in the text, from 0 to 1.

    ``words`` is the share of content words that occur anywhere in the text. ``sentence`` is the share in the sentence
    that contains most of them. ``density`` is the sum of the squared lengths of copied fragments, divided by the
    squared length of the claim (1 for a copy). Words that do not occur in the text form no fragment (Grusky et al.,
    2018).
    """

    words: float
    sentence: float
    density: float


class Finding(NamedTuple):
    """A difference between a claim and its evidence, and the words of the claim that it explains."""

    kind: FindingKind
    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A claim compared with its evidence.

    ``evidence_name`` is the noun that reasons use for the evidence, and ``best`` holds the indices of the sentences of
    the best window (end exclusive). ``absent`` are the content words, except numbers, that the evidence lacks in this
    spelling, ``elsewhere`` those that it has only outside the best window, and ``numbers`` the numbers that it lacks or
    has only as another quantity. ``findings`` contains the findings so far, most
    important first, and ``explained`` the starts of the words of the claim that these findings explain.
    """

    claim: Passage
    evidence: Evidence
    evidence_name: str
    overlap: Overlap
    best: tuple[int, int]
    absent: tuple[Word, ...]
    elsewhere: tuple[Word, ...]
    numbers: tuple[Number, ...]
    findings: list[Finding] = field(default_factory=list)
    explained: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, claim: Passage, evidence: Evidence, evidence_name: str) -> Self:
        """Compare a claim with its evidence, without findings.

        The claim must contain a content word, and the evidence must contain a word.
        """
        content = [word for word in claim.words if word.content]
        unique_keys = list(dict.fromkeys(word.key for word in content))
        # Credit of each word in each sentence: 1 for the word itself, RELATED_CREDIT for a related word.
        word_credits = np.zeros((len(unique_keys), len(evidence.sentences)))
        for row, key in enumerate(unique_keys):
            checkpoint()
            is_long = len(key) > PREFIX and key.isalpha()
            relatives = evidence.relatives.get(key[:PREFIX], ()) if is_long else ()
            for other, credit in [(relative, RELATED_CREDIT) for relative in relatives] + [(key, 1.0)]:
                for position in evidence.positions.get(other, ()):
                    at = evidence.sentence_of(position)
                    word_credits[row, at] = max(word_credits[row, at], credit)
        anywhere = word_credits.max(axis=1)
        share, best = _best_window(word_credits)
        found = dict(zip(unique_keys, anywhere > 0, strict=True))
        inside = dict(zip(unique_keys, word_credits[:, best[0] : best[1]].max(axis=1) > 0, strict=True))
        keys = [word.key for word in claim.words]
        lengths = _fragment_lengths(keys, evidence)
        return cls(
            claim,
            evidence,
            evidence_name,
            Overlap(float(anywhere.mean()), share, sum(length * length for length in lengths) / len(keys) ** 2),
            best=best,
            absent=tuple(word for word in content if word.number is None and not found[word.key]),
            elsewhere=tuple(word for word in content if found[word.key] and not inside[word.key]),
            numbers=tuple(
                word.number
                for word in content
                if word.number
                and (word.key not in evidence.positions or _is_another_quantity(claim.text, word.number, evidence))
            ),
        )

    @property
    def conflicts(self) -> dict[FindingKind, int]:
        """The number of findings of each kind that count against the claim."""
        return dict(Counter(finding.kind for finding in self.findings if finding.kind in CONFLICTS))

    @cached_property
    def core_index(self) -> int:
        """The index of the sentence in the best window that shares the most words with the claim.

        Rare words have more weight.
        """
        content = {
            word.key: 1 + 1 / len(self.evidence.positions.get(word.key, [0]))
            for word in self.claim.words
            if word.content
        }
        first, last = self.best
        lines = [{word.key for word in self.evidence.words_of(i, i + 1)} for i in range(first, last)]
        counts = [sum(weight for key, weight in content.items() if key in line) for line in lines]
        return first + counts.index(max(counts))

    def passage(self, first: int, last: int) -> Passage:
        """Return the sentences ``first`` to ``last - 1`` of the evidence."""
        return Passage(self.evidence.text, self.evidence.words_of(first, last))

    @cached_property
    def core(self) -> Passage:
        """The sentence at `core_index`."""
        return self.passage(self.core_index, self.core_index + 1)

    @cached_property
    def window(self) -> Passage:
        """The sentences of the best window."""
        return self.passage(*self.best)

    @cached_property
    def is_question(self) -> bool:
        """Whether the core sentence is a question."""
        start, end = self.evidence.sentences[self.core_index]
        return self.evidence.text[start:end].rstrip("\"'”’ \n").endswith(("?", "？", "؟"))

    @cached_property
    def missing(self) -> tuple[Word, ...]:
        """The content words of the claim that do not occur in the evidence in any spelling."""
        return tuple(word for word in self.absent if not self._is_spelled_differently(word))

    def _is_spelled_differently(self, word: Word) -> bool:
        """Return True if the evidence spells the word with other punctuation ("e-mail", "email")."""
        stretch = self.claim.with_attached(word)
        letters = "".join(filter(str.isalnum, stretch))
        if letters.casefold() not in self.evidence.letters_and_digits:
            return False
        pattern = r"[\W_]?".join(map(re.escape, letters))
        same_case = len(letters) <= _MAX_ABBREVIATION  # US is not us
        return bool(re.search(rf"(?<!\w){pattern}(?!\w)", self.evidence.text, 0 if same_case else re.IGNORECASE))

    @cached_property
    def missing_starts(self) -> frozenset[int]:
        """The starts of the words in `missing`."""
        return frozenset(word.start for word in self.missing)

    def contrast(self, claimed: str, other: str) -> str:
        """Return the text of a finding that the evidence contains another word instead."""
        return f"'{claimed}', but the {self.evidence_name} says '{other}'"

    def absence(self, claimed: str, other: str | None) -> str:
        """Return the text of a finding that the evidence does not contain a word."""
        return f"'{claimed}' is not in the {self.evidence_name}" + (f"; nearest: '{other}'" if other else "")


def _is_another_quantity(text: str, number: Number, evidence: Evidence) -> bool:
    """Return True if the evidence contains the value only as another quantity.

    Examples are $4 for 4 % and €4 for £4.
    """
    same = [other for _, _, other in evidence.numbers if other.value == number.value]
    kinds = {other.kind for other in same}
    if number.kind == "plain" or not same or "plain" in kinds:
        return False
    if number.kind not in kinds:
        return True
    currencies = [currency(evidence.text, other) for other in same if other.kind == "currency"]
    claimed = currency(text, number) if number.kind == "currency" else None
    return claimed is not None and None not in currencies and claimed not in currencies


def _best_window(word_credits: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Return the highest share of words in a sentence, and the best window.

    A longer window is better only if it adds more than MIN_GAIN.
    """
    shares: list[float] = []
    best, chosen = -1.0, (0, 0)
    for size in WINDOW_SIZES:
        length = min(size, word_credits.shape[1])
        width = word_credits.shape[1] - length + 1
        windows = word_credits[:, :width].copy()
        for shift in range(1, length):
            np.maximum(windows, word_credits[:, shift : shift + width], out=windows)
        covered = windows.mean(axis=0)
        first = int(np.argmax(covered))
        shares.append(float(covered[first]))
        if shares[-1] > best + MIN_GAIN:
            best, chosen = shares[-1], (first, first + length)
    return shares[0], chosen


def _fragment_lengths(keys: Sequence[str], evidence: Evidence) -> list[int]:
    """Return the lengths of the longest copied fragments (Grusky et al., 2018).

    The fragments are found greedily from left to right.
    """
    lengths = []
    at, words = 0, evidence.words
    while at < len(keys):
        checkpoint()
        longest = 1 if keys[at] in evidence.positions else 0
        if at + 1 < len(keys):
            for position in evidence.pairs.get((keys[at], keys[at + 1]), ()):
                # Skip this position if it cannot give a longer fragment. Otherwise, a repeated word would be followed
                # from each of its positions.
                if longest > 1 and (
                    at + longest >= len(keys)
                    or position + longest >= len(words)
                    or keys[at + longest] != words[position + longest].key
                ):
                    continue
                run = 2
                while (
                    at + run < len(keys) and position + run < len(words) and keys[at + run] == words[position + run].key
                ):
                    run += 1
                longest = max(longest, run)
        if longest:
            lengths.append(longest)
        at += max(1, longest)
    return lengths
