"""Convert a dataset to flat rows with a `human` block per summary, for compact assertions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from summeter.data import dataset as datasets
from summeter.data.dataset import Dataset
from summeter.data.human import CROWD, PEOPLE, RAW, HumanBlock, Subject
from summeter.data.human_judgments import SIGNATURES, list_id_of, to_judgments
from summeter.records import Judgment


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the flat rows of a dataset, with the judgments of each summary as a block."""
    judged: dict[tuple[str, str], dict[str, list[Judgment]]] = {}
    for name in dataset.judgment_sets:
        for judgment in dataset.iter_judgments(name):
            item = judgment.target.document_id, judgment.target.system
            judged.setdefault(item, {}).setdefault(name, []).append(judgment)
    pairs = ((document, summary) for document, summaries in dataset.items() for summary in summaries)
    for row, (document, summary) in zip(datasets.flat_rows(dataset), pairs, strict=True):
        subject = Subject(summary, document.key_facts, list_id_of(document.key_facts))
        block = to_block(judged.get((document.id, summary.system), {}), subject)
        yield {**row, "human": block} if block else row


def to_block(sets: Mapping[str, Sequence[Judgment]], subject: Subject) -> dict[str, Any]:
    """Return a block that is converted to exactly these judgments of a summary, given by judgment set.

    Judgments of `RAW` and `CROWD` are stored in cells if possible, all others in `judgments`.
    """
    cells = _Block(subject)
    placed = {name: [judgment for judgment in sets.get(name, ()) if cells.add(judgment)] for name in (RAW, CROWD)}
    block = cells.finished()
    if not _represents(block, subject, placed):
        block, placed = {}, {}
    records = [
        _record(name, judgment)
        for name, judgments in sets.items()
        for judgment in (Counter(judgments) - Counter(placed.get(name, ()))).elements()
    ]
    return {**block, "judgments": records} if records else block


def _represents(block: Mapping[str, Any], subject: Subject, sets: Mapping[str, Sequence[Judgment]]) -> bool:
    """Return whether a block is converted to exactly these judgments."""
    try:
        checked = HumanBlock.model_validate(block, context=subject.summary)
    except ValidationError:
        return False
    readers = sorted(checked.span_annotators or ())
    return all(
        Counter(to_judgments(checked, subject, name, readers)) == Counter(judgments) for name, judgments in sets.items()
    )


def _record(name: str, judgment: Judgment) -> dict[str, Any]:
    """Return a judgment as an entry of `judgments`, without the ids of the summary."""
    record = judgment.model_dump(mode="json", exclude_defaults=True)
    target = {field: value for field, value in record.pop("target").items() if field not in ("document_id", "system")}
    return {**({} if name == RAW else {"set": name}), **({"target": target} if target else {}), **record}


class _Block:
    """Collects judgments in cells by annotator."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.places = {(span.start, span.end): index for index, span in enumerate(subject.summary.sentences)}
        self.scores: dict[str, dict[str, dict[str, Any]]] = {}
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.spans: dict[int, dict[str, Any]] | None = None
        self.span_annotators: set[str] = set()

    def add(self, judgment: Judgment) -> bool:
        """Add a judgment. Return False if cells cannot represent it."""
        name = judgment.signature.partition("|")[0].removeprefix("human.")
        index, unit = judgment.target.index, judgment.target.unit
        if judgment.signature != SIGNATURES.get(name) or judgment.status not in {"ok", "skipped"}:
            return False
        match name, unit:
            case (("ratings" | "crowd_ratings" | "overall"), "summary"):
                cell = self.scores.setdefault(name, {}).setdefault(judgment.aspect, {})
                cell[judgment.judge] = _short(judgment.value)
            case ("spans", "span") if index is not None and len(judgment.evidence) == 1:
                self.spans = {**(self.spans or {}), index: _span_row(judgment)}
            case ("spans_none", "summary") | ("spans_sentences", "sentence") if judgment.aspect == "faithfulness":
                self.spans = self.spans or {}  # the labels follow from the spans and their annotators
                self.span_annotators.add(judgment.judge)
            case ("alignment", "sentence"):
                pass  # derived again on import from the key facts' sentences
            case ("sentence_labels", "sentence") if index is not None and index < len(self.places):
                self._cells(name, len(self.places))[index][judgment.judge] = judgment.label
                if judgment.error_type is not None:
                    types = self._cells("sentence_error_types", len(self.places))
                    types[index][judgment.judge] = judgment.error_type
            case ("conciseness_labels", "sentence") if index is not None and index < len(self.places):
                self._cells(name, len(self.places))[index][judgment.judge] = judgment.label
            case (("key_fact_labels" | "alignment"), "key_fact") if index is not None:
                return self._add_key_fact(name, index, judgment)
            case _:
                return False
        return True

    def _add_key_fact(self, name: str, index: int, judgment: Judgment) -> bool:
        facts = len(self.subject.key_facts)
        if judgment.target.list_id != self.subject.list_id or index >= facts:
            return False
        if name == "key_fact_labels":
            self._cells(name, facts)[index][judgment.judge] = judgment.label
            return True
        places = [self.places.get((span.start, span.end)) for span in judgment.evidence]
        self._cells(name, facts)[index][judgment.judge] = None if judgment.label is None else places
        return None not in places

    def _cells(self, name: str, count: int) -> list[dict[str, Any]]:
        return self.lists.setdefault(name, [{} for _ in range(count)])

    def finished(self) -> dict[str, Any]:
        block: dict[str, Any] = {
            name: {aspect: _cell(votes) for aspect, votes in aspects.items()} for name, aspects in self.scores.items()
        }
        block |= {name: [_cell(votes) for votes in cells] for name, cells in self.lists.items()}
        if "sentence_error_types" in block:  # a label stands beside each type
            block["sentence_error_types"] = [cell or None for cell in block["sentence_error_types"]]
        if self.spans is not None:
            block["spans"] = [self.spans[index] for index in sorted(self.spans)]
            block["span_annotators"] = sorted(self.span_annotators)
        return block


def _cell(votes: Mapping[str, Any]) -> Any:
    return votes[PEOPLE] if list(votes) == [PEOPLE] else votes


def _short(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value


def _span_row(judgment: Judgment) -> dict[str, Any]:
    span = judgment.evidence[0]
    who = {} if judgment.judge == PEOPLE else {"annotator": judgment.judge}
    label = judgment.label if judgment.error_type is None else judgment.error_type
    return {**who, "start": span.start, "end": span.end, "label": label}
