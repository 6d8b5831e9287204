"""Pairs in the report, in the terminal and in Markdown, compared with the hand counts of `duel_runs`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from report import duel_runs as duels
from report import fake_runs as fake
from rich.console import Console

from summeter.records import Judgment, Target
from summeter.report import html, markdown, pairs
from summeter.report.build import Page, page
from summeter.report.head_to_head import verdict
from summeter.report.views import views
from summeter.report.words import verdict as verdict_of
from summeter.scoring import PairScore


@pytest.fixture(scope="module")
def only(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page([duels.make(tmp_path_factory.mktemp("only") / "run")])


def scores(folder: Path) -> list[PairScore]:
    return duels.make(folder / "run").pairs()


def printed(found: list[PairScore], *, terminal: bool = False) -> str:
    out = io.StringIO()
    pairs(found, Console(file=out, force_terminal=terminal, width=100))
    return out.getvalue()


class TestTheMatrix:
    def test_rows_over_columns_the_most_preferred_first(self, only: Page) -> None:
        (found,) = only.head_to_head
        # Mean preference: aster (0.9375 + 0.5) / 2 = 0.72, cedar (0.5 + 4/7) / 2 = 0.54,
        # birch (0.0625 + 3/7) / 2 = 0.25.
        assert found.systems == ("aster", "cedar", "birch")
        assert (found.title, found.source, found.signature) == ("fluency", "mock.duel", duels.DUEL.signature)
        assert [found.cells[at][at] for at in range(3)] == [None] * 3
        over, under = found.cells[0][2], found.cells[2][0]
        assert over is not None
        assert under is not None
        assert (over.value, over.n, over.missing, over.flip_rate, over.settled) == (0.9375, 8, 0, 1 / 8, True)
        assert (under.value, under.n, under.flip_rate, under.settled) == (0.0625, 8, 1 / 8, True)
        assert over.ends[0] is not None
        assert under.ends[1] == 1 - over.ends[0]

    def test_a_tie_and_a_missing_document(self, only: Page) -> None:
        tie, missing = only.head_to_head[0].cells[0][1], only.head_to_head[0].cells[1][2]
        assert tie is not None
        assert missing is not None
        assert (tie.value, tie.flip_rate, tie.settled) == (0.5, 1.0, False)
        assert missing.value == pytest.approx(4 / 7)
        assert (missing.n, missing.missing, missing.flip_rate, missing.settled) == (7, 1, 0.0, False)

    def test_the_same_in_words(self, only: Page) -> None:
        preferred, changed = only.head_to_head[0].sentences
        assert preferred == (
            "On fluency, 1 of 3 pairs can be told apart: aster is preferred to birch (0.94). "
            "The others cannot be told apart."
        )
        # 8 + 8 + 7 in both orders; 1 + 8 + 0 changed.
        assert changed == (
            "Of 23 pairs of summaries judged in both orders, 9 (39 %) got a verdict that changed with the order. "
            "Such a verdict counts as a tie."
        )
        assert only.runs[0].verdict == (preferred,)

    def test_settled_pairs_are_listed_by_who_is_preferred(self, tmp_path: Path) -> None:
        def by_name(document: fake.Document, summary: fake.Summary, entry: fake.JudgeEntry) -> list[Judgment]:
            rivals = [name for name in duels.SYSTEMS if name != summary.system]
            return [
                fake.judgment(document, summary, entry, "fluency", unit="pair", rival=name,
                              value=float(summary.system < name))
                for name in rivals
            ]  # fmt: skip

        (found,) = page([fake.make(tmp_path / "r", duels.rows(), ((duels.DUEL, by_name),))]).head_to_head
        assert found.sentences[0] == (
            "On fluency, 3 of 3 pairs can be told apart: aster is preferred to birch (1.00) and cedar (1.00); "
            "birch is preferred to cedar (1.00)."
        )


class TestWordsOnOnePair:
    def said(self, folder: Path, *values: float | None, both: bool = True) -> tuple[str, str]:
        """Two systems; `values` are the verdicts with aster shown first, by document."""

        def judge(document: fake.Document, summary: fake.Summary, entry: fake.JudgeEntry) -> list[Judgment]:
            value, first = values[int(document.id[1:])], summary.system == "aster"
            if not (first or both):
                return []
            fields: fake.Row = {"unit": "pair", "rival": "birch" if first else "aster"}
            fields |= {"status": "refused", "reason": "no"} if value is None else {
                "value": value if first else 1 - value}  # fmt: skip
            return [fake.judgment(document, summary, entry, "fluency", **fields)]

        rows = duels.rows(("aster", "birch"), len(values))
        run = fake.make(folder / "r", rows, ((duels.DUEL, judge),))
        (found,) = page([run]).head_to_head
        assert verdict(views([run])[0]) == found.sentences[0]
        return found.sentences[0], found.sentences[1]

    def test_settled(self, tmp_path: Path) -> None:
        assert self.said(tmp_path, *[0.0] * 6) == (
            "On fluency, birch is preferred to aster: 1.00 [1.00, 1.00] over 6 documents.",
            "Of 6 pairs of summaries judged in both orders, no verdict changed with the order.",
        )

    def test_too_few(self, tmp_path: Path) -> None:
        said, _ = self.said(tmp_path, 1.0, 1.0)
        assert said == (
            "On fluency, aster and birch cannot be told apart: 1.00 for aster over 2 documents, "
            "too few for a verdict (at least 6 are needed)."
        )


class TestFailuresAndCards:
    def test_failures_are_counted_as_pairs(self, only: Page) -> None:
        (group,) = only.failures
        # birch against cedar on d0, in both orders: two judgments on one pair.
        assert (group.status, group.judgments, len(group.items), group.pairs) == ("unparsed", 2, 1, True)
        (link,) = group.listed
        assert (link.doc_id, link.system, link.rival) == ("d0", "birch", "cedar")
        assert only.items.view(link.item).summary.system == "birch"

    def test_a_verdict_stands_on_both_cards(self, only: Page) -> None:
        cards = {(only.items.documents[one.document].id, one.summary.system): one for one in only.items}
        assert len(cards) == 24
        assert {one.decision for one in cards["d7", "birch"].verdicts} == {
            "better than aster (shown first)", "worse than aster (shown second)",  # the one shown first
            "worse than cedar (shown first)", "worse than cedar (shown second)",
        }  # fmt: skip
        assert "level with cedar (shown first)" in {one.decision for one in cards["d1", "birch"].verdicts}
        assert "not judged against birch: unparsed" in {one.decision for one in cards["d0", "cedar"].verdicts}
        assert cards["d0", "cedar"].failed
        assert not cards["d0", "aster"].failed

    def test_a_pair_in_words(self) -> None:
        target = Target(document_id="d", system="a", rival="b", unit="pair")
        one = Judgment(target=target, aspect="fluency", judge="j", signature="j|v:1", value=0.0)
        assert verdict_of(one) == "worse than b (shown first)"
        assert verdict_of(one, "b") == "better than a (shown second)"


class TestThePage:
    def test_a_run_of_pairs_shows_no_empty_ranking(self, tmp_path: Path) -> None:
        text = html([duels.make(tmp_path / "r")], tmp_path / "p.html").read_text()
        assert "Nothing has been scored yet" not in text
        assert 'id="ranking"' not in text
        assert 'href="#pairs"' in text
        for words in (
            "row over column", "0.94", "flips 12 %", "(1 pair of summaries)", "mean preference over documents",
            "no letter", "as in the data",
            'class="heat-6 settled"><span>0.94', 'class="heat-0 settled"><span>0.06',  # 7 * 0.9375 and 7 * 0.0625
        ):  # fmt: skip
            assert words in text

    def test_the_first_run_compares_and_the_second_scores(self, tmp_path: Path) -> None:
        runs = [duels.make(tmp_path / "a"), fake.make(tmp_path / "b", duels.rows(), ((fake.NOVELTY, fake.novelty),))]
        text = html(runs, tmp_path / "p.html").read_text()
        assert "Nothing has been scored yet" not in text
        assert 'id="ranking"' in text
        assert 'id="strengths"' not in text  # strengths are those of the first run, which has no scores


class TestInText:
    def test_who_over_whom(self, tmp_path: Path) -> None:
        text = printed(scores(tmp_path))
        assert text.isascii()
        lines = text.splitlines()
        assert lines[0] == "Head to head on fluency (mock.duel)"
        assert lines[1].split()[:4] == ["aster", "over", "birch", "0.94"]
        assert lines[1].endswith("n=8             flips 12%")  # 1 of 8, 12.5 %, to the even
        assert lines[2].split()[:3] == ["aster", "over", "cedar"]
        assert "0.50 [0.50, 0.50]  n=8             flips 100%" in lines[2]
        assert lines[3].split()[:4] == ["cedar", "over", "birch", "0.57"]
        assert lines[3].endswith("n=7, 1 missing  flips 0%")
        assert lines[5] == "flips: verdicts that changed with the order of presentation; each counts as a tie (0.5)."
        assert "signature: mock.duel|judge:scripted/one|v:1" in lines

    def test_markdown(self, tmp_path: Path) -> None:
        run = duels.make(tmp_path / "run")
        lines = markdown(run.summary(), run.pairs()).splitlines()
        assert lines[0] == "| aspect | judge | preferred | n | flips |"
        assert lines[2].startswith("| fluency | mock.duel | aster over birch 0.94 [")
        assert lines[2].endswith("| n=8 | 12% |")
        assert markdown(run.summary()) == "- Nothing has been scored yet.\n"
        both = duels.make(tmp_path / "both", (fake.NOVELTY, fake.novelty))
        text = markdown(both.summary(), both.pairs())
        assert text.startswith("| # | system |")
        assert "\n\n| aspect | judge |" in text
