"""`ensemble`: several evaluators' judgments joined, with their agreement as confidence.

Labels are joined by majority, ratings by their mean. The members do their work as they would alone: a question that a
member asks in the same run, or has asked before, is not paid for again, since the store of calls holds its reply.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from statistics import fmean
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.catalog import build
from summeter.records import Document, Item, Judgment, Status, Unit, UsageError, digest
from summeter.scoring import summary_scores

How = Literal["auto", "majority", "mean"]
Scale = tuple[float, float]
UnitKey = tuple[Unit, int | None, str | None]

SHARES: Scale = (0.0, 1.0)
GRAVITY: tuple[Status, ...] = ("error", "refused", "unparsed", "skipped")
_SEEN_AS = re.compile(r"(?P<spec>.*)@(?P<role>[A-Za-z_][\w-]*)")


class Member(NamedTuple):
    """One evaluator of an ensemble; `role` is asked in place of the judge, where another model is to answer."""

    evaluator: Evaluator
    role: str | None

    @property
    def name(self) -> str:
        """As it stands in reasons: `rts`, `rts@second`."""
        return self.evaluator.name if self.role is None else f"{self.evaluator.name}@{self.role}"

    @property
    def scale(self) -> Scale:
        """The ends of its values: those of a rating's scale, else 0 and 1."""
        low, dash, high = str(self.evaluator.signature_fields().get("scale") or "").partition("-")
        return (float(low), float(high)) if dash else SHARES

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles whose models it asks."""
        return tuple(self.role if role == "judge" and self.role else role for role in self.evaluator.required_roles)

    def tools(self, tools: Tools) -> Tools:
        """The run's tools as this member sees them."""
        llms = dict(tools.llms) if self.role is None else {**tools.llms, "judge": tools.llm(self.role)}
        return replace(tools, llms=llms, scratch=tools.scratch.setdefault(f"member {self.name}", {}))


class Opinion(NamedTuple):
    """What one member says of one unit: its judgment, or why there is none. `value` is a share of the member's scale,
    None also where its label is a word."""

    member: Member
    judgment: Judgment | None
    value: float | None
    status: Status
    reason: str


class Ensemble(Evaluator):
    """Evaluators joined: `of` names them, as for `-e`, with plus signs between (`rts+mcq+stareval`).

    `NAME@ROLE` asks the model in another role than the judge's: `rts+rts@second` is two models. `aspect` is handed to
    every member that has such a setting, and only it is joined then; else every aspect that two members judge. `how`:
    "majority" of labels, "mean" of values, or "auto": labels where all members give 0 or 1, else values. `at_least` is
    how many members must have judged.

    Writes a judgment a sentence, claim or key fact where all members judge the same ones, else one a summary. Majority:
    `label` what most say, `value` the share that says 1, `confidence` the share that says what most say; a tie has no
    label and is skipped. Mean: `value` on the members' scale, or from 0 to 1 where they have different ones;
    `confidence` 1 less the mean difference of two members, as a share of the scale. Members without a verdict are
    left out and named in the reason; where too few are left, the judgment has failed as the worst of them.

    The members stand in the run beside it (those asked in another role only in its reasons).
    """

    name: ClassVar[str] = "ensemble"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Several evaluators joined: majority or mean, with their agreement as confidence."
    aspects: ClassVar[tuple[str, ...]] = tuple(ASPECTS)
    roles: ClassVar[tuple[str, ...]] = ("judge", "second", "extractor", "validator")
    positional_setting: ClassVar[str | None] = "of"

    of: str = "rts+mcq+stareval"
    aspect: str | None = None
    how: How = "auto"
    at_least: int = Field(default=1, ge=1)

    @field_validator("of", mode="before")
    @classmethod
    def _joined(cls, of: Any) -> Any:
        return "+".join(map(str, of)) if isinstance(of, list | tuple) else of

    @model_validator(mode="after")
    def _joins_something(self) -> Self:
        try:
            found = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        if len(found) < 2:
            raise ValueError(f"an ensemble joins two evaluators at least; `of` names {self.of!r}")
        if not self.measured:
            raise ValueError(f"no two of {self.of} judge the same aspect{f' ({self.aspect})' if self.aspect else ''}")
        if self.at_least > len(found):
            raise ValueError(f"at_least is {self.at_least}, but there are {len(found)} members")
        return self

    @property
    def members(self) -> tuple[Member, ...]:
        """The evaluators joined; a bundle counts as its parts."""
        return _members(self.of, self.aspect)

    def parts(self) -> tuple[Evaluator, ...]:
        """The members that ask the run's own judge (or nobody), and the ensemble."""
        return (*(member.evaluator for member in self.members if member.role is None), self)

    @property
    def measured(self) -> tuple[str, ...]:
        """Aspects that two members judge at least."""
        times = Counter(aspect for member in self.members for aspect in member.evaluator.measured)
        return tuple(name for name, many in times.items() if many > 1 and self.aspect in (None, name))

    @property
    def required_roles(self) -> tuple[str, ...]:
        """Every role that a member asks."""
        return tuple(dict.fromkeys(role for member in self.members for role in member.required_roles))

    @property
    def scale(self) -> Scale:
        """The members' scale where they have one; else 0 to 1."""
        scales = {member.scale for member in self.members}
        return scales.pop() if len(scales) == 1 else SHARES

    def signature_fields(self) -> Mapping[str, object]:
        """The members with all that they hang on; the scale of ratings."""
        signed = [[member.name, member.evaluator.sign({})] for member in self.members]
        rated = any(member.scale != SHARES for member in self.members)
        shown = f"{self.scale[0]:g}-{self.scale[1]:g}" if rated else None
        return {**super().signature_fields(), "of": self.of, "members": digest(signed, 4), "scale": shown}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """What the members prepare, by their places."""
        found = await asyncio.gather(*(one.evaluator.prepare(document, one.tools(tools)) for one in self.members))
        data = {
            str(place): one.model_dump(mode="json") for place, one in enumerate(found) if one.data or one.status != "ok"
        }
        calls = dict.fromkeys(call for one in found for call in one.calls)
        return Prepared(document_id=document.id, data=data, calls=tuple(calls))

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Every member's judgments, joined aspect by aspect."""
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id if prepared.data else None)
        if why := self.skip_reason(item):
            return [builder.failed(aspect, "skipped", why) for aspect in self.measured]
        heard = await asyncio.gather(
            *(_ask(one, place, item, prepared, tools) for place, one in enumerate(self.members))
        )
        return [row for aspect in self.measured for row in self._join(builder, aspect, heard)]

    def _join(
        self, builder: JudgmentBuilder, aspect: str, heard: Sequence[tuple[Member, list[Judgment]]]
    ) -> list[Judgment]:
        """One aspect: unit by unit where the members judge the same units, else by their scores of the summary."""
        mine = [
            (member, [one for one in rows if one.aspect == aspect])
            for member, rows in heard
            if aspect in member.evaluator.measured
        ]
        units = _units(mine)
        calls = dict.fromkeys(call for _, rows in mine for one in rows for call in one.calls)
        models = dict.fromkeys(one.model for _, rows in mine for one in rows if one.model is not None)
        builder = replace(builder, calls=tuple(calls), model=",".join(models) or None)
        if units is None:
            opinions = [_of_summary(member, rows) for member, rows in mine]
            return [self._verdict(builder, aspect, ("summary", None, None), opinions)]
        return [self._verdict(builder, aspect, key, [_of_unit(*one, key) for one in mine]) for key in units]

    def _verdict(self, builder: JudgmentBuilder, aspect: str, key: UnitKey, opinions: Sequence[Opinion]) -> Judgment:
        unit, index, list_id = key
        said = [one for one in opinions if one.status == "ok"]
        mute = [one for one in opinions if one.status != "ok"]
        missing = "".join(f"; no verdict of {one.member.name} ({one.status}: {one.reason})" for one in mute)
        cut = [one.judgment.truncated_tokens for one in opinions if one.judgment and one.judgment.truncated_tokens]
        about: dict[str, Any] = {"list_id": list_id, "truncated_tokens": max(cut, default=None)}
        about["claim"] = next((one.judgment.claim for one in opinions if one.judgment and one.judgment.claim), None)
        if len(said) < self.at_least:
            worst = min((one.status for one in mute), key=GRAVITY.index)
            why = f"{len(said)} of {len(opinions)} members judged{missing}"
            return builder.failed(aspect, worst, why, unit, index, **about)
        labels = [one.judgment.label if one.judgment else None for one in said]
        voting = self.how == "majority" or (self.how == "auto" and all(label in (0, 1) for label in labels))
        if voting and any(label is None for label in labels):
            why = f"a majority needs labels, and {said[labels.index(None)].member.name} gives none; use how=mean"
            return builder.failed(aspect, "skipped", why, unit, index, **about)
        if not voting and (wordy := next((one for one in said if one.value is None), None)):
            why = f"a mean needs numbers, and {wordy.member.name} gives none; use how=majority"
            return builder.failed(aspect, "skipped", why, unit, index, **about)
        made = _majority(said) if voting else self._mean(said)
        reason = f"{made.pop('reason')}{missing}"
        if "label" in made and made["label"] is None:
            return builder.failed(aspect, "skipped", reason, unit, index, **about)
        return builder.ok(aspect, unit, index, reason=reason, **made, **about)

    def _mean(self, said: Sequence[Opinion]) -> dict[str, Any]:
        low, high = self.scale
        values = [low + one.value * (high - low) for one in said if one.value is not None]
        apart = [abs(one - two) for one, two in combinations(values, 2)]
        shown = ", ".join(f"{one.member.name} {value:g}" for one, value in zip(said, values, strict=True))
        confidence = 1 - fmean(apart) / (high - low) if apart else None
        return {"value": fmean(values), "confidence": confidence, "reason": f"mean of {len(said)}: {shown}"}


def _majority(said: Sequence[Opinion]) -> dict[str, Any]:
    """What most members say. `label` is None where two labels have equally many."""
    rows = [one.judgment for one in said if one.judgment is not None]
    votes = Counter(row.label for row in rows)
    (label, most), *others = votes.most_common()
    shown = ", ".join(f"{one.member.name} {one.judgment.label}" for one in said if one.judgment)
    if any(many == most for _, many in others):
        return {"label": None, "reason": f"a tie among {len(rows)}: {shown}"}
    agreeing = [row for row in rows if row.label == label]
    types = Counter(row.error_type for row in agreeing if row.error_type)
    return {
        "label": label, "value": votes[1] / len(rows) if set(votes) <= {0, 1} else None,
        "confidence": most / len(rows) if len(rows) > 1 else None,
        "error_type": next((name for name, _ in types.most_common(1)), None),
        "evidence": next((row.evidence for row in agreeing if row.evidence), ()),
        "reason": f"{most} of {len(rows)} say {label}: {shown}",
    }  # fmt: skip


async def _ask(
    member: Member, place: int, item: Item, prepared: Prepared, tools: Tools
) -> tuple[Member, list[Judgment]]:  # fmt: skip
    evaluator, own = member.evaluator, member.tools(tools)
    if why := evaluator.skip_reason(item):
        builder = JudgmentBuilder(evaluator, item, tools.signature)
        return member, [builder.failed(aspect, "skipped", why) for aspect in evaluator.measured]
    stored = prepared.data.get(str(place))
    mine = Prepared(document_id=item.document.id) if stored is None else Prepared.model_validate(stored)
    return member, await evaluator.judge(item, mine, own)


def _units(heard: Sequence[tuple[Member, list[Judgment]]]) -> list[UnitKey] | None:
    """The units that all members judged alike, in order; None where they did not. Who judged nothing has no say."""
    found = [[_key(one) for one in rows] for _, rows in heard if any(one.status == "ok" for one in rows)]
    if not found:
        return None
    kinds = {(unit, list_id) for keys in found for unit, _, list_id in keys}
    return list(dict.fromkeys(key for keys in found for key in keys)) if len(kinds) == 1 else None


def _key(one: Judgment) -> UnitKey:
    return one.target.unit, one.target.index, one.target.list_id


def _of_unit(member: Member, rows: Sequence[Judgment], key: UnitKey) -> Opinion:
    found = next((one for one in rows if _key(one) == key), rows[0] if rows else None)
    if found is None:
        return Opinion(member, None, None, "error", "no judgment")
    if found.status != "ok" or _key(found) != key:
        status: Status = "error" if found.status == "ok" else found.status
        return Opinion(member, None, None, status, found.reason or "no judgment of this unit")
    raw = found.value if found.value is not None else found.label
    # A label in words has no value, and can only vote.
    value = _shared(float(raw), member.scale) if isinstance(raw, int | float) else None
    return Opinion(member, found, value, "ok", "")


def _of_summary(member: Member, rows: Sequence[Judgment]) -> Opinion:
    """A member's score of the summary, as a run reports it."""
    scores = summary_scores(rows, {member.evaluator.name: member.evaluator.reduce})
    score = next(iter(scores), None)
    if score is None or score.value is None:
        status: Status = "error" if score is None else score.status
        return Opinion(member, None, None, status, (score.reason if score else None) or "no judgment")
    return Opinion(member, _whole(rows), _shared(score.value, member.scale), "ok", "")


def _whole(rows: Sequence[Judgment]) -> Judgment | None:
    """The one judgment of a whole summary, where that is what there is."""
    return rows[0] if len(rows) == 1 and rows[0].target.unit == "summary" else None


def _shared(value: float, scale: Scale) -> float:
    """A value on a scale as a share of it."""
    return (value - scale[0]) / (scale[1] - scale[0])


@lru_cache(maxsize=64)
def _members(of: str, aspect: str | None) -> tuple[Member, ...]:
    found: list[Member] = []
    for spec in filter(None, (part.strip() for part in _split(of))):
        named = _SEEN_AS.fullmatch(spec)
        text, role = (named["spec"], named["role"]) if named else (spec, None)
        for one in _built(text, aspect).parts():
            if isinstance(one, Ensemble) or one.pairs:
                raise UsageError(f"{one.name} cannot be part of an ensemble: it judges no summary by itself")
            if not one.prepares_only:
                found.append(Member(one, role))
    twice = [name for name, times in Counter((m.name, m.evaluator.sign({})) for m in found).items() if times > 1]
    if twice:
        raise UsageError(f"{twice[0][0]} is named twice; name it once, or ask another model (NAME@ROLE)")
    return tuple(found)


def _built(text: str, aspect: str | None) -> Evaluator:
    made = build(text)
    if aspect is None or "aspect" not in type(made).model_fields or "aspect" in made.model_fields_set:
        return made
    return type(made)(**{**made.model_dump(exclude_unset=True), "aspect": aspect})


def _split(of: str) -> list[str]:
    """At the plus signs outside brackets."""
    parts, depth = [""], 0
    for sign in of:
        depth += (sign == "[") - (sign == "]")
        if sign == "+" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
