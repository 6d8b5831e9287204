"""Tables of papers: places, averages, marks and formats; published cells are in test_reproduction.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import summeter as sm
from summeter.benchmark.protocol import Config, run_protocol
from summeter.cli.main import main
from summeter.meta.papers import PAPERS, UNDECLARED
from summeter.meta.papers.base import Printed, TableOptions, averages, place, place_of
from summeter.meta.results import Row, Study


@pytest.fixture(scope="module")
def nine(example: Path, tmp_path_factory: pytest.TempPathFactory) -> sm.Run:
    folder = tmp_path_factory.mktemp("papers") / "nine"
    return sm.evaluate(str(example), ["support", "rouge"], out=folder)


def test_a_cell_is_the_value_of_the_study(nine: sm.Run) -> None:
    found = sm.table("finesure.3", nine)
    study = sm.meta.correlate(nine, nine.data, aspect="completeness", coefficients=("pearson",), resamples=0)
    assert found.cell("support", "completeness Pear.").value == study.one(judge="support").value
    systems = sm.meta.correlate(nine, nine.data, aspect="rouge1:completeness", level="system", resamples=0)
    rank = systems.one(statistic="spearman").value
    assert found.cell("rouge rouge1", "completeness Rank").value == rank
    # A judge of another dimension has no row of its own aspect.
    assert {place_of(row)[0] for row in found.study} == {"support", *(f"rouge {name}" for name in (
        "rouge1", "rouge2", "rougeL", "rougeLsum",
    ))}  # fmt: skip


def test_people_and_judges_have_lines_of_their_own(nine: sm.Run) -> None:
    found = sm.table("unisumeval.14", nine)
    card = sm.meta.card(None, nine.data, resamples=0)
    domain = next(row.domain for row in card if row.domain and row.system == "aster")
    mean = card.one(statistic="mean", aspect="faithfulness", system="aster", domain=domain, judge="people")
    assert found.cell("people: aster", str(domain)).value == mean.value
    stability = card.one(statistic="domain_stability", aspect="faithfulness", system="aster", judge="people").value
    assert found.cell("people: aster", "DoS").value == pytest.approx((stability or 0) / 100)
    assert found.table().heads[-2:] == ["Avg.", "DoS"]


def test_marks_best_values_and_intervals(nine: sm.Run) -> None:
    plain = sm.table("finesure.1", nine)
    weak = plain.cell("rouge rouge1", "Pear.")
    assert weak.p is not None
    assert weak.p > 0.05
    assert f"{weak.value:.3f}~" in str(plain)
    assert "~" not in str(sm.table("finesure.1", nine, alpha=None))
    best = max(plain.cell(line, "Pear.").value or -1 for line in {place_of(row)[0] for row in plain.study})
    assert f"**{best:.3f}" in plain.table().markdown()
    drawn = sm.table("finesure.1", nine, resamples=50)
    row = drawn.cell("support", "bAcc")
    assert f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" in drawn.table().markdown()


def test_an_average_needs_all_its_values() -> None:
    rows = [
        place(Row(study="s", statistic="mean", value=value, n=1), "a", column)
        for value, column in ((0.25, "x 1"), (0.75, "x 2"), (0.5, "y 1"))
    ] + [
        place(Row(study="s", statistic="mean", value=None, status="undefined", reason="constant", n=0), "a", "y 2")
    ]  # fmt: skip
    made = [row for row in averages(rows, lambda column: f"{column[0]} Avg.") if row.statistic == "average"]
    assert [(place_of(row), row.value, row.missing) for row in made] == [
        (("a", "x Avg."), 0.5, 0),
        (("a", "y Avg."), None, 1),
    ]


def test_the_averages_of_aggrefact_are_those_of_its_cells(root: Path, tmp_path: Path) -> None:
    config = Config(protocol="aggrefact", data="aggre_fact_final.csv", evaluators=["support"], resamples=0)
    run_protocol(config, tmp_path, base=root / "examples" / "aggrefact")
    found = sm.table("fenice.4", sm.Run(tmp_path / "run"))
    line = place_of(found.study[0])[0]
    cells = [row.value for row in found.study if place_of(row)[0] == line and place_of(row)[1] != "AVG"]
    assert found.cell(line, "AVG").value == pytest.approx(sum(value or 0 for value in cells) / len(cells))


def test_tables_of_data_need_no_run(example: Path) -> None:
    rows = [json.loads(line) for line in example.read_text(encoding="utf-8").splitlines()]
    data = sm.load(example)
    counts = sm.table("summqual.1", [], data)
    assert [counts.cell(line, "demo").value for line in ("news", "all")] == [2, 18]
    assert counts.table().rows[-1][1] == "18"
    lengths = sm.table("unisumeval.9", [], data)
    facts = {row["doc_id"]: len(row["key_facts"]) for row in rows if row["domain"] == "news"}
    assert lengths.cell("news", "key facts").value == sum(facts.values()) / len(facts)


def test_agreement_by_type_of_input(tmp_path: Path) -> None:
    # Two annotators agree on both sentences of the dialogue, and on one of the two of the article.
    votes = {"talk": ([1, 0], [1, 0]), "text": ([1, 0], [1, 1])}
    file = tmp_path / "data.jsonl"
    file.write_text("".join(
        json.dumps({
            "doc_id": name, "system": "a", "document": "It rained. It was cold.", "summary": "Rain fell. It froze.",
            "input_type": name, "human": {"sentence_labels": [{"x": x, "y": y} for x, y in zip(*each, strict=True)]},
        }) + "\n"
        for name, each in votes.items()
    ), encoding="utf-8")  # fmt: skip
    found = sm.table("unisumeval.2", [], sm.load(file))
    values = {place_of(row): row.value for row in found.study}
    # alpha = 1 - 7 * 2 / (2 * 5 * 3) over all, 1 on the dialogue, 1 - 3 * 2 / (2 * 3 * 1) on the article.
    assert values == {
        ("all", "fact verification"): pytest.approx(1 - 14 / 30), ("talk", "fact verification"): 1.0,
        ("text", "fact verification"): 0.0,
    }  # fmt: skip
    assert place_of(sm.table("unisumeval.3", [], sm.load(file)).study[0])[0] == "all"


def test_correlations_by_domain_and_overruled_labels(nine: sm.Run) -> None:
    how = {"aspect": "completeness", "by": "domain", "judge": "support", "resamples": 0}
    for name, level, coefficient in (("unisumeval.7", "summary", "pearson"), ("unisumeval.19", "system", "spearman")):
        study = sm.meta.correlate(nine, nine.data, level=level, coefficients=(coefficient,), **how)
        assert sm.table(name, nine).cell("support", "news").value == study.one(domain="news").value
    overruled = sm.table("unisumeval.12", nine).cell("support", "errors shown")
    study = sm.meta.override_rate(nine, nine.data, aspect="faithfulness", resamples=0)
    assert overruled.value == next(row.value for row in study if row.details.get("shown") == 0)


def test_scores_of_redacted_texts(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(
        json.dumps({
            "doc_id": f"d{number}", "system": "a", "document": "It rained.", "summary": "Rain fell. It froze.",
            "redact_type": kind, "human": {"sentence_labels": labels},
        }) + "\n"
        for number, (kind, labels) in enumerate([("unredact", [1, 1]), ("redact", [1, 0])])
    ), encoding="utf-8")  # fmt: skip
    found = sm.table("unisumeval.5", [], sm.load(file))
    shown = [found.cell("a", f"faithfulness {what}").value for what in ("unredacted", "redacted", "difference")]
    assert shown == [1.0, 0.5, -0.5]


def test_claims_of_a_run_against_key_facts(nine: sm.Run, tmp_path: Path) -> None:
    rules = tmp_path / "replies.jsonl"
    rules.write_text(json.dumps({"reply": {"key facts": ["a b"]}}) + "\n", encoding="utf-8")
    row = {"doc_id": "d", "system": "a", "document": "a b c", "summary": "a b.", "reference": "a b c"}
    plain, facts = tmp_path / "plain.jsonl", tmp_path / "facts.jsonl"
    plain.write_text(json.dumps(row), encoding="utf-8")
    facts.write_text(json.dumps(row | {"key_facts": ["a b", "d"]}), encoding="utf-8")
    run = sm.evaluate(plain, ["finesure.key_facts"], models={"judge": f"scripted/{rules}"}, out=tmp_path / "run")
    found = sm.table("fenice.1", run, sm.load(facts))
    line = found.cell("finesure.key_facts", "precision"), found.cell("finesure.key_facts", "recall")
    assert [row.value for row in line] == [1.0, 0.5]


def test_a_remark_is_beside_the_cell_of_the_paper() -> None:
    form = PAPERS["shen2023.21"]
    about = {"study": "card", "statistic": "mean", "judge": "people", "aspect": "consistency", "value": 4, "n": 1}
    rows = [place(Row.model_validate(about | {"system": name}), name, "c") for name in ("M14", "M15")]
    shown = Printed("t", form, Study("t", rows), TableOptions())
    assert [shown.form.shown(row) for row in rows] == ["4.00", "4.00"]
    assert "4.00[1]" in shown.table().text().splitlines()[-1]
    assert any(note.startswith("[1]") for note in shown.notes())
    assert not Printed("t", form, Study("t", rows[:1]), TableOptions()).remarks


@pytest.mark.shared
def test_figures_of_finesure_are_in_their_places(shared: Path, tmp_path: Path) -> None:
    data = sm.load(shared / "data" / "finesure_samples.jsonl.gz")
    run = sm.import_outputs(data, shared / "data" / "finesure_samples.outputs.jsonl.gz", tmp_path / "run", "legacy")
    scores = sm.table("unisumeval.4", run)
    # From the README of the released code, in percent.
    faithful = {"bert_sum": 100.0, "pgn": 83.3, "bus": 66.7, "s2s": 16.7, "bart": 75.0}
    for judge, aspect, figures in (
        ("finesure.fact_check", "faithfulness", faithful),
        ("finesure.align", "completeness", {"unilm_out_v2": 45.5, "t5_out_large": 59.0}),
        ("finesure.align", "conciseness", {"unilm_out_v2": 76.0, "t5_out_large": 81.7}),
    ):  # fmt: skip
        cells = {system: scores.form.shown(scores.cell(f"{judge}: {system}", aspect)) for system in figures}
        assert cells == {system: f"{value:.1f}" for system, value in figures.items()}


@pytest.mark.shared
def test_rouge_on_realsumm_is_in_its_place(shared: Path, tmp_path: Path) -> None:
    # FineSurE, Table 3, with plain references and a stemmer.
    run = sm.evaluate(shared / "data" / "realsumm.jsonl.gz", ["rouge[stemmer=true]"], out=tmp_path / "run")
    found = sm.table("finesure.3", run)
    for name, value in {"rouge1": 0.4814, "rouge2": 0.4677, "rougeL": 0.4367}.items():
        assert found.cell(f"rouge {name}", "completeness Pear.").value == pytest.approx(value, abs=0.0005)


def test_the_command(nine: sm.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["table", *arguments])
        return int(caught.value.code or 0)

    folder = str(nine.folder)
    assert run("finesure.3", folder, "-o", str(tmp_path / "t.tex")) == 0
    assert r"\textbf{" in (tmp_path / "t.tex").read_text()
    capsys.readouterr()
    assert run("finesure.3", folder, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {"line", "column"} <= set(rows[0]["details"])
    assert run("--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["rows"]
    assert [row["table"] for row in listed] == [*PAPERS, *UNDECLARED]
    for arguments, word in (
        (("shen2023.7", folder), "outputs import"),
        (("finesure.9", folder), "--list"),
        (("unisumeval.13", folder), "meta card"),
        ((), "--list"),
        (("finesure.3",), "RUN"),
    ):
        assert run(*arguments) == 2
        assert word in capsys.readouterr().err
