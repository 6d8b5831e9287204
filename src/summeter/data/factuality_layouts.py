"""How the files of factuality benchmarks are laid out: columns, splits, AggreFact's groups of summarizers.

Columns were read from the benchmarks' documentation and from the code that reads them; other names are given with
`columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from summeter.data.faults import meant
from summeter.records import UsageError

FAITHFULNESS = "faithfulness"
VAL, TEST = "val", "test"
CUTS = {"val": VAL, "valid": VAL, "validation": VAL, "dev": VAL, "test": TEST}
"""What a split may be called, and what it is called here."""
GROUPS: dict[str, tuple[str, ...]] = {
    "SOTA": ("BART", "PegasusDynamic", "T5", "Pegasus"),
    "XFORMER": ("BertSum", "BertExtAbs", "BertExt", "GPT2", "BERTS2S", "TranS2S"),
    "OLD": (
        "FastAbsRl", "TConvS2S", "PtGen", "PtGenCoverage", "Summa", "BottomUp", "Seq2Seq", "TextRank", "missing",
        "ImproveAbs", "NEUSUM", "ClosedBookDecoder", "RNES", "BanditSum", "ROUGESal", "MultiTask", "UnifiedExtAbs",
    ),
}  # fmt: skip
"""AggreFact's kinds of summarizers (Tang et al., 2023). Leads and references are in none and are not measured."""
GROUP_OF = {model: group for group, models in GROUPS.items() for model in models}


@dataclass(frozen=True)
class Layout:
    """One benchmark's files: the columns by field (any of several names), and which fields a row must have.

    `texts`: the documents stand in files of their own, found by the columns of that tuple.
    """

    name: str
    about: str
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ("document", "summary", "label", "dataset")
    grouped: bool = False
    texts: tuple[str, ...] = ()


LAYOUTS: dict[str, Layout] = {
    one.name: one
    for one in (
        Layout(
            "aggrefact", "aggre_fact_final.csv or aggre_fact_sota.csv (Tang et al., 2023)",
            {"document": ("doc",), "summary": ("summary",), "label": ("label",), "dataset": ("dataset",),
             "origin": ("origin",), "model": ("model_name",), "cut": ("cut",), "id": ("id",)},
            ("document", "summary", "label", "dataset", "origin", "model", "cut"), grouped=True,
        ),
        Layout(
            "llm-aggrefact", "LLM-AggreFact's dev and test files (Tang et al., 2024)",
            {"document": ("doc",), "summary": ("claim",), "label": ("label",), "dataset": ("dataset",),
             "cut": ("cut",)},
        ),
        Layout(
            "summac",
            "the SummaC benchmark's rows, one JSON object a line (Laban et al., 2022)",
            {"document": ("document",), "summary": ("claim",), "label": ("label",), "dataset": ("dataset",),
             "origin": ("origin",), "model": ("model_name",), "cut": ("cut",),
             "id": ("id", "cnndm_id", "bbcid", "hash")},
        ),
        Layout(
            "story-summeval",
            "the long-form set of FENICE (Scire et al., 2024), with the stories in files of their own",
            {"document": ("text", "document", "story"), "summary": ("summary",), "label": ("factual", "label"),
             "source": ("source",), "id": ("text_id",), "model": ("system_id",), "cut": ("cut", "split")},
            ("summary", "label"), texts=("source", "text_id"),
        ),
    )
}  # fmt: skip


def layout_named(name: str) -> Layout:
    """The layout of that name. Raises UsageError."""
    found = LAYOUTS.get(name)
    if found is None:
        raise UsageError(f"unknown benchmark {name!r}{meant(name, LAYOUTS)}; benchmarks are: {', '.join(LAYOUTS)}")
    return found
