"""Key-fact validation: whether a key fact is significant, correct and relevant.

The task is that of UniSumEval (Lee et al., 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from summeter.annotate.campaign.assistance import Verdicts
from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Material, Source, Task
from summeter.records import Judgment, joined_error_types

ASPECT = "key_fact_validity"
SIGNATURE = "human.key_fact_validity|v:1"
CRITERIA = ("significant", "correct", "relevant")


class KeyFactValidation(TaskType):
    """The task type `key_fact_validation`, with one task per key fact."""

    name, code = "key_fact_validation", "kv"
    needs = "documents with key facts"
    unit = "key_fact"
    aspects = frozenset({ASPECT})
    shaped_by = frozenset[str]()
    focused = "key_fact"
    machine_aspect = ASPECT
    accepting: ClassVar[Mapping[str, bool]] = dict.fromkeys(CRITERIA, True)

    def ask(self) -> Iterator[Question]:
        """Yield a question for each criterion.

        If a criterion is not met, the annotator is also asked for a reason and a better wording.
        """
        text, key = self.language.text, self.name
        for name in CRITERIA:
            hint = text(f"{key}.{name}_hint")
            yield Question(name=name, type="yes_no", text=text(f"{key}.{name}"), hint=hint, compared=False)
        not_met = tuple({name: (False,)} for name in CRITERIA)
        for name in ("why", "edit"):
            hint = text(f"{key}.{name}_hint")
            yield Question(name=name, type="text", text=text(f"{key}.{name}"), hint=hint, when=not_met, required=False)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield one task for each key fact; the judgments refer to the document's first summary."""
        first, list_id = source.summaries[0].system, source.list_id
        for index, fact in enumerate(source.facts):
            yield self.work_task(source, index, system=first, index=index, list_id=list_id, body={"key_fact": fact})

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check whose key fact is from another document or a foreign sentence, in turn."""
        accepts = number // 2 % 2 == 0
        sample = material.foreign_fact if number % 2 == 0 else material.foreign
        return self.check_task(
            source,
            number,
            body={"key_fact": sample(source, accepted=accepts)},
            expected={"valid": False},
            planned={"accepts": accepts, "values": {}},
            feedback=self.language.text("key_fact_validation.foreign"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether the decision is the expected one."""
        return self.decides(answer) is task.expected["valid"]

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield a judgment with the label 1 if the key fact is valid, and 0 otherwise.

        The error types are the criteria that the key fact does not meet.
        """
        values, comment = answer.answer.values, answer.answer.comment
        comments = [values.get("why"), values.get("edit") and f"better: {values['edit']}", comment]
        yield labelled(
            answer.annotator,
            task.target("key_fact"),
            ASPECT,
            SIGNATURE,
            yes=self.decides(answer.answer) is True,
            error_type=joined_error_types(f"not {name}" for name in CRITERIA if not values[name]),
            reason="; ".join(text for text in comments if text) or None,
        )

    def opinion(self, task: Task, answer: TaskAnswer) -> str:
        """Return whether the key fact is valid, or its better wording, as a string."""
        result = outcome(task, answer)
        return "valid" if result is True else f"better “{result}”" if result else "not valid"

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        return verdicts.get((task.document_id, None, task.index))

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """Return the expected label, or else the gold label, or else 1 with probability 0.85."""
        known = gold.of(task.target("key_fact"), ASPECT)
        valid = known.label == 1 if known is not None else gold.chance(task) < 0.85
        return TaskAnswer(values=self.deciding(accepts=task.expected.get("valid", valid)))


def outcome(task: Task, answer: TaskAnswer) -> str | bool:
    """Return the outcome of an answer.

    The outcome is True if the key fact is kept, False if it is dropped, and otherwise the new wording.
    >>> task = Task(key="kv/d/0", document_id="d", body={"key_fact": "It rained."})
    >>> values = {"significant": True, "correct": False, "relevant": True, "edit": "It rained  in May."}
    >>> outcome(task, TaskAnswer(values=values))
    'It rained in May.'
    """
    if all(answer.values[name] for name in CRITERIA):
        return True
    wording = " ".join(answer.values.get("edit", "").split())
    return wording if wording not in {"", task.body["key_fact"]} else False
