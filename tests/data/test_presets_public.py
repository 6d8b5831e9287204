"""Presets of public layouts: labels, spans, types, counts, faults and round trips."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from data.flat_view import flat_rows
from data.public_layouts import (
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
    STORYSUMM,
    TYPED,
    aggrefact,
    bench,
    bump,
    note,
    tofu,
    write,
    xsumfaith_row,
)
from typer.testing import CliRunner

from summeter.cli.data import app
from summeter.data.dataset import Dataset, load
from summeter.data.presets import PRESETS
from summeter.data.presets.sentences import repair
from summeter.pages.numbers import count
from summeter.records import InputError


class Read:
    """The dataset read from the files of a preset."""

    def __init__(
        self, folder: Path, preset: str, files: dict[str, Any], documents: dict[str, str] | None = None
    ) -> None:
        paths = [write(folder, name, content) for name, content in files.items()]
        more = {}
        if documents is not None:
            rows = [{"id": doc_id, "text": text} for doc_id, text in documents.items()]
            more = {"documents": write(folder, "documents.jsonl", rows)}
        self.data: Dataset = load(paths, preset=preset, **more)
        self.rows = {(row["doc_id"], row["system"]): row for row in flat_rows(self.data)}
        self.back = write(folder, "back.jsonl", list(self.rows.values()))

    @property
    def warnings(self) -> list[str]:
        return [f"{fault.field}: {fault.message}" for fault in self.data.warnings]

    def human(self, doc_id: str, system: str) -> Any:
        return self.rows[doc_id, system].get("human")

    def lossless(self) -> None:
        again = load(self.back)
        assert list(flat_rows(again)) == list(self.rows.values())
        assert again.judgment_sets == self.data.judgment_sets
        for name in self.data.judgment_sets:
            assert again.judgments(name) == self.data.judgments(name)


def faults(folder: Path, preset: str, files: dict[str, Any], documents: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(InputError) as caught:
        Read(folder, preset, files, documents)
    return [str(fault).removeprefix(f"{folder}/") for fault in caught.value.faults]


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Read]:
    return lambda name: Read(tmp_path, name, *CASES[name][:2])


@pytest.mark.parametrize("name", CASES)
def test_counts_and_round_trip(name: str, read: Callable[[str], Read]) -> None:
    found = read(name)
    assert (len(found.data.documents), len(found.data)) == CASES[name][2:]
    assert "human.raw" in found.data.judgment_sets
    found.lossless()


@pytest.mark.parametrize("name", CASES)
def test_on_the_command_line(name: str, tmp_path: Path) -> None:
    files, documents = CASES[name][:2]
    paths = [str(write(tmp_path, file, content)) for file, content in files.items()]
    rows = [{"id": doc_id, "text": text} for doc_id, text in (documents or {}).items()]
    more = ["--documents", str(write(tmp_path, "documents.jsonl", rows))] if rows else []
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["import", *paths, "--preset", name, *more, "-o", str(out)])
    assert result.exit_code == 0
    printed = result.stdout
    documents, summaries = CASES[name][2:4]
    assert f"{count(documents, 'document')}, {count(summaries, 'summary', 'summaries')}" in printed
    assert all(str(count) in printed for count in PRESETS[name].counts)
    assert CliRunner().invoke(app, ["export", str(out), "-o", str(tmp_path / "back.jsonl")]).exit_code == 0
    assert load(tmp_path / "back.jsonl").hash == load(out).hash


@pytest.mark.parametrize("name", [name for name in CASES if any(part.files for part in PRESETS[name].roles)])
def test_downloaded_folder(name: str, tmp_path: Path) -> None:
    files, documents, *counts = CASES[name]
    for file, content in files.items():
        write(tmp_path / "release" / "data", file, content)
    write(tmp_path / "release", "LICENSE.txt", "free")
    write(tmp_path / "release", "setup.json", {"a": 1})
    rows = [{"id": doc_id, "text": text} for doc_id, text in (documents or {}).items()]
    more = [write(tmp_path, "documents.jsonl", rows)] if rows else []
    data = load(tmp_path / "release", preset=name, documents=more)
    assert [len(data.documents), len(data)] == counts


def test_aggrefact(read: Callable[[str], Read]) -> None:
    found = read("aggrefact")
    assert found.human("FactCC/7", "missing") == {"overall": {"faithfulness": 1}}
    assert found.human("FactCC/7", "missing#2") == {"overall": {"faithfulness": 0}}  # two claims on one article
    assert found.rows["Goyal21/7", "BART"]["document"] == SNOW
    assert found.rows["Goyal21/7#2", "BART"]["document"] == RAIN  # one id, two articles
    assert found.warnings == [
        "system: repeats the document and system of an earlier row; it is kept as a summary by 'missing#2'",
        "doc_id: is also the id of another document; this document is kept as 'Goyal21/7#2'",
    ]
    typed = found.rows["CLIFF/9", "bart"]
    spans = [{"start": 10, "end": 14, "label": "extrinsic-NP"}]
    assert typed["human"] == {"overall": {"faithfulness": 0}, "spans": spans, "span_annotators": ["people"]}
    assert (typed["error_type"], typed["DAE_score"], typed["domain"]) == ("['extrinsic-NP']", "0.5", "cnndm")


def test_aggrefact_types_alone(read: Callable[[str], Read]) -> None:
    by_text = {row["summary"]: row["human"] for row in read("aggrefact_types").rows.values()}
    assert by_text["It snowed hail."] == {
        "overall": {"faithfulness": 0},
        "spans": [{"start": 10, "end": 14, "label": "extrinsic-NP"}, {"start": 0, "end": 2, "label": "extrinsic-NP"}],
        "span_annotators": ["people"],
    }
    assert by_text["It snowed."] == {"overall": {"faithfulness": 1}, "spans": [], "span_annotators": ["people"]}
    assert by_text["Snow."] == {"overall": {"faithfulness": None}}
    assert by_text["Hail."] == {"overall": {"faithfulness": 0}}  # its span is not there; the columns stay


def test_aggrefact_with_another_spelling_of_the_data_set(tmp_path: Path) -> None:
    typed = {name: value for name, value in TYPED.items() if name != "model_name"} | {"dataset": "Goyal’21"}
    files = {"a.csv": [aggrefact("Goyal21", SNOW, "It snowed  hail.", 0, "bart", "9")], "b.csv": [typed]}
    found = Read(tmp_path, "aggrefact", files)
    assert [span["label"] for span in found.human("Goyal21/9", "bart")["spans"]] == ["extrinsic-NP"]


def test_aggrefact_spans_of_cliff_and_goyal(tmp_path: Path) -> None:
    def typed(own_id: str, types: str, texts: str) -> dict[str, Any]:
        text = "three men saw three dogs"
        return TYPED | {"id": own_id, "summ": text, "error_type": types, "annotated_span": texts}

    found = Read(
        tmp_path,
        "aggrefact_types",
        {
            "CLIFF_error_types.csv": [
                typed("1", "['extrinsic-NP']", "['three', 'saw', 'three', 'cats']"),
                typed("2", "['extrinsic-NP', 'intrinsic-NP']", "['three', 'dogs']"),
                typed("4", "['extrinsic-NP']", "['three', 'saw', 'three']"),
                typed("3", "['extrinsic-NP', 'intrinsic-NP']", "[['three'], ['men', 'dogs']]"),
            ]
        },
    )
    marks = {
        row["id"]: [(span["start"], span["label"]) for span in row["human"].get("spans", [])]
        for row in found.rows.values()
    }
    assert marks == {
        "1": [],  # there are no cats
        "4": [(0, "extrinsic-NP"), (10, "extrinsic-NP"), (14, "extrinsic-NP")],
        "2": [],  # which span is of which type is not said
        "3": [(0, "extrinsic-NP"), (6, "intrinsic-NP"), (20, "intrinsic-NP")],
    }
    assert any("annotated_span: contains a span that is not in the summary" in line for line in found.warnings)


def test_llm_aggrefact_across_sets(read: Callable[[str], Read]) -> None:
    found = read("llm_aggrefact")
    assert sorted(found.data.domains) == ["SetA", "SetB"]
    assert [row["human"]["overall"]["faithfulness"] for row in found.rows.values()] == [1, 0, 1, 1, 0, 1]
    assert sum(system.endswith("#2") for _, system in found.rows) == 2  # a claim twice in one set
    assert {row["cut"] for row in found.rows.values()} == {"dev"}


def test_summac_ids_that_are_not_unique(read: Callable[[str], Read]) -> None:
    assert [doc_id for doc_id, _ in read("summac").rows] == ["polytope/1", "polytope/1#2"]


def test_originals_of_summac(read: Callable[[str], Read], tmp_path: Path) -> None:
    factcc = read("factcc").rows
    assert [(row["doc_id"], row["document"], row["human"]["overall"]["faithfulness"]) for row in factcc.values()] == [
        (HASH, RAIN, 1),
        (HASH, RAIN, 0),
    ]
    cogensumm = read("cogensumm")
    assert cogensumm.human(HASH, "see17_org") == {"overall": {"faithfulness": 0}, "sentence_labels": [1, 0, None]}
    beams = {
        f"{number}": {"label": label, "sents": {"0": {"text": text, "label": label}}}
        for number, (text, label) in enumerate((("It rained.", "Correct"), ("We left.", "Incorrect")))
    }
    reranked = Read(tmp_path, "cogensumm", {"val_reranking.json": {HASH: beams}}, {HASH: RAIN})
    assert reranked.human(HASH, "beam-1") == {"overall": {"faithfulness": 0}, "sentence_labels": [0]}
    pair = {"article_id": HASH, "article_sent": "It rained.", "correct_sent": "It rained.", "incorrect_sent": "Ha."}
    pairs = Read(tmp_path, "cogensumm", {"val_sentence_pairs.json": [pair, pair]}, {HASH: RAIN})
    assert {system: row["human"]["overall"]["faithfulness"] for (_, system), row in pairs.rows.items()} == {
        "correct": 1,
        "incorrect": 0,
        "correct#2": 1,
        "incorrect#2": 0,
    }
    polytope = {(row["system"], row["summary"]): row for row in read("polytope").rows.values()}
    bart = polytope["BART", "It rained."]
    assert bart["human"] == {"overall": {"polytope": 97.5}}
    assert bart["issues"] == [{"Issue Types": "Accuracy", "Subtypes": "Addition", "Severity": "Minor"}]
    assert polytope["BART", "It snowed."]["issues"] == []
    assert polytope["BottomUp", "Snow."]["document"] == SNOW  # its ID 1 is another text


def test_frank_with_its_scores(read: Callable[[str], Read]) -> None:
    row = read("frank").rows[HASH, "bart"]
    assert row["domain"] == "cnndm"
    assert row["human"]["overall"] == {"faithfulness": 0.5}
    assert row["human"]["sentence_error_types"][1] == {"annotator_0": "EntE+OutE"}
    assert row["frank_scores"] == {"dataset": "cnndm", "Factuality": 0.5, "Flip_X": 1.0}


def test_frank_texts_and_annotations_are_one_summary(tmp_path: Path) -> None:
    (row,) = FRANK["human_annotations_sentence.json"]
    texts = [{name: value for name, value in row.items() if not name.startswith("summary_")}]
    found = Read(tmp_path, "frank", {**FRANK, "benchmark_data.json": texts})
    assert list(found.rows) == [(HASH, "bart")]


def test_xsumfaith(read: Callable[[str], Read]) -> None:
    found = read("xsumfaith")
    row = found.rows["1", "BERTS2S"]
    human = row["human"]
    assert human["sentence_labels"] == [{"wid_0": 0, "wid_1": 1, "wid_2": 0}]
    assert human["sentence_error_types"] == [{"wid_0": "extrinsic+intrinsic", "wid_2": "extrinsic"}]
    assert "spans" not in human  # of wid_2's span nobody knows where it stands
    assert not _derived(found)
    assert human["overall"] == {"factual": {"wid_0": 0, "wid_1": 1, "wid_2": None}}
    assert (row["document"], row["eval_scores"]["R1"]) == (RAIN, "0.5")
    assert [cells["hallucinated_span"] for cells in row["unplaced_spans"]] == ["hail", "rained", "sleet"]
    assert any("hallucinated_span: is not in the summary; its spans are kept" in line for line in found.warnings)


def test_xsumfaith_spans(tmp_path: Path) -> None:
    rows = [
        xsumfaith_row("wid_0", "extrinsic", "hail", 11),
        xsumfaith_row("wid_0", "intrinsic", "rained", 4),
        xsumfaith_row("wid_1", "NULL"),
    ]
    found = Read(tmp_path, "xsumfaith", {"h.csv": rows}, {"1": RAIN})
    assert found.human("1", "BERTS2S")["spans"] == [
        {"annotator": "wid_0", "start": 10, "end": 14, "label": "extrinsic"},
        {"annotator": "wid_0", "start": 3, "end": 9, "label": "intrinsic"},
    ]
    assert "unplaced_spans" not in found.rows["1", "BERTS2S"]


def test_tofueval(read: Callable[[str], Read]) -> None:
    found = read("tofueval")
    first, second = found.rows["CNN-1#rain", "model_A"], found.rows["CNN-1#rain", "model_B"]
    assert first["summary"] == "It rained. We left."
    assert first["human"] == {
        "sentence_labels": [1, 0],
        "sentence_error_types": [None, "Contradiction+Misreferencing"],
    }
    assert (first["key_facts"], first["domain"], first["cut"]) == (["It rained.", "They stayed."], "mediasum", "dev")
    assert first["explanations"] == [None, "why"]
    assert second["sentences"] == ["It rained.", "We sang."]
    assert any("sent_idx: has the values 1, 3 in one summary" in line for line in found.warnings)


def test_tofueval_with_a_sentence_twice_and_no_key_points(tmp_path: Path) -> None:
    rows = [tofu(1, "It rained.", "yes"), tofu(1, "It poured.", "no", "Extrinsic"), tofu(2, "We left.", "yes")]
    points = [{"doc_id": "CNN-1", "annotation_id": "y", "topic": "rain", "key_points": ""}]
    found = Read(tmp_path, "tofueval", {"m.csv": rows, "k.csv": points}, {"CNN-1": RAIN})
    row = found.rows["CNN-1#rain", "model_A"]
    assert row["sentences"] == ["It rained.", "It poured.", "We left."]
    assert row["human"]["sentence_labels"] == [1, 0, 1]
    assert "key_facts" not in row
    assert any("sent_idx: has the values 1, 1, 2 in one summary" in line for line in found.warnings)


def test_tofueval_takes_the_transcripts_as_released(tmp_path: Path) -> None:
    files = {
        "mediasum_factual_eval_dev.csv": [tofu(1, "It rained.", "yes")],
        "meetingbank_factual_eval_dev.csv": [tofu(1, "It rained.", "yes", doc_id="City_1 Res 3")],
    }
    paths = [write(tmp_path, name, content) for name, content in files.items()]
    dialogues = [{"id": "CNN-1", "speaker": ["ANA", "BEN"], "utt": ["Rain.", "Yes."]}]
    meetings = [{"id": 0, "meeting_id": "City_1 Res 3", "source": RAIN}]
    documents = [write(tmp_path, "news_dialogue.json", dialogues), write(tmp_path, "test.jsonl", meetings)]
    data = load(paths, preset="tofueval", documents=documents)
    texts = {doc_id: document.text for doc_id, document in data.documents.items()}
    assert texts == {"CNN-1#rain": "ANA: Rain.\nBEN: Yes.", "City_1 Res 3#rain": RAIN}


def test_ragtruth(read: Callable[[str], Read]) -> None:
    found = read("ragtruth")
    assert list(found.rows) == [("7", "m"), ("7", "n")]
    # The released offsets run past the span by one: its text decides.
    assert found.human("7", "m")["spans"] == [{"start": 10, "end": 14, "label": "Evident Baseless Info"}]
    free = [one for one in found.data.judgments("human.raw") if one.signature.startswith("human.spans_none")]
    assert [(one.target.system, one.label) for one in free] == [("m", 0), ("n", 1)]
    assert found.rows["7", "m"]["labels"][0]["implicit_true"] is False
    assert any("quality: is truncated; such rows are left out" in line for line in found.warnings)
    assert any("task_type: is QA; such rows are left out" in line for line in found.warnings)


def _derived(found: Read) -> list[str]:
    """Return the labels that are derived from spans."""
    return [vote.signature for vote in found.data.judgments("human.raw") if vote.signature.startswith("human.span")]


def test_ragtruth_span_of_another_text_creates_no_label(tmp_path: Path) -> None:
    gone = {"start": 10, "end": 99, "text": "sleet", "label_type": "x"}
    row = RAGTRUTH_ROW | {"labels": [*RAGTRUTH_ROW["labels"], gone]}
    found = Read(tmp_path, "ragtruth", RAGTRUTH | {"response.jsonl": [row, RAGTRUTH_ROW | {"model": "n"}]})
    assert (found.human("7", "m"), found.rows["7", "m"]["labels"][1]) == (None, gone)
    assert {vote.target.system for vote in found.data.judgments("human.raw")} == {"n"}
    assert any("labels: contains a span that is not in the response" in line for line in found.warnings)


@pytest.mark.parametrize("lost", [note(["Unwanted"], "sleet", 10), note(["Unwanted"], "", 0) | {"summary_span": None}])
def test_faithbench_error_without_offsets_creates_no_label(lost: dict[str, Any], tmp_path: Path) -> None:
    marked = [note(["Unwanted"], "hail", 10, "a2"), lost]
    found = Read(tmp_path, "faithbench", {"batch_1.json": {"samples": [bench("m", marked)]}})
    (row,) = found.rows.values()
    assert (row["human"], len(row["annotations"])) == ({"overall": {"faithfulness": 0}}, 2)
    assert not _derived(found)


def test_diasumfact_error_without_offsets_creates_no_label(tmp_path: Path) -> None:
    files = json.loads(json.dumps(DIASUMFACT).replace('"error_span": "left"', '"error_span": "stayed"'))
    found = Read(tmp_path, "diasumfact", files)
    assert found.human("3", "bart") == {
        "sentence_labels": [1, 0],
        "sentence_error_types": ["No Error", "EntE+PredE"],
    }
    assert not _derived(found)
    assert any("annotations.bart: has an error_span that is not in the summary" in line for line in found.warnings)


def test_faithbench(read: Callable[[str], Read]) -> None:
    rows = {row["system"]: row for row in read("faithbench").rows.values()}
    assert rows["m"]["human"] == {
        "overall": {"faithfulness": 0},
        "spans": [
            {"annotator": "a1", "start": 10, "end": 14, "label": "Unwanted+Unwanted.Instrinsic"},
            {"annotator": "a2", "start": 3, "end": 9, "label": 1},
        ],
        "span_annotators": ["a1", "a2"],
    }
    assert [rows[name]["human"]["overall"]["faithfulness"] for name in "nop"] == [1, 1, 0]
    assert (rows["p"]["batch"], rows["p"]["sample_id"], rows["p"]["annotations"][0]["note"]) == ("batch_2", 0, "n")


def test_faithbench_annotators_by_the_name_of_its_readme(tmp_path: Path) -> None:
    marked = note(["Unwanted.Extrinsic"], "hail", 10)
    marked["annotator"] = marked.pop("annotator_id")
    found = Read(tmp_path, "faithbench", {"batch_1.json": {"samples": [bench("m", [marked])]}})
    (row,) = found.rows.values()
    assert row["human"]["spans"] == [{"annotator": "a1", "start": 10, "end": 14, "label": "Unwanted.Extrinsic"}]


def test_summedits_without_splits(tmp_path: Path) -> None:
    rows = [{name: value for name, value in EDIT.items() if name != "split"}]
    (row,) = Read(tmp_path, "summedits", {"summedits_news.json": rows}).rows.values()
    assert (row["human"], "cut" in row) == ({"overall": {"faithfulness": 0}}, False)


def test_faithbench_as_a_table(tmp_path: Path) -> None:
    rows = [
        {"source": RAIN, "summary": "Rain.", "LLM": name, "worst-label": worst, "best-label": "Consistent"}
        for name, worst in (("m", "Unwanted.Intrinsic"), ("n", "Questionable"), ("o", "Benign"), ("p", "Consistent"))
    ]
    found = Read(tmp_path, "faithbench", {"FaithBench.csv": rows})
    assert [row["human"]["overall"]["faithfulness"] for row in found.rows.values()] == [0, 0, 1, 1]
    found.lossless()
    (fault,) = faults(tmp_path, "faithbench", {"FaithBench.csv": [rows[0] | {"worst-label": "bad"}]})
    assert fault.startswith("FaithBench.csv:2: worst-label: is 'bad'")


def test_storysumm(read: Callable[[str], Read]) -> None:
    found = read("storysumm")
    assert found.human("1", "gpt") == {"overall": {"faithfulness": 0}, "sentence_labels": [1, 0]}
    assert found.human("1", "gpt#2") == {"overall": {"faithfulness": 1}, "sentence_labels": [1, 1]}
    assert found.human("1", "claude") == {"overall": {"faithfulness": 0}}
    assert found.rows["1", "claude"]["errors"] == [0]
    assert any("has 1 labels for 2 sentences; it is unknown which is missing" in line for line in found.warnings)


def test_storysumm_with_the_stray_quotation_mark(tmp_path: Path) -> None:
    whole = json.dumps(STORYSUMM["storysumm.json"], indent=1)
    broken = whole.replace('"It rained.",\n', '"It rained.", "\n', 1)
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    found = Read(tmp_path, "storysumm", {"storysumm.json": broken})
    assert len(found.data) == 3
    line = broken[: broken.index('", "\n')].count("\n") + 1
    stray = [fault for fault in found.data.warnings if "stray quotation mark" in fault.message]
    assert [fault.line for fault in stray] == [line]
    twice = broken.replace('"no"\n', '"no.", "\n', 1)
    assert repair(twice, lambda number, message: pytest.fail(message)) == twice  # two of them are no known fault


def test_rose(read: Callable[[str], Read]) -> None:
    found = read("rose")
    row = found.rows["cnndm_protocol/e1", "bart"]
    assert row["human"] == {
        "ratings": {"prior": {"?1": 3, "?2": 4}},
        "overall": {"acu": 0.5, "normalized_acu": 0.4},
        "key_fact_labels": [1, 0],
    }
    assert (row["key_facts"], row["reference"]) == (["It rained.", "They stayed."], "It rained. They stayed.")
    assert [line for line in found.warnings if "system_outputs" in line] == [
        "system_outputs: has no summary by gone; its annotations are left out"
    ]


def test_summedits(read: Callable[[str], Read]) -> None:
    rows = list(read("summedits").rows.values())
    assert [(row["system"], row["human"]["overall"]["faithfulness"], row["cut"], row["domain"]) for row in rows] == [
        ("e1", 0, "test", "news"),
        ("e2", 1, "test", "news"),
    ]
    assert rows[0]["edit_types"] == ["entity_modification"]


def test_dialsummeval_annotators_are_identified_by_position(read: Callable[[str], Read]) -> None:
    human = read("dialsummeval").human("d1", "A")
    assert human["ratings"]["consistency"] == {"annotator1": 5, "annotator2": 4, "annotator3": 3}
    assert set(human["ratings"]) == {"consistency", "relevance", "fluency", "coherence"}


def test_diasumfact(read: Callable[[str], Read]) -> None:
    found = read("diasumfact")
    assert found.rows["3", "bart"]["document"] == "Ana: It rained.\nBen: I stayed in."
    assert found.human("3", "bart") == {
        "sentence_labels": [1, 0],
        "sentence_error_types": ["No Error", "EntE+PredE"],
        "spans": [{"start": 12, "end": 15, "label": "EntE"}, {"start": 16, "end": 20, "label": "PredE"}],
        "span_annotators": ["people"],
    }
    odd = found.rows["3", "t5"]
    assert (odd["summary"], odd["model_prediction"]) == ("Ana rained.", "Ana")
    assert any("annotations.t5: has a model_prediction unlike its sentences" in line for line in found.warnings)


def test_summeval_op(read: Callable[[str], Read], tmp_path: Path) -> None:
    found = read("summeval_op")
    human = found.human("product-1", "m")
    assert human["ratings"]["aspect coverage"] == {"?1": 5, "?2": 4, "?3": 3}
    assert human["overall"]["specificity"] == 4
    assert found.rows["product-1", "m"]["document"] == "Good.\n\nBad."
    other = [OPINIONS["summeval-op-detailed.jsonl"][0] | {"summaries": ["Other."]}]
    (fault,) = faults(tmp_path, "summeval_op", OPINIONS | {"summeval-op-detailed.jsonl": other})
    assert fault.startswith("summeval-op.jsonl:1: summaries: ")


def test_bump_has_each_reference_once(read: Callable[[str], Read]) -> None:
    found = read("bump")
    assert {system: row["human"]["overall"]["faithfulness"] for (_, system), row in found.rows.items()} == {
        "reference": 1,
        "1": 0,
        "2": 0,
    }
    assert found.rows["x", "1"]["error_type"] == "Intrinsic Predicate Error"


def test_gofigure(read: Callable[[str], Read]) -> None:
    rows = list(read("gofigure").rows.values())
    assert [row["human"]["overall"]["faithfulness"] for row in rows] == [1, 0, None]
    assert {row["domain"] for row in rows} == {"samsum"}


def test_story_summeval(read: Callable[[str], Read], tmp_path: Path) -> None:
    found = {doc_id: row for (doc_id, _), row in read("story_summeval").rows.items()}
    assert (found["Gutenberg/84"]["document"], found["Gutenberg/84"]["human"]) == (
        RAIN,
        {"overall": {"faithfulness": 1}},
    )
    assert found["Wikisource/Snow"]["document"] == SNOW
    rows = CASES["story_summeval"][0]["test.jsonl"]
    loader = [{"summary": "It rained.", "factual": "0", "system_id": "gpt", "text_id": "84", "source": "gutenberg"}]
    stories = CASES["story_summeval"][0]["stories.jsonl"]
    read_as = Read(tmp_path, "story_summeval", {"test.jsonl": loader, "stories.jsonl": stories})
    assert read_as.human("gutenberg/84", "gpt") == {"overall": {"faithfulness": 0}}
    own = Read(tmp_path, "story_summeval", {"test.jsonl": [{**rows[0], "story": SNOW}]})
    assert own.rows["Gutenberg/84", next(iter(own.rows))[1]]["document"] == SNOW
    (fault,) = faults(tmp_path, "story_summeval", {"test.jsonl": rows, "stories.jsonl": stories})
    assert fault.startswith("test.jsonl:2: text_id: refers to 'Wikisource Snow'")


@pytest.mark.parametrize("name", CASES)
def test_cell_of_another_type_is_a_fault_or_is_kept(name: str, tmp_path: Path) -> None:
    """With any value of a column, or without the column, the import succeeds or fails with a fault of that file."""
    files, documents = CASES[name][:2]
    for file, content in files.items():
        rows = content.get("samples", list(content.values())) if isinstance(content, dict) else content
        if file.endswith((".xlsm", ".parquet")):
            continue
        for column in rows[0]:
            for value in (..., None, 5, "x", ["x"], {"x": "x"}):
                row = {key: cell for key, cell in rows[0].items() if key != column or value is not ...}
                row |= {} if value is ... else {column: value}
                changed: Any = [row, *rows[1:]]
                if isinstance(content, dict):
                    keys = list(content)
                    changed = {"samples": changed} if keys == ["samples"] else dict(zip(keys, changed, strict=True))
                with suppress(InputError):
                    Read(tmp_path, name, files | {file: changed}, documents)


GONE = {"start": 99, "end": 120, "text": "gone", "label_type": "x"}


@pytest.mark.parametrize(
    ("preset", "file", "rows", "line", "field"),
    [
        ("aggrefact", "a.csv", [aggrefact("A", RAIN, "Rain.", 1) | {"label": "yes"}], 2, "label"),
        ("xsumfaith", "h.csv", [xsumfaith_row("w", "wild")], 2, "hallucination_type"),
        ("tofueval", "m.csv", [tofu(1, "It rained.", "maybe")], 2, "sent_label"),
        ("tofueval", "m.csv", [tofu(1, "It rained.", "yes") | {"sent_idx": "one"}], 2, "sent_idx"),
        ("factcc", "d.jsonl", [{"id": "x", "filepath": "1.story", "claim": "c", "label": "RIGHT"}], 1, "label"),
        ("gofigure", "x.jsonl", [{"article": RAIN, "summary": "x", "label": "fine", "errors": []}], 1, "label"),
        ("faithbench", "batch_1.json", [bench("m", [note(["Odd"], "hail", 10)])], 2, "annotations"),
        ("faithbench", "batch_1.json", [bench("m", []) | {"metadata": {}}], 2, "metadata"),
        ("ragtruth", "response.jsonl", [RAGTRUTH_ROW | {"labels": [GONE]}], 1, "labels"),
        ("dialsummeval", "h.jsonl", [DIALOGUE | {"annotations": [5]}], 1, "annotations"),
        ("bump", "t.json", [bump(1, "x", "It snowed.") | {"reference_summary": None}], 2, "reference_summary"),
        ("summedits", "summedits_news.json", [EDIT, {name: EDIT[name] for name in EDIT if name != "doc"}], 13, "doc"),
        ("llm_aggrefact", "dev.jsonl", [{"doc": RAIN, "claim": "Rain.", "label": 2}], 1, "label"),
    ],
)
def test_rows_with_faults(preset: str, file: str, rows: Any, line: int, field: str, tmp_path: Path) -> None:
    documents = {"1": RAIN, "CNN-1": RAIN} if CASES[preset][1] else None
    more = {"source_info.jsonl": RAGTRUTH["source_info.jsonl"]} if preset == "ragtruth" else {}
    (fault,) = faults(tmp_path, preset, {file: rows, **more}, documents)
    assert fault.startswith(f"{file}:{line}: {field}: ")
    assert fault.endswith(f"(preset {preset})")


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("aggrefact_types", "polytope")])
def test_file_of_another_layout_suggests_its_preset(name: str, tmp_path: Path) -> None:
    other = "dialsummeval" if name != "dialsummeval" else "summedits"
    files = CASES[name][0]
    rows = next(iter(files))
    (first, *_) = faults(tmp_path, other, {rows: files[rows]})
    assert f"is missing, but this layout requires it; check the preset (preset {other})" in first
    assert first.endswith(f"its columns are those of preset={name}")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[1] is not None])
def test_missing_documents_are_one_fault(name: str, tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, name, CASES[name][0])
    assert "the rows have no documents" in fault
    assert "documents=FILE|FOLDER" in fault
