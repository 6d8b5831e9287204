"""PolyTope (Huang et al., 2020): scores from 0 to 100, and the issues that reduce them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from summeter.data.formats import Row
from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset, never, renamed

_FILE = "Human_Annotation_Summarization_"


def _segment(row: Row) -> Hashable:
    """Return the file and the number of a row; the sheets write 7 or 7.0."""
    number = row.cells.get("ID")
    return row.file, int(number) if isinstance(number, float) and number.is_integer() else number


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"Source": "document", "Target": "summary"})
    if row["ID"] == "":
        return []  # a total or note below the table
    score = row.pop("Score", "")
    if not isinstance(score, int | float) and score != "":
        raise LayoutError("Score", "is not a number, as this layout requires; check the preset")
    issues = [
        {name: value for name, value in issue.cells.items() if name != "ID" and value != ""}
        for issue in joined.rows_of("issues")
        if issue.cells.get("Subtypes") not in (None, "")
    ]
    system = joined.row.stem.removeprefix(_FILE)
    return [
        row | {"system": system, "issues": issues, "human": {"overall": {"polytope": None if score == "" else score}}}
    ]


POLYTOPE = Preset(
    name="polytope",
    about="PolyTope's workbooks: the score from 0 to 100 as overall, and the issues",
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
