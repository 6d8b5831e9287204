"""Parsing claims from replies and locating them in the summary."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from summeter.evaluators.claims.extract import PACKAGE, TEMPLATE, anchored, extract_claims, prompt, read_claims
from summeter.models.prompts import Template
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Claim, ReplyError, Span, Summary
from summeter.text.split import split

TEXT = "The Aldis, built in 1961, sank off Skagen. Her crew of nine were saved. They went home."
SUMMARY = Summary(
    document_id="d", system="s", text=TEXT, splitter="rules",
    sentences=tuple(Span(of="summary", start=start, end=end) for start, end in split(TEXT)),
)  # fmt: skip


def extract(reply: Any, **settings: Any) -> Any:
    llm = Scripted(lambda _: reply if isinstance(reply, str) else json.dumps(reply))
    return asyncio.run(extract_claims(SUMMARY, BoundLLM(llm, Settings(repair=False)), **settings))


class TestReading:
    @pytest.mark.parametrize(
        "reply",
        [
            '{"claims": []}', '{"claims": [""]}', '{"claims": ["A.", null]}', '{"claims": ["A.", 3]}',
            '{"claims": "A."}', '{"claims": {"1": "A."}}', '["A."]', '{"claims": ["A."], "claims": ["B."]}', "A.",
        ],
    )  # fmt: skip
    def test_invalid_lists_of_claims(self, reply: str) -> None:
        with pytest.raises(ReplyError):
            read_claims(reply)


class TestAnchors:
    def test_a_claim_is_found_as_a_quotation_or_by_its_words(self) -> None:
        found = anchored(
            ["The Aldis was built in 1961.", "The crew of the Aldis were saved.", "They went home."], SUMMARY
        )
        # The first differs from a quotation by one word. Four of the six words of the second ("the", "crew", "of",
        # "aldis", "were", "saved") are in sentence 2, in another order.
        assert [claim.span and claim.span.cut(TEXT) for claim in found] == [
            "The Aldis, built in 1961, sank off Skagen.",
            "Her crew of nine were saved.",
            "They went home.",
        ]

    def test_a_claim_with_under_half_of_its_words_has_no_sentence(self) -> None:
        found = anchored(["Rescue boats reached all sailors swiftly.", "..."], SUMMARY)
        assert [claim.span for claim in found] == [None, None]

    def test_ties_follow_the_order_of_claims(self) -> None:
        text = "It rained. Ada sang. It rained."
        spans = tuple(Span(of="summary", start=start, end=end) for start, end in split(text))
        summary = Summary(document_id="d", system="s", text=text, sentences=spans, splitter="rules")
        found = anchored(["Rained, it.", "Ada really sang.", "Rained, it."], summary)
        assert [claim.span.start for claim in found if claim.span] == [0, 11, 21]


class TestAsking:
    def test_one_call_gives_claims_with_their_sentences(self) -> None:
        got = extract({"claims": ["They went home.", "They went home", "Dragons exist."]})
        assert got.claims == (
            Claim(text="They went home.", span=SUMMARY.sentences[2]), Claim(text="Dragons exist.")
        )  # fmt: skip
        assert got.status == "ok"
        assert len(got.calls) == 1
        assert got.id != extract({"claims": ["They went home."]}).id

    def test_the_list_is_cut_at_the_limit(self) -> None:
        got = extract({"claims": [f"Claim number {number}." for number in range(9)]}, at_most=4)
        assert got.texts == tuple(f"Claim number {number}." for number in range(4))

    def test_claims_of_the_prompts_example_are_rejected(self) -> None:
        example = "The Aldis sank off Skagen."
        assert example in prompt(SUMMARY, Template.load(PACKAGE, TEMPLATE)).messages[-1].content
        other = SUMMARY.model_copy(update={"text": "A bridge opened.", "sentences": ()})
        llm = BoundLLM(Scripted([{"reply": {"claims": [example]}}]), Settings(repair=False))
        found = asyncio.run(extract_claims(other, llm))
        assert (found.status, found.texts) == ("unparsed", ())
        assert "is from the prompt's example, not from the summary" in str(found.reason)
        # It is accepted if the summary contains it.
        same = other.model_copy(update={"text": f"Ships. {example}"})
        assert asyncio.run(extract_claims(same, llm)).texts == (example,)
