"""The step `annotate`: creating campaigns, waiting for them, and importing their labels."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from annotate.network import CSRF, simulate_over_http
from benchmark.chains import command, write_lines
from together import together

from summeter.annotate.analysis.adjudicate import adjudicate
from summeter.annotate.analysis.key_facts import CHANGES
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.benchmark.annotate import ADJUDICATED, STEP, AnnotateSettings
from summeter.benchmark.chain import chain_status
from summeter.benchmark.step import Manifest, WaitingError, run_step
from summeter.data.dataset import Dataset, load, save
from summeter.data.human_judgments import list_id_of
from summeter.records import FactOrigin, FactVote, InputError, Judgment, Target, UsageError

TOPICS = ("bridge", "market", "school", "harbour")
BAD, DULL = "The sky over the bridge was green.", "Children sang at the market."
BETTER = "Children sang when the market opened."


def documents() -> Dataset:
    """Four documents with two systems' summaries, key facts with their votes, and a machine's verdicts on sentences."""
    rows: list[dict[str, Any]] = []
    for topic in TOPICS:
        text = f"The {topic} was opened in May. The mayor paid for the {topic}. Children sang. It rained at noon."
        facts = [f"The {topic} was opened.", f"The mayor paid for the {topic}."]
        facts += [BAD] if topic == "bridge" else [DULL] if topic == "market" else []
        for system in ("A", "B"):
            told = [f"The {topic} was opened in May by {system}.", f"The mayor of the {topic} paid {system}."]
            row = {"doc_id": topic, "document": text, "domain": topic, "system": system, "summary": " ".join(told)}
            rows.append({**row, "sentences": told, "key_facts": facts})
    data = load(rows)
    vote = FactVote(judge="v", model="n", useful=True)
    origins = {
        doc_id: tuple(
            FactOrigin(proposed=fact, origin="document", model="m", votes=(vote,)) for fact in document.key_facts
        )
        for doc_id, document in data.documents.items()
    }
    data = data.with_key_facts({name: document.key_facts for name, document in data.documents.items()}, origins)
    return data.with_judgments("detector", verdicts(data))


def verdicts(data: Dataset) -> list[Judgment]:
    about = {"aspect": "faithfulness", "judge": "machine", "signature": "machine|v:1"}
    judgments = []
    for place, summary in enumerate(data.summaries):
        for index in range(len(summary.sentences)):
            target = Target(document_id=summary.document_id, system=summary.system, unit="sentence", index=index)
            label = int((place + index) % 3 != 0)
            judgments.append(Judgment(target=target, **about, label=label, value=float(label), reason="So it seems."))
    return judgments


SIMULATED = {"accuracy": 1.0, "key_facts": {BAD: None, DULL: BETTER}}
FREE: dict[str, Any] = {}


SEED = 6
"""By the truth that is drawn from it every key fact is valid, but for the two that the adjudicator decides."""


def settings(**given: Any) -> AnnotateSettings:
    usual = {"simulate": SIMULATED, "adjudicate": "all", "campaign": FREE, "seed": SEED}
    return AnnotateSettings.model_validate({**usual, **given})


def done(folder: Path, given: AnnotateSettings) -> Manifest:
    source = folder / "facts"
    if not source.exists():
        save(documents(), source)
    return run_step(STEP, source, folder / "annotate", given)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """A folder in which the step is done with its usual settings."""
    folder = tmp_path_factory.mktemp("finished")
    return folder, done(folder, settings())


def test_three_campaigns_end_to_end(finished: tuple[Path, Manifest]) -> None:
    folder, manifest = finished
    data = load(folder / "annotate")
    facts, sentences, alignment = manifest.details["campaigns"]
    assert [(row["campaign"], row["kind"], row["tasks"]) for row in (facts, sentences, alignment)] == [
        ("key_facts", "key_fact_validation", 10), ("sentences", "fact_verification", 16),
        ("alignment", "key_fact_alignment", 18),
    ]  # fmt: skip
    assert [row["checks"] for row in (facts, sentences, alignment)] == [3, 4, 5], "a fifth of all tasks, rounded up"
    assert [row["answers"] for row in (facts, sentences, alignment)] == [30, 48, 54], "three people each"
    counts = Counter((judgment.aspect, judgment.target.unit) for judgment in data.judgments("human.raw"))
    assert counts["faithfulness", "sentence"] == 48
    assert counts["completeness", "key_fact"] == 54
    assert counts["conciseness", "sentence"] == 48
    told = [
        judgment.target.document_id for judgment in data.judgments("human.raw") if judgment.aspect == "faithfulness"
    ]
    assert list(dict.fromkeys(told)) == list(TOPICS), "in the order of the data, whatever that of the tasks"
    merged = Counter(judgment.aspect for judgment in data.judgments("human.merged"))
    assert (merged["faithfulness"], merged["completeness"]) == (16, 18)
    assert "detector" in data.judgment_sets, "what was there stays"


def test_a_rejected_key_fact_is_gone_and_a_reworded_one_has_both_texts(finished: tuple[Path, Manifest]) -> None:
    folder, manifest = finished
    data = load(folder / "annotate")
    assert BAD not in data.documents["bridge"].key_facts
    assert data.documents["market"].key_facts[2] == BETTER
    origin = data.fact_origins["market"][2]
    assert (origin.proposed, origin.votes[0].model) == (DULL, "n")
    assert origin.review is not None
    assert origin.review.decided_by == "adjudicator"
    assert "better wording" in origin.review.why
    for file in ("documents.jsonl", "keyfacts.jsonl", "summaries.jsonl"):
        assert BAD not in (folder / "annotate" / file).read_text()
    for judgments in (folder / "annotate" / "judgments").iterdir():
        assert BAD not in judgments.read_text()
    changes = [json.loads(line) for line in (folder / "annotate" / CHANGES).read_text().splitlines()]
    assert Counter(change["action"] for change in changes) == {"kept": 8, "dropped": 1, "reworded": 1}
    assert manifest.dropped == {"key fact: not valid": 1}
    assert manifest.counts_out["key_facts"] == 9
    assert manifest.counts_out["key_facts_reworded"] == 1


def test_votes_on_key_facts_count_in_the_lists_as_they_are_now(finished: tuple[Path, Manifest]) -> None:
    data = load(finished[0] / "annotate")
    lists = {name: list_id_of(document.key_facts) for name, document in data.documents.items()}
    votes = data.judgments("key_facts.human.raw")
    assert len(votes) == 8 * 3, "of those that were kept as they were"
    for judgment in (*votes, *data.judgments("human.raw")):
        if judgment.target.unit == "key_fact":
            assert judgment.target.list_id == lists[judgment.target.document_id]
            assert (judgment.target.index or 0) < len(data.documents[judgment.target.document_id].key_facts)


def test_what_was_adjudicated_is_a_set_of_its_own_and_goes_before_the_majority(tmp_path: Path) -> None:
    noisy = {"accuracy": 0.6}
    manifest = done(tmp_path, settings(simulate=noisy, campaigns={"sentences": {}}))
    data = load(tmp_path / "annotate")
    decided = {judgment.key[2:]: judgment.label for judgment in data.judgments(ADJUDICATED)}
    merged = {judgment.key[2:]: judgment.label for judgment in data.judgments("human.merged")}
    assert len(decided) > 5
    own = {key: label for key, label in decided.items() if key[-1] in ("faithfulness", "completeness")}
    assert {key: merged[key] for key in own} == own
    assert sum(row["adjudicated"] for row in manifest.details["campaigns"]) > 0


def same(first: Manifest, second: Manifest) -> bool:
    return first.files == second.files and first.details == second.details


def test_a_kill_between_any_two_campaigns_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = settings(simulate={"accuracy": 0.7})
    whole = done(tmp_path / "whole", noisy)
    killed = ""

    def dies(service: CampaignService, decisions: Any) -> None:
        adjudicate(service, decisions)
        if service.campaign.name == killed:
            raise KeyboardInterrupt

    for killed in ("key_facts", "sentences", "alignment"):
        monkeypatch.setattr("summeter.benchmark.annotate.adjudicate", dies)
        with pytest.raises(KeyboardInterrupt):
            done(tmp_path / "killed", noisy)
        assert not (tmp_path / "killed" / "annotate").exists()
        work = tmp_path / "killed" / "work" / "annotate"
        assert not (work / killed).exists(), "a campaign is there whole or not at all"
    monkeypatch.undo()
    assert same(whole, done(tmp_path / "killed", noisy))


def test_finished_campaigns_are_not_made_again(
    finished: tuple[Path, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = finished
    monkeypatch.setattr("summeter.benchmark.annotate.build", lambda *_, **__: pytest.fail("made again"))
    assert same(first, done(folder, settings()))


def test_another_gold_makes_simulated_campaigns_anew(tmp_path: Path) -> None:
    labels = {}
    for label in (0, 1):
        rows = [{"doc_id": row.document_id, "document": documents().documents[row.document_id].text,
                 "system": row.system, "summary": row.text, "sentences": list(row.sentence_texts),
                 "human": {"sentence_labels": [label] * 2}} for row in documents().summaries]  # fmt: skip
        save(load(rows), tmp_path / "gold", force=True)
        certain = {"accuracy": 1.0, "gold": str(tmp_path / "gold")}
        done(tmp_path, settings(campaigns={"sentences": {}}, simulate=certain))
        judgments = load(tmp_path / "annotate").judgments("human.merged")
        labels[label] = {judgment.label for judgment in judgments}
    assert labels == {0: {0}, 1: {1}}


def test_with_people_the_step_waits_says_what_to_do_and_carries_on(tmp_path: Path) -> None:
    people = {"platform": {"name": "local", "accounts": ["anna", "ben", "cleo"]}, **FREE}
    given = settings(simulate=None, campaign=people)
    with pytest.raises(WaitingError) as waits:
        done(tmp_path, given)
    work = (tmp_path / "work" / "annotate").resolve()
    said = str(waits.value)
    assert f"key_facts has 0 of 30 answers (`summeter annotate serve {work / 'key_facts'}`)" in said
    assert "sentences has 0 of 48" in said
    assert "\n" not in said, "it stands in a line of `bench status`"
    assert not (work / "alignment").exists(), "it waits for the key facts"
    answer(work / "key_facts")
    with pytest.raises(WaitingError) as waits:
        done(tmp_path, given)
    assert "key_facts" not in str(waits.value)
    assert "alignment has 0 of" in str(waits.value)
    for name in ("sentences", "alignment"):
        answer(work / name)
    manifest = done(tmp_path, given)
    assert manifest.counts_out["judgments/human.raw"] > 0
    task = next(task.key for task in CampaignFolder(work / "key_facts").tasks.work if task.body["key_fact"] == DULL)
    decide = ("annotate", "adjudicate", work / "key_facts", "--set", task, "--answer")
    answers = CampaignFolder(work / "alignment").owner
    assert command(*decide, json.dumps({"values": {"significant": False, "correct": True, "relevant": True}})) == 0
    # Without the key fact, there is less to align, which would lose the answers.
    with pytest.raises(UsageError, match=r"alignment was created with .* lose its [1-9]\d* answers and 0 decisions"):
        done(tmp_path, given)
    assert command(*decide, json.dumps({"values": {"significant": True, "correct": True, "relevant": True}})) == 0
    again = done(tmp_path, given)
    assert CampaignFolder(work / "alignment").owner == answers
    assert again.counts_out["judgments/human.raw"] == manifest.counts_out["judgments/human.raw"]


def answer(folder: Path) -> None:
    """Have everybody answer all of a campaign, as people (nobody is made up)."""
    campaign = CampaignFolder(folder)
    with CampaignService(campaign) as service:
        scripts = crowd(campaign, [Profile(accuracy=1.0)] * 3, Gold(seed=2))
        for script in scripts:
            script.visitor = Visitor("local", script.visitor.id)
        simulate(service, scripts)


CHAIN = """
name: decided
input: docs.jsonl
summarize:
  models: {lead: scripted/rules.jsonl}
annotate:
  adjudicate: nothing
  campaigns: {sentences: {task_type: fact_verification}}
  campaign: {answers_per_item: 2, platform: {accounts: [anna, ben]}}
"""


def chain_file(folder: Path, text: str) -> Path:
    """Write a chain with its documents and its scripted model."""
    docs = [{"doc_id": topic, "document": f"The {topic} was opened in May. It rained."} for topic in TOPICS]
    write_lines(folder / "docs.jsonl", *docs)
    write_lines(folder / "rules.jsonl", {"reply": {"summary": "It was opened in May. It rained."}})
    (folder / "bench.yaml").write_text(text)
    return folder / "bench.yaml"


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """The output of a chain whose people have answered everything: one finds all sentences supported, one none."""
    file, out = chain_file(tmp_path, CHAIN), tmp_path / "out"
    assert command("bench", "run", file, "-o", out) == 130
    with CampaignService(CampaignFolder(campaign_of(out))) as service:
        for name, label in (("anna", "supported"), ("ben", "not_supported")):
            service.request("session", Visitor("local", name))
            batch = service.request("batch", Visitor("local", name), {})["batch"]
            for task in batch["tasks"]:
                types = {} if label == "supported" else {"error_types": ["entity error"]}
                answer = {"values": {"label": label, **types}}
                body = {"task": task["id"], "answer": answer, "seconds": 3.0, "answer_id": f"{name}-{task['id']}"}
                service.request("answers", Visitor("local", name), body)
    assert command("bench", "run", file, "-o", out) == 0
    return out


def campaign_of(out: Path) -> Path:
    return out / "work" / "annotate" / "sentences"


def test_decisions_make_a_finished_step_stale_and_come_into_its_labels(judged: Path) -> None:
    run = ("bench", "run", judged.parent / "bench.yaml", "-o", judged)
    before = load(judged / "annotate").judgments("human.merged")
    assert {judgment.status for judgment in before} == {"skipped"}, "every sentence is a tie"
    first, second = (task.key for task in CampaignFolder(campaign_of(judged)).tasks.work[:2])
    for task, name in ((first, "anna"), (second, "ben")):
        assert command("annotate", "adjudicate", campaign_of(judged), "--set", task, "--as", name) == 0
    assert [row.state for row in chain_status(judged)] == ["done", "stale"]
    assert command(*run) == 0
    assert [row.state for row in chain_status(judged)] == ["done", "done"]
    data = load(judged / "annotate")
    assert sorted(str(judgment.label) for judgment in data.judgments("human.merged")) == ["0", "1", *["None"] * 6]
    assert len(data.judgments("human.adjudicated")) == 2
    assert command("annotate", "exclude", campaign_of(judged), "ben", "--reason", "guesses") == 0
    assert [row.state for row in chain_status(judged)] == ["done", "stale"], "other answers count now"


def test_ties_wait_for_an_adjudicator(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = judged.parent / "bench.yaml"
    file.write_text(CHAIN.replace("adjudicate: nothing", "adjudicate: ties"))
    log = (campaign_of(judged) / "events.sqlite").read_bytes()
    assert command("bench", "run", file, "-o", judged) == 130
    assert "sentences: 8 tasks wait for adjudication" in capsys.readouterr().err
    row = chain_status(judged)[1]
    assert (row.state, row.reason.partition(" (")[0]) == ("waiting", "sentences: 8 tasks wait for adjudication")
    assert load(judged / "annotate").judgments("human.merged"), "the imported labels stay until others are there"
    assert (campaign_of(judged) / "events.sqlite").read_bytes() == log
    for task in CampaignFolder(campaign_of(judged)).tasks.work:
        assert command("annotate", "adjudicate", campaign_of(judged), "--set", task.key, "--as", "anna") == 0
    assert chain_status(judged)[1][1:3] == ("left", "what it waited for is finished")
    assert command("bench", "run", file, "-o", judged) == 0
    assert {judgment.label for judgment in load(judged / "annotate").judgments("human.merged")} == {1}


def test_annotators_and_an_adjudicator_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From documents to a release whose labels follow the adjudicator's decisions."""
    out = tmp_path / "out"
    file = chain_file(tmp_path, CHAIN.replace("nothing", "ties") + "release: {licence: CC0-1.0}\n")
    run = ("bench", "run", file, "-o", out)
    assert command(*run) == 130
    assert "sentences has 0 of 16 answers" in capsys.readouterr().err
    campaign = CampaignFolder(campaign_of(out))
    serve = [sys.executable, "-m", "summeter", "annotate", "serve", str(campaign.folder), "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        links = dict(next(server.stdout).strip().split(": ", 1) for _ in range(5))
        address = links["adjudicator"].partition("/admin")[0]
        # One annotator is always right and the other always wrong, so every task is a tie.
        scripts = crowd(campaign, [Profile(accuracy=1.0), Profile(accuracy=0.0)], Gold(seed=2))
        for script in scripts:
            script.visitor = Visitor("local", script.visitor.id)
        asyncio.run(simulate_over_http(address, scripts))
        assert command(*run) == 130
        assert "sentences: 8 tasks wait for adjudication" in capsys.readouterr().err
        assert states(out) == ["done", "waiting", "left"]
        asyncio.run(decide(links["adjudicator"], ["supported"] * 8))
        assert states(out) == ["done", "left", "left"]
        assert command(*run) == 0
        first = load(out / "release").judgments("human.merged")
        assert [judgment.label for judgment in first] == [1] * 8
        asyncio.run(decide(links["adjudicator"], ["not_supported"]))
        assert states(out) == ["done", "stale", "stale"]
        assert command(*run) == 0
        server.terminate()
    assert sum(judgment.label or 0 for judgment in load(out / "release").judgments("human.merged")) == 7
    assert command("bench", "verify", out / "release") == 0


def states(out: Path) -> list[str]:
    return [row.state for row in chain_status(out)]


async def decide(link: str, labels: list[str]) -> None:
    """Open the link of an adjudicator, and decide tasks in the order of the page."""
    async with aiohttp.ClientSession(link.partition("/admin")[0], cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        assert (await browser.get(f"/admin{link.partition('/admin')[2]}")).url.path == "/work"
        head = {CSRF: (await (await browser.get("/api/session")).json())["csrf"]}
        tasks = (await (await browser.post("/api/batch", json={}, headers=head)).json())["batch"]["tasks"]
        for number, (task, label) in enumerate(zip(tasks, labels, strict=False)):
            types = {"error_types": ["entity error"]} if label == "not_supported" else {}
            answer = {"values": {"label": label, **types}, "comment": "read again"}
            body = {"answer_id": f"{label}-{number}", "task": task["id"], "answer": answer, "seconds": 1.0}
            assert (await browser.post("/api/answers", json=body, headers=head)).status == 200


@pytest.mark.parametrize("again", [True, False])
def test_a_finished_campaign_stays(judged: Path, again: bool) -> None:
    task = CampaignFolder(campaign_of(judged)).tasks.work[0].key
    assert command("annotate", "adjudicate", campaign_of(judged), "--set", task, "--as", "ben") == 0
    if not again:
        (judged.parent / "bench.yaml").write_text(CHAIN.replace("answers_per_item: 2", "answers_per_item: 1"))
    log = (campaign_of(judged) / "events.sqlite").read_bytes()
    run = ("bench", "run", judged.parent / "bench.yaml", "-o", judged)
    assert command(*run, *(["--only", "annotate"] if again else [])) == (0 if again else 2)
    assert (campaign_of(judged) / "events.sqlite").read_bytes() == log


def test_only_what_the_step_simulated_itself_is_replaced(tmp_path: Path) -> None:
    campaigns = {"sentences": {}}
    done(tmp_path / "a", settings(campaigns=campaigns))
    done(tmp_path / "a", settings(campaigns=campaigns, seed=SEED + 1))
    folder = tmp_path / "a" / "work" / "annotate" / "sentences"
    task = CampaignFolder(folder).tasks.work[0].key
    decision = json.dumps({"values": {"label": "supported"}})
    assert command("annotate", "adjudicate", folder, "--set", task, "--answer", decision) == 0
    with pytest.raises(UsageError, match="0 answers and 1 decisions"):
        done(tmp_path / "a", settings(campaigns=campaigns))
    people = settings(campaigns=campaigns, simulate=None, campaign={"platform": {"accounts": ["anna", "ben", "cleo"]}})
    with pytest.raises(WaitingError):
        done(tmp_path / "b", people)
    assert command("annotate", "simulate", tmp_path / "b" / "work" / "annotate" / "sentences") == 0
    with pytest.raises(UsageError, match=r"[1-9]\d* answers and 0 decisions"):
        done(tmp_path / "b", people.model_copy(update={"seed": 99}))


def test_a_log_that_was_changed_is_not_taken_back(tmp_path: Path) -> None:
    done(tmp_path, settings(campaigns={"sentences": {}}))
    log = sqlite3.connect(tmp_path / "work" / "annotate" / "sentences" / "events.sqlite")
    log.execute("UPDATE events SET data = replace(data, 'not_supported', 'supported') WHERE kind = 'answered'")
    log.commit()
    log.close()
    with pytest.raises(InputError, match=r"events\.sqlite"):
        done(tmp_path, settings(campaigns={"sentences": {}}))


def test_the_arms_of_a_campaign_are_one_study(tmp_path: Path) -> None:
    arms = {"task_type": "fact_verification", "arms": ["nothing", "verdict", "verdict_and_reason"]}
    simulated = {"accuracy": 1.0, "trust": 0.5, "trust_reasons": 1.0}
    manifest = done(tmp_path, settings(campaigns={"sentences": arms}, simulate=simulated))
    rows = {(row["statistic"], row["arm"]): row["value"] for row in manifest.details["arms"]}
    by_arm = [rows["checks_passed", arm] for arm in arms["arms"]]
    assert by_arm[0] == 1.0
    assert by_arm[0] > by_arm[2], "who follows every reason follows the planted wrong ones too"
    assert rows["overturned_errors", "verdict_and_reason"] == 0.0
    data = load(tmp_path / "annotate")
    assert {"human.raw", "human.merged", "human.raw.nothing", "human.raw.verdict"} <= set(data.judgment_sets)
    people = [{judgment.judge for judgment in data.judgments(name)} for name in ("human.raw", "human.raw.nothing")]
    assert not people[0] & people[1], "each arm has people of its own"
    votes = [len(data.judgments(name)) for name in ("human.raw", "human.raw.nothing", "human.raw.verdict")]
    assert votes == [48, 48, 48]


def test_summqual_s_campaigns(tmp_path: Path) -> None:
    manifest = done(tmp_path, settings(plan="summqual", simulate={"annotators": 2}))
    assert [(row["campaign"], row["kind"], row["tasks"], row["answers"]) for row in manifest.details["campaigns"]] == [
        ("ratings", "rating", 4, 8), ("passages", "span_highlighting", 8, 16),
    ]  # fmt: skip
    data = load(tmp_path / "annotate")
    aspects = {judgment.aspect for judgment in data.judgments("human.raw")}
    assert {"coherence", "consistency", "coverage", "fluency", "overall"} <= aspects
    assert data.documents["bridge"].key_facts[2] == BAD, "nobody validated key facts"


ONE = {"platform": {"name": "local", "accounts": ["anna"]}}
ARMS = {"sentences": {"task_type": "fact_verification", "arms": ["nothing", "verdict"]}}


@together("given", [
        {"simulate": None, "campaign": ONE},  # one account is too few
        {"simulate": {"lazy": 3}, "campaign": {"attention": {"pass_share": 1.0, "judge_after": 1}}},
        {"campaigns": ARMS, "machine": None},  # there are no verdicts to show
    ],
)  # fmt: skip
def test_campaigns_that_cannot_be_made_or_finished(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        done(tmp_path, settings(**given))
    assert not (tmp_path / "annotate").exists()
