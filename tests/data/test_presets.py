"""Presets on invented files in public layouts: rows, labels, spans, types, warnings, faults and round trips."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from data.files import write
from data.flat_view import flat_rows
from data.public_layouts import (
    ACUS,
    CASES,
    DIALOGUE,
    DIASUMFACT,
    EDIT,
    FRANK,
    HASH,
    OPINIONS,
    RAGTRUTH,
    RAGTRUTH_ROW,
    RAIN,
    SNOW,
    STORY_SUMMEVAL,
    STORYSUMM,
    TYPED,
    aggrefact,
    bench,
    bump,
    note,
    row,
    tofu,
    xsumfaith_row,
)
from together import together
from typer.testing import CliRunner

from summeter.cli.data import app
from summeter.data.dataset import Dataset, load
from summeter.data.presets import PRESETS
from summeter.data.presets.sentences import repair
from summeter.pages.numbers import count
from summeter.records import InputError, digest

Files = dict[str, Any]
Rows = dict[tuple[str, str], dict[str, Any]]


def written(folder: Path, files: Files) -> list[Path]:
    return [write(folder / name, content) for name, content in files.items()]


def articles(folder: Path, documents: dict[str, str] | None) -> tuple[Path, ...]:
    rows = [{"id": name, "text": text} for name, text in (documents or {}).items()]
    return (write(folder / "documents.jsonl", rows),) if rows else ()


def read(folder: Path, preset: str, files: Files, documents: dict[str, str] | None = None) -> Dataset:
    return load(written(folder, files), preset=preset, documents=articles(folder, documents))


def faults(folder: Path, preset: str, files: Files, documents: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, preset, files, documents)
    return [str(fault).removeprefix(f"{folder}/") for fault in caught.value.faults]


def marked(start: int, end: int, label: Any, annotator: str | None = None) -> dict[str, Any]:
    """Return a span."""
    return ({} if annotator is None else {"annotator": annotator}) | {"start": start, "end": end, "label": label}


def spans(*marks: dict[str, Any]) -> dict[str, Any]:
    """Return spans and their annotators as fields of a block."""
    return {"spans": [*marks], "span_annotators": sorted({mark.get("annotator", "people") for mark in marks})}


def faithful(label: float | None) -> dict[str, Any]:
    return {"overall": {"faithfulness": label}}


RAIN_ID, SNOW_ID = digest(RAIN, 12), digest(SNOW, 12)
HAIL = marked(10, 14, "extrinsic-NP")
NOTHING: dict[str, Any] = {"spans": [], "span_annotators": ["people"]}
ENTITY = {"sentence_labels": [1, 0], "sentence_error_types": ["No Error", "EntE+PredE"]}
TOFU = {"sentence_labels": [1, 0], "sentence_error_types": [None, "Contradiction+Misreferencing"]}
EXPECTED: dict[str, tuple[Rows, tuple[str, ...]]] = {
    "aggrefact": (
        {
            ("FactCC/7", "missing"): {"human": faithful(1)},
            ("FactCC/7", "missing#2"): {"human": faithful(0)},  # two claims on one article
            ("Goyal21/7", "BART"): {"document": SNOW},
            ("Goyal21/7#2", "BART"): {"document": RAIN},  # one id, two articles
            ("CLIFF/9", "bart"): {
                "human": faithful(0) | spans(HAIL), "error_type": "['extrinsic-NP']", "DAE_score": "0.5",
                "domain": "cnndm",
            },
        },
        ("system: repeats the document and system of an earlier row", "is kept as 'Goyal21/7#2'"),
    ),
    "aggrefact_types": (
        {
            ("Goyal21/9", f"claim-{digest('It snowed hail.', 8)}"): {
                "summary": "It snowed hail.", "human": faithful(0) | spans(HAIL, marked(0, 2, "extrinsic-NP")),
            },
            ("CLIFF/9", "bart"): {"summary": "It snowed.", "human": faithful(1) | NOTHING},
            ("CLIFF/9", "bart#2"): {"summary": "Snow.", "human": faithful(None)},
            ("CLIFF/9", "bart#3"): {"summary": "Hail.", "human": faithful(0)},  # its span is not there
        },
        ("annotated_span: contains a span that is not in the summary",),
    ),
    "frank": (
        {
            (HASH, "bart"): {
                "domain": "cnndm", "frank_scores": {"dataset": "cnndm", "Factuality": 0.5, "Flip_X": 1.0},
                "human": {
                    "sentence_labels": [{"annotator_0": 1, "annotator_1": 1}, {"annotator_0": 0, "annotator_1": None}],
                    "sentence_error_types": [
                        {"annotator_0": "NoE", "annotator_1": "NoE"}, {"annotator_0": "EntE+OutE"},
                    ],
                    **faithful(0.5),
                },
            }
        },
        (),
    ),
    "cogensumm": ({(HASH, "see17_org"): {"human": faithful(0) | {"sentence_labels": [1, 0, None]}}}, ()),
    "polytope": (
        {
            (f"doc-{RAIN_ID}", "BART"): {
                "summary": "It rained.", "human": {"overall": {"polytope": 97.5}},
                "issues": [{"Issue Types": "Accuracy", "Subtypes": "Addition", "Severity": "Minor"}],
            },
            (f"doc-{SNOW_ID}", "BART"): {"summary": "It snowed.", "issues": []},
            (f"doc-{SNOW_ID}", "BottomUp"): {"document": SNOW},  # its ID 1 is another text
        },
        (),
    ),
    "xsumfaith": (
        {
            ("1", "BERTS2S"): {
                "human": {  # no spans, because the place of one is unknown
                    "sentence_labels": [{"wid_0": 0, "wid_1": 1, "wid_2": 0}],
                    "sentence_error_types": [{"wid_0": "extrinsic+intrinsic", "wid_2": "extrinsic"}],
                    "overall": {"factual": {"wid_0": 0, "wid_1": 1, "wid_2": None}},
                },
                "document": RAIN, "eval_scores": {"system_bbcid": "bert_withckpt_1", "R1": "0.5"},
            }
        },
        ("hallucinated_span: is not in the summary; its spans are kept",),
    ),
    "tofueval": (
        {
            ("CNN-1#rain", "model_A"): {
                "summary": "It rained. We left.", "key_facts": ["It rained.", "They stayed."], "domain": "mediasum",
                "cut": "dev", "explanations": [None, "why"], "human": TOFU,
            },
            ("CNN-1#rain", "model_B"): {"sentences": ["It rained.", "We sang."]},
        },
        ("sent_idx: has the values 1, 3 in one summary",),
    ),
    "ragtruth": (
        {  # the released offsets run past the span by one: its text decides
            ("7", "m"): {"human": spans(marked(10, 14, "Evident Baseless Info")), "labels": RAGTRUTH_ROW["labels"]},
            ("7", "n"): {"human": NOTHING},
        },
        ("quality: is truncated; such rows are left out", "task_type: is QA; such rows are left out"),
    ),
    "faithbench": (
        {
            (f"doc-{RAIN_ID}", "m"): {
                "human": faithful(0)
                | spans(marked(10, 14, "Unwanted+Unwanted.Instrinsic", "a1"), marked(3, 9, 1, "a2")),
            },
            (f"doc-{RAIN_ID}", "n"): {  # a2 read this summary, too
                "human": faithful(1) | spans(marked(3, 9, 1, "a1")) | {"span_annotators": ["a1", "a2"]},
            },
            (f"doc-{RAIN_ID}", "p"): {"batch": "batch_2", "sample_id": 0},
        },
        (),
    ),
    "storysumm": (
        {
            ("1", "gpt"): {"human": faithful(0) | {"sentence_labels": [1, 0]}},
            ("1", "gpt#2"): {"human": faithful(1) | {"sentence_labels": [1, 1]}},
            ("1", "claude"): {"human": faithful(0), "errors": [0]},
        },
        ("has 1 labels for 2 sentences; it is unknown which is missing",),
    ),
    "rose": (
        {
            ("cnndm_protocol/e1", "bart"): {
                "human": {
                    "ratings": {"prior": {"?1": 3, "?2": 4}}, "overall": {"acu": 0.5, "normalized_acu": 0.4},
                    "key_fact_labels": [1, 0],
                },
                "key_facts": ["It rained.", "They stayed."], "reference": "It rained. They stayed.",
            }
        },
        ("system_outputs: has no summary by gone; its annotations are left out",),
    ),
    "summedits": (
        {
            (f"news/{RAIN_ID}", name): {
                "human": faithful(label), "cut": "test", "domain": "news", "edit_types": ["entity_modification"],
            }
            for name, label in (("e1", 0), ("e2", 1))
        },
        (),
    ),
    "dialsummeval": (
        {
            ("d1", "A"): {
                "human": {
                    "ratings": {
                        aspect: {"annotator1": first, "annotator2": second, "annotator3": third}
                        for aspect, first, second, third in (
                            ("consistency", 5, 4, 3), ("relevance", 4, 4, 2), ("fluency", 5, 5, 5),
                            ("coherence", 5, 1, 5),
                        )
                    }
                }
            }
        },
        (),
    ),
    "diasumfact": (
        {
            ("3", "bart"): {
                "document": "Ana: It rained.\nBen: I stayed in.",
                "human": ENTITY | spans(marked(12, 15, "EntE"), marked(16, 20, "PredE")),
            },
            ("3", "t5"): {"summary": "Ana rained.", "model_prediction": "Ana"},
        },
        ("annotations.t5: has a model_prediction unlike its sentences",),
    ),
    "bump": (
        {
            ("x", name): {"human": faithful(label), "error_type": kind}
            for name, label, kind in (
                ("reference", 1, None), ("1", 0, "Intrinsic Predicate Error"), ("2", 0, "Intrinsic Predicate Error"),
            )
        },
        (),
    ),
}  # fmt: skip
"""By preset: cells of some rows by document and system (None: absent), and warnings."""


def check(data: Dataset, expected: Rows, warnings: tuple[str, ...]) -> None:
    rows = {(each["doc_id"], each["system"]): each for each in flat_rows(data)}
    for item, cells in expected.items():
        assert {name: rows[item].get(name) for name in cells} == cells
    found = [f"{fault.field}: {fault.message}" for fault in data.warnings]
    assert [text for text in warnings if not any(text in line for line in found)] == []


@pytest.mark.parametrize("name", CASES)
def test_rows_and_round_trip(name: str, tmp_path: Path) -> None:
    files, documents, *sizes = CASES[name]
    data = read(tmp_path, name, files, documents)
    assert [len(data.documents), len(data)] == sizes
    assert "human.raw" in data.judgment_sets
    check(data, *EXPECTED.get(name, ({}, ())))
    rows = list(flat_rows(data))
    again = load(rows)
    assert list(flat_rows(again)) == rows
    assert again.judgment_sets == data.judgment_sets
    for each in data.judgment_sets:
        assert again.judgments(each) == data.judgments(each)


@pytest.mark.parametrize("name", ["aggrefact", "factcc"])
def test_on_the_command_line(name: str, tmp_path: Path) -> None:
    files, documents, *sizes = CASES[name]
    more = [text for path in articles(tmp_path, documents) for text in ("--documents", str(path))]
    out = tmp_path / "out"
    paths = map(str, written(tmp_path, files))
    result = CliRunner().invoke(app, ["import", *paths, "--preset", name, *more, "-o", str(out)])
    assert result.exit_code == 0
    assert f"{count(sizes[0], 'document')}, {count(sizes[1], 'summary', 'summaries')}" in result.stdout
    assert all(str(count) in result.stdout for count in PRESETS[name].counts)
    assert CliRunner().invoke(app, ["export", str(out), "-o", str(tmp_path / "back.jsonl")]).exit_code == 0
    assert load(tmp_path / "back.jsonl").hash == load(out).hash


@together("name", [name for name in CASES if any(part.files for part in PRESETS[name].roles)])
def test_downloaded_folder(name: str, tmp_path: Path) -> None:
    files, documents, *sizes = CASES[name]
    folder = tmp_path / name
    written(folder / "release" / "data", {**files, "LICENSE.txt": "free", "setup.json": {"a": 1}})
    data = load(folder / "release", preset=name, documents=articles(folder, documents))
    assert [len(data.documents), len(data)] == sizes


def test_labels_without_identified_systems(tmp_path: Path) -> None:
    def labels(name: str) -> list[Any]:
        return [each["human"]["overall"]["faithfulness"] for each in flat_rows(read(tmp_path, name, *CASES[name][:2]))]

    assert labels("llm_aggrefact") == [1, 0, 1, 1, 0, 1]
    assert labels("factcc") == [1, 0]
    assert labels("gofigure") == [1, 0, None]
    claims = read(tmp_path, "llm_aggrefact", CASES["llm_aggrefact"][0])
    assert sorted(claims.domains) == ["SetA", "SetB"]
    assert sum(each.system.endswith("#2") for each in claims.summaries) == 2  # a claim twice in one set
    assert {each.extra["cut"] for each in claims.summaries} == {"dev"}
    assert list(read(tmp_path, "summac", CASES["summac"][0]).documents) == ["polytope/1", "polytope/1#2"]
    assert read(tmp_path, "gofigure", CASES["gofigure"][0]).domains == ("samsum",)


TWICE = [tofu(1, "It rained.", "yes"), tofu(1, "It poured.", "no", "Extrinsic"), tofu(2, "We left.", "yes")]
GONE = {"start": 10, "end": 99, "text": "sleet", "label_type": "x"}
LOST = [note(["Unwanted"], "hail", 10, "a2"), note(["Unwanted"], "sleet", 10)]
UNMARKED = [LOST[0], note(["Unwanted"], "", 0) | {"summary_span": None}]
README = {**note(["Unwanted.Extrinsic"], "hail", 10), "annotator": "a1", "annotator_id": None}
TABLE = [
    {"doc_id": name, "source": RAIN, "summary": "Rain.", "LLM": name, "worst-label": worst}
    for name, worst in (("m", "Unwanted.Intrinsic"), ("n", "Questionable"), ("o", "Benign"), ("p", "Consistent"))
]
BEAMS = {
    f"{number}": {"label": label, "sents": {"0": {"text": text, "label": label}}}
    for number, (text, label) in enumerate((("It rained.", "Correct"), ("We left.", "Incorrect")))
}
PAIR = row("article_id article_sent correct_sent incorrect_sent", HASH, "It rained.", "It rained.", "Ha.")
LOADER = row("summary factual system_id text_id source", "It rained.", "0", "gpt", "84", "gutenberg")
STORIES = {"stories.jsonl": STORY_SUMMEVAL["stories.jsonl"]}
MEN = "three men saw three dogs"
CLIFF = [
    TYPED | {"id": own_id, "summ": MEN, "error_type": types, "annotated_span": texts}
    for own_id, types, texts in (
        ("1", "['extrinsic-NP']", "['three', 'saw', 'three', 'cats']"),  # there are no cats
        ("2", "['extrinsic-NP', 'intrinsic-NP']", "['three', 'dogs']"),  # which span is of which type is not said
        ("3", "['extrinsic-NP', 'intrinsic-NP']", "[['three'], ['men', 'dogs']]"),
        ("4", "['extrinsic-NP']", "['three', 'saw', 'three']"),
    )
]
MARKS = {"3": [(0, 5, "extrinsic"), (6, 9, "intrinsic"), (20, 24, "intrinsic")],
         "4": [(0, 5, "extrinsic"), (10, 13, "extrinsic"), (14, 19, "extrinsic")]}  # fmt: skip
FINESURE: dict[str, Any] = {
    **row("doc_id source split model transcript", "n1", "cnndm", "test", "tiny", "It rained. We stayed."),
    "reference": "Rain.", "sentences": ["It rained.", "We left."],
}  # fmt: skip
TWO_TYPES = {
    "annotator_0": {"factuality_labels": [0, 1], "factuality_types": ["NoE", "RelE"]},
    "annotator_1": {"factuality_labels": ["None", None], "factuality_types": ["NoE", None]},
}
FLAT_TYPES = {"annotator_0": {"factuality_labels": [0, 1], "factuality_types": ["EntE"]}}
FACT_VOTES = {"0": {"key_fact_labels": [1, 0], "sentence_labels": [1, 0]}}
UNISUMEVAL: dict[str, Any] = {
    **row("uid doc_id source domain length model", "X_1", "n1", "SetA", "news", "short", "tiny"),
    "input_context": "It rained. We stayed.", "summary": "It rained. We left.",
    "sentences": ["It rained.", "We left."], "fact_verification_label": [0, 1],
    "fact_verification_error_type": ["no error", "relation error"], "faithfulness_score": 0.5,
    "keyfact": ["It rained.", "They stayed."], "keyfact_label": [1, 0], "completeness": 0.5,
}  # fmt: skip
SUMMEVAL: dict[str, Any] = {
    **row("id model_id filepath text decoded references", "dm-test-1", "M0", "x", "It rained.", "Rain.", ["a", "b"]),
    "expert_annotations": [{"coherence": 4, "fluency": 5}, {"coherence": 3}],
    "turker_annotations": [{"coherence": 1, "fluency": 2}], "metric_scores_1": {"rouge": 0.3},
}  # fmt: skip
MTEB: dict[str, Any] = {
    **row("id text machine_summaries human_summaries", "7", "It rained.", ["Rain.", "Snow."], ["Wet."]),
    **row("coherence consistency fluency relevance", [4.0, 1.0], [5.0, 1.0], [5, 5], [3, 2]),
}
GEVAL = {
    **row("doc_id system_id source reference system_output", "d", "M0", "It rained.", "It rained.", "Rain."),
    "scores": {"coherence": 4.5},
}
QAGS: dict[str, Any] = {
    "article": "It rained all day.",
    "summary_sentences": [
        {"sentence": text, "responses": [{"worker_id": who, "response": answer} for who, answer in answers]}
        for text, answers in (("It rained.", ((0, "yes"), (4, "no"))), ("We left.", ((0, "no"),)))
    ],
}
VARIANTS: list[tuple[str, Files, dict[str, str] | None, Rows, tuple[str, ...]]] = [
    ("aggrefact",
     {"a.csv": [aggrefact("Goyal21", SNOW, "It snowed  hail.", 0, "bart", "9")],
      "b.csv": [{name: cell for name, cell in TYPED.items() if name != "model_name"} | {"dataset": "Goyal’21"}]}, None,
     {("Goyal21/9", "bart"): {"human": faithful(0) | spans(marked(11, 15, "extrinsic-NP"))}}, ()),
    ("aggrefact_types", {"CLIFF_error_types.csv": CLIFF}, None,
     {(f"CLIFF/{name}", "bart"): {
         "human": faithful(0) | (spans(*(marked(a, b, f"{kind}-NP") for a, b, kind in MARKS[name]))
                                 if name in MARKS else {})} for name in "1234"},
     ("annotated_span: contains a span that is not in the summary",)),
    ("cogensumm", {"val_reranking.json": {HASH: BEAMS}}, {HASH: RAIN},
     {(HASH, "beam-1"): {"human": faithful(0) | {"sentence_labels": [0]}}}, ()),
    ("cogensumm", {"val_sentence_pairs.json": [PAIR, PAIR]}, {HASH: RAIN},
     {(HASH, name): {"human": faithful(label)}
      for name, label in (("correct", 1), ("incorrect", 0), ("correct#2", 1), ("incorrect#2", 0))}, ()),
    ("frank",  # texts and annotations are one summary
     {**FRANK, "benchmark_data.json": [{name: FRANK["human_annotations_sentence.json"][0][name]
                                        for name in ("hash", "model_name", "article", "summary")}]}, None,
     {(HASH, "bart"): EXPECTED["frank"][0][HASH, "bart"]}, ()),
    ("xsumfaith",
     {"h.csv": [xsumfaith_row("wid_0", "extrinsic", "hail", 11), xsumfaith_row("wid_0", "intrinsic", "rained", 4),
                xsumfaith_row("wid_1", "NULL")]}, {"1": RAIN},
     {("1", "BERTS2S"): {
         "human": {"sentence_labels": [{"wid_0": 0, "wid_1": 1}],
                   "sentence_error_types": [{"wid_0": "extrinsic+intrinsic"}],
                   "spans": [marked(10, 14, "extrinsic", "wid_0"), marked(3, 9, "intrinsic", "wid_0")],
                   "span_annotators": ["wid_0"]}, "unplaced_spans": None}}, ()),
    ("tofueval",
     {"m.csv": TWICE, "k.csv": [row("doc_id annotation_id topic key_points", "CNN-1", "y", "rain", "")]},
     {"CNN-1": RAIN},
     {("CNN-1#rain", "model_A"): {"sentences": ["It rained.", "It poured.", "We left."], "key_facts": None,
                                  "human": {"sentence_labels": [1, 0, 1],
                                            "sentence_error_types": [None, "Extrinsic", None]}}},
     ("sent_idx: has the values 1, 1, 2 in one summary",)),
    ("ragtruth", RAGTRUTH | {"response.jsonl": [RAGTRUTH_ROW | {"labels": [*RAGTRUTH_ROW["labels"], GONE]}]}, None,
     {("7", "m"): {"human": None, "labels": [*RAGTRUTH_ROW["labels"], GONE]}},
     ("labels: contains a span that is not in the response",)),
    *(("faithbench", {"batch_1.json": {"samples": [bench("m", lost)]}}, None,
       {(f"doc-{RAIN_ID}", "m"): {"human": faithful(0), "annotations": lost}}, ()) for lost in (LOST, UNMARKED)),
    ("faithbench", {"batch_1.json": {"samples": [bench("m", [README])]}}, None,
     {(f"doc-{RAIN_ID}", "m"): {"human": faithful(0) | spans(marked(10, 14, "Unwanted.Extrinsic", "a1"))}}, ()),
    ("faithbench", {"FaithBench.csv": TABLE}, None,
     {(name, name): {"human": faithful(label)} for name, label in zip("mnop", (0, 0, 1, 1), strict=True)}, ()),
    ("diasumfact", json.loads(json.dumps(DIASUMFACT).replace('"error_span": "left"', '"error_span": "stayed"')), None,
     {("3", "bart"): {"human": ENTITY}}, ("annotations.bart: has an error_span that is not in the summary",)),
    ("summedits", {"summedits_news.json": [{name: EDIT[name] for name in EDIT if name != "split"}]}, None,
     {(f"news/{RAIN_ID}", "e1"): {"human": faithful(0), "cut": None}}, ()),
    ("story_summeval", {"test.jsonl": [LOADER], **STORIES}, None,
     {("gutenberg/84", "gpt"): {"human": faithful(0), "document": RAIN}}, ()),
    ("story_summeval", {"test.jsonl": [LOADER | {"story": SNOW}]}, None,
     {("gutenberg/84", "gpt"): {"document": SNOW}}, ()),
    ("summeval_op", OPINIONS, None,
     {("product-1", "m"): {"document": "Good.\n\nBad.", "human": {
         "ratings": {name: {"?1": 5, "?2": 4, "?3": 3} for name in (
             "fluency", "coherence", "relevance", "faithfulness", "aspect coverage", "sentiment consistency",
             "specificity")},
         "overall": OPINIONS["summeval-op.jsonl"][0]["summaries"]["m"]["dimensions"]}}}, ()),
    ("rose", {"cnndm_test.jsonl": [{
        "source": RAIN, "reference": "x", "reference_acus": ["a"], "example_id": "e",
        "annotations": {"bart": row(ACUS, [1], 1, 1, [3])}, "system_outputs": {"bart": "Rain."}}]}, None,
     {("cnndm_test/e", "bart"): {"domain": "cnndm", "cut": "test"}}, ()),
    ("finesure", {"a.jsonl": [FINESURE | {"raw_annotations": TWO_TYPES}]}, None,
     {("n1", "tiny"): {
         "document": "It rained. We stayed.", "summary": "It rained. We left.", "domain": "cnndm",
         "human": {
             "sentence_labels": [{"annotator_0": 1, "annotator_1": None}, {"annotator_0": 0, "annotator_1": None}],
             "sentence_error_types": [{"annotator_0": "NoE"}, {"annotator_0": "RelE"}]}}}, ()),
    ("finesure", {"a.jsonl": [FINESURE | {"raw_annotations": FLAT_TYPES}]}, None,
     {("n1", "tiny"): {"human": {"sentence_labels": [{"annotator_0": 1}, {"annotator_0": 0}]},
                       "factuality_types": {"annotator_0": ["EntE"]}}},
     ("raw_annotations.factuality_types: does not have one type per sentence (annotator_0)",)),
    ("finesure", {"a.jsonl": [FINESURE]}, None, {("n1", "tiny"): {"human": None}}, ()),
    ("finesure", {"a.jsonl": [FINESURE | {"raw_annotations": FACT_VOTES, "key_facts": ["It rained.", "Snow."]}]}, None,
     {("n1", "tiny"): {"human": {"conciseness_labels": [{"0": 1}, {"0": 0}],
                                 "key_fact_labels": [{"0": 1}, {"0": 0}]}}}, ()),
    ("finesure",  # labels do not refer to generated key facts
     {"realsumm-data.json": [FINESURE | {"raw_annotations": FACT_VOTES}],
      "machine-keyfact-list-from-gpt4.json": [{"doc_id": "n1", "key_facts": ["It poured."]}]}, None,
     {("n1", "tiny"): {"human": {"conciseness_labels": [{"0": 1}, {"0": 0}]}, "key_facts": ["It poured."],
                       "key_facts_by": "gpt-4", "key_fact_labels": {"0": [1, 0]}}},
     ("do not refer to the key facts of GPT-4; kept in a column",)),
    ("unisumeval", {"a.jsonl": [UNISUMEVAL]}, None,
     {("SetA/X_1", "tiny"): {
         "human": {"overall": {"faithfulness": 0.5, "completeness": 0.5}, "sentence_labels": [1, 0],
                   "sentence_error_types": ["no error", "relation error"], "key_fact_labels": [1, 0]},
         "key_facts": ["It rained.", "They stayed."], "source": "SetA", "source_doc_id": "n1"}}, ()),
    ("summeval", {"a.jsonl": [SUMMEVAL]}, None,
     {("dm-test-1", "M0"): {
         "document": "It rained.", "summary": "Rain.", "references": ["a", "b"], "domain": "cnndm", "split": "test",
         "metric_scores_1": {"rouge": 0.3},
         "human": {"ratings": {"coherence": {"expert0": 4, "expert1": 3}, "fluency": {"expert0": 5, "expert1": None}},
                   "crowd_ratings": {"coherence": {"?1": 1}, "fluency": {"?1": 2}}}}}, ()),
    ("summeval", {"a.jsonl": [{name: SUMMEVAL[name] for name in ("id", "model_id", "text", "decoded")}]}, None,
     {("dm-test-1", "M0"): {"human": None}}, ()),
    ("summeval", {"a.jsonl": [MTEB]}, None,
     {("7", "system1"): {"human": {"ratings": row("coherence consistency fluency relevance", 1.0, 1.0, 5, 2)}}}, ()),
    ("summeval", {"a.jsonl": [GEVAL]}, None,
     {("d", "M0"): {"reference": None, "human": {"ratings": {"coherence": 4.5}}}}, ()),
    ("frank", {"a.jsonl": [FRANK["human_annotations_sentence.json"][0] | {
        "summary_sentences_annotations": [{"a": ["NoE"]}, {"a": ["OutE", "EntE", "OutE"]}]}]}, None,
     {(HASH, "bart"): {"human": {"sentence_labels": [{"a": 1}, {"a": 0}],
                                 "sentence_error_types": [{"a": "NoE"}, {"a": "EntE+OutE"}]}}}, ()),
    *(("qags", {f"mturk_{domain}.jsonl": [QAGS]}, None,
       {(f"{domain}-0", system): {
           "summary": "It rained. We left.", "sentences": ["It rained.", "We left."], "domain": domain,
           "human": {"sentence_labels": [{"w0": 1, "w4": 0}, {"w0": 0}]}}}, ())
      for domain, system in (("cnndm", "bottom_up"), ("xsum", "bart"))),
]  # fmt: skip
"""Further files of a preset, with documents by id, and what is expected as above."""


@together("preset, files, documents, expected, warnings", VARIANTS)
def test_variants(
    tmp_path_factory: pytest.TempPathFactory, preset: str, files: Files, documents: Any, expected: Rows, warnings: Any
) -> None:
    check(read(tmp_path_factory.mktemp(preset), preset, files, documents), expected, warnings)


def test_missing_spans_give_no_labels(tmp_path: Path) -> None:
    """A span that cannot be placed would otherwise mean that its sentence has no error."""
    lost = [RAGTRUTH_ROW | {"labels": [GONE]}, RAGTRUTH_ROW | {"model": "n"}]
    data = read(tmp_path, "ragtruth", RAGTRUTH | {"response.jsonl": lost})
    assert {vote.target.system for vote in data.judgments("human.raw")} == {"n"}
    for notes, warned in ((LOST, True), (UNMARKED[1:], False)):  # an error without a passage is not a fault
        (tmp_path / str(warned)).mkdir()
        found = read(tmp_path / str(warned), "faithbench", {"batch_1.json": {"samples": [bench("m", notes)]}})
        assert bool(found.warnings) == warned
        assert {vote.target.unit for vote in found.judgments("human.raw")} == {"summary"}
    xsum = read(tmp_path, "xsumfaith", *CASES["xsumfaith"][:2])
    assert not [vote for vote in xsum.judgments("human.raw") if vote.signature.startswith("human.span")]
    unplaced = next(each.extra["unplaced_spans"] for each in xsum.summaries if each.system == "BERTS2S")
    assert [cells["hallucinated_span"] for cells in unplaced] == ["hail", "rained", "sleet"]


def test_tofueval_takes_the_transcripts_as_released(tmp_path: Path) -> None:
    files = {
        "mediasum_factual_eval_dev.csv": [tofu(1, "It rained.", "yes")],
        "meetingbank_factual_eval_dev.csv": [tofu(1, "It rained.", "yes", doc_id="City_1 Res 3")],
    }
    dialogues = [{"id": "CNN-1", "speaker": ["ANA", "BEN"], "utt": ["Rain.", "Yes."]}]
    meetings = [{"id": 0, "meeting_id": "City_1 Res 3", "source": RAIN}]
    documents = written(tmp_path, {"news_dialogue.json": dialogues, "test.jsonl": meetings})
    data = load(written(tmp_path, files), preset="tofueval", documents=documents)
    texts = {doc_id: document.text for doc_id, document in data.documents.items()}
    assert texts == {"CNN-1#rain": "ANA: Rain.\nBEN: Yes.", "City_1 Res 3#rain": RAIN}


def test_storysumm_with_the_stray_quotation_mark(tmp_path: Path) -> None:
    whole = json.dumps(STORYSUMM["storysumm.json"], indent=1)
    broken = whole.replace('"It rained.",\n', '"It rained.", "\n', 1)
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    data = read(tmp_path, "storysumm", {"storysumm.json": broken})
    assert len(data) == 3
    line = broken[: broken.index('", "\n')].count("\n") + 1
    assert [fault.line for fault in data.warnings if "stray quotation mark" in fault.message] == [line]
    twice = broken.replace('"no"\n', '"no.", "\n', 1)
    assert repair(twice, lambda number, message: pytest.fail(message)) == twice  # two of them are no known fault


@pytest.mark.parametrize("name", CASES)
def test_cell_of_another_type_is_a_fault_or_is_kept(name: str, tmp_path: Path) -> None:
    """With any value of a column, or without the column, the import succeeds or fails with a fault of that file."""
    files, documents = CASES[name][:2]
    more, paths = articles(tmp_path, documents), written(tmp_path, files)
    for file, content in files.items():
        rows = content.get("samples", list(content.values())) if isinstance(content, dict) else content
        if file.endswith((".xlsm", ".parquet")):
            continue
        for column in rows[0]:
            for value in (..., None, 5, ["x"], {"x": "x"}):
                other = {key: cell for key, cell in rows[0].items() if key != column}
                changed: Any = [other if value is ... else {**other, column: value}, *rows[1:]]
                if isinstance(content, dict):
                    keys = list(content)
                    changed = {"samples": changed} if keys == ["samples"] else dict(zip(keys, changed, strict=True))
                write(tmp_path / file, changed)
                with suppress(InputError):
                    load(paths, preset=name, documents=more)
        write(tmp_path / file, content)


UNEVEN = {"a": {"factuality_labels": [0, 0]}, "b": {"factuality_labels": [0]}}
FRANK_ROW = FRANK["human_annotations_sentence.json"][0]
AGAIN = [{"worker_id": 0, "response": "yes"}, {"worker_id": 0, "response": "no"}]


@together(
    "preset, file, rows, line, field",
    [
        ("aggrefact", "a.csv", [aggrefact("A", RAIN, "Rain.", 1) | {"label": "yes"}], 2, "label"),
        ("xsumfaith", "h.csv", [xsumfaith_row("w", "wild")], 2, "hallucination_type"),
        ("tofueval", "m.csv", [tofu(1, "It rained.", "maybe")], 2, "sent_label"),
        ("tofueval", "m.csv", [tofu(1, "It rained.", "yes") | {"sent_idx": "one"}], 2, "sent_idx"),
        ("factcc", "d.jsonl", [row("id filepath claim label", "x", "1.story", "c", "RIGHT")], 1, "label"),
        ("gofigure", "x.jsonl", [row("article summary label errors", RAIN, "x", "fine", [])], 1, "label"),
        ("faithbench", "batch_1.json", [bench("m", [note(["Odd"], "hail", 10)])], 2, "annotations"),
        ("faithbench", "batch_1.json", [bench("m", []) | {"metadata": {}}], 2, "metadata"),
        ("faithbench", "FaithBench.csv", [TABLE[0] | {"worst-label": "bad"}], 2, "worst-label"),
        ("ragtruth", "r.jsonl", [RAGTRUTH_ROW | {"labels": [GONE | {"start": 99, "end": 120}]}], 1, "labels"),
        ("dialsummeval", "h.jsonl", [DIALOGUE | {"annotations": [5]}], 1, "annotations"),
        ("bump", "t.json", [bump(1, "x", "It snowed.") | {"reference_summary": None}], 2, "reference_summary"),
        ("summedits", "summedits_news.json", [EDIT, {name: EDIT[name] for name in EDIT if name != "doc"}], 13, "doc"),
        ("llm_aggrefact", "dev.jsonl", [{"doc": RAIN, "claim": "Rain.", "label": 2}], 1, "label"),
        ("story_summeval", "test.jsonl", [LOADER], 1, "text_id"),
        ("finesure", "a.jsonl", [{"doc_id": "x", "model": "m", "transcript": "t", "sentences": 3}], 1, "sentences"),
        *(
            ("finesure", "a.jsonl", [FINESURE | {"raw_annotations": votes}], 1, "raw_annotations.factuality_labels")
            for votes in ({"a": {"factuality_labels": [0, 2]}}, UNEVEN, {"a": {"factuality_labels": None}})
        ),
        ("finesure", "a.jsonl", [FINESURE | {"raw_annotations": [1]}], 1, "raw_annotations"),
        *(
            ("unisumeval", "a.jsonl", [UNISUMEVAL | {name: value}], 1, name)
            for name, value in (
                ("fact_verification_label", [[0], [1]]), ("keyfact_label", 1),
                ("fact_verification_error_type", [None, "x"]),
            )
        ),
        *(("summeval", "a.jsonl", [SUMMEVAL | {"expert_annotations": x}], 1, "expert_annotations") for x in ({}, [1])),
        ("summeval", "a.jsonl", [MTEB | {"machine_summaries": ["Rain."]}], 1, "coherence"),
        (
            "frank", "a.jsonl", [FRANK_ROW | {"summary_sentences_annotations": [{"a": "NoE"}, {}]}], 1,
            "summary_sentences_annotations",
        ),
        *(
            ("qags", "a.jsonl", [QAGS | {"summary_sentences": x}], 1, "summary_sentences")
            for x in ([{"sentence": "x", "responses": AGAIN}], [{"sentence": "x", "responses": ["yes"]}], ["x"])
        ),
    ],
)  # fmt: skip
def test_rows_with_faults(
    tmp_path_factory: pytest.TempPathFactory, preset: str, file: str, rows: Any, line: int, field: str
) -> None:
    folder = tmp_path_factory.mktemp(preset)
    documents = {"1": RAIN, "CNN-1": RAIN} if preset in CASES and CASES[preset][1] else None
    more = {"source_info.jsonl": RAGTRUTH["source_info.jsonl"]} if preset == "ragtruth" else {}
    (fault,) = faults(folder, preset, {file: rows, **more}, documents)
    assert fault.startswith(f"{file}:{line}: {field}: ")
    assert fault.endswith(f"(preset {preset})")


def test_other_faults(tmp_path: Path) -> None:
    other = [OPINIONS["summeval-op-detailed.jsonl"][0] | {"summaries": ["Other."]}]
    (fault,) = faults(tmp_path, "summeval_op", OPINIONS | {"summeval-op-detailed.jsonl": other})
    assert fault.startswith("summeval-op.jsonl:1: summaries: ")
    (fault,) = faults(tmp_path, "finesure", {"a.jsonl": [FINESURE | {"raw_annotations": FACT_VOTES}]})
    assert "the key facts are missing; give human-keyfact-list.json" in fault
    plus = [{"a": ["OutE+EntE"]}, {}]
    (fault,) = faults(tmp_path, "frank", {"a.jsonl": [FRANK_ROW | {"summary_sentences_annotations": plus}]})
    assert "sentence_labels[0].a: contains 'OutE+EntE', but '+' joins error types" in fault


@together("name", [name for name in CASES if name not in ("aggrefact_types", "polytope")])
def test_file_of_another_layout_suggests_its_preset(name: str, tmp_path: Path) -> None:
    other = "dialsummeval" if name != "dialsummeval" else "summedits"
    files = CASES[name][0]
    rows = next(iter(files))
    (first, *_) = faults(tmp_path, other, {rows: files[rows]})
    assert f"is missing, but this layout requires it; check the preset (preset {other})" in first
    assert first.endswith(f"its columns are those of preset={name}")


@together("name", [name for name, case in CASES.items() if case[1] is not None])
def test_missing_documents_are_one_fault(name: str, tmp_path: Path) -> None:
    (fault,) = faults(tmp_path / name, name, CASES[name][0])
    assert "the rows have no documents" in fault
    assert "documents=FILE|FOLDER" in fault
