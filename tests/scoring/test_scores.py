"""Scores, compared with values computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from summeter.records import Judgment, Target
from summeter.records.signature import SAMPLING
from summeter.scoring import Score, ScoreTable, coverage, summary_scores, system_scores
from summeter.scoring.systems import SystemTable


def judgment(
    unit: str, index: int | None, *, aspect: str = "faithfulness", judge: str = "j", doc: str = "d",
    system: str = "s", rival: str | None = None, signature: str | None = None, **fields: Any,
) -> Judgment:  # fmt: skip
    target = Target(document_id=doc, system=system, rival=rival, unit=unit, index=index)  # type: ignore[arg-type]
    return Judgment(target=target, aspect=aspect, judge=judge, signature=signature or f"{judge}|v:1", **fields)


def labels(unit: str, values: list[int], aspect: str, **fields: Any) -> list[Judgment]:
    return [judgment(unit, i, aspect=aspect, label=v, value=float(v), **fields) for i, v in enumerate(values)]


def only(judgments: list[Judgment], reduce: dict[str, str] | None = None) -> Score:
    (score,) = summary_scores(judgments, reduce or {})
    return score


def test_judgments_of_a_summary_and_of_its_units() -> None:
    parts = [judgment("sentence", at, value=value) for at, value in enumerate((0.2, 0.4))]
    both = [judgment("summary", None, value=0.9), *parts]
    # "mean": the mean of .2 and .4; "whole": the .9 of the summary.
    assert only(both, {"j": "mean"}).value == pytest.approx(0.3)
    assert (only(both, {"j": "whole"}).value, only(both, {"j": "whole"}).n) == (0.9, 1)
    failed = judgment("summary", None, status="error", reason="no reply")
    assert only([failed, *parts], {"j": "whole"}).status == "error"


class TestFigureOne:
    """FineSurE, figure 1: 1 of 3 sentences correct, 3 of 4 key facts present, 2 of 3 sentences convey one."""

    def test_the_three_shares_and_their_mean(self) -> None:
        found = summary_scores(
            [
                *labels("sentence", [1, 0, 0], "faithfulness"),
                *labels("key_fact", [1, 1, 1, 0], "completeness"),
                *labels("sentence", [1, 1, 0], "conciseness"),
            ],
            {},
        )
        values = {score.aspect: score.value for score in found}
        assert values["faithfulness"] == pytest.approx(1 / 3)
        assert values["completeness"] == 0.75
        assert values["conciseness"] == pytest.approx(2 / 3)
        # (1/3 + 3/4 + 2/3) / 3 = (4 + 9 + 8) / 36 = 21/36
        assert values["composite"] == pytest.approx(21 / 36)


class TestFailures:
    def test_a_failed_unit_is_left_out_and_counted(self) -> None:
        score = only(
            [*labels("sentence", [1, 0], "faithfulness"), judgment("sentence", 2, status="unparsed", reason="cut")]
        )
        # 1 of 2 judged sentences, not 1 of 3.
        assert (score.value, score.n, score.missing, score.status) == (0.5, 2, 1, "ok")

    @pytest.mark.parametrize("status", ["unparsed", "refused", "skipped", "error"])
    def test_nothing_usable_is_no_score(self, status: str) -> None:
        score = only([judgment("sentence", 0, status=status, reason="why")])
        assert (score.value, score.n, score.missing, score.status, score.reason) == (None, 0, 1, status, "why")

    def test_the_most_severe_status_is_that_of_the_score(self) -> None:
        score = only(
            [
                judgment("sentence", 0, status="skipped", reason="empty"),
                judgment("sentence", 1, status="refused", reason="no"),
            ]
        )
        assert (score.status, score.reason) == ("refused", "no")

    def test_one_missing_aspect_leaves_no_composite(self) -> None:
        found = summary_scores(
            [
                *labels("sentence", [1], "faithfulness"),
                judgment("key_fact", 0, aspect="completeness", status="unparsed", reason="cut"),
                *labels("sentence", [1], "conciseness"),
            ],
            {},
        )
        composite = found[-1]
        assert composite.aspect == "composite"
        assert (composite.value, composite.n, composite.missing) == (None, 2, 1)
        assert composite.reason == "completeness: cut"

    def test_units_supersede_a_failed_summary_judgment(self) -> None:
        score = only(
            [judgment("summary", None, status="error", reason="down"), *labels("sentence", [1], "faithfulness")]
        )
        assert (score.value, score.missing) == (1.0, 0)


class TestAggregation:
    def test_mean_of_values(self) -> None:
        parts = [judgment("claim", i, value=v, label=int(v > 0.5)) for i, v in enumerate([0.9, -0.3])]
        # FENICE: (0.9 - 0.3) / 2; a share of labels would be 0.5.
        assert only(parts, {"j": "mean"}).value == pytest.approx(0.3)
        assert only(parts).value == 0.5

    def test_a_rating_of_the_summary(self) -> None:
        judgments = [judgment("summary", None, aspect="coherence", value=4.0)]
        assert only(judgments).value == 4.0

    def test_the_last_judgment_of_a_question_counts(self) -> None:
        judgments = [judgment("summary", None, value=v) for v in (1.0, 5.0)]
        assert (only(judgments).value, only(judgments).n) == (5.0, 1)


class TestComposite:
    def test_a_family_has_one_composite(self) -> None:
        found = summary_scores(
            [
                *labels("sentence", [1, 0], "faithfulness", judge="f.check"),
                *labels("key_fact", [1], "completeness", judge="f.align"),
                *labels("sentence", [1, 1], "conciseness", judge="f.align"),
            ],
            {},
        )
        composite = found[-1]
        assert (composite.judge, composite.value) == ("f", pytest.approx(2.5 / 3))
        assert composite.signature == "composite(f.check|v:1 + f.align|v:1)"

    def test_two_settings_of_one_judge_have_a_composite_each(self) -> None:
        rows = []
        for signature, faithful in (("j|a:1", 1), ("j|a:2", 0)):
            rows += labels("sentence", [faithful], "faithfulness", signature=signature)
            rows += labels("key_fact", [1], "completeness", signature=signature)
            rows += labels("sentence", [1], "conciseness", signature=signature)
        composites = [score for score in summary_scores(rows, {}) if score.aspect == "composite"]
        assert [score.value for score in composites] == [1.0, pytest.approx(2 / 3)]

    @pytest.mark.parametrize("part", [f"{name}:{{}}" for name in SAMPLING])
    def test_different_settings_are_not_combined(self, part: str) -> None:
        rows = []
        for value in (1, 2):
            check, align = (f"f.{name}|judge:A|{part.format(value)}|v:1" for name in ("check", "align"))
            rows += labels("sentence", [1], "faithfulness", judge="f.check", signature=check)
            if value == 1:
                rows += labels("key_fact", [1], "completeness", judge="f.align", signature=align)
                rows += labels("sentence", [1], "conciseness", judge="f.align", signature=align)
        found = [score for score in summary_scores(rows, {}) if score.aspect == "composite"]
        assert len(found) == 1
        assert found[0].signature.count(part.format(1)) == 2

    def test_an_ambiguous_family_has_no_composite(self) -> None:
        rows = [
            *labels("sentence", [1], "faithfulness", judge="f.a"),
            *labels("sentence", [1], "faithfulness", judge="f.b"),
            *labels("key_fact", [1], "completeness", judge="f.c"),
            *labels("sentence", [1], "conciseness", judge="f.c"),
        ]
        assert all(score.aspect != "composite" for score in summary_scores(rows, {}))


class TestCoverage:
    def test_each_summary_and_aspect_counts_once(self) -> None:
        """With 8 judged sentences and a summary in error, the coverage is one half, not 8 of 9."""
        rows = [
            *labels("sentence", [1] * 8, "faithfulness"),
            judgment("summary", None, doc="e", status="error", reason="x"),
        ]
        assert coverage(summary_scores(rows, {})) == 0.5

    def test_a_partly_judged_summary(self) -> None:
        rows = [*labels("sentence", [1, 1, 0], "faithfulness"), judgment("sentence", 3, status="unparsed", reason="x")]
        assert coverage(summary_scores(rows, {})) == 0.75

    def test_pairs_count_by_their_verdicts(self) -> None:
        assert coverage([], [(2, 0), (0, 2)]) == 0.5


class TestSystems:
    def scores(self) -> list[Score]:
        rows = []
        for doc, (first, second) in {"d1": (1, 0), "d2": (1, 1), "d3": (0, 0)}.items():
            rows += labels("sentence", [first], "faithfulness", doc=doc, system="A")
            rows += labels("sentence", [second], "faithfulness", doc=doc, system="B")
        rows.append(judgment("sentence", 0, doc="d4", system="A", status="error", reason="down"))
        return summary_scores(rows, {})

    def test_means_intervals_n_and_missing_stand_together(self) -> None:
        found = {row.system: row for row in system_scores(self.scores())}
        assert found["A"].value == pytest.approx(2 / 3)
        assert (found["A"].n, found["A"].missing) == (3, 1)
        assert found["A"].low is not None
        assert found["A"].high is not None
        assert found["A"].low <= found["A"].value <= found["A"].high
        assert "bootstrap by document" in found["A"].interval

    def test_domains_have_separate_rows(self) -> None:
        rows = system_scores(self.scores(), {"d1": "news", "d2": "news", "d3": None, "d4": None})
        news = {row.system: row.value for row in rows if row.domain == "news"}
        assert news == {"A": 1.0, "B": 0.5}

    def test_ranking_by_mean_with_missing_last(self) -> None:
        empty = [judgment("sentence", 0, doc="d1", system="C", status="error", reason="down")]
        table = SystemTable(system_scores([*self.scores(), *summary_scores(empty, {})]))
        assert table.ranking() == ["A", "B", "C"]


def test_scores_stored_in_columns_are_returned_unchanged() -> None:
    def score(doc_id: str, aspect: str, value: float | None, reason: str | None = None) -> Score:
        return Score(
            doc_id=doc_id, system="s", judge="j", signature="j|v:1", model=None, aspect=aspect, value=value, n=2,
            missing=1, status="ok" if value is not None else "skipped", reason=reason,
        )  # fmt: skip

    given = [score("a", "x", 0.1), score("a", "y", None, "empty"), score("b", "x", 1 / 3), score("b", "y", 0.0)]
    table = ScoreTable.of(given)
    assert list(table) == given
    assert (len(table), table[-1], table[1:3]) == (4, given[-1], given[1:3])
    assert [one.model_dump_json() for one in table] == [one.model_dump_json() for one in given]
    assert {item: list(rows) for item, rows in table.by_item().items()} == {("a", "s"): [0, 1], ("b", "s"): [2, 3]}
