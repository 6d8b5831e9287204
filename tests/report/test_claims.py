"""Claims are shown with their texts, and truncated documents are reported with the verdicts."""

from __future__ import annotations

from pathlib import Path

from report import fake_runs as fake

from summeter.records import Claim, Document, Judgment, Summary
from summeter.report import html, page
from summeter.runs.manifest import JudgeEntry

ROWS: list[fake.Row] = [
    {"doc_id": "d", "system": system, "document": "It rained.", "summary": f"Rain, says {system}. So it is."}
    for system in ("aster", "birch")
]
ENTRY = JudgeEntry(
    name="factscore", signature="factscore|judge:a/b|v:1", model="a/b", aspects=("faithfulness",), reduce="mean",
    file="factscore",
)  # fmt: skip


def check(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    claims = [Claim(text=f"{summary.system} says rain.", span=summary.sentences[0]), Claim(text="It is so.")]
    return [
        fake.judgment(
            document, summary, entry, "faithfulness", unit="claim", index=at, list_id=f"list {summary.system}",
            value=float(at), label=at, reason="so", claim=claim, truncated_tokens=1200,
        )
        for at, claim in enumerate(claims)
    ]  # fmt: skip


def test_each_summary_has_its_claims_with_verdicts(tmp_path: Path) -> None:
    made = page([fake.make(tmp_path / "run", ROWS, ((ENTRY, check),))])
    assert len(made.items) == 2
    for card in made.items:
        assert card.facts == (("summary", (f"{card.summary.system} says rain.", "It is so.")),)
        targets = [one.judgment.target for one in card.verdicts]
        assert [(target.unit, target.index) for target in targets] == [("claim", 0), ("claim", 1)]
        assert [(one.decision, one.foreign) for one in card.verdicts] == [("unsupported", False), ("supported", False)]
        assert {one.facts for one in card.verdicts} == {0}


def test_truncated_documents_are_reported(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run", ROWS, ((ENTRY, check),))
    made = page([run])
    # Four judgments, of two readings of 1,200 tokens each.
    assert made.runs[0].truncated == (
        "4 judgments are based on a truncated document (about 2,400 tokens were left out in total)"
    )
    reasons = made.items.view(0).verdicts[0].reasons
    assert reasons == ("so", "about 1,200 tokens of the source were not shown to the judge")
    assert "based on a truncated document" in html([run], tmp_path / "page.html").read_text("utf-8")
