"""Texts that may not be shared: how input declares them, and what a release contains of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench, command, edited, lines, renew_hashes
from benchmark.chains import write_lines as write_rows

from summeter.benchmark.step import MANIFEST, file_hashes
from summeter.data.dataset import load
from summeter.data.folder import CARD

pytest.importorskip("pyarrow")

SECRET = "The vault of the archive opens with a brass key that nobody outside of the family has ever seen."
PUBLIC = "The harbour opens at nine on weekdays, and its keeper counts every visitor who comes through the gate."


def flat(doc_id: str, text: str, system: str = "aster", **more: Any) -> dict[str, Any]:
    return {"doc_id": doc_id, "system": system, "document": text, "summary": f"About {doc_id}.", **more}


def released(tmp_path: Path, data: Path) -> Path:
    """The release of a dataset folder, as the command writes it."""
    assert bench(tmp_path, {"release": {}}, input=data) == 0
    return tmp_path / "out" / "release"


def everything(folder: Path) -> bytes:
    """The content of every file, tables uncompressed."""
    import pyarrow.parquet as pq

    tables = [json.dumps(pq.read_table(file).to_pylist()).encode() for file in folder.rglob("*.parquet")]
    return b"".join([*tables, *(file.read_bytes() for file in folder.rglob("*") if file.is_file())])


@pytest.mark.parametrize(
    "rows",
    [
        [flat("vault", SECRET, share=False), flat("harbour", PUBLIC)],
        [flat("vault", SECRET, share=False), flat("vault", SECRET, "birch", share=True), flat("harbour", PUBLIC)],
        [flat("vault", SECRET), flat("vault", SECRET, "birch", share=False), flat("harbour", PUBLIC)],
        [flat("vault", SECRET, share=False, source_text=SECRET, source=SECRET, model=SECRET), flat("harbour", PUBLIC)],
        [flat("vault", SECRET, share=False, reference=SECRET, note={"text": [SECRET]}), flat("harbour", PUBLIC)],
    ],
    ids=["a row", "a row before", "a row behind", "columns with the text", "a reference and nested columns"],
)
def test_a_withheld_text_is_nowhere_in_a_release(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    assert command("data", "import", write_rows(tmp_path / "rows.jsonl", *rows), "-o", tmp_path / "data") == 0
    release = released(tmp_path, tmp_path / "data")
    assert SECRET.encode() not in everything(release)
    assert PUBLIC.encode() in everything(release)
    assert command("bench", "verify", release) == 0
    documents = load(release).documents
    assert (documents["vault"].share, documents["vault"].text, documents["harbour"].text) == (False, "", PUBLIC)


@pytest.mark.parametrize(("cell", "shared"), [("false", False), ("FALSE", False), ("False", False), ("true", True)])
def test_a_table_says_true_or_false_in_any_case(cell: str, shared: bool, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text(f"doc_id,document,summary,share\nvault,{SECRET},About it.,{cell}\n", "utf-8")
    assert command("data", "import", table, "-o", tmp_path / "data") == 0
    assert load(tmp_path / "data").documents["vault"].share is shared
    assert load(tmp_path / "data").summaries[0].extra == {}


WRONG: dict[str, Any] = {"text": "false", "no": "no", "capitals": "FALSE", "number": 0, "list": [False]}


@pytest.mark.parametrize("rule", ["error", "skip", "keep-valid"])
@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_an_invalid_share_is_an_error_for_every_fault_rule(
    value: Any, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", flat("harbour", PUBLIC), flat("vault", SECRET, share=value))
    assert command("data", "import", rows, "-o", tmp_path / "data", "--on-fault", rule) == 2
    assert f"{rows}:2: share: " in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_invalid_cells_and_names_of_share_columns_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rows.csv"
    for head, cell in (("share", "no"), ("share", "0"), ("share", ""), ("Share", "false"), (" share ", "false")):
        table.write_text(f"doc_id,document,summary,{head}\nvault,{SECRET},About it.,{cell}\n", "utf-8")
        assert command("data", "import", table, "-o", tmp_path / "data") == 2, (head, cell)
        assert f"{table}:2: share: " in capsys.readouterr().err


@pytest.mark.parametrize("rule", ["skip", "keep-valid"])
def test_a_dropped_row_still_withholds_its_document(rule: str, tmp_path: Path) -> None:
    faulty = flat("vault", SECRET, "birch", share=False) | {"summary": 7}
    rows = write_rows(tmp_path / "rows.jsonl", flat("vault", SECRET), faulty)
    command("data", "import", rows, "-o", tmp_path / "data", "--on-fault", rule)
    data = load(tmp_path / "data")
    assert (len(data), data.documents["vault"].share) == (1, False)


def test_share_survives_import_and_export(tmp_path: Path) -> None:
    articles = write_rows(tmp_path / "articles.jsonl", {"id": "vault", "text": SECRET, "share": False})
    rows = write_rows(tmp_path / "rows.jsonl", {"doc_id": "vault", "system": "aster", "summary": "About it."})
    assert command("data", "import", rows, "--documents", articles, "-o", tmp_path / "data") == 0
    assert load(tmp_path / "data").documents["vault"].share is False
    assert command("data", "export", tmp_path / "data", "-o", tmp_path / "again.jsonl") == 0
    assert lines(tmp_path / "again.jsonl")[0]["share"] is False
    assert load(tmp_path / "again.jsonl").documents["vault"].share is False


WITHHELD, OPEN = {"text": SECRET, "share": False}, {"text": SECRET}
RAW = {
    "rows.jsonl": [{"id": "a", **WITHHELD}],
    "second.jsonl": [{"id": "a", **OPEN}, {"id": "a", **WITHHELD}],
    "near-duplicate.jsonl": [{"id": "a", **OPEN}, {"id": "b", **WITHHELD}],
    "table.csv": f"id,text,share\na,{SECRET},FALSE\n",
    "turns.json": json.dumps([{"speaker": "Ana", **WITHHELD}, {"speaker": "Ben", "text": "Yes, that is so."}]),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_documents_keep_share(name: str, tmp_path: Path) -> None:
    content = RAW[name]
    if isinstance(content, str):
        (tmp_path / name).write_text(content, "utf-8")
    else:
        write_rows(tmp_path / name, *content)
    assert bench(tmp_path, {"source": {"sources": {"vault": name}, "detect": False}}) == 0
    assert [document.share for document in load(tmp_path / "out" / "source").documents.values()] == [False]


@pytest.mark.parametrize("value", ["false", "no", 0])
def test_an_invalid_share_in_a_raw_row_is_an_error(
    value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", {"id": "a", "text": SECRET, "share": value})
    assert bench(tmp_path, {"source": {"sources": {"vault": raw}, "detect": False, "on_fault": "skip"}}) == 2
    assert f"{raw}:1: share: " in capsys.readouterr().err


@pytest.mark.parametrize("text", [SECRET, f"{SECRET} Yes.", "???"], ids=["copy", "near-duplicate", "no words"])
def test_a_copy_of_a_withheld_text_is_not_released(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    withheld = flat("vault", text if text == "???" else SECRET, share=False)
    rows = write_rows(tmp_path / "rows.jsonl", withheld, flat("copy", text))
    assert command("data", "import", rows, "-o", tmp_path / "data") == 0
    assert bench(tmp_path, {"release": {}}, input="data") == 2
    error = capsys.readouterr().err
    assert "copy" in error
    assert "vault" in error
    assert not (tmp_path / "out" / "release").exists()


# ---- verification ----


DOCUMENTS, SUMMARIES = "documents.jsonl", "summaries.jsonl"
LEAKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a text": (edited(DOCUMENTS, lambda rows: rows[0].update(text=SECRET)), DOCUMENTS),
    "a column": (edited(DOCUMENTS, lambda rows: rows[0]["extra"].update(body=SECRET)), DOCUMENTS),
    "an allowed column": (edited(DOCUMENTS, lambda rows: rows[0]["extra"].update(origin=SECRET * 3)), DOCUMENTS),
    "a column of a summary": (edited(SUMMARIES, lambda rows: rows[0]["extra"].update(body=SECRET)), SUMMARIES),
    "a file": (lambda release: (release / "backup.txt").write_text(SECRET) and None, "backup.txt"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_verify_detects_a_withheld_text_after_all_hashes_are_renewed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", flat("vault", SECRET, share=False), flat("harbour", PUBLIC))
    command("data", "import", rows, "-o", tmp_path / "data")
    release = released(tmp_path, tmp_path / "data")
    tamper, file = LEAKS[name]
    tamper(release)
    renew_hashes(release)
    capsys.readouterr()
    assert command("bench", "verify", release) == 3
    messages = ("withheld text", "may not be shared", "is not a file of a release")
    found = [line for line in capsys.readouterr().err.split("\n") if any(message in line for message in messages)]
    assert [line.partition(":")[0].strip() for line in found] == [file]


# ---- lengths of withheld texts ----


def test_the_card_counts_no_words_of_withheld_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    human = {"ratings": {"fluency": {"ana": 4, "ben": 5}}}
    texts = [flat("vault", SECRET, share=False), flat("harbour", PUBLIC), flat("gate", f"{PUBLIC} Yes.")]
    rows = write_rows(tmp_path / "rows.jsonl", *({**row, "human": human} for row in texts))
    command("data", "import", rows, "-o", tmp_path / "data")
    release = released(tmp_path, tmp_path / "data")
    capsys.readouterr()
    assert command("data", "show", release, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["withheld_documents"] == 1
    every = shown["lengths"][0]
    assert (every["documents"], every["document_words"], every["document_sentences"]) == (3, 18.5, 1.5)
    assert every["compression"] == 9.25  # 18 and 19 words, by summaries of two
    by_length = {row["group"]: row["document_words"] for row in shown["lengths"] if row["by"] == "length"}
    assert by_length == {"under 250 words": 18.5, "text withheld": None}
    odd = {row["kind"] for row in shown["warnings"]}
    assert odd.isdisjoint({"empty_documents", "as_long_as_source", "copies_of_source"})
    assert "as many words as their document" not in (release / "README.md").read_text("utf-8")
    assert command("bench", "verify", release) == 0
    capsys.readouterr()
    assert command("meta", "card", "--gold", release, "--json", "--resamples", "2") == 0
    card = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["details"].get("by") == "length"]
    assert card
    assert [row for row in card if row["n"] > 2] == []


# ---- adding withheld texts to a release ----

SEPARATED = "The vault opens with a key.\u2028Nobody\u0085outside of the\u2029family has seen it, or its room.\x0b"


def test_texts_with_any_line_separator_are_restored_and_the_other_files_stay(tmp_path: Path) -> None:
    shown = flat("harbour", f"{PUBLIC}\u2028It is old.")
    given = write_rows(tmp_path / "rows.jsonl", flat("vault", SEPARATED, share=False), shown)
    command("data", "import", given, "-o", tmp_path / "data")
    release = released(tmp_path, tmp_path / "data")
    texts = write_rows(tmp_path / "texts.jsonl", {"text": "Another.\u2028One."}, {"text": SEPARATED})
    whole = tmp_path / "whole"
    script = [sys.executable, str(release / "fetch_documents.py"), "--texts", str(texts), "-o", str(whole)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    before = file_hashes(whole)
    assert command("data", "import", whole, "-o", whole, "--force") == 0
    assert load(whole).documents["vault"].text == SEPARATED
    rewritten = {name for name, sealed in file_hashes(whole).items() if before.pop(name) != sealed}
    assert (before, rewritten - {"documents.jsonl"}, (whole / MANIFEST).is_file()) == ({}, {CARD}, True)
