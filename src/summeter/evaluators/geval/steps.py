"""Evaluation steps: how a judge arrives at a score. Written by the model itself, by a user, or here."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from summeter.evaluators.aspects import AspectDef
from summeter.evaluators.replies import (
    clean,
    is_object,
    list_schema,
    object_schema,
    read_reply,
    show,
    text_schema,
    unwrap,
)
from summeter.models.prompts import Template
from summeter.models.structured import BoundLLM, Form
from summeter.records import ReplyError, Status

MOST = 10
SCHEMA = object_schema({"steps": list_schema(text_schema(400), MOST)})
_NUMBERED = re.compile(r"(?:step\s*)?\d{1,2}[.):]\s*", re.IGNORECASE)

TUNED: dict[str, tuple[str, ...]] = {
    "faithfulness": (
        "Go through the summary and list every statement it makes.",
        "Look each statement up in the document: it is supported where it is stated there or follows from it.",
        "Give the score by the share of the statements that are supported: 1 for none, 5 for all.",
    ),
    "completeness": (
        "List the key facts of the document, those that a reader of a summary would miss.",
        "Look in the summary for each key fact: it is there where a reader of the summary alone would learn it.",
        "Give the score by the share of the key facts that are there: 1 for none, 5 for all.",
    ),
    "conciseness": (
        "List the key facts of the document, those that a reader of a summary would miss.",
        "Go through the sentences of the summary: a sentence is needed where it tells a key fact not told before.",
        "Give the score by the share of the sentences that are needed: 1 for none, 5 for all.",
    ),
}
"""Steps tuned to FineSurE's three aspects, in our words; where key facts are given the judge need not list them."""


class Steps(NamedTuple):
    """Steps that a model wrote, or why there are none, with the keys of the calls."""

    texts: tuple[str, ...]
    calls: tuple[str, ...]
    status: Status = "ok"
    reason: str | None = None


async def written(llm: BoundLLM, template: Template, aspect: AspectDef) -> Steps:
    """Ask the model for steps. The question names no document, so it is one stored call however many there are."""
    answer = await llm.ask(template.fill(aspect=aspect), Form("geval_steps", SCHEMA, read_steps))
    if answer.data is None:
        return Steps((), answer.calls, answer.status, f"evaluation steps: {answer.reason}")
    return Steps(answer.data, answer.calls)


def read_steps(text: str) -> tuple[str, ...]:
    """The steps in a reply, without their numbers.

    >>> read_steps('{"steps": ["1. Read both.", "Give the score."]}')
    ('Read both.', 'Give the score.')
    """
    return read_reply(text, _steps, wanted=is_object)


def _steps(value: Any) -> tuple[str, ...]:
    value = value["steps"] if "steps" in value else unwrap(value)
    if not isinstance(value, list) or not value:
        raise ReplyError(f"expected a list of steps, got {show(value)}")
    if len(value) > MOST:
        raise ReplyError(f"{len(value)} steps, more than {MOST}")
    for place, step in enumerate(value, 1):
        if not isinstance(step, str) or not any(char.isalpha() for char in step):
            raise ReplyError(f"step {place} is {show(step)}, not a sentence")
    return tuple(_NUMBERED.sub("", " ".join(clean(step).split()), count=1) for step in value)
