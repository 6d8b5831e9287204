"""Dataset summaries: stability, error shares, abstractiveness, redaction, and Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.outputs import import_outputs
from summeter.meta._card import card, domain_stability, redaction_column, tables
from summeter.meta.results import Study
from summeter.meta.sample import Context
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.tables import document

SCORES = {  # system -> a faithfulness score a document: two news, two talk, one story
    "a": [1.0, 0.8, 0.6, 0.6, 0.3],
    "b": [0.5, 0.5, 0.5, None, None],
}
DOMAINS = ["news", "news", "talk", "talk", "story"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Any]:
    """Return a run with an imported judge and abstractiveness, and data with human error types."""
    folder = tmp_path_factory.mktemp("card")
    rows = [
        {
            "doc_id": f"d{n}", "system": system, "domain": domain, "category": f"kind-{system}",
            "document": "One two three four. " * (n + 1), "summary": "One two. Three *four* | five.",
            "redacted": "yes" if n % 2 else "no",
            "human": {"sentence_error_types": [{"x": "no error", "y": "entity error"},
                                               {"x": "entity error", "y": "relation error"}]},
        }
        for n, domain in enumerate(DOMAINS) for system in SCORES
    ]  # fmt: skip
    data = load(rows)
    raw = folder / "scores.jsonl"
    raw.write_text(
        "".join(
            json.dumps({"doc_id": f"d{n}", "system": system, "evaluator": "mine", "aspect": "faithfulness",
                        "value": value}) + "\n"
            for system, values in SCORES.items() for n, value in enumerate(values) if value is not None
        ),
        encoding="utf-8",
    )  # fmt: skip
    import_outputs(data, raw, folder / "run", "strict")
    return RunFolder(folder / "run"), data


@pytest.fixture(scope="module")
def study(made: tuple[RunFolder, Any]) -> Study:
    return card(made[0], made[1], resamples=100)


class TestStability:
    def test_by_hand(self, study: Study) -> None:
        row = study.one(statistic="domain_stability", judge="mine", system="a")
        # Means .9, .6, .3: 100 - 100 * .6.
        assert (row.value, row.n, row.missing) == (pytest.approx(40.0), 3, 0)
        assert study.one(statistic="domain_average", judge="mine", system="a").value == pytest.approx(0.6)
        assert study.one(statistic="mean", judge="mine", system="a", domain=None).value == pytest.approx(3.3 / 5)

    def test_a_domain_without_a_mean_is_counted(self, study: Study) -> None:
        row = study.one(statistic="domain_stability", judge="mine", system="b")
        assert (row.value, row.n, row.missing) == (100.0, 2, 1)
        cell = study.one(statistic="mean", judge="mine", system="b", domain="story")
        assert (cell.value, cell.n, cell.missing, cell.status) == (None, 0, 1, "undefined")
        talk = study.one(statistic="mean", judge="mine", system="b", domain="talk")
        assert (talk.value, talk.n, talk.missing) == (0.5, 1, 1)

    @given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
    def test_bounds(self, means: list[float]) -> None:
        value = domain_stability(means).value
        assert value is not None
        assert -1e-9 <= value <= 100
        assert domain_stability(means[::-1]).value == value
        assert domain_stability([0.25] * len(means)).value == 100


class TestErrors:
    def test_peoples_votes(self, study: Study) -> None:
        whole = study.one(statistic="error_share", judge="people", system=None, domain=None, category=None,
                          signature="human.sentence_labels|v:1|merge:votes", details=_details(
                              study, "entity error"))  # fmt: skip
        # Each summary: votes "no error", entity; entity, relation. Two of three errors are of entities.
        assert (whole.value, whole.n) == (pytest.approx(2 / 3), 30)
        rate = next(row for row in study if row.statistic == "error_rate" and row.domain == "news"
                    and row.details["error_type"] == "relation error")  # fmt: skip
        assert (rate.value, rate.n) == (0.25, 16)  # 4 votes a summary, 4 summaries

    def test_joined_types_are_two_types_of_one_name_each(self) -> None:
        kinds = [{"x": "EntE+OutE"}, {"x": "out-of-context error"}, {"x": "NoE"}]
        rows = [{"doc_id": "d", "system": "a", "document": "One two.", "summary": "One. Two. Three.",
                 "human": {"sentence_error_types": kinds}}]  # fmt: skip
        study = card(gold=load(rows), resamples=20)
        shares = {row.details["error_type"]: (row.value, row.n) for row in study.where(statistic="error_share")
                  if row.system is None and "group" not in row.details}  # fmt: skip
        assert shares == {"entity error": (pytest.approx(1 / 3), 3), "out-of-context error": (pytest.approx(2 / 3), 3)}

    def test_groups_of_crossed_columns_have_lines_of_their_own(self, made: tuple[RunFolder, Any]) -> None:
        study = card(gold=made[1], by=("system*domain", "redacted*domain"), resamples=20)
        (table,) = [table for table in tables(study) if (table.title or "").startswith("Error types")]
        units = {str(line[0]): line[-1] for line in table.rows}
        assert "redacted*domain: no * news" in units
        (means,) = [
            table for table in tables(card(made[0], by=("redacted*domain",))) if table.title == "By redacted*domain"
        ]
        assert "no * news" in {line[0] for line in means.rows}
        # Ten summaries have four votes each.
        assert (units["overall"], units["system: a, domain: news"]) == ("40", "8")


class TestPeopleAlone:
    def test_a_card_of_labelled_data(self, made: tuple[RunFolder, Any]) -> None:
        alone = card(gold=made[1], resamples=50)
        beside = card(made[0], made[1], resamples=50)
        people = [row for row in beside if row.judge == "people"]
        assert [row for row in alone if row.judge == "people"] == people
        assert {row.judge for row in alone} == {"people"}


def _details(study: Study, kind: str) -> dict[str, Any]:
    return next(row.details for row in study if row.details.get("error_type") == kind)


class TestGroups:
    def test_any_column(self, made: tuple[RunFolder, Any]) -> None:
        rows = card(made[0], by=("redacted",), resamples=50)
        found = {row.details["group"] for row in rows if row.details.get("by") == "redacted"}
        assert found == {"yes", "no"}

    def test_a_length_column_of_the_data_is_kept(self) -> None:
        rows = [{"doc_id": f"d{n}", "system": "a", "document": "One two three.", "summary": "One.",
                 "length": "long" if n else "short", "human": {"ratings": {"coherence": {"x": n}}}}
                for n in range(3)]  # fmt: skip
        study = card(gold=load(rows), by=("length",), resamples=20)
        groups = {(row.details["by"], row.details["group"]): row.n for row in study if "group" in row.details}
        assert groups == {
            ("length", "short"): 1, ("length", "long"): 2, ("length_in_words", "under 250 words"): 3,
        }  # fmt: skip

    def test_a_column_that_only_the_gold_has(self, made: tuple[RunFolder, Any]) -> None:
        run, _ = made
        more = load([{"doc_id": one.document_id, "system": one.system, "summary": one.text, "shade": f"s-{one.system}",
                      "human": {"overall": {"x": 1}},
                      "document": run.data.documents[one.document_id].text} for one in run.data.summaries])  # fmt: skip
        with pytest.raises(UsageError, match="no column 'shade'"):
            card(run, by=("shade",))
        study = card(run, more, by=("shade",), resamples=20)
        found = {row.details["group"]: row.n for row in study.where(statistic="mean", judge="mine")
                 if row.details.get("by") == "shade"}  # fmt: skip
        assert found == {"s-a": 5, "s-b": 3}


class TestRedaction:
    def test_by_hand(self, study: Study) -> None:
        row = study.one(statistic="redaction_delta", judge="mine", system="a")
        # Redacted d1, d3: (.8 + .6) / 2; unredacted d0, d2, d4: (1 + .6 + .3) / 3.
        assert row.value == pytest.approx(0.7 - 1.9 / 3)
        assert (row.details["redacted"], row.details["unredacted"], row.n) == (2, 3, 5)

    def test_which_column_and_which_value(self) -> None:
        context = Context(extra={"kind": {("d", "s"): "masked"}, "redact_type": {("d", "s"): "odd"}})
        name, reads = redaction_column(context, "kind=masked") or ("", None)
        assert reads is not None
        assert (name, reads("masked"), reads("plain"), reads(None)) == ("kind", True, False, None)
        name, reads = redaction_column(context, None) or ("", None)
        assert reads is not None
        assert (name, reads("Redacted"), reads("none"), reads("odd")) == ("redact_type", True, False, None)
        assert redaction_column(Context(), None) is None


class TestText:
    def test_the_tables(self, study: Study) -> None:
        text = document(tables(study), "markdown", "Card | of <b>mine</b>")
        assert text.startswith("# Card \\| of &lt;b&gt;mine&lt;/b&gt;\n")
        assert "| a | 0.900 | 0.600 | 0.300 | 0.600 | 40.0 | 0.660 |" in text
        assert "| b | 0.500 | 0.500 (1 missing) | - (" in text
        for title in ("## faithfulness by mine", "## By category", "## Error types by people",
                      "## Redacted minus unredacted"):  # fmt: skip
            assert title in text


def test_the_bundled_example(example: Path, tmp_path: Path) -> None:
    data = load(example)
    run = evaluate(data, ["support", "abstractiveness"], out=tmp_path / "run")
    made = card(run, data, resamples=50)
    assert made.one(statistic="mean", judge="people", aspect="composite", system="aster", domain=None).n == 18
    gold = "human.sentence_labels|merge:majority|tie:high|v:1"
    row = made.one(statistic="spearman", level="system", gold_signature=gold)
    assert (row.n, row.aspect, row.gold_aspect) == (4, "abstractiveness", "faithfulness")
    assert "## composite by people" in document(tables(made), "markdown")


def test_two_settings_of_one_judge_have_separate_tables(study: Study) -> None:
    rows = [row.model_copy(update={"signature": "mine|t:1|v:1"}) for row in study.where(judge="mine")]
    text = document(tables(Study("card", [*study, *rows])), "markdown")
    titles = [line for line in text.splitlines() if line.startswith("## faithfulness by mine")]
    assert titles == [r"## faithfulness by mine\[source=import\]", r"## faithfulness by mine\[t=1,v=1\]"]
