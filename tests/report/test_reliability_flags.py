"""Reports flag systems on which the two ratings of one judge do not agree."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from report import fake_runs as fake
from rich.console import Console

from summeter.records import Document, Judgment, Summary
from summeter.report import html, markdown, reliabilities, trust
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

# Ratings on d0, d1, d2. Spearman of the two: aster 1; birch -1; cedar is constant in one, so it is undefined.
RTS = {"aster": (1, 2, 3), "birch": (1, 2, 3), "cedar": (2, 2, 2)}
MCQ = {"aster": (2, 4, 5), "birch": (3, 2, 1), "cedar": (1, 2, 3)}
ROWS: list[fake.Row] = [
    {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}.", "summary": f"Rain, says {system}."}
    for n in range(3)
    for system in RTS
]


def entry(name: str, model: str = "scripted/one", aspect: str = "coherence") -> JudgeEntry:
    signature = f"{name}|judge:{model}|aspect:{aspect}|v:1"
    return JudgeEntry(
        name=name, signature=signature, model=model, models={"judge": model}, aspects=(aspect,), reduce="share",
        file=f"{name}.{aspect}.{model[-3:]}",
    )  # fmt: skip


def rate(document: Document, summary: Summary, judge: JudgeEntry) -> list[Judgment]:
    table = RTS if judge.name == "rts" else MCQ
    value = float(table[summary.system][int(document.id[1:])])
    return [fake.judgment(document, summary, judge, judge.aspects[0], unit="summary", value=value, reason="so")]


def make(folder: Path, *judges: JudgeEntry) -> RunFolder:
    return fake.make(folder, ROWS, tuple((judge, rate) for judge in judges))


def test_systems_with_a_low_rho_are_flagged(tmp_path: Path) -> None:
    run = make(tmp_path / "run", entry("rts"), entry("mcq"))
    (block,) = reliabilities([run])
    assert [(row.system, row.value, block.flagged(row)) for row in block.rows] == [
        ("aster", pytest.approx(1.0), False), ("birch", pytest.approx(-1.0), True), ("cedar", None, True),
    ]  # fmt: skip
    assert "constant" in str(block.rows[2].reason)
    assert block.sentence == (
        "On coherence, rts and mcq correlate weakly (rho under 0.40) on 1 of 3 systems: birch. Check the judge's "
        "scores of these by hand. The correlation of rts and mcq on coherence is undefined for cedar."
    )


def test_flags_on_page_terminal_and_markdown(tmp_path: Path) -> None:
    run = make(tmp_path / "run", entry("rts"), entry("mcq"))
    page = html([run], tmp_path / "page.html").read_text("utf-8")
    assert 'id="reliability"' in page
    assert page.count('<span class="badge">check</span>') == 2
    out = StringIO()
    trust(reliabilities([run]), Console(file=out, width=300))
    assert "rho by system: aster 1.00, birch -1.00 !, cedar - !" in out.getvalue()
    assert "- Reliability: On coherence" in markdown(run.summary(), (), reliabilities([run]))


@pytest.mark.parametrize("failed", ["rts", "mcq"])
def test_no_block_if_one_of_the_two_judges_has_no_scores(tmp_path: Path, failed: str) -> None:
    def rate_one(document: Document, summary: Summary, judge: JudgeEntry) -> list[Judgment]:
        return [] if judge.name == failed else rate(document, summary, judge)

    run = fake.make(tmp_path / "run", ROWS, ((entry("rts"), rate_one), (entry("mcq"), rate_one)))
    assert reliabilities([run]) == ()
    assert 'id="reliability"' not in html([run], tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("other", [entry("mcq", "scripted/two"), entry("mcq", aspect="fluency"), entry("stareval")])
def test_no_block_for_different_models_aspects_or_prompts(tmp_path: Path, other: JudgeEntry) -> None:
    run = make(tmp_path / "run", entry("rts"), other)
    assert reliabilities([run]) == ()
    assert 'id="reliability"' not in html([run], tmp_path / "page.html").read_text("utf-8")
