"""`factscore`: checks of each claim of a summary against the document.

FActScore (Min et al., EMNLP 2023) is the precision of atomic facts. Here the facts are checked against the document of
the summary instead of a retrieved knowledge source. Faithfulness is the number of supported claims divided by the
number of claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from typing import Any, ClassVar, Literal

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
from summeter.evaluators.supported import FAITHFULNESS, SupportVerdict, decide, support_judgment, supports
from summeter.evaluators.windows import document_views
from summeter.models.prompts import Prompt, fence_code, lines
from summeter.models.structured import BoundLLM, Form
from summeter.records import Item, Judgment, Span
from summeter.text.match import find_quote
from summeter.text.spans import TextSpan

REPLY_TOKENS = 130
"""Expected number of tokens of a verdict: a quote, a reason, and JSON syntax."""

_VERDICT = {"quote": text_schema(REASON), "reason": text_schema(REASON), "supported": NO_YES}


class FactScore(PromptedEvaluator):
    """Check each claim of the summary against the document.

    The model in the role `extractor` extracts the claims, and the model in the role `judge` checks them. If the setting
    `extractor` is "judge", the judge also extracts the claims. `batch` is the number of claims per question, and
    `at_most` the maximum number of claims. If `gamma` is set, summaries with fewer claims are penalised by the factor
    exp(1 - gamma / claims), FActScore's length penalty. `prompts` is a folder whose templates (`claims`, `factscore`)
    replace the shipped ones.

    A document longer than the judge's context is split into windows. A claim is supported if one window supports it;
    the judge is not asked about this claim in later windows.

    Writes one judgment per claim (aspect faithfulness). The label is 1 if the claim is supported, and otherwise 0; the
    value is the label times the length penalty. `claim` contains the text and the sentence of the claim, the evidence
    is the quoted passage, and `list_id` identifies the list of claims. If there are no claims, writes one failed
    judgment of the summary.
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
        """The roles of the judge and, unless the judge extracts the claims, of the extractor."""
        return {"extractor": tuple(self.roles), "judge": ("judge",)}[self.extractor]

    @property
    def decision_threshold(self) -> float:
        """Half of the lowest possible value of a supported claim, which depends on the length penalty."""
        return self.penalty(1) / 2

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates of the extraction and the verdicts."""
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
        views, cut = document_views(item.document, llm, frame, REPLY_TOKENS * min(self.batch, len(texts)))
        checked = await asyncio.gather(*(self._check(batch, views, llm) for batch in batches))
        judgments = []
        answers = (answer for batch in checked for answer in batch)
        for place, (claim, answer) in enumerate(zip(extracted.claims, answers, strict=True)):
            verdicts, calls = answer
            builder = replace(builder, calls=(*extracted.calls, *calls), truncated_tokens=cut)
            verdict, at = decide(claim.text, verdicts, views)
            about = {"list_id": extracted.id, "claim": claim}
            if isinstance(verdict, NoVerdict):
                failed = builder.failed(FAITHFULNESS, verdict.status, verdict.reason, "claim", place, **about)
                judgments.append(failed)
                continue
            view, quote = views[at], verdict.quotes[0] if verdict.quotes else None
            found = None if quote is None else find_quote(item.document.text[view.start : view.end], quote)
            evidence: tuple[Span, ...] = ()
            if found is not None:
                evidence = (Span(of="document", start=view.start + found.start, end=view.start + found.end),)
            value = verdict.supported * self.penalty(len(extracted.claims))
            judgments.append(support_judgment(builder, verdict, place, evidence, "claim", value=value, **about))
        return judgments

    def prompt(self, document: str, claims: Sequence[str]) -> Prompt:
        """Return the prompt.

        The document comes first, so that providers can cache the common prefix.
        """
        return self.load_template(self.name).fill(
            document=document,
            document_code=fence_code(document),
            claims=lines(claims),
            claims_code=fence_code(document, *claims),
        )

    async def _check(
        self, claims: Sequence[str], views: Sequence[TextSpan], llm: BoundLLM
    ) -> list[tuple[list[SupportVerdict | NoVerdict], list[str]]]:
        """Return the verdicts on each claim, by window, with the calls that they are based on.

        The judge is asked about each window in turn until one supports the claim.
        """
        checked: list[tuple[list[SupportVerdict | NoVerdict], list[str]]] = [([], []) for _ in claims]
        for view in views:
            unsupported = [place for place, (verdicts, _) in enumerate(checked) if not any(map(supports, verdicts))]
            if not unsupported:
                break
            texts = [claims[place] for place in unsupported]
            answer = await llm.ask(self.prompt(view.text, texts), form(texts, view.text))
            failure = NoVerdict(answer.status, answer.reason or "no usable reply")
            for number, place in enumerate(unsupported):
                verdicts, calls = checked[place]
                calls += answer.calls
                verdicts.append(failure if answer.data is None else answer.data[number])
        return checked

    def penalty(self, claims: int) -> float:
        """Return the length penalty of a summary.

        The penalty is 1 if `gamma` is None or if there are at least `gamma` claims.

        >>> round(FactScore(gamma=10).penalty(5), 4)
        0.3679
        """
        return 1.0 if self.gamma is None or claims >= self.gamma else exp(1 - self.gamma / claims)


def form(claims: Sequence[str], document: str) -> Form[tuple[SupportVerdict, ...]]:
    """Return the schema of a reply about these claims, together with the strict parser."""
    schema = keyed_schema(len(claims), "verdict", _VERDICT)
    return Form("factscore", schema, lambda text: read_verdicts(text, claims, (document, *claims)))


def read_verdicts(text: str, claims: Sequence[str], material: Sequence[str] = ()) -> tuple[SupportVerdict, ...]:
    """Parse one verdict per claim from a reply.

    `material` contains the texts under judgment. Raises ReplyError if a verdict is missing or invalid.
    """

    def verdict(entry: Any, _: int) -> SupportVerdict:
        quote = optional_text(entry, "quote")
        quotes = () if quote is None else (quote,)
        return SupportVerdict(yes(field(entry, "supported")), reason=optional_text(entry), quotes=quotes)

    return read_entries(
        text, len(claims), "claim", verdict, decision=lambda verdict: verdict.supported, material=material
    )
