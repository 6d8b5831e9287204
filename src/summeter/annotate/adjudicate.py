"""Adjudication: the tasks on which annotators differ, their answers side by side, and a decision that is an event."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.annotate.state import Answer, State
from summeter.annotate.store.events import Event
from summeter.annotate.store.log import Turn
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Misfit, Task
from summeter.annotate.tasks.key_fact_validation import valid
from summeter.annotate.tasks.pairwise import TIE
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

Json = dict[str, Any]
GAP = 2
"""Ratings of one summary that differ by so many points or more are a disagreement."""
UNITS = {
    "fact_verification": "sentence", "key_fact_validation": "key_fact", "key_fact_alignment": "key_fact",
    "rating": "summary", "span_highlighting": "summary", "pairwise": "pair",
}  # fmt: skip
LONGEST = 2000


class Dispute(NamedTuple):
    """A task with answers that differ; `why` says how in words, `even` whether no answer has a majority."""

    task: Task
    why: str
    even: bool
    answers: tuple[Answer, ...]
    settled: Event | None

    def to_json(self) -> Json:
        """As the command line and the page show it."""
        task, settled = self.task, self.settled
        return {
            "task": task.key, "kind": task.kind, "document_id": task.document_id, "system": task.system,
            "rival": task.rival, "index": task.index, "why": self.why, "even": self.even,
            "machine": (task.assistance or {}).get("machine"),
            "answers": [{"annotator": one.annotator, "answer": one.answer, "said": said(task, one.answer),
                         "seconds": one.seconds} for one in self.answers],
            "adjudicated": None if settled is None else {
                "answer": settled.data["answer"], "said": said(task, settled.data["answer"]),
                "reason": settled.data.get("reason"), "by": settled.data.get("by"), "at": settled.at,
            },
        }  # fmt: skip


class Decision(NamedTuple):
    """An adjudicator's answer to a task, in stored form (systems, not letters)."""

    task: str
    answer: Json
    reason: str | None
    by: str


def disputes(desk: Desk, state: State | None = None, *, settled: bool = False) -> list[Dispute]:
    """The tasks whose counted answers differ: first those without a majority, then in the order of the work.

    Those that are adjudicated are left out unless `settled`.
    """
    now = desk.state if state is None else state
    found: list[Dispute] = []
    for task in desk.tasks.work:
        event = now.adjudicated.get(task.key)
        if event is not None and not settled:
            continue
        answers = now.counted_answers(task.key)
        split = _DIFFERS[task.kind](task, answers) if len(answers) > 1 else None
        if split is not None or event is not None:
            why, even = split or ("annotators agree", False)
            found.append(Dispute(task, why, even, tuple(answers), event))
    return sorted(found, key=lambda one: (one.settled is not None, not one.even))


def adjudicate(desk: Desk, decisions: Iterable[Decision]) -> list[Event]:
    """Write decisions to the log: all of them, or none where one does not fit.

    A later decision about a task takes the place of an earlier one. Raises UsageError for a task that is none of the
    work's, or an answer that does not fit its task.
    """
    checked = [_checked(desk, one) for one in decisions]

    def decide(turn: Turn[State]) -> list[Event]:
        return [
            turn.emit("adjudicated", task=one.task, data={
                "answer": one.answer, "reason": one.reason, "by": one.by, "unit": UNITS[desk.campaign.kind]
            }) for one in checked
        ]  # fmt: skip

    return desk.log.do(decide)


def answer_of(desk: Desk, task: str, annotator: str, state: State | None = None) -> Json:
    """An annotator's answer to a task, to be taken as the decision. Raises UsageError where there is none."""
    person = (desk.state if state is None else state).people.get(annotator)
    known = None if person is None else person.answers.get(task)
    if known is None:
        raise UsageError(f"{annotator!r} gave no answer to {task!r}")
    return {**known.answer, "machine": None, "comment": None}


def read_decisions(desk: Desk, file: Path, by: str) -> list[Decision]:
    """Decisions of a JSON Lines file: `task`, and `answer` (in stored form) or `as` (whose answer it is); perhaps
    `reason` and `by`. Rows with neither answer nor `as` are passed over, so that a written queue can be filled in.

    Raises InputError with every fault, by line and field.
    """
    faults, found = Faults(str(file)), []
    for line, row in read_rows(file, faults, "jsonl"):
        task, answer, who = row.get("task"), row.get("answer"), row.get("as")
        if answer is None and who is None:
            continue
        try:
            if answer is not None and who is not None:
                raise UsageError("give `answer` or `as`, not both")
            given: Any = answer if who is None else answer_of(desk, str(task), str(who))
            reason = row.get("reason")
            decision = Decision(str(task), given, None if reason is None else str(reason), str(row.get("by") or by))
            found.append(_checked(desk, decision))
        except UsageError as error:
            faults.add(line, None, str(error))
    faults.stop()
    return found


def queue_lines(found: Iterable[Dispute]) -> list[str]:
    """The queue as JSON Lines, with `as`, `answer` and `reason` to be filled in and read by `read_decisions`."""
    return [json.dumps({**one.to_json(), "as": None, "answer": None, "reason": None}, ensure_ascii=False)
            for one in found]  # fmt: skip


def _checked(desk: Desk, one: Decision) -> Decision:
    task = desk.tasks.by_key.get(one.task)
    if task is None or task.role != "work":
        raise UsageError(f"the campaign has no task {one.task!r}; `summeter annotate adjudicate` lists the keys")
    try:
        stored = kind_named(task.kind).read(one.answer, task)
    except Misfit as error:
        raise UsageError(f"{one.task}: {error.field}: {error}") from error
    reason = None if one.reason is None else one.reason.strip()[:LONGEST] or None
    return one._replace(answer={**stored, "machine": None}, reason=reason)


def said(task: Task, answer: Json) -> str:
    """An answer in a few words."""
    return _SAID[task.kind](task, answer)


def _counted(labels: Sequence[str]) -> tuple[str, bool] | None:
    """How labels are split, and whether without a majority; None where all are the same."""
    counts = Counter(labels).most_common()
    if len(counts) < 2:
        return None
    text = ", ".join(f"{n} {label}" for label, n in counts)
    return text, counts[0][1] * 2 <= len(labels)


def _by_words(task: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    return _counted([said(task, one.answer) for one in answers])


def _by_label(_: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    """Only the label makes a dispute of a fact verification: error types of an agreed error are merged."""
    return _counted([one.answer["label"].replace("_", " ") for one in answers])


def _by_validity(_: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    return _counted(["valid" if valid(one.answer) else "not valid" for one in answers])


def _by_choice(task: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    found = {}
    for aspect in answers[0].answer["choices"]:
        split = _counted([one.answer["choices"][aspect] for one in answers])
        if split is not None:
            found[aspect] = split
    del task
    if not found:
        return None
    return "; ".join(f"{aspect}: {why}" for aspect, (why, _) in found.items()), any(one for _, one in found.values())


def _by_gap(_: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    """Ratings far apart: they are averaged all the same unless somebody decides."""
    far = []
    for system, cells in answers[0].answer["ratings"].items():
        for aspect in cells:
            values = sorted(one.answer["ratings"][system][aspect] for one in answers)
            if values[-1] - values[0] >= GAP:
                far.append(f"{system} {aspect} {values[0]} to {values[-1]}")
    more = f" and {len(far) - 4} more" if len(far) > 4 else ""
    return (", ".join(far[:4]) + more, False) if far else None


def _by_touch(_: Task, answers: Sequence[Answer]) -> tuple[str, bool] | None:
    """Some marked what others found clean, or marks that touch no one else's."""
    split = _counted(["marked" if one.answer["spans"] else "clean" for one in answers])
    if split is not None:
        return split
    spans = [
        (place, one["start"], one["end"]) for place, answer in enumerate(answers) for one in answer.answer["spans"]
    ]
    lonely = [
        (start, end) for place, start, end in spans
        if not any(other != place and low < end and start < high for other, low, high in spans)
    ]  # fmt: skip
    return (f"{len(lonely)} of {len(spans)} marks touch nobody else's", False) if lonely else None


def _said_fact(_: Task, answer: Json) -> str:
    types = f" ({', '.join(answer['error_types'])})" if answer["error_types"] else ""
    return str(answer["label"]).replace("_", " ") + types


def _said_validity(_: Task, answer: Json) -> str:
    lacks = [name for name in ("significant", "correct", "relevant") if not answer[name]]
    return f"not valid: not {', not '.join(lacks)}" if lacks else "valid"


def _said_alignment(_: Task, answer: Json) -> str:
    return "in sentence " + ", ".join(str(one + 1) for one in answer["sentences"]) if answer["sentences"] else "in none"


def _said_rating(_: Task, answer: Json) -> str:
    cells = "; ".join(
        f"{system}: " + ", ".join(f"{aspect} {value}" for aspect, value in given.items())
        for system, given in answer["ratings"].items()
    )
    return cells + (f"; best {answer['best']}" if answer["best"] else "")


def _said_spans(task: Task, answer: Json) -> str:
    text = task.body["summary"]["text"]
    marks = [f"“{text[one['start'] : one['end']]}” ({one['category'] or one['kind']})" for one in answer["spans"]]
    return "; ".join(marks) or "clean"


def _said_choice(_: Task, answer: Json) -> str:
    return "; ".join(f"{aspect}: {'a tie' if one == TIE else one}" for aspect, one in answer["choices"].items())


_DIFFERS: dict[str, Callable[[Task, Sequence[Answer]], tuple[str, bool] | None]] = {
    "fact_verification": _by_label, "key_fact_validation": _by_validity, "key_fact_alignment": _by_words,
    "rating": _by_gap, "span_highlighting": _by_touch, "pairwise": _by_choice,
}  # fmt: skip

_SAID: dict[str, Callable[[Task, Json], str]] = {
    "fact_verification": _said_fact, "key_fact_validation": _said_validity, "key_fact_alignment": _said_alignment,
    "rating": _said_rating, "span_highlighting": _said_spans, "pairwise": _said_choice,
}  # fmt: skip
