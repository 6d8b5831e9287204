"""`faithjudge` is shown people's findings on other summaries of the document, and never those on the judged text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, ok

import summeter as sm
from summeter.evaluators.faithjudge.judge import Example, FaithJudge, annotated
from summeter.records import Item

EXAMPLE = Path(__file__).parents[3] / "examples" / "nine_domains" / "summaries.jsonl"
ROWS = [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()][:12]
TEXT = "Ana sold the boat to her brother in May. She then bought an old mill near the river."


def answer(call: Call) -> Reply:
    verdict = "inconsistent" if "41 months" in call.prompt.partition("<<<summary")[2] else "consistent"
    quotes = ["for 41 months"] if verdict == "inconsistent" else []
    return ok(json.dumps({"reason": "So it says.", "quotes": quotes, "verdict": verdict}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    monkeypatch.setenv("STUB_API_KEY", "none")
    with StubServer(answer) as stub:
        yield stub


def judge(server: StubServer, spec: str, out: Path, rows: list[dict[str, Any]], **options: Any) -> sm.Run:
    return sm.evaluate(rows, [spec], models="openai-api/stub/m", base_url=server.url, out=out, **options)


def row(system: str, summary: str, **human: Any) -> dict[str, Any]:
    return {"doc_id": "d", "system": system, "document": TEXT, "summary": summary, "human": human}


def shown(rows: list[dict[str, Any]], system: str, judge: FaithJudge | None = None) -> list[Example]:
    data = sm.load(rows)
    ((document, summaries),) = data.items()
    (summary,) = (one for one in summaries if one.system == system)
    return list((judge or FaithJudge()).with_data(data).examples(Item(document=document, summary=summary)))


def fenced(prompt: str, name: str) -> list[str]:
    return re.findall(rf"<<<{name} [\w ]+>>>\n(.*?)\n<<<end of {name}", prompt, re.DOTALL)


def test_a_run_on_the_example(server: StubServer, tmp_path: Path) -> None:
    run = judge(server, "faithjudge", tmp_path / "run", ROWS)
    found = {one.target.system: one for one in run.judgments() if one.target.document_id == "news-1"}
    cedar = found["cedar"]
    assert (cedar.label, cedar.value, found["aster"].label) == (0, 0.0, 1)
    assert [span.cut(ROWS[2]["summary"]) for span in cedar.evidence] == ["for 41 months"]
    assert "|examples:" in cedar.signature
    # What cedar got wrong is shown with the other summaries, and its own text only as the text to judge.
    prompts = {fenced(call.prompt, "summary")[0]: fenced(call.prompt, "example") for call in server.calls}
    assert all("predicate error" in " ".join(prompts[one["summary"]]) for one in ROWS[:2])
    for summary, examples in prompts.items():
        assert examples
        assert max(SequenceMatcher(None, summary, text.partition("\n\n")[0]).ratio() for text in examples) < 0.9
    asked = len(server.calls)
    again = sm.evaluate(ROWS, run.specs, models="openai-api/stub/m", replay=run.folder, out=tmp_path / "again")
    assert [one.line for one in again.judgments()] == [one.line for one in run.judgments()]
    assert len(server.calls) == asked


def test_other_labels_are_another_judge(server: StubServer, tmp_path: Path) -> None:
    rows = [row("a", "Ana sold a boat.", sentence_labels=[1]), row("b", "Ana bought a mill.")]
    first = judge(server, "faithjudge", tmp_path / "run", rows)
    rows[0]["human"] = {"sentence_labels": [0]}
    second = judge(server, "faithjudge", tmp_path / "other", rows)
    assert {one.signature for one in first.judgments()}.isdisjoint(one.signature for one in second.judgments())
    # Only b has an annotated summary beside it.
    assert {one.target.system: one.status for one in first.judgments()} == {"a": "skipped", "b": "ok"}


COPIES = {
    "another system's copy": TEXT,
    "case, blanks and punctuation": TEXT.upper().replace(". ", "\n\n").replace(".", "!"),
    "one word changed": TEXT.replace("brother", "sister"),
    "a word changed in each sentence": TEXT.replace("brother", "sister").replace("old", "new"),
    "a sentence added": f"{TEXT} It burnt down before anybody could move in, and the insurance did not pay for it.",
    "the first sentence only": TEXT.partition(" She")[0],
    "one sentence shared": "It is a long story that begins with a quarrel. She then bought an old mill near the river.",
    "inside a longer text": f"There was a quarrel, which nobody had foreseen. {TEXT.lower()} Then came the winter.",
}


@pytest.mark.parametrize("name", COPIES)
def test_findings_on_the_judged_text_are_not_shown(name: str) -> None:
    rows = [row("judged", TEXT), row("other", COPIES[name], sentence_error_types=None, ratings={"coherence": 3})]
    count = len(next(one for one in sm.load(rows).summaries if one.system == "other").sentences)
    rows[1]["human"] = {"sentence_labels": [0] * count}
    rows.append(row("third", "A mill was bought after the sale of a boat.", sentence_labels=[0]))
    assert [example.system for example in shown(rows, "judged")] == ["third"]


def test_own_findings_are_not_shown_whatever_the_text() -> None:
    """An audit changes the text of a summary; the labels of the unchanged text are still those of the summary."""
    data = sm.load([row("a", TEXT, sentence_labels=[0, 1]), row("b", "Somebody sold something.", sentence_labels=[1])])
    ((document, (summary, _)),) = data.items()
    changed = summary.model_copy(update={"text": "Nothing happened.", "sentences": ()})
    judge = FaithJudge().with_data(data)
    assert [example.system for example in judge.examples(Item(document=document, summary=changed))] == ["b"]


def test_findings_by_annotator_and_kind_of_label() -> None:
    spans = [{"annotator": "x", "start": 0, "end": 8, "label": "entity error"}]
    rows = [
        row("spans", "Ana left home.", spans=spans, span_annotators=["x", "y"]),
        row("labels", "Ana left. Bo came.", sentence_labels=[{"x": 1, "y": None}, {"x": "predicate error", "y": 1}]),
        row("rated", "Ana stayed.", ratings={"faithfulness": 2}),
    ]
    (examples,) = annotated(sm.load(rows)).values()
    found = {example.system: [list(finding.passages) for finding in example.findings] for example in examples}
    assert {name: [[(one.text, one.error_type) for one in each] for each in of] for name, of in found.items()} == {
        "spans": [[("Ana left", "entity error")], []],
        "labels": [[("Bo came.", "predicate error")], []],
    }


def test_adjudicated_labels_replace_those_of_annotators() -> None:
    data = sm.load(
        [row("a", "Ana left.", sentence_labels=[{"x": 0, "y": 1}]), row("b", "Bo left.", sentence_labels=[0])]
    )
    first = next(one for one in data.judgments("human.raw") if one.judge == "y")
    (examples,) = annotated(data.with_judgments("human.adjudicated", [first])).values()
    assert [[len(finding.passages) for finding in example.findings] for example in examples] == [[0], [1]]


def test_without_examples_it_skips_or_asks(server: StubServer, tmp_path: Path) -> None:
    rows = [row("a", "Ana left."), row("b", "Bo left.")]
    (one, _) = judge(server, "faithjudge", tmp_path / "run", rows).judgments()
    assert (one.status, one.value, len(server.calls)) == ("skipped", None, 0)
    (one, _) = judge(server, "faithjudge[unannotated=ask]", tmp_path / "asked", rows).judgments()
    assert (one.status, one.label) == ("ok", 1)
    assert "<<<example" not in server.calls[0].prompt


def test_what_is_no_summary_has_no_verdict() -> None:
    ((document, (summary,)),) = sm.load([row("a", "I cannot do that.")]).items()
    reply = json.dumps({"reason": "It is a refusal.", "quotes": [], "verdict": "invalid"})
    (found,) = FaithJudge().read(reply, Item(document=document, summary=summary), "strict", "s")
    assert (found.status, found.value) == ("skipped", None)


def test_a_member_of_an_ensemble_has_examples(server: StubServer, tmp_path: Path) -> None:
    rows = [row("a", "Ana sold a boat.", sentence_labels=[1]), row("b", "Ana bought a mill.", sentence_labels=[1])]
    run = judge(server, "ensemble[of=faithjudge+faithjudge[at_most=1]]", tmp_path / "run", rows)
    assert len(server.calls) == 2  # the prompts of both members are the same
    assert all("<<<example" in call.prompt for call in server.calls)
    assert {one.status for one in run.judgments() if one.judge == "ensemble"} == {"ok"}
