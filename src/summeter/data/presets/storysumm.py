"""StorySumm (Subbiah et al., 2024): faithfulness of summaries of short stories and of their sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from summeter.data.formats import RECORD_ID
from summeter.data.presets.base import LIST, TEXTS, Cells, Count, FileRole, Joined, Preset, renamed, supported, taken
from summeter.data.presets.claims import faithfulness

_STRAY = re.compile(r'(?<=\.",) "(?=[ \t]*\r?$)', re.MULTILINE)


def repair(text: str, warn: Callable[[int, str], None]) -> str:
    """Remove the stray quotation mark that makes the released file invalid JSON; return other texts unchanged."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        strays = list(_STRAY.finditer(text))
        if len(strays) == 1:
            start, end = strays[0].span()
            warn(text.count("\n", 0, start) + 1, "ends with a stray quotation mark, which is ignored")
            return text[:start] + text[end:]
    return text


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"story": "document", "model": "system", "story-id": "doc_id", "split": "cut"})
    sentences = taken(row, "summary", TEXTS, "a list of texts")
    human: dict[str, Any] = faithfulness(row)
    labels = taken(row, "errors", LIST, "a list with one label per sentence")
    if len(labels) == len(sentences):
        human["sentence_labels"] = [None if label is None else supported(label, "errors") for label in labels]
    else:
        counts = f"{len(labels)} labels for {len(sentences)} sentences"
        joined.warn("errors", f"has {counts}; it is unknown which is missing, so they are kept in `errors` only")
        row["errors"] = labels
    row["record"] = row.pop(RECORD_ID)
    return [row | {"summary": " ".join(sentences), "sentences": sentences, "human": human}]


STORYSUMM = Preset(
    name="storysumm",
    about="StorySumm: faithful or not, per summary and per sentence",
    citation="Subbiah et al., 2024",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            ("story", "summary", "errors", "label", "story-id", "model", RECORD_ID),
            "storysumm.json",
            files=("storysumm.json",),
        ),
    ),
    gives="overall.faithfulness, sentence_labels",
    counts=(Count("storysumm.json", 32, 96),),
    convert=_convert,
    repair=repair,
)
