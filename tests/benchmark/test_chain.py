"""Chains of steps: states, staleness, crashes and invalid files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import command

from summeter.benchmark import chain, chain_status, run_chain, run_step
from summeter.benchmark.step import (
    Inputs,
    LeftOut,
    Result,
    Step,
    StepContext,
    StepSettings,
    WaitingError,
    read_log,
)
from summeter.data.dataset import load, save
from summeter.records import InputError, UsageError

ROWS = [
    {"doc_id": "a", "document": "It rained on Monday. The river rose.", "domain": "news"},
    {"doc_id": "b", "document": "The shop opened. Many came. All were glad."},
]
RULES = [
    {"match": "It rained", "reply": {"summary": "It rained. The river rose."}},
    {"match": "The shop", "reply": {"summary": "A shop opened."}},
]


HANGS = "SUMMETER_TEST_HANGS"


class Shortest(StepSettings):
    """Keep the shortest documents; with `wait`, wait for annotators."""

    documents: int = 1
    wait: bool = False
    fail: bool = False


def _keep(inputs: Inputs, settings: Shortest, context: StepContext) -> Result:
    (context.work / "seen").write_text("once")
    if settings.wait:
        raise WaitingError("two annotators are to answer")
    if settings.fail:
        raise UsageError("nothing can be kept")
    data = inputs.dataset
    order = sorted(data.documents, key=lambda name: len(data.documents[name].text))
    gone = [LeftOut("document", name, "is longer than others") for name in order[settings.documents :]]
    (context.out / "order.txt").write_text(" ".join(order))

    def finish(_: Path) -> None:
        if HANGS in os.environ:
            print("written", flush=True)
            time.sleep(60)

    return Result(data.with_documents(order[: settings.documents]), gone, packages=("pydantic",), finish=finish)


STEP = Step("shortest", Shortest, _keep)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BENCH.yaml of two steps, with what it names."""
    monkeypatch.setitem(chain.STEPS, "shortest", f"{__name__}:STEP")
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n")
    (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, RULES)) + "\n")
    file = tmp_path / "bench.yaml"
    file.write_text(settings())
    return file


def settings(*, seed: int = 3, documents: int = 1, more: str = "") -> str:
    return (
        f"name: small\nseed: {seed}\ninput: docs.jsonl\nsummarize:\n"
        "  models: {lead: scripted/rules.jsonl, other: scripted/rules.jsonl}\n"
        f"shortest: {{documents: {documents}{more}}}\n"
    )


def states(folder: Path) -> list[tuple[str, str, str]]:
    return [(row.step, row.state, row.reason) for row in chain_status(folder)]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_chain_does_each_step_from_the_folder_of_the_one_before(bench: Path, tmp_path: Path) -> None:
    first, second = run_chain(bench, tmp_path / "out")
    assert [first.step, second.step] == ["summarize", "shortest"]
    assert second.settings == {"seed": 3, "documents": 1, "wait": False, "fail": False}
    assert (second.counts_in["documents"], second.counts_out["documents"]) == (2, 1)
    assert second.counts_out["summaries"] == 2
    assert second.dropped == {"document: is longer than others": 1}
    assert second.versions.keys() == {"summeter", "pydantic"}
    assert [record.step for record in second.history] == ["summarize"]
    assert second.history[0].models == {"lead": "scripted/rules.jsonl", "other": "scripted/rules.jsonl"}
    out = tmp_path / "out" / "shortest"
    assert list(load(out).documents) == ["a"]  # a step's folder is a dataset folder
    assert set(second.files) == {path for path in contents(out) if path != "manifest.json"}
    assert json.loads((out / "dropped.jsonl").read_text())["id"] == "b"
    assert states(tmp_path / "out") == [("summarize", "done", ""), ("shortest", "done", "")]


def test_finished_steps_are_skipped_and_results_are_reproducible(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shortest").iterdir()}
    said: list[str] = []
    run_chain(bench, tmp_path / "out", tell=said.append)
    assert said == ["summarize: done", "shortest: done"]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shortest").iterdir()}
    run_chain(bench, tmp_path / "elsewhere")
    for step in ("summarize", "shortest"):
        assert contents(tmp_path / "elsewhere" / step) == contents(tmp_path / "out" / step)
    events = [(row["step"], row["event"]) for row in read_log(tmp_path / "out") if "event" in row]
    assert events == [(step, event) for step in ("summarize", "shortest") for event in ("start", "done")]


def test_a_changed_setting_makes_its_step_and_the_later_ones_stale(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "out")
    bench.write_text(settings(documents=2))
    assert states(tmp_path / "out") == [
        ("summarize", "done", ""),
        ("shortest", "stale", "the setting documents has changed from 1 to 2"),
    ]
    bench.write_text(settings(seed=4))
    assert [state for _, state, _ in states(tmp_path / "out")] == ["stale", "stale"]
    said: list[str] = []
    manifests = run_chain(bench, tmp_path / "out", tell=said.append)
    assert said[0] == "summarize: running again (the setting seed has changed from 3 to 4)"
    assert [manifest.seed for manifest in manifests] == [4, 4]
    assert [state for _, state, _ in states(tmp_path / "out")] == ["done", "done"]


def test_a_changed_input_or_output_makes_the_chain_stale_from_there(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "out")
    order = tmp_path / "out" / "shortest" / "order.txt"
    order.write_text("b a")
    assert states(tmp_path / "out")[1][1:] == ("stale", "order.txt was changed since the step wrote it")
    order.write_text("a b")
    file = tmp_path / "docs.jsonl"
    file.write_text(file.read_text().replace("Monday", "Tuesday"))
    assert states(tmp_path / "out") == [
        ("summarize", "stale", "the input docs.jsonl has changed"),
        ("shortest", "stale", "made from summarize, which is not done"),
    ]
    run_chain(bench, tmp_path / "out")
    assert load(tmp_path / "out" / "shortest").documents["a"].text.startswith("It rained on Tuesday")


def test_until_a_step_and_only_one(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "out", until="summarize")
    assert states(tmp_path / "out")[1] == ("shortest", "left", "")
    said: list[str] = []
    for _ in range(2):
        run_chain(bench, tmp_path / "out", only="shortest", tell=said.append)
    assert said == ["summarize: done", "shortest: running"] * 2
    run_chain(bench, tmp_path / "out", only="summarize", tell=said.append)
    assert said[-1] == "summarize: running"
    bench.write_text(settings(seed=4))
    for options in ({"until": "shortst"}, {"until": "shortest", "only": "shortest"}, {"only": "shortest"}):
        with pytest.raises(UsageError):  # for the last, the step summarize is stale
            run_chain(bench, tmp_path / "out", **options)


def test_a_file_of_one_step_reads_its_input_and_names_its_output(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_chain(bench, tmp_path / "out", until="summarize")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "one.yaml").write_text("name: one\ninput: ../out/summarize\noutput: made\nshortest: {documents: 2}\n")
    monkeypatch.chdir(tmp_path)
    (manifest,) = run_chain("elsewhere/one.yaml")
    assert manifest.counts_out["documents"] == 2
    assert [record.step for record in manifest.history] == ["summarize"]
    assert states(folder / "made") == [("shortest", "done", "")]
    (tmp_path / "out" / "summarize" / "documents.jsonl").write_text("")
    with pytest.raises(InputError, match="was changed since the step wrote it"):
        run_chain("elsewhere/one.yaml", only="shortest")


def test_a_step_that_fails_or_waits_leaves_no_folder_and_says_why(bench: Path, tmp_path: Path) -> None:
    bench.write_text(settings(more=", fail: true"))
    with pytest.raises(UsageError, match="nothing can be kept"):
        run_chain(bench, tmp_path / "out")
    assert states(tmp_path / "out")[1] == ("shortest", "failed", "nothing can be kept")
    bench.write_text(settings(documents=2))
    run_chain(bench, tmp_path / "out", until="summarize")
    assert states(tmp_path / "out")[1] == ("shortest", "left", "changed since it failed"), (
        "not the error of old settings"
    )
    bench.write_text(settings(more=", wait: true"))
    with pytest.raises(WaitingError) as waiting:
        run_chain(bench, tmp_path / "out")
    assert waiting.value.exit_code == 130
    assert states(tmp_path / "out")[1] == ("shortest", "waiting", "two annotators are to answer")
    assert not (tmp_path / "out" / "shortest").exists()
    assert (tmp_path / "out" / "work" / "shortest" / "seen").exists()  # what the step carries on from
    bench.write_text(settings())
    lines: list[str] = []
    run_chain(bench, tmp_path / "out", tell=lines.append)
    assert lines == ["summarize: done", "shortest: running"], "an error that is fixed is not repeated"
    assert states(tmp_path / "out")[1][1] == "done"


def test_missing_packages_of_all_steps_are_reported_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.txt").write_text("It rained on Monday. The river rose.")
    (tmp_path / "rules.jsonl").write_text(json.dumps({"reply": {"summary": "It rained."}}) + "\n")
    file = tmp_path / "bench.yaml"
    file.write_text(
        "name: small\nsource: {sources: {a: raw}}\nsummarize: {models: {lead: scripted/rules.jsonl}}\n"
        "annotate: {campaigns: {sentences: {task_type: fact_verification}}, simulate: {annotators: 3}}\nrelease: {}\n"
    )
    for package in ("py3langid", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    out = tmp_path / "out"
    assert command("bench", "run", file, "-o", out) == 2
    assert "pip install 'summeter[build,parquet]'" in capsys.readouterr().err
    assert not (out / "source").exists()
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    paid = file.read_text().replace(", simulate: {annotators: 3}", "")
    models = "{lead: bedrock/m, own: local/raw}"
    (tmp_path / "paid.yaml").write_text(paid.replace("{lead: scripted/rules.jsonl}", models))
    assert command("bench", "run", tmp_path / "paid.yaml", "-o", out) == 2
    message = capsys.readouterr().err
    wanted = [
        "source needs py3langid", "summarize needs botocore (or set AWS_BEARER_TOKEN_BEDROCK)",
        "summarize needs transformers", "annotate needs markdown_it", "release needs pyarrow",
        "pip install 'summeter[annotate,bedrock,build,",
    ]  # fmt: skip
    assert [text for text in wanted if text not in message] == []
    file.write_text(file.read_text().replace("{a: raw}}", "{a: raw}, detect: false}"))
    assert command("bench", "run", file, "-o", out, "--until", "summarize") == 0
    assert command("bench", "run", file, "-o", out) == 2
    assert "pyarrow" in capsys.readouterr().err
    assert [row.state for row in chain_status(out)] == ["done", "done", "left", "left"]


def test_other_folders_are_never_overwritten(bench: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"contains thesis\.tex and is not the folder of a benchmark"):
        run_chain(bench, other)
    save(load(ROWS_WITH_SUMMARY), tmp_path / "data")
    with pytest.raises(UsageError, match="is not the folder of a step"):
        run_step(STEP, tmp_path / "data", tmp_path / "data", Shortest())
    run_chain(bench, tmp_path / "out")
    with pytest.raises(UsageError, match="holds the step summarize, not shortest"):
        run_step(STEP, tmp_path / "data", tmp_path / "out" / "summarize", Shortest())
    renamed = tmp_path / "other.yaml"
    renamed.write_text(settings().replace("name: small", "name: large"))
    with pytest.raises(UsageError, match="is the folder of the benchmark 'small'"):
        run_chain(renamed, tmp_path / "out")
    with pytest.raises(UsageError, match="is not the folder of a benchmark"):
        chain_status(tmp_path / "data")


ROWS_WITH_SUMMARY: list[dict[str, Any]] = [{**row, "system": "s", "summary": "A day."} for row in ROWS]


def test_a_killed_chain_resumes(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "whole")
    slow = (
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "import benchmark.test_chain\nfrom summeter.benchmark import chain\n"
        "chain.STEPS['shortest'] = 'benchmark.test_chain:STEP'\n"
        f"chain.run_chain({str(bench)!r}, {str(tmp_path / 'out')!r})\n"
    )
    for _ in range(2):  # the second finds what the first one left half-built
        command = [sys.executable, "-c", slow]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, HANGS: "1"}) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"written\n"
            os.kill(process.pid, signal.SIGKILL)
        assert states(tmp_path / "out") == [("summarize", "done", ""), ("shortest", "left", "interrupted")]
        assert not (tmp_path / "out" / "shortest").exists()
    run_chain(bench, tmp_path / "out")
    for step in ("summarize", "shortest"):
        assert contents(tmp_path / "out" / step) == contents(tmp_path / "whole" / step)
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name.endswith(".new")]


def test_the_commands(bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert command("bench", "run", bench) == 2, "neither an option nor the file names a folder"
    assert "-o FOLDER" in capsys.readouterr().err
    assert command("bench", "run", bench, "-o", out) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["summarize: running", "shortest: running"]
    assert "2 -> 1" in shown.out
    assert command("bench", "status", out, "--step", "shortest") == 0
    assert "left out: 1 document: is longer than others" in capsys.readouterr().out
    assert command("bench", "status", out, "--step", "shortest", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts_out"]["documents"] == 1
    assert command("bench", "status", out, "--step", "shortst") == 2
    moved = bench.rename(tmp_path / "moved.yaml")
    assert command("bench", "status", out, "--json") == 2
    capsys.readouterr()
    assert command("bench", "status", out, "--json", "--config", moved) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["step"], row["state"], row["documents_out"], row["dropped"]) for row in rows] == [
        ("summarize", "done", 2, 0),
        ("shortest", "done", 1, 1),
    ]


def test_a_second_process_is_refused(bench: Path, tmp_path: Path) -> None:
    import fcntl

    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is building the benchmark"):
            run_chain(bench, tmp_path / "out")


def test_a_truncated_log_line_is_skipped(bench: Path, tmp_path: Path) -> None:
    run_chain(bench, tmp_path / "out")
    with (tmp_path / "out" / "log.jsonl").open("a") as log:
        log.write('{"step": "shor')
    bench.write_text(settings(documents=2))
    run_chain(bench, tmp_path / "out")
    assert [row["event"] for row in read_log(tmp_path / "out") if row["step"] == "shortest"] == ["start", "done"] * 2
    assert time.strptime(read_log(tmp_path / "out")[0]["time"], "%Y-%m-%dT%H:%M:%S%z")


def test_a_missing_secret_of_the_release_is_reported_before_the_first_step(bench: Path) -> None:
    bench.write_text(f"{settings()}release: {{secret: key.txt}}\n")
    with pytest.raises(InputError, match=r"key\.txt: the secret cannot be read"):
        run_chain(bench, bench.parent / "out")
    assert not (bench.parent / "out" / "summarize").exists()
