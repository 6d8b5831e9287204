"""`rts.together`: reasons and scores from 1 to 5 for several aspects in one call.

The form is that of reason-then-score (Shen et al., Findings of EMNLP 2023), but one question covers all aspects, which
is an addition of summeter. This needs one call instead of one per aspect. Ratings in the same reply influence each
other, so the scores differ from those of `rts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects, unknown_aspect
from summeter.evaluators.base import JudgmentBuilder, Semicolons, semicolons
from summeter.evaluators.llm import NO_DATA, LLMJudge, material, texts
from summeter.evaluators.rating.judge import POINTS, SENTENCE, Rating
from summeter.evaluators.rating.scale import point
from summeter.evaluators.replies import by_choice, choice, field, keyed_schema, read_reply, required_text, show, unwrap
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import HASH, Item, Judgment, ReplyError, digest

REPLY_TOKENS = 150  # per aspect
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
Ratings = dict[str, Rating | ReplyError]
"""The rating of each aspect, or the error if it has none."""


class RatedTogether(LLMJudge[Ratings]):
    """Rate several aspects in one call, each by a reason in one sentence and a score from 1 to 5.

    `rated` lists two or more aspects (in `-e`: `rts.together[rated=coherence;fluency]`). Each aspect is in `RATED` or
    defined in `aspect_file`, a YAML file (see `read_aspects`) whose content is stored in `definitions`. `prompts` is a
    folder; its template `together.txt` replaces the shipped one.

    Writes one judgment per aspect. If the reply still lacks an aspect after the repair, only that aspect fails.

    >>> RatedTogether(rated="coherence;fluency").active_aspects
    ('coherence', 'fluency')
    """

    name, version = "rts.together", "1"
    summary = "An LLM judge scores several aspects from 1 to 5 in one call, each with a reason."
    aspects = tuple(RATED)
    reads_sentences = False

    rated: Semicolons[str] = SUMMEVAL
    aspect_file: Path | None = Field(default=None, exclude=True)
    definitions: tuple[AspectDef, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("aspect_file") is None:
            return fields
        if fields.get("definitions"):
            raise ValueError("`aspect_file` and `definitions` cannot be combined; remove one")
        known = read_aspects(Path(fields["aspect_file"]))
        rated = semicolons(fields.get("rated")) or tuple(known)
        return {**fields, "rated": rated, "definitions": tuple(known[name] for name in rated if name in known)}

    @model_validator(mode="after")
    def _check_aspects(self) -> Self:
        if len(set(self.rated)) < max(2, len(self.rated)):
            raise ValueError("`rated` must contain two or more different aspects (for one, use `rts`)")
        known = [*(aspect.name for aspect in self.definitions), *RATED]
        if unknown := [name for name in self.rated if name not in known]:
            raise unknown_aspect(unknown[0], known)
        return self

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects in `rated`."""
        return self.rated

    @property
    def about(self) -> tuple[AspectDef, ...]:
        """The definition of each aspect that the prompt shows."""
        known = {**RATED, **{aspect.name: aspect for aspect in self.definitions}}
        return tuple(known[name] for name in self.rated)

    @property
    def template(self) -> str:
        """The name of the prompt template."""
        return "together"

    @property
    def rating_scale(self) -> tuple[float, float]:
        """The ends of the scale, 1 and 5."""
        return (1.0, 5.0)

    def signature_fields(self) -> Mapping[str, object]:
        """Return the aspects, the hashes of user-defined definitions and of the prompt, and the scale."""
        definitions = digest([aspect.hash for aspect in self.definitions], HASH) if self.definitions else None
        return {"aspects": self.rated, "def": definitions, "prompt": self.prompt_hash, "scale": "1-5"}

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the aspects and the texts of the item."""
        return {"aspects": self.about, **texts(item)}

    def expected_tokens(self, item: Item) -> int:
        """Return the expected number of tokens per aspect times the number of aspects."""
        return REPLY_TOKENS * len(self.rated)

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one property per aspect and each reason before the score."""
        return keyed_schema(self.rated, "rating", {"reason": SENTENCE, "score": POINTS})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Ratings:
        """Return a rating or an error for each aspect. Raises ReplyError if no aspect has a rating."""
        return read_reply(
            text,
            lambda value: _read_ratings(value, self.rated),
            same=lambda ratings: [getattr(rating, "value", None) for rating in ratings.values()],
            material=material(item)[:2],
        )

    def form(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Form[Ratings]:
        """Return the same form as every judge, but request a repair if the reply lacks an aspect."""
        return super().form(item, data)._replace(read=lambda text: _complete(self.parse(text, item, data)))

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Ratings]:
        """Ask like every judge. If aspects are missing after the repair, use the other aspects."""
        answer = await super().ask(llm, item, data)
        if answer.status != "unparsed" or answer.text is None:
            return answer
        try:
            return answer._replace(data=self.parse(answer.text, item, data), status="ok", reason=None)
        except ReplyError:
            return answer

    def judgments(self, reply: Ratings, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per aspect."""
        return [
            builder.failed(aspect, "unparsed", str(rating))
            if isinstance(rating, ReplyError)
            else builder.ok(aspect, value=rating.value, reason=rating.reason)
            for aspect, rating in reply.items()
        ]


def _read_ratings(value: Any, aspects: Iterable[str]) -> Ratings:
    keys = {name: choice(name) or name for name in aspects}
    if not (isinstance(value, dict) and any(choice(key) in keys.values() for key in value)):
        value = unwrap(value)
    if not isinstance(value, dict):
        raise ReplyError(f"expected an entry for each aspect, got {show(value)}")
    entry_of = by_choice(value)
    ratings: Ratings = {}
    for name, key in keys.items():
        entry = entry_of.get(key)
        if key not in entry_of:
            ratings[name] = ReplyError(f"there is no entry for {name}", fault="wrong_count")
        elif not isinstance(entry, dict):
            ratings[name] = ReplyError(f"{name}: expected a reason and a score, got {show(entry)}")
        else:
            try:
                ratings[name] = Rating(point(field(entry, "score")), required_text(entry, "reason"))
            except ReplyError as error:
                ratings[name] = error.within(name)
    if all(isinstance(rating, ReplyError) for rating in ratings.values()):
        _complete(ratings)
    return ratings


def _complete(ratings: Ratings) -> Ratings:
    errors = [rating for rating in ratings.values() if isinstance(rating, ReplyError)]
    if errors:
        raise ReplyError("; ".join(error.detail for error in errors), fault=errors[0].fault)
    return ratings
