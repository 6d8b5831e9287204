"""Calibration: agreement by hand, refusals, the file, and disagreements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from report.fake_runs import make
from sklearn.metrics import cohen_kappa_score

from summeter.data.dataset import Dataset, load
from summeter.data.human_judgments import list_id_of
from summeter.engine.api import evaluate
from summeter.meta import gate
from summeter.meta._calibrate import (
    Calibration,
    calibrate,
    calibration_study,
    load_calibration,
    save_calibration,
)
from summeter.meta.results import CONTRACT
from summeter.records import Document, InputError, Judgment, Span, Summary, Target, UsageError
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

ENTRY = JudgeEntry(
    name="mock", signature="mock|judge:scripted/one|prompt:c1a0|v:1", model="scripted/one", aspects=("faithfulness",),
    reduce="share", file="mock",
)  # fmt: skip
TEXT = "It rained. We stayed."

# 60 summaries of two sentences: (judge's score, judge's label, the three votes) of each sentence.
CASES = [
    ((0.9, 1, (1, 1, 1)), (0.2, 0, (0, 0, 1))),
    ((0.8, 1, (1, 1, 0)), (0.7, 1, (0, 0, 0))),
    ((0.4, 0, (1, 1, 1)), (0.1, 0, (0, 1, 0))),
]


def rows(count: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "doc_id": f"d{n}", "system": "aster", "document": TEXT, "summary": TEXT, "domain": "news",
            "split": "dev" if n % 4 == 0 else "test",
            "human": {"sentence_labels": [dict(zip("abc", votes, strict=True)) for _, _, votes in CASES[n % 3]]},
        }
        for n in range(count)
    ]  # fmt: skip


def judge(document: Document, summary: Summary, entry: JudgeEntry, *, labels: bool = True) -> list[Judgment]:
    made = []
    for index, (score, label, _) in enumerate(CASES[int(document.id[1:]) % 3]):
        made.append(Judgment(
            target=Target(document_id=document.id, system=summary.system, unit="sentence", index=index),
            aspect="faithfulness", judge=entry.name, signature=entry.signature, model=entry.model, value=score,
            label=label if labels else None, reason=f"because of {score}",
            evidence=(Span(of="document", start=0, end=10), Span(of="summary", start=11, end=21)),
        ))  # fmt: skip
    return made


def scores_only(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    return judge(document, summary, entry, labels=False)


def run_of(folder: Path, count: int = 60, judging: Any = judge, entry: JudgeEntry = ENTRY) -> RunFolder:
    return make(folder, rows(count), [(entry, judging)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run_of(tmp_path_factory.mktemp("calibrate") / "run")


@pytest.fixture(scope="module")
def made(run: RunFolder) -> Calibration:
    return calibrate(run, run.data, aspect="faithfulness", resamples=100)


class TestNumbers:
    def test_agreement_by_hand(self, made: Calibration) -> None:
        # Of the six sentences people say 1 0 1 0 1 0 (majority), the judge 1 0 1 1 0 0: 4 of 6 alike, each class half
        # on both sides, so pe = .5 and kappa = (2/3 - 1/2) / (1/2) = 1/3.
        assert made.kappa.value == pytest.approx(1 / 3)
        assert made.accuracy.value == pytest.approx(2 / 3)
        assert made.balanced_accuracy.value == pytest.approx(2 / 3)
        assert (made.n, made.missing, made.level) == (120, 0, "sentence")
        assert made.kappa.value == pytest.approx(cohen_kappa_score([1, 0, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0]), abs=1e-9)
        assert made.kappa.low is not None
        assert made.kappa.low < 1 / 3 < made.kappa.high  # type: ignore[operator]

    def test_baseline_and_ceiling(self, made: Calibration) -> None:
        assert (made.baseline_label, made.baseline_accuracy) == (1, 0.5)
        # Votes: pairs that agree 1, 1/3, 1/3, 1, 1, 1/3: po = 4/6; 10 of 18 votes are 1 (3 1 2 0 3 1):
        # pe = (10/18)^2 + (8/18)^2 = 164/324; kappa = (2/3 - pe) / (1 - pe) = (216 - 164) / 160.
        assert made.ceiling_kappa.value == pytest.approx(52 / 160)
        assert made.annotators == 3

    def test_recorded_judge_and_data(self, made: Calibration, run: RunFolder) -> None:
        assert (made.signature, made.model, made.prompt) == (ENTRY.signature, "scripted/one", "c1a0")
        assert (made.aspect, made.data_hash) == ("faithfulness", run.manifest.data.hash)
        assert made.gold_signature == "human.sentence_labels|merge:majority|tie:high|v:1"

    def test_the_disagreements_worst_first(self, made: Calibration) -> None:
        assert made.disagreements_total == 40
        first, last = made.disagreements[0], made.disagreements[-1]
        # Scores .7 for a 0 (distance .7) before .4 for a 1 (distance .6).
        assert (first.score, first.decision, first.gold, first.distance) == (0.7, 1, 0, pytest.approx(0.7))
        assert (last.score, last.gold) == (0.4, 1)
        assert (first.text, first.reason, first.votes) == ("We stayed.", "because of 0.7", {"a": 0, "b": 0, "c": 0})
        assert [(one.of, one.text) for one in first.evidence] == [("document", "It rained."), ("summary", "We stayed.")]

    @pytest.mark.parametrize("list_id", [None, "given"])
    def test_a_disagreement_on_a_key_fact_has_text_and_reason(self, tmp_path: Path, list_id: str | None) -> None:
        facts = ("It rained.", "We stayed.")

        def present(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            listed = list_id and list_id_of(document.key_facts)
            return [
                Judgment(
                    target=Target(
                        document_id=document.id, system=summary.system, unit="key_fact", index=index, list_id=listed
                    ),
                    aspect="completeness", judge=entry.name, signature=entry.signature, model=entry.model, value=1.0,
                    label=1, reason=f"because of {index}",
                )
                for index in range(2)
            ]  # fmt: skip

        human = {"key_fact_labels": [{"a": 1}, {"a": 0}]}
        given = [{**row, "key_facts": facts, "human": human} for row in rows(2)]
        entry = ENTRY.model_copy(update={"aspects": ("completeness",)})
        found = make(tmp_path / "run", given, [(entry, present)])
        made = calibrate(found, found.data, aspect="completeness", allow_few=True, resamples=0)
        shown = [(one.document_id, one.index, one.text, one.reason, one.votes) for one in made.disagreements]
        assert shown == [(name, 1, "We stayed.", "because of 1", {"a": 0}) for name in ("d0", "d1")]


class TestThreshold:
    def test_tuned_on_the_dev_split_alone(self, run: RunFolder) -> None:
        made = calibrate(run, run.data, aspect="faithfulness", dev="dev", resamples=50)
        assert (made.dev, made.dev_n, made.n) == ("split=dev", 30, 90)
        # Scores of 1s: .9 .8 .4, of 0s: .2 .7 .1. Above .7 (under .8): 2/3 and 3/3 right -> 5/6, as above .2 (under
        # .4); the last of the best is kept.
        assert made.threshold is not None
        assert 0.7 <= made.threshold < 0.8
        assert made.dev_balanced_accuracy == pytest.approx(5 / 6)
        assert made.balanced_accuracy.value == pytest.approx(5 / 6)

    def test_labels_of_the_rest_do_not_move_it(self, tmp_path: Path, run: RunFolder) -> None:
        turned = rows()
        for row in turned:
            if row["split"] == "test":
                cells = row["human"]["sentence_labels"]
                row["human"]["sentence_labels"] = [{k: 1 - v for k, v in cell.items()} for cell in cells]
        other = make(tmp_path / "run", turned, [(ENTRY, judge)])
        few: dict[str, Any] = {"dev": "split=dev", "resamples": 10}
        one, two = (calibrate(r, r.data, aspect="faithfulness", **few) for r in (run, other))
        assert one.threshold == two.threshold
        assert two.kappa.value == pytest.approx(-one.kappa.value)  # type: ignore[operator]

    def test_scores_need_a_dev_split(self, tmp_path: Path) -> None:
        found = run_of(tmp_path / "run", judging=scores_only)
        with pytest.raises(UsageError, match="gives scores, not decisions"):
            calibrate(found, found.data, aspect="faithfulness")
        made = calibrate(found, found.data, aspect="faithfulness", dev="dev", resamples=10)
        assert made.threshold is not None


class TestRatings:
    """Ratings from 1 to 5 with gold_at_least 4, and a tuned threshold."""

    def test_a_bound_makes_labels_of_ratings(self, tmp_path: Path) -> None:
        entry = ENTRY.model_copy(update={"aspects": ("coherence",), "reduce": "mean"})
        cells = [
            {"doc_id": f"d{n}", "system": "aster", "document": TEXT, "summary": TEXT,
             "split": "dev" if n % 2 else "test",
             "human": {"ratings": {"coherence": {"a": 5 if n % 4 < 2 else 2, "b": 4 if n % 4 < 2 else 1}}}}
            for n in range(60)
        ]  # fmt: skip

        def rate(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            return [Judgment(
                target=Target(document_id=document.id, system=summary.system), aspect="coherence", judge=entry.name,
                signature=entry.signature, value=4.5 if int(document.id[1:]) % 4 < 2 else 3.0,
            )]  # fmt: skip

        found = make(tmp_path / "run", cells, [(entry, rate)])
        with pytest.raises(UsageError, match="with gold_at_least=VALUE"):
            calibrate(found, found.data, aspect="coherence", dev="dev")
        made = calibrate(found, found.data, aspect="coherence", gold_at_least=4, dev="dev", resamples=20)
        assert (made.level, made.kappa.value, made.n) == ("summary", 1.0, 30)
        assert made.threshold is not None
        assert 3 <= made.threshold < 4.5
        assert made.ceiling_kappa.value == 1.0  # 5 and 4 are both yes, 2 and 1 both no
        assert made.gold_signature.endswith("|at_least:4")
        # The gate then counts summaries above the threshold: half of them.
        assert gate(found, min={"coherence": 0.5}, calibrations=[made])[0].value == 0.5


class TestRefusals:
    def test_fewer_than_fifty_labels(self, tmp_path: Path) -> None:
        found = run_of(tmp_path / "run", 24)
        with pytest.raises(UsageError, match=r"at least 50 human labels, but .* has 48"):
            calibrate(found, found.data, aspect="faithfulness")
        made = calibrate(found, found.data, aspect="faithfulness", allow_few=True, resamples=10)
        assert made.n == 48

    def test_two_judges(self, tmp_path: Path) -> None:
        other = ENTRY.model_copy(update={"signature": "mock|v:2", "file": "mock2"})
        found = make(tmp_path / "run", rows(), [(ENTRY, judge), (other, judge)])
        with pytest.raises(UsageError, match="choose one with the option judge"):
            calibrate(found, found.data, aspect="faithfulness")
        made = calibrate(found, found.data, aspect="faithfulness", judge="mock|v:2", resamples=10)
        assert made.signature == "mock|v:2"


class TestFile:
    def test_there_and_back(self, made: Calibration, tmp_path: Path) -> None:
        save_calibration(made, tmp_path / "c.json")
        assert load_calibration(tmp_path / "c.json") == made
        assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
        assert json.loads((tmp_path / "c.json").read_text())["schema"] == "summeter-calibration/1"

    def test_changed_by_hand(self, made: Calibration, tmp_path: Path) -> None:
        cells = json.loads(made.model_dump_json(by_alias=True))
        cells["threshold"] = 0.01
        (tmp_path / "c.json").write_text(json.dumps(cells))
        with pytest.raises(InputError, match="was edited"):
            load_calibration(tmp_path / "c.json")

    @pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "other"}'])
    def test_something_else(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "c.json").write_text(text)
        with pytest.raises(InputError, match="not a calibration file"):
            load_calibration(tmp_path / "c.json")


class TestStudy:
    def test_rows_and_verdict(self, made: Calibration) -> None:
        study = calibration_study(made)
        assert all(set(CONTRACT) <= set(row) for row in study.to_dicts())
        assert study.one(statistic="kappa_fleiss").judge == "people"
        assert study.one(statistic="baseline_accuracy").value == 0.5
        verdict = study.notes[0]
        assert verdict.startswith("mock on faithfulness: kappa with people is 0.33 [")
        assert verdict.endswith("accuracy 67% (a constant 1: 50%) (n = 120, missing 0)")
        assert study.notes[1] == "40 disagreements, worst first:"

    def test_one_annotator_has_no_ceiling(self, tmp_path: Path) -> None:
        cells = rows()
        for row in cells:
            row["human"]["sentence_labels"] = [{"a": cell["a"]} for cell in row["human"]["sentence_labels"]]
        found = make(tmp_path / "run", cells, [(ENTRY, judge)])
        made = calibrate(found, found.data, aspect="faithfulness", resamples=10)
        row = calibration_study(made).one(statistic="kappa_fleiss")
        assert row.value is None
        assert "fewer than 2 annotators" in (row.reason or "")

    def test_a_missing_verdict_is_counted(self, tmp_path: Path) -> None:
        def torn(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            made = judge(document, summary, entry)
            if document.id == "d0":
                made[0] = made[0].model_copy(update={"value": None, "label": None, "status": "unparsed"})
            return made

        found = run_of(tmp_path / "run", judging=torn)
        made = calibrate(found, found.data, aspect="faithfulness", resamples=10)
        assert (made.n, made.missing, made.missing_reasons) == (119, 1, {"judge: unparsed": 1})


class TestGate:
    def test_the_threshold_decides(self, run: RunFolder) -> None:
        tuned = calibrate(run, run.data, aspect="faithfulness", dev="dev", resamples=10)
        row = gate(run, min={"faithfulness": 0.5}, calibrations=[tuned])[0]
        # Above the threshold (.7-.8): .9 | .8 | nothing -> 2 of 6 sentences; the judge's own labels say 3 of 6.
        assert (row.value, row.details["passed"]) == (pytest.approx(1 / 3), False)
        with pytest.raises(UsageError, match="has a threshold, which a comparison with a baseline does not use"):
            gate(run, baseline=run, max_drop={"faithfulness": 0.5}, calibrations=[tuned])
        own = gate(run, min={"faithfulness": 0.5})[0]
        assert (own.value, own.details["passed"]) == (0.5, True)

    def test_composite_uses_decisions(self, tmp_path: Path) -> None:
        entry = ENTRY.model_copy(update={"aspects": ("faithfulness", "completeness", "conciseness")})

        def three(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            target = Target(document_id=document.id, system=summary.system, unit="summary")
            whole = [
                Judgment(target=target, aspect=aspect, judge=entry.name, signature=entry.signature, value=1.0)
                for aspect in ("completeness", "conciseness")
            ]
            return [*judge(document, summary, entry), *whole]

        run = run_of(tmp_path / "run", judging=three, entry=entry)
        tuned = calibrate(run, run.data, aspect="faithfulness", dev="dev", resamples=10)
        found = gate(run, min={"composite": 0.5, "faithfulness": 0.1}, calibrations=[tuned])
        assert {row.aspect: row.value for row in found} == {
            "composite": pytest.approx((1 / 3 + 1 + 1) / 3),
            "faithfulness": pytest.approx(1 / 3),
        }


@pytest.mark.shared
def test_qags_against_its_annotators(shared: Path, tmp_path: Path) -> None:
    data: Dataset = load(shared / "data" / "qags_xsum.jsonl.gz")
    run = evaluate(data, ["support"], out=tmp_path / "run")
    made = calibrate(run, data, aspect="faithfulness", resamples=20)
    entries = json.loads((shared / "data" / "expected.json").read_text())["entries"]
    about = "Krippendorff alpha, sentence labels, nominal"
    (alpha,) = [one for one in entries if (one["dataset"], one["statistic"]) == ("qags_xsum", about)]
    # The ceiling is people's published agreement.
    assert made.ceiling_alpha.value == pytest.approx(alpha["recomputed"], abs=5e-5)
    assert made.n + made.missing == 239
    assert made.kappa.value is not None
    assert made.disagreements_total == round((1 - (made.accuracy.value or 0)) * made.n)
