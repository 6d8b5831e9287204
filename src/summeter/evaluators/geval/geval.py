"""`geval`: a rating by evaluation steps, weighted by probability.

See G-Eval (Liu et al., EMNLP 2023).

The model receives a criterion, writes evaluation steps (once per aspect and model), and fills in a form that contains
only the score. The rating is the mean of 1 to 5 weighted by the model's probabilities. FineSurE (Song et al., ACL 2024,
appendix F) is compared with versions of G-Eval tuned to its three aspects, with and without key facts:
`geval[aspect=completeness,steps=tuned]` and `geval[aspect=completeness,steps=tuned,key_facts=auto]`. These two variants
follow FineSurE; the wording, the steps and the position of the key facts were written for summeter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from summeter.evaluators.aspects import AspectDef
from summeter.evaluators.base import Prepared, Tools
from summeter.evaluators.finesure.key_facts import KeyFactExtraction, Source
from summeter.evaluators.geval.common import ScoreForm
from summeter.evaluators.replies import list_schema, object_schema, read_texts, text_schema
from summeter.models.prompts import Template, fence_code, lines
from summeter.models.structured import Form
from summeter.records import HASH, Document, Item, ReplyError, digest

TEMPLATE_OF_STEPS = "geval_steps"
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
"""Steps tuned to FineSurE's three aspects, written for summeter. Given key facts replace the list of the first step."""

STEPS = (
    "Read the document and note its main points.",
    "Read the summary, and compare it with the document by the criterion.",
    "Give the score from 1 to 5 by the criterion.",
)
"""Steps for any aspect, for prompts without steps written by an LLM."""


class GEval(ScoreForm):
    """Rate one aspect from 1 to 5, using evaluation steps and token probabilities.

    `scoring` and `draws` determine how the score is computed (see `ScoreForm`); in `-e`, write `geval[logprob]`,
    `geval[draws=20]` or `geval[single]`. `steps` is "model" (the judge writes the steps once for all documents, unless
    the user's aspect file contains steps), "tuned" (the shipped steps for faithfulness, completeness and conciseness),
    or a list of steps, separated by semicolons in `-e`. `key_facts` is "none", or a `source` of `finesure.key_facts` to
    show the judge the key facts of the document.

    >>> GEval(draws=5, aspect="fluency").sign({"judge": "p/m"}, sampling={"t": 0}).split("|")[1:6]
    ['judge:p/m', 't:1', 'aspect:fluency', 'scoring:sample', 'draws:5']
    """

    name, version = "geval", "1"
    summary = "A rating from 1 to 5 by evaluation steps, weighted by the judge's probabilities (G-Eval)."

    steps: Literal["model", "tuned"] | tuple[str, ...] = "model"
    key_facts: Source | Literal["none"] = "none"

    @field_validator("steps", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str) and value not in {"model", "tuned"}:
            value = value.split(";")
        if isinstance(value, list | tuple):
            value = tuple(" ".join(step.split()) if isinstance(step, str) else step for step in value)
            if not value or "" in value:
                raise ValueError('must be "model", "tuned", or non-empty sentences')
        return value

    @model_validator(mode="after")
    def _check_tuned(self) -> Self:
        if self.steps == "tuned" and self.aspect not in TUNED:
            raise ValueError(f"there are tuned steps only for {', '.join(TUNED)}, not for {self.aspect!r}")
        if self.steps == "tuned" and self.prompts is not None and self.prompts.language is not None:
            raise ValueError(
                f"the tuned steps are in English; with prompts={self.prompts.language}, give your own steps"
            )
        return self

    @property
    def fixed_steps(self) -> tuple[str, ...] | None:
        """The steps, or None if the model writes the steps."""
        match self.steps:
            case "tuned":
                return TUNED[self.aspect]
            case "model":
                return self.about.steps
            case tuple():
                return self.steps

    @property
    def templates(self) -> tuple[str, ...]:
        """The template of the form and, if the model writes the steps, that of the question for them."""
        return (*super().templates, *((TEMPLATE_OF_STEPS,) if self.fixed_steps is None else ()))

    def used_templates(self) -> tuple[Template, ...]:
        """Return the templates in `templates` and those of the key-fact extraction."""
        facts = () if self.key_facts == "none" else self._extraction.used_templates()
        return (*super().used_templates(), *facts)

    def signature_fields(self) -> Mapping[str, object]:
        """Return the fields of every G-Eval judge, and the steps and key facts if not the default."""
        fields = dict(super().signature_fields())
        steps = self.steps if isinstance(self.steps, str) else digest(list(self.steps), HASH)
        facts = None if self.key_facts == "none" else self.key_facts
        first = {name: fields.pop(name) for name in ("aspect", "scoring", "draws")}
        return {**first, "steps": None if steps == "model" else steps, "key_facts": facts, **fields}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the evaluation steps and the key facts.

        Steps are included only if the model writes them, and key facts only if the judge is shown them.
        """
        data: dict[str, Any] = {}
        calls: tuple[str, ...] = ()
        if self.key_facts != "none":
            facts = await self._extraction.prepare(document, tools)
            if facts.status != "ok":
                return facts
            data, calls = {"key_facts": facts.data["key_facts"], "origin": facts.data["origin"]}, facts.calls
        if self.fixed_steps is None:
            # The question does not depend on the document, so there is one stored call for all documents.
            question = self.load_template(TEMPLATE_OF_STEPS).fill(aspect=self.about)
            written = await tools.llm("judge").ask(question, Form("geval_steps", SCHEMA, read_steps))
            calls = (*calls, *written.calls)
            if written.data is None:
                why = f"evaluation steps: {written.reason}"
                return Prepared(document_id=document.id, calls=calls, status=written.status, reason=why)
            data["steps"] = list(written.data)
        return Prepared(document_id=document.id, data=data, calls=calls)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the template variables, including the steps and the key facts."""
        facts = lines(data.get("key_facts", ()))
        shown = {"steps": self.fixed_steps or data["steps"], "key_facts": facts, "facts_code": fence_code(*facts)}
        return {**super().template_variables(item, data), **shown}

    @property
    def _extraction(self) -> KeyFactExtraction:
        return KeyFactExtraction(source="auto" if self.key_facts == "none" else self.key_facts, prompts=self.prompts)


def prompt_template(about: AspectDef) -> str:
    """Return the G-Eval prompt of an aspect as one string with placeholders for the texts of an item.

    The placeholders are {0} for the document, {1} for the summary, and {2} and {3} for the codes of their fences;
    literal braces are doubled, as for `str.format`. An empty line separates the system message from the user message.
    The steps are those of the definition, or else the tuned steps of the aspect, or else `STEPS`.
    """
    placeholders = {"document": "\ue000", "summary": "\ue001", "document_code": "\ue002", "summary_code": "\ue003"}
    steps = about.steps or TUNED.get(about.name, STEPS)
    template = Template.load(__package__ or "", "geval")
    prompt = template.fill(aspect=about, steps=steps, key_facts=[], facts_code="", **placeholders)
    text = "\n\n".join(message.content for message in prompt.messages).replace("{", "{{").replace("}", "}}")
    for number, code in enumerate(placeholders.values()):
        text = text.replace(code, f"{{{number}}}")
    return text


def read_steps(text: str) -> tuple[str, ...]:
    """Parse the steps in a reply, without their numbers.

    >>> read_steps('{"steps": ["1. Read both.", "Give the score."]}')
    ('Read both.', 'Give the score.')
    """
    steps = read_texts(text, ("steps",), "step")
    if len(steps.texts) + steps.repeated > MOST:
        raise ReplyError(f"there are {len(steps.texts) + steps.repeated} steps, more than {MOST}")
    return tuple(_NUMBERED.sub("", " ".join(step.split()), count=1) for step in steps.texts)
