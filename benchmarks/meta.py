"""Time and memory of studies: from a million judgments to a table of systems, and to correlations.

    python benchmarks/meta.py [--judgments 1000000]

Each part runs in a separate process, so that its peak memory can be measured. "polars" (`pip install polars`) computes
only the means, in bare polars. "plain" computes the table from records, for a tenth of the judgments.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

SYSTEMS, SENTENCES = 20, 5


def write(folder: Path, total: int) -> None:
    """Write `total` judgments of sentences by a judge, and human ratings of the same summaries."""
    documents = max(1, total // (SYSTEMS * SENTENCES))
    draw = random.Random(0)
    with (folder / "judge.jsonl").open("w") as judge, (folder / "gold.jsonl").open("w") as gold:
        for document in range(documents):
            for system in range(SYSTEMS):
                item = {"document_id": f"document-{document}", "system": f"system-{system}", "rival": None}
                for index in range(SENTENCES):
                    value = draw.random()
                    judge.write(json.dumps(row({**item, "unit": "sentence", "index": index}, value, int(value > 0.3))))
                    judge.write("\n")
                rating = float(draw.randint(1, 5))
                about = {**item, "unit": "summary", "index": None}
                gold.write(json.dumps(row(about, rating, None, "expert1", "human.ratings|v:1")) + "\n")


def row(
    target: dict[str, object], value: float, label: int | None, judge: str = "support",
    signature: str = "support|split:rules-2|v:1",
) -> dict[str, object]:  # fmt: skip
    """Return one judgment in its on-disk format."""
    return {
        "target": {**target, "list_id": None}, "aspect": "faithfulness", "judge": judge, "signature": signature,
        "model": None, "value": value, "label": label, "error_type": None,
        "evidence": [{"of": "document", "start": 10, "end": 90}], "reason": "the passage says so", "status": "ok",
        "prepared": None, "calls": [],
    }  # fmt: skip


def table(folder: Path) -> str:
    """Compute a table of systems from judgments: means with intervals, n and missing."""
    from summeter.scoring import JudgmentTable, SystemTable, summary_scores, system_scores

    scores = summary_scores(JudgmentTable.read(folder / "judge.jsonl"), {})
    made = SystemTable(system_scores(scores))
    return f"{len(made)} systems, first {made.rows[0].value:.6f}"


def polars(folder: Path) -> str:
    """Compute the same means in bare polars, without validation, deduplication and intervals."""
    import polars as pl

    target = pl.Struct({"document_id": pl.String, "system": pl.String, "unit": pl.String})
    names = ("aspect", "judge", "signature", "status")
    schema = {"target": target, **dict.fromkeys(names, pl.String), "value": pl.Float64, "label": pl.Float64}
    item = ["judge", "signature", "document_id", "system", "aspect"]
    lines = pl.scan_ndjson(folder / "judge.jsonl", schema=schema).unnest("target")
    scores = lines.filter(pl.col("status") == "ok").group_by(item).agg(pl.col("label").mean())
    means = scores.group_by("system").agg(pl.col("label").mean()).sort("system").collect()
    return f"{len(means)} systems, first {means.row(0)[1]:.6f}"


def plain(folder: Path) -> str:
    """Compute the table of systems from records."""
    from summeter.records import Judgment, read_lines
    from summeter.scoring import SystemTable, summary_scores, system_scores

    made = SystemTable(system_scores(summary_scores(read_lines(folder / "judge.jsonl", Judgment), {})))
    return f"{len(made)} systems, first {made.rows[0].value:.6f}"


def correlations(folder: Path) -> str:
    """Compute correlations by document, with intervals, from judgments and human ratings."""
    from summeter.meta import correlate
    from summeter.scoring import JudgmentTable

    judge, gold = (JudgmentTable.read(folder / f"{name}.jsonl") for name in ("judge", "gold"))
    study = correlate(judge, gold, average="document")
    return ", ".join(f"{one.statistic} {one.value:.4f}" for one in study)


PARTS = {"table": table, "polars": polars, "plain": plain, "correlations": correlations}


def measure(part: str, folder: Path) -> tuple[float, float, float, str]:
    """Return wall time, CPU time, peak MiB and output of a part in a separate process."""
    command = [sys.executable, __file__, "--part", part, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return result["seconds"], result["used"], result["mib"], result["output"]


def main() -> None:
    """Write the judgments, measure each part, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=1_000_000, help="number of judgments")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        start, used = time.perf_counter(), time.process_time()
        output = PARTS[options.part](options.folder)
        seconds, used = time.perf_counter() - start, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "used": used, "mib": peak, "output": output}))
        return
    with tempfile.TemporaryDirectory() as name:
        many, few = Path(name) / "many", Path(name) / "few"
        for folder, total in ((many, options.judgments), (few, options.judgments // 10)):
            folder.mkdir()
            write(folder, total)
        parts = [part for part in ("table", "polars", "correlations") if part != "polars" or find_spec("polars")]
        figures = {part: measure(part, many) for part in parts}
        figures |= {"table, a tenth": measure("table", few), "plain, a tenth": measure("plain", few)}
    for part, (seconds, used, mib, output) in figures.items():
        print(f"{part:<16} {seconds:7.2f} s ({used:.2f} s of CPU)  {mib:6.0f} MiB   {output}")
    if "polars" in figures:
        ratio = figures["table"][1] / figures["polars"][1]
        print(f"the table takes {ratio:.2f} times as long as the means in bare polars")
    else:
        print("polars is not installed (pip install polars), so that its line is omitted")
    print(f"records take {figures['plain, a tenth'][1] / figures['table, a tenth'][1]:.1f} times as long as columns")


if __name__ == "__main__":
    main()
