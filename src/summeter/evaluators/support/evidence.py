"""An evidence text made ready once: where each word, word pair and number stands, so that claims are looked up.

Nothing of the text is left out and nothing is cut; a claim costs about its own length, not the length of the text.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from summeter.evaluators.support.analysis import Word, analyse
from summeter.evaluators.support.numbers import Number, letters, shares

_SPEAKER = re.compile(r"^[ \t]*(?P<name>[^\W\d_][\w .'-]{0,30}?)[ \t]?:", re.MULTILINE)
PREFIX = 5  # words sharing this many first letters may be relatives (nutrition, nutritionist)


@dataclass(frozen=True)
class Evidence:
    """A prepared text.

    ``sentences`` are its spans in code points; ``bounds`` the index of each sentence's first word, with the number
    of words at the end; ``places`` gives the positions of each word key, ``pairs`` those of the first word of each
    pair of neighbours, ``relatives`` the keys by their first letters.
    """

    text: str
    sentences: tuple[tuple[int, int], ...]
    words: tuple[Word, ...]
    bounds: tuple[int, ...]
    places: dict[str, list[int]]
    pairs: dict[tuple[str, str], list[int]]
    relatives: dict[str, tuple[str, ...]]
    numbers: tuple[Number, ...]

    @cached_property
    def scaled(self) -> dict[float, list[float]]:
        """What letters multiply the numbers by (the m of 340m), by their value with it."""
        scaled: dict[float, list[float]] = defaultdict(list)
        for number in self.numbers:
            times = letters(self.text, number)
            scaled[number.value * times].append(times)
        return dict(scaled)

    @cached_property
    def shares(self) -> list[Number]:
        """What stands for a share of a whole."""
        return shares(self.text)

    @cached_property
    def speakers(self) -> list[tuple[int, str]]:
        """Where the lines of a dialogue begin, with who speaks."""
        return [(match.start("name"), match["name"].strip()) for match in _SPEAKER.finditer(self.text)]

    @cached_property
    def is_dialogue(self) -> bool:
        """Whether most lines begin with a speaker's name."""
        lines = sum(not line.isspace() for line in self.text.splitlines() if line)
        return 2 <= len(self.speakers) >= lines / 2

    @cached_property
    def folded(self) -> str:
        """The letters and digits of the text without what stands between them, in one case."""
        return "".join(filter(str.isalnum, self.text)).casefold()

    def sentence_of(self, position: int) -> int:
        """Index of the sentence the word at this position stands in."""
        return bisect_right(self.bounds, position) - 1

    def words_of(self, first: int, last: int) -> tuple[Word, ...]:
        """The words of sentences ``first`` up to but without ``last``."""
        return self.words[self.bounds[first] : self.bounds[last]]


def _covering(sentences: Sequence[tuple[int, int]], length: int) -> tuple[tuple[int, int], ...]:
    """The given spans, checked, with what they leave uncovered added, so that no word is out of every sentence."""
    covering: list[tuple[int, int]] = []
    at = 0
    for start, end in sentences:
        if start < at or end < start or end > length:
            raise ValueError(f"sentence {start}-{end} overlaps the one before or leaves the text of {length}")
        if start > at:
            covering.append((at, start))
        covering.append((start, end))
        at = end
    if at < length:
        covering.append((at, length))
    return tuple(covering)


def prepare(text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
    """Index a text. ``sentences`` are ordered spans in code points; gaps with words in them count as sentences.

    Raises ValueError if spans overlap or leave the text.
    """
    spans = _covering(sentences, len(text))
    words = analyse(text)
    kept: list[tuple[int, int]] = []
    bounds: list[int] = []
    at = 0
    for span in spans:
        first = at
        while at < len(words) and words[at].start < span[1]:
            at += 1
        if at > first:
            kept.append(span)
            bounds.append(first)
    bounds.append(len(words))
    places: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word.key].append(i)
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, (left, right) in enumerate(pairwise(words)):
        pairs[left.key, right.key].append(i)
    relatives: dict[str, list[str]] = defaultdict(list)
    for key in places:
        if len(key) >= PREFIX and key.isalpha():
            relatives[key[:PREFIX]].append(key)
    return Evidence(
        text=text,
        sentences=tuple(kept),
        words=tuple(words),
        bounds=tuple(bounds),
        places=dict(places),
        pairs=dict(pairs),
        relatives={prefix: tuple(keys) for prefix, keys in relatives.items()},
        numbers=tuple(word.number for word in words if word.number is not None),
    )
