"""Add the texts that this release may not pass on: python fetch_documents.py --texts TEXTS -o FOLDER

TEXTS is a JSON Lines file with `id` and `text`, or a folder with a text file a document (ID.txt, or the name that its
origin has); without it, a text is fetched from its origin where that is an address. Each text must have the SHA-256
that the release names. FOLDER becomes a copy of the release with the texts; needs Python alone.
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


def local_texts(place: Path) -> dict[str, str]:
    """Texts by id, or by file name, from a JSON Lines file or a folder."""
    if place.is_dir():
        return {file.name: file.read_text("utf-8") for file in sorted(place.rglob("*")) if file.is_file()}
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines() if line.strip()]
    return {row["id"]: row["text"] for row in rows}


def text_of(document: dict[str, Any], texts: dict[str, str] | None) -> tuple[str | None, str]:
    """The text of a document, or None and why there is none."""
    extra = document["extra"]
    origin = str(extra.get("origin") or "")
    if texts is not None:
        names = (document["id"], f"{document['id']}.txt", origin, origin.rsplit("/", 1)[-1])
        candidates = [texts[name] for name in names if name in texts]
    elif origin.startswith(("https://", "http://")):
        with urllib.request.urlopen(origin, timeout=60) as reply:  # noqa: S310 - an http address
            candidates = [reply.read().decode("utf-8", "replace")]
    else:
        candidates = []
    if not candidates:
        return None, f"no text was given, and its origin ({origin or 'not known'}) is no address"
    for text in candidates:
        for form in (text, text.strip()):
            if hashlib.sha256(form.encode("utf-8")).hexdigest() == extra["sha256"]:
                return form, ""
    return (
        None,
        "the text is another than the one that was used; clean it with `summeter bench source` as in manifest.json",
    )


def main() -> int:
    """Write the copy; 1 where a text is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a JSON Lines file (id, text), or a folder of text files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write; it must not exist")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"{options.output} exists; choose another folder")
    texts = None if options.texts is None else local_texts(options.texts)
    lines, missing = [], []
    for line in (RELEASE / DOCUMENTS).read_text("utf-8").splitlines():
        document = json.loads(line)
        if "withheld" in document.get("extra", {}):
            text, why = text_of(document, texts)
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
