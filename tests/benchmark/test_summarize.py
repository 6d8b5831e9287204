"""The step `summarize`: lengths, prompts, failures and resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench, lines, write_lines

from summeter.benchmark.sources import read_documents, truncate
from summeter.benchmark.step import Manifest, read_log, run_step
from summeter.benchmark.summarize import STEP, SummarizeSettings, read_summary
from summeter.data.dataset import Dataset, load, save
from summeter.data.folder import Card
from summeter.records import Document, InputError, ReplyError, UsageError

SORRY = '{"summary": "I\'m sorry, I cannot summarize this."}'
DOCUMENTS: list[dict[str, Any]] = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose.", "domain": "news", "reference": "A wet day."},
    {"doc_id": "b", "document": "The shop opened. Many came. All were glad."},
]


def script(folder: Path, *rules: dict[str, Any]) -> str:
    """A scripted model whose rules are in `folder`."""
    number = len(list(folder.glob("rules-*")))
    return f"scripted/{write_lines(folder / f'rules-{number}.jsonl', *rules)}"


def lead(folder: Path) -> str:
    return script(
        folder,
        {"match": "It rained", "reply": {"summary": "It rained. The river rose."}},
        {"match": "The shop", "reply": {"summary": "A shop opened."}},
    )


def follower(folder: Path) -> str:
    """Obeys the length; without one it writes three sentences."""
    return script(
        folder,
        {"match": "exactly 2 sentences", "reply": {"summary": "Rain fell. Water came."}},
        {"match": "exactly 1 sentence.", "reply": {"summary": "People shopped."}},
        {"reply": {"summary": "One. Two is here. Three is here."}},
    )


def written(
    folder: Path, models: dict[str, str], documents: list[dict[str, Any]] | None = None, **settings: Any
) -> tuple[Manifest, Dataset, list[dict[str, Any]]]:
    """The step's manifest, data and what it left out."""
    rows = write_lines(folder / "documents.jsonl", *(documents or DOCUMENTS))
    manifest = run_step(STEP, rows, folder / "out", SummarizeSettings(models=models, **settings))
    return manifest, load(folder / "out"), lines(folder / "out" / "dropped.jsonl")


def lengths(data: Dataset) -> list[tuple[str, str, int | None, int]]:
    return [
        (each.document_id, each.system, each.extra["asked_sentences"], each.extra["written_sentences"])
        for each in data.summaries
    ]


def test_the_others_are_given_the_lead_s_number_of_sentences(tmp_path: Path) -> None:
    models = {"lead": lead(tmp_path), "small": follower(tmp_path), "tuned": follower(tmp_path)}
    manifest, data, dropped = written(tmp_path, models, free=("tuned",))
    assert dropped == []
    assert lengths(data) == [
        ("a", "lead", None, 2), ("a", "small", 2, 2), ("a", "tuned", None, 3),
        ("b", "lead", None, 1), ("b", "small", 1, 1), ("b", "tuned", None, 3),
    ]  # fmt: skip
    assert data.documents["a"].references == ("A wet day.",)
    # Given a length and kept it; a system that is given none cannot miss it.
    assert manifest.details["at_length"] == {"lead": [0, 2], "small": [2, 2], "tuned": [0, 2]}
    assert manifest.details["by_system"] == {name: {"ok": 2} for name in models}
    (usage,) = [row["usage"] for row in read_log(tmp_path) if "usage" in row]
    assert sum(counts["sent"] + counts["hits"] + counts["joined"] for counts in usage.values()) == 6


def test_the_length_of_a_named_system_is_given_to_the_others(tmp_path: Path) -> None:
    models = {"small": follower(tmp_path), "big": lead(tmp_path)}
    manifest, data, _ = written(tmp_path, models, length_from="big")
    assert lengths(data) == [("a", "small", 2, 2), ("a", "big", None, 2), ("b", "small", 1, 1), ("b", "big", None, 1)]
    assert manifest.details["lead"] == "big"


def test_a_lead_that_fails_is_not_replaced_by_any_length(tmp_path: Path) -> None:
    broken = script(tmp_path, {"match": "It rained", "reply": "no idea"}, {"reply": {"summary": "A shop opened."}})
    models = {"lead": broken, "small": follower(tmp_path), "tuned": follower(tmp_path)}
    _, data, dropped = written(tmp_path, models, free=("tuned",))
    assert [(row["id"], row["reason"]) for row in dropped] == [("a by lead", "unparsed"), ("a by small", "skipped")]
    assert dropped[1]["detail"] == "lead wrote no summary, which sets the length"
    assert [each.system for each in data.summaries if each.document_id == "a"] == ["tuned"]


def test_what_failed_is_asked_again_and_what_is_there_is_not(tmp_path: Path) -> None:
    flaky = {"match": "It rained", "error": "model"}
    shop = {"match": "The shop", "reply": {"summary": "A shop opened."}}
    model = script(tmp_path, flaky, shop)
    _, data, dropped = written(tmp_path, {"lead": model, "small": follower(tmp_path)})
    assert [row["reason"] for row in dropped] == ["error", "skipped", "has no summary"]
    assert list(data.documents) == ["b"]
    calls = tmp_path / "work" / "out"
    (store,) = calls.iterdir()
    fine = {"match": "It rained", "reply": {"summary": "It rained. The river rose."}}
    Path(model.removeprefix("scripted/")).write_text(json.dumps(fine))  # which knows nothing of the shop
    rows = tmp_path / "documents.jsonl"
    run_step(STEP, rows, tmp_path / "out", SummarizeSettings(models={"lead": model}, limit=1))
    (other,) = set(calls.iterdir()) - {store}  # a script that says something else is another model
    for file in list(other.iterdir()):
        file.unlink()
    for file in list(store.iterdir()):
        file.rename(other / file.name)
    run_step(STEP, rows, tmp_path / "out", SummarizeSettings(models={"lead": model}))
    assert [each.text for each in load(tmp_path / "out").summaries] == ["It rained. The river rose.", "A shop opened."]


def test_documents_are_cut_to_their_first_words(tmp_path: Path) -> None:
    model = script(tmp_path, {"match": "The river rose", "error": "model"}, {"reply": {"summary": "Rain."}})
    empty = {"doc_id": "c", "document": " "}
    _, data, dropped = written(tmp_path, {"lead": model}, [*DOCUMENTS, empty], words=4, limit=1)
    assert [(row["id"], row["reason"]) for row in dropped] == [("b", "is beyond the limit"), ("c", "has no text")]
    assert [document.text for document in data.documents.values()] == ["It rained on Monday."]  # what was summarized
    assert truncate("a b c", 3) == ("a b c", 0)
    assert truncate("", 3) == ("", 0)


def test_every_column_of_the_documents_stays(tmp_path: Path) -> None:
    given = [
        {**DOCUMENTS[0], "system": "old", "summary": "x", "licence": "CC0-1.0", "year": 2020, "score": 1},
        {**DOCUMENTS[0], "system": "older", "summary": "y", "licence": "CC0-1.0", "year": 2020, "score": 2},
        {**DOCUMENTS[1], "title": "Shop"},
    ]
    _, data, _ = written(tmp_path, {"s": lead(tmp_path)}, given, categories={"s": "scripted"})
    assert [document.extra for document in data.documents.values()] == [
        {"licence": "CC0-1.0", "year": 2020},  # score is of single summaries
        {"title": "Shop"},
    ]
    assert {name for each in data.summaries for name in each.extra} == {"model", "asked_sentences", "written_sentences"}
    assert [each.category for each in data.summaries] == ["scripted", "scripted"]


def test_a_dataset_keeps_what_is_known_of_its_documents(tmp_path: Path) -> None:
    text = "It rained on Monday. The river rose."
    documents = {"a": Document(id="a", text=text, share=False, extra={"licence": "all rights reserved"})}
    save(Dataset(documents, (), {}, Card(name="one", splitter="rules-1")), tmp_path / "data")
    run_step(STEP, tmp_path / "data", tmp_path / "out", SummarizeSettings(models={"lead": lead(tmp_path)}))
    assert load(tmp_path / "out").documents == documents


def test_rows_of_several_systems_are_one_document(tmp_path: Path) -> None:
    rows = [{"document": "It rained.", "system": name, "summary": name} for name in "xy"]
    write_lines(tmp_path / "rows.jsonl", *rows)
    save(load(rows), tmp_path / "data")
    for source in (tmp_path / "rows.jsonl", tmp_path / "data"):
        data = read_documents(source)
        assert (len(data.documents), len(data)) == (1, 0)


def test_bad_documents_are_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text('{"document": "It rained."}\n\n{"doc_id": "x"}\n')
    with pytest.raises(InputError) as error:
        read_documents(file)
    assert [(Path(fault.file).name, fault.line, fault.field) for fault in error.value.faults] == [
        ("docs.jsonl", 3, "document")
    ]
    with pytest.raises(UsageError, match="no document with text"):
        written(tmp_path, {"s": lead(tmp_path)}, [{"document": " "}])


@pytest.mark.parametrize(
    "reply", ["", "{}", '{"summary": ""}', '{"summary": 3}', "It rained.", '{"summary": "It', SORRY]
)
def test_an_unusable_reply_is_no_summary(reply: str) -> None:
    with pytest.raises(ReplyError):
        read_summary(reply)


def test_failed_and_empty_summaries_are_counted_by_system(tmp_path: Path) -> None:
    model = script(tmp_path, {"match": "It rained", "reply": {"summary": " ... "}}, {"reply": SORRY})
    manifest, data, dropped = written(tmp_path, {"good": lead(tmp_path), "bad": model}, normalise=False)
    assert manifest.details["by_system"] == {"good": {"ok": 2}, "bad": {"empty": 1, "refused": 1}}
    assert [row["reason"] for row in dropped] == ["unparsed", "refused"]
    assert {each.extra["asked_sentences"] for each in data.summaries} == {None}, "lengths are not normalised"


def test_no_summary_at_all_is_an_error_of_coverage(tmp_path: Path) -> None:
    write_lines(tmp_path / "documents.jsonl", *DOCUMENTS)
    models = {"a": script(tmp_path, {"reply": "no"})}
    assert bench(tmp_path, {"summarize": {"models": models}}, input="documents.jsonl") == 4
    assert not (tmp_path / "out" / "summarize").exists()


def test_a_kind_for_each_domain_stands_in_the_prompt(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {"match": "Summarize the news article above", "reply": {"summary": "As news."}},
        {"match": "Summarize the document above", "reply": {"summary": "As a document."}},
    )
    _, data, _ = written(tmp_path, {"s": model}, kind={"news": "news article"})
    assert [summary.text for summary in data.summaries] == ["As news.", "As a document."]
    with pytest.raises(UsageError, match="kind: no document has the domain 'nws'"):
        written(tmp_path, {"s": model}, kind={"nws": "news article"})


def test_the_prompt_of_unisumeval_asks_for_json(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {
            "match": ["Instruction: Summarize the Text in exactly 1 sentence.", "JSON Output:"],
            "reply": {"summary": "S."},
        },
        {"match": ["Instruction: Summarize the Text.", "JSON Output:"], "reply": {"summary": "The lead's."}},
    )
    _, data, _ = written(tmp_path, {"a": model, "b": model}, form="unisumeval")
    assert [summary.text for summary in data.summaries] == ["The lead's.", "S."] * 2
