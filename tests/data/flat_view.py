"""Convert a dataset to flat rows with a `human` block per summary, for compact assertions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from summeter.data import dataset as datasets
from summeter.data.dataset import Dataset
from summeter.data.human import CROWD, PEOPLE, RAW
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Summary


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the flat rows of a dataset, with the votes of people on each summary as a block of cells."""
    pairs = ((document, summary) for document, summaries in dataset.items() for summary in summaries)
    blocks = {(each.document_id, each.system): _Block(each, len(document.key_facts)) for document, each in pairs}
    for name in {RAW, CROWD} & {*dataset.judgment_sets}:
        for judgment in dataset.iter_judgments(name):
            blocks[judgment.target.document_id, judgment.target.system].add(judgment)
    for row, block in zip(datasets.flat_rows(dataset), blocks.values(), strict=True):
        human = block.finished()
        yield {**row, "human": human} if human else row


class _Block:
    """Collects judgments in cells by annotator."""

    def __init__(self, summary: Summary, facts: int) -> None:
        self.places = {(span.start, span.end): index for index, span in enumerate(summary.sentences)}
        self.facts = facts
        self.scores: dict[str, dict[str, dict[str, Any]]] = {}
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.spans: dict[int, dict[str, Any]] | None = None
        self.span_annotators: set[str] = set()

    def add(self, judgment: Judgment) -> None:
        name, index, judge = (
            judgment.signature.partition("|")[0].removeprefix("human."),
            judgment.target.index,
            judgment.judge,
        )
        assert judgment.signature == SIGNATURES[name]
        match name, judgment.target.unit, index:
            case (("ratings" | "crowd_ratings" | "overall"), "summary", None):
                self.scores.setdefault(name, {}).setdefault(judgment.aspect, {})[judge] = _short(judgment.value)
            case "spans", "span", int():
                self.spans = {**(self.spans or {}), index: _span_row(judgment)}
            case ("spans_none", "summary", None) | ("spans_sentences", "sentence", int()):
                self.spans = self.spans or {}  # the labels follow from the spans and their annotators
                self.span_annotators.add(judge)
            case "alignment", "sentence", int():
                pass  # derived again on import from the key facts' sentences
            case "alignment", "key_fact", int():
                places = [self.places[span.start, span.end] for span in judgment.evidence]
                self._cells(name, self.facts)[index][judge] = None if judgment.label is None else places
            case "key_fact_labels", "key_fact", int():
                self._cells(name, self.facts)[index][judge] = judgment.label
            case (("sentence_labels" | "conciseness_labels"), "sentence", int()):
                self._cells(name, len(self.places))[index][judge] = judgment.label
                if judgment.error_type is not None:
                    self._cells("sentence_error_types", len(self.places))[index][judge] = judgment.error_type
            case _:
                raise AssertionError(judgment)

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
