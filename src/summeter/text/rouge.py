"""Compute ROUGE-N, ROUGE-L and ROUGE-Lsum (Lin, 2004) for texts in all scripts.

For ASCII text, the values equal those of the reference package `rouge_score` 0.1.2, with and without stemming. For
other text, there is one intended difference: the reference tokeniser deletes all characters except [a-z0-9], so that
"café" becomes "caf" and Chinese text disappears. Here words consist of letters, digits and marks of all scripts
(`text.ngrams.words`), and scripts without spaces are split into characters. `tokenizer="reference"` reproduces the
reference exactly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final, Literal, NamedTuple

from summeter.records import InstallError
from summeter.text.lcs import LcsSide, lcs_indexes, lcs_length
from summeter.text.ngrams import matched, ngrams, words

Tokenizer = Literal["unicode", "reference"]

_REFERENCE_WORD: Final = re.compile(r"[a-z0-9]+")


class Rouge(NamedTuple):
    """Precision, recall and F1 (their harmonic mean), each in [0, 1]."""

    precision: float
    recall: float
    f1: float


ZERO: Final = Rouge(0.0, 0.0, 0.0)


def check_stemmer() -> None:
    """Raise InstallError if the Porter stemmer (NLTK) is not installed."""
    if find_spec("nltk") is None:
        raise InstallError.missing("NLTK, whose Porter stemmer ROUGE uses,", "rouge")


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    check_stemmer()
    from nltk.stem.porter import PorterStemmer

    return lru_cache(maxsize=65536)(PorterStemmer().stem)


def tokens(text: str, *, stem: bool = False, tokenizer: Tokenizer = "unicode") -> list[str]:
    """Return the words of a text for ROUGE.

    With `stem`, English words of more than three letters are reduced to their Porter stems, which requires NLTK.

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
    """Return ROUGE-N, the overlap of n-grams (Lin, 2004, equation 1).

    Each n-gram is counted at most as often as it occurs in the other text. If there are several references, the scores
    for the reference with the highest F1 (the first one in a tie) are returned, as in the reference package. If one of
    the texts has no n-gram, the scores are 0. Raises ValueError if `n` is below 1 or there is no reference.

    >>> rouge_n("the cat sat", "the cat", 1)  # 2 of 3 words, 2 of 2: F1 = 2 * 2/3 * 1 / (5/3)
    Rouge(precision=0.6666666666666666, recall=1.0, f1=0.8)
    """
    predicted = ngrams(tokens(prediction, stem=stem, tokenizer=tokenizer), n)

    def score(reference: str) -> Rouge:
        other = ngrams(tokens(reference, stem=stem, tokenizer=tokenizer), n)
        return _rouge(matched(predicted, other), predicted.total(), other.total())

    return _best(references, score)


def rouge_l(
    prediction: str,
    references: str | Sequence[str],
    *,
    stem: bool = False,
    tokenizer: Tokenizer = "unicode",
) -> Rouge:
    """Return ROUGE-L, based on the longest common subsequence of words (Lin, 2004, section 3.1).

    See `rouge_n` for several references, empty texts and errors.

    >>> rouge_l("police kill the gunman", "police killed the gunman")
    Rouge(precision=0.75, recall=0.75, f1=0.75)
    """
    predicted = tokens(prediction, stem=stem, tokenizer=tokenizer)

    def score(reference: str) -> Rouge:
        other = tokens(reference, stem=stem, tokenizer=tokenizer)
        return _rouge(lcs_length(predicted, other), len(predicted), len(other))

    return _best(references, score)


def rouge_lsum(
    prediction: str | Sequence[str],
    references: str | Sequence[str] | Sequence[Sequence[str]],
    *,
    stem: bool = False,
    tokenizer: Tokenizer = "unicode",
) -> Rouge:
    """Return ROUGE-Lsum, based on the union of longest common subsequences.

    For each reference sentence, the union is formed over the predicted sentences (Lin, 2004, section 3.2). A text is
    split into sentences at newlines, as in the reference package. If the sentences are known, pass lists of sentences
    instead: a list as `prediction`, and a list with one list (or string) per reference as `references`. A word counts
    at most as often as it occurs in either text, as in ROUGE 1.5.5. See `rouge_n` for several references, empty texts
    and errors.

    >>> rouge_lsum("a b\\nc d", "a b c d").f1, rouge_l("c d\\na b", "a b c d").f1
    (1.0, 0.5)
    """

    def words_of(text: str | Sequence[str]) -> list[list[str]]:
        sentences = text.split("\n") if isinstance(text, str) else text
        return [tokens(sentence, stem=stem, tokenizer=tokenizer) for sentence in sentences]

    predicted = [LcsSide.of(sentence) for sentence in words_of(prediction)]
    predicted_counts = Counter(word for sentence in predicted for word in sentence.words)

    def score(reference: str | Sequence[str]) -> Rouge:
        other = words_of(reference)
        other_counts = Counter(word for sentence in other for word in sentence)
        shared: Counter[str] = Counter()
        for sentence in other:
            # The words in a longest common subsequence with any predicted sentence.
            known, indexes = set(sentence), set[int]()
            for candidate in predicted:
                if not known.isdisjoint(candidate.positions):
                    indexes.update(lcs_indexes(sentence, candidate))
            shared.update(sentence[i] for i in indexes)
        hits = sum(min(count, predicted_counts[word], other_counts[word]) for word, count in shared.items())
        return _rouge(hits, predicted_counts.total(), other_counts.total())

    return _best(references, score)


def _rouge(hits: int, predicted: int, reference_total: int) -> Rouge:
    if not hits:
        return ZERO
    precision, recall = hits / predicted, hits / reference_total
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def _best(references: str | Sequence[Any], score: Callable[[Any], Rouge]) -> Rouge:
    """Return the score with the highest F1, or the first one in a tie.

    If `references` is a string, it is the only reference.
    """
    texts: Sequence[object] = (references,) if isinstance(references, str) else references
    if not texts:
        raise ValueError("ROUGE needs at least one reference")
    return max(map(score, texts), key=lambda rouge: rouge.f1)
