"""Judges of documents with several sources: windows end with a source, and prompts contain the titles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from evaluators.judging import run
from evaluators.long_items import Reader

from summeter.data.dataset import load
from summeter.evaluators.claims.factscore import FactScore
from summeter.evaluators.entailment.alignscore import document_chunks
from summeter.evaluators.entailment.chunked import joined, pieces
from summeter.evaluators.llm import texts
from summeter.evaluators.windows import document_views
from summeter.models.base import Message
from summeter.models.prompts import Prompt
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens
from summeter.records import Document, Item
from summeter.text.chunks import runs
from summeter.text.spans import TextSpan, ranges_by_source, sentence_spans

AGENDA = "Budget. The hiring plan for 2025"
TRANSCRIPT = " ".join(f"Speaker {number} agreed to point {number} of the plan." for number in range(60))


@pytest.fixture
def document() -> Document:
    sources = [
        {"id": "agenda", "title": "Agenda", "text": AGENDA},
        {"id": "notes", "text": "No decision yet"},
        {"id": "transcript", "title": "Transcript", "text": TRANSCRIPT},
    ]
    return load([{"doc_id": "m1", "document": sources, "summary": "The plan was agreed."}]).documents["m1"]


FRAME = Prompt("frame", "0", (Message(role="user", content="Is it supported?"),))


def views(document: Document, context: int | None, near: Sequence[str] | None = None) -> list[TextSpan]:
    return document_views(document, BoundLLM(Reader(context), Settings(context=context)), FRAME, 20, near)[0]


def test_windows_contain_a_part_of_a_source_or_several_whole_sources_with_their_titles(document: Document) -> None:
    found = views(document, 300)
    assert len(found) > 3
    assert found[0].text == f"[Agenda]\n{AGENDA}\n\n[notes]\nNo decision yet\n\n"
    for view in found[1:]:
        (source,) = document.sources_in(view.start, view.end)
        assert view.text == f"[{source.label}]\n{document.text[view.start : view.end]}"
    covered = {at for view in found for at in range(view.start, view.end)}
    assert covered == set(range(len(document.text)))


def test_many_small_sources_share_windows() -> None:
    mails = [{"id": f"mail-{at}", "text": f"Mail {at} agrees to the plan of ward {at}."} for at in range(400)]
    data = load([{"doc_id": "mails", "document": mails, "summary": "The plan was agreed."}])
    found = views(data.documents["mails"], 2000)
    assert len(found) < 12
    assert max(tokens(view.text) for view in found) < 2000
    assert "".join(view.text for view in found) == data.documents["mails"].titled()


def test_a_document_that_fits_is_shown_whole_with_all_titles(document: Document) -> None:
    (view,) = views(document, None)
    assert view.text == document.titled()
    assert [view.text.count(f"[{title}]\n") for title in ("Agenda", "notes", "Transcript")] == [1, 1, 1]


def test_passages_name_each_source_once(document: Document) -> None:
    (view,) = views(document, 300, ["Speaker 40 agreed.", "No decision."])
    assert [view.text.count(f"[{title}]\n") for title in ("Agenda", "notes", "Transcript")] == [1, 1, 1]
    assert "[...]" in view.text


def test_prompts_contain_the_titles_and_judgments_refer_to_the_text(document: Document) -> None:
    data = load([{"doc_id": "m1", "document": document.cell, "summary": "The plan was agreed."}])
    ((whole, (summary,)),) = data.items()
    assert texts(Item(document=whole, summary=summary))["document"] == document.titled()


@pytest.mark.parametrize("splitter", ["stored", "punkt"])
def test_sentences_and_chunks_of_classifiers_end_with_a_source(document: Document, splitter: Any) -> None:
    spans = pieces(document, splitter)
    lengths = [len(span.text) for span in spans]
    ranges = ranges_by_source(document, spans, lambda first, last: runs(lengths[first:last], 10_000))
    chunks = [*joined(spans, ranges), *document_chunks(document, splitter), *sentence_spans(document, splitter)]
    assert len(joined(spans, ranges)) == 3
    assert {len(document.sources_in(*chunk.offsets)) for chunk in chunks} == {1}


@pytest.mark.parametrize("context", [None, 8192])
def test_evidence_refers_to_the_text_without_titles(context: int | None) -> None:
    long = " ".join(f"Item {number} was read out." for number in range(4000))
    sources = [{"id": "agenda", "text": long}, {"id": "transcript", "text": "Ada sold the mill in May. Nobody spoke."}]
    data = load([{"document": sources, "summary": "Ada sold the mill in May."}])
    ((document, (summary,)),) = data.items()
    reader = Reader(context)
    _, (judgment,) = run(FactScore(), Item(document=document, summary=summary), reader, context=context)
    assert judgment.label == 1
    (span,) = judgment.evidence
    assert (span.cut(document.text), document.place(span)) == ("Ada sold the mill in May", "transcript, sentence 1")
    assert all(prompt.count("[transcript]\n") == 1 for prompt in reader.prompts if "Nobody spoke." in prompt)


def test_titles_count_as_tokens() -> None:
    many = [{"id": f"source-{number}-of-many", "text": f"Point {number} was agreed."} for number in range(200)]
    long = load([{"doc_id": "m1", "document": many, "summary": "It was agreed."}]).documents["m1"]
    passages, cut = Settings(context=2000), Settings(context=2000, on_overflow="truncate")
    for settings, near in ((passages, ["It was agreed."]), (cut, None)):
        (view,), omitted = document_views(long, BoundLLM(Reader(2000), settings), FRAME, 20, near)
        assert omitted
        assert tokens(view.text) < 2000


def test_a_title_counts_once_for_its_source() -> None:
    sentences = " ".join(f"Point {number} was agreed." for number in range(600))
    room, filled = 1800 - 20, []
    for title in ("A", "The minutes of the meeting of the board on the first of May"):
        sources = [{"id": "a", "title": title, "text": sentences}, {"id": "b", "text": "No plan."}]
        long = load([{"doc_id": "m1", "document": sources, "summary": "It was agreed."}]).documents["m1"]
        (view,) = views(long, 2000, ["Point 300 was agreed."])
        filled.append(tokens(view.text))
    assert max(filled) < room
    assert abs(filled[0] - filled[1]) < 0.1 * filled[0]
