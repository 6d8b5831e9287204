"""A run over data in shards is the run over the same data in memory, which it never holds as a whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from engine.test_derived import Centred
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.data import dataset as dataset_module
from summeter.data.dataset import ShardedDataset, load
from summeter.data.sharding import shard
from summeter.engine.api import evaluate
from summeter.engine.plan import ItemOrder
from summeter.engine.runs import Run, rescore
from summeter.records import InputError, UsageError

ROWS = [
    {
        "doc_id": f"d{number}", "system": system, "domain": ["news", "mail"][number % 2],
        "document": f"It rained on day {number}. We stayed at home. Nobody came to see us.",
        "summary": f"It rained on {number}, says {system}. We stayed.", "reference": "It rained.",
        "key_facts": ["It rained."],
        "human": {"ratings": {"faithfulness": number % 3}},
    }
    for number in range(6) for system in ("ash", "birch")
]  # fmt: skip
JUDGES = ["abstractiveness", "rouge", "support"]


@pytest.fixture
def sharded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShardedDataset:
    monkeypatch.setattr(dataset_module, "WHOLE", 0)  # nothing may ask for all of it
    return shard(ROWS, tmp_path / "shards", documents_per_shard=2)


def files(folder: Path) -> dict[str, bytes]:
    names = [*folder.glob("judgments/*"), *(folder / name for name in ("progress.jsonl", "scores.csv", "summary.json"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def test_its_files_are_those_of_data_in_memory(sharded: ShardedDataset, tmp_path: Path) -> None:
    whole = evaluate(load(ROWS), JUDGES, out=tmp_path / "whole")
    run = evaluate(sharded, JUDGES, out=tmp_path / "run")
    assert files(run.folder) == files(whole.folder)
    assert run.manifest.data.model_copy(update={"source": "x"}) == whole.manifest.data.model_copy(
        update={"source": "x"}
    )
    assert [path.name for path in (run.folder / "data").iterdir()] == ["shards.json"]
    again = Run(run.folder)
    assert isinstance(again.data, ShardedDataset)
    assert list(again.data.items()) == list(load(ROWS).items())
    assert files(rescore(run.folder).folder) == files(whole.folder)


def test_score_from_the_command_line(sharded: ShardedDataset, tmp_path: Path) -> None:
    names = [part for name in JUDGES for part in ("-e", name)]
    result = CliRunner().invoke(app, ["score", str(sharded.source.folder), *names, "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "report:" in result.output
    assert "with people: " in result.output
    manifest = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "complete"
    assert manifest["data"]["summaries"] == len(ROWS)


def test_a_changed_shard_is_named_when_the_run_goes_on(sharded: ShardedDataset, tmp_path: Path) -> None:
    folder = sharded.source.folder
    evaluate(sharded, JUDGES[:1], out=tmp_path / "run", limit=1)
    other = [{**row, "summary": "Sun."} if row["doc_id"] == "d2" else row for row in ROWS]
    shard(other, folder, documents_per_shard=2, force=True)
    with pytest.raises(UsageError, match=r"shards/shard-00001 is not as it was when the run in .*run began"):
        evaluate(load(folder), JUDGES[:1], out=tmp_path / "run")
    shard(ROWS, folder, documents_per_shard=2, force=True)
    (folder / "shard-00002" / "documents.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"shard-00002: documents.jsonl: was changed .* shard 3 of 3"):
        evaluate(load(folder), JUDGES[:1], out=tmp_path / "run")


def test_shards_that_are_gone_are_named_before_work_is_done(sharded: ShardedDataset, tmp_path: Path) -> None:
    folder = Path(sharded.source.folder)
    shutil.rmtree(folder / "shard-00002")
    with (folder / "shard-00001" / "dataset.json").open("a", encoding="utf-8") as card:
        card.write("\n")
    with pytest.raises(InputError) as caught:
        evaluate(load(folder), JUDGES[:1], out=tmp_path / "run")
    assert [(Path(fault.file).name, fault.message.split(";")[0]) for fault in caught.value.faults] == [
        ("dataset.json", "shard 2 of 3 was changed after the data were sharded"),
        ("shard-00002", "shard 3 of 3 is missing"),
    ]
    assert not (tmp_path / "run").exists()


def test_it_goes_on_where_it_ended_and_where_the_shards_have_moved(sharded: ShardedDataset, tmp_path: Path) -> None:
    whole = evaluate(load(ROWS), JUDGES[:2], out=tmp_path / "whole")
    evaluate(sharded, JUDGES[:2], out=tmp_path / "run", limit=3)
    shutil.move(sharded.source.folder, tmp_path / "moved")
    with pytest.raises(InputError, match=r"shard-00000: shard 1 of 3 is missing"):
        list(Run(tmp_path / "run").data.items())
    run = evaluate(load(tmp_path / "moved"), JUDGES[:2], out=tmp_path / "run")
    assert files(run.folder) == files(whole.folder)
    assert len(list(Run(run.folder).data.items())) == 6


def test_shards_of_which_all_is_judged_are_not_read_again(
    sharded: ShardedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = evaluate(load(ROWS), JUDGES[:2], out=tmp_path / "whole")
    evaluate(sharded, JUDGES[:2], out=tmp_path / "run", limit=3)
    read: list[str] = []
    own = ShardedDataset._part
    monkeypatch.setattr(ShardedDataset, "_part", lambda self, part: read.append(part.name) or own(self, part))
    run = evaluate(sharded, JUDGES[:2], out=tmp_path / "run")
    assert read[:2] == ["shard-00001", "shard-00002"]
    assert files(run.folder) == files(whole.folder)
    read.clear()
    evaluate(sharded, JUDGES[:2], out=tmp_path / "run")
    assert read == []


def test_a_judge_of_judges_over_shards(sharded: ShardedDataset, tmp_path: Path) -> None:
    judges = [Centred()]
    whole = evaluate(load(ROWS), judges, out=tmp_path / "whole")
    run = evaluate(sharded, judges, out=tmp_path / "run")
    assert files(run.folder) == files(whole.folder)


def test_the_order_of_items_is_that_of_the_data() -> None:
    data = load(ROWS[:6])
    order = ItemOrder(data)
    keys = [
        (document.id, one.system, rival)
        for document, summaries in data.items()
        for one in summaries
        for rival in (None, *(other.system for other in summaries if other is not one))
    ]
    assert sorted(sorted(keys, key=str), key=order.__getitem__) == keys
    assert len({order[key] for key in keys}) == len(keys)
    with pytest.raises(KeyError):
        order["d0", "nobody", None]
