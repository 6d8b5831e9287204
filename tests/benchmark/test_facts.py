"""The step `facts`: proposals, votes, dropped key facts and their origins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import lines

from summeter.benchmark.facts import PROPOSED, REJECTED, UNVOTED, FactsSettings
from summeter.benchmark.facts import STEP as FACTS
from summeter.benchmark.step import DROPPED, Manifest, run_step
from summeter.data.dataset import Dataset, load, save
from summeter.models.providers.scripted import Scripted
from summeter.records import CoverageError, FactOrigin, UsageError

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


def made(folder: Path, given: dict[str, str], data: Dataset | None = None, **more: Any) -> Manifest:
    """Return the manifest of the step with these models, which writes the folder `facts`."""
    save(documents() if data is None else data, folder / "data", force=True)
    return run_step(FACTS, folder / "data", folder / "facts", FactsSettings(models=given, **more))


def drawn(
    folder: Path, given: dict[str, str], data: Dataset | None = None, **more: Any
) -> tuple[Dataset, list[dict[str, Any]]]:
    """Return the data of the step, and the records that it left out."""
    made(folder, given, data, **more)
    return load(folder / "facts"), lines(folder / "facts" / DROPPED)


def three(folder: Path) -> dict[str, str]:
    """Of the first document the first is useful to all, the second to one of three, the third to two."""
    return models(
        folder,
        voter(folder, "v1", "yes", "no", "yes"),
        voter(folder, "v2", "yes", "no", "no"),
        voter(folder, "v3", "yes", "yes", "yes"),
    )


def test_what_most_validators_reject_is_dropped_and_the_rest_keeps_its_votes(tmp_path: Path) -> None:
    manifest = made(tmp_path, three(tmp_path))
    facts, (dropped,) = load(tmp_path / "facts"), lines(tmp_path / "facts" / DROPPED)
    assert facts.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")
    assert (dropped["id"], dropped["reason"]) == ("a/1", REJECTED)
    assert "validator2: Reason 2." in dropped["detail"]
    assert len(facts.summaries) == 2, "the stand-ins of the run are no summaries of the data"
    text = (tmp_path / "facts" / "keyfacts.jsonl").read_text() + (tmp_path / "facts" / "documents.jsonl").read_text()
    assert text.count("The river rose.") == 1, "a rejected key fact stands in its document alone"
    proposed = [(row["document_id"], row["index"], row["kept"]) for row in lines(tmp_path / "facts" / PROPOSED)]
    assert proposed == [("a", 0, True), ("a", 1, False), ("a", 2, True), ("b", 0, True)]
    assert (manifest.counts_out["key_facts"], manifest.counts_out["key_facts_proposed"]) == (3, 4)
    assert manifest.dropped == {f"key fact: {REJECTED}": 1}
    assert manifest.details["votes"]["validator2"] == {"votes": 4, "useful": 2}
    assert manifest.details["by_origin"] == {"document": 3, "reference": 1}
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
    facts, dropped = drawn(tmp_path, models(tmp_path, validator))
    assert facts.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")
    reasons = [row["votes"][0]["reason"] for row in lines(tmp_path / "facts" / PROPOSED)]
    assert reasons == ["Reason 1.", "Reason 2.", "Reason 3.", "Central."]
    assert [row["what"] for row in dropped] == ["key fact"]


def test_the_same_step_again_gives_the_same_bytes_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(tmp_path, three(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Scripted, "complete", None)  # whoever is asked now fails
        assert made(tmp_path, three(tmp_path)).files == first.files
    assert made(tmp_path, three(tmp_path), at_most=2).counts_out["key_facts_proposed"] == 3
    given = three(tmp_path)
    for name in ("v1", "v2", "v3"):  # a script with other replies is another model
        voter(tmp_path, name, "yes", "yes", "yes")
    assert made(tmp_path, given).counts_out["key_facts"] == 4


def test_key_facts_of_documents_that_have_no_summary_yet(tmp_path: Path) -> None:
    facts, _ = drawn(tmp_path, models(tmp_path), Dataset(documents().documents, [], {}, documents().card))
    assert facts.documents["a"].key_facts == tuple(FACTS_OF["It rained"])
    assert facts.summaries == ()


def test_given_key_facts_stay_and_are_replaced_only_where_asked(tmp_path: Path) -> None:
    data = documents().with_key_facts({"a": ["It was wet."]})
    kept, _ = drawn(tmp_path, three(tmp_path), data)
    assert kept.documents["a"].key_facts == ("It was wet.",)
    assert kept.fact_origins["a"][0].origin == "given"
    assert kept.fact_origins["a"][0].votes == ()
    replaced, _ = drawn(tmp_path, three(tmp_path), data, source="document")
    assert replaced.documents["a"].key_facts == ("It rained on Monday.", "A dog barked.")


def test_a_document_without_a_usable_vote_has_no_key_facts_and_is_named(tmp_path: Path) -> None:
    mute = script(tmp_path, "mute", {"match": "It rained", "reply": "no idea"}, {"reply": votes("yes")})
    facts, dropped = drawn(tmp_path, models(tmp_path, mute))
    assert facts.documents["a"].key_facts == ()
    assert facts.documents["b"].key_facts == ("A shop opened.",)
    assert {row["reason"] for row in dropped if row["what"] == "key fact"} == {UNVOTED}
    assert [(row["id"], "no usable reply" in row["detail"]) for row in dropped if row["what"] == "key facts"] == [
        ("a", True)
    ]


def test_no_key_fact_at_all_is_an_error_that_says_why(tmp_path: Path) -> None:
    none = voter(tmp_path, "none", "no", "no", "no", shop="no")
    with pytest.raises(CoverageError, match="the validators rejected all 3"):
        made(tmp_path, models(tmp_path, none))
    assert not (tmp_path / "facts").exists()


def test_other_key_facts_take_the_judgments_that_count_in_them_along() -> None:
    human = {"key_fact_labels": [1], "conciseness_labels": [1], "sentence_labels": [1]}
    data = load([{**row, "system": "s", "summary": "One.", "key_facts": ["F."], "human": human} for row in DOCUMENTS])
    other = data.with_key_facts({"a": ["G."]})
    left, every = (
        {(judgment.target.document_id, judgment.aspect) for judgment in each.judgments("human.raw")}
        for each in (other, data)
    )
    assert every - left == {("a", "completeness"), ("a", "conciseness")}
    assert other.documents["b"].key_facts == ("F.",)
    with pytest.raises(UsageError):
        data.with_key_facts({"c": ["G."]})
    origins = {"a": [FactOrigin(proposed="F.", origin="given")]}
    with pytest.raises(UsageError):
        Dataset(documents().documents, documents().summaries, {}, data.card, fact_origins=origins)
