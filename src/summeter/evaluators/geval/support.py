"""`geval_plus.faithfulness`: is each sentence of the summary supported, yes or no (G-Eval+; UniSumEval, 2024).

That sentences are asked about one by one in a single reply, with yes or no, is UniSumEval's; that the score is the
share of yes is drawn from its section 3.3, since no code was released. The wording and the JSON reply are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.fences import lines
from summeter.evaluators.geval.common import PACKAGE
from summeter.evaluators.rating.judge import texts
from summeter.evaluators.replies import choice, entries, read_reply, show
from summeter.evaluators.windows import seen, shown
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import Answer, Form
from summeter.records import Item, Judgment, ReplyError

FAITHFULNESS = "faithfulness"
TEMPLATE = "geval_plus_faithfulness"
REPLY_TOKENS = 12  # a sentence
LABELS = {"no": 0, "yes": 1}  # no first: a dry run, which takes the first, then counts every window


class GEvalPlusFaithfulness(Evaluator):
    """Yes or no a sentence, in one call a summary.

    Writes one judgment a sentence (aspect faithfulness): label 1 and value 1.0 where it is supported, else 0 and
    0.0; the summary's score is the share that is. A reply that cannot be used gives one failed judgment a sentence.
    """

    name: ClassVar[str] = "geval_plus.faithfulness"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge says of each sentence whether the document supports it (G-Eval+)."
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    prompts: Path | None = None

    def signature_fields(self) -> Mapping[str, object]:
        """The prompt."""
        return {"prompt": Template.load(PACKAGE, TEMPLATE, self.prompts).hash}

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, or one a window of a document that is longer than the judge reads; one judgment a sentence.

        A sentence that one window supports is supported.
        """
        del prepared
        builder = JudgmentBuilder(self, item, tools.signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        llm = tools.llm("judge")
        count = len(item.sentences)
        found = shown(item.document, llm, self.prompt(seen(item, "")), REPLY_TOKENS * count)
        views = [item] if found.whole else [seen(item, view.text) for view in found.views]
        answers: list[Answer[tuple[int, ...]]] = []
        while len(answers) < len(views) and not all(_supported(answers, place) for place in range(count)):
            one = views[len(answers)]
            answers.append(await llm.ask(self.prompt(one), self.form(one)))
        builder = JudgmentBuilder(
            self, item, tools.signature, model=llm.id, calls=tuple(key for one in answers for key in one.calls)
        )
        return [_judgment(builder, answers, place, found.truncated_tokens) for place in range(count)]

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply; nothing was released to read as, so both parsers are this one."""
        del parser
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        try:
            labels = _read(output, item)
        except ReplyError as error:
            places = range(len(item.sentences))
            return [builder.failed(FAITHFULNESS, error.kind, str(error), "sentence", place) for place in places]
        return [
            builder.ok(FAITHFULNESS, "sentence", place, value=float(one), label=one) for place, one in enumerate(labels)
        ]

    def prompt(self, item: Item) -> Prompt:
        """The document first, as for every judge."""
        return Template.load(PACKAGE, TEMPLATE, self.prompts).fill(sentences=lines(item.sentences), **texts(item))

    def form(self, item: Item) -> Form[tuple[int, ...]]:
        """The schema of a reply to this item, and the strict reader of one."""
        return Form("geval_plus_faithfulness", schema(len(item.sentences)), lambda text: _read(text, item))


def schema(count: int) -> dict[str, Any]:
    """An object with one required property a sentence."""
    verdict = {
        "type": "object",
        "properties": {"response": {"type": "string", "enum": list(LABELS)}},
        "required": ["response"],
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


def _read(text: str, item: Item) -> tuple[int, ...]:
    count = len(item.sentences)
    material = (item.document.text, item.summary.text)
    return read_reply(text, lambda value: _labels(value, count), material=material, wordless=True)


def _labels(value: Any, count: int) -> tuple[int, ...]:
    return tuple(_label(entry, place) for place, entry in enumerate(entries(value, count, "sentence"), 1))


def _label(entry: Any, place: int) -> int:
    said = entry.get("response") if isinstance(entry, dict) else entry
    label = LABELS.get(choice(said) or "")
    if label is None:
        raise ReplyError(f"sentence {place}: the response is {show(said)}, not yes or no")
    return label


def _supported(answers: Sequence[Answer[tuple[int, ...]]], place: int) -> bool:
    return any(one.data is not None and one.data[place] for one in answers)


def _judgment(
    builder: JudgmentBuilder, answers: Sequence[Answer[tuple[int, ...]]], place: int, cut: int | None
) -> Judgment:
    bad = next((one for one in answers if one.data is None), None)
    label = int(_supported(answers, place))
    if bad is not None and not label:
        # A window that was not read might have held the support: nothing can be said.
        why = bad.reason or "no usable reply"
        return builder.failed(FAITHFULNESS, bad.status, why, "sentence", place, truncated_tokens=cut)
    return builder.ok(FAITHFULNESS, "sentence", place, value=float(label), label=label, truncated_tokens=cut)
