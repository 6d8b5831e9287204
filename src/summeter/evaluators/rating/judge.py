"""RatingJudge, a judge that returns one rating on one aspect per summary or pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, rated, read_aspects, unknown_aspect
from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.llm import NO_DATA, LLMJudge, material, texts
from summeter.evaluators.replies import clean, read_answer, show, text_schema
from summeter.records import InputError, Item, Judgment, ReplyError

POINTS: Final[dict[str, Any]] = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
"""The schema of a score from 1 to 5."""
SENTENCE: Final = text_schema(400)
"""The schema of a reason in one sentence."""


class Rating(NamedTuple):
    """The rating in a reply; `value` is on the judge's scale."""

    value: float
    reason: str | None = None


class RatingJudge(LLMJudge[Rating]):
    """A judge that rates one aspect. `aspect` is one of `RATED`, or user-defined.

    `aspect_file` is a YAML file that defines the aspect (see `read_aspects`). The file is read once, when the evaluator
    is created, and its definition is stored in `definition`, so that a run can be resumed without the file. `prompts`
    is a folder; its template with the name of this judge replaces the shipped one.

    A subclass defines `reply` (the fields of the requested JSON object with their schemas) and `from_json`. It also
    defines `from_text` if it accepts plain text, and `released` if the released code of the paper reads replies
    differently. `scale` is the scale of the values, or None for a preference. The signature contains the scale, so that
    ratings are not confused with shares.

    Writes one judgment per item. An unusable reply gives a judgment without a value.
    """

    aspects = tuple(RATED)
    reads_sentences = False
    scale: ClassVar[str | None] = "1-5"

    aspect: str = "coherence"
    aspect_file: Path | None = Field(default=None, exclude=True)
    definition: AspectDef | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("aspect_file") is None:
            return fields
        if fields.get("definition") is not None:
            raise ValueError("`aspect_file` and `definition` cannot be combined; remove one")
        file = Path(fields["aspect_file"])
        known = read_aspects(file)
        name = fields.get("aspect") or next(iter(known))
        if name not in known or (len(known) > 1 and not fields.get("aspect")):
            raise InputError.at(file, f"the file defines {', '.join(known)}; choose one with aspect=NAME", field="name")
        return {**fields, "aspect": name, "definition": known[name]}

    @model_validator(mode="after")
    def _check_aspect(self) -> Self:
        if self.definition is None and self.aspect not in RATED:
            raise unknown_aspect(self.aspect, RATED)
        if self.definition is not None and self.definition.name != self.aspect:
            raise ValueError(f"`definition` defines {self.definition.name!r}, but `aspect` is {self.aspect!r}")
        return self

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the rating in a JSON object with lower-case keys.

        Raises ReplyError if there is no valid rating.
        """
        raise NotImplementedError

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the rating in a reply without JSON. Default: always raise ReplyError.

        Text that is quoted from `material`, the texts under judgment, is not read as a rating.
        """
        raise ReplyError(f"there is no JSON in the reply, which starts with {show(text)}", fault="no_json")

    def released(self, text: str) -> Rating:
        """Return the rating as the released code reads it. Default: `strict`."""
        return self.strict(text)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspect that this evaluator judges."""
        return (self.aspect,)

    @property
    def about(self) -> AspectDef:
        """The definition of the aspect that the prompt shows, in the language of the prompt."""
        return self.definition or rated(self.prompts.language if self.prompts else None)[self.aspect]

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of `scale`, or None for a preference."""
        low, dash, high = (self.scale or "").partition("-")
        return (float(low), float(high)) if dash else None

    def signature_fields(self) -> Mapping[str, object]:
        """Return the aspect, the hashes of a definition other than the English one and of the prompt, and the scale."""
        language = self.prompts.language if self.prompts else None
        definition = self.definition or (rated(language)[self.aspect] if language else None)
        return {
            "aspect": self.aspect,
            "def": definition and definition.hash,
            "prompt": self.prompt_hash,
            "scale": self.scale,
        }

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the aspect and the texts of the item.

        All templates start with the same words, followed by the document, so that providers can cache the prefix that
        is common to all summaries, aspects and judges.
        """
        return {"aspect": self.about, **texts(item)}

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """Return the rating in a reply about this item."""
        return self.strict(text, material(item))

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """Return the rating as the released code reads it."""
        return self.released(text)

    def strict(self, text: str, material: Sequence[str] = ()) -> Rating:
        """Return the rating in a reply.

        If a reason is requested and the reply is plain text, the whole text is the reason.

        Raises ReplyError if the reply is ambiguous or contains no rating. Text that is quoted from `material`, the
        texts under judgment, is not read as a rating.
        """
        rating = read_answer(
            text,
            self.from_json,
            lambda body: self.from_text(body, material),
            same=lambda rating: rating.value,
            material=material,
            wordless="reason" not in self.reply,
        )
        return rating._replace(reason=clean(text)) if rating.reason is None and "reason" in self.reply else rating

    def judgments(self, reply: Rating, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment of the aspect."""
        return [builder.ok(self.aspect, value=reply.value, reason=reply.reason)]


class ShortForm(RatingJudge):
    """A judge with the shorter prompts that Shen et al. released in addition to those of their paper.

    If `definitions` is "released", the prompt shows a brief definition of the aspect, like the released short prompts;
    if it is "full", the complete definition, as in the appendix of the paper.
    """

    definitions: Literal["released", "full"] = "released"

    @property
    def about(self) -> AspectDef:
        """The definition of the aspect; the templates show its brief form."""
        about = super().about
        match self.definitions:
            case "released":
                return about
            case "full":
                return about.model_copy(update={"brief": about.definition})

    def signature_fields(self) -> Mapping[str, object]:
        """Return the signature fields of every rating judge, and `definitions` unless it is "released"."""
        chosen = None if self.definitions == "released" else self.definitions
        return {**super().signature_fields(), "definitions": chosen}
