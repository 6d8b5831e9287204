"""`ensemble`: several evaluators' judgments joined, with their agreement as confidence.

Labels are joined by majority, ratings by their mean. The members are judges of the run like any other; what they
judged is joined when they are through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Role
from summeter.evaluators.derived import (
    ItemKey,
    JoinedEvaluator,
    Member,
    MemberJudgments,
    Opinion,
    UnitKey,
    common_units,
    named_members,
    opinion_of_summary,
    opinion_of_unit,
)
from summeter.records import Judgment, Status, UsageError

How = Literal["auto", "majority", "mean"]

GRAVITY: tuple[Status, ...] = ("error", "refused", "unparsed", "skipped")


class Ensemble(JoinedEvaluator):
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

    The members stand in the run beside it, each with its own signature.
    """

    name: ClassVar[str] = "ensemble"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Several evaluators joined: majority or mean, with their agreement as confidence."
    aspects: ClassVar[tuple[str, ...]] = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())
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
            members = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        if len(members) < 2:
            raise ValueError(f"an ensemble joins two evaluators at least; `of` names {self.of!r}")
        if not self.measured:
            raise ValueError(f"no two of {self.of} judge the same aspect{f' ({self.aspect})' if self.aspect else ''}")
        if self.at_least > len(members):
            raise ValueError(f"at_least is {self.at_least}, but there are {len(members)} members")
        return self

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The evaluators joined; a bundle counts as its parts."""
        return _members(self.of, self.aspect)

    @property
    def measured(self) -> tuple[str, ...]:
        """Aspects that two members judge at least."""
        times = Counter(aspect for member in self.members for aspect in member.evaluator.measured)
        return tuple(name for name, many in times.items() if many > 1 and self.aspect in (None, name))

    @property
    def decision_threshold(self) -> float | None:
        """Half of the members, where they vote; a tie has no label."""
        labels = any(
            member.evaluator.decision_threshold is not None or member.evaluator.binary_units for member in self.members
        )
        return 0.5 if self.how == "majority" or (self.how == "auto" and labels) else None

    def signature_fields(self) -> Mapping[str, object]:
        """Those named, always, and what they sign."""
        return {**super().signature_fields(), "of": self.of, **self.signed_members()}

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Every member's judgments, joined item by item and aspect by aspect."""
        for item, by_member in judged:
            for aspect in self.measured:
                yield from self._join(item, signature, aspect, by_member)

    def _join(
        self, item: ItemKey, signature: str, aspect: str, by_member: Sequence[Sequence[Judgment]]
    ) -> Iterator[Judgment]:
        """One aspect: unit by unit where the members judge the same units, else by their scores of the summary."""
        rows_by_member = [
            (member, [row for row in rows if row.aspect == aspect])
            for member, rows in zip(self.members, by_member, strict=True)
            if aspect in member.evaluator.measured
        ]
        calls = dict.fromkeys(call for _, rows in rows_by_member for row in rows for call in row.calls)
        models = dict.fromkeys(row.model for _, rows in rows_by_member for row in rows if row.model is not None)
        units: Sequence[UnitKey | None] = common_units(rows_by_member) or [None]
        for key in units:
            if key is None:
                opinions = [opinion_of_summary(member, rows) for member, rows in rows_by_member]
            else:
                opinions = [opinion_of_unit(member, rows, key) for member, rows in rows_by_member]
            unit, index, list_id = key or ("summary", None, None)
            yield self.judgment(
                item,
                signature,
                aspect,
                unit,
                index,
                list_id=list_id,
                calls=tuple(calls),
                model=",".join(models) or None,
                **self._verdict(opinions),
            )

    def _verdict(self, opinions: Sequence[Opinion]) -> dict[str, Any]:
        """The fields of the judgment that joins the members' opinions of one unit."""
        verdicts = [opinion for opinion in opinions if opinion.status == "ok"]
        without_verdict = [opinion for opinion in opinions if opinion.status != "ok"]
        missing = "".join(
            f"; no verdict of {opinion.member.name} ({opinion.status}: {opinion.reason})" for opinion in without_verdict
        )
        cut = [
            opinion.judgment.truncated_tokens
            for opinion in opinions
            if opinion.judgment and opinion.judgment.truncated_tokens
        ]
        about = {
            "truncated_tokens": max(cut, default=None),
            "claim": next(
                (opinion.judgment.claim for opinion in opinions if opinion.judgment and opinion.judgment.claim), None
            ),
        }
        if len(verdicts) < self.at_least:
            worst = min((opinion.status for opinion in without_verdict), key=GRAVITY.index)
            return {**about, "status": worst, "reason": f"{len(verdicts)} of {len(opinions)} members judged{missing}"}
        labels = [opinion.judgment.label if opinion.judgment else None for opinion in verdicts]
        voting = self.how == "majority" or (self.how == "auto" and all(label in (0, 1) for label in labels))
        skipped = {**about, "status": "skipped"}
        if voting and any(label is None for label in labels):
            name = verdicts[labels.index(None)].member.name
            return {**skipped, "reason": f"a majority needs labels, and {name} gives none; use how=mean"}
        if not voting and (unrated := next((opinion for opinion in verdicts if opinion.value is None), None)):
            return {
                **skipped,
                "reason": f"a mean needs numbers, and {unrated.member.name} gives none; use how=majority",
            }
        joined = _majority(verdicts) if voting else self._mean(verdicts)
        reason = f"{joined.pop('reason')}{missing}"
        if "label" in joined and joined["label"] is None:
            return {**skipped, "reason": reason}
        return {**about, **joined, "reason": reason}

    def _mean(self, verdicts: Sequence[Opinion]) -> dict[str, Any]:
        low, high = self.scale
        values = [low + verdict.value * (high - low) for verdict in verdicts if verdict.value is not None]
        differences = [abs(first - second) for first, second in combinations(values, 2)]
        shown = ", ".join(f"{verdict.member.name} {value:g}" for verdict, value in zip(verdicts, values, strict=True))
        confidence = 1 - fmean(differences) / (high - low) if differences else None
        return {"value": fmean(values), "confidence": confidence, "reason": f"mean of {len(verdicts)}: {shown}"}


def _majority(verdicts: Sequence[Opinion]) -> dict[str, Any]:
    """What most members say. `label` is None where two labels have equally many."""
    rows = [verdict.judgment for verdict in verdicts if verdict.judgment is not None]
    votes = Counter(row.label for row in rows)
    (label, most), *others = votes.most_common()
    shown = ", ".join(f"{verdict.member.name} {verdict.judgment.label}" for verdict in verdicts if verdict.judgment)
    if any(many == most for _, many in others):
        return {"label": None, "reason": f"a tie among {len(rows)}: {shown}"}
    agreeing = [row for row in rows if row.label == label]
    types = Counter(row.error_type for row in agreeing if row.error_type)
    return {
        "label": label,
        "value": votes[1] / len(rows) if set(votes) <= {0, 1} else None,
        "confidence": most / len(rows) if len(rows) > 1 else None,
        "error_type": next((name for name, _ in types.most_common(1)), None),
        "evidence": next((row.evidence for row in agreeing if row.evidence), ()),
        "reason": f"{most} of {len(rows)} say {label}: {shown}",
    }


def _members(of: str, aspect: str | None) -> tuple[Member, ...]:
    members = named_members(of, aspect)
    twice = [name for name, times in Counter((m.name, m.evaluator.sign({})) for m in members).items() if times > 1]
    if twice:
        raise UsageError(f"{twice[0][0]} is named twice; name it once, or ask another model (NAME@ROLE)")
    return members
