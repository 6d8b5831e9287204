"""The result store, against damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from summeter.runs.results import ResultStore


def test_a_changed_result_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "results.sqlite"
    with ResultStore(path) as store:
        store.put("m", {b"k": b"1", b"l": b"2"})
        store.write(lambda connection: connection.execute("UPDATE results SET value = ? WHERE key = ?", (b"3", b"k")))
        assert store.get([b"k", b"l"]) == {b"l": b"2"}
        assert "is damaged" in caplog.text
        store.put("m", {b"k": b"1"})
        assert store.get([b"k"]) == {b"k": b"1"}
