"""Documents in separate files: contradictory, repeated and missing files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data.files import write

from summeter.data.dataset import load
from summeter.records import InputError

ROW = {"doc_id": "d1", "system": "a", "summary": "Rain."}


def put(path: Path, *rows: dict[str, Any]) -> Path:
    return write(path, rows)


def faults(rows: Path, *documents: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(rows, documents=documents)
    return [str(fault).replace(f"{rows.parent}/", "") for fault in caught.value.faults]


def test_contradictory_documents_are_reported_with_both_files(tmp_path: Path) -> None:
    rows = put(tmp_path / "rows.jsonl", ROW)
    one = put(tmp_path / "a.jsonl", {"id": "d1", "text": "It rained."})
    two = put(tmp_path / "b.jsonl", {"id": "x", "text": "Snow."}, {"id": "d1", "text": "It snowed."})
    assert faults(rows, one, two) == ["b.jsonl:2: id: 'd1' has a different text in a.jsonl, line 1; keep one"]
    folder = write(tmp_path / "texts" / "cnn" / "d1.txt", "It rained.").parent.parent
    write(folder / "mail" / "d1.txt", "It poured.")
    write(folder / "mail" / "unasked.txt", "x")
    write(folder / "cnn" / "unasked.txt", "y")
    assert faults(rows, folder) == ["texts/mail/d1.txt: 'd1' has a different text in texts/cnn/d1.txt; keep one"]
    (folder / "mail" / "d1.txt").write_text("It rained.\n")
    assert load(rows, documents=[folder, folder, one]).documents["d1"].text == "It rained."
    assert faults(rows, two, folder) == [
        f"texts/{place}/d1.txt: 'd1' has a different text in b.jsonl, line 2; keep one" for place in ("cnn", "mail")
    ]


def test_document_of_a_row_takes_precedence_with_a_warning(tmp_path: Path) -> None:
    own = [ROW | {"system": system, "document": "It snowed."} for system in "abc"]
    rows = put(tmp_path / "rows.jsonl", *own, ROW | {"doc_id": "d2", "document": "It rained. "})
    documents = put(tmp_path / "a.jsonl", *({"id": name, "text": "It rained."} for name in ("d1", "d2")))
    data = load(rows, documents=documents)
    assert data.documents["d1"].text == "It snowed."
    (warning,) = [warning for warning in data.warnings if "differs from" in warning.message]
    assert str(warning).endswith(
        "rows.jsonl:1: document: in 3 rows, differs from the document in documents=FILE|FOLDER; "
        "the text of the row is used"
    )


def test_repeated_file_is_a_fault(tmp_path: Path) -> None:
    rows = put(tmp_path / "q.jsonl", {"article": "It rained.", "summary_sentences": []})
    (tmp_path / "link.jsonl").symlink_to(rows)
    for again in (rows, tmp_path / "x" / ".." / "q.jsonl", tmp_path / "link.jsonl"):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(InputError) as caught:
            load([rows, again], preset="qags")
        assert f"{again}: is given twice; give it once" in [str(fault) for fault in caught.value.faults]
