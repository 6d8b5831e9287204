"""Exported judgments of every task type, and validated key facts applied to the data."""

from __future__ import annotations

import csv
import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run
from report import fake_runs as fake

from summeter.annotate.analysis.adjudicate import Decision, adjudicate
from summeter.annotate.analysis.aggregate import MERGED, QUESTIONS, judgments_of, votes_of
from summeter.annotate.analysis.export import content_of
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.tasks.key_fact_validation import outcome
from summeter.annotate.tasks.task import InvalidAnswer
from summeter.data.dataset import Dataset, load
from summeter.meta import errors
from summeter.records import Document, Judgment, Summary, error_types
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable

SETS = ("human.raw", "human.adjudicated", MERGED)
NAMES = ("document", "system", "unit", "aspect", "judge", "signature", "status")


def answered(tmp_path: Path, task_type: str, answer: dict[str, Any], **plan: Any) -> tuple[CampaignFolder, Any]:
    """Build a campaign whose first task has an answer, and whose second also has a decision."""
    folder = made.make(tmp_path, task_type=task_type, answers_per_item=1, attention={"rate": 0}, **plan)
    with CampaignService(folder) as service:
        first, second = service.tasks.work[:2]
        for task in (first, second):
            crowds.say(service, task.key, {"anna": answer})
        adjudicate(service, [Decision(second.key, TaskAnswer(**answer), "lead")])
    return folder, (first, second)


def exported(folder: CampaignFolder, tmp_path: Path) -> Dataset:
    assert run("export", folder.folder, "--data", tmp_path / "gold") == 0
    return load(tmp_path / "gold")


def of(data: Dataset, name: str, task: Any) -> list[Judgment]:
    return [one for one in data.judgments(name) if one.target.document_id == task.document_id
            and one.target.system == task.system]  # fmt: skip


THREE = ["entity error", "relation error", "sentence error"]


def test_all_error_types_of_a_sentence_are_exported(tmp_path: Path) -> None:
    folder, (first, second) = answered(
        tmp_path,
        "fact_verification",
        {"values": {"label": "not_supported", "error_types": THREE}, "comment": "all of it"},
    )
    data = exported(folder, tmp_path)
    for name, task, reason in (
        ("human.raw", first, "all of it"), ("human.raw", second, "all of it"), (MERGED, first, None),
        ("human.adjudicated", second, "all of it"), (MERGED, second, "all of it"),
    ):  # fmt: skip
        (judgment,) = (one for one in of(data, name, task) if one.target.index == task.index)
        assert error_types(judgment.error_type) == set(THREE)
        assert (judgment.label, judgment.reason) == (0, reason)


def test_kind_category_and_reason_of_spans_are_exported(tmp_path: Path) -> None:
    marks = [
        {"start": 0, "end": 3, "kind": "contradicted", "category": THREE[0], "reason": "Not that."},
        {"start": 4, "end": 8, "kind": "not_from_source", "category": THREE[1], "reason": None},
    ]
    folder, (first, second) = answered(tmp_path, "span_highlighting", {"values": {"spans": marks}, "comment": "two"})
    data = exported(folder, tmp_path)
    wanted = [{"contradicted", THREE[0]}, {"not_from_source", THREE[1]}]
    for name, task in (("human.raw", first), ("human.adjudicated", second), (MERGED, first), (MERGED, second)):
        judgments = of(data, name, task)
        spans = [one for one in judgments if one.target.unit == "span"]
        assert [error_types(one.error_type) for one in spans] == wanted
        assert [(one.evidence[0].start, one.evidence[0].end) for one in spans] == [(0, 3), (4, 8)]
        (touched, free) = (one for one in judgments if one.target.unit == "sentence")
        assert (touched.label, error_types(touched.error_type)) == (0, wanted[0] | wanted[1])
        assert (free.label, free.error_type) == (1, None)
        (whole,) = (one for one in judgments if one.target.unit == "summary")
        assert whole.label == 0
    assert next(one.reason for one in of(data, "human.raw", first) if one.target.unit == "span") == "Not that."
    assert next(one.reason for one in of(data, "human.raw", first) if one.target.unit == "summary") == "two"


def test_criteria_that_are_not_met_are_exported(tmp_path: Path) -> None:
    values = {"significant": False, "correct": False, "relevant": True, "why": "Too small."}
    answer = {"values": values, "comment": "and odd"}
    folder, (first, second) = answered(tmp_path, "key_fact_validation", answer)
    data = exported(folder, tmp_path)
    for name, task in (("human.raw", first), ("human.adjudicated", second), (MERGED, first)):
        (judgment,) = (one for one in of(data, name, task) if one.target.index == task.index)
        assert error_types(judgment.error_type) == {"not significant", "not correct"}
    assert of(data, "human.raw", first)[0].reason == "Too small.; and odd"


def test_ratings_are_exported_with_comments(tmp_path: Path) -> None:
    folder = made.make(tmp_path, task_type="rating", answers_per_item=1, attention={"rate": 0})
    with CampaignService(folder) as service:
        task = service.tasks.work[0]
        names = [question.name for question in service.task_type.of_summary]
        cells = {system: {name: at + 1 for at, name in enumerate(names)} for system in task.systems}
        crowds.say(
            service, task.key, {"anna": {"summaries": cells, "values": {"best": task.systems[1]}, "comment": "close"}}
        )
    judgments = exported(folder, tmp_path).judgments("human.raw")
    assert {(one.target.system, one.aspect): one.value for one in judgments if one.aspect != "best"} == {
        (system, aspect): float(rating) for system, given in cells.items() for aspect, rating in given.items()
    }
    assert {one.target.system: one.value for one in judgments if one.aspect == "best"} == {
        task.systems[0]: 0.0, task.systems[1]: 1.0,
    }  # fmt: skip
    assert {one.reason for one in judgments} == {"close"}


def test_columns_of_ratings_equal_their_judgments(tmp_path: Path) -> None:
    question = {"name": "why", "question": "Why?", "type": "yes_no", "required": False}
    folder = made.make(tmp_path, task_type="rating", answers_per_item=2, questions=[question])
    with CampaignService(folder) as service:
        for name in ("anna", "ben"):
            made.do_batch(service, name)
        votes = [vote for vote in judgments_of(service) if vote.signature not in QUESTIONS]
        assert len({vote.judge for vote in votes}) == 2
        assert "best" in {vote.aspect for vote in votes}
        columns, records = (
            sorted(zip(*(getattr(table, name).labels().tolist() for name in NAMES), table.value.tolist(), strict=True))
            for table in (votes_of(service), JudgmentTable.of(votes))
        )
    assert columns == records


def test_answers_are_rows_of_a_table(tmp_path: Path) -> None:
    folder = made.make(tmp_path, answers_per_item=2, attention={"rate": 0})
    with CampaignService(folder) as service:
        first = service.tasks.work[0]
        crowds.say(service, first.key, {"anna": crowds.YES, "bert": {**crowds.YES, "comment": "=1+1"}})
        adjudicate(service, [Decision(first.key, TaskAnswer(**crowds.YES), "lead")])
    assert run("export", folder.folder, "-o", tmp_path / "answers.csv") == 0
    rows = list(csv.DictReader(StringIO((tmp_path / "answers.csv").read_text("utf-8"))))
    assert [(row["task"], row["counted"]) for row in rows] == [(first.key, "True")] * 2 + [(first.key, "False")]
    assert [row["comment"] for row in rows] == ["", "'=1+1", ""]
    assert {row["answer.label"] for row in rows} == {"supported"}
    assert rows[0]["at"].endswith("+00:00")
    assert run("export", folder.folder, "-o", tmp_path / "answers.pdf") == 2


def test_aligned_sentences_and_choices_are_exported(tmp_path: Path) -> None:
    folder, (first, _) = answered(tmp_path / "ka", "key_fact_alignment", {"values": {"sentences": [0, 1]}})
    judgment = next(one for one in exported(folder, tmp_path / "ka").judgments("human.raw"))
    assert [[span.start, span.end] for span in judgment.evidence] == first.body["summary"]["sentences"]
    folder = made.make(tmp_path / "pw", task_type="pairwise", answers_per_item=1, aspects=["one", "two", "three"])
    with CampaignService(folder) as service:
        task = service.tasks.work[0]
        choices = {"one": task.system, "two": task.rival, "three": "tie"}
        crowds.say(service, task.key, {"anna": {"values": {**choices, "reason": "shorter"}}})
    given = {one.aspect: (one.value, one.reason) for one in exported(folder, tmp_path / "pw").judgments("human.raw")}
    assert given == {"one": (1.0, "shorter"), "two": (0.0, "shorter"), "three": (0.5, "shorter")}


JUDGE = JudgeEntry(
    name="made.typed", signature="made.typed|v:1", aspects=("faithfulness",), reduce="share", file="typed"
)  # fmt: skip


def typed(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """An evaluator that finds an entity error in every sentence."""
    return [
        fake.judgment(document, summary, entry, "faithfulness", unit="sentence", index=index, value=0.0, label=0,
                      error_type="entity error")
        for index in range(len(summary.sentences))
    ]  # fmt: skip


@pytest.mark.parametrize("task_type", ["fact_verification", "span_highlighting"])
def test_error_types_appear_in_the_study_of_errors(task_type: str, tmp_path: Path) -> None:
    mark = {"start": 0, "end": 3, "kind": "contradicted", "category": THREE[0], "reason": None}
    values = {
        "fact_verification": {"label": "not_supported", "error_types": THREE[:2]},
        "span_highlighting": {"spans": [mark, {**mark, "start": 4, "end": 8, "category": THREE[1]}]},
    }[task_type]
    folder, _ = answered(tmp_path, task_type, {"values": values})
    data = exported(folder, tmp_path)
    fake.make(tmp_path / "run", made.rows(), judges=((JUDGE, typed),))
    rows = errors(RunFolder(tmp_path / "run"), data, judgment_set=MERGED)
    shares = {row.details["group"]: row.value for row in rows if row.statistic == "localisation_accuracy"}
    assert (shares[THREE[0]], shares[THREE[1]]) == (1.0, 0.0)
    assert ("contradicted" in shares) == (task_type == "span_highlighting")


VALID = dict.fromkeys(("significant", "correct", "relevant"), True)
WRONG = {**VALID, "correct": False, "why": "It was June."}


def validation(tmp_path: Path, votes: dict[int, list[dict[str, Any]]], answers: int = 3) -> CampaignFolder:
    """Build a validation with these answers by task; other key facts are valid."""
    folder = made.make(tmp_path, task_type="key_fact_validation", order="as_given", answers_per_item=answers,
                       attention={"rate": 0})  # fmt: skip
    with CampaignService(folder) as service:
        for at, task in enumerate(service.tasks.work):
            given = [{"values": one} for one in votes.get(at, [VALID] * answers)]
            crowds.say(service, task.key, dict(zip(("anna", "ben", "cleo"), given, strict=False)))
    return folder


def test_validated_key_facts_are_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    better = {**WRONG, "edit": "  It was opened \n in June. "}
    folder = validation(tmp_path, {
        0: [WRONG, WRONG, VALID], 1: [better, better, WRONG], 2: [VALID, better, VALID], 3: [WRONG, better, VALID],
        4: [WRONG] * 3, 5: [WRONG] * 3,
    })  # fmt: skip
    target = tmp_path / "applied"
    assert run("export", folder.folder, "--apply", target) == 2
    said = capsys.readouterr().err
    assert "1 of 6 key facts are undecided: kv/doc1/1 (no majority)" in " ".join(said.split())
    assert not target.exists()
    with CampaignService(folder) as service:
        key = service.tasks.work[3].key
        answer = TaskAnswer(values={**VALID, "relevant": False}, comment="not about it")
        adjudicate(service, [Decision(key, answer, "lead")])
    assert run("export", folder.folder, "--apply", target) == 0
    out = capsys.readouterr().out
    assert "6 key facts: 1 kept, 1 reworded, 4 dropped" in out
    assert "documents without a key fact: doc2" in out
    before, after = folder.data, load(target)
    assert {name: one.key_facts for name, one in after.documents.items()} == {
        "doc0": ("It was opened in June.",), "doc1": before.documents["doc1"].key_facts[:1], "doc2": (),
    }  # fmt: skip
    assert after.summaries == before.summaries
    rows = [json.loads(one) for one in (target / "keyfacts.changes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(one["document_id"], one["index"], one["action"]) for one in rows] == [
        ("doc0", 0, "dropped"), ("doc0", 1, "reworded"), ("doc1", 0, "kept"),
        ("doc1", 1, "dropped"), ("doc2", 0, "dropped"), ("doc2", 1, "dropped"),
    ]  # fmt: skip
    assert (rows[0]["valid"], rows[0]["answers"], rows[0]["lacks"]) == (1, 3, {"correct": 2})
    assert rows[0]["why"] == ["It was June."]
    assert (rows[1]["key_fact"], rows[1]["text"]) == (before.documents["doc0"].key_facts[1], "It was opened in June.")
    assert [one["decided_by"] for one in rows] == [None, None, None, "lead", None, None]
    assert rows[3]["why"] == ["It was June.", "not about it"]
    assert (rows[3]["answers"], rows[3]["lacks"]) == (3, {"correct": 2})  # votes of annotators only
    # A folder is replaced only where that is asked for, and only if it holds a dataset.
    assert run("export", folder.folder, "--apply", target) == 2
    assert run("export", folder.folder, "--apply", target, "--force") == 0
    assert run("export", folder.folder, "--apply", tmp_path, "--force") == 2


def test_one_folder_cannot_take_key_facts_and_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = validation(tmp_path, {})
    target = tmp_path / "out"
    for data in (target, tmp_path / "x" / ".." / "out", target / "labels"):
        assert run("export", folder.folder, "--apply", target, "--data", data, "--force") == 2
        assert "one would replace the other; nothing was written" in " ".join(capsys.readouterr().err.split())
        assert not target.exists()
    assert run("export", folder.folder, "--apply", target, "--data", tmp_path / "labels") == 0


def test_the_output_folder_is_checked_before_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = validation(tmp_path, {})
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    events = tmp_path / "events.jsonl"
    arguments = ["--events", events, "--apply", tmp_path / "out", "--data", tmp_path / "taken"]
    assert run("export", folder.folder, *arguments) == 2
    assert "is not a dataset; nothing was written" in " ".join(capsys.readouterr().err.split())
    assert not events.exists()
    assert not (tmp_path / "out").exists()
    assert not (folder.folder / "judgments" / "human.raw.jsonl").exists()


def test_unfinished_or_other_campaigns_cannot_be_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = validation(tmp_path / "few", {0: [VALID]})
    assert run("export", folder.folder, "--apply", tmp_path / "x") == 2
    assert "kv/doc0/0 (1 of 3 answers)" in capsys.readouterr().err
    other = made.make(tmp_path / "other")
    with CampaignService(other) as service:
        crowds.say(service, service.tasks.work[0].key, {"anna": crowds.YES})
    assert run("export", other.folder, "--apply", tmp_path / "x") == 2
    assert "only key_fact_validation changes key facts" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "x").exists()


def test_rewording_requires_an_invalid_key_fact(tmp_path: Path) -> None:
    folder = validation(tmp_path, {})
    with CampaignService(folder) as service:
        task, task_type = service.tasks.work[0], service.task_type
        with pytest.raises(InvalidAnswer):
            task_type.read({"values": {**VALID, "edit": "Other."}}, task)
        for text, settled in ((task.body["key_fact"], False), (" One \n two. ", "One two."), ("Two.", "Two.")):
            assert outcome(task, task_type.read({"values": {**WRONG, "edit": text}}, task)) == settled


def test_exports_contain_no_reverted_labels(tmp_path: Path) -> None:
    folder, (_, second) = answered(tmp_path, "fact_verification", {"values": {"label": "supported"}})
    assert run("export", folder.folder) == 0
    place = folder.folder / "judgments"
    assert {file.name for file in place.iterdir()} == {f"{name}.jsonl" for name in SETS}
    with CampaignService(folder) as service:
        lead = Visitor(ADJUDICATOR, "lead")
        (shown,) = service.request("session", lead)["batch"]["tasks"]
        service.request("reopen", lead, {"task": shown["id"]})
        assert second.key not in service.state.adjudicated
    assert run("export", folder.folder) == 0
    assert {file.name for file in place.iterdir()} == {"human.raw.jsonl", "human.merged.jsonl"}
    with CampaignService(folder) as service:
        service.exclude("anna", "clicked through", by="lead")
    assert run("export", folder.folder) == 0
    assert [(file.name, file.read_text()) for file in place.iterdir()] == [("human.raw.jsonl", "")]


def test_downloads_do_not_change_the_campaign_folder(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(1, 1, 1), attention={"rate": 0})
    with CampaignService(folder) as service:
        crowds.say(service, service.tasks.work[0].key, {"anna": crowds.YES})
    assert run("export", folder.folder, "--complete-only") == 0
    merged = folder.folder / "judgments" / "human.merged.jsonl"
    before = merged.read_text()
    assert '"1 of 3 answers"' in before
    with CampaignService(folder, readonly=True) as service:
        content = content_of(service, "judgments")
    with ZipFile(BytesIO(content)) as archive:
        assert set(archive.namelist()) == {"human.raw.jsonl", "human.merged.jsonl"}
        assert b'"label":1' in archive.read("human.merged.jsonl")
    assert merged.read_text() == before


def test_a_study_of_votes_says_that_adjudicated_labels_are_left_out(tmp_path: Path) -> None:
    folder, _ = answered(
        tmp_path, "fact_verification", {"values": {"label": "not_supported", "error_types": THREE[:1]}}
    )
    data = exported(folder, tmp_path)
    data = data.with_judgments("human.adjudicated", data.judgments(MERGED))
    fake.make(tmp_path / "run", made.rows(), judges=((JUDGE, typed),))
    for judgment_set, said in (("human.raw", True), (MERGED, False)):
        notes = errors(RunFolder(tmp_path / "run"), data, judgment_set=judgment_set).notes
        assert any("without the adjudicated labels" in note for note in notes) is said
