"""Reading of flat files: formats, and faults with their positions."""

from __future__ import annotations

import contextlib
import csv
import datetime
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from data.files import write
from growth import assert_proportional
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from summeter.data import formats
from summeter.data.dataset import load, save
from summeter.data.faults import Faults
from summeter.data.formats import file_name, format_of, parse_json, read_rows
from summeter.records import InputError, InstallError, UsageError

ROWS = [
    {"doc_id": "d1", "document": "Füße 🦶. 日本語。", "summary": "kurz"},
    {"doc_id": "d2", "document": "a\u2028b", "summary": ""},
]


class Line(NamedTuple):
    line: int
    cells: dict[str, Any]


def read(path: Path, kind: str | None = None) -> list[Line]:
    faults = Faults("F")
    rows = [Line(row.line, row.cells) for row in read_rows(path, faults, format_of(path, kind))]
    faults.stop()
    return rows


def faults_of(path: Path, kind: str | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(path, kind)
    return [str(fault) for fault in caught.value.faults]


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.parquet"])
def test_progress_of_reading(tmp_path: Path, name: str) -> None:
    path, counts = tmp_path / name, list[int]()
    if name == "a.parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": ["x"] * 1000}), path)
    else:
        text = "a,b\n" + "1,2\n" * 9000 if name == "a.csv" else '{"a": "It rained."}\n' * 9000
        put(path, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    faults = Faults("F")
    rows = list(read_rows(path, faults, format_of(path), on_read=counts.append))
    assert len(rows) >= 1000
    assert sum(counts) >= path.stat().st_size


def test_formats_by_name_and_suffix() -> None:
    assert [format_of("a.txt", "csv"), format_of("a.tsv.gz"), format_of("-")] == ["csv", "tsv", "jsonl"]
    for path, named in (("a.txt", None), ("a.txt", "xml")):
        with pytest.raises(UsageError, match=r"jsonl.*json.*csv.*tsv.*parquet.*xlsx"):
            format_of(path, named)


class TestJSONLines:
    def lines(self, rows: list[dict[str, Any]]) -> str:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def test_blank_lines_byte_order_marks_and_gzip(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", "\n" + self.lines(ROWS[:1]) + "  \n" + self.lines(ROWS[1:]))
        assert read(path) == [(2, ROWS[0]), (4, ROWS[1])]
        path = put(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + self.lines(ROWS).replace("\n", "\r\n").encode())
        assert [row.cells for row in read(path)] == ROWS
        path = put(tmp_path / "a.jsonl.gz", gzip.compress(self.lines(ROWS).encode()))
        assert [row.cells for row in read(path)] == ROWS
        assert faults_of(tmp_path / "b.jsonl") == ["F: no such file"]
        assert faults_of(tmp_path, "jsonl") == ["F: cannot be read: Is a directory"]

    @pytest.mark.parametrize("name", ["a.jsonl", "a.json", "rows"])
    @pytest.mark.parametrize("levels", [formats.DEEPEST, formats.DEEPEST + 1, 3000])
    def test_maximum_nesting(self, tmp_path: Path, name: str, levels: int) -> None:
        value: Any = []
        for _ in range(levels - 1):
            value = [value]
        data: Any = [{"document": "a", "summary": "b", "more": value}]
        if name != "rows":
            row = f'{{"document": "a", "summary": "b", "more": {"[" * levels + "]" * levels}}}'
            data = put(tmp_path / name, f"[{row}]" if name == "a.json" else row)
        if levels <= formats.DEEPEST:
            save(load(data), tmp_path / "folder")
            assert load(tmp_path / "folder").summaries == load(data).summaries
            return
        with pytest.raises(InputError, match="nested too deeply") as caught:
            load(data)
        assert len(caught.value.faults) == 1

    def test_a_well_packed_file_is_no_bomb(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(formats, "UNPACKED", 1 << 16)
        many = self.lines([{"n": n * 7919 % 100_003} for n in range(9_000)])  # 120 kB of text
        assert len(read(put(tmp_path / "b.jsonl.gz", gzip.compress(many.encode())))) == 9_000

    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", "x\n" * 3000)
        found = faults_of(path)
        assert len(found) == Faults.KEPT + 1
        assert found[-1] == "F: and 2000 more faults, not listed"

    def test_stdin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(self.lines(ROWS).encode())))
        assert [row.cells for row in read(Path("-"))] == ROWS
        assert file_name("-") == "<stdin>"


class TestJSON:
    def test_list_with_lines(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.json", json.dumps(ROWS, indent=1, ensure_ascii=False))
        rows = read(path)
        assert [row.cells for row in rows] == ROWS
        assert [row.line for row in rows] == [2, 7]  # "[", then five lines an object

    def test_rows_object(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.json", json.dumps({"schema": "x", "more": [1], "rows": ROWS}, indent=1))
        assert [row.cells for row in read(path)] == ROWS
        assert [row.cells for row in read(put(tmp_path / "b.json", json.dumps({"rows": ROWS})))] == ROWS
        for indent in (None, 1):
            text = json.dumps({"about": {"n": 1}, "samples": ROWS}, indent=indent)
            assert [row.cells for row in read(put(tmp_path / "c.json", text))] == ROWS

    def test_json_lines_with_suffix_json(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.json", "\n".join(json.dumps(row) for row in ROWS))
        assert read(path) == [(1, ROWS[0]), (2, ROWS[1])]
        assert read(put(tmp_path / "b.json", json.dumps(ROWS[0]))) == [(1, ROWS[0])]

    @together("text, lines, rows", [
            ('[{"a": 1},\n {"a" 2}]', [2], 1), ('[{"a": 1}\n {"a": 2}]', [2], 1), ('[{"a": 1},\n', [2], 1),
            ('[{"a": 1},\n]', [2], 1), ('[{"a": 1}]\nx', [2], 1), ('{"rows": [{}],\n"b": 2', [2], 1),
            ('{"rows": [{}]} 3', [1], 1), ('{"rows": [{}],\n"b": NaN}', [2], 1), ('[\n3]', [2], 0),
            ('[{"a": 1},\n{"a": NaN}]', [2], 1), ('"x"', [1], 0), ('', [1], 0), ('{"a": 1,\n"b": 2}', [1], 0),
            ('{"a" 1,\n"b": 2}', [1], 0), ('{\n"a": NaN}', [2], 0), ('[{"a": 1}\n 2', [2], 1), ('[{"a": 1}] x', [1], 1),
            ("[\n3, 12]", [2, 2], 0), ('[{"a": NaN, "b": [1, 2]},\n{"a": 1, "a": 2}]', [1, 2], 0),
            ('[{"a": NaN, "b": 1 2}]', [1], 0), ('[{"a": "open]', [1], 0), ('[{"a": tru}]', [1], 0), ("[1", [1, 1], 0),
            ("[", [1], 0), ("{", [1], 0), ('{"a', [1], 0), ('{"a": 1}}', [1, 1], 0), ('[{"a": 1},]', [1], 1),
            ("[" * 5000, [1], 0),
        ],
    )  # fmt: skip
    def test_line_of_invalid_json(self, tmp_path: Path, text: str, lines: list[int], rows: int) -> None:
        faults = Faults("F")
        assert len(list(read_rows(put(tmp_path / "a.json", text), faults, "json"))) == rows
        assert [fault.line for fault in faults.listed] == lines

    def test_objects_of_records(self, tmp_path: Path) -> None:
        records = {"k1": {"story": "a"}, "k2": {"story": "b"}}
        expected = [{"_id": "k1", "story": "a"}, {"_id": "k2", "story": "b"}]
        for indent in (None, 1):
            rows = read(put(tmp_path / "a.json", json.dumps(records, indent=indent)))
            assert [row.cells for row in rows] == expected
        assert [row.line for row in rows] == [2, 5]
        assert faults_of(put(tmp_path / "a.json", '{"k": {},\n"k": {}}')) == [
            "F:2: has the key 'k' twice in one object; keep one"
        ]

    def test_every_nonstandard_value_is_a_fault(self, tmp_path: Path) -> None:
        text = '{"rows": [{"a": NaN},\n{"b": 1},\n{"c": 1, "c": 2}],\n"rows": []}'
        found = faults_of(put(tmp_path / "a.json", text))
        assert [fault.partition(": ")[0] for fault in found] == ["F:1", "F:3", "F:4"]


class TestSheets:
    def test_cells(self, tmp_path: Path) -> None:
        day = datetime.date(2020, 1, 2)
        table = [
            [None],
            ["doc_id", "document", "summary", "day", None],
            [7, "It rained.", None, day],
            [],
            [8, "x", "y"],
        ]
        path = write(tmp_path / "a.xlsx", {"One": table})
        assert read(path) == [
            (3, {"doc_id": 7, "document": "It rained.", "summary": "", "day": "2020-01-02T00:00:00"}),
            (5, {"doc_id": 8, "document": "x", "summary": "y", "day": ""}),
        ]
        data = load(path)
        assert (list(data.documents), data.summaries[0].text) == (["7", "8"], "")

    def test_damaged_gzip(self, tmp_path: Path) -> None:
        faults = Faults("F")
        assert formats.sheets(put(tmp_path / "a.xlsx.gz", gzip.compress(b"x" * 100)[:20]), faults) == ()
        assert "is not a complete gzip file" in faults.listed[0].message

    def test_several_sheets(self, tmp_path: Path) -> None:
        path, faults = write(tmp_path / "a.xlsx", {"One": [["a"], [1]], "Two": [["b"], [2]]}), Faults("F")
        assert [row.cells for row in read_rows(path, faults, "xlsx")] == [{"a": 1}]
        assert [str(each) for each in faults.warnings] == ["F: has several sheets; 'One' is read, not 'Two'"]
        assert formats.sheets(path, faults) == ("One", "Two")
        assert [row.cells for row in read_rows(path, faults, "xlsx", sheet="Two")] == [{"b": 2}]


QUOTED = '\ufeffdocument,summary\r\n"say ""a"",\nthen b",x\r\nsecond,🙂\r\n'


@together("name, content, rows", [
        ("a.csv", QUOTED, [(2, {"document": 'say "a",\nthen b', "summary": "x"}),
                           (4, {"document": "second", "summary": "🙂"})]),
        ("a.tsv", "document\tsummary\na,b\tc\n", [(2, {"document": "a,b", "summary": "c"})]),
        ("a.csv", "a,b\n\n1,2\n\n", [(3, {"a": "1", "b": "2"})]),
        ("a.csv", "\n\na,b\n1,2\n", [(4, {"a": "1", "b": "2"})]),
        ("a.csv", "", []),
        ("a.csv", f"document\n{'x' * 300_000}\n", [(2, {"document": "x" * 300_000})]),
    ],
)  # fmt: skip
def test_tables(tmp_path: Path, name: str, content: str, rows: list[Line]) -> None:
    before = csv.field_size_limit()
    assert read(put(tmp_path / name, content)) == rows
    assert csv.field_size_limit() == before


class TestParquet:
    def test_rows(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        import datetime
        import decimal

        table = pa.table({
            "document": ["a", "b"], "key_facts": [["f"], None], "score": [1.5, float("nan")],
            "day": [datetime.date(2024, 1, 2), None], "price": [decimal.Decimal("1.50"), None],
            "human": [{"ratings": {"x": 1.0}}, {"ratings": {"x": None}}],
        })  # fmt: skip
        pq.write_table(table, tmp_path / "a.parquet")
        assert read(tmp_path / "a.parquet") == [
            (1, {"document": "a", "key_facts": ["f"], "score": 1.5, "day": "2024-01-02", "price": "1.50",
                    "human": {"ratings": {"x": 1.0}}}),
            (2, {"document": "b", "key_facts": None, "score": None, "day": None, "price": None,
                    "human": {"ratings": {"x": None}}}),
        ]  # fmt: skip

    def test_invalid_dates_are_faults(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        columns = {
            "day": pa.array([1, 2**31 - 1], pa.date32()), "at": pa.array([1, 10**13], pa.timestamp("s")),
            "nano": pa.array([1, 1_700_000_000_123_456_789], pa.timestamp("ns")),
        }  # fmt: skip
        pq.write_table(pa.table({"document": ["a", "b"], **columns}), tmp_path / "a.parquet")
        faults = faults_of(tmp_path / "a.parquet")
        assert [fault.partition(" (")[0] for fault in faults if "nano" not in fault] == [
            "F:2: day: cannot be read", "F:2: at: cannot be read"
        ]  # fmt: skip
        pq.write_table(pa.table({"nano": columns["nano"]}), tmp_path / "b.parquet")
        try:
            import pandas  # noqa: F401 - which reads nanoseconds
        except ImportError:
            assert faults_of(tmp_path / "b.parquet")[0].startswith("F:1: nano: cannot be read")
        else:
            assert read(tmp_path / "b.parquet")[1].cells == {"nano": "2023-11-14T22:13:20.123456789"}

    def test_not_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(InstallError) as caught:
            read(put(tmp_path / "a.parquet", b"PAR1"))
        assert str(caught.value) == "pyarrow is not installed; add it with: pip install 'summeter[parquet]'"


@pytest.mark.parametrize("name", ["keys.jsonl", "keys.json", "columns.csv"])
def test_time_is_linear_in_columns(tmp_path: Path, name: str) -> None:
    def put_one(count: int) -> Path:
        row = {"document": "a", "summary": "b", **{f"column {number}": "1" for number in range(count)}}
        table = f"{','.join(row)}\n{','.join(row.values())}\n"
        whole = {"rows": [{"document": "a", "summary": "b"}], **row}
        texts = {"keys.jsonl": json.dumps(row), "keys.json": json.dumps(whole, indent=0), "columns.csv": table}
        return put(tmp_path / f"{count}.{name}", texts[name])

    few, many = put_one(2_000), put_one(20_000)
    assert_proportional(lambda: load(few), lambda: load(many), times=10, quick=3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(JSON)
def test_parse_json_round_trip(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), JSON, max_size=3)))
def test_json_and_json_lines_agree(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("agree")
    lines = put(folder / "a.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    whole = put(folder / "a.json", json.dumps(rows, ensure_ascii=False, indent=2))
    assert [row.cells for row in read(lines)] == [row.cells for row in read(whole)] == rows


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2), max_size=4))
def test_csv_round_trip(rows: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("table") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    assert [list(row.cells.values()) for row in read(path)] == rows


@settings(max_examples=80, deadline=None)
@given(content=st.binary(max_size=60) | st.text(st.sampled_from('{}[]",:\n1a eNrows\\u'), max_size=40).map(str.encode))
def test_arbitrary_bytes_are_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for name in ("a.jsonl", "a.json", "a.csv", "a.tsv", "a.jsonl.gz"):
        with contextlib.suppress(InputError):
            assert all(isinstance(row.cells, dict) for row in read(put(folder / name, content)))
