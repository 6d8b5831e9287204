"""ROUGE equals the reference package on English, and is defined for all scripts."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import assert_within
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from together import together

from summeter.evaluators.catalog import build
from summeter.records import InstallError
from summeter.text.lcs import LcsSide, lcs_indexes, lcs_length
from summeter.text.rouge import Rouge, Tokenizer, rouge_l, rouge_lsum, rouge_n, tokens

TYPES = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]
ROUGES: dict[str, Callable[..., Rouge]] = {
    "rouge1": lambda p, r, **options: rouge_n(p, r, 1, **options),
    "rouge2": lambda p, r, **options: rouge_n(p, r, 2, **options),
    "rouge3": lambda p, r, **options: rouge_n(p, r, 3, **options),
    "rougeL": rouge_l,
    "rougeLsum": rouge_lsum,
}
SCORERS = {stem: rouge_scorer.RougeScorer(TYPES, use_stemmer=stem) for stem in (False, True)}


def check_equal(prediction: str, references: list[str], *, stem: bool, tokenizer: Tokenizer) -> None:
    expected = SCORERS[stem].score_multi(references, prediction)
    for kind, rouge in ROUGES.items():
        score = rouge(prediction, references, stem=stem, tokenizer=tokenizer)
        assert score == pytest.approx(tuple(expected[kind]), abs=1e-12), kind


# Few words, so that they repeat and many subsequences tie; newlines and punctuation between them.
_WORDS = "a b c d running runs ran Nation nations national 3.5 it's U.S. --"
PIECES = [*_WORDS.split(), "\n", "\n\n", ". "]
WORDY = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)
ASCII = st.text(st.characters(max_codepoint=127), max_size=60)


@given(WORDY | ASCII, st.lists(WORDY | ASCII, min_size=1, max_size=3), st.booleans())
@settings(max_examples=400, deadline=None)
def test_ascii_text_scores_as_in_the_reference_package(prediction: str, references: list[str], stem: bool) -> None:
    check_equal(prediction, references, stem=stem, tokenizer="unicode")


@given(st.text(max_size=60), st.lists(st.text(max_size=60), min_size=1, max_size=3), st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_reference_tokenizer_is_equal_on_any_text(prediction: str, references: list[str], stem: bool) -> None:
    check_equal(prediction, references, stem=stem, tokenizer="reference")


@pytest.mark.shared
@pytest.mark.parametrize("stem", [False, True])
def test_real_summaries_score_as_in_the_reference_package(shared: Path, stem: bool) -> None:
    with gzip.open(shared / "data" / "shen2023.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, 60)]
    for row in rows:
        references = row.get("references") or [row["reference"]]
        summary = row["summary"].replace(" . ", " .\n")
        references = [text.replace(" . ", " .\n") for text in references]
        check_equal(summary, references, stem=stem, tokenizer="reference")
        if not any(char.isalnum() and not char.isascii() for char in "".join([summary, *references])):
            check_equal(summary, references, stem=stem, tokenizer="unicode")


@pytest.mark.parametrize("stem", [False, True])
def test_typographic_english_scores_as_in_the_reference_package(stem: bool) -> None:
    prediction = "“Don’t pay £1,000,” she said – twice…\nThe café’s owner’s naming rights 👍".replace("é", "e")
    check_equal(prediction, ["She said “don’t pay” — £1,000 twice.\nNames!"], stem=stem, tokenizer="unicode")


def test_a_hand_computed_case() -> None:
    # prediction: the cat sat on the mat (6 words, 5 bigrams); reference: the cat lay on a mat (6, 5)
    # unigrams shared: the (1), cat, on, mat = 4; bigrams: "the cat" = 1; LCS: the cat on mat = 4
    prediction, reference = "The cat sat on the mat.", "the cat lay on a mat"
    assert rouge_n(prediction, reference, 1) == pytest.approx((4 / 6, 4 / 6, 4 / 6))
    assert rouge_n(prediction, reference, 2) == pytest.approx((1 / 5, 1 / 5, 1 / 5))
    assert rouge_l(prediction, reference) == pytest.approx((4 / 6, 4 / 6, 4 / 6))


def test_the_worked_example_of_lin_2004() -> None:
    # Lin (2004), section 3.2: reference w1..w5, candidates "w1 w2 w6 w7 w8" and "w1 w3 w8 w9 w5":
    # subsequences w1 w2 and w1 w3 w5, their union w1 w2 w3 w5 = 4 of 5; 4 of 10 words of the candidate.
    rouge = rouge_lsum("w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5")
    assert (rouge.recall, rouge.precision) == pytest.approx((4 / 5, 4 / 10))


def test_sentence_lists_equal_newlines() -> None:
    text, reference = "a b c\nd e", "d e a\nb c x"
    assert rouge_lsum(text.split("\n"), [reference.split("\n")]) == rouge_lsum(text, reference)
    # A newline within a given sentence does not split it.
    assert rouge_lsum(["a b\nc"], ["a b c"]).f1 == 1.0


def test_the_best_of_several_references() -> None:
    # against "a": precision 1/2, recall 1, F1 2/3; against "a b c d": 1, 1/2, F1 2/3: equal, so the first is returned
    assert rouge_n("a b", ["a", "a b c d"], 1) == pytest.approx((1 / 2, 1, 2 / 3))
    assert rouge_n("a b", ["x", "a b"], 1).f1 == 1.0


@pytest.mark.parametrize(("prediction", "reference"), [("", ""), ("a", ""), ("", "a"), ("...", "a"), ("\n", "\n")])
def test_texts_without_words_score_zero_as_in_the_reference(prediction: str, reference: str) -> None:
    for rouge in ROUGES.values():
        assert rouge(prediction, reference) == (0, 0, 0)


def test_invalid_calls_are_refused() -> None:
    for rouge in ROUGES.values():
        with pytest.raises(ValueError, match="at least one reference"):
            rouge("a", [])
    with pytest.raises(ValueError, match="at least 1"):
        rouge_n("a", "a", 0)


SCRIPTS = {
    "Latin": "Él comió café en la montaña después.",
    "Cyrillic": "Быстрая лиса прыгает через собаку.",
    "Greek": "Η γρήγορη αλεπού πηδάει πάνω από τον σκύλο.",
    "Arabic": "القِطَّة تجلس على الحصيرة.",
    "Hebrew": "החתול יושב על השטיח.",
    "Devanagari": "बिल्ली चटाई पर बैठी है।",
    "Chinese": "猫坐在垫子上。",
    "Japanese": "猫がマットの上に座った。",
    "Korean": "고양이가 매트 위에 앉았다.",
    "Thai": "แมวนั่งบนเสื่อ",
    "Tamil": "பூனை பாயில் அமர்ந்தது.",
}


@together("script", SCRIPTS)
@together("stem", [False, True])
def test_identical_text_scores_one_in_every_script(script: str, stem: bool) -> None:
    text = SCRIPTS[script]
    for rouge in ROUGES.values():
        assert rouge(text, text, stem=stem) == Rouge(1.0, 1.0, 1.0)
    other = SCRIPTS["Greek" if script != "Greek" else "Latin"]
    assert rouge_n(text, other, 1, stem=stem).f1 == 0


def test_the_intended_difference_from_the_reference() -> None:
    assert tokens("A café", tokenizer="reference") == ["a", "caf"]
    assert tokens("A café") == tokens("A cafe\u0301") == ["a", "café"]
    assert tokens("猫が3匹") == ["猫", "が", "3", "匹"]


@given(WORDY, WORDY)
def test_swapping_texts_swaps_precision_and_recall(left: str, right: str) -> None:
    for rouge in (ROUGES["rouge1"], ROUGES["rouge2"], rouge_l):
        there, back = rouge(left, right), rouge(right, left)
        assert (there.precision, there.recall) == (back.recall, back.precision)
        assert 0 <= there.f1 <= 1


# --- longest common subsequences ---


def plain_lcs(left: str, right: str) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


@given(st.text("abc", max_size=90), st.text("abcd", max_size=90))
def test_lcs_equals_the_plain_table(left: str, right: str) -> None:
    length = plain_lcs(left, right)
    assert lcs_length(left, right) == length
    indexes = lcs_indexes(left, LcsSide.of(right))
    assert len(indexes) == length
    assert indexes == sorted(set(indexes))
    rest = iter(right)
    assert all(left[i] in rest for i in indexes)  # a subsequence of the right side, in order


def test_long_documents_take_a_moment() -> None:
    rng = random.Random(7)
    words = [f"w{rng.randrange(3000)}" for _ in range(20_000)]
    halves = " ".join(words[:10_000]), " ".join(words[10_000:])
    assert 0 < rouge_l(*halves).f1 < 1
    # A table in Python would take about 20 s; this takes about 0.05 s on one core of 2024.
    assert_within(2, lambda: rouge_l(*halves))


def test_a_missing_stemmer_is_reported_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("summeter.text.rouge.find_spec", lambda name: None)
    with pytest.raises(InstallError, match=r"NLTK.*pip install 'summeter\[rouge\]'"):
        build("rouge[stemmer=true]").sign({})
    assert build("rouge").sign({}) == "rouge|v:1"
