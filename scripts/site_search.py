"""Check that the search of the website finds the page for each of 20 questions among its first three pages.

    python scripts/site_search.py [build/site]

The index is that of the theme, with its boosts of titles, searched in Python.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from lunr import lunr

QUESTIONS = {
    "compare two runs": "report", "rate limit": "running", "injection": "audit", "annotation campaign": "annotate",
    "krippendorff": "meta-people", "labels needed": "meta-systems annotate trust", "csv columns": "data",
    "local server ollama": "local-judge", "latex table": "tables report", "jury": "meta", "prompt my own": "models",
    "resume a run": "running", "cost estimate": "running", "key facts": "finesure", "redaction": "build bench-file",
    "ensemble of judges": "ensemble", "deepeval": "adapters coming-from", "junit": "ci", "langfuse": "adapters trust presets",
    "leaderboard": "leaderboard",
}  # fmt: skip
"""The pages that answer a question, by question."""
SHOWN = 3
FIELDS = ("location", "title", "text")
SEPARATOR = re.compile(r"<[^>]*>|[^\w-]+")
"""What stands between two words: tags, and other characters than letters, digits and hyphens."""


def main(site: Path) -> None:
    """Print the questions whose page is not found, and exit with 1 if there are any."""
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    documents = [
        (
            {name: SEPARATOR.sub(" ", each[name]) if name != "location" else each[name] for name in FIELDS},
            {"boost": each.get("boost", 1.0)},
        )
        for each in found
    ]
    fields = [{"field_name": "title", "boost": 1000}, "text"]
    index = lunr(ref="location", fields=fields, documents=documents)
    missed = []
    for question, answers in QUESTIONS.items():
        pages = dict.fromkeys(Path(each["ref"].partition("#")[0]).stem for each in index.search(question))
        shown = list(pages)[:SHOWN]
        if not set(shown) & set(answers.split()):
            missed.append(f"{question}: {', '.join(shown) or 'nothing'} (wanted: {answers})")
    print("\n".join([*missed, f"{len(QUESTIONS) - len(missed)} of {len(QUESTIONS)} questions found their page"]))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site"))
