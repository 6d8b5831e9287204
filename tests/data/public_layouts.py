"""Small invented files in the layouts of public datasets, and their sizes."""

from __future__ import annotations

from typing import Any

RAIN, SNOW = "It rained all day. We stayed in.", "It snowed. The road was shut."
HASH = "a" * 40


def row(columns: str, *cells: Any, **more: Any) -> dict[str, Any]:
    """Return a row with these columns, separated by blanks, and further or other cells."""
    return dict(zip(columns.split(), cells, strict=True)) | more


def xsumfaith_row(worker: str, kind: str, span: str = "", start: int = -1, **more: Any) -> dict[str, Any]:
    place = {"hallucinated_span": span, "hallucinated_span_start": start, "hallucination_type": kind}
    return row("bbcid system summary worker_id", "1", "BERTS2S", "It rained hail.", worker, **place) | more


XSUMFAITH = {
    "hallucination_annotations_xsum_summaries.csv": [
        xsumfaith_row("wid_0", "extrinsic", "hail", 11),
        xsumfaith_row("wid_0", "intrinsic", "rained", 3),  # from 0, where the row above counts from 1
        xsumfaith_row("wid_1", "NULL"),
        xsumfaith_row("wid_2", "extrinsic", "sleet", 11),
        xsumfaith_row("wid_0", "NULL", system="Gold", summary="Rain."),
    ],
    "factuality_annotations_xsum_summaries.csv": [
        row("bbcid system summary worker_id is_factual", "1", "BERTS2S", "It rained hail.", worker, answer)
        for worker, answer in (("wid_0", "no"), ("wid_1", "yes"), ("wid_2", "NULL"))
    ],
    "eval_scores_xsum_summaries.csv": [{"system_bbcid": "bert_withckpt_1", "R1": 0.5}],
}


def tofu(index: int, sentence: str, label: str, kind: str = "", **more: Any) -> dict[str, Any]:
    names = "doc_id annotation_id topic model_name sent_idx summ_sent sent_label exp type"
    return row(names, "CNN-1", "x", "rain", "model_A", index, sentence, label, kind and "why", kind, **more)


POINTS = "['1. It rained.', '2. They stayed.']"
TOFUEVAL = {
    "mediasum_factual_eval_dev.csv": [
        tofu(2, "We left.", "no", "Contradiction, Misreferencing"),
        tofu(1, "It rained.", "yes"),
        tofu(1, "It rained.", "yes", model_name="model_B"),
        tofu(3, "We sang.", "no", "Extrinsic", model_name="model_B"),
    ],
    "mediasum_completeness_final.csv": [row("doc_id annotation_id topic key_points", "CNN-1", "y", "rain", POINTS)],
}
RAGTRUTH_ROW = {
    "id": "0",
    **row("source_id model temperature split quality", "7", "m", 0.7, "train", "good"),
    "response": "It rained hail. Ok.",
    "labels": [row("start end text label_type implicit_true", 10, 15, "hail", "Evident Baseless Info", False)],
}
RAGTRUTH = {
    "response.jsonl": [
        RAGTRUTH_ROW,
        RAGTRUTH_ROW | {"model": "n", "labels": []},
        RAGTRUTH_ROW | {"model": "o", "quality": "truncated"},
        RAGTRUTH_ROW | {"source_id": "8"},
    ],
    "source_info.jsonl": [
        row("source_id task_type source source_info prompt", "7", "Summary", "CNN/DM", RAIN, "Summarize."),
        row("source_id task_type source source_info prompt", "8", "QA", "MARCO", {"question": "?"}, "Answer."),
    ],
}


def note(label: list[str], span: str, start: int, who: str = "a1") -> dict[str, Any]:
    names = "annotator_id annotator_name label note summary_span summary_start summary_end source_span"
    return row(names, who, who.upper(), label, "n", span, start, start + len(span), None)


def bench(summarizer: str, annotations: list[Any], number: int = 0) -> dict[str, Any]:
    about = {"summarizer": summarizer, "raw_sample_id": 9}
    return row("sample_id source summary annotations metadata", number, RAIN, "It rained hail.", annotations, about)


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


def story(model: str, label: int = 0, errors: tuple[int, ...] = (1, 0)) -> dict[str, Any]:
    texts = {"story": RAIN, "summary": ["It rained.", "We left."], "explanations": ["no"], "claims": []}
    return row("label difficulty errors story-id split model", label, "easy", [*errors], 1, "val", model, **texts)


STORYSUMM = {"storysumm.json": {"a1": story("gpt"), "b2": story("gpt", 1, (1, 1)), "c3": story("claude", 0, (0,))}}
ACUS = "acu_labels acu normalized_acu prior"
ROSE_ROW = {
    **row("source reference count_id example_id", RAIN, "It rained. They stayed.", 0, "e1"),
    "reference_acus": ["It rained.", "They stayed."],
    "annotations": {
        "bart": row(ACUS, [1, 0], 0.5, 0.4, [3, 4]),
        "gone": row(ACUS, [1, 1], 1.0, 1.0, [3]),
        "reference": row(ACUS, None, None, None, [5, 5]),
    },
    "system_outputs": {"bart": "It rained."},
}
EDIT = {
    **row("id doc summary original_summary label split", "e1", RAIN, "It snowed.", "It rained.", 0, "test"),
    "edit_types": ["entity_modification"],
}
DIALOGUE = {
    **row("id dialogue summary model_id", "d1", "|Ana: Rain.|Ben: Yes.", "Rain.", "A"),
    "annotations": [
        row("consistency relevance fluency coherence", *votes) for votes in ((5, 4, 5, 5), (4, 4, 5, 1), (3, 2, 5, 5))
    ],
}


def said(sentence: str, *errors: tuple[str, str]) -> dict[str, Any]:
    return {"sentence": sentence, "annotation": [row("error_class error_span", *error) for error in errors]}


RAINED = said("Ana rained.", ("No Error", ""))
LEFT = said("Ben left.", ("EntE", "Ben"), ("PredE", "left"))
DIASUMFACT = {
    "annotations.json": {
        "3": {
            "utterances": ["Ana: It rained.", "Ben: I stayed in."],
            **row("query target_summary dataset_name group_idx", "", "Rain.", "SAMSum", 0),
            "annotations": {
                "bart": {"model_prediction": "Ana rained. Ben left.", "sentence_annotations": [RAINED, LEFT]},
                "t5": {"model_prediction": "Ana", "sentence_annotations": [RAINED]},
            },
        }
    }
}
NAMES = ("fluency", "coherence", "relevance", "faithfulness", "specificity", "aspect coverage", "sentiment consistency")
MIXED = {"summary": "Mixed.", "dimensions": dict.fromkeys(NAMES, 4.0)}
OPINIONS = {
    "summeval-op.jsonl": [{"reviews": {"rev1": "Good.", "rev2": "Bad."}, "summaries": {"m": MIXED}}],
    "summeval-op-detailed.jsonl": [
        row("reviews summaries fl co re fa ac sc sp", ["Good.", "Bad."], ["Mixed."], *[[[5, 4, 3]]] * 7)
    ],
}


def bump(number: int, article: str, edited: str) -> dict[str, Any]:
    about = {"error_type": "Intrinsic Predicate Error", "scores": {"rouge_edited": 1}}
    names = "id article_id article reference_summary edited_summary"
    return row(names, number, article, RAIN, "It rained.", edited, **about)


def aggrefact(
    dataset: str, doc: str, summary: str, label: int, model: str = "BART", own_id: str = "7"
) -> dict[str, Any]:
    names = "dataset origin id doc summary model_name label cut DAE_score"
    return row(names, dataset, "cnndm", own_id, doc, summary, model, label, "test", 0.5)


TYPED = {
    **row("dataset origin id doc summ model_name cut", "CLIFF", "xsum", "9", SNOW, "It snowed hail.", "bart", "test"),
    **row("error_type annotated_span", "['extrinsic-NP']", "['hail']"),
}
FRANK = {
    "human_annotations_sentence.json": [
        {
            **row("hash model_name split article reference", HASH, "bart", "test", RAIN, "Rain."),
            "summary": "It rained. We left.",
            "summary_sentences": ["It rained.", "We left."],
            "summary_sentences_annotations": [
                {"annotator_0": ["NoE"], "annotator_1": ["NoE"]},
                {"annotator_0": ["EntE", "OutE"], "annotator_1": []},
            ],
        },
    ],
    "human_annotations.json": [row("hash model_name dataset Factuality Flip_X", HASH, "bart", "cnndm", 0.5, 1.0)],
}
AGGREFACT = {
    "aggre_fact_final.csv": [
        aggrefact("FactCC", RAIN, "It rained.", 1, "missing"),
        aggrefact("FactCC", RAIN, "We left.", 0, "missing"),
        aggrefact("Goyal21", SNOW, "Snow.", 0),
        aggrefact("Goyal21", RAIN, "Rain.", 1),
        aggrefact("CLIFF", SNOW, "It snowed hail.", 0, "bart", "9"),
    ],
    "CLIFF_error_types.csv": [TYPED],
}
TYPES = {
    "Goyal21_error_types.csv": [
        {**TYPED, "dataset": "Goyal21", "annotated_span": "[['hail', 'It']]", "model_name": ""},
        {**TYPED, "summ": "It snowed.", "error_type": "correct", "annotated_span": ""},
        {**TYPED, "summ": "Snow.", "error_type": "", "annotated_span": ""},
        {**TYPED, "summ": "Hail.", "annotated_span": "['sleet']"},
    ]
}
LLM_AGGREFACT = {
    "dev-0.jsonl": [
        row("dataset doc claim label contamination_identifier", name, RAIN, claim, label, "x")
        for name in ("SetA", "SetB")
        for claim, label in (("Rain.", 1), ("Snow.", 0), ("Rain.", 1))
    ]
}
SUMMAC = {
    "summac.jsonl": [
        row("document claim label cut dataset origin ID", text, claim, 0, "val", "polytope", "cnndm", 1)
        for text, claim in ((RAIN, "Snow."), (SNOW, "Rain."))
    ]
}
FACTCC = {
    "val/data-dev.jsonl": [
        row("id filepath claim label", "x", f"cnndm/cnn/stories/{HASH}.story", claim, label)
        for claim, label in (("It rained.", "CORRECT"), ("It snowed.", "INCORRECT"))
    ]
}
LABELLED = (("It rained.", "Correct"), ("We left.", "Incorrect"), ("So what.", "Unclear"))
COGENSUMM = {
    "test_see17_org.json": {
        HASH: {
            "label": "Incorrect",
            "sents": {f"{number}": row("text label", *sentence) for number, sentence in enumerate(LABELLED)},
        }
    }
}
POLYTOPE = {
    "Human_Annotation_Summarization_BART.xlsm": {
        "Scores per segment": [
            ["ID", "Source", "Target", None, "Score"],
            [1, RAIN, "It rained.", None, 97.5],
            [2, SNOW, "It snowed.", None, 100],
            [None, None, "mean", None, 98.75],
        ],
        "Error Log": [["ID", "Issue Types", "Subtypes", "Severity"], [1.0, "Accuracy", "Addition", "Minor"], [2]],
        "How to score": [["Severity", "Points", "Points "], ["Minor", 1, 1]],
    },
    "Human_Annotation_Summarization_BottomUp.xlsm": {
        "Scores per segment": [["ID", "Source", "Target", "Score"], [1, SNOW, "Snow.", 50]]
    },
}
GOFIGURE = {
    "samsum.jsonl": [
        row("article summary label errors", f"{RAIN}</s>", text, label, [])
        for text, label in (("Rain.", "factual"), ("Snow.", "factually incorrect"), ("Rain the.", "too incoherent"))
    ]
}
STORY_SUMMEVAL = {
    "test.jsonl": [
        row("summary label text_id source", "It rained.", 1, "84", "Gutenberg"),
        row("summary label text_id source", "It snowed.", 0, "Snow", "Wikisource"),
    ],
    "stories.jsonl": [row("source text_id text", "gutenberg", "84", RAIN)],
    "wiki.jsonl": [row("id url title text", "5", "u", "Snow", SNOW)],
}
Case = tuple[dict[str, Any], dict[str, str] | None, int, int]
CASES: dict[str, Case] = {
    "aggrefact": (AGGREFACT, None, 4, 5),
    "aggrefact_types": (TYPES, None, 2, 4),
    "llm_aggrefact": (LLM_AGGREFACT, None, 2, 6),
    "summac": (SUMMAC, None, 2, 2),
    "factcc": (FACTCC, {HASH: RAIN}, 1, 2),
    "cogensumm": (COGENSUMM, {HASH: RAIN}, 1, 1),
    "polytope": (POLYTOPE, None, 2, 3),
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
    "gofigure": (GOFIGURE, None, 1, 3),
    "story_summeval": (STORY_SUMMEVAL, None, 2, 2),
    "summeval_op": (OPINIONS, None, 1, 1),
}
"""By preset: files, documents by id, and the numbers of documents and summaries."""
