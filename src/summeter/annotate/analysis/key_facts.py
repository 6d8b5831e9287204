"""Application of a finished key-fact validation to the data.

Key facts are kept, reworded or dropped. The decision is the adjudicator's, or else that of more than half of the
answers. If more than half of the answers reject the key fact, more than half of these must agree on dropping it or on
the same wording. All other key facts must be adjudicated first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from summeter.annotate.campaign.people import adjudicator_name
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks.key_fact_validation import CRITERIA, KeyFactValidation, outcome
from summeter.annotate.tasks.task import Json, Task
from summeter.data.atomic import building, check_folder, write_lines
from summeter.data.dataset import Dataset, save
from summeter.data.folder import is_dataset
from summeter.records import FactOrigin, FactReview, UsageError

CHANGES = "keyfacts.changes.jsonl"
"""Name of the file with the change of each validated key fact, written with the data."""
LISTED = 3
"""Maximum number of undecided key facts listed in a message."""


@dataclass(frozen=True)
class Change:
    """The change of a key fact.

    `text` is the wording after the validation, or None if the key fact is dropped. `review` contains the votes of the
    annotators and the reasons of annotators and adjudicators; `review.decided_by` is None if the majority decided.
    """

    document_id: str
    index: int
    key_fact: str
    text: str | None
    review: FactReview

    @property
    def action(self) -> str:
        """What happens to the key fact: `kept`, `reworded` or `dropped`."""
        if self.text is None:
            return "dropped"
        return "kept" if self.text == self.key_fact else "reworded"

    def to_json(self) -> Json:
        """Return the JSON object for the file of changes."""
        return {
            "document_id": self.document_id,
            "index": self.index,
            "key_fact": self.key_fact,
            "action": self.action,
            "text": self.text,
            **self.review.model_dump(mode="json"),
        }


def changes_of(service: CampaignService) -> list[Change]:
    """Return the change of every key fact, in the order of documents and key facts.

    Raises UsageError if the campaign has a different task type or if some key facts are undecided.
    """
    if not isinstance(service.task_type, KeyFactValidation):
        raise UsageError(
            f"the task type of this campaign is {service.task_type.name}; only key_fact_validation changes key facts"
        )
    changes, undecided = [], []
    position = {name: number for number, name in enumerate(service.folder.data.documents)}
    for task in sorted(service.tasks.work, key=lambda task: (position[task.document_id], task.index or 0)):
        change = _change_or_reason(service, task)
        if isinstance(change, Change):
            changes.append(change)
        else:
            undecided.append(f"{task.key} ({change})")
    if undecided:
        more = f" and {len(undecided) - LISTED} more" if len(undecided) > LISTED else ""
        raise UsageError(
            f"{len(undecided)} of {len(service.tasks.work)} key facts are undecided: "
            f"{', '.join(undecided[:LISTED])}{more}; collect more answers, or decide them with "
            f"`summeter annotate adjudicate`"
        )
    return changes


def apply_changes(service: CampaignService, folder: Path, *, force: bool = False) -> list[Change]:
    """Write the campaign's data with the validated key facts, and the file `CHANGES`.

    Returns the changes. Judgments on key facts are not copied, because they refer to the old indexes. Raises UsageError
    if some key facts are undecided or the folder is not empty; with `force`, a dataset in the folder is replaced.
    """
    check_folder(folder, "a dataset", is_dataset, force=force)
    changes = changes_of(service)
    with building(folder) as fresh:
        save(with_changes(service.folder.data, changes), fresh)
        write_changes(fresh / CHANGES, changes)
    return changes


def write_changes(file: Path, changes: Sequence[Change]) -> int:
    """Write the change of each key fact to a file, and return the number of changes."""
    return write_lines(file, (json.dumps(change.to_json(), ensure_ascii=False) for change in changes))


def with_changes(data: Dataset, changes: Sequence[Change]) -> Dataset:
    """Return the data with the changed key facts, whose origins contain the reviews.

    Key facts with equal wordings are kept only once. Raises UsageError if the data does not contain the
    key facts to be changed.
    """
    texts: dict[str, list[str]] = {}
    origins: dict[str, list[FactOrigin]] = {}
    for change in changes:
        document = data.documents.get(change.document_id)
        if document is None or document.key_facts[change.index : change.index + 1] != (change.key_fact,):
            name = f"key fact {change.index} of document {change.document_id!r}"
            raise UsageError(f"{name} is not {change.key_fact!r} in this data; give the campaign's data")
        document_texts = texts.setdefault(change.document_id, [])
        document_origins = origins.setdefault(change.document_id, [])
        if change.text is not None and change.text not in document_texts:
            known = data.fact_origins.get(change.document_id)
            first = FactOrigin(proposed=change.key_fact, origin="given") if known is None else known[change.index]
            document_texts.append(change.text)
            document_origins.append(first.model_copy(update={"review": change.review}))
    return data.with_key_facts(texts, {name: tuple(document_origins) for name, document_origins in origins.items()})


def _change_or_reason(service: CampaignService, task: Task) -> Change | str:
    """Return the change of a task's key fact, or the reason why it is undecided."""
    answers = [answer.answer for answer in service.state.counted_answers(task.key)]
    decision = service.state.adjudicated.get(task.key)
    if not service.state.is_complete(task.key):
        return f"{len(answers)} of {service.campaign.answers_per_item} answers"
    if decision is not None:
        result: str | bool | None = outcome(task, decision.answer)
    else:
        result = _majority([outcome(task, answer) for answer in answers])
    if result is None:
        return "no majority"
    with_decision = answers if decision is None else [*answers, decision.answer]
    reasons = [text for answer in with_decision for text in (answer.values.get("why"), answer.comment) if text]
    fact = str(task.body["key_fact"])
    return Change(
        document_id=task.document_id,
        index=task.index or 0,
        key_fact=fact,
        text=result if isinstance(result, str) else fact if result else None,
        review=FactReview(
            valid=sum(outcome(task, answer) is True for answer in answers),
            answers=len(answers),
            lacks={name: count for name in CRITERIA if (count := sum(not answer.values[name] for answer in answers))},
            why=tuple(dict.fromkeys(reasons)),
            decided_by=None if decision is None else adjudicator_name(decision.annotator),
        ),
    )


def _majority(outcomes: list[str | bool]) -> str | bool | None:
    """Return the outcome of more than half of the answers, or None.

    If more than half reject the key fact, more than half of these must agree on the outcome.
    >>> _majority([True, True, False]), _majority([False, "It rained.", "It rained."]), _majority([True, False])
    (True, 'It rained.', None)
    """
    rejecting = [outcome for outcome in outcomes if outcome is not True]
    if 2 * len(rejecting) < len(outcomes):
        return True
    if 2 * len(rejecting) == len(outcomes):
        return None
    result, count = Counter(rejecting).most_common(1)[0]
    return result if 2 * count > len(rejecting) else None
