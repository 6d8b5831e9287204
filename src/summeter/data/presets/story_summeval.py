"""story-summeval (Scire et al., 2024): summaries of whole books and stories, which come in files of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset, Record, never
from summeter.data.presets.claims import CLAIMS, claim_system, faithfulness


def _story(record: Record) -> Hashable:
    return tuple(str(record.cells.get(column)).strip().lower() for column in ("source", "text_id"))


def _convert(joined: Joined) -> Iterable[Cells]:
    layout = CLAIMS["story-summeval"]
    row: Cells = layout.row(joined.cells)
    human = faithfulness(row, layout.column("label", joined.cells))
    row |= {"doc_id": f"{row.get('source')}/{row.get('text_id')}", "domain": row.get("source"), "human": human}
    if not row.get("system"):
        row["system"] = claim_system(row["summary"])
    if "document" in row:
        return [row]
    story = joined.first("stories") or joined.first("gutenberg") or joined.first("wikisource")
    if story is None:
        name = f"{row.get('source')} {row.get('text_id')}"
        raise LayoutError(
            "text_id", f"names the story {name!r}, which is in no file; name a file of source, text_id, text"
        )
    return [row | {"document": story["text"]}]


STORY_SUMMEVAL = Preset(
    name="story_summeval",
    about="story-summeval: factual or not, as overall faithfulness, with the stories",
    citation="Scire et al., 2024",
    licence="CC BY-NC-SA 4.0",
    roles=(
        FileRole("rows", ("summary", "label|factual", "text_id", "source"), "data/val.jsonl, data/test.jsonl"),
        FileRole("stories", ("source", "text_id", "text"), "stories (source, text_id, text)", key=_story, needed=never),
        FileRole(
            "gutenberg",
            ("id", "text"),
            "manu/project_gutenberg's files",
            key=("id",),
            row_key=("text_id",),
            needed=never,
        ),
        FileRole(
            "wikisource",
            ("title", "text", "url"),
            "wikimedia/wikisource's files",
            key=("title",),
            row_key=("text_id",),
            needed=never,
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("val.jsonl", None, 40), Count("test.jsonl", None, 279)),
    convert=_convert,
)
