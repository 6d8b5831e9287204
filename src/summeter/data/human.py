"""People's judgments in flat rows: what a `human` block may hold, checked against its summary and key facts.

Each cell of a block is an aggregated value or `{annotator: value}`; null is "no vote". An aggregated value is the
judgment of `PEOPLE`. `judged.py` turns checked blocks into judgments, and back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from summeter.data.formats import describe
from summeter.data.rows import meant
from summeter.records import Summary, names_no_error

PEOPLE = "people"
"""Judge of a value that is already aggregated over annotators."""
RAW = "human.raw"
CROWD = "crowd.raw"

BlockSet = Literal["human.raw", "crowd.raw"]

SCORES = ("ratings", "crowd_ratings", "overall")
_PER_SENTENCE = ("sentence_labels", "sentence_error_types")
PER_KEY_FACT = ("key_fact_labels", "alignment")
BLOCKS = (*SCORES, *_PER_SENTENCE, *PER_KEY_FACT, "spans")
_SPAN_KEYS = ("annotator", "start", "end", "label")

Complain = Callable[[str, str], None]
"""Called with a field such as `human.sentence_labels[3]` and what is wrong with it."""


class Subject(NamedTuple):
    """What a block speaks of."""

    summary: Summary
    key_facts: tuple[str, ...]
    list_id: str | None
    """Names the list of key facts; None where there is none."""


def check_human(block: Mapping[str, Any], subject: Subject, fault: Complain, warn: Complain) -> frozenset[BlockSet]:
    """Check a block against its summary and key facts; returns the judgment sets it has something for."""
    filled: set[BlockSet] = set()
    for name, value in block.items():
        if name not in BLOCKS:
            fault(f"human.{name}", f"is not known{meant(name, BLOCKS)}; a block holds: {', '.join(BLOCKS)}")
        elif value is not None:
            _check_block(name, value, subject, fault)
            if value:
                filled.add("crowd.raw" if name == "crowd_ratings" else "human.raw")
    _check_agreement(block, subject, fault, warn)
    return frozenset(filled)


def _check_block(name: str, value: Any, subject: Subject, fault: Complain) -> None:
    field = f"human.{name}"
    if name in SCORES:
        _check_scores(field, value, fault)
    elif not isinstance(value, list):
        fault(field, f"is {describe(value)}; give a list")
    elif name == "spans":
        for index, span in enumerate(value):
            _check_span(f"{field}[{index}]", span, len(subject.summary.text), fault)
    elif name in _PER_SENTENCE:
        if _counts(field, value, len(subject.summary.sentences), "sentence", fault):
            _check_cells(field, value, _label_fault if name == "sentence_labels" else _type_fault, fault)
    elif _counts(field, value, len(subject.key_facts), "key fact", fault):
        sentences = len(subject.summary.sentences)
        _check_cells(field, value, _presence_fault if name == "key_fact_labels" else _index_fault(sentences), fault)


def _counts(field: str, value: list[Any], expected: int, what: str, fault: Complain) -> bool:
    if len(value) != expected:
        plural = "" if expected == 1 else "s"
        fault(field, f"has {len(value)} cells for {expected} {what}{plural}; give one cell per {what}")
    return len(value) == expected


def _check_scores(field: str, value: Any, fault: Complain) -> None:
    if not isinstance(value, dict):
        fault(field, f"is {describe(value)}; give an object {{name: value}}")
        return
    for name, cell in value.items():
        _check_cell(f"{field}.{name}", cell, _number_fault, fault)


def _check_cells(field: str, cells: list[Any], wrong: Callable[[Any], str | None], fault: Complain) -> None:
    for index, cell in enumerate(cells):
        _check_cell(f"{field}[{index}]", cell, wrong, fault)


def _check_cell(field: str, cell: Any, wrong: Callable[[Any], str | None], fault: Complain) -> None:
    for judge, value in votes(cell):
        if not judge.strip():
            fault(field, "names an annotator with no name; give each annotator an id")
        elif value is not None and (problem := wrong(value)):
            fault(f"{field}.{judge}" if isinstance(cell, dict) else field, problem)


def _number_fault(value: Any) -> str | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return None if sound else f"is {describe(value)}; give a number, or null for no vote"


def _presence_fault(value: Any) -> str | None:
    return None if binary(value) is not None else f"is {describe(value)}; give 1 (present), 0 (absent) or null"


def _label_fault(value: Any) -> str | None:
    if binary(value) is not None or (isinstance(value, str) and value.strip()):
        return None
    return f"is {describe(value)}; give 1 (supported), 0 (error), the name of an error type, or null"


def _type_fault(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else f"is {describe(value)}; give an error type, or null"


def _index_fault(sentences: int) -> Callable[[Any], str | None]:
    def wrong(value: Any) -> str | None:
        if not isinstance(value, list):
            return f"is {describe(value)}; give a list of sentence indexes (from 0), or null"
        for one in value:
            if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < sentences:
                return f"holds {one!r}, which is no sentence; the summary has {sentences}, counted from 0"
        return None if len(set(value)) == len(value) else "names a sentence twice; name it once"

    return wrong


def _check_span(field: str, span: Any, length: int, fault: Complain) -> None:
    if not isinstance(span, dict):
        fault(field, f"is {describe(span)}; give an object with annotator, start, end and label")
        return
    for key in span:
        if key not in _SPAN_KEYS:
            fault(f"{field}.{key}", f"is not known{meant(key, _SPAN_KEYS)}; a span has: {', '.join(_SPAN_KEYS)}")
    start, end, who = span.get("start"), span.get("end"), span.get("annotator")
    if not (isinstance(start, int) and isinstance(end, int)) or isinstance(start, bool) or isinstance(end, bool):
        fault(field, "needs start and end as whole numbers")
    elif not 0 <= start < end <= length:
        fault(field, f"runs from {start} to {end}; give 0 <= start < end <= {length}, code points of the summary")
    if who is not None and (not isinstance(who, str) or not who.strip()):
        fault(f"{field}.annotator", f"is {describe(who)}; give an annotator's id")
    if _label_fault(span.get("label")):
        fault(f"{field}.label", f"is {describe(span.get('label'))}; give an error type, 1 (supported) or 0 (error)")


def _check_agreement(block: Mapping[str, Any], subject: Subject, fault: Complain, warn: Complain) -> None:
    """A name in the labels must be the name in the types; a 1 with an error type is worth a look."""
    labels, types = block.get("sentence_labels"), block.get("sentence_error_types")
    sentences = len(subject.summary.sentences)
    if not (isinstance(labels, list) and isinstance(types, list) and len(labels) == len(types) == sentences):
        return
    for index, (label_cell, type_cell) in enumerate(zip(labels, types, strict=True)):
        named = dict(votes(type_cell))
        for judge, label in votes(label_cell):
            kind = named.get(judge)
            if not isinstance(kind, str) or label is None:
                continue
            field = f"human.sentence_error_types[{index}]"
            if isinstance(label, str) and label != kind:
                fault(field, f"says {kind!r} where sentence_labels says {label!r} ({judge}); give one of the two")
            elif not isinstance(label, str) and binary(label) != int(names_no_error(kind)):
                warn(field, f"says {kind!r} beside the label {binary(label)} ({judge}); both are kept")


def votes(cell: Any) -> Iterator[tuple[str, Any]]:
    """(annotator, value) of a cell; None is "no vote"."""
    if isinstance(cell, dict) and cell:
        yield from cell.items()
    else:
        yield PEOPLE, (None if cell == {} else cell)


def binary(value: Any) -> int | None:
    """0 or 1 (also false, true, 0.0, 1.0), else None."""
    return int(value) if isinstance(value, int | float) and value in (0, 1) else None
