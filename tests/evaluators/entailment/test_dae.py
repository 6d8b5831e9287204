"""DAE: hand-worked arcs from a file of CoreNLP replies, with a fake network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge
from growth import assert_within

from summeter.evaluators.entailment.dae import DAE
from summeter.models.local.tokens import cut_sizes
from summeter.models.networks import ClassifyTokens, FindTokens, TokenLogits
from summeter.records import Judgment

DOCUMENT = "Ada sold the mill. It rained."
SUMMARY = "Ada sold mills. It burnt."
ARCS = [("nsubj", 1, 2), ("dobj", 3, 2), ("nsubj", 5, 6)]
"""(relation, dependent, governor), counted from 1: Ada, sold, mills, ., It, burnt, ."""


def reply(text: str, arcs: Sequence[tuple[str, int, int]] = ()) -> str:
    places = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    tokens = [{"word": text[a:b], "characterOffsetBegin": a, "characterOffsetEnd": b} for a, b in places]
    links = [{"dep": dep, "dependent": child, "governor": head} for dep, child, head in arcs]
    return json.dumps({"text": text, "corenlp": {"sentences": [{"tokens": tokens, "enhancedDependencies": links}]}})


def pieces(*bad: str) -> FakeNetwork:
    """Tokens are words; a word in -s has two pieces.

    The logit of `entailed` is high, except for arcs with a word whose last piece is in `bad`; the other three logits
    are 0.
    """

    def logits(request: ClassifyTokens) -> TokenLogits:
        assert request.classes == 4
        (first, second), (_, text) = map(_offsets, request.texts), request.texts
        sizes = cut_sizes((len(first), len(second)), 509, request.framing.cut)
        first, second = first[: sizes[0]], second[: sizes[1]]
        offsets = [(0, 0), *first, (0, 0), *second, (0, 0)]
        of = np.array([-1, *[0] * len(first), -1, *[1] * len(second), -1])
        rows = np.zeros((len(of), 4))
        for place in np.flatnonzero(of == 1):
            rows[place, [1, 3]] = -2.0 if text[slice(*offsets[place])] in bad else 1.0
        return TokenLogits(rows, np.array(offsets), of)

    return FakeNetwork({ClassifyTokens: logits, FindTokens: lambda request: _offsets(request.text)}, "pieces/arcs")


def _offsets(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"s\b|\w+?(?=s?\b)|[^\w\s]", text)]


def rows(tmp_path: Path, *bad: str, summary: str = SUMMARY, arcs: Any = ARCS, more: str = "", **settings: Any
         ) -> dict[Any, Judgment]:  # fmt: skip
    file = tmp_path / "arcs.jsonl"
    file.write_text("\n".join([reply(DOCUMENT), reply(summary, arcs), more]), "utf-8")
    source = document("Ada sold the mill.", "It rained.", text=DOCUMENT)
    (found,) = judge(DAE(corenlp=file, **settings), source, summary, arcs=pieces(*bad))
    return {(row.aspect, row.target.unit, row.target.index): row for row in found}


def test_every_arc_entailed(tmp_path: Path) -> None:
    found = rows(tmp_path)
    whole = found["faithfulness", "summary", None]
    assert (whole.value, whole.label, whole.evidence) == (1.0, 1, ())
    assert found["arcs_entailed", "summary", None].value == 1.0
    arc = found["arcs_entailed", "claim", 0]
    # Logits (0, 1) of the child and (0, 1) of the head: 1 / (1 + e^-2).
    assert arc.value == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-12)
    assert [SUMMARY[span.start : span.end] for span in arc.evidence] == ["Ada", "sold"]
    assert arc.claim is not None
    assert arc.claim.text == "ada (nsubj) sold"


def test_one_arc_that_is_not_entailed(tmp_path: Path) -> None:
    found = rows(tmp_path, "burnt")
    whole = found["faithfulness", "summary", None]
    assert (whole.value, whole.label) == (0.0, 0)
    assert whole.reason == "2 of 3 arcs entailed; lowest: 'it' as nsubj of 'burnt' (.27)"
    assert [SUMMARY[span.start : span.end] for span in whole.evidence] == ["It", "burnt"]
    assert found["arcs_entailed", "summary", None].value == pytest.approx(2 / 3)
    assert [found["faithfulness", "sentence", place].label for place in (0, 1)] == [1, 0]


def test_only_the_first_twenty_arcs_are_read(tmp_path: Path) -> None:
    arcs = [*[("nsubj", 1, 2)] * 20, ("nsubj", 5, 6)]
    found = rows(tmp_path, "burnt", arcs=arcs)
    assert found["faithfulness", "summary", None].label == 1
    assert len([key for key in found if key[1] == "claim"]) == 20
    last = found["faithfulness", "sentence", 1]
    assert (last.status, last.reason) == ("skipped", "no arc of this sentence was judged (only the first 20 are)")


def test_by_sentence_gives_the_share_of_entailed_sentences(tmp_path: Path) -> None:
    more = "\n".join([reply("Ada sold mills.", ARCS[:2]), reply("It burnt.", [("nsubj", 1, 2)])])
    found = rows(tmp_path, "burnt", more=more, by="sentence")
    whole = found["faithfulness", "summary", None]
    assert (whole.value, whole.label) == (0.5, None)
    assert [SUMMARY[span.start : span.end] for span in whole.evidence] == ["It", "burnt"]


def test_texts_missing_from_the_file_are_skipped(tmp_path: Path) -> None:
    found = rows(tmp_path, by="sentence")
    assert {row.reason for row in found.values()} == {"arcs.jsonl has no reply for the sentence"}
    (tmp_path / "other.jsonl").write_text(reply(SUMMARY, ARCS), "utf-8")
    source = document("Ada sold the mill.")
    ((row, _),) = judge(DAE(corenlp=tmp_path / "other.jsonl"), source, SUMMARY, arcs=pieces())
    assert (row.status, row.reason) == ("skipped", "other.jsonl has no reply for the document")


def test_the_document_is_truncated_not_the_summary(tmp_path: Path) -> None:
    text, summary = "mill " * 600, "Ada sold."
    file = tmp_path / "arcs.jsonl"
    file.write_text("\n".join([reply(text.strip()), reply(summary, [("nsubj", 1, 2)])]), "utf-8")
    for variant, room in (("paper", 506), ("legacy", 504)):
        network = pieces()
        evaluator = DAE(corenlp=file, variant=variant)
        (found,) = judge(evaluator, document(text.strip()), summary, arcs=network)
        assert [framing.cut for framing in network.framings] == [(room, 3)]
        assert found[0].truncated_tokens == 600 - room


def test_the_file_is_parsed_once_and_not_for_every_document(tmp_path: Path) -> None:
    file = tmp_path / "arcs.jsonl"
    others = [reply(f"Document {number} of the file. " * 20, ARCS) for number in range(500)]
    file.write_text("\n".join([reply(DOCUMENT), reply(SUMMARY, ARCS), *others]), "utf-8")
    evaluator, source = DAE(corenlp=file), document("Ada sold the mill.", "It rained.", text=DOCUMENT)

    def forty_documents() -> None:
        for _ in range(40):
            judge(evaluator, source, SUMMARY, arcs=pieces())

    # Parsing the file takes about 0.07 seconds.
    assert_within(0.7, forty_documents)


def test_line_separators_inside_a_text(tmp_path: Path) -> None:
    text, summary = "Ada\u2028sold the mill.", "Ada sold mills."
    file = tmp_path / "arcs.jsonl"
    lines = [json.dumps(json.loads(row), ensure_ascii=False) for row in (reply(text), reply(summary, ARCS[:2]))]
    file.write_text("\r\n".join(lines), "utf-8")
    (found,) = judge(DAE(corenlp=file), document(text), summary, arcs=pieces())
    assert [row.value for row in found if row.target.unit == "summary"] == [1.0, 1.0]
