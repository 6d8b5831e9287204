"""Parts of a dataset: a split by document, near-duplicates together, and a sample; seeded, and even over domains."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from summeter.data.atomic import building, check_folder, write_text
from summeter.data.dataset import Dataset, save
from summeter.data.duplicates import DuplicateGroup, near_duplicates
from summeter.data.folder import check_set_name, is_dataset
from summeter.records import Parameter, UsageError

MANIFEST = "split.json"
"""The file of a split's folder that says what its parts are."""
SCHEMA = "summeter-split/1"


@dataclass(frozen=True)
class Split:
    """The parts of a dataset by name, and the near-duplicates that were kept together."""

    parts: Mapping[str, Dataset]
    shares: Mapping[str, float]
    duplicates: tuple[DuplicateGroup, ...]
    seed: int
    of: Dataset

    def rows(self) -> list[dict[str, Any]]:
        """One row a part: its share as asked and as it came, documents, summaries, domains and hash."""
        total = len(self.of.documents)
        return [
            {
                "part": name,
                "share": self.shares[name],
                "documents": len(part.documents),
                "summaries": len(part),
                "share_of_documents": len(part.documents) / total,
                "domains": dict(Counter(document.domain or "no domain" for document in part.documents.values())),
                "hash": part.hash,
            }
            for name, part in self.parts.items()
        ]


def split(dataset: Dataset, parts: Mapping[str, float], *, seed: int = 0) -> Split:
    """Divide a dataset by document; near-duplicates (see `near_duplicates`) are in one part.

    `parts` are shares of the documents by name, which add up to 1. Each domain is divided alike, as far as its number
    of documents and its near-duplicates allow: what a part lacks in one domain it gets in the next. The order of the
    documents does not matter; equal seeds give equal parts. The `split` of each document is the name of its part. The
    card of each part names the dataset, its hash, the shares and the seed under `origin`.

    Raises UsageError for shares that do not add up to 1, names that cannot name a folder, and a part that would be
    empty.

    >>> from summeter.data.dataset import load
    >>> texts = "rain sun snow hail".split()
    >>> data = load([{"doc_id": text, "document": f"Much {text} today.", "summary": "Weather."} for text in texts])
    >>> [len(part.documents) for part in split(data, {"train": 0.5, "test": 0.5}).parts.values()]
    [2, 2]
    """
    _check_shares(parts)
    duplicates = near_duplicates({doc_id: document.text for doc_id, document in dataset.documents.items()})
    members: dict[str, list[str]] = {name: [] for name in parts}
    filled = dict.fromkeys(parts, 0.0)
    for group in _shuffled_groups(dataset, duplicates, seed):
        for name, share in parts.items():
            filled[name] -= share * len(group)  # what the part is owed
        name = min(filled, key=filled.__getitem__)
        filled[name] += len(group)
        members[name] += group
    empty = [name for name, documents in members.items() if not documents]
    if empty:
        groups = len(dataset.documents) - sum(len(group.ids) - 1 for group in duplicates)
        raise UsageError(
            f"the part {empty[0]!r} would be empty: there are {groups} documents that are no near-duplicates of each "
            "other; give it a larger share, or ask for fewer parts"
        )
    origin = {"shares": dict(parts), "seed": seed}
    return Split(
        {name: _part(dataset, ids, "split", name, origin).with_split(name) for name, ids in members.items()},
        dict(parts), tuple(duplicates), seed, dataset,
    )  # fmt: skip


def sample(dataset: Dataset, documents: int, *, seed: int = 0) -> Dataset:
    """So many documents of a dataset, drawn at random from each domain in proportion, with all that belongs to them.

    Shares that are no whole numbers are rounded to the largest remainders, at random where these are equal. Equal
    seeds give equal samples, whatever the order of the documents. Raises UsageError for a number below 1, or above
    that of the documents.
    """
    total = dataset.document_count
    if not 1 <= documents <= total:
        raise UsageError(f"a sample of {documents} documents cannot be drawn from {total}")
    draw = random.Random(seed)
    strata = _strata(dataset)
    whole = {name: divmod(documents * len(ids), total) for name, ids in strata.items()}
    sizes = {name: size for name, (size, _) in whole.items()}
    order = draw.sample(list(strata), len(strata))
    order.sort(key=lambda name: -whole[name][1])
    for name in order[: documents - sum(sizes.values())]:
        sizes[name] += 1
    drawn = [doc_id for name, ids in strata.items() for doc_id in draw.sample(ids, sizes[name])]
    return _part(dataset, drawn, "sample", f"sample-{documents}", {"seed": seed})


def save_split(parts: Split, folder: str | Path, *, force: bool = False) -> Path:
    """Write each part as a dataset folder in `folder`, with `split.json`: whole, or not at all.

    Raises UsageError where the folder holds something: a split is replaced with `force`, anything else never.
    """
    target = Path(folder)
    check_folder(target, "a split", _is_split, force=force)
    with building(target) as fresh:
        for name, part in parts.parts.items():
            save(part, fresh / name)
        about = {
            "schema": SCHEMA,
            "of": {"name": parts.of.card.name, "hash": parts.of.hash},
            "seed": parts.seed,
            "near_duplicates": [list(group.ids) for group in parts.duplicates],
            "parts": parts.rows(),
        }
        write_text(fresh / MANIFEST, json.dumps(about, ensure_ascii=False, indent=2) + "\n")
    return target


def _check_shares(parts: Mapping[str, float]) -> None:
    for name, share in parts.items():
        check_set_name(name, "a part")
        if name.casefold() == MANIFEST:
            raise UsageError(Parameter("parts"), f": {name!r} is the file that lists the parts; give another name")
        if not 0 < share <= 1:
            raise UsageError(
                Parameter("parts"), f": the share of {name!r} must be above 0 and at most 1, not {share:g}"
            )
    if len({name.casefold() for name in parts}) < len(parts):
        raise UsageError(Parameter("parts"), ": two names differ only in case, and some file systems see none")
    if not isclose(total := sum(parts.values()), 1, abs_tol=1e-6):
        raise UsageError(Parameter("parts"), f": the shares must add up to 1; they add up to {total:g}")


def _is_split(folder: Path) -> bool:
    """Whether a folder holds a split and nothing else."""
    there = (folder / MANIFEST).is_file()
    return there and all(path.name == MANIFEST or is_dataset(path) for path in folder.iterdir())


def _strata(dataset: Dataset) -> dict[str, list[str]]:
    """The documents of each domain, all in the order of names."""
    strata: dict[str, list[str]] = {}
    domains = ((document.domain or "", document.id) for document, _ in dataset.items())
    for domain, doc_id in sorted(domains):
        strata.setdefault(domain, []).append(doc_id)
    return strata


def _shuffled_groups(dataset: Dataset, duplicates: Sequence[DuplicateGroup], seed: int) -> list[list[str]]:
    """Groups that stay together, domain by domain, both in an order drawn by the seed. A group that is of several
    domains is of that of its first document."""
    draw = random.Random(seed)
    tied = {doc_id: sorted(group.ids) for group in duplicates for doc_id in group.ids}
    strata: list[list[list[str]]] = []
    for documents in _strata(dataset).values():
        own = [tied.get(doc_id, [doc_id]) for doc_id in documents]
        groups = [group for doc_id, group in zip(documents, own, strict=True) if group[0] == doc_id]
        draw.shuffle(groups)
        strata.append(groups)
    draw.shuffle(strata)
    return [group for groups in strata for group in groups]


def _part(dataset: Dataset, documents: Sequence[str], how: str, name: str, settings: Mapping[str, Any]) -> Dataset:
    """Some documents of a dataset, with a card that says of what they are a part."""
    card = dataset.card
    origin = {"how": how, "part": name, "dataset": card.name, "hash": card.hash, **settings}
    if card.origin is not None:
        origin["origin"] = card.origin
    return dataset.with_documents(documents).with_card(name=f"{card.name}-{name}", origin=origin)
