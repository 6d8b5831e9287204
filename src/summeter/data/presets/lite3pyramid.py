"""Lite3Pyramid's folders (Zhang and Bansal, 2021): REALSumm and PyrXSum as text files aligned by line."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from pathlib import PurePath

from summeter.data.formats import Row
from summeter.data.presets.base import ROWS, Cells, Count, FileRole, Joined, LayoutError, Preset, supported

_DOMAINS = {"realsumm": "cnndm", "pyrxsum": "xsum"}
"""The corpus of each folder."""


def _folder(row: Row) -> str:
    """Return the folder of the data set, which contains folders of summaries and labels."""
    folder = PurePath(row.file).parent
    return str(folder.parent if folder.name in {"summaries", "labels"} else folder)


def _line(row: Row) -> Hashable:
    return _folder(row), row.line


def _system_and_line(row: Row) -> Hashable:
    return _folder(row), row.stem, row.line


def _fields(text: str) -> list[str]:
    return [field.strip() for field in text.split("\t") if field.strip()]


def _convert(joined: Joined) -> Iterable[Cells]:
    texts = {name: str((joined.first(name) or {}).get("text", "")) for name in ("ids", "documents", "references")}
    facts = _fields(str((joined.first("key_facts") or {}).get("text", "")))
    labels = [supported(label, "labels") for label in _fields(str((joined.first("labels") or {}).get("text", "")))]
    if len(labels) != len(facts):
        raise LayoutError("labels", f"has {len(labels)} labels for {len(facts)} key facts")
    row: Cells = {
        "doc_id": texts["ids"].strip(), "system": joined.row.stem, "document": texts["documents"].strip(),
        "summary": str(joined.cells["text"]).strip(), "reference": texts["references"].strip(), "key_facts": facts,
        "human": {"key_fact_labels": labels},
    }  # fmt: skip
    domain = _DOMAINS.get(PurePath(_folder(joined.row)).name.lower())
    return [row | ({"domain": domain} if domain else {})]


def _lines(name: str, file: str) -> FileRole:
    return FileRole(name, ("text",), file, key=_line, files=(file,), format="lines")


LITE3PYRAMID = Preset(
    name="lite3pyramid",
    about="Lite3Pyramid's REALSumm and PyrXSum: one label per key fact",
    citation="Zhang and Bansal, 2021: Finding a Balanced Degree of Automation for Summary Evaluation (EMNLP)",
    roles=(
        FileRole(ROWS, ("text",), "summaries/*.summary", files=("*.summary",), format="lines"),
        FileRole(
            "labels", ("text",), "labels/*.label", key=_system_and_line, row_key=_system_and_line, files=("*.label",),
            format="lines",
        ),
        _lines("ids", "ids.txt"),
        _lines("documents", "documents.txt"),
        _lines("references", "references.txt"),
        _lines("key_facts", "SCUs.txt"),
    ),
    gives="key_facts, key_fact_labels",
    counts=(Count("data/REALSumm", 100, 2500), Count("data/PyrXSum", 100, 1000)),
    convert=_convert,
)  # fmt: skip
