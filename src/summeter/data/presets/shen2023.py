"""Shen et al. (2023): SummEval's ratings of twelve systems, with the released replies of ChatGPT and GPT-4.

The rows are those of SummEval, with articles. Replies are in files `DIM_METHOD.txt` in one folder per system, and
replies on pairs in `Ma-Mb_DIM.result`; each is stored with its summary (of a pair: the first one). Of several replies
to one id, the last is used.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from pathlib import PurePath
from typing import Any

from summeter.data.formats import Row
from summeter.data.presets.base import ROWS, Cells, Count, FileRole, Joined, Preset, never
from summeter.data.presets.summeval import CITATION, EXPERTS
from summeter.data.presets.summeval import convert as convert_summeval

_PAIR = re.compile(r"(M\d+)-(M\d+)_(\w+?)(_toggle)?")


def _system_of(row: Row) -> str | None:
    """Return the system of a file of replies, from its folder `eval_M8_generations` or its name `M8-M9_relevance`."""
    if pair := _PAIR.fullmatch(row.stem):
        return pair[1]
    folder = re.search(r"_(M\d+)_", PurePath(row.file).parent.name)
    return folder[1] if folder else None


def _reply_key(row: Row) -> Hashable:
    return _system_of(row), str(row.cells.get("id"))


def _row_key(row: Row) -> Hashable:
    return row.cells.get("model_id"), str(row.cells.get("id"))


def _convert(joined: Joined) -> Iterable[Cells]:
    replies: dict[str, dict[str, Any]] = {}
    for record in joined.rows_of("replies"):
        model = PurePath(record.file).parent.parent.name
        replies.setdefault(model, {})[record.stem] = record.cells.get("resp")
    pairs: dict[tuple[str, str], Cells] = {}
    for record in joined.rows_of("pairs"):
        if pair := _PAIR.fullmatch(record.stem):
            model = PurePath(record.file).parent.name
            pairs[model, record.stem] = {
                "model": model, "rival": pair[2], "aspect": pair[3], "order": "ba" if pair[4] else "ab",
                "output": record.cells.get("resp"),
                **{name: value for name, value in record.cells.items() if name.startswith("human_score_")},
            }  # fmt: skip
    for row in convert_summeval(joined):
        if replies:
            row["replies"] = replies
        if pairs:
            row["head_to_head"] = list(pairs.values())
        yield row


SHEN2023 = Preset(
    name="shen2023",
    about="Shen et al.'s outputs: SummEval's ratings of 12 systems, with the replies of LLM judges",
    citation=f"Shen et al., 2023: Large Language Models are Not Yet Human-Level Evaluators (EMNLP); {CITATION}",
    roles=(
        FileRole(ROWS, (*EXPERTS.columns, "text"), "model_output_annotations/M*_outputs_annotations.jsonl",
             files=("M*_outputs_annotations.jsonl",)),
        FileRole("pairs", ("id", "resp"), "comp_res/MODEL/Ma-Mb_DIM[_toggle].result", key=_reply_key, row_key=_row_key,
             needed=never, files=("*.result",), format="jsonl"),
        FileRole("replies", ("id", "resp"), "eval_model_generations/MODEL/eval_Mx_generations/DIM_METHOD.txt",
             key=_reply_key, row_key=_row_key, needed=never, files=("eval_M*_generations/*.txt",), format="jsonl"),
    ),
    gives="ratings, crowd_ratings, references; replies, head_to_head (kept as columns)",
    counts=(Count("12 systems", 100, 1200),),
    convert=_convert,
)  # fmt: skip
