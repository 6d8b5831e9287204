"""Rows for going on with the embedded network: which sentence of a summary is wrong, and what a fold leaves out."""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from summeter.training.nli import NliTraining

DOCUMENT = "Ana won gold in Rome. Ben came second. It rained all day. The crowd stayed until dusk."


def row(source: str, group: str, hypothesis: str, label: str, unit: str = "sentence") -> dict[str, Any]:
    own = {"source": source, "group": f"{source}/{group}", "hypothesis": hypothesis, "label": label, "unit": unit}
    return {**own, "premise": f"{group} {DOCUMENT}"}


def rows() -> list[dict[str, Any]]:
    made = []
    for group in "abcdefghijkl":
        made += [
            row("bump", group, "Ana won gold. Ben came second.", "entail", "summary"),
            row("bump", group, "Ana won silver. Ben came second.", "not", "summary"),
            row("other", group, "It rained.", "entail"),
            row("other", group, "It snowed.", "not"),
            row("other", group, "It rained. It snowed. Ben came first.", "not", "summary"),
        ]
    return made


@pytest.fixture(scope="module")
def script(root: Path) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts" / "network")
        yield importlib.import_module("human_rows")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    old = [{"premise": "It rained.", "hypothesis": "It was wet.", "label": "entail", "source": "x"}]
    for name, listed in (("human", rows()), ("fact", old), ("synthetic", old), ("nli", old)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as handle:
            handle.write("".join(json.dumps(each) + "\n" for each in listed))
    return tmp_path


def test_a_sentence_of_an_edited_summary_is_wrong_where_it_was_edited(script: ModuleType) -> None:
    entailed = {(claim.source, claim.text): claim.entailed for claim in script.claims(rows())}
    assert entailed["bump", "Ana won silver."] is False
    assert entailed["bump", "Ben came second."] is True
    assert entailed["other", "It snowed."] is None  # of three sentences, nobody said which is wrong
    assert len(list(script.claims(rows()[:5]))) == 9
    alone = list(script.claims(rows()[1:2]))  # without the summary it was made from
    assert [claim.entailed for claim in alone] == [None, None]


def test_a_fold_and_a_source_stay_out_of_a_training(script: ModuleType, data: Path) -> None:
    out = data / "rows"
    how = argparse.Namespace(data=data, backbone=data, out=out, fold=1, leave="other", arithmetic="fp32")
    script.write_rows(how)
    read = [json.loads(line) for line in (out / "bump.jsonl").read_text("utf-8").splitlines()]
    groups = {each["premise"][0] for each in read}
    assert groups == {group for group in "abcdefghijkl" if script.fold_of(f"bump/{group}") != 1}
    assert 0 < len(groups) < 12
    assert {(each["hypothesis"], each["label"]) for each in read} == {
        ("Ana won gold.", "entail"), ("Ben came second.", "entail"), ("Ana won silver.", "not")
    }  # fmt: skip
    assert not (out / "other.jsonl").exists()
    settings = NliTraining.model_validate(json.loads((out / "nli.yaml").read_text("utf-8")))
    assert settings.warm_start == script.MODEL
    assert [(file.file, file.documents, file.balanced) for file in settings.data][:2] == [
        ("bump.jsonl", True, True), ("written.jsonl", False, False)
    ]  # fmt: skip
    with pytest.raises(SystemExit, match="no source nobody"):
        script.write_rows(argparse.Namespace(**{**vars(how), "leave": "nobody"}))
