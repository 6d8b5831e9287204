"""Validate `human` blocks, the human judgments of a summary in a flat row.

Each cell of a block is either an aggregated value or `{annotator: value}`; null means no vote, and `{}` is a cell
without votes. An aggregated value is attributed to `PEOPLE`. Unidentified annotators are called `?1`, `?2` and so on;
such a name is valid for one summary only. The field `judgments` of a block contains judgments that cells cannot
represent. `human_judgments` converts blocks to judgments.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from summeter.data.faults import Faults, FieldPath, explained, path_of, problem
from summeter.records import (
    UNNAMED,
    Judgment,
    Summary,
    describe,
    error_types,
    joined_error_types,
    names_no_error,
    nearest,
    problem_of,
)
from summeter.records.taxonomy import SEPARATOR

PEOPLE = "people"
"""The judge of values that are aggregated over annotators."""
RAW = "human.raw"
CROWD = "crowd.raw"
SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Pattern of valid names of judgment sets."""

T = TypeVar("T")


class Subject(NamedTuple):
    """The summary and the key facts that a block refers to."""

    summary: Summary
    key_facts: tuple[str, ...]
    list_id: str | None
    """The id of the list of key facts, or None if there are none."""


def binary(value: Any) -> int | None:
    """Return 0 or 1 for 0, 1, false, true, 0.0 or 1.0, and None for any other value."""
    return int(value) if isinstance(value, int | float) and value in (0, 1) else None


def unnamed_votes(values: Iterable[Any]) -> dict[str, Any]:
    """Return a cell with the votes of unidentified annotators.

    >>> unnamed_votes([4, None, 5])
    {'?1': 4, '?2': None, '?3': 5}
    """
    return {f"{UNNAMED}{number}": value for number, value in enumerate(values, 1)}


def _votes(cell: Any) -> dict[str, Any]:
    """Return a cell as `{annotator: value}`."""
    if not isinstance(cell, dict):
        return {PEOPLE: cell}
    if not all(isinstance(name, str) and name.strip() for name in cell):
        raise problem("has an annotator without a name; give each annotator an id")
    return cell


def _parsed(parse: Callable[[Any], Any], expected: str) -> PlainValidator:
    """Return a validator that applies `parse` and raises an error if `parse` returns None."""

    def validate(value: Any) -> Any:
        if (result := parse(value)) is None:
            raise problem(f"is {describe(value)}; give {expected}")
        return result

    return PlainValidator(validate)


def number_of(value: Any) -> float | None:
    """Return a finite number as a float, and None for any other value, including true and false."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return float(value) if number else None


def _types_of(value: Any) -> str | None:
    """Return error types as a string for a record, or None if `value` has another type.

    The valid types are strings and lists.
    """
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        return None
    if isinstance(value, list):
        for name in names:
            if SEPARATOR in name:
                raise problem(f"contains {name!r}, but {SEPARATOR!r} joins error types; list each type separately")
    return joined_error_types(names)


def _label(value: Any) -> int | str | None:
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and any(_is_label(name) for name in text.split(SEPARATOR)):
            raise problem(f"is the string {text!r}; give the number 1 or 0")
    label = binary(value)
    return _types_of(value) if label is None else label


def _is_label(name: str) -> bool:
    """Return whether a string is a label instead of an error type."""
    try:
        float(name)
    except ValueError:
        return name.strip().casefold() in ("yes", "no", "true", "false", "supported")
    return True


def _indexes(value: Any, info: ValidationInfo) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise problem(f"is {describe(value)}; give a list of sentence indexes (from 0), or null")
    sentences = len(_summary(info).sentences)
    for index in value:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < sentences:
            raise problem(f"contains {index!r}, which is not a sentence; the summary has {sentences}, counted from 0")
    if len(set(value)) < len(value):
        raise problem("contains a sentence twice; give it once")
    return tuple(value)


def _annotator(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise problem(f"is {describe(value)}; give an annotator's id")


Votes = Annotated[dict[str, T | None], BeforeValidator(_votes)]
Number = Annotated[float, _parsed(number_of, "a number, or null for no vote")]
Scores = dict[str, Votes[Number]]
Label = Annotated[int | str, _parsed(_label, "1 (supported), 0 (error), the name of an error type, or null")]
SpanLabel = Annotated[int | str, _parsed(_label, "an error type, 1 (supported) or 0 (error)")]
Types = Annotated[str, _parsed(_types_of, "an error type, or null")]
Presence = Annotated[int, _parsed(binary, "1 (present), 0 (absent) or null")]
Carrier = Annotated[int, _parsed(binary, "1 (carries a key fact), 0 (carries none) or null")]
Indexes = Annotated[tuple[int, ...], PlainValidator(_indexes)]
SpanAnnotator = Annotated[str, _parsed(_annotator, "an annotator's id")]


class HumanSpan(BaseModel):
    """A marked passage of the summary. `start` and `end` are offsets in code points."""

    model_config = ConfigDict(extra="forbid")

    annotator: Annotated[str | None, PlainValidator(_annotator)] = None
    start: int
    end: int
    label: SpanLabel = Field(default=None, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _within_the_summary(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            raise problem(f"is {describe(value)}; give an object with annotator, start, end and label")
        length = len(_summary(info).text)
        start, end = (value.get(name) for name in ("start", "end"))
        if type(start) is not int or type(end) is not int:
            raise problem("needs start and end as integers")
        if not 0 <= start < end <= length:
            wanted = f"give 0 <= start < end <= {length}, counted in code points of the summary"
            raise problem(f"runs from {start} to {end}; {wanted}")
        return value

    @property
    def judge(self) -> str:
        """The annotator, or `PEOPLE` if no annotator is given."""
        return self.annotator or PEOPLE

    @property
    def supported(self) -> int:
        """The label: 0 for an error, 1 for a passage that is marked as correct."""
        return self.label if isinstance(self.label, int) else int(names_no_error(self.label))


class SetJudgment(NamedTuple):
    """A judgment and the name of its set."""

    set: str
    judgment: Judgment


def _set_judgment(value: Any, info: ValidationInfo) -> SetJudgment:
    """Parse an entry of `judgments`: a judgment without document and system, and the `set`."""
    if not isinstance(value, dict) or not isinstance(value.get("target", {}), dict):
        raise problem(f"is {describe(value)}; give a judgment as an object, its `target` an object too")
    fields = {name: each for name, each in value.items() if name != "set"}
    name, summary = value.get("set", RAW), _summary(info)
    if not isinstance(name, str) or not SET_NAME.fullmatch(name):
        raise problem("has an invalid name in `set`; use letters, digits, full stops, _ and -")
    ids = {"document_id": summary.document_id, "system": summary.system}
    try:
        return SetJudgment(name, Judgment.model_validate({**fields, "target": {**fields.get("target", {}), **ids}}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise problem(f"is not a judgment: {path_of(first['loc']) or 'it'} {problem_of(first)}") from error


class HumanBlock(BaseModel):
    """The human judgments of a summary, which must be passed as the validation context."""

    model_config = ConfigDict(extra="forbid")

    ratings: Scores | None = None
    crowd_ratings: Scores | None = None
    overall: Scores | None = None
    sentence_labels: list[Votes[Label]] | None = None
    sentence_error_types: list[Votes[Types]] | None = None
    conciseness_labels: list[Votes[Carrier]] | None = None
    key_fact_labels: list[Votes[Presence]] | None = None
    alignment: list[Votes[Indexes]] | None = None
    spans: list[HumanSpan] | None = None
    span_annotators: list[SpanAnnotator] | None = None
    judgments: list[Annotated[SetJudgment, PlainValidator(_set_judgment)]] | None = None

    @field_validator("sentence_labels", "sentence_error_types", "conciseness_labels")
    @classmethod
    def _check_sentence_count(cls, cells: list[Any] | None, info: ValidationInfo) -> list[Any] | None:
        if cells is not None:
            _check_count(cells, len(_summary(info).sentences), "sentence")
        return cells

    @property
    def sets(self) -> set[str]:
        """The judgment sets to which the block contributes."""
        in_cells = {CROWD if name == "crowd_ratings" else RAW for name in BLOCKS if getattr(self, name)}
        return in_cells | {record.set for record in self.judgments or ()}

    def check_types(self, faults: Faults, line: int) -> None:
        """Report labels that contradict the error types.

        A contradiction is a warning if the label is a number, and a fault if it is a name.
        """
        cells = zip(self.sentence_labels or (), self.sentence_error_types or (), strict=False)
        for index, (labels, types) in enumerate(cells):
            field = f"human.sentence_error_types[{index}]"
            for judge, label in labels.items():
                error_type = types.get(judge)
                if error_type is None or label is None:
                    continue
                if isinstance(label, str) and error_types(label) != error_types(error_type):
                    path = FieldPath.at(field, (*path_of(("human", "sentence_error_types", index)).path, judge))
                    faults.add(
                        line,
                        path,
                        f"is {error_type!r}, but sentence_labels has {label!r} ({judge}); give one of the two",
                    )
                elif isinstance(label, int) and label != int(names_no_error(error_type)):
                    faults.warn(line, field, f"is {error_type!r}, but the label is {label} ({judge}); both are kept")


BLOCKS = tuple(name for name in HumanBlock.model_fields if name != "judgments")
"""The fields of a block that contain cells or spans."""
SCORES = ("ratings", "crowd_ratings", "overall")
PER_SENTENCE = ("sentence_labels", "sentence_error_types", "conciseness_labels")
PER_KEY_FACT = ("key_fact_labels", "alignment")


def voters_of(block: Any) -> set[str]:
    """Return those annotators of a block who did more than mark spans; the block need not be valid."""
    if not isinstance(block, dict) or block.get("spans") is None:
        return set()
    scores = [block[name] for name in SCORES if isinstance(block.get(name), dict)]
    lists = [block[name] for name in (*PER_SENTENCE, *PER_KEY_FACT) if isinstance(block.get(name), list)]
    cells = [cell for votes in scores for cell in votes.values()] + [cell for each in lists for cell in each]
    return {str(judge) for cell in cells if isinstance(cell, dict) for judge in cell} - {PEOPLE}


def check_human(block: Mapping[str, Any], summary: Summary, faults: Faults, line: int) -> HumanBlock | None:
    """Return the validated block of a row. If it has faults, report them and return None."""
    try:
        checked = HumanBlock.model_validate(block, context=summary)
    except ValidationError as error:
        for field, message in explained(error, _message):
            path = field.path if isinstance(field, FieldPath) else ()
            faults.add(line, FieldPath.at(f"human.{field.removesuffix(f'.{PEOPLE}')}", ("human", *path)), message)
        return None
    checked.check_types(faults, line)
    return checked


def check_key_facts(block: Mapping[str, Any], key_facts: int, faults: Faults, line: int) -> None:
    """Report fields that do not have one cell per key fact."""
    for name in PER_KEY_FACT:
        try:
            _check_count(block.get(name), key_facts, "key fact")
        except ValueError as error:
            faults.add(line, path_of(("human", name)), str(error))


def _message(field: str, details: ErrorDetails) -> str:
    if details["type"] == "extra_forbidden":
        in_span = "[" in field
        known = tuple(HumanSpan.model_fields) if in_span else tuple(HumanBlock.model_fields)
        what = "fields of a span" if in_span else "fields"
        return f"is not known{nearest(str(details['loc'][-1]), known)}; {what}: {', '.join(known)}"
    expected = {"list_type": "a list", "dict_type": "an object {name: value}", "string_type": "a string"}[
        details["type"]
    ]
    return problem_of(details, expected=expected)


def _check_count(cells: list[Any] | None, expected: int, what: str) -> None:
    if cells is not None and len(cells) != expected:
        plural = "" if expected == 1 else "s"
        raise problem(f"has {len(cells)} cells for {expected} {what}{plural}; give one cell per {what}")


def _summary(info: ValidationInfo) -> Summary:
    summary: Summary = info.context  # type: ignore[assignment] # set by check_human
    return summary
