"""Find words and n-grams with offsets, in all scripts.

For ASCII text, the words are those of the ROUGE reference tokeniser without stemming: lower-cased runs of ``[a-z0-9]``.
For other text, a word is a run of letters, digits and their combining marks. In scripts without spaces between words
(Han, kana, Thai, Lao, Khmer, Burmese), each character with its marks is a word, so that word n-grams are character
n-grams. Punctuation, symbols and emoji are not words.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from summeter.text.fold import nfkc
from summeter.text.spans import TextSpan

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
# Matched against the classes of _character_class. A format character (joiner, soft hyphen) counts only between two
# word characters, a mark only after one.
_CLASSED_WORD = re.compile(r"w(?:[wm]|f+(?=w))*|cm*")
_UNSPACED = (
    (0x0E01, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),
    (0x3041, 0x312F),  # kana, bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),  # half-width katakana
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_HALF_WIDTH_MARKS = "\uff9e\uff9f"  # letters by category, but used as voicing marks


@lru_cache(maxsize=8192)
def _character_class(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "M" or char in _HALF_WIDTH_MARKS:
        return "m"
    if category == "Cf":
        return "f"
    if category[0] not in "LN":
        return " "
    code = ord(char)
    if category != "Nd" and any(low <= code <= high for low, high in _UNSPACED):
        return "c"
    return "w"


@lru_cache(maxsize=65536)
def _normal(word: str) -> str:
    """Return the lower-cased NFKC form of a word.

    Format characters, variation selectors and enclosing marks are removed.
    """
    folded = nfkc(nfkc(word).lower())
    if folded.isascii():
        return folded
    return "".join(
        char for char in folded if unicodedata.category(char) not in ("Cf", "Me") and not 0xFE00 <= ord(char) <= 0xFE0F
    )


def words(text: str) -> list[TextSpan]:
    """Return the normalised words (lower-cased, NFKC) of a text.

    For each word ``t``, ``text[t.start:t.end]`` is the original word.

    >>> [t.text for t in words("Don't pay £1,000!")]
    ['don', 't', 'pay', '1', '000']
    >>> words("Ça va")[0]
    TextSpan(text='ça', start=0, end=2)
    >>> [t.text for t in words("東京 tower")]
    ['東', '京', 'tower']
    """
    if text.isascii():
        return [TextSpan(m.group().lower(), m.start(), m.end()) for m in _ASCII_WORD.finditer(text)]
    classes = "".join(map(_character_class, text))
    tokens = []
    for match in _CLASSED_WORD.finditer(classes):
        start, end = match.span()
        folded = _normal(text[start:end])
        if folded:
            tokens.append(TextSpan(folded, start, end))
    return tokens


def ngrams(tokens: Sequence[TextSpan | str], n: int) -> Counter[tuple[str, ...]]:
    """Return the multiset of the n-grams of a word sequence.

    It is empty if the sequence has fewer than ``n`` words.

    Raises ValueError if ``n`` is below 1.

    >>> ngrams(words("the cat the cat"), 2)[("the", "cat")]
    2
    """
    if n < 1:
        raise ValueError(f"n-grams need n of at least 1, got {n}")
    keys = [token.text if isinstance(token, TextSpan) else token for token in tokens]
    return Counter(zip(*(keys[i:] for i in range(n)), strict=False))


def matched(grams: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> int:
    """Return the size of the intersection of two multisets of n-grams.

    Each n-gram counts at most as often as in ``other``.

    >>> matched(ngrams(["a", "a", "b"], 1), ngrams(["a", "b", "b"], 1))
    2
    """
    return sum(min(count, other[gram]) for gram, count in grams.items() if gram in other)
