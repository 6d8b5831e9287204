"""`fused`: a linear combination of other judges' judgments, fitted to human labels.

`summeter train` (kind `fused`) fits the combination and writes it in the format `FusedModel`, which this evaluator
reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Evaluator, Role, named_file
from summeter.evaluators.catalog import rebuild
from summeter.evaluators.derived import DerivedEvaluator, ItemKey, MemberJudge, MemberJudgments
from summeter.models.fitted import DataFile, read_fitted, write_fitted
from summeter.records import HASH, InputError, Judgment, Record, Status, UsageError, digest, invalid
from summeter.scoring.scores import STATUS_SEVERITY, UNITS, unit_scores
from summeter.scoring.table import Groups, JudgmentTable
from summeter.stats.base import Floats

SCHEMA: Final = "summeter-fused/1"
FILE: Final = "fused.json"
"""The name of the file in the trained folder that the evaluator reads."""
MODEL: Final = "a fused judge"
TRAINER: Final = "`summeter train` with `kind: fused`"

Statistic = Literal["score", "mean", "least"]
"""A statistic of judgments of a summary: the score of the summary, or the mean or lowest value of its units."""
Link = Literal["linear", "logistic"]
"""`linear` predicts a rating, and `logistic` the probability of yes."""

_BATCH = 256  # items whose judgments are in memory at a time
_SHOWN = 3  # inputs listed in a reason


class FusedMember(Record):
    """A judge whose judgments are inputs: catalog name, settings, role and signature.

    The signature is that in the training data. `asks` contains the LLMs that the judge uses, by role, and `networks`
    its local models. A judge that uses neither is free of charge.
    """

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    role: str | None = None
    signature: str
    asks: dict[str, str] = Field(default_factory=dict)
    networks: dict[str, str] = Field(default_factory=dict)

    def member(self) -> MemberJudge:
        """Return the judge as a member. Raises UsageError if the name or a setting is unknown."""
        return MemberJudge(rebuild(self.name, self.settings), self.role)


class Input(Record):
    """One number about a summary: a statistic of a member's judgments of an aspect."""

    member: int = Field(ge=0)
    aspect: str
    statistic: Statistic = "score"

    def name(self, members: Sequence[FusedMember]) -> str:
        """Return the name of the input in model cards.

        Examples are `support.faithfulness`, `support.faithfulness:mean` and `rts@second.fluency`.
        """
        member = members[self.member]
        label = member.name if member.role is None else f"{member.name}@{member.role}"
        alike = [other for other in members if (other.name, other.role) == (member.name, member.role)]
        if len(alike) > 1 and member.settings:
            label += f"[{','.join(f'{key}={value}' for key, value in member.settings.items())}]"
        return f"{label}.{self.aspect}{'' if self.statistic == 'score' else f':{self.statistic}'}"

    def words(self, members: Sequence[FusedMember]) -> str:
        """Return the name of the input in reasons, such as `support faithfulness (mean)`."""
        statistic = "" if self.statistic == "score" else f" ({self.statistic})"
        judge, aspect = members[self.member].name, self.aspect.replace("_", " ")
        return f"{judge if judge == aspect else f'{judge} {aspect}'}{statistic}"


class Combination(Record):
    """The combination of the inputs that predicts one aspect, on the scale of the human labels.

    The score is `intercept` + the sum over inputs of `weights` x (input - `means`) / `deviations`, so the weights are
    standardised coefficients and can be compared. If the kind is `linear`, the value is `shift` + `slope` x score
    (calibration); if it is `logistic`, the value is 1 / (1 + exp(-score)). For new documents, the share `confidence` of
    the values differ from the human label by at most `half_width` (split conformal). `half_width` is None if it is
    unknown, as for probabilities.
    """

    link: Link = "linear"
    scale: tuple[float, float] | None = None
    intercept: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    shift: float = 0.0
    slope: float = 1.0
    half_width: float | None = None
    confidence: float | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not len(self.weights) == len(self.means) == len(self.deviations):
            raise ValueError("weights, means and deviations must have one number per input")
        if not all(deviation > 0 for deviation in self.deviations):
            raise ValueError("deviations must be greater than 0")
        return self

    def contributions(self, inputs: Floats) -> Floats:
        """Return the contribution of each input to the score, shape (items, inputs)."""
        return np.asarray((inputs - np.array(self.means)) / np.array(self.deviations) * np.array(self.weights))

    def values(self, inputs: Floats) -> Floats:
        """Return the value of each row of inputs, which is NaN if an input is NaN."""
        score = self.intercept + self.contributions(inputs).sum(axis=1)
        if self.link == "logistic":
            with np.errstate(over="ignore"):
                return np.asarray(1 / (1 + np.exp(-score)))
        return np.asarray(self.shift + self.slope * score)


class FusedModel(Record):
    """A trained fused judge, with its members, the inputs, and one combination per aspect."""

    members: tuple[FusedMember, ...] = Field(min_length=1)
    inputs: tuple[Input, ...] = Field(min_length=1)
    aspects: dict[str, Combination] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(each.member >= len(self.members) for each in self.inputs):
            raise ValueError("an input refers to a member that does not exist")
        if any(len(combination.weights) != len(self.inputs) for combination in self.aspects.values()):
            raise ValueError("the number of weights of an aspect differs from the number of inputs")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs, in order."""
        return tuple(each.name(self.members) for each in self.inputs)

    @property
    def id(self) -> str:
        """The first sixteen hexadecimal digits of the hash of all numbers, members and settings."""
        return digest(self.model_dump(mode="json"), HASH)


class Measured(NamedTuple):
    """The inputs of items, shape (items, inputs).

    A missing input is NaN in `values`; `why` maps its (row, column) to its status and reason.
    """

    values: Floats
    why: dict[tuple[int, int], tuple[Status, str]]


def measure(
    inputs: Sequence[Input],
    members: Sequence[Evaluator],
    items: Sequence[ItemKey],
    judgments: Sequence[Iterable[Judgment] | JudgmentTable],
) -> Measured:
    """Return the inputs of `items` from the judgments of each member."""
    row_of = {(document, system): row for row, (document, system, _) in enumerate(items)}
    values = np.full((len(items), len(inputs)), np.nan)
    why: dict[tuple[int, int], tuple[Status, str]] = {}
    for number, (member, of_member) in enumerate(zip(members, judgments, strict=True)):
        columns = {(each.aspect, each.statistic): at for at, each in enumerate(inputs) if each.member == number}
        table = JudgmentTable.of(of_member)
        for score in unit_scores(table, {member.name: member.reduce}):
            row = row_of.get((score.doc_id, score.system))
            if row is None:
                continue
            if (column := columns.get((score.aspect, "score"))) is not None and score.value is not None:
                values[row, column] = score.value
            if score.value is None:
                reason: tuple[Status, str] = (score.status, score.reason or score.status)
                why |= {(row, at): reason for (aspect, _), at in columns.items() if aspect == score.aspect}
        # Mean and lowest value of sentences, key facts or claims.
        graded = table.where(unit=UNITS)
        graded = graded.take(~np.isnan(graded.value))
        groups: Groups = graded.groups("document", "system", "aspect")
        sums = np.bincount(groups.of, weights=graded.value, minlength=len(groups))
        means = sums / np.bincount(groups.of, minlength=len(groups))
        least = np.full(len(groups), np.inf)
        np.minimum.at(least, groups.of, graded.value)
        first = graded.take(groups.first)
        names = zip(first.document.labels(), first.system.labels(), first.aspect.labels(), strict=True)
        for at, (document, system, aspect) in enumerate(names):
            row = row_of.get((document, system))
            of_units: tuple[tuple[Statistic, float], ...] = (("mean", means[at]), ("least", least[at]))
            for statistic, value in of_units:
                if row is not None and (column := columns.get((aspect, statistic))) is not None:
                    values[row, column] = value
    for row, column in np.argwhere(np.isnan(values)).tolist():
        why.setdefault((row, column), ("skipped", f"no judgment of {inputs[column].aspect}"))
    return Measured(values, why)


def inputs_of(members: Sequence[Evaluator], judgments: Sequence[Iterable[Judgment] | JudgmentTable]) -> list[Input]:
    """Return all possible inputs from the members' judgments.

    These are the score of every member for every aspect and, if the member judged sentences, key facts or claims with
    values other than 0 and 1, the mean and the lowest of these values.
    """
    inputs = []
    for number, (member, of_member) in enumerate(zip(members, judgments, strict=True)):
        table = JudgmentTable.of(of_member)
        graded = table.where(unit=UNITS)
        graded = graded.take(~np.isnan(graded.value) & ~np.isin(graded.value, (0.0, 1.0)))
        for aspect in [aspect for aspect in member.active_aspects if aspect in table.aspect.used()]:
            inputs.append(Input(member=number, aspect=aspect))
            if aspect in graded.aspect.used():
                inputs += [Input(member=number, aspect=aspect, statistic=each) for each in ("mean", "least")]
    return inputs


class Fused(DerivedEvaluator):
    """Combine the judgments of other evaluators with weights that were fitted to human labels.

    `model` is a folder written by `summeter train` (`kind: fused`), or the file `fused.json` in that folder. The file
    lists the members with their settings. The members are judges of the run and must have the same signatures as in the
    training data; different settings, models or sentence boundaries raise an error before any judge runs.

    Writes one judgment per summary and aspect. `value` is on the scale of the human labels and not clipped to it; for
    yes/no labels it is a probability, and `label` is 1 from 0.5. The reason lists the inputs with the largest
    contributions and the interval. If an input is missing, the judgment has its status and reason; nothing is imputed.
    """

    name, version = "fused", "1"
    summary = "Judgments of other evaluators, combined with weights fitted to human labels."
    aspects = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())
    value_range = None
    positional_setting = "model"

    model: Annotated[DataFile | None, named_file(MODEL, f"; {TRAINER} writes one", inside=FILE)] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            _ = self.members
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    @cached_property
    def fitted(self) -> FusedModel | None:
        """The trained model, or None if `model` is not set.

        Raises InputError if the file is invalid.
        """
        return None if self.model is None else load(self.model)

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The judges whose judgments are the inputs of the model."""
        return () if self.fitted is None else tuple(each.member() for each in self.fitted.members)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspects for which the model has a combination."""
        return () if self.fitted is None else tuple(self.fitted.aspects)

    def incompatible(self, systems: Any) -> str | None:
        """Return a reason if no model is set, and None otherwise."""
        if self.fitted is None:
            return f"fused needs a trained judge: fused[model=FOLDER]; {TRAINER} writes one"
        return super().incompatible(systems)

    def check_members(self, signatures: Sequence[str]) -> None:
        """Raise UsageError if a member's signature differs from the one in the training data."""
        for member, signature in zip(self.fitted.members if self.fitted else (), signatures, strict=True):
            if member.signature != signature:
                raise UsageError(
                    f"{self.model.path if self.model else self.name} was fitted on other judgments of {member.name}: "
                    f"its signature was {member.signature} and is now {signature}; score with the same settings, "
                    "models and sentence boundaries, or train again"
                )

    def signature_fields(self) -> Mapping[str, object]:
        """Return the hash of the model, and the scale if it is the same for all aspects."""
        if self.fitted is None:
            return {}
        scales = {combination.scale for combination in self.fitted.aspects.values()}
        scale = scales.pop() if len(scales) == 1 else None
        # A negative end of a scale cannot be written with a hyphen.
        ends = f"{scale[0]:g}-{scale[1]:g}" if scale is not None and scale[0] >= 0 else None
        return {"model": self.fitted.id, "scale": ends}

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Yield one judgment per item and aspect."""
        fitted = self.fitted
        if fitted is None:
            return
        members = [member.evaluator for member in self.members]
        for start in range(0, len(judged), _BATCH):
            rows = list(judged[start : start + _BATCH])
            judgments = [[each for _, of_item in rows for each in of_item[number]] for number in range(len(members))]
            inputs, why = measure(fitted.inputs, members, [item for item, _ in rows], judgments)
            values = {aspect: each.values(inputs) for aspect, each in fitted.aspects.items()}
            for row, (item, by_member) in enumerate(rows):
                sources = [each for of_member in by_member for each in of_member]
                # The status and reason of the first missing input of each member.
                fields: dict[str, Any]
                missing: dict[int, tuple[Status, str]] = {}
                for column, each in enumerate(fitted.inputs):
                    if (row, column) in why and each.member not in missing:
                        status, reason = why[row, column]
                        missing[each.member] = status, f"no {each.words(fitted.members)} ({status}: {reason})"
                for aspect, combination in fitted.aspects.items():
                    if missing:
                        worst = min((status for status, _ in missing.values()), key=STATUS_SEVERITY.index)
                        fields = {"status": worst, "reason": "; ".join(reason for _, reason in missing.values())}
                    else:
                        fields = _fields(combination, float(values[aspect][row]), inputs[row], fitted)
                    yield self.judgment(item, signature, aspect, sources=sources, **fields)


def load(file: DataFile) -> FusedModel:
    """Read a fused judge from its file. Raises InputError if the file is invalid."""
    values = read_fitted(file, SCHEMA, MODEL, TRAINER)
    try:
        return FusedModel.model_validate(values)
    except ValidationError as error:
        raise invalid(file.path, None, error, "this is not a fused judge of this version") from error


def save(model: FusedModel, file: Path) -> None:
    """Write the file of a fused judge."""
    write_fitted(file, SCHEMA, model.model_dump(mode="json"), indent=1)


def _fields(combination: Combination, value: float, inputs: Floats, fitted: FusedModel) -> dict[str, Any]:
    """Return the value and the reason of a judgment.

    The reason contains the interval and the largest contributions.
    """
    added = combination.contributions(inputs[None, :])[0] * combination.slope
    order = sorted(range(len(added)), key=lambda at: (-abs(added[at]), at))
    contributions = ", ".join(
        f"{fitted.inputs[at].words(fitted.members)} {inputs[at]:.3g} ({added[at]:+.2f})" for at in order[:_SHOWN]
    )
    unit = " (log-odds)" if combination.link == "logistic" else ""
    parts = [f"largest contributions{unit}: {contributions}"]
    if combination.half_width is not None and combination.confidence is not None and math.isfinite(value):
        lower, upper = combination.scale or (-math.inf, math.inf)
        low, high = (min(max(value + side * combination.half_width, lower), upper) for side in (-1, 1))
        parts.insert(0, f"{combination.confidence:.0%} interval {low:.2f} to {high:.2f}")
    label = {"label": int(value >= 0.5)} if combination.link == "logistic" and math.isfinite(value) else {}
    return {"value": value, "reason": "; ".join(parts), **label}
