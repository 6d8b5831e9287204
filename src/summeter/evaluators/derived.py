"""Derived judges: functions of other judges' judgments, as the ensemble is."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, NamedTuple

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


class MemberJudge(NamedTuple):
    """A judge that a derived judge needs. `role` is the role whose model it asks instead of `judge`'s, where another
    model is to answer. A `partial` one judges the items that `DerivedEvaluator.undecided` names, not all."""

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

    @property
    def scale(self) -> Scale:
        """The ends of its values: those of its rating scale, else 0 and 1."""
        return self.evaluator.rating_scale or SHARES


class MemberJudgments(NamedTuple):
    """What the members judged of one item, in the order of `DerivedEvaluator.members`; nothing of a partial member that
    has not judged it."""

    item: ItemKey
    by_member: tuple[tuple[Judgment, ...], ...]


class DerivedEvaluator(Evaluator):
    """A judge computed from the judgments of other judges of the same run; it asks no model itself.

    A subclass names the judges it needs (`members`) and writes one function (`derive`). The engine runs the members
    first, as judges of the run with their own signatures, files and scores; then `derive`, over all items that every
    member has finished, in this session or an earlier one. `derive` may look at the whole run (to rank, to fit a scale,
    to find a threshold). It must be a pure function of the judgments it gets and of the settings: no model, no file, no
    clock, no unseeded randomness. `rescore`, `runs merge` and a resumed run compute its judgments anew.

    **Failures.** `derive` gets a member's failed judgments (`unparsed`, `refused`, `skipped`) and writes judgments with
    a status of their own for them, never numbers. An item that a member could not judge at all (`error`) it does not
    get: that is the derived judge's error too, with the member's reason, and both are tried again on resuming. An item
    with a `skip_reason` is skipped by the engine.

    **Signature.** It holds a digest of the members' names and signatures, the changed settings and those named in
    `always_signed`, and the members' models by role.

    **Partial members** judge only some items: the engine asks `undecided` which, before any work and again when these
    are judged. `undecided` and `derive` then get every item that can be judged, with what there is; `derive` writes
    about those that are decided.

    Members and derived judge judge the same items: summaries, or pairs (`pairwise`).

    >>> class Highest(DerivedEvaluator):
    ...     '''The higher of two ratings.'''
    ...     name, version, summary, aspects = "highest", "1", "The higher of two ratings.", ("coherence",)
    ...
    ...     @property
    ...     def members(self):
    ...         from summeter.evaluators import MultipleChoice, ReasonThenScore
    ...         return (MemberJudge(ReasonThenScore()), MemberJudge(MultipleChoice()))
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

    always_signed: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def members(self) -> tuple[MemberJudge, ...]:
        """The judges it needs, in the order in which `derive` gets their judgments."""

    @abstractmethod
    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """The judgments, signed with `signature`; those of an item follow each other.

        `judged` holds every finished item in the order of the data. It is read from the run's files as it is gone
        through, and may be gone through several times; `judged[5]` reads one item.
        """

    def undecided(self, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """The items that partial members must judge. A pure function, like `derive`; it is asked with nothing judged
        before any work, and again when the whole members have judged all, and the partial ones what it named first."""
        raise NotImplementedError(f"{self.name} does not say what its partial members must judge")

    def check_members(self, signatures: Sequence[str]) -> None:
        """Called before any work with the members' signatures in this run, in their order. Raises UsageError where it
        cannot be computed from what they sign. Default: any do."""

    def components(self) -> tuple[Evaluator, ...]:
        """The members that ask the run's own judge (or no model), and itself."""
        return (*(member.evaluator for member in self.members if member.role is None), self)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """Every role that a member asks."""
        return tuple(dict.fromkeys(role for member in self.members for role in member.required_roles))

    @property
    def asks_llm(self) -> bool:
        """Whether a member asks an LLM."""
        return any(member.evaluator.asks_llm for member in self.members)

    def signature_fields(self) -> Mapping[str, object]:
        """Settings; the members with what they sign; the scale of ratings."""
        signed = [[member.name, member.evaluator.sign({})] for member in self.members]
        scale = f"{self.rating_scale[0]:g}-{self.rating_scale[1]:g}" if self.rating_scale else None
        always = {name: getattr(self, name) for name in self.always_signed}
        return {**super().signature_fields(), **always, "members": digest(signed, HASH), "scale": scale}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Not for derived judges: the engine calls `derive`."""
        raise NotImplementedError(f"{self.name} is computed from the judgments of its members; see `derive`")

    def judgment(
        self,
        item: ItemKey,
        signature: str,
        aspect: str,
        unit: UnitKey = ("summary", None, None),
        *,
        behind: Iterable[Judgment] = (),
        **fields: Any,
    ) -> Judgment:
        """A judgment about an item, which names the models and calls of the judgments `behind` it; `fields` are those
        of Judgment (`value`, `label`, `reason`...). One that could not be had takes `status` and `reason`, and no
        value; a value that is not finite is none."""
        value = fields.get("value")
        if value is not None and not isfinite(value):
            del fields["value"]
            fields = {**fields, "label": None, "status": "error", "reason": f"computed {value}, which is no number"}
        rows = list(behind)
        models = dict.fromkeys(row.model for row in rows if row.model is not None)
        sources: dict[str, Any] = {
            "model": ",".join(models) or None,
            "calls": tuple(dict.fromkeys(call for row in rows for call in row.calls)),
        }
        document_id, system, rival = item
        of, index, list_id = unit
        target = Target(document_id=document_id, system=system, rival=rival, unit=of, index=index, list_id=list_id)
        return Judgment(target=target, aspect=aspect, judge=self.name, signature=signature, **{**sources, **fields})


def joint_scale(members: Sequence[MemberJudge]) -> Scale | None:
    """The scale on which members rate, 0 to 1 where it is not the same for all; None where none rates."""
    scales = {member.scale for member in members}
    return None if scales == {SHARES} else scales.pop() if len(scales) == 1 else SHARES


def named_members(of: str, aspect: str | None = None) -> tuple[MemberJudge, ...]:
    """The members that a text names as `-e` does, with plus signs between: `rts+mcq[aspect=fluency]+rts@second`.

    A bundle counts as its parts, but for those that judge no summary. `aspect` is handed to each that has such a
    setting and was given none. UsageError for judges of pairs and for derived judges.
    """
    members: list[MemberJudge] = []
    for spec in split_outside(of, "+"):
        named = _AT_ROLE.fullmatch(spec)
        text, role = (named["spec"], named["role"]) if named else (spec, None)
        judge = build(text)
        if aspect is not None and "aspect" in type(judge).model_fields and "aspect" not in judge.model_fields_set:
            judge = type(judge)(**{**judge.model_dump(exclude_unset=True), "aspect": aspect})
        for evaluator in judge.components():
            if isinstance(evaluator, DerivedEvaluator) or evaluator.pairwise:
                raise UsageError(f"{evaluator.name} cannot be part of another judge: it judges no summary by itself")
            if not evaluator.prepares_only:
                members.append(MemberJudge(evaluator, role))
    return tuple(members)


def check_named_once(members: Sequence[MemberJudge]) -> None:
    """UsageError where two members are the same judge with the same settings."""
    named = Counter((member.name, member.evaluator.sign({})) for member in members)
    for (name, _), times in named.items():
        if times > 1:
            raise UsageError(f"{name} is named twice; name it once, or ask another model (NAME@ROLE)")


class Opinion(NamedTuple):
    """What one member says of one unit: its judgment, or why there is none. `value` is on the member's scale, None also
    where its label is a word."""

    member: MemberJudge
    judgment: Judgment | None
    value: float | None
    status: Status
    reason: str

    def on(self, scale: Scale) -> float | None:
        """`value`, moved from the member's scale to another."""
        if self.value is None:
            return None
        (low, high), (start, end) = self.member.scale, scale
        return start + (self.value - low) / (high - low) * (end - start)


def common_units(rows_by_member: Sequence[Sequence[Judgment]]) -> Sequence[UnitKey | None]:
    """The units that all members judged alike, in order; where they did not, only None, the summary. A member that
    judged nothing has no say."""
    judged = [rows for rows in rows_by_member if any(row.status == "ok" for row in rows)]
    keys = list(dict.fromkeys(unit_of(row) for rows in judged for row in rows))
    return keys if len({(unit, list_id) for unit, _, list_id in keys}) == 1 else [None]


def unit_of(judgment: Judgment) -> UnitKey:
    """Which unit of its item a judgment is about."""
    return judgment.target.unit, judgment.target.index, judgment.target.list_id


def opinion_of(member: MemberJudge, rows: Sequence[Judgment], unit: UnitKey | None = None) -> Opinion:
    """What a member says of one unit; without `unit`, its score of the summary as a run reports it."""
    if unit is None:
        score = next(iter(summary_scores(rows, {member.evaluator.name: member.evaluator.reduce})), None)
        if score is None or score.value is None:
            status: Status = "error" if score is None else score.status
            return Opinion(member, None, None, status, (score.reason if score else None) or "no judgment")
        whole = rows[0] if len(rows) == 1 and rows[0].target.unit == "summary" else None
        return Opinion(member, whole, score.value, "ok", "")
    judgment = next((row for row in rows if unit_of(row) == unit), rows[0] if rows else None)
    if judgment is None:
        return Opinion(member, None, None, "error", "no judgment")
    if judgment.status != "ok" or unit_of(judgment) != unit:
        status = "error" if judgment.status == "ok" else judgment.status
        return Opinion(member, None, None, status, judgment.reason or "no judgment of this unit")
    number = judgment.value if judgment.value is not None else judgment.label
    # A label in words has no value, and can only vote.
    return Opinion(member, judgment, float(number) if isinstance(number, int | float) else None, "ok", "")
