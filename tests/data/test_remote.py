"""Data on remote storage are those of the same files here; what is not there, or not installed, is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data.test_shards import ROWS, assert_same

from summeter.data.atomic import write_lines
from summeter.data.dataset import ShardedDataset, load, save
from summeter.data.sharding import shard
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.records import InputError, InstallError, UsageError


@pytest.mark.parametrize(("address", "package"), [("s3://b/x.jsonl", "s3fs"), ("memory://x.jsonl", "fsspec")])
def test_without_the_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, address: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        InstallError, match=rf"{package} is not installed; add it with: pip install 'summeter\[remote\]'"
    ):
        load(address)


@pytest.mark.parametrize(("kind", "package"), [("gs", "gcsfs"), ("az", "adlfs")])
def test_other_clouds_name_their_package(monkeypatch: pytest.MonkeyPatch, kind: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InstallError, match=f"pip install fsspec {package}"):
        load(f"{kind}://bucket/rows.jsonl")


def test_an_unknown_kind_of_storage() -> None:
    with pytest.raises(
        UsageError, match=r"cannot read ftp://host/rows.jsonl: of remote storage there are s3://, gs://"
    ):
        load("ftp://host/rows.jsonl")


def test_nothing_else_is_written_there_nor_to_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal = r"cannot write s3://bucket/out: .* only data in shards go to remote storage"
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
        with pytest.raises(UsageError, match=r"memory://in/none holds no shards .* and its name says no format"):
            load("memory://in/none")

    def test_shards_are_written_read_and_judged_there(self, rows: str, storage: Any, tmp_path: Path) -> None:
        sharded = shard(rows, "memory://out/data", documents_per_shard=3)
        assert_same(sharded, load(ROWS))
        again = load("memory://out/data")
        assert isinstance(again, ShardedDataset)
        assert_same(again, load(ROWS))
        run = evaluate(again, ["abstractiveness"], out=tmp_path / "run")
        assert len(list(Run(run.folder).data.items())) == 7
        with pytest.raises(UsageError, match="already holds a dataset in shards"):
            shard(rows, "memory://out/data")
        assert len(shard(ROWS[:3], "memory://out/data", force=True)) == 3
        assert not storage.exists("/out/data/shard-00001")
        with pytest.raises(UsageError, match="exists and is not a dataset in shards"):
            shard(rows, "memory://in", force=True)

    def test_a_damaged_shard_is_named_by_its_address(self, rows: str, storage: Any, tmp_path: Path) -> None:
        shard(rows, "memory://out/data", documents_per_shard=3)
        storage.pipe_file("/out/data/shard-00001/documents.jsonl", b"{}\n")
        with pytest.raises(InputError, match=r"^memory://out/data/shard-00001: documents.jsonl: was .* shard 2 of 3"):
            list(load("memory://out/data").items())
        storage.rm("/out/data/shard-00001", recursive=True)
        with pytest.raises(InputError, match=r"memory://out/data/shard-00001: shard 2 of 3 is missing"):
            list(load("memory://out/data").items())
        with pytest.raises(InputError, match=r"memory://out/data/shard-00001: shard 2 of 3 is missing"):
            evaluate("memory://out/data", ["abstractiveness"], out=tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_the_list_comes_last(self, rows: str, storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        put = type(storage).pipe_file

        def failing(self: Any, path: str, value: bytes, **more: Any) -> None:
            if "shard-00002" in path:
                raise OSError("the network is gone")
            put(self, path, value, **more)

        monkeypatch.setattr(type(storage), "pipe_file", failing)
        with pytest.raises(InputError, match="the network is gone"):
            shard(rows, "memory://out/data", documents_per_shard=3)
        assert not storage.exists("/out/data/shards.json")
        monkeypatch.undo()
        with pytest.raises(UsageError, match="memory://out/data holds shards without their list"):
            shard(rows, "memory://out/data", documents_per_shard=3)
        assert_same(shard(rows, "memory://out/data", documents_per_shard=3, force=True), load(ROWS))
