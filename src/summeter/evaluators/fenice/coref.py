"""A sentence of the document with a mention replaced by another of the same cluster (FENICE, section 3.2.2).

"She won gold." entails nothing about Ana until "she" is read as "Ana". One mention at a time is replaced, and the
network is asked about every version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from summeter.evaluators.entailment.premises import Place

_NO_NAMES = (
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we "
    "us our ours ourselves they them their theirs themselves this that these those who whom whose which one oneself"
)
PRONOUNS: Final = frozenset(_NO_NAMES.split())
_POSSESSIVE: Final = frozenset(["my", "your", "his", "its", "our", "their", "whose"])
_GENITIVE: Final = ("'s", "’s")


class Version(NamedTuple):
    """A sentence with one mention replaced. `read` is the mention's text, `as_` what it is read as, `at` where the
    latter stands in the document."""

    text: str
    read: str
    as_: str
    at: Place


def versions(text: str, sentence: Place, clusters: Sequence[Sequence[Place]]) -> list[Version]:
    """Every version of the sentence at `sentence`, in text order, each once.

    Mentions and sentence are (start, end) in code points of `text`. What replaces a mention is another mention of its
    cluster that is no pronoun and reads differently; a possessive is replaced by a possessive.

    >>> [one.text for one in versions("Ana ran. She won.", (9, 17), [[(0, 3), (9, 12)]])]
    ['Ana won.']
    """
    start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        names = _names(text, cluster)
        for first, last in sorted(cluster):
            if start <= first and last <= end:
                mention = text[first:last]
                for name, at in names.items():
                    if name.casefold() != mention.casefold():
                        replacement = _fitted(mention, name)
                        sentence_text = text[start:first] + replacement + text[last:end]
                        by_text.setdefault(sentence_text, Version(sentence_text, mention, replacement, at))
    return list(by_text.values())


def legacy_versions(text: str, sentence: Place, clusters: Sequence[Sequence[Place]]) -> list[Version]:
    """As the released code makes them (there the sentence is the first of those that read the same).

    A mention that ends with the sentence is missed; what stands in the sentence itself replaces nothing; the first
    occurrence of the mention's text from its place on is replaced; a possessive is not made one; and mentions that
    differ in their capitals alone replace each other.
    """
    start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        inside = [(first, last) for first, last in cluster if start <= first and last < end]
        here = {text[first:last] for first, last in inside}
        others = [(text[slice(*at)], (at[0], at[1])) for at in cluster if text[slice(*at)] not in here]
        for first, last in inside:
            mention = text[first:last]
            for other, at in others:
                if other.lower() not in PRONOUNS:
                    sentence_text = text[start:first] + text[first:end].replace(mention, other, 1)
                    by_text.setdefault(sentence_text, Version(sentence_text, mention, other, at))
    return list(by_text.values())


def _names(text: str, cluster: Sequence[Place]) -> dict[str, Place]:
    """The cluster's mentions that are no pronouns, by text, each at its first place."""
    names: dict[str, Place] = {}
    for start, end in sorted(cluster):
        name = text[start:end].strip()
        if name and name.casefold() not in PRONOUNS:
            names.setdefault(name, (start, end))
    return names


def _fitted(mention: str, name: str) -> str:
    """The name in the mention's case: genitive for genitive."""
    bare = name[: -len("'s")] if name.endswith(_GENITIVE) else name
    if mention.casefold() in _POSSESSIVE or mention.endswith(_GENITIVE):
        return name if name.endswith(_GENITIVE) else f"{name}'s"
    return bare
