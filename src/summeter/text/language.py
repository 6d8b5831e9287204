"""Recognise the language of a text by its script and its function words."""

from __future__ import annotations

import re
from collections.abc import Mapping

FEWEST_WORDS = 12
"""Number of words below which only the script is considered."""
LEAST_SHARE = 0.1
READ = 5_000
"""Number of characters that are read."""
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"), "ko": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "zh": re.compile("[\u3400-\u9fff]"), "ar": re.compile("[\u0600-\u06ff\u0750-\u077f]"),
    "ru": re.compile("[\u0400-\u04ff]"), "el": re.compile("[\u0370-\u03ff]"), "he": re.compile("[\u0590-\u05ff]"),
    "hi": re.compile("[\u0900-\u097f]"), "th": re.compile("[\u0e00-\u0e7f]"),
}  # fmt: skip
_LEAST_OF_SCRIPT = {"ja": 0.1}
"""Least share of letters; Japanese is also written with Chinese characters."""
_FREQUENT: Mapping[str, frozenset[str]] = {
    language: frozenset(text.split())
    for language, text in {
        "en": "the of and to is was that it for with were are from this have has had by which he she they not but his "
        "their been we you my your what can would there about said who when how than them its our some i a in on at be",
        "de": "der die das und ist nicht ein eine einen einem den dem des mit von zu auf für sich auch als es wird im "
        "am bei wie hat sind wurde nach aus ich sie er wir aber oder noch dass",
        "fr": "le la les des et est une un du que qui dans pour pas sur au aux ce cette il elle ne se avec par plus "
        "son sa ses nous vous mais ou où été sont ont je",
        "es": "el la los las de y que en un una por con para no se su del al es lo como más pero sus le ha fue este "
        "esta son también sobre entre cuando muy yo",
        "it": "il la le gli di e che è un una per con non si del della nel al da sono come più ma anche ha dei alla "
        "questo suo io lo",
        "pt": "o os de e que em um uma por com para não se do da dos das no na é ao mais como mas foi sua seu ele ela "
        "são também eu",
        "nl": "de het een en van is dat niet op te zijn met voor die aan er om ook als maar bij uit naar door hij zij "
        "ik wordt werd heeft nog",
        "pl": "i w z na się nie że to jest do o jak co ale za od przez po przy dla był była są tym jego ich",
        "sv": "och det att i en som på är av för med den till inte om har ett han hon jag var de från men så",
        "da": "og det at i en som på er af for med den til ikke om har et han hun jeg var de fra men så blev",
    }.items()
}


def language_of(text: str) -> str | None:
    """Return the code of the language of a text, as in ISO 639-1, or None if it cannot be told.

    The codes are en, de, fr, es, it, pt, nl, pl, sv, da (also for Norwegian), ja, ko, zh, ar (and other languages of
    the Arabic script), ru (and other languages of the Cyrillic script), el, he, hi and th.

    >>> language_of("工場は月曜日に閉まった。"), language_of("The mill was closed.")
    ('ja', None)
    >>> language_of("Die alte Mühle war am Montag geschlossen, und der Müller ist nicht in die Stadt gefahren.")
    'de'
    """
    part = text[:READ]
    letters = len(_LETTER.findall(part))
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(part)) > _LEAST_OF_SCRIPT.get(language, 0.5) * letters:
            return language
    tokens = _WORD.findall(part.lower())
    if len(tokens) < FEWEST_WORDS:
        return None
    counts = {language: sum(token in words for token in tokens) for language, words in _FREQUENT.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= LEAST_SHARE * len(tokens) else None
