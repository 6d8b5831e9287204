"""The step `redact`: consistent numbering of entities, adjusted offsets, the review table, and leaks."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from benchmark.chains import bench, write_lines
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.benchmark import run_step
from summeter.benchmark.redaction.finding import Match
from summeter.benchmark.redaction.masking import Entity, mask, occurrences
from summeter.benchmark.redaction.step import COLUMNS, STEP, RedactSettings, remaining_data
from summeter.benchmark.step import Manifest, WaitingError, read_manifest
from summeter.data.dataset import Dataset, load, save
from summeter.records import (
    Claim,
    FactOrigin,
    FactReview,
    FactVote,
    InputError,
    Judgment,
    KeyFacts,
    Span,
    Target,
    UsageError,
)

DOCUMENT = (
    "User: I need a train to Ely Park on Friday, after 5 pm.\n"
    "System: TR3934 leaves at 17:15. Ring 01223 351241, or 01223351241.\n"
    "User: Is the Acorn Guest House near 12 Mill Road? Thanks, friday is fine."
)
SUMMARY = "The user takes TR3934 on Friday at 5:15 pm. The Acorn Guest House is at 12 Mill Road."
FACTS = ["The train TR3934 leaves at 17:15.", "The user travels on Friday."]


def dataset() -> Dataset:
    call = {"doc_id": "calls/1", "document": DOCUMENT, "key_facts": FACTS}
    more = {"reference": "Somebody books TR3934.", "domain": "calls", "note": "calls 01223 351241"}
    rows = [
        {**call, "summary": SUMMARY, "system": "a", **more},
        {**call, "summary": "It leaves on Sunday.", "system": "b"},
        {"doc_id": "news/1", "document": "It rained on Monday.", "summary": "Rain on Monday.", "domain": "news"},
    ]
    data = load(rows)
    title = {"source": "calls", "title": "A call about TR3934"}
    documents = {
        doc_id: document.model_copy(update={"extra": title if doc_id == "calls/1" else {"source": "news"}})
        for doc_id, document in data.documents.items()
    }
    return Dataset(documents, data.summaries, {}, data.card)


def span_of(of: Literal["document", "summary"], part: str) -> Span:
    start = (DOCUMENT if of == "document" else SUMMARY).index(part)
    return Span(of=of, start=start, end=start + len(part))


def judged(data: Dataset) -> Dataset:
    """With labels that point into the texts: evidence of both sides, a claim, and a list of key facts."""
    about: dict[str, Any] = {"aspect": "faithfulness", "judge": "ben", "signature": "ben", "label": 1}
    place = {"document_id": "calls/1", "system": "a"}
    evidence = span_of("document", "TR3934 leaves at 17:15"), span_of("summary", "Friday at 5:15 pm")
    reason = "TR3934 leaves at 17:15, it says, not at 23:55."
    claim = Claim(text="The user takes TR3934.", span=span_of("summary", "takes TR3934"))
    facts = KeyFacts.of(FACTS, "given").id
    judgments = [
        Judgment(target=Target(**place, unit="sentence", index=0), **about, reason=reason, evidence=evidence),
        Judgment(target=Target(**place, unit="claim", index=0), **about, claim=claim),
        Judgment(target=Target(**place, unit="key_fact", index=1, list_id=facts), **about),
    ]
    return data.with_judgments("people", judgments)


def redacted(
    tmp_path: Path, data: Dataset | None = None, out: str = "out", **settings: Any
) -> tuple[Dataset, Manifest]:
    folder = tmp_path / "data"
    save(judged(dataset()) if data is None else data, folder, force=True)
    chosen = RedactSettings.model_validate({"recognizer": "patterns", "sources": ["calls"], **settings})
    manifest = run_step(STEP, folder, tmp_path / out, chosen)
    return load(tmp_path / out), manifest


class TestTexts:
    def test_one_entity_has_one_number_everywhere(self, tmp_path: Path) -> None:
        data, manifest = redacted(tmp_path)
        assert data.documents["news/1"].text == "It rained on Monday."
        assert manifest.details["documents"] == 1
        document = data.documents["calls/1"]
        assert document.text == (
            "User: I need a train to <PLACE_1> on <DAY_1>, after <TIME_1>.\n"
            "System: <CODE_1> leaves at <TIME_2>. Ring <PHONENUMBER_1>, or <PHONENUMBER_1>.\n"
            "User: Is the <PLACE_2> near <ADDRESS_1>? Thanks, <DAY_1> is fine."
        )
        assert data.summaries[0].sentence_texts == (
            "The user takes <CODE_1> on <DAY_1> at <TIME_2>.",
            "The <PLACE_2> is at <ADDRESS_1>.",
        )
        assert data.summaries[1].text == "It leaves on <DAY_2>."
        assert document.references == ("Somebody books <CODE_1>.",)
        assert document.key_facts == ("The train <CODE_1> leaves at <TIME_2>.", "The user travels on <DAY_1>.")

    def test_columns_that_no_step_wrote_are_left_out(self, tmp_path: Path) -> None:
        data, manifest = redacted(tmp_path)
        assert data.summaries[0].extra == {}
        assert data.documents["calls/1"].extra == {"source": "calls", "redaction": "redacted"}
        assert manifest.details["columns_left_out"] == ["note", "title"]

    def test_placeholders_that_stand_there_keep_their_numbers(self, tmp_path: Path) -> None:
        row = {
            "doc_id": "d",
            "document": "The meeting at <TIME_1> was moved. We leave at 17:15 on Friday. <DAY_99999999999999999999>.",
            "summary": "It was at <TIME_3>; we leave at 17:15.",
        }
        data, _ = redacted(tmp_path, load([row]), sources=[])
        document = data.documents["d"].text
        assert document.startswith("The meeting at <TIME_1> was moved. We leave at <TIME_4> on <DAY_1>.")
        assert data.summaries[0].text == "It was at <TIME_3>; we leave at <TIME_4>."

    def test_an_amount_written_like_a_time_stays(self, tmp_path: Path) -> None:
        row = {
            "doc_id": "d",
            "document": "The bus leaves at 5.15, says Ann; 5.15 it is, or 5.15 pm. "
            "A ticket costs 5.15 pounds, £5.15 or €5.15. "
            "Inflation was 5.15%. It was 5.15 per cent, 5.15.2, 5.15,000 or 5.15 million.",
            "summary": "A ticket for 5.15 costs 5.15 Pounds.",
        }
        data, _ = redacted(tmp_path, load([row]), sources=[])
        assert data.documents["d"].text == (
            "The bus leaves at <TIME_1>, says Ann; <TIME_1> it is, or <TIME_2>. "
            "A ticket costs 5.15 pounds, £5.15 or €5.15. "
            "Inflation was 5.15%. It was 5.15 per cent, 5.15.2, 5.15,000 or 5.15 million."
        )
        assert data.summaries[0].text == "A ticket for <TIME_1> costs 5.15 Pounds."

    def test_some_categories_alone(self, tmp_path: Path) -> None:
        data, _ = redacted(tmp_path, categories=["CODE"])
        assert data.documents["calls/1"].text == DOCUMENT.replace("TR3934", "<CODE_1>")

    def test_the_folder_holds_nothing_of_what_was_masked(self, tmp_path: Path) -> None:
        redacted(tmp_path)
        content = "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.*")).casefold()
        assert [word for word in ("tr3934", "01223", "acorn", "mill road", "17:15") if word in content] == []


class TestLabels:
    def test_spans_and_texts_move(self, tmp_path: Path) -> None:
        data, _ = redacted(tmp_path)
        sentence, claim, fact = data.judgments("people")
        document, summary = data.documents["calls/1"].text, data.summaries[0].text
        assert sentence.evidence[0].cut(document) == "<CODE_1> leaves at <TIME_2>"
        assert sentence.evidence[1].cut(summary) == "<DAY_1> at <TIME_2>"
        assert sentence.reason == "<CODE_1> leaves at <TIME_2>, it says, not at <TIME_3>."
        assert claim.claim is not None
        assert claim.claim.text == "The user takes <CODE_1>."
        assert claim.claim.span is not None
        assert claim.claim.span.cut(summary) == "takes <CODE_1>"
        assert fact.target.list_id == KeyFacts.of(data.documents["calls/1"].key_facts, "given").id

    def test_the_making_of_key_facts_is_masked(self, tmp_path: Path) -> None:
        vote = FactVote(judge="v", model="m", useful=True, reason="TR3934 matters.")
        review = FactReview(valid=2, answers=3, why=("Not on Tuesday.",))
        origin = FactOrigin(proposed="The train TR3934 goes at 17:15.", origin="document", votes=(vote,), review=review)
        data = dataset().with_key_facts({"calls/1": FACTS}, {"calls/1": (origin, origin)})
        fresh, _ = redacted(tmp_path, data)
        (made, _) = fresh.fact_origins["calls/1"]
        assert made.proposed == "The train <CODE_1> goes at <TIME_2>."
        assert made.votes[0].reason == "<CODE_1> matters."
        assert made.review is not None
        assert made.review.why == ("Not on <DAY_3>.",)

    def test_a_chain_summarizes_and_checks_the_redacted_copies_as_it_did_the_texts(self, tmp_path: Path) -> None:
        out = pairs_chain(tmp_path)
        data, manifest = load(out / "redact"), read_manifest(out / "redact")
        assert data.documents["calls/a#redacted"].text == "<CODE_1> leaves at <TIME_1> on <DAY_1>."
        assert [(summary.document_id, summary.text) for summary in data.summaries if summary.system == "lead"] == [
            ("calls/a", "It leaves at 17:15."), ("calls/a#redacted", "Nobody knows when."),
            ("calls/c", "It opens at 9:30."), ("news/b", "It rained."),
        ]  # fmt: skip
        labels = {(row.target.document_id, row.target.system): row.label for row in data.judgments("detector")}
        assert len(labels) == len(data) == 8
        assert {where: label for where, label in labels.items() if label == 0} == {
            ("calls/a#redacted", "lead"): 0, ("calls/a#redacted", "other"): 0,
        }  # fmt: skip
        assert data.documents["calls/a"].extra["redaction"] == "unredacted"
        assert data.documents["calls/a#redacted"].extra["original"] == "calls/a"
        assert (manifest.counts_out["redacted_summaries"], manifest.counts_out["redacted_verdicts"]) == (2, 2)
        assert manifest.models["lead"] == "scripted/rules.jsonl"
        assert "calls/c#redacted" not in data.documents, "no system could summarize it"
        assert sum(manifest.dropped.values()) == 3, "its two summaries and itself"


def pairs_chain(folder: Path) -> Path:
    """The output of a chain that redacts one of two sources in pairs; the copy of calls/c has no usable summary."""
    for name, text in (
        ("calls/a", "TR3934 leaves at 17:15 on Friday."),
        ("calls/c", "The clinic opens at 9:30."),
        ("news/b", "It rained in the valley."),
    ):
        (folder / f"{name}.txt").parent.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(text)
    rules = [
        {"match": "leaves at 17:15", "reply": {"summary": "It leaves at 17:15."}},
        {"match": "leaves at <TIME_1>", "reply": {"summary": "Nobody knows when."}},
        {"match": "opens at 9:30", "reply": {"summary": "It opens at 9:30."}},
        {"match": "opens at <TIME_1>", "reply": "I cannot say."},
        {"match": "It rained", "reply": {"summary": "It rained."}},
    ]
    verdicts = [
        {"match": "Nobody knows", "reply": {"1": {"category": "entity error", "reason": "it is not"}}},
        {"reply": {"1": {"category": "no error", "reason": "it is said"}}},
    ]
    write_lines(folder / "rules.jsonl", *rules)
    write_lines(folder / "judge.jsonl", *verdicts)
    sources = {name: {"path": name, "domain": name} for name in ("calls", "news")}
    models = dict.fromkeys(("lead", "other"), "scripted/rules.jsonl")
    sections = {
        "source": {"sources": sources, "detect": False},
        "summarize": {"models": models, "kind": {"calls": "dialogue", "news": "article"}, "words": 20},
        "detect": {"detector": {"models": {"judge": "scripted/judge.jsonl"}}},
        "redact": {"recognizer": "patterns", "sources": ["calls"], "pairs": True},
    }
    assert bench(folder, sections) == 0
    return folder / "out"


WORDS = st.lists(
    st.sampled_from(["rain", "Ghent", "5 pm", "TR1", "é", "😀", "of", "Mill Road", "a", "."]), min_size=1, max_size=25
)
NAMES = {
    Entity("PLACE", "ghent"): {"Ghent"},
    Entity("TIME", "17:00"): {"5 pm"},
    Entity("ADDRESS", "mill"): {"Mill Road"},
    Entity("CODE", "tr1"): {"TR1"},
}


class TestMoving:
    @given(WORDS, st.data())
    def test_spans_slice_to_the_right_text(self, words: list[str], draw: Any) -> None:
        text = " ".join(words)
        placed = occurrences(text, NAMES)
        numbers = dict.fromkeys(NAMES, 1)
        masked = mask(text, placed, numbers)
        start = draw.draw(st.integers(0, len(text)))
        end = draw.draw(st.integers(start, len(text)))
        moved = masked.text[slice(*masked.map_range(start, end))]
        # By hand: the characters from `start` to `end`, with the whole placeholder of each entity they touch.
        expected, at = "", start
        for entity, first, last in placed:
            if start < end and first < end and last > start:
                expected += text[at:first] if first > at else ""
                expected += f"<{entity.category}_{numbers[entity]}>"
                at = max(at, last)
        expected += text[at:end] if end > at else ""
        assert moved == expected

    def test_a_sentence_end_within_an_entity(self, tmp_path: Path) -> None:
        row = {"doc_id": "d", "document": "Go to St. Ann Park. It is dry.", "summary": "x", "sentences": ["x"]}
        data = load([row])
        document = data.documents["d"]
        cuts = tuple(Span(of="document", start=start, end=end) for start, end in ((0, 9), (10, 19), (20, 30)))
        split = Dataset({"d": document.model_copy(update={"sentences": cuts})}, data.summaries, {}, data.card)
        review = tmp_path / "review.csv"
        write_review(review, [("d", "PLACE", "St. Ann Park", "mask", "")])
        fresh, _ = redacted(tmp_path, split, sources=[], review=review)
        assert fresh.documents["d"].sentence_texts == ("Go to <PLACE_1>", ".", "It is dry.")


class TestEntities:
    @together("category, one, other", [
            ("TIME", "5 PM", "17:00"),
            ("TIME", "5:15 p.m.", "17:15"),
            ("TIME", "seven o’clock", "Seven o'clock"),
            ("DAY", "the 3rd of July 2024", "JULY 3, 2024"),
            ("PHONENUMBER", "(01223) 351241", "01223-351241"),
            ("CODE", "AB-12", "ab12"),
            ("PLACE", "the Acorn", "Acorn"),
            ("ADDRESS", "12 Mill Road, CB1 2AZ", "12 mill road CB1 2AZ"),
        ],
    )  # fmt: skip
    def test_writings_of_one(self, category: Any, one: str, other: str) -> None:
        assert Entity.of(category, one) == Entity.of(category, other)
        assert len({Entity.of("TIME", text) for text in ("5 pm", "5 am", "5:15", "17:15")}) == 4

    @pytest.mark.parametrize("text", ["01223 351241", "(01223) 351241", "01223-351-241", "1223351241"])
    def test_a_phone_number_is_found_however_it_is_divided(self, text: str) -> None:
        phone = {Entity.of("PHONENUMBER", "01223351241"): {"01223351241"}}
        assert [placed[1:] for placed in occurrences(f"x {text} y", phone)] == [(2, 2 + len(text))]
        assert occurrences(f"x {text}7 y", phone) == []

    def test_a_single_word_counts_as_it_is_written(self) -> None:
        town = {Entity("PLACE", "reading"): {"Reading"}}
        text = "Reading is where READING books and reading live."
        assert [placed.start for placed in occurrences(text, town)] == [0, 17]

    def test_no_part_of_a_word(self) -> None:
        assert occurrences("Elysium and Ely's and xEly", {Entity("PLACE", "ely"): {"Ely"}}) == [
            Match(Entity("PLACE", "ely"), 12, 15)
        ]


def write_review(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(COLUMNS)
        table.writerows([*row, "", ""] for row in rows)


def read_review(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


class TestReview:
    def test_a_table_is_proposed_and_waits_for_a_person(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        with pytest.raises(WaitingError, match=r"a review of .*review\.csv"):
            redacted(tmp_path, review=review)
        assert not (tmp_path / "out").exists()
        rows = read_review(review)
        assert {row["text"] for row in rows} >= {"TR3934", "Acorn Guest House", "01223 351241"}
        assert all(row["decision"] == "" for row in rows)
        code = next(row for row in rows if row["text"] == "TR3934")
        assert code["places"] == "6", "a text of each kind: document, reference, key fact, summary, reason, claim"
        assert code["context"].startswith("document: ")
        with pytest.raises(WaitingError, match=f"{len(rows)} of {len(rows)} rows are undecided"):
            redacted(tmp_path, review=review)

    def test_what_a_person_decides_is_done_with_numbers_in_the_order_of_reading(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        write_review(
            review,
            [
                ("calls/1", "CODE", "TR3934", "mask", ""),
                ("calls/1", "DAY", "Friday", "leave", ""),
                ("calls/1", "PLACE", "Mill", "mask", ""),
                ("calls/1", "PLACE", "train", "mask", ""),
                ("calls/1", "TIME", "5 pm", "mask", ""),
                ("calls/1", "TIME", "17:15", "mask", "5 pm"),
            ],
        )
        data, manifest = redacted(tmp_path, review=review)
        assert data.documents["calls/1"].text.startswith(
            "User: I need a <PLACE_1> to Ely Park on Friday, after <TIME_1>.\nSystem: <CODE_1> leaves at <TIME_1>."
        )
        assert "12 <PLACE_2> Road" in data.documents["calls/1"].text
        assert manifest.details["reviewed"] == {"leave": 1, "mask": 5}

    def test_a_document_without_finds_has_a_row(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        data = load([{"doc_id": "d", "document": "It rained.", "summary": "Rain."}])
        with pytest.raises(WaitingError):
            redacted(tmp_path, data, sources=[], review=review)
        (row,) = read_review(review)
        assert (row["document_id"], row["text"]) == ("d", "")
        write_review(review, [("d", "", "", "leave", "")])
        assert redacted(tmp_path, data, sources=[], review=review)[0].documents["d"].text == "It rained."

    @together("line, field, row", [
            (2, "document_id", ("calls/2", "CODE", "TR3934", "mask", "")),
            (2, "category", ("calls/1", "CODES", "TR3934", "mask", "")),
            (2, "text", ("calls/1", "CODE", "TR9999", "mask", "")),
            (2, "decision", ("calls/1", "CODE", "TR3934", "yes", "")),
            (2, "text", ("calls/1", "CODE", "", "mask", "")),
            (2, "same_as", ("calls/1", "CODE", "TR3934", "mask", "TR1")),
            (None, "document_id", ("calls/1", "CODE", "TR3934", "mask", "")),  # news/1 has no row
        ],
    )  # fmt: skip
    def test_faults_by_line(self, line: int | None, field: str, row: tuple[str, ...], tmp_path: Path) -> None:
        write_review(tmp_path / "review.csv", [row])
        with pytest.raises(InputError) as caught:
            redacted(tmp_path, review=tmp_path / "review.csv", sources=[])
        assert (line, field) in [(fault.line, fault.field) for fault in caught.value.faults]

    def test_unknown_sources_and_pairs_of_unknown_summaries_are_refused(self, tmp_path: Path) -> None:
        for settings in ({"sources": ["cals"]}, {"pairs": True}):
            with pytest.raises(UsageError):
                redacted(tmp_path, **settings)
            assert not (tmp_path / "out").exists()

    def test_an_amount_is_no_time_of_the_table_but_may_be_named_whole(self, tmp_path: Path) -> None:
        data = load([{"doc_id": "d", "document": "It costs 5.15 pounds.", "summary": "x"}])
        review = tmp_path / "review.csv"
        write_review(review, [("d", "TIME", "5.15", "mask", "")])
        with pytest.raises(InputError, match=r":2: text: is '5\.15', which occurs in no text of 'd'"):
            redacted(tmp_path, data, sources=[], review=review)
        write_review(review, [("d", "CODE", "5.15 pounds", "mask", "")])
        fresh, _ = redacted(tmp_path, data, sources=[], review=review)
        assert fresh.documents["d"].text == "It costs <CODE_1>."


class TestLeaks:
    def test_what_is_left(self) -> None:
        def recognize(text: str) -> list[Match[str]]:
            return [Match("PERSON", text.index("Ana"), text.index("Ana") + 3)]

        text = "Ana <CODE_1> wrote to ana.b@post.example on 44 12 77, see www.post.example/7 and ghent."
        known = {Entity("PLACE", "ghent"): {"Ghent"}, Entity("PLACE", "bruges"): {"Bruges"}}
        assert list(remaining_data(text, recognize, known)) == [
            ("mail", "ana.b@post.example"),
            ("link", "www.post.example/7"),
            ("number", "44 12 77"),
            ("name", "Ana"),
            ("entity", "ghent"),
        ]

    def test_they_are_counted_and_listed(self, tmp_path: Path) -> None:
        row = {
            "doc_id": "d",
            "document": "Mail ben@post.example about 12 boxes in Ely Park. ELY park!",
            "summary": "12 boxes.",
        }
        _, manifest = redacted(tmp_path, load([row]), sources=[])
        assert manifest.details["leaks"] == {"mail": 1, "number": 2}
        rows = [json.loads(line) for line in (tmp_path / "out" / "leaks.jsonl").read_text("utf-8").splitlines()]
        assert rows[0] == {"document_id": "d", "where": "document", "kind": "mail", "text": "ben@post.example"}
