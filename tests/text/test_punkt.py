"""Punkt's sentences, compared with NLTK 3.9.4 (benchmarks/parity/sentences.py) and with hand-made cases."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from growth import assert_proportional

from summeter.text.punkt import punkt_split


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in punkt_split(text)]


def test_the_sentences_are_those_of_nltk(root: Path) -> None:
    stored = json.loads((root / "tests" / "neural" / "sentences.json").read_text("utf-8"))["sentences"]
    assert len(stored) > 150
    for text, spans in stored.items():
        assert [list(span) for span in punkt_split(text)] == spans, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("no full stop\nin any line", ["no full stop\nin any line"]),
        ("Ana: hi!!! ok\nBo: bye!!!", ["Ana: hi!!!", "ok\nBo: bye!!", "!"]),  # as in NLTK
        ("  Dr. Ode sold it. (She did.) Yes.  ", ["  Dr. Ode sold it.", "(She did.)", "Yes."]),
        ("It cost $3.5 million. No. 7 burnt.", ["It cost $3.5 million.", "No.", "7 burnt."]),
        ("He left. “So be it.” She stayed.", ["He left.", "“So be it.” She stayed."]),  # NLTK 3.10 differs
    ],
)
def test_by_hand(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize("part", ["a. ", ". . ", "! ", "a.", "Dr. Ode\n"])
def test_time_grows_with_the_text(part: str) -> None:
    assert_proportional(lambda: punkt_split(part * 500), lambda: punkt_split(part * 5000), 10, 1.5)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("dialsummeval", 1433, "beea165a7f3d7746"),
        ("realsumm", 2465, "a306331f56e9a317"),
        ("qags_cnndm", 470, "b6c7fcd160f724ff"),
        ("shen2023", 1285, "643a45db43247b9a"),
    ],
)
def test_real_texts_have_the_sentences_of_nltk(shared: Path, name: str, count: int, expected: str) -> None:
    """Compare the hash of all spans of documents and summaries with that of NLTK 3.9.4."""
    rows = gzip.decompress((shared / "data" / f"{name}.jsonl.gz").read_bytes()).decode("utf-8").split("\n")
    texts = sorted({json.loads(row)[field] for row in rows if row for field in ("document", "summary")} - {""})
    spans = [[list(span) for span in punkt_split(text)] for text in texts]
    assert len(texts) == count
    assert hashlib.sha256(json.dumps(spans).encode()).hexdigest()[:16] == expected
