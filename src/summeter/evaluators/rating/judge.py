"""RatingJudge: one aspect, one question, one rating a summary (or a pair). A new one is a schema and a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects, unknown_aspect
from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.llm import NO_DATA, LLMJudge, material, texts
from summeter.evaluators.replies import clean, read_answer, show, text_schema
from summeter.records import InputError, Item, Judgment, ReplyError

POINTS: Final[dict[str, Any]] = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
"""The schema of a score from 1 to 5."""
SENTENCE: Final = text_schema(400)
"""The schema of a reason in one sentence."""


class Rating(NamedTuple):
    """What a reply says; `value` on the judge's scale."""

    value: float
    reason: str | None = None


class RatingJudge(LLMJudge[Rating]):
    """A judge of one aspect. `aspect` is one of `RATED`, or one of the user's own.

    `aspect_file`: a YAML file that defines the aspect (see `read_aspects`); it is read once, when the
    evaluator is made, and what it says is kept in `definition`, so that a run needs no file to be resumed.
    `prompts`: a folder whose template of this judge's name replaces the shipped one.

    A judge gives `reply`, the fields of the JSON object that it asks for (each with its schema), and `from_json`; where
    it also reads plain text, `from_text`; where its paper's code reads replies otherwise, `released`. `scale`, on which
    the values are, stands in the signature, so that no rating is taken for a share (None for a preference).

    Writes one judgment an item. A reply that cannot be used gives a judgment without a value.
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
            raise ValueError("give an `aspect_file` or a `definition`, not both")
        file = Path(fields["aspect_file"])
        known = read_aspects(file)
        name = fields.get("aspect") or next(iter(known))
        if name not in known or (len(known) > 1 and not fields.get("aspect")):
            raise InputError.at(file, None, "name", f"defines {', '.join(known)}; choose one with aspect=NAME")
        return {**fields, "aspect": name, "definition": known[name]}

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.definition is None and self.aspect not in RATED:
            raise unknown_aspect(self.aspect, RATED)
        if self.definition is not None and self.definition.name != self.aspect:
            raise ValueError(f"the definition is of {self.definition.name!r}, not of {self.aspect!r}")
        return self

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """The rating in the JSON object of a reply (keys in lower case), or ReplyError."""
        raise NotImplementedError

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """The rating in a reply without JSON, or ReplyError. Words that stand in `material`, the texts under judgment,
        may be quoted and rate nothing. Default: there is none."""
        raise ReplyError(f"there is no JSON in the reply, which begins {show(text)}", fault="no_json")

    def released(self, text: str) -> Rating:
        """The rating as the released code takes it. Default: as `strict`, where there is none of its own."""
        return self.strict(text)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The one aspect it is set to."""
        return (self.aspect,)

    @property
    def about(self) -> AspectDef:
        """The definition of the aspect in the prompt."""
        return self.definition or RATED[self.aspect]

    @property
    def rating_scale(self) -> tuple[float, float] | None:
        """The ends of `scale`; None for a preference."""
        low, dash, high = (self.scale or "").partition("-")
        return (float(low), float(high)) if dash else None

    def signature_fields(self) -> Mapping[str, object]:
        """The aspect always; the wording of a user's own; the prompt; the scale."""
        own = self.definition.hash if self.definition is not None else None
        return {"aspect": self.aspect, "def": own, "prompt": self.prompt_hash, "scale": self.scale}

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The aspect and the texts. The templates show the document first, behind the same words for every judge: a
        provider's prefix cache can then serve it for all summaries of a document, all aspects and all judges."""
        return {"aspect": self.about, **texts(item)}

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """The rating in a reply about this item."""
        return self.strict(text, material(item))

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """The rating as the released code takes it."""
        return self.released(text)

    def strict(self, text: str, material: Sequence[str] = ()) -> Rating:
        """The rating in a reply, or ReplyError: never a guess, and never a quotation from `material`, the texts under
        judgment. Where a reason is asked for, all of a plain text is the reason."""
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
        """One judgment, of the aspect."""
        return [builder.ok(self.aspect, value=reply.value, reason=reply.reason)]


class ShortForm(RatingJudge):
    """The short forms that Shen et al. released beside those of their paper.

    `definitions`: "released" gives the judge a brief definition of the aspect, as the released short prompts do; "full"
    the whole one, as the paper's appendix has it.
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
        """As for every rating judge; and the definitions, where they are the full ones."""
        chosen = None if self.definitions == "released" else self.definitions
        return {**super().signature_fields(), "definitions": chosen}
