"""BUMP (Ma et al., 2023): reference summaries, and the same with one error put in by people."""

from __future__ import annotations

from collections.abc import Iterator

from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset

_REFERENCE = "reference_summary"


def _convert(joined: Joined) -> Iterator[Cells]:
    shared = {"doc_id": joined.cells["article_id"], "document": joined.cells["article"]}
    references = joined.column(_REFERENCE)
    if not all(isinstance(reference, str) for reference in references):
        raise LayoutError(_REFERENCE, "is not a text, as this layout has it; check the preset")
    for reference in dict.fromkeys(references):
        yield {**shared, "system": "reference", "summary": reference, "human": {"overall": {"faithfulness": 1}}}
    for record in joined.rows:
        kept = {
            name: value
            for name, value in record.cells.items()
            if name not in ("article", "article_id", "id", "edited_summary")
        }
        summary = record.cells["edited_summary"]
        human = {"overall": {"faithfulness": 0}}
        yield {**kept, **shared, "system": str(record.cells["id"]), "summary": summary, "human": human}


BUMP = Preset(
    name="bump",
    about="BUMP: references (1) and edits with one error (0), as overall faithfulness",
    citation="Ma et al., 2023",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            ("id", "article_id", "article", _REFERENCE, "edited_summary", "error_type"),
            "task1_dataset.json or task2_dataset.json",
            files=("task[12]_dataset.json",),
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("task1_dataset.json", 99, 792), Count("task2_dataset.json", 194, 390)),
    group=("article_id",),
    convert=_convert,
)
