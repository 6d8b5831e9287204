"""Items by hand, and a judge that says what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from evaluators.judging import judgments_of

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.models.base import Completion, Request
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Document, Item, Judgment, Span, Summary


def spans(text: str, sentences: Sequence[str]) -> tuple[Span, ...]:
    """Where the sentences stand, each after the one before."""
    found, position = [], 0
    for sentence in sentences:
        start = text.index(sentence, position)
        position = start + len(sentence)
        found.append(Span(of="summary", start=start, end=position))
    return tuple(found)


def item(
    sentences: Sequence[str] = ("Ana sold the boat.", "She bought a mill in May.", "It burnt down."),
    *,
    document: str = "Ana sold her boat and bought a mill. It burnt down.",
    key_facts: Sequence[str] = ("Ana sold a boat.", "Ana bought a mill."),
    references: Sequence[str] = (),
    system: str = "s1",
) -> Item:
    """One summary of one document."""
    text = " ".join(sentences)
    return Item(
        document=Document(id="d1", text=document, key_facts=tuple(key_facts), references=tuple(references)),
        summary=Summary(
            document_id="d1", system=system, text=text, sentences=spans(text, sentences), splitter="given"
        ),
    )  # fmt: skip


class Judge:
    """An LLM of the test's own making that remembers what it was asked."""

    id = "test/judge"

    def __init__(self, say: Callable[[Request], Completion | str]) -> None:
        self.say = say
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        said = self.say(request)
        return Completion(text=said, finish_reason="stop") if isinstance(said, str) else said

    async def close(self) -> None: ...


def tools(judge: Judge, *, repair: bool = False) -> Tools:
    """Tools whose one model is the judge."""
    return Tools(signature="sig", llms={"judge": BoundLLM(judge, Settings(repair=repair))})


def run(evaluator: Evaluator, one: Item, judge: Judge, *, repair: bool = False) -> tuple[Prepared, list[Judgment]]:
    """Prepare and judge one item."""
    given = tools(judge, repair=repair)

    async def both() -> tuple[Prepared, list[Judgment]]:
        prepared = await evaluator.prepare(one.document, given)
        return prepared, await judgments_of(evaluator, one, prepared, given)

    return asyncio.run(both())
