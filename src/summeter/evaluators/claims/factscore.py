"""`factscore`: a summary's claims, each checked against the document.

FActScore (Min et al., EMNLP 2023): precision of atomic facts, here against the summary's own document rather than a
retrieved knowledge source. faithfulness = claims supported / claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Reduce, Tools
from summeter.evaluators.claims.extract import AT_MOST, PACKAGE, TEMPLATE, Claims, extract_claims
from summeter.evaluators.fences import fence_code, lines
from summeter.evaluators.replies import choice, clean, entries, read_reply, show
from summeter.evaluators.windows import Shown, View, closest, shown
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import BoundLLM, Form
from summeter.records import Item, Judgment, ReplyError, Span, Status, digest
from summeter.text.match import find_quote

FAITHFULNESS = "faithfulness"
REPLY_TOKENS = 130
"""Tokens a verdict takes: a quote, a reason, and the JSON around them."""

_VERDICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "quote": {"type": "string", "maxLength": 300},
        "reason": {"type": "string", "maxLength": 300},
        # No first: a dry run, which takes the first, then counts every window.
        "supported": {"type": "string", "enum": ["no", "yes"]},
    },
    "required": ["quote", "reason", "supported"],
    "additionalProperties": False,
}
_SUPPORTED = {"yes": True, "true": True, "supported": True, "no": False, "false": False, "not supported": False}


class Verdict(NamedTuple):
    """What one reply says of one claim."""

    supported: bool
    reason: str | None
    quote: str | None


class Heard(NamedTuple):
    """What was said of one claim: by view, the verdict, or why there is none; and the calls behind it."""

    verdicts: dict[int, Verdict]
    faults: dict[int, tuple[Status, str]]
    calls: list[str]

    @property
    def supported(self) -> bool:
        """Whether some view supports the claim."""
        return any(one.supported for one in self.verdicts.values())


class FactScore(Evaluator):
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

    name: ClassVar[str] = "factscore"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM draws the summary's claims; a judge checks each against the document (FActScore)."
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("judge", "extractor")
    reduce: ClassVar[Reduce] = "mean"

    batch: int = Field(default=10, ge=1, le=AT_MOST)
    extractor: Literal["extractor", "judge"] = "extractor"
    at_most: int = Field(default=AT_MOST, ge=1, le=AT_MOST)
    gamma: int | None = Field(default=None, ge=1)
    prompts: Path | None = None

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the extractor unless the judge stands in for it."""
        return self.roles if self.extractor == "extractor" else ("judge",)

    def signature_fields(self) -> Mapping[str, object]:
        """Changed settings, and the prompts."""
        templates = [Template.load(PACKAGE, name, self.prompts).hash for name in (TEMPLATE, self.name)]
        return {**super().signature_fields(), "prompt": digest(templates, 4)}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call for the claims, then one for each batch of claims and window of the document."""
        del prepared
        llm = tools.llm("judge")
        builder = JudgmentBuilder(self, item, tools.signature, model=llm.id)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        extractor = tools.llm(self.extractor)
        drawn = await extract_claims(item.summary, extractor, at_most=self.at_most, prompts=self.prompts)
        if drawn.status != "ok":
            builder = JudgmentBuilder(self, item, tools.signature, model=extractor.id, calls=drawn.calls)
            return [builder.failed(FAITHFULNESS, drawn.status, drawn.reason or "no claims")]
        texts = drawn.texts
        batches = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        # What is shown must leave room beside the largest question, for every batch alike.
        frame = self.prompt("", max(batches, key=lambda batch: sum(map(len, batch))))
        views = shown(item.document, llm, frame, REPLY_TOKENS * min(self.batch, len(texts)))
        found = await asyncio.gather(*(self._check(batch, views, llm) for batch in batches))
        heard = [one for batch in found for one in batch]
        return [self._judgment(builder, drawn, place, views, one) for place, one in enumerate(heard)]

    def prompt(self, document: str, claims: Sequence[str]) -> Prompt:
        """The document first: the same beginning for all questions on it, so that a provider's prefix cache serves."""
        return Template.load(PACKAGE, self.name, self.prompts).fill(
            document=document, document_code=fence_code(document), claims=lines(claims),
            claims_code=fence_code(document, *claims),
        )  # fmt: skip

    async def _check(self, claims: Sequence[str], views: Shown, llm: BoundLLM) -> list[Heard]:
        """What is said of each claim, window by window until one supports it."""
        heard = [Heard({}, {}, []) for _ in claims]
        for at, view in enumerate(views.views):
            left = [place for place, one in enumerate(heard) if not one.supported]
            if not left:
                break
            asked = [claims[place] for place in left]
            answer = await llm.ask(self.prompt(view.text, asked), form(asked, view.text))
            for number, place in enumerate(left):
                heard[place].calls.extend(answer.calls)
                if answer.data is None:
                    heard[place].faults[at] = (answer.status, answer.reason or "no usable reply")
                else:
                    heard[place].verdicts[at] = answer.data[number]
        return heard

    def _judgment(self, builder: JudgmentBuilder, drawn: Claims, place: int, views: Shown, heard: Heard) -> Judgment:
        claim = drawn.claims[place]
        whole = JudgmentBuilder(
            self, builder.item, builder.signature, model=builder.model, calls=(*drawn.calls, *heard.calls)
        )
        about = {"list_id": drawn.id, "claim": claim, "truncated_tokens": views.truncated_tokens}
        if heard.faults and not heard.supported:
            # A window that was not read might have held the support: nothing can be said.
            at, (status, reason) = next(iter(heard.faults.items()))
            told = reason if len(views.views) == 1 else f"window {at + 1} of {len(views.views)}: {reason}"
            return whole.failed(FAITHFULNESS, status, told, "claim", place, **about)
        at = _telling(claim.text, views.views, heard.verdicts)
        verdict = heard.verdicts[at]
        return whole.ok(
            FAITHFULNESS, "claim", place, value=verdict.supported * self.penalty(len(drawn.claims)),
            label=int(verdict.supported), reason=verdict.reason, evidence=_evidence(views.views[at], verdict), **about,
        )  # fmt: skip

    def penalty(self, claims: int) -> float:
        """What a summary of so many claims is marked down by: 1 without `gamma`, or from `gamma` claims on.

        >>> round(FactScore(gamma=10).penalty(5), 4)
        0.3679
        """
        return 1.0 if self.gamma is None or claims >= self.gamma else exp(1 - self.gamma / claims)


def form(claims: Sequence[str], document: str) -> Form[tuple[Verdict, ...]]:
    """The schema of a reply on these claims (one required property each), and the strict reader of one."""
    keys = [str(number) for number in range(1, len(claims) + 1)]
    schema = {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/verdict"} for key in keys},
        "required": keys,
        "additionalProperties": False,
        "$defs": {"verdict": _VERDICT},
    }
    return Form("factscore", schema, lambda text: read_verdicts(text, claims, (document, *claims)))


def read_verdicts(text: str, claims: Sequence[str], material: Sequence[str] = ()) -> tuple[Verdict, ...]:
    """One verdict a claim from a reply, or ReplyError; `material` are the texts under judgment."""
    return read_reply(
        text,
        lambda value: tuple(_verdict(entry, at) for at, entry in enumerate(entries(value, len(claims), "claim"), 1)),
        same=lambda found: [verdict.supported for verdict in found],
        material=material,
    )


def _verdict(entry: Any, number: int) -> Verdict:
    if not isinstance(entry, dict):
        raise ReplyError(f"claim {number}: the verdict is {show(entry)}, not an object")
    said = entry.get("supported")
    decided = said if isinstance(said, bool) else _SUPPORTED.get(choice(said) or "")
    if decided is None:
        raise ReplyError(f'claim {number}: "supported" is {show(said)}, not yes or no')
    texts = {name: entry.get(name, "") for name in ("reason", "quote")}
    for name, found in texts.items():
        if not isinstance(found, str):
            raise ReplyError(f"claim {number}: the {name} is {show(found)}, not a text")
    return Verdict(decided, clean(texts["reason"]) or None, clean(texts["quote"]) or None)


def _telling(claim: str, views: Sequence[View], verdicts: Mapping[int, Verdict]) -> int:
    """The window whose verdict is told: the one that supports the claim; else, of those that quote something against
    it (or of all, where none does), the one nearest to the claim."""
    supporting = [at for at, verdict in verdicts.items() if verdict.supported]
    quoting = [at for at, verdict in verdicts.items() if verdict.quote]
    return closest(claim, views, supporting or quoting or list(verdicts))


def _evidence(view: View, verdict: Verdict) -> tuple[Span, ...]:
    """The quote as a stretch of the document, where it stands there."""
    place = find_quote(view.text, verdict.quote) if verdict.quote and view.start is not None else None
    if place is None or view.start is None:
        return ()
    return (Span(of="document", start=view.start + place.start, end=view.start + place.end),)
