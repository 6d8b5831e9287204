"""Studies in a report: blocks and page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from report import fake_runs as fake
from report import studies as made
from report import xss
from report.test_html import ATTRIBUTES, TAGS, read

from summeter.meta.results import Study, digits
from summeter.meta.verdicts import Comparison
from summeter.records import UsageError
from summeter.report import html
from summeter.report.blocks import StudyBlock
from summeter.report.build import page
from summeter.report.ranks import ranks
from summeter.report.studies import STUDIES, about
from summeter.scoring import SystemScore, SystemTable


def block(*given: Study) -> StudyBlock:
    found = page(given).studies
    assert len(found) == 1
    return found[0]


def test_the_table_of_a_study_and_its_columns() -> None:
    found = block(made.correlation())
    assert found.title == "Correlation with people"
    table = found.tables[0]
    assert table.title is None
    assert (table.meaning or "").startswith("Correlation of a judge's scores with people's")
    assert table.columns == ("judge", "aspect", "level", "average", "system", "domain", "statistic")
    assert table.names == (
        ("rts", "coherence", "summary", "pooled", "", "", "pearson"),
        ("rts", "coherence", "summary", "pooled", "", "news", "pearson"),
        ("rts", "rouge1 against completeness", "summary", "pooled", "", "", "pearson"),
        ("rts", "coherence", "summary", "pooled", "cedar", "", "pearson"),
    )
    assert not table.folded
    assert [(row.value, row.status == "no_interval", row.reason) for row in table.rows] == [
        (0.5123, False, None), (-0.25, True, "too few documents"), (0.1, False, None),
        (None, False, "the judge's values are all the same"),
    ]  # fmt: skip
    assert (found.signatures, found.people, found.intervals) == (("rts|v:1",), (made.PEOPLE,), (made.INTERVAL,))
    assert found.notes == ("fluency was left out: people gave no votes",)


def test_verdicts_occur_once_and_counts_have_no_decimals() -> None:
    found = block(made.comparison())
    assert found.verdicts == (
        "A and B cannot be told apart on coherence: +0.04 [-0.10, 0.20], p = .40 after Holm over 2 pairs",
        "A is better than C on coherence: +0.05, p = .010 after Holm over 2 pairs",
    )
    # A cluster is a count; the mean of two clusters has decimals.
    assert [digits(row) for row in found.tables[0].rows] == [3, 3, 3, 0, 3]


def test_each_type_of_row_has_a_table_and_no_path_is_shown() -> None:
    found = block(made.preferences())
    assert found.title == "Pairwise ranking"
    assert [table.title for table in found.tables] == ["Pairs of systems", "Correct preferences"]
    assert found.tables[1].columns == ("run", "judge", "aspect", "pairs", "statistic")
    assert found.tables[1].names[0] == ("first", "rts", "coherence", "chain", "correct_preferences")


def test_studies_of_one_name_share_a_table() -> None:
    summary = Study("correlation", [made.row(level="summary")], ["one"])
    system = Study("correlation", [made.row(level="system")], ["one", "two"])
    found = block(summary, system)
    assert found.notes == ("one", "two")
    assert found.tables[0].names == (
        ("rts", "coherence", "summary", "pearson"), ("rts", "coherence", "system", "pearson"),
    )  # fmt: skip
    again = block(summary, Study("correlation", [made.row(level="summary", value=0.75)]))
    assert again.tables[0].columns[0] == "study"
    assert [names[0] for names in again.tables[0].names] == ["1", "2"]


def test_every_study_has_a_title(root: Path) -> None:
    code = "\n".join(file.read_text("utf-8") for file in (root / "src" / "summeter" / "meta").glob("*.py"))
    names = set(re.findall(r"""(?:\bstudy=|"study": |STUDY = |_judge_rows\(part, |Study\()"([a-z_]+)\"""", code))
    assert len(names) > 20
    assert names <= set(STUDIES)
    assert all(about(name).title != name for name in names)


def text_of(html_text: str) -> str:
    bare = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", html_text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", bare)


def test_a_page_of_studies_only(tmp_path: Path) -> None:
    studies = [made.correlation(), made.comparison()]
    text = html(studies, tmp_path / "page.html").read_text(encoding="utf-8")
    found = read(text)
    assert found.tags <= TAGS
    assert 'id="ranking"' not in text
    assert 'id="failures"' not in text
    said = text_of(text)
    assert "<title>Correlation with people · Significance of differences · summeter report</title>" in text
    assert "0.512 [0.200, 0.800] 0.031 1,200 3" in said
    assert "−0.250 no interval too few documents &lt;.001 9 0" in said
    assert "undefined: the judge&#39;s values are all the same" in said
    assert "A is better than C on coherence: +0.05, p = .010 after Holm over 2 pairs" in said
    for line in ("rts|v:1", made.PEOPLE, made.INTERVAL, "fluency was left out: people gave no votes"):
        assert line in said


def test_runs_and_studies_in_any_order(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    first = html([run, made.correlation()], tmp_path / "a.html").read_text(encoding="utf-8")
    second = html([made.correlation(), run], tmp_path / "b.html").read_text(encoding="utf-8")
    assert first == second
    positions = [first.index(f'id="{name}"') for name in ("ranking", "strengths", "studies", "failures", "items")]
    assert positions == sorted(positions)
    assert 'href="#studies"' in first
    assert 'id="studies"' not in html([run], tmp_path / "c.html").read_text(encoding="utf-8")


def test_hostile_texts_in_every_field(tmp_path: Path) -> None:
    text = html([made.hostile(), xss.run(tmp_path / "run")], tmp_path / "page.html").read_text(encoding="utf-8")
    plain = html([fake.make(tmp_path / "plain")], tmp_path / "plain.html").read_text(encoding="utf-8")
    found = read(text)
    assert found.tags <= TAGS
    assert {name for _, name, _ in found.attributes} <= ATTRIBUTES
    assert found.raw["style"] == read(plain).raw["style"]
    assert found.raw["script"] == read(plain).raw["script"]
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20


def test_invalid_arguments() -> None:
    with pytest.raises(UsageError, match="at least one run or study"):
        page([])
    with pytest.raises(UsageError, match="takes runs and studies, got str"):
        page(["run"])  # type: ignore[list-item]


def test_means_that_differ_by_rounding_are_equal() -> None:
    def mean(system: str, value: float) -> SystemScore:
        return SystemScore(
            system=system, judge="j", signature="j|v:1", model=None, aspect="a", value=value, low=None, high=None, n=6,
            missing=0, interval="none",
        )  # fmt: skip

    # 0.1 + 0.2 is 0.30000000000000004.
    means = [mean("x", value).model_copy(update={"ranking": 1}) for value in (0.3, 0.1 + 0.2, 0.2)]
    assert ranks(means) == [1, 1, 3]
    # Means alone do not show that one is best.
    table = SystemTable([mean(name, value) for name, value in zip("xyz", (0.3, 0.1, 0.2), strict=True)])
    assert Comparison.of(table, ("j", "j|v:1", "a")).best == frozenset()
