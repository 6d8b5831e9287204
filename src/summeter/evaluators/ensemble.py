"""`ensemble`: the combined judgments of several evaluators, with their agreement as confidence.

Labels are combined by majority, ratings by their mean, after the members have judged all items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Role
from summeter.evaluators.derived import (
    SHARES,
    DerivedEvaluator,
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
    """Combine the judgments of several evaluators.

    `of` lists the evaluators as for `-e`, separated by plus signs (`rts+mcq+stareval`).

    `NAME@ROLE` uses the model in another role: `rts+rts@second` is one judge with two models. `aspect` is passed to
    every member that has a setting of this name, and only this aspect is combined; by default, every aspect that at
    least two members judge is combined. `how` is "majority" (of labels), "mean" (of values), or "auto", which combines
    labels if all members give 0 or 1, and values otherwise. `at_least` is the minimum number of members with a verdict.

    Writes one judgment per sentence, claim or key fact if all members judge the same units, and otherwise one per
    summary. With a majority vote, `label` is the most frequent label, `value` the share of votes for 1, and
    `confidence` the share of votes for `label`; a tie is skipped. With the mean, `value` is on the members' scale, or
    in [0, 1] if their scales differ, and `confidence` is 1 minus the mean difference between two members, as a share of
    the scale. Members without a verdict are left out and listed in the reason. If fewer than `at_least` members have a
    verdict, the judgment has the most severe status of the members.
    """

    name, version = "ensemble", "1"
    summary = "The majority or mean of several evaluators, with their agreement as confidence."
    aspects = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())
    positional_setting = "of"
    always_signed = ("of",)

    of: Annotated[str, BeforeValidator(lambda of: "+".join(map(str, of)) if isinstance(of, list | tuple) else of)] = (
        "rts+mcq+stareval"
    )
    aspect: str | None = None
    how: How = "auto"
    at_least: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            members = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        if len(members) < 2:
            raise ValueError(f"an ensemble needs at least two evaluators, but `of` is {self.of!r}")
        if not self.active_aspects:
            raise ValueError(f"no two of {self.of} judge the same aspect{f' ({self.aspect})' if self.aspect else ''}")
        if self.at_least > len(members):
            raise ValueError(f"at_least is {self.at_least}, but there are only {len(members)} members")
        return self

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The combined evaluators. A bundle is replaced by its components."""
        members = named_members(self.of, self.aspect)
        check_named_once(members)
        return members

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects that at least two members judge."""
        times = Counter(aspect for member in self.members for aspect in member.evaluator.active_aspects)
        return tuple(name for name, count in times.items() if count > 1 and self.aspect in (None, name))

    @property
    def decision_threshold(self) -> float | None:
        """One half if the members vote (a tie has no label), or else None."""
        labels = any(
            member.evaluator.decision_threshold is not None or member.evaluator.binary_units for member in self.members
        )
        return 0.5 if self.how == "majority" or (self.how == "auto" and labels) else None

    @property
    def rating_scale(self) -> Scale | None:
        """The members' scale, or (0, 1) if their scales differ."""
        return joint_scale(self.members)

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Yield the members' judgments, combined by item, aspect and unit."""
        for item, by_member in judged:
            for aspect in self.active_aspects:
                rows_by_member = [
                    (member, [row for row in rows if row.aspect == aspect])
                    for member, rows in zip(self.members, by_member, strict=True)
                    if aspect in member.evaluator.active_aspects
                ]
                sources = [row for _, rows in rows_by_member for row in rows]
                for unit in common_units([rows for _, rows in rows_by_member]):
                    fields = self._combined([opinion_of(member, rows, unit) for member, rows in rows_by_member])
                    target = unit or ("summary", None, None)
                    yield self.judgment(item, signature, aspect, target, sources=sources, **fields)

    def _combined(self, opinions: Sequence[Opinion]) -> dict[str, Any]:
        """Return the fields of the judgment that combines the members' verdicts on one unit."""
        verdicts = [opinion for opinion in opinions if opinion.status == "ok"]
        without_verdict = [opinion for opinion in opinions if opinion.status != "ok"]
        missing = "".join(
            f"; no verdict by {opinion.member.name} ({opinion.status}: {opinion.reason})" for opinion in without_verdict
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
        needed = labels if voting else [opinion.value for opinion in verdicts]
        if None in needed:
            name = verdicts[needed.index(None)].member.name
            requirement, other = ("majority needs labels", "mean") if voting else ("mean needs numbers", "majority")
            return {**about, "status": "skipped", "reason": f"a {requirement}, but {name} gives none; use how={other}"}
        if not voting:
            low, high = scale = self.rating_scale or SHARES
            values = [value for verdict in verdicts if (value := verdict.on(scale)) is not None]
            differences = [abs(first - second) for first, second in combinations(values, 2)]
            listed = ", ".join(f"{one.member.name} {value:g}" for one, value in zip(verdicts, values, strict=True))
            return {
                **about,
                "value": fmean(values),
                "confidence": 1 - fmean(differences) / (high - low) if differences else None,
                "reason": f"mean of {len(verdicts)}: {listed}{missing}",
            }
        rows = [verdict.judgment for verdict in verdicts if verdict.judgment is not None]
        votes = Counter(row.label for row in rows)
        (label, highest), *remaining = votes.most_common()
        listed = ", ".join(f"{one.member.name} {one.judgment.label}" for one in verdicts if one.judgment)
        if any(count == highest for _, count in remaining):
            return {**about, "status": "skipped", "reason": f"tie among {len(rows)}: {listed}{missing}"}
        agreeing = [row for row in rows if row.label == label]
        types = Counter(row.error_type for row in agreeing if row.error_type)
        return {
            **about,
            "label": label,
            "value": votes[1] / len(rows) if set(votes) <= {0, 1} else None,
            "confidence": highest / len(rows) if len(rows) > 1 else None,
            "error_type": next((name for name, _ in types.most_common(1)), None),
            "evidence": next((row.evidence for row in agreeing if row.evidence), ()),
            "reason": f"{highest} of {len(rows)} say {label}: {listed}{missing}",
        }
