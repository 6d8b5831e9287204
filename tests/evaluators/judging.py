"""Judging one item as a run does."""

from __future__ import annotations

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.records import Item, Judgment


async def judgments_of(evaluator: Evaluator, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
    """The judgments of an item: `judge` is called where it can be judged."""
    found = evaluator.unjudged(item, tools.signature, prepared)
    return await evaluator.judge(item, prepared, tools) if found is None else found
