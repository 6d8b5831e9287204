"""Sixty malformed files: each causes a helpful message and exit code 2, and nothing is written."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from summeter.cli.main import main
from summeter.data import formats

ROW = {"document": "It rained.", "summary": "Rain."}
LINE = json.dumps(ROW)
DEEP = "[" * 5000 + "]" * 5000


def row(**more: object) -> bytes:
    return json.dumps(ROW | more).encode()


def raw(more: str) -> bytes:
    """Return a row with further columns as JSON text."""
    return f"{LINE[:-1]}, {more}}}".encode()


def sheet(rows: list[list[object]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
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


FILES: dict[str, tuple[str, bytes, str]] = {
    # Encodings
    "UTF-8 and Windows-1252": (
        "a.jsonl",
        row(x="\xe9").replace(b"\\u00e9", b"\xc3\xa9") + b'\n{"x": "\xe9"}',
        "2: is not UTF",
    ),
    "half of UTF-16": ("a.jsonl", LINE.encode("utf-16")[:-1], "is not UTF-16: truncated data; give another --encoding"),
    "no text in the middle": ("a.json", b'[\n{"document": "\x81"}]', "2: is not UTF-8: byte 0x81 at byte 15"),
    "half a surrogate": ("a.jsonl", raw('"x": "\\ud83d"'), "x: contains half a surrogate pair (U+D83D)"),
    "half a surrogate as a name": ("a.jsonl", raw('"\\ud83d": 1'), "contains half a surrogate pair"),
    "zero bytes": ("a.jsonl", b"\0" * 50, "1: is not JSON"),
    "a picture": ("a.jsonl", b"\x89PNG\r\n\x1a\n\0\0", "1: is not UTF-8: byte 0x89 at byte 1 of the line"),
    # Nesting
    "deep lists": ("a.jsonl", raw(f'"x": {DEEP}'), "nested too deeply"),
    "deep lists in JSON": ("a.json", b"[" + raw(f'"x": {DEEP}') + b"]", "nested too deeply"),
    "deep objects": ("a.jsonl", raw('"x": ' + '{"a":' * 5000 + "1" + "}" * 5000), "nested too deeply"),
    "a little too deep": ("a.jsonl", raw(f'"x": {"[" * 101}{"]" * 101}'), "x: is nested too deeply; use at most 100"),
    "deep text in a table": (
        "a.csv",
        f'document,summary,human\na,b,"{DEEP}"\n'.encode(),
        "human: is nested too deeply",
    ),
    # Numbers
    "a number beyond a double": ("a.jsonl", raw('"x": 1e999'), "contains the number 1e999, which is out of range"),
    "a number of 5,000 digits": ("a.jsonl", raw(f'"x": {"9" * 5000}'), "an integer with thousands of digits"),
    "NaN": ("a.jsonl", raw('"x": NaN'), "contains NaN, which is not JSON; write null"),
    "Infinity": ("a.json", b"[" + raw('"x": -Infinity') + b"]", "contains -Infinity, which is not JSON"),
    "a huge rating": ("a.jsonl", raw(f'"human": {{"overall": {{"x": {"9" * 400}}}}}'), "human.overall.x: is"),
    "a label of 2": ("a.jsonl", row(human={"sentence_labels": [2]}), "human.sentence_labels[0]: is the number 2"),
    "a span past the end": (
        "a.jsonl",
        row(human={"spans": [{"start": 0, "end": 10**30, "label": 0}]}),
        "runs from 0 to 1000",
    ),
    "a span before the start": (
        "a.jsonl",
        row(human={"spans": [{"start": -5, "end": 2, "label": 0}]}),
        "runs from -5 to 2",
    ),
    # Columns and keys
    "two references that differ": ("a.jsonl", row(reference="a", references=["b"]), "is not among `references`"),
    "a comma for a colon": ("a.json", b'[{"document", "a"}]', "1: is not JSON: Expecting ':' delimiter"),
    "a key twice": ("a.jsonl", b'{"document": "a", "document": "b", "summary": "c"}', "has the key 'document' twice"),
    "a column twice": ("a.csv", b"document,summary,summary\na,b,c\n", "summary: is the name of two columns"),
    "a sheet's column twice": ("a.xlsx", sheet([["document", "document"], ["a", "b"]]), "is the name of two columns"),
    "too few cells": ("a.csv", b"document,summary\na\n", "2: has 1 cells, but the header has 2"),
    "too many cells": ("a.csv", b"document,summary\na,b,c\n", "2: has 3 cells, but the header has 2; quote cells"),
    "an open quotation mark": ("a.csv", b'document,summary\n"a,b\n', "is not a valid table: unexpected end"),
    "no document": (
        "a.jsonl",
        b'{"document": "a", "summary": "b"}\n{"article": "a", "summary": "b"}',
        "if it is in the column 'article', give --map document=article",
    ),
    "two documents": ("a.csv", b"article,text,summary\n1,2,3\n", "give --map document=article or --map document=text"),
    "no columns that fit": ("a.csv", b"x,y\n1,2\n", "document: is missing; name its column with --map document=COLUMN"),
    # Dates, lists as text, wrong types
    "a date as a label": ("a.jsonl", row(human={"sentence_labels": ["2020-01-01"] * 2}), "has 2 cells for 1 sentence"),
    "a date as a rating": (
        "a.jsonl",
        row(human={"ratings": {"fluency": "2020-01-01"}}),
        "human.ratings.fluency: is a string; give a number",
    ),
    "a list as text": ("a.jsonl", row(key_facts="['a', 'b']"), "key_facts: is a string; give a list of strings"),
    "Python's list in a table": ("a.csv", b"document,summary,key_facts\na,b,\"['x']\"\n", "key_facts: is not JSON"),
    "human as a list": ("a.jsonl", row(human=[1]), "human: is a list; give an object of human judgments"),
    "a number as a document": ("a.jsonl", row(document=5), "document: is the number 5; give a string"),
    "true as a system": ("a.jsonl", row(system=True), "system: is true; give a string"),
    "null as a summary": ("a.jsonl", row(summary=None), "summary: is null; give a string (it may be empty)"),
    "a list of nulls": ("a.jsonl", row(references=[None]), "references[0]: is null; give a string"),
    "sentences of another text": ("a.jsonl", row(sentences=["Snow."]), "does not occur in the text"),
    "an annotator without a name": (
        "a.jsonl",
        row(human={"overall": {"x": {" ": 1}}}),
        "has an annotator without a name",
    ),
    # Not the format that the name says
    "a list in JSON Lines": ("a.jsonl", b"[1, 2]\n", "1: is a list, not an object; each line is one JSON object"),
    "a cut line": ("a.jsonl", LINE[:-3].encode(), "1: is not JSON: Unterminated string"),
    "a cut list": ("a.json", f"[{LINE},".encode(), "1: is not JSON: Expecting value"),
    "a comma too many": ("a.json", f"[{LINE},]".encode(), "1: is not JSON"),
    "a text in .json": ("a.json", b'"rows"', "is neither a list of rows nor an object"),
    "HTML": ("a.json", b"<!DOCTYPE html><html></html>", "is neither a list of rows nor an object"),
    "an empty file": ("a.jsonl", b"", "contains no rows; give one row per summary"),
    "an empty table": ("a.csv", b"document,summary\n", "contains no rows; give one row per summary"),
    "gzip without its suffix": ("a.jsonl", gzip.compress(LINE.encode()), "looks like gzip; name it .gz"),
    "no gzip": ("a.jsonl.gz", LINE.encode(), "is not a complete gzip file"),
    "half a gzip": ("a.jsonl.gz", gzip.compress(LINE.encode() * 99)[:-20], "is not a complete gzip file"),
    "no Parquet": ("a.parquet", b"PAR1 and then nothing", "is not a valid Parquet file"),
    "no XLSX": ("a.xlsx", b"PK and then nothing", "is not a valid XLSX file"),
    "another zip": ("a.xlsx", archive("readme.txt", b"x"), "is not a valid XLSX file"),
    "of no known format": ("a.docx", b"x", "cannot tell the format of"),
    # Names that are paths
    "a system named as a path": ("a.jsonl", row(system="../../etc/passwd", summary=None), "summary: is null"),
    "a set named as a path": ("a.jsonl", row(human={"../../x": 1}), "human.../../x: is not known; fields:"),
}


@pytest.mark.parametrize("name", FILES)
def test_malformed_file_is_reported_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, content, message = FILES[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main(["data", "import", str(path), "-o", str(tmp_path / "data")])
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert message in printed.err
    assert "\nsummeter: " in f"\n{printed.err}"
    assert "Traceback" not in printed.err
    assert [each.name for each in tmp_path.iterdir()] == [file]


def _bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * (64 << 20), 1))


def _line(path: Path) -> None:
    path.write_bytes(b'{"document": "' + b"x" * (8 << 20))


def _cell(path: Path) -> None:
    path.write_bytes(b'document,summary\n"' + b"It rained.\n" * (1 << 20))


def _workbook(path: Path) -> None:
    path.write_bytes(archive("xl/worksheets/sheet1.xml", b" " * (64 << 20)))


@pytest.mark.parametrize(
    ("make", "file", "message"),
    [
        (_bomb, "a.jsonl.gz", "a.jsonl.gz:1: is longer than 1 MiB"),
        (_bomb, "a.json.gz", "unpacks to over 1 MiB and 200 times its size, which no text does"),
        (_bomb, "a.csv.gz", "is longer than 1 MiB"),
        (_line, "a.jsonl", "a.jsonl:1: is longer than 1 MiB; a line break may be missing"),
        (_cell, "a.csv", "is not a valid table: field larger than field limit"),
        (_workbook, "a.xlsx", "unpacks to over 1 MiB and 200 times its size"),
    ],
)  # fmt: skip
def test_decompression_bombs(
    make: Callable[[Path], None],
    file: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(formats, "UNPACKED", 1 << 20)
    monkeypatch.setattr(formats, "LONGEST_LINE", 1 << 20)
    make(tmp_path / file)
    tracemalloc.start()
    with pytest.raises(SystemExit) as ended:
        main(["data", "import", str(tmp_path / file), "-o", str(tmp_path / "data")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ended.value.code, (tmp_path / "data").exists()) == (2, False)
    assert message in capsys.readouterr().err
    assert peak < 24 << 20


def test_names_that_look_like_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(row(doc_id="../../x", system="/etc/passwd") + b"\n")
    with pytest.raises(SystemExit) as ended:
        main(["data", "import", str(path), "-o", str(tmp_path / "in" / "data")])
    assert ended.value.code == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "in"]
