"""Pairs in a run: selection, resumption, order of presentation, and verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.outputs import import_outputs
from summeter.engine.runs import Run
from summeter.evaluators.catalog import build
from summeter.records import InputError, UsageError
from summeter.scoring import preferences


def rows(documents: int = 2, systems: str = "abc") -> list[dict[str, Any]]:
    return [
        {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}.", "summary": f"Rain, says {system}."}
        for n in range(documents)
        for system in systems
    ]


def script(folder: Path, *rules: dict[str, Any]) -> str:
    file = folder / "script.jsonl"
    file.write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    return f"scripted/{file}"


def pairs(run: Run) -> list[tuple[str, str, str | None]]:
    return [one.target.item for one in run.judgments()]


FIRST_WINS = {"reply": {"answer": "A"}}


class TestWhichPairs:
    def test_every_pair_of_a_document_in_both_orders_in_the_order_of_the_data(self, tmp_path: Path) -> None:
        run = evaluate(rows(), ["h2h"], models=script(tmp_path, FIRST_WINS), out=tmp_path / "run", concurrency=8)
        orders = [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")]
        assert pairs(run) == [(document, *order) for document in ("d0", "d1") for order in orders]
        assert all((one.target.unit, one.value, one.status) == ("pair", 1.0, "ok") for one in run.judgments())
        assert run.manifest.status == "complete"
        (entry,) = run.manifest.judges
        assert entry.aspects == ("coherence",)

    def test_impossible_comparisons_are_errors_before_any_call(self, tmp_path: Path) -> None:
        model = script(tmp_path, FIRST_WINS)
        with pytest.raises(UsageError, match="compares two systems, but the data contain summaries by only one"):
            evaluate(rows(systems="a"), ["h2h"], models=model)
        with pytest.raises(UsageError, match="contain no summaries by z"):
            evaluate(rows(), ["h2h[systems=a;z]"], models=model)


class TestInARun:
    def test_systems_can_be_added_to_a_run(self, tmp_path: Path) -> None:
        model = script(tmp_path, FIRST_WINS)
        evaluate(rows(), ["h2h[systems=a;b]"], models=model, out=tmp_path / "run")
        left = dry_run(rows(), ["h2h"], models=model, out=tmp_path / "run")
        assert [(one.items, one.calls) for one in left] == [(8, 8)]
        run = evaluate(rows(), ["h2h"], models=model, out=tmp_path / "run")
        assert len(pairs(run)) == 12
        assert pairs(run) == sorted(pairs(run))

    def test_a_failed_pair_is_named_with_its_rival_and_tried_again(self, tmp_path: Path) -> None:
        prompt = "(?s)#1 .{16}>>>\nRain, says b.*#2 .{16}>>>\nRain, says a"
        model = script(tmp_path, {"regex": prompt, "error": "model"}, FIRST_WINS)
        run = evaluate(rows(1, "ab"), ["h2h"], models=model, out=tmp_path / "run")
        (failure,) = run.failures()
        assert (failure.system, failure.rival, failure.aspects) == ("b", "a", ("coherence",))
        (error,) = (one for one in run.judgments() if one.status == "error")
        assert (error.target.unit, error.target.rival) == ("pair", "a")
        (found,) = preferences(run.judgments())
        assert (found.value, found.n, found.missing) == (1.0, 1, 1)
        script(tmp_path, FIRST_WINS)
        run = evaluate(rows(1, "ab"), ["h2h"], models=model, out=tmp_path / "run")
        assert [one.status for one in run.judgments()] == ["ok", "ok"]


def write(file: Path, raw: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in raw))
    return file


class TestImport:
    def raw(self, tmp_path: Path, **more: str) -> Path:
        asked = {"evaluator": "h2h", "aspect": "coherence", "model": "m", "doc_id": "d0"}
        return write(
            tmp_path / "raw.jsonl",
            [
                {**asked, "system": "b", "rival": "a", "order": "ab", "output": "A", **more},
                {**asked, "system": "b", "rival": "a", "order": "ba", "output": "A", **more},
                {**asked, "system": "a", "rival": "c", "order": "ab", "output": "A", **more},
            ],
        )

    def test_rows_become_pairs_in_the_order_shown(self, tmp_path: Path) -> None:
        (done,) = import_outputs(load(rows(1)), self.raw(tmp_path), tmp_path / "run", "strict").imported
        assert (done.rows, done.ok, done.failed, done.absent) == (3, 3, 0, 0)
        run = Run(tmp_path / "run")
        assert pairs(run) == [("d0", "a", "b"), ("d0", "a", "c"), ("d0", "b", "a")]
        assert "split:" not in done.signature
        found = {(one.system, one.rival): (one.value, one.n, one.flipped) for one in preferences(run.judgments())}
        assert found == {("a", "b"): (0.5, 2, True), ("a", "c"): (1.0, 1, False)}
        assert len({one.calls for one in run.judgments()}) == 3  # equal replies about two rivals are two calls

    def test_parsers_differ_on_unreadable_replies(self, tmp_path: Path) -> None:
        raw = self.raw(tmp_path, output="Hard to say.")
        (strict,) = import_outputs(load(rows(1)), raw, tmp_path / "strict", "strict").imported
        (released,) = import_outputs(load(rows(1)), raw, tmp_path / "legacy", "legacy").imported
        assert (strict.ok, strict.failed) == (0, 3)
        assert (released.ok, released.failed) == (3, 0)
        assert {one.value for one in preferences(Run(tmp_path / "strict").judgments())} == {None}
        assert {one.value for one in preferences(Run(tmp_path / "legacy").judgments())} == {0.5}

    def test_an_unknown_rival_is_named_by_its_line(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"raw\.jsonl:1: doc_id: .* by system 'z'"):
            import_outputs(load(rows(1)), self.raw(tmp_path, rival="z"), tmp_path / "run", "strict")


class TestSelections:
    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ("order=ab", ["ab", "ac", "ad", "bc", "bd", "cd"]),
            ("systems=c;a", ["ac", "ca"]),
            ("systems=c;a,order=ab", ["ca"]),
            ("pairs=a:b;b:c;c:d", ["ab", "ba", "bc", "cb", "cd", "dc"]),
            ("pairs=d:c;a:b,order=ab", ["ab", "dc"]),
            ("pairs=a:b", ["ab", "ba"]),
        ],
    )
    def test_only_selected_pairs_are_asked(self, settings: str, expected: list[str]) -> None:
        ((document, summaries),) = load(rows(1, "abcd")).items()
        judge = build(f"h2h[{settings}]")
        items = judge.items(document, summaries)
        assert [one.summary.system + one.rival.system for one in items if one.rival] == expected
        # Only the order is in the signature.
        assert ("|order:ab|" in judge.sign({})) is ("order=ab" in settings)
        assert (judge.sign({}) == build("h2h").sign({})) is ("order=ab" not in settings)

    @pytest.mark.parametrize(
        ("judges", "expected"),
        [
            (["h2h[systems=a;b]", "h2h[systems=c;d]"], {"ab", "ba", "cd", "dc"}),
            (["h2h[systems=a;b]", "h2h[pairs=b:c;a:b]"], {"ab", "ba", "bc", "cb"}),
            (["h2h[systems=b;a,order=ab]", "h2h[systems=a;b,order=ab]"], {"ba"}),
            (["h2h[pairs=a:b]", "h2h"], {one + two for one in "abcd" for two in "abcd" if one != two}),
        ],
    )
    def test_two_selections_in_one_run_are_both_asked(
        self, tmp_path: Path, judges: list[str], expected: set[str]
    ) -> None:
        model = script(tmp_path, FIRST_WINS)
        run = evaluate(rows(1, "abcd"), judges, models=model, out=tmp_path / "run")
        assert {f"{one}{two}" for _, one, two in pairs(run)} == expected
        (entry,) = run.manifest.judges
        again = evaluate(rows(1, "abcd"), run.specs, models=model, out=tmp_path / "again")
        assert pairs(again) == pairs(run)
        assert entry.name == "h2h"
