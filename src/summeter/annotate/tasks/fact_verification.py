"""Fact verification: does the document support one sentence of a summary? (UniSumEval; Lee et al., 2024.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from summeter.annotate.tasks.base import (
    Given,
    Kind,
    Misfit,
    Others,
    Source,
    Task,
    chosen_from,
    joined,
    key_of,
    listed,
    machine_fits,
    parsed,
    text_of,
)
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Target

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer

ERROR_TYPES = (
    ("out-of-article error", "Says something that the document does not say and that cannot be checked against it."),
    ("entity error", "A wrong name, number, pronoun or other main thing."),
    ("relation error", "The things are right, but what links them (verb, preposition, adjective) is wrong."),
    ("sentence error", "The sentence as a whole contradicts the document."),
)
"""UniSumEval's taxonomy, in our words."""


class Verdict(Given):
    """An answer."""

    label: Literal["supported", "not_supported"]
    error_types: list[str] = Field(default_factory=list)


class FactVerification(Kind):
    """One task a summary sentence."""

    name = "fact_verification"
    needs = "summaries with at least one sentence"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every sentence of every summary."""
        document = source.document.id
        for summary in source.summaries:
            shown = text_of(summary)
            for index, sentence in enumerate(summary.sentence_texts):
                yield Task(
                    key=key_of("fv", document, summary.system, index), kind=self.name, document_id=document,
                    system=summary.system, index=index, group=key_of(document, summary.system),
                    body=_body(shown, index, sentence, campaign),
                )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """A foreign sentence in place of one of the summary's: always wrong, under either machine verdict in turn."""
        summaries = [one for one in source.summaries if one.sentences]
        if not summaries:
            return None
        summary = others.rng.choice(summaries)
        said = "supported" if number % 2 == 0 else "not_supported"
        sentences, wrong = list(summary.sentence_texts), others.foreign(source, said)
        index = others.rng.randrange(len(sentences))
        sentences[index] = wrong
        return Task(
            key=key_of("fv-check", number), kind=self.name, role="check", document_id=source.document.id,
            system=summary.system, body=_body(joined(sentences), index, wrong, campaign),
            expected={"label": "not_supported", "machine": said},
            feedback="The document does not say this: the sentence comes from another text.",
        )  # fmt: skip

    def focus(self, task: Task) -> str | None:
        """The sentence."""
        return str(task.body["sentence"])

    def agrees(self, task: Task, answer: dict[str, Any]) -> bool | None:
        """Whether the label is the machine's."""
        machine = (task.assistance or {}).get("machine")
        return None if machine is None else bool(machine["verdict"] == answer["label"])

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked: types if and only if the sentence is not supported."""
        given = parsed(Verdict, answer)
        known = [one["name"] for one in task.body["error_types"]]
        chosen_from(given.error_types, known, "answer.error_types")
        if given.label == "supported" and given.error_types:
            raise Misfit("answer.error_types", "a supported sentence has no error")
        if given.label == "not_supported" and known and not given.error_types:
            raise Misfit("answer.error_types", "choose at least one error type")
        read = given.model_dump()
        machine_fits(self, task, read)
        return read

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether the label is the expected one."""
        return bool(task.expected and answer["label"] == task.expected["label"])

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One label of faithfulness."""
        del source
        label = int(answer.answer["label"] == "supported")
        types, comment = answer.answer["error_types"], answer.answer.get("comment")
        yield Judgment(
            target=Target(document_id=task.document_id, system=task.system or "", unit="sentence", index=task.index),
            aspect="faithfulness", judge=answer.annotator, signature=SIGNATURES["sentence_labels"], value=float(label),
            label=label, error_type=types[0] if types else None, reason=comment or None,
        )  # fmt: skip


def _body(shown: dict[str, Any], index: int, sentence: str, campaign: Campaign) -> dict[str, Any]:
    types = listed(campaign.error_types, ERROR_TYPES, "meaning")
    return {"summary": shown, "index": index, "sentence": sentence, "error_types": types}
