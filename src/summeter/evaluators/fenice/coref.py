"""Sentences of the document with a mention replaced by its antecedent (FENICE, section 3.2.2).

For example, "She won gold." entails nothing about Ana until "She" is replaced by "Ana". One mention at a time is
replaced, and the network classifies every version of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from summeter.text.spans import TextSpan

_PRONOUN_LIST = (
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we "
    "us our ours ourselves they them their theirs themselves this that these those who whom whose which one oneself"
)
PRONOUNS: Final = frozenset(_PRONOUN_LIST.split())
_POSSESSIVE: Final = frozenset(["my", "your", "his", "its", "our", "their", "whose"])
_GENITIVE: Final = ("'s", "’s")


Mention = tuple[int, int]
"""The start and end of a mention in the document, in code points."""
Clusters = Sequence[Sequence[Mention]]
"""Groups of mentions of the same entity."""


class Version(NamedTuple):
    """A sentence with `mention` replaced by `replacement`, the text of `antecedent`."""

    text: str
    mention: str
    replacement: str
    antecedent: TextSpan


def versions(text: str, sentence: TextSpan, clusters: Clusters) -> list[Version]:
    """Return every distinct version of a sentence of `text`, in text order.

    A mention is replaced by other mentions of its cluster that are not pronouns and have a different text; a possessive
    is replaced by a possessive.

    >>> [one.text for one in versions("Ana ran. She won.", TextSpan("She won.", 9, 17), [[(0, 3), (9, 12)]])]
    ['Ana won.']
    """
    _, start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        names: dict[str, TextSpan] = {}  # mentions other than pronouns, each text at its first occurrence
        for first, last in sorted(cluster):
            name = text[first:last].strip()
            if name and name.casefold() not in PRONOUNS:
                names.setdefault(name, TextSpan(name, first, last))
        for first, last in sorted(cluster):
            if start <= first and last <= end:
                mention = text[first:last]
                possessive = mention.casefold() in _POSSESSIVE or mention.endswith(_GENITIVE)
                for name, span in names.items():
                    if name.casefold() != mention.casefold():
                        bare = name[: -len("'s")] if name.endswith(_GENITIVE) else name
                        replacement = bare
                        if possessive:
                            replacement = name if name.endswith(_GENITIVE) else f"{name}'s"
                        sentence_text = text[start:first] + replacement + text[last:end]
                        by_text.setdefault(sentence_text, Version(sentence_text, mention, replacement, span))
    return list(by_text.values())


def legacy_versions(text: str, sentence: TextSpan, clusters: Clusters) -> list[Version]:
    """Return the versions that the released code makes.

    In that code, a sentence is located by its first occurrence in the text. A mention at the end of the sentence is
    missed, and mentions within the sentence are not used as replacements. The first occurrence of the mention's text
    after the start of the mention is replaced. Possessives are not adapted, and mentions that differ only in case
    replace each other.
    """
    _, start, end = sentence
    by_text: dict[str, Version] = {}
    for cluster in clusters:
        inside = [(first, last) for first, last in cluster if start <= first and last < end]
        texts = {text[first:last] for first, last in inside}
        others = [other for at in cluster if (other := TextSpan.of(text, *at)).text not in texts]
        for first, last in inside:
            mention = text[first:last]
            for other in others:
                if other.text.lower() not in PRONOUNS:
                    sentence_text = text[start:first] + text[first:end].replace(mention, other.text, 1)
                    by_text.setdefault(sentence_text, Version(sentence_text, mention, other.text, other))
    return list(by_text.values())
