"""What the judges of this family share: a form that holds a score from 1 to 5, and what is made of the answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from summeter.evaluators.geval.weights import weigh
from summeter.evaluators.rating.judge import POINTS, Rating, RatingJudge
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.scale import Scale, point
from summeter.evaluators.replies import field, show
from summeter.models.structured import Answer, BoundLLM, Sampling
from summeter.records import CapabilityError, Item, ReplyError

ALTERNATIVES = 20
SAMPLES = 20
WHOLE = Scale(1, 5, whole=True)
_RELEASED = re.compile(r" ?([\d.]+)")


Scoring = Literal["logprob", "sample", "single"]


class ScoreForm(RatingJudge):
    """A judge that fills in a form with a score from 1 to 5 and nothing else.

    `scoring`: "logprob" weighs 1 to 5 by the log-probabilities of the score's token (20 alternatives, renormalised
    over the five); a server that gives none is an error, and no other scoring takes its place. "sample" is the mean of
    `draws` replies at temperature 1 (default 20; `draws` alone chooses it); "single" takes one reply as it stands.

    Writes one judgment a summary: value in [1, 5]; the reason says how it came about: the five probabilities
    and what lay outside the scale, or how many samples said what. Unusable samples are left out and counted; with
    none usable the judgment has failed. A sample that got no answer at all is an error of the item: carrying on
    the run asks for that one again, and for no other.
    """

    positional_setting = "scoring"
    reply: ClassVar[Mapping[str, Any]] = {"score": POINTS}

    scoring: Scoring = "logprob"
    draws: int | None = Field(default=None, ge=1, le=1000)

    @model_validator(mode="before")
    @classmethod
    def _sampled_by_draws(cls, fields: Any) -> Any:
        return sampled_by_draws(fields)

    def signature_fields(self) -> Mapping[str, object]:
        """As for every rating judge; how the score is had always."""
        parts = dict(super().signature_fields())
        draws = self.draws or SAMPLES if self.scoring == "sample" else None
        return {"aspect": parts.pop("aspect"), "scoring": self.scoring, "draws": draws, **parts}

    def sign(
        self, models: Mapping[str, str], splitter: str | None = None, sampling: Mapping[str, object] | None = None
    ) -> str:
        """As for every evaluator; samples are drawn at temperature 1, whatever the run's is."""
        if self.scoring == "sample":
            sampling = {**(sampling or {}), "t": 1}
        return super().sign(models, splitter, sampling)

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """The score, a whole number."""
        return Rating(point(field(answer, "score"), WHOLE))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """The score that the text answers with."""
        return Rating(score_in(text, WHOLE, material))

    def released(self, text: str) -> Rating:
        """The number a reply begins with, as the released script takes it; that reads nothing as 0, which is no
        score here."""
        number = _RELEASED.match(text)
        try:
            return Rating(float(number[1] if number else ""))
        except ValueError:
            raise ReplyError(f"the reply does not begin with a number: {show(text)}", fault="no_json") from None

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Rating]:
        """One call, or one a sample."""
        match self.scoring:
            case "single":
                return await super().ask(llm, item, data)
            case "logprob":
                return await self._weighed(llm, item, data)
            case "sample":
                return await self._sampled(llm, item, data)

    async def _weighed(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Rating]:
        hint = f"choose another model, or the mean of several replies: {self.name}[draws=20]"
        try:
            answer = await llm.ask(self.prompt(item, data), self.form(item, data), Sampling(top_logprobs=ALTERNATIVES))
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

    async def _sampled(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Rating]:
        prompt, form = self.prompt(item, data), self.form(item, data)
        asking = (llm.ask(prompt, form, Sampling(draw, 1.0)) for draw in range(1, (self.draws or SAMPLES) + 1))
        # Those that do answer are then stored, whatever becomes of the others.
        came = await asyncio.gather(*asking, return_exceptions=True)
        answers: list[Answer[Rating]] = []
        for answer in came:
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return _mean(answers)


def _mean(answers: Sequence[Answer[Rating]]) -> Answer[Rating]:
    """The mean of the usable samples.

    Samples 4, 5, one unusable, 4: the mean of 3 of 4 is 13 / 3.
    """
    calls = tuple(dict.fromkeys(key for answer in answers for key in answer.calls))
    values = [answer.data.value for answer in answers if answer.data is not None]
    bad = [answer for answer in answers if answer.data is None]
    if not values:
        why = f"no sample of {len(bad)} is usable; the first: {bad[0].reason}"
        return bad[0]._replace(calls=calls, reason=why)
    counts = ", ".join(f"{value:g}: {count}" for value, count in sorted(Counter(values).items()))
    lost = f"; {len(bad)} unusable, the first: {bad[0].reason}" if bad else ""
    mean = Rating(sum(values) / len(values), f"{len(values)} of {len(answers)} samples, {counts}{lost}")
    return answers[0]._replace(data=mean, status="ok", reason=None, calls=calls)


def sampled_by_draws(fields: Any) -> Any:
    """Settings in which a number of `draws` chooses `scoring=sample`.

    Raises ValueError where `draws` is given beside another scoring: it would do nothing.
    """
    if not isinstance(fields, dict) or fields.get("draws") is None:
        return fields
    scoring = fields.get("scoring", "sample")
    if scoring != "sample":
        raise ValueError(f"`draws` is the number of samples, and scoring={scoring} draws none; leave one of both out")
    return {**fields, "scoring": scoring}
