"""Blocks of a report, compared with hand counts of the runs of `fake_runs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report import fake_runs as fake

from summeter.choices import Level
from summeter.evaluators.base import Prepared
from summeter.meta import compare_runs
from summeter.meta._versions import outcome
from summeter.meta.selection import gold_scores
from summeter.records import Document, Judgment, Summary, Target
from summeter.report.build import Page, page
from summeter.report.strengths import error_counts
from summeter.runs.manifest import JudgeEntry
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page([fake.make(tmp_path_factory.mktemp("one") / "first")], title="Mine")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("two")
    first = fake.make(folder / "first")
    judges = ((fake.FACT_CHECK, fake.lenient), (fake.ALIGN, fake.align))
    errors = [("talk", "cedar", "timed out after 120 s")]
    return page([first, fake.make(folder / "second", judges=judges, status="interrupted", errors=errors)])


def test_head(one: Page) -> None:
    # Judgments: fact check 5 sentences + 1 skipped; alignment 2+2 facts and 2+2 sentences for the bridge, 1+1 for
    # cedar's talk, 2 skipped; novelty 3 + 1 skipped. One sentence is unparsed: ok is 17 = 4 + 10 + 3.
    head = one.runs[0]
    assert one.title == "Mine"
    assert head.counts == {"ok": 17, "unparsed": 1, "skipped": 4}
    # Coverage: 12 scores (faithfulness 3, completeness 3, conciseness 3, abstractiveness 3), one of them with half of
    # its units.
    assert (head.wanted, head.view.coverage) == (18, 11.5 / 12)
    assert head.judged == 4
    assert head.when == "2026-11-21, 10:00 to 10:04 UTC"
    assert head.judges == ("mock.fact_check (scripted/one)", "mock.align (scripted/one)", "abstractiveness")


def test_ranking_by_composite(one: Page) -> None:
    (table,) = one.tables
    assert [column.about.title for column in table.columns] == [
        "composite", "faithfulness", "completeness", "conciseness", "abstractiveness",
    ]  # fmt: skip
    assert list(table.ranks.items()) == [("aster", 1), ("cedar", 2)]
    faithfulness = table.columns[1]
    aster, cedar, mean = faithfulness.means["aster"], faithfulness.means["cedar"], faithfulness.all_means["cedar"]
    assert aster is not None
    assert cedar is not None
    assert mean is not None
    # cedar: bridge 0 of 1 judged sentence, talk 1 of 1; aster: bridge 1, talk skipped. They share the bridge.
    assert (cedar.value, cedar.n, cedar.missing) == (0.0, 1, 0)
    assert table.unlike
    assert (mean.value, mean.n, mean.missing) == (0.5, 2, 0)
    assert table.note == "Ranked on the 1 document for which every system has a score (each has: aster 1, cedar 2)."
    assert (aster.value, aster.n, aster.missing, faithfulness.comparison.best) == (1.0, 1, 1, frozenset())  # 1 document
    assert not table.columns[4].comparison.best  # more abstractive is not better


def test_systems_without_common_documents_have_no_ranks(tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"{system}{n}", "system": system, "document": f"{n} {fake.BRIDGE}", "summary": "Cyclists may cross."}
        for system in ("aster", "birch") for n in range(6)
    ]  # fmt: skip
    made = fake.make(tmp_path / "run", rows, ((fake.FACT_CHECK, fake.fact_check), (fake.NOVELTY, fake.novelty)))
    (table,) = page([made]).tables
    assert (table.ranks, table.ranked) == ({"aster": None, "birch": None}, False)
    assert not table.columns[0].pairs


def test_strengths(one: Page) -> None:
    aster, cedar = one.panels
    assert cedar.errors == (("mock.fact_check", 1, 2, (("entity error", 1),)),)
    assert cedar.weakest is not None
    # cedar on the bridge: faithfulness 0/1, completeness 1/2 ("months." matches), conciseness 1/2 -> 1/3.
    assert (cedar.weakest.domain, round(cedar.weakest.value or 0, 4), cedar.weakest.n) == ("news", 0.3333, 1)
    assert cedar.strongest is not None
    assert cedar.strongest.domain == "booking"
    assert aster.weakest is None  # only one domain has a score
    assert [one.rank for one in cedar.ranks] == [2, 2, 2, 2, None]


def test_domains(one: Page) -> None:
    figure = next(each for each in one.figures["strengths"] if each.title == "Domains by systems")
    at = next(at for at, panel in enumerate(figure.panels) if panel.title.startswith("composite"))
    assert figure.tables[at].heads == ["name", "aster", "aster: n", "cedar", "cedar: n"]
    assert figure.tables[at].rows == (("news", 1.0, 1, pytest.approx(1 / 3), 1), ("booking", None, 0, 1.0, 1))
    assert "1 score missing (composite by mock)." in figure.caption


def test_failures_are_grouped_most_severe_first(one: Page, two: Page) -> None:
    assert [(group.status, group.judgments, len(group.items)) for group in one.failures] == [
        ("unparsed", 1, 1), ("skipped", 2, 1), ("skipped", 1, 1), ("skipped", 1, 1),
    ]  # fmt: skip
    assert two.failures[0].status == "error"
    assert two.failures[0].reason == "timed out after 120 s"
    link = two.failures[0].listed[0]
    assert (two.items.view(link.item).summary.system, link.doc_id, link.system) == ("cedar", "talk", "cedar")


def test_items_lowest_first_and_unknown_last(one: Page) -> None:
    item_views = list(one.items)
    assert [(one.items.documents[view.document].id, view.summary.system) for view in item_views] == [
        ("bridge", "cedar"), ("bridge", "aster"), ("talk", "cedar"), ("talk", "aster"),
    ]  # fmt: skip
    lead = [key.aspect for key in one.items.columns].index("composite")
    assert [view.scores[lead].value for view in item_views] == [pytest.approx(1 / 3), 1.0, 1.0, None]
    assert item_views[0].wrong
    assert item_views[0].failed
    assert not item_views[3].failed  # skipped: there was nothing to judge


def test_votes_of_people(one: Page) -> None:
    votes = {(vote.unit, vote.aspect, vote.at): vote for vote in one.items.view(0).votes}
    assert votes["sentence", "faithfulness", 0].decision == "circumstantial error"
    assert not votes["sentence", "faithfulness", 0].differs  # the judge names another type, but says error too
    assert votes["key_fact", "completeness", 0].differs
    aster = {(vote.unit, vote.aspect, vote.at): vote for vote in one.items.view(1).votes}
    assert aster["sentence", "faithfulness", 0].decision == "supported (2 of 3)"
    assert one.items.people


def test_votes_are_aggregated_as_in_studies(tmp_path: Path) -> None:
    # An aggregated value beside the votes is not a vote; a tie on faithfulness counts as supported.
    labels = [{"a": 1, "b": 0, "people": 0}, {"a": 0, "b": 0, "people": 1}]
    run = fake.make(tmp_path / "run", [{**fake.ROWS[0], "human": {"sentence_labels": labels}}])
    (gold,) = gold_scores(JudgmentTable.of(run.data.judgments("human.raw")), "faithfulness", Level.SENTENCE)
    votes = page([run]).items.view(0).votes
    assert [vote.decision for vote in votes] == ["supported (tied, 1 of 2)", "error (2 of 2)"]
    assert [vote.style for vote in votes] == ["good" if value else "bad" for value in gold.value.tolist()]


def test_evidence_spans_select_the_text(one: Page) -> None:
    view = next(view for view in one.items if view.summary.system == "cedar" and "table" in view.summary.text)
    text = one.items.documents[view.document].text
    judgments = [verdict.judgment for verdict in view.verdicts]
    (found,) = [one for one in judgments if one.evidence and one.target.unit == "sentence"]
    assert [text[span.start : span.end] for span in found.evidence] == [
        "the 😀 table", "😀 table free", "I can hold it.",
    ]  # fmt: skip


def test_two_runs_side_by_side(two: Page) -> None:
    table, others = two.tables
    assert (others.title, [column.source for column in others.columns]) == ("Other measures", ["A · abstractiveness"])
    assert [(column.about.title, column.source) for column in table.columns][2:4] == [
        ("faithfulness", "A · mock.fact_check"), ("faithfulness", "B · mock.fact_check"),
    ]  # fmt: skip
    assert two.runs[1].view.manifest.status == "interrupted"
    assert list(two.items.filters) == ["faithfulness", "completeness", "conciseness"]


def test_changes(two: Page) -> None:
    (change,) = two.comparisons
    assert (change.first, change.second) == ("A", "B")
    rows = {row.system: row for row in change.by_group[0].rows}
    # cedar: talk failed in B, so the bridge alone is common: 0 -> 1 (41 passes in the second run).
    cedar = rows["cedar"]
    assert (cedar.details["a"], cedar.details["b"], cedar.n) == (0.0, 1.0, 1)
    assert outcome(cedar) == "too few documents"
    changed, failed = change.changed[0], change.changed[1]
    (flip,) = changed.verdicts
    assert (changed.item.flips, changed.item.doc_id, flip.kind) == (1, "bridge", "changed")
    assert flip.text == "The bridge closes for 41 months."
    assert flip.old is not None
    assert flip.new is not None
    assert (flip.old.words, flip.new.words, flip.old.quotes) == ("entity error", "supported", ("for 14 months",))
    assert [part.text for part in changed.source if part.marked] == ["for 14 months"]
    assert changed.links[0] is not None
    assert two.items.view(changed.links[0].item).changed == 1
    assert [verdict.kind for verdict in failed.verdicts] == ["new failure"]
    # 1 sentence on which both decided + 2 key facts + 2 sentences' conciseness of the bridge, and those of the others
    assert "1 of 13 verdicts on the same units changed in 1 summary" in change.notes


def test_a_changed_text_is_shown_with_its_differences(tmp_path: Path) -> None:
    changed_rows = [row | {"summary": row["summary"].replace("14", "15")} for row in fake.ROWS]
    a, b = fake.make(tmp_path / "a"), fake.make(tmp_path / "b", changed_rows)
    for parts in ([a, b], [compare_runs(a, b)]):
        made = page(parts)
        assert [run.view.letter for run in made.runs] == ["A", "B"]
        (item,) = (each for each in made.comparisons[0].changed if each.item.text == "changed")
        assert [[part.text for part in side if part.marked] for side in (item.old, item.new)] == [["14"], ["15"]]
    assert [run.view.letter for run in page([compare_runs(a, a)]).runs] == ["A", "B"]


def test_judges_of_one_name_have_distinct_labels(tmp_path: Path) -> None:
    other = fake.FACT_CHECK.model_copy(
        update={"model": "scripted/two", "signature": "mock.fact_check|judge:scripted/two|v:1", "file": "two"}
    )
    strict = fake.NOVELTY.model_copy(update={"signature": "abstractiveness|n:3|v:1", "file": "three"})
    judges = (
        (fake.FACT_CHECK, fake.fact_check), (other, fake.lenient), (fake.NOVELTY, fake.novelty), (strict, fake.novelty),
    )  # fmt: skip
    both = page([fake.make(tmp_path / "r", judges=judges)])
    assert [source.label for source in both.items.sources] == [
        "mock.fact_check (scripted/one)", "mock.fact_check (scripted/two)",
        "abstractiveness", "abstractiveness[n=3]",
    ]  # fmt: skip
    assert both.runs[0].judges == (
        "mock.fact_check (scripted/one)", "mock.fact_check (scripted/two)", "abstractiveness", "abstractiveness[n=3]",
    )  # fmt: skip
    assert both.items.filters == {"faithfulness": [0, 1]}
    assert [column.about.title for column in both.tables[0].columns] == [
        "faithfulness",
        "faithfulness",
        *["abstractiveness"] * 2,
    ]
    first = next(view for view in both.items if view.changed)
    assert first.changed == 1  # 41: an error to one, supported to the other


def test_derived_key_facts_are_shown(tmp_path: Path) -> None:
    rows = [{"doc_id": "d", "system": "s", "document": "It rained.", "summary": "It rained."}]
    derived = fake.KeyFacts.of(["It rained."], "document")

    def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        unit = {"unit": "key_fact", "index": 0, "label": 1}
        known = fake.judgment(document, summary, entry, "completeness", list_id=derived.id, **unit)
        return [known, fake.judgment(document, summary, entry, "completeness", list_id="lost", **unit)]

    run = fake.make(tmp_path / "r", rows, ((fake.ALIGN, judge),))
    prepared = Prepared(document_id="d", data={"key_facts": list(derived.texts), "origin": "document"})
    row = {"id": prepared.id, "signature": fake.ALIGN.signature, **prepared.model_dump(mode="json")}
    (run.folder / "prepared" / "mock.align.jsonl").write_text(json.dumps(row) + "\n" + '{"torn', encoding="utf-8")
    items = page([run]).items
    view = items.view(0)
    assert view.facts == (("document", ("It rained.",)),)
    assert [(verdict.facts, verdict.foreign) for verdict in view.verdicts] == [(0, False), (None, True)]


def test_an_unfinished_run_shows_its_progress(tmp_path: Path) -> None:
    started = page([fake.make(tmp_path / "r", status="running", documents=1)])
    assert started.runs[0].view.manifest.status == "running"
    assert (started.runs[0].judged, len(started.runs[0].view.data)) == (2, 4)
    assert len(started.items) == 2


def test_only_options_that_affect_numbers_are_shown(tmp_path: Path) -> None:
    judge = fake.FACT_CHECK.model_copy(update={"settings": {"prompts": "/home/me/mine", "strict": True, "cut": None}})
    options = {"temperature": None, "max_reply": 90, "limit": 5, "base_url": "http://me:secret@host/v1"}
    (found,) = page([fake.make(tmp_path / "r", judges=((judge, fake.fact_check),), options=options)]).runs
    assert found.options == (("limit", "5"), ("max_reply", "90"))
    assert found.replay == ("summeter score r/data --limit 5 --temperature none --max-reply 90 --replay r -o r-again")


def test_the_command_that_repeats_a_run(one: Page) -> None:
    (found,) = one.runs
    assert found.replay == "summeter score first/data --replay first -o first-again"
    assert found.options == (("temperature", "0.0"),)
    assert one.sources[0].entry.signature == "mock.fact_check|judge:scripted/one|v:1"


def test_a_set_of_error_types_counts_for_each_canonical_name() -> None:
    about = {"aspect": "faithfulness", "judge": "j", "signature": "j|v:1", "value": 0.0, "label": 0}
    judgments = [
        Judgment(
            target=Target(document_id="d", system="s", unit="sentence", index=index), error_type=error_type, **about
        )
        for index, error_type in enumerate(("EntE+OutE", "out-of-context error", "OutE"))
    ]
    tally = RunTotals.of([JudgmentTable.of(judgments)], {}, {}, 0).tally
    (found,) = error_counts(tally)["s"]
    assert (found.unsupported, found.types) == (3, (("out-of-context error", 3), ("entity error", 1)))
    assert [error_counts(tally, third=third)["s"][0].types for third in (1, 2, 3)] == [
        (("entity error", 1), ("out-of-context error", 1)),
        (("out-of-context error", 1),),
        (("out-of-context error", 1),),
    ]
