"""`omissions` and `qapyramid`: what a summary leaves out, ordered by importance, as key facts like all others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, ok

import summeter as sm
from summeter.evaluators.omission.omissions import Omissions, SourceFact
from summeter.models.structured import Answer
from summeter.records import Judgment
from summeter.report import page

EXAMPLE = Path(__file__).parents[3] / "examples" / "nine_domains" / "summaries.jsonl"
ROWS = [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()][:8]
"""Eight summaries of the bundled example, of two documents, with key facts and people's labels on them."""
GRADES = ("minor", "important", "essential")


def fenced(prompt: str, name: str) -> str:
    found = re.search(rf"<<<{name} \w+>>>\n(.*?)\n<<<end of {name}", prompt, re.DOTALL)
    assert found is not None
    return found[1]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d[\d,.]*\d|\d", text))


def answer(call: Call) -> Reply:
    """Answer like a judge that knows only numbers: a statement is present if the summary has its numbers."""
    summary = numbers(fenced(call.prompt, "summary")) if "<<<summary" in call.prompt else set()
    if "what is missing" in call.prompt:
        sentences = re.split(r"(?<=[.]) ", fenced(call.prompt, "document").replace("\n", " "))[:3]
        facts = [
            {"fact": text, "importance": grade, "quote": text, "present": "yes" if numbers(text) <= summary else "no"}
            for text, grade in zip(sentences, GRADES, strict=True)
        ]
        return ok(json.dumps({"facts": facts}))
    if "<<<questions" in call.prompt:
        asked = re.findall(r"\((\d+)\) (.*)", fenced(call.prompt, "questions"))
        said = {key: {"quote": "", "present": "yes" if numbers(text) <= summary else "no"} for key, text in asked}
        return ok(json.dumps(said))
    questions = [{"question": "How much is said", "answer": text} for text in numbers(call.prompt)][:4]
    return ok(json.dumps({"questions": questions}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    monkeypatch.setenv("STUB_API_KEY", "none")
    with StubServer(answer) as stub:
        yield stub


def judge(server: StubServer, spec: str, out: Path, rows: list[dict[str, Any]] = ROWS, **options: Any) -> sm.Run:
    return sm.evaluate(rows, [spec], models="openai-api/stub/m", base_url=server.url, out=out, **options)


def test_omissions_are_key_facts_by_importance(server: StubServer, tmp_path: Path) -> None:
    run = judge(server, "omissions", tmp_path / "run")
    assert len(server.calls) == len(ROWS)
    first = [one for one in run.judgments() if one.target.document_id == "news-1" and one.target.system == "aster"]
    assert [(one.target.unit, one.target.index, (one.reason or "").split()[0]) for one in first] == [
        ("key_fact", 0, "essential"), ("key_fact", 1, "important"), ("key_fact", 2, "minor"),
    ]  # fmt: skip
    missing = next(one for one in first if not one.label)
    (span,) = missing.evidence
    assert missing.claim is not None
    assert (span.of, span.cut(ROWS[0]["document"]).split()) == ("document", missing.claim.text.split())
    scores = {(score.doc_id, score.system): score for score in run.scores()}
    assert len(scores) == len(ROWS)
    assert scores["news-1", "aster"].value == pytest.approx(sum(one.label == 1 for one in first) / 3)
    # The page shows the facts of each summary; people's completeness is compared by summary.
    card = next(card for card in page([run]).items if card.summary.system == "aster")
    assert [facts.origin for facts in card.facts] == ["document", "given"]  # the second is the list that people judged
    assert missing.claim.text in card.facts[0].texts
    (row,) = (
        row for row in sm.meta.correlate(run, run.data, level="summary", resamples=0) if row.statistic == "pearson"
    )
    assert (row.aspect, row.n) == ("completeness", len(ROWS))


def test_questions_are_written_once_per_document(server: StubServer, tmp_path: Path) -> None:
    run = judge(server, "qapyramid", tmp_path / "run")
    documents = {row["doc_id"] for row in ROWS}
    assert len(server.calls) == len(documents) + len(ROWS)
    (file,) = (tmp_path / "run" / "prepared").iterdir()
    prepared = json.loads(file.read_text("utf-8").splitlines()[0])
    assert prepared["data"]["origin"] == "reference"
    assert all("?" in text for text in prepared["data"]["key_facts"])
    for card in page([run]).items:
        assert card.facts
        assert all(verdict.facts == 0 for verdict in card.verdicts)


def test_questions_in_the_data_are_compared_with_people(server: StubServer, tmp_path: Path) -> None:
    asked = ["For how many months is the bridge closed? 14", "When was it built? 1874"]
    votes = [[1, 0], [1, 0], [0, 1], [1, 1]]
    rows = [
        {**row, "key_facts": asked, "human": {"key_fact_labels": labels}}
        for row, labels in zip(ROWS[:4], votes, strict=True)
    ]
    run = judge(server, "qapyramid[calls=each]", tmp_path / "run", rows)
    assert len(server.calls) == 2 * len(rows)
    study = sm.meta.classify(run, run.data, level="key_fact", resamples=0)
    (row,) = (row for row in study if row.statistic == "balanced_accuracy")
    assert row.n == 8


def test_a_question_without_an_answer_fails_alone(tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text(json.dumps({"reply": {"1": {"quote": "", "present": "no"}, "2": {"quote": ""}}}))
    row = {"document": "Ana left in May.", "summary": "Ana left.", "key_facts": ["Who left? Ana", "When? in May"]}
    found = sm.evaluate([row], ["qapyramid"], models=f"scripted/{rules}", out=tmp_path / "run").judgments()
    assert [(one.status, one.label) for one in found] == [("ok", 0), ("unparsed", None)]


def test_statements_in_the_data_are_no_questions(tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text(json.dumps({"reply": "none"}))
    row = {"document": "Ana left.", "summary": "Ana left.", "key_facts": ["Ana left.", "Who left? Ana"]}
    run = sm.evaluate([row], ["qapyramid[source=given]"], models=f"scripted/{rules}", out=tmp_path / "run")
    assert [(one.status, one.value) for one in run.judgments()] == [("skipped", None)]


def test_windows_are_merged_and_a_failed_window_is_no_verdict(tmp_path: Path) -> None:
    def fact(text: str, importance: str, present: str) -> dict[str, str]:
        return {"fact": text, "importance": importance, "quote": "", "present": present}

    rules = tmp_path / "rules.jsonl"
    text = " ".join(f"Mill {number} burnt down in May, and nobody was hurt there." for number in range(200))
    row = {"document": f"{text} THE END.", "summary": "Mills burnt down."}

    def run(last: object, name: str) -> list[Judgment]:
        first = {"facts": [fact("It was May.", "minor", "no"), fact("Mills burnt down.", "important", "yes")]}
        said = [{"match": "THE END", "reply": last}, {"match": "what is missing", "reply": first}]
        rules.write_text("".join(json.dumps(rule) + "\n" for rule in said))
        options: dict[str, Any] = {"context": {"judge": 3000}, "max_reply": 200}
        return list(
            sm.evaluate(
                [row], ["omissions[at_most=2]"], models=f"scripted/{rules}", out=tmp_path / name, **options
            ).judgments()
        )

    last = {"facts": [fact("Mills burnt  down", "important", "yes"), fact("It ended.", "essential", "no")]}
    found = run(last, "ok")
    assert len(found[0].calls) > 1
    assert [(one.claim and one.claim.text, one.label) for one in found] == [("It ended.", 0), ("Mills burnt down.", 1)]
    (failed,) = run("no idea", "bad")
    assert (failed.status, failed.target.unit) == ("unparsed", "summary")
    assert failed.reason is not None
    assert failed.reason.startswith("window ")


def test_a_fact_with_two_answers_is_no_verdict() -> None:
    ((document, (summary,)),) = sm.load([{"document": "Ana left.", "summary": "Ana left."}]).items()
    facts = [{"fact": "Ana left.", "importance": "minor", "quote": "", "present": said} for said in ("yes", "no")]
    item = sm.Item(document=document, summary=summary)
    (found,) = Omissions().read(json.dumps({"facts": facts}), item, "strict", "s")
    assert (found.status, found.value) == ("unparsed", None)


def test_facts_of_the_same_importance_come_from_the_windows_in_turn() -> None:
    ((document, (summary,)),) = sm.load([{"document": "Ana left.", "summary": "Ana left."}]).items()
    windows = [
        [SourceFact(f"fact {place} of {window}", "essential", window == 0, ()) for place in range(4)]
        for window in range(3)
    ]
    lists = [*windows, [SourceFact("fact 1 of 1", "essential", present=True, quotes=())]]
    answers = [Answer(tuple(facts), "ok", None, (), None) for facts in lists]
    found = Omissions(at_most=6).combine(answers, sm.Item(document=document, summary=summary), ())
    assert isinstance(found, tuple)
    assert [fact.text for fact in found] == [
        "fact 0 of 0", "fact 0 of 1", "fact 0 of 2", "fact 1 of 1", "fact 1 of 0", "fact 1 of 2",
    ]  # fmt: skip
    assert [fact.present for fact in found] == [True, False, False, True, True, False]
