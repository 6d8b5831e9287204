"""Scaling of runs: several workers and many summaries.

    python benchmarks/scale.py cores       two workers on two cores, one process, and two independent processes
    python benchmarks/scale.py slots       64 documents at a time (8 workers of 8) with a sleeping judge, and the ideal
    python benchmarks/scale.py overhead    CPU overhead per document, in one process and with workers
    python benchmarks/scale.py parts       many summaries in 1,000 parts and in 10 parts
    python benchmarks/scale.py evaluators  CPU and bytes on disk per summary, by evaluator
    python benchmarks/scale.py memory      many short summaries, from a flat file to a comparison: seconds, peak memory

`--executor` of cores, slots, overhead and parts is `processes` or `ray`. Ratios compare measurements of the same run.
`at work` excludes the start-up of workers: it is the time from the start of the first judgment to the end of the last.
`memory --summaries 1000000 --workers 2` takes about two hours and 20 GB of disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SYSTEMS = tuple(f"system-{number}" for number in range(10))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]


# ---- cores, slots, overhead: runs in separate processes ----


class RunTimes(NamedTuple):
    """Times of a run in seconds: wall, at work, CPU of the driver, CPU of its workers."""

    wall: float
    work: float
    driver: float
    workers: float
    began: float = 0.0
    ended: float = 0.0


def rows(documents: int, first: int = 0, summaries: int = 10) -> Iterator[dict[str, str]]:
    """Yield rows with short texts, so that the time is that of the evaluator."""
    for number in range(first, first + documents):
        for system in SYSTEMS[:summaries]:
            text = f"It rained on day {number}. Everybody stayed at home and read a book."
            yield {"doc_id": f"d{number:06}", "system": system, "document": text, "summary": "It rained."}


def executor_of(kind: str, workers: int, size: int | None) -> Any:
    """Return an executor, or None for the current process."""
    if kind == "none":
        return None
    if kind == "processes":
        from summeter.engine.executors.processes import ProcessExecutor

        return ProcessExecutor(workers=workers, documents_per_part=size)
    from summeter.engine.executors.ray import RayExecutor

    return RayExecutor(workers=workers, documents_per_part=size)


def one_run(settings: dict[str, Any]) -> RunTimes:
    """Judge in this process or with workers, and return the times."""
    from scale_judges import Sleeping, Spinning

    from summeter.data.dataset import load
    from summeter.engine.api import evaluate_async

    judge = {"spinning": Spinning, "sleeping": Sleeping}[settings["judge"]](seconds=settings["seconds"])
    data = load(list(rows(settings["documents"], settings["first"], settings["summaries"])))
    with tempfile.TemporaryDirectory() as place:
        begin, cpu = time.time(), time.process_time()
        run = asyncio.run(
            evaluate_async(
                data, [judge], out=Path(place) / "run", concurrency=settings["slots"],
                executor=executor_of(settings["executor"], settings["workers"], settings["size"]),
            )
        )  # fmt: skip
        wall, driver = time.time() - begin, time.process_time() - cpu
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        judgments = run.judgments()
        assert len(judgments) == len(data.summaries), "not everything was judged"
        began = min(float(row.value or 0) for row in judgments)
        ended = max(float(row.reason or 0) for row in judgments)
    return RunTimes(wall, ended - began, driver, children.ru_utime + children.ru_stime, began, ended)


def start(**settings: Any) -> subprocess.Popen[str]:
    given = {"first": 0, "summaries": 10, "executor": "none", "workers": 1, "slots": 1, "size": None, **settings}
    path = os.pathsep.join([str(ROOT / "benchmarks"), str(ROOT / "src")])
    return subprocess.Popen(
        [sys.executable, __file__, "one", json.dumps(given)], stdout=subprocess.PIPE, text=True,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> RunTimes:
    output, _ = process.communicate()
    if process.returncode:
        sys.exit(f"a run ended with {process.returncode}")
    return RunTimes(*json.loads(output.splitlines()[-1]))


def cores(arguments: argparse.Namespace) -> None:
    documents, each = arguments.documents, arguments.seconds / 10
    about = {"judge": "spinning", "seconds": each}
    alone = end(start(documents=documents, **about))
    halves = [start(documents=documents // 2, first=first, **about) for first in (0, documents // 2)]
    taken = [end(half) for half in halves]
    ceiling = max(half.ended for half in taken) - min(half.began for half in taken)
    both = end(start(documents=documents, executor=arguments.executor, workers=2, slots=2, **about))
    print(f"{documents} documents of {arguments.seconds:g} s of CPU, {os.cpu_count()} cores, {arguments.executor}")
    print(f"{'':<28}{'s at work':>10}{'times one process':>20}{'s with start-up':>17}")
    for name, work, wall in (
        ("one process", alone.work, alone.wall), ("two that share nothing", ceiling, max(half.wall for half in taken)),
        ("one run of two workers", both.work, both.wall),
    ):  # fmt: skip
        print(f"{name:<28}{work:>10.1f}{alone.work / work:>20.2f}{wall:>17.1f}")
    print(
        f"goal: at least 1.85 times one process; here {alone.work / both.work:.2f}, ceiling {alone.work / ceiling:.2f}"
    )


def slots(arguments: argparse.Namespace) -> None:
    places = arguments.workers * arguments.slots
    documents = places * arguments.rounds
    ideal = arguments.rounds * 10 * arguments.seconds
    about = {"judge": "sleeping", "seconds": arguments.seconds, "documents": documents}
    alone = end(start(slots=places, **about))
    spread = end(
        start(executor=arguments.executor, workers=arguments.workers, slots=arguments.slots, **about)
    )  # fmt: skip
    print(
        f"{documents} documents of 10 summaries that sleep {1000 * arguments.seconds:g} ms each, in sequence; "
        f"{arguments.workers} workers of {arguments.slots}, {arguments.executor}"
    )
    print(f"{'':<28}{'s at work':>10}{'of ideal':>10}{'s with start-up':>17}")
    for name, work, wall in (
        ("ideal", ideal, ideal), ("one process", alone.work, alone.wall), ("workers", spread.work, spread.wall),
    ):  # fmt: skip
        print(f"{name:<28}{work:>10.2f}{ideal / work:>10.2f}{wall:>17.1f}")
    print(f"goal: at least .9 of ideal; here {ideal / spread.work:.2f}")


def overhead(arguments: argparse.Namespace) -> None:
    """Print CPU per document, from the difference of two runs, so that start-up cancels out.

    `each alone`: every document is a part, so that the difference to the previous line is the overhead of a part.
    """
    few, many = arguments.documents, 3 * arguments.documents
    print(f"{many} documents less {few}, without an evaluator: CPU milliseconds per document")
    print(f"{'':<38}{'driver':>10}{'workers':>10}{'both':>10}")
    for summaries in (1, 10):
        for name, kind, size in (
            ("one process", "none", None),
            ("2 workers", arguments.executor, None),
            ("2 workers, each alone", arguments.executor, 1),
        ):
            settings = {
                "judge": "sleeping",
                "seconds": 0.0,
                "executor": kind,
                "workers": 2,
                "slots": 8,
                "size": size,
            }
            less, more = (end(start(documents=n, summaries=summaries, **settings)) for n in (few, many))
            driver, others = (
                1000 * (b - a) / (many - few) for a, b in ((less.driver, more.driver), (less.workers, more.workers))
            )
            label = f"{name}, {summaries} summaries"
            print(f"{label:<38}{driver:>10.2f}{others:>10.2f}{driver + others:>10.2f}", flush=True)
    print("goal: at most 5 more with workers than in one process (Ray: the driver only)")


def parts(arguments: argparse.Namespace) -> None:
    """Print the overhead of parts: the same work in many parts and in few, with two workers."""
    documents = arguments.summaries // 10
    print(f"{arguments.summaries:,} summaries of {documents:,} documents, without an evaluator; 2 workers")
    print(f"{'parts':>8}{'wall s':>10}{'CPU s':>10}")
    walls = []
    for many in (10, 1_000):
        taken = end(
            start(
                documents=documents, judge="sleeping", seconds=0.0, executor=arguments.executor, workers=2, slots=8,
                size=max(1, documents // many),
            )
        )  # fmt: skip
        walls.append(taken.wall)
        print(f"{many:>8,}{taken.wall:>10.1f}{taken.driver + taken.workers:>10.1f}", flush=True)
    print(f"goal: at most 1.2 times; here {walls[1] / walls[0]:.2f}")


# ---- evaluators ----


def one_judge(name: str, count: int) -> tuple[float, float, float]:
    """Return CPU seconds of a run, bytes of its judgments and bytes of its stored calls."""
    from memory import Hashing
    from memory import rows as texts

    from summeter.data.dataset import load
    from summeter.engine.api import evaluate
    from summeter.models.providers.provider import PROVIDERS, Provider

    PROVIDERS["bench"] = Provider("bench", client=Hashing, hosted=False)
    data = load(list(texts(count, seed=count, systems=SYSTEMS)))
    with tempfile.TemporaryDirectory() as place:
        run, before = Path(place) / "run", time.process_time()
        evaluate(data, [name], models="bench/hash" if name.startswith("finesure") else None, out=run)
        took = time.process_time() - before
        calls = sum(file.stat().st_size for file in run.glob("calls.sqlite*"))
        return took, sum(file.stat().st_size for file in (run / "judgments").iterdir()), calls


def evaluators(arguments: argparse.Namespace) -> None:
    few, many = arguments.summaries, 3 * arguments.summaries
    print(f"{many:,} summaries less {few:,}, ten per document of about 190 words; one core")
    print(f"{'':<28}{'CPU ms per summary':>18}{'summaries/s':>13}{'bytes judged':>14}{'bytes of calls':>16}")
    for name in arguments.judge:
        less, more = (
            json.loads(
                subprocess.run(
                    [sys.executable, __file__, "one-judge", name, str(count)], stdout=subprocess.PIPE, text=True,
                    env=os.environ | ONE_THREAD, check=True,
                ).stdout.splitlines()[-1]
            )
            for count in (few, many)
        )  # fmt: skip
        seconds, judged, calls = ((b - a) / (many - few) for a, b in zip(less, more, strict=True))
        print(f"{name:<28}{1000 * seconds:>18.2f}{1 / seconds:>13,.0f}{judged:>14,.0f}{calls:>16,.0f}", flush=True)


# ---- memory ----


class Peak(NamedTuple):
    """Resources of a command: wall and CPU seconds, peak MiB of its main process, of its largest worker, in total."""

    seconds: float
    cpu: float
    driver: float
    worker: float
    together: float


def watched(*words: str) -> Peak:
    """Run a command of summeter, and sample its processes five times per second."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "summeter", *words], env=os.environ | ONE_THREAD, stdout=subprocess.DEVNULL
    )
    driver, worker, together = 0.0, 0.0, 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    while process.poll() is None:
        sizes = {pid: resident(pid) for pid in family(process.pid)}
        driver = max(driver, sizes.get(process.pid, (0.0, 0.0))[1])
        worker = max([worker, *(peak for pid, (_, peak) in sizes.items() if pid != process.pid)])
        together = max(together, sum(now for now, _ in sizes.values()))
        time.sleep(0.2)
    if process.returncode:
        sys.exit(f"summeter {' '.join(words)}: exit code {process.returncode}")
    seconds, usage = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime - used.ru_utime + usage.ru_stime - used.ru_stime
    return Peak(seconds, cpu, driver, worker, together)


def family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    pids, place = [pid], 0
    while place < len(pids):
        for tasks in Path(f"/proc/{pids[place]}/task").glob("*/children"):
            try:
                pids += [int(child) for child in tasks.read_text().split()]
            except OSError:  # it ended meanwhile
                continue
        place += 1
    return pids


def resident(pid: int) -> tuple[float, float]:
    """Return current and peak memory of a process in MiB; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    found = [re.search(rf"{name}:\s+(\d+) kB", text) for name in ("VmRSS", "VmHWM")]
    now, peak = (int(each[1]) / 1024 if each else 0.0 for each in found)
    return now, peak


def rated_rows(documents: int) -> Iterator[dict[str, Any]]:
    """Yield rows of short texts by ten systems; three people rated two aspects of every tenth document."""
    for number in range(documents):
        rng = random.Random(number)

        def sentence(rng: random.Random = rng) -> str:
            return f"{' '.join(f'word{rng.randrange(20)}' for _ in range(8)).capitalize()}."

        sentences = [sentence() for _ in range(6)]
        for system in SYSTEMS:
            row: dict[str, Any] = {
                "doc_id": f"d-{number:06}",
                "system": system,
                "domain": ("news", "meeting", "dialogue")[number % 3],
                "document": " ".join(sentences),
                "summary": f"{rng.choice(sentences)} {sentence()}",
                "reference": " ".join(sentences[:2]),
            }
            if number % 10 == 0:
                cells = {
                    aspect: {f"a{n}": rng.randint(1, 5) for n in range(3)} for aspect in ("coherence", "relevance")
                }
                row["human"] = {"ratings": cells}
            yield row


def memory(arguments: argparse.Namespace) -> None:
    print(
        f"{'summaries':>10} {'stage':<22} {'seconds':>9} {'CPU s':>9} {'CPU s per 1,000':>16} {'driver MiB':>11} "
        f"{'worker MiB':>11} {'all MiB':>8} {'files MiB':>10}"
    )
    paces: dict[str, list[float]] = {}
    for count in sorted({arguments.beside, arguments.summaries}):
        place = Path(tempfile.mkdtemp(prefix="summeter-scale-", dir=arguments.at))
        flat, data, halves, run, merged = (place / name for name in ("flat.jsonl", "data", "halves", "run", "merged"))
        documents = count // len(SYSTEMS)
        with flat.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rated_rows(documents))
        judge = [word for name in arguments.judge for word in ("-e", name)]
        judge += ["--quiet", *(["--workers", str(arguments.workers)] if arguments.workers else [])]
        half = -(-documents // 2)
        parts = [(halves / f"part-{number:05}.jsonl", place / f"half{number}") for number in range(2)]
        stages = {
            "data import": ["data", "import", str(flat), "-o", str(data)],
            "data shard": ["data", "shard", str(data), "-o", str(halves), "--documents", str(half)],
            "score": ["score", str(data), *judge, "-o", str(run)],
            "score again": ["score", str(data), *judge, "-o", str(run)],
            "score the first half": ["score", str(parts[0][0]), *judge, "-o", str(parts[0][1])],
            "score the second half": ["score", str(parts[1][0]), *judge, "-o", str(parts[1][1])],
            "runs merge": ["runs", "merge", *(str(part) for _, part in parts), "-o", str(merged)],
            "rescore": ["rescore", str(merged)],
            "report": ["report", str(merged), "-o", str(place / "report.html")],
            "meta compare": ["meta", "compare", str(merged), "--json"],
            "runs export": ["runs", "export", str(merged), "-o", str(place / "export")],
        }
        for stage, words in stages.items():
            if arguments.stages and stage not in arguments.stages:
                continue
            peak = watched(*words)
            size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 2**20
            paces.setdefault(stage, []).append(1000 * peak.cpu / count)
            print(
                f"{count:>10,} {stage:<22} {peak.seconds:>9.1f} {peak.cpu:>9.1f} {paces[stage][-1]:>16.2f} "
                f"{peak.driver:>11.0f} {peak.worker:>11.0f} {peak.together:>8.0f} {size:>10.0f}",
                flush=True,
            )
        if not arguments.keep:
            shutil.rmtree(place)
    for stage, each in paces.items():
        if len(each) == 2:
            print(f"{stage}: CPU per summary is {each[1] / each[0]:.2f} times that with {arguments.beside:,}")


def main(given: Sequence[str] | None = None) -> None:
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one_run(json.loads(sys.argv[2]))))
        return
    if sys.argv[1:2] == ["one-judge"]:
        print(json.dumps(one_judge(sys.argv[2], int(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(required=True, metavar="MODE")
    kinds = argparse.ArgumentParser(add_help=False)
    kinds.add_argument("--executor", choices=("processes", "ray"), default="processes")
    mode = modes.add_parser("cores", parents=[kinds])
    mode.set_defaults(run=cores)
    mode.add_argument("--documents", type=int, default=40)
    mode.add_argument("--seconds", type=float, default=2.0, help="CPU seconds per document")
    mode = modes.add_parser("slots", parents=[kinds])
    mode.set_defaults(run=slots)
    mode.add_argument("--workers", type=int, default=8)
    mode.add_argument("--slots", type=int, default=8, help="slots per worker")
    mode.add_argument("--rounds", type=int, default=40, help="documents per slot")
    mode.add_argument("--seconds", type=float, default=0.05, help="seconds of sleep per summary")
    mode = modes.add_parser("overhead", parents=[kinds])
    mode.set_defaults(run=overhead)
    mode.add_argument("--documents", type=int, default=1_000)
    mode = modes.add_parser("parts", parents=[kinds])
    mode.set_defaults(run=parts)
    mode.add_argument("--summaries", type=int, default=100_000)
    mode = modes.add_parser("evaluators")
    mode.set_defaults(run=evaluators)
    mode.add_argument("--summaries", type=int, default=1_000)
    mode.add_argument(
        "--judge", nargs="+", default=["abstractiveness", "rouge", "length", "support", "finesure.fact_check"]
    )
    mode = modes.add_parser("memory")
    mode.set_defaults(run=memory)
    mode.add_argument("--summaries", type=int, default=100_000)
    mode.add_argument("--beside", type=int, default=10_000, help="size of the smaller run for comparison")
    mode.add_argument("--judge", nargs="+", default=["length"])
    mode.add_argument("--workers", type=int, default=0, help="number of workers (0: one process)")
    mode.add_argument("--stages", nargs="+", metavar="STAGE", help="stages of the table to run (default: all)")
    mode.add_argument("--at", type=Path, help="folder with enough disk space (default: the temporary folder)")
    mode.add_argument("--keep", action="store_true", help="keep the files")
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
