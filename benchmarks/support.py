"""`support` by words and with its network, beside bare ONNX Runtime on the same pairs: seconds per 1,000 summaries.

    OMP_NUM_THREADS=1 python benchmarks/support.py [--repeats 1]

The data are the bundled example's (nine domains, 72 summaries; only time is measured on it). Each line runs in a
process of its own. Seconds are those of the processor, so that other work on the machine bears little on them, and of a
thousand summaries those of the example times 1000/72. summeter's lines are whole runs: reading, splitting, words,
network, reasons, judgments on disk. "bare" puts the same pairs, already made, through the same model.onnx one by one,
tokens included, and nothing else. Memory is the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SUMMARIES = 72


def measured(line: str, pairs: Path) -> dict[str, Any]:
    """What a line takes, in this process."""
    if line == "bare":
        seconds, count = bare(pairs)
    else:
        seconds, count = whole(line, pairs)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"line": line, "seconds": seconds, "pairs": count, "megabytes": memory}


def whole(line: str, pairs: Path) -> tuple[float, int]:
    """A run; the pairs that its network was asked are written for the bare line."""
    from summeter.cli.example import bundled
    from summeter.engine.api import evaluate
    from summeter.models.local.network import LocalNetwork
    from summeter.models.networks import Classify

    asked: dict[tuple[str, ...], None] = {}
    ask = LocalNetwork.ask

    async def noted(self: LocalNetwork, requests: Any) -> Any:
        asked.update(dict.fromkeys(request.texts for request in requests if isinstance(request, Classify)))
        return await ask(self, requests)

    setattr(LocalNetwork, "ask", noted)  # noqa: B010 - to see what is asked
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        evaluate(bundled(), [f"support[network={str(line == 'joint').lower()}]"], out=Path(folder) / "run")
        seconds = time.process_time() - start
    if asked:
        pairs.write_text(json.dumps(list(asked)), encoding="utf-8")
    return seconds, len(asked)


def bare(pairs: Path) -> tuple[float, int]:
    """The pairs through ONNX Runtime."""
    from summeter.evaluators.support.network import MODEL
    from summeter.models.local.opened import open_model
    from summeter.models.networks import Framing

    asked = [tuple(pair) for pair in json.loads(pairs.read_text("utf-8"))]
    opened = open_model(MODEL, "classifier")
    start = time.process_time()
    for pair in opened.tokens.inputs(asked, Framing()):
        batch = opened.tokens.padded([pair])
        opened.backend.logits(*batch)
    return time.process_time() - start, len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1, help="the fastest of so many")
    parser.add_argument("--line", choices=("words", "joint", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.line:
        print(json.dumps(measured(arguments.line, arguments.pairs)))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    with tempfile.TemporaryDirectory() as folder:
        own = ["--pairs", f"{folder}/pairs.json"]
        print(f"{'line':6} {'s/1000':>8} {'s/example':>10} {'pairs':>6} {'ms/pair':>8} {'MB':>6}")
        for line in ("words", "joint", "bare"):
            command = [sys.executable, __file__, "--line", line, *own]
            rows = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
                for _ in range(arguments.repeats)
            ]
            row = min(rows, key=lambda each: float(each["seconds"]))
            seconds, count = row["seconds"], row["pairs"]
            each = f"{1000 * seconds / count:8.2f}" if count else f"{'':8}"
            print(
                f"{line:6} {seconds * 1000 / SUMMARIES:8.1f} {seconds:10.2f} {count:6} {each} {row['megabytes']:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
