"""What the judges of this family share: a form that holds a score from 1 to 5, and what is made of the answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from summeter.evaluators.base import JudgmentBuilder, Prepared, Tools
from summeter.evaluators.geval.weights import weigh
from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict, texts, view
from summeter.evaluators.replies import show
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import Answer, Asked, BoundLLM
from summeter.records import CapabilityError, Item, Judgment, ReplyError, Status

PACKAGE = "summeter.evaluators.geval"
ALTERNATIVES = 20
SAMPLES = 20
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["score"],
    "additionalProperties": False,
}
_RELEASED = re.compile(r" ?([\d.]+)")


class Rating(NamedTuple):
    """What came of asking: a value in [1, 5] and how it came about, or a status and why there is none."""

    value: float | None
    reason: str | None
    calls: tuple[str, ...]
    status: Status = "ok"


class ScoreForm(AspectJudge):
    """A judge that fills in a form with a score from 1 to 5 and nothing else.

    `variant`: "logprob" weighs 1 to 5 by the log-probabilities of the score's token (20 alternatives, renormalised
    over the five); a server that gives none is an error, never another variant. "sample" is the mean of `n` replies
    at temperature 1, which may also be written "sample:20"; "single" takes one reply as it stands.

    Writes one judgment a summary: value in [1, 5]; the reason says how it came about: the five probabilities
    and what lay outside the scale, or how many samples said what. Unusable samples are left out and counted; with
    none usable the judgment has failed. A sample that got no answer at all is an error of the item: carrying on
    the run asks for that one again, and for no other.
    """

    package: ClassVar[str] = PACKAGE
    positional_setting: ClassVar[str | None] = "variant"
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    variant: Literal["logprob", "sample", "single"] = "logprob"
    n: int = Field(default=SAMPLES, ge=1, le=1000)

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, fields: Any) -> Any:
        return counted(fields)

    def signature_fields(self) -> Mapping[str, object]:
        """As for every rating judge, and the variant always."""
        variant = f"sample:{self.n}" if self.variant == "sample" else self.variant
        parts = dict(super().signature_fields())
        return {"aspect": parts.pop("aspect"), "variant": variant, **parts}

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """As for every evaluator; samples are drawn at temperature 1, whatever the run's is."""
        if self.variant == "sample":
            sampling = {**(sampling or {}), "t": 1}
        return super().sign(models, splitter, sampling)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, or one a sample; one judgment."""
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id)
        if why := self.skip_reason(item):
            return [builder.failed(self.aspect, "skipped", why)]
        if prepared.status != "ok":
            builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id, calls=prepared.calls)
            return [builder.failed(self.aspect, prepared.status, prepared.reason or "nothing was prepared")]
        llm = tools.llm("judge")
        seen, cut = view(item, llm, lambda one: self.asking(one, prepared.data), self.reply_tokens)
        rating = await self._rate(llm, self.asking(seen, prepared.data), seen)
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id, model=llm.id, calls=rating.calls)
        if rating.value is None:
            why = rating.reason or "no usable reply"
            return [builder.failed(self.aspect, rating.status, why, truncated_tokens=cut)]
        return [builder.ok(self.aspect, value=rating.value, reason=rating.reason, truncated_tokens=cut)]

    def prompt(self, item: Item) -> Prompt:
        """The prompt where nothing had to be prepared."""
        return self.asking(item, {})

    def asking(self, item: Item, prepared: Mapping[str, Any]) -> Prompt:
        """The prompt with what was prepared."""
        filling = self.filling(prepared)
        return Template.load(self.package, self.template, self.prompts).fill(
            aspect=self.about, **filling, **texts(item)
        )

    def filling(self, prepared: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the template asks for besides aspect and texts. Default: nothing."""
        del prepared
        return {}

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The whole score from 1 to 5: in JSON, or a reply that is nothing else."""
        return reading.verdict(
            text, _from_json, lambda body: _whole(reading.alone(body)), material, wordless=True
        )  # fmt: skip

    def released(self, text: str) -> Verdict:
        """The number a reply begins with, as the released script takes it; that reads nothing as 0, which is no
        score here."""
        found = _RELEASED.match(text)
        try:
            return Verdict(float(found[1] if found else ""))
        except ValueError:
            raise ReplyError(f"the reply does not begin with a number: {show(text)}", fault="no_json") from None

    async def _rate(self, llm: BoundLLM, prompt: Prompt, item: Item) -> Rating:
        if self.variant == "sample":
            return await self._sampled(llm, prompt, item)
        if self.variant == "logprob":
            return await self._weighed(llm, prompt, item)
        answer = await llm.ask(prompt, self.form(item))
        return _failed(answer) if answer.data is None else Rating(answer.data.value, None, answer.calls)

    async def _weighed(self, llm: BoundLLM, prompt: Prompt, item: Item) -> Rating:
        hint = f"choose another model, or the variant that draws samples: {self.name}[sample:20]"
        try:
            answer = await llm.ask(prompt, self.form(item), Asked(top_logprobs=ALTERNATIVES))
        except CapabilityError as error:
            if error.lacks != "logprobs":
                raise
            raise CapabilityError(f"{error}; {hint}", lacks="logprobs") from error
        if answer.data is None:
            return _failed(answer)
        if answer.logprobs is None:
            raise CapabilityError(f"{llm.id} answered without log-probabilities; {hint}", lacks="logprobs")
        try:
            found = weigh(answer.logprobs, int(answer.data.value))
        except ReplyError as error:
            return Rating(None, str(error), answer.calls, "unparsed")
        return Rating(found.value, str(found), answer.calls)

    async def _sampled(self, llm: BoundLLM, prompt: Prompt, item: Item) -> Rating:
        asking = (llm.ask(prompt, self.form(item), Asked(draw, 1.0)) for draw in range(1, self.n + 1))
        # Those that do answer are then stored, whatever becomes of the others.
        came = await asyncio.gather(*asking, return_exceptions=True)
        answers: list[Answer[Verdict]] = []
        for one in came:
            if isinstance(one, BaseException):
                raise one
            answers.append(one)
        return _mean(answers)


def _mean(answers: Sequence[Answer[Verdict]]) -> Rating:
    """The mean of the usable samples.

    Samples 4, 5, one unusable, 4: the mean of 3 of 4 is 13 / 3.
    """
    calls = tuple(dict.fromkeys(key for one in answers for key in one.calls))
    values = [one.data.value for one in answers if one.data is not None]
    bad = [one for one in answers if one.data is None]
    if not values:
        return Rating(None, f"no sample of {len(bad)} is usable; the first: {bad[0].reason}", calls, bad[0].status)
    counts = ", ".join(f"{value:g}: {count}" for value, count in sorted(Counter(values).items()))
    lost = f"; {len(bad)} unusable, the first: {bad[0].reason}" if bad else ""
    return Rating(sum(values) / len(values), f"{len(values)} of {len(answers)} samples, {counts}{lost}", calls)


def _failed(answer: Answer[Verdict]) -> Rating:
    return Rating(None, answer.reason, answer.calls, answer.status)


def _from_json(value: Mapping[str, Any]) -> Verdict:
    return _whole(reading.point(reading.field(value, "score")))


def _whole(value: float) -> Verdict:
    if not value.is_integer():
        raise ReplyError(f"the score is {value:g}, not a whole number from 1 to 5")
    return Verdict(value)


def counted(fields: Any) -> Any:
    """Settings in which the variant "sample:20" has become "sample" with n = 20.

    Raises ValueError where a number of samples is given for a variant that draws none: it would do nothing.
    """
    if not isinstance(fields, dict):
        return fields
    variant = fields.get("variant")
    if fields.get("n", SAMPLES) != SAMPLES and not str(variant).startswith("sample"):
        raise ValueError(f"`n` is a number of samples, and variant={variant or 'logprob'} draws none; "
                         f"write sample:{fields['n']}")  # fmt: skip
    if not (isinstance(variant, str) and variant.startswith("sample:")):
        return fields
    n = variant.partition(":")[2]
    if str(fields.get("n", n)) != n:
        raise ValueError(f"`variant` says {n} samples and `n` says {fields['n']}")
    return {**fields, "variant": "sample", "n": n}
