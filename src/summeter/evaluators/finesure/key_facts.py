"""`finesure.key_facts`: the list of facts a good summary of a document holds.

Given with the document, else drawn by an LLM from the reference summary (FineSurE, section 3.2: at most
16), else from the document itself (UniSumEval, section 3.2: at most 20). Extracted lists can be validated by
several other LLMs, the majority deciding (UniSumEval again).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.llm import NoVerdict
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
from summeter.evaluators.windows import DocumentView, DocumentViews, document_views
from summeter.models.prompts import Prompt, fence_code, lines
from summeter.models.structured import Answer, BoundLLM, Form, Sampling
from summeter.records import Document, Item, Judgment, Origin, Status

Source = Literal["auto", "given", "reference", "document"]

AT_MOST: dict[Origin, int] = {"reference": 16, "document": 20}
TEMPLATES: dict[Origin, str] = {"reference": "key_facts_reference", "document": "key_facts_document"}

FACT: Final = 300
"""Longest key fact that the schema allows, in characters; the prompts ask for 30 words."""
REPLY_TOKENS: Final = 50
"""Tokens that a key fact takes in a reply."""
VALIDATION: Final = "key_facts_validate"
VOTE_TOKENS: Final = 60
"""Tokens that a vote takes, reason included."""
MOST: Final = 100
"""No list longer than this can be asked for: servers' schemas end here."""


class KeyFactExtraction(PromptedEvaluator):
    """Derives key facts once a document. It measures nothing of a summary: `judge` writes no judgment.

    `source`: "auto" takes given key facts, else the first reference that is not blank, else the document;
    any other value takes that one or nothing. `at_most`: the longest list (default 16 from a reference,
    20 from a document). `validators`: how many other models say of each extracted fact whether it is useful
    (roles `validator`, `validator2`, `validator3`...); one that more than half of them reject is left out, a tie
    leaves it in. `prompts`: a folder of the user's own templates.

    `Prepared.data` is {"key_facts": [str], "origin": "given" | "reference" | "document"}; for extracted
    lists also "repeated" and "cut": how many facts of the reply were left out as repetitions, and beyond
    the limit; for validated ones also "proposed" (the list before), "rejected" (indexes there, from 0) and
    "validation": per validator its role, model, status, reason and votes [{"useful", "reason"}], or None for the
    votes of one whose reply could not be used. Where none could, there is no list: an unchecked list is not
    one that was accepted. Given key facts are used as they are, without a call.
    """

    name: ClassVar[str] = "finesure.key_facts"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM draws key facts from the reference or the document; prepares, judges nothing."
    aspects: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}
    reads_sentences: ClassVar[bool] = False
    prepares_only: ClassVar[bool] = True

    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators."""
        return (*self.roles, *validator_roles(self.validators))

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates that lead to a list of key facts."""
        return (*TEMPLATES.values(), *((VALIDATION,) if self.validators else ()))

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The document's key facts; at most one question to the judge (one a window of a document that is longer than
        it reads), and one to each validator. A failure is a status, never a guess."""
        origin = self.origin(document)
        if origin is None:
            return Prepared(document_id=document.id, status="skipped", reason=self._absence())
        if origin == "given":
            # As they are, a blank one too: people's labels count in this very list.
            data = {"key_facts": list(document.key_facts), "origin": origin}
            return Prepared(document_id=document.id, data=data)
        extracted = await self._extract(document, origin, tools)
        if extracted.status != "ok" or not self.validators:
            return extracted
        return await self._validated(document, extracted, tools)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """No judgment: the list stands in the run's prepared data."""
        del item, prepared, tools
        return []

    def origin(self, document: Document) -> Origin | None:
        """Where the key facts of this document come from; None where nothing allowed is there."""
        there: dict[Origin, bool] = {
            "given": any(text.strip() for text in document.key_facts),
            "reference": _reference(document) is not None,
            "document": bool(document.text.strip()),
        }
        allowed: tuple[Origin, ...] = tuple(there) if self.source == "auto" else (self.source,)
        return next((origin for origin in allowed if there[origin]), None)

    def _absence(self) -> str:
        missing = {
            "auto": "no key facts are given, there is no reference, and the document is empty",
            "given": "no key facts are given",
            "reference": "there is no reference summary to draw key facts from",
            "document": "the document is empty, so no key facts can be drawn from it",
        }
        return missing[self.source]

    async def _extract(self, document: Document, origin: Origin, tools: Tools) -> Prepared:
        llm = tools.llm("judge")
        limit = self.at_most or AT_MOST[origin]
        source = _reference(document) if origin == "reference" else None
        if source is not None:
            shown = DocumentViews((DocumentView(source, 0),))
        else:
            frame = self._prompt("", "document", limit)
            shown = document_views(document, llm, frame, REPLY_TOKENS * limit)
        # A share each, so that a long document's later windows have a place in the list.
        share = limit if len(shown.views) == 1 else max(2, ceil(limit / len(shown.views)))
        answers = await asyncio.gather(*(self._ask(view.text, origin, share, llm) for view in shown.views))
        calls = tuple(key for answer in answers for key in answer.calls)
        for window, answer in enumerate(answers, 1):
            if answer.data is None:
                why = answer.reason if len(answers) == 1 else f"window {window} of {len(answers)}: {answer.reason}"
                reason = f"key facts from the {origin}: {why}"
                return Prepared(document_id=document.id, status=answer.status, reason=reason, calls=calls)
        data = _merged([answer.data for answer in answers if answer.data is not None], limit)
        data["origin"] = origin
        if len(answers) > 1:
            data["windows"] = len(answers)
        if shown.truncated_tokens is not None:
            data["truncated_tokens"] = shown.truncated_tokens
        return Prepared(document_id=document.id, data=data, calls=calls)

    async def _ask(self, source: str, origin: Origin, limit: int, llm: BoundLLM) -> Answer[Texts]:
        form = Form("key_facts", schema(limit), lambda reply: read_key_facts(reply, (source,)))
        return await llm.ask(self._prompt(source, origin, limit), form)

    def _prompt(self, source: str, origin: Origin, limit: int) -> Prompt:
        noun = "reference" if origin == "reference" else "document"
        variables: dict[str, Any] = {noun: source, f"{noun}_code": fence_code(source), "limit": limit}
        return self.load_template(TEMPLATES[origin]).fill(**variables)

    async def _validated(self, document: Document, extracted: Prepared, tools: Tools) -> Prepared:
        """The list without what the majority of the validators rejects, each of whom is asked once, side by side.

        Roles bound to one model ask it for samples of their own, so that one reply does not vote twice (at temperature
        0 they will mostly agree all the same). A reply that cannot be used is that validator's failure alone. A model
        that gives no reply at all (ModelError) ends the validation, once the others have answered: the run tries such a
        document again, and their replies are kept.
        """
        if not document.text.strip():
            why = "the document is empty, so no key fact can be validated by it"
            return Prepared(document_id=document.id, status="skipped", reason=why, calls=extracted.calls)
        facts: list[str] = extracted.data["key_facts"]
        roles = validator_roles(self.validators)
        models = [tools.llm(role) for role in roles]
        draws = [sum(earlier.id == model.id for earlier in models[:place]) for place, model in enumerate(models)]
        questions = (
            self._vote(role, model, document, facts, Sampling(draw=draw))
            for role, model, draw in zip(roles, models, draws, strict=True)
        )
        answers = await asyncio.gather(*questions, return_exceptions=True)
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        if errors:
            raise errors[0] if len(errors) == 1 else BaseExceptionGroup("validators", errors)
        ballots = [answer for answer in answers if isinstance(answer, Ballot)]
        rejected = rejected_facts(ballots)
        kept = [fact for index, fact in enumerate(facts) if index not in rejected]
        data = {
            **extracted.data,
            "key_facts": kept,
            "proposed": facts,
            "rejected": rejected,
            "validation": [ballot.row() for ballot in ballots],
        }
        calls = (*extracted.calls, *(key for ballot in ballots for key in ballot.answer.calls))
        failed = unusable(ballots)
        if failed is None and not kept:
            failed = NoVerdict(
                "skipped", f"the validators rejected all {len(facts)} key facts from the {data['origin']}"
            )
        if failed is None:
            return Prepared(document_id=document.id, data=data, calls=calls)
        del data["key_facts"]
        return Prepared(document_id=document.id, data=data, calls=calls, status=failed.status, reason=failed.reason)

    async def _vote(
        self, role: str, model: BoundLLM, document: Document, facts: Sequence[str], sampling: Sampling
    ) -> Ballot:
        """One validator's votes. Of a document too long for it, it is shown the passages nearest to the facts."""
        frame = self.validation_prompt("", facts)
        shown = document_views(document, model, frame, VOTE_TOKENS * len(facts), near=facts)
        source = shown.views[0].text
        form = Form(
            "key_fact_votes",
            keyed_schema(len(facts), "vote", {"reason": text_schema(REASON), "useful": YES_NO}),
            lambda reply: read_votes(reply, len(facts), (source, *facts)),
        )
        answer = await model.ask(self.validation_prompt(source, facts), form, sampling)
        return Ballot(role, model.id, answer, shown.truncated_tokens)

    def validation_prompt(self, document: str, facts: Sequence[str]) -> Prompt:
        """What a validator is asked: the document's text, then the numbered facts."""
        return self.load_template(VALIDATION).fill(
            document=document,
            document_code=fence_code(document),
            key_facts=lines(facts),
            facts_code=fence_code(document, *facts),
        )


class Vote(NamedTuple):
    """One validator on one key fact."""

    useful: bool
    reason: str | None


class Ballot(NamedTuple):
    """One validator's part: its votes in the order of the facts, or why there are none; and how many tokens of a
    document that is longer than it reads it was not shown."""

    role: str
    model: str
    answer: Answer[tuple[Vote, ...]]
    truncated_tokens: int | None = None

    def row(self) -> dict[str, Any]:
        """As it is stored."""
        votes = None if self.answer.data is None else [vote._asdict() for vote in self.answer.data]
        cut = {} if self.truncated_tokens is None else {"truncated_tokens": self.truncated_tokens}
        answer = {"status": self.answer.status, "reason": self.answer.reason}
        return {"role": self.role, "model": self.model, **answer, "votes": votes, **cut}


def validator_roles(count: int) -> tuple[str, ...]:
    """The roles of so many validators.

    >>> validator_roles(3)
    ('validator', 'validator2', 'validator3')
    """
    return tuple("validator" if number == 1 else f"validator{number}" for number in range(1, count + 1))


def rejected_facts(ballots: Sequence[Ballot]) -> list[int]:
    """The facts (counted from 0) that more than half of the usable ballots reject; a tie rejects nothing."""
    usable = [ballot.answer.data for ballot in ballots if ballot.answer.data is not None]
    against = [sum(not vote.useful for vote in votes) for votes in zip(*usable, strict=True)]
    return [index for index, count in enumerate(against) if 2 * count > len(usable)]


def unusable(ballots: Sequence[Ballot]) -> NoVerdict | None:
    """Why there is no validation, where no validator gave a usable reply; else None."""
    if any(ballot.answer.data is not None for ballot in ballots):
        return None
    status: Status = "refused" if {ballot.answer.status for ballot in ballots} == {"refused"} else "unparsed"
    reasons = "; ".join(f"{ballot.role}: {ballot.answer.reason}" for ballot in ballots)
    return NoVerdict(status, f"validation of key facts, without one usable reply: {reasons}")


def read_votes(reply: str, count: int, material: Sequence[str] = ()) -> tuple[Vote, ...]:
    """Exactly one vote a key fact from a reply, or ReplyError. `material` is what was judged.

    The vote stands under "useful", as our prompt asks, or under "response", as in the replies to UniSumEval's prompt
    (Lee et al., 2024, Figure 8).

    >>> read_votes('{"1": {"reason": "Central.", "useful": "yes"}}', 1)
    (Vote(useful=True, reason='Central.'),)
    >>> read_votes('[{"statement_id": 1, "response": "Yes", "reason": "Central."}]', 1)
    (Vote(useful=True, reason='Central.'),)
    """

    def vote(entry: Any, _: int) -> Vote:
        return Vote(yes(field(entry, "useful", "response")), optional_text(entry))

    return read_entries(reply, count, "key fact", vote, decision=lambda vote: vote.useful, material=material)


def _merged(lists: Sequence[Texts], limit: int) -> dict[str, Any]:
    """The lists of all windows as one, in order. Where that is too long, each window's first facts go before any
    window's later ones."""
    kept: dict[str, tuple[int, int, str]] = {}
    repeated = 0
    for window, facts in enumerate(lists):
        for place, fact in enumerate(facts.texts):
            key = choice(fact) or fact
            repeated += key in kept
            kept.setdefault(key, (place, window, fact))
    chosen = sorted(sorted(kept.values())[:limit], key=lambda fact: (fact[1], fact[0]))
    repeated += sum(facts.repeated for facts in lists)
    return {"key_facts": [fact for *_, fact in chosen], "repeated": repeated, "cut": len(kept) - len(chosen)}


def schema(limit: int) -> dict[str, Any]:
    """An object with a list of one to `limit` key facts."""
    return object_schema({"key_facts": list_schema(text_schema(FACT), limit)})


def read_key_facts(reply: str, material: Sequence[str] = ()) -> Texts:
    """Key facts from a reply: an object with the list under "key_facts", or under its only key.
    `material` is what they were drawn from.

    >>> read_key_facts("{'key facts': ['A sold B.', 'a sold b']}")
    Texts(texts=('A sold B.',), repeated=1)
    """
    return read_texts(reply, ("key_facts", "key facts"), "key fact", material)


def _reference(document: Document) -> str | None:
    return next((text for text in document.references if text.strip()), None)
