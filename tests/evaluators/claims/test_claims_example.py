"""An extractor that repeats the prompt's example has drawn no claims."""

from __future__ import annotations

import asyncio

from summeter.evaluators.claims.extract import PACKAGE, TEMPLATE, extract_claims, prompt
from summeter.models.prompts import Template
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Span, Summary


def summary(text: str) -> Summary:
    return Summary(
        document_id="d",
        system="s",
        text=text,
        splitter="given",
        sentences=(Span(of="summary", start=0, end=len(text)),),
    )


def test_the_prompts_example_is_no_claim_of_the_summary() -> None:
    example = "The Aldis sank off Skagen."
    one = summary("A bridge opened.")
    assert example in prompt(one, Template.load(PACKAGE, TEMPLATE)).messages[-1].content
    llm = BoundLLM(Scripted([{"reply": {"claims": [example]}}]), Settings(repair=False))
    found = asyncio.run(extract_claims(one, llm))
    assert (found.status, found.texts) == ("unparsed", ())
    assert found.reason == (
        "claims of the summary: meaningless: the claim 'The Aldis sank off Skagen.' is from the prompt's example, "
        "not from the summary"
    )
    # Where the summary does say so, it is one.
    assert asyncio.run(extract_claims(summary(f"Ships. {example}"), llm)).texts == (example,)
