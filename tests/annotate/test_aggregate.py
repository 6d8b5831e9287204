"""Merged labels, checked by hand, and campaigns as gold for studies."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run

from summeter.annotate.analysis.adjudicate import Decision, adjudicate
from summeter.annotate.analysis.aggregate import incomplete, judgments_of, merge, merged_of
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.choices import Level
from summeter.data.dataset import load
from summeter.meta.selection import gold_scores
from summeter.records import Judgment, Span, Target, error_types
from summeter.scoring.pairs import preferences
from summeter.scoring.table import JudgmentTable


def label(who: str, value: int, *, index: int = 0, kind: str | None = None) -> Judgment:
    target = Target(document_id="d", system="A", unit="sentence", index=index)
    return Judgment(target=target, aspect="faithfulness", judge=who, signature="human.sentence_labels|v:1",
                    value=float(value), label=value, error_type=kind)  # fmt: skip


def span(who: str, start: int, end: int, index: int) -> Judgment:
    target = Target(document_id="d", system="A", unit="span", index=index)
    return Judgment(target=target, aspect="faithfulness", judge=who, signature="human.spans|v:1", value=0.0, label=0,
                    error_type="entity error", evidence=(Span(of="summary", start=start, end=end),))  # fmt: skip


def clean(who: str, value: int) -> Judgment:
    return Judgment(target=Target(document_id="d", system="A"), aspect="faithfulness", judge=who,
                    signature="human.spans_none|v:1", value=float(value), label=value)  # fmt: skip


def test_labels_are_merged_by_majority() -> None:
    votes = [label("x", 0, kind="r"), label("y", 0, kind="e"), label("z", 0, kind="e"), label("w", 1),
             label("x", 1, index=1), label("y", 0, index=1)]  # fmt: skip
    first, second = merge(votes)
    assert (first.label, first.error_type, first.judge) == (0, "e", "people")
    assert (second.status, second.label) == ("skipped", None)
    assert "1 for 1, 1 for 0" in (second.reason or "")


def test_merged_spans_are_marked_by_more_than_half() -> None:
    # Three readers: x marks 0-6, y 4-10, z nothing. Two of three marked 4-6 only.
    votes = [span("x", 0, 6, 0), span("y", 4, 10, 1), clean("x", 0), clean("y", 0), clean("z", 1)]
    found = merge(votes)
    marks = [one for one in found if one.target.unit == "span"]
    assert [(one.evidence[0].start, one.evidence[0].end) for one in marks] == [(4, 6)]
    assert next(one for one in found if one.target.unit == "summary").label == 0


def test_raters_do_not_count_as_readers_of_spans() -> None:
    def rating(who: str) -> Judgment:
        return Judgment(target=Target(document_id="d", system="A"), aspect="fluency", judge=who,
                        signature="human.ratings|v:1", value=4.0)  # fmt: skip

    marks = [span("x", 2, 6, 0), span("y", 2, 6, 1), clean("x", 0), clean("y", 0)]
    merged = merge([*marks, *map(rating, ("r1", "r2", "r3"))])
    found = [judgment for judgment in merged if judgment.target.unit == "span"]
    assert [(mark.evidence[0].start, mark.evidence[0].end) for mark in found] == [(2, 6)]


def aligned(*sentences: int) -> dict[str, Any]:
    return {"values": {"sentences": list(sentences)}}


def test_conciseness_equals_that_of_studies(tmp_path: Path) -> None:
    # a and b say that the first sentence carries a fact, each another one; c finds it in neither.
    folder = made.make(
        tmp_path, made.rows(1, 1), task_type="key_fact_alignment", attention={"rate": 0}, order="as_given"
    )
    with CampaignService(folder) as service:
        first, second = (task.key for task in service.tasks.work)
        crowds.say(service, first, {"a": aligned(0), "b": aligned(), "c": aligned()})
        crowds.say(service, second, {"a": aligned(), "b": aligned(0), "c": aligned()})
        raw, merged = (JudgmentTable.of(judgments(service)) for judgments in (judgments_of, merged_of))
        (of_annotators,), (of_campaign,) = (
            gold_scores(table, "conciseness", Level.SENTENCE) for table in (raw, merged)
        )
        assert of_campaign.value.tolist() == of_annotators.value.tolist() == [1.0, 0.0]
        adjudicate(service, [Decision(second, TaskAnswer(**aligned()), "lead")])
        (of_campaign,) = gold_scores(JudgmentTable.of(merged_of(service)), "conciseness", Level.SENTENCE)
        assert of_campaign.value.tolist() == [0.0, 0.0]


def test_yes_no_answers_are_merged_as_in_studies() -> None:
    votes = [clean("x", 1), clean("y", 1), clean("z", 0)]
    (own,) = merge(votes)
    (gold,) = gold_scores(JudgmentTable.of(votes), "faithfulness", Level.SUMMARY)
    assert own.value == gold.value.item() == 1.0


def test_pairs_with_different_rivals_are_not_merged() -> None:
    def choice(who: str, rival: str, value: float) -> Judgment:
        return Judgment(target=Target(document_id="d", system="A", rival=rival, unit="pair"), aspect="overall",
                        judge=who, signature="human.pairs|v:1", value=value, label="A" if value else rival)  # fmt: skip

    found = merge([choice("x", "B", 1), choice("y", "B", 1), choice("x", "C", 0), choice("y", "C", 1)])
    assert [(one.target.rival, one.label, one.status) for one in found] == [("B", "A", "ok"), ("C", None, "skipped")]


def test_pairwise_answers_equal_judgments_of_pairwise_judges(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(1, 2), task_type="pairwise", attention={"rate": 0})
    with CampaignService(folder) as service:
        (task,) = service.tasks.work
        for who, choice in (("anna", "s0"), ("ben", "s1"), ("cleo", "tie")):
            crowds.say(service, task.key, {who: {"values": {"overall": choice}}})
        raw = judgments_of(service)
        merged = merged_of(service)
    assert {(one.target.unit, one.target.system, one.target.rival) for one in raw} == {("pair", "s0", "s1")}
    assert [(one.judge, one.value, one.label) for one in raw] == [
        ("anna", 1.0, None),
        ("ben", 0.0, None),
        ("cleo", 0.5, None),
    ]
    # What scoring makes of a judge's verdicts it makes of people's: each prefers one side, or neither.
    assert [(one.system, one.rival, one.value) for one in preferences(raw)] == [
        ("s0", "s1", 1.0),
        ("s0", "s1", 0.0),
        ("s0", "s1", 0.5),
    ]
    assert [(one.status, one.reason) for one in merged] == [
        ("skipped", "a tie (1 for s0, 1 for s1, 1 for a tie); adjudicate it")
    ]


def test_a_sentence_keeps_all_chosen_error_types(tmp_path: Path) -> None:
    def no(*types: str) -> dict[str, Any]:
        return {"values": {"label": "not_supported", "error_types": list(types)}}

    with CampaignService(made.make(tmp_path)) as service:
        first, second = (task.key for task in service.tasks.work[:2])
        crowds.say(service, first, {"anna": no("relation error", "entity error"), "ben": no("entity error")})
        crowds.say(service, second, {"anna": no("relation error", "entity error"), "ben": no("sentence error")})
        raw = [one.error_type for one in judgments_of(service)]
        merged = [one.error_type for one in merged_of(service)]
    assert raw == ["entity error+relation error", "entity error", "entity error+relation error", "sentence error"]
    # Types that more than half named: both named the one, half the other. Where none is, the first of those named most.
    assert merged == ["entity error", "entity error"]
    assert error_types(raw[0]) == {"entity error", "relation error"}


def test_adjudicated_labels_replace_votes(tmp_path: Path) -> None:
    folder = made.make(tmp_path)
    with CampaignService(folder) as service:
        tied, clear = service.tasks.work[0].key, service.tasks.work[1].key
        crowds.say(service, tied, {"anna": crowds.YES, "ben": crowds.NO})
        crowds.say(service, clear, {"anna": crowds.YES, "ben": crowds.YES})
        assert [one.status for one in merged_of(service)] == ["skipped", "ok"]
        adjudicate(service, [Decision(tied, TaskAnswer(**crowds.NO, comment="the date is wrong"), "lead")])
        found = {(one.target.system, one.target.index, one.target.document_id): one for one in merged_of(service)}
        assert all(one.status == "ok" for one in found.values())
        task = service.tasks.work[0]
        assert found[task.system, task.index, task.document_id].label == 0


def test_conciseness_follows_from_merged_alignments(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(1, 1, 2), task_type="key_fact_alignment", attention={"rate": 0})
    with CampaignService(folder) as service:
        one, two = service.tasks.work
        first, none = aligned(0), aligned()
        crowds.say(service, one.key, {"a": first, "b": first, "c": none})
        assert [found.aspect for found in merged_of(service)] == ["completeness"]
        crowds.say(service, two.key, {"a": none, "b": aligned(1), "c": none})
        found = {(one.aspect, one.target.index): one.label for one in merged_of(service)}
    present = {key: value for key, value in found.items() if key[0] == "completeness"}
    assert sorted(present.values()) == [0, 1]
    # Sentence 0 carries the first key fact; sentence 1, chosen by one of three, carries none.
    assert (found["conciseness", 0], found["conciseness", 1]) == (1, 0)


def test_a_finished_campaign_is_gold_for_studies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The export works with `meta agree`, `meta correlate` and `meta classify`."""
    folder: CampaignFolder = crowds.done(tmp_path, [crowds.GOOD] * 3, made.rows(4, 3, 2))
    gold = tmp_path / "gold"
    assert run("export", folder.folder, "--data", gold) == 0
    capsys.readouterr()
    assert meta("agree", "--gold", gold, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    alpha = next(one for one in rows if one["statistic"] == "alpha_nominal")
    assert (alpha["value"], alpha["n"]) == (1.0, 24)
    outputs = tmp_path / "raw.jsonl"
    lines = [{"doc_id": one.target.document_id, "system": one.target.system, "evaluator": "mine",
              "aspect": "faithfulness", "unit": "sentence", "index": one.target.index, "value": one.label}
             for one in load(gold).judgments("human.merged")]  # fmt: skip
    outputs.write_text("".join(json.dumps(one) + "\n" for one in lines))
    command("outputs", "import", gold, outputs, "-o", tmp_path / "run")
    capsys.readouterr()
    for study in (["classify", "--level", "sentence"], ["correlate", "--level", "summary"]):
        for name in ("human.raw", "human.merged"):
            assert meta(study[0], tmp_path / "run", "--gold", gold, "--judgment-set", name, *study[1:], "--json") == 0
            found = json.loads(capsys.readouterr().out)["rows"]
            agreed = [one["value"] for one in found if one["statistic"] in {"balanced_accuracy", "pearson"}]
            assert agreed
            assert all(one == pytest.approx(1.0) for one in agreed)


def meta(*arguments: object) -> int:
    return command("meta", *arguments)


def command(*arguments: object) -> int:
    from summeter.cli.main import main

    with pytest.raises(SystemExit) as end:
        main([str(one) for one in arguments])
    return int(end.value.code or 0)


def test_a_rarely_asked_question_has_no_merged_answer(tmp_path: Path) -> None:
    bad = {"name": "bad", "question": "How bad?", "type": "scale", "when": {"label": "not_supported"}}
    cure = {"name": "cure", "question": "Cut it?", "type": "yes_no", "when": {"bad": [4, 5]}}
    folder = made.make(tmp_path, made.rows(1, 1, 3), attention={"rate": 0}, order="as_given", questions=[bad, cure])
    yes = crowds.YES
    worst, mild = ({"values": {**crowds.NO["values"], **own}} for own in ({"bad": 5, "cure": True}, {"bad": 2}))
    with CampaignService(folder) as service:
        lone, even, most = (task.key for task in service.tasks.work)
        crowds.say(service, lone, {"anna": worst, "ben": yes, "cleo": yes})
        crowds.say(service, even, {"anna": worst, "ben": yes})
        crowds.say(service, most, {"anna": worst, "ben": mild, "cleo": yes})
        merged = {(row.aspect, row.target.index): row for row in merged_of(service)}
        assert (merged["faithfulness", 0].label, merged["faithfulness", 2].label) == (1, 0)
        assert (merged["bad", 2].status, merged["bad", 2].value) == ("ok", 3.5)
        for name, index, count in (("bad", 0, "1 of 3"), ("cure", 0, "1 of 3"), ("bad", 1, "1 of 2"),
                                   ("cure", 2, "1 of 3")):  # fmt: skip
            row = merged[name, index]
            assert (row.status, row.value, row.label) == ("skipped", None, None)
            assert row.reason == f"asked of {count} annotators only"
        adjudicate(
            service, [Decision(lone, TaskAnswer(**worst), "lead")]
        )  # who decides is asked what their answer asks for
        decided = {(row.aspect, row.target.index): row.value for row in merged_of(service)}
        assert (decided["bad", 0], decided["cure", 0]) == (5.0, 1.0)


def by_index(service: CampaignService, *, complete_only: bool) -> dict[tuple[str, str, int | None], Judgment]:
    found = merged_of(service, complete_only=complete_only)
    return {(one.target.document_id, one.target.system, one.target.index): one for one in found}


def test_incomplete_tasks_are_counted_and_can_be_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path, made.rows(1, 1, 4), attention={"rate": 0}, order="as_given")
    with CampaignService(folder) as service:
        three, two, one, _ = (task.key for task in service.tasks.work)
        crowds.say(service, three, dict.fromkeys("abc", crowds.YES))
        crowds.say(service, two, {"a": crowds.NO, "b": crowds.NO})
        crowds.say(service, one, {"a": crowds.YES})
        assert incomplete(service) == {0: 1, 1: 1, 2: 1}
        loose, strict = (by_index(service, complete_only=only) for only in (False, True))
        assert [loose["doc0", "s0", index].label for index in range(3)] == [1, 0, 1]
        assert ("doc0", "s0", 3) not in loose
        assert strict["doc0", "s0", 0] == loose["doc0", "s0", 0]
        shown = [(strict["doc0", "s0", index].status, strict["doc0", "s0", index].reason) for index in (1, 2)]
        assert shown == [("skipped", "2 of 3 answers"), ("skipped", "1 of 3 answers")]
        assert strict["doc0", "s0", 1].label is strict["doc0", "s0", 1].value is None
        adjudicate(service, [Decision(two, TaskAnswer(**crowds.NO), "lead")])
        assert incomplete(service) == {0: 1, 1: 1}
        assert by_index(service, complete_only=True)["doc0", "s0", 1].label == 0
    assert run("status", folder.folder, "--json") == 0
    status = json.loads(capsys.readouterr().out)["status"]
    assert (status["complete_items"], status["items"]) == (2, 4)  # one with three answers, one adjudicated
    assert run("export", folder.folder) == 0
    said = capsys.readouterr().err
    assert "note: 1 tasks have fewer than 3 answers (1 with 1) and are merged" in said
    assert "note: 1 tasks have no answer and no label" in said
    assert run("export", folder.folder, "--complete-only", "--data", tmp_path / "gold") == 0
    assert "and have no merged label" in capsys.readouterr().err
    skipped = [one for one in (folder.folder / "judgments/human.merged.jsonl").read_text().splitlines()
               if '"1 of 3 answers"' in one]  # fmt: skip
    assert len(skipped) == 1


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_only_incomplete_tasks_lose_labels(task_type: str, tmp_path: Path) -> None:
    folder = made.make(tmp_path, task_type=task_type, answers_per_item=2, attention={"rate": 0}, batch={"size": 2})
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        assert Counter(one.status for one in merged_of(service, complete_only=True)).keys() <= {"skipped"}
        while made.do_batch(service, "anna"):
            pass
        made.do_batch(service, "ben")
        done = {key for key, slots in service.state.items.items() if len(slots.counted) == 2}
        documents = {service.tasks.by_key[key].document_id for key in done}
        found = merged_of(service, complete_only=True)
        # Who is shown which summary as A is drawn from the campaign's secret: two who chose A may differ.
        whole = [one for one in found if one.status == "ok" or (one.reason or "").startswith("a tie")]
        assert whole
        assert {one.target.document_id for one in whole} <= documents
        assert sum(incomplete(service).values()) == len(service.tasks.work) - len(done)
        while made.do_batch(service, "ben"):
            pass
        assert incomplete(service) == {}
        assert merged_of(service, complete_only=True) == merged_of(service)
