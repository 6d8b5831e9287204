"""Split documents into training, dev and test sets by the hashes of their texts.

The subset of a document does not depend on the other documents, so additional data do not move it to another subset.
Near-duplicates (`data.duplicates`) are an exception: they are all in the same subset, which is determined by the lowest
hash in their group.
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

Subset = Literal["train", "dev", "test"]
SUBSETS: tuple[Subset, ...] = get_args(Subset)
FITTED: tuple[Subset, ...] = ("train", "dev")
"""The subsets that are used for training or selection."""


class Split(Record):
    """Settings of a split: the shares of documents in `dev` and `test`.

    The remaining documents are used for training.

    With `held_out_domains`, the test set consists of the documents in these domains, and with `held_out_systems`, of
    the summaries by these systems. In both cases, the test set is not used for training or selection. Another `salt`
    gives another split.
    """

    dev: float = Field(default=0.15, gt=0, lt=1)
    test: float = Field(default=0.2, ge=0, lt=1)
    held_out_domains: tuple[str, ...] = ()
    held_out_systems: tuple[str, ...] = ()
    salt: str = ""

    @model_validator(mode="after")
    def _check(self) -> Split:
        if self.dev + self.test >= 1:
            raise ValueError(
                f"dev and test are {self.dev + self.test:g} of the documents; they must leave some to train on"
            )
        return self


class Partition(NamedTuple):
    """The subset of each document by id.

    The subset is None for documents in no subset, which are near-duplicates of documents in a held-out domain. `groups`
    holds the groups of near-duplicates. `hash` identifies the partition, and `test` identifies the test set regardless
    of the subsets of other documents.
    """

    subset: Mapping[str, Subset | None]
    groups: tuple[tuple[str, ...], ...]
    hash: str
    test: str

    def of(self, subset: Subset) -> tuple[str, ...]:
        """Return the ids of the documents in a subset, in their order."""
        return tuple(doc_id for doc_id, name in self.subset.items() if name == subset)


def hash_fraction(text: str, salt: str = "") -> float:
    """Return a number in [0, 1): the first 53 bits of the SHA-256 hash of the salt and the text.

    >>> hash_fraction("a") == hash_fraction("a"), hash_fraction("a", "1") == hash_fraction("a", "2")
    (True, False)
    """
    hashed = hashlib.sha256(f"{salt}\0{text}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(hashed[:8], "big") >> 11) / 2**53


def hash_fractions(texts: Mapping[str, str], salt: str = "") -> tuple[dict[str, float], tuple[tuple[str, ...], ...]]:
    """Return the hash fraction of each text by id, and the groups of near-duplicates.

    All texts in a group of near-duplicates have the lowest hash fraction of the group.
    """
    groups = tuple(group.ids for group in near_duplicates(texts))
    fractions = {text_id: hash_fraction(text, salt) for text_id, text in texts.items()}
    for group in groups:
        lowest = min(fractions[text_id] for text_id in group)
        fractions |= dict.fromkeys(group, lowest)
    return fractions, groups


def split_texts(texts: Mapping[str, str], how: Split, domains: Mapping[str, str | None] | None = None) -> Partition:
    """Assign each text to a subset; `texts` and their `domains` are given by id.

    Raises UsageError if no text has a held-out domain.

    >>> texts = {str(number): f"text number {number} of many" for number in range(1000)}
    >>> partition = split_texts(texts, Split(dev=0.1, test=0.2))
    >>> [abs(len(partition.of(name)) / 1000 - share) < 0.05 for name, share in zip(SUBSETS, (0.7, 0.1, 0.2))]
    [True, True, True]
    """
    fractions, groups = hash_fractions(texts, how.salt)
    domains = domains or {}
    held_out = frozenset(how.held_out_domains)
    for domain in sorted(held_out - set(domains.values())):
        known = sorted({known for known in domains.values() if known is not None})
        found = f"domains: {', '.join(known)}" if known else "no document has a domain"
        raise UsageError(f"split.held_out_domains: unknown domain {domain!r}{nearest(domain, known)}; {found}")
    test = 0.0 if held_out else how.test

    def subset_of(text_id: str) -> Subset | None:
        if domains.get(text_id) in held_out:
            return "test"
        fraction = fractions[text_id]
        return "test" if fraction < test else "dev" if fraction < test + how.dev else "train"

    subset = {text_id: subset_of(text_id) for text_id in texts}
    if held_out:
        for group in groups:
            if any(subset[text_id] == "test" for text_id in group):
                subset |= {text_id: None for text_id in group if subset[text_id] != "test"}
    hashes = sorted((_hash(texts[text_id]), name or "") for text_id, name in subset.items())
    held_out_systems = sorted(how.held_out_systems)
    test_hashes = [hashed for hashed, name in hashes if name == "test"]
    return Partition(
        subset, groups, digest([hashes, held_out_systems], 16), digest([test_hashes, held_out_systems], 16)
    )


def fitted_on(partition: Partition, texts: Mapping[str, str]) -> list[str]:
    """Return the hashes (16 hexadecimal digits) of the texts used for training or selection."""
    return sorted(text_hash(texts[text_id]) for text_id, name in partition.subset.items() if name in FITTED)


def text_hash(text: str) -> str:
    """Return the 16 hexadecimal digits that represent a document's text in a card."""
    return _hash(text)[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fold_of(texts: Mapping[str, str], folds: int, salt: str = "") -> dict[str, int]:
    """Return the fold of each text, from 0 to folds - 1, for cross-fitting.

    Folds have about equal sizes, and near-duplicates are in the same fold. Texts are assigned in the order of their
    hashes.

    >>> texts = {str(number): f"text number {number} of many" for number in range(10)}
    >>> fold = fold_of(texts, 5)
    >>> sorted(fold.values())
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """
    fractions, groups = hash_fractions(texts, salt)
    leader = {text_id: group[0] for group in groups for text_id in group}
    members: dict[str, list[str]] = {}
    for text_id in texts:
        members.setdefault(leader.get(text_id, text_id), []).append(text_id)
    sizes = [0] * folds
    fold: dict[str, int] = {}
    for first in sorted(members, key=lambda text_id: (-len(members[text_id]), fractions[text_id], texts[text_id])):
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(members[first])
        fold |= dict.fromkeys(members[first], smallest)
    return {text_id: fold[text_id] for text_id in texts}


def subset_masks(partition: Partition, how: Split, items: Sequence[tuple[str, str]]) -> dict[str, Bools]:
    """Return a mask of the items (document, system) for each subset.

    If systems are held out, their items are only in the test set, which then contains no other items. Raises UsageError
    if none of the items has a given held-out system.
    """
    held_out = frozenset(how.held_out_systems)
    systems = dict.fromkeys(system for _, system in items)
    for system in how.held_out_systems:
        if system not in systems:
            raise UsageError(
                f"split.held_out_systems: unknown system {system!r}{nearest(system, systems)}; systems: "
                f"{', '.join(systems)}"
            )
    return {
        name: np.array(
            [
                partition.subset[document] == name and (not held_out or (system in held_out) == (name == "test"))
                for document, system in items
            ],
            dtype=bool,
        )
        for name in SUBSETS
    }
