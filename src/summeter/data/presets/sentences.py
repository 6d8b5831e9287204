"""Presets for datasets with sentence labels: QAGS, CoGenSumm, FRANK, TofuEval, StorySumm."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.formats import RECORD_ID, Row
from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    integer_of,
    label_of,
    never,
    python_list,
    renamed,
    supported,
    taken,
)
from summeter.data.presets.claims import faithfulness

# ---- QAGS (Wang et al., 2020): yes or no by crowd workers for each sentence ----


class _Response(BaseModel):
    worker_id: Any = None
    response: Any = None


class _QagsSentence(BaseModel):
    sentence: Text
    responses: list[_Response]


_QAGS_SENTENCES = TypeAdapter(list[_QagsSentence])
_SETS = {"cnndm": "bottom_up", "xsum": "bart"}
"""The system of each file, which can only be identified by the file name."""


def _convert_qags(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"article": "document"})
    column = "summary_sentences"
    answered = taken(row, column, _QAGS_SENTENCES, "a list of {sentence, responses} objects")
    labels = []
    for sentence in answered:
        votes: dict[str, int] = {}
        for answer in sentence.responses:
            worker = f"w{answer.worker_id}"
            if answer.response not in ("yes", "no") or worker in votes:
                raise LayoutError(
                    column, f"has the response {answer.response!r} by {worker}; give one yes or no per worker"
                )
            votes[worker] = int(answer.response == "yes")
        labels.append(votes)
    domain = next((name for name in _SETS if name in joined.row.stem.lower()), None)
    source: Cells = {}
    if domain is not None:
        source = {"doc_id": f"{domain}-{joined.row.line - 1}", "system": _SETS[domain], "domain": domain}
    else:
        joined.warn(column, "has an unknown system, because the file name contains neither cnndm nor xsum")
    sentences = [sentence.sentence for sentence in answered]
    return [
        {**source, **row, "summary": " ".join(sentences), "sentences": sentences, "human": {"sentence_labels": labels}}
    ]


QAGS = Preset(
    name="qags",
    about="QAGS's mturk files: yes or no per sentence and worker",
    citation="Wang et al., 2020: Asking and Answering Questions to Evaluate the Factual Consistency of Summaries (ACL)",
    roles=(FileRole(ROWS, ("article", "summary_sentences"), "mturk_cnndm.jsonl or mturk_xsum.jsonl"),),
    gives="sentences, sentence_labels, domain, system",
    counts=(Count("mturk_cnndm.jsonl", 235, 235), Count("mturk_xsum.jsonl", 239, 239)),
    notes=(
        "articles of XSum begin with the reference summary, which evaluators that read the document therefore see",
        "197 of the 235 articles of CNN/DM are truncated; texts are lower-cased except at the start of sentences",
    ),
    convert=_convert_qags,
)


# ---- CoGenSumm (Falke et al., 2019): sentences labelled correct, incorrect or unclear ----

_COGENSUMM_LABELS = {"Correct": 1, "Incorrect": 0, "Unclear": None}


class _CogensummSentence(BaseModel):
    text: Text
    label: Text


_COGENSUMM_SENTENCES = TypeAdapter(dict[str, _CogensummSentence])


def _convert_cogensumm(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    if "correct_sent" in row:
        shared = {"doc_id": row.pop("article_id"), "document": joined.document}
        for system, label in (("correct", 1), ("incorrect", 0)):
            human = {"overall": {"faithfulness": label}}
            yield {**row, **shared, "system": system, "summary": row[f"{system}_sent"], "human": human}
        return
    doc_id = str(row.pop(RECORD_ID))
    if "sents" in row:
        yield _summary(row, joined, doc_id, joined.row.stem.removeprefix("test_"))
        return
    for beam, content in row.items():
        if not isinstance(content, dict):
            raise LayoutError(beam, "is not an object with label and sents, as this layout requires; check the preset")
        yield _summary(dict(content), joined, doc_id, f"beam-{beam}")


def _summary(row: Cells, joined: Joined, doc_id: str, system: str) -> Cells:
    by_number = taken(row, "sents", _COGENSUMM_SENTENCES, "an object of {text, label} objects")
    sentences = [by_number[key] for key in sorted(by_number, key=lambda key: (len(key), key))]
    human = {
        "overall": {"faithfulness": label_of(row.pop("label", None), _COGENSUMM_LABELS, "label")},
        "sentence_labels": [label_of(sentence.label, _COGENSUMM_LABELS, "sents") for sentence in sentences],
    }
    texts = [sentence.text for sentence in sentences]
    fields = {"doc_id": doc_id, "system": system, "document": joined.document}
    return row | fields | {"summary": " ".join(texts), "sentences": texts, "human": human}


COGENSUMM = Preset(
    name="cogensumm",
    about="CoGenSumm: Correct, Incorrect and Unclear (no vote), per sentence and summary",
    citation="Falke et al., 2019",
    roles=(
        FileRole(
            "rows",
            ("sents", "label", RECORD_ID),
            "test_{chen18_org,chen18_reranked,gehrmann18_org,see17_org}.json",
            files=("test_*.json",),
        ),
        FileRole("rows", ("0", "1", RECORD_ID), "val_reranking.json", files=("val_reranking.json",)),
        FileRole(
            "rows",
            ("article_id", "correct_sent", "incorrect_sent"),
            "val_sentence_pairs.json",
            files=("val_sentence_pairs.json",),
        ),
    ),
    articles=Articles(
        "the articles of CNN/DailyMail", lambda cells: str(cells.get(RECORD_ID) or cells.get("article_id"))
    ),
    gives="sentence_labels, overall.faithfulness",
    convert=_convert_cogensumm,
)


# ---- FRANK (Pagnoni et al., 2021): a set of error types per sentence and annotator ----

_TYPES: TypeAdapter[list[dict[str, list[str]]]] = TypeAdapter(list[dict[str, list[Text]]])
_LABELLED = "summary_sentences"
_KEY = ("hash", "model_name")


def _convert_frank(joined: Joined) -> Iterator[Cells]:
    labelled = [record for record in joined.rows if _LABELLED in record.cells]
    scores = joined.first("scores")
    for record in labelled or joined.rows:  # benchmark_data.json contains the same rows without annotations
        row = renamed(record.cells, {"hash": "doc_id", "model_name": "system", "article": "document"})
        row["domain"] = "cnndm" if re.fullmatch("[0-9a-f]{40}", str(row["doc_id"])) else "xsum"
        human: dict[str, Any] = {}
        if _LABELLED in row:
            row["sentences"] = taken(row, _LABELLED, TEXTS, "a list of strings")
            cells = taken(row, f"{_LABELLED}_annotations", _TYPES, "a list of {annotator: [categories]} objects")
            human["sentence_labels"] = [{judge: names or None for judge, names in cell.items()} for cell in cells]
        if scores is not None:  # 1 means no error
            human["overall"] = {"faithfulness": scores["Factuality"]}
            row["frank_scores"] = {name: value for name, value in scores.items() if name not in _KEY}
        yield row | {"human": human} if human else row


FRANK = Preset(
    name="frank",
    about="FRANK: error types per sentence and annotator, and scores of summaries",
    citation="Pagnoni et al., 2021",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            (*_KEY, "article", "summary"),
            "human_annotations_sentence.json (benchmark_data.json: texts only)",
            files=("human_annotations_sentence.json",),
        ),
        FileRole(
            "scores",
            (*_KEY, "Factuality"),
            "human_annotations.json",
            files=("human_annotations.json",),
            key=_KEY,
            needed=never,
        ),
    ),
    gives="sentence_labels, sentence_error_types; with the scores also overall.faithfulness",
    counts=(Count("human_annotations_sentence.json", 499, 2_246),),
    group=_KEY,
    convert=_convert_frank,
)


# ---- TofuEval (Tang et al., 2024): consistency of the sentences of summaries of a topic in a dialogue ----

_TOFUEVAL_LABELS = {"yes": 1, "no": 0}
_SUMMARY = ("doc_id", "topic", "model_name")
_TOPIC = ("doc_id", "topic")
_OF_SENTENCES = {*_SUMMARY, "sent_idx", "summ_sent", "sent_label", "exp", "type"}


def _convert_tofueval(joined: Joined) -> Iterable[Cells]:
    rows = sorted(joined.rows, key=lambda row: integer_of(row.cells, "sent_idx"))
    if (numbers := [integer_of(row.cells, "sent_idx") for row in rows]) != list(range(1, len(rows) + 1)):
        listed = ", ".join(map(str, numbers))
        joined.warn("sent_idx", f"has the values {listed} in one summary: sentences are missing or repeated")
    sentences = [str(each.cells.get("summ_sent")).strip() for each in rows]
    row: Cells = {name: value for name, value in joined.cells.items() if name not in _OF_SENTENCES}
    explanations = [each.cells.get("exp") or None for each in rows]
    row |= {"explanations": explanations} if any(explanations) else {}
    doc_id, topic = joined.cells["doc_id"], joined.cells["topic"]
    row |= {
        "doc_id": f"{doc_id}#{topic}",
        "topic": topic,
        "system": joined.cells["model_name"],
        "document": joined.document,
        "summary": " ".join(sentences),
        "sentences": sentences,
        "human": _human(rows),
    }
    source, _, cut = joined.row.stem.partition("_factual_eval_")
    if cut:
        row |= {"domain": source, "cut": cut}
    points = python_list((joined.first("key_points") or {}).get("key_points"), "key_points")
    # The numbers of "1. The vote was postponed" are no part of the key points.
    facts = [re.sub(r"^\s*\d+\s*[.)]\s*", "", str(point)).strip() for point in points]
    return [row | ({"key_facts": [*filter(None, facts)]} if any(facts) else {})]


def _human(rows: Sequence[Row]) -> dict[str, Any]:
    labels, types = [], []
    for row in rows:
        label = str(row.cells.get("sent_label")).strip().lower()
        if label not in _TOFUEVAL_LABELS:
            raise LayoutError("sent_label", f"is {label!r}, but must be yes or no in this layout; check the preset")
        labels.append(_TOFUEVAL_LABELS[label])
        names = [name.strip() for name in str(row.cells.get("type") or "").split(",") if name.strip()]
        types.append(names if names and label == "no" else None)
    return {"sentence_labels": labels} | ({"sentence_error_types": types} if any(types) else {})


TOFUEVAL = Preset(
    name="tofueval",
    about="TofuEval: yes or no per sentence (yes = consistent), error types, key points",
    citation="Tang et al., 2024",
    licence="MIT-0",
    roles=(
        FileRole(
            "rows",
            (*_SUMMARY, "sent_idx", "summ_sent", "sent_label"),
            "factual_consistency/{mediasum,meetingbank}_factual_eval_{dev,test}.csv",
            files=("*_factual_eval_*.csv",),
        ),
        FileRole(
            "key_points",
            (*_TOPIC, "key_points"),
            "completeness/*_completeness_final.csv",
            files=("*_completeness_final.csv",),
            key=_TOPIC,
            needed=never,
        ),
    ),
    articles=Articles(
        "MediaSum's news_dialogue.json, MeetingBank's transcripts", lambda cells: str(cells.get("doc_id"))
    ),
    gives="sentence_labels, sentence_error_types; with the key points also key_facts",
    counts=(Count("mediasum_factual_eval_*.csv", 150, 893), Count("meetingbank_factual_eval_*.csv", 150, 884)),
    group=_SUMMARY,
    convert=_convert_tofueval,
)


# ---- StorySumm (Subbiah et al., 2024): faithfulness of summaries of short stories and of their sentences ----

_STRAY = re.compile(r'(?<=\.",) "(?=[ \t]*\r?$)', re.MULTILINE)


def repair(text: str, warn: Callable[[int, str], None]) -> str:
    """Remove the stray quotation mark that makes the released file invalid JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        strays = list(_STRAY.finditer(text))
        if len(strays) == 1:
            start, end = strays[0].span()
            warn(text.count("\n", 0, start) + 1, "ends with a stray quotation mark, which is ignored")
            return text[:start] + text[end:]
    return text


def _convert_storysumm(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"story": "document", "model": "system", "story-id": "doc_id", "split": "cut"})
    sentences = taken(row, "summary", TEXTS, "a list of strings")
    human: dict[str, Any] = faithfulness(row)
    labels = taken(row, "errors", LIST, "a list with one label per sentence")
    if len(labels) == len(sentences):
        human["sentence_labels"] = [None if label is None else supported(label, "errors") for label in labels]
    else:
        counts = f"{len(labels)} labels for {len(sentences)} sentences"
        joined.warn("errors", f"has {counts}; it is unknown which is missing, so they are kept in `errors` only")
        row["errors"] = labels
    row["record"] = row.pop(RECORD_ID)
    return [row | {"summary": " ".join(sentences), "sentences": sentences, "human": human}]


STORYSUMM = Preset(
    name="storysumm",
    about="StorySumm: faithful or not, per summary and per sentence",
    citation="Subbiah et al., 2024",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            ("story", "summary", "errors", "label", "story-id", "model", RECORD_ID),
            "storysumm.json",
            files=("storysumm.json",),
        ),
    ),
    gives="overall.faithfulness, sentence_labels",
    counts=(Count("storysumm.json", 32, 96),),
    convert=_convert_storysumm,
    repair=repair,
)
