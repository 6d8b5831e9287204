"""Fused judges: learning, chance on random labels, and refusals before the training."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from together import together
from training.rated import Row, rows

import summeter as sm
from summeter.engine.progress import Progress
from summeter.evaluators.fused import FILE
from summeter.evaluators.overlap.length import Length
from summeter.records import InstallError, UsageError
from summeter.stats import correlate
from summeter.training import fused, train
from summeter.training.fused import FusedTraining
from summeter.training.split import Split

FREE = ["length", "abstractiveness"]


def by_length(row: Row, rng: random.Random) -> dict[str, float]:
    return {"coherence": 1 + len(row["summary"].split()) / 20 + rng.random()}


def saved(folder: Path, data: list[Row]) -> Path:
    file = folder / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in data), "utf-8")
    return file


def settings(file: Path, **more: Any) -> dict[str, Any]:
    usual = {"kind": "fused", "data": str(file), "members": FREE, "resamples": 20, "penalties": [0.01, 0.1, 1.0]}
    return {**usual, **more}


def pearson(card: Any, part: str = "figures", of: str = "judge", aspect: str = "coherence") -> Any:
    return next(
        figure for figure in card[part]
        if (figure["of"], figure["aspect"], figure["statistic"]) == (of, aspect, "pearson")
    )  # fmt: skip


def test_from_rated_rows_to_a_judge_of_a_run(tmp_path: Path) -> None:
    data = rows(by_length)
    outcome = train(settings(saved(tmp_path, data)), tmp_path / "judge")
    card = json.loads((tmp_path / "judge" / "card.json").read_text("utf-8"))
    assert pearson(card)["value"] > 0.8
    assert pearson(card, "cross_fitted")["value"] > 0.8
    assert card["inputs"]["coherence"][0]["input"].startswith("length.")
    assert "costs: no member calls an LLM" in outcome.lines
    assert not (tmp_path / ".judge.training").exists()

    new = rows(by_length, documents=5, seed=9)
    run = sm.evaluate(new, [f"fused[model={tmp_path / 'judge'}]"])
    values = {row.target.item[:2]: row.value for row in run.judgments() if row.judge == "fused"}
    rated = {(row["doc_id"], row["system"]): row["human"]["ratings"]["coherence"]["a"] for row in new}
    assert values.keys() == rated.keys()
    near = [abs((values[item] or 0) - rated[item]) for item in rated]
    assert sum(near) / len(near) < 0.5


def test_permuted_labels_give_figures_of_chance(tmp_path: Path) -> None:
    data = rows(by_length, documents=100)
    labels = [row["human"] for row in data]
    random.Random(1).shuffle(labels)
    card = train(settings(saved(tmp_path, [{**row, "human": human} for row, human in zip(data, labels, strict=True)])),
                 tmp_path / "judge").card  # fmt: skip
    assert abs(pearson(card, "cross_fitted")["value"]) < 0.15
    figure = pearson(card)
    assert figure["low"] <= 0 <= figure["high"]
    assert card["warnings"]


def test_document_level_ratings_are_not_learned(tmp_path: Path) -> None:
    def by_document(row: Row, rng: random.Random) -> dict[str, float]:
        return {"coherence": float(random.Random(row["doc_id"]).randint(1, 5)) + rng.random() / 10}

    # Compression tells much of the document: the cross-fit must not profit from it.
    card = train(settings(saved(tmp_path, rows(by_document, documents=100))), tmp_path / "judge").card
    assert pearson(card, "cross_fitted")["value"] < 0.2
    assert pearson(card)["value"] < 0.35


def test_binary_ratings_are_fitted_as_probabilities(tmp_path: Path) -> None:
    def copied(row: Row, rng: random.Random) -> dict[str, float]:
        del rng
        return {"overall": float(row["own"] == 0)}

    data = rows(copied)
    for row in data:
        row["human"]["ratings"]["overall"]["b"] = row["human"]["ratings"]["overall"]["a"]
    card = train(settings(saved(tmp_path, data)), tmp_path / "judge").card
    assert card["scales"]["overall"]["link"] == "logistic"
    assert card["scales"]["overall"]["half_width"] is None
    run = sm.evaluate(data, [f"fused[{tmp_path / 'judge'}]"])
    right = [
        row.label == int(data[place]["own"] == 0)
        for place, row in enumerate(row for row in run.judgments() if row.judge == "fused")
    ]
    assert sum(right) / len(right) > 0.95


def test_judgments_of_a_run_are_used_and_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(tmp_path, rows(by_length))
    sm.evaluate(str(file), FREE, out=tmp_path / "run")
    train(settings(file), tmp_path / "scored")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr("summeter.training.fused.evaluate", never)
    for name, more in {"all": {"members": []}, "named": {}, "without": {"members": [], "data": None}}.items():
        train({**settings(file, runs=[str(tmp_path / "run")]), **more}, tmp_path / name)
        assert (tmp_path / name / FILE).read_bytes() == (tmp_path / "scored" / FILE).read_bytes()


def test_an_interrupted_training_does_not_judge_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(saved(tmp_path, rows(by_length)))
    train(given, tmp_path / "whole")
    real, judged = fused.fit_fused, []

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fused, "fit_fused", killed)
    with pytest.raises(KeyboardInterrupt):
        train(given, tmp_path / "judge")
    assert not (tmp_path / "judge").exists()
    monkeypatch.setattr(fused, "fit_fused", real)
    monkeypatch.setattr(Length, "judge", lambda *_: judged.append(1))
    train(given, tmp_path / "judge")
    assert judged == []
    assert (tmp_path / "judge" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


@together("field, more", [
        ("fit", {"split": {"test": 0.8}}),  # too few documents
        ("aspects", {"aspects": ["coherance"]}),
        ("members", {"members": ["length", "rts"]}),  # an LLM in no run
        ("lenght", {"members": ["lenght"]}),
        ("h2h", {"members": ["h2h"]}),
        ("rouge1", {"members": ["rouge"]}),  # there are no references
        ("runs", {"members": []}),
        ("split.held_out_systems", {"split": {"held_out_systems": ["s9"]}}),
        ("split.held_out_domains", {"split": {"held_out_domains": ["law"]}}),
        ("folds", {"folds": 1}),
        ("penalties", {"penalties": [-1.0]}),
        ("scale", {"scale": [1, 2]}),
    ],
)  # fmt: skip
def test_unsuitable_settings_are_refused(tmp_path: Path, field: str, more: dict[str, Any]) -> None:
    file = saved(tmp_path, rows(by_length, documents=40))
    with pytest.raises(UsageError, match=rf"\b{field}\b"):
        train(settings(file, **more), tmp_path / "judge")
    assert not (tmp_path / "judge").exists()


def test_without_scikit_learn_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(tmp_path, rows(by_length, documents=40))
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InstallError, match=r"summeter\[train\]"):
        train(settings(file), tmp_path / "judge")
    assert [place.name for place in tmp_path.iterdir()] == [file.name]


def test_runs_over_other_texts_and_without_a_member_are_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, rows(by_length))
    sm.evaluate(rows(by_length, seed=5), ["length"], out=tmp_path / "other")
    sm.evaluate(str(file), ["length"], out=tmp_path / "run")
    for run, members in (("other", ["length"]), ("run", ["length", "rts"])):
        with pytest.raises(UsageError):
            train(settings(file, runs=[str(tmp_path / run)], members=members), tmp_path / "judge")


def ratings_by(folder: Path, name: str, data: list[Row], noise: float) -> str:
    """Return a scripted LLM whose ratings are close to the human ones."""
    rng = random.Random(name)
    rules = []
    for row in data:
        score = row["human"]["ratings"]["coherence"]["a"] + rng.gauss(0, noise)
        reply = {"reason": "so", "score": min(5, max(1, round(score)))}
        rules.append({"match": row["summary"], "reply": reply})
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    return f"scripted/{file}"


def test_llms_of_two_runs_are_members_and_the_card_reports_their_costs(tmp_path: Path) -> None:
    data = rows(by_length)
    file = saved(tmp_path, data)
    models = [ratings_by(tmp_path, name, data, noise) for name, noise in (("one", 0.5), ("two", 1.0))]
    for name, model in zip(("one", "two"), models, strict=True):
        sm.evaluate(str(file), ["rts"], models=model, out=tmp_path / f"run-{name}")
    runs = [str(tmp_path / "run-one"), str(tmp_path / "run-two")]
    outcome = train(settings(file, runs=runs, members=[]), tmp_path / "judge")
    assert [(each["name"], each["role"], each["asks"]) for each in outcome.card["members"]] == [
        ("rts", None, {"judge": models[0]}), ("rts", "second", {"judge": models[1]}),
    ]  # fmt: skip
    names = [each["input"] for each in outcome.card["inputs"]["coherence"]]
    assert names == ["rts.coherence", "rts@second.coherence"]
    assert f"rts calls {models[0]} at $0.00 per 1,000 summaries" in next(
        line for line in outcome.lines if line.startswith("costs: ")
    )
    bound = {"judge": models[0], "second": models[1]}
    run = sm.evaluate(str(file), [f"fused[{tmp_path / 'judge'}]"], models=bound, out=tmp_path / "fused")
    assert {row.status for row in run.judgments() if row.judge == "fused"} == {"ok"}
    with pytest.raises(UsageError, match="was fitted on other judgments of rts"):
        sm.evaluate(str(file), [f"fused[{tmp_path / 'judge'}]"], models={**bound, "second": models[0]})


@pytest.mark.shared
def test_a_fused_judge_beats_its_best_input_on_real_ratings(shared: Path, tmp_path: Path) -> None:
    aspects = ("coherence", "consistency", "fluency", "relevance")
    how = FusedTraining(
        data=str(shared / "data" / "dialsummeval.jsonl.gz"), members=("support", "rouge", "abstractiveness", "length"),
        aspects=aspects, split=Split(test=0), look_at_test=False,
    )  # fmt: skip
    task = how.task(tmp_path)
    measured, inputs = task.measured(task.judgments(tmp_path / "run", Progress()))
    fitted = fused.fit_fused(task, measured, inputs)
    ahead = []
    for aspect in aspects:
        rated = task.ratings.mean(aspect)
        best = max(abs(correlate(column, rated, "pearson").value or 0) for column in measured.values.T)
        ahead.append((correlate(fitted.cross_fitted[aspect], rated, "pearson").value or 0) - best)
    assert sum(gain > 0.05 for gain in ahead) >= 3
