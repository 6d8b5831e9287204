"""Which documents train, which choose (dev), and which are looked at once (test): by the hash of their text.

A document's part does not depend on the other documents, so data that grow move none from one side to the other. Near-
duplicates (`data.duplicates`) are on one side: the lowest hash of the group counts for all of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field, model_validator

from summeter.data.duplicates import near_duplicates
from summeter.records import Record, UsageError, digest, nearest
from summeter.stats.base import Bools

Part = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = get_args(Part)


class Split(Record):
    """How documents are divided: shares of `dev` and `test`; the rest trains.

    `held_out_domains` make the test part of these domains alone, `held_out_systems` of these systems' summaries alone:
    of neither is anything trained on or chosen by. Another `salt` draws another split.
    """

    dev: float = Field(default=0.15, gt=0, lt=1)
    test: float = Field(default=0.2, ge=0, lt=1)
    held_out_domains: tuple[str, ...] = ()
    held_out_systems: tuple[str, ...] = ()
    salt: str = ""

    @model_validator(mode="after")
    def _leaves_some(self) -> Split:
        if self.dev + self.test >= 1:
            raise ValueError(f"dev and test take {self.dev + self.test:g} of the documents and leave none to train on")
        return self


class Parts(NamedTuple):
    """The part of each document by id; `None` for one that is left out (a near-duplicate of a held-out domain's).

    `groups` are the near-duplicates that were kept together, `hash` names the division, and `test` what is looked at in
    the end: it stays the same where only the other documents are divided otherwise.
    """

    part: Mapping[str, Part | None]
    groups: tuple[tuple[str, ...], ...]
    hash: str
    test: str

    def of(self, part: Part) -> tuple[str, ...]:
        """The documents of a part, in their order."""
        return tuple(doc_id for doc_id, own in self.part.items() if own == part)


def place(text: str, salt: str = "") -> float:
    """Where a text lies in [0, 1): the first 53 bits of the SHA-256 of the salt and the text.

    >>> 0 <= place("It rained.") < 1, place("It rained.") == place("It rained."), place("a", "1") == place("a", "2")
    (True, True, False)
    """
    hashed = hashlib.sha256(f"{salt}\0{text}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(hashed[:8], "big") >> 11) / 2**53


def places(texts: Mapping[str, str], salt: str = "") -> tuple[dict[str, float], tuple[tuple[str, ...], ...]]:
    """Where each text lies, near-duplicates at one place; and the groups of these."""
    groups = tuple(group.ids for group in near_duplicates(texts))
    own = {text_id: place(text, salt) for text_id, text in texts.items()}
    for group in groups:
        lowest = min(own[text_id] for text_id in group)
        own |= dict.fromkeys(group, lowest)
    return own, groups


def split_texts(texts: Mapping[str, str], how: Split, domains: Mapping[str, str | None] | None = None) -> Parts:
    """The part of each text (by id), as `how` says; `domains` are theirs.

    Raises UsageError for a held-out domain that no text has.

    >>> texts = {str(number): f"text number {number} of many" for number in range(1000)}
    >>> parts = split_texts(texts, Split(dev=0.1, test=0.2))
    >>> [abs(len(parts.of(part)) / 1000 - share) < 0.05 for part, share in zip(PARTS, (0.7, 0.1, 0.2))]
    [True, True, True]
    """
    where, groups = places(texts, how.salt)
    domains = domains or {}
    held_out = frozenset(how.held_out_domains)
    for domain in sorted(held_out - set(domains.values())):
        known = sorted({known for known in domains.values() if known is not None})
        there = f"there are: {', '.join(known)}" if known else "no document has one"
        raise UsageError(f"split.held_out_domains: there is no domain {domain!r}{nearest(domain, known)}; {there}")
    test = 0.0 if held_out else how.test

    def drawn(text_id: str) -> Part | None:
        if domains.get(text_id) in held_out:
            return "test"
        at = where[text_id]
        return "test" if at < test else "dev" if at < test + how.dev else "train"

    part = {text_id: drawn(text_id) for text_id in texts}
    if held_out:
        for group in groups:
            if any(part[text_id] == "test" for text_id in group):
                part |= {text_id: None for text_id in group if part[text_id] != "test"}
    named = sorted((_hash(texts[text_id]), own or "") for text_id, own in part.items())
    held_out_systems = sorted(how.held_out_systems)
    test_part = [hashed for hashed, own in named if own == "test"]
    return Parts(part, groups, digest([named, held_out_systems], 16), digest([test_part, held_out_systems], 16))


def fitted_on(parts: Parts, texts: Mapping[str, str]) -> list[str]:
    """The hashes (16 hex digits) of the texts by whose labels something was fitted or chosen."""
    return sorted(text_hash(texts[text_id]) for text_id, own in parts.part.items() if own in ("train", "dev"))


def text_hash(text: str) -> str:
    """Sixteen hex digits that stand for a document's text in a card."""
    return _hash(text)[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fold_of(texts: Mapping[str, str], folds: int, salt: str = "") -> dict[str, int]:
    """The fold of each text, 0 to folds - 1, for cross-fitting: of about equal size, near-duplicates in one.

    Folds are dealt out in the order of the places, so that few texts make even folds too.

    >>> texts = {str(number): f"text number {number} of many" for number in range(10)}
    >>> fold = fold_of(texts, 5)
    >>> sorted(fold.values())
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """
    where, groups = places(texts, salt)
    leader = {text_id: group[0] for group in groups for text_id in group}
    members: dict[str, list[str]] = {}
    for text_id in texts:
        members.setdefault(leader.get(text_id, text_id), []).append(text_id)
    sizes = [0] * folds
    fold: dict[str, int] = {}
    for first in sorted(members, key=lambda text_id: (-len(members[text_id]), where[text_id], texts[text_id])):
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(members[first])
        fold |= dict.fromkeys(members[first], smallest)
    return {text_id: fold[text_id] for text_id in texts}


def part_masks(parts: Parts, how: Split, items: Sequence[tuple[str, str]]) -> dict[Part, Bools]:
    """Which items (document, system) are in each part; where systems are held out, test has theirs alone and the other
    parts none. UsageError for a held-out system that no item has."""
    held_out = frozenset(how.held_out_systems)
    systems = dict.fromkeys(system for _, system in items)
    for system in how.held_out_systems:
        if system not in systems:
            there = f"there are: {', '.join(systems)}"
            raise UsageError(
                f"split.held_out_systems: there is no system {system!r}{nearest(system, systems)}; {there}"
            )
    return {
        part: np.array(
            [
                parts.part[document] == part and (not held_out or (system in held_out) == (part == "test"))
                for document, system in items
            ],
            dtype=bool,
        )
        for part in PARTS
    }
