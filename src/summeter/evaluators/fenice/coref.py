"""A sentence of the document with a mention replaced by another of the same cluster (FENICE, section 3.2.2).

"She won gold." entails nothing about Ana until "she" is read as "Ana". One mention at a time is replaced, and the
network is asked about every version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from summeter.text.spans import TextSpan

_NO_NAMES = (
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we "
    "us our ours ourselves they them their theirs themselves this that these those who whom whose which one oneself"
)
PRONOUNS: Final = frozenset(_NO_NAMES.split())
_POSSESSIVE: Final = frozenset(["my", "your", "his", "its", "our", "their", "whose"])
_GENITIVE: Final = ("'s", "’s")


Mention = tuple[int, int]
"""Where a mention starts and ends in the document, in code points."""
Clusters = Sequence[Sequence[Mention]]
"""Mentions that mean the same."""


class Version(NamedTuple):
    """A sentence with one mention replaced. `read` is the mention's text, `as_` what it is read as, `name` the mention
    that this is made of."""

    text: str
    read: str
    as_: str
    name: TextSpan


def versions(text: str, sentence: TextSpan, clusters: Clusters) -> list[Version]:
    """Every version of a sentence of `text`, in text order, each once.

    What replaces a mention is another mention of its
    cluster that is no pronoun and reads differently; a possessive is replaced by a possessive.

    >>> [one.text for one in versions("Ana ran. She won.", TextSpan("She won.", 9, 17), [[(0, 3), (9, 12)]])]
    ['Ana won.']
    """
    _, start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        names = _names(text, cluster)
        for first, last in sorted(cluster):
            if start <= first and last <= end:
                mention = text[first:last]
                for name in names:
                    if name.text.casefold() != mention.casefold():
                        replacement = _fitted(mention, name.text)
                        sentence_text = text[start:first] + replacement + text[last:end]
                        by_text.setdefault(sentence_text, Version(sentence_text, mention, replacement, name))
    return list(by_text.values())


def legacy_versions(text: str, sentence: TextSpan, clusters: Clusters) -> list[Version]:
    """As the released code makes them (there the sentence is the first of those that read the same).

    A mention that ends with the sentence is missed; what stands in the sentence itself replaces nothing; the first
    occurrence of the mention's text from its place on is replaced; a possessive is not made one; and mentions that
    differ in their capitals alone replace each other.
    """
    _, start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        inside = [(first, last) for first, last in cluster if start <= first and last < end]
        here = {text[first:last] for first, last in inside}
        others = [other for at in cluster if (other := TextSpan.of(text, *at)).text not in here]
        for first, last in inside:
            mention = text[first:last]
            for other in others:
                if other.text.lower() not in PRONOUNS:
                    sentence_text = text[start:first] + text[first:end].replace(mention, other.text, 1)
                    by_text.setdefault(sentence_text, Version(sentence_text, mention, other.text, other))
    return list(by_text.values())


def _names(text: str, cluster: Sequence[Mention]) -> list[TextSpan]:
    """The cluster's mentions that are no pronouns, each text at its first place."""
    names: dict[str, TextSpan] = {}
    for start, end in sorted(cluster):
        name = text[start:end].strip()
        if name and name.casefold() not in PRONOUNS:
            names.setdefault(name, TextSpan(name, start, end))
    return list(names.values())


def _fitted(mention: str, name: str) -> str:
    """The name in the mention's case: genitive for genitive."""
    bare = name[: -len("'s")] if name.endswith(_GENITIVE) else name
    if mention.casefold() in _POSSESSIVE or mention.endswith(_GENITIVE):
        return name if name.endswith(_GENITIVE) else f"{name}'s"
    return bare
