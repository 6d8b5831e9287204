"""A long document with a fact at its end, and a judge that answers from its prompt alone."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from summeter.models.base import Completion, Request
from summeter.models.tokens import tokens as estimated_tokens
from summeter.records import ContextError, Document, Item, Span, Summary
from summeter.text.split import split

PLANTED = "The harbour bell of Ostrava was cast in 1743."
FACT = "The harbour bell of Ostrava was cast in 1743"


def filler(tokens: int, seed: int = 7) -> str:
    """Return irrelevant sentences of about `tokens` tokens."""
    rng = random.Random(seed)
    people, things = ["Mara", "Oskar", "Lene", "Piet"], ["ledger", "barge", "orchard", "ferry", "granary"]
    parts: list[str] = []
    count = 0
    while count < tokens:
        parts.append(
            f"{rng.choice(people)} looked at the {rng.choice(things)} for the {len(parts)}th time and went on."
        )
        count += estimated_tokens(parts[-1] + " ")
    return " ".join(parts)


def document(tokens: int = 53_000, last: str = PLANTED) -> Document:
    """Return a document of about `tokens` tokens that states a fact only at its end."""
    text = f"{filler(tokens)} {last}"
    spans = tuple(Span(of="document", start=start, end=end) for start, end in split(text))
    return Document(id="long", text=text, sentences=spans)


def item(source: Document, *sentences: str) -> Item:
    """An item whose summary has these sentences."""
    text, spans = " ".join(sentences), []
    for sentence in sentences:
        start = text.index(sentence)
        spans.append(Span(of="summary", start=start, end=start + len(sentence)))
    summary = Summary(document_id=source.id, system="s", text=text, sentences=tuple(spans), splitter="given")
    return Item(document=source, summary=summary)


class Reader:
    """An LLM that reads at most `context` tokens (of four letters) and answers by the document in its prompt.

    It supports a claim or sentence that the document contains literally, without its full stop.
    """

    id = "test/reader"

    def __init__(self, context: int | None = None) -> None:
        self.context = context
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Completion:
        prompt = request.prompt
        if self.context is not None and len(prompt) / 4 > self.context:
            raise ContextError(f"this prompt of {len(prompt) // 4} tokens exceeds the context length")
        self.prompts.append(prompt)
        return Completion(text=json.dumps(self._answer(request.schema_name or "", prompt)), finish_reason="stop")

    def _answer(self, form: str, prompt: str) -> Any:
        source = "\n".join(re.findall(r"<<<document \w+>>>\n(.*?)\n<<<end of document", prompt, re.DOTALL))
        lines = re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE)
        supported = {number: text.strip(". ") in source for number, text in lines}
        if form == "claims":
            summary = re.search(r"<<<summary \w+>>>\n(.*?)\n<<<end of summary", prompt, re.DOTALL)
            assert summary is not None
            return {"claims": [part.strip() for part in summary[1].split(".") if part.strip()]}
        if form == "factscore":
            return {
                number: {
                    "quote": text if supported[number] else "",
                    "reason": "so",
                    "supported": "yes" if supported[number] else "no",
                }
                for number, text in lines
            }
        return self._other(form, source, supported)

    def _other(self, form: str, source: str, supported: dict[str, bool]) -> Any:
        if form == "key_facts":
            return {"key_facts": [FACT + "." if FACT in source else "People looked at things.", "They went on."]}
        if form == "fact_check":
            return {
                number: {"reason": "so", "category": "no error" if yes else "out-of-context error"}
                for number, yes in supported.items()
            }
        return {"reason": "so", "score": 5 if FACT in source else 1}

    async def close(self) -> None: ...
