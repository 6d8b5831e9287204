"""`protocol: own`: tables of systems and evaluators, with cells worked by hand."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import command

from summeter.benchmark.protocol import CustomConfig, run_protocol
from summeter.data.dataset import Dataset, load, save
from summeter.records import UsageError
from summeter.tables import Table

LABELS = {
    ("news", "short", "A"): (1, 1), ("news", "short", "B"): (1, 0),
    ("news", "long", "A"): (1, 0), ("news", "long", "B"): (0, 0),
    ("talk", "short", "A"): (1, 1), ("talk", "short", "B"): (1, 1),
    ("talk", "long", "A"): (0, 0), ("talk", "long", "B"): (1, 1),
}  # fmt: skip
"""Faithful sentences of the two in each summary, by domain, length and system."""


def benchmark() -> Dataset:
    rows = []
    for (domain, length, system), labels in LABELS.items():
        rows.append(
            {
                "doc_id": f"{domain}-{length}", "domain": domain, "length": length, "system": system,
                "document": f"The {domain} was {length}. It rained in May. Nobody came.",
                "summary": f"The {domain} was {length}. It rained in May.",
                "sentences": [f"The {domain} was {length}.", "It rained in May."],
                "human": {"sentence_labels": list(labels)},
            }
        )  # fmt: skip
    return load(rows)


def config(**given: Any) -> CustomConfig:
    return CustomConfig.model_validate({"data": "data", "resamples": 20, "aspects": ["faithfulness"], **given})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(benchmark(), tmp_path / "data")
    return tmp_path


def cells(table: Table) -> dict[str, dict[str, str]]:
    head, *rows = list(csv.reader(io.StringIO(table.csv())))
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_systems_by_domain_and_length_with_their_stability(folder: Path) -> None:
    settings = config()
    study = run_protocol(settings, folder / "out", base=folder).study
    by_domain, by_length = settings.tables(study)
    assert cells(by_domain)["A"] == {
        "news": "0.750", "talk": "0.500", "average of domains": "0.625", "domain stability (%)": "75.0", "all": "0.625",
    }  # fmt: skip
    average, stability = "average of groups", "group stability (%)"
    assert cells(by_length)["A"] == {"short": "1.000", "long": "0.250", average: "0.625", stability: "25.0"}
    assert cells(by_length)["B"] == {"short": "0.750", "long": "0.500", average: "0.625", stability: "75.0"}
    assert by_length.title == "faithfulness by people, by length"


def test_evaluators_stand_beside_people_by_domain_and_length(folder: Path) -> None:
    settings = config(evaluators=["support"], coefficients=["pearson"])
    study = run_protocol(settings, folder / "out", base=folder).study
    titles = [table.title for table in settings.tables(study)]
    assert "faithfulness by support" in titles
    assert "faithfulness: pearson of evaluators with people, summary level" in titles
    assert "faithfulness: pearson of evaluators with people, system level" in titles
    found = study.where(study="correlation", level="summary")
    groups = {(row.domain, row.details.get("group")) for row in found}
    assert groups == {(None, None), ("news", None), ("talk", None), (None, "short"), (None, "long")}
    assert all(row.n == (8 if row.domain is None and "group" not in row.details else 4) for row in found)


def test_what_is_written_and_carried_on(folder: Path) -> None:
    settings = config(evaluators=["support"])
    first = run_protocol(settings, folder / "out", base=folder)
    rows = list(csv.DictReader(io.StringIO((folder / "out" / "table.csv").read_text())))
    assert len(rows) == len(first.study)
    assert json.loads((folder / "out" / "study.json").read_text())["study"] == "benchmark"
    assert "\\toprule" in (folder / "out" / "table.tex").read_text()
    assert "## faithfulness by support" in (folder / "out" / "table.md").read_text()
    again = run_protocol(settings, folder / "out", base=folder)
    assert again.study.rows == first.study.rows
    other = run_protocol(config(runs=["out/run"]), folder / "other", base=folder)
    assert other.study.rows == first.study.rows, "a run that is there counts like one that is made"


def test_categories_of_systems_are_a_column_too(folder: Path, tmp_path: Path) -> None:
    data = benchmark()
    kinds = {"A": "large", "B": "small"}
    summaries = [row.model_copy(update={"category": kinds[row.system]}) for row in data.summaries]
    makers = {name: partial(data.iter_judgments, name) for name in data.judgment_sets}
    save(Dataset(data.documents, summaries, makers, data.card), tmp_path / "told")
    settings = config(data="told", by=["category"])
    _, by_category = settings.tables(run_protocol(settings, folder / "out", base=folder).study)
    assert cells(by_category)["A"]["large"] == "0.625"


def test_what_the_data_lack_is_named(folder: Path) -> None:
    lacking = [{"by": [name]} for name in ("lenght", "domain", "category")]
    for given in (*lacking, {"judgment_set": "human.merged"}):
        with pytest.raises(UsageError, match=rf"'{next(iter(given.values()))[0]}'|'human\.merged'"):
            config(**given).read(folder)


def test_the_command_reads_checks_and_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "own.yaml"
    file.write_text("protocol: own\ndata: data\naspects: faithfulness\nresamples: 10\n")
    assert command("bench", "protocol", file, "--check") == 0
    assert "4 documents in 2 domains, 8 summaries by 2 systems, 16 judgments in human.raw" in capsys.readouterr().out
    assert command("bench", "protocol", file, "-o", folder / "out") == 0
    assert "\nA  " in capsys.readouterr().out
    assert command("bench", "protocol", file, "-o", folder / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["study"] == "benchmark"
