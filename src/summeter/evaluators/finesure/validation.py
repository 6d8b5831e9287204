"""Validation of key facts: several LLMs say of each whether it is useful, and the majority decides.

UniSumEval, section 3.2 (Lee et al., EMNLP 2024): a fact is kept unless the majority rejects it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from summeter.evaluators.base import Tools
from summeter.evaluators.fences import fence_code, lines
from summeter.evaluators.llm import load_template
from summeter.evaluators.replies import (
    REASON,
    YES_NO,
    field,
    keyed_schema,
    optional_text,
    read_entries,
    read_reply,
    show,
    text_schema,
    yes,
)
from summeter.evaluators.windows import shown
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, Asked, BoundLLM, Form
from summeter.records import Document, ReplyError, Status

TEMPLATE = "key_facts_validate"
ROLE = "validator"
REPLY_TOKENS = 60
"""Tokens that a vote takes, reason included."""


class Vote(NamedTuple):
    """One validator on one key fact."""

    useful: bool
    reason: str | None


class Validator(NamedTuple):
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
        return {
            "role": self.role,
            "model": self.model,
            "status": self.answer.status,
            "reason": self.answer.reason,
            "votes": votes,
            **cut,
        }


class Validation(NamedTuple):
    """The votes of all validators on a list of facts."""

    validators: tuple[Validator, ...]

    @property
    def calls(self) -> tuple[str, ...]:
        """The keys of all calls."""
        return tuple(key for validator in self.validators for key in validator.answer.calls)

    @property
    def rejected(self) -> list[int]:
        """The facts (counted from 0) that more than half of the usable votes reject; a tie rejects nothing."""
        ballots = [validator.answer.data for validator in self.validators if validator.answer.data is not None]
        against = [sum(not vote.useful for vote in votes) for votes in zip(*ballots, strict=True)]
        return [index for index, votes_against in enumerate(against) if 2 * votes_against > len(ballots)]

    @property
    def failure(self) -> tuple[Status, str] | None:
        """Status and reason where no validator gave a usable reply, else None."""
        if any(validator.answer.data is not None for validator in self.validators):
            return None
        statuses = {validator.answer.status for validator in self.validators}
        status: Status = "refused" if statuses == {"refused"} else "unparsed"
        reasons = "; ".join(f"{validator.role}: {validator.answer.reason}" for validator in self.validators)
        return status, f"validation of key facts, without one usable reply: {reasons}"


def roles(count: int) -> tuple[str, ...]:
    """The roles of so many validators.

    >>> roles(3)
    ('validator', 'validator2', 'validator3')
    """
    return tuple(ROLE if number == 1 else f"{ROLE}{number}" for number in range(1, count + 1))


async def validate(
    document: Document, facts: Sequence[str], roles_asked: Sequence[str], tools: Tools, prompts: Path | None = None
) -> Validation:
    """Ask the models in the roles `roles_asked`, each once, side by side. `facts` must not be empty.

    Roles bound to one model ask it for samples of their own, so that one reply does not vote twice (at temperature 0
    they will mostly agree all the same). A reply that cannot be used is that validator's failure alone. A model that
    gives no reply at all (ModelError) ends the validation, once the others have answered: the run tries such a
    document again, and their replies are kept.
    """
    models = [tools.llm(role) for role in roles_asked]
    draws = [sum(earlier.id == model.id for earlier in models[:place]) for place, model in enumerate(models)]
    questions = (
        _ask(role, model, document, facts, Asked(draw=draw), prompts)
        for role, model, draw in zip(roles_asked, models, draws, strict=True)
    )
    answers = await asyncio.gather(*questions, return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    if errors:
        raise errors[0] if len(errors) == 1 else BaseExceptionGroup("validators", errors)
    return Validation(tuple(answer for answer in answers if not isinstance(answer, BaseException)))


async def _ask(
    role: str, model: BoundLLM, document: Document, facts: Sequence[str], sampling: Asked, prompts: Path | None
) -> Validator:
    """One validator's answer. Of a document that is too long for it, it is shown the passages nearest to the facts."""
    source_shown = shown(document, model, ballot("", facts, prompts), REPLY_TOKENS * len(facts), near=facts)
    source = source_shown.views[0].text
    form = Form(
        "key_fact_votes",
        keyed_schema(len(facts), "vote", {"reason": text_schema(REASON), "useful": YES_NO}),
        lambda reply: read_votes(reply, len(facts), (source, *facts)),
    )
    answer = await model.ask(ballot(source, facts, prompts), form, sampling)
    return Validator(role, model.id, answer, source_shown.truncated_tokens)


def ballot(document: str, facts: Sequence[str], prompts: Path | None = None) -> Prompt:
    """The question: the document's text, then the numbered facts."""
    return load_template(Validation, TEMPLATE, prompts).fill(
        document=document,
        document_code=fence_code(document),
        key_facts=lines(facts),
        facts_code=fence_code(document, *facts),
    )


def read_votes(reply: str, count: int, material: Sequence[str] = ()) -> tuple[Vote, ...]:
    """Exactly one vote a key fact from a reply, or ReplyError. `material` is what was judged.

    >>> read_votes('{"1": {"reason": "Central.", "useful": "yes"}}', 1)
    (Vote(useful=True, reason='Central.'),)
    """
    return read_reply(
        reply, lambda value: _votes(value, count), same=lambda votes: [vote.useful for vote in votes], material=material
    )


def _votes(value: Any, count: int) -> tuple[Vote, ...]:
    return read_entries(value, count, "key fact", _vote)


def _vote(entry: Any, place: int) -> Vote:
    del place
    if not isinstance(entry, dict):
        raise ReplyError(f"the vote is {show(entry)}, not an object")
    return Vote(yes(field(entry, "useful")), optional_text(entry))
