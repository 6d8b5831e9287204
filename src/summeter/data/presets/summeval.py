"""Presets for SummEval (Fabbri et al., 2021) and the LLM replies of Shen et al. (2023).

The file of the authors has no articles unless it was paired with them; `--documents` adds them by the hash in `id`. The
version of MTEB has one row per document; that of G-Eval and UniEval has the mean ratings of the experts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import PurePath

from summeter.data.formats import Row
from summeter.data.human import unnamed_votes
from summeter.data.presets.base import (
    LIST,
    OBJECT,
    OBJECTS,
    ROWS,
    TEXTS,
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    formed,
    never,
    renamed,
    taken,
)

_GROUPS = (("expert_annotations", "ratings"), ("turker_annotations", "crowd_ratings"))
_ASPECTS = ("coherence", "consistency", "fluency", "relevance")
_DOCUMENT_FIELDS = {"domain": "cnndm", "split": "test"}


def hash_of(cells: Cells) -> str | None:
    """Return the hash in the id (`dm-test-HASH`) of a row without an article, otherwise None."""
    if "text" in cells or "id" not in cells or "model_id" not in cells:
        return None
    return str(cells["id"]).rpartition("-")[2]


def _convert_summeval(joined: Joined) -> Iterable[Cells]:
    """Return the flat rows for a row of any version."""
    if "machine_summaries" in joined.cells:
        return _by_document(joined)
    if "system_output" in joined.cells:
        row = renamed(joined.cells, {"system_id": "system", "source": "document", "system_output": "summary"})
        if row.get("reference") == row.get("document"):
            del row["reference"]  # as in the same form of QAGS, which has no references
        return [{**row, "human": {"ratings": taken(row, "scores", OBJECT, "an object of means")}}]
    row = renamed(joined.cells, {"id": "doc_id", "model_id": "system", "decoded": "summary", "text": "document"})
    if joined.document is not None:
        row["document"] = joined.document
    human = {}
    for column, name in _GROUPS:
        if column not in row:
            continue
        votes = formed(taken(row, column, LIST, "a list of ratings"), column, OBJECTS, "a list of objects")
        aspects = dict.fromkeys(aspect for ratings in votes for aspect in ratings)
        if aspects:
            by_aspect = {aspect: [ratings.get(aspect) for ratings in votes] for aspect in aspects}
            # The same three experts rated every summary, in the same order; crowd workers are unidentified.
            human[name] = {
                aspect: unnamed_votes(values)
                if name == "crowd_ratings"
                else {f"expert{index}": value for index, value in enumerate(values)}
                for aspect, values in by_aspect.items()
            }
    flat = {**_DOCUMENT_FIELDS, **row}
    return [{**flat, "human": human} if human else flat]


def _by_document(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"id": "doc_id", "text": "document"})
    summaries = taken(row, "machine_summaries", TEXTS, "a list of strings")
    row["references"] = taken(row, "human_summaries", TEXTS, "a list of strings")
    means = {aspect: taken(row, aspect, LIST, "a list of numbers") for aspect in _ASPECTS if aspect in row}
    for aspect, values in means.items():
        if len(values) != len(summaries):
            raise LayoutError(aspect, f"has {len(values)} values for {len(summaries)} summaries")
    for index, summary in enumerate(summaries):
        ratings = {aspect: values[index] for aspect, values in means.items()}
        system = {"system": f"system{index}", "summary": summary}
        yield {**_DOCUMENT_FIELDS, **row, **system, "human": {"ratings": ratings}}


_EXPERTS = FileRole(ROWS, ("id", "model_id", "decoded"), "model_annotations.aligned.jsonl (or .paired, .scored)")
_CITATION = "Fabbri et al., 2021: SummEval: Re-evaluating Summarization Evaluation (TACL)"
SUMMEVAL = Preset(
    name="summeval",
    about="SummEval, paired or with --documents: expert ratings and crowd ratings",
    licence="MIT",
    citation=_CITATION,
    roles=(
        _EXPERTS,
        FileRole(ROWS, ("machine_summaries", "human_summaries", "text"), "mteb/summeval (expert means)"),
        FileRole(ROWS, ("system_id", "source", "system_output", "scores"), "summeval.json of G-Eval (expert means)"),
    ),
    articles=Articles("CNN/DailyMail's stories, by the hash in `id`,", hash_of),
    gives="ratings, crowd_ratings, references",
    counts=(Count("aligned and aligned.paired", 100, 1600), Count("aligned.scored", 100, 1700)),
    notes=("in 13 documents, several systems have the same summary; summaries are tokenized, some are lower-cased",),
    convert=_convert_summeval,
)


# ---- Shen et al. (2023): SummEval's ratings of twelve systems, with the released replies of LLM judges ----
# The rows are those of SummEval, with articles. Replies are in files `DIM_METHOD.txt` in one folder per model and
# system, and replies on pairs in `MODEL/Ma-Mb_DIM.result`. The column `replies` of a summary (of a pair: the first one)
# contains them as `summeter outputs import` reads them. If a question was asked twice, the last reply has the highest
# `attempt`, as in the released code, but for MCQ2 the first one, from which the printed table follows.

_METHODS = {"rts": "rts", "mcq": "mcq", "altrts": "rts2", "altmcq": "mcq2", "stareval": "stareval"}
"""The names of the evaluators by METHOD in file names."""
_PAIR = re.compile(r"(M\d+)-(M\d+)_([a-z]+)(_toggle)?")


def _system_of(row: Row) -> str | None:
    """Return the system in a file name such as `M8-M9_relevance`, or in the folder name.

    A folder name is, for example, `eval_M8_generations`.
    """
    if pair := _PAIR.fullmatch(row.stem):
        return pair[1]
    folder = re.search(r"_(M\d+)_", PurePath(row.file).parent.name)
    return folder[1] if folder else None


def _reply_key(row: Row) -> Hashable:
    return _system_of(row), str(row.cells.get("id"))


def _row_key(row: Row) -> Hashable:
    return row.cells.get("model_id"), str(row.cells.get("id"))


def _replies(joined: Joined) -> Iterable[Cells]:
    attempts = Counter[str]()
    for record in (*joined.rows_of("replies"), *joined.rows_of("pairs")):
        attempts[record.file] += 1
        attempt, folder = attempts[record.file], PurePath(record.file).parent
        if pair := _PAIR.fullmatch(record.stem):
            about = {"model": folder.name, "evaluator": "h2h", "aspect": pair[3]}
            about |= {"rival": pair[2], "order": "ba" if pair[4] else "ab"}
        else:
            aspect, _, method = record.stem.rpartition("_")
            about = {"model": folder.parent.name, "evaluator": _METHODS[method], "aspect": aspect}
            attempt *= -1 if method == "altmcq" else 1
        yield about | {"attempt": attempt, "output": record.cells.get("resp")}


def _convert_shen2023(joined: Joined) -> Iterable[Cells]:
    replies = list(_replies(joined))
    return [row | {"replies": replies} if replies else row for row in _convert_summeval(joined)]


SHEN2023 = Preset(
    name="shen2023",
    about="Shen et al.'s outputs: SummEval's ratings of 12 systems, with the replies of LLM judges",
    citation=f"Shen et al., 2023: Large Language Models are Not Yet Human-Level Evaluators (EMNLP); {_CITATION}",
    roles=(
        FileRole(ROWS, (*_EXPERTS.columns, "text"), "model_output_annotations/M*_outputs_annotations.jsonl",
             files=("M*_outputs_annotations.jsonl",)),
        FileRole("pairs", ("id", "resp"), "comp_res/MODEL/Ma-Mb_DIM[_toggle].result", key=_reply_key, row_key=_row_key,
             needed=never, format="jsonl",
             files=tuple(f"M*-M*_{aspect}{order}.result" for aspect in _ASPECTS for order in ("", "_toggle"))),
        FileRole("replies", ("id", "resp"), "eval_model_generations/MODEL/eval_Mx_generations/DIM_METHOD.txt",
             key=_reply_key, row_key=_row_key, needed=never, format="jsonl",
             files=tuple(f"eval_M*_generations/*_{method}.txt" for method in _METHODS)),
    ),
    gives="ratings, crowd_ratings, references; replies (as the column that `summeter outputs import` reads)",
    counts=(Count("12 systems", 100, 1200),),
    ignored=("eval_M*_generations/*.txt", "*.result"),
    notes=("in the head-to-head questions, articles are tokenized and summaries capitalized differently",),
    convert=_convert_shen2023,
)  # fmt: skip
