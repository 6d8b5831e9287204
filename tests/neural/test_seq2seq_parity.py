"""Parity with the released classes of BARTScore and UniEval on frozen networks.

benchmarks/parity/seq2seq.py computed their results in seq2seq.json.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.networks import document
from neural import seq2seq_networks
from neural.asking import ask
from neural.asking import network as network_of

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.seq2seq.bartscore import BartScore
from summeter.evaluators.seq2seq.trueteacher import TrueTeacher
from summeter.evaluators.seq2seq.unieval import UniEval
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import Framing, ScoreTarget
from summeter.records import Document, Item, Judgment, Span, Summary

FIXTURE = json.loads(Path(__file__).with_name("seq2seq.json").read_text("utf-8"))
MARKED = "</s>"


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LocalNetwork]:
    for needed in ("torch", "transformers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    root = tmp_path_factory.mktemp("frozen")
    folders = {"bart": seq2seq_networks.bart(root / "bart"), "t5": seq2seq_networks.t5(root / "t5")}
    return {name: network_of(folder, "seq2seq") for name, folder in folders.items()}


def judged(evaluator: Evaluator, network: LocalNetwork, source: Document, *sentences: str) -> list[Judgment]:
    text, spans, at = " ".join(sentences), [], 0
    for sentence in sentences:
        spans.append(Span(of="summary", start=at, end=at + len(sentence)))
        at += len(sentence) + 1
    summary = Summary(document_id=source.id, system="s", text=text, sentences=tuple(spans), splitter="given")
    tools = Tools("s", networks=dict.fromkeys(evaluator.required_roles, network))
    item = Item(document=source, summary=summary)
    return asyncio.run(evaluator.judge(item, Prepared(document_id=source.id), tools))


def test_bartscore_gives_what_the_released_class_gave(networks: dict[str, LocalNetwork]) -> None:
    asked, gave = FIXTURE["bartscore"]["pairs"], FIXTURE["bartscore"]["scores"]
    legacy = Framing(limit=1024, marks=True)
    together = ask(networks["bart"], [ScoreTarget(source, target, legacy) for source, target in asked])
    np.testing.assert_allclose(together, gave, rtol=1e-6)
    assert np.std(gave) > 0.1, "these scores would not tell a wrong one"


@pytest.mark.parametrize("variant", ["paper", "legacy"])
def test_the_evaluator_equals_the_released_class_except_for_special_tokens(
    networks: dict[str, LocalNetwork], variant: Any
) -> None:
    evaluator, compared = BartScore(variant=variant), 0
    for (source, target), wanted in zip(*FIXTURE["bartscore"].values(), strict=True):
        if not source or not target:
            continue
        (row,) = judged(evaluator, networks["bart"], document(text=source), target)
        assert row.value is not None
        if variant == "paper" and MARKED in source + target:
            assert abs(row.value - wanted) > 1e-3, "a mark in a text is plain characters"
        else:
            assert row.value == pytest.approx(wanted, rel=1e-6)
            compared += 1
    assert compared == (6 if variant == "legacy" else 5)


@pytest.mark.parametrize("variant", ["paper", "legacy"])
def test_unieval_gives_what_the_released_classes_gave(networks: dict[str, LocalNetwork], variant: Any) -> None:
    for text, wanted in zip(FIXTURE["unieval"]["texts"], FIXTURE["unieval"]["scores"], strict=True):
        source = document(text=text["source"]).model_copy(update={"references": (text["reference"],)})
        rows = judged(UniEval(variant=variant), networks["t5"], source, *text["sentences"])
        values = {row.aspect: row.value for row in rows if row.target.unit == "summary"}
        if variant == "paper" and MARKED in text["source"]:
            assert values != pytest.approx(wanted, abs=1e-4)
        else:
            assert values == pytest.approx(wanted, abs=1e-6)


def test_trueteacher_reads_the_summary_behind_an_over_long_document(networks: dict[str, LocalNetwork]) -> None:
    """With truncation at the end, all summaries of a long document would have the same input."""
    source = document(text="the boat sank near kiel. " * 120)
    summaries = ("it sank.", "nobody sailed to oslo.")
    first, second = (judged(TrueTeacher(), networks["t5"], source, text)[0].value for text in summaries)
    assert first != second
    assert networks["t5"].usage.truncated > 0, "and the cut is counted"
