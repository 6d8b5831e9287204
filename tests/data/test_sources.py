"""Documents that consist of several sources: reading, faults, round trips and redaction."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import summeter
from summeter.cli.main import main
from summeter.data import folder, streaming
from summeter.data.dataset import Dataset, load, save
from summeter.data.exports import export, write_hub
from summeter.meta.texts import Texts
from summeter.records import InputError, Source, Span, UsageError

AGENDA, TRANSCRIPT = "Budget. Hiring plan", "Ann: We approve 40,000 euros. Ben: Hiring starts in May."
MEETING: dict[str, Any] = {
    "doc_id": "m1",
    "document": [{"id": "agenda", "title": "Agenda", "text": AGENDA}, {"id": 2, "text": TRANSCRIPT}],
    "summary": "The budget is 40,000 euros.",
}
PLAIN = {"doc_id": "d1", "document": "It rained. We stayed.", "summary": "It rained."}


def content(data: Dataset) -> tuple[Any, ...]:
    return dict(data.documents), list(data.summaries), data.hash


def test_the_text_is_one_string_in_which_no_sentence_crosses_a_source() -> None:
    document = load([MEETING]).documents["m1"]
    assert document.text == f"{AGENDA}\n\n{TRANSCRIPT}"
    end = len(AGENDA)
    assert document.sources == (
        Source(id="agenda", title="Agenda", start=0, end=end),
        Source(id="2", start=end + 2, end=len(document.text)),
    )
    assert [source.label for source in document.sources] == ["Agenda", "2"]
    assert document.sentence_texts == (
        "Budget.", "Hiring plan", "Ann: We approve 40,000 euros.", "Ben: Hiring starts in May."
    )  # fmt: skip
    assert [source.id for source in document.sources_in(end - 1, end + 3)] == ["agenda", "2"]
    assert document.sources_in(end, end + 2) == ()
    assert content(load([{**MEETING, "document": tuple(MEETING["document"])}])) == content(load([MEETING]))


def test_data_with_one_source_have_the_same_hash_as_before() -> None:
    data = load([PLAIN])
    assert data.hash == "c9e798885e86cf4156e5840f8db7358abc2b75a23781119d49f81cfe7b1e5d9a"
    assert "sources" not in data.documents["d1"].model_dump()


@pytest.mark.parametrize("suffix", ["jsonl", "csv.gz", "tsv", "parquet", "xlsx"])
def test_every_export_writes_the_sources_so_that_they_are_read_back(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip({"parquet": "pyarrow", "xlsx": "openpyxl"}.get(suffix, "json"))
    data = load([MEETING, PLAIN])
    export(data, tmp_path / f"rows.{suffix}")
    assert content(load(tmp_path / f"rows.{suffix}")) == content(data)
    if suffix == "jsonl":
        first, second = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
        assert first["document"][1] == {"id": "2", "text": TRANSCRIPT}
        assert second["document"] == PLAIN["document"]


def test_folders_and_hubs_contain_the_sources(tmp_path: Path) -> None:
    data = load([MEETING, PLAIN])
    save(data, tmp_path / "data")
    assert content(load(tmp_path / "data")) == content(data)
    pytest.importorskip("pyarrow")
    write_hub(data, tmp_path / "hub")
    files = sorted((tmp_path / "hub").glob("*/*.parquet"))
    assert dict(load(files, preset="tables").documents) == dict(data.documents)


def test_large_data_are_streamed_with_their_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [{**MEETING, "doc_id": None, "system": name} for name in "abc"]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    expected = content(load(tmp_path / "rows.jsonl"))
    monkeypatch.setattr(folder, "LARGE", 10)
    monkeypatch.setattr(streaming, "DOCUMENTS_AT_ONCE", 1)
    assert content(load(tmp_path / "rows.jsonl")) == expected


def test_rows_of_a_document_must_have_the_same_sources() -> None:
    other = [{"id": "agenda", "text": AGENDA}, {"id": 2, "text": TRANSCRIPT}]
    with pytest.raises(InputError, match="differs from line 1"):
        load([MEETING, {**MEETING, "system": "b", "document": other}])


def test_other_json_in_a_cell_of_a_table_is_the_text_of_a_document(tmp_path: Path) -> None:
    turns = '[{"speaker": "Ann", "text": "It rained."}]'
    path = tmp_path / "rows.csv"
    path.write_text('document,summary\n"{}",Rain.\n'.format(turns.replace('"', '""')))
    (document,) = load(path).documents.values()
    assert (document.text, document.sources) == (turns, ())


def test_a_place_in_the_text_is_named_by_its_source_and_sentences() -> None:
    document = load([MEETING]).documents["m1"]
    first, second = document.sentences[2:]
    assert document.place(second) == "2, sentence 2"
    assert document.place(Span(of="document", start=first.start + 5, end=second.end)) == "2, sentences 1 to 2"
    assert document.place(Span(of="document", start=8, end=first.end)) == "Agenda, sentence 2; 2, sentence 1"
    assert document.place(Span(of="summary", start=0, end=3)) is None
    assert load([PLAIN]).documents["d1"].place(second) is None
    assert document.titled() == f"[Agenda]\n{AGENDA}\n\n[2]\n{TRANSCRIPT}"
    assert load([PLAIN]).documents["d1"].titled(3) == PLAIN["document"][3:]


def test_the_report_and_the_gate_name_the_source_of_evidence(tmp_path: Path) -> None:
    run = summeter.evaluate(load([MEETING, PLAIN]), ["support"], out=tmp_path / "run")
    (judgment,) = (
        each for each in run.judgments() if each.target.document_id == "m1" and each.aspect == "faithfulness"
    )
    places = [each.place for each in Texts(run.data).evidence(judgment)]
    assert places == ["2, sentence 1", "Agenda, sentence 1"]
    page = summeter.report.html([run], out=tmp_path / "page.html").read_text()
    pieces = {
        name: json.loads(text) for name, text in re.findall(r'id="((?:summary|document)-\d)">(.*?)</script>', page)
    }
    assert pieces["document-0"]["sources"] == [[0, "Agenda"], [len(AGENDA) + 2, "2"]]
    assert [evidence[2] for evidence in pieces["summary-0"]["verdicts"]["inDocument"][0]] == places
    assert pieces["document-1"]["sources"] == []
    assert {len(each) for each in pieces["summary-1"]["verdicts"]["inDocument"][0]} == {2}


def test_each_source_can_be_a_document_of_its_own(tmp_path: Path) -> None:
    data = load([MEETING, {**MEETING, "system": "b"}, PLAIN])
    alone = data.by_source()
    assert list(alone.documents) == ["m1/agenda", "m1/2", "d1"]
    second = alone.documents["m1/2"]
    assert (second.text, second.sources) == (TRANSCRIPT, ())
    assert second.sentence_texts == ("Ann: We approve 40,000 euros.", "Ben: Hiring starts in May.")
    assert [(each.document_id, each.system) for each in alone.summaries[:4]] == [
        ("m1/agenda", "system"), ("m1/agenda", "b"), ("m1/2", "system"), ("m1/2", "b"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="m1/agenda"):
        load([{**PLAIN, "doc_id": "m1/agenda"}, MEETING]).by_source()
    export(data, tmp_path / "rows.jsonl")
    with pytest.raises(SystemExit, match="0"):
        main(["data", "export", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "a.csv"), "--by-source"])
    assert content(load(tmp_path / "a.csv")) == content(alone)
