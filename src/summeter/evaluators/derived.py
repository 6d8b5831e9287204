"""Derived judges: functions of other judges' judgments, as the ensemble is."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Container, Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.catalog import build, split_outside
from summeter.records import HASH, Item, Judgment, Status, Target, Unit, UsageError, digest
from summeter.scoring import summary_scores

ItemKey = tuple[str, str, str | None]
"""(document, system, rival)."""

Scale = tuple[float, float]
UnitKey = tuple[Unit, int | None, str | None]
"""(unit, index, list_id)."""

SHARES: Scale = (0.0, 1.0)

_AT_ROLE = re.compile(r"(?P<spec>.*)@(?P<role>[A-Za-z_][\w-]*)")


class Member(NamedTuple):
    """A judge that a derived judge needs. `role` is the role whose model it asks instead of `judge`'s, where another
    model is to answer. A `partial` one judges the items that `DerivedEvaluator.wanted` names, not all."""

    evaluator: Evaluator
    role: str | None = None
    partial: bool = False

    @property
    def name(self) -> str:
        """As it stands in reasons: `rts`, `rts@second`."""
        return self.evaluator.name if self.role is None else f"{self.evaluator.name}@{self.role}"

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the run whose models it asks."""
        return tuple(self.role if role == "judge" and self.role else role for role in self.evaluator.required_roles)


class MemberJudgments(NamedTuple):
    """What the members judged of one item, in the order of `DerivedEvaluator.members`; nothing of a partial member that
    was not asked about it (yet)."""

    item: ItemKey
    by_member: tuple[tuple[Judgment, ...], ...]


class DerivedEvaluator(Evaluator):
    """A judge computed from the judgments of other judges of the same run; it asks no model itself.

    A subclass names the judges it needs (`members`) and writes one function (`derive`). The engine runs the members
    first, as judges of the run with their own signatures, files and scores, whether the caller named them or not; a
    member under another role (`Member(rts, "second")`) runs with that role's model as its judge.

    **When it runs.** Once all members have judged all they can, over all items that every member has finished: a
    document that was judged in an earlier session counts like one of this session. `derive` may look at the whole run
    (to rank, to fit a scale, to find a threshold) and must be a pure function of the judgments it is handed and of its
    settings: no model, no file, no clock, no unseeded randomness.

    **Failures.** A member's failed judgments (`unparsed`, `refused`, `skipped`) are handed on with status and reason:
    `derive` says what becomes of them, as judgments with a status of their own, never as numbers. An item
    that a member could not judge at all (status `error`) is not handed on: it is the derived judge's error too, with
    the member's reason, and both are tried again when the run is carried on. An item that cannot be judged
    (`skip_reason`) is skipped by the engine.

    **Resuming.** The judgments are written when the members are complete. A session that has members' work left drops
    them first and computes them anew at its end, and so does `rescore`: they never lag behind what they are computed
    from.

    **Signature.** `signature_fields` must change with whatever changes the judgments: with the members and their
    settings above all (`Member.evaluator.sign({})` holds them). The models of the members stand in it by role, and the
    run's manifest lists the signatures of the members.

    **Members that judge some items only** (`Member.partial`): the engine asks `wanted` which, once before any work and
    again whenever a member has judged what was wanted of it. `wanted` and `derive` then get every item that can be
    judged, with what there is; `derive` writes about those that are decided.

    **What it cannot do.** Members and derived judge judge the same items: summaries, or pairs (`pairs`).

    >>> class Highest(DerivedEvaluator):
    ...     '''The higher of two ratings.'''
    ...     name, version, summary, aspects = "highest", "1", "The higher of two ratings.", ("coherence",)
    ...
    ...     @property
    ...     def members(self):
    ...         from summeter.evaluators import MultipleChoice, ReasonThenScore
    ...         return (Member(ReasonThenScore()), Member(MultipleChoice()))
    ...
    ...     def derive(self, judged, signature):
    ...         for item, by_member in judged:
    ...             values = [row.value for rows in by_member for row in rows if row.status == "ok"]
    ...             if values:
    ...                 yield self.judgment(item, signature, "coherence", value=max(values))
    ...             else:
    ...                 yield self.judgment(item, signature, "coherence", status="skipped", reason="no rating")
    >>> [member.name for member in Highest().members], Highest().required_roles
    (['rts', 'mcq'], ('judge',))
    """

    @property
    @abstractmethod
    def members(self) -> tuple[Member, ...]:
        """The judges it needs, in the order in which `derive` gets their judgments."""

    @abstractmethod
    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """The judgments, signed with `signature`; those of an item follow each other.

        `judged` holds every finished item in the order of the data. It is read from the run's files as it is gone
        through, and may be gone through several times; `judged[5]` reads one item.
        """

    def wanted(self, place: int, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """The items that the partial member at `place` must judge, from what the members before it have judged.

        A pure function, like `derive`. Before any work it is asked with nothing judged, then member by member, each
        time with all that the members before have judged of what was wanted of them.
        """
        del judged
        raise NotImplementedError(f"{self.name} does not say what its member {place} must judge")

    def check_members(self, signatures: Sequence[str]) -> None:
        """Called before any work with the members' signatures in this run, in their order. Raises UsageError where it
        cannot be computed from what they sign. Default: any do."""
        del signatures

    def parts(self) -> tuple[Evaluator, ...]:
        """The members that ask the run's own judge (or no model), and itself."""
        return (*(member.evaluator for member in self.members if member.role is None), self)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """Every role that a member asks."""
        return tuple(dict.fromkeys(role for member in self.members for role in member.required_roles))

    @property
    def samples(self) -> bool:
        """Whether a member asks an LLM."""
        return any(member.evaluator.samples for member in self.members)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Not for derived judges: the engine calls `derive`."""
        raise NotImplementedError(f"{self.name} is computed from the judgments of its members; see `derive`")

    def judgment(
        self,
        item: ItemKey,
        signature: str,
        aspect: str,
        unit: Unit = "summary",
        index: int | None = None,
        *,
        list_id: str | None = None,
        **fields: Any,
    ) -> Judgment:
        """A judgment about an item; `fields` are those of Judgment (`value`, `label`, `reason`, `model`, `calls`...).
        One that could not be had takes `status` and `reason`, and no value; a value that is not finite is none."""
        value = fields.get("value")
        if value is not None and not isfinite(value):
            del fields["value"]
            fields = {**fields, "label": None, "status": "error", "reason": f"computed {value}, which is no number"}
        document_id, system, rival = item
        target = Target(document_id=document_id, system=system, rival=rival, unit=unit, index=index, list_id=list_id)
        return Judgment(target=target, aspect=aspect, judge=self.name, signature=signature, **fields)


class JoinedEvaluator(DerivedEvaluator):
    """A derived judge that speaks for its members: on the scale they share, signed with what they sign."""

    @property
    def scale(self) -> Scale:
        """The members' scale where they have one; else 0 to 1."""
        scales = {scale_of(member) for member in self.members}
        return scales.pop() if len(scales) == 1 else SHARES

    @property
    def rating_scale(self) -> Scale | None:
        """`scale` where a member rates."""
        return self.scale if any(scale_of(member) != SHARES for member in self.members) else None

    def signed_members(self) -> dict[str, object]:
        """For `signature_fields`: the members with their signatures; the scale of ratings."""
        signed = [[member.name, member.evaluator.sign({})] for member in self.members]
        shown = f"{self.scale[0]:g}-{self.scale[1]:g}" if self.rating_scale else None
        return {"members": digest(signed, HASH), "scale": shown}


def named_members(of: str, aspect: str | None = None) -> tuple[Member, ...]:
    """The members that a text names as `-e` does, with plus signs between: `rts+mcq[aspect=fluency]+rts@second`.

    A bundle counts as its parts, but for those that judge no summary. `aspect` is handed to each that has such a
    setting and was given none. UsageError for judges of pairs and for derived judges.
    """
    members: list[Member] = []
    for spec in split_outside(of, "+"):
        named = _AT_ROLE.fullmatch(spec)
        text, role = (named["spec"], named["role"]) if named else (spec, None)
        for evaluator in _built(text, aspect).parts():
            if isinstance(evaluator, DerivedEvaluator) or evaluator.pairwise:
                raise UsageError(f"{evaluator.name} cannot be part of another judge: it judges no summary by itself")
            if not evaluator.prepares_only:
                members.append(Member(evaluator, role))
    return tuple(members)


def _built(text: str, aspect: str | None) -> Evaluator:
    evaluator = build(text)
    if aspect is None or "aspect" not in type(evaluator).model_fields or "aspect" in evaluator.model_fields_set:
        return evaluator
    return type(evaluator)(**{**evaluator.model_dump(exclude_unset=True), "aspect": aspect})


class Opinion(NamedTuple):
    """What one member says of one unit: its judgment, or why there is none. `value` is a share of the member's scale,
    None also where its label is a word."""

    member: Member
    judgment: Judgment | None
    value: float | None
    status: Status
    reason: str


def scale_of(member: Member) -> Scale:
    """The ends of a member's values: those of its rating scale, else 0 and 1."""
    return member.evaluator.rating_scale or SHARES


def common_units(rows_by_member: Sequence[tuple[Member, list[Judgment]]]) -> list[UnitKey] | None:
    """The units that all members judged alike, in order; None where they did not. Who judged nothing has no say."""
    keys_by_member = [
        [_key(row) for row in rows] for _, rows in rows_by_member if any(row.status == "ok" for row in rows)
    ]
    if not keys_by_member:
        return None
    kinds = {(unit, list_id) for keys in keys_by_member for unit, _, list_id in keys}
    return list(dict.fromkeys(key for keys in keys_by_member for key in keys)) if len(kinds) == 1 else None


def _key(judgment: Judgment) -> UnitKey:
    return judgment.target.unit, judgment.target.index, judgment.target.list_id


def opinion_of_unit(member: Member, rows: Sequence[Judgment], key: UnitKey) -> Opinion:
    """What a member says of one unit."""
    judgment = next((row for row in rows if _key(row) == key), rows[0] if rows else None)
    if judgment is None:
        return Opinion(member, None, None, "error", "no judgment")
    if judgment.status != "ok" or _key(judgment) != key:
        status: Status = "error" if judgment.status == "ok" else judgment.status
        return Opinion(member, None, None, status, judgment.reason or "no judgment of this unit")
    raw = judgment.value if judgment.value is not None else judgment.label
    # A label in words has no value, and can only vote.
    value = as_share(float(raw), scale_of(member)) if isinstance(raw, int | float) else None
    return Opinion(member, judgment, value, "ok", "")


def opinion_of_summary(member: Member, rows: Sequence[Judgment]) -> Opinion:
    """A member's score of the summary, as a run reports it."""
    scores = summary_scores(rows, {member.evaluator.name: member.evaluator.reduce})
    score = next(iter(scores), None)
    if score is None or score.value is None:
        status: Status = "error" if score is None else score.status
        return Opinion(member, None, None, status, (score.reason if score else None) or "no judgment")
    return Opinion(member, _whole(rows), as_share(score.value, scale_of(member)), "ok", "")


def _whole(rows: Sequence[Judgment]) -> Judgment | None:
    """The one judgment of a whole summary, where that is what there is."""
    return rows[0] if len(rows) == 1 and rows[0].target.unit == "summary" else None


def as_share(value: float, scale: Scale) -> float:
    """A value on a scale as a share of it."""
    return (value - scale[0]) / (scale[1] - scale[0])
