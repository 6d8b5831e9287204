"""The sentences with planted errors that benchmarks/planted.py labels: their form."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

KINDS = {"role", "time", "cause", "quantity", "negation", "entity"}
FIELDS = {"id", "document_id", "kind", "paraphrased", "faithful", "planted"}


@pytest.fixture(scope="module")
def lines(root: Path) -> list[dict[str, Any]]:
    text = (root / "benchmarks" / "planted_errors.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def documents(lines: list[dict[str, Any]]) -> dict[str, str]:
    return {line["id"]: line["text"] for line in lines if "text" in line}


@pytest.fixture(scope="module")
def rows(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if "text" not in line]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def share(sentence: str, document: str) -> float:
    """The share of the sentence's words that the document has."""
    vocabulary = set(words(document))
    return sum(word in vocabulary for word in words(sentence)) / len(words(sentence))


def test_each_kind_has_ten_rows_and_half_of_them_are_paraphrased(rows: list[dict[str, Any]]) -> None:
    counts = Counter((row["kind"], row["paraphrased"]) for row in rows)
    assert counts == {(kind, paraphrased): 5 for kind in KINDS for paraphrased in (True, False)}
    assert all(row.keys() == FIELDS for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)


def test_twenty_documents_of_120_to_220_words_have_three_rows_each(
    documents: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    assert Counter(row["document_id"] for row in rows) == dict.fromkeys(documents, 3)
    assert len(documents) == len(set(documents.values())) == 20
    assert all(120 <= len(text.split()) <= 220 for text in documents.values())


def test_both_sentences_differ_and_have_8_to_30_words(rows: list[dict[str, Any]]) -> None:
    sentences = [row[side] for row in rows for side in ("faithful", "planted")]
    assert len(set(sentences)) == len(sentences) == 120
    assert all(8 <= len(sentence.split()) <= 30 and sentence.endswith(".") for sentence in sentences)


def test_paraphrases_have_few_words_of_the_document_and_the_others_most(
    documents: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    for row in rows:
        for side in ("faithful", "planted"):
            value = share(row[side], documents[row["document_id"]])
            assert value <= 2 / 3 if row["paraphrased"] else value >= 2 / 3, (row["id"], side)
