"""Time and memory of `summeter view` on a large run: indexing, opening and each filter.

    python benchmarks/view.py [--summaries 100000] [--folder FOLDER]

The run has five systems per document, two judges of sentences, of which one has stored calls, and a judge of key facts:
ten judgments per summary. People labelled a tenth of the documents. FOLDER keeps the run for the next measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory import SYSTEMS, rows

FACTS = 3


def labelled(count: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the data, with key facts, and with labels of people for a tenth of the documents."""
    draw = random.Random(0)
    for number, row in enumerate(rows(count, seed=0)):
        row["sentences"] = [f"{part.removesuffix('.')}." for part in row["summary"].split(". ")]
        people = {"sentence_labels": [int(draw.random() < 0.7) for _ in row["sentences"]]}
        row["key_facts"] = [f"{part}." for part in row["document"].split(". ")[:FACTS]]
        yield row | ({"human": people} if number // len(SYSTEMS) % 10 == 0 else {})


def write(folder: Path, count: int) -> None:
    """Write a run of `count` summaries."""
    from summeter.data.dataset import load, save
    from summeter.records import Judgment, KeyFacts, Span, Target
    from summeter.runs.calls import CallStore
    from summeter.runs.journal import Journal
    from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest
    from summeter.runs.run import CALLS, RunFolder
    from summeter.runs.views import write_views

    flat = folder.with_suffix(".jsonl")
    flat.write_text("".join(f"{json.dumps(row)}\n" for row in labelled(count)), encoding="utf-8")
    data = load(flat)
    folder.mkdir(parents=True)
    save(data, folder / "data")
    flat.unlink()
    checks = [
        JudgeEntry(name=name, signature=f"{name}|judge:made/up|v:1", model="made/up", aspects=("faithfulness",),
                   reduce="share", file=name)
        for name in ("check", "check.second")
    ]  # fmt: skip
    facts = JudgeEntry(name="facts", signature="facts|v:1", aspects=("completeness",), reduce="share", file="facts")
    draw = random.Random(1)
    types = ("entity error", "predicate error", "out-of-article error")

    def sentence(target: dict[str, Any], judge: JudgeEntry, key: str | None) -> Judgment:
        common = {"aspect": "faithfulness", "judge": judge.name, "signature": judge.signature, "model": judge.model}
        common |= {"target": Target(**target), "calls": () if key is None else (key,)}
        if draw.random() < 0.01:
            return Judgment(**common, status="unparsed", reason="the reply is not JSON")
        wrong = draw.random() < 0.2
        evidence = (Span(of="document", start=10, end=90),)
        said = {
            "value": float(not wrong),
            "label": int(not wrong),
            "reason": "the passage says so",
            "evidence": evidence,
        }
        return Judgment(**common, **said, error_type=draw.choice(types) if wrong else None)

    with Journal(folder) as journal, CallStore(folder / CALLS) as store:
        calls = []
        for judge in (*checks, facts):
            for document, summaries in data.items():
                list_id = KeyFacts.of(document.key_facts, "given").id
                for summary in summaries:
                    item = {"document_id": document.id, "system": summary.system}
                    key = f"{document.id}{summary.system}" if judge is checks[0] else None
                    if judge is facts:
                        common = {"aspect": "completeness", "judge": judge.name, "signature": judge.signature}
                        made = [
                            Judgment(target=Target(**item, unit="key_fact", index=at, list_id=list_id), **common,
                                     value=float(label), label=label)
                            for at, label in enumerate(draw.choices((0, 1), k=FACTS))
                        ]  # fmt: skip
                    else:
                        units = range(len(summary.sentences))
                        made = [sentence({**item, "unit": "sentence", "index": at}, judge, key) for at in units]
                    journal.judged(judge, (document.id, summary.system, None), made)
                    if key is not None:
                        prompt = {"messages": [{"role": "user", "content": f"{document.text}\n\n{summary.text}"}]}
                        calls.append((key, json.dumps(prompt), json.dumps({"text": "A reply."}), "made/up"))
                if len(calls) > 1000:
                    store.put_many(calls)
                    calls = []
        store.put_many(calls)
        entry = DataEntry(source="made up", hash=data.hash, documents=len(data.documents), summaries=len(data),
                          splitter=data.card.splitter)  # fmt: skip
        now = "2026-11-28T10:00:00+00:00"
        journal.manifest(Manifest(schema="summeter-run/1", summeter="0.1.0", python="3.11.2", created=now, updated=now,
                                  status="complete", judges=(*checks, facts), data=entry))  # fmt: skip
    write_views(RunFolder(folder))


PAGES = {
    "all": "",
    "a system, highest first": "system=cedar&order=highest+completeness",
    "a type of error by a judge": "judge=check.second&error=entity+error",
    "not judged": "status=unparsed",
    "people and a judge differ": "people=differ",
    "words": "text=council+bridge",
    "words that do not occur": "text=zzzz",
    "everything at once": "system=elder&domain=news&judge=check&error=any&people=differ&text=council",
    "the last page": "page=1000000",
}


def serve(run: Path, cache: Path, *queries: str) -> Iterator[tuple[str, float, float]]:
    """Start the server, and yield the seconds of each page, with the peak memory of the server in MiB at its end."""
    command = [sys.executable, "-m", "summeter", "view", str(run), "--port", "0"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[1]
        for query in queries:
            with urllib.request.urlopen(f"{address}/run/{run.name}?{query}") as reply:
                reply.read()
            peak = Path(f"/proc/{server.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
            yield query, time.perf_counter() - start, int(peak) / 1024
            start = time.perf_counter()
        server.terminate()


def main() -> None:
    """Write the run, and print the seconds and the memory of the first start, the second, and each filter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--summaries", type=int, default=100_000, help="number of summaries")
    parser.add_argument("--folder", type=Path, help="folder that keeps the run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run = (options.folder or Path(name)) / f"run-{options.summaries}"
        if not run.exists():
            write(run, options.summaries)
        for start in ("first start, with indexing", "second start"):
            for at, (query, seconds, mib) in enumerate(serve(run, Path(name) / "cache", *PAGES.values())):
                page = next(title for title, known in PAGES.items() if known == query)
                if start == "second start" or at == 0:
                    print(f"{start if at == 0 else page:<28} {seconds:6.2f} s  {mib:5.0f} MiB")


if __name__ == "__main__":
    main()
