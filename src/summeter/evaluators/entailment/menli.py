"""`menli`, which applies NLI to two whole texts, and `menli.combined`, a weighted mean.

See Chen and Eger (TACL 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.evaluators.derived import DerivedEvaluator, MemberJudge, MemberJudgments, named_members, opinion_of
from summeter.evaluators.entailment.reasons import short
from summeter.models.networks import CountTokens, Entailment, TokenLimit, entailments
from summeter.records import Item, Judgment, UsageError

Direction = Literal["rh", "hr", "avg"]
Formula = Literal["e", "-c", "e-c", "e-n"]

FAITHFULNESS, ENTAILMENT = "faithfulness", "entailment"


def formula_value(row: Entailment, formula: Formula) -> float:
    """Return the value of a formula of the three probabilities (MENLI, section 3).

    >>> round(formula_value(Entailment(0.7, 0.2, 0.1), "e-c"), 6)
    0.6
    """
    values = {
        "e": row.entail,
        "-c": -row.contradict,
        "e-c": row.entail - row.contradict,
        "e-n": row.entail - row.neutral,
    }
    return values[formula]


NETWORK = Role(
    "classifier",
    checkpoints=(
        Checkpoint("ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli", "MIT", size=355, tokens=512),
        Checkpoint("microsoft/deberta-large-mnli", "see its card", size=405, tokens=512),
    ),
)


class Menli(Evaluator):
    """Measure the entailment between reference and summary by NLI of the whole texts (MENLI).

    `direction` is `rh` to use the reference as premise and the summary as hypothesis, `hr` for the reverse, or `avg` to
    average the probabilities of both. `formula` is the formula of the three probabilities. If `source` is true, the
    summary is compared with the document (aspect faithfulness) instead of the reference (aspect entailment).

    If there are several references, the highest value counts. Inputs longer than the network's limit are truncated, the
    longer text first, and the omitted tokens are counted in `truncated_tokens`. Writes one judgment of the summary, in
    [-1, 1] ([0, 1] for the formula `e`, [-1, 0] for `-c`).
    """

    name, version = "menli", "1"
    summary = "NLI between the whole summary and the reference or document, in both directions (MENLI)."
    aspects = (ENTAILMENT, FAITHFULNESS)
    roles: ClassVar[Mapping[str, Role]] = {"nli": NETWORK}
    code_licence = "MIT"
    reduce = "whole"
    value_range = (-1.0, 1.0)
    reads_sentences = False

    direction: Direction = "avg"
    formula: Formula = "e"
    source: bool = False

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """Faithfulness if `source` is true, and otherwise entailment."""
        return (FAITHFULNESS,) if self.source else (ENTAILMENT,)

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a missing reference, or None."""
        if self.source:
            return super().skip_reason(item)
        if not item.references:
            return "there is no reference summary; menli[source=true] compares with the document"
        return super().skip_reason(item)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary."""
        network = tools.network("nli")
        builder = self.builder(item, prepared, tools, model=network.id)
        (aspect,) = self.active_aspects
        others = [item.document.text] if self.source else item.references
        forth = [(other, item.summary.text) for other in others] if self.direction in {"rh", "avg"} else []
        back = [(item.summary.text, other) for other in others] if self.direction in {"hr", "avg"} else []
        rows = await entailments(network, [*forth, *back])
        if self.direction == "avg":
            both = zip(rows[: len(others)], rows[len(others) :], strict=True)
            rows = [Entailment(*((one + two) / 2 for one, two in zip(*pair, strict=True))) for pair in both]
        values = [formula_value(row, self.formula) for row in rows]
        best = max(range(len(rows)), key=values.__getitem__)
        (limit,) = await network.ask([TokenLimit()])
        lengths = await network.ask([CountTokens(others[best]), CountTokens(item.summary.text)])
        cut = max(0, sum(lengths) - limit)
        row, other = rows[best], "document" if self.source else "reference"
        directions = {"rh": f"{other} to summary", "hr": f"summary to {other}", "avg": "mean of both directions"}
        reason = (
            f"entailment {short(row.entail)}, neutral {short(row.neutral)}, contradiction {short(row.contradict)}"
            f" ({directions[self.direction]}{f'; best of {len(rows)} references' if len(rows) > 1 else ''})"
        )
        return [replace(builder, truncated_tokens=cut or None).ok(aspect, value=values[best], reason=reason)]


class MenliCombined(DerivedEvaluator):
    """Compute weight * NLI + (1 - weight) * other, each min-max scaled over the run (MENLI).

    `other` is an evaluator, written as for `-e`, and `aspect` is one of the aspects of that evaluator. `weight` is the
    weight of NLI. `direction`, `formula` and `source` are those of `menli`.

    The lowest and the highest value of each member in the run become 0 and 1, as in the released code, so scores depend
    on the other summaries of the run. If all values of a member are equal, or if only one summary was scored, the
    judgments are skipped. Writes one judgment of the summary, in [0, 1].
    """

    name, version = "menli.combined", "1"
    summary = "The weighted mean of MENLI and another evaluator, each scaled over the run."
    aspects = (ENTAILMENT, FAITHFULNESS)
    roles: ClassVar[Mapping[str, Role]] = {
        "nli": NETWORK,
        "encoder": Role("encoder"),
        "embed": Role("encoder"),
        "seq2seq": Role("seq2seq"),
        "judge": Role(),
        "extractor": Role(),
    }
    code_licence = "MIT"
    reduce = "whole"
    reads_sentences = False
    positional_setting = "other"
    always_signed = ("weight",)

    other: str = "bertscore"
    aspect: str = "bertscore_f1"
    weight: float = Field(default=0.3, gt=0, lt=1)
    direction: Direction = "avg"
    formula: Formula = "e"
    source: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            evaluator = self.members[1].evaluator
        except UsageError as error:
            raise ValueError(str(error)) from error
        if isinstance(evaluator, Menli):
            raise ValueError(f"other={self.other!r} is menli; choose another evaluator")
        if self.aspect not in evaluator.active_aspects:
            raise ValueError(
                f"{self.other} does not judge {self.aspect!r}; set aspect to one of "
                f"{', '.join(evaluator.active_aspects)}"
            )
        return self

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The `menli` evaluator and the other evaluator."""
        others = named_members(self.other)
        if len(others) != 1:
            raise UsageError(f"other={self.other!r} stands for {len(others)} evaluators; choose one of them")
        nli = Menli(direction=self.direction, formula=self.formula, source=self.source)
        return (MemberJudge(nli), *others)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspect of the `menli` member."""
        return (FAITHFULNESS,) if self.source else (ENTAILMENT,)

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason why one of the members cannot judge the item, or None if both can."""
        reasons = (member.evaluator.skip_reason(item) for member in self.members)
        return next((reason for reason in reasons if reason), None)

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Yield the weighted mean of both scaled scores of each summary.

        Scores are scaled over all summaries with both scores.
        """
        aspects = (*self.active_aspects, self.aspect)
        scores = [
            tuple(
                opinion_of(member, [row for row in rows if row.aspect == aspect])
                for member, rows, aspect in zip(self.members, by_member, aspects, strict=True)
            )
            for _, by_member in judged
        ]
        both = [(nli.value, other.value) for nli, other in scores if nli.value is not None and other.value is not None]
        scales = [(min(column), max(column)) for column in zip(*both, strict=True)]
        names = [member.name for member in self.members]
        flat = [name for name, (low, high) in zip(names, scales, strict=False) if low == high]
        unscaled = f"the scores by {flat[0]} do not differ, so they cannot be scaled" if flat else None
        for (item, by_member), (nli, other) in zip(judged, scores, strict=True):
            missing = [
                f"{each.member.name} gave no score: {each.reason}" for each in (nli, other) if each.value is None
            ]
            fields: dict[str, Any] = {"status": "skipped", "reason": missing[0] if missing else unscaled}
            if nli.value is not None and other.value is not None and unscaled is None:
                pairs = zip((nli.value, other.value), scales, strict=True)
                first, second = ((raw - low) / (high - low) for raw, (low, high) in pairs)
                reason = (
                    f"{self.weight:g} * {names[0]} {nli.value:.3f} + {1 - self.weight:g} * {names[1]} "
                    f"{other.value:.3f}, each scaled over {len(both)} summaries"
                )
                fields = {"value": self.weight * first + (1 - self.weight) * second, "reason": reason}
            sources = [row for rows in by_member for row in rows]
            yield self.judgment(item, signature, aspects[0], sources=sources, **fields)
