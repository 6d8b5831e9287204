"""Presets on hand-written files in released layouts: counts, polarity of labels, and faults."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data.files import faults, put, write
from data.flat_view import flat_rows

from summeter.data.dataset import Dataset, load, save

HASH = "8764fb95bfad8ee849274873a92fb8d6b400eee2"


def warned(data: Dataset) -> list[str]:
    return [str(warning) for warning in data.warnings]


def assert_round_trip(data: Dataset, folder: Path) -> None:
    rows = list(flat_rows(data))
    save(data, folder)
    assert list(flat_rows(load(folder))) == rows
    assert list(flat_rows(load(rows))) == rows


class TestSummEval:
    def row(self, system: str = "M0", **more: Any) -> dict[str, Any]:
        votes = [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": place} for place in (1, 2, 3)]
        return {
            "id": f"dm-test-{HASH}", "model_id": system, "filepath": f"cnndm/stories/{HASH}.story", "decoded": "rain .",
            "references": ["Rain.", "It rained."], "expert_annotations": votes, "turker_annotations": votes + votes[:2],
        } | more  # fmt: skip

    def test_missing_articles_are_one_fault(self, tmp_path: Path) -> None:
        file = put(tmp_path / "model_annotations.aligned.jsonl", [self.row(f"M{n}") for n in range(16)])
        (fault,) = faults(file, "summeval")
        assert fault.startswith(f"{file}: the rows have no documents; give CNN/DailyMail's stories")

    def test_stories(self, tmp_path: Path) -> None:
        file = put(tmp_path / "model_annotations.aligned.jsonl", [self.row("M0"), self.row("M1")])
        story = "It rained.\n\n  It poured. \n\n@highlight\n\nRain\n"
        write(tmp_path / "stories" / "dailymail" / f"{HASH}.story", story)
        data = load(file, preset="summeval", documents=tmp_path / "stories")
        (document,) = data.documents.values()
        assert (document.text, document.domain, document.split) == ("It rained. It poured.", "cnndm", "test")
        assert len(data) == 2
        votes = {judgment.judge: judgment.value for judgment in data.judgments("human.raw")
                 if judgment.aspect == "relevance" and judgment.target.system == "M0"}  # fmt: skip
        assert votes == {"expert0": 1, "expert1": 2, "expert2": 3}
        assert_round_trip(data, tmp_path / "folder")

    @pytest.mark.parametrize("given", ["option", "file"])
    def test_documents_of_the_hub(self, tmp_path: Path, given: str) -> None:
        rows = put(tmp_path / "a.jsonl", [self.row()])
        texts = write(tmp_path / "test.csv", [{"id": HASH, "article": "It rained.", "highlights": "Rain."},
                                              {"id": "other", "article": "x", "highlights": "x"}])  # fmt: skip
        if given == "option":
            data = load(rows, preset="summeval", documents=[texts])
        else:
            data = load([rows, texts], preset="summeval")
        assert [document.text for document in data.documents.values()] == ["It rained."]

    def test_missing_article(self, tmp_path: Path) -> None:
        rows = put(tmp_path / "a.jsonl", [self.row(), self.row(id="dm-test-0", model_id="M1")])
        texts = put(tmp_path / "texts.jsonl", [{"id": HASH, "text": "It rained."}])
        assert faults(rows, "summeval", documents=texts) == [
            f"{rows}:2: there is no document '0' in {texts}; add it there"
        ]
        without = put(tmp_path / "more.jsonl", [{"id": HASH, "title": "Rain"}])
        assert faults(rows, "summeval", documents=without)[0].startswith(f"{without}:1: has no column with a text")
        gone = tmp_path / "gone"
        assert faults(rows, "summeval", documents=gone) == [f"{gone}: no such file or folder"]
        (tmp_path / "empty").mkdir()
        assert "contains no documents; give files named ID" in faults(rows, "summeval", documents=tmp_path / "empty")[0]


class TestShen:
    def test_rows_replies_and_pairs(self, tmp_path: Path) -> None:
        row = TestSummEval().row("M8", text="It rained.")
        rows = put(tmp_path / "model_output_annotations" / "M8_outputs_annotations.jsonl", [row])
        other = put(tmp_path / "model_output_annotations" / "M9_outputs_annotations.jsonl", [row | {"model_id": "M9"}])
        reply = {"id": row["id"], "prompt_len": 9, "total_len": 9, "resp": "old"}
        replies = put(
            tmp_path / "eval_model_generations" / "chatgpt" / "eval_M8_generations" / "relevance_altmcq.txt",
            [reply, reply | {"resp": "C"}],
        )
        pairs = put(tmp_path / "comp_res" / "chatgpt" / "M8-M9_relevance_toggle.result",
                    [reply | {"resp": "Summary 2", "human_score_1": 3, "human_score_2": 4}])  # fmt: skip
        data = load([pairs, replies, other, rows], preset="shen2023")
        (first,) = [one for one in flat_rows(data) if one["system"] == "M8"]
        about = {"model": "chatgpt", "aspect": "relevance"}
        assert first["replies"] == [
            {**about, "evaluator": "mcq2", "attempt": -1, "output": "old"},  # an id asked twice: the first counts
            {**about, "evaluator": "mcq2", "attempt": -2, "output": "C"},
            {**about, "evaluator": "h2h", "rival": "M9", "order": "ba", "attempt": 1, "output": "Summary 2"},
        ]
        put(replies.with_name("fluency_cap.txt"), [])
        whole = load(tmp_path, preset="shen2023")  # the folder as it was downloaded
        assert len(whole) == 2
        assert [warning.endswith("M8_generations/fluency_cap.txt") for warning in warned(whole)] == [True]
        assert len(load([rows, other], preset="summeval")) == 2


def test_qags_from_a_file_of_another_name(tmp_path: Path) -> None:
    row = {"article": "It rained.", "summary_sentences": [{"sentence": "Rain.", "responses": []}]}
    data = load(put(tmp_path / "mine.jsonl", [row]), preset="qags")
    assert warned(data)[0].endswith("has an unknown system, because the file name contains neither cnndm nor xsum")


def test_unisumeval(tmp_path: Path) -> None:
    faithfulness: dict[str, Any] = {
        "uid": "MultiWOZ_1", "doc_id": "7", "source": "MultiWOZ", "domain": "booking", "redact_type": "redacted",
        "model": "phi-2", "reference": "", "input_context": "A: Hello. B: Hi.", "summary": "A greets B. B leaves.",
        "sentences": '["A greets B.", "B leaves."]', "summary_success_state": "success",
        "fact_verification_label": [0, 1], "fact_verification_error_type": "['no error', 'entity error']",
        "faithfulness_score": 0.5, "machine_evaluation_results_x": "{'a': 1}",
    }  # fmt: skip
    facts = {
        "uid": "MultiWOZ_1", "model": "phi-2", "pred_keyfact": ["x"], "keyfact": ["A greets B."], "keyfact_label": [1],
        "completeness": 1.0, "sentence_label": [1, 0], "conciseness": 0.5,
    }  # fmt: skip
    failed = {"uid": "MultiWOZ_2", "summary_success_state": "failed"}
    files = [
        put(tmp_path / f"unisumeval_{name}.jsonl", [row, row | failed])
        for name, row in (("faithfulness", faithfulness), ("keyfact", facts))
    ]
    data = load(files, preset="unisumeval")
    assert "is 'failed'; the row is left out, because it has no summary" in warned(data)[0]
    (row,) = flat_rows(data)
    assert (row["doc_id"], row["document"]) == ("MultiWOZ/MultiWOZ_1/redacted", "A: Hello. B: Hi.")
    assert (row["domain"], row["source_doc_id"], "reference" in row) == ("booking", "7", False)
    assert row["human"] == {
        "overall": {"faithfulness": 0.5, "completeness": 1.0, "conciseness": 0.5}, "sentence_labels": [1, 0],
        "sentence_error_types": ["no error", "entity error"], "key_fact_labels": [1], "conciseness_labels": [1, 0],
    }  # fmt: skip
    assert (row["pred_keyfact"], row["machine_evaluation_results_x"]) == (["x"], "{'a': 1}")
    assert_round_trip(data, tmp_path / "folder")
    assert faults(files[0], "unisumeval")[0].startswith(
        f"{files[0]}: the key facts are missing; give data/unisumeval_k"
    )
    assert "the rows are missing; give data/unisumeval_faithfulness.jsonl" in faults(files[1], "unisumeval")[0]


FACTS = {"cnndm5476": ["It rained.", "We stayed."], "cnndm17": ["It poured."]}
TEXTS = {"cnndm5476": "<t> It rained . </t> <t> We stayed . </t>", "cnndm17": "<t> It poured . </t>"}


class TestREALSumm:
    def summaries(self, names: Sequence[str], text: str) -> dict[int, dict[str, Any]]:
        return {
            number: {
                "doc_id": str(number), "ref_summ": f"<t> Gold {number} . </t>",
                "system_summaries": {
                    f"{name}.txt": {
                        "system_summary": TEXTS[doc_id].replace(" . </t>", f" {text}{name} . </t>"),
                        "scores": {"rouge_1": np.float64(0.5), "litepyramid_recall": np.float32(0.25)},
                    } for name in names
                },
            } for number, doc_id in enumerate(FACTS)
        }  # fmt: skip

    def hit(self, doc_id: str, text: str, answers: Sequence[str]) -> dict[str, Any]:
        questions = [f"q{place}" for place in range(16)]
        row: dict[str, Any] = {
            "Input.eventId": doc_id, "Input.summaryId": "1", "Input.qIdList": str(questions),
            "Input.summary_text": text,
        }  # fmt: skip
        statements = [*FACTS[doc_id][:1], "BLANK", *FACTS[doc_id][1:]]  # padding may stand inside the list
        row |= {f"Input.statement_{place + 1}": text for place, text in enumerate([*statements, *["BLANK"] * 13][:16])}
        row |= {f"Answer.S{place + 1}Answer": answers[place] if place < len(answers) else "" for place in range(16)}
        return row

    def scus(self) -> list[dict[str, Any]]:
        rows = []
        for doc_id, facts in FACTS.items():
            texts = [*facts[:1], "BLANK", *facts[1:]]
            for place in range(16):
                text = texts[place] if place < len(texts) else "BLANK"
                rows.append({"eventId": doc_id, "questionId": f"q{place}", "questionText": text,
                             "answer": "N" if text == "BLANK" else "Y"})  # fmt: skip
        return rows

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Write a release: abs has t5_out, t5_out_large and a bart_out copied from ext; ext has bart_out."""
        root = tmp_path / "REALSumm"
        (root / "scores_dicts").mkdir(parents=True)
        ext, abstractive = self.summaries(["bart_out"], "ext"), self.summaries(["t5_out", "t5_out_large"], "abs")
        for number, record in abstractive.items():
            record["system_summaries"]["bart_out.txt"] = ext[number]["system_summaries"]["bart_out.txt"]
        for name, content in (("abs", abstractive), ("ext", ext)):
            (root / "scores_dicts" / f"{name}.pkl").write_bytes(pickle.dumps(content))
        annotations = root / "human_annotations" / "SCUs_and_annotations"
        write(annotations / "SCUs_list.csv", self.scus())
        for kind, name, text in (("abs", "t5_out", "abst5_out"), ("abs", "t5_out_large", "abst5_out_large"),
                                 ("abs", "bart_out", "truly"), ("ext", "bart_out", "extbart_out")):  # fmt: skip
            hits = [
                self.hit(doc_id, TEXTS[doc_id].replace(" . </t>", f" {text} . </t>"), answers)
                for doc_id in FACTS for answers in (["p", "n", "n"], ["p", "n", "p"], ["n", "n", "n"])
            ]  # fmt: skip
            write(annotations / f"SCU_rating_results_{kind}_systems" / f"{name}.csv", hits)
        for system in ("ptr_generator", "bart"):
            lines = "rain all day .\nmore rain ." if system == "ptr_generator" else "x\ny"
            write(root / "selected_docs_for_human_eval" / "abs" / system / "src.txt", lines)
        return root

    def test_released_folder(self, folder: Path, tmp_path: Path) -> None:
        data = load(folder, preset="realsumm")
        assert data.systems == ("abs_t5_out", "abs_t5_out_large", "abs_bart_out", "ext_bart_out")
        assert (len(data), len(data.documents)) == (8, 2)
        document = data.documents["cnndm5476"]
        assert (document.text, document.references) == ("rain all day .", ("Gold 0 .",))
        assert document.key_facts == ("It rained.", "We stayed.")
        row = next(flat_rows(data))
        assert row["summary"] == "It rained abst5_out . We stayed abst5_out ."
        assert row["sentences"] == ["It rained abst5_out .", "We stayed abst5_out ."]
        assert row["human"] == {"key_fact_labels": [{"?1": 1, "?2": 1, "?3": 0}, {"?1": 0, "?2": 1, "?3": 0}]}
        assert row["scores"] == {"rouge_1": 0.5, "litepyramid_recall": 0.25}
        assert_round_trip(data, tmp_path / "folder")

    def test_quoted_text_replaces_a_copied_summary(self, folder: Path) -> None:
        data = load(folder, preset="realsumm")
        (bart,) = [row for row in flat_rows(data) if row["system"] == "abs_bart_out" and row["doc_id"] == "cnndm17"]
        assert bart["summary"] == "It poured truly ."
        assert "scores" not in bart
        (warning,) = data.warnings
        assert (warning.field, "(2 summaries)" in warning.message) == ("abs_bart_out", True)

    def test_missing_files(self, folder: Path) -> None:
        files = sorted((folder / "scores_dicts").iterdir())
        found = faults(files, "realsumm")
        assert [fault.partition(": ")[2].partition(";")[0] for fault in found] == [
            "the votes are missing", "the key facts are missing", "the documents are missing",
        ]  # fmt: skip
        assert "give SCUs_list.csv (columns eventId, questionId, questionText, answer)" in found[1]

    def test_a_wrong_answer(self, folder: Path) -> None:
        path = folder / "human_annotations/SCUs_and_annotations/SCU_rating_results_ext_systems/bart_out.csv"
        path.write_text(path.read_text("utf-8").replace(",p,", ",maybe,", 1), "utf-8")
        (fault,) = faults(folder, "realsumm")
        assert "Answer.S1Answer: is 'maybe', but this layout has p (present) or n (not) (bart_out.csv, line 2)" in fault

    def test_file_of_an_unknown_system(self, folder: Path) -> None:
        path = folder / "human_annotations/SCUs_and_annotations/SCU_rating_results_ext_systems/bart_out.csv"
        other = path.rename(path.with_name("unknown.csv"))
        assert faults(folder, "realsumm")[0].startswith(
            f"{other}: has a name that begins with none of the systems: bart_out"
        )

    def test_a_pickle_that_runs_code_is_refused(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import os

        class Evil:
            def __reduce__(self) -> Any:
                return os.system, ("touch /tmp/never",)

        path = folder / "scores_dicts" / "abs.pkl"
        path.write_bytes(pickle.dumps({0: Evil()}))
        assert faults(folder, "realsumm") == [
            f"{path}: is not a valid pickle: it refers to posix.system, which is not allowed; check its source"
        ]
        for content, message in (
            (b"nonsense", "is not a valid pickle"),
            (pickle.dumps([1]), "contains a list; give the pickle of a dict of records"),
            (pickle.dumps({0: {"a": np.array([1.0])}}), "which is not allowed"),
            (pickle.dumps({0: {"a": np.datetime64("2020-01-01")}}), "it contains values of type 'M8'"),
        ):
            path.write_bytes(content)
            assert message in faults(folder, "realsumm")[0]
        monkeypatch.setattr("summeter.data.formats.MOST_OF_A_PICKLE", 1000)
        inside: list[Any] = []
        for _ in range(64):
            inside = [inside, inside]
        path.write_bytes(pickle.dumps({0: {"a": inside}}))
        assert "contains too many values" in faults(folder, "realsumm")[0]


class TestLite3Pyramid:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name, ids in (("REALSumm", ["cnndm1", "cnndm2"]), ("PyrXSum", ["311", "312"])):
            root = tmp_path / "data" / name
            for file, lines in (
                ("ids.txt", ids), ("documents.txt", ["It rained.", "It poured."]),
                ("references.txt", ["Rain.", "Wet."]),
                ("SCUs.txt", ["It rained.\tIt was wet.", "It poured."]), ("STUs.txt", ["x", "y"]),
                ("summaries/abs_bart.summary", ["Rain all day.", "Wet."]), ("labels/abs_bart.label", ["1\t0", "0"]),
            ):  # fmt: skip
                write(root / file, "\n".join(lines))  # the last without a line end
        return tmp_path / "data"

    def test_both_folders(self, folder: Path, tmp_path: Path) -> None:
        data = load(folder, preset="lite3pyramid")
        assert (len(data), data.domains) == (4, ("xsum", "cnndm"))
        (row,) = [row for row in flat_rows(data) if row["doc_id"] == "cnndm1"]
        assert row == {
            "doc_id": "cnndm1", "system": "abs_bart", "document": "It rained.", "summary": "Rain all day.",
            "reference": "Rain.", "key_facts": ["It rained.", "It was wet."], "domain": "cnndm",
            "human": {"key_fact_labels": [1, 0]},
        }  # fmt: skip
        assert_round_trip(data, tmp_path / "folder")

    def test_one_folder_and_its_faults(self, folder: Path) -> None:
        root = folder / "PyrXSum"
        write(root / "labels" / "abs_bart.label", "1\t0\t1\n0\n")
        assert faults(root, "lite3pyramid") == [
            f"{root / 'summaries/abs_bart.summary'}:1: labels: has 3 labels for 2 key facts (preset lite3pyramid)"
        ]
        write(root / "labels" / "abs_bart.label", "1\t0\n")
        (fault,) = faults(root, "lite3pyramid")
        assert fault.startswith(
            f"{root / 'summaries/abs_bart.summary'}:2: {root / 'labels/abs_bart.label'} contains no"
        )
        (root / "SCUs.txt").unlink()
        assert any("the key facts are missing; give SCUs.txt" in fault for fault in faults(root, "lite3pyramid"))

    def test_folder_without_files_of_the_preset(self, tmp_path: Path) -> None:
        write(tmp_path / "x" / "readme.md", "x")
        (fault,) = faults(tmp_path / "x", "lite3pyramid")
        assert fault.startswith(f"{tmp_path / 'x'}: contains no file of preset lite3pyramid: *.summary, *.label")
