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
    SHARES,
    DerivedEvaluator,
    ItemKey,
    MemberJudge,
    MemberJudgments,
    Opinion,
    Scale,
    check_named_once,
    common_units,
    joint_scale,
    named_members,
    opinion_of,
)
from summeter.records import Judgment, UsageError
from summeter.scoring.scores import STATUS_SEVERITY

How = Literal["auto", "majority", "mean"]


class Ensemble(DerivedEvaluator):
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

    name, version = "ensemble", "1"
    summary = "Several evaluators joined: majority or mean, with their agreement as confidence."
    aspects = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())
    positional_setting = "of"
    always_signed = ("of",)

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
        if not self.active_aspects:
            raise ValueError(f"no two of {self.of} judge the same aspect{f' ({self.aspect})' if self.aspect else ''}")
        if self.at_least > len(members):
            raise ValueError(f"at_least is {self.at_least}, but there are {len(members)} members")
        return self

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The evaluators joined; a bundle counts as its parts."""
        members = named_members(self.of, self.aspect)
        check_named_once(members)
        return members

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """Aspects that two members judge at least."""
        times = Counter(aspect for member in self.members for aspect in member.evaluator.active_aspects)
        return tuple(name for name, many in times.items() if many > 1 and self.aspect in (None, name))

    @property
    def decision_threshold(self) -> float | None:
        """Half of the members, where they vote; a tie has no label."""
        labels = any(
            member.evaluator.decision_threshold is not None or member.evaluator.binary_units for member in self.members
        )
        return 0.5 if self.how == "majority" or (self.how == "auto" and labels) else None

    @property
    def rating_scale(self) -> Scale | None:
        """The members' scale; 0 to 1 where they have different ones."""
        return joint_scale(self.members)

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Every member's judgments, joined item by item and aspect by aspect."""
        for item, by_member in judged:
            for aspect in self.active_aspects:
                yield from self._join(item, signature, aspect, by_member)

    def _join(
        self, item: ItemKey, signature: str, aspect: str, by_member: Sequence[Sequence[Judgment]]
    ) -> Iterator[Judgment]:
        """One aspect: unit by unit where the members judge the same units, else by their scores of the summary."""
        rows_by_member = [
            (member, [row for row in rows if row.aspect == aspect])
            for member, rows in zip(self.members, by_member, strict=True)
            if aspect in member.evaluator.active_aspects
        ]
        behind = [row for _, rows in rows_by_member for row in rows]
        for unit in common_units([rows for _, rows in rows_by_member]):
            fields = self._verdict([opinion_of(member, rows, unit) for member, rows in rows_by_member])
            yield self.judgment(item, signature, aspect, unit or ("summary", None, None), behind=behind, **fields)

    def _verdict(self, opinions: Sequence[Opinion]) -> dict[str, Any]:
        """The fields of the judgment that joins the members' opinions of one unit."""
        verdicts = [opinion for opinion in opinions if opinion.status == "ok"]
        without_verdict = [opinion for opinion in opinions if opinion.status != "ok"]
        missing = "".join(
            f"; no verdict of {opinion.member.name} ({opinion.status}: {opinion.reason})" for opinion in without_verdict
        )
        rows = [opinion.judgment for opinion in opinions if opinion.judgment]
        about = {
            "truncated_tokens": max((row.truncated_tokens for row in rows if row.truncated_tokens), default=None),
            "claim": next((row.claim for row in rows if row.claim), None),
        }
        if len(verdicts) < self.at_least:
            worst = min((opinion.status for opinion in without_verdict), key=STATUS_SEVERITY.index)
            return {**about, "status": worst, "reason": f"{len(verdicts)} of {len(opinions)} members judged{missing}"}
        labels = [opinion.judgment.label if opinion.judgment else None for opinion in verdicts]
        voting = self.how == "majority" or (self.how == "auto" and all(label in (0, 1) for label in labels))
        lacking = labels if voting else [opinion.value for opinion in verdicts]
        if None in lacking:
            name = verdicts[lacking.index(None)].member.name
            needed, other = ("majority needs labels", "mean") if voting else ("mean needs numbers", "majority")
            return {**about, "status": "skipped", "reason": f"a {needed}, and {name} gives none; use how={other}"}
        joined = _majority(verdicts) if voting else self._mean(verdicts)
        return {**about, **joined, "reason": f"{joined['reason']}{missing}"}

    def _mean(self, verdicts: Sequence[Opinion]) -> dict[str, Any]:
        low, high = scale = self.rating_scale or SHARES
        values = [value for verdict in verdicts if (value := verdict.on(scale)) is not None]
        differences = [abs(first - second) for first, second in combinations(values, 2)]
        shown = ", ".join(f"{verdict.member.name} {value:g}" for verdict, value in zip(verdicts, values, strict=True))
        confidence = 1 - fmean(differences) / (high - low) if differences else None
        return {"value": fmean(values), "confidence": confidence, "reason": f"mean of {len(verdicts)}: {shown}"}


def _majority(verdicts: Sequence[Opinion]) -> dict[str, Any]:
    """What most members say; skipped where two labels have equally many."""
    rows = [verdict.judgment for verdict in verdicts if verdict.judgment is not None]
    votes = Counter(row.label for row in rows)
    (label, most), *others = votes.most_common()
    shown = ", ".join(f"{verdict.member.name} {verdict.judgment.label}" for verdict in verdicts if verdict.judgment)
    if any(many == most for _, many in others):
        return {"status": "skipped", "reason": f"a tie among {len(rows)}: {shown}"}
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
