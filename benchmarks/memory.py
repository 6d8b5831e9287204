"""Peak memory and CPU seconds of a run, by number of summaries.

Datasets of N distinct summaries (five systems per document) are generated from the vocabulary of the bundled example.
Every stage runs in a separate process, on one thread:

    load      read the dataset's folder and keep it in memory, as a reference for the other stages
    cold      `evaluate` with support, rouge and abstractiveness, into an empty folder
    resume    the same command when everything is finished
    views     `rescore`: rebuild scores, tables and summary from the judgments
    report    write the page
    score     `summeter score`: all of it in one process, as usual
    judged    `evaluate` with a scripted LLM judge (finesure.fact_check), for a quarter of N
    network   `evaluate` with one small network, if torch and its companions are installed, for a twentieth of N

    python benchmarks/memory.py                          1,250 to 10,000 summaries
    python benchmarks/memory.py --sizes 500 1000 --stages load cold

`peak` is the largest resident set of the process (VmHWM), `CPU` its user and system seconds. The slope is the growth of
a peak per 1,000 summaries, by least squares over the sizes; `beyond the data` is the slope minus that of `load`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "nine_domains" / "summaries.jsonl"
SIZES = (1_250, 2_500, 5_000, 10_000)
SYSTEMS = ("aster", "birch", "cedar", "dogwood", "elder")
DOMAINS = ("news", "meeting", "dialogue")
EVALUATORS = ("support", "rouge", "abstractiveness")
SHARES = {"judged": 4, "network": 20}
"""Stages that run on a fraction of the summaries: 1 / value."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Usage(NamedTuple):
    """Resources of a stage at a size: peak MB, CPU seconds and wall seconds."""

    peak: float
    cpu: float
    wall: float


def rows(count: int, seed: int, systems: Sequence[str] = SYSTEMS) -> Iterator[dict[str, Any]]:
    """Yield flat rows: documents of about 190 words, and summaries of two to five sentences, half of them copied."""
    rng = random.Random(seed)
    words = vocabulary()
    for number in range(-(-count // len(systems))):
        sentences = [sentence(rng, words) for _ in range(12)]
        document = " ".join(sentences)
        reference = " ".join(rng.sample(sentences, 3))
        for place, system in enumerate(systems[: count - number * len(systems)]):
            sentences_of_summary = [
                rng.choice(sentences) if rng.random() < 0.5 else sentence(rng, words)
                for _ in range(2 + (number + place) % 4)
            ]
            yield {
                "doc_id": f"d-{number:05}", "system": system, "domain": DOMAINS[number % len(DOMAINS)],
                "document": document, "summary": " ".join(sentences_of_summary), "reference": reference,
            }  # fmt: skip


def vocabulary() -> list[str]:
    """Return the words of the documents of the bundled example, sorted."""
    return sorted({
        word for line in EXAMPLE.read_text(encoding="utf-8").splitlines()
        for word in re.findall(r"[A-Za-zé€0-9][\w.'-]*\w", json.loads(line)["document"])
    })  # fmt: skip


def sentence(rng: random.Random, words: Sequence[str]) -> str:
    """Return a sentence of 10 to 22 random words."""
    return " ".join(rng.choices(words, k=rng.randint(10, 22))).capitalize() + "."


# The stages, each in a separate process. `work` contains the dataset's folder and the runs.


def make(work: Path, count: int) -> None:
    from summeter.data.dataset import load, save

    save(load(list(rows(count, seed=count))), work / "data", force=True)


def stage_load(work: Path) -> object:
    from summeter.data.dataset import load

    return load(work / "data")


def stage_cold(work: Path) -> object:
    from summeter.engine.api import evaluate

    return evaluate(work / "data", EVALUATORS, out=work / "run")


def stage_views(work: Path) -> object:
    from summeter.engine.runs import rescore

    return rescore(work / "run")


def stage_report(work: Path) -> object:
    from summeter.engine.runs import Run
    from summeter.report import html

    return html([Run(work / "run")], work / "page.html")


def stage_score(work: Path) -> None:
    from summeter.cli.main import main

    names = [part for name in EVALUATORS for part in ("-e", name)]
    sys.argv = ["summeter", "score", str(work / "data"), *names, "-o", str(work / "scored")]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def stage_judged(work: Path) -> object:
    from summeter.engine.api import evaluate
    from summeter.models.providers.provider import PROVIDERS, Provider

    PROVIDERS["bench"] = Provider("bench", client=Hashing, hosted=False)
    return evaluate(work / "data", ["finesure.fact_check"], models="bench/hash", out=work / "judged")


def stage_network(work: Path) -> object:
    """Run SummaC with a BERT of two layers and the letter tokenizer of the tests."""
    from summeter.engine.api import evaluate

    sys.path.insert(0, str(ROOT / "tests"))
    from neural import checkpoints

    checkpoints.classifier(work / "bert", "bert")
    return evaluate(work / "data", ["summac"], models={"nli": f"local/{work / 'bert'}"}, out=work / "network")


class Hashing:
    """An LLM that answers each numbered sentence of a prompt."""

    id = "bench/hash"

    @classmethod
    def open(cls, *_: Any) -> Hashing:
        """Return an instance; there are no settings."""
        return cls()

    async def complete(self, request: Any) -> Any:
        from summeter.models.base import Completion

        prompt = request.messages[-1].content
        verdicts = {
            number: {"reason": "so it says", "category": "entity error" if len(text) % 3 == 0 else "no error"}
            for number, text in re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE)
        }
        return Completion(text=json.dumps(verdicts), finish_reason="stop", model=self.id, tokens_in=500, tokens_out=50)

    async def close(self) -> None:
        """Do nothing: there are no open resources."""


STAGES: dict[str, Callable[[Path], object]] = {
    "load": stage_load, "cold": stage_cold, "resume": stage_cold, "views": stage_views, "report": stage_report,
    "score": stage_score, "judged": stage_judged, "network": stage_network,
}  # fmt: skip


def one(stage: str, work: Path) -> None:
    """Run a stage in this process and print its resources as JSON."""
    start, before = time.perf_counter(), time.process_time()
    kept = STAGES[stage](work)
    taken = Usage(peak_mb(), time.process_time() - before, time.perf_counter() - start)
    del kept
    print("\n" + json.dumps(taken))


def peak_mb() -> float:
    """Return the peak resident set of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def run_stage(stage: str, work: Path) -> Usage:
    """Run a stage in a separate process, and return its resources."""
    command = [sys.executable, __file__, "--one", stage, str(work)]
    got = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    return Usage(*json.loads(got.stdout.splitlines()[-1]))


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the growth of a value per 1,000 summaries, by least squares."""
    mean_n, mean_v = sum(sizes) / len(sizes), sum(values) / len(values)
    spread = sum((n - mean_n) ** 2 for n in sizes)
    return 1000 * sum((n - mean_n) * (v - mean_v) for n, v in zip(sizes, values, strict=True)) / spread


def measure(stages: Sequence[str], sizes: Sequence[int], root: Path) -> dict[str, dict[int, Usage]]:
    """Run all stages at all sizes, and print each result."""
    found: dict[str, dict[int, Usage]] = {stage: {} for stage in stages}
    for size in sizes:
        for share, among in sorted({(SHARES.get(stage, 1), SHARES.get(stage, 1)) for stage in stages}):
            count, work = size // share, root / f"{size}-{among}"
            made = [sys.executable, __file__, "--make", str(count), str(work)]
            subprocess.run(made, check=True, env=os.environ | ONE_THREAD)
            for stage in (one for one in stages if SHARES.get(one, 1) == share):
                taken = found[stage][count] = run_stage(stage, work)
                print(
                    f"{stage:<8} {count:>6,} summaries  peak {taken.peak:7.1f} MB  CPU {taken.cpu:7.1f} s "
                    f"({1000 * taken.cpu / count:6.2f} ms per summary)  wall {taken.wall:7.1f} s", flush=True,
                )  # fmt: skip
            shutil.rmtree(work)
    return found


def show(found: dict[str, dict[int, Usage]]) -> None:
    """Print the slopes, and the ratio of CPU per summary between the largest and the smallest size."""
    data = None
    print("\nstage     MB per 1,000 summaries   beyond the data   CPU per summary, largest/smallest size")
    for stage, by_size in found.items():
        sizes = list(by_size)
        if len(sizes) < 2:
            continue
        grown = slope(sizes, [taken.peak for taken in by_size.values()])
        data = grown if stage == "load" else data
        beyond = "" if data is None else f"{grown - data:8.2f}"
        ratio = (by_size[sizes[-1]].cpu / sizes[-1]) / (by_size[sizes[0]].cpu / sizes[0])
        print(f"{stage:<8} {grown:12.2f} {beyond:>22} {ratio:20.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=None)
    parser.add_argument("--keep", type=Path, help="use this folder instead of a temporary one")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], Path(arguments.one[1]))
        return
    if arguments.make:
        make(Path(arguments.make[1]), int(arguments.make[0]))
        return
    stages = arguments.stages or list(STAGES)
    if "network" in stages and any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        print("network: left out, because torch or transformers is not installed (make neural)")
        stages = [stage for stage in stages if stage != "network"]
    with tempfile.TemporaryDirectory() as made:
        show(measure(stages, sorted(arguments.sizes), arguments.keep or Path(made)))


if __name__ == "__main__":
    main()
