"""`rts.together`: reasons and scores from 1 to 5 for several aspects in one call.

The form is that of reason-then-score (Shen et al., Findings of EMNLP 2023), but one question covers all aspects, which
is an addition of summeter. This needs one call instead of one per aspect. Ratings in the same reply influence each
other, so the scores differ from those of `rts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects, unknown_aspect
from summeter.evaluators.base import JudgmentBuilder, Semicolons, semicolons
from summeter.evaluators.entries import EntriesJudge, read_entries_by_name
from summeter.evaluators.llm import NO_DATA, material, texts
from summeter.evaluators.rating.judge import POINTS, SENTENCE, Rating
from summeter.evaluators.rating.scale import point
from summeter.evaluators.replies import field, keyed_schema, read_reply, required_text
from summeter.records import HASH, Item, Judgment, ReplyError, digest

REPLY_TOKENS = 150  # per aspect
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
Ratings = dict[str, Rating | ReplyError]
"""The rating of each aspect, or the error if it has none."""


class RatedTogether(EntriesJudge[Rating]):
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
            lambda value: read_entries_by_name(
                value,
                self.rated,
                "aspect",
                lambda _, entry: Rating(point(field(entry, "score")), required_text(entry, "reason")),
            ),
            same=lambda ratings: [getattr(rating, "value", None) for rating in ratings.values()],
            material=material(item)[:2],
        )

    def judgments(self, reply: Ratings, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per aspect."""
        return [
            builder.failed(aspect, "unparsed", str(rating))
            if isinstance(rating, ReplyError)
            else builder.ok(aspect, value=rating.value, reason=rating.reason)
            for aspect, rating in reply.items()
        ]
