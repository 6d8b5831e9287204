"""Files of public layouts: roles, joins, and faults of missing files and other layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data.files import faults, put
from data.flat_view import flat_rows

from summeter.data.dataset import Dataset, load
from summeter.data.layout import preset_of
from summeter.records import UsageError


def human(data: Dataset) -> list[Any]:
    return [row.get("human") for row in flat_rows(data)]


def labelled(doc_id: str, facts: list[int], sentences: list[int]) -> dict[str, Any]:
    votes = {who: {"key_fact_labels": facts, "sentence_labels": sentences} for who in ("0", "1")}
    return {
        "doc_id": doc_id, "source": "cnndm", "split": "test", "model": "bart", "transcript": f"It rained in {doc_id}.",
        "reference": "Rain.", "sentences": ["It rained."], "raw_annotations": votes,
    }  # fmt: skip


FACTS = [
    {"doc_id": "n1", "transcript": "It rained in n1.", "reference": "Rain.", "key_facts": ["It rained.", "In n1."]},
    {"doc_id": "n2", "transcript": "It rained in n2.", "reference": "Rain.", "key_facts": ["It rained."]},
]
ROWS = [labelled("n1", [1, 0], [1]), labelled("n2", [1], [0])]


class TestTwoFiles:
    @pytest.mark.parametrize("first", ["rows", "facts"])
    def test_order_of_files_does_not_matter(self, tmp_path: Path, first: str) -> None:
        files = [put(tmp_path / "realsumm-data.json", ROWS), put(tmp_path / "human-keyfact-list.json", FACTS)]
        data = load(files if first == "rows" else files[::-1], preset="finesure")
        assert human(data) == [
            {"key_fact_labels": [{"0": 1, "1": 1}, {"0": 0, "1": 0}], "conciseness_labels": [{"0": 1, "1": 1}]},
            {"key_fact_labels": [{"0": 1, "1": 1}], "conciseness_labels": [{"0": 0, "1": 0}]},
        ]
        assert data.documents["n1"].key_facts == ("It rained.", "In n1.")
        assert (data.card.name, data.card.licence) == ("finesure", "Apache-2.0")

    def test_missing_file_is_one_fault(self, tmp_path: Path) -> None:
        rows = put(tmp_path / "realsumm-data.json", [labelled(f"n{n}", [1], [1]) for n in range(30)])
        assert faults(rows, "finesure") == [
            (
                f"{rows}: the key facts are missing; give human-keyfact-list.json "
                "(columns doc_id, key_facts) as well (preset finesure)"
            )
        ]

    def test_missing_rows(self, tmp_path: Path) -> None:
        facts = put(tmp_path / "human-keyfact-list.json", FACTS)
        assert faults(facts, "finesure") == [
            (
                f"{facts}: the rows are missing; give frank-data.json or realsumm-data.json (columns model, "
                "transcript, sentences) as well (preset finesure)"
            )
        ]

    def test_row_without_a_match(self, tmp_path: Path) -> None:
        files = [put(tmp_path / "rows.json", ROWS), put(tmp_path / "facts.json", FACTS[:1])]
        assert faults(files, "finesure") == [f"{files[0]}:2: {files[1]} contains no key facts of 'n2'; add them there"]

    def test_unreadable_file(self, tmp_path: Path) -> None:
        rows = put(tmp_path / "rows.json", ROWS)
        assert faults([rows, tmp_path / "gone.json"], "finesure") == [f"{tmp_path / 'gone.json'}: no such file"]

    def test_rows_and_files_do_not_mix(self, tmp_path: Path) -> None:
        mixed: Any = [tmp_path / "a.jsonl", {"document": "x"}]
        with pytest.raises(UsageError, match="contain both rows and files"):
            load(mixed, preset="finesure")

    def test_folder_for_a_preset_that_takes_files(self, tmp_path: Path) -> None:
        files = [put(tmp_path / "a.jsonl", ROWS), tmp_path]
        with pytest.raises(UsageError, match="is a folder, and preset=finesure takes files"):
            load(files, preset="finesure")


class TestAnotherLayout:
    def test_matching_preset_is_suggested(self, tmp_path: Path) -> None:
        row = {"hash": "h", "model_name": "bart", "article": "It rained.", "summary": "Rain."}
        path = put(tmp_path / "human_annotations_sentence.json", [row] * 5)
        assert faults(path, "finesure") == [
            (
                f"{path}:1: model: is missing, but this layout requires it; check the preset (preset finesure); "
                "its columns are those of preset=frank"
            )
        ]

    def test_preset_of_columns(self) -> None:
        assert preset_of(["model", "transcript", "sentences", "doc_id"]) == "finesure"
        assert preset_of(["id", "text"]) is None

    def test_fault_of_every_row_is_listed_once(self, tmp_path: Path) -> None:
        rows = [labelled(f"n{n}", [1], [1]) | {"key_facts": ["x"], "sentences": f"{n}"} for n in range(25)]
        assert faults(put(tmp_path / "a.jsonl", rows), "finesure") == [
            (
                f"{tmp_path / 'a.jsonl'}:1: sentences: is not a list of strings, as this layout requires; "
                "check the preset (preset finesure) (the same in all 25 rows)"
            )
        ]
        rows[3]["sentences"] = ["It rained."]
        assert len(faults(put(tmp_path / "a.jsonl", rows), "finesure")) == 24
