"""Atomic writing of files and folders."""

from __future__ import annotations

import gzip
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from summeter.data.atomic import building, sweep, write_lines, write_text


def broken() -> Iterator[str]:
    yield "first"
    raise RuntimeError("the disk is full")


def test_text_replaces(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "one\r\n")
    write_text(path, "zwei 🙂\n")
    assert path.read_bytes() == "zwei 🙂\n".encode()
    assert [one.name for one in path.parent.iterdir()] == ["a.txt"]


def test_lines_and_count(tmp_path: Path) -> None:
    assert write_lines(tmp_path / "a", ["x", "y\u2028z"]) == 2
    assert (tmp_path / "a").read_text(encoding="utf-8") == "x\ny\u2028z\n"


def test_gzip_is_reproducible(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.gz", ["x"])
    write_lines(tmp_path / "b.gz", ["x"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"x\n"


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(RuntimeError, match="full"):
        write_lines(path, broken())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    (tmp_path / "link").symlink_to(real)
    write_text(tmp_path / "link", "new")
    assert real.read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_devices_are_written_to() -> None:
    write_text(os.devnull, "gone")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("before", [[], ["old"]])
def test_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, before: list[str]) -> None:
    target = tmp_path / "deep" / "set"
    for name in before:
        write_text(target / name, "x")

    def build(*, fails: bool) -> None:
        with building(target) as fresh:
            (fresh / "new").write_text("y")
            assert [one.name for one in target.glob("*")] == before
            if fails:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        build(fails=True)
    assert [one.name for one in target.glob("*")] == before
    build(fails=False)
    assert [one.name for one in target.iterdir()] == ["new"]
    assert list(target.parent.iterdir()) == [target]


def test_a_failed_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "set"
    target.mkdir()
    (target / "old").write_text("x")
    rename = Path.rename

    def refuse(self: Path, to: Path) -> Path:
        if self.name.endswith(".new"):
            raise PermissionError("no")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError), building(target) as fresh:
        (fresh / "new").write_text("y")
    assert [one.name for one in target.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no /dev/fd here")
def test_pipe_by_file_descriptor_is_written() -> None:
    """Like /dev/stdout, the path is a link whose target has no path."""
    reading, writing = os.pipe()
    try:
        assert write_lines(f"/dev/fd/{writing}", ["one", "two"]) == 2
        assert os.read(reading, 100) == b"one\ntwo\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_folder_is_restored_after_a_kill_during_replacement(tmp_path: Path) -> None:
    """A kill between the two renames of a replacement leaves the old folder under another name."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name, there in (("a", False), ("b", True)):
        (tmp_path / f".{name}.{gone.pid}-0123abcd.old").mkdir()
        (tmp_path / f".{name}.{gone.pid}-0123abcd.old" / "old").touch()
        if there:
            (tmp_path / name).mkdir()
    sweep(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["a", "a/old", "b"]
