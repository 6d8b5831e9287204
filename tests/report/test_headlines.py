"""Claims of headlines: few documents, equal systems, different documents, several judges."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import util
from io import StringIO
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from meta.makers import ratings
from report import fake_runs as fake
from rich.console import Console

from summeter.meta import compare
from summeter.meta._trust import CONSTANT, CORRECTED
from summeter.meta._versions import outcome
from summeter.meta.verdicts import ABOVE, UNDECIDED, Comparison
from summeter.records import Document, Judgment, Summary
from summeter.report import html, ranking
from summeter.report.build import page
from summeter.report.ranks import leading
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder
from summeter.scoring import Score, ScoreTable, SystemTable, system_scores

COLUMN = ("j", "j|v:1", "faithfulness")
SEEDED = np.random.default_rng(0)


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    file = Path(__file__).resolve().parents[2] / "benchmarks" / "headlines.py"
    spec = util.spec_from_file_location("headlines_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def table(values: Mapping[str, Mapping[str, float]]) -> SystemTable:
    """Return a table of scores by system and document."""
    scores = ScoreTable.of(
        Score(doc_id=document, system=system, judge="j", signature="j|v:1", model=None, aspect="faithfulness",
              value=value, n=1, missing=0, status="ok")
        for system, row in values.items() for document, value in row.items()
    )  # fmt: skip
    return SystemTable(system_scores(scores), scores)


def line(mean: float, documents: int, first: int = 0) -> dict[str, float]:
    noise = np.random.default_rng(7).normal(0, 0.01, first + documents)
    return {f"d{number}": mean + float(noise[number]) for number in range(first, first + documents)}


def best(systems: SystemTable) -> str | None:
    names = Comparison.of(systems, COLUMN).best
    assert len(names) < 2
    return next(iter(names), None)


def said(values: Mapping[str, Mapping[str, float]]) -> str:
    return leading(table(values), COLUMN, "j")


def test_differences_of_equal_systems_are_rarely_claimed(benchmark: ModuleType) -> None:
    assert benchmark.claims(300, 2) <= 0.06 * 300 + 8  # 5 % and two standard deviations
    assert benchmark.claims(4, 25) <= 1


def test_a_clear_difference_is_claimed_with_its_interval_and_p() -> None:
    birch = {name: value + (0.02 if place % 2 else -0.02) for place, (name, value) in enumerate(line(0.5, 12).items())}
    headline = said({"aster": line(0.9, 12), "birch": birch})
    assert headline.startswith("By j, aster leads on faithfulness, 0.90 [0.90, 0.90], and is better than birch: ")
    assert headline.endswith("+0.40 [0.39, 0.41], p < .001 after Holm over 1 pair.")


def test_an_interval_without_spread_is_not_shown() -> None:
    headline = said({name: dict.fromkeys(line(0, 12), value) for name, value in (("aster", 5.0), ("birch", 4.0))})
    assert headline == (
        "By j, aster leads on faithfulness, 5.00, and is better than birch: +1.00, p < .001 after Holm over 1 pair."
    )


def test_a_headline_claims_what_compare_claims() -> None:
    """Means are over the 3 documents that all share; two systems are compared on those that both share."""
    unlike = {"aster": line(0.9, 20), "birch": line(0.5, 20), "cedar": line(0.6, 10) | line(0.6, 10, 20)}
    unlike["dogwood"] = line(0.4, 3) | line(0.4, 17, 20)
    assert (
        "aster leads on faithfulness, 0.90, and is better than birch and cedar (p <= 0.05 after Holm over 6 pairs), "
        "but cannot be told apart from dogwood."
    ) in said(unlike)
    assert "Ranked on the 3 documents for which every system has a score" in said(unlike)
    assert best(table(unlike)) is None


def test_the_highest_does_not_lead_if_another_is_better_on_their_shared_documents() -> None:
    # aster is slightly ahead on the 12 documents that all share, birch far ahead on the 14 that only both share.
    shared = {f"d{number}": 0.6 for number in range(12)}
    unlike = {
        "aster": shared | line(0.2, 14, 12), "birch": dict.fromkeys(shared, 0.59) | line(0.8, 14, 12),
        "cedar": dict.fromkeys(shared, 0.5),
    }  # fmt: skip
    headline = said(unlike)
    assert headline.startswith(
        "By j, aster has the highest faithfulness, 0.60, but birch is better than aster on faithf"
    )
    compared = Comparison.of(table(unlike), COLUMN)
    assert {("aster", "cedar"), ("birch", "aster")} <= set(compared.better)
    assert (compared.leader, compared.best) == (None, frozenset())


def test_a_system_with_few_documents_is_left_out() -> None:
    scores = {"aster": line(0.9, 20), "birch": line(0.5, 20), "cedar": line(0.6, 3)}
    headline, ranked = said(scores), table(scores)
    assert "and is better than birch: +0.40, p < .001 after Holm over 3 pairs" in headline
    note = "Left out of the ranking: 1 system with scores for fewer than 6 documents (cedar 3)."
    assert headline.endswith(note)
    assert ranked.note(COLUMN) == note
    assert best(ranked) == "aster"
    assert ranked.ranking() == ["aster", "birch", "cedar"]
    cedar, aster = (ranked.compared(name, COLUMN) for name in ("cedar", "aster"))
    assert aster is not None
    assert aster.model_copy(update={"ranking": None}) == ranked.cell("aster", COLUMN)
    assert cedar is not None
    assert cedar == ranked.cell("cedar", COLUMN)
    assert (cedar.n, cedar.ranking, ranked.flag("cedar", COLUMN)) == (3, None, "not ranked")
    assert (aster.ranking, ranked.flag("aster", COLUMN)) == (1, None)


def test_the_best_of_several_must_be_better_than_all() -> None:
    apart = {"aster": line(0.9, 12), "birch": line(0.5, 12), "cedar": line(0.4, 12)}
    assert "aster leads on faithfulness, 0.90" in said(apart)
    assert "is better than each of the other 2 (p <= 0.05 after Holm over 3 pairs)" in said(apart)
    close = apart | {"birch": {name: value + (0.1 if place % 2 else -0.16)
                               for place, (name, value) in enumerate(apart["aster"].items())}}  # fmt: skip
    assert "aster leads on faithfulness" in said(close)
    assert "is better than cedar (p <= 0.05 after Holm over 3 pairs), but cannot be told apart from birch" in said(
        close
    )

    # A system that does not differ significantly from another is not marked as best.
    assert (best(table(apart)), best(table(close))) == ("aster", None)


def test_page_and_compare_rank_the_same_means() -> None:
    """Both leave out cedar, which has 3 documents, and rank the others on the 12 shared documents."""
    scores = {"aster": line(0.9, 20), "birch": line(0.5, 12), "cedar": line(0.6, 3)}
    by_document = {name: {system: row.get(name) for system, row in scores.items()} for name in scores["aster"]}
    judged = ratings(by_document, aspect="faithfulness")
    compared, ranked = compare(judged, permutations=50), table(scores)
    for name in scores:
        row, cell = compared.one(statistic="mean", system=name), ranked.compared(name, COLUMN)
        assert cell is not None
        assert row.value == pytest.approx(cell.value)
        assert (row.n, row.details["ranking"]) == (cell.n, cell.ranking)


def test_systems_are_ranked_on_shared_documents() -> None:
    # birch is ahead on its documents, which do not include the hard ones.
    hard, easy = line(0.2, 8), line(0.8, 8, 8)
    unlike = table({"aster": {k: v + 0.1 for k, v in {**hard, **easy}.items()}, "birch": easy})
    assert unlike.ranking() == ["aster", "birch"]
    assert best(unlike) == "aster"
    means = [unlike.cell(name, COLUMN) for name in ("aster", "birch")]
    assert [mean is not None and round(mean.value or 0, 1) for mean in means] == [0.6, 0.8]
    assert unlike.note(COLUMN) == (
        "Ranked on the 8 documents for which every system has a score (each has: aster 16, birch 8)."
    )
    assert "Ranked on the 8 documents" in str(unlike)


def test_without_a_shared_document_there_is_no_ranking() -> None:
    apart = table({"aster": line(0.9, 8), "birch": line(0.5, 8, 8)})
    assert best(apart) is None
    compared = apart.compared("aster", COLUMN)
    assert compared == apart.cell("aster", COLUMN)
    assert apart.flag("aster", COLUMN) == "not ranked"
    assert leading(apart, COLUMN, "j").startswith(
        "By j, nothing can be compared on faithfulness; aster, birch are not ranked. No document has"
    )
    assert apart.note(COLUMN) == (
        "No document has a score for every system (aster 8, birch 8): their means cannot be compared."
    )


def test_systems_without_a_common_document_are_ranked_in_groups() -> None:
    """A and B have documents 1 to 8, C and D 9 to 16, and E 5 to 12, of which each group shares only 4."""
    means = {"A": (0.9, 1), "B": (0.5, 1), "C": (0.4, 9), "D": (0.6, 9), "E": (0.7, 5)}
    values = {
        name: {f"d{number}": mean + 0.01 * (number % 3) for number in range(first, first + 8)}
        for name, (mean, first) in means.items()
    }
    apart = table(values)
    cells = {name: apart.compared(name, COLUMN) for name in means}
    assert {name: cell.ranking for name, cell in cells.items() if cell} == {"A": 1, "B": 1, "C": 2, "D": 2, "E": None}
    assert all(cell == apart.cell(name, COLUMN) for name, cell in cells.items() if name == "E")
    assert apart.ranking() == ["A", "B", "D", "C", "E"]
    assert [apart.flag(name, COLUMN) for name in means] == [*["ranking 1"] * 2, *["ranking 2"] * 2, "not ranked"]
    assert apart.note(COLUMN) == (
        "No document has a score for every system: A, B are ranked on 8 documents; C, D are ranked on 8 documents. "
        "Not ranked, because they share too few documents: E 8."
    )
    # The best of each ranking; C and E are not compared by their means.
    assert Comparison.of(apart, COLUMN).best == {"A", "D"}
    headline = said(values)
    assert "A leads on faithfulness, 0.91" in headline
    assert "D leads on faithfulness, 0.61" in headline
    # JSON of a run, the study and the terminal say the same.
    assert {row["system"]: row["ranking"] for row in apart.to_dicts()} == {"A": 1, "B": 1, "C": 2, "D": 2, "E": None}
    study = compare(ratings({f"d{n}": {name: row.get(f"d{n}") for name, row in values.items()} for n in range(1, 17)},
                            aspect="faithfulness"), permutations=300)  # fmt: skip
    for row in study.where(statistic="mean"):
        cell = cells[str(row.system)]
        assert cell is not None
        assert (row.value, row.n, row.details["ranking"]) == (pytest.approx(cell.value), cell.n, cell.ranking)
    clusters = {row.system: (row.details["ranking"], row.value) for row in study.where(statistic="cluster")}
    assert clusters == {"A": (1, 1.0), "B": (1, 2.0), "C": (2, 2.0), "D": (2, 1.0), "E": (None, None)}
    console = Console(file=StringIO(), width=80)
    ranking(apart, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert [shown.count(flag) for flag in ("ranking 1", "ranking 2", "not ranked")] == [2, 2, 1]


def test_documents_shared_by_small_groups() -> None:
    """A and B have documents 1 to 5, C and D 6 to 10, E 3 to 8: three documents of each group."""
    values = {name: dict.fromkeys((f"d{n}" for n in range(first, last + 1)), mean)
              for name, mean, first, last in (("A", 1.0, 1, 5), ("B", 2.0, 1, 5), ("C", 3.0, 6, 10), ("D", 4.0, 6, 10),
                                              ("E", 5.0, 3, 8))}  # fmt: skip
    small = table(values)
    shown = {name: (cell.value, cell.n, cell.ranking) for name in values if (cell := small.compared(name, COLUMN))}
    assert shown == {"A": (1.0, 5, 1), "B": (2.0, 5, 1), "C": (3.0, 5, 2), "D": (4.0, 5, 2), "E": (5.0, 6, None)}
    assert small.ranking() == ["B", "A", "D", "C", "E"]
    assert Comparison.of(small, COLUMN).best == frozenset()  # too few documents


Judge = Callable[[Document, Summary, JudgeEntry], list[Judgment]]


def favouring(system: str) -> Judge:
    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        place = int(document.id.removeprefix("d")) % 3
        value = (0.9 if summary.system == system else 0.4) + 0.01 * place
        return [fake.judgment(document, summary, entry, "faithfulness", value=value)]

    return judge


def two_judges(folder: Path, first: str, second: str) -> RunFolder:
    rows = [
        {"doc_id": f"d{number}", "system": system, "document": f"It rained {number} times.", "summary": "It rained."}
        for number in range(8)
        for system in ("aster", "birch", "cedar")
    ]
    one, two = (
        fake.FACT_CHECK.model_copy(update={"name": name, "signature": f"{name}|v:1", "file": name, "reduce": "mean"})
        for name in ("strict", "kind")
    )
    return fake.make(folder, rows, ((one, favouring(first)), (two, favouring(second))))


def test_a_headline_reports_disagreeing_judges(tmp_path: Path) -> None:
    (run,) = page([two_judges(tmp_path / "a", "aster", "birch")]).runs
    disagree = "On faithfulness, the judges disagree: strict puts aster highest; kind puts birch highest."
    assert run.verdict[0] == disagree
    assert run.verdict[1].startswith("By strict, aster leads on faithfulness")
    assert run.verdict[2].startswith("By kind, birch leads on faithfulness")
    (run,) = page([two_judges(tmp_path / "b", "cedar", "cedar")]).runs
    assert run.verdict[-1] == ("On faithfulness, both judges put cedar highest.")
    (run,) = page([two_judges(tmp_path / "c", "none", "none")]).runs
    assert run.verdict[-1] == ("On faithfulness, both judges find aster, birch and cedar equal.")
    (run,) = page([two_judges(tmp_path / "d", "none", "birch")]).runs
    assert run.verdict[0] == (
        "On faithfulness, the judges disagree: strict finds aster, birch and cedar equal; kind puts birch highest."
    )


def test_a_change_between_runs_needs_six_documents_and_a_corrected_p(tmp_path: Path) -> None:
    first, second = two_judges(tmp_path / "a", "aster", "aster"), two_judges(tmp_path / "b", "birch", "birch")
    (change,) = page([first, second]).comparisons
    rows = {row.system: row for column in (change.differences[0], change.by_group[0]) for row in column.rows}
    assert {system: outcome(row) for system, row in rows.items()} == {
        None: "not told apart", "aster": "worse", "birch": "better", "cedar": "unchanged"
    }  # fmt: skip
    row = rows["birch"]
    # Two of the 2^8 flips reach it; Holm over two judges with three systems each.
    assert row.details["p_holm"] == pytest.approx(6 * 2 / 2**8)
    assert row.low is not None
    assert row.low > 0


def test_agreement_with_people_is_compared_with_chance(tmp_path: Path) -> None:
    def labelled(right: Callable[[int], int]) -> tuple[list[dict[str, object]], Judge]:
        rows: list[dict[str, object]] = [
            {"doc_id": f"d{number}", "system": "aster", "document": f"It rained {number} times.",
             "summary": "It rained.", "human": {"sentence_labels": [number % 2]}}
            for number in range(40)
        ]  # fmt: skip

        def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            label = right(int(document.id.removeprefix("d")))
            value = 0.5 + (0.02 if label else -0.3)
            unit = {"unit": "sentence", "index": 0, "value": value, "label": label}
            return [fake.judgment(document, summary, entry, "faithfulness", **unit)]

        return rows, judge

    entry = fake.FACT_CHECK.model_copy(update={"threshold": 0.36})
    for right, verdict in ((lambda number: number % 2, ABOVE), (lambda number: number // 2 % 2, UNDECIDED)):
        rows, judge = labelled(right)
        run = fake.make(tmp_path / verdict.replace(" ", "-"), rows, ((entry, judge),))
        made = page([run])
        ((source, row, trusted),) = made.agreements
        assert (source, row.aspect, row.n, row.details["verdict"]) == ("mock.fact_check", "faithfulness", 40, verdict)
        assert trusted is not None
        assert trusted.details["verdict"] == (CORRECTED if verdict == ABOVE else CONSTANT)
        caution = "On faithfulness, mock.fact_check is not better than a constant judge"
        assert any(sentence.startswith(caution) for sentence in made.runs[0].verdict) == (verdict != ABOVE)
        head = html([run], tmp_path / "page.html").read_text("utf-8").partition("<tbody>")[0]
        mark = "" if verdict == ABOVE else '<span class="badge">!</span> '
        assert f'>{mark}agreement {row.value:.2f}</span><span class="by">{trusted.details["verdict"]}</span>' in head
    # No value is near the judge's threshold.
    decisions = {verdict.decision for view in made.items for verdict in view.verdicts}
    assert decisions == {"supported 0.52, clear", "unsupported 0.20, clear"}
    assert page([fake.make(tmp_path / "none", judges=((fake.NOVELTY, fake.novelty),))]).agreements == ()


def test_a_verdict_near_its_threshold_is_close(tmp_path: Path) -> None:
    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        value = {"d0": 0.1, "d1": 0.48, "d2": 0.52, "d3": 0.9}[document.id]
        unit = {"unit": "sentence", "index": 0, "value": value, "label": int(value >= 0.5)}
        return [fake.judgment(document, summary, entry, "faithfulness", **unit)]

    rows = [
        {"doc_id": f"d{n}", "system": "s", "document": f"It rained {n} times.", "summary": "It rained."}
        for n in range(4)
    ]

    def decisions(entry: JudgeEntry, folder: str) -> list[str]:
        made = page([fake.make(tmp_path / folder, rows, ((entry, judge),))])
        return sorted(verdict.decision for view in made.items for verdict in view.verdicts)

    assert decisions(fake.FACT_CHECK, "stated") == [
        "supported 0.52, close", "supported 0.90, clear", "unsupported 0.10, clear", "unsupported 0.48, close",
    ]  # fmt: skip
    # A judge without a threshold has neither close nor clear values.
    assert decisions(fake.FACT_CHECK.model_copy(update={"threshold": None}), "none") == [
        "supported 0.52", "supported 0.90", "unsupported 0.10", "unsupported 0.48",
    ]  # fmt: skip
