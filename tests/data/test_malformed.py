"""Malformed files and rows: each is refused with exit code 2, by line and field, and nothing is written."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from together import together

from summeter.cli.main import main
from summeter.data import formats
from summeter.data.dataset import load
from summeter.records import InputError

ROW: dict[str, Any] = {"doc_id": "d", "document": "It rained all day.", "summary": "It rained. We stayed."}
LINE = json.dumps(ROW)
DEEP = "[" * 5000 + "]" * 5000


def row(**more: object) -> bytes:
    return json.dumps(ROW | more).encode()


def raw(more: str) -> bytes:
    """Return a row with further columns as JSON text."""
    return f"{LINE[:-1]}, {more}}}".encode()


def sheet(rows: list[list[object]]) -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    for cells in rows:
        book.active.append(cells)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def archive(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(name, content)
    return packed.getvalue()


WINDOWS = row(x="\xe9").replace(b"\\u00e9", b"\xc3\xa9") + b'\n{"x": "\xe9"}'
MANY = [b'{"a": 1', b'{"a": NaN}', b'{"b": {"c": 1, "c": 2}}', b"[1]", b'"x"', b'{"a": "\x81"}', b'{"a": 1e999}', b"x"]
PACKED = gzip.compress(LINE.encode() * 99)
FILES: list[tuple[str, bytes, int | None, str | None]] = [
    # Encodings
    ("a.jsonl", WINDOWS, 2, None),
    ("a.jsonl", LINE.encode("utf-16")[:-1], None, None),
    ("a.json", b'[\n{"document": "\x81"}]', 2, None),
    ("a.csv", b"document,summary\n1,\x81\n", 2, None),
    ("a.jsonl", raw('"x": "\\ud83d"'), 1, "x"),
    ("a.jsonl", raw('"\\ud83d": 1'), 1, "\\ud83d"),
    ("a.jsonl", b"\0" * 50, 1, None),
    ("a.jsonl", b"\x89PNG\0\0", 1, None),
    # Nesting
    ("a.jsonl", raw(f'"x": {DEEP}'), 1, None),
    ("a.json", b"[" + raw(f'"x": {DEEP}') + b"]", 1, None),
    ("a.jsonl", raw('"x": ' + '{"a":' * 5000 + "1" + "}" * 5000), 1, None),
    ("a.jsonl", raw(f'"x": {"[" * 101}{"]" * 101}'), 1, "x"),
    ("a.csv", f'document,summary,human\na,b,"{DEEP}"\n'.encode(), 2, "human"),
    # Numbers
    ("a.jsonl", raw('"x": 1e999'), 1, None),
    ("a.jsonl", raw(f'"x": {"9" * 5000}'), 1, None),
    ("a.jsonl", raw('"x": NaN'), 1, None),
    ("a.json", b"[" + raw('"x": -Infinity') + b"]", 1, None),
    # Columns and keys
    ("a.json", b'[{"document", "a"}]', 1, None),
    ("a.jsonl", b'{"document": "a", "document": "b", "summary": "c"}', 1, None),
    ("a.csv", b"document,summary,summary\na,b,c\n", 1, "summary"),
    ("a.xlsx", sheet([["document", "document"], ["a", "b"]]), 1, "document"),
    ("a.csv", b"document,summary\na\n", 2, None),
    ("a.csv", b"document,summary\na,b,c\n", 2, None),
    ("a.csv", b'document,summary\n"a,b\n', 2, None),
    ("a.jsonl", row() + b'\n{"article": "a", "summary": "b"}', 2, "document"),
    ("a.csv", b"article,text,summary\n1,2,3\n", None, "document"),
    ("a.csv", b"document,x\n1,2\n", None, "summary"),
    ("a.csv", b"document,summary,key_facts\na,b,\"['x']\"\n", 2, "key_facts"),
    # Not the format that the name says
    ("a.jsonl", LINE[:-3].encode(), 1, None),
    ("a.json", f"[{LINE},".encode(), 1, None),
    ("a.json", f"[{LINE},]".encode(), 1, None),
    ("a.json", b'"rows"', 1, None),
    ("a.json", b"<!DOCTYPE html><html></html>", 1, None),
    ("a.jsonl", b"", None, None),
    ("a.csv", b"document,summary\n", None, None),
    *((name, PACKED, None, None) for name in ("a.jsonl", "a.json", "a.csv", "a.tsv")),
    ("a.jsonl.gz", LINE.encode(), None, None),
    ("a.jsonl.gz", PACKED[:-20], None, None),
    ("a.parquet", b"PAR1 and then nothing", None, None),
    ("a.xlsx", b"PK and then nothing", None, None),
    ("a.xlsx", archive("readme.txt", b"x"), None, None),
]


def positions(data: Any) -> list[tuple[int | None, str | None]]:
    with pytest.raises(InputError) as caught:
        load(data)
    assert caught.value.exit_code == 2
    str(caught.value).encode()
    return [(fault.line, fault.field) for fault in caught.value.faults]


@together("file, content, line, field", FILES)
def test_malformed_file(tmp_path: Path, file: str, content: bytes, line: int | None, field: str | None) -> None:
    (tmp_path / file).write_bytes(content)
    assert positions(tmp_path / file) == [(line, field)]


def test_every_fault_is_found_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([LINE.encode(), *MANY, row(system="../../etc/passwd", summary=None)]))
    assert positions(path) == [*((line, None) for line in range(2, 10)), (10, "summary")]
    for arguments in ([], ["--map", "document=artcle"], ["--encoding", "klingon"]):
        with pytest.raises(SystemExit) as ended:
            main(["data", "import", str(path), "-o", str(tmp_path / "data"), *arguments])
        assert ended.value.code == 2
        printed = capsys.readouterr().err
        assert "summeter: " in printed
        assert "Traceback" not in printed
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


SPAN = {"start": 0, "end": 1, "label": 0}
FACTS = ["It rained.", "They stayed in.", "It was cold."]
SCORED = {"judge": "a", "signature": "x|v:1", "value": 1}
CELLS: list[tuple[dict[str, Any], str]] = [
    ({"summary": None}, "summary"),
    ({"document": 5}, "document"),
    ({"doc_id": ["x"]}, "doc_id"),
    ({"doc_id": 1.5}, "doc_id"),
    ({"system": True}, "system"),
    ({"system": ""}, "system"),
    ({"domain": {}}, "domain"),
    ({"reference": ["a"]}, "reference"),
    ({"reference": "a", "references": ["b"]}, "reference"),
    ({"references": "a"}, "references"),
    ({"references": [None]}, "references[0]"),
    ({"key_facts": ["a", None]}, "key_facts[1]"),
    ({"key_facts": ["a", " "]}, "key_facts[1]"),
    ({"sentences": []}, "sentences"),
    ({"sentences": ["It rained.", "It snowed."]}, "sentences"),
    ({"note": float("nan")}, "note"),
    ({"note": {1, 2}}, "note"),
    ({"summary": "a\ud83d"}, "summary"),
    # Sources
    ({"document": []}, "document"),
    ({"document": ["x"]}, "document[0]"),
    ({"document": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "document[1].id"),
    ({"document": [{"id": "a", "text": " "}]}, "document[0].text"),
    ({"document": [{"id": "a", "text": None}]}, "document[0].text"),
    ({"document": [{"id": "", "text": "x"}]}, "document[0].id"),
    ({"document": [{"text": "x"}]}, "document[0].id"),
    ({"document": [{"id": "a", "title": 3, "text": "x"}]}, "document[0].title"),
    ({"document": [{"id": "a", "text": "x", "titel": "A"}]}, "document[0].titel"),
    # Judgments
    *(
        ({"human": human, "key_facts": FACTS}, field)
        for human, field in (
            ("x", "human"),
            ([1], "human"),
            ({"rating": {}}, "human.rating"),
            ({"../../x": 1}, "human.../../x"),
            ({"ratings": [1]}, "human.ratings"),
            ({"ratings": {"x": "4"}}, "human.ratings.x"),
            ({"ratings": {"x": {"a": True}}}, "human.ratings.x.a"),
            ({"ratings": {"x": {"": 1}}}, "human.ratings.x"),
            ({"overall": {"x": 10**400}}, "human.overall.x"),
            ({"sentence_labels": 1}, "human.sentence_labels"),
            ({"sentence_labels": [1]}, "human.sentence_labels"),
            ({"sentence_labels": [1, 0.5]}, "human.sentence_labels[1]"),
            ({"sentence_labels": [1, {"a": ""}]}, "human.sentence_labels[1].a"),
            ({"sentence_error_types": [0, None]}, "human.sentence_error_types[0]"),
            ({"sentence_error_types": [["who+what"], None]}, "human.sentence_error_types[0]"),
            ({"sentence_labels": [["who+what"], 1]}, "human.sentence_labels[0]"),
            ({"sentence_labels": ["EntE", 1], "sentence_error_types": ["OutE", None]}, "human.sentence_error_types[0]"),
            *(({"sentence_labels": [text, 1]}, "human.sentence_labels[0]") for text in ("1", " 0.0", "Yes", "FALSE")),
            ({"sentence_labels": [["supported"], 1]}, "human.sentence_labels[0]"),
            ({"conciseness_labels": [1]}, "human.conciseness_labels"),
            ({"conciseness_labels": [1, {"a": "EntE"}]}, "human.conciseness_labels[1].a"),
            ({"key_fact_labels": [1, 0]}, "human.key_fact_labels"),
            ({"key_fact_labels": [1, 0, 2]}, "human.key_fact_labels[2]"),
            ({"alignment": [[], [], 0]}, "human.alignment[2]"),
            ({"alignment": [[2], [], []]}, "human.alignment[0]"),
            ({"alignment": [[0, 0], [], []]}, "human.alignment[0]"),
            ({"span_annotators": [3]}, "human.span_annotators[0]"),
            ({"judgments": [4]}, "human.judgments[0]"),
            ({"judgments": [{"set": "a b"}]}, "human.judgments[0]"),
            ({"judgments": [SCORED]}, "human.judgments[0]"),
            ({"spans": ["x"]}, "human.spans[0]"),
            *(({"spans": [SPAN | {"end": end}]}, "human.spans[0]") for end in (22, 0, 10**30)),
            ({"spans": [SPAN | {"start": -5}]}, "human.spans[0]"),
            ({"spans": [{"start": 0, "label": 0}]}, "human.spans[0]"),
            ({"spans": [{"start": 0, "end": 1}]}, "human.spans[0].label"),
            ({"spans": [SPAN | {"label": ["who+what"]}]}, "human.spans[0].label"),
            ({"spans": [SPAN | {"label": "1"}]}, "human.spans[0].label"),
            ({"spans": [SPAN | {"annotator": 3}]}, "human.spans[0].annotator"),
            ({"spans": [SPAN | {"labl": 0}]}, "human.spans[0].labl"),
            ({"spans": [SPAN | {"text": "We"}]}, "human.spans[0]"),
        )
    ),
]


@together("change, field", CELLS)
def test_wrong_cells(change: dict[str, Any], field: str) -> None:
    assert positions([ROW | change]) == [(1, field)]


def test_all_wrong_cells_of_a_block_are_found() -> None:
    human = {"ratings": {"x": "a", "y": "b"}, "sentence_labels": [1], "spans": 3}
    assert len(positions([ROW | {"human": human}])) == 4


def _bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * (64 << 20), 1))


def _line(path: Path) -> None:
    path.write_bytes(b'{"document": "' + b"x" * (8 << 20))


def _cell(path: Path) -> None:
    path.write_bytes(b'document,summary\n"' + b"It rained.\n" * (1 << 18))


def _workbook(path: Path) -> None:
    path.write_bytes(archive("xl/worksheets/sheet1.xml", b" " * (64 << 20)))


@together(
    "make, file, line",
    [
        (_bomb, "a.jsonl.gz", 1),
        (_bomb, "a.json.gz", None),
        (_bomb, "a.csv.gz", 1),
        (_line, "a.jsonl", 1),
        (_cell, "a.csv", 95327),
        (_workbook, "a.xlsx", None),
    ],
)
def test_decompression_bombs(
    make: Any, file: str, line: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "UNPACKED", 1 << 20)
    monkeypatch.setattr(formats, "LONGEST_LINE", 1 << 20)
    make(tmp_path / file)
    tracemalloc.start()
    assert positions(tmp_path / file) == [(line, None)]
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()


def test_names_that_look_like_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(row(doc_id="../../x", system="/etc/passwd") + b"\n")
    with pytest.raises(SystemExit) as ended:
        main(["data", "import", str(path), "-o", str(tmp_path / "in" / "data")])
    assert ended.value.code == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "in"]
