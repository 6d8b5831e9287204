"""Evaluators for the engine's tests."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.records import Document, Item, Judgment, ModelError

calls: dict[str, int] = {}


class Lengths(Evaluator):
    """Label 1 for a sentence of at most `most` words. Counts how often it is asked."""

    name: ClassVar[str] = "lengths"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "short sentences are good sentences"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    most: int = 5

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        calls["prepare"] = calls.get("prepare", 0) + 1
        return Prepared(document_id=document.id, data={"words": len(document.text.split())})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        calls["judge"] = calls.get("judge", 0) + 1
        await asyncio.sleep(0)
        pen = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id)
        lengths = [len(text.split()) for text in item.sentences]
        return [
            pen.ok("faithfulness", "sentence", place, value=float(length), label=int(length <= self.most))
            for place, length in enumerate(lengths)
        ]


class Moody(Lengths):
    """Fails on one system, with an error of `kind`."""

    name: ClassVar[str] = "moody"

    kind: str = "model"
    system: str = "b"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        if item.summary.system == self.system:
            errors: dict[str, Exception] = {"model": ModelError("the model is down"), "bug": ZeroDivisionError("oops")}
            raise errors[self.kind]
        return await super().judge(item, prepared, tools)


def rows(documents: int = 3, systems: str = "ab") -> list[dict[str, Any]]:
    """Flat rows; the second system's last sentence is long."""
    return [
        {
            "doc_id": f"d{number}", "system": system, "domain": "news" if number % 2 else "talk",
            "document": f"It rained on day {number}. Everybody stayed at home and read a book.",
            "summary": "It rained. " + ("We read." if system == "a" else "Everybody went out and danced in the sun."),
        }
        for number in range(documents)
        for system in systems
    ]  # fmt: skip
