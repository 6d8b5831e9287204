"""Damaged input files of every format are read, or refused with file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from data.flat_view import flat_rows

from fuzz import Check
from summeter.data.dataset import load, save
from summeter.data.presets import PRESETS
from summeter.records import InputError

ROWS: list[dict[str, Any]] = [
    {
        "doc_id": f"d{number}", "system": system, "document": f"Ana sold boat {number}. It rained on {number} days.",
        "summary": f"Boat {number} was sold. It rained.", "references": ["A boat was sold."], "domain": "news",
        "key_facts": ["A boat was sold.", "It rained."], "sentences": [f"Boat {number} was sold.", "It rained."],
        "human": {
            "ratings": {"fluency": {"ann": 4, "bo": None}}, "sentence_labels": [{"ann": 1, "bo": 0}, 1],
            "key_fact_labels": [1, 0], "alignment": [[0], [1]], "overall": {"quality": 3.5},
            "spans": [{"annotator": "ann", "start": 0, "end": 4, "label": "entity error"}],
        },
        "note": {"a": [1, 2.5, None, True]},
    }
    for number in range(3)
    for system in ("aster", "birch")
]  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, "", " ", "\ud800", "\x00", "x" * 5000, "½ 🦶", 0, -1, 2**63, 10**400, 0.1, 1e308, True, [], {}, [None], [[]],
    {"": 1}, {"\udfff": 1}, {"ann": "x"}, [["a"]], "NoE+EntE", [0, 0],
)  # fmt: skip
PIECES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"{", b"[" * 300, b"]", b",", b"\n", b"\r", b"\\u", b"\\ud83d", b"NaN",
    b"1e999", b"9" * 5000, b"-", b"\t", b'"a":1,"a":2', b"\xed\xa0\x80",
)  # fmt: skip


def nested(value: Any, random: Random) -> Any:
    """Return the value with one element replaced."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(list(value))
        return {**value, key: nested(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        place = random.randrange(len(value))
        return [*value[:place], nested(value[place], random), *value[place + 1 :]]
    deep: Any = random.choice(VALUES)
    for _ in range(random.choice((0, 0, 0, 50, 99, 100, 101, 250, 900))):
        deep = random.choice(([deep], {"a": deep}))
    return deep


def written(rows: list[dict[str, Any]], name: str) -> bytes:
    """Return the content of a file of rows, in the format of its name."""
    if name.startswith("a.json"):
        return "\n".join(json.dumps(row) for row in rows).encode() if "jsonl" in name else json.dumps(rows).encode()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROWS[0]), delimiter="\t" if "tsv" in name else ",", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: json.dumps(cell) if isinstance(cell, dict | list) else cell for key, cell in row.items()})
    return text.getvalue().encode("utf-8", "surrogatepass")


def mangled(content: bytes, random: Random) -> bytes:
    """Return the content after up to four edits."""
    for _ in range(random.randint(0, 4)):
        start = random.randrange(len(content) + 1)
        end = min(len(content), start + random.choice((0, 1, 5, 100)))
        content = content[:start] + random.choice((b"", random.choice(PIECES), content[start:end] * 2)) + content[end:]
    return content


@pytest.mark.parametrize("name", ["rows", "a.jsonl", "a.json", "a.csv", "a.tsv", "a.jsonl.gz", "a.json.gz"])
def test_inputs(name: str, fuzz: Callable[[Check], None], tmp_path: Path) -> None:
    def check(random: Random) -> None:
        rows = ROWS
        for _ in range(random.randint(0, 3)):
            rows = nested(rows, random)
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                rows = ROWS
        data: Any = rows
        if name != "rows":
            content = mangled(written(rows, name), random)
            if name.endswith(".gz"):
                content = gzip.compress(content)
                content = mangled(content, random) if random.random() < 0.3 else content
            data = tmp_path / name
            data.write_bytes(content)
        start = time.process_time()
        try:
            dataset = load(data, preset=random.choice((None, None, *PRESETS)))
        except InputError as error:
            str(error).encode()  # it can be printed
            assert time.process_time() - start < 10
            return
        folder = tmp_path / "folder"
        save(dataset, folder, force=True)
        again = load(folder)
        assert (again.documents, again.summaries, again.hash) == (dataset.documents, dataset.summaries, dataset.hash)
        for judgments in dataset.judgment_sets:
            assert again.judgments(judgments) == dataset.judgments(judgments)
        assert list(flat_rows(again)) == list(flat_rows(dataset))
        assert time.process_time() - start < 10

    fuzz(check)
