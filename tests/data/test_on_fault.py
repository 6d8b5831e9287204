"""Handling of faulty rows (`on_fault`), and messages of the import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from data.flat_view import flat_rows
from together import together

from summeter.cli.main import main
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import OnFault
from summeter.records import InputError

ONE = {"doc_id": "d1", "system": "s1", "document": "It rained. We stayed.", "summary": "It rained. We left."}


def loaded(rows: list[dict[str, Any]], rule: OnFault, **how: Any) -> Dataset:
    return load(rows, on_fault=rule, **how)


def dropped(data: Dataset) -> list[tuple[Any, ...]]:
    return [(each.line, each.field, each.dropped, each.value) for each in data.dropped]


def rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per change, with systems s0, s1..."""
    return [ONE | {"system": f"s{place}"} | change for place, change in enumerate(changes)]


class TestSkip:
    def test_faulty_row_is_dropped_with_its_reason(self) -> None:
        data = loaded(rows({}, {"summary": None}, {"human": {"overall": {"x": "high"}}}), "skip")
        assert data.systems == ("s0",)
        assert dropped(data) == [(2, "summary", "row", None), (3, "human.overall.x", "row", None)]
        assert data.dropped[0].reason == "is null; give a string (it may be empty)"

    def test_lines_that_cannot_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(json.dumps(ONE).encode() + b'\n{"document"\n[1]\n{"a": "\x81"}\n')
        data = load(path, on_fault="skip")
        assert (len(data), [each.line for each in data.dropped]) == (1, [2, 3, 4])

    def test_mismatch_with_later_key_facts(self) -> None:
        labels = {"human": {"key_fact_labels": [1, 0]}}
        data = loaded(rows(labels, {"key_facts": ["a"]}, {"doc_id": "d2", **labels}), "skip")
        assert (data.systems, list(data.documents)) == (("s1",), ["d1"])
        assert [each.line for each in data.dropped] == [1, 3]
        assert list(flat_rows(data)) == list(flat_rows(load(list(flat_rows(data)))))

    def test_all_rows_dropped(self) -> None:
        with pytest.raises(InputError, match="rows: has no valid row; give one row per summary"):
            loaded(rows({"summary": None}), "skip")

    @pytest.mark.parametrize("content", ["a,a\n1,2\n", "x;y\nx;y\n", 'document,summary\n"a,b\n'])
    def test_unreadable_file_still_fails(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "a.csv"
        path.write_text(content, "utf-8")
        with pytest.raises(InputError):
            load(path, on_fault="skip")

    def test_rows_of_a_preset(self) -> None:
        row = {"article": "It rained.", "summary_sentences": [{"sentence": "Rain.", "responses": []}]}
        data = load([row, row | {"summary_sentences": "x"}], preset="qags", on_fault="skip")
        assert (len(data), data.dropped[0].field) == (1, "summary_sentences")


class TestKeepValid:
    @together("change, kept, gone", [
            ({"domain": []}, {}, ("domain", [])),
            ({"references": "x"}, {}, ("references", "x")),
            ({"key_facts": ["a", ""]}, {}, ("key_facts[1]", ["a", ""])),
            ({"sentences": ["No."]}, {}, ("sentences", ["No."])),
            ({"human": {"overall": {"x": {"ben": "high", "cleo": 2}}}}, {"overall": {"x": {"cleo": 2}}},
             ("human.overall.x.ben", "high")),
            ({"human": {"sentence_labels": [1, 7]}}, {"sentence_labels": [1, {}]}, ("human.sentence_labels[1]", 7)),
            ({"human": {"sentence_labels": [{"ben": 7, "cleo": 1}, 1]}}, {"sentence_labels": [{"cleo": 1}, 1]},
             ("human.sentence_labels[0].ben", 7)),
            ({"human": {"sentence_labels": [1], "overall": {"x": 1}}}, {"overall": {"x": 1}},
             ("human.sentence_labels", [1])),
            ({"human": {"spans": [{"start": 0, "end": 99, "label": 0}, {"start": 0, "end": 2, "label": 0}]}}, None,
             ("human.spans[0]", [{"start": 0, "end": 99, "label": 0}, {"start": 0, "end": 2, "label": 0}])),
            ({"human": {"overall": {"x": {"ann.b": "high", "ann": 2}}}}, {"overall": {"x": {"ann": 2}}},
             ("human.overall.x.ann.b", "high")),
            ({"human": {"overall": {"a[0]": {"ben@x.org": 1, "ben@x": "high"}, "a": 2}}},
             {"overall": {"a[0]": {"ben@x.org": 1}, "a": 2}}, ("human.overall.a[0].ben@x", "high")),
            ({"human": {"overall": {"x": {"people": "high", "ben": 2}}}}, {"overall": {"x": {"ben": 2}}},
             ("human.overall.x", "high")),
            ({"human": {"sentence_labels": [{"ben": "EntE", "cleo": 0}, 1], "sentence_error_types":
                        [{"ben": "OutE", "cleo": "OutE"}, None]}},
             {"sentence_labels": [{"ben": 0, "cleo": 0}, 1],
              "sentence_error_types": [{"ben": "EntE", "cleo": "OutE"}, None]},
             ("human.sentence_error_types[0]", "OutE")),
            ({"human": {"judgments": [3], "overall": {"x": 1}}}, {"overall": {"x": 1}}, ("human.judgments[0]", [3])),
            ({"human": {"unknown": 1}}, None, ("human.unknown", 1)),
            ({"human": 5}, None, ("human", 5)),
        ],
    )  # fmt: skip
    def test_faulty_field_is_dropped(self, change: dict[str, Any], kept: Any, gone: tuple[str, Any]) -> None:
        data = loaded(rows(change), "keep-valid")
        (row,) = flat_rows(data)
        assert row.get("human") == (kept or None)
        assert dropped(data) == [(1, gone[0], "field", gone[1])]
        assert not set(change) - {"human"} & set(row)

    @pytest.mark.parametrize(
        "human",
        [
            {"sentence_labels": [{"ben": "1"}, {"ben": 1}]},
            {"sentence_labels": ["1", {"ben": 1}]},
            {"sentence_error_types": [{"ben": 3}, {"ben": "no error"}]},
            {"conciseness_labels": [{"ben": 2}, {"ben": 1}]},
            {"ratings": {"fluency": {"ben": "high"}, "tone": {"ben": 1}}},
        ],
    )
    def test_dropped_vote_removes_its_annotator(self, human: dict[str, Any]) -> None:
        data = loaded(rows({"human": human}), "keep-valid")
        assert [(row.judge, row.status, row.value) for row in data.judgments("human.raw")] == [("ben", "ok", 1.0)]
        assert len(data.dropped) == 1

    def test_sentence_labels_are_dropped_with_the_sentences(self) -> None:
        counted = {"sentence_labels": [1, 0, 1], "sentence_error_types": [None, "EntE", None],
                   "conciseness_labels": [1, 1, 0], "alignment": [[2]]}  # fmt: skip
        change = {"sentences": ["It", "wet.", "left."], "key_facts": ["a"], "human": counted | {"overall": {"x": 1}}}
        data = loaded(rows(change), "keep-valid")
        assert [judgment.aspect for judgment in data.judgments("human.raw")] == ["x"]
        assert [each.field for each in data.dropped] == ["sentences", *(f"human.{name}" for name in counted)]
        assert data.dropped[1].reason == "refers to `sentences`, which is left out"

    def test_key_fact_labels_are_dropped_with_the_key_facts(self) -> None:
        labels = {"human": {"key_fact_labels": [1, 0], "alignment": [[0], []], "overall": {"x": 1}}}
        given = rows({"key_facts": ["a", "b"]}, {"key_facts": ["c", "d"]} | labels, {"key_facts": ["a", ""]} | labels)
        data = loaded(given, "keep-valid")
        assert [judgment.aspect for judgment in data.judgments("human.raw")] == ["x", "x"]
        gone = ["human.key_fact_labels", "human.alignment"]
        assert [each.field for each in data.dropped] == ["key_facts", *gone, "key_facts[1]", *gone]

    @pytest.mark.parametrize("bad", [{"end": 99}, {"annotator": 7}, {"text": "nowhere"}])
    def test_no_label_is_derived_from_dropped_spans(self, bad: dict[str, Any]) -> None:
        span = {"annotator": "ben", "start": 0, "end": 2, "label": "EntE"}
        given = rows({"human": {"spans": [span]}}, {"human": {"spans": [span, span | bad]}}, {"human": {"spans": []}})
        data = loaded(given, "keep-valid")
        labels = {(each.judge, each.target.system, each.label) for each in data.judgments("human.raw")
                  if each.target.unit == "summary"}  # fmt: skip
        assert labels == {("ben", "s0", 0), ("ben", "s2", 1)}

    @pytest.mark.parametrize("rule", ["skip", "keep-valid"])
    @pytest.mark.parametrize("votes", [{"overall": {"x": {"ben": 1}}}, {"overall": {"x": {"ben": "high"}}}])
    def test_voters_are_not_annotators_of_spans_only(self, rule: OnFault, votes: dict[str, Any]) -> None:
        span = {"annotator": "ben", "start": 0, "end": 2, "label": "EntE"}
        given = rows({"human": {"spans": [span]}}, {"human": {"spans": [span | {"end": 99}], **votes}},
                     {"human": {"spans": []}})  # fmt: skip
        judged = loaded(given, rule).judgments("human.raw")
        assert "s2" not in {each.target.system for each in judged}

    @pytest.mark.parametrize("text", ["1", " 0.0", "Yes", "FALSE", "supported"])
    def test_label_as_text_is_not_an_error_type(self, text: str) -> None:
        data = loaded(rows({"human": {"sentence_labels": [text, 1]}}), "keep-valid")
        assert [(row.judge, row.target.index, row.label) for row in data.judgments("human.raw")] == [("people", 1, 1)]

    @pytest.mark.parametrize("change", [{"summary": None}, {"document": 3}, {"doc_id": 1.5}, {"system": ""}])
    def test_row_without_required_fields_is_dropped(self, change: dict[str, Any]) -> None:
        data = loaded(rows({}, change), "keep-valid")
        assert data.systems == ("s0",)
        assert dropped(data) == [(2, *change, "row", None)]

    def test_contradiction_of_an_earlier_row(self) -> None:
        data = loaded(rows({"domain": "news"}, {"domain": "law"}, {"document": "Another."}), "keep-valid")
        assert (data.domains, data.systems) == (("news",), ("s0", "s1"))
        assert dropped(data) == [(2, "domain", "field", "law"), (3, "document", "row", None)]

    def test_key_fact_labels_that_do_not_fit(self) -> None:
        human = {"human": {"key_fact_labels": [1, 0], "overall": {"x": 1}}}
        data = loaded(rows(human, {"key_facts": ["a"]}), "keep-valid")
        assert next(flat_rows(data))["human"] == {"overall": {"x": 1}}
        assert dropped(data) == [(1, "human.key_fact_labels", "field", [1, 0])]

    def test_column_of_a_preset(self) -> None:
        row = {"id": "dm-test-1", "model_id": "M0", "text": "It rained.", "decoded": "Rain.",
               "expert_annotations": [1], "turker_annotations": [{"fluency": 4}]}  # fmt: skip
        data = load([row], preset="summeval", on_fault="keep-valid")
        assert next(flat_rows(data))["human"] == {"crowd_ratings": {"fluency": {"?1": 4}}}
        assert data.dropped[0].field == "expert_annotations"

    @pytest.mark.parametrize("value", ["x", [{"sentence": 5, "responses": []}], [{"sentence": "Rain."}]])
    def test_dropped_row_of_a_preset_is_reported_once(self, value: Any) -> None:
        row = {"article": "It rained.", "summary_sentences": [{"sentence": "Rain.", "responses": []}]}
        data = load([row, row | {"summary_sentences": value}], preset="qags", on_fault="keep-valid")
        assert len(data) == 1
        ((line, field, what, _),) = dropped(data)
        assert (line, field.partition("[")[0], what) == (2, "summary_sentences", "row")

    def test_json_in_a_table(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('document,summary,human\nx,y,"{""overall"": {""a"": 1, ""b"": ""c""}}"\nx,z,{\n', "utf-8")
        data = load(path, on_fault="keep-valid")
        assert [row.get("human") for row in flat_rows(data)] == [{"overall": {"a": 1}}, None]
        assert [each.field for each in data.dropped] == ["human.overall.b", "human"]

    def test_a_value_that_cannot_be_stored(self) -> None:
        data = loaded(rows({"note": float("nan")}), "keep-valid")
        assert "note" not in next(flat_rows(data))
        assert [each.field for each in data.dropped] == ["note"]

    @pytest.mark.parametrize(
        ("change", "how"),
        [
            ({"sentences": ["It \ud800"]}, {}),
            ({"key_facts": ["\ud800"]}, {}),
            ({"doc_id": "\ud800"}, {}),
            ({"sents": ["\ud800"]}, {"map": {"sentences": "sents"}}),
        ],
    )
    def test_required_value_that_cannot_be_stored(self, change: dict[str, Any], how: dict[str, Any]) -> None:
        data = loaded(rows({"sents": None}, {"human": {"sentence_labels": [1, 0]}} | change), "keep-valid", **how)
        assert data.systems == ("s0",)
        assert dropped(data) == [(2, next(iter(change)), "row", None)]


class TestFolder:
    def bad(self, folder: Path) -> Path:
        path = folder / "bad.jsonl"
        given = rows({}, {"summary": None}, {"human": {"overall": {"x": "y"}}}, {"domain": {}})
        path.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
        return path

    @pytest.mark.parametrize(
        ("rule", "counts"), [("skip", "skipped: 3 rows;"), ("keep-valid", "skipped: 1 row and 2 fields;")]
    )
    def test_faults_jsonl(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: OnFault, counts: str) -> None:
        path, folder = self.bad(tmp_path), tmp_path / "data"
        with pytest.raises(SystemExit) as ended:
            main(["data", "import", str(path), "-o", str(folder), "--on-fault", rule])
        assert ended.value.code == 0
        assert f"{counts} the reasons are in {folder / 'faults.jsonl'}" in capsys.readouterr().out
        lines = [json.loads(line) for line in (folder / "faults.jsonl").read_text("utf-8").splitlines()]
        assert [(line["file"], line["line"], line["field"]) for line in lines] == [
            (str(path), 2, "summary"), (str(path), 3, "human.overall.x"), (str(path), 4, "domain"),
        ]  # fmt: skip
        assert all(line["reason"] for line in lines)
        again = load(folder)
        assert again.dropped == load(path, on_fault=rule).dropped
        save(again, tmp_path / "copy")
        assert (tmp_path / "copy" / "faults.jsonl").read_bytes() == (folder / "faults.jsonl").read_bytes()


class TestMessages:
    def test_columns_that_look_like_ratings(self) -> None:
        data = load(rows({"annotations": [{"fluency": 4}], "label": 1, "rouge_score": 0.3, "note": "x"}))
        assert [str(warning) for warning in data.warnings] == [
            (
                "rows: has columns that look like human ratings (`annotations`, `label`), which are kept with the "
                "summaries and are not used as judgments; name the layout with preset, or give them as `human`"
            )
        ]

    def test_no_hint_if_some_row_has_judgments(self) -> None:
        data = load(rows({"annotations": [{"fluency": 4}]}, {"human": {"overall": {"x": 1}}}))
        assert data.warnings == ()

    def test_warning_of_every_row_is_listed_once(self) -> None:
        data = load(rows(*[{"summary": ""}] * 40))
        assert [str(warning) for warning in data.warnings] == [
            "rows:1: summary: is empty, which is valid; it is judged `skipped` (the same in all 40 rows)"
        ]

    @pytest.mark.parametrize(("start", "place"), [(1, (0, 2)), (3, (0, 2)), (9, (11, 13))])
    def test_offsets_of_spans_are_corrected(self, start: int, place: tuple[int, int]) -> None:
        words = ONE["summary"][place[0] : place[1]]
        span = {"annotator": "ben", "start": start, "end": start + 2, "label": "EntE", "text": words}
        data = load(rows({"human": {"spans": [span]}}))
        (found,) = next(flat_rows(data))["human"]["spans"]
        assert (found["start"], found["end"]) == place
        assert f"is {words!r} at {place[0]} to {place[1]}, not at {start}" in str(data.warnings[0])

    def test_licence_and_notes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        row = {"article": "It rained.", "summary_sentences": [{"sentence": "Rain.", "responses": []}]}
        path = tmp_path / "mturk_xsum.jsonl"
        path.write_text(json.dumps(row) + "\n", "utf-8")
        with pytest.raises(SystemExit):
            main(["data", "import", "--preset", "qags", str(path), "-o", str(tmp_path / "data")])
        printed = capsys.readouterr().out
        assert "licence: not stated by the authors; ask them before you share the data" in printed
        assert "known issue: articles of XSum begin with the reference summary" in printed
        assert "as released: 235 summaries of 235 documents (mturk_cnndm.jsonl); 239 summaries" in printed


def test_progress_needs_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ONE) + "\n", "utf-8")
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with pytest.raises(SystemExit):
            main(["data", "import", str(path), "-o", str(tmp_path / f"data-{terminal}")])
        assert ("ETA" in capsys.readouterr().err) == terminal
