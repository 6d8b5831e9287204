"""Split and sample datasets at random by document, stratified by domain."""

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
"""Name of the file that describes the subsets in the folder of a split."""
SCHEMA = "summeter-split/1"


@dataclass(frozen=True)
class Split:
    """The subsets of a dataset by name, and the near-duplicates that were kept together."""

    subsets: Mapping[str, Dataset]
    shares: Mapping[str, float]
    duplicates: tuple[DuplicateGroup, ...]
    seed: int
    dataset: Dataset

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per subset: share, documents, summaries, domains and hash."""
        total = len(self.dataset.documents)
        return [
            {
                "part": name,
                "share": self.shares[name],
                "documents": len(subset.documents),
                "summaries": len(subset),
                "share_of_documents": len(subset.documents) / total,
                "domains": dict(Counter(document.domain or "no domain" for document in subset.documents.values())),
                "hash": subset.hash,
            }
            for name, subset in self.subsets.items()
        ]


def split(dataset: Dataset, parts: Mapping[str, float], *, seed: int = 0) -> Split:
    """Split a dataset by document, with near-duplicates in the same subset.

    `parts` maps the name of each subset to its share of the documents; the shares must add up to 1. The split is
    stratified by domain as far as the numbers of documents and near-duplicates allow. The result depends on the seed,
    but not on the order of the documents. The `split` of each document is the name of its subset. The card of each
    subset records the dataset, its hash, the shares and the seed in `origin`.

    Raises UsageError if the shares do not add up to 1, if a name is not a valid folder name, or if a subset would be
    empty.

    >>> from summeter.data.dataset import load
    >>> texts = "rain sun snow hail".split()
    >>> data = load([{"doc_id": text, "document": f"Much {text} today.", "summary": "Weather."} for text in texts])
    >>> [len(subset.documents) for subset in split(data, {"train": 0.5, "test": 0.5}).subsets.values()]
    [2, 2]
    """
    _check_shares(parts)
    duplicates = near_duplicates({doc_id: document.text for doc_id, document in dataset.documents.items()})
    members: dict[str, list[str]] = {name: [] for name in parts}
    filled = dict.fromkeys(parts, 0.0)
    for group in _shuffled_groups(dataset, duplicates, seed):
        for name, share in parts.items():
            filled[name] -= share * len(group)  # negative: the subset has too few documents
        name = min(filled, key=filled.__getitem__)
        filled[name] += len(group)
        members[name] += group
    empty = [name for name, documents in members.items() if not documents]
    if empty:
        groups = len(dataset.documents) - sum(len(group.ids) - 1 for group in duplicates)
        raise UsageError(
            f"the subset {empty[0]!r} would be empty: only {groups} documents or groups of near-duplicates "
            "can be distributed; give it a larger share, or use fewer subsets"
        )
    origin = {"shares": dict(parts), "seed": seed}
    return Split(
        {name: _subset(dataset, ids, "split", name, origin).with_split(name) for name, ids in members.items()},
        dict(parts), tuple(duplicates), seed, dataset,
    )  # fmt: skip


def sample(dataset: Dataset, documents: int, *, seed: int = 0) -> Dataset:
    """Return a random sample of documents, stratified by domain, with all data about them.

    The sizes of the strata are rounded by largest remainder, with ties broken at random. The sample depends on the
    seed, but not on the order of the documents. Raises UsageError if `documents` is below 1 or above the number of
    documents.
    """
    total = dataset.document_count
    if not 1 <= documents <= total:
        raise UsageError(f"a sample of {documents} documents cannot be drawn from {total}")
    draw = random.Random(seed)
    strata = _strata(dataset)
    quotas = {name: divmod(documents * len(ids), total) for name, ids in strata.items()}
    sizes = {name: size for name, (size, _) in quotas.items()}
    order = draw.sample(list(strata), len(strata))
    order.sort(key=lambda name: -quotas[name][1])
    for name in order[: documents - sum(sizes.values())]:
        sizes[name] += 1
    sampled = [doc_id for name, ids in strata.items() for doc_id in draw.sample(ids, sizes[name])]
    return _subset(dataset, sampled, "sample", f"sample-{documents}", {"seed": seed})


def save_split(split: Split, folder: str | Path, *, force: bool = False) -> Path:
    """Write the subsets as dataset folders, completely or not at all, and return the path.

    The folder also contains `split.json`, which describes the subsets. Raises UsageError if the folder is not empty,
    unless `force` is true and it contains a split.
    """
    target = Path(folder)
    check_folder(target, "a split", _is_split, force=force)
    with building(target) as fresh:
        for name, subset in split.subsets.items():
            save(subset, fresh / name)
        about = {
            "schema": SCHEMA,
            "of": {"name": split.dataset.card.name, "hash": split.dataset.hash},
            "seed": split.seed,
            "near_duplicates": [list(group.ids) for group in split.duplicates],
            "parts": split.rows(),
        }
        write_text(fresh / MANIFEST, json.dumps(about, ensure_ascii=False, indent=2) + "\n")
    return target


def _check_shares(parts: Mapping[str, float]) -> None:
    for name, share in parts.items():
        check_set_name(name, "a subset")
        if name.casefold() == MANIFEST:
            raise UsageError(
                Parameter("parts"), f": {name!r} is the name of the file that describes the split; give another name"
            )
        if not 0 < share <= 1:
            raise UsageError(
                Parameter("parts"), f": the share of {name!r} must be above 0 and at most 1, not {share:g}"
            )
    if len({name.casefold() for name in parts}) < len(parts):
        raise UsageError(Parameter("parts"), ": two names differ only in case, which some file systems ignore")
    if not isclose(total := sum(parts.values()), 1, abs_tol=1e-6):
        raise UsageError(Parameter("parts"), f": the shares must add up to 1; they add up to {total:g}")


def _is_split(folder: Path) -> bool:
    """Return whether a folder contains a split and nothing else."""
    return (folder / MANIFEST).is_file() and all(path.name == MANIFEST or is_dataset(path) for path in folder.iterdir())


def _strata(dataset: Dataset) -> dict[str, list[str]]:
    """Return the sorted document ids of each domain, by domain in sorted order."""
    strata: dict[str, list[str]] = {}
    domains = ((document.domain or "", document.id) for document, _ in dataset.items())
    for domain, doc_id in sorted(domains):
        strata.setdefault(domain, []).append(doc_id)
    return strata


def _shuffled_groups(dataset: Dataset, duplicates: Sequence[DuplicateGroup], seed: int) -> list[list[str]]:
    """Return the groups of documents that must be in the same subset, in random order.

    The domain of a group is the domain of the first document in it.
    """
    draw = random.Random(seed)
    group_of = {doc_id: sorted(group.ids) for group in duplicates for doc_id in group.ids}
    strata: list[list[list[str]]] = []
    for documents in _strata(dataset).values():
        listed = [group_of.get(doc_id, [doc_id]) for doc_id in documents]
        groups = [group for doc_id, group in zip(documents, listed, strict=True) if group[0] == doc_id]
        draw.shuffle(groups)
        strata.append(groups)
    draw.shuffle(strata)
    return [group for groups in strata for group in groups]


def _subset(dataset: Dataset, documents: Sequence[str], how: str, name: str, settings: Mapping[str, Any]) -> Dataset:
    """Return a subset of a dataset, with a card that records its origin."""
    card = dataset.card
    origin = {"how": how, "part": name, "dataset": card.name, "hash": card.hash, **settings}
    if card.origin is not None:
        origin["origin"] = card.origin
    return dataset.with_documents(documents).with_card(name=f"{card.name}-{name}", origin=origin)
