"""Small invented files in the layouts of public datasets, and their sizes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

RAIN, SNOW = "It rained all day. We stayed in.", "It snowed. The road was shut."
HASH = "a" * 40


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, list(dict.fromkeys(column for row in content for column in row)))
            writer.writeheader()
            writer.writerows(content)
    elif path.suffix == ".xlsm":
        book = pytest.importorskip("openpyxl").Workbook()
        book.remove(book.active)
        for title, rows in content.items():
            sheet = book.create_sheet(title)
            sheet.append(list(rows[0]))
            for row in rows:
                sheet.append(list(row.values()))
        book.save(path)
    elif path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(content), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    else:
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def xsumfaith_row(worker: str, kind: str, span: str = "", start: int = -1, **more: Any) -> dict[str, Any]:
    end = start if start < 0 else start + len(span)
    return {
        "bbcid": "1",
        "system": "BERTS2S",
        "summary": "It rained hail.",
        "hallucination_type": kind,
        "hallucinated_span": span,
        "hallucinated_span_start": start,
        "hallucinated_span_end": end,
        "worker_id": worker,
    } | more


XSUMFAITH = {
    "hallucination_annotations_xsum_summaries.csv": [
        xsumfaith_row("wid_0", "extrinsic", "hail", 11),
        xsumfaith_row("wid_0", "intrinsic", "rained", 3),  # from 0, where the row above counts from 1
        xsumfaith_row("wid_1", "NULL"),
        xsumfaith_row("wid_2", "extrinsic", "sleet", 11),
        xsumfaith_row("wid_0", "NULL", system="Gold", summary="Rain."),
    ],
    "factuality_annotations_xsum_summaries.csv": [
        {"bbcid": "1", "system": "BERTS2S", "summary": "It rained hail.", "is_factual": answer, "worker_id": worker}
        for worker, answer in (("wid_0", "no"), ("wid_1", "yes"), ("wid_2", "NULL"))
    ],
    "eval_scores_xsum_summaries.csv": [{"system_bbcid": "bert_withckpt_1", "R1": 0.5}],
}


def tofu(index: int, sentence: str, label: str, kind: str = "", **more: Any) -> dict[str, Any]:
    return {
        "doc_id": "CNN-1",
        "annotation_id": "x",
        "topic": "rain",
        "model_name": "model_A",
        "sent_idx": index,
        "summ_sent": sentence,
        "sent_label": label,
        "exp": kind and "why",
        "type": kind,
    } | more


TOFUEVAL = {
    "mediasum_factual_eval_dev.csv": [
        tofu(2, "We left.", "no", "Contradiction, Misreferencing"),
        tofu(1, "It rained.", "yes"),
        tofu(1, "It rained.", "yes", model_name="model_B"),
        tofu(3, "We sang.", "no", "Extrinsic", model_name="model_B"),
    ],
    "mediasum_completeness_final.csv": [
        {"doc_id": "CNN-1", "annotation_id": "y", "topic": "rain", "key_points": "['1. It rained.', '2. They stayed.']"}
    ],
}
RAGTRUTH_ROW = {
    "id": "0",
    "source_id": "7",
    "model": "m",
    "temperature": 0.7,
    "split": "train",
    "quality": "good",
    "response": "It rained hail. Ok.",
    "labels": [
        {
            "start": 10,
            "end": 15,
            "text": "hail",
            "label_type": "Evident Baseless Info",
            "meta": "x",
            "implicit_true": False,
            "due_to_null": False,
        }
    ],
}
RAGTRUTH = {
    "response.jsonl": [
        RAGTRUTH_ROW,
        RAGTRUTH_ROW | {"model": "n", "labels": []},
        RAGTRUTH_ROW | {"model": "o", "quality": "truncated"},
        RAGTRUTH_ROW | {"source_id": "8"},
    ],
    "source_info.jsonl": [
        {"source_id": "7", "task_type": "Summary", "source": "CNN/DM", "source_info": RAIN, "prompt": "Summarize."},
        {"source_id": "8", "task_type": "QA", "source": "MARCO", "source_info": {"question": "?"}, "prompt": "Answer."},
    ],
}


def note(label: list[str], span: str, start: int, who: str = "a1") -> dict[str, Any]:
    return {
        "annotator_id": who,
        "annotator_name": who.upper(),
        "label": label,
        "note": "n",
        "summary_span": span,
        "summary_start": start,
        "summary_end": start + len(span),
        "source_span": None,
    }


def bench(summarizer: str, annotations: list[Any], number: int = 0) -> dict[str, Any]:
    return {
        "sample_id": number,
        "source": RAIN,
        "summary": "It rained hail.",
        "annotations": annotations,
        "metadata": {"summarizer": summarizer, "raw_sample_id": 9},
    }


FAITHBENCH = {
    "batch_1.json": {
        "samples": [
            bench("m", [note(["Unwanted", "Unwanted.Instrinsic"], "hail", 10), note(["Benign"], "rained", 3, "a2")]),
            bench("n", [note(["Benign"], "rained", 3)], 1),
            bench("o", [], 2),
        ]
    },
    "batch_2.json": {"samples": [bench("p", [note(["Questionable"], "hail", 10)])]},
}


def story(number: int, model: str, **more: Any) -> dict[str, Any]:
    return {
        "label": 0,
        "difficulty": "easy",
        "story": RAIN,
        "summary": ["It rained.", "We left."],
        "errors": [1, 0],
        "story-id": number,
        "explanations": ["no"],
        "claims": [],
        "split": "val",
        "model": model,
    } | more


STORYSUMM = {
    "storysumm.json": {
        "a1": story(1, "gpt"),
        "b2": story(1, "gpt", label=1, errors=[1, 1]),
        "c3": story(1, "claude", errors=[0]),
    }
}
ROSE_ROW = {
    "source": RAIN,
    "reference": "It rained. They stayed.",
    "reference_acus": ["It rained.", "They stayed."],
    "count_id": 0,
    "example_id": "e1",
    "annotations": {
        "bart": {"acu_labels": [1, 0], "acu": 0.5, "normalized_acu": 0.4, "prior": [3, 4]},
        "gone": {"acu_labels": [1, 1], "acu": 1.0, "normalized_acu": 1.0, "prior": [3]},
        "reference": {"acu_labels": None, "acu": None, "normalized_acu": None, "prior": [5, 5]},
    },
    "system_outputs": {"bart": "It rained."},
}
EDIT = {
    "id": "e1",
    "doc": RAIN,
    "summary": "It snowed.",
    "original_summary": "It rained.",
    "label": 0,
    "edit_types": ["entity_modification"],
    "split": "test",
}
DIALOGUE = {
    "id": "d1",
    "dialogue": "|Ana: Rain.|Ben: Yes.",
    "summary": "Rain.",
    "model_id": "A",
    "annotations": [
        {"consistency": 5, "relevance": 4, "fluency": 5, "coherence": 5},
        {"consistency": 4, "relevance": 4, "fluency": 5, "coherence": 1},
        {"consistency": 3, "relevance": 2, "fluency": 5, "coherence": 5},
    ],
}


def said(sentence: str, *errors: tuple[str, str]) -> dict[str, Any]:
    given = [
        {"error_class": kind, "error_span": span, "intrinsic/extrinsic": "", "comment": ""} for kind, span in errors
    ]
    return {"index": 0, "sentence": sentence, "annotation": given}


DIASUMFACT = {
    "annotations.json": {
        "3": {
            "utterances": ["Ana: It rained.", "Ben: I stayed in."],
            "query": "",
            "target_summary": "Rain.",
            "dataset_name": "SAMSum",
            "group_idx": 0,
            "annotations": {
                "bart": {
                    "model_prediction": "Ana rained. Ben left.",
                    "sentence_annotations": [
                        said("Ana rained.", ("No Error", "")),
                        said("Ben left.", ("EntE", "Ben"), ("PredE", "left")),
                    ],
                },
                "t5": {"model_prediction": "Ana", "sentence_annotations": [said("Ana rained.", ("No Error", ""))]},
            },
        }
    }
}
OPINIONS = {
    "summeval-op.jsonl": [
        {
            "reviews": {"rev1": "Good.", "rev2": "Bad."},
            "summaries": {
                "m": {
                    "summary": "Mixed.",
                    "dimensions": dict.fromkeys(
                        (
                            "fluency",
                            "coherence",
                            "relevance",
                            "faithfulness",
                            "aspect coverage",
                            "sentiment consistency",
                            "specificity",
                        ),
                        4.0,
                    ),
                }
            },
        }
    ],
    "summeval-op-detailed.jsonl": [
        {
            "reviews": ["Good.", "Bad."],
            "summaries": ["Mixed."],
            **{code: [[5, 4, 3]] for code in ("fl", "co", "re", "fa", "ac", "sc", "sp")},
        }
    ],
}


def bump(number: int, article: str, edited: str) -> dict[str, Any]:
    return {
        "id": number,
        "article_id": article,
        "article": RAIN,
        "reference_summary": "It rained.",
        "edited_summary": edited,
        "error_type": "Intrinsic Predicate Error",
        "scores": {"rouge_edited": 1},
    }


def aggrefact(
    dataset: str, doc: str, summary: str, label: int, model: str = "BART", own_id: str = "7"
) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "origin": "cnndm",
        "id": own_id,
        "doc": doc,
        "summary": summary,
        "model_name": model,
        "label": label,
        "cut": "test",
        "DAE_score": 0.5,
    }


TYPED = {
    "dataset": "CLIFF",
    "origin": "xsum",
    "id": "9",
    "doc": SNOW,
    "summ": "It snowed hail.",
    "model_name": "bart",
    "cut": "test",
    "error_type": "['extrinsic-NP']",
    "annotated_span": "['hail']",
}
FRANK = {
    "human_annotations_sentence.json": [
        {
            "hash": HASH,
            "model_name": "bart",
            "split": "test",
            "article": RAIN,
            "reference": "Rain.",
            "summary": "It rained. We left.",
            "summary_sentences": ["It rained.", "We left."],
            "summary_sentences_annotations": [
                {"annotator_0": ["NoE"], "annotator_1": ["NoE"]},
                {"annotator_0": ["EntE", "OutE"], "annotator_1": []},
            ],
        },
    ],
    "human_annotations.json": [
        {"hash": HASH, "model_name": "bart", "dataset": "cnndm", "Factuality": 0.5, "Flip_X": 1.0}
    ],
}
CASES: dict[str, tuple[dict[str, Any], dict[str, str] | None, int, int]] = {
    "aggrefact": (
        {
            "aggre_fact_final.csv": [
                aggrefact("FactCC", RAIN, "It rained.", 1, "missing"),
                aggrefact("FactCC", RAIN, "We left.", 0, "missing"),
                aggrefact("Goyal21", SNOW, "Snow.", 0),
                aggrefact("Goyal21", RAIN, "Rain.", 1),
                aggrefact("CLIFF", SNOW, "It snowed hail.", 0, "bart", "9"),
            ],
            "CLIFF_error_types.csv": [TYPED],
        },
        None,
        4,
        5,
    ),
    "aggrefact_types": (
        {
            "Goyal21_error_types.csv": [
                {**TYPED, "dataset": "Goyal21", "annotated_span": "[['hail', 'It']]"} | {"model_name": ""},
                {**TYPED, "summ": "It snowed.", "error_type": "correct", "annotated_span": ""},
                {**TYPED, "summ": "Snow.", "error_type": "", "annotated_span": ""},
                {**TYPED, "summ": "Hail.", "annotated_span": "['sleet']"},
            ]
        },
        None,
        2,
        4,
    ),
    "llm_aggrefact": (
        {
            "dev-0.jsonl": [
                {"dataset": name, "doc": RAIN, "claim": claim, "label": label, "contamination_identifier": "x"}
                for name in ("SetA", "SetB")
                for claim, label in (("Rain.", 1), ("Snow.", 0), ("Rain.", 1))
            ]
        },
        None,
        2,
        6,
    ),
    "summac": (
        {
            "summac.jsonl": [
                {
                    "document": text,
                    "claim": claim,
                    "label": 0,
                    "cut": "val",
                    "dataset": "polytope",
                    "origin": "cnndm",
                    "ID": 1,
                    "annotations": [0],
                }
                for text, claim in ((RAIN, "Snow."), (SNOW, "Rain."))
            ]
        },
        None,
        2,
        2,
    ),
    "factcc": (
        {
            "val/data-dev.jsonl": [
                {"id": "x", "filepath": f"cnndm/cnn/stories/{HASH}.story", "claim": claim, "label": label}
                for claim, label in (("It rained.", "CORRECT"), ("It snowed.", "INCORRECT"))
            ]
        },
        {HASH: RAIN},
        1,
        2,
    ),
    "cogensumm": (
        {
            "test_see17_org.json": {
                HASH: {
                    "label": "Incorrect",
                    "sents": {
                        "0": {"text": "It rained.", "label": "Correct"},
                        "1": {"text": "We left.", "label": "Incorrect"},
                        "2": {"text": "So what.", "label": "Unclear"},
                    },
                }
            }
        },
        {HASH: RAIN},
        1,
        1,
    ),
    "polytope": (
        {
            "Human_Annotation_Summarization_BART.xlsm": {
                "Scores per segment": [
                    {"ID": 1, "Source": RAIN, "Target": "It rained.", None: None, "Score": 97.5},
                    {"ID": 2, "Source": SNOW, "Target": "It snowed.", None: None, "Score": 100},
                    {"ID": None, "Source": None, "Target": "mean", None: None, "Score": 98.75},
                ],
                "Error Log": [
                    {"ID": 1.0, "Issue Types": "Accuracy", "Subtypes": "Addition", "Severity": "Minor"},
                    {"ID": 2, "Issue Types": "", "Subtypes": "", "Severity": ""},
                ],
                "How to score": [{"Severity": "Minor", "Points": 1, "Points ": 1}],
            },
            "Human_Annotation_Summarization_BottomUp.xlsm": {
                "Scores per segment": [{"ID": 1, "Source": SNOW, "Target": "Snow.", "Score": 50}]
            },
        },
        None,
        2,
        3,
    ),
    "frank": (FRANK, None, 1, 1),
    "xsumfaith": (XSUMFAITH, {"1": RAIN}, 1, 2),
    "tofueval": (TOFUEVAL, {"CNN-1": RAIN}, 1, 2),
    "ragtruth": (RAGTRUTH, None, 1, 2),
    "faithbench": (FAITHBENCH, None, 1, 4),
    "storysumm": (STORYSUMM, None, 1, 3),
    "rose": ({"cnndm_protocol/data/test-0.parquet": [ROSE_ROW]}, None, 1, 1),
    "summedits": (
        {"summedits_news.json": [EDIT, EDIT | {"id": "e2", "summary": "It rained.", "label": 1}]},
        None,
        1,
        2,
    ),
    "dialsummeval": ({"human_judgment.jsonl": [DIALOGUE, DIALOGUE | {"model_id": "GOLD"}]}, None, 1, 2),
    "diasumfact": (DIASUMFACT, None, 1, 2),
    "bump": ({"task1_dataset.json": [bump(1, "x", "It snowed."), bump(2, "x", "We rained.")]}, None, 1, 3),
    "gofigure": (
        {
            "samsum.jsonl": [
                {"article": f"{RAIN}</s>", "summary": text, "label": label, "errors": []}
                for text, label in (
                    ("Rain.", "factual"),
                    ("Snow.", "factually incorrect"),
                    ("Rain the.", "too incoherent"),
                )
            ]
        },
        None,
        1,
        3,
    ),
    "story_summeval": (
        {
            "test.jsonl": [
                {"summary": "It rained.", "label": 1, "text_id": "84", "source": "Gutenberg"},
                {"summary": "It snowed.", "label": 0, "text_id": "Snow", "source": "Wikisource"},
            ],
            "stories.jsonl": [{"source": "gutenberg", "text_id": "84", "text": RAIN}],
            "wiki.jsonl": [{"id": "5", "url": "u", "title": "Snow", "text": SNOW}],
        },
        None,
        2,
        2,
    ),
    "summeval_op": (OPINIONS, None, 1, 1),
}
"""By preset: files, documents by id, and the numbers of documents and summaries."""
