"""Summaries as JSON inside the page, with one piece per summary and one per document.

The JSON is safe in script elements. Browsers keep the content of a data script element as text, and a piece is parsed
only when its summary is shown.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan, nan
from operator import attrgetter
from typing import Any

from summeter.pages.embedded import Utf16Offsets, isolated, script_json
from summeter.pages.language import ENGLISH, Language, page_language
from summeter.records import Document, Judgment, Side, error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.report.blocks import FactList, ItemView, Verdict, Vote
from summeter.report.items import ItemList
from summeter.report.ranks import label_of
from summeter.report.words import gloss, not_judged
from summeter.runs.calls import StoredCall
from summeter.scoring import Score

DIGITS = 4
# Limits of the table of repeated strings. Longer strings, and those found later, are written where they are used.
MAX_WORDS, MAX_WORD_LENGTH = 4096, 80
CALLS_AT_A_TIME = 200


def embedded_json(
    items: ItemList, *, calls: bool = False, language: str = ENGLISH.language
) -> Iterator[tuple[str, str]]:
    """Yield the id and the JSON of each piece.

    `summary-N` contains `_Writer.summary`, `document-N` contains `_Writer.document`, and `shared`, the last piece,
    contains `_Writer.shared`. With `calls`, `call-N` contains a prompt and its replies. Rows are written as columns,
    `{"source": [0, 1], "style": ["good", "bad"]}`, so that each key occurs once. Repeated strings (aspects, units,
    decisions, reasons, statuses) are written as indexes into `words`. Offsets are in UTF-16 code units, which browsers
    use. `language` is that of the page.
    """
    writer = _Writer(items, page_language(language), calls=calls)
    for index, view in enumerate(items):
        yield f"summary-{index}", script_json(writer.summary(index, view))
    for index in range(len(items.documents)):
        yield f"document-{index}", script_json(writer.document(index))
    for run in items.runs if calls else ():
        numbers = {key: number for (of, key), number in writer.calls.items() if of == run.number}
        keys = list(numbers)
        with run.folder.calls() as store:
            for start in range(0, len(keys), CALLS_AT_A_TIME):
                found = sorted(store.stored(keys[start : start + CALLS_AT_A_TIME]), key=attrgetter("key"))
                for key, calls_of_key in groupby(found, attrgetter("key")):
                    yield f"call-{numbers[key]}", script_json(list(map(_call, calls_of_key)))
    yield "shared", script_json(writer.shared())


class _Writer:
    """Writes summaries, and collects shared data and the values to filter and sort by."""

    def __init__(self, items: ItemList, language: Language, *, calls: bool) -> None:
        self.items = items
        self.language = language
        self.with_calls = calls
        # The numbers of calls by run and key
        self.calls: dict[tuple[int, str], int] = {}
        self.units = [Utf16Offsets(document.text) for document in items.documents]
        self.systems = {name: index for index, name in enumerate(items.systems)}
        self.words: dict[str, int] = {}
        # Translations of words, by the English text
        self.said: dict[str, str] = {}
        # Lists of key facts belong to a document, so that each list is written once even if many summaries use it.
        self.lists: list[dict[FactList, int]] = [{} for _ in items.documents]
        self.document_of, self.system_of = array("L"), array("L")
        self.flagged: dict[str, array[int]] = {name: array("L") for name in ("wrong", "failed", "differs", "changed")}
        self.kinds: dict[str, array[int]] = {}
        self.values = [array("d") for _ in items.columns]

    def shared(self) -> dict[str, Any]:
        """Return the shared data. Call this method after all summaries have been written.

        `summaries` contains the document number and the system number of each summary, as columns. `flagged` contains
        the numbers of the summaries with an error, with a failure, on which people and a judge differ, and on which
        judges differ; `kinds` does so for each error type and each status other than "ok". `values` contains the scores
        of all summaries, one list per column. `said` maps words to those in the language of the page.
        """
        items = self.items
        domains = {name: index for index, name in enumerate(items.domains)}
        named = [document.domain for document in items.documents]
        return {
            "sources": [source.label for source in items.sources],
            "signatures": [source.entry.signature for source in items.sources],
            "columns": [
                {
                    "title": self.language.word(gloss(key.aspect).title),
                    "source": label_of(key, items.runs[key.run], items.sources),
                    "signature": key.signature,
                }
                for key in items.columns
            ],
            "systems": items.systems,
            "domains": items.domains,
            "filters": [{"aspect": aspect, "sources": sources} for aspect, sources in items.filters.items()],
            "words": list(self.words),
            "said": self.said,
            "documents": {"domain": [None if name is None else domains[name] for name in named]},
            "summaries": {"document": list(self.document_of), "system": list(self.system_of)},
            "flagged": {name: list(numbers) for name, numbers in self.flagged.items()},
            "kinds": {name: list(numbers) for name, numbers in sorted(self.kinds.items())},
            "values": [[None if isnan(value) else value for value in column] for column in self.values],
        }

    def summary(self, index: int, view: ItemView) -> dict[str, Any]:
        """Return a summary with all verdicts on it.

        `facts` contains an index for each list of key facts of the document, and an object `{origin, texts}` for the
        claims of the summary.
        """
        self.document_of.append(view.document)
        self.system_of.append(self.systems[view.summary.system])
        flags = {"wrong": view.wrong, "failed": view.failed, "differs": view.differs, "changed": view.changed > 0}
        for name, raised in flags.items():
            if raised:
                self.flagged[name].append(index)
        for name in {kind for verdict in view.verdicts for kind in _kinds(verdict.judgment)}:
            self._word(name)
            self.kinds.setdefault(name, array("L")).append(index)
        values = {
            column: None if score.value is None else round(score.value, DIGITS) for column, score in view.scores.items()
        }
        for number, column_values in enumerate(self.values):
            value = values.get(number)
            column_values.append(nan if value is None else value)
        text_units = Utf16Offsets(view.summary.text)
        return {
            "text": view.summary.text,
            "sentences": [[text_units.at(span.start), text_units.at(span.end)] for span in view.summary.sentences],
            "verdicts": self._verdicts(view.verdicts, text_units, view.document),
            "votes": self._votes(view.votes),
            "facts": [self._list(view.document, facts) for facts in view.facts],
            "scores": self._scores(view.scores, values),
        }

    def document(self, index: int) -> dict[str, Any]:
        """Return a document with its lists of key facts.

        Call this method after the summaries of the document have been written.
        """
        document = self.items.documents[index]
        return {
            "id": document.id,
            "text": document.text,
            "sources": [[self.units[index].at(source.start), source.label] for source in document.sources],
            "domain": document.domain,
            "references": document.references,
            "facts": [facts._asdict() for facts in self.lists[index]],
        }

    def _list(self, document: int, facts: FactList) -> int | dict[str, Any]:
        if facts.origin == "summary":
            return facts._asdict()
        lists = self.lists[document]
        return lists.setdefault(facts, len(lists))

    def _word(self, text: str) -> int | str:
        """Return the index of a string in the table of words, or the string if it is not there."""
        if text not in self.words:
            if (said := self.language.phrase(text)) not in (None, text):
                self.said[text] = str(said)
            if len(text) > MAX_WORD_LENGTH or len(self.words) == MAX_WORDS:
                return text
            self.words[text] = len(self.words)
        return self.words[text]

    def _verdicts(self, verdicts: Sequence[Verdict], text_units: Utf16Offsets, number: int) -> dict[str, list[Any]]:
        """Return the verdicts as columns.

        `index` is the index of the judged sentence or fact, and `facts` the index of its list. Evidence is a list of
        [start, end] for each side, or of [start, end, place] if the document has sources. `calls` contains the numbers
        of calls, if the page contains calls.
        """
        document, units = self.items.documents[number], self.units[number]
        return ({"calls": list(map(self._calls, verdicts))} if self.with_calls else {}) | {
            "source": [verdict.source for verdict in verdicts],
            "aspect": [self._word(verdict.judgment.aspect) for verdict in verdicts],
            "unit": [self._word(verdict.judgment.target.unit) for verdict in verdicts],
            "index": [verdict.judgment.target.index for verdict in verdicts],
            "facts": [verdict.facts for verdict in verdicts],
            "style": [self._word(verdict.style) for verdict in verdicts],
            "decision": [self._word(verdict.decision) for verdict in verdicts],
            "reasons": [[self._word(_directed(reason)) for reason in verdict.reasons] for verdict in verdicts],
            "inDocument": [_offsets(verdict, "document", units, document) for verdict in verdicts],
            "inSummary": [_offsets(verdict, "summary", text_units, document) for verdict in verdicts],
            "foreign": [int(verdict.foreign) for verdict in verdicts],
        }

    def _calls(self, verdict: Verdict) -> list[int]:
        run = self.items.sources[verdict.source].run
        return [self.calls.setdefault((run, key), len(self.calls)) for key in verdict.judgment.calls]

    def _votes(self, votes: Sequence[Vote]) -> dict[str, list[Any]]:
        """Return the votes of people as columns.

        Whether a vote differs from a judge is not stored, because it depends on the judge that the reader chooses.
        """
        return {
            "unit": [self._word(vote.unit) for vote in votes],
            "aspect": [self._word(vote.aspect) for vote in votes],
            "index": [vote.at for vote in votes],
            "facts": [vote.facts for vote in votes],
            "style": [self._word(vote.style) for vote in votes],
            "decision": [self._word(vote.decision) for vote in votes],
        }

    def _scores(self, scores: Mapping[int, Score], values: Mapping[int, float | None]) -> dict[str, list[Any]]:
        return {
            "column": list(scores),
            "value": [values[column] for column in scores],
            "n": [score.n for score in scores.values()],
            "missing": [score.missing for score in scores.values()],
            "status": [self._word(score.status) for score in scores.values()],
            "reason": [None if score.reason is None else self._word(score.reason) for score in scores.values()],
        }


def _directed(reason: str) -> str:
    """Return a reason; passages in right-to-left scripts that an English one quotes are isolated."""
    english = sum(char.isascii() and char.isalpha() for char in reason)
    return isolated(reason) if 3 * english > sum(map(str.isalpha, reason)) else reason


def _call(call: StoredCall) -> dict[str, Any]:
    return {"model": call.model, "usable": call.usable, "messages": call.messages, "reply": call.reply}


def _kinds(judgment: Judgment) -> Iterable[str]:
    """Return the error types of a judgment, or the status of a missing one."""
    if judgment.status != "ok":
        return (not_judged(judgment.status),)
    if judgment.label == 0 and judgment.aspect == "faithfulness" and judgment.error_type is not None:
        return error_types(judgment.error_type) - {NO_ERROR}
    return ()


def _offsets(verdict: Verdict, side: Side, units: Utf16Offsets, document: Document) -> list[list[int | str]]:
    return [
        [units.at(span.start), units.at(span.end), *filter(None, [document.place(span)])]
        for span in verdict.judgment.evidence
        if span.of == side
    ]
