"""Load, describe, split and export datasets.

    from summeter import data

    rows = data.load("rows.jsonl")             # a file, a folder, hf:ORG/NAME#SPLIT, or dicts
    print(data.describe(rows).lengths)         # lengths, votes, near-duplicates, warnings
    subsets = data.split(rows, {"train": 0.8, "test": 0.2}, seed=0).subsets

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from summeter.lazy import attributes

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset as Dataset
    from summeter.data.dataset import flat_rows as flat_rows
    from summeter.data.dataset import load as load
    from summeter.data.dataset import save as save
    from summeter.data.duplicates import near_duplicates as near_duplicates
    from summeter.data.exports import export as export
    from summeter.data.exports import write_hub as write_hub
    from summeter.data.overview import describe as describe
    from summeter.data.subsets import sample as sample
    from summeter.data.subsets import save_split as save_split
    from summeter.data.subsets import split as split

_HOMES = {
    "Dataset": "summeter.data.dataset",
    "describe": "summeter.data.overview",
    "export": "summeter.data.exports",
    "flat_rows": "summeter.data.dataset",
    "load": "summeter.data.dataset",
    "near_duplicates": "summeter.data.duplicates",
    "sample": "summeter.data.subsets",
    "save": "summeter.data.dataset",
    "save_split": "summeter.data.subsets",
    "split": "summeter.data.subsets",
    "write_hub": "summeter.data.exports",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a table, not a copy of it
__getattr__, __dir__ = attributes(__name__, _HOMES)
