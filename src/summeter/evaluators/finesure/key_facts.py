"""`finesure.key_facts`: the list of facts a good summary of a document holds.

Given with the document, else drawn by an LLM from the reference summary (FineSurE, section 3.2: at most
16), else from the document itself (UniSumEval, section 3.2: at most 20). Extracted lists can be validated by
several other LLMs, the majority deciding (UniSumEval again).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.fences import fence_code
from summeter.evaluators.finesure import validation
from summeter.evaluators.llm import load_template
from summeter.evaluators.replies import (
    Texts,
    choice,
    is_object,
    list_schema,
    object_schema,
    read_reply,
    read_texts,
    show,
    text_schema,
)
from summeter.evaluators.windows import Shown, View, shown
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import Document, Item, Judgment, Origin, Status, digest

Source = Literal["auto", "given", "reference", "document"]

AT_MOST: dict[Origin, int] = {"reference": 16, "document": 20}
TEMPLATES: dict[Origin, str] = {"reference": "key_facts_reference", "document": "key_facts_document"}

FACT: Final = 300
"""Longest key fact that the schema allows, in characters; the prompts ask for 30 words."""
REPLY_TOKENS: Final = 50
"""Tokens that a key fact takes in a reply."""
MOST: Final = 100
"""No list longer than this can be asked for: servers' schemas end here."""


class KeyFactExtraction(Evaluator):
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
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    reads_sentences: ClassVar[bool] = False
    prepares_only: ClassVar[bool] = True

    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)
    prompts: Path | None = None

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators."""
        return (*self.roles, *validation.roles(self.validators))

    def signature_fields(self) -> Mapping[str, object]:
        """Changed settings, and the prompts."""
        hashes = [load_template(KeyFactExtraction, name, self.prompts).hash for name in templates(self.validators)]
        return {**super().signature_fields(), "prompt": digest(hashes, 4)}

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
        source_shown = Shown((View(source, 0),)) if source is not None else self._shown(document, llm, limit)
        # A share each, so that a long document's later windows have a place in the list.
        share = limit if len(source_shown.views) == 1 else max(2, ceil(limit / len(source_shown.views)))
        answers = await asyncio.gather(*(self._ask(view.text, origin, share, llm) for view in source_shown.views))
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
        if source_shown.truncated_tokens is not None:
            data["truncated_tokens"] = source_shown.truncated_tokens
        return Prepared(document_id=document.id, data=data, calls=calls)

    def _shown(self, document: Document, llm: BoundLLM, limit: int) -> Shown:
        return shown(document, llm, self._prompt("", "document", limit), REPLY_TOKENS * limit)

    async def _ask(self, source: str, origin: Origin, limit: int, llm: BoundLLM) -> Answer[Texts]:
        form = Form("key_facts", schema(limit), lambda reply: read_key_facts(reply, (source,)))
        return await llm.ask(self._prompt(source, origin, limit), form)

    def _prompt(self, source: str, origin: Origin, limit: int) -> Prompt:
        noun = "reference" if origin == "reference" else "document"
        holes: dict[str, Any] = {noun: source, f"{noun}_code": fence_code(source), "limit": limit}
        return load_template(KeyFactExtraction, TEMPLATES[origin], self.prompts).fill(**holes)

    async def _validated(self, document: Document, extracted: Prepared, tools: Tools) -> Prepared:
        if not document.text.strip():
            why = "the document is empty, so no key fact can be validated by it"
            return Prepared(document_id=document.id, status="skipped", reason=why, calls=extracted.calls)
        proposed: list[str] = extracted.data["key_facts"]
        roles = validation.roles(self.validators)
        outcome = await validation.validate(document, proposed, roles, tools, self.prompts)
        rejected = outcome.rejected
        data = {
            **extracted.data,
            "key_facts": [fact for index, fact in enumerate(proposed) if index not in rejected],
            "proposed": proposed,
            "rejected": rejected,
            "validation": [validator.row() for validator in outcome.validators],
        }
        failed: tuple[Status, str] | None = outcome.failure
        if failed is None and not data["key_facts"]:
            failed = "skipped", f"the validators rejected all {len(proposed)} key facts from the {data['origin']}"
        if failed is None:
            return Prepared(document_id=document.id, data=data, calls=(*extracted.calls, *outcome.calls))
        stored = {key: value for key, value in data.items() if key != "key_facts"}
        status, reason = failed
        return Prepared(
            document_id=document.id, data=stored, calls=(*extracted.calls, *outcome.calls), status=status, reason=reason
        )


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


def templates(validators: int) -> list[str]:
    """The templates that lead to a list of key facts."""
    return [*TEMPLATES.values(), *([validation.TEMPLATE] if validators else [])]


def schema(limit: int) -> dict[str, Any]:
    """An object with a list of one to `limit` key facts."""
    return object_schema({"key_facts": list_schema(text_schema(FACT), limit)})


def read_key_facts(reply: str, material: Sequence[str] = ()) -> Texts:
    """Key facts from a reply: an object with the list under "key_facts", or under its only key.
    `material` is what they were drawn from.

    >>> read_key_facts("{'key facts': ['A sold B.', 'a sold b']}")
    Texts(texts=('A sold B.',), repeated=1)
    """
    return read_reply(
        reply,
        lambda value: read_texts(value, ("key_facts", "key facts"), "key fact", _fault),
        wanted=is_object,
        material=material,
    )


def _fault(entry: Any, place: int) -> str | None:
    if isinstance(entry, str) and any(char.isalnum() for char in entry):
        return None
    return f"key fact {place} is {show(entry)}, not a statement"


def _reference(document: Document) -> str | None:
    return next((text for text in document.references if text.strip()), None)
