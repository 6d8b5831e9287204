"""Documents longer than the judge's context: omitted text is counted and reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluators.judging import run
from evaluators.long_items import FACT, PLANTED, Reader, document, filler, item
from hypothesis import given
from hypothesis import strategies as st

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.evaluators.claims.factscore import FactScore
from summeter.evaluators.finesure.fact_check import FactCheck
from summeter.evaluators.finesure.key_facts import KeyFactExtraction
from summeter.evaluators.llm import NoVerdict
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.evaluators.supported import SupportVerdict, decide
from summeter.evaluators.windows import GAP, LEAST, document_views
from summeter.models.base import Message
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, BoundLLM, Overflow, Settings
from summeter.models.tokens import tokens
from summeter.records import ContextError, Document, Span
from summeter.text.spans import TextSpan
from summeter.text.split import split

LONG = document()
TWO = item(LONG, PLANTED, "The bell was sold in 1801.")
WINDOWS = range(8, 13)  # of 8,192 tokens: the exact number depends on the estimate of tokens
FRAME = Prompt("frame", "0000", (Message(role="user", content="Is it so? " * 40),))


def bound(context: int | None, overflow: Overflow = "window", max_tokens: int | None = None) -> BoundLLM:
    return BoundLLM(Reader(context), Settings(context=context, on_overflow=overflow, max_tokens=max_tokens))


def small(text: str) -> Document:
    return Document(id="d", text=text, sentences=tuple(Span(of="document", start=a, end=b) for a, b in split(text)))


class TestWhatIsShown:
    def test_windows_cover_everything_and_fit(self) -> None:
        views, omitted = document_views(LONG, bound(8192), FRAME, 200)
        # 8192 x 0.9 = 7372, less 200 for the reply and about 130 for 40 times "Is it so?", leaves about 7,040 tokens,
        # of which an eighth is overlap; 53,000 / 6,160 = 8.6.
        assert omitted is None
        assert len(views) in WINDOWS
        covered = 0
        for view in views:
            assert view.start <= covered
            assert LONG.text[view.start : view.start + len(view.text)] == view.text
            assert tokens(view.text) + 200 + 100 <= 8192 * 0.9
            covered = view.start + len(view.text)
        assert covered == len(LONG.text)

    def test_truncated_tokens_are_counted(self) -> None:
        (view,), omitted = document_views(LONG, bound(8192, "truncate"), FRAME, 200)
        assert LONG.text.startswith(view.text)
        assert omitted == tokens(LONG.text[view.end :]) > 0
        assert FACT not in view.text

    @pytest.mark.parametrize("sentence", ["A is 1. ", "So it is. ", "Rain fell at 9 in Rome. "])
    def test_the_truncated_document_fits(self, sentence: str) -> None:
        text = sentence * 40
        for room in range(LEAST, tokens(text) + 10, 3):
            (view,), omitted = document_views(small(text), bound(round((room + 240) / 0.9), "truncate"), FRAME, 100)
            assert text.startswith(view.text)
            assert 100 + tokens(view.text) <= room + 240
            assert (omitted is None) == (view.text == text)

    def test_on_overflow_error_names_sizes_and_options(self) -> None:
        with pytest.raises(ContextError, match=r"about 5\d,\d{3} tokens; .* is 8,192.*on_overflow=window"):
            document_views(LONG, bound(8192, "error"), FRAME, 200)

    @given(st.text(max_size=400), st.integers(400, 900))
    def test_windows_cover_any_text(self, text: str, context: int) -> None:
        views, _ = document_views(small(text * 9), bound(context), FRAME, 50)
        covered = 0
        for view in views:
            assert view.start <= covered
            covered = view.start + len(view.text)
        assert covered == len(text * 9)


class TestPassages:
    def test_passages_in_order_after_the_beginning(self) -> None:
        middle = "A zeppelin crossed Trieste in the rain."
        source = small(f"It all began with a letter. {filler(3000)} {middle} {filler(3000)} {PLANTED}")
        near = ["A zeppelin was seen over Trieste.", FACT]
        (view,), omitted = document_views(source, bound(1600), FRAME, 100, near=near)
        assert view.text.startswith("It all began with a letter.")
        assert view.text.index("Trieste") < view.text.index(FACT)
        assert GAP in view.text
        assert tokens(view.text) <= 1600 * 0.9 - 200
        parts = view.text.split(GAP)
        assert all(part in source.text for part in parts)
        left = tokens(source.text) - sum(map(tokens, parts))
        # Rounding up each window separately adds less than one token per window.
        assert omitted == pytest.approx(left, rel=0.1)


class TestAFactAtTheEnd:
    """A document of 50,000 tokens whose last sentence has the fact, and a judge with a context of 8,192."""

    def test_factscore_finds_a_late_fact(self) -> None:
        assert tokens(LONG.text) > 50_000
        true, false = run(FactScore(), TWO, Reader(8192), context=8192)[1]
        assert (true.label, false.label) == (1, 0)
        assert [span.cut(LONG.text) for span in true.evidence] == [FACT]
        assert true.claim is not None
        assert true.claim.text == FACT
        assert true.truncated_tokens is None
        # The claims, then one question per window; only the last window supports.
        assert len(true.calls) == len(false.calls)
        assert len(true.calls) - 1 in WINDOWS

    def test_supported_claims_are_not_asked_about_again(self) -> None:
        begin = LONG.text[LONG.sentences[0].start : LONG.sentences[0].end]
        first, last = run(FactScore(), item(LONG, begin, PLANTED), Reader(8192), context=8192)[1]
        assert (first.label, last.label) == (1, 1)
        assert len(first.calls) == 2
        assert len(last.calls) - 1 in WINDOWS


class TestFineSurE:
    def test_the_fact_check_finds_a_late_fact(self) -> None:
        _, (true, false) = run(FactCheck(), TWO, Reader(8192), context=8192)
        assert (true.label, true.error_type) == (1, "no error")
        assert (false.label, false.error_type) == (0, "out-of-context error")
        assert len(true.calls) in WINDOWS
        _, (cut, _) = run(FactCheck(), TWO, Reader(8192), context=8192, on_overflow="truncate")
        assert (cut.label, cut.truncated_tokens is not None) == (0, True)

    def test_key_facts_include_a_late_fact(self) -> None:
        prepared, _ = run(KeyFactExtraction(source="document"), item(LONG, PLANTED), Reader(8192), context=8192)
        assert prepared.status == "ok"
        # All windows except the last give the same two facts, which count once.
        assert prepared.data["key_facts"] == ["People looked at things.", "They went on.", PLANTED]
        assert prepared.data["windows"] in WINDOWS
        assert prepared.data["repeated"] == 2 * prepared.data["windows"] - 3
        assert "truncated_tokens" not in prepared.data

    def test_contradictions_take_precedence_over_absence(self) -> None:
        absent, wrong = SupportVerdict(False, "out-of-context error"), SupportVerdict(False, "entity error")
        views = [TextSpan("The bell.", 0, 9), TextSpan("Nothing.", 9, 17), TextSpan("The bell rang.", 18, 32)]
        assert decide("The bell rang.", [absent, wrong, absent], views) == (wrong, 1)
        assert decide("The bell rang.", [absent, absent], views[:2]) == (absent, 0)

    def test_an_unusable_window_leaves_sentences_undecided(self) -> None:
        failed: Answer[Any] = Answer(None, "unparsed", "no JSON", (), None)
        good = Answer((SupportVerdict(True), SupportVerdict(False)), "ok", None, (), None)
        views = [TextSpan("a", 0, 1), TextSpan("b", 1, 2)]
        assert FactCheck().combine([failed, good], TWO, views) == (
            SupportVerdict(True), NoVerdict("unparsed", "window 1 of 2: no JSON"),
        )  # fmt: skip


def test_ratings_use_passages() -> None:
    judge, one = ReasonThenScore(aspect="consistency"), item(LONG, PLANTED)
    _, (found,) = run(judge, one, Reader(8192), context=8192)
    # The judge gives 5 if its prompt contains the planted fact.
    assert found.value == 5.0
    assert found.truncated_tokens is not None
    assert len(found.calls) == 1
    _, (cut,) = run(judge, one, Reader(8192), context=8192, on_overflow="truncate")
    assert cut.value == 1.0


def test_a_run_reports_truncated_tokens(tmp_path: Path) -> None:
    row = {"doc_id": "d", "document": document(18_000).text, "summary": PLANTED, "system": "s"}
    rules = tmp_path / "rules.jsonl"
    claims, yes, no = (
        json.dumps(one)
        for one in (
            {"claims": [PLANTED]},
            *({"1": {"quote": "", "reason": "so", "supported": said}} for said in ("yes", "no")),
        )
    )
    lines = [
        {"match": "<<<summary", "reply": claims},
        # The document, not the claim, ends with it.
        {"regex": r"1743\.\n<<<end of document", "reply": yes},
        {"match": "<<<claims", "reply": no},
    ]
    rules.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    model = f"scripted/{rules}"
    chosen: dict[str, Any] = {"models": model, "context": 3072}
    run = evaluate([row], ["factscore[extractor=judge]"], out=tmp_path / "run", **chosen)
    (found,) = run.judgments()
    assert found.label == 1
    assert "|ctx:3072|" in found.signature
    asked = len(found.calls)
    cut = evaluate([row], ["factscore[extractor=judge]"], out=tmp_path / "cut", on_overflow="truncate", **chosen)
    (found,) = cut.judgments()
    assert found.label == 0
    assert "|overflow:truncate|" in found.signature
    summary = json.loads((tmp_path / "cut" / "summary.json").read_text("utf-8"))
    assert summary["truncated_tokens"] == {"judgments": 1, "tokens": found.truncated_tokens}
    error = evaluate([row], ["factscore[extractor=judge]"], out=tmp_path / "error", on_overflow="error", **chosen)
    (failed,) = error.judgments()
    assert (failed.status, failed.value) == ("error", None)
    assert "on_overflow=window" in (failed.reason or "")
    for text in ("finesure.fact_check[strategy=basic]", "geval_plus.faithfulness"):
        # Every window here too: a dry run's reply that supports the sentence would end at the first one.
        assert dry_run([row], [text], **chosen)[0].calls in WINDOWS
    (planned,) = dry_run([row], ["factscore[extractor=judge]"], **chosen)
    # The claims, and every window, with room for replies on the eight claims that a dry run invents.
    assert asked <= planned.calls <= 2 * asked
