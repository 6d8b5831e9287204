"""Fact verification: does the document support one sentence of a summary? (UniSumEval; Lee et al., 2024.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field

from summeter.annotate.campaign.assistance import decided
from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    AnswerModel,
    AssistedKind,
    Disagreement,
    check_chosen,
    labelled,
    listed,
    parsed,
    split_of,
)
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Unit, canonical_error_type, error_types, joined_error_types

ERROR_TYPES = {
    "out-of-article error": "error_types.out_of_article",
    "entity error": "error_types.entity",
    "relation error": "error_types.relation",
    "sentence error": "error_types.sentence",
}
"""UniSumEval's taxonomy, with the keys of our words for it."""


class Verdict(AnswerModel):
    """An answer."""

    label: Literal["supported", "not_supported"]
    error_types: list[str] = Field(default_factory=list)


class FactVerification(AssistedKind):
    """One task a summary sentence."""

    name = "fact_verification"
    shaped_by = frozenset({"error_types"})
    code = "fv"
    needs = "summaries with at least one sentence"
    unit = "sentence"
    focused = "sentence"
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"error_types": ERROR_TYPES}
    machine_aspect = "faithfulness"
    machine_unit: ClassVar[Unit] = "sentence"
    no_details: ClassVar[Json] = {"error_types": [], "reason": None}

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every sentence of every summary."""
        for summary in source.summaries:
            shown, system = summary_body(summary), summary.system
            for index, sentence in enumerate(summary.sentence_texts):
                body = _body(shown, index, sentence, campaign)
                yield self.work_task(source, system, index, group=system, system=system, index=index, body=body)

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """A foreign sentence in place of one of the summary's: always wrong, under either machine verdict in turn."""
        summary = others.summary(source)
        if summary is None:
            return None
        accepted = number % 2 == 0
        sentences = list(summary.sentence_texts)
        planted = others.foreign(source, accepted=accepted)
        index = others.rng.randrange(len(sentences))
        sentences[index] = planted
        return self.check_task(
            source,
            number,
            system=summary.system,
            body=_body(joined_body(sentences), index, planted, campaign),
            expected={"label": _label(supported=False), "machine": _label(supported=accepted)},
            feedback=others.language.text("fact_verification.foreign"),
        )

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        return frozenset({"faithfulness"})

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        types = tuple(entry.name for entry in campaign.error_types)
        return {"label": ("supported", "not_supported"), "error_types": types}

    def read(self, answer: Any, task: Task) -> Json:
        """Checked: types if and only if the sentence is not supported."""
        given = parsed(Verdict, answer)
        known = task.names("error_types")
        check_chosen(given.error_types, known, "answer.error_types")
        if given.label == "supported" and given.error_types:
            raise Misfit("answer.error_types", "a supported sentence has no error")
        if given.label == "not_supported" and known and not given.error_types:
            raise Misfit("answer.error_types", "choose at least one error type")
        return self.check_machine(task, given.model_dump())

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether the label is the expected one."""
        return bool(answer["label"] == task.expects.get("label"))

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label of faithfulness, with all error types that were named."""
        yield labelled(
            answer.annotator,
            task.target("sentence"),
            "faithfulness",
            SIGNATURES["sentence_labels"],
            yes=answer.answer["label"] == "supported",
            error_type=joined_error_types(answer.answer["error_types"]),
            reason=answer.answer.get("comment") or None,
        )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Only the labels count: error types of an agreed error are merged."""
        return split_of([answer.answer["label"].replace("_", " ") for answer in answers])

    def describe(self, task: Task, answer: Json) -> str:
        types = f" ({', '.join(answer['error_types'])})" if answer["error_types"] else ""
        return str(answer["label"]).replace("_", " ") + types

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        verdict = ("verdict", str(answer["label"]).replace("_", " "))
        return [verdict, *(("error type", name) for name in answer["error_types"])]

    def shown_verdict(self, judgment: Judgment, task: Task) -> Json | None:
        supported = decided(judgment)
        if supported is None:
            return None
        types = [] if supported else sorted(error_types(judgment.error_type))
        return {"verdict": _label(supported=supported), "error_types": types, "reason": judgment.reason or None}

    def accepts(self, machine: Json) -> bool:
        return bool(machine["verdict"] == "supported")

    def following(self, task: Task, machine: Json) -> Json:
        return _answer(
            task, supported=self.accepts(machine), error_type=next(iter(machine.get("error_types") or []), None)
        )

    def same(self, machine: Json, answer: Json) -> bool:
        return bool(machine["verdict"] == answer["label"])

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's label, else a drawn one."""
        gold = truth.gold(task, "sentence", "faithfulness")
        if gold is not None:
            return _answer(task, supported=gold.label == 1, error_type=gold.error_type)
        types: list[str | None] = [*task.names("error_types")] or [None]
        drawn = types[int(truth.chance(task, "type") * len(types))]
        return _answer(task, supported=truth.chance(task) < truth.quality(task.system), error_type=drawn)

    def expected_answer(self, task: Task) -> Json:
        return _answer(task, supported=task.expects.get("label") == "supported")

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """The right answer, or the other label with any error type."""
        supported = right["label"] == "supported"
        label = profile.label(supported, rng)
        if label == supported:
            return right
        return _answer(task, supported=label, error_type=rng.choice([*task.names("error_types")] or [None]))

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return _answer(task, supported=True)


def _label(*, supported: bool) -> str:
    return "supported" if supported else "not_supported"


def _answer(task: Task, *, supported: bool, error_type: str | None = None) -> Json:
    known, wanted = task.names("error_types"), error_types(error_type)
    named = [name for name in known if canonical_error_type(name) in wanted] or known[:1]
    return {"label": _label(supported=supported), "error_types": [] if supported else named}


def _body(shown: Json, index: int, sentence: str, campaign: Campaign) -> Json:
    types = listed(campaign.error_types, "meaning")
    return {"summary": shown, "index": index, "sentence": sentence, "error_types": types}
