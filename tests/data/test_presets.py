"""Presets on invented rows in public layouts."""

from __future__ import annotations

from typing import Any

import pytest
from data.flat_view import flat_rows

from summeter.data.dataset import Dataset, load
from summeter.records import InputError


def turned(preset: str, row: dict[str, Any], **how: Any) -> dict[str, Any]:
    data: Dataset = load([row], preset=preset, **how)
    (found,) = flat_rows(data)
    return found


def fault(preset: str, row: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        load([row], preset=preset)
    return str(caught.value)


class TestFineSurE:
    ROW: dict[str, Any] = {  # noqa: RUF012 - a row to read
        "doc_id": "n1", "source": "cnndm", "split": "test", "model": "tiny", "transcript": "It rained. We stayed.",
        "reference": "Rain.", "sentences": ["It rained.", "We left."],
    }  # fmt: skip

    def test_factuality_labels_are_inverted(self) -> None:
        votes = {
            "annotator_0": {"factuality_labels": [0, 1], "factuality_types": ["NoE", "RelE"]},
            "annotator_1": {"factuality_labels": [0, None], "factuality_types": ["NoE", None]},
        }
        assert turned("finesure", self.ROW | {"raw_annotations": votes}) == {
            "doc_id": "n1", "system": "tiny", "document": "It rained. We stayed.", "summary": "It rained. We left.",
            "reference": "Rain.", "sentences": ["It rained.", "We left."], "domain": "cnndm", "split": "test",
            "human": {
                "sentence_labels": [{"annotator_0": 1, "annotator_1": 1}, {"annotator_0": 0, "annotator_1": None}],
                "sentence_error_types": [{"annotator_0": "NoE", "annotator_1": "NoE"}, {"annotator_0": "RelE"}],
            },
        }  # fmt: skip

    def test_key_fact_labels_need_the_key_facts(self) -> None:
        votes = {"0": {"key_fact_labels": [1, 0], "sentence_labels": [1, 0]}}
        row = self.ROW | {"raw_annotations": votes}
        assert "the key facts are missing; give human-keyfact-list.json" in fault("finesure", row)
        joined = turned("finesure", row | {"key_facts": ["It rained.", "We stayed."]})
        assert joined["human"] == {
            "conciseness_labels": [{"0": 1}, {"0": 0}], "key_fact_labels": [{"0": 1}, {"0": 0}],
        }  # fmt: skip

    def test_without_annotations(self) -> None:
        assert "human" not in turned("finesure", self.ROW)

    def test_faults(self) -> None:
        assert fault("finesure", {"doc_id": "x", "model": "m", "transcript": "t"}).startswith("rows:1: sentences: ")
        uneven = {"a": {"factuality_labels": [0, 0]}, "b": {"factuality_labels": [0]}}
        for votes in ({"a": {"factuality_labels": [0, 2]}}, uneven, {"a": {"factuality_labels": None}}):
            found = fault("finesure", self.ROW | {"raw_annotations": votes})
            assert found.startswith("rows:1: raw_annotations.factuality_labels: ")
        assert fault("finesure", self.ROW | {"raw_annotations": [1]}).startswith("rows:1: raw_annotations: ")


def test_unisumeval() -> None:
    row = {
        "uid": "X_1", "doc_id": "n1", "source": "SetA", "domain": "news", "length": "short", "model": "tiny",
        "input_text": "It rained. We stayed.", "summary": "It rained. We left.",
        "sentences": ["It rained.", "We left."], "fact_verification_label": [0, 1],
        "fact_verification_error_type": ["no error", "relation error"], "faithfulness_score": 0.5,
        "keyfact": ["It rained.", "They stayed."], "keyfact_label": [1, 0], "completeness": 0.5,
    }  # fmt: skip
    found = turned("unisumeval", row, map={"document": "input_text"})
    assert found["human"] == {
        "overall": {"faithfulness": 0.5, "completeness": 0.5}, "sentence_labels": [1, 0],
        "sentence_error_types": ["no error", "relation error"], "key_fact_labels": [1, 0],
    }  # fmt: skip
    assert load([row], preset="unisumeval", map={"document": "input_text"}).warnings == ()  # `keyfact` was read
    assert (found["system"], found["key_facts"], found["source"]) == ("tiny", ["It rained.", "They stayed."], "SetA")
    assert "document: is missing" in fault("unisumeval", row)
    assert "fact_verification_label: is [0]" in fault("unisumeval", row | {"fact_verification_label": [[0], [1]]})
    assert "is not a list with one label per key fact" in fault("unisumeval", row | {"keyfact_label": 1})
    assert "is not a list of strings" in fault("unisumeval", row | {"fact_verification_error_type": [None, "x"]})


def test_summeval() -> None:
    row = {
        "id": "dm-test-1", "model_id": "M0", "filepath": "x", "text": "It rained.", "decoded": "Rain.",
        "references": ["a", "b"], "expert_annotations": [{"coherence": 4, "fluency": 5}, {"coherence": 3}],
        "turker_annotations": [{"coherence": 1, "fluency": 2}],
    }  # fmt: skip
    assert turned("summeval", row) == {
        "doc_id": "dm-test-1", "system": "M0", "document": "It rained.", "summary": "Rain.", "references": ["a", "b"],
        "domain": "cnndm", "split": "test", "filepath": "x", "human": {
            "ratings": {"coherence": {"expert0": 4, "expert1": 3}, "fluency": {"expert0": 5, "expert1": None}},
            "crowd_ratings": {"coherence": {"?1": 1}, "fluency": {"?1": 2}},
        },
    }  # fmt: skip
    assert "is not a list of ratings" in fault("summeval", row | {"expert_annotations": {}})
    assert "is not a list of objects" in fault("summeval", row | {"expert_annotations": [1]})
    assert "human" not in turned("summeval", {"id": "x", "model_id": "M", "text": "a", "decoded": "b"})


def test_frank() -> None:
    row = {
        "hash": "h1", "model_name": "bart", "split": "test", "article": "It rained.", "reference": "Rain.",
        "summary": "It rained. We left.", "summary_sentences": ["It rained.", "We left."],
        "summary_sentences_annotations": [
            {"annotator_0": ["NoE"], "annotator_1": ["NoE"]}, {"annotator_0": ["EntE", "OutE"], "annotator_1": []},
        ],
    }  # fmt: skip
    assert turned("frank", row)["human"] == {
        "sentence_labels": [{"annotator_0": 1, "annotator_1": 1}, {"annotator_0": 0, "annotator_1": None}],
        "sentence_error_types": [{"annotator_0": "NoE", "annotator_1": "NoE"}, {"annotator_0": "EntE+OutE"}],
    }
    turned_round = [{"annotator_0": ["NoE"]}, {"annotator_0": ["OutE", "EntE", "OutE"]}]
    types = turned("frank", row | {"summary_sentences_annotations": turned_round})["human"]["sentence_error_types"]
    assert types[1] == {"annotator_0": "EntE+OutE"}
    bare = {name: value for name, value in row.items() if not name.startswith("summary_")}
    assert turned("frank", bare)["system"] == "bart"
    broken = row | {"summary_sentences_annotations": [{"annotator_0": "NoE"}, {}]}
    assert "is not a list of {annotator: [categories]}" in fault("frank", broken)
    joined = row | {"summary_sentences_annotations": [{"annotator_0": ["OutE+EntE"]}, {}]}
    assert "sentence_labels[0].annotator_0: contains 'OutE+EntE', but '+' joins error types" in fault("frank", joined)


def test_qags() -> None:
    def vote(who: int, answer: str) -> dict[str, Any]:
        return {"worker_id": who, "response": answer}

    sentences = [
        {"sentence": "It rained.", "responses": [vote(0, "yes"), vote(4, "no")]},
        {"sentence": "We left.", "responses": [vote(0, "no")]},
    ]
    row = {"article": "It rained all day.", "summary_sentences": sentences}
    found = turned("qags", row)
    assert (found["summary"], found["sentences"]) == ("It rained. We left.", ["It rained.", "We left."])
    assert found["human"] == {"sentence_labels": [{"w0": 1, "w4": 0}, {"w0": 0}]}
    twice = {"sentence": "x", "responses": [vote(0, "yes"), vote(0, "no")]}
    found_fault = fault("qags", row | {"summary_sentences": [twice]})
    assert "has the response 'no' by w0; give one yes or no per worker" in found_fault
    for odd in ([{"sentence": "x", "responses": ["yes"]}], [{"sentence": "x"}], ["x"]):
        assert "is not a list of {sentence, responses}" in fault("qags", row | {"summary_sentences": odd})
