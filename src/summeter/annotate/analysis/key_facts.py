"""A finished validation of key facts, applied to the data: what was rejected goes, what was reworded is replaced.

Each key fact is settled by the adjudicator, else by more than half of its answers; of those that reject it, more than
half must say the same: that it goes, or the same other wording. What is not settled is to be adjudicated first.
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
"""The record beside the applied key facts: one line for each that was validated."""
NAMED = 3
"""Maximum number of unsettled key facts named in a message."""


@dataclass(frozen=True)
class Change:
    """What becomes of a key fact: `text` is its new wording, None where it goes; `review` is what people said of it.

    Its votes are the annotators', its reasons the adjudicator's too; nobody has `decided_by` where the majority did.
    """

    document_id: str
    index: int
    key_fact: str
    text: str | None
    review: FactReview

    @property
    def action(self) -> str:
        """`kept`, `reworded` or `dropped`."""
        if self.text is None:
            return "dropped"
        return "kept" if self.text == self.key_fact else "reworded"

    def to_json(self) -> Json:
        """A line of the record."""
        return {
            "document_id": self.document_id,
            "index": self.index,
            "key_fact": self.key_fact,
            "action": self.action,
            "text": self.text,
            **self.review.model_dump(mode="json"),
        }


def changes_of(service: CampaignService) -> list[Change]:
    """What becomes of every key fact of a campaign, in the order of documents and of their lists.

    Raises UsageError where the campaign validates no key facts, or where some are not settled.
    """
    if not isinstance(service.task_type, KeyFactValidation):
        raise UsageError(
            f"only key_fact_validation can be applied to the data; this campaign is {service.task_type.name}"
        )
    changes, unsettled = [], []
    place = {name: number for number, name in enumerate(service.folder.data.documents)}
    for task in sorted(service.tasks.work, key=lambda task: (place[task.document_id], task.index or 0)):
        change = _settled(service, task)
        if isinstance(change, Change):
            changes.append(change)
        else:
            unsettled.append(f"{task.key} ({change})")
    if unsettled:
        more = f" and {len(unsettled) - NAMED} more" if len(unsettled) > NAMED else ""
        raise UsageError(
            f"{len(unsettled)} of {len(service.tasks.work)} key facts are not settled: "
            f"{', '.join(unsettled[:NAMED])}{more}; have them answered, or decide them with "
            f"`summeter annotate adjudicate`"
        )
    return changes


def apply_changes(service: CampaignService, folder: Path, *, force: bool = False) -> list[Change]:
    """Write the campaign's data with the key facts as they were validated, and the record `CHANGES` beside them.

    A wording that stands in the list already is not repeated. Judgments of key facts count by their place in the old
    list: none are taken over. Raises UsageError where the
    folder holds something (a dataset is replaced with `force`) or where some key facts are not settled.
    """
    check_folder(folder, "a dataset", is_dataset, force=force)
    changes = changes_of(service)
    with building(folder) as fresh:
        save(with_changes(service.folder.data, changes), fresh)
        write_changes(fresh / CHANGES, changes)
    return changes


def write_changes(file: Path, changes: Sequence[Change]) -> int:
    """Write the record of what became of each key fact; returns how many there are."""
    return write_lines(file, (json.dumps(change.to_json(), ensure_ascii=False) for change in changes))


def with_changes(data: Dataset, changes: Sequence[Change]) -> Dataset:
    """The data with the key facts as they were validated; where each comes from holds what people said of it.

    A wording that stands in the list already is not repeated. Raises UsageError where the data have other key facts.
    """
    texts: dict[str, list[str]] = {}
    origins: dict[str, list[FactOrigin]] = {}
    for change in changes:
        document = data.documents.get(change.document_id)
        if document is None or document.key_facts[change.index : change.index + 1] != (change.key_fact,):
            place = f"key fact {change.index} of document {change.document_id!r}"
            raise UsageError(f"{place} is not {change.key_fact!r} in these data; the campaign is about others")
        kept, own = texts.setdefault(change.document_id, []), origins.setdefault(change.document_id, [])
        if change.text is not None and change.text not in kept:
            known = data.fact_origins.get(change.document_id)
            first = FactOrigin(proposed=change.key_fact, origin="given") if known is None else known[change.index]
            kept.append(change.text)
            own.append(first.model_copy(update={"review": change.review}))
    return data.with_key_facts(texts, {name: tuple(own) for name, own in origins.items()})


def _settled(service: CampaignService, task: Task) -> Change | str:
    """The change, or why there is none yet."""
    answers = [answer.answer for answer in service.state.counted_answers(task.key)]
    decision = service.state.adjudicated.get(task.key)
    if not service.state.is_complete(task.key):
        return f"{len(answers)} of {service.campaign.answers_per_item} answers"
    if decision is not None:
        settled: str | bool | None = outcome(task, decision.answer)
    else:
        settled = _majority([outcome(task, answer) for answer in answers])
    if settled is None:
        return "no majority"
    final = answers if decision is None else [*answers, decision.answer]
    why = [text for answer in final for text in (answer.values.get("why"), answer.comment) if text]
    fact = str(task.body["key_fact"])
    return Change(
        document_id=task.document_id,
        index=task.index or 0,
        key_fact=fact,
        text=settled if isinstance(settled, str) else fact if settled else None,
        review=FactReview(
            valid=sum(outcome(task, answer) is True for answer in answers),
            answers=len(answers),
            lacks={name: count for name in CRITERIA if (count := sum(not answer.values[name] for answer in answers))},
            why=tuple(dict.fromkeys(why)),
            decided_by=None if decision is None else adjudicator_name(decision.annotator),
        ),
    )


def _majority(outcomes: list[str | bool]) -> str | bool | None:
    """The outcome of more than half; of those that reject a key fact, what more than half of them want instead.

    >>> _majority([True, True, False]), _majority([False, "It rained.", "It rained."]), _majority([True, False])
    (True, 'It rained.', None)
    """
    rejecting = [outcome for outcome in outcomes if outcome is not True]
    if 2 * len(rejecting) < len(outcomes):
        return True
    if 2 * len(rejecting) == len(outcomes):
        return None
    wanted, count = Counter(rejecting).most_common(1)[0]
    return wanted if 2 * count > len(rejecting) else None
