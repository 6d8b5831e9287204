"""`train`: settings, complete folders, test-set evaluations, interrupted training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from together import together

from summeter.engine.progress import Progress
from summeter.records import InputError, UsageError
from summeter.training import train
from summeter.training.base import Task, Trained, Training
from summeter.training.run import KINDS
from summeter.training.work import Work


def mean(value: float) -> Trained:
    def write(folder: Path) -> None:
        (folder / "mean.txt").write_text(str(value))

    return Trained({"kind": "mean", "mean": value}, [f"mean {value:g}"], "# A mean\n", write)


class MeanTask(Task):
    computed: ClassVar[list[int]] = []
    fails_at: ClassVar[int | None] = None

    def __init__(self, key: str, numbers: list[float], space: int) -> None:
        self.key, self.test, self.space, self.numbers = key, "part-1", space, numbers

    def train(self, work: Work, show: Progress) -> Trained:
        def rows(part: range) -> np.ndarray[Any, Any]:
            if part.start == self.fails_at:
                raise KeyboardInterrupt
            self.computed.extend(part)
            return np.array(self.numbers)[part.start : part.stop]

        return mean(float(work.rows("numbers", len(self.numbers), rows, at_once=2).mean()))


class MeanTraining(Training):
    kind: Literal["mean"] = "mean"
    numbers: tuple[float, ...]
    space: int = 0

    def task(self, base: Path) -> Task:
        return MeanTask(self.digest(), list(self.numbers), self.space)


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("summeter.training.run.kind_named", lambda kind: MeanTraining)
    monkeypatch.setitem(KINDS, "mean", "here")
    monkeypatch.setattr(MeanTask, "computed", [])
    monkeypatch.setattr(MeanTask, "fails_at", None)


def settings(tmp_path: Path, text: str = "kind: mean\nnumbers: [1, 2, 3, 4, 6, 8]\n") -> Path:
    file = tmp_path / "mean.yaml"
    file.write_text(text)
    return file


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_folder_with_its_card(tmp_path: Path) -> None:
    outcome = train(settings(tmp_path), tmp_path / "out")
    assert outcome.lines == ("mean 4",)
    assert sorted(content(tmp_path / "out")) == ["README.md", "card.json", "mean.txt"]
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["schema"] == "summeter-trained/1"
    assert card["test"] == {"hash": "part-1", "looks": 1}
    assert not [place for place in tmp_path.iterdir() if place.name.startswith(".")]


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    MeanTask.fails_at = 4
    with pytest.raises(KeyboardInterrupt):
        train(settings(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert MeanTask.computed == [0, 1, 2, 3]
    MeanTask.fails_at = None
    train(settings(tmp_path), tmp_path / "out")
    assert MeanTask.computed == [0, 1, 2, 3, 4, 5]
    train(settings(tmp_path), tmp_path / "whole")
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    MeanTask.fails_at = 4
    with pytest.raises(KeyboardInterrupt):
        train(settings(tmp_path), tmp_path / "other")
    MeanTask.fails_at = None
    assert train(settings(tmp_path, "kind: mean\nnumbers: [5, 5, 5]\n"), tmp_path / "other").card["mean"] == 5


def test_a_second_test_set_evaluation_by_another_training_is_recorded(tmp_path: Path) -> None:
    train(settings(tmp_path), tmp_path / "a")
    again = train(settings(tmp_path), tmp_path / "a", force=True)
    assert again.card["test"]["looks"] == 1
    other = train(settings(tmp_path, "kind: mean\nnumbers: [5]\n"), tmp_path / "b")
    assert other.card["test"]["looks"] == 2
    assert "1 other training run evaluated this test set before" in other.lines[-1]


def test_an_existing_folder_is_not_replaced(tmp_path: Path) -> None:
    file = settings(tmp_path)
    train(file, tmp_path / "out")
    with pytest.raises(UsageError, match="already contains the folder of a training"):
        train(file, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all my work")
    with pytest.raises(UsageError, match="is not the folder of a training"):
        train(file, tmp_path / "mine", force=True)


def test_a_full_disk_is_reported_before_the_training(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs about 1,000,000,000 MB; free some"):
        train(settings(tmp_path, f"kind: mean\nnumbers: [1]\nspace: {10**15}\n"), tmp_path / "out")
    assert MeanTask.computed == []
    assert [place.name for place in tmp_path.iterdir()] == ["mean.yaml"]


@together("text, line, field", [
        ("kind: maen\nnumbers: [1]", 1, "kind"),
        ("numbers: [1]", None, "kind"),
        ("kind: mean", 1, "numbers"),
        ("kind: mean\nnumbers: [1]\nsed: 3", 3, "sed"),
        ("kind: mean\nnumbers: [1]\nsplit:\n  dev: 2", 4, "split.dev"),
        ("kind: mean\nnumbers: [1]\nsplit:\n  dev: 0.5\n  test: 0.5", 3, "split"),
        ("kind: mean\nnumbers: [1]\nscale: [5, 1]", 3, "scale"),
        ("kind: mean\nnumbers: [1]\nnumbers: [2]", 3, "numbers"),
        ("- mean", None, None),
    ],
)  # fmt: skip
def test_faults_of_the_file_have_a_line_and_a_field(
    tmp_path: Path, text: str, line: int | None, field: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        train(settings(tmp_path, text), tmp_path / "out")
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(line, field)]
    with pytest.raises(InputError):
        train({"kind": "mean", "sed": 3}, tmp_path / "out")
    assert [place.name for place in tmp_path.iterdir()] == ["mean.yaml"]
