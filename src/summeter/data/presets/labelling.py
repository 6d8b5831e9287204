"""Presets for annotations made in Label Studio and potato.

`summeter data export --format label_studio` and `--format potato` write the tasks. Each answer to a question about a
summary is a rating, whose aspect is the name of the question; marked passages of the summary are spans.

Sources: Label Studio SDK 2.1.2 (the JSON export); potato 2.8.0 (`user_state.json`, `exports/jsonl/annotations.jsonl`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from summeter.data.faults import Faults
from summeter.data.formats import Row
from summeter.data.human import number_of
from summeter.data.presets.base import (
    OBJECT,
    ROWS,
    Cells,
    FileRole,
    Joined,
    Preset,
    formed,
    located_span,
    never,
    text_of,
)

_WORDS = {"yes": 1.0, "true": 1.0, "supported": 1.0, "no": 0.0, "false": 0.0, "not supported": 0.0, "unsupported": 0.0}
_STATES, _EXPORTS = "states", "exports"
_LABELS, _SPANS = "instance_id_to_label_to_value", "instance_id_to_span_to_value"


def rating_of(answer: Any) -> float | None:
    """Return an answer as a number: yes, true and supported are 1, their opposites 0, other words None.

    >>> rating_of("4"), rating_of(4), rating_of("Not supported"), rating_of("fair")
    (4.0, 4.0, 0.0, None)
    """
    if not isinstance(answer, str):
        return number_of(answer)
    try:
        return number_of(float(answer))
    except ValueError:
        return _WORDS.get(answer.strip().casefold())


class _Block:
    """The `human` block of a summary, to which answers of annotators are added.

    `asks_spans` says whether annotators marked passages, so that a summary without a mark has no error. An annotator
    whose passages were all left out has no label, because the summary was marked.
    """

    def __init__(self, joined: Joined, summary: str, *, asks_spans: bool) -> None:
        self.joined, self.summary, self.asks_spans = joined, summary, asks_spans
        self.ratings: dict[str, dict[str, float]] = {}
        self.spans: list[dict[str, Any]] = []
        self.annotators: list[str] = []
        self.lost: set[str] = set()

    def rate(self, annotator: str, question: str, answers: Sequence[Any]) -> None:
        value = rating_of(answers[0]) if len(answers) == 1 else None
        if value is not None:
            self.ratings.setdefault(question, {})[annotator] = value
        elif answers:
            self.joined.warn(question, "has answers that are no number, yes or no, and are left out")

    def mark(self, annotator: str, start: Any, end: Any, label: Any, text: str | None = None) -> None:
        at = (start, end) if text is None else located_span(self.summary, text, start)
        if at is None:
            self.joined.warn("spans", "contains a span that is not in the summary and is left out")
            self.lost.add(annotator)
        else:
            self.spans.append({"annotator": annotator, "start": at[0], "end": at[1], "label": label})

    def to_json(self) -> Cells:
        lost = self.lost - {span["annotator"] for span in self.spans}
        asked = [annotator for annotator in self.annotators if annotator not in lost] if self.asks_spans else []
        marked = {"spans": self.spans, "span_annotators": asked} if asked else {}
        return {**({"ratings": self.ratings} if self.ratings else {}), **marked}


# ---- Label Studio: a list of tasks, each with its data and its annotations ----


class _Person(BaseModel):
    id: int


class _Result(BaseModel):
    id: str | None = None
    from_name: str
    to_name: str
    type: str
    value: dict[str, Any]


class _Annotation(BaseModel):
    completed_by: int | _Person
    was_cancelled: bool = False
    result: list[_Result]


_ANNOTATIONS = TypeAdapter(list[_Annotation])


def _tasks(roles: Mapping[str, Sequence[Row]], faults: Faults) -> Iterable[Row]:
    """Return the tasks, with the column `asks_spans`: whether a summary of the file has a marked passage."""
    del faults
    asks = False
    for row in roles[ROWS]:
        with suppress(ValidationError):  # which is reported when the row is converted
            annotations = _ANNOTATIONS.validate_python(row.cells.get("annotations"))
            results = [item for each in annotations for item in each.result]
            asks |= any(item.to_name == "summary" and "start" in item.value for item in results)
    return [row._replace(cells={**row.cells, "asks_spans": asks}) for row in roles[ROWS]]


def _label_studio(joined: Joined) -> Iterable[Cells]:
    cells = joined.cells
    data = formed(cells["data"], "data", OBJECT, "an object with the texts of the task")
    block = _Block(joined, text_of(data, "summary"), asks_spans=cells["asks_spans"])
    what = "a list of annotations, each with completed_by and result"
    for annotation in formed(cells["annotations"], "annotations", _ANNOTATIONS, what):
        if annotation.was_cancelled:
            continue
        person = annotation.completed_by
        name = f"annotator{person.id if isinstance(person, _Person) else person}"
        block.annotators.append(name)
        regions = {item.id for item in annotation.result if "start" in item.value} - {None}
        for item in annotation.result:
            value, answers = item.value, item.value.get(item.type)
            if "start" in value and item.to_name == "summary":
                block.mark(name, value["start"], value.get("end"), answers, value.get("text"))
            elif item.id not in regions and item.type in ("choices", "rating", "number"):
                block.rate(name, item.from_name, answers if isinstance(answers, list) else [answers])
    yield {**data, "human": block.to_json()}


# ---- potato: the file of tasks, and the state of each annotator or an exported file ----


class _Label(BaseModel):
    schema_: str = Field(alias="schema")
    name: str
    start: int | None = None
    end: int | None = None


_PAIRS = TypeAdapter(list[tuple[_Label, Any]])


def _pairs(given: Any, column: str) -> Iterable[tuple[_Label, Any]]:
    """Return the pairs of a label and its value, which may be given as {schema: {name: value}}."""
    if isinstance(given, Mapping) and all(isinstance(labels, Mapping) for labels in given.values()):
        given = [
            ({"schema": schema, "name": name}, value)
            for schema, labels in given.items()
            for name, value in labels.items()
        ]
    return formed(given or [], column, _PAIRS, "a list of pairs, or {schema: {label: value}}")


def _with_answers(roles: Mapping[str, Sequence[Row]], faults: Faults) -> Iterable[Row]:
    """Return the tasks, with the answers of each annotator in the column `answers`."""
    answers: dict[str, dict[str, tuple[Any, Any]]] = {}
    for row in roles.get(_STATES, ()):
        labels, spans = row.cells[_LABELS] or {}, row.cells.get(_SPANS) or {}
        wrong = [name for name, given in ((_LABELS, labels), (_SPANS, spans)) if not isinstance(given, Mapping)]
        if wrong:
            faults.of(row.file).add(row.line, wrong[0], "is not an object with the answers by task")
            continue
        for task in {**labels, **spans}:
            answers.setdefault(task, {})[str(row.cells["user_id"])] = labels.get(task), spans.get(task)
    for row in roles.get(_EXPORTS, ()):
        given = row.cells["labels"], row.cells.get("spans")
        answers.setdefault(str(row.cells["instance_id"]), {})[str(row.cells["user_id"])] = given
    tasks = [str(row.cells["id"]) for row in roles[ROWS]]
    if unknown := sorted(answers.keys() - set(tasks)):
        faults.of(roles[ROWS][0].file).add(None, "id", f"has no task {unknown[0]!r}, which was annotated; add it there")
    asks = any(spans for by_person in answers.values() for _, spans in by_person.values())
    return [
        row._replace(cells={**row.cells, "answers": answers.get(task, {}), "asks_spans": asks})
        for task, row in zip(tasks, roles[ROWS], strict=True)
    ]


def _potato(joined: Joined) -> Iterable[Cells]:
    cells = {name: value for name, value in joined.cells.items() if name not in ("id", "answers", "asks_spans")}
    block = _Block(joined, text_of(cells, "summary"), asks_spans=joined.cells["asks_spans"])
    for annotator, (labels, spans) in joined.cells["answers"].items():
        block.annotators.append(annotator)
        chosen: dict[str, list[Any]] = {}
        for label, value in _pairs(labels, "labels"):
            ticked = value is True or str(value).lower() == "true"  # the name of a ticked label is the answer
            chosen.setdefault(label.schema_, []).append(label.name if ticked else value)
        for question, answers in chosen.items():
            block.rate(annotator, question, answers)
        for span, _ in _pairs(spans, "spans"):
            block.mark(annotator, span.start, span.end, span.name)
    yield {**cells, "human": block.to_json()}


LABEL_STUDIO = Preset(
    name="label_studio",
    about="Annotations of Label Studio: ratings, choices and marked passages of summaries",
    licence="your own data",
    roles=(FileRole(ROWS, ("data", "annotations"), "the JSON export"),),
    gives="ratings, spans",
    convert=_label_studio,
    assemble=_tasks,
)
POTATO = Preset(
    name="potato",
    about="Annotations of potato: ratings, choices and marked passages of summaries",
    licence="your own data",
    roles=(
        FileRole(ROWS, ("id", "document", "summary"), "the file of tasks"),
        FileRole(_STATES, ("user_id", _LABELS), "user_state.json of each annotator", needed=never),
        FileRole(_EXPORTS, ("instance_id", "user_id", "labels"), "annotations.jsonl", needed=never),
    ),
    gives="ratings, spans",
    convert=_potato,
    assemble=_with_answers,
)
