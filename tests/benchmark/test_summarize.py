"""Summarizing with several models at one length: who is asked what, what is kept, what is carried on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.benchmark import Summarizing, summarize
from summeter.benchmark.sources import cut, read_documents
from summeter.benchmark.summarize import read_summary
from summeter.cli.main import main
from summeter.data.dataset import Dataset, load
from summeter.data.folder import Card
from summeter.records import Document, InputError, ReplyError, UsageError

SORRY = '{"summary": "I\'m sorry, I cannot summarize this."}'
DOCUMENTS = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose.", "domain": "news", "reference": "A wet day."},
    {"doc_id": "b", "document": "The shop opened. Many came. All were glad."},
]


def script(folder: Path, *rules: dict[str, Any]) -> str:
    """A scripted model whose rules stand in `folder`."""
    file = folder / f"rules-{len(list(folder.glob('rules-*')))}.jsonl"
    file.write_text("\n".join(json.dumps(rule) for rule in rules))
    return f"scripted/{file}"


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


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_others_are_given_the_lead_s_number_of_sentences(tmp_path: Path) -> None:
    models = {"lead": lead(tmp_path), "small": follower(tmp_path), "tuned": follower(tmp_path)}
    made = summarize(DOCUMENTS, Summarizing(models, free=("tuned",)), tmp_path / "out")
    assert made.missing == ()
    rows = lines(tmp_path / "out" / "summaries.jsonl")
    assert [(row["doc_id"], row["system"], row["asked_sentences"], row["written_sentences"]) for row in rows] == [
        ("a", "lead", None, 2), ("a", "small", 2, 2), ("a", "tuned", None, 3),
        ("b", "lead", None, 1), ("b", "small", 1, 1), ("b", "tuned", None, 3),
    ]  # fmt: skip
    assert rows[0]["references"] == ["A wet day."]
    assert rows[0]["document"] == DOCUMENTS[0]["document"]
    data = load(tmp_path / "out" / "summaries.jsonl")
    assert data.systems == ("lead", "small", "tuned")
    about = json.loads((tmp_path / "out" / "summarize.json").read_text())
    # Sampling a length and kept it; a system that is asked none cannot miss it.
    assert about["at_length"] == {"lead": [0, 2], "small": [2, 2], "tuned": [0, 2]}
    assert about["counts"] == {"ok": 6}


def test_what_else_is_known_of_a_document_stays_with_it(tmp_path: Path) -> None:
    given = {"licence": "all rights reserved"}
    documents = {"a": Document(id="a", text="It rained on Monday. The river rose.", share=False, extra=given)}
    data = Dataset(documents, (), {}, Card(name="one", splitter="rules-1"))
    outcome = summarize(data, Summarizing({"lead": lead(tmp_path)}), tmp_path / "out")
    assert outcome.data is not None
    assert outcome.data.documents["a"].extra == given
    assert outcome.data.documents["a"].share is False


def test_without_normalising_nobody_is_told_a_length(tmp_path: Path) -> None:
    models = {"lead": lead(tmp_path), "small": follower(tmp_path)}
    made = summarize(DOCUMENTS, Summarizing(models, normalise=False), tmp_path / "out")
    assert made.data is not None
    assert {one.extra["asked_sentences"] for one in made.data.summaries} == {None}


def test_a_lead_that_fails_is_not_replaced_by_any_length(tmp_path: Path) -> None:
    broken = script(tmp_path, {"match": "It rained", "reply": "no idea"}, {"reply": {"summary": "A shop opened."}})
    models = {"lead": broken, "small": follower(tmp_path), "tuned": follower(tmp_path)}
    made = summarize(DOCUMENTS, Summarizing(models, free=("tuned",)), tmp_path / "out")
    assert [(one.document.id, one.system, one.status) for one in made.missing] == [
        ("a", "lead", "unparsed"), ("a", "small", "skipped"),
    ]  # fmt: skip
    told = lines(tmp_path / "out" / "failures.jsonl")
    assert told[1]["reason"] == "lead gave no summary to take the length of"
    assert {row["system"] for row in lines(tmp_path / "out" / "summaries.jsonl") if row["doc_id"] == "a"} == {"tuned"}


def test_what_failed_is_asked_again_and_what_is_there_is_not(tmp_path: Path) -> None:
    flaky = script(
        tmp_path,
        {"match": "It rained", "error": "model", "times": 1},
        {"match": "It rained", "reply": {"summary": "It rained. The river rose."}},
        {"reply": {"summary": "A shop opened."}},
    )
    models = {"lead": flaky, "small": follower(tmp_path)}
    first = summarize(DOCUMENTS, Summarizing(models), tmp_path / "out")
    assert [(one.system, one.status) for one in first.missing] == [("lead", "error"), ("small", "skipped")]
    # The rules start anew with a new run, so the failure is taken out of them; the other document is in the store.
    Path(flaky.removeprefix("scripted/")).write_text(
        json.dumps({"match": "It rained", "reply": {"summary": "It rained. The river rose."}})
    )
    second = summarize(DOCUMENTS, Summarizing(models), tmp_path / "out")
    assert second.missing == ()
    assert len(lines(tmp_path / "out" / "summaries.jsonl")) == 4


def test_documents_are_cut_to_their_first_words(tmp_path: Path) -> None:
    models = {"lead": script(tmp_path, {"match": "The river rose", "error": "model"}, {"reply": {"summary": "Rain."}})}
    made = summarize(DOCUMENTS[:1], Summarizing(models, words=4), tmp_path / "out")
    assert made.missing == ()
    assert lines(tmp_path / "out" / "summaries.jsonl")[0]["document"] == "It rained on Monday."  # what was summarized
    assert cut("a b c", 3) == ("a b c", 0)
    assert cut("", 3) == ("", 0)


def test_rows_of_several_systems_are_one_document() -> None:
    rows = [{"document": "It rained.", "system": name, "summary": name} for name in "xy"]
    assert len(read_documents(rows)) == 1
    assert len(read_documents(load(rows))) == 1


def test_bad_documents_are_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text('{"document": "It rained."}\n\n{"doc_id": "x"}\n')
    with pytest.raises(InputError, match=r"docs\.jsonl:3: document"):
        read_documents(file)
    file.write_text('{"document": " "}\n')
    with pytest.raises(UsageError, match="no document with text"):
        read_documents(file)


@pytest.mark.parametrize(
    "reply", ["", "{}", '{"summary": ""}', '{"summary": 3}', "It rained.", '{"summary": "It', SORRY]
)
def test_an_unusable_reply_is_no_summary(reply: str) -> None:
    with pytest.raises(ReplyError):
        read_summary(reply)


def test_a_foreign_folder_and_bad_settings_are_refused(tmp_path: Path) -> None:
    models = {"lead": lead(tmp_path)}
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear all")
    with pytest.raises(UsageError, match="holds no summaries of ours"):
        summarize(DOCUMENTS, Summarizing(models), tmp_path / "full")
    for asked, wrong in [
        (Summarizing({}), "no models"),
        (Summarizing(models, free=("who",)), "'who' is to be left free"),
        (Summarizing(models, words=0), "cut to 0 words"),
    ]:
        with pytest.raises(UsageError, match=wrong):
            summarize(DOCUMENTS, asked, tmp_path / "out")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ends(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["bench", "summarize", str(file), *arguments])
        return int(end.value.code or 0), *capsys.readouterr()

    file = tmp_path / "docs.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in DOCUMENTS))
    models = ["-m", f"lead={lead(tmp_path)}", "-m", f"small={follower(tmp_path)}"]
    code, out, err = ends(*models, "-o", str(tmp_path / "out"))
    assert code == 0, err
    assert "2 of 2 at the lead's number of sentences" in out
    assert json.loads(ends(*models, "-o", str(tmp_path / "out"), "--json")[1])["counts"] == {"ok": 4}
    code, _, err = ends("-m", "openai/gpt-4o", "-o", str(tmp_path / "new"))
    assert (code, "SYSTEM=PROVIDER/MODEL" in err) == (2, True)
    mute = script(tmp_path, {"reply": "no"})
    code, _, err = ends("-m", f"a={mute}", "-o", str(tmp_path / "none"))
    assert (code, "no summary came" in err) == (4, True)


def test_a_kind_for_each_domain_stands_in_the_prompt(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {"match": "Summarize the news article above", "reply": {"summary": "As news."}},
        {"match": "Summarize the document above", "reply": {"summary": "As a document."}},
    )
    outcome = summarize(DOCUMENTS, Summarizing({"s": model}, kind={"news": "news article"}), tmp_path / "out")
    assert outcome.data is not None
    assert [summary.text for summary in outcome.data.summaries] == ["As news.", "As a document."]
    with pytest.raises(UsageError, match="the domain 'nws', which no document has; domains: news"):
        summarize(DOCUMENTS, Summarizing({"s": model}, kind={"nws": "news article"}), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_prompt_of_unisumeval_asks_for_json(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {
            "match": ["Instruction: Summarize the Text in exactly 1 sentence.", "JSON Output:"],
            "reply": {"summary": "S."},
        },
        {"match": ["Instruction: Summarize the Text.", "JSON Output:"], "reply": {"summary": "The lead's."}},
    )
    outcome = summarize(DOCUMENTS, Summarizing({"a": model, "b": model}, form="unisumeval"), tmp_path / "out")
    assert outcome.data is not None
    assert [summary.text for summary in outcome.data.summaries] == ["The lead's.", "S."] * 2


def test_the_length_of_a_named_system_is_given_to_the_others(tmp_path: Path) -> None:
    models = {"small": follower(tmp_path), "big": lead(tmp_path)}
    summarize(DOCUMENTS, Summarizing(models, length_from="big"), tmp_path / "out")
    rows = lines(tmp_path / "out" / "summaries.jsonl")
    assert [(row["system"], row["asked_sentences"], row["written_sentences"]) for row in rows] == [
        ("small", 2, 2), ("big", None, 2), ("small", 1, 1), ("big", None, 1),
    ]  # fmt: skip
    assert json.loads((tmp_path / "out" / "summarize.json").read_text())["lead"] == "big"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"length_from": "bigg"}, "'bigg' is to be the lead, but is no system; systems: s"),
        ({"categories": {"t": "large"}}, "'t' is to be given a category"),
        ({"prefixes": {"t": "x"}}, "'t' is to be given a prefix"),
        ({"prefixes": {"s": "x"}}, "which only local systems take"),
    ],
)
def test_names_of_no_system_are_refused(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        summarize(DOCUMENTS, Summarizing({"s": lead(tmp_path)}, **more), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_column_of_the_documents_stays(tmp_path: Path) -> None:
    given = [
        {**DOCUMENTS[0], "system": "old", "summary": "x", "licence": "CC0-1.0", "year": 2020, "score": 1},
        {**DOCUMENTS[0], "system": "older", "summary": "y", "licence": "CC0-1.0", "year": 2020, "score": 2},
        {**DOCUMENTS[1], "title": "Shop"},
    ]
    outcome = summarize(given, Summarizing({"s": lead(tmp_path)}, categories={"s": "scripted"}), tmp_path / "out")
    assert outcome.data is not None
    assert [document.extra for document in outcome.data.documents.values()] == [
        {"licence": "CC0-1.0", "year": 2020},  # score is of single summaries
        {"title": "Shop"},
    ]
    first, second = lines(tmp_path / "out" / "summaries.jsonl")
    assert (first["licence"], first["year"], first["category"], second["title"]) == (
        "CC0-1.0",
        2020,
        "scripted",
        "Shop",
    )
    assert "score" not in first
    assert set(outcome.data.summaries[0].extra) == {"model", "asked_sentences", "written_sentences"}
    assert [summary.category for summary in outcome.data.summaries] == ["scripted", "scripted"]


def test_failed_and_empty_summaries_are_counted_by_system(tmp_path: Path) -> None:
    model = script(tmp_path, {"match": "It rained", "reply": {"summary": " ... "}}, {"reply": SORRY})
    models = {"good": lead(tmp_path), "bad": model}
    outcome = summarize(DOCUMENTS, Summarizing(models, normalise=False), tmp_path / "out")
    about = json.loads((tmp_path / "out" / "summarize.json").read_text())
    assert about["by_system"] == {"good": {"ok": 2}, "bad": {"empty": 1, "refused": 1}}
    assert [missing.status for missing in outcome.missing] == ["unparsed", "refused"]


def test_the_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text("\n".join(map(json.dumps, DOCUMENTS)))
    command = ["bench", "summarize", str(documents), "-o", str(tmp_path / "out"), "-m", f"s={lead(tmp_path)}"]
    with pytest.raises(SystemExit) as end:
        main([*command, "--kind", "news=news article", "--category", "s=scripted", "--form", "unisumeval"])
    assert end.value.code == 0
    about = json.loads((tmp_path / "out" / "summarize.json").read_text())
    assert (about["kind"], about["form"]) == ({"news": "news article"}, "unisumeval")
    assert lines(tmp_path / "out" / "summaries.jsonl")[0]["category"] == "scripted"
    for wrong, message in (
        (["--kind", "article", "--kind", "news=news"], "--kind 'article' is for all documents"),
        (["--prefix", "s"], "--prefix 's' is not SYSTEM=TEXT"),
    ):
        with pytest.raises(SystemExit) as end:
            main([*command, *wrong])
        assert end.value.code == 2
        assert message in capsys.readouterr().err
