"""Items, scripted LLMs and helpers that judge items as a run does, for the tests of all judges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.models.base import LLM, Completion, Request
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Document, Item, Judgment, Span, Summary

SENTENCES = ("Ana sold the boat.", "She bought a mill in May.", "It burnt down.")


def spans(text: str, sentences: Sequence[str]) -> tuple[Span, ...]:
    """Return the offsets of consecutive sentences."""
    found, position = [], 0
    for sentence in sentences:
        start = text.index(sentence, position)
        position = start + len(sentence)
        found.append(Span(of="summary", start=start, end=position))
    return tuple(found)


def item(
    sentences: Sequence[str] = SENTENCES,
    *,
    document: str | Document = "Ana sold her boat and bought a mill. It burnt down.",
    key_facts: Sequence[str] = ("Ana sold a boat.", "Ana bought a mill."),
    references: Sequence[str] = (),
    system: str = "s1",
    rival: str | None = None,
) -> Item:
    """An item with one summary of one document, and a rival summary if its text is given."""
    if isinstance(document, str):
        document = Document(id="d1", text=document, key_facts=tuple(key_facts), references=tuple(references))

    def summary(name: str, *parts: str) -> Summary:
        text = " ".join(parts)
        return Summary(document_id=document.id, system=name, text=text, sentences=spans(text, parts), splitter="given")

    return Item(
        document=document, summary=summary(system, *sentences), rival=None if rival is None else summary("s2", rival)
    )


class Judge:
    """A scripted LLM that records its prompts."""

    id = "test/judge"

    def __init__(self, say: str | Callable[[Request], Completion | str]) -> None:
        self.say = say
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        said = self.say if isinstance(self.say, str) else self.say(request)
        return Completion(text=said, finish_reason="stop") if isinstance(said, str) else said

    async def close(self) -> None: ...


async def judgments_of(evaluator: Evaluator, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
    """Return the judgments of an item; `judge` is called if the item can be judged."""
    found = evaluator.unjudged(item, tools.signature, prepared)
    return await evaluator.judge(item, prepared, tools) if found is None else found


def run(
    evaluator: Evaluator,
    one: Item,
    llms: LLM | Mapping[str, LLM] | None = None,
    *,
    networks: Mapping[str, Any] | None = None,
    **settings: Any,
) -> tuple[Prepared, list[Judgment]]:
    """Prepare and judge one item with one LLM in every role. `settings` are those of the LLMs."""
    bound = llms if isinstance(llms, Mapping) else dict.fromkeys(evaluator.required_roles, llms) if llms else {}
    asked = {role: BoundLLM(llm, Settings(**{"repair": False, **settings})) for role, llm in bound.items()}
    signature = evaluator.sign({role: one.id for role, one in [*asked.items(), *(networks or {}).items()]})
    tools = Tools(signature=signature, llms=asked, networks=dict(networks or {}))

    async def both() -> tuple[Prepared, list[Judgment]]:
        prepared = await evaluator.prepare(one.document, tools)
        return prepared, await judgments_of(evaluator, one, prepared, tools)

    return asyncio.run(both())
