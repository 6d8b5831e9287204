"""Merging runs: the same bytes as a single run, errors that name contradictions, all or nothing."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine import test_cascade as cascades
from engine.judges import Lengths, Moody, rows
from runs.test_views import judge as script
from runs.test_views import rows as pairs

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.merge import merge
from summeter.engine.runs import Run
from summeter.records import InputError, UsageError
from summeter.runs.checksums import verify
from summeter.runs.journal import Journal
from summeter.runs.run import RunFolder

VIEWS = ("scores.jsonl", "scores.csv", "summary.json")


def content(folder: Path) -> dict[str, bytes]:
    files = [*folder.rglob("*.jsonl"), *folder.glob("scores.csv"), *folder.glob("summary.json")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_judges_of_two_runs_are_one_run(tmp_path: Path) -> None:
    one = evaluate(rows(), [Lengths()], out=tmp_path / "one")
    other = evaluate(rows(), ["abstractiveness"], out=tmp_path / "other")
    whole = evaluate(rows(), [Lengths(), "abstractiveness"], out=tmp_path / "whole")
    merged = merge([one.folder, other.folder], tmp_path / "merged")
    assert content(merged.folder) == content(whole.folder)
    assert merged.manifest.status == "complete"
    assert merged.manifest.counts == whole.manifest.counts
    assert verify(merged.folder) == []
    again = evaluate(rows(), [Lengths(), "abstractiveness", "rouge"], out=merged.folder)
    assert again.manifest.status == "complete"


def test_a_merged_run_has_the_human_judgments_of_all_runs(tmp_path: Path) -> None:
    first = evaluate(rows(), [Lengths()], out=tmp_path / "first")
    ratings = [{"doc_id": "d0", "system": "a", "coherence": 4}]
    second = evaluate(load(rows(), ratings=ratings), [Lengths()], out=tmp_path / "second")
    for number, runs in enumerate(([first, second], [second, first])):
        merged = merge([run.folder for run in runs], tmp_path / str(number))
        assert [vote.value for vote in RunFolder(merged.folder).data.judgments("human.raw")] == [4]


def test_documents_judged_apart_are_one_run_in_the_order_of_the_data(tmp_path: Path) -> None:
    data = rows()
    few = evaluate(data, [Lengths()], out=tmp_path / "few", limit=1)
    whole = evaluate(data, [Lengths()], out=tmp_path / "whole")
    more = evaluate(data, [Lengths(), "abstractiveness"], out=tmp_path / "more")
    merged = merge([few.folder, whole.folder, more.folder], tmp_path / "merged")
    assert content(merged.folder) == content(
        evaluate(data, [Lengths(), "abstractiveness"], out=tmp_path / "both").folder
    )
    assert merged.manifest.options["limit"] is None


def test_parts_of_the_data_are_one_run_over_all(tmp_path: Path) -> None:
    data = rows()
    ids = list(dict.fromkeys(row["doc_id"] for row in data))
    parts = [[row for row in data if row["doc_id"] in some] for some in (ids[:1], ids[1:])]
    runs = [
        evaluate(part, [Lengths(), "abstractiveness"], out=tmp_path / f"part{number}").folder
        for number, part in enumerate(parts)
    ]
    merged = merge(runs, tmp_path / "merged")
    whole = evaluate(data, [Lengths(), "abstractiveness"], out=tmp_path / "whole")
    assert content(merged.folder) == content(whole.folder)
    assert merged.manifest.data.hash == whole.manifest.data.hash
    assert len(merged.data) == len(data)
    # The other way round the documents stand in the order of the runs.
    turned = merge(runs[::-1], tmp_path / "turned")
    assert list(turned.data.documents) == [*ids[1:], *ids[:1]]
    assert turned.judgments()[0].target.document_id == ids[1]
    assert turned.manifest.counts == whole.manifest.counts


def test_data_that_agree_in_part_are_refused(tmp_path: Path) -> None:
    data = rows()
    other: list[dict[str, Any]] = [{**row, "summary": "Otherwise."} for row in data]
    runs = [evaluate(each, [Lengths()], out=tmp_path / name).folder for name, each in (("a", data), ("b", other))]
    with pytest.raises(UsageError, match=r"different data that both contain the document 'd0'"):
        merge(runs, tmp_path / "merged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_contradiction_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    one = evaluate(rows(), [Lengths()], out=tmp_path / "one")
    other = evaluate(rows(), [Lengths()], out=tmp_path / "other")
    (file,) = (other.folder / "judgments").iterdir()
    (other.folder / "checksums.json").unlink()
    with Journal(other.folder) as journal:
        journal.repair(other.manifest.judges)
        journal.drop(other.manifest.judges[0])
    original = Lengths.judge

    class Changed(Lengths):
        async def judge(self, item: Any, prepared: Any, tools: Any) -> Any:
            judgments = await original(self, item, prepared, tools)
            last = item.document.id == "d1" and item.summary.system == "b"
            return [row.model_copy(update={"reason": "otherwise"}) if last else row for row in judgments]

    evaluate(rows(), [Changed()], out=other.folder)
    with pytest.raises(UsageError, match=r"one and .*other contradict each other: lengths.* 'd1', system 'b'"):
        merge([one.folder, other.folder], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(InputError, match=file.name):
        merge([other.folder, one.folder], tmp_path / "merged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_calls_preferences_and_errors_are_joined(tmp_path: Path) -> None:
    data = pairs()
    first = evaluate(data, ["h2h"], models=script(tmp_path, {}), out=tmp_path / "first", limit=2)
    second = evaluate(data, ["h2h", Moody()], models=script(tmp_path, {}), out=tmp_path / "second")
    merged = merge([first.folder, second.folder], tmp_path / "merged")
    assert [row.line for row in merged.judgments()] == [row.line for row in second.judgments()]
    assert (merged.folder / "pairs.jsonl").read_bytes() == (second.folder / "pairs.jsonl").read_bytes()
    assert merged.manifest.status == second.manifest.status
    assert list(merged.failures()) == list(second.failures())
    replayed = evaluate(data, ["h2h"], replay=merged.folder, out=tmp_path / "replayed")
    assert len(replayed.judgments()) == sum(row.judge == "h2h" for row in second.judgments())
    (usage,) = merged.manifest.usage.values()
    assert usage.calls == sum(each.calls for run in (first, second) for each in run.manifest.usage.values())


def test_what_a_copy_of_a_run_took_counts_once(tmp_path: Path) -> None:
    data = pairs()
    run = evaluate(data, ["h2h"], models=script(tmp_path, {}), out=tmp_path / "run")
    shutil.copytree(run.folder, tmp_path / "copy")
    merged = merge([run.folder, tmp_path / "copy"], tmp_path / "merged").manifest
    assert (merged.usage, merged.judge_usage) == (run.manifest.usage, run.manifest.judge_usage)
    between = evaluate(data, [Lengths()], out=tmp_path / "between", seed=7)
    runs = [run.folder, between.folder, tmp_path / "copy"]
    assert merge(runs, tmp_path / "three").manifest.options["seed"] == run.manifest.options["seed"]


def test_a_judge_that_some_run_asked_for_everything_is_whole_whichever_run_comes_first(tmp_path: Path) -> None:
    texts = [[cascades.data([95], [55], [5])[number] for number in some] for some in ((0, 1), (2,))]
    cascade = cascades.Of(band=[0.3, 0.7])
    runs = {
        name: evaluate(rows, specs, out=tmp_path / name).folder
        for name, rows, specs in (
            ("confined", texts[0], [cascade]),
            ("whole", texts[0], [cascade, cascades.Dear()]),
            ("elsewhere", texts[1], [cascade]),
        )
    }
    merged = merge([runs["confined"], runs["whole"]], tmp_path / "merged")
    assert not merged.partial
    assert sum(score.judge == "dear" for score in merged.scores()) == 2
    # No catalog names this cascade, so that its band cannot be looked for again over all documents.
    with pytest.raises(UsageError, match="cannot be recomputed"):
        merge([runs["whole"], runs["elsewhere"]], tmp_path / "apart")


def test_what_cannot_be_merged_is_told_before_anything_is_written(tmp_path: Path) -> None:
    run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
    with pytest.raises(UsageError, match="at least 2 runs"):
        merge([run.folder], tmp_path / "merged")
    with pytest.raises(UsageError, match="is not a run"):
        merge([run.folder, tmp_path], tmp_path / "merged")
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match="run is given twice"):
        merge([run.folder, tmp_path / "x" / ".." / "run"], tmp_path / "merged")
    other = evaluate(rows(), [Lengths()], out=tmp_path / "other")
    with pytest.raises(UsageError, match="exists"):
        merge([run.folder, other.folder], run.folder)
    assert not (tmp_path / "merged").exists()


def answers(folder: Path, replies: dict[str, str]) -> str:
    """A judge that gives these replies by a word of the summary; the file, and so the model, is the same each time."""
    rules = [{"match": [word], "reply": reply} for word, reply in replies.items()]
    (folder / "script.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    return f"scripted/{folder / 'script.jsonl'}"


GOOD, BAD = '{"reason": "It fits.", "score": 4}', "no idea"
TALKS = [
    {"doc_id": f"d{number}", "system": "s", "document": f"It rained on day {number}.", "summary": f"Rain{number}."}
    for number in range(3)
]
RTS = "rts[aspect=faithfulness]"


@pytest.mark.parametrize("good_first", [True, False])
def test_usable_judgments_go_before_failed_ones_of_another_run(tmp_path: Path, good_first: bool) -> None:
    """A server that was overloaded in one run, and in another one not, does not make the runs contradict."""
    runs = {}
    for name, replies in (("half", {"Rain0": BAD, "Rain": GOOD}), ("good", {"Rain": GOOD})):
        runs[name] = evaluate(TALKS, [RTS], models=answers(tmp_path, replies), out=tmp_path / name)
    assert runs["half"].manifest.counts == {"ok": 2, "unparsed": 1}
    order = ["good", "half"] if good_first else ["half", "good"]
    merged = merge([runs[name].folder for name in order], tmp_path / "merged")
    assert merged.manifest.counts == {"ok": 3}
    assert [row.line for row in merged.judgments()] == [row.line for row in runs["good"].judgments()]
    assert verify(merged.folder) == []
    # The stored calls are those of the kept judgments.
    replayed = evaluate(TALKS, [RTS], replay=merged.folder, out=tmp_path / "replayed")
    assert [row.line for row in replayed.judgments()] == [row.line for row in merged.judgments()]


def test_usable_answers_that_differ_contradict_also_beside_failures(tmp_path: Path) -> None:
    other = GOOD.replace("4", "2")
    runs = [
        evaluate(TALKS, [RTS], models=answers(tmp_path, replies), out=tmp_path / name).folder
        for name, replies in (("a", {"Rain0": BAD, "Rain": GOOD}), ("b", {"Rain1": other, "Rain": GOOD}))
    ]
    with pytest.raises(UsageError, match=r"contradict each other.*'d1'"):
        merge(runs, tmp_path / "merged")


def test_a_cascade_has_one_threshold_over_all_merged_items(tmp_path: Path) -> None:
    data = [
        {"doc_id": f"d{number}", "system": "s", "document": "It rained. " * 9, "summary": f"Rain{number % 2}. " * 2}
        for number in range(8)
    ]
    model = answers(tmp_path, {"Rain0": GOOD, "Rain1": GOOD.replace("4", "3"), "": GOOD})
    last = "mcq[aspect=faithfulness]"
    spec = f"cascade[first='{RTS}',then='{last}',aspect=faithfulness,share=0.25]"
    runs = [
        evaluate(part, specs, models=model, out=tmp_path / f"part{number}").folder
        for number, (part, specs) in enumerate(((data[:2], [spec, last]), (data[2:], [spec])))
    ]
    merged = merge(runs, tmp_path / "merged")
    assert merged.partial  # the last judge was asked for all items in one part only
    whole = evaluate(data, [spec], models=model, out=tmp_path / "whole")
    resumed = evaluate(data, [spec], models=model, out=merged.folder)
    wanted = [row.line for row in whole.judgments() if row.judge == "cascade"]
    assert [row.line for row in resumed.judgments() if row.judge == "cascade"] == wanted


KILLED = """
import os, signal, sys
from pathlib import Path
from summeter.runs.calls import CallStore
from summeter.engine import merge

def dying(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(merge, sys.argv[1], dying)
merge.merge(sys.argv[2:4], sys.argv[4])
"""


@pytest.mark.parametrize("place", ["derived_jobs", "finish"])
def test_a_kill_in_the_middle_leaves_the_runs_and_no_half(tmp_path: Path, place: str) -> None:
    runs = [evaluate(rows(), [each], out=tmp_path / name).folder for name, each in (("a", Lengths()), ("b", "rouge"))]
    before = {run: json.dumps({name: text.hex() for name, text in content(run).items()}) for run in runs}
    out = tmp_path / "merged"
    command = [sys.executable, "-c", KILLED, place, *map(str, runs), str(out)]
    assert subprocess.run(command, check=False).returncode == -9
    assert not out.exists()
    assert all(verify(run) == [] for run in runs)
    merged = merge(runs, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "merged"]  # the half is swept
    assert isinstance(merged, Run)
    assert len(RunFolder(out).judgments()) == sum(len(RunFolder(run).judgments()) for run in runs)
    assert before == {run: json.dumps({name: text.hex() for name, text in content(run).items()}) for run in runs}


def test_more_runs_than_files_may_be_open_are_one_run(tmp_path: Path) -> None:
    whole = evaluate(TALKS, [RTS], models=answers(tmp_path, {"Rain": GOOD}), out=tmp_path / "whole")
    half = evaluate(TALKS, [RTS], models=answers(tmp_path, {"Rain0": BAD, "Rain": GOOD}), out=tmp_path / "0").folder
    copies = [Path(shutil.copytree(half, tmp_path / f"{number}")) for number in range(1, 80)]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    try:
        merged = merge([half, *copies, whole.folder], tmp_path / "merged")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [row.line for row in merged.judgments()] == [row.line for row in whole.judgments()]
    assert verify(merged.folder) == []


def test_runs_with_judges_of_their_own_are_one_run(tmp_path: Path) -> None:
    settings = ["abstractiveness", "rouge", "support"]
    runs = [evaluate(rows(1), [name], out=tmp_path / str(place)).folder for place, name in enumerate(settings)]
    merged = merge([*runs, *(Path(shutil.copytree(run, tmp_path / f"{run.name}b")) for run in runs)], tmp_path / "all")
    assert content(merged.folder) == content(evaluate(rows(1), settings, out=tmp_path / "one").folder)
