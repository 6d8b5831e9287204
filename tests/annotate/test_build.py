"""Building campaigns: errors by field, similar sentences, machine verdicts, checks and CSV files."""

from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path

import pytest
import yaml
from annotate import campaigns as made
from annotate import crowds
from data.hub_cache import fill
from report import fake_runs

from summeter.annotate.campaign.assistance import Similarity, decided, top
from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Names, Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.tasks.task import Task
from summeter.records import InputError, Judgment, Span, Target, UsageError


def test_a_link_cannot_identify_the_preview(tmp_path: Path) -> None:
    """Otherwise the answers of such a visitor would be refused as those of a preview."""
    campaign = made.make(tmp_path).campaign
    accounts = campaign.platform.model_copy(update={"accounts": ("anna", "preview")})
    campaign, names = campaign.model_copy(update={"platform": accounts}), Names("secret")
    for name, query in (
        ("local", lambda person: {"token": names.account(person)}),
        ("prolific", lambda person: {"PROLIFIC_PID": person, "STUDY_ID": "s", "SESSION_ID": "x"}),
        ("mturk", lambda person: {"workerId": person, "assignmentId": "a", "hitId": "h"}),
    ):
        platform = platform_named(name)
        assert platform.identify(query("anna"), names, campaign) is not None
        assert platform.identify(query("preview"), names, campaign) is None
    for person in ("people", "adjudicator", "?1"):  # those of other platforms are kept under pseudonyms
        assert names.annotator(Visitor("prolific", person)).startswith("prolific-")


def test_data_without_tasks_is_refused(tmp_path: Path) -> None:
    data = [{"doc_id": "d", "document": "One.", "summary": "Two."}]
    with pytest.raises(UsageError, match="needs documents with key facts"):
        made.make(tmp_path / "a", data, task_type="key_fact_validation")
    with pytest.raises(UsageError, match="at least two summaries"):
        made.make(tmp_path / "b", data, task_type="pairwise")


def test_equal_campaign_files_give_equal_tasks(tmp_path: Path) -> None:
    one, two = made.make(tmp_path / "a"), made.make(tmp_path / "b")
    assert (one.folder / "tasks.jsonl").read_bytes() == (two.folder / "tasks.jsonl").read_bytes()
    again = CampaignFolder(build(tmp_path / "a" / "plan.yaml", tmp_path / "again"))
    assert (again.folder / "tasks.jsonl").read_bytes() == (one.folder / "tasks.jsonl").read_bytes()
    assert again.keys != CampaignFolder(build(tmp_path / "b" / "plan.yaml", tmp_path / "other")).keys
    assert stat.S_IMODE((again.folder / "keys.json").stat().st_mode) == 0o600
    other = made.make(tmp_path / "c", seed=1)
    assert [task.key for task in other.tasks.work] != [task.key for task in one.tasks.work]
    resolved = yaml.safe_load((one.folder / "campaign.yaml").read_text(encoding="utf-8"))
    assert all(resolved["codes"].values())


@pytest.mark.parametrize(
    ("task_type", "count"),
    [("fact_verification", 12), ("key_fact_validation", 6), ("key_fact_alignment", 12), ("rating", 3),
     ("span_highlighting", 6), ("pairwise", 3)],
)  # fmt: skip
def test_tasks_and_checks_by_task_type(task_type: str, count: int, tmp_path: Path) -> None:
    # 3 documents, 2 systems, 2 sentences, 2 key facts a document.
    folder = made.make(tmp_path, task_type=task_type, attention={"rate": 0.2})
    tasks = folder.tasks
    assert len(tasks.work) == count
    assert len(tasks.checks) == -(-count // 4)  # rate .2: one check to four tasks, rounded up
    documents = [one.document_id for one in tasks.work]
    assert len(list(dict.fromkeys(documents))) == 1 + sum(a != b for a, b in itertools.pairwise(documents))


def test_data_from_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra `hub`), which is not here")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    fill(tmp_path / "hub", "org/rows", {"test.jsonl": "".join(json.dumps(row) + "\n" for row in made.rows())})
    of_file = made.make(tmp_path / "file")
    plan = (tmp_path / "file" / "plan.yaml").read_text("utf-8").replace("data.jsonl", "hf:org/rows#test")
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    of_hub = CampaignFolder(build(tmp_path / "plan.yaml", tmp_path / "hub-campaign"))
    assert (of_hub.folder / "tasks.jsonl").read_bytes() == (of_file.folder / "tasks.jsonl").read_bytes()


def test_similar_sentences() -> None:
    # idf over 3 sentences: cat 1 of 3, "the" 2 of 3. "the cat" is nearest to the sentence that has both.
    near = Similarity(["the cat sat", "the dog ran", "birds sing"])
    scores = near.scores("the cat")
    assert scores[0] > scores[1] > scores[2] == 0
    assert near.scores("the cat sat")[0] == pytest.approx(1)
    assert top(scores, 0.3, 10) == [0]  # .3 * 3 = .9, rounded up
    assert top(scores, 1.0, 10) == [0, 1]  # the third has nothing in common
    # Of a long document not a third, but the best few, the most similar first.
    assert top([index / 1500 for index in range(1500)], 0.3, 10) == list(range(1499, 1489, -1))
    assert Similarity([]).scores("x") == []


def test_similarity_agrees_with_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    sentences = ["the cat sat on the mat", "a dog ran after the cat", "birds sing at dawn"]
    vectors = text.TfidfVectorizer(token_pattern=r"[a-z0-9]+").fit(sentences)
    wanted = pairwise.cosine_similarity(vectors.transform(["the cat ran"]), vectors.transform(sentences))[0]
    assert Similarity(sentences).scores("the cat ran") == pytest.approx(list(wanted), abs=1e-9)


def test_scores_from_a_file_replace_lexical_scores(tmp_path: Path) -> None:
    data = made.rows(1, 1, 1)
    row = {"doc_id": "doc0", "text": data[0]["sentences"][0], "scores": [0, 0, 0, 1]}
    (tmp_path / "scores.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    folder = made.make(tmp_path, data, assistance={"similar": {"scores": "scores.jsonl", "share": 0.25}})
    assert folder.tasks.work[0].assistance == {"similar": [3], "machine": None}
    with pytest.raises(UsageError, match=r"scores.jsonl: has no scores for .* of document 'doc1'; give one row"):
        made.make(tmp_path / "two", made.rows(2, 1, 1), assistance={"similar": {"scores": "../scores.jsonl"}})
    (tmp_path / "scores.jsonl").write_text(json.dumps({**row, "scores": [1]}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores.jsonl:1: scores: has 1 values; give 4"):
        made.make(tmp_path / "again", data, assistance={"similar": {"scores": "../scores.jsonl"}})


def test_checks_have_as_many_similar_sentences_as_work(tmp_path: Path) -> None:
    data = made.rows(2, 1, 2)
    lines = [{"doc_id": one["doc_id"], "text": text, "scores": [0.9, 0.2, 0.1, 0.3]}
             for one in data for text in one["sentences"]]  # fmt: skip
    (tmp_path / "scores.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    plan = {"similar": {"scores": "scores.jsonl", "share": 0.75}}
    folder = made.make(tmp_path, data, assistance=plan, attention={"rate": 0.5})
    every = [*folder.tasks.work, *folder.tasks.checks]
    assert {len((one.assistance or {})["similar"]) for one in every} == {3}  # 0.75 * 4 sentences


def test_tasks_and_checks_have_machine_verdicts_of_a_run(tmp_path: Path) -> None:
    run = fake_runs.make(tmp_path / "run")
    plan = {
        "name": "m", "task_type": "fact_verification", "data": str(run.folder / "data"), "attention": {"rate": 0.4},
        "assistance": {"machine": {"run": "run"}},
    }  # fmt: skip
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    folder = CampaignFolder(build(tmp_path / "plan.yaml", tmp_path / "campaign"))
    said = {(one.target.document_id, one.target.system, one.target.index): one for one in run.judgments()
            if one.aspect == "faithfulness" and one.status == "ok"}  # fmt: skip
    shown = 0
    for task in folder.tasks.work:
        machine = (task.assistance or {}).get("machine")
        judgment = said.get((task.document_id, task.system or "", task.index))
        assert (machine is None) == (judgment is None)
        if machine is not None and judgment is not None:
            shown += 1
            assert machine["accepts"] == (judgment.label == 1)
            assert machine["reason"] == judgment.reason
    assert shown
    verdicts = {
        (one.assistance or {})["machine"]["accepts"] for one in folder.tasks.checks if one.assistance["machine"]
    }
    assert verdicts == {True, False}
    # Nothing beside a check is unlike what stands beside the work: a real verdict's parts, and a reason, if there is
    # one, that was given for the very sentence or speaks of it.
    real = {(one.body["sentence"], one.assistance["machine"]["accepts"]): one.assistance["machine"]["reason"]
            for one in folder.tasks.work if one.assistance and one.assistance["machine"]}  # fmt: skip
    types = {json.dumps(one.assistance["machine"]["values"]) for one in folder.tasks.work
             if one.assistance and one.assistance["machine"]}  # fmt: skip
    for one in folder.tasks.checks:
        machine, sentence = (one.assistance or {})["machine"], one.body["sentence"]
        if machine is not None:
            assert json.dumps(machine["values"]) in types
            assert machine["reason"] in (None, real.get((sentence, machine["accepts"]))) or (
                sentence.rstrip(".") in machine["reason"]
            )


@pytest.mark.parametrize("task_type", crowds.ASPECTS)
def test_the_reason_in_a_check_is_about_its_text(task_type: str, tmp_path: Path) -> None:
    data = made.rows(6, 2, 3)
    folder = crowds.assisted(tmp_path, data, lambda at: at % 2, task_type=task_type, attention={"rate": 0.5})
    assert folder.tasks.checks
    for one in folder.tasks.checks:
        text, reason = str(one.body.get("sentence") or one.body["key_fact"]), (one.machine or {})["reason"]
        assert text.rstrip(".") in reason
        # A foreign sentence with a verdict of the wanted side is found each time.
        assert task_type != "fact_verification" or "was looked at" in reason


def test_checks_use_the_campaigns_templates_in_turn(tmp_path: Path) -> None:
    attention = {"rate": 0.5, "paraphrases": ["So: {}", "{}?"]}
    folder = made.make(tmp_path, task_type="key_fact_alignment", language="de", attention=attention)
    facts = [one.body["key_fact"] for one in folder.tasks.checks if one.expected["sentence"] is not None]
    # A German text is unchanged; an English one would lose the capital of its first word.
    assert [one.startswith("So: The ") for one in facts] == [True, False] * (len(facts) // 2)
    assert all(one.endswith(".?") for one in facts[1::2])


def test_decisions_of_verdicts() -> None:
    target = Target(document_id="d", system="s", unit="key_fact", index=0)
    common = {"target": target, "aspect": "completeness", "judge": "j", "signature": "j|v:1"}
    assert decided(Judgment(**common, label=1)) is True
    assert decided(Judgment(**common, value=0.4)) is False
    assert decided(Judgment(**common, value=4.0)) is None
    body = {"key_fact": "It rained.", "summary": {"text": "Sunny. Rain.", "sentences": [[0, 5], [6, 11]]}}
    task = Task(key="ka/d/s/0", document_id="d", body=body)
    with_span = Judgment(**common, label=1, evidence=(Span(of="summary", start=6, end=9),))
    verdict = made.task_type_of("key_fact_alignment").verdict(with_span, task)
    assert verdict == {"accepts": True, "values": {"sentences": [1]}, "reason": None}


def test_training_tasks_of_the_campaign_file(tmp_path: Path) -> None:
    body = {"summary": {"text": "It rained.", "sentences": [[0, 10]]}, "index": 0, "sentence": "It rained.",
            "error_types": [{"name": "entity error", "meaning": ""}]}  # fmt: skip
    item = {"document": "It rained. We stayed.", "body": body, "expected": {"label": "supported"}, "feedback": "Yes."}
    with CampaignService(made.make(tmp_path, training={"items": [item]})) as service:
        anna = made.who("anna")
        training = service.request("session", anna)["training"]
        assert training["documents"]["d1"]["sentences"] == [[0, 10], [11, 21]]
        task = training["tasks"][0]
        given = made.body(task, seconds=1)
        reply = service.request("training", anna, given)
        assert (reply["passed"], reply["feedback"], reply["stage"]) == (True, "Yes.", "work")


def test_pseudonyms_are_stable_and_signed() -> None:
    names = Names("secret")
    one = Visitor("prolific", "5f1")
    assert names.annotator(one) == names.annotator(Visitor("prolific", "5f1", "other", "session"))
    assert "5f1" not in names.annotator(one)
    assert names.visitor_of(names.cookie(one)) == one
    assert names.visitor_of(Names("other").cookie(one)) is None
    assert names.account_of(names.account("anna.b")) == "anna.b"
    assert names.account_of("anna." + "0" * 32) is None
    assert names.task("anna", "k") != names.task("ben", "k")
