"""Importing the replies that Shen et al. (2023) released: a small folder in their layout, and the paper's tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from data.files import put

import summeter as sm
from summeter.cli.main import main

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
CHAIN = ("M22", "M23", "M17", "M12", "M13", "M15", "M14", "M8", "M9", "M10", "M20", "M11")
IDS = tuple(f"dm-test-{letter * 40}" for letter in "abc")
WORDS = ("one", "two", "three", "four", "five")
Reply = Callable[[int], str]


def rating(document: int, system: int) -> int:
    """The rating of every expert on every dimension."""
    return 1 + (document + system) % 5


def replies(folder: Path, method: str, reply: Reply) -> None:
    """Write a reply on each summary and dimension; `reply` returns it for the rating."""
    for (number, system), dimension in product(enumerate(CHAIN), DIMENSIONS):
        rows = [row(name, reply(rating(document, number))) for document, name in enumerate(IDS)]
        put(folder / f"eval_{system}_generations" / f"{dimension}_{method}.txt", rows)


def row(name: str, reply: str) -> dict[str, Any]:
    return {"id": name, "prompt_len": 7, "total_len": 9, "resp": reply}


def letter(value: int) -> str:
    return "ABCDE"[value - 1]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release with all methods, models and pairs."""
    release = tmp_path / "release"
    for number, system in enumerate(CHAIN):
        votes = [[dict.fromkeys(DIMENSIONS, rating(document, number))] * 3 for document in range(3)]
        about = {"model_id": system, "text": "It rained. We stayed.", "references": ["Rain."], "turker_annotations": []}
        rows = [
            {**about, "id": name, "decoded": f"Rain by {system}.", "expert_annotations": votes[document]}
            for document, name in enumerate(IDS)
        ]
        put(release / "model_output_annotations" / f"{system}_outputs_annotations.jsonl", rows)
    generations = release / "eval_model_generations"
    chatgpt, gpt4 = generations / "gpt-3.5-turbo-0301", generations / "gpt-4-0314"
    for method, reply in (
        ("rts", lambda value: f"Score: {value}"), ("mcq", letter), ("altrts", lambda value: f"Score: {6 - value}"),
        ("altmcq", letter), ("stareval", lambda value: f"{WORDS[value - 1]} stars"),
    ):  # fmt: skip
        replies(chatgpt, method, reply)
    replies(gpt4, "rts", lambda value: f"Fine. Score: {value}")
    replies(generations / "llama-2-7b", "rts", lambda value: f"Score: {value}")
    replies(generations / "llama-2-13b", "rts", lambda value: f"Score: {6 - value}")
    replies(generations / "llama-2-70b", "rts", lambda value: "No score." if value == 1 else "Score: 2")
    # The first summary of M22 is rated 1. Its replies E and A to two questions asked twice differ.
    for method in ("mcq", "altmcq"):
        file = chatgpt / "eval_M22_generations" / f"coherence_{method}.txt"
        put(file, [row(IDS[0], "E"), row(IDS[1], "B"), row(IDS[2], "C"), row(IDS[0], "A")])
    put(gpt4 / "eval_M12_generations" / "consistency_rts_old.txt", [row(IDS[0], "Score: 1")])
    put(gpt4 / "eval_M17_generations" / "fluency_cap.txt", [])
    for (first, second), dimension in product(pairwise(CHAIN), DIMENSIONS):
        for order in ("", "_toggle"):
            # The first summary shown is always preferred, except that M22 is preferred to M23 in both orders.
            preferred = "B" if order and first == "M22" else "A"
            shown = [row(name, preferred) | {"human_score_1": 1, "human_score_2": 2} for name in IDS]
            put(release / "comp_res" / "gpt-3.5-turbo-0301" / f"{first}-{second}_{dimension}{order}.result", shown)
    return release


def table(runs: Path, name: str, *folders: str) -> dict[tuple[str, str], float | None]:
    found = sm.table(f"shen2023.{name}", [sm.Run(runs / folder) for folder in folders])
    return {(one.details["line"], one.details["column"]): one.value for one in found.study}


def test_the_release_as_runs_and_tables(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, preset = tmp_path / "runs", ["--preset", "shen2023", "--parser", "legacy", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["outputs", "import", str(release), "-o", str(runs), *preset])
    shown = capsys.readouterr()
    assert ended.value.code == 0
    counts = {
        str(Path(one["run"]).relative_to(runs)): (one["rows"], one["repeated"], one["ok"])
        for one in json.loads(shown.out)["rows"]
    }
    each = 12 * 3 * 4
    assert counts == {
        **{f"gpt-3.5-turbo-0301/{name}": (each, 0, each) for name in ("rts", "rts2", "stareval")},
        **{f"gpt-3.5-turbo-0301/{name}": (each, 1, each) for name in ("mcq", "mcq2")},
        "gpt-3.5-turbo-0301/h2h": (11 * 3 * 4 * 2, 0, 11 * 3 * 4 * 2),
        **{f"{name}/rts": (each, 0, each) for name in ("gpt-4-0314", "llama-2-7b", "llama-2-13b")},
        "llama-2-70b/rts": (each, 0, each - 7 * 4),  # seven summaries are rated 1
    }
    assert "2 files" in shown.err
    assert "consistency_rts_old.txt" in shown.err
    assert "fluency_cap.txt" in shown.err
    assert "replies" not in sm.Run(runs / "gpt-4-0314" / "rts").data.summaries[0].extra

    chatgpt = "gpt-3.5-turbo-0301"
    pooled = table(runs, "4", *(f"{chatgpt}/{name}" for name in ("rts", "mcq", "stareval")), "gpt-4-0314/rts")
    one = pytest.approx(1)
    lines = (f"rts ({chatgpt})", "mcq", "stareval", "rts (gpt-4-0314)")
    assert pooled == {
        (line, f"{dimension} {name}"): one
        for line in lines for dimension in DIMENSIONS for name in ("Spear.", "Pear.", "Kend.")
    }  # fmt: skip
    short = table(runs, "18", f"{chatgpt}/rts2", f"{chatgpt}/mcq2")
    assert short["rts2", "coherence Pear."] == pytest.approx(-1)
    assert short["mcq2", "fluency Pear."] == one
    assert (short["mcq2", "coherence Pear."] or 0) < 0.99  # E, the first reply, counts
    llama = table(runs, "19", *(f"llama-2-{size}/rts" for size in ("7b", "13b", "70b")))
    assert [llama[f"rts (llama-2-{size})", "fluency Spear."] for size in ("7b", "13b", "70b")] == [
        one, pytest.approx(-1), None,
    ]  # fmt: skip
    by_system = table(runs, "28", "gpt-4-0314/rts")
    assert {line for line, _ in by_system} == set(CHAIN)
    assert list(by_system.values()) == [one] * len(by_system)
    pairs = table(runs, "22", f"{chatgpt}/h2h")
    assert len({line for line, _ in pairs}) == 11
    # Of three documents, people prefer M23 to M22 and M17 to M23 on each.
    shown = [tuple(pairs[pair, f"fluency {name}"] for name in ("LLM", "Human")) for pair in ("M23-M22", "M17-M23")]
    assert shown == [(0, 3), (1.5, 3)]


def test_data_without_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more, word in (
        ("bare", {}, "raw outputs"),
        ("other", {"replies": "Score: 4"}, "list of objects"),
        ("wrong", {"replies": [{"evaluator": "rts", "aspect": "coherence", "model": "../../m"}]}, "output"),
    ):
        file = put(tmp_path / f"{name}.jsonl", [{"doc_id": "d", "document": "a", "summary": "b", **more}])
        with pytest.raises(SystemExit) as ended:
            main(["outputs", "import", str(file), "-o", str(tmp_path / "runs")])
        assert ended.value.code == 2
        assert word in capsys.readouterr().err
        assert not (tmp_path / "runs").exists()


def test_names_of_models_stay_within_the_folder(tmp_path: Path) -> None:
    reply = {"evaluator": "rts", "aspect": "coherence", "model": "../../m", "output": "Score: 4"}
    rows = [{"doc_id": "d", "document": "a", "summary": "b", "replies": [reply]}]
    (run,) = sm.import_replies(rows, tmp_path / "runs")
    assert run.folder.parent.parent == tmp_path / "runs"
