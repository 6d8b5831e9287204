"""`finesure.key_facts`: the list of facts a good summary of a document holds.

Given with the document, else drawn by an LLM from the reference summary (FineSurE, section 3.2: at most
16), else from the document itself (UniSumEval, section 3.2: at most 20).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.finesure.blocks import fence_code, prompt_hash, template
from summeter.evaluators.replies import choice, clean, read_reply, show, unwrap
from summeter.models.structured import Form
from summeter.records import Document, Item, Judgment, KeyFacts, Origin, ReplyError

Source = Literal["auto", "given", "reference", "document"]

AT_MOST: dict[Origin, int] = {"reference": 16, "document": 20}
TEMPLATES: dict[Origin, str] = {"reference": "key_facts_reference", "document": "key_facts_document"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"key_facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["key_facts"],
    "additionalProperties": False,
}


class Found(NamedTuple):
    """Key facts of a reply, without repetitions; `repeated` counts those left out."""

    texts: tuple[str, ...]
    repeated: int


class KeyFactExtraction(Evaluator):
    """Derives key facts once a document. It measures nothing of a summary: `judge` writes no judgment.

    `source`: "auto" takes given key facts, else the first reference that is not blank, else the document;
    any other value takes that one or nothing. `at_most`: the longest list (default 16 from a reference,
    20 from a document). `prompts`: a folder of the user's own templates.

    `Prepared.data` is {"key_facts": [str], "origin": "given" | "reference" | "document"}; for extracted
    lists also "repeated" and "cut": how many facts of the reply were left out as repetitions, and beyond
    the limit. Given key facts are used as they are, without a call.
    """

    name: ClassVar[str] = "finesure.key_facts"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM draws key facts from the reference or the document; prepares, judges nothing."
    aspects: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    reads_sentences: ClassVar[bool] = False
    prepares_only: ClassVar[bool] = True

    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1)
    prompts: Path | None = None

    def traits(self) -> Mapping[str, object]:
        """Changed settings, and the prompts."""
        return {**super().traits(), "prompt": prompt_hash(list(TEMPLATES.values()), self.prompts)}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The document's key facts; at most one question to the judge. A failure is a status, never a guess."""
        origin = self.origin(document)
        if origin is None:
            return Prepared(document_id=document.id, status="skipped", reason=self._absence())
        if origin == "given":
            # As they are, a blank one too: people's labels count in this very list.
            data = {"key_facts": list(document.key_facts), "origin": origin}
            return Prepared(document_id=document.id, data=data)
        return await self._extract(document, origin, tools)

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
        text = (_reference(document) if origin == "reference" else None) or document.text
        limit = self.at_most or AT_MOST[origin]
        prompt = template(TEMPLATES[origin], self.prompts).fill(text=text, code=fence_code(text), limit=limit)
        form = Form("key_facts", SCHEMA, lambda reply: read_key_facts(reply, (text,)))
        answer = await tools.llm("judge").ask(prompt, form)
        if answer.data is None:
            reason = f"key facts from the {origin}: {answer.reason}"
            return Prepared(document_id=document.id, status=answer.status, reason=reason, calls=answer.calls)
        found = answer.data
        data = {
            "key_facts": list(found.texts[:limit]), "origin": origin,
            "repeated": found.repeated, "cut": max(0, len(found.texts) - limit),
        }  # fmt: skip
        return Prepared(document_id=document.id, data=data, calls=answer.calls)


def key_facts_of(prepared: Prepared) -> KeyFacts | None:
    """The list in what was prepared; None where there is none (its status and reason say why)."""
    texts = prepared.data.get("key_facts")
    if prepared.status != "ok" or not texts:
        return None
    return KeyFacts.of(texts, prepared.data["origin"])


def read_key_facts(text: str, material: Sequence[str] = ()) -> Found:
    """Key facts from a reply: an object with the list under "key_facts", or under its only key.
    `material` is what they were drawn from.

    >>> read_key_facts("{'key facts': ['A sold B.', 'a sold b']}")
    Found(texts=('A sold B.',), repeated=1)
    """
    return read_reply(text, _found, wanted=lambda value: isinstance(value, dict) and bool(value), material=material)


def _found(value: Any) -> Found:
    named = [value[key] for key in ("key_facts", "key facts") if key in value]
    value = named[0] if len(named) == 1 else unwrap(value)
    if not isinstance(value, list):
        raise ReplyError(f"expected a list of key facts, got {show(value)}")
    kept: dict[str, str] = {}
    for position, one in enumerate(value, start=1):
        if not isinstance(one, str) or not any(char.isalnum() for char in one):
            raise ReplyError(f"key fact {position} is {show(one)}, not a statement")
        fact = clean(one)
        kept.setdefault(choice(fact) or fact, fact)
    if not kept:
        raise ReplyError("the list of key facts is empty")
    return Found(tuple(kept.values()), len(value) - len(kept))


def _reference(document: Document) -> str | None:
    return next((text for text in document.references if text.strip()), None)
