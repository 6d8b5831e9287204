"""Key-fact validation: is a proposed key fact significant, correct and relevant? (UniSumEval, Lee et al., 2024.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from summeter.annotate.tasks.base import (
    LONGEST,
    Given,
    Kind,
    Others,
    Source,
    Task,
    key_of,
    machine_fits,
    parsed,
)
from summeter.records import Judgment, Target

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer

ASPECT = "key_fact_validity"


class Verdict(Given):
    """An answer."""

    significant: bool
    correct: bool
    relevant: bool
    why: str | None = Field(default=None, max_length=LONGEST)


class KeyFactValidation(Kind):
    """One task a key fact of a document."""

    name = "key_fact_validation"
    needs = "documents with key facts"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every key fact; it hangs on the document's first summary, since a judgment is of a summary."""
        del campaign
        document = source.document.id
        for index, fact in enumerate(source.facts):
            yield Task(
                key=key_of("kv", document, index), kind=self.name, document_id=document, index=index,
                system=source.summaries[0].system, list_id=source.list_id, group=key_of(document),
                body={"key_fact": fact},
            )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """In turn a trick key fact (another document's) and a random foreign sentence posing as one."""
        del campaign
        said = "valid" if number // 2 % 2 == 0 else "not_valid"
        fact = others.foreign_fact(source, said) if number % 2 == 0 else others.foreign(source, said)
        return Task(
            key=key_of("kv-check", number), kind=self.name, role="check", document_id=source.document.id,
            body={"key_fact": fact},
            expected={"valid": False, "machine": said},
            feedback="This is no key fact of the document: it comes from another text.",
        )  # fmt: skip

    def focus(self, task: Task) -> str | None:
        """The key fact."""
        return str(task.body["key_fact"])

    def agrees(self, task: Task, answer: dict[str, Any]) -> bool | None:
        """Whether the verdict is the machine's."""
        machine = (task.assistance or {}).get("machine")
        return None if machine is None else (machine["verdict"] == "valid") == valid(answer)

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked."""
        read = parsed(Verdict, answer).model_dump()
        machine_fits(self, task, read)
        return read

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether it was found valid, or not, as expected."""
        return bool(task.expected and valid(answer) == task.expected["valid"])

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label: 1 for a valid key fact."""
        del source
        label = int(valid(answer.answer))
        yield Judgment(
            target=Target(document_id=task.document_id, system=task.system or "", unit="key_fact", index=task.index,
                          list_id=task.list_id),
            aspect=ASPECT, judge=answer.annotator, signature="human.key_fact_validity|v:1", value=float(label),
            label=label, reason=answer.answer.get("why") or None,
        )  # fmt: skip


def valid(answer: dict[str, Any]) -> bool:
    """Whether a stored answer accepts the key fact."""
    return bool(answer["significant"] and answer["correct"] and answer["relevant"])
