"""`menli`: one verdict of an NLI network about two whole texts; `menli.combined` joins it with another evaluator
(MENLI: Chen and Eger, TACL 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.evaluators.derived import DerivedEvaluator, MemberJudge, MemberJudgments, named_members, opinion_of
from summeter.evaluators.entailment.reasons import short
from summeter.models.networks import CountTokens, Entailment, Network, TokenLimit, entailments
from summeter.records import Item, Judgment, UsageError

Direction = Literal["rh", "hr", "avg"]
Formula = Literal["e", "-c", "e-c", "e-n"]

FAITHFULNESS, ENTAILMENT = "faithfulness", "entailment"


def formula_value(row: Entailment, formula: Formula) -> float:
    """A formula over the three probabilities (MENLI, section 3).

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
        Checkpoint("ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli", "MIT"),
        Checkpoint("microsoft/deberta-large-mnli", "see its card"),
    ),
)


class Menli(Evaluator):
    """Whether the reference entails the summary and the other way round, by one NLI pass over whole texts (MENLI).

    `direction`: `rh` reads the reference as premise and the summary as hypothesis, `hr` the other way round, `avg`
    takes the mean of both directions' probabilities. `formula`: what is made of the three probabilities.
    `source`: compare with the document instead of the reference (aspect faithfulness; without it, aspect entailment).

    With several references the highest value counts. What is longer than the network reads is cut, the longer text
    first, and counted in `truncated_tokens`. Writes one judgment of the summary, in [-1, 1] (`e`: [0, 1]; `-c`:
    [-1, 0]).
    """

    name, version = "menli", "1"
    summary = "NLI between whole summary and reference or document, in both directions (MENLI)"
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
        """Faithfulness against the document, entailment against references."""
        return (FAITHFULNESS,) if self.source else (ENTAILMENT,)

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; without `source` there must be a reference too."""
        if self.source:
            return super().skip_reason(item)
        if not any(text.strip() for text in item.references):
            return "there is no reference summary; menli[source=true] compares with the document"
        return super().skip_reason(item)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary."""
        network = tools.network("nli")
        builder = self.builder(item, prepared, tools, model=network.id)
        (aspect,) = self.active_aspects
        others = [item.document.text] if self.source else [text for text in item.references if text.strip()]
        rows = await self._probabilities(network, others, item.summary.text)
        values = [formula_value(row, self.formula) for row in rows]
        best = max(range(len(rows)), key=values.__getitem__)
        (limit,) = await network.ask([TokenLimit()])
        lengths = await network.ask([CountTokens(others[best]), CountTokens(item.summary.text)])
        cut = max(0, sum(lengths) - limit)
        row, other = rows[best], "document" if self.source else "reference"
        ways = {"rh": f"{other} to summary", "hr": f"summary to {other}", "avg": "mean of both directions"}
        shown = (
            f"entailment {short(row.entail)}, neutral {short(row.neutral)}, contradiction {short(row.contradict)}"
            f" ({ways[self.direction]}{f'; best of {len(rows)} references' if len(rows) > 1 else ''})"
        )
        return [replace(builder, truncated_tokens=cut or None).ok(aspect, value=values[best], reason=shown)]

    async def _probabilities(self, network: Network, others: Sequence[str], summary: str) -> list[Entailment]:
        """Of each other text, the probabilities in the direction asked, or their mean over both."""
        forth = [(other, summary) for other in others] if self.direction in {"rh", "avg"} else []
        back = [(summary, other) for other in others] if self.direction in {"hr", "avg"} else []
        rows = await entailments(network, [*forth, *back])
        if self.direction != "avg":
            return rows
        pairs = zip(rows[: len(others)], rows[len(others) :], strict=True)
        return [Entailment(*((one + two) / 2 for one, two in zip(*pair, strict=True))) for pair in pairs]


class MenliCombined(DerivedEvaluator):
    """MENLI joined with another evaluator: weight * NLI + (1 - weight) * other, each min-max scaled over the run.

    `other`: an evaluator as for `-e`, and `aspect` the one of its aspects that is joined. `weight`: the share of NLI.
    `direction`, `formula`, `source`: those of `menli`.

    The least and the greatest value of everything scored in the run become 0 and 1, as in the released code: a score
    depends on what else the run holds. Where all values of a member are equal, or only one summary was scored, there is
    nothing to scale by, and the judgment is skipped with this reason. Writes one judgment of the summary, in [0, 1].
    """

    name, version = "menli.combined", "1"
    summary = "MENLI and another evaluator, each scaled over the run, as a weighted mean"
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
    def _joins_a_score(self) -> Self:
        try:
            evaluator = self.members[1].evaluator
        except UsageError as error:
            raise ValueError(str(error)) from error
        if isinstance(evaluator, Menli):
            raise ValueError(f"other={self.other!r} is menli; name another evaluator")
        if self.aspect not in evaluator.active_aspects:
            raise ValueError(
                f"{self.other} judges {', '.join(evaluator.active_aspects)}, not {self.aspect!r}; name one of these as "
                "aspect"
            )
        return self

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """MENLI, and the evaluator it is joined with."""
        others = named_members(self.other)
        if len(others) != 1:
            raise UsageError(f"other={self.other!r} stands for {len(others)} evaluators; name one of them")
        own = Menli(direction=self.direction, formula=self.formula, source=self.source)
        return (MemberJudge(own), *others)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """What its MENLI measures."""
        return (FAITHFULNESS,) if self.source else (ENTAILMENT,)

    def skip_reason(self, item: Item) -> str | None:
        """What either member cannot judge."""
        reasons = (member.evaluator.skip_reason(item) for member in self.members)
        return next((reason for reason in reasons if reason), None)

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """The weighted mean of both scores of each summary, scaled over all summaries that have both."""
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
        unscaled = None
        if len(both) == 1:
            unscaled = "only one summary has both scores, and the scale is taken from all summaries of the run"
        elif flat:
            unscaled = f"all {len(both)} summaries have the same score by {flat[0]}, so there is nothing to scale by"
        for (item, by_member), (nli, other) in zip(judged, scores, strict=True):
            lacking = [
                f"{each.member.name} gave no score: {each.reason}" for each in (nli, other) if each.value is None
            ]
            fields: dict[str, Any] = {"status": "skipped", "reason": lacking[0] if lacking else unscaled}
            if nli.value is not None and other.value is not None and unscaled is None:
                pairs = zip((nli.value, other.value), scales, strict=True)
                own, its = ((raw - low) / (high - low) for raw, (low, high) in pairs)
                reason = (
                    f"{self.weight:g} * {names[0]} {nli.value:.3f} + {1 - self.weight:g} * {names[1]} "
                    f"{other.value:.3f}, each scaled over {len(both)} summaries"
                )
                fields = {"value": self.weight * own + (1 - self.weight) * its, "reason": reason}
            behind = [row for rows in by_member for row in rows]
            yield self.judgment(item, signature, aspects[0], behind=behind, **fields)
