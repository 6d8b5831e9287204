"""Data on remote storage equal those of local files; errors of missing files and packages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data.test_large import ROWS

from summeter.data.atomic import write_lines
from summeter.data.dataset import load, save
from summeter.engine.api import evaluate
from summeter.records import InputError, InstallError, UsageError


@pytest.mark.parametrize(("address", "package"), [("s3://b/x.jsonl", "s3fs"), ("memory://x.jsonl", "fsspec")])
def test_missing_package(monkeypatch: pytest.MonkeyPatch, address: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        InstallError, match=rf"{package} is not installed; add it with: pip install 'summeter\[remote\]'"
    ):
        load(address)


@pytest.mark.parametrize(("kind", "package"), [("gs", "gcsfs"), ("az", "adlfs")])
def test_missing_package_of_other_storage(monkeypatch: pytest.MonkeyPatch, kind: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InstallError, match=f"pip install fsspec {package}"):
        load(f"{kind}://bucket/rows.jsonl")


def test_an_unknown_kind_of_storage() -> None:
    with pytest.raises(
        UsageError, match=r"cannot read ftp://host/rows.jsonl: supported remote storage is s3://, gs://"
    ):
        load("ftp://host/rows.jsonl")


def test_output_to_remote_storage_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refusal = r"cannot write s3://bucket/out: .* written to local folders"
    for folder in ("s3://bucket/out", Path("s3://bucket/out")):
        with pytest.raises(UsageError, match=refusal):
            evaluate(ROWS, ["abstractiveness"], out=folder)
        with pytest.raises(UsageError, match=refusal):
            save(load(ROWS), folder)
        with pytest.raises(UsageError, match=refusal):
            write_lines(folder, ["a"])
    assert not list(tmp_path.iterdir())


class TestMemory:
    @pytest.fixture(autouse=True)
    def storage(self) -> Iterator[Any]:
        system = pytest.importorskip("fsspec").filesystem("memory")
        yield system
        system.rm("/", recursive=True)

    @pytest.fixture
    def rows(self, storage: Any) -> str:
        storage.pipe_file("/in/rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS).encode())
        return "memory://in/rows.jsonl"

    def test_a_flat_file(self, rows: str) -> None:
        loaded = load(rows)
        assert loaded.hash == load(ROWS).hash
        assert loaded.card.name == "rows"
        with pytest.raises(InputError, match=r"memory://in/none.jsonl: no such file"):
            load("memory://in/none.jsonl")
        with pytest.raises(UsageError, match=r"memory://in/none contains no flat files, and its name has no"):
            load("memory://in/none")

    def test_a_folder_and_a_pattern(self, storage: Any, tmp_path: Path) -> None:
        for system in ("ash", "birch", "cedar"):
            rows = "".join(json.dumps(row) + "\n" for row in ROWS if row["system"] == system)
            storage.pipe_file(f"/parts/{system}.jsonl", rows.encode())
        storage.pipe_file("/parts/README.txt", b"Nothing.")
        for address in ("memory://parts", "memory://parts/*.jsonl"):
            assert load(address).hash == load(ROWS).hash
            assert load(address).card.name == "parts"
        run = evaluate("memory://parts", ["abstractiveness"], out=tmp_path / "run")
        assert len(list(run.data.items())) == 7
        storage.pipe_file("/parts/birch.jsonl", b'{"document": "x"}\n')
        with pytest.raises(InputError, match=r"^memory://parts/birch.jsonl:1: summary"):
            load("memory://parts")
        storage.pipe_file("/set/dataset.json", b"{}")
        with pytest.raises(UsageError, match="copy it here first"):
            load("memory://set")
