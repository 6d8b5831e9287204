"""The steps `detect` and `select`: counts worked by hand, failed verdicts, ranking and sampling."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench, command, write_lines

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.benchmark import run_step
from summeter.benchmark.annotate import STEP as ANNOTATE
from summeter.benchmark.annotate import AnnotateSettings
from summeter.benchmark.select import (
    DETECT,
    DETECTOR,
    SECOND,
    SELECT,
    DetectSettings,
    SelectSettings,
    TextVerdict,
    agreement,
    ranked,
    text_verdicts,
)
from summeter.benchmark.step import Manifest, WaitingError, read_manifest
from summeter.data.dataset import Dataset, load, save
from summeter.engine.api import evaluate
from summeter.models.providers.scripted import Scripted
from summeter.records import Judgment, Target, UsageError

TRUE, FALSE = "It rained in the valley.", "It snowed on Mars."


def dataset(documents: int = 6, source: str = "news") -> Dataset:
    """Documents d0, d1...; each with two summaries of two sentences."""
    rows = [
        {"doc_id": f"{source}/d{number}", "document": f"{TRUE} The river rose by {number} metres.",
         "summary": f"{TRUE} The river rose.", "system": system}
        for number in range(documents) for system in ("a", "b")
    ]  # fmt: skip
    data = load(rows)
    extra = {"source": source, "length": "short", "kind": "text"}
    known = {doc_id: document.model_copy(update={"extra": extra}) for doc_id, document in data.documents.items()}
    return Dataset(known, data.summaries, {}, data.card)


def verdicts(plan: dict[str, str], *, source: str = "news", judge: str = "detector") -> list[Judgment]:
    """Judgments by a plan: a letter a sentence (two of system a, two of b): t true, e error, x failed, - none."""
    judgments = []
    for doc_id, letters in plan.items():
        for index, letter in enumerate(letters.replace(" ", "")):
            target = Target(
                document_id=f"{source}/{doc_id}", system="ab"[index // 2], unit="sentence", index=index % 2
            )  # fmt: skip
            fields: dict[str, Any] = {
                "t": {"label": 1, "value": 1.0},
                "e": {"label": 0, "value": 0.0, "error_type": "entity error"},
                "x": {"status": "unparsed", "reason": "no JSON"},
            }.get(letter, {})
            if fields:
                judgments.append(Judgment(target=target, aspect="faithfulness", judge=judge, signature=judge, **fields))
    return judgments


PLAN = {"d0": "tt tt", "d1": "te tt", "d2": "tt xt", "d3": "ee xx", "d4": "ee ee", "d5": "tt --"}
"""Clean, an error, a failure without an error, both, errors only, a summary without verdicts."""


class TestTexts:
    def test_states_are_those_of_a_count_by_hand(self) -> None:
        found = text_verdicts(dataset(), verdicts(PLAN))
        assert {doc_id.partition("/")[2]: verdict.state for doc_id, verdict in found.items()} == {
            "d0": "clean", "d1": "hallucinogenic", "d2": "unknown", "d3": "hallucinogenic", "d4": "hallucinogenic",
            "d5": "unknown",
        }  # fmt: skip
        assert found["news/d3"] == TextVerdict(
            "news/d3", summaries=2, with_error=1, undecided=1, units=2, errors=2, failed=2
        )
        assert found["news/d1"].share == 0.25

    def test_agreement_by_hand(self) -> None:
        first = text_verdicts(dataset(), verdicts(PLAN))
        other = {"d0": "tt tt", "d1": "et tt", "d2": "ee tt", "d3": "tt tt", "d4": "tt xt", "d5": "tt tt"}
        row = agreement(first, text_verdicts(dataset(), verdicts(other)))
        assert row == {
            "hallucinogenic": 3, "confirmed": 1, "clean": 1, "undecided": 1, "confirmed_share": 0.5,
            "decided_by_both": 3, "agreed": 2, "agreed_share": 0.6667,
        }  # fmt: skip


def candidates(shares: dict[str, int]) -> list[TextVerdict]:
    return [TextVerdict(name, 2, 1, 0, units=10, errors=errors, failed=0) for name, errors in shares.items()]


def test_ranking_is_drawn_by_the_seed_and_sorted_by_the_share_of_errors() -> None:
    settings = SelectSettings(rank="errors")
    assert ranked("s", candidates({"a": 1, "b": 5, "c": 3}), settings) == ["b", "c", "a"]
    equal = candidates(dict.fromkeys("abcd", 2))
    assert ranked("s", equal, settings) == ranked("s", equal[::-1], settings)
    drawn = Counter(ranked("s", equal, settings.model_copy(update={"seed": seed}))[0] for seed in range(400))
    assert all(60 <= drawn[name] <= 140 for name in "abcd"), "each is as likely"


def detected(tmp_path: Path, plan: dict[str, str], second: dict[str, str] | None = None) -> Path:
    data = dataset().with_judgments(DETECTOR, verdicts(plan))
    if second is not None:
        data = data.with_judgments(SECOND, verdicts(second))
    save(data, tmp_path / "detected")
    return tmp_path / "detected"


def selected(folder: Path, out: str = "out", **settings: Any) -> tuple[list[str], Manifest]:
    manifest = run_step(SELECT, folder, folder.parent / out, SelectSettings(**settings))
    return list(load(folder.parent / out).documents), manifest


@pytest.mark.parametrize("documents", [1, 3])
def test_a_text_with_a_refused_summary_is_unknown(documents: int, tmp_path: Path) -> None:
    sentences = [f"{TRUE} The river rose by {number} metres." for number in range(documents)]
    write_lines(tmp_path / "rows.jsonl", *({"document": text} for text in sentences))
    rules = [{"match": f"by {number} metres", "reply": {"summary": text}} for number, text in enumerate(sentences)]
    write_lines(tmp_path / "big.jsonl", *rules)
    write_lines(tmp_path / "small.jsonl", {"match": "by 0 metres", "refusal": "I will not."}, *rules)
    models = {name: f"scripted/{name}.jsonl" for name in ("big", "small")}
    sections = {"summarize": {"models": models}, "detect": {"detector": "support"}, "select": {}}
    assert bench(tmp_path, sections, input="rows.jsonl") == 2
    texts = read_manifest(tmp_path / "out" / "detect").details["detector"]["texts"]
    assert texts == {"hallucinogenic": 0, "clean": documents - 1, "unknown": 1}
    assert not (tmp_path / "out" / "select").exists()


class TestSelect:
    def test_all_that_have_errors_where_there_are_few(self, tmp_path: Path) -> None:
        chosen, manifest = selected(detected(tmp_path, PLAN), per_source=5)
        assert chosen == ["news/d1", "news/d3", "news/d4"]
        assert manifest.dropped == {
            "document: no error was found": 1,
            "document: no error was found, but summaries or verdicts are missing": 2,
        }
        assert manifest.details["sources"] == [{"source": "news", "candidates": 3, "selected": 3, "missing": 2}]
        assert manifest.details["strata"] == [
            {"source": "news", "domain": None, "length": "short", "kind": "text", "texts": 6, "hallucinogenic": 3,
             "clean": 1, "unknown": 2, "selected": 3},
        ]  # fmt: skip
        assert manifest.counts_out["missing"] == 2
        assert len(load(tmp_path / "out").judgments(DETECTOR)) == 12, "the verdicts stay with the texts"

    def test_some_are_drawn_by_the_seed(self, tmp_path: Path) -> None:
        folder = detected(tmp_path, dict.fromkeys(PLAN, "te tt"))
        first, manifest = selected(folder, per_source=3)
        assert manifest.dropped == {"document: not selected": 3}
        assert selected(folder, "again", per_source=3)[0] == first
        assert any(selected(folder, f"s{seed}", per_source=3, seed=seed)[0] != first for seed in range(1, 5))

    def test_only_what_a_second_confirms(self, tmp_path: Path) -> None:
        folder = detected(tmp_path, PLAN, {**PLAN, "d3": "tt tt", "d4": "tt xt"})
        chosen, manifest = selected(folder, confirmed=True)
        assert chosen == ["news/d1"]
        assert manifest.dropped["document: not confirmed by the second detector"] == 2
        assert manifest.details["agreement"]["confirmed_share"] == 0.5

    @pytest.mark.parametrize("plan", [None, dict.fromkeys(PLAN, "tt tt")], ids=["no verdicts", "no errors"])
    def test_nothing_to_choose_from(self, plan: dict[str, str] | None, tmp_path: Path) -> None:
        save(dataset(), tmp_path / "data")
        with pytest.raises(UsageError):
            selected(tmp_path / "data" if plan is None else detected(tmp_path, plan))


class TestDetect:
    REPLY = "It rained in the valley"

    def rules(self, tmp_path: Path) -> Path:
        """A scripted judge: an error in the second sentence where the river rose by 1 metre, rubbish where by 2."""
        fine = {"category": "no error", "reason": "it is said"}
        wrong = {"category": "entity error", "reason": "it is not"}
        rules = [
            {"match": "rose by 1 metres", "reply": {"1": fine, "2": wrong}},
            {"match": "rose by 2 metres", "reply": "I cannot say."},
            {"match": "It rained", "reply": {"1": fine, "2": fine}},
        ]
        return write_lines(tmp_path / "rules.jsonl", *rules)

    def test_a_judge_over_all_systems(self, tmp_path: Path) -> None:
        save(dataset(3), tmp_path / "data")
        settings = DetectSettings.model_validate(
            {"detector": {"models": {"judge": f"scripted/{self.rules(tmp_path)}"}}, "second": "support"}
        )
        manifest = run_step(DETECT, tmp_path / "data", tmp_path / "out", settings)
        found = text_verdicts(dataset(3), load(tmp_path / "out").judgments(DETECTOR))
        assert [verdict.state for verdict in found.values()] == ["clean", "hallucinogenic", "unknown"]
        assert manifest.details[DETECTOR]["texts"] == {"hallucinogenic": 1, "clean": 1, "unknown": 1}
        assert manifest.details[DETECTOR]["verdicts"] == {"ok": 8, "refused": 4}
        assert manifest.details["agreement"]["hallucinogenic"] == 1
        assert SECOND in load(tmp_path / "out").judgment_sets
        assert manifest.models == {"detector.judge": f"scripted/{self.rules(tmp_path)}"}

    def test_a_run_that_is_there(self, tmp_path: Path) -> None:
        data = dataset(2)
        save(data, tmp_path / "data")
        evaluate(data, ["support"], out=tmp_path / "run")
        settings = DetectSettings.model_validate({"detector": {"evaluator": "support", "run": str(tmp_path / "run")}})
        run_step(DETECT, tmp_path / "data", tmp_path / "out", settings)
        assert len(load(tmp_path / "out").judgments(DETECTOR)) == 8

    def test_unsuitable_runs_and_data_are_refused(self, tmp_path: Path) -> None:
        data = dataset(2)
        save(data, tmp_path / "data")
        save(Dataset(data.documents, (), {}, data.card), tmp_path / "bare")
        evaluate(dataset(3), ["support"], out=tmp_path / "run")
        other = DetectSettings.model_validate({"detector": {"run": str(tmp_path / "run")}})
        aspect = DetectSettings.model_validate({"detector": {"evaluator": "support", "aspect": "coherence"}})
        for name, settings in (("bare", DetectSettings()), ("data", other), ("data", aspect)):
            with pytest.raises(UsageError):
                run_step(DETECT, tmp_path / name, tmp_path / "out", settings)

    def test_changed_data_and_detectors_are_judged_anew_and_known_calls_are_not_repeated(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, complete = [], Scripted.complete
        monkeypatch.setattr(Scripted, "complete", lambda model, call: asked.append(call) or complete(model, call))
        judge = {"models": {"judge": f"scripted/{self.rules(tmp_path)}"}}
        for name, documents, detector in (("first", 2, judge), ("second", 3, judge), ("third", 3, "support")):
            save(dataset(documents), tmp_path / name)
            assert bench(tmp_path, {"detect": {"detector": detector}}, input=name) == 0
            assert len(load(tmp_path / "out" / "detect").judgments(DETECTOR)) == 4 * documents
        assert len(asked) == 3, "the two summaries of a document are equal"

    def numbers(self, tmp_path: Path) -> Path:
        """A run of a judge that gives each sentence a value and no label: .2, .4, .9, .9 in each document."""
        data = dataset(2)
        save(data, tmp_path / "data")
        rows = [
            {"doc_id": summary.document_id, "system": summary.system, "evaluator": "numbers", "aspect": "faithfulness",
             "unit": "sentence", "index": index, "value": values[index], "model": "m"}
            for summary in data.summaries
            for values in [{"a": (0.2, 0.4), "b": (0.9, 0.9)}[summary.system]] for index in range(2)
        ]  # fmt: skip
        raw = write_lines(tmp_path / "raw.jsonl", *rows)
        command("outputs", "import", tmp_path / "data", raw, "-o", tmp_path / "run")
        return tmp_path / "run"

    @pytest.mark.parametrize(("threshold", "errors"), [(0.3, 1), (0.5, 2), (0.1, 0)])
    def test_annotators_are_shown_the_errors_that_the_threshold_finds(
        self, tmp_path: Path, threshold: float, errors: int
    ) -> None:
        detect = {"detector": {"run": str(self.numbers(tmp_path)), "threshold": threshold}}
        assert bench(tmp_path, {"detect": detect, "select": {}}, input="data") == (0 if errors else 2)
        found = text_verdicts(dataset(2), load(tmp_path / "out" / "detect").judgments(DETECTOR))
        assert [verdict.errors for verdict in found.values()] == [errors] * 2
        if errors:
            settings = AnnotateSettings.model_validate(
                {"campaigns": {"sentences": {}}, "campaign": {"platform": {"accounts": ["ada", "ben", "cleo"]}}}
            )
            with pytest.raises(WaitingError):
                run_step(ANNOTATE, tmp_path / "out" / "select", tmp_path / "annotate", settings)
            tasks = CampaignFolder(tmp_path / "work" / "annotate" / "sentences").tasks.work
            assert sum(not (task.machine or {})["accepts"] for task in tasks) == 2 * errors

    def test_a_threshold_decides_over_the_labels_of_the_evaluator_and_labels_values(self, tmp_path: Path) -> None:
        run = self.numbers(tmp_path)
        assert bench(tmp_path, {"detect": {"detector": {"run": str(run)}}}, input="data") == 2, "there are no labels"
        assert not (tmp_path / "out" / "detect").exists()
        for threshold, errors in ((0.0, 0), (1.1, 8)):
            detect = {"detector": {"evaluator": "support", "threshold": threshold}}
            assert bench(tmp_path, {"detect": detect}, input="data") == 0
            labels = [judgment.label for judgment in load(tmp_path / "out" / "detect").judgments(DETECTOR)]
            assert labels.count(0) == errors
