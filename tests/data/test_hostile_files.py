"""Files that are small, but hold huge tables, and invalid settings."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from summeter.cli.main import main

HEADER = "doc_id,system,document,summary\n"


def code(*words: str) -> int:
    """Return the exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def sheet(path: Path, *cells: tuple[int, int]) -> None:
    """Write a sheet with a valid row, and an x in further cells."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in ([*HEADER.strip().split(",")], ["1", "a", "It rained.", "Rain."]):
        book.active.append(row)
    for row, column in cells:
        book.active.cell(row, column, "x")
    book.save(path)


def distant(path: Path) -> None:
    sheet(path, (1_048_576, 16_384))  # a row without a document


def wide(path: Path) -> None:
    sheet(path, *((row, 16_384) for row in range(3, 10)))


def false_dimensions(path: Path) -> None:
    sheet(path)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b'ref="A1:D2"', b'ref="A1:XFD1048576"'))


def one_text(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * 20_000_000]))
    pa.parquet.write_table(pa.table({"document": cells, "summary": cells}), path, compression="zstd")


def equal_values(path: Path) -> None:
    pa, count = pytest.importorskip("pyarrow"), 20_000_000
    values = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), pa.array(np.zeros(count, np.int8)))
    table = pa.table({"document": ["It rained."], "system": ["a"], "summary": ["Rain."], "more": values})
    pa.parquet.write_table(table, path, compression="zstd")


@pytest.mark.parametrize(
    ("make", "name", "expected"),
    [
        (distant, "a.xlsx", 2),
        (wide, "a.xlsx", 2),
        (false_dimensions, "a.xlsx", 0),
        (one_text, "a.parquet", 2),
        (equal_values, "a.parquet", 2),
    ],
)
def test_small_files_of_huge_tables(
    make: Callable[[Path], None], name: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("summeter.data.formats.MOST_CELLS", 100_000)
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 20_000
    assert code("data", "validate", str(tmp_path / name)) == expected


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


def test_one_message_for_a_file_in_windows_1252(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{number},a,caf\xe9 {number},na\xefve {number}\n" for number in range(40))
    (tmp_path / "w.csv").write_bytes((HEADER + "3,a,It rained.,Rain.\n" + rows).encode("cp1252"))
    assert code("data", "validate", str(tmp_path / "w.csv"), "--encoding", "utf-8") == 2
    (line,) = [line for line in "".join(capsys.readouterr()).splitlines() if ": " in line]
    assert "w.csv:3:" in line
    assert "--encoding" in line
    words = ["data", "import", str(tmp_path / "w.csv"), "-o", str(tmp_path / "out"), "--encoding", "UTF-8"]
    assert code(*words, "--on-fault", "skip") == 0
    assert len((tmp_path / "out" / "summaries.jsonl").read_text().splitlines()) == 1
