"""`rts.together`: one call for several aspects, each with a reason and a score from one to five.

The form is that of reason-then-score (Shen et al., Findings of EMNLP 2023); asking for all aspects at once is
ours. It costs one call instead of one an aspect, and is a judge of its own: aspects that share a reply lean on
each other, so its scores are not those of `rts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from summeter.evaluators.aspects import RATED, AspectDef, read_aspects
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import PACKAGE, Verdict, sentence, texts, view
from summeter.evaluators.replies import choice, read_reply, show, unwrap
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import Answer, Form
from summeter.records import Item, Judgment, ReplyError, Status, digest

TEMPLATE = "together"
REPLY_TOKENS = 150  # an aspect
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")


class Lack(NamedTuple):
    """An aspect without a usable verdict, and why."""

    error: ReplyError


Found = dict[str, Verdict | Lack]


class RatedTogether(Evaluator):
    """Several aspects in one call: for each a reason in one sentence, then a score from 1 to 5.

    `rated`: two or more aspects, each one of `RATED` or defined in `aspect_file` (a YAML file, see
    `read_aspects`; what it says is kept in `definitions`); in `-e`: `rts.together[rated=coherence;fluency]`.
    `prompts`: a folder whose template `together.txt` replaces the shipped one.

    Writes one judgment an aspect. Where a reply lacks an aspect and the repair turn does not bring it, that
    aspect alone has failed.

    >>> RatedTogether(rated="coherence;fluency").measured
    ('coherence', 'fluency')
    """

    name: ClassVar[str] = "rts.together"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge scores several aspects from 1 to 5 in one call, each with a reason."
    aspects: ClassVar[tuple[str, ...]] = tuple(RATED)
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    reads_sentences: ClassVar[bool] = False

    rated: tuple[str, ...] = SUMMEVAL
    aspect_file: Path | None = Field(default=None, exclude=True)
    definitions: tuple[AspectDef, ...] = ()
    prompts: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or fields.get("aspect_file") is None:
            return fields
        if fields.get("definitions"):
            raise ValueError("give an `aspect_file` or `definitions`, not both")
        known = read_aspects(Path(fields["aspect_file"]))
        wanted = _split(fields.get("rated")) or tuple(known)
        return {**fields, "rated": wanted, "definitions": tuple(known[one] for one in wanted if one in known)}

    @field_validator("rated", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return _split(value)

    @model_validator(mode="after")
    def _known(self) -> Self:
        if len(set(self.rated)) < max(2, len(self.rated)):
            raise ValueError("`rated` names two or more different aspects (for one, use `rts`)")
        known = [*(one.name for one in self.definitions), *RATED]
        if unknown := [one for one in self.rated if one not in known]:
            raise ValueError(
                f"the aspect {unknown[0]!r} is not known (known: {', '.join(known)}); define it in a YAML file and "
                "give that as aspect_file"
            )
        return self

    @property
    def measured(self) -> tuple[str, ...]:
        """The aspects it is set to."""
        return self.rated

    @property
    def about(self) -> tuple[AspectDef, ...]:
        """What the judge is told of each aspect."""
        known = {**RATED, **{one.name: one for one in self.definitions}}
        return tuple(known[one] for one in self.rated)

    def signature_fields(self) -> Mapping[str, object]:
        """The aspects, since each is judged in the company of the others; their own wording; prompt and scale."""
        own = digest([one.hash for one in self.definitions], 6) if self.definitions else None
        prompt = Template.load(PACKAGE, TEMPLATE, self.prompts).hash
        return {"aspects": self.rated, "def": own, "prompt": prompt, "scale": "1-5"}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, one judgment an aspect."""
        del prepared
        builder = JudgmentBuilder(self, item, tools.signature)
        if why := self.skip_reason(item):
            return self._failed(builder, "skipped", why)
        llm = tools.llm("judge")
        seen, cut = view(item, llm, self.prompt, REPLY_TOKENS * len(self.rated))
        answer = await llm.ask(self.prompt(seen), self.form(seen))
        builder = JudgmentBuilder(self, item, tools.signature, model=llm.id, calls=answer.calls)
        found = answer.data if answer.data is not None else self._rest(answer, seen)
        return (
            self._failed(builder, answer.status, answer.reason, cut)
            if found is None
            else self._written(builder, found, cut)
        )

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """The judgments in a stored reply; nothing was released to read as, so both parsers are this one."""
        del parser
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return self._failed(builder, "skipped", why)
        try:
            return self._written(builder, self.verdicts(output, item))
        except ReplyError as error:
            return self._failed(builder, error.kind, str(error))

    def prompt(self, item: Item) -> Prompt:
        """The document first, as for every rating judge."""
        return Template.load(PACKAGE, TEMPLATE, self.prompts).fill(aspects=self.about, **texts(item))

    def form(self, item: Item) -> Form[Found]:
        """The schema of a reply, and the reader that wants every aspect of it."""
        return Form("rts_together", schema(self.rated), lambda text: _whole(self.verdicts(text, item)))

    def verdicts(self, text: str, item: Item) -> Found:
        """A verdict or its lack for each aspect; ReplyError where there is none at all."""
        return read_reply(
            text, lambda value: _verdicts(value, self.rated), same=_values,
            material=(item.document.text, item.summary.text),
        )  # fmt: skip

    def _rest(self, answer: Answer[Found], item: Item) -> Found | None:
        """What a reply holds that was asked to be mended and was not: some aspects, or nothing."""
        if answer.status != "unparsed" or answer.text is None:
            return None
        try:
            return self.verdicts(answer.text, item)
        except ReplyError:
            return None

    def _written(self, builder: JudgmentBuilder, found: Found, cut: int | None = None) -> list[Judgment]:
        return [
            builder.failed(aspect, "unparsed", str(one.error), truncated_tokens=cut)
            if isinstance(one, Lack)
            else builder.ok(aspect, value=one.value, reason=one.reason, truncated_tokens=cut)
            for aspect, one in found.items()
        ]

    def _failed(
        self, builder: JudgmentBuilder, status: Status, reason: str | None, cut: int | None = None
    ) -> list[Judgment]:
        why = reason or "no usable reply"
        return [builder.failed(aspect, status, why, truncated_tokens=cut) for aspect in self.rated]


def schema(aspects: Iterable[str]) -> dict[str, Any]:
    """An object with one required property an aspect, reason before score."""
    names = list(aspects)
    rating = {
        "type": "object",
        "properties": {"reason": sentence(), "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
        "required": ["reason", "score"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/rating"} for name in names},
        "required": names,
        "additionalProperties": False,
        "$defs": {"rating": rating},
    }


def _split(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(";")) if isinstance(value, str) else value


def _verdicts(value: Any, aspects: tuple[str, ...]) -> Found:
    keys = {name: choice(name) for name in aspects}
    if not (isinstance(value, dict) and any(choice(key) in keys.values() for key in value)):
        value = unwrap(value)
    if not isinstance(value, dict):
        raise ReplyError(f"expected an entry for each aspect, got {show(value)}")
    entries: dict[str | None, Any] = {}
    for key, entry in value.items():
        if choice(key) in entries:
            raise ReplyError(f"two entries for {choice(key)}")
        entries[choice(key)] = entry
    found = {name: _verdict(name, entries, key) for name, key in keys.items()}
    if all(isinstance(one, Lack) for one in found.values()):
        _whole(found)
    return found


def _verdict(name: str, entries: Mapping[str | None, Any], key: str | None) -> Verdict | Lack:
    if key not in entries:
        return Lack(ReplyError(f"no entry for {name}", fault="wrong_count"))
    entry = entries[key]
    if not isinstance(entry, dict):
        return Lack(ReplyError(f"{name}: expected a reason and a score, got {show(entry)}"))
    try:
        return Verdict(reading.point(reading.field(entry, "score")), reading.reason(entry))
    except ReplyError as error:
        return Lack(error.within(name))


def _whole(found: Found) -> Found:
    lacking = [one.error for one in found.values() if isinstance(one, Lack)]
    if lacking:
        raise ReplyError("; ".join(error.detail for error in lacking), fault=lacking[0].fault)
    return found


def _values(found: Found) -> list[float | None]:
    return [None if isinstance(one, Lack) else one.value for one in found.values()]
