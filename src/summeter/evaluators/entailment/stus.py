"""Semantic triplet units (STUs): what a sentence says, verb by verb and argument by argument, as short sentences
(Lite3Pyramid: Zhang and Bansal, EMNLP 2021). They come from semantic roles, or from those that a dependency tree shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from summeter.text.english.dependency import Tree

_BE: Final = frozenset(["am", "are", "is", "was", "were", "been"])
_MODALS: Final = frozenset(["'", "will", "could", "can", "might", "should", "would"])
_NEGATION: Final = "ARGM-NEG"
_UNKNOWN: Final = "ARGM"
"""The role of a prepositional phrase, which a dependency tree does not show (place, time, manner, ...)."""
_SUBJECTS: Final = {"nsubj": "ARG0", "nsubjpass": "ARG1", "csubj": "ARG0", "csubjpass": "ARG1", "expl": "ARG1"}
_ROLES: Final = {
    **_SUBJECTS,
    "dobj": "ARG1",
    "dative": "ARG2",
    "attr": "ARG2",
    "acomp": "ARG2",
    "oprd": "ARG2",
    "ccomp": "ARG1",
    "xcomp": "ARG1",
    "agent": "ARG0",
    "prep": _UNKNOWN,
    "advmod": "ARGM-ADV",
    "npadvmod": "ARGM-TMP",
    "advcl": "ARGM-ADV",
    "neg": _NEGATION,
}
"""What a dependent of a verb is to it (relations of spaCy's English models -> PropBank's roles, roughly)."""


class RoleSentence(NamedTuple):
    """A sentence's words, and for each verb the role of every word in BIO tags (`B-ARG0`, `I-ARG0`, `B-V`, `O`)."""

    words: Sequence[str]
    frames: Sequence[Sequence[str]]


def units_of(sentence: RoleSentence, *, legacy: bool = False) -> list[str]:
    """Return the STUs of a sentence, without duplicates.

    Each verb with arguments before it gives `before verb argument` for each argument after it; consecutive arguments of
    one role count as one argument. A verb after "to" and a bare modal verb give none. A form of "be" directly before
    the verb is joined to it, and so is a negation that follows it. A sentence without any unit is itself the unit.
    With `legacy`, "to" and "be" are looked for before the last word of the verb, as in the released code, which
    therefore misses them before a verb of several words.

    >>> tags = ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "B-ARGM-TMP", "I-ARGM-TMP"]
    >>> units_of(RoleSentence("Ada sold the mill in May".split(), [tags]))
    ['Ada sold the mill', 'Ada sold in May']
    """
    units = dict.fromkeys(unit for tags in sentence.frames for unit in _of_frame(sentence.words, tags, legacy=legacy))
    return list(units) or [" ".join(sentence.words)]


def _of_frame(words: Sequence[str], tags: Sequence[str], *, legacy: bool) -> Iterator[str]:
    roles = [tag.partition("-")[2] for tag in tags]
    verb_places = [place for place, role in enumerate(roles) if role == "V"]
    if not verb_places:
        return
    first = verb_places[0]
    before = [word for word, role in zip(words[:first], roles[:first], strict=True) if role]
    preceding = words[verb_places[-1 if legacy else 0] - 1]
    if not before or preceding == "to":
        return
    verb = [words[place] for place in verb_places]
    if preceding in _BE:
        verb.insert(0, preceding)
    if " ".join(verb) in _MODALS:
        return
    after = [pair for pair in zip(roles[first:], words[first:], strict=True) if pair[0] not in ("", "V")]
    later = [(role, [word for _, word in pairs]) for role, pairs in groupby(after, key=itemgetter(0))]
    if later and later[0][0] == _NEGATION:
        verb += later.pop(0)[1]
    for _, argument in later:
        yield " ".join([*before, *verb, *argument])


def role_sentences(tree: Tree) -> list[RoleSentence]:
    """The sentences of a parsed text with the roles that its tree shows: a stand-in for semantic role labelling.

    A verb joined to another has its subject; a relative clause has the noun it describes in place of the pronoun.
    """
    sentences = []
    for root in tree.roots:
        places = sorted(tree.under(root))
        if not any(_is_word(tree, place) for place in places):
            continue
        verbs = [
            place for place in places
            if tree.words[place].tag.startswith("VB") and tree.words[place].dep not in ("aux", "auxpass")
        ]  # fmt: skip
        frames = [_tags(tree, verb) for verb in verbs]
        words = [tree.words[place].text for place in places]
        sentences.append(RoleSentence(words, [[tags.get(place, "O") for place in places] for tags in frames]))
    return sentences


def _tags(tree: Tree, verb: int) -> dict[int, str]:
    """The tags of one verb's words by place."""
    tags: dict[int, str] = {}
    arguments = [(_ROLES[tree.words[child].dep], tree.under(child)) for child in tree.children(verb, *_ROLES)]
    if not tree.children(verb, *_SUBJECTS) and tree.words[verb].dep == "conj":
        arguments += _subjects(tree, tree.words[verb].head)
    if tree.words[verb].dep == "relcl":
        noun = tree.words[verb].head
        arguments = [(role, inside) for role, inside in arguments if not _is_relative(tree, inside)]
        arguments.append(("ARG0", tree.under(noun) - tree.under(verb)))
    for number, (role, inside) in enumerate(arguments):
        # Two unknown roles are not assumed to be the same one: that would join the arguments.
        named = f"{role}-{number}" if role == _UNKNOWN else role
        places = sorted(inside)
        while places and not _is_word(tree, places[-1]):
            places.pop()
        while places and not _is_word(tree, places[0]):
            places.pop(0)
        tags |= {place: f"{'I' if at else 'B'}-{named}" for at, place in enumerate(places)}
    tags[verb] = "B-V"
    return tags


def _subjects(tree: Tree, verb: int) -> list[tuple[str, frozenset[int]]]:
    """The subjects of a verb, or of the one it is joined to."""
    own = [(_SUBJECTS[tree.words[child].dep], tree.under(child)) for child in tree.children(verb, *_SUBJECTS)]
    if own or tree.words[verb].dep != "conj":
        return own
    return _subjects(tree, tree.words[verb].head)


def _is_relative(tree: Tree, inside: frozenset[int]) -> bool:
    return len(inside) == 1 and tree.words[min(inside)].tag in ("WP", "WDT")


def _is_word(tree: Tree, place: int) -> bool:
    return any(sign.isalnum() for sign in tree.words[place].text)
