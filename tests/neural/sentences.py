"""Networks and texts of the parity fixture of sentence splitting: AlignScore, MiniCheck, SummaC and UniEval.

The texts are news, dialogues and long texts, which the released code splits with NLTK's Punkt. Line breaks and runs of
spaces are tokens. benchmarks/parity/sentences.py computes the results of the released code in `sentences.json`, with
the texts and the sentences that NLTK finds in them and in short unusual texts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluators.networks import item
from neural import asking, classified

from summeter.evaluators.base import Evaluator
from summeter.evaluators.entailment.alignscore import AlignScore
from summeter.evaluators.entailment.minicheck import MiniCheck
from summeter.evaluators.entailment.summac import SummaC
from summeter.evaluators.seq2seq.unieval import UniEval
from summeter.models.local.convert import convert
from summeter.records import Document

FIXTURE = Path(__file__).with_name("sentences.json")
CHUNK = 60


def fixture() -> dict[str, Any]:
    """Return the texts, their sentences, and the results of the released code."""
    held: dict[str, Any] = json.loads(FIXTURE.read_text("utf-8"))
    return held


def words_of(held: dict[str, Any]) -> list[str]:
    """Return the texts whose words are in the vocabularies."""
    return [*(row[name] for row in held["texts"] for name in ("document", "summary", "reference")), "Yes No"]


def ours(case: str, held: dict[str, Any], place: Path) -> list[list[float | None]]:
    """Return summeter's results with default settings, one list per item, as in `held["cases"][case]`."""
    known = words_of(held)
    evaluator, networks = _evaluator(case, known, place)
    items = [
        item(Document(id=f"d{number}", text=row["document"], references=(row["reference"],)), row["summary"])
        for number, row in enumerate(held["texts"])
    ]
    rows = classified.judged(evaluator, items, networks)
    return [[judgment.value for judgment in some if judgment.target.unit == "summary"] for some in rows]


def _evaluator(case: str, known: list[str], place: Path) -> tuple[Evaluator, dict[str, Any]]:
    name, _, kind = case.partition(" ")
    if name == "alignscore":
        classified.alignscore(place / "base", known, place / "a.ckpt", lines=True)
        convert("alignscore", place / "a.ckpt", place / "made", place / "base")
        networks = classified.classifier("alignscore", place / "made" / kind.removesuffix("_sp"))
        return AlignScore(mode=kind), networks  # type: ignore[arg-type]
    if name == "minicheck" and kind == "roberta":
        classified.roberta(place, known, 2, 22, lines=True)
        return MiniCheck(claims="summary", chunk=CHUNK), classified.classifier("minicheck", place)
    if name == "summac":
        classified.roberta(place, known, 3, 43, lines=True)
        nli = asking.network(f"{place}[max_tokens=500]")
        return SummaC(granularity=f"{kind}-sentence", labels="ec", least=10, most=100), {"nli": nli}
    classified.t5(place, known, 21)
    network = asking.network(place, "seq2seq")
    if name == "unieval":
        return UniEval(), {"unieval": network}
    return MiniCheck(network="t5", claims="summary", chunk=CHUNK), {"minicheck_t5": network}
