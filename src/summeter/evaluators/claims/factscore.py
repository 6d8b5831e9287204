"""`factscore`: a summary's claims, each checked against the document.

FActScore (Min et al., EMNLP 2023): precision of atomic facts, here against the summary's own document rather than a
retrieved knowledge source. faithfulness = claims supported / claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.claims.extract import AT_MOST, TEMPLATE, extract_claims
from summeter.evaluators.llm import NoVerdict
from summeter.evaluators.replies import (
    NO_YES,
    REASON,
    field,
    keyed_schema,
    optional_text,
    read_entries,
    text_schema,
    yes,
)
from summeter.evaluators.supported import FAITHFULNESS, SupportVerdict, decide, support_judgment
from summeter.evaluators.windows import DocumentViews, document_views
from summeter.models.prompts import Prompt, fence_code, lines
from summeter.models.structured import BoundLLM, Form
from summeter.records import Item, Judgment, Span
from summeter.text.match import find_quote

REPLY_TOKENS = 130
"""Tokens a verdict takes: a quote, a reason, and the JSON around them."""

_VERDICT = {"quote": text_schema(REASON), "reason": text_schema(REASON), "supported": NO_YES}


class ClaimAnswers(NamedTuple):
    """The answers on one claim: by window, the verdict or why there is none; and the calls behind it."""

    by_window: dict[int, SupportVerdict | NoVerdict]
    calls: list[str]

    @property
    def supported(self) -> bool:
        """Whether some window supports the claim."""
        return any(isinstance(verdict, SupportVerdict) and verdict.supported for verdict in self.by_window.values())


class FactScore(PromptedEvaluator):
    """Claims of the summary, drawn by the model in the role `extractor`, then checked by the `judge`.

    `batch`: how many claims share a question. `extractor`: "judge" lets the judge draw the claims too, so that one
    model will do. `at_most`: the longest list of claims. `gamma`: where set, a summary of fewer claims than that is
    marked down by exp(1 - gamma / claims), FActScore's length penalty; by default none is. `prompts`: a folder whose
    templates (`claims`, `factscore`) replace the shipped ones.

    A document longer than the judge reads is read in windows: a claim is supported where one window supports it, and
    the windows after that are not asked about it again.

    Writes one judgment a claim (aspect faithfulness): label 1 or 0; value the same (times the length penalty); `claim`
    its text and sentence; evidence the passage quoted; `list_id` the list of claims. Where no claims could be had, one
    failed judgment of the summary.
    """

    name, version = "factscore", "1"
    summary = "An LLM draws the summary's claims; a judge checks each against the document (FActScore)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role(), "extractor": Role()}
    reduce = "mean"

    batch: int = Field(default=10, ge=1, le=AT_MOST)
    extractor: Literal["extractor", "judge"] = "extractor"
    at_most: int = Field(default=AT_MOST, ge=1, le=AT_MOST)
    gamma: int | None = Field(default=None, ge=1)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the extractor unless the judge stands in for it."""
        return {"extractor": tuple(self.roles), "judge": ("judge",)}[self.extractor]

    @property
    def decision_threshold(self) -> float:
        """Between 0 and the least value of a supported claim, which a length penalty lowers."""
        return self.penalty(1) / 2

    @property
    def templates(self) -> tuple[str, ...]:
        """Those of the claims and of the verdicts."""
        return (TEMPLATE, self.name)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call for the claims, then one for each batch of claims and window of the document."""
        llm = tools.llm("judge")
        builder = self.builder(item, prepared, tools, model=llm.id)
        extractor = tools.llm(self.extractor)
        drawn = await extract_claims(item.summary, extractor, self.load_template(TEMPLATE), at_most=self.at_most)
        if drawn.status != "ok":
            builder = self.builder(item, prepared, tools, model=extractor.id, calls=drawn.calls)
            return [builder.failed(FAITHFULNESS, drawn.status, drawn.reason or "no claims")]
        texts = drawn.texts
        batches = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        # What is shown must leave room beside the largest question, for every batch alike.
        frame = self.prompt("", max(batches, key=lambda batch: sum(map(len, batch))))
        views = document_views(item.document, llm, frame, REPLY_TOKENS * min(self.batch, len(texts)))
        checked = await asyncio.gather(*(self._check(batch, views, llm) for batch in batches))
        judgments = []
        answers = (answer for batch in checked for answer in batch)
        for place, (claim, answer) in enumerate(zip(drawn.claims, answers, strict=True)):
            calls = (*drawn.calls, *answer.calls)
            builder = replace(builder, calls=calls, truncated_tokens=views.truncated_tokens)
            verdict, at = decide(claim.text, answer.by_window, views.views)
            about = {"list_id": drawn.id, "claim": claim}
            if isinstance(verdict, NoVerdict):
                failed = builder.failed(FAITHFULNESS, verdict.status, verdict.reason, "claim", place, **about)
                judgments.append(failed)
                continue
            # The quote as a stretch of the document, where it stands there.
            view, quote = views.views[at], verdict.quotes[0] if verdict.quotes else None
            found = None if quote is None or view.start is None else find_quote(view.text, quote)
            evidence: tuple[Span, ...] = ()
            if found is not None and view.start is not None:
                evidence = (Span(of="document", start=view.start + found.start, end=view.start + found.end),)
            value = verdict.supported * self.penalty(len(drawn.claims))
            judgments.append(support_judgment(builder, verdict, place, evidence, "claim", value=value, **about))
        return judgments

    def prompt(self, document: str, claims: Sequence[str]) -> Prompt:
        """The document first: the same beginning for all questions on it, so that a provider's prefix cache serves."""
        return self.load_template(self.name).fill(
            document=document,
            document_code=fence_code(document),
            claims=lines(claims),
            claims_code=fence_code(document, *claims),
        )

    async def _check(self, claims: Sequence[str], views: DocumentViews, llm: BoundLLM) -> list[ClaimAnswers]:
        """The answers on each claim, window by window until one supports it."""
        answers = [ClaimAnswers({}, []) for _ in claims]
        for at, view in enumerate(views.views):
            left = [place for place, claim in enumerate(answers) if not claim.supported]
            if not left:
                break
            questioned = [claims[place] for place in left]
            answer = await llm.ask(self.prompt(view.text, questioned), form(questioned, view.text))
            lack = NoVerdict(answer.status, answer.reason or "no usable reply")
            for number, place in enumerate(left):
                answers[place].calls.extend(answer.calls)
                answers[place].by_window[at] = lack if answer.data is None else answer.data[number]
        return answers

    def penalty(self, claims: int) -> float:
        """What a summary of so many claims is marked down by: 1 without `gamma`, or from `gamma` claims on.

        >>> round(FactScore(gamma=10).penalty(5), 4)
        0.3679
        """
        return 1.0 if self.gamma is None or claims >= self.gamma else exp(1 - self.gamma / claims)


def form(claims: Sequence[str], document: str) -> Form[tuple[SupportVerdict, ...]]:
    """The schema of a reply on these claims (one required property each), and the strict reader of one."""
    schema = keyed_schema(len(claims), "verdict", _VERDICT)
    return Form("factscore", schema, lambda text: read_verdicts(text, claims, (document, *claims)))


def read_verdicts(text: str, claims: Sequence[str], material: Sequence[str] = ()) -> tuple[SupportVerdict, ...]:
    """One verdict a claim from a reply, or ReplyError; `material` are the texts under judgment."""

    def verdict(entry: Any, _: int) -> SupportVerdict:
        quote = optional_text(entry, "quote")
        quotes = () if quote is None else (quote,)
        return SupportVerdict(yes(field(entry, "supported")), reason=optional_text(entry), quotes=quotes)

    return read_entries(
        text, len(claims), "claim", verdict, decision=lambda verdict: verdict.supported, material=material
    )
