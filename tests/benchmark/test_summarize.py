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
    given = {"share": False, "licence": "all rights reserved"}
    documents = {"a": Document(id="a", text="It rained on Monday. The river rose.", extra=given)}
    data = Dataset(documents, (), {}, Card(name="one", splitter="rules-1"))
    outcome = summarize(data, Summarizing({"lead": lead(tmp_path)}), tmp_path / "out")
    assert outcome.data is not None
    assert outcome.data.documents["a"].extra == given


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
