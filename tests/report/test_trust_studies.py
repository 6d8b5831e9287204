"""The section on a judge that `trust` studied: what decides, its parts, and pages from the command and from JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from meta.test_trust import command, simulated, write
from report import studies as made
from report import xss
from report.test_html import ATTRIBUTES, TAGS, read

from summeter.meta.results import read_study
from summeter.pages.figures import Rows
from summeter.report import html, page


def test_the_ruler_and_the_numbers_that_decide() -> None:
    study = made.trust()
    (block,) = page([study]).trusted
    assert (block.name, block.verdict) == ("a", "useful with correction")
    agreement = study.one(statistic="agreement")
    assert block.facts[0][1].startswith(f"{agreement.value:.2f} [")
    assert block.facts[1] == ("labels that it saves", f"{agreement.details['saving']:.0%}")
    assert block.facts[2][1] == "0 of 2 (a constant: 0 of 2)"
    ruler = block.parts[0].figures[0].panels[0]
    assert isinstance(ruler, Rows)
    ceiling = study.one(statistic="human_ceiling")
    values = [(line.value, line.low) for line in ruler.rows]
    assert values[:2] == [(agreement.value, agreement.low), (ceiling.value, ceiling.low)]
    assert values[2][0] == ceiling.details["judge"]
    assert len(values) == 7
    titles = [part.title for part in block.parts]
    assert titles == [
        "Agreement", "Alternative annotator test", "Errors and rates", "Biases", "Labels needed", "Without a value",
    ]  # fmt: skip
    assert page([study]).title == "How far can a be trusted?"
    assert not page([study]).studies


@pytest.mark.parametrize("turn", range(0, len(xss.CORPUS), 5))
def test_hostile_names_stay_texts(tmp_path: Path, turn: int) -> None:
    texts = [*xss.CORPUS[turn:], *xss.CORPUS[:turn]]
    found = read(html([made.trust(texts)], tmp_path / "page.html").read_text(encoding="utf-8"))
    plain = read(html([made.trust()], tmp_path / "plain.html").read_text(encoding="utf-8"))
    assert found.tags <= TAGS
    assert {name for _, name, _ in found.attributes} <= ATTRIBUTES
    assert found.raw == plain.raw


def test_the_page_of_the_command_and_of_its_json(tmp_path: Path) -> None:
    file, out = tmp_path / "votes.csv", tmp_path / "page.html"
    rows = simulated(7, 90, "perfect")
    write(file, [{**row, "item": row["item"] // 2, "model": f"m{row['item'] % 2}"} for row in rows])
    assert command(str(file), "-o", str(out), "--resamples", "50").exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert "How far can judge be trusted?" in text
    assert "judge</bdi>: replaces people here" in text
    assert str(tmp_path) not in text
    study = tmp_path / "study.json"
    assert command(str(file), "-o", str(study), "--resamples", "50").exit_code == 0
    assert html([read_study(study)], tmp_path / "again.html").read_text(encoding="utf-8").strip() == text.strip()
    printed = json.loads(study.read_text(encoding="utf-8"))
    study.write_text(json.dumps({**printed, "rows": printed["rows"][:1]}))
    part = page([read_study(study)])
    assert not part.trusted
    assert len(part.studies) == 1


def test_several_judges_have_a_table_of_verdicts() -> None:
    both = page([made.trust(), made.trust(("e. g. this", "f", "g", "h"))])
    verdict = "useful with correction"
    assert [row[:2] for row in both.verdicts.rows] == [("a", verdict), ("e. g. this", verdict)]
    assert both.trusted[0].sentence == both.trusted[1].sentence
