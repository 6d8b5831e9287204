"""Key-fact validation: is a proposed key fact significant, correct and relevant? (UniSumEval, Lee et al., 2024.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.assistance import Verdicts
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Material, Source, Task
from summeter.records import Judgment, joined_error_types

ASPECT = "key_fact_validity"
SIGNATURE = "human.key_fact_validity|v:1"
CRITERIA = ("significant", "correct", "relevant")


class KeyFactValidation(TaskType):
    """One task a key fact of a document."""

    name, code = "key_fact_validation", "kv"
    needs = "documents with key facts"
    unit = machine_unit = "key_fact"
    aspects = frozenset({ASPECT})
    shaped_by = frozenset[str]()
    focused = "key_fact"
    machine_aspect = ASPECT
    accepting: ClassVar[Mapping[str, bool]] = dict.fromkeys(CRITERIA, True)

    def ask(self) -> Iterator[Question]:
        """The criteria; and of a key fact that fails one, why, and how it should read."""
        say, key = self.language.text, self.name
        for name in CRITERIA:
            hint = say(f"{key}.{name}_hint")
            yield Question(name=name, type="yes_no", text=say(f"{key}.{name}"), hint=hint, compared=False)
        failing = tuple({name: (False,)} for name in CRITERIA)
        for name in ("why", "edit"):
            hint = say(f"{key}.{name}_hint")
            yield Question(name=name, type="text", text=say(f"{key}.{name}"), hint=hint, when=failing, required=False)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Every key fact; it hangs on the document's first summary, since a judgment is of a summary."""
        first, list_id = source.summaries[0].system, source.list_id
        for index, fact in enumerate(source.facts):
            yield self.work_task(source, index, system=first, index=index, list_id=list_id, body={"key_fact": fact})

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """In turn a key fact of another document and a foreign sentence."""
        accepts = number // 2 % 2 == 0
        draw = material.foreign_fact if number % 2 == 0 else material.foreign
        return self.check_task(
            source,
            number,
            body={"key_fact": draw(source, accepted=accepts)},
            expected={"valid": False, "machine": {"accepts": accepts, "values": {}}},
            feedback=self.language.text("key_fact_validation.foreign"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Whether it was found valid, or not, as expected."""
        return self.decides(answer) is task.expects["valid"]

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label: 1 for a valid key fact; the error types say which criteria another one fails."""
        given, values = answer.answer, answer.answer.values
        comments = [values.get("why"), values.get("edit") and f"better: {values['edit']}", given.comment]
        yield labelled(
            answer.annotator,
            task.target("key_fact"),
            ASPECT,
            SIGNATURE,
            yes=self.decides(given) is True,
            error_type=joined_error_types(f"not {name}" for name in CRITERIA if not values[name]),
            reason="; ".join(text for text in comments if text) or None,
        )

    def opinion(self, task: Task, answer: TaskAnswer) -> str:
        """Valid or not, whichever criterion fails; and what it should read instead."""
        settled = outcome(task, answer)
        return "valid" if settled is True else f"better “{settled}”" if settled else "not valid"

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        return verdicts.of_document(task.document_id, task.index or 0)

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """Gold's label, else valid with a chance of .85."""
        known = gold.of(task.target("key_fact"), ASPECT)
        drawn = known.label == 1 if known is not None else gold.chance(task) < 0.85
        return TaskAnswer(values=self.deciding(task, accepts=task.expects.get("valid", drawn)))


def outcome(task: Task, answer: TaskAnswer) -> str | bool:
    """What becomes of a key fact by an answer: True where it stays, False where it goes, else its new wording.

    >>> task = Task(key="kv/d/0", document_id="d", body={"key_fact": "It rained."})
    >>> values = {"significant": True, "correct": False, "relevant": True, "edit": "It rained  in May."}
    >>> outcome(task, TaskAnswer(values=values))
    'It rained in May.'
    """
    if all(answer.values[name] for name in CRITERIA):
        return True
    wording = " ".join(answer.values.get("edit", "").split())
    return wording if wording not in {"", task.body["key_fact"]} else False
