"""The base class of G-Eval judges, which fill in a form with a score from 1 to 5."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator
from summeter.evaluators.geval.weights import weigh
from summeter.evaluators.rating.judge import POINTS, Rating, RatingJudge
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.scale import Scale, point
from summeter.evaluators.replies import field, show
from summeter.models.structured import Answer, BoundLLM, ask_together
from summeter.records import CapabilityError, Item, ReplyError

ALTERNATIVES = 20
SAMPLES = 20
WHOLE = Scale(1, 5, whole=True)
_RELEASED = re.compile(r" ?([\d.]+)")


Scoring = Literal["logprob", "sample", "single"]


class Sampled(Evaluator):
    """An evaluator with ratings from probabilities, from several replies or from one reply (see `ScoreForm`)."""

    positional_setting = "scoring"

    scoring: Scoring = "logprob"
    draws: int | None = Field(default=None, ge=1, le=1000)

    @model_validator(mode="before")
    @classmethod
    def _sampled_by_draws(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("draws") is None:
            return fields
        scoring = fields.get("scoring", "sample")
        if scoring != "sample":
            raise ValueError(f"`draws` requires scoring=sample, not scoring={scoring}; remove one of them")
        return {**fields, "scoring": scoring}

    def without_logprobs(self) -> Self | None:
        """Return the evaluator with samples, or None if `scoring` was set."""
        return None if "scoring" in self.model_fields_set else self.model_copy(update={"scoring": "sample"})


class ScoreForm(Sampled, RatingJudge):
    """A judge that fills in a form which contains only a score from 1 to 5.

    If `scoring` is "logprob", the score is the mean of 1 to 5 weighted by the probabilities of the score's token (20
    alternatives, renormalised over the five scores). This is the default, which a run replaces by "sample" if the model
    gives no log-probabilities; if you set it, that is an error. If `scoring` is "sample", the score is the mean of
    `draws` replies at temperature 1 (default: 20); setting `draws` implies "sample". If it is "single", the score is
    that of one reply.

    Writes one judgment per summary, with a value in [1, 5]. The reason contains the five probabilities and the
    probability outside the scale, or the counts of the sampled scores. Unusable samples are left out and counted; the
    judgment fails if no sample is usable. If a sample gets no reply, the item has an error, and resuming the run asks
    only for that sample.
    """

    reply: ClassVar[Mapping[str, Any]] = {"score": POINTS}

    def signature_fields(self) -> Mapping[str, object]:
        """Return the signature fields of every rating judge and, always, how the score is computed."""
        parts = dict(super().signature_fields())
        draws = self.draws or SAMPLES if self.scoring == "sample" else None
        return {"aspect": parts.pop("aspect"), "scoring": self.scoring, "draws": draws, **parts}

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """Return the signature, with temperature 1 if the score is computed from samples."""
        if self.scoring == "sample":
            sampling = {**(sampling or {}), "t": 1}
        return super().sign(models, splitter, sampling)

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the score in the JSON object, which must be a whole number."""
        return Rating(point(field(answer, "score"), WHOLE))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the score in a reply in plain text."""
        return Rating(score_in(text, WHOLE, material))

    def released(self, text: str) -> Rating:
        """Return the number at the start of a reply, as the released script does.

        The released script reads a missing number as 0; this method raises ReplyError instead.
        """
        number = _RELEASED.match(text)
        try:
            return Rating(float(number[1] if number else ""))
        except ValueError:
            raise ReplyError(f"the reply does not start with a number: {show(text)}", fault="no_json") from None

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Rating]:
        """Make one call, or one call per sample."""
        match self.scoring:
            case "single":
                return await super().ask(llm, item, data)
            case "logprob":
                return await self._weighted(llm, item, data)
            case "sample":
                prompt, form = self.prompt(item, data), self.form(item, data)
                asking = (
                    llm.ask(prompt, form, draw=draw, temperature=1.0) for draw in range(1, (self.draws or SAMPLES) + 1)
                )
                return _mean(await ask_together(asking))

    async def _weighted(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Rating]:
        hint = f"choose another model, or the mean of several replies: {self.name}[draws=20]"
        try:
            answer = await llm.ask(self.prompt(item, data), self.form(item, data), top_logprobs=ALTERNATIVES)
        except CapabilityError as error:
            if error.lacks != "logprobs":
                raise
            raise CapabilityError(f"{error}; {hint}", lacks="logprobs") from error
        if answer.data is None:
            return answer
        if answer.logprobs is None:
            raise CapabilityError(f"{llm.id} answered without log-probabilities; {hint}", lacks="logprobs")
        try:
            weighted = weigh(answer.logprobs, int(answer.data.value))
        except ReplyError as error:
            return answer._replace(data=None, status="unparsed", reason=str(error))
        return answer._replace(data=Rating(weighted.value, str(weighted)))


def _mean(answers: Sequence[Answer[Rating]]) -> Answer[Rating]:
    """Return the mean of the usable samples; for the samples 4, 5, unusable and 4, it is 13 / 3."""
    calls = tuple(dict.fromkeys(key for answer in answers for key in answer.calls))
    values = [answer.data.value for answer in answers if answer.data is not None]
    unusable = [answer for answer in answers if answer.data is None]
    if not values:
        why = f"none of {len(unusable)} samples is usable; the first: {unusable[0].reason}"
        return unusable[0]._replace(calls=calls, reason=why)
    counts = ", ".join(f"{value:g}: {count}" for value, count in sorted(Counter(values).items()))
    note = f"; {len(unusable)} unusable, the first: {unusable[0].reason}" if unusable else ""
    mean = Rating(sum(values) / len(values), f"{len(values)} of {len(answers)} samples, {counts}{note}")
    return answers[0]._replace(data=mean, status="ok", reason=None, calls=calls)
