"""Judge calls by summeter, inspect_ai and deepeval against one local server, in one run.

Each package runs in a separate process, with the interpreter it is installed in, and judges every summary of a set with
one LLM call, over a number of connections. The server answers after 200 ms (calls.py). Each package writes its usual
records (summeter a run folder, inspect_ai an eval log, deepeval its results).

    python -m venv peers && peers/bin/pip install inspect_ai deepeval openai
    python benchmarks/peers.py --inspect peers/bin/python --deepeval peers/bin/python --calls 1000 --connections 64

A package without an interpreter is left out, with a note. Output: wall and CPU seconds after the imports, calls per
second, the share of the ideal rate (connections / delay), and the number of requests to the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

TEXT = "The council met on Tuesday and voted eleven to four for the new bridge. "


def document(number: int) -> str:
    return f"Document {number}: " + TEXT * 40


def summeter(url: str, calls: int, connections: int) -> Callable[[], object]:
    from summeter import evaluate
    from summeter.evaluators import ReasonThenScore

    rows = [{"document": document(n), "summary": f"The council voted {n} times."} for n in range(calls)]
    folder = tempfile.mkdtemp()
    return lambda: evaluate(
        rows, [ReasonThenScore()], models="vllm/bench", out=Path(folder) / "run", base_url=url, concurrency=connections
    )


def inspect(url: str, calls: int, connections: int) -> Callable[[], object]:
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    os.environ |= {"BENCH_API_KEY": "k", "BENCH_BASE_URL": url}
    samples = [Sample(input=document(n), target="4") for n in range(calls)]
    task = Task(dataset=samples, solver=generate(), scorer=includes())
    return lambda: eval(
        task, model="openai-api/bench/bench", max_connections=connections, max_samples=connections, display="none",
        log_dir=tempfile.mkdtemp(), temperature=0.0,
    )  # fmt: skip


def deepeval(url: str, calls: int, connections: int) -> Callable[[], object]:
    folder = tempfile.mkdtemp()
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OPENAI_API_KEY": "k", "DEEPEVAL_RESULTS_FOLDER": folder}
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase, LLMTestCaseParams

    model = GPTModel(model="gpt-4.1", base_url=url, temperature=0)
    metric = GEval(
        name="coherence", model=model, evaluation_steps=["Read the document.", "Judge the summary."],
        evaluation_params=[LLMTestCaseParams.INPUT, LLMTestCaseParams.ACTUAL_OUTPUT], async_mode=True,
    )  # fmt: skip
    cases = [LLMTestCase(input=document(n), actual_output=f"The council voted {n} times.") for n in range(calls)]
    return lambda: evaluate(
        cases, [metric], async_config=AsyncConfig(max_concurrent=connections),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
    )  # fmt: skip


SIDES = {"summeter": summeter, "inspect_ai": inspect, "deepeval": deepeval}


def serve() -> None:
    """Run the server of calls.py with a reply that each package can parse, and a line on stderr per call."""
    import calls

    content = json.dumps({"reason": "The sentences follow one another.", "score": 4})
    body = json.dumps({
        "id": "c", "object": "chat.completion", "created": 1, "model": "bench",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 700, "completion_tokens": 9, "total_tokens": 709},
    }).encode()  # fmt: skip
    calls.ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    sent = calls.Server._send

    def counted(self: calls.Server) -> None:
        sys.stderr.write("request\n")
        sent(self)

    calls.Server._send = counted  # type: ignore[method-assign]
    asyncio.run(calls.serve())


def side(name: str, url: str, calls: int, connections: int) -> None:
    work = SIDES[name](url, calls, connections)
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    spent["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\n" + json.dumps(spent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspect", type=Path, help="interpreter with inspect_ai and openai")
    parser.add_argument("--deepeval", type=Path, help="interpreter with deepeval and openai")
    parser.add_argument("--calls", type=int, default=1000, help="number of calls")
    parser.add_argument("--connections", type=int, default=64, help="number of connections")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.side:
        side(*options.side, options.calls, options.connections)
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    sides = {"summeter": Path(sys.executable), "inspect_ai": options.inspect, "deepeval": options.deepeval}
    ideal = options.connections / 0.2
    print(
        f"{'side':>11} {'wall s':>7} {'calls/s':>8} {'of ideal':>9} {'CPU ms/call':>12} {'peak MB':>8} {'requests':>8}"
    )
    for name, python in sides.items():
        if python is None:
            print(f"{name:>11} left out: no interpreter given")
            continue
        with tempfile.TemporaryFile("w+") as requests, tempfile.TemporaryDirectory() as folder:
            server = subprocess.Popen(
                [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, stderr=requests, text=True
            )
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            size = ["--calls", str(options.calls), "--connections", str(options.connections)]
            done = subprocess.run(
                [python, str(Path(__file__).resolve()), "--side", name, url, *size],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            server.terminate()
            server.wait()
            requests.seek(0)
            count = sum(1 for _ in requests)
        if done.returncode:
            print(f"{name:>11} failed: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
            continue
        spent = json.loads(done.stdout.strip().splitlines()[-1])
        rate = options.calls / spent["wall"]
        print(
            f"{name:>11} {spent['wall']:>7.1f} {rate:>8.0f} {rate / ideal:>9.1%}"
            f" {spent['cpu'] / options.calls * 1000:>12.2f} {spent['peak']:>8.0f} {count:>8}"
        )
    print(f"load {os.getloadavg()[0]:.1f}; {options.connections} connections; server delay 0.2 s")


if __name__ == "__main__":
    main()
