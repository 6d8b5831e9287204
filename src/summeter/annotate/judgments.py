"""Answers as Judgments: a finished campaign is a judgment set of its dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from summeter.annotate.state import Answer
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Source, Task
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Target

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk


def judgments_of(desk: Desk, *, adjudicated: bool = False) -> list[Judgment]:
    """The counted answers (or the adjudicated ones, by the judge `people`) as judgments, in order of the tasks.

    The judge of an annotator's judgment is the pseudonym. Spans are numbered over all annotators of a summary.
    """
    kind = kind_named(desk.campaign.kind)
    found: list[Judgment] = []
    answers: list[Answer] = []
    for task in desk.tasks.work:
        numbered = 0
        for answer in _answers(desk, task, adjudicated=adjudicated):
            answers.append(answer)
            for one in kind.judgments(task, answer, desk.folder.sources[task.document_id]):
                if one.target.unit == "span":
                    target = one.target.model_copy(update={"index": numbered})
                    numbered += 1
                    found.append(one.model_copy(update={"target": target}))
                else:
                    found.append(one)
    if kind.name == "key_fact_alignment":
        found += _conciseness(desk, answers)
    return found


def _answers(desk: Desk, task: Task, *, adjudicated: bool) -> list[Answer]:
    if not adjudicated:
        return desk.state.counted_answers(task.key)
    event = desk.state.adjudicated.get(task.key)
    if event is None:
        return []
    return [Answer(task.key, PEOPLE, event.data["answer"], 0.0, event.at, event.seq, event.seq, None, None)]


def _conciseness(desk: Desk, answers: list[Answer]) -> Iterator[Judgment]:
    """Per sentence and person, whether it carries some key fact: where the person did all key facts of the summary."""
    done: dict[tuple[str, str, str], list[Answer]] = {}
    for one in answers:
        task = desk.tasks.by_key[one.task]
        done.setdefault((task.document_id, task.system or "", one.annotator), []).append(one)
    for (document, system, annotator), own in done.items():
        source: Source = desk.folder.sources[document]
        if len(own) < len(source.facts):
            continue
        carrying = {index for one in own for index in one.answer["sentences"]}
        summary = next(one for one in source.summaries if one.system == system)
        for index in range(len(summary.sentences)):
            label = int(index in carrying)
            yield Judgment(
                target=Target(document_id=document, system=system, unit="sentence", index=index), aspect="conciseness",
                judge=annotator, signature=SIGNATURES["alignment"], value=float(label), label=label,
            )  # fmt: skip
