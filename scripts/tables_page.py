"""Write reports/tables.md: every table of `summeter table` once, with real output.

    python scripts/tables_page.py DATA [-o reports/tables.md]

DATA is the folder of real annotated data that scripts/reproduce_shen2023.py also reads. The page contains numbers only.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import summeter as sm
from summeter import __version__
from summeter.benchmark.protocol import Config, run_protocol
from summeter.meta.papers import PAPERS
from summeter.runs.run import RunFolder
from summeter.tables import Table, document

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
EXAMPLE = EXAMPLES / "nine_domains" / "summaries.jsonl"
ABOUT = {
    "nine": "the bundled example of nine domains, judged by `support` and `rouge`",
    "realsumm": "REALSumm, scored by `rouge`",
    "samples": "the replies of GPT-4o that FineSurE released as samples (10 summaries a task)",
    "protocol": "the made-up rows of examples/aggrefact, judged by `support`",
    "ratings": "the RTS and MCQ replies of ChatGPT released by Shen et al., read as in their code",
    "pairs": "the head-to-head replies of ChatGPT for three pairs, released by Shen et al.",
    "repeats": "the 300 MCQ questions that Shen et al. asked twice",
    "masked": "the bookings of the bundled example and copies of them with masked numbers, judged by `support`",
    "claims": "the sentences of the example's references, against its key facts",
}
DATA = {
    "finesure.1": "samples", "finesure.2": "samples", "finesure.3": "realsumm", "finesure.4": "repeats",
    "finesure.5": "nine", "finesure.6": "nine", "finesure.7": "samples", "shen2023.22": "pairs",
    "summqual.2": "ratings", "summqual.1": "nine", "unisumeval.2": "samples", "unisumeval.3": "samples",
    "unisumeval.5": "masked", "fenice.1": "claims", "fenice.2": "claims",
}  # fmt: skip
"""The data of each table; by default, that of its paper in `PAPER`."""
PAPER = {"unisumeval": "nine", "fenice": "protocol", "shen2023": "ratings"}


def runs_of(data: Path, work: Path) -> Mapping[str, list[RunFolder]]:
    """Make the runs of all tables."""
    imported: dict[str, list[RunFolder]] = {}
    for name, flat, replies in (
        ("samples", "finesure_samples", "finesure_samples.outputs"),
        ("ratings", "shen2023", "shen2023.outputs"),
        ("pairs", "shen2023", "shen2023.h2h"),
    ):
        loaded = sm.load(data / f"{flat}.jsonl.gz")
        sm.import_outputs(loaded, data / f"{replies}.jsonl.gz", work / name, "legacy")
        imported[name] = [sm.Run(work / name)]
    config = Config(protocol="aggrefact", data="aggre_fact_final.csv", evaluators=["support"], resamples=0)
    run_protocol(config, work / "protocol", base=EXAMPLES / "aggrefact")
    with gzip.open(data / "shen2023.outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        by_id: dict[tuple[str, ...], list[str]] = {}
        for line in lines:
            row = json.loads(line)
            by_id.setdefault(tuple(row[key] for key in ("doc_id", "system", "evaluator", "aspect")), []).append(line)
    for number in (0, -1):
        raw = work / f"asked{number}.jsonl"
        raw.write_text("".join(found[number] for found in by_id.values() if len(found) > 1), encoding="utf-8")
        sm.import_outputs(imported["ratings"][0].data, raw, work / f"repeat{number}", "legacy")
    rows = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    masked, plain = work / "masked.jsonl", work / "plain.jsonl"
    with masked.open("w", encoding="utf-8") as file:
        for row in (row for row in rows if row["domain"] == "booking"):
            copy = json.loads(re.sub(r"(?<=[a-z] )\d+", "<CODE_1>", json.dumps(row)))
            marks = {"doc_id": f"{row['doc_id']}-masked", "original": row["doc_id"], "redacted": "yes"}
            file.writelines(json.dumps(each) + "\n" for each in (row | {"redacted": "no"}, row | copy | marks))
    plain.write_text("".join(json.dumps(row | {"key_facts": None, "human": None}) + "\n" for row in rows), "utf-8")
    references = {row["doc_id"]: row["reference"] for row in rows}.values()
    rules = [{"match": text[:80], "reply": {"key facts": re.split(r"(?<=\.) ", text)}} for text in references]
    (work / "replies.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    with contextlib.chdir(work):  # so that the signature has no path
        claims = sm.evaluate(
            plain, ["finesure.key_facts"], models={"judge": "scripted/replies.jsonl"}, out=work / "claims"
        )
    return {
        **imported,
        "masked": [sm.evaluate(masked, ["support"], out=work / "masked")],
        "claims": [claims],
        "nine": [sm.evaluate(EXAMPLE, ["support", "rouge"], out=work / "nine")],
        "realsumm": [sm.evaluate(data / "realsumm.jsonl.gz", ["rouge"], out=work / "realsumm")],
        "protocol": [sm.Run(work / "protocol" / "run")],
        "repeats": [sm.Run(work / f"repeat{number}") for number in (0, -1)],
    }


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Write every table of `summeter table` once.")
    parser.add_argument("data", type=Path, help="folder of real annotated data")
    parser.add_argument("-o", "--output", type=Path, default=Path("reports/tables.md"), help="output file")
    options = parser.parse_args()
    about = (
        f"Generated by `python scripts/tables_page.py DATA` with summeter {__version__}; do not edit. The layout of each "
        "table is that of the paper. The values are those of the data named below it, and not the paper's."
    )
    parts: list[Table | str] = [about]
    with tempfile.TemporaryDirectory() as folder:
        runs = runs_of(options.data, Path(folder))
        for name in PAPERS:
            source = DATA.get(name) or PAPER[name.partition(".")[0]]
            found = sm.table(name, runs[source], sm.load(EXAMPLE) if source == "claims" else None)
            parts += [found.table(), f"Data: {ABOUT[source]}.", *found.notes()]
    options.output.write_text(document(parts, "markdown", "Tables of papers"), encoding="utf-8")


if __name__ == "__main__":
    main()
