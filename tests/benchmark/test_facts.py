"""The step `facts`: proposals, votes, dropped key facts and their origins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.benchmark.facts import PROPOSED, REJECTED, UNVOTED, FactsSettings
from summeter.benchmark.facts import STEP as FACTS
from summeter.benchmark.step import DROPPED, run_step
from summeter.data.dataset import Dataset, load, save
from summeter.models.providers.scripted import Scripted
from summeter.records import CoverageError, Summary, UsageError

DOCUMENTS = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose. A dog barked.", "domain": "news"},
    {"doc_id": "b", "document": "The shop opened in May. Many came.", "domain": "trade", "reference": "A shop opened."},
]
FACTS_OF = {"It rained": ["It rained on Monday.", "The river rose.", "A dog barked."], "shop": ["A shop opened."]}


def script(folder: Path, name: str, *rules: dict[str, Any]) -> str:
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(json.dumps(rule) for rule in rules))
    return f"scripted/{file}"


def votes(*useful: str) -> dict[str, Any]:
    return {str(place): {"reason": f"Reason {place}.", "useful": vote} for place, vote in enumerate(useful, 1)}


def voter(folder: Path, name: str, *useful: str, shop: str = "yes") -> str:
    """A model that votes so on the three key facts of the first document, and `shop` on that of the second."""
    return script(
        folder, name, {"match": "It rained", "reply": votes(*useful)}, {"match": "shop", "reply": votes(shop)}
    )


def proposer(folder: Path) -> str:
    rules = [{"match": match, "reply": {"key_facts": facts}} for match, facts in FACTS_OF.items()]
    return script(folder, "judge", *rules)


def models(folder: Path, *validators: str) -> dict[str, str]:
    names = ("validator", "validator2", "validator3")
    return {"judge": proposer(folder), **dict(zip(names, validators, strict=False))}


def documents() -> Dataset:
    return load([{**row, "system": "s", "summary": "One sentence."} for row in DOCUMENTS])


def drawn(data: Dataset, settings: FactsSettings, folder: Path) -> tuple[Dataset, list[dict[str, Any]]]:
    """Return the data of the step, and the records that it left out."""
    source, out = folder / f"data-{data.hash[:8]}", folder / "steps" / "facts"
    save(data, source, force=True)
    run_step(FACTS, source, out, settings)
    dropped = out / DROPPED
    return load(out), list(map(json.loads, dropped.read_text().splitlines())) if dropped.exists() else []


def three(folder: Path) -> dict[str, str]:
    """Of the first document the first is useful to all, the second to one of three, the third to two."""
    return models(
        folder,
        voter(folder, "v1", "yes", "no", "yes"),
        voter(folder, "v2", "yes", "no", "no"),
        voter(folder, "v3", "yes", "yes", "yes"),
    )


def test_what_most_validators_reject_is_dropped_and_the_rest_keeps_its_votes(tmp_path: Path) -> None:
    facts, dropped = drawn(documents(), FactsSettings(models=three(tmp_path)), tmp_path)
    kept = facts.documents["a"].key_facts
    assert kept == ("It rained on Monday.", "A dog barked.")
    assert [(row["id"], row["reason"]) for row in dropped] == [("a/1", REJECTED)]
    origins = facts.fact_origins["a"]
    assert [[vote.useful for vote in origin.votes] for origin in origins] == [[True] * 3, [True, False, True]]
    assert origins[1].votes[1].reason == "Reason 3."
    assert [vote.judge for vote in origins[0].votes] == ["validator", "validator2", "validator3"]
    assert {origin.origin for origin in origins} == {"document"}
    assert facts.fact_origins["b"][0].origin == "reference"
    assert origins[0].model == proposer(tmp_path)


def test_votes_in_the_form_of_figure_8_are_read(tmp_path: Path) -> None:
    """UniSumEval's validators reply with a list of objects, in any order; ids count from 1."""
    reply = [
        {"statement_id": number, "statement": text, "response": response, "reason": f"Reason {number}."}
        for number, text, response in ((2, "The river rose.", "No"), (1, "It rained on Monday.", "Yes"),
                                       (3, "A dog barked.", "Yes"))
    ]  # fmt: skip
    shop = [{"statement_id": "1", "statement": "A shop opened.", "response": "Yes", "reason": "Central."}]
    validator = script(
        tmp_path, "v", {"match": "It rained", "reply": json.dumps(reply)}, {"match": "shop", "reply": json.dumps(shop)}
    )
    facts, dropped = drawn(documents(), FactsSettings(models=models(tmp_path, validator)), tmp_path)
    assert facts.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")
    lines = (tmp_path / "steps" / "facts" / PROPOSED).read_text().splitlines()
    reasons = [json.loads(line)["votes"][0]["reason"] for line in lines]
    assert reasons == ["Reason 1.", "Reason 2.", "Reason 3.", "Central."]
    assert [row["what"] for row in dropped] == ["key fact"]


def test_the_folder_holds_the_key_facts_their_origin_and_what_was_dropped(tmp_path: Path) -> None:
    source = tmp_path / "data"
    save(documents(), source)
    manifest = run_step(FACTS, source, tmp_path / "facts", FactsSettings(models=three(tmp_path)))
    back = load(tmp_path / "facts")
    assert back.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")
    assert back.fact_origins["a"][1].votes[1].useful is False
    assert len(back.summaries) == 2, "the stand-ins of the run are no summaries of the data"
    text = (tmp_path / "facts" / "keyfacts.jsonl").read_text() + (tmp_path / "facts" / "documents.jsonl").read_text()
    assert text.count("The river rose.") == 1, "a rejected key fact stands in its document alone"
    proposed = [json.loads(line) for line in (tmp_path / "facts" / PROPOSED).read_text().splitlines()]
    assert [(row["document_id"], row["index"], row["kept"]) for row in proposed] == [
        ("a", 0, True), ("a", 1, False), ("a", 2, True), ("b", 0, True),
    ]  # fmt: skip
    assert manifest.counts_out["key_facts"] == 3
    assert manifest.counts_out["key_facts_proposed"] == 4
    assert manifest.dropped == {f"key fact: {REJECTED}": 1}
    (dropped,) = [json.loads(line) for line in (tmp_path / "facts" / DROPPED).read_text().splitlines()]
    assert dropped["id"] == "a/1"
    assert "validator2: Reason 2." in dropped["detail"]
    assert manifest.details["votes"]["validator2"] == {"votes": 4, "useful": 2}
    assert manifest.details["by_origin"] == {"document": 3, "reference": 1}


def test_the_same_step_again_gives_the_same_bytes_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, settings = tmp_path / "data", FactsSettings(models=three(tmp_path))
    save(documents(), source)
    first = run_step(FACTS, source, tmp_path / "facts", settings)
    monkeypatch.setattr(Scripted, "complete", None)  # whoever is asked now fails
    again = run_step(FACTS, source, tmp_path / "facts", settings)
    assert again.files == first.files


def test_a_changed_setting_proposes_anew(tmp_path: Path) -> None:
    save(documents(), tmp_path / "data")
    for at_most, proposed in ((None, 4), (2, 3)):
        settings = FactsSettings(models=three(tmp_path), at_most=at_most)
        assert (
            run_step(FACTS, tmp_path / "data", tmp_path / "facts", settings).counts_out["key_facts_proposed"]
            == proposed
        )


def test_a_scripted_model_that_says_something_else_is_asked_again(tmp_path: Path) -> None:
    source, settings = tmp_path / "data", FactsSettings(models=three(tmp_path))
    save(documents(), source)
    first = run_step(FACTS, source, tmp_path / "facts", settings)
    for name in ("v1", "v2", "v3"):
        voter(tmp_path, name, "yes", "yes", "yes")
    again = run_step(FACTS, source, tmp_path / "facts", settings)
    assert again.counts_out["key_facts"] > first.counts_out["key_facts"]


def test_key_facts_of_documents_that_have_no_summary_yet(tmp_path: Path) -> None:
    data = documents()
    bare = Dataset(data.documents, [], {}, data.card)
    facts, _ = drawn(bare, FactsSettings(models=models(tmp_path)), tmp_path)
    assert facts.documents["a"].key_facts == tuple(FACTS_OF["It rained"])
    assert facts.summaries == ()


def test_given_key_facts_stay_and_are_replaced_only_where_asked(tmp_path: Path) -> None:
    data = documents().with_key_facts({"a": ["It was wet."]})
    kept, _ = drawn(data, FactsSettings(models=three(tmp_path)), tmp_path)
    assert kept.documents["a"].key_facts == ("It was wet.",)
    assert kept.fact_origins["a"][0].origin == "given"
    assert kept.fact_origins["a"][0].votes == ()
    replaced, _ = drawn(data, FactsSettings(models=three(tmp_path), source="document"), tmp_path)
    assert replaced.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")


def test_a_document_without_a_usable_vote_has_no_key_facts_and_is_named(tmp_path: Path) -> None:
    mute = script(tmp_path, "mute", {"match": "It rained", "reply": "no idea"}, {"reply": votes("yes")})
    facts, dropped = drawn(documents(), FactsSettings(models=models(tmp_path, mute)), tmp_path)
    assert facts.documents["a"].key_facts == ()
    assert facts.documents["b"].key_facts == ("A shop opened.",)
    assert {row["reason"] for row in dropped if row["what"] == "key fact"} == {UNVOTED}
    assert [(row["id"], "no usable reply" in row["detail"]) for row in dropped if row["what"] == "key facts"] == [
        ("a", True)
    ]


def test_no_key_fact_at_all_is_an_error_that_says_why(tmp_path: Path) -> None:
    source = tmp_path / "data"
    save(documents(), source)
    none = voter(tmp_path, "none", "no", "no", "no", shop="no")
    with pytest.raises(CoverageError, match=r"no document has key facts \(a: the validators rejected all 3"):
        run_step(FACTS, source, tmp_path / "facts", FactsSettings(models=models(tmp_path, none)))
    assert not (tmp_path / "facts").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"judge": "x/y", "validators": "x/y"}, "with 2 models, use judge, validator"),
        ({"validator": "x/y"}, "with 1 models, use judge"),
        ({}, "at least 1"),
    ],
)
def test_roles_that_are_no_roles_of_the_step_are_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        FactsSettings(models=given)


def test_other_key_facts_take_the_judgments_that_count_in_them_along() -> None:
    human = {"key_fact_labels": [1], "conciseness_labels": [1], "sentence_labels": [1]}
    rows = [{**row, "system": "s", "summary": "One.", "key_facts": ["F."], "human": human} for row in DOCUMENTS]
    data = load(rows)
    other = data.with_key_facts({"a": ["G."]})
    left = {(judgment.target.document_id, judgment.aspect) for judgment in other.judgments("human.raw")}
    every = {(judgment.target.document_id, judgment.aspect) for judgment in data.judgments("human.raw")}
    assert every - left == {("a", "completeness"), ("a", "conciseness")}
    assert other.documents["b"].key_facts == ("F.",)
    with pytest.raises(UsageError, match="no document 'c'"):
        data.with_key_facts({"c": ["G."]})


def test_a_document_of_two_lengths_of_origins_is_refused(tmp_path: Path) -> None:
    facts, _ = drawn(documents(), FactsSettings(models=three(tmp_path)), tmp_path)
    summaries = [Summary(document_id="a", system="s", text="One.", splitter="none")]
    with pytest.raises(UsageError, match="2 origins for the 0 key facts of document 'a'"):
        Dataset(documents().documents, summaries, {}, facts.card, fact_origins=facts.fact_origins)
