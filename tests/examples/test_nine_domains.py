"""Shape of the bundled example, and statements of its README."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from together import together

FOLDER = Path(__file__).parents[2] / "examples" / "nine_domains"
DOMAINS = (
    "news",
    "lifestyle",
    "report",
    "medical_literature",
    "sci_fi",
    "daily_dialogue",
    "booking",
    "interview",
    "meeting",
)
SYSTEMS = ("aster", "birch", "cedar", "dogwood")
SUPPORTED = "no error"
ERROR_TYPES = (
    "out-of-context error",
    "entity error",
    "predicate error",
    "circumstantial error",
    "grammatical error",
    "coreference error",
    "linking error",
    "other error",
)
FIELDS = {
    "doc_id",
    "system",
    "category",
    "domain",
    "split",
    "document",
    "summary",
    "reference",
    "key_facts",
    "sentences",
    "human",
}
Row = dict[str, Any]

ROWS: list[Row] = [json.loads(line) for line in (FOLDER / "summaries.jsonl").read_text(encoding="utf-8").splitlines()]
each_row = together("row", ROWS)


def faithfulness(row: Row) -> float:
    labels: list[int] = row["human"]["sentence_labels"]
    return sum(labels) / len(labels)


def completeness(row: Row) -> float:
    labels: list[int] = row["human"]["key_fact_labels"]
    return sum(labels) / len(labels)


def conciseness(row: Row) -> float:
    carriers = {index for indexes in row["human"]["alignment"] for index in indexes}
    return len(carriers) / len(row["sentences"])


def gold_means(system: str) -> tuple[float, float, float]:
    rows = [row for row in ROWS if row["system"] == system]
    return (
        sum(map(faithfulness, rows)) / len(rows),
        sum(map(completeness, rows)) / len(rows),
        sum(map(conciseness, rows)) / len(rows),
    )


def error_counts() -> Counter[tuple[str, str]]:
    return Counter((row["system"], label) for row in ROWS for label in row["human"]["sentence_error_types"])


def test_two_documents_a_domain_and_four_systems_a_document() -> None:
    expected = [(f"{domain}-{n}", domain, system) for domain in DOMAINS for n in (1, 2) for system in SYSTEMS]
    assert [(row["doc_id"], row["domain"], row["system"]) for row in ROWS] == expected  # hence no duplicates


@each_row
def test_a_row_has_the_fields_of_the_flat_format(row: Row) -> None:
    assert set(row) == FIELDS
    assert row["split"] == "demo"
    assert set(row["human"]) == {
        "sentence_labels",
        "sentence_error_types",
        "key_fact_labels",
        "alignment",
    }
    assert all(row[field].strip() == row[field] != "" for field in ("document", "summary", "reference"))


@each_row
def test_sizes_are_those_the_readme_promises(row: Row) -> None:
    assert 120 <= len(row["document"].split()) <= 300
    assert 2 <= len(row["sentences"]) <= 5
    assert 4 <= len(row["key_facts"]) <= 8
    assert len(set(row["key_facts"])) == len(row["key_facts"])
    assert "\n" not in row["summary"]


@each_row
def test_sentences_cover_the_summary_in_order(row: Row) -> None:
    position, gaps = 0, []
    for sentence in row["sentences"]:
        start = row["summary"].index(sentence, position)
        gaps.append(row["summary"][position:start])
        position = start + len(sentence)
    gaps.append(row["summary"][position:])
    assert "".join(gaps).strip() == ""


@each_row
def test_labels_match_what_they_label(row: Row) -> None:
    human = row["human"]
    count = len(row["sentences"])
    assert len(human["sentence_labels"]) == len(human["sentence_error_types"]) == count
    assert len(human["key_fact_labels"]) == len(human["alignment"]) == len(row["key_facts"])
    assert set(human["sentence_error_types"]) <= {SUPPORTED, *ERROR_TYPES}
    assert human["sentence_labels"] == [int(kind == SUPPORTED) for kind in human["sentence_error_types"]]
    assert human["key_fact_labels"] == [int(indexes != []) for indexes in human["alignment"]]
    for indexes in human["alignment"]:
        assert indexes == sorted(set(indexes))
        assert all(0 <= index < count for index in indexes)


@each_row
def test_a_meaningless_sentence_carries_no_key_fact(row: Row) -> None:
    carriers = {index for indexes in row["human"]["alignment"] for index in indexes}
    broken = {index for index, kind in enumerate(row["human"]["sentence_error_types"]) if kind == "grammatical error"}
    assert not carriers & broken


@pytest.mark.parametrize("field", ["document", "reference", "key_facts", "domain"])
def test_rows_of_a_document_share_its_text(field: str) -> None:
    values: dict[str, list[Any]] = {}
    for row in ROWS:
        values.setdefault(row["doc_id"], []).append(row[field])
    assert all(all(value == group[0] for value in group) for group in values.values())


@pytest.mark.parametrize("field", ["document", "summary", "reference"])
def test_no_text_is_used_for_two_different_things(field: str) -> None:
    expected = len(ROWS) if field == "summary" else len(DOMAINS) * 2
    assert len({row[field] for row in ROWS}) == expected


def test_a_system_has_one_category() -> None:
    assert {(row["system"], row["category"]) for row in ROWS} == {
        ("aster", "imaginary-large"),
        ("birch", "imaginary-large"),
        ("cedar", "imaginary-small"),
        ("dogwood", "imaginary-extractive"),
    }


def test_every_error_type_occurs_at_least_twice() -> None:
    counts = Counter(kind for row in ROWS for kind in row["human"]["sentence_error_types"])
    assert all(counts[kind] >= 2 for kind in ERROR_TYPES)


def test_some_key_fact_is_carried_by_two_sentences() -> None:
    assert any(len(indexes) == 2 for row in ROWS for indexes in row["human"]["alignment"])


def test_texts_hold_the_traps_of_real_life() -> None:
    everything = "\n".join(row["document"] + "\n" + row["summary"] for row in ROWS)
    for trap in ("Mr. ", "U.S. ", "3.5 ", "€", "é", "•", "\n- ", "i.e. ", " p.m.", "青石茶馆", "🎻", '."', "°C"):
        assert trap in everything, trap
    assert any("🎻" in row["summary"] for row in ROWS)  # offsets count code points, not UTF-16 units
    assert any("青" in row["summary"] for row in ROWS)


def test_systems_are_ordered_as_described() -> None:
    faithful, complete, concise = (
        dict(zip(SYSTEMS, values, strict=True))
        for values in zip(*(gold_means(system) for system in SYSTEMS), strict=True)
    )
    assert min(faithful, key=faithful.__getitem__) == "cedar"
    assert faithful["aster"] > max(faithful["birch"], faithful["dogwood"]) + 0.05
    assert complete["aster"] > complete["birch"] + 0.1
    assert complete["birch"] > complete["cedar"] + 0.2 > complete["dogwood"] + 0.4
    assert concise["aster"] == 1.0
    assert concise["birch"] < min(concise["cedar"], concise["dogwood"]) - 0.1


def test_readme_tables_state_what_the_data_holds() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for system in SYSTEMS:
        cells = " | ".join(f"{value:.3f}" for value in gold_means(system))
        sentences = sum(len(row["sentences"]) for row in ROWS if row["system"] == system)
        assert f"| {system} | {sentences} | {cells} |" in readme
    counts = error_counts()
    for kind in (SUPPORTED, *ERROR_TYPES):
        per_system = [counts[system, kind] for system in SYSTEMS]
        assert f"| {kind} | {' | '.join(map(str, per_system))} | {sum(per_system)} |" in readme
