"""Key-fact validation: is a proposed key fact significant, correct and relevant? (UniSumEval, Lee et al., 2024.)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, ClassVar

from pydantic import Field

from summeter.annotate.campaign.assistance import Verdicts, decided
from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    LONGEST,
    AnswerModel,
    AssistedKind,
    Disagreement,
    labelled,
    parsed,
    split_of,
)
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task
from summeter.records import Judgment, Unit, joined_error_types

ASPECT = "key_fact_validity"
SIGNATURE = "human.key_fact_validity|v:1"
CRITERIA = ("significant", "correct", "relevant")


class Validity(AnswerModel):
    """An answer."""

    significant: bool
    correct: bool
    relevant: bool
    why: str | None = Field(default=None, max_length=LONGEST)
    edit: str | None = Field(default=None, max_length=LONGEST)
    """How a key fact that is not valid should read; None where it should go."""


class KeyFactValidation(AssistedKind):
    """One task a key fact of a document."""

    name = "key_fact_validation"
    shaped_by = frozenset()
    code = "kv"
    needs = "documents with key facts"
    unit = "key_fact"
    focused = "key_fact"
    machine_aspect = ASPECT
    machine_unit: ClassVar[Unit] = "key_fact"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every key fact; it hangs on the document's first summary, since a judgment is of a summary."""
        first, list_id = source.summaries[0].system, source.list_id
        for index, fact in enumerate(source.facts):
            yield self.work_task(source, index, system=first, index=index, list_id=list_id, body={"key_fact": fact})

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """In turn a trick key fact (another document's) and a random foreign sentence posing as one."""
        accepted = number // 2 % 2 == 0
        draw = others.foreign_fact if number % 2 == 0 else others.foreign
        return self.check_task(
            source,
            number,
            body={"key_fact": draw(source, accepted=accepted)},
            expected={"valid": False, "machine": _verdict(accepted=accepted)},
            feedback=others.language.text("key_fact_validation.foreign"),
        )

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        return frozenset({ASPECT})

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        return dict.fromkeys(CRITERIA, (True, False))

    def read(self, answer: Any, task: Task) -> Json:
        """Checked: another wording only of a key fact that is not valid as it stands."""
        given = parsed(Validity, answer).model_dump()
        edit = " ".join((given["edit"] or "").split())
        if edit and valid(given):
            raise Misfit("answer.edit", "a valid key fact needs no other wording")
        return self.check_machine(task, {**given, "edit": edit if edit not in {"", task.body["key_fact"]} else None})

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether it was found valid, or not, as expected."""
        return bool(valid(answer) == task.expects.get("valid"))

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label: 1 for a valid key fact; the error types say which criteria another one fails."""
        given = answer.answer
        comments = [given.get("why"), given.get("edit") and f"better: {given['edit']}", given.get("comment")]
        yield labelled(
            answer.annotator,
            task.target("key_fact"),
            ASPECT,
            SIGNATURE,
            yes=valid(given),
            error_type=joined_error_types(f"not {name}" for name in CRITERIA if not given[name]),
            reason="; ".join(text for text in comments if text) or None,
        )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Valid or not, whichever criterion fails; and what it should read instead."""
        outcomes = [outcome(answer.answer) for answer in answers]
        return split_of(["valid" if edit is True else f"better “{edit}”" if edit else "not valid" for edit in outcomes])

    def describe(self, task: Task, answer: Json) -> str:
        lacks = [name for name in CRITERIA if not answer[name]]
        better = f"; better “{answer['edit']}”" if answer.get("edit") else ""
        return f"not valid: not {', not '.join(lacks)}{better}" if lacks else "valid"

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        criteria = [(name, "yes" if answer[name] else "no") for name in CRITERIA]
        texts = [("why not", answer.get("why")), ("better", answer.get("edit"))]
        return [*criteria, *((name, text) for name, text in texts if text)]

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        return verdicts.of_document(task.document_id, task.index or 0)

    def shown_verdict(self, judgment: Judgment, task: Task) -> Json | None:
        accepted = decided(judgment)
        return None if accepted is None else {"verdict": _verdict(accepted=accepted), "reason": judgment.reason or None}

    def accepts(self, machine: Json) -> bool:
        return bool(machine["verdict"] == "valid")

    def following(self, task: Task, machine: Json) -> Json:
        return _answer(accepted=self.accepts(machine))

    def same(self, machine: Json, answer: Json) -> bool:
        return self.accepts(machine) == valid(answer)

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's label, else valid with a chance of .85.

        >>> task = Task(key="kv/d/0", kind="key_fact_validation", document_id="d", system="A", index=0,
        ...             body={"key_fact": "It rained."})
        >>> KeyFactValidation().true_answer(task, Truth(seed=1))
        {'significant': True, 'correct': True, 'relevant': True, 'why': None}
        """
        gold = truth.gold(task, "key_fact", ASPECT)
        return _answer(accepted=gold.label == 1 if gold is not None else truth.chance(task) < 0.85)

    def expected_answer(self, task: Task) -> Json:
        return _answer(accepted=bool(task.expects.get("valid")))

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """The right answer, or the other one."""
        accepted = profile.label(valid(right), rng)
        return right if accepted == valid(right) else _answer(accepted=accepted)

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return _answer(accepted=True)


def valid(answer: Json) -> bool:
    """Whether a stored answer accepts the key fact."""
    return all(answer[name] for name in CRITERIA)


def outcome(answer: Json) -> str | bool:
    """What becomes of a key fact by a stored answer: True where it stays, False where it goes, else its wording.

    >>> outcome({"significant": True, "correct": False, "relevant": True, "edit": "It rained in May."})
    'It rained in May.'
    """
    return valid(answer) or answer.get("edit") or False


def _verdict(*, accepted: bool) -> str:
    return "valid" if accepted else "not_valid"


def _answer(*, accepted: bool) -> Json:
    return {**dict.fromkeys(CRITERIA, accepted), "why": None}
