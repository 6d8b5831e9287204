"""Local work stops at the item's time limit, at Ctrl-C and at SIGTERM."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from evaluators.judging import judgments_of
from evaluators.networks import networks, table_nli

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.entailment.summac import SummaC
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.evaluators.overlap.rouge import Rouge
from summeter.evaluators.support.evaluator import Support
from summeter.interrupt import checked
from summeter.records import Item


def sentences(count: int, seed: int) -> str:
    """Return sentences of about fifteen invented words."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(3)) for _ in range(2000)]
    return " ".join(" ".join(rng.choices(words, k=15)).capitalize() + "." for _ in range(count))


def rows(file: Path, summaries: dict[str, str], document: str) -> Path:
    """Write a data file with one document."""
    lines = [
        {"doc_id": "d", "system": system, "document": document, "summary": text, "reference": document[:2000]}
        for system, text in summaries.items()
    ]
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return file


class Ended(Exception):
    """The exception that ends the work."""


def ends() -> None:
    raise Ended


@pytest.mark.parametrize("judge", [Support(), Rouge(), SummaC(), SummaC(nearest=1), Fenice()])
def test_every_local_judge_checks_for_interrupts(judge: Evaluator, tmp_path: Path) -> None:
    data = load(rows(tmp_path / "rows.jsonl", {"a": "The boat sank. " + sentences(3, 1)}, sentences(5, 2)))
    ((document, (summary,)),) = data.items()
    tools = Tools(signature="s", networks=networks(judge, classifier=table_nli()))

    async def judged() -> None:
        prepared = await judge.prepare(document, tools)
        with checked(ends):
            await judgments_of(judge, Item(document=document, summary=summary), prepared, tools)

    with pytest.raises(Ended):
        asyncio.run(judged())


def test_a_long_summary_respects_the_time_limit(tmp_path: Path) -> None:
    file = rows(tmp_path / "rows.jsonl", {"long": sentences(3000, 1), "short": sentences(3, 3)}, sentences(200, 2))
    data = load(file)
    begin = time.process_time()
    run = evaluate(data, ["support"], out=tmp_path / "run", item_timeout=1.0)
    assert time.process_time() - begin < 6  # takes about 12 s
    (failure,) = Run(tmp_path / "run").failures()
    assert (failure.system, failure.status) == ("long", "error")
    assert failure.reason.startswith("exceeded the timeout of 1 s per item")
    assert {row.target.system for row in run.judgments() if row.status == "ok"} == {"short"}


ENDED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from summeter.cli.main import main
from summeter.evaluators.support.scorer import LexicalScorer

analyse, begun = LexicalScorer.analyse, []

def interrupted(self, claim, evidence):
    if not begun:
        begun.append(threading.Timer(0.3, os.kill, (os.getpid(), getattr(signal, sys.argv[1]))))
        begun[0].start()
    return analyse(self, claim, evidence)

LexicalScorer.analyse = interrupted
try:
    main(["score", *sys.argv[2:], "-e", "support", "--quiet"])
finally:
    print(time.process_time())
"""


@pytest.fixture(scope="module")
def long_summary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a data file whose only summary takes seconds to judge."""
    return rows(tmp_path_factory.mktemp("data") / "rows.jsonl", {"a": sentences(1500, 1)}, sentences(200, 2))


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_signals_interrupt_local_work(tmp_path: Path, long_summary: Path, sent: str) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", ENDED, sent, str(long_summary), "-o", str(out)]
    ended = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ended.returncode == 130, ended.stderr
    assert "interrupted" in ended.stderr
    assert float(ended.stdout.split()[-1]) < 10  # loading included; takes about 15 s
    assert Run(out).manifest.status == "interrupted"
    assert not list(Run(out).judgments())  # no part of the summary: it is judged when the run is resumed
