"""Presets for datasets with one faithfulness label per summary or claim.

`bench protocol` reads four of these layouts, which `CLAIMS` describes (see `data.factuality`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from summeter.data.presets.base import (
    Articles,
    Cells,
    Columns,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    label_of,
    never,
    renamed,
    supported,
    text_of,
)
from summeter.records import digest

_FIELDS = {"document": "document", "summary": "summary", "model": "system", "cut": "cut"}
"""The column of a flat row for each field of a layout."""


FIELDS = ("document", "summary", "label", "dataset", "origin", "model", "cut", "id", "source")
"""The fields of the layouts, whose columns may have other names."""


@dataclass(frozen=True)
class Claims:
    """The layout of a benchmark: the columns of fields with other names, and the required fields.

    `columns` lists the possible columns of a field. `grouped` says whether results are grouped by summarizer, and
    `texts` whether the documents are in a separate file.
    """

    name: str
    about: str
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ("document", "summary", "label", "dataset")
    grouped: bool = False
    texts: bool = False

    def names(self, field: str) -> tuple[str, ...]:
        """Return the possible columns of a field."""
        return self.columns.get(field, (field,))

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that identify a file; alternative names are joined by `|`."""
        return tuple("|".join(self.names(field)) for field in self.required)

    def column(self, field: str, cells: Mapping[str, Any]) -> str:
        """Return the column of a field in this row.

        If the field has several possible columns, the first one with a value is returned, or else the first one in the
        row, or else the first possible column.
        """
        present = [column for column in self.names(field) if column in cells]
        filled = [column for column in present if not is_empty(cells[column])]
        return next(iter((*filled, *present, *self.names(field))))

    def row(self, cells: Mapping[str, Any]) -> Columns:
        """Return the row with the column names of flat rows; a column of models counts only if the layout has one."""
        fields = {field: name for field, name in _FIELDS.items() if field != "model" or field in self.columns}
        columns = {self.column(field, cells): name for field, name in fields.items()}
        return renamed(cells, {column: name for column, name in columns.items() if column in cells})


def is_empty(value: Any) -> bool:
    """Return whether a cell is absent or empty."""
    return value is None or value == ""


CLAIMS = {
    layout.name: layout
    for layout in (
        Claims(
            "aggrefact",
            "aggre_fact_final.csv or aggre_fact_sota.csv (Tang et al., 2023)",
            {"document": ("doc",), "model": ("model_name",)},
            ("document", "summary", "label", "dataset", "origin", "model", "cut"),
            grouped=True,
        ),
        Claims(
            "llm-aggrefact",
            "LLM-AggreFact's dev and test files (Tang et al., 2024)",
            {"document": ("doc",), "summary": ("claim",)},
        ),
        Claims(
            "summac",
            "the SummaC benchmark's rows, one JSON object per line (Laban et al., 2022)",
            {"summary": ("claim",), "model": ("model_name",), "id": ("id", "cnndm_id", "bbcid", "hash")},
        ),
        Claims(
            "story-summeval",
            "the long-form set of FENICE (Scire et al., 2024), with the stories in files of their own",
            {
                "document": ("text", "document", "story"),
                "label": ("factual", "label"),
                "id": ("text_id",),
                "model": ("system_id",),
                "cut": ("cut", "split"),
            },
            ("summary", "label"),
            texts=True,
        ),
    )
}
"""The layouts that `bench protocol` reads."""
CLAIM_SYSTEM = "claim-"
"""Prefix of the systems of claims without a named system."""


def faithfulness(cells: Columns, column: str = "label") -> dict[str, Any]:
    """Remove the label (1 = consistent) from a row and return it as a `human` block."""
    label = cells.pop(column)
    return _overall(None if is_empty(label) else supported(label, column))


def claim_system(text: Any) -> str | None:
    """Return a system name for a claim for which the release names no system."""
    return f"{CLAIM_SYSTEM}{digest(text, 8)}" if isinstance(text, str) else None


def claim(layout: Claims, joined: Joined) -> Columns:
    """Return the flat row of a claim, with its label as a `human` block, and its origin or dataset as the domain."""
    row = layout.row(joined.cells)
    row["human"] = faithfulness(row, layout.column("label", joined.cells))
    row["system"] = row.get("system") or claim_system(row.get("summary"))
    row["domain"] = row.get("origin") or row.get("dataset")
    return row


def _overall(label: int | None) -> dict[str, Any]:
    return {"overall": {"faithfulness": label}}


# ---- LLM-AggreFact (Tang et al., 2024): claims of eleven datasets, few of which are summaries ----


def _convert_llm_aggrefact(joined: Joined) -> Iterable[Cells]:
    row = claim(CLAIMS["llm-aggrefact"], joined)
    dataset = row.get("dataset")
    if dataset and isinstance(row["document"], str):  # a document may be in several sets, with different domains
        row["doc_id"] = f"{dataset}/{digest(row['document'], 12)}"
    cut = next((name for name in ("dev", "test") if joined.row.stem.startswith(name)), None)
    if cut is not None:
        row.setdefault("cut", cut)
    return [row]


LLM_AGGREFACT = Preset(
    name="llm_aggrefact",
    about="LLM-AggreFact: one claim per row, its label as overall faithfulness",
    citation="Tang et al., 2024",
    licence="CC BY-ND 4.0, for evaluation only (gated)",
    roles=(FileRole("rows", ("doc", "claim", "label"), "data/dev-*.parquet, data/test-*.parquet"),),
    gives="overall.faithfulness",
    counts=(Count("dev", None, 30_420), Count("test", None, 29_320)),
    convert=_convert_llm_aggrefact,
)


# ---- the SummaC benchmark (Laban et al., 2022) as its package writes it: claims of six datasets ----

_IDS = (*CLAIMS["summac"].names("id"), "ID")
"""The columns of document ids in the six datasets. Polytope's `ID` differs by system, so it is not a key."""


def _convert_summac(joined: Joined) -> Iterable[Cells]:
    row = claim(CLAIMS["summac"], joined)
    source_id = next((row[name] for name in _IDS if row.get(name) not in (None, "")), None)
    if source_id is not None and row.get("dataset"):
        row["doc_id"] = f"{row['dataset']}/{source_id}"
    return [row]


SUMMAC = Preset(
    name="summac",
    about="The SummaC benchmark's rows: the label as overall faithfulness",
    citation="Laban et al., 2022",
    licence="Apache-2.0 (the package)",
    roles=(FileRole("rows", ("document", "claim", "label"), "rows exported with the package's SummaCBenchmark"),),
    gives="overall.faithfulness",
    convert=_convert_summac,
    ids_repeat=True,
)


# ---- story-summeval (Scire et al., 2024): summaries of books and stories, which are in separate files ----


def _convert_story_summeval(joined: Joined) -> Iterable[Cells]:
    row = claim(CLAIMS["story-summeval"], joined)
    row |= {"doc_id": f"{row.get('source')}/{row.get('text_id')}", "domain": row.get("source")}
    if "document" in row:
        return [row]
    story = joined.first("stories") or joined.first("gutenberg") or joined.first("wikisource")
    if story is None:
        name = f"{row.get('source')} {row.get('text_id')}"
        raise LayoutError("text_id", f"refers to {name!r}, which is in no file; give a file with source, text_id, text")
    return [row | {"document": story["text"]}]


STORY_SUMMEVAL = Preset(
    name="story_summeval",
    about="story-summeval: factual or not, as overall faithfulness, with the stories",
    citation="Scire et al., 2024",
    licence="CC BY-NC-SA 4.0",
    roles=(
        FileRole("rows", ("summary", "label|factual", "text_id", "source"), "data/val.jsonl, data/test.jsonl"),
        FileRole(
            "stories", ("source", "text_id", "text"), "stories (source, text_id, text)", needed=never,
            key=lambda row: tuple(str(row.cells.get(name)).strip().lower() for name in ("source", "text_id")),
        ),
        FileRole(
            "gutenberg", ("id", "text"), "manu/project_gutenberg's files", key=("id",), row_key=("text_id",),
            needed=never,
        ),
        FileRole(
            "wikisource", ("title", "text", "url"), "wikimedia/wikisource's files", key=("title",),
            row_key=("text_id",), needed=never,
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("val.jsonl", None, 40), Count("test.jsonl", None, 279)),
    convert=_convert_story_summeval,
)  # fmt: skip


# ---- FactCC's annotated claims (Kryscinski et al., 2020), with or without their articles ----


def _story_hash(cells: Mapping[str, Any]) -> str:
    """Return the hash in `cnndm/cnn/stories/HASH.story`."""
    return PurePath(str(cells.get("filepath"))).stem


def _convert_factcc(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"text": "document", "claim": "summary"})
    human = _overall(label_of(row.pop("label"), {"CORRECT": 1, "INCORRECT": 0}, "label"))
    folder = PurePath(joined.row.file).parent.name
    if folder in ("val", "test"):
        row["cut"] = folder
    ids = {"doc_id": _story_hash(row), "system": claim_system(row["summary"])}
    return [{"document": joined.document, **row, **ids, "human": human}]


FACTCC = Preset(
    name="factcc",
    about="FactCC's annotated claims: CORRECT and INCORRECT as overall faithfulness",
    citation="Kryscinski et al., 2020",
    licence="BSD-3-Clause",
    roles=(
        FileRole("rows", ("id", "filepath", "claim", "label"), "(un)paired_annotated_data/{val,test}/data-dev.jsonl"),
    ),
    articles=Articles("CNN/DailyMail stories", lambda cells: None if cells.get("text") else _story_hash(cells)),
    gives="overall.faithfulness",
    counts=(Count("val/data-dev.jsonl", None, 931), Count("test/data-dev.jsonl", None, 503)),
    convert=_convert_factcc,
    ids_repeat=True,
)


# ---- GO FIGURE (Gabriel et al., 2021) ----

_GOFIGURE_LABELS = {"factual": 1, "factually incorrect": 0, "too incoherent": None}


def _convert_gofigure(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"article": "document"})
    human = _overall(label_of(row["label"], _GOFIGURE_LABELS, "label"))
    if joined.row.stem in ("xsum", "samsum"):
        row["domain"] = joined.row.stem
    return [row | {"system": claim_system(row["summary"]), "human": human}]


GOFIGURE = Preset(
    name="gofigure",
    about="GO FIGURE: factual or not as overall faithfulness; too incoherent is no vote",
    citation="Gabriel et al., 2021",
    licence="Apache-2.0",
    roles=(
        FileRole(
            "rows", ("article", "summary", "label", "errors"), "human_eval/{xsum,samsum}.jsonl",
            files=("xsum.jsonl", "samsum.jsonl"),
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("xsum.jsonl", None, 250), Count("samsum.jsonl", None, 250)),
    convert=_convert_gofigure,
)  # fmt: skip


# ---- SummEdits (Laban et al., 2023): edited summaries ----


def _convert_summedits(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"doc": "document", "id": "system", "split": "cut"})
    human = faithfulness(row)
    stem = joined.row.stem
    domain = row.get("domain") or (stem.removeprefix("summedits_") if stem.startswith("summedits_") else None)
    if domain and isinstance(row["document"], str):
        row |= {"domain": domain, "doc_id": f"{domain}/{digest(row['document'], 12)}"}
    return [row | {"human": human}]


SUMMEDITS = Preset(
    name="summedits",
    about="SummEdits: one edited summary per row, its label as overall faithfulness",
    citation="Laban et al., 2023",
    licence="Apache-2.0 (on the hub: CC BY 4.0)",
    roles=(
        FileRole(
            "rows", ("id", "doc", "summary", "original_summary", "label", "edit_types"), "summedits_DOMAIN.json",
            files=("summedits_*.json",),
        ),
    ),
    gives="overall.faithfulness",
    convert=_convert_summedits,
)  # fmt: skip


# ---- BUMP (Ma et al., 2023): reference summaries, and copies in which people inserted one error ----


def _convert_bump(joined: Joined) -> Iterator[Cells]:
    shared = {"doc_id": joined.cells["article_id"], "document": joined.cells["article"]}
    references = [text_of(row.cells, "reference_summary") for row in joined.rows]
    for reference in dict.fromkeys(references):
        yield {**shared, "system": "reference", "summary": reference, "human": _overall(1)}
    for row in joined.rows:
        other = {
            name: value
            for name, value in row.cells.items()
            if name not in ("article", "article_id", "id", "edited_summary")
        }
        edited = {"system": str(row.cells["id"]), "summary": row.cells["edited_summary"], "human": _overall(0)}
        yield {**other, **shared, **edited}


BUMP = Preset(
    name="bump",
    about="BUMP: references (1) and edits with one error (0), as overall faithfulness",
    citation="Ma et al., 2023",
    licence="MIT",
    roles=(
        FileRole(
            "rows", ("id", "article_id", "article", "reference_summary", "edited_summary", "error_type"),
            "task1_dataset.json or task2_dataset.json", files=("task[12]_dataset.json",),
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("task1_dataset.json", 99, 792), Count("task2_dataset.json", 194, 390)),
    group=("article_id",),
    convert=_convert_bump,
)  # fmt: skip
