"""What lies behind a run of a million summaries: its views, studies and compact form, timed and weighed.

The run is generated, not scored: judgments of two judges (`abstractiveness`, one a summary; `rouge`, four) are written
as a journal leaves them. Each act has a process of its own; its peak memory is that of the whole process.

    python benchmarks/views.py                          1,000,000 summaries of 100,000 documents
    python benchmarks/views.py --documents 1000 summary compare
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

ASPECTS = {"abstractiveness": ("abstractiveness",), "rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum")}
ACTS = ("table", "summary", "views", "compare", "report", "info", "compact", "verify", "merge")
SUMMARY = "The mayor said on Monday that the bridge would open again in spring."
DOCUMENT = f"{SUMMARY} Work began two years ago. It has cost four million so far, and more than planned."


def generate(folder: Path, documents: int, systems: int, seed: int = 0) -> Path:
    """Write a run over `documents` with `systems` summaries each, half of which are news; returns its folder."""
    import summeter as sm
    from summeter.data.atomic import write_lines
    from summeter.data.folder import CARD, file_hash
    from summeter.runs.journal import Journal
    from summeter.runs.manifest import Manifest
    from summeter.runs.progress import PROGRESS
    from summeter.runs.run import MANIFEST

    names = [f"system{number}" for number in range(systems)]
    row = {"document": DOCUMENT, "summary": SUMMARY, "reference": DOCUMENT}
    rows = [{"doc_id": "doc0", "system": name, **row} for name in names]
    run = sm.evaluate(rows, list(ASPECTS), out=folder)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    manifest.pop("checksum"), manifest.pop("checksums")
    items = documents * systems
    manifest["counts"] = {"ok": items * sum(map(len, ASPECTS.values()))}
    manifest["data"] |= {"documents": documents, "summaries": items}

    def data(kind: str) -> Iterator[str]:
        template = (folder / "data" / f"{kind}.jsonl").read_text().splitlines()
        for number in range(documents):
            yield from (line.replace('"doc0"', f'"doc{number:06}"') for line in template)

    for kind in ("documents", "summaries"):
        write_lines(folder / "data" / f"{kind}.jsonl", data(kind))
    card = json.loads((folder / "data" / CARD).read_bytes())
    card["counts"] |= {"documents": documents, "summaries": items}
    card["files"] = {name: file_hash(folder / "data" / name) for name in card["files"]}
    (folder / "data" / CARD).write_text(json.dumps(card))
    numbers = random.Random(seed)
    progress: list[Path] = []
    for judge in run.manifest.judges:
        file = folder / "judgments" / f"{judge.file}.jsonl"
        template = [json.loads(line) for line in file.read_text().splitlines()[: len(ASPECTS[judge.name])]]
        heads = {line["aspect"]: json.dumps({**line, "value": "VALUE"}, separators=(",", ":")) for line in template}
        done = folder / f"{PROGRESS}.{judge.name}"
        progress.append(done)
        with file.open("w") as lines, done.open("w") as confirmed:
            for number in range(documents):
                base = numbers.random() / 2
                for place, name in enumerate(names):
                    item = f'"document_id":"doc{number:06}","system":"{name}"'
                    total = 0
                    for head in heads.values():
                        value = round(base + place / 100 + numbers.random() / 3, 6)
                        line = head.replace('"VALUE"', str(value)).replace(
                            '"document_id":"doc0","system":"system0"', item
                        )
                        lines.write(f"{line}\n")
                        total += crc32(f"{line}\n".encode())
                    confirmed.write(
                        f'{{"signature":"{judge.signature}",{item},"rival":null,"judgments":{len(heads)},'
                        f'"checksum":{total & 0xFFFFFFFF},"prepared":null}}\n'
                    )
    with (folder / PROGRESS).open("wb") as whole:
        for part in progress:
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, whole)
            part.unlink()
    with Journal(folder) as journal:
        journal.manifest(Manifest.model_validate(manifest))
    return folder


def act(name: str, folder: Path) -> None:
    """Do one thing with a run, as its command does."""
    from summeter.cli.main import main
    from summeter.runs.run import RunFolder
    from summeter.runs.views import write_views

    if name == "table":
        len(RunFolder(folder).table())
    elif name == "summary":
        print(RunFolder(folder).summary())
    elif name == "views":
        write_views(RunFolder(folder))
    elif name == "compare":
        main(["meta", "compare", str(folder)])
    elif name == "report":
        main(["report", str(folder)])
    elif name == "merge":
        main(["runs", "merge", str(folder), str(folder), "-o", f"{folder}-merged"])
    elif name in {"info", "compact", "verify"}:
        main(["runs", name, str(folder)])
    else:
        raise SystemExit(f"there is no {name!r}; there are: {', '.join(ACTS)}")


def main() -> None:
    """Generate the run, then do each act in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("acts", nargs="*", metavar="ACT", help=f"what to do, of {', '.join(ACTS)} (default: all)")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where the run lies, or is to lie; it is kept")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        before, cpu = time.monotonic(), time.process_time()
        try:
            act(given.inside, given.folder)
        finally:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            took = time.monotonic() - before, time.process_time() - cpu
            print(f"{given.inside:10} {took[0]:8.1f} s {took[1]:8.1f} CPU s {peak:8.0f} MiB", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "run"
        if not (folder / "run.json").exists():
            begin = time.monotonic()
            generate(folder, given.documents, given.systems)
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            print(f"generated in {time.monotonic() - begin:.0f} s, {size / 1e6:,.0f} MB", file=sys.stderr)
        for name in given.acts or ACTS:
            command = [sys.executable, __file__, "--folder", str(folder), "--inside", name]
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
