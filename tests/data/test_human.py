"""The `human` block: validation, and conversion to judgments and back."""

from __future__ import annotations

from typing import Any

import pytest
from data.flat_view import flat_rows

from summeter.data.dataset import load
from summeter.records import Judgment, KeyFacts, Span

SUMMARY = "It rained. We stayed."  # sentences at 0-10 and 11-21
FACTS = ["It rained.", "They stayed in.", "It was cold."]


def row(human: Any, **more: Any) -> dict[str, Any]:
    return {"doc_id": "d", "system": "s", "document": "It rained all day. We stayed in.", "summary": SUMMARY,
            "key_facts": FACTS, "human": human} | more  # fmt: skip


def judged(human: dict[str, Any], name: str = "human.raw") -> list[Judgment]:
    return list(load([row(human)]).judgments(name))


def short(one: Judgment) -> tuple[Any, ...]:
    return one.judge, one.aspect, one.target.unit, one.target.index, one.value, one.label, one.error_type, one.status


class TestJudgments:
    def test_ratings(self) -> None:
        found = judged({"ratings": {"coherence": {"a": 4, "b": None}, "fluency": 4.5}})
        assert [short(one) for one in found] == [
            ("a", "coherence", "summary", None, 4.0, None, None, "ok"),
            ("b", "coherence", "summary", None, None, None, None, "skipped"),
            ("people", "fluency", "summary", None, 4.5, None, None, "ok"),
        ]
        assert {one.signature for one in found} == {"human.ratings|v:1"}
        assert found[1].reason == "no vote"

    def test_crowd_ratings_are_a_set_of_their_own(self) -> None:
        data = load([row({"crowd_ratings": {"coherence": {"w0": 2}}})])
        assert data.judgment_sets == ("crowd.raw",)
        (one,) = data.judgments("crowd.raw")
        assert (one.judge, one.value, one.signature) == ("w0", 2.0, "human.crowd_ratings|v:1")

    def test_sentence_labels_numbers_names_and_no_votes(self) -> None:
        found = judged({"sentence_labels": [{"a": 1, "b": "entity error", "c": "NoE"}, None]})
        assert [short(one) for one in found] == [
            ("a", "faithfulness", "sentence", 0, 1.0, 1, None, "ok"),
            ("b", "faithfulness", "sentence", 0, 0.0, 0, "entity error", "ok"),
            ("c", "faithfulness", "sentence", 0, 1.0, 1, "NoE", "ok"),
            ("people", "faithfulness", "sentence", 1, None, None, None, "skipped"),
        ]
        assert found[0].signature == "human.sentence_labels|v:1"

    def test_error_types_apart(self) -> None:
        found = judged({"sentence_labels": [{"a": 0, "b": 1}, 1], "sentence_error_types": [{"a": "EntE"}, "no error"]})
        assert [(one.judge, one.label, one.error_type) for one in found] == [
            ("a", 0, "EntE"), ("b", 1, None), ("people", 1, "no error"),
        ]  # fmt: skip

    def test_error_types_alone_decide(self) -> None:
        found = judged({"sentence_error_types": ["OutE", "No Error"]})
        assert [(one.label, one.error_type) for one in found] == [(0, "OutE"), (1, "No Error")]

    def test_key_fact_labels_name_their_list(self) -> None:
        found = judged({"key_fact_labels": [1, {"a": False, "b": True}, None]})
        assert [(one.judge, one.target.index, one.label, one.status) for one in found] == [
            ("people", 0, 1, "ok"), ("a", 1, 0, "ok"), ("b", 1, 1, "ok"), ("people", 2, None, "skipped"),
        ]  # fmt: skip
        assert {one.target.list_id for one in found} == {KeyFacts.of(FACTS, "given").id}
        assert {one.aspect for one in found} == {"completeness"}

    def test_alignment_gives_completeness_and_conciseness(self) -> None:
        found = judged({"alignment": [[0], [0], []]})
        assert [short(one)[1:6] for one in found] == [
            ("completeness", "key_fact", 0, 1.0, 1),
            ("completeness", "key_fact", 1, 1.0, 1),
            ("completeness", "key_fact", 2, 0.0, 0),
            ("conciseness", "sentence", 0, 1.0, 1),  # carries facts 0 and 1
            ("conciseness", "sentence", 1, 0.0, 0),  # carries none
        ]
        assert found[0].evidence == (Span(of="summary", start=0, end=10),)
        assert {one.signature for one in found} == {"human.alignment|v:1"}

    def test_sentences_that_carry_a_key_fact(self) -> None:
        found = judged({"conciseness_labels": [{"a": 1, "?1": 0}, None]})
        assert [(*short(one), one.signature) for one in found] == [
            ("a", "conciseness", "sentence", 0, 1.0, 1, None, "ok", "human.conciseness_labels|v:1"),
            ("?1", "conciseness", "sentence", 0, 0.0, 0, None, "ok", "human.conciseness_labels|v:1"),
            ("people", "conciseness", "sentence", 1, None, None, None, "skipped", "human.conciseness_labels|v:1"),
        ]

    def test_unidentified_annotator_read_no_other_summary(self) -> None:
        marked, clean = [{"annotator": "?1", "start": 0, "end": 2, "label": 0}], {"spans": []}
        data = load([row({"spans": marked}), row(clean, system="t")])
        readers = {one.target.system for one in data.judgments("human.raw") if one.target.unit == "summary"}
        assert readers == {"s"}  # a person called `a` would have read both

    def test_conciseness_needs_votes_on_all_key_facts(self) -> None:
        every = judged({"alignment": [{"a": [0]}, {"a": None}, {"a": []}]})
        found = [one for one in every if one.aspect == "conciseness"]
        assert [(one.target.index, one.label, one.reason) for one in found] == [
            (0, None, "no vote on some key facts"), (1, None, "no vote on some key facts"),
        ]  # fmt: skip

    def test_spans(self) -> None:
        found = judged({"spans": [{"annotator": "a", "start": 3, "end": 9, "label": "entity error"},
                                  {"start": 0, "end": 2, "label": 1}]})  # fmt: skip
        (one, two) = (each for each in found if each.target.unit == "span")
        assert short(one) == ("a", "faithfulness", "span", 0, 0.0, 0, "entity error", "ok")
        assert one.evidence[0].cut(SUMMARY) == "rained"
        assert short(two) == ("people", "faithfulness", "span", 1, 1.0, 1, None, "ok")

    def test_spans_label_the_summary_and_overlapping_sentences(self) -> None:
        # "rained. We" touches both sentences; "We" only the second; a span labelled 1 is no error.
        spans = [
            {"annotator": "a", "start": 3, "end": 13, "label": "OutE"},
            {"annotator": "a", "start": 11, "end": 13, "label": "EntE"},
            {"annotator": "b", "start": 0, "end": 2, "label": 1},
        ]
        found = [one for one in judged({"spans": spans}) if one.target.unit != "span"]
        assert [(*short(one)[:4], one.label, one.error_type, one.signature) for one in found] == [
            ("a", "faithfulness", "summary", None, 0, None, "human.spans_none|v:1"),
            ("a", "faithfulness", "sentence", 0, 0, "OutE", "human.spans_sentences|v:1"),
            ("a", "faithfulness", "sentence", 1, 0, "EntE+OutE", "human.spans_sentences|v:1"),
            ("b", "faithfulness", "summary", None, 1, None, "human.spans_none|v:1"),
            ("b", "faithfulness", "sentence", 0, 1, None, "human.spans_sentences|v:1"),
            ("b", "faithfulness", "sentence", 1, 1, None, "human.spans_sentences|v:1"),
        ]

    @pytest.mark.parametrize(
        ("clean", "readers"),
        [
            ({"spans": []}, ["a"]),  # a gave nothing but spans, some of them in this document
            ({"spans": [], "ratings": {"x": {"b": 1}}}, ["b"]),  # b marked spans elsewhere, and is named here
            ({"ratings": {"x": {"b": 1}}}, []),  # nobody looked for spans here
        ],
    )
    def test_annotators_without_spans(self, clean: dict[str, Any], readers: list[str]) -> None:
        mark = {"start": 0, "end": 2, "label": 0}
        others = {"ratings": {"x": {"b": 2}}} if "b" in readers else {}
        first = row({"spans": [{"annotator": who, **mark} for who in ("b" if others else "a")], **others})
        data = load([first, row(clean, system="t")])
        found = [
            one.judge for one in data.judgments("human.raw")
            if one.signature == "human.spans_none|v:1" and one.target.system == "t" and one.label == 1
        ]  # fmt: skip
        assert found == readers
        again = load(list(flat_rows(data)))
        assert again.judgments("human.raw") == data.judgments("human.raw")

    def test_a_set_of_error_types_is_one_text(self) -> None:
        cells = [{"a": ["OutE", "EntE"], "b": "OutE+EntE"}, "out-of-context error+OutE"]
        found = judged({"sentence_error_types": cells})
        assert [(one.judge, one.error_type) for one in found] == [
            ("a", "EntE+OutE"), ("b", "EntE+OutE"), ("people", "out-of-context error"),
        ]  # fmt: skip
        named = judged({"sentence_labels": ["OutE", 1], "sentence_error_types": ["out-of-context error", None]})
        assert named[0].label == 0  # one type by two names is no contradiction

    @pytest.mark.parametrize("human", [{}, None, {"ratings": None}, {"ratings": {}}, {"spans": []}])
    def test_empty_block_creates_no_set(self, human: Any) -> None:
        assert load([row(human)]).judgment_sets == ()

    def test_span_annotators(self) -> None:
        mark = {"annotator": "a", "start": 0, "end": 2, "label": 0}
        data = load([row({"spans": [mark], "span_annotators": ["b"]}), row({"span_annotators": ["c"]}, system="t"),
                     row({"spans": []}, system="u")])  # fmt: skip
        labels = [(one.judge, one.target.system, one.label) for one in data.judgments("human.raw")
                  if one.target.unit == "summary"]  # fmt: skip
        assert labels == [("a", "s", 0), ("b", "s", 1), ("c", "t", 1), ("a", "u", 1)]


class TestFaults:
    def test_a_label_beside_another_type_is_a_warning(self) -> None:
        data = load([row({"sentence_labels": [0, 1], "sentence_error_types": ["no error", "EntE"]})])
        assert [one.field for one in data.warnings] == [f"human.sentence_error_types[{index}]" for index in (0, 1)]
        assert [one.label for one in data.judgments("human.raw")] == [0, 1]
