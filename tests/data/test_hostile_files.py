"""Decompression bombs, malformed sheets and invalid settings."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from summeter.cli.main import main

HEADER = "doc_id,system,document,summary\n"


def code(*words: str) -> int:
    """Return the exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def test_sheet_with_a_distant_cell(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([*HEADER.strip().split(",")], ["1", "a", "It rained.", "Rain."]):
        book.active.append(row)
    book.active["XFD1048576"] = "x"
    book.save(tmp_path / "far.xlsx")
    assert code("data", "validate", str(tmp_path / "far.xlsx")) == 2  # the cell is a row without a document


def test_a_sheet_of_empty_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.setattr("summeter.data.formats.MOST_CELLS", 100_000)
    book = openpyxl.Workbook()
    book.active.append(["doc_id"])
    for row in range(2, 10):
        book.active.cell(row, 16_384, "x")
    book.save(tmp_path / "wide.xlsx")
    assert code("data", "validate", str(tmp_path / "wide.xlsx")) == 2


def test_sheet_with_false_dimensions(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([*HEADER.strip().split(",")], ["1", "a", "It rained.", "Rain."]):
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(tmp_path / "lies.xlsx", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b'ref="A1:D2"', b'ref="A1:XFD1048576"'))
    assert code("data", "validate", str(tmp_path / "lies.xlsx")) == 0


def test_parquet_bomb_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    text, count = "x" * 20_000_000, 100
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"document": cells, "summary": cells}), tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 20_000
    assert code("data", "validate", str(tmp_path / "bomb.parquet")) == 2


def test_a_parquet_list_of_many_equal_values_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import numpy as np
    import pyarrow.parquet as pq

    count = 20_000_000
    values = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), pa.array(np.zeros(count, np.int8)))
    table = pa.table({"document": ["It rained."], "system": ["a"], "summary": ["Rain."], "more": values})
    pq.write_table(table, tmp_path / "list.parquet", compression="zstd")
    assert (tmp_path / "list.parquet").stat().st_size < 5_000
    assert code("data", "validate", str(tmp_path / "list.parquet")) == 2


def aliases() -> str:
    """Return nine levels of nine aliases each: 400 million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [aliases(), "a: &a [*a]", "sources: " + "[" * 1000, "sources:\n  published: 2026-02-30", "seed: !!int x"],
    ids=["many aliases", "an alias of itself", "nested", "no such date", "no number"],
)
def test_invalid_settings(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    for command in (["bench", "run"], ["annotate", "new"], ["train"]):
        assert code(*command, str(tmp_path / "settings.yaml"), "-o", str(tmp_path / "out")) == 2
    assert not (tmp_path / "out").exists()


class TestOneMessagePerCause:
    def faults(self, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
        assert code(*words) == 2
        printed = capsys.readouterr()
        return [line for line in (printed.out + printed.err).splitlines() if ": " in line]

    def test_a_file_in_windows_1252(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rows = "".join(f"{number},a,caf\xe9 {number},na\xefve {number}\n" for number in range(40))
        (tmp_path / "w.csv").write_bytes((HEADER + rows).encode("cp1252"))
        (line,) = self.faults(capsys, "data", "validate", str(tmp_path / "w.csv"), "--encoding", "utf-8")
        assert "w.csv:2:" in line
        assert "--encoding" in line

    def test_one_bad_row_can_still_be_dropped(self, tmp_path: Path) -> None:
        rows = ["1,a,It rained.,Rain.\n", "2,a,caf\xe9,x\n", "3,a,It rained.,Rain.\n"]
        (tmp_path / "w.csv").write_bytes((HEADER + "".join(rows)).encode("cp1252"))
        words = [
            "data",
            "import",
            str(tmp_path / "w.csv"),
            "-o",
            str(tmp_path / "out"),
            "--on-fault",
            "skip",
            "--encoding",
            "UTF-8",
        ]
        assert code(*words) == 0
        assert len((tmp_path / "out" / "summaries.jsonl").read_text().splitlines()) == 2

    def test_invalid_map_is_reported_first(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rows = "".join(f'{{"article": "It rained {number}.", "summary": "Rain."}}\n' for number in range(2000))
        (tmp_path / "m.jsonl").write_text(rows)
        lines = self.faults(capsys, "data", "validate", str(tmp_path / "m.jsonl"), "--map", "document=artcle")
        assert "artcle" in lines[0]
        assert "article" in lines[0]
