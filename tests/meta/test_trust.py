"""`summeter trust`: verdicts on simulated judges, figures by hand, files of any origin, and the command."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import summeter as sm
from summeter.cli.main import app, main

STATISTICS = {
    "agreement", "human_ceiling", "baseline_constant", "baseline_majority", "baseline_length", "baseline_random",
    "alt_test_winning_rate", "alt_test_advantage_probability", "alt_test_winning_rate_of_constant", "sensitivity",
    "specificity", "rate_raw", "rate_corrected", "rate_ppi", "system_ranking", "labels_needed",
}  # fmt: skip


def simulated(seed: int, items: int, judge: str, share: float = 0.5, accuracy: float = 0.85) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = []
    for number in range(items):
        truth = int(rng.random() < share)
        people = {f"human_{j}": truth if rng.random() < accuracy else 1 - truth for j in (1, 2, 3)}
        said = {"perfect": truth, "constant": 1, "random": int(rng.random() < share)}[judge]
        rows.append({"item": number, "judge": said, **people})
    return rows


@pytest.mark.parametrize(
    ("judge", "verdict"),
    [
        ("perfect", "replaces people here"),
        ("constant", "not better than a constant"),
        ("random", "not better than a constant"),
    ],
)
@pytest.mark.parametrize("share", [0.5, 0.85])
def test_verdicts_on_simulated_judges(judge: str, verdict: str, share: float) -> None:
    """`benchmarks/trust.py` repeats this 200 times and with ratings."""
    given = Counter(sm.trust(simulated(seed, 300, judge, share), resamples=100).verdict for seed in range(4))
    assert given == {verdict: 4}
    assert sm.trust(simulated(1, 20, judge, share), resamples=100).verdict == "too few labels to tell"


def test_a_constant_judge_that_passes_the_plain_test_is_named() -> None:
    study = sm.trust(simulated(3, 300, "constant", 0.92, 0.95), resamples=100)
    assert study.one(statistic="alt_test_winning_rate").value == 1.0
    assert study.one(statistic="alt_test_winning_rate_of_constant").value == 1.0
    assert study.one(statistic="alt_test_winning_rate_balanced").value == 0.0
    assert study.verdict == "not better than a constant"
    assert "passing proves nothing" in " ".join(str(study).split())


def test_figures_by_hand() -> None:
    """Forty labelled items: the judge finds 15 of 20 ones and 18 of 20 zeros; of 60 others, it calls 33 good.

    Cohen's kappa: 33 of 40 agree, and 20 * 17 + 20 * 23 of 1,600 by chance, so (0.825 - 0.5) / 0.5. The corrected rate:
    (0.55 + 0.9 - 1) / (0.75 + 0.9 - 1).
    """
    labelled = [(1, 1)] * 15 + [(0, 1)] * 5 + [(0, 0)] * 18 + [(1, 0)] * 2
    rows = [{"item": i, "judge": said, "human": truth} for i, (said, truth) in enumerate(labelled)]
    rows += [{"item": 40 + i, "judge": int(i < 33), "human": None} for i in range(60)]
    study = sm.trust(rows, resamples=200)
    value = {row.statistic: row for row in study}
    assert value["agreement"].value == pytest.approx(0.65)
    assert (value["agreement"].n, value["agreement"].missing) == (40, 60)
    assert (value["sensitivity"].value, value["specificity"].value) == (0.75, 0.9)
    assert value["rate_raw"].value == 0.5
    assert value["rate_corrected"].value == pytest.approx(0.45 / 0.65)
    assert value["rate_corrected"].n == 60
    assert value["rate_ppi"].n == 40
    assert value["bias"].value == pytest.approx(-3 / 40)
    assert value["alt_test_winning_rate"].value is None
    assert "2 annotators" in (value["alt_test_winning_rate"].reason or "")
    assert study.verdict == "useful with correction"


def test_bias_towards_the_judges_own_family() -> None:
    """The judge gives 4 of 10 summaries of its family, and 1 of 10 of the other, one more than people do."""
    rows = [
        {"item": f"{system}{i}", "document": i, "system": system, "judge": 1 + (i < generous), "human": 1 + (i > 8)}
        for system, generous in (("own", 4), ("other", 1)) for i in range(10)
    ]  # fmt: skip
    families: dict[str, Any] = {"families": {"own": "a", "other": "b"}, "resamples": 50}
    row = sm.trust(rows, document="document", judge_families={"judge": "a"}, **families).one(
        statistic="bias_own_family"
    )
    assert row.value == pytest.approx(0.3)
    assert row.low is not None
    assert row.low < 0.3 < (row.high or 0)
    assert (row.n, row.details["family"], row.details["own_systems"]) == (20, "a", ["own"])
    for more, why in (({}, "family is unknown"), ({"judge_families": {"judge": "c"}}, "no system belongs")):
        undefined = sm.trust(rows, **families, **more).one(statistic="bias_own_family")
        assert undefined.value is None
        assert why in (undefined.reason or "")


def test_ratings_on_another_scale_are_for_ranking_only() -> None:
    rng = random.Random(4)
    rows = []
    for number in range(120):
        truth = rng.randint(1, 5)
        people = {f"human_{j}": min(5, max(1, truth + rng.choice((-1, 0, 0, 1)))) for j in (1, 2)}
        row = {"item": number // 2, "system": f"s{number % 2}", "judge": 20 * truth + rng.gauss(0, 20), **people}
        rows.append({**row, "text": "word " * (10 + truth)})
    study = sm.trust(rows, resamples=100)
    assert study.verdict == "for ranking only"
    assert study.one(statistic="agreement").details["coefficient"] == "spearman"
    assert study.one(statistic="baseline_length").value > 0.9
    assert study.one(statistic="bias").value is None
    assert study.one(statistic="rate_raw").reason == "on the judge's scale"
    assert study.one(statistic="rate_ppi").value == pytest.approx(3, abs=0.5)
    assert {row.details["systems"] for row in study.where(statistic="system_ranking")} == {2}


def test_reversed_pairs_of_systems_are_named() -> None:
    means = {"a": (2, 4), "b": (4, 2), "c": (1, 1)}
    rows = [
        {"item": f"{system}{i}", "document": i, "system": system, "judge": judge + i % 2, "human": people + i % 3 % 2}
        for system, (judge, people) in means.items() for i in range(20)
    ]  # fmt: skip
    row = sm.trust(rows, document="document", resamples=20).one(statistic="system_ranking")
    assert row.details["reversed_pairs"] == [["a", "b"]]
    assert [row.details[name] for name in ("significant", "confirmed", "reversed")] == [3, 2, 1]
    # The column of documents is read by its own name, even if systems are in a column with another name.
    renamed = [{**{name: row[name] for name in ("item", "judge", "human")}, "system": row["document"],
                "model": row["system"]} for row in rows]  # fmt: skip
    same = sm.trust(renamed, document="system", system="model", resamples=20)
    assert same.one(statistic="system_ranking").details["reversed_pairs"] == [["a", "b"]]
    assert same.one(statistic="agreement").details["documents"] == 20


def test_long_and_wide_files_and_labels_agree(tmp_path: Path) -> None:
    rng = random.Random(5)
    wide, long = [], []
    for number in range(60):
        truth = rng.choice(("good", "poor", "broken"))
        votes = {
            name: truth if rng.random() < 0.8 else rng.choice(("good", "poor", "broken"))
            for name in ("llm_judge", "human_a", "human_b")
        }
        wide.append({"id": number, **votes})
        long += [{"id": number, "annotator": name, "label": vote} for name, vote in votes.items()]
    write(tmp_path / "wide.csv", wide)
    (tmp_path / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in long))
    studies = [sm.trust(tmp_path / name, resamples=50) for name in ("wide.csv", "long.jsonl")]
    values = [{row.statistic: row.value for row in study} for study in studies]
    assert values[0] == values[1]
    assert values[0]["sensitivity"] is None
    assert sm.trust(long, positive="good", resamples=20).one(statistic="sensitivity").value is not None
    mixed = sm.trust([{"item": i, "judge": i % 4 / 4 + 0.1, "human": ("no", "Yes")[i % 4 > 1]} for i in range(40)])
    assert mixed.one(statistic="sensitivity").value == 1.0
    alike = sm.trust(wide, similarity=lambda first, second: float(first == second), resamples=20)
    assert alike.one(statistic="alt_test_winning_rate").value == values[0]["alt_test_winning_rate"]


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    with file.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["trust", *words], env={"COLUMNS": "80"})


def test_the_command_prints_one_screen_and_json(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    write(
        file, [{**row, "item": row["item"] // 3, "model": f"m{row['item'] % 3}"} for row in simulated(7, 90, "perfect")]
    )
    text = command(str(file))
    assert text.exit_code == 0, text.output
    lines = text.stdout.splitlines()
    assert lines[0].startswith("judge: replaces people here.")
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    printed = json.loads(command(str(file), "--json", "--resamples", "50").stdout)
    assert (printed["schema"], printed["verdict"]) == ("summeter/1", "replaces people here")
    assert {row["statistic"] for row in printed["rows"]} >= STATISTICS
    assert {row["study"] for row in printed["rows"]} == {"trust"}
    assert command(str(file), "-o", str(tmp_path / "card.md")).exit_code == 0
    card = (tmp_path / "card.md").read_text()
    assert card.startswith("## judge: replaces people here\n")
    assert "| agreement with people |" in card
    assert all(text in card for text in ("Rule: ", f"summeter {sm.__version__}", r"judge\|file:votes.csv\|v:1"))


def test_the_command_on_a_run(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sm.evaluate(root / "examples/nine_domains/summaries.jsonl", ["support"], out="run")
    page = (root / "docs/trust.md").read_text(encoding="utf-8")
    assert command("run", "--aspect", "completeness").stdout in page
    by_domain = sm.trust("run", aspect="completeness", resamples=20).where(statistic="bias", system=None)
    assert len([row for row in by_domain if row.domain]) == 9


@pytest.mark.parametrize("words", [("none.csv",), ("votes.csv", "--gold", "x"), ("votes.csv", "--scale", "x")])
def test_wrong_input_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("votes.csv"), simulated(8, 30, "perfect"))
    with pytest.raises(SystemExit, match="2"):
        main(["trust", *words])
    assert "Traceback" not in capsys.readouterr().err
