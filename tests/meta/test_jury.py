"""Juries, and the labels that a jury doubts."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from meta.makers import people, ratings, sentences, voted
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.meta import jury, recheck
from summeter.meta._jury import items
from summeter.records import Judgment

DOCUMENTS = [f"d{number}" for number in range(8)]
GOLD = [1, 1, 0, 0]


def labels(judge: str, votes: list[int | None]) -> list[Judgment]:
    """Return the same labels of the sentences of each document."""
    return sentences({(document, "A"): list(votes) for document in DOCUMENTS}, judge=judge)


def gold(votes: list[int | None] = GOLD) -> list[Judgment]:  # type: ignore[assignment]
    return voted({(document, "A"): [{"ann": vote} for vote in votes] for document in DOCUMENTS})


def test_majority_of_judges_with_different_errors() -> None:
    # Each judge is right on three of four sentences: po = 3/4 and pe = 1/2, so that kappa = 1/2. The majority is right.
    study = jury([*labels("a", [0, 1, 0, 0]), *labels("b", [1, 0, 0, 0]), *labels("c", [1, 1, 1, 0])], gold())
    assert study.one(judge="a", statistic="agreement").value == pytest.approx(0.5)
    assert study.one(judge="a", statistic="balanced_accuracy").value == pytest.approx(0.75)
    for name in ("majority", "dawid_skene"):
        row = study.one(judge=name, statistic="agreement")
        assert (row.value, row.n, row.missing, row.details["ties"]) == (1, 32, 0, 0)
        gain = study.one(judge=name, statistic="jury_gain")
        assert [gain.value, gain.low, gain.high] == pytest.approx([0.5] * 3)
        # Of the 256 exchanges of 8 documents, two reach the gain: none, and all.
        assert gain.p == pytest.approx(2 / 256)
        assert gain.n == 32
        assert len(gain.details["best_member"]) == 2
    # Errors on 1/4 of the sentences each, never on the same: (0 - 1/16) / (3/16).
    assert study.one(pair="a-b", statistic="error_correlation").value == pytest.approx(-1 / 3)
    shared = study.one(judge="a", pair="a-b", statistic="shared_errors")
    assert (shared.value, shared.n) == (0, 8)


def test_correlated_judges_are_believed_too_much() -> None:
    # a makes 8 of the 16 errors of b.
    study = jury([*labels("a", [0, 1, 0, 0]), *labels("b", [0, 1, 1, 0]), *labels("c", [1, 1, 0, 0])], gold())
    row = study.one(pair="a-b", statistic="error_correlation")
    assert row.value == pytest.approx((1 / 4 - 1 / 8) / math.sqrt(3 / 16 / 4))
    assert study.one(judge="a", pair="a-b").value == 1
    assert study.one(judge="b", pair="b-a").value == 0.5
    assert study.one(judge="c", pair="c-a").reason == "c makes no error"
    skene = study.one(judge="dawid_skene", statistic="agreement")
    assert skene.value == pytest.approx(0.5)
    assert skene.details["confidence"] > 0.99
    assert any("correlated" in note for note in study.notes)


def test_ties_and_missing_votes() -> None:
    study = jury([*labels("a", [1, 1, 0, 0]), *labels("b", [1, 0, 0, None])], gold())
    row = study.one(judge="majority", statistic="agreement")
    assert (row.value, row.n, row.missing, row.details["ties"]) == (1, 16, 16, 8)
    assert study.one(judge="a", statistic="agreement").n == 24
    study = jury([*labels("a", GOLD), *labels("b", [0, 0, 1, 1])], gold())  # type: ignore[arg-type]
    reason = "no unit that people and all members judged is without a tie"
    assert study.one(judge="dawid_skene", statistic="agreement").reason == reason
    study = jury([*labels("a", [None] * 4), *labels("b", [1, 1, 0, 0])], gold())
    assert study.one(judge="b", statistic="agreement").value == 1
    assert any("a did not judge faithfulness" in note for note in study.notes)


def test_one_judge_and_constant_votes() -> None:
    study = jury(labels("a", [0, 1, 0, 0]), gold())
    for statistic in ("agreement", "jury_gain"):
        row = study.one(judge="majority", statistic=statistic)
        assert (row.value, row.status) == (None, "undefined")
        assert row.reason == "one judge; a jury needs at least 2"
    study = jury([*labels("a", [1] * 4), *labels("b", [1] * 4)], gold([1] * 4))
    assert all(row.value is None and row.reason for row in study if row.statistic != "shared_errors")
    study = jury([*labels("a", [1] * 4), *labels("b", [1, 1, 0, 0])], gold())
    assert study.one(judge="a", statistic="agreement").value == 0
    assert study.one(judge="b", statistic="agreement").value == 1


def test_mean_and_median_of_ratings() -> None:
    def judge(name: str, of_a: float = 0.0, scale: float = 1.0) -> list[Judgment]:
        """Return people's ratings times `scale`, with `of_a` added to those of A."""
        table = {
            document: {"A": (number % 5 + 1 + of_a) * scale, "B": (5 - number % 5) * scale}
            for number, document in enumerate(DOCUMENTS)
        }
        return ratings(table, judge=name, signature=f"human.ratings|{name}" if name == "ann" else None)  # type: ignore[arg-type]

    study = jury([*judge("low", -1), *judge("high", 1), *judge("right")], judge("ann"))
    assert study.one(judge="mean", statistic="agreement").value == pytest.approx(1)
    assert study.one(judge="median", statistic="agreement").details["coefficient"] == "alpha_interval"
    # The errors are -1 and 1 on the summaries of A, and 0 on those of B.
    assert study.one(pair="low-high", statistic="error_correlation").value == pytest.approx(-1)
    assert study.one(pair="low-right", statistic="error_correlation").value is None
    scaled = jury([*judge("right"), *judge("percent", scale=20)], judge("ann"))
    assert scaled.one(judge="mean", statistic="agreement").details["coefficient"] == "spearman"
    constant = [each.model_copy(update={"value": 500.0}) for each in judge("constant")]
    scaled = jury([*judge("right"), *judge("percent", scale=20), *constant], judge("ann"))
    assert scaled.one(judge="mean", statistic="agreement").value == pytest.approx(1)
    assert (
        scaled.one(pair="right-percent", statistic="error_correlation").reason
        == "the values of judges and people have different scales"
    )


def test_scores_need_a_threshold_beside_labels() -> None:
    scores = ratings({document: {"A": float(number % 2)} for number, document in enumerate(DOCUMENTS)}, judge="sure")
    grades = ratings(
        {document: {"A": number % 2 / 2 + 0.2} for number, document in enumerate(DOCUMENTS)}, judge="unsure"
    )
    votes = people({(document, "A"): {"ann": float(number % 2)} for number, document in enumerate(DOCUMENTS)})
    study = jury([*scores, *grades], votes)
    assert study.one(judge="majority", statistic="agreement").value is None
    assert "unsure gave scores, not labels" in study.notes[0]
    study = jury([*scores, *grades], votes, judge_at_least={"unsure": 0.5})
    assert study.one(judge="majority", statistic="agreement").value == 1


def test_recheck_orders_doubted_labels() -> None:
    # Both judges contradict people on the last sentence, and only one of them on the first.
    run = [*labels("a", [1, 1, 0, 1]), *labels("b", [0, 1, 0, 1]), *labels("c", [1, 1, 0, 1])]
    study = recheck(run, gold(), limit=5)
    assert len(study) == 5
    assert {row.details["index"] for row in study} == {3}
    row = study[0]
    # a and c are right on 24 of 32 with pe = 1/2; one more label 1 of people makes it 25 of 32, with
    # pe = (24 * 17 + 8 * 15) / 32^2. b is right on 16 of 32 with pe = 1/2; then on 17, with the same pe = 1/2.
    after = (25 / 32 - 528 / 1024) / (1 - 528 / 1024)
    assert row.details["change"] == pytest.approx((2 * (after - 0.5) + 1 / 16) / 3)
    assert row.value == pytest.approx(row.details["change"] * row.details["probability"])
    assert "the jury and people differ on 8 of 32 units, 5 of which are listed" in study.notes[0]
    item = items(study)[0]
    assert (item["doc_id"], item["system"], item["people"], item["jury"], item["vote.b"]) == ("d0", "A", 0, 1, 1)


def test_a_campaign_reads_the_items_to_judge_again(tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"d{number}", "system": "A", "document": "The mill closed in May.",
         "summary": "The mill closed in May. It rained.", "human": {"sentence_labels": [1, number % 2]}}
        for number in range(6)
    ]  # fmt: skip
    data, run, found = tmp_path / "data.jsonl", str(tmp_path / "run"), tmp_path / "items.csv"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    campaign = {
        "name": "again", "title": "Again", "task_type": "fact_verification", "data": str(data),
        "select": {"items": "items.csv"}, "platform": {"name": "local", "accounts": ["ann"]},
        "instructions": "Read.",
    }  # fmt: skip
    (tmp_path / "again.yaml").write_text(json.dumps(campaign))

    def summeter(*words: str) -> str:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        return result.stdout

    summeter("score", str(data), "-e", "support", "-o", run, "--quiet")
    undefined = json.loads(summeter("meta", "jury", run, "--aspect", "faithfulness", "--json"))["rows"][2]
    assert (undefined["judge"], undefined["value"], undefined["status"]) == ("majority", None, "undefined")
    # The judge finds the second sentence unsupported, and people only half of the time.
    summeter("meta", "recheck", run, "--aspect", "faithfulness", "-o", str(found))
    listed = [(row["doc_id"], row["index"], row["text"]) for row in csv.DictReader(found.read_text().splitlines())]
    assert listed == [(f"d{number}", "1", "It rained.") for number in (1, 3, 5)]
    summeter("annotate", "new", str(tmp_path / "again.yaml"), "-o", str(tmp_path / "again"))
    tasks = [json.loads(line) for line in (tmp_path / "again" / "tasks.jsonl").read_text().splitlines()]
    assert {task["document_id"] for task in tasks} == {"d1", "d3", "d5"}
