"""`finesure.key_facts`: the facts that a good summary of a document conveys.

Key facts are taken from the data. If the data contain none, an LLM extracts them from the reference summary (FineSurE,
section 3.2: at most 16) or, without a reference, from the document (UniSumEval, section 3.2: at most 20). Other LLMs
can validate the extracted key facts by a majority vote (UniSumEval).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from summeter.evaluators.base import Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.replies import (
    REASON,
    YES_NO,
    Texts,
    choice,
    field,
    keyed_schema,
    list_schema,
    object_schema,
    optional_text,
    read_entries,
    read_texts,
    text_schema,
    yes,
)
from summeter.evaluators.windows import document_views
from summeter.models.prompts import Prompt, fence_code, lines
from summeter.models.structured import BoundLLM, Form, ask_together
from summeter.records import Document, Item, Judgment, Origin, Status
from summeter.text.spans import TextSpan

Source = Literal["auto", "given", "reference", "document"]
Order = Literal["text", "importance"]
"""The order of extracted key facts: that of the text, or the most important first."""

AT_MOST: dict[Origin, int] = {"reference": 16, "document": 20}
TEMPLATES: dict[Origin, str] = {"reference": "key_facts_reference", "document": "key_facts_document"}

FACT: Final = 300
"""Maximum length of a key fact in the schema, in characters; the prompts ask for 30 words."""
ABSENT: Final[dict[Source, str]] = {
    "auto": "there are no key facts and no reference, and the document is empty",
    "given": "there are no key facts in the data",
    "reference": "there is no reference summary to extract key facts from",
    "document": "the document is empty, so no key facts can be extracted from it",
}
"""The reason why there are no key facts, by source."""
REPLY_TOKENS: Final = 50
"""Expected number of tokens of a key fact in a reply."""
VALIDATION: Final = "key_facts_validate"
VOTE_TOKENS: Final = 60
"""Expected number of tokens of a vote and its reason."""
MOST: Final = 100
"""Maximum number of key facts in a list. The schemas of servers do not support longer lists."""


class KeyFactExtraction(PromptedEvaluator):
    """Derive the key facts of each document, without judging summaries.

    `source` is "auto" to use the key facts in the data, or else the first non-blank reference, or else the document;
    any other value selects only that source. `at_most` is the maximum number of key facts (default: 16 from a
    reference, 20 from a document). `order` is the order of extracted facts: "text", or "importance" for the most
    important first. `validators` is the number of other models that vote on whether each extracted fact is useful
    (roles `validator`, `validator2`, `validator3`, ...); a fact is removed if more than half of them reject it.
    `prompts` is a folder of templates that replace the shipped ones.

    `Prepared.data` is {"key_facts": [str], "origin": "given" | "reference" | "document"}. For extracted lists it also
    contains "repeated" and "cut", the numbers of facts removed as repetitions and as exceeding the limit. For validated
    lists it also contains "proposed" (the list before validation), "rejected" (indexes in that list, from 0) and
    "validation". The latter has an entry per validator with its role, model, status, reason and votes [{"useful",
    "reason"}]; the votes are None if the reply was unusable. If no reply was usable or all facts were rejected, there
    is no list. Key facts in the data are used unchanged, without a call.
    """

    name, version = "finesure.key_facts", "2"
    summary = "An LLM extracts key facts from the reference or the document; judges no summary."
    aspects = ()
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}
    reads_sentences = False
    prepares_only = True
    extraction: ClassVar[Mapping[Origin, str]] = TEMPLATES
    absent: ClassVar[Mapping[Source, str]] = ABSENT

    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    order: Order = "text"
    validators: int = Field(default=0, ge=0)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the judge and of the validators."""
        return (*self.roles, *validator_roles(self.validators))

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates of the extraction and the validation."""
        return (*self.extraction.values(), *((VALIDATION,) if self.validators else ()))

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the key facts of the document.

        The judge is called at most once (once per window if the document exceeds the judge's context), and each
        validator at most once.
        """
        origin = self.origin(document)
        if origin is None:
            return Prepared(document_id=document.id, status="skipped", reason=self.absent[self.source])
        if origin == "given":
            # Blank ones are kept, because human labels refer to this list.
            data = {"key_facts": list(document.key_facts), "origin": origin}
            return Prepared(document_id=document.id, data=data)
        extracted = await self._extract(document, origin, tools)
        if extracted.status != "ok" or not self.validators:
            return extracted
        return await self._validated(document, extracted, tools)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return no judgments; the key facts are in the prepared data of the run."""
        return []

    def origin(self, document: Document) -> Origin | None:
        """Return the source of this document's key facts, or None if no allowed source is available."""
        available: dict[Origin, bool] = {
            "given": self.accepts(document.key_facts),
            "reference": _reference(document) is not None,
            "document": bool(document.text.strip()),
        }
        allowed: tuple[Origin, ...] = tuple(available) if self.source == "auto" else (self.source,)
        return next((origin for origin in allowed if available[origin]), None)

    def accepts(self, key_facts: Sequence[str]) -> bool:
        """Return whether the key facts in the data can be used."""
        return any(text.strip() for text in key_facts)

    def form(self, source: str, limit: int) -> Form[Texts]:
        """Return the schema of a reply with at most `limit` key facts of a text, with its parser."""
        schema = object_schema({"key_facts": list_schema(text_schema(FACT), limit)})
        return Form("key_facts", schema, partial(read_key_facts, material=(source,)))

    async def _extract(self, document: Document, origin: Origin, tools: Tools) -> Prepared:
        llm = tools.llm("judge")
        limit, ranked = self.at_most or AT_MOST[origin], self.order == "importance"
        noun = "reference" if origin == "reference" else "document"

        def prompt(source: str, limit: int) -> Prompt:
            variables: dict[str, Any] = {noun: source, f"{noun}_code": fence_code(source), "limit": limit}
            return self.load_template(self.extraction[origin]).fill(**variables, ranked=ranked)

        if origin == "reference":
            views, cut = [TextSpan.of(_reference(document) or "")], None
        else:
            views, cut = document_views(document, llm, prompt("", limit), REPLY_TOKENS * limit)
        # Each window gets a share of the list, so that later windows of a long document are represented.
        share = limit if len(views) == 1 else max(2, ceil(limit / len(views)))
        answers = await asyncio.gather(*(llm.ask(prompt(text, share), self.form(text, share)) for text, *_ in views))
        calls = tuple(key for answer in answers for key in answer.calls)
        for window, answer in enumerate(answers, 1):
            if answer.data is None:
                why = answer.reason if len(answers) == 1 else f"window {window} of {len(answers)}: {answer.reason}"
                reason = f"key facts from the {origin}: {why}"
                return Prepared(document_id=document.id, status=answer.status, reason=reason, calls=calls)
        lists = [answer.data for answer in answers if answer.data is not None]
        data = {**merged(lists, limit, ranked=ranked), "origin": origin}
        if len(answers) > 1:
            data["windows"] = len(answers)
        if cut is not None:
            data["truncated_tokens"] = cut
        return Prepared(document_id=document.id, data=data, calls=calls)

    async def _validated(self, document: Document, extracted: Prepared, tools: Tools) -> Prepared:
        """Remove the key facts that a majority of the validators rejects.

        The validators are asked concurrently.

        Roles bound to the same model draw separate samples, so that the same reply is not counted twice (at temperature
        0 the samples mostly agree). An unusable reply affects only one validator. If a model gives no reply
        (ModelError), that error is raised after the other models have answered; when the run tries the document again,
        it reuses their replies.
        """
        if not document.text.strip():
            why = "the document is empty, so key facts cannot be validated"
            return Prepared(document_id=document.id, status="skipped", reason=why, calls=extracted.calls)
        facts: list[str] = extracted.data["key_facts"]
        roles = validator_roles(self.validators)
        models = [tools.llm(role) for role in roles]
        draws = [sum(earlier.id == model.id for earlier in models[:place]) for place, model in enumerate(models)]
        questions = (self._vote(model, document, facts, draw) for model, draw in zip(models, draws, strict=True))
        votes = await ask_together(questions)
        rows = [{"role": role, **row} for role, (row, _) in zip(roles, votes, strict=True)]
        calls = (*extracted.calls, *(key for _, keys in votes for key in keys))
        usable = [row["votes"] for row in rows if row["votes"] is not None]
        against = [sum(not vote["useful"] for vote in of_fact) for of_fact in zip(*usable, strict=True)]
        rejected = [index for index, count in enumerate(against) if 2 * count > len(usable)]
        accepted = [fact for index, fact in enumerate(facts) if index not in rejected]
        data = {**extracted.data, "key_facts": accepted, "proposed": facts, "rejected": rejected, "validation": rows}
        if usable and accepted:
            return Prepared(document_id=document.id, data=data, calls=calls)
        del data["key_facts"]
        if usable:
            status: Status = "skipped"
            why = f"the validators rejected all {len(facts)} key facts from the {data['origin']}"
        else:
            status = "refused" if {row["status"] for row in rows} == {"refused"} else "unparsed"
            reasons = "; ".join(f"{row['role']}: {row['reason']}" for row in rows)
            why = f"validation of key facts: no usable reply ({reasons})"
        return Prepared(document_id=document.id, data=data, calls=calls, status=status, reason=why)

    async def _vote(
        self, model: BoundLLM, document: Document, facts: Sequence[str], draw: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the row and the calls of one validator.

        The validator is shown only the passages of a long document that are most similar to the key facts.
        """
        frame = self.validation_prompt("", facts)
        (view,), cut = document_views(document, model, frame, VOTE_TOKENS * len(facts), near=facts)
        source = view.text
        form = Form(
            "key_fact_votes",
            keyed_schema(len(facts), "vote", {"reason": text_schema(REASON), "useful": YES_NO}),
            lambda reply: read_votes(reply, len(facts), (source, *facts)),
        )
        answer = await model.ask(self.validation_prompt(source, facts), form, draw=draw)
        votes = None if answer.data is None else list(answer.data)
        row = {"model": model.id, "status": answer.status, "reason": answer.reason, "votes": votes}
        return {**row, **({} if cut is None else {"truncated_tokens": cut})}, answer.calls

    def validation_prompt(self, document: str, facts: Sequence[str]) -> Prompt:
        """Return the validators' prompt: the text of the document, then the numbered facts."""
        return self.load_template(VALIDATION).fill(
            document=document,
            document_code=fence_code(document),
            key_facts=lines(facts),
            facts_code=fence_code(document, *facts),
        )


def validator_roles(count: int) -> tuple[str, ...]:
    """Return the roles of `count` validators.

    >>> validator_roles(3)
    ('validator', 'validator2', 'validator3')
    """
    return tuple("validator" if number == 1 else f"validator{number}" for number in range(1, count + 1))


def read_votes(reply: str, count: int, material: Sequence[str] = ()) -> tuple[dict[str, Any], ...]:
    """Parse exactly one vote per key fact from a reply.

    The vote is in the field "useful", as the shipped prompt asks, or in the field "response", as in replies to
    UniSumEval's prompt (Lee et al., 2024, Figure 8). `material` contains the texts under judgment. Raises ReplyError if
    the reply does not contain one vote per key fact.

    >>> read_votes('{"1": {"reason": "Central.", "useful": "yes"}}', 1)
    ({'useful': True, 'reason': 'Central.'},)
    >>> read_votes('[{"statement_id": 1, "response": "Yes", "reason": "Central."}]', 1)
    ({'useful': True, 'reason': 'Central.'},)
    """

    def vote(entry: Any, _: int) -> dict[str, Any]:
        return {"useful": yes(field(entry, "useful", "response")), "reason": optional_text(entry)}

    return read_entries(reply, count, "key fact", vote, decision=lambda vote: vote["useful"], material=material)


def merged(lists: Sequence[Texts], limit: int, *, ranked: bool = False) -> dict[str, Any]:
    """Merge the lists of all windows.

    If the limit is exceeded, the first facts of each window take precedence. If the lists are `ranked` by importance,
    the first facts of all windows come first; otherwise, the facts of the first window do.
    """
    distinct: dict[str, tuple[int, int, str]] = {}
    repeated = 0
    for window, facts in enumerate(lists):
        for place, fact in enumerate(facts.texts):
            key = choice(fact) or fact
            repeated += key in distinct
            distinct.setdefault(key, (place, window, fact))
    chosen = sorted(distinct.values())[:limit]
    if not ranked:
        chosen.sort(key=lambda fact: (fact[1], fact[0]))
    repeated += sum(facts.repeated for facts in lists)
    return {"key_facts": [fact for *_, fact in chosen], "repeated": repeated, "cut": len(distinct) - len(chosen)}


def read_key_facts(reply: str, material: Sequence[str] = ()) -> Texts:
    """Parse key facts from a reply: an object with the list under "key_facts" or under its only key.

    `material` contains the text from which the key facts were extracted.

    >>> read_key_facts("{'key facts': ['A sold B.', 'a sold b']}")
    Texts(texts=('A sold B.',), repeated=1)
    """
    return read_texts(reply, ("key_facts", "key facts"), "key fact", material)


def _reference(document: Document) -> str | None:
    return next((text for text in document.references if text.strip()), None)
