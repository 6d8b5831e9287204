"""The step `redact`: consistent numbering of entities, adjusted offsets, the review table, and leaks."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench
from hypothesis import given
from hypothesis import strategies as st

from summeter.benchmark import run_step
from summeter.benchmark.redaction.finding import Match
from summeter.benchmark.redaction.masking import Entity, mask, occurrences
from summeter.benchmark.redaction.step import COLUMNS, STEP, RedactSettings, remaining_data
from summeter.benchmark.step import Manifest, WaitingError, file_hashes, read_manifest
from summeter.cli.main import main
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
    data = load(
        [
            {
                "doc_id": "calls/1",
                "document": DOCUMENT,
                "summary": SUMMARY,
                "system": "a",
                "key_facts": FACTS,
                "reference": "Somebody books TR3934.",
                "domain": "calls",
                "note": "calls 01223 351241",
            },
            {
                "doc_id": "calls/1",
                "document": DOCUMENT,
                "summary": "It leaves on Sunday.",
                "system": "b",
                "key_facts": FACTS,
            },
            {"doc_id": "news/1", "document": "It rained on Monday.", "summary": "Rain on Monday.", "domain": "news"},
        ]
    )
    title = {"source": "calls", "title": "A call about TR3934"}
    documents = {
        doc_id: document.model_copy(update={"extra": title if doc_id == "calls/1" else {"source": "news"}})
        for doc_id, document in data.documents.items()
    }
    return Dataset(documents, data.summaries, {}, data.card)


def place_of(text: str, part: str) -> tuple[int, int]:
    start = text.index(part)
    return start, start + len(part)


def judged(data: Dataset) -> Dataset:
    """With labels that point into the texts: evidence of both sides, a claim, and a list of key facts."""
    in_document, in_summary = place_of(DOCUMENT, "TR3934 leaves at 17:15"), place_of(SUMMARY, "Friday at 5:15 pm")
    sentence = Judgment(
        target=Target(document_id="calls/1", system="a", unit="sentence", index=0),
        aspect="faithfulness",
        judge="ben",
        signature="ben",
        label=1,
        reason="TR3934 leaves at 17:15, it says.",
        evidence=(
            Span(of="document", start=in_document[0], end=in_document[1]),
            Span(of="summary", start=in_summary[0], end=in_summary[1]),
        ),
    )
    first, last = place_of(SUMMARY, "takes TR3934")
    claim = Judgment(
        target=Target(document_id="calls/1", system="a", unit="claim", index=0),
        aspect="faithfulness",
        judge="ben",
        signature="ben",
        label=1,
        claim=Claim(text="The user takes TR3934.", span=Span(of="summary", start=first, end=last)),
    )
    fact = Judgment(
        target=Target(
            document_id="calls/1", system="a", unit="key_fact", index=1, list_id=KeyFacts.of(FACTS, "given").id
        ),
        aspect="completeness",
        judge="ben",
        signature="ben",
        label=1,
    )
    return data.with_judgments("people", [sentence, claim, fact])


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
        data, _ = redacted(tmp_path)
        document = data.documents["calls/1"]
        assert document.text == (
            "User: I need a train to <PLACE_1> on <DAY_1>, after <TIME_1>.\n"
            "System: <CODE_1> leaves at <TIME_2>. Ring <PHONENUMBER_1>, or <PHONENUMBER_1>.\n"
            "User: Is the <PLACE_2> near <ADDRESS_1>? Thanks, <DAY_1> is fine."
        )
        assert (
            data.summaries[0].text == "The user takes <CODE_1> on <DAY_1> at <TIME_2>. The <PLACE_2> is at <ADDRESS_1>."
        )
        assert data.summaries[1].text == "It leaves on <DAY_2>."
        assert document.references == ("Somebody books <CODE_1>.",)
        assert document.key_facts == ("The train <CODE_1> leaves at <TIME_2>.", "The user travels on <DAY_1>.")

    def test_columns_that_no_step_wrote_are_left_out(self, tmp_path: Path) -> None:
        data, manifest = redacted(tmp_path)
        assert data.summaries[0].extra == {}
        assert data.documents["calls/1"].extra == {"source": "calls", "redaction": "redacted"}
        assert manifest.details["columns_left_out"] == ["note", "title"]

    def test_numbers_are_in_the_order_of_reading(self, tmp_path: Path) -> None:
        """Not in that of their discovery, or of a person's table."""
        row = {"doc_id": "d", "document": "From Ely Park Zoo to York Station, and Ely Park again.", "summary": "x"}
        review = tmp_path / "review.csv"
        write_review(review, [("d", "PLACE", "York Station", "mask", ""), ("d", "PLACE", "Ely Park", "mask", "")])
        data, _ = redacted(tmp_path, load([row]), sources=[], review=review)
        assert data.documents["d"].text == "From <PLACE_1> Zoo to <PLACE_2>, and <PLACE_1> again."

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

    def test_other_sources_stay(self, tmp_path: Path) -> None:
        data, manifest = redacted(tmp_path)
        assert data.documents["news/1"].text == "It rained on Monday."
        assert manifest.details["documents"] == 1

    def test_some_categories_alone(self, tmp_path: Path) -> None:
        data, _ = redacted(tmp_path, categories=["CODE"])
        assert data.documents["calls/1"].text == DOCUMENT.replace("TR3934", "<CODE_1>")

    def test_sentences_are_the_same_ones(self, tmp_path: Path) -> None:
        before, (data, _) = dataset(), redacted(tmp_path)
        assert len(data.summaries[0].sentences) == len(before.summaries[0].sentences)
        assert data.summaries[0].sentence_texts == (
            "The user takes <CODE_1> on <DAY_1> at <TIME_2>.",
            "The <PLACE_2> is at <ADDRESS_1>.",
        )

    def test_equal_input_gives_equal_bytes(self, tmp_path: Path) -> None:
        redacted(tmp_path)
        redacted(tmp_path, out="again")
        assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "again")

    def test_the_folder_holds_nothing_of_what_was_masked(self, tmp_path: Path) -> None:
        redacted(tmp_path)
        for path in (tmp_path / "out").rglob("*"):
            if path.is_file():
                content = path.read_text("utf-8").casefold()
                assert not [word for word in ("tr3934", "01223", "acorn", "mill road", "17:15") if word in content], (
                    path
                )

    def test_no_such_source(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"no document is from cals\. Sources are: calls, news"):
            redacted(tmp_path, sources=["cals"])


class TestLabels:
    def test_spans_and_texts_move(self, tmp_path: Path) -> None:
        data, _ = redacted(tmp_path)
        sentence, claim, fact = data.judgments("people")
        document, summary = data.documents["calls/1"].text, data.summaries[0].text
        assert sentence.evidence[0].cut(document) == "<CODE_1> leaves at <TIME_2>"
        assert sentence.evidence[1].cut(summary) == "<DAY_1> at <TIME_2>"
        assert sentence.reason == "<CODE_1> leaves at <TIME_2>, it says."
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

    def test_what_only_a_reason_says_is_masked(self, tmp_path: Path) -> None:
        reason = Judgment(
            target=Target(document_id="calls/1", system="a"),
            aspect="faithfulness",
            judge="ben",
            signature="ben",
            label=0,
            reason="It is 23:55, not 17:15.",
        )
        data, _ = redacted(tmp_path, dataset().with_judgments("people", [reason]))
        assert data.judgments("people")[0].reason == "It is <TIME_3>, not <TIME_2>."

    def test_pairs_keep_what_was_there(self, tmp_path: Path) -> None:
        bare = Dataset(dataset().documents, (), {}, dataset().card)
        save(bare, tmp_path / "data")
        run_step(STEP, tmp_path / "data", tmp_path / "out", RedactSettings(recognizer="patterns", pairs=True))
        data = load(tmp_path / "out")
        assert list(data.documents) == ["calls/1", "calls/1#redacted", "news/1", "news/1#redacted"]
        assert data.documents["calls/1"].text == DOCUMENT
        assert data.documents["calls/1"].extra["redaction"] == "unredacted"
        assert data.documents["calls/1#redacted"].extra["original"] == "calls/1"
        assert data.documents["calls/1#redacted"].key_facts[1] == "The user travels on <DAY_1>."
        assert len(data) == 0, "they are summarized afterwards"

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
        assert (manifest.counts_out["redacted_summaries"], manifest.counts_out["redacted_verdicts"]) == (2, 2)
        assert manifest.models["lead"] == "scripted/rules.jsonl"
        assert "calls/c#redacted" not in data.documents, "no system could summarize it"
        assert sum(manifest.dropped.values()) == 3, "its two summaries and itself"

    def test_summaries_of_unknown_making_cannot_be_paired(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no record of the step `summarize`"):
            redacted(tmp_path, pairs=True)
        assert not (tmp_path / "out").exists()


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
    for name, lines in (("rules", rules), ("judge", verdicts)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (folder / "bench.yaml").write_text(
        "name: pairs\n"
        "source: {sources: {calls: {path: calls, domain: calls}, news: {path: news, domain: news}}, detect: false}\n"
        "summarize:\n  models: {lead: scripted/rules.jsonl, other: scripted/rules.jsonl}\n"
        "  kind: {calls: dialogue, news: article}\n  words: 20\n"
        "detect: {detector: {models: {judge: scripted/judge.jsonl}}}\n"
        "redact: {recognizer: patterns, sources: [calls], pairs: true}\n"
    )
    with pytest.raises(SystemExit) as end:
        main(["bench", "run", str(folder / "bench.yaml"), "-o", str(folder / "chain")])
    assert end.value.code == 0
    return folder / "chain"


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

    @given(WORDS)
    def test_the_whole_text_is_the_whole_text(self, words: list[str]) -> None:
        text = " ".join(words)
        masked = mask(text, occurrences(text, NAMES), dict.fromkeys(NAMES, 1))
        assert masked.map_range(0, len(text)) == (0, len(masked.text)) or not text

    def test_a_sentence_end_within_an_entity(self, tmp_path: Path) -> None:
        row = {"doc_id": "d", "document": "Go to St. Ann Park. It is dry.", "summary": "x", "sentences": ["x"]}
        data = load([row])
        document = data.documents["d"]
        cuts = (
            Span(of="document", start=0, end=9),
            Span(of="document", start=10, end=19),
            Span(of="document", start=20, end=30),
        )
        split = Dataset({"d": document.model_copy(update={"sentences": cuts})}, data.summaries, {}, data.card)
        review = tmp_path / "review.csv"
        write_review(review, [("d", "PLACE", "St. Ann Park", "mask", "")])
        fresh, _ = redacted(tmp_path, split, sources=[], review=review)
        assert fresh.documents["d"].sentence_texts == ("Go to <PLACE_1>", ".", "It is dry.")


class TestEntities:
    @pytest.mark.parametrize(
        ("category", "one", "other"),
        [
            ("TIME", "5 PM", "17:00"),
            ("TIME", "5:15 p.m.", "17:15"),
            ("TIME", "seven o’clock", "Seven o'clock"),
            ("DAY", "the 3rd of July 2024", "JULY 3, 2024"),
            ("PHONENUMBER", "(01223) 351241", "01223-351241"),
            ("CODE", "AB-12", "ab12"),
            ("PLACE", "the Acorn", "Acorn"),
            ("ADDRESS", "12 Mill Road, CB1 2AZ", "12 mill road CB1 2AZ"),
        ],
    )
    def test_writings_of_one(self, category: Any, one: str, other: str) -> None:
        assert Entity.of(category, one) == Entity.of(category, other)

    def test_times_that_may_differ_are_two(self) -> None:
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

    def test_what_a_person_decides_is_done(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        write_review(
            review,
            [
                ("calls/1", "CODE", "TR3934", "mask", ""),
                ("calls/1", "DAY", "Friday", "leave", ""),
                ("calls/1", "PLACE", "train", "mask", ""),
                ("calls/1", "TIME", "5 pm", "mask", ""),
                ("calls/1", "TIME", "17:15", "mask", "5 pm"),
            ],
        )
        data, manifest = redacted(tmp_path, review=review)
        assert data.documents["calls/1"].text.startswith(
            "User: I need a <PLACE_1> to Ely Park on Friday, after <TIME_1>.\nSystem: <CODE_1> leaves at <TIME_1>."
        )
        assert manifest.details["reviewed"] == {"leave": 1, "mask": 4}

    def test_a_document_without_finds_has_a_row(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        data = load([{"doc_id": "d", "document": "It rained.", "summary": "Rain."}])
        with pytest.raises(WaitingError):
            redacted(tmp_path, data, sources=[], review=review)
        (row,) = read_review(review)
        assert (row["document_id"], row["text"]) == ("d", "")
        write_review(review, [("d", "", "", "leave", "")])
        assert redacted(tmp_path, data, sources=[], review=review)[0].documents["d"].text == "It rained."

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            (
                ("calls/2", "CODE", "TR3934", "mask", ""),
                ":2: document_id: is 'calls/2', which this step does not redact",
            ),
            (("calls/1", "CODES", "TR3934", "mask", ""), ":2: category: is 'CODES'. Give one of ADDRESS"),
            (("calls/1", "CODE", "TR9999", "mask", ""), ":2: text: is 'TR9999', which occurs in no text of 'calls/1'"),
            (("calls/1", "CODE", "TR3934", "yes", ""), ":2: decision: is 'yes'. Give mask or leave"),
            (("calls/1", "CODE", "", "mask", ""), ":2: text: is empty"),
            (("calls/1", "CODE", "TR3934", "mask", "TR1"), ":2: same_as: is 'TR1', which occurs in no text"),
        ],
    )
    def test_faults_by_line(self, tmp_path: Path, row: tuple[str, ...], why: str) -> None:
        review = tmp_path / "review.csv"
        write_review(review, [row])
        with pytest.raises(InputError) as caught:
            redacted(tmp_path, review=review)
        assert why in str(caught.value)

    def test_an_amount_is_no_time_of_the_table_but_may_be_named_whole(self, tmp_path: Path) -> None:
        data = load([{"doc_id": "d", "document": "It costs 5.15 pounds.", "summary": "x"}])
        review = tmp_path / "review.csv"
        write_review(review, [("d", "TIME", "5.15", "mask", "")])
        with pytest.raises(InputError, match=r":2: text: is '5\.15', which occurs in no text of 'd'"):
            redacted(tmp_path, data, sources=[], review=review)
        write_review(review, [("d", "CODE", "5.15 pounds", "mask", "")])
        fresh, _ = redacted(tmp_path, data, sources=[], review=review)
        assert fresh.documents["d"].text == "It costs <CODE_1>."

    def test_a_document_that_was_forgotten(self, tmp_path: Path) -> None:
        review = tmp_path / "review.csv"
        write_review(review, [("calls/1", "CODE", "TR3934", "mask", "")])
        with pytest.raises(InputError, match="has no row for 'news/1'"):
            redacted(tmp_path, sources=[], review=review)


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


def test_a_table_for_a_person_waits(tmp_path: Path) -> None:
    save(dataset(), tmp_path / "data")
    assert bench(tmp_path, {"redact": {"recognizer": "patterns", "review": "review.csv"}}, input="data") == 130
    assert (tmp_path / "review.csv").is_file()
