"""Add the texts that are withheld from this release: python fetch_documents.py --texts TEXTS -o FOLDER

TEXTS is a JSON Lines file with the field `text` (such as documents.jsonl of the step `source`), or a folder of text
files. Texts are identified by the SHA-256 in the release, not by file name. Without --texts, a text is downloaded from
its origin if that is a URL. FOLDER becomes a copy of the release with the texts. Requires only Python.
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
    """Return a dict from SHA-256 hashes to the text as is and stripped of surrounding whitespace."""
    return {hashlib.sha256(form.encode("utf-8")).hexdigest(): form for form in (text, text.strip())}


def lines_of(file: Path) -> list[str]:
    """Return the lines of a JSON Lines file; str.splitlines would also split at U+2028 within a text."""
    return [line for line in file.read_text("utf-8").split("\n") if line.strip()]


def local_texts(path: Path) -> dict[str, str]:
    """Return a dict from SHA-256 hashes to the texts of a JSON Lines file or a folder."""
    if path.is_dir():
        texts = [file.read_text("utf-8", "replace") for file in sorted(path.rglob("*")) if file.is_file()]
    else:
        texts = [json.loads(line)["text"] for line in lines_of(path)]
    return {sha256: form for text in texts for sha256, form in forms(text).items()}


def text_of(extra: dict[str, Any], texts: dict[str, str] | None) -> tuple[str | None, str]:
    """Return the text of a document, or None and the reason."""
    origin = str(extra.get("origin") or "not known")
    if texts is None:
        if not origin.startswith(("https://", "http://")):
            return None, f"its origin ({origin}) is not a URL; give --texts"
        with urllib.request.urlopen(origin, timeout=60) as reply:  # noqa: S310 - an http address
            texts = forms(reply.read().decode("utf-8", "replace"))
    if extra["sha256"] in texts:
        return texts[extra["sha256"]], ""
    return None, f"no text has its SHA-256 (origin: {origin}); clean the text like the step source in manifest.json"


def main() -> int:
    """Write the copy. Return 1 if a text is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a JSON Lines file (field text), or a folder of text files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write; it must not exist")
    options = parser.parse_args()
    if options.output.exists():
        parser.error(f"{options.output} exists. Choose another folder")
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
        f"{options.output}: {len(missing)} texts are missing. Renew its hashes before reading it with summeter:\n"
        f"  summeter data import {options.output} -o {options.output} --force\n"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
