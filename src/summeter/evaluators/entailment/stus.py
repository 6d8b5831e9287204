"""Semantic triplet units (STUs): one short sentence per verb and argument of a sentence.

STUs were introduced with Lite3Pyramid (Zhang and Bansal, EMNLP 2021). They are extracted from semantic roles or from a
dependency parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from summeter.text.english import Tree, Word

_BE: Final = frozenset(["am", "are", "is", "was", "were", "been"])
_MODALS: Final = frozenset(["'", "will", "could", "can", "might", "should", "would"])
_NEGATION: Final = "ARGM-NEG"
_UNKNOWN: Final = "ARGM"
"""The role of a prepositional phrase, because a dependency parse does not specify it (place, time, manner, ...)."""
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
"""Relations between a verb and its dependents in spaCy's English models -> approximate PropBank roles."""


class RoleSentence(BaseModel):
    """The words of a sentence and, for each verb, the roles of the words as BIO tags (`B-ARG0`, `O`)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    words: list[str] = Field(min_length=1)
    frames: list[list[str]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(len(tags) != len(self.words) for tags in self.frames):
            raise ValueError("each frame must have one tag per word")
        return self


def units_of(sentence: RoleSentence, *, legacy: bool = False) -> list[str]:
    """Return the distinct STUs of a sentence.

    A verb that is preceded by arguments gives one unit for each argument after it. The unit consists of the preceding
    arguments, the verb, and the argument; consecutive arguments with the same role are one argument. Verbs after "to"
    and bare modal verbs give no units. A form of "be" directly before the verb and a negation directly after it are
    part of the verb. A sentence without units is itself the unit. If `legacy` is true, "to" and "be" are searched
    before the last word of the verb, as in the released code, which therefore misses them before a verb of several
    words.

    >>> tags = ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "B-ARGM-TMP", "I-ARGM-TMP"]
    >>> units_of(RoleSentence(words="Ada sold the mill in May".split(), frames=[tags]))
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


def role_sentences(parsed: Sequence[Word]) -> list[RoleSentence]:
    """Return the sentences of a text, given as parsed words, with roles derived from the dependencies.

    This function replaces semantic role labelling. A conjoined verb shares the subject of the first verb. In a relative
    clause, the modified noun replaces the pronoun.
    """
    tree, sentences = Tree(parsed), []
    for root in tree.roots:
        indices = sorted(tree.under(root))
        if not any(_is_word(tree, index) for index in indices):
            continue
        verbs = [
            index for index in indices
            if tree.words[index].tag.startswith("VB") and tree.words[index].dep not in ("aux", "auxpass")
        ]  # fmt: skip
        frames = [_tags(tree, verb) for verb in verbs]
        words = [tree.words[index].text for index in indices]
        rows = [[tags.get(index, "O") for index in indices] for tags in frames]
        sentences.append(RoleSentence(words=words, frames=rows))
    return sentences


def _tags(tree: Tree, verb: int) -> dict[int, str]:
    """Return the tags of the words for one verb, by word index."""
    tags: dict[int, str] = {}
    arguments = [(_ROLES[tree.words[child].dep], tree.under(child)) for child in tree.children(verb, *_ROLES)]
    if not tree.children(verb, *_SUBJECTS) and tree.words[verb].dep == "conj":
        arguments += _subjects(tree, tree.words[verb].head)
    if tree.words[verb].dep == "relcl":
        noun = tree.words[verb].head
        # Leave out relative pronouns.
        arguments = [
            (role, inside) for role, inside in arguments
            if len(inside) > 1 or tree.words[min(inside)].tag not in ("WP", "WDT")
        ]  # fmt: skip
        arguments.append(("ARG0", tree.under(noun) - tree.under(verb)))
    for number, (role, inside) in enumerate(arguments):
        # Two unknown roles are kept apart; otherwise their arguments would be joined.
        named = f"{role}-{number}" if role == _UNKNOWN else role
        indices = sorted(inside)
        while indices and not _is_word(tree, indices[-1]):
            indices.pop()
        while indices and not _is_word(tree, indices[0]):
            indices.pop(0)
        tags |= {index: f"{'I' if at else 'B'}-{named}" for at, index in enumerate(indices)}
    tags[verb] = "B-V"
    return tags


def _subjects(tree: Tree, verb: int) -> list[tuple[str, frozenset[int]]]:
    """Return the subjects of a verb, or those of the verb with which it is conjoined."""
    subjects = [(_SUBJECTS[tree.words[child].dep], tree.under(child)) for child in tree.children(verb, *_SUBJECTS)]
    if subjects or tree.words[verb].dep != "conj":
        return subjects
    return _subjects(tree, tree.words[verb].head)


def _is_word(tree: Tree, place: int) -> bool:
    return any(map(str.isalnum, tree.words[place].text))
