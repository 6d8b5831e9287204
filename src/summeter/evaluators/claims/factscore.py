"""`factscore`: the claims of a summary, each checked against the document.

FActScore (Min et al., EMNLP 2023) is the precision of atomic facts, here against the summary's document instead of a
retrieved knowledge source. faithfulness = supported claims / claims.
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
"""Expected tokens of a verdict: a quote, a reason, and JSON."""

_VERDICT = {"quote": text_schema(REASON), "reason": text_schema(REASON), "supported": NO_YES}


class ClaimAnswers(NamedTuple):
    """The verdicts on one claim by window, with the calls behind them."""

    by_window: dict[int, SupportVerdict | NoVerdict]
    calls: list[str]

    @property
    def supported(self) -> bool:
        """Whether some window supports the claim."""
        return any(isinstance(verdict, SupportVerdict) and verdict.supported for verdict in self.by_window.values())


class FactScore(PromptedEvaluator):
    """Claims of the summary, extracted by the role `extractor` and checked by the `judge`.

    `batch`: claims per question. `extractor`: "judge" extracts the claims with the judge's model. `at_most`: maximum
    number of claims. `gamma`: if set, summaries with fewer claims are penalised by exp(1 - gamma / claims), FActScore's
    length penalty. `prompts`: a folder whose templates (`claims`, `factscore`) replace the shipped ones.

    A document longer than the judge's context is split into windows. A claim is supported if one window supports it;
    later windows are not asked about it.

    Writes one judgment per claim (aspect faithfulness): label 1 or 0; value the same (times the length penalty);
    `claim` its text and sentence; evidence the quoted passage; `list_id` the list of claims. If there are no claims,
    one failed judgment of the summary.
    """

    name, version = "factscore", "1"
    summary = "An LLM extracts the summary's claims; a judge checks each against the document (FActScore)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role(), "extractor": Role()}
    reduce = "mean"

    batch: int = Field(default=10, ge=1, le=AT_MOST)
    extractor: Literal["extractor", "judge"] = "extractor"
    at_most: int = Field(default=AT_MOST, ge=1, le=AT_MOST)
    gamma: int | None = Field(default=None, ge=1)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the extractor unless the judge extracts the claims."""
        return {"extractor": tuple(self.roles), "judge": ("judge",)}[self.extractor]

    @property
    def decision_threshold(self) -> float:
        """Half of the least value of a supported claim, which the length penalty lowers."""
        return self.penalty(1) / 2

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates of the extraction and the verdicts."""
        return (TEMPLATE, self.name)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Extract the claims in one call; check them in one call per batch of claims and window."""
        llm = tools.llm("judge")
        builder = self.builder(item, prepared, tools, model=llm.id)
        extractor = tools.llm(self.extractor)
        extracted = await extract_claims(item.summary, extractor, self.load_template(TEMPLATE), at_most=self.at_most)
        if extracted.status != "ok":
            builder = self.builder(item, prepared, tools, model=extractor.id, calls=extracted.calls)
            return [builder.failed(FAITHFULNESS, extracted.status, extracted.reason or "no claims")]
        texts = extracted.texts
        batches = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        # Every batch is shown the same views, which leave room for the largest batch.
        frame = self.prompt("", max(batches, key=lambda batch: sum(map(len, batch))))
        views = document_views(item.document, llm, frame, REPLY_TOKENS * min(self.batch, len(texts)))
        checked = await asyncio.gather(*(self._check(batch, views, llm) for batch in batches))
        judgments = []
        answers = (answer for batch in checked for answer in batch)
        for place, (claim, answer) in enumerate(zip(extracted.claims, answers, strict=True)):
            calls = (*extracted.calls, *answer.calls)
            builder = replace(builder, calls=calls, truncated_tokens=views.truncated_tokens)
            verdict, at = decide(claim.text, answer.by_window, views.views)
            about = {"list_id": extracted.id, "claim": claim}
            if isinstance(verdict, NoVerdict):
                failed = builder.failed(FAITHFULNESS, verdict.status, verdict.reason, "claim", place, **about)
                judgments.append(failed)
                continue
            view, quote = views.views[at], verdict.quotes[0] if verdict.quotes else None
            found = None if quote is None or view.start is None else find_quote(view.text, quote)
            evidence: tuple[Span, ...] = ()
            if found is not None and view.start is not None:
                evidence = (Span(of="document", start=view.start + found.start, end=view.start + found.end),)
            value = verdict.supported * self.penalty(len(extracted.claims))
            judgments.append(support_judgment(builder, verdict, place, evidence, "claim", value=value, **about))
        return judgments

    def prompt(self, document: str, claims: Sequence[str]) -> Prompt:
        """Return the prompt, with the document first so that providers can cache the common prefix."""
        return self.load_template(self.name).fill(
            document=document,
            document_code=fence_code(document),
            claims=lines(claims),
            claims_code=fence_code(document, *claims),
        )

    async def _check(self, claims: Sequence[str], views: DocumentViews, llm: BoundLLM) -> list[ClaimAnswers]:
        """Return the answers on each claim, asking window by window until one supports it."""
        answers = [ClaimAnswers({}, []) for _ in claims]
        for at, view in enumerate(views.views):
            unsupported = [place for place, claim in enumerate(answers) if not claim.supported]
            if not unsupported:
                break
            texts = [claims[place] for place in unsupported]
            answer = await llm.ask(self.prompt(view.text, texts), form(texts, view.text))
            failure = NoVerdict(answer.status, answer.reason or "no usable reply")
            for number, place in enumerate(unsupported):
                answers[place].calls.extend(answer.calls)
                answers[place].by_window[at] = failure if answer.data is None else answer.data[number]
        return answers

    def penalty(self, claims: int) -> float:
        """Return the length penalty of a summary: 1 without `gamma` or with at least `gamma` claims.

        >>> round(FactScore(gamma=10).penalty(5), 4)
        0.3679
        """
        return 1.0 if self.gamma is None or claims >= self.gamma else exp(1 - self.gamma / claims)


def form(claims: Sequence[str], document: str) -> Form[tuple[SupportVerdict, ...]]:
    """Return the schema of a reply on these claims with the strict parser."""
    schema = keyed_schema(len(claims), "verdict", _VERDICT)
    return Form("factscore", schema, lambda text: read_verdicts(text, claims, (document, *claims)))


def read_verdicts(text: str, claims: Sequence[str], material: Sequence[str] = ()) -> tuple[SupportVerdict, ...]:
    """Parse one verdict per claim from a reply. Raises ReplyError; `material` are the texts under judgment."""

    def verdict(entry: Any, _: int) -> SupportVerdict:
        quote = optional_text(entry, "quote")
        quotes = () if quote is None else (quote,)
        return SupportVerdict(yes(field(entry, "supported")), reason=optional_text(entry), quotes=quotes)

    return read_entries(
        text, len(claims), "claim", verdict, decision=lambda verdict: verdict.supported, material=material
    )
