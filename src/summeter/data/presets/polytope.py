"""PolyTope (Huang et al., 2020): scores of 0 to 100, and the issues that take points off them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset, Record, never, renamed

_FILE = "Human_Annotation_Summarization_"


def _segment(record: Record) -> Hashable:
    """A row's number counts within its system's file; one sheet may have 7 where the other has 7.0."""
    number = record.cells.get("ID")
    return record.file, int(number) if isinstance(number, float) and number.is_integer() else number


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"Source": "document", "Target": "summary"})
    if row["ID"] == "":
        return []  # sums and notes below the table
    score = row.pop("Score", "")
    if not isinstance(score, int | float) and score != "":
        raise LayoutError("Score", "is no number, as this layout has it; check the preset")
    issues = [
        {name: value for name, value in issue.cells.items() if name != "ID" and value != ""}
        for issue in joined.rows_of("issues")
        if issue.cells.get("Subtypes") not in (None, "")
    ]
    system = joined.record.stem.removeprefix(_FILE)
    return [
        row | {"system": system, "issues": issues, "human": {"overall": {"polytope": None if score == "" else score}}}
    ]


POLYTOPE = Preset(
    name="polytope",
    about="PolyTope's workbooks: the score of 0 to 100 as overall, the issues kept",
    citation="Huang et al., 2020",
    roles=(
        FileRole(
            "rows",
            ("ID", "Source", "Target", "Score"),
            f"{_FILE}SYSTEM.xlsm (Scores per segment)",
            files=("Human_Annotation_Summarization_*.xlsm",),
        ),
        FileRole("issues", ("ID", "Issue Types", "Subtypes"), "the sheet Error Log", key=_segment, needed=never),
    ),
    gives="overall.polytope",
    counts=(Count("eight of nine workbooks, each", 150, 150), Count("BART's", 68, 68)),
    convert=_convert,
)
