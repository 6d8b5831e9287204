"""examples/build_a_benchmark: from raw files to a verified release, the same bytes however often it is killed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from summeter.benchmark import chain_status, run_chain
from summeter.benchmark.step import file_hashes, read_manifest
from summeter.benchmark.verify import verify
from summeter.data.dataset import Dataset, load

pytest.importorskip("pyarrow")

FOLDER = Path(__file__).parents[2] / "examples" / "build_a_benchmark"
BENCH = FOLDER / "bench.yaml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "OUT"
    run_chain(BENCH, out)
    return out


@pytest.fixture(scope="module")
def released(built: Path) -> Dataset:
    return load(built / "release")


def test_every_step_is_done_and_the_release_verified(built: Path, released: Dataset) -> None:
    assert {row.state for row in chain_status(built)} == {"done"}
    assert verify(built / "release") == []
    assert json.loads((built / "verify" / "report.json").read_text())["verified"] is True
    assert (len(released.documents), len(released), len(released.domains)) == (18, 54, 9)
    assert {document.split for document in released.documents.values()} == {"dev", "test"}


def test_texts_with_an_error_are_chosen_two_a_source(built: Path, released: Dataset) -> None:
    rules = [json.loads(line) for line in (FOLDER / "models" / "judge.jsonl").read_text().splitlines()]
    verdicts = {tuple(rule["match"][1:]): rule["reply"] for rule in rules if rule["match"][0] == "five categories"}
    with_error = set()
    for summary in load(built / "summarize").summaries:
        marked = tuple(f"[{number}] {text}" for number, text in enumerate(summary.sentence_texts, 1))
        if any(verdict["category"] != "no error" for verdict in verdicts[marked].values()):
            with_error.add(summary.document_id)
    assert len(with_error) == 26
    assert set(released.documents) < with_error
    assert read_manifest(built / "select").dropped == {
        "document: no error was found": 1,
        "document: not selected": 8,
    }
    assert {name.split("/")[0] for name in released.documents} == set(released.domains)


def test_rejected_key_facts_do_not_reach_the_release(built: Path, released: Dataset) -> None:
    def facts(data: Dataset) -> set[str]:
        return {fact for document in data.documents.values() for fact in document.key_facts}

    proposed, kept = facts(load(built / "redact")), facts(released)
    assert read_manifest(built / "facts").dropped == {"key fact: rejected by most validators": 6}
    assert "Somebody said something about it." not in proposed
    lines = (built / "annotate" / "keyfacts.changes.jsonl").read_text().splitlines()
    actions = {change["key_fact"]: change["action"] for change in map(json.loads, lines)}
    assert actions.keys() == proposed
    rejected = {fact for fact, action in actions.items() if action == "dropped"}
    assert rejected
    assert not rejected & kept
    assert read_manifest(built / "release").history[-1].dropped == {"key fact: not valid": len(rejected)}


def test_an_edited_key_fact_carries_both_texts(released: Dataset) -> None:
    proposed = {
        fact: origin.proposed
        for name, document in released.documents.items()
        for fact, origin in zip(document.key_facts, released.fact_origins[name], strict=True)
    }
    edited = "Wen is the only one on the ship who remembers rain."
    assert proposed[edited] == "On the ship only Wen remembers rain."


def test_personal_data_of_the_dialogues_are_masked_everywhere(built: Path, released: Dataset) -> None:
    everything = b"".join(file.read_bytes() for file in (built / "release").rglob("*.jsonl"))
    texts = [document.text for name, document in released.documents.items() if name.startswith("booking/")]
    assert all("<CODE_1>" in text and "<PHONENUMBER_1>" in text for text in texts)
    for file in sorted((FOLDER / "raw" / "booking").iterdir()):
        for code in re.findall(r"\b[A-Z0-9]{8}\b|\b\d{4,5} \d{3} ?\d{3,4}\b", file.read_text()):
            assert code.encode() not in everything, code


def test_a_source_that_may_not_be_passed_on_is_there_by_id_alone(built: Path, released: Dataset) -> None:
    withheld = {name for name, document in released.documents.items() if not document.text}
    assert withheld == {name for name in released.documents if name.startswith("sci_fi/")}
    everything = b"".join(file.read_bytes() for file in (built / "release").rglob("*") if file.is_file())
    for file in sorted((FOLDER / "raw" / "sci_fi").iterdir()):
        assert file.read_bytes().strip() not in everything
    raw, out = str(FOLDER / "raw" / "sci_fi"), str(built / "with-texts")
    script = [sys.executable, str(built / "release" / "fetch_documents.py"), "--texts", raw, "-o", out]
    assert subprocess.run(script, capture_output=True, check=False).returncode == 0


def test_the_release_holds_no_time_and_no_path_of_this_machine(built: Path) -> None:
    for file in (built / "release").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        for trace in (str(FOLDER), str(built), "/tmp/", time.strftime("%Y-%m-%d")):
            assert trace.encode() not in content, f"{file.name}: {trace}"


def test_killed_three_times_it_ends_in_the_same_bytes(built: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "summeter", "bench", "run", str(BENCH), "-o", str(tmp_path / "OUT")]
    for seconds in (1.0, 2.0, 3.0):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert file_hashes(tmp_path / "OUT" / "release") == file_hashes(built / "release")
    assert (tmp_path / "OUT" / "release" / "manifest.json").read_bytes() == (
        built / "release" / "manifest.json"
    ).read_bytes()
