"""ClaimMatch: by hand, edge cases, and sources of lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from summeter.data.dataset import load, save
from summeter.engine.api import evaluate
from summeter.meta._overlap import Lists, lists_of, match_claims, overlap, rouge_1
from summeter.meta.results import CONTRACT
from summeter.meta.sample import Context
from summeter.records import InputError, UsageError

TEXTS = st.lists(st.text("abc ", min_size=1, max_size=8), max_size=4)


def of_documents(lists: dict[str, list[str]], name: str) -> Lists:
    return Lists({(document, None): texts for document, texts in lists.items()}, name)


class TestEasiness:
    def test_by_hand(self) -> None:
        # sim("a b", "a b c") = 2 * 2/2 * 2/3 / (1 + 2/3) = .8; sim("a b", "d") = 0; sim("x", .) = 0.
        got = match_claims(["a b", "x"], ["a b c", "d"])
        # precision: (.8 + 0) / 2; recall: (.8 + 0) / 2; F1 of equals is the same.
        assert (got.precision, got.recall, got.f1) == pytest.approx((0.4, 0.4, 0.4))
        # One claim against two references: precision .8, recall .4, F1 = 2 * .32 / 1.2.
        got = match_claims(["a b"], ["a b c", "d"])
        assert (got.precision, got.recall, got.f1) == pytest.approx((0.8, 0.4, 0.64 / 1.2))

    def test_the_similarity_is_the_reference_packages(self) -> None:
        pair = "The bridge closes for 14 months.", "The bridge will close for fourteen months"
        assert rouge_1(*pair) == pytest.approx(RougeScorer(["rouge1"]).score(*pair)["rouge1"].fmeasure, abs=1e-9)

    def test_custom_similarity_and_argument_order(self) -> None:
        asked = []

        def starts(claim: str, reference: str) -> float:
            asked.append((claim, reference))
            return float(claim.startswith(reference))

        got = match_claims(["ab", "b"], ["a"], starts)
        assert asked == [("ab", "a"), ("b", "a")]
        assert (got.precision, got.recall) == (0.5, 1.0)

    def test_empty_lists_have_no_value(self) -> None:
        assert match_claims([], []) == (None, None, None, 0, 0, "both lists are empty")
        assert match_claims([], ["a"]) == (None, 0.0, 0.0, 0, 1, "no claims")
        assert match_claims(["a"], []) == (0.0, None, 0.0, 1, 0, "no reference claims")
        assert match_claims(["a"], ["b"]).f1 == 0.0

    @given(TEXTS, TEXTS)
    def test_bounds_and_turning_round(self, one: list[str], two: list[str]) -> None:
        here, there = match_claims(one, two), match_claims(two, one)
        assert (here.precision, here.recall, here.f1) == (there.recall, there.precision, there.f1)
        assert all(value is None or 0 <= value <= 1 for value in here[:3])
        if one and any(text.strip() for text in one):
            same = match_claims([text for text in one if text.strip()] * 2, one)
            assert same.precision == 1


class TestStudy:
    FIRST = of_documents({"d1": ["a b"], "d2": ["c"], "d3": [], "d5": ["e"]}, "mine")
    SECOND = of_documents({"d1": ["a b c", "d"], "d2": ["c"], "d3": ["x"], "d4": ["y"]}, "theirs")

    def test_means_over_documents(self) -> None:
        study = overlap(self.FIRST, self.SECOND)
        # d1: .8, .4, .5333; d2: 1, 1, 1; d3: none, 0, 0. d4 and d5 are on one side only.
        precision, recall, f1 = (study.one(statistic=name) for name in ("precision", "recall", "f1"))
        assert (precision.value, precision.n, precision.missing) == (pytest.approx(0.9), 2, 3)
        assert (recall.value, recall.n, recall.missing) == (pytest.approx(1.4 / 3), 3, 2)
        assert f1.value == pytest.approx((0.64 / 1.2 + 1) / 3)
        assert f1.details["f1_of_means"] == pytest.approx(2 * 0.9 * (1.4 / 3) / (0.9 + 1.4 / 3))
        assert precision.details["missing_reasons"] == {"a list is missing": 2, "no claims": 1}
        assert all(set(CONTRACT) <= set(row) for row in study.to_dicts())


def rows(*cells: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in cells)


class TestLists:
    def test_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "claims.jsonl"
        file.write_text(rows({"doc_id": "d", "claims": ["a", {"text": "b"}]}, {"doc_id": "e", "key_facts": []}))
        assert lists_of(file) == of_documents({"d": ["a", "b"], "e": []}, "claims.jsonl")

    def test_faults_are_named_by_line(self, tmp_path: Path) -> None:
        file = tmp_path / "claims.jsonl"
        file.write_text(rows({"claims": ["a"]}, {"doc_id": "d"}, {"doc_id": "e", "claims": ["a"]},
                             {"doc_id": "e", "claims": ["b"]}))  # fmt: skip
        with pytest.raises(InputError) as caught:
            lists_of(file)
        found = [(fault.line, fault.field) for fault in caught.value.faults]
        assert found == [(1, "doc_id"), (2, "claims"), (4, "claims")]

    def test_data_and_a_run_that_prepared(self, tmp_path: Path) -> None:
        data = load([{"doc_id": "d", "document": "It rained.", "summary": "Rain.", "key_facts": ["It rained."]}])
        save(data, tmp_path / "data")
        assert lists_of(tmp_path / "data").lists == {("d", None): ["It rained."]}
        run = evaluate(data, ["support"], out=tmp_path / "run")
        assert lists_of(tmp_path / "run").lists == {("d", None): ["It rained."]}
        assert lists_of(run, "support").name.startswith("support|")
        with pytest.raises(UsageError, match="no claims or key facts of"):
            lists_of(run, "finesure")
        bare = load([{"doc_id": "d", "document": "x", "summary": "y"}])
        with pytest.raises(UsageError, match="no key facts"):
            lists_of(bare)

    def test_lists_of_two_systems_of_one_document(self, tmp_path: Path) -> None:
        file = tmp_path / "claims.jsonl"
        file.write_text(rows({"doc_id": "d", "system": "a", "claims": ["x y"]},
                             {"doc_id": "d", "system": "b", "claims": ["z"]}))  # fmt: skip
        lists = lists_of(file)
        assert lists.lists == {("d", "a"): ["x y"], ("d", "b"): ["z"]}
        study = overlap(lists, of_documents({"d": ["x y"]}, "gold"))
        row = study.one(statistic="precision")
        assert (row.value, row.n) == (0.5, 2)
        by_system = overlap(lists, of_documents({"d": ["x y"]}, "gold"), by="system", context=Context())
        assert {row.system: row.value for row in by_system.where(statistic="f1")} == {None: 0.5, "a": 1.0, "b": 0.0}
        crossed = overlap(lists, of_documents({"d": ["x y"]}, "gold"), by="document*system", context=Context())
        assert {row.details.get("group") for row in crossed} == {None, "d * a", "d * b"}

    def test_claims_that_a_judge_judged(self, tmp_path: Path) -> None:
        rules = [
            {"match": "The sky opened", "reply": "no verdict: its claims are listed all the same"},
            {"match": "Rain fell.", "reply": {"claims": ["It rained.", "Rain fell."]}},
            {"reply": {"claims": ["It snowed."]}},
        ]
        file = tmp_path / "rules.jsonl"
        file.write_text(rows(*rules))
        data = [{"doc_id": "d", "document": "The sky opened.", "system": name, "summary": text}
                for name, text in (("a", "Rain fell."), ("b", "It snowed."))]  # fmt: skip
        run = evaluate(data, ["factscore[extractor=judge]"], models=f"scripted/{file}", out=tmp_path / "run")
        lists = lists_of(run)
        assert lists.lists == {("d", "a"): ["It rained.", "Rain fell."], ("d", "b"): ["It snowed."]}
        assert lists.name.startswith("factscore|")
