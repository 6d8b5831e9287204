"""ROUGE-N, ROUGE-L and ROUGE-Lsum (Lin, 2004): precision, recall and F1, in every script.

On ASCII text the values are those of the reference package `rouge_score` 0.1.2, with and without stemming. The
one deliberate difference: its tokeniser deletes whatever is not [a-z0-9], and so cuts "café" to "caf" and Chinese
to nothing; here letters, digits and marks of every script make words (`text.ngrams.words`), and scripts without
spaces count by character. `tokenizer="reference"` is the reference's reading, bit for bit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final, Literal, NamedTuple

from summeter.records import InstallError
from summeter.text.lcs import LcsSide, lcs_indexes, lcs_length
from summeter.text.ngrams import matched, ngrams, words

Tokenizer = Literal["unicode", "reference"]

_REFERENCE_WORD: Final = re.compile(r"[a-z0-9]+")


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


ZERO: Final = Rouge(0.0, 0.0, 0.0)


def check_stemmer() -> None:
    """InstallError, with the command, where the Porter stemmer (NLTK) is missing."""
    if find_spec("nltk") is None:
        raise InstallError.missing("NLTK, whose Porter stemmer ROUGE uses,", "rouge")


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    check_stemmer()
    from nltk.stem.porter import PorterStemmer

    return lru_cache(maxsize=65536)(PorterStemmer().stem)


def tokens(text: str, *, stem: bool = False, tokenizer: Tokenizer = "unicode") -> list[str]:
    """The words of a text as ROUGE compares them; `stem` cuts English words of more than three letters (Porter; needs
    NLTK).

    >>> tokens("The cats' café!", stem=True)
    ['the', 'cat', 'café']
    >>> tokens("The cats' café!", tokenizer="reference")
    ['the', 'cats', 'caf']
    """
    tokens = (
        _REFERENCE_WORD.findall(text.lower()) if tokenizer == "reference" else [token.text for token in words(text)]
    )
    if not stem:
        return tokens
    porter_stem = _stemmer()
    return [porter_stem(word) if len(word) > 3 and word.isascii() else word for word in tokens]


def rouge_n(
    prediction: str,
    references: str | Sequence[str],
    n: int,
    *,
    stem: bool = False,
    tokenizer: Tokenizer = "unicode",
) -> Rouge:
    """ROUGE-N: shared n-grams, each counted at most as often as on the other side (Lin, 2004, equation 1).

    Of several references the one with the highest F1 counts (the first of equals), as in the reference package.
    A text without an n-gram gives zeros. Raises ValueError if `n` is below 1 or there is no reference.

    >>> rouge_n("the cat sat", "the cat", 1)  # 2 of 3 words, 2 of 2: F1 = 2 * 2/3 * 1 / (5/3)
    Rouge(precision=0.6666666666666666, recall=1.0, f1=0.8)
    """
    own = ngrams(tokens(prediction, stem=stem, tokenizer=tokenizer), n)

    def score(reference: str) -> Rouge:
        other = ngrams(tokens(reference, stem=stem, tokenizer=tokenizer), n)
        return _rouge(matched(own, other), own.total(), other.total())

    return _best(references, score)


def rouge_l(
    prediction: str,
    references: str | Sequence[str],
    *,
    stem: bool = False,
    tokenizer: Tokenizer = "unicode",
) -> Rouge:
    """ROUGE-L: the longest common subsequence of words of the two whole texts (Lin, 2004, section 3.1).

    References, empty texts and errors as in `rouge_n`.

    >>> rouge_l("police kill the gunman", "police killed the gunman")
    Rouge(precision=0.75, recall=0.75, f1=0.75)
    """
    own = tokens(prediction, stem=stem, tokenizer=tokenizer)

    def score(reference: str) -> Rouge:
        other = tokens(reference, stem=stem, tokenizer=tokenizer)
        return _rouge(lcs_length(own, other), len(own), len(other))

    return _best(references, score)


def rouge_lsum(
    prediction: str | Sequence[str],
    references: str | Sequence[str] | Sequence[Sequence[str]],
    *,
    stem: bool = False,
    tokenizer: Tokenizer = "unicode",
) -> Rouge:
    """ROUGE-Lsum: for each reference sentence the union of its common subsequences (Lin, 2004, section 3.2).

    A text is cut into sentences at newlines, as in the reference package; where the sentences are known, give a
    list of them instead of a text: a list as `prediction`, a list of lists as `references` (one text or list per
    reference). A word counts at most as often as it stands on either side, as in ROUGE 1.5.5.
    References, empty texts and errors as in `rouge_n`.

    >>> rouge_lsum("a b\\nc d", "a b c d").f1, rouge_l("c d\\na b", "a b c d").f1
    (1.0, 0.5)
    """

    def read(text: str | Sequence[str]) -> list[list[str]]:
        sentences = text.split("\n") if isinstance(text, str) else text
        return [tokens(sentence, stem=stem, tokenizer=tokenizer) for sentence in sentences]

    own = [LcsSide.of(sentence) for sentence in read(prediction)]
    own_counts = Counter(word for sentence in own for word in sentence.words)

    def score(reference: str | Sequence[str]) -> Rouge:
        other = read(reference)
        other_counts = Counter(word for sentence in other for word in sentence)
        shared = Counter(word for sentence in other for word in _union_lcs(sentence, own))
        hits = sum(min(count, own_counts[word], other_counts[word]) for word, count in shared.items())
        return _rouge(hits, own_counts.total(), other_counts.total())

    return _best(references, score)


def _union_lcs(reference: list[str], predicted: Iterable[LcsSide]) -> list[str]:
    """The words of a reference sentence that lie on its longest common subsequence with any predicted sentence."""
    known = set(reference)
    taken: set[int] = set()
    for sentence in predicted:
        if not known.isdisjoint(sentence.places):
            taken.update(lcs_indexes(reference, sentence))
    return [reference[i] for i in sorted(taken)]


def _rouge(hits: int, predicted: int, reference_total: int) -> Rouge:
    if not hits:
        return ZERO
    precision, recall = hits / predicted, hits / reference_total
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def _best(references: str | Sequence[Any], score: Callable[[Any], Rouge]) -> Rouge:
    """The score with the highest F1, the first of equals; a bare text is one reference."""
    texts: Sequence[object] = (references,) if isinstance(references, str) else references
    if not texts:
        raise ValueError("ROUGE needs at least one reference")
    return max(map(score, texts), key=lambda rouge: rouge.f1)
