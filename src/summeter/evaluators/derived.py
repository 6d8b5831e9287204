"""Derived judges, which compute their judgments from those of other judges."""

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
"""The key of an item: (document, system, rival)."""

Scale = tuple[float, float]
UnitKey = tuple[Unit, int | None, str | None]
"""The key of a unit: (unit, index, list_id)."""

SHARES: Scale = (0.0, 1.0)

_AT_ROLE = re.compile(r"(?P<spec>.*)@(?P<role>[A-Za-z_][\w-]*)")


class MemberJudge(NamedTuple):
    """A judge that a derived judge uses.

    `role` is the role whose model the member uses instead of that of the role `judge`. A `partial` member judges only
    the items selected by `DerivedEvaluator.undecided`.
    """

    evaluator: Evaluator
    role: str | None = None
    partial: bool = False

    @property
    def name(self) -> str:
        """The name of the member in reasons, such as `rts` or `rts@second`."""
        return self.evaluator.name if self.role is None else f"{self.evaluator.name}@{self.role}"

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the run whose models the member uses."""
        return tuple(self.role if role == "judge" and self.role else role for role in self.evaluator.required_roles)

    @property
    def scale(self) -> Scale:
        """The ends of the member's rating scale, or 0 and 1 if it has none."""
        return self.evaluator.rating_scale or SHARES


class MemberJudgments(NamedTuple):
    """The members' judgments of one item, in the order of `DerivedEvaluator.members`.

    The judgments of a partial member that has not judged the item are empty.
    """

    item: ItemKey
    by_member: tuple[tuple[Judgment, ...], ...]


class DerivedEvaluator(Evaluator):
    """A judge that is computed from the judgments of other judges and uses no model itself.

    A subclass defines the property `members` and the method `derive`. The engine first runs the members, which are
    judges of the same run with their own signatures, files and scores. It then calls `derive` with all items that every
    member has finished, in this session or an earlier one. `derive` may use the whole run (to rank, to fit a scale, to
    find a threshold). It must be a pure function of the members' judgments and the settings, without a model, a file, a
    clock or unseeded randomness. `rescore`, `runs merge` and resuming a run compute the derived judgments again.

    **Failures.** `derive` receives a member's failed judgments (`unparsed`, `refused`, `skipped`) and writes judgments
    with a status for them, never values. It does not receive items that a member could not judge (`error`): the derived
    judgment has the same error and reason, and both judges try the item again when the run is resumed. The engine skips
    items with a `skip_reason`.

    **Signature.** The signature contains a digest of the members' names and signatures, the changed settings, the
    settings in `always_signed`, and the members' models by role.

    **Partial members** judge only some items. The engine calls `undecided` before any judge runs, and again when the
    items that it returned are judged. `undecided` and `derive` then receive every item that can be judged, with the
    judgments so far; `derive` yields judgments of the decided items.

    Members and the derived judge judge the same items: summaries, or pairs (`pairwise`).

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
        """The member judges, in the order in which `derive` receives their judgments."""

    @abstractmethod
    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Yield the judgments, signed with `signature`; the judgments of one item are consecutive.

        `judged` contains every finished item in the order of the data. It reads the files of the run lazily and can be
        iterated several times; `judged[5]` reads only one item.
        """

    def undecided(self, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """Return the items that partial members must judge.

        This method must be a pure function, like `derive`. It is called without judgments before any judge runs, and
        again when the other members have judged all items and the partial members the items that the first call
        returned.
        """
        raise NotImplementedError(f"{self.name} does not define which items its partial members judge")

    def check_members(self, signatures: Sequence[str]) -> None:
        """Check the members' signatures in this run, given in the order of `members`.

        The engine calls this method before any judge runs. Raises UsageError if the judge cannot be computed from these
        members. Default: no check.
        """

    def components(self) -> tuple[Evaluator, ...]:
        """Return the members that use the run's judge or no model, followed by this evaluator."""
        return (*(member.evaluator for member in self.members if member.role is None), self)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles that the members use."""
        return tuple(dict.fromkeys(role for member in self.members for role in member.required_roles))

    @property
    def asks_llm(self) -> bool:
        """Whether a member uses an LLM."""
        return any(member.evaluator.asks_llm for member in self.members)

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings, the digest of the members, and the rating scale."""
        signed = [[member.name, member.evaluator.sign({})] for member in self.members]
        scale = f"{self.rating_scale[0]:g}-{self.rating_scale[1]:g}" if self.rating_scale else None
        always = {name: getattr(self, name) for name in self.always_signed}
        return {**super().signature_fields(), **always, "members": digest(signed, HASH), "scale": scale}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Raise NotImplementedError; the engine calls `derive` instead."""
        raise NotImplementedError(f"{self.name} is computed from the judgments of its members; see `derive`")

    def judgment(
        self,
        item: ItemKey,
        signature: str,
        aspect: str,
        unit: UnitKey = ("summary", None, None),
        *,
        sources: Iterable[Judgment] = (),
        **fields: Any,
    ) -> Judgment:
        """Return a judgment about an item, with the models and calls of its `sources`.

        `fields` are fields of Judgment (`value`, `label`, `reason`, ...). A failed judgment has a `status` and a
        `reason` but no value. If the value is not finite, the status is `error`.
        """
        value = fields.get("value")
        if value is not None and not isfinite(value):
            del fields["value"]
            fields = {**fields, "label": None, "status": "error", "reason": f"the computed value is {value}"}
        rows = list(sources)
        models = dict.fromkeys(row.model for row in rows if row.model is not None)
        origin: dict[str, Any] = {
            "model": ",".join(models) or None,
            "calls": tuple(dict.fromkeys(call for row in rows for call in row.calls)),
        }
        document_id, system, rival = item
        of, index, list_id = unit
        target = Target(document_id=document_id, system=system, rival=rival, unit=of, index=index, list_id=list_id)
        return Judgment(target=target, aspect=aspect, judge=self.name, signature=signature, **{**origin, **fields})


def joint_scale(members: Sequence[MemberJudge]) -> Scale | None:
    """Return the members' rating scale, (0, 1) if their scales differ, or None if no member rates."""
    scales = {member.scale for member in members}
    return None if scales == {SHARES} else scales.pop() if len(scales) == 1 else SHARES


def named_members(of: str, aspect: str | None = None) -> tuple[MemberJudge, ...]:
    """Return the members in a string such as `rts+mcq[aspect=fluency]+rts@second`.

    Members are written as for `-e`.

    A bundle is replaced by its components, except those that only prepare data. `aspect` is passed to each member that
    has a setting `aspect` without a value. Raises UsageError for pairwise and derived judges.
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
                kind = "a pairwise" if evaluator.pairwise else "a derived"
                raise UsageError(f"{evaluator.name} is {kind} judge and cannot be a member of another judge")
            if not evaluator.prepares_only:
                members.append(MemberJudge(evaluator, role))
    return tuple(members)


def check_named_once(members: Sequence[MemberJudge]) -> None:
    """Raise UsageError if two members are the same judge with the same settings."""
    named = Counter((member.name, member.evaluator.sign({})) for member in members)
    for (name, _), times in named.items():
        if times > 1:
            raise UsageError(f"{name} is listed twice; list it once, or use a second model (NAME@ROLE)")


class Opinion(NamedTuple):
    """One member's verdict on one unit, or the status and reason of a failure.

    `value` is on the member's scale; it is None if the label is a word.
    """

    member: MemberJudge
    judgment: Judgment | None
    value: float | None
    status: Status
    reason: str

    def on(self, scale: Scale) -> float | None:
        """Return `value` converted from the member's scale to `scale`, or None if there is no value."""
        if self.value is None:
            return None
        (low, high), (start, end) = self.member.scale, scale
        return start + (self.value - low) / (high - low) * (end - start)


def common_units(rows_by_member: Sequence[Sequence[Judgment]]) -> Sequence[UnitKey | None]:
    """Return the units that all members judged, in order.

    Return [None], which stands for the summary, if the members judged different units. Members without any usable
    judgment are ignored.
    """
    judged = [rows for rows in rows_by_member if any(row.status == "ok" for row in rows)]
    keys = list(dict.fromkeys(unit_of(row) for rows in judged for row in rows))
    return keys if len({(unit, list_id) for unit, _, list_id in keys}) == 1 else [None]


def unit_of(judgment: Judgment) -> UnitKey:
    """Return the key of the unit that a judgment is about."""
    return judgment.target.unit, judgment.target.index, judgment.target.list_id


def opinion_of(member: MemberJudge, rows: Sequence[Judgment], unit: UnitKey | None = None) -> Opinion:
    """Return a member's verdict on one unit, or its score of the summary if `unit` is None."""
    if unit is None:
        score = next(iter(summary_scores(rows, {member.evaluator.name: member.evaluator.reduce})), None)
        if score is None or score.value is None:
            status: Status = "error" if score is None else score.status
            return Opinion(member, None, None, status, (score.reason if score else None) or "no judgment")
        of_summary = rows[0] if len(rows) == 1 and rows[0].target.unit == "summary" else None
        return Opinion(member, of_summary, score.value, "ok", "")
    judgment = next((row for row in rows if unit_of(row) == unit), rows[0] if rows else None)
    if judgment is None:
        return Opinion(member, None, None, "error", "no judgment")
    if judgment.status != "ok" or unit_of(judgment) != unit:
        status = "error" if judgment.status == "ok" else judgment.status
        return Opinion(member, None, None, status, judgment.reason or "no judgment of this unit")
    number = judgment.value if judgment.value is not None else judgment.label
    # A label that is a word has no value and counts only in a majority vote.
    return Opinion(member, judgment, float(number) if isinstance(number, int | float) else None, "ok", "")
