"""`finesure.fact_check`: is each sentence of the summary true to the document, and if not, how not.

FineSurE, section 3.1 and figure 3 (Song et al., ACL 2024); the five-category variant after UniSumEval
(Lee et al., EMNLP 2024). One call a summary. faithfulness = share of sentences without error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from summeter.evaluators.base import Evaluator, Parser, Pen, Prepared, Tools
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.blocks import fence_code, lines, prompt_hash, template
from summeter.evaluators.finesure.taxonomy import CATEGORIES, NO_ERROR, Taxonomy, category
from summeter.evaluators.replies import choice, clean, entries, read_reply, show
from summeter.models.prompts import Prompt
from summeter.models.structured import Form
from summeter.records import Item, Judgment, ReplyError, Status

FAITHFULNESS = "faithfulness"


class Verdict(NamedTuple):
    """The judge's verdict on one sentence; `category` is one of the taxonomy's names."""

    category: str
    reason: str | None


class FactCheck(Evaluator):
    """One category and one reason per summary sentence, from an LLM judge.

    `taxonomy`: "finesure" (nine categories) or "unisumeval" (five). `prompts`: a folder whose templates
    replace the shipped ones of the same name.

    Writes one judgment per sentence (aspect faithfulness): label 1 and value 1.0 for "no error", else 0
    and 0.0; `error_type` is the category. A reply that cannot be used gives one failed judgment per sentence.
    """

    name: ClassVar[str] = "finesure.fact_check"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge finds the factual errors of each sentence (FineSurE)."
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    taxonomy: Taxonomy = "finesure"
    prompts: Path | None = None

    def traits(self) -> Mapping[str, object]:
        """The taxonomy where it is not the default, and the prompt."""
        return {**super().traits(), "prompt": prompt_hash([self._template], self.prompts)}

    def unfit(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().unfit(item) or (None if item.sentences else "the summary has no sentences")

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call; one judgment per sentence."""
        del prepared
        pen = Pen(self, item, tools.signature)
        if why := self.unfit(item):
            return [pen.failed(FAITHFULNESS, "skipped", why)]
        llm = tools.llm("judge")
        answer = await llm.ask(self.prompt(item), self.form(item))
        pen = Pen(self, item, tools.signature, model=llm.id, calls=answer.calls)
        if answer.data is None:
            return _failed(pen, answer.status, answer.reason)
        return _written(pen, answer.data)

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply: of this evaluator's form, or of the released code's."""
        pen = Pen(self, item, signature)
        if why := self.unfit(item):
            return [pen.failed(FAITHFULNESS, "skipped", why)]
        if parser == "legacy":
            return legacy.faithfulness(pen, output)
        try:
            return _written(pen, self._read(output, item))
        except ReplyError as error:
            return _failed(pen, error.kind, str(error))

    def prompt(self, item: Item) -> Prompt:
        """The document first: the same beginning for all summaries of a document, so that a provider's
        prefix cache can serve it."""
        return template(self._template, self.prompts).fill(
            document=item.document.text,
            document_code=fence_code(item.document.text),
            sentences=lines(item.sentences),
            summary_code=fence_code(item.document.text, item.summary.text),
        )

    def form(self, item: Item) -> Form[tuple[Verdict, ...]]:
        """The schema of a reply to this item, and the strict reader of one."""
        return Form("fact_check", schema(len(item.sentences), self.taxonomy), lambda text: self._read(text, item))

    def _read(self, text: str, item: Item) -> tuple[Verdict, ...]:
        return read_reply(
            text,
            lambda value: verdicts(value, item.sentences, self.taxonomy),
            same=lambda found: [verdict.category for verdict in found],
            material=(item.document.text, item.summary.text),
        )

    @property
    def _template(self) -> str:
        return "fact_check" if self.taxonomy == "finesure" else f"fact_check_{self.taxonomy}"


def schema(count: int, taxonomy: Taxonomy) -> dict[str, Any]:
    """An object with one required property a sentence: exactly one verdict each.

    Only what the strict modes of hosted providers and the grammars of local servers both know: no
    prefixItems, no lengths, and the categories once under $defs, since some limit the enum values in all.
    """
    verdict = {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "category": {"type": "string", "enum": list(CATEGORIES[taxonomy])},
        },
        "required": ["reason", "category"],
        "additionalProperties": False,
    }
    keys = [str(position) for position in range(1, count + 1)]
    return {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/verdict"} for key in keys},
        "required": keys,
        "additionalProperties": False,
        "$defs": {"verdict": verdict},
    }


def verdicts(value: Any, sentences: tuple[str, ...], taxonomy: Taxonomy) -> tuple[Verdict, ...]:
    """One verdict per sentence from the JSON of a reply, or ReplyError.

    Read are the form asked for, lists whose entries carry an `id`, and the released form: a list in the
    order of the sentences. Entries may be a bare category. Where an entry repeats its sentence, it must
    not be the text of another one.
    """
    found = []
    for index, entry in enumerate(entries(value, len(sentences), "sentence")):
        try:
            found.append(_verdict(entry, index, sentences, taxonomy))
        except ReplyError as error:
            raise ReplyError(f"sentence {index + 1}: {error}", kind=error.kind) from None
    return tuple(found)


def _verdict(entry: Any, index: int, sentences: tuple[str, ...], taxonomy: Taxonomy) -> Verdict:
    if isinstance(entry, str):
        return Verdict(category(entry, taxonomy), None)
    if not isinstance(entry, dict):
        raise ReplyError(f"the verdict is {show(entry)}, not an object")
    if "category" not in entry:
        raise ReplyError("the verdict has no category")
    _check_sentence(entry.get("sentence"), index, sentences)
    reason = entry.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise ReplyError(f"the reason is {show(reason)}, not a text")
    return Verdict(category(entry["category"], taxonomy), clean(reason) or None if reason else None)


def _check_sentence(repeated: Any, index: int, sentences: tuple[str, ...]) -> None:
    """Judges often retype a sentence a little, so no match is no fault; but the text of another one is."""
    said = _bare(repeated)
    if not said or said == _bare(sentences[index]):
        return
    for other, sentence in enumerate(sentences):
        if said == _bare(sentence):
            raise ReplyError(f"the entry in its place repeats sentence {other + 1}")


def _bare(text: Any) -> str:
    return re.sub(r"\W+", "", choice(text) or "")


def _written(pen: Pen, found: tuple[Verdict, ...]) -> list[Judgment]:
    return [
        pen.ok(
            FAITHFULNESS, "sentence", index, value=float(verdict.category == NO_ERROR),
            label=int(verdict.category == NO_ERROR), error_type=verdict.category, reason=verdict.reason,
        )
        for index, verdict in enumerate(found)
    ]  # fmt: skip


def _failed(pen: Pen, status: Status, reason: str | None) -> list[Judgment]:
    why = reason or "no usable reply"
    return [pen.failed(FAITHFULNESS, status, why, "sentence", index) for index in range(len(pen.item.sentences))]
