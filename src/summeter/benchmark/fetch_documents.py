"""Add the texts that this release may not pass on: python fetch_documents.py --texts TEXTS -o FOLDER

TEXTS is a JSON Lines file with `text` (the documents.jsonl of the step `source`, say), or a folder of text files:
a text is known by the SHA-256 that the release names, whatever its file is called. Without --texts, a text is fetched
from its origin where that is an address. FOLDER becomes a copy of the release with the texts; needs Python alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

RELEASE = Path(__file__).resolve().parent
DOCUMENTS = "documents.jsonl"


def forms(text: str) -> dict[str, str]:
    """A text as it stands and without blanks around it, by SHA-256."""
    return {hashlib.sha256(form.encode("utf-8")).hexdigest(): form for form in (text, text.strip())}


def lines_of(file: Path) -> list[str]:
    """The lines of a JSON Lines file. A text may hold other separators, such as U+2028, where str.splitlines cuts."""
    return [line for line in file.read_text("utf-8").split("\n") if line.strip()]


def local_texts(place: Path) -> dict[str, str]:
    """The texts of a JSON Lines file or a folder, by SHA-256."""
    if place.is_dir():
        texts = [file.read_text("utf-8", "replace") for file in sorted(place.rglob("*")) if file.is_file()]
    else:
        texts = [json.loads(line)["text"] for line in lines_of(place)]
    return {sealed: form for text in texts for sealed, form in forms(text).items()}


def text_of(extra: dict[str, Any], texts: dict[str, str] | None) -> tuple[str | None, str]:
    """The text of a document, or None and why there is none."""
    origin = str(extra.get("origin") or "not known")
    if texts is None:
        if not origin.startswith(("https://", "http://")):
            return None, f"its origin ({origin}) is no address; give --texts"
        with urllib.request.urlopen(origin, timeout=60) as reply:  # noqa: S310 - an http address
            texts = forms(reply.read().decode("utf-8", "replace"))
    if extra["sha256"] in texts:
        return texts[extra["sha256"]], ""
    return None, f"no text has its SHA-256 (origin: {origin}); clean it as the step source in manifest.json did"


def main() -> int:
    """Write the copy; 1 where a text is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a JSON Lines file (text), or a folder of text files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write; it must not exist")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"{options.output} exists; choose another folder")
    texts = None if options.texts is None else local_texts(options.texts)
    lines, missing = [], []
    for line in lines_of(RELEASE / DOCUMENTS):
        document = json.loads(line)
        if "withheld" in document.get("extra", {}):
            text, why = text_of(document["extra"], texts)
            if text is None:
                missing.append(f"{document['id']}: {why}")
            else:
                document["text"] = text
                line = json.dumps(document, ensure_ascii=False)  # noqa: PLW2901 - the line as it is written
        lines.append(line)
    shutil.copytree(RELEASE, options.output)
    (options.output / DOCUMENTS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for reason in missing:
        sys.stderr.write(f"{reason}\n")
    sys.stdout.write(
        f"{options.output}: {len(missing)} texts are missing; before summeter reads it, seal it again:\n"
        f"  summeter data import {options.output} -o {options.output} --force\n"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
