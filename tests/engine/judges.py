"""Evaluators for the engine's tests."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.records import AccessError, Document, Item, Judgment, ModelError

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
            raise {
                "model": ModelError("the model is down"),
                "bug": ZeroDivisionError("oops"),
                "cancelled": asyncio.CancelledError(),
            }[self.kind]
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


class Killer(Lengths):
    """Does something bad on some documents, once each: `flags` is a folder that remembers."""

    name: ClassVar[str] = "killer"

    flags: str
    documents: tuple[str, ...] = ()
    kind: str = "kill"
    times: int = 1

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        judgments = await super().judge(item, prepared, tools)
        if item.document.id in self.documents and item.summary.system == "b":
            self._once(Path(self.flags, item.document.id))
        return judgments

    def _once(self, flag: Path) -> None:
        done = len(flag.read_text()) if flag.exists() else 0
        if done < self.times:
            flag.write_text("x" * (done + 1))
            self._do()

    def _do(self) -> None:
        match self.kind:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "key":
                raise AccessError("the key is refused")
            case "disk":  # whatever this process writes from now on fails, as on a disk that is full
                resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            case "slow":
                time.sleep(0.2)
            case other:
                raise ValueError(other)
