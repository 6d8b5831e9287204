"""Presets for datasets with error spans: FaithBench, RAGTruth, XSumFaith and DiaSumFact."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from summeter.data.formats import RECORD_ID, Row
from summeter.data.presets.base import (
    TEXTS,
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    formed,
    integer_of,
    label_of,
    located_span,
    located_spans,
    never,
    renamed,
    taken,
    text_of,
)
from summeter.records import names_no_error

# ---- FaithBench (Bao et al., 2024): spans labelled unwanted, questionable or benign ----

_BENIGN = "Benign"
_CONSISTENT, _WORST = "Consistent", "worst-label"
_FAITHBENCH_KINDS = ("Unwanted", "Questionable", _BENIGN)


class _Annotation(BaseModel):
    annotator_id: Any = None
    annotator: Any = None
    label: list[Text]
    summary_span: Text | None = None
    summary_start: int | None = None

    @property
    def judge(self) -> str | None:
        name = self.annotator if self.annotator_id is None else self.annotator_id
        return None if name is None else f"annotator{name}" if isinstance(name, int) else str(name)

    @property
    def benign(self) -> bool:
        return all(name.partition(".")[0] == _BENIGN for name in self.label)


_ANNOTATIONS = TypeAdapter(list[_Annotation])


def _convert_faithbench(joined: Joined) -> Iterable[Cells]:
    if _WORST in joined.cells:
        return [_labelled(joined.cells)]
    row = renamed(joined.cells, {"source": "document"})
    summary = text_of(row, "summary")
    annotations = formed(
        row["annotations"], "annotations", _ANNOTATIONS, "a list of {label, summary_span, ...} objects"
    )
    marks: list[tuple[str | None, int | None, Cells]] = []
    for annotation in annotations:
        if not annotation.label or any(name.partition(".")[0] not in _FAITHBENCH_KINDS for name in annotation.label):
            raise LayoutError(
                "annotations", f"contains the label {annotation.label}; this layout has {', '.join(_FAITHBENCH_KINDS)}"
            )
        if annotation.summary_span is not None or not annotation.benign:
            annotator = {} if annotation.judge is None else {"annotator": annotation.judge}
            label = 1 if annotation.benign else annotation.label
            marks.append((annotation.summary_span, annotation.summary_start, {**annotator, "label": label}))
    spans = located_spans(summary, marks)
    if located_spans(summary, [mark for mark in marks if mark[0] is not None]) is None:
        what = "contains a span that is not in the summary; its spans are kept in `annotations` only"
        joined.warn("annotations", what)
    metadata = row.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("summarizer"), str):
        raise LayoutError("metadata", "has no summarizer, which this layout requires; check the preset")
    wrong = any(not annotation.benign for annotation in annotations)
    human = {"overall": {"faithfulness": int(not wrong)}, **(spans or {})}
    return [row | {"system": metadata["summarizer"], "batch": joined.row.stem, "human": human}]


def _labelled(cells: Cells) -> Cells:
    """Convert a row of FaithBench.csv, which contains the worst label that any annotator gave."""
    row = renamed(cells, {"source": "document", "LLM": "system"})
    worst = str(row[_WORST]).strip().partition(".")[0].capitalize()
    if worst not in (*_FAITHBENCH_KINDS, _CONSISTENT):
        listed = ", ".join((*_FAITHBENCH_KINDS, _CONSISTENT))
        raise LayoutError(_WORST, f"is {row[_WORST]!r}, but this layout has {listed}; check the preset")
    return row | {"human": {"overall": {"faithfulness": int(worst in (_BENIGN, _CONSISTENT))}}}


FAITHBENCH = Preset(
    name="faithbench",
    about="FaithBench: spans by annotator; faithful if none is unwanted or questionable",
    citation="Bao et al., 2024",
    licence="CC BY-NC-SA 4.0",
    roles=(
        FileRole(
            "rows",
            ("source", "summary", "sample_id|LLM", f"annotations|{_WORST}", "metadata|LLM"),
            "data_for_release/batch_N.json, or FaithBench.csv (no spans)",
            files=("batch_*.json",),
        ),
    ),
    gives="spans, overall.faithfulness",
    counts=(Count("batch_N.json, each of 15", None, 50), Count("FaithBench.csv", None, 800)),
    convert=_convert_faithbench,
)


# ---- RAGTruth (Niu et al., 2024): the summaries, one of its three tasks, with hallucinated spans ----


class _Label(BaseModel):
    start: int
    end: int
    text: Text
    label_type: Text


_LABELS = TypeAdapter(list[_Label])


def _convert_ragtruth(joined: Joined) -> Iterable[Cells]:
    source = joined.first("sources")
    if source is None:
        raise LayoutError("source_id", "occurs in no source_info.jsonl; give that file as well")
    task, quality = source.get("task_type"), joined.cells.get("quality")
    if task != "Summary":
        joined.warn("task_type", f"is {task}; such rows are left out, because only summaries are read")
        return []
    if quality != "good":
        joined.warn("quality", f"is {quality}; such rows are left out")
        return []
    row = renamed(joined.cells, {"source_id": "doc_id", "model": "system", "response": "summary"})
    summary = text_of(row, "summary", "response")
    labels = formed(row["labels"], "labels", _LABELS, "a list of {start, end, text, label_type} objects")
    for label in labels:
        if label.start >= min(label.end, len(summary)) and located_span(summary, label.text, label.start) is None:
            raise LayoutError("labels", f"contains a span from {label.start} to {label.end}, outside the response")
    spans = located_spans(summary, ((label.text, label.start, {"label": label.label_type}) for label in labels))
    if spans is None:
        joined.warn("labels", "contains a span that is not in the response; its spans are kept in `labels` only")
    human = {} if spans is None else {"human": spans}
    return [row | {"document": source.get("source_info"), "domain": source.get("source")} | human]


RAGTRUTH = Preset(
    name="ragtruth",
    about="RAGTruth's summaries of good quality: hallucinated spans and their types",
    citation="Niu et al., 2024",
    licence="MIT",
    roles=(
        FileRole(
            "rows", ("source_id", "model", "labels", "quality", "response"), "response.jsonl", files=("response.jsonl",)
        ),
        FileRole(
            "sources",
            ("source_id", "task_type", "source_info"),
            "source_info.jsonl",
            files=("source_info.jsonl",),
            key=("source_id",),
        ),
    ),
    gives="spans",
    counts=(Count("response.jsonl, summaries of any quality", 943, 5_658),),
    convert=_convert_ragtruth,
)


# ---- XSumFaith (Maynez et al., 2020): hallucinated spans and factuality, three annotators each ----

_KEY = ("bbcid", "system")
_XSUMFAITH_KINDS = ("intrinsic", "extrinsic", "NULL")
_FACTUAL = {"yes": 1, "no": 0, "NULL": None}
_SCORED = {"bert_withckpt": "berts2s", "bert_nockpt": "trans2s"}
"""System names in eval_scores, in lower case, that differ from the names in the annotations."""


def _convert_xsumfaith(joined: Joined) -> Iterable[Cells]:
    summary = text_of(joined.cells, "summary")
    types: dict[str, set[str]] = {}
    marks: list[tuple[str, int, Cells]] = []
    marked: list[Cells] = []
    for each in joined.rows:
        cells = each.cells
        worker, kind = str(cells.get("worker_id")), cells.get("hallucination_type")
        if kind not in _XSUMFAITH_KINDS:
            raise LayoutError(
                "hallucination_type", f"is {kind!r}; this layout has {', '.join(_XSUMFAITH_KINDS)}; check the preset"
            )
        kinds = types.setdefault(worker, set())
        if kind == "NULL":
            continue
        kinds.add(kind)
        marked.append(cells)
        start = integer_of(cells, "hallucinated_span_start") - 1
        marks.append((str(cells.get("hallucinated_span")), start, {"annotator": worker, "label": kind}))
    spans = located_spans(summary, marks)
    if spans is None:
        what = "is not in the summary; its spans are kept in `unplaced_spans` only, their types in sentence_labels"
        joined.warn("hallucinated_span", what)
    labels = {worker: sorted(kinds) or 1 for worker, kinds in types.items()}
    human: dict[str, Any] = {"sentence_labels": [labels], **(spans or {})}
    factual = {
        str(each.cells.get("worker_id")): label_of(each.cells.get("is_factual"), _FACTUAL, "is_factual")
        for each in joined.rows_of("factuality")
    }
    if factual:
        human["overall"] = {"factual": factual}
    row: Cells = {
        "doc_id": joined.cells["bbcid"],
        "system": joined.cells["system"],
        "document": joined.document,
        "summary": summary,
        "sentences": [summary],
        "domain": "xsum",
        "human": human,
    }
    scores = joined.first("scores")
    more = {"unplaced_spans": marked if spans is None else [], "eval_scores": scores}
    return [row | {name: value for name, value in more.items() if value}]


def _scores_key(row: Row) -> Hashable:
    system, _, bbcid = str(row.cells.get("system_bbcid")).rpartition("_")
    return _SCORED.get(system.casefold(), system.casefold()), bbcid


XSUMFAITH = Preset(
    name="xsumfaith",
    about="XSumFaith: hallucinated spans by annotator, and whether the summary is factual",
    citation="Maynez et al., 2020",
    licence="CC BY 4.0",
    roles=(
        FileRole(
            "rows",
            (*_KEY, "summary", "hallucination_type", "hallucinated_span", "worker_id"),
            "hallucination_annotations_xsum_summaries.csv",
            files=("hallucination_annotations_xsum_summaries.csv",),
        ),
        FileRole(
            "factuality",
            (*_KEY, "is_factual", "worker_id"),
            "factuality_annotations_xsum_summaries.csv",
            files=("factuality_annotations_xsum_summaries.csv",),
            key=_KEY,
            needed=never,
        ),
        FileRole(
            "scores",
            ("system_bbcid",),
            "eval_scores_xsum_summaries.csv",
            files=("eval_scores_xsum_summaries.csv",),
            key=_scores_key,
            row_key=lambda row: (str(row.cells.get("system")).casefold(), str(row.cells.get("bbcid"))),
            needed=never,
        ),
    ),
    articles=Articles("the articles of XSum's test set, by BBC id", lambda cells: str(cells.get("bbcid"))),
    gives="sentence_labels, sentence_error_types, spans; with the factuality file also overall.factual",
    counts=(Count("hallucination_annotations_xsum_summaries.csv", 500, 2_500),),
    group=_KEY,
    convert=_convert_xsumfaith,
)


# ---- DiaSumFact (Zhu et al., 2023): error types of the sentences of dialogue summaries ----


class _Error(BaseModel):
    error_class: Text
    error_span: Text | None = None


class _Sentence(BaseModel):
    sentence: Text
    annotation: list[_Error]


class _Summary(BaseModel):
    model_config = ConfigDict(protected_namespaces=())  # pydantic before 2.10 warns of fields named `model_...`

    model_prediction: Text
    sentence_annotations: list[_Sentence]


_SUMMARIES = TypeAdapter(dict[str, _Summary])


def _convert_diasumfact(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    raw = row.get("annotations")
    annotations = taken(row, "annotations", _SUMMARIES, "an object of {model_prediction, sentence_annotations} objects")
    utterances = taken(row, "utterances", TEXTS, "a list of strings")
    shared = {
        "doc_id": str(row.pop(RECORD_ID)),
        "document": "\n".join(utterances),
        "reference": row.pop("target_summary"),
        "domain": row.pop("dataset_name"),
    }
    for system, annotated in annotations.items():
        sentences = [each.sentence.strip() for each in annotated.sentence_annotations]
        summary = annotated.model_prediction
        fields: Cells = {"sentence_annotations": raw[system]["sentence_annotations"]} if isinstance(raw, dict) else {}
        if "".join(summary.split()) != "".join("".join(sentences).split()):
            joined.warn(
                f"annotations.{system}",
                "has a model_prediction unlike its sentences, which are used instead",
            )
            fields["model_prediction"], summary = summary, " ".join(sentences)
        if any(not each.annotation for each in annotated.sentence_annotations):
            raise LayoutError(f"annotations.{system}", "has a sentence without an annotation; check the preset")
        human = {
            "sentence_labels": [
                [error.error_class for error in each.annotation] for each in annotated.sentence_annotations
            ]
        }
        spans = _spans(summary, annotated.sentence_annotations)
        if spans is None:
            joined.warn(
                f"annotations.{system}",
                "has an error_span that is not in the summary; its spans are kept in a column only",
            )
        yield {**row, **fields, **shared, "system": system, "summary": summary, "sentences": sentences} | {
            "human": human | ({"spans": spans} if spans else {})
        }


def _spans(summary: str, sentences: Sequence[_Sentence]) -> list[dict[str, Any]] | None:
    """Return the error spans, or None if one of them cannot be found."""
    spans: list[dict[str, Any]] = []
    end = 0
    for sentence in sentences:
        text = sentence.sentence.strip()
        start = summary.find(text, end)
        if start < 0:
            return None
        end = start + len(text)
        for error in sentence.annotation:
            if names_no_error(error.error_class):
                continue
            offsets = located_span(text, error.error_span or "")
            if offsets is None:
                return None
            spans.append({"start": start + offsets[0], "end": start + offsets[1], "label": error.error_class})
    return spans


DIASUMFACT = Preset(
    name="diasumfact",
    about="DiaSumFact: error types per sentence, with spans",
    citation="Zhu et al., 2023",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            ("utterances", "target_summary", "dataset_name", "annotations", RECORD_ID),
            "annotations.json",
            files=("annotations.json",),
        ),
    ),
    gives="sentence_labels, sentence_error_types, spans",
    counts=(Count("annotations.json", 119, 475),),
    convert=_convert_diasumfact,
)
