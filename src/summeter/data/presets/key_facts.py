"""Presets for datasets with key-fact labels: FineSurE, UniSumEval, Lite3Pyramid and RoSE."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter

from summeter.data.formats import Row
from summeter.data.human import unnamed_votes
from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    formed,
    inverted,
    python_list,
    renamed,
    supported,
    taken,
)

# ---- FineSurE's data files (Song et al., 2024): votes of each annotator in `raw_annotations` ----
# `realsumm-data.json` has labels of the key facts in `human-keyfact-list.json`. The labels do not refer to the key
# facts of GPT-4 in `machine-keyfact-list-from-gpt4.json`.

_VOTES: TypeAdapter[dict[str, dict[str, Any]]] = TypeAdapter(dict[str, dict[str, Any]])
_NO_VOTE = "None"
"""The value that stands for a missing vote in the full file."""


def _convert_finesure(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"model": "system", "transcript": "document", "source": "domain"})
    sentences = taken(row, "sentences", TEXTS, "a list of strings")
    row |= {"summary": row.get("summary", " ".join(sentences)), "sentences": sentences}
    facts = joined.rows_of("key_facts")
    if facts:
        row["key_facts"] = formed(facts[0].cells.get("key_facts"), "key_facts", TEXTS, "a list of strings")
    generated = bool(row.get("key_facts")) and "machine" in (facts[0].stem if facts else joined.row.stem)
    if generated:
        row["key_facts_by"] = "gpt-4"
    if not row.get("raw_annotations"):
        return [row]
    votes = formed(row["raw_annotations"], "raw_annotations", _VOTES, "an object of annotators")
    by_all = set.intersection(*map(set, votes.values()))

    def labels(key: str, convert: Callable[[Any, str], int | None] = supported) -> list[dict[str, int | None]]:
        """Return the labels of each unit by annotator."""
        column = f"raw_annotations.{key}"
        lists = {name: formed(each[key], column, LIST, "a list") for name, each in votes.items()}
        if len(set(map(len, lists.values()))) > 1:
            raise LayoutError(column, "has annotators with different numbers of labels")
        return [
            {
                name: None if label in (None, _NO_VOTE) else convert(label, column)
                for name, label in zip(lists, of_unit, strict=True)
            }
            for of_unit in zip(*lists.values(), strict=True)
        ]

    human: dict[str, Any] = {}
    if "factuality_labels" in by_all:
        human["sentence_labels"] = labels("factuality_labels", inverted)
        given = {name: each["factuality_types"] for name, each in votes.items() if "factuality_types" in each}
        count = len(human["sentence_labels"])
        typed = [name for name, types in given.items() if isinstance(types, list) and len(types) == count]
        if typed:
            missing = {name: [label == _NO_VOTE for label in votes[name]["factuality_labels"]] for name in typed}
            human["sentence_error_types"] = [
                {name: None if missing[name][index] else given[name][index] for name in typed} for index in range(count)
            ]
        if flattened := {name: types for name, types in given.items() if name not in typed}:
            row["factuality_types"] = flattened
            what = f"does not have one type per sentence ({', '.join(flattened)}); kept in a column"
            joined.warn("raw_annotations.factuality_types", what)
    elif "key_fact_labels" in by_all:
        if "sentence_labels" in by_all:
            human["conciseness_labels"] = labels("sentence_labels")
        if generated:
            joined.warn("raw_annotations.key_fact_labels", "do not refer to the key facts of GPT-4; kept in a column")
            row["key_fact_labels"] = {name: by_annotator["key_fact_labels"] for name, by_annotator in votes.items()}
        elif row.get("key_facts"):
            human["key_fact_labels"] = labels("key_fact_labels")
        else:
            return [row]  # the file of key facts is missing, which is reported elsewhere
    else:
        return [row]
    del row["raw_annotations"]
    return [{**row, "human": human}]


def _lacks_key_facts(cells: Mapping[str, Any]) -> bool:
    """Return whether a row has labels of key facts but does not contain the key facts."""
    votes = cells.get("raw_annotations")
    listed = list(votes.values()) if isinstance(votes, dict) else []
    return not cells.get("key_facts") and any(isinstance(each, dict) and "key_fact_labels" in each for each in listed)


FINESURE = Preset(
    name="finesure",
    about="FineSurE's data files: inverted factuality labels, and error types",
    licence="Apache-2.0",
    citation="Song et al., 2024: FineSurE: Fine-grained Summarization Evaluation using LLMs (ACL)",
    roles=(
        FileRole(ROWS, ("model", "transcript", "sentences"), "frank-data.json or realsumm-data.json"),
        FileRole(
            "key_facts",
            ("doc_id", "key_facts"),
            "human-keyfact-list.json",
            key=("doc_id",),
            needed=_lacks_key_facts,
        ),
    ),
    gives="sentence_labels, sentence_error_types; key_facts, key_fact_labels, conciseness_labels",
    counts=(
        Count("frank-data-sample-10.json", 10, 10),
        Count("realsumm-data.json", 100, 100),
    ),
    convert=_convert_finesure,
)


# ---- UniSumEval (Lee et al., 2024): one majority label per sentence and per key fact, in two files ----

_SCORES = {"faithfulness_score": "faithfulness", "completeness": "completeness", "conciseness": "conciseness"}
_LISTS = (
    "sentences", "fact_verification_label", "fact_verification_error_type", "keyfact", "keyfact_label",
    "sentence_label",
)  # fmt: skip
_LABELS = (
    ("fact_verification_label", "sentence_labels", inverted, "sentence"),
    ("keyfact_label", "key_fact_labels", supported, "key fact"),
    ("sentence_label", "conciseness_labels", supported, "sentence"),
)
"""The columns of labels with the fields of `human`, the conversion of a label, and the labelled unit."""
_SUCCESS = "success"


def _convert_unisumeval(joined: Joined) -> Iterable[Cells]:
    cells = {**(joined.first("key_facts") or {}), **joined.cells}
    state = cells.get("summary_success_state", _SUCCESS)
    if state != _SUCCESS:
        joined.warn("summary_success_state", f"is {state!r}; the row is left out, because it has no summary")
        return []
    for column in _LISTS:
        if isinstance(cells.get(column), str):
            cells[column] = python_list(cells[column], column)
    names = {"model": "system", "keyfact": "key_facts", "input_context": "document", "doc_id": "source_doc_id"}
    row = renamed(cells, names)
    if not row.get("reference"):
        row.pop("reference", None)  # MultiWOZ has no references
    row["doc_id"] = "/".join(str(row[name]) for name in ("source", "uid", "redact_type") if row.get(name))
    human: dict[str, Any] = {}
    for column, field, convert, unit in _LABELS:
        if column in row:
            labels = taken(row, column, LIST, f"a list with one label per {unit}")
            human[field] = [convert(label, column) for label in labels]
    if "sentence_labels" in human and (column := "fact_verification_error_type") in row:
        human["sentence_error_types"] = taken(row, column, TEXTS, "a list of strings")
    overall = {name: row.pop(column) for column, name in _SCORES.items() if row.get(column) is not None}
    if overall:
        human["overall"] = overall
    return [{**row, "human": human} if human else row]


UNISUMEVAL = Preset(
    name="unisumeval",
    about="UniSumEval's two files: inverted hallucination labels, key facts and their labels",
    citation="Lee et al., 2024: UniSumEval: Towards Unified, Fine-Grained, Multi-Dimensional Summarization Evaluation",
    roles=(
        FileRole(ROWS, ("uid", "model", "summary", "fact_verification_label"), "data/unisumeval_faithfulness.jsonl"),
        FileRole(
            "key_facts", ("uid", "model", "keyfact", "keyfact_label"), "data/unisumeval_keyfact.jsonl",
            key=("uid", "model"), needed=lambda cells: "keyfact" not in cells,
        ),
    ),
    gives="sentence_labels, sentence_error_types, key_facts, key_fact_labels, conciseness_labels, overall",
    counts=(Count("both files", 225, 2025),),
    notes=("labels are majority votes of three annotators, whose individual votes were not released",),
    convert=_convert_unisumeval,
)  # fmt: skip


# ---- Lite3Pyramid's folders (Zhang and Bansal, 2021): REALSumm and PyrXSum as text files aligned by line ----

_DOMAINS = {"realsumm": "cnndm", "pyrxsum": "xsum"}
"""The corpus of each folder."""


def _folder(row: Row) -> str:
    """Return the folder of the dataset, which contains the folders of summaries and labels."""
    folder = PurePath(row.file).parent
    return str(folder.parent if folder.name in {"summaries", "labels"} else folder)


def _system_and_line(row: Row) -> Hashable:
    return _folder(row), row.stem, row.line


def _fields(text: str) -> list[str]:
    return [field.strip() for field in text.split("\t") if field.strip()]


def _convert_lite3pyramid(joined: Joined) -> Iterable[Cells]:
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
    return FileRole(name, ("text",), file, key=lambda row: (_folder(row), row.line), files=(file,), format="lines")


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
    convert=_convert_lite3pyramid,
)  # fmt: skip


# ---- RoSE (Liu et al., 2023): atomic content units of the reference, present or absent in each summary ----

CONFIGS = ("cnndm_test", "cnndm_validation", "cnndm_protocol_gpt3", "cnndm_protocol", "xsum", "samsum")
_REFERENCE = "reference"
_ANNOTATIONS: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, dict[str, Any] | None])
_OUTPUTS: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Text | None])


def _convert_rose(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    annotations = taken(row, "annotations", _ANNOTATIONS, "an object of systems")
    outputs = taken(row, "system_outputs", _OUTPUTS, "an object of texts")
    facts = taken(row, "reference_acus", TEXTS, "a list of strings")
    config, example = _config(joined.row.file), row["example_id"]
    shared = {
        "doc_id": f"{config}/{example}" if config else str(example),
        "document": row.pop("source"),
        "key_facts": facts or None,
    }
    shared |= {"domain": config.partition("_")[0], "cut": config.partition("_")[2]} if config else {}
    for system, annotated in annotations.items():
        if annotated is None:
            continue  # in Parquet, each row has a key for every system of the file
        if outputs.get(system) is None:
            if system != _REFERENCE:  # the reference is annotated, but is not an output
                joined.warn("system_outputs", f"has no summary by {system}; its annotations are left out")
            continue
        column = "annotations.acu_labels"
        given = formed(annotated.pop("acu_labels", None) or [], column, LIST, "a list of labels")
        labels = [supported(label, column) for label in given]
        votes = {name: unnamed_votes(value) for name, value in annotated.items() if isinstance(value, list)}
        scores = {name: value for name, value in annotated.items() if value is not None and name not in votes}
        human = {"key_fact_labels": labels or None, "overall": scores or None, "ratings": votes or None}
        yield {**row, **shared, "system": system, "summary": outputs[system], "human": human}


def _config(file: str) -> str | None:
    """Return the configuration in a path such as `cnndm_test/data/test-00000.parquet`."""
    for part in reversed(PurePath(file).parts):
        for config in CONFIGS:
            if part == config or part.startswith((f"{config}.", f"{config}-")):
                return config
    return None


ROSE = Preset(
    name="rose",
    about="RoSE: content units of the reference in each summary, and scores",
    citation="Liu et al., 2023",
    licence="BSD-3-Clause",
    roles=(
        FileRole(
            "rows",
            ("source", "reference", "reference_acus", "annotations", "system_outputs"),
            "CONFIG/data/*.parquet (branch refs/convert/parquet)",
        ),
    ),
    gives="key_facts, key_fact_labels, overall.acu, overall.normalized_acu; in the protocol sets also ratings",
    counts=(
        Count("cnndm_test", 500, 6_000),
        Count("cnndm_validation", 1_000, 8_000),
        Count("xsum", 500, 4_000),
        Count("samsum", 500, 4_000),
        Count("cnndm_protocol", 100, 1_200),
        Count("cnndm_protocol_gpt3", 100, 400),
    ),
    convert=_convert_rose,
    ids_repeat=True,
)
