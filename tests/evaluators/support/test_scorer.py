import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.evaluators.support.checks import CONFLICTS
from summeter.evaluators.support.features import Overlap
from summeter.evaluators.support.scorer import THRESHOLD, LexicalScorer, Weights, shipped
from summeter.evaluators.support.words import prepare
from summeter.text.split import split

SOURCE = "Profits rose 14 percent in May. Staff numbers fell. The board did not approve a merger with Acme."


def judged(claim, text=SOURCE, named="source"):
    scorer = LexicalScorer(named)
    return scorer.score([claim], scorer.prepare(text, split(text)))[0]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("Profits rose 41 percent in May.", "41 is not in the source; nearest: 14"),
        ("Profits rose 14 percent in June.", "'June' is not in the source; nearest: 'May'"),
        ("Quarterly profits rose.", "caution: 'Quarterly' has no support in the source"),
        ("Angry penguins protested.", "'Angry', 'penguins protested' have no support in the source"),
        ("The board approved a merger with Acme.", "negated in the source: 'did not approve'"),
        ("Profits never rose in May.", "negated here, not in the source: 'never rose'"),
        ("Profits fell 14 percent in May.", "'fell', where the source says 'rose'"),
        ("Staff numbers rose.", "'rose', where the source says 'fell'"),
        ("Profits rose in May.", "all content words found here"),
        ("Staff numbers fell.", "copied word for word from here"),
    ],
)
def test_reasons_a_person_checks_in_a_second(claim, reason):
    assert reason in judged(claim).reasons


def test_evidence_points_at_the_sentence():
    (span,) = judged("The merger with Acme was not approved.").evidence
    assert SOURCE[slice(*span)] == "The board did not approve a merger with Acme."
    assert judged("Penguins swim.").evidence == ()


def test_a_claim_without_content_words_has_no_number():
    for claim in ("", "It was.", "...", "👍", "And then they did it."):
        verdict = judged(claim)
        assert verdict.probability is None
        assert verdict.reasons == ("no content words to check",)
    assert judged("Profits rose.", "").reasons == ("the source has no words",)
    assert judged("Profits rose.", "🎉 —").probability is None


@pytest.mark.parametrize(
    ("source", "claim", "number"),
    [
        ("Sales at the firm rose in the third quarter.", "Sales at the firm rose by 25 percent.", "25 percent"),
        ("Sales rose by 20 percent in the second half.", "Sales rose by 50 percent in the second half.", "50"),
        ("The firm sold 12 in 2019.", "The firm sold 1 percent.", "1 percent"),
        ("The team won 2 of 100 games.", "The team won 3 percent of its games.", "3 percent"),
    ],
)
def test_what_is_no_such_share_does_not_stand_for_one(source, claim, number):
    (verdict,) = LexicalScorer("source").score([claim], prepare(source, split(source)))
    assert f"{number} is not in the source" in verdict.reasons[0]


def weights(words=0.0, density=0.0, checks=None, shift=0.0):
    """Weights of two shares; checks that are not named never err."""
    return Weights(0.0, Overlap(words, 0.0, density), {**dict.fromkeys(CONFLICTS, 0.0), **(checks or {})}, 1.0, shift)


def test_a_conflict_counts_however_well_the_words_match():
    # Log-odds of 9 for a copy; a number that is nowhere is an error in six of ten.
    scorer = LexicalScorer(weights=weights(words=9.0, checks={"number": 0.6}))
    evidence = scorer.prepare(SOURCE, split(SOURCE))
    right, wrong = scorer.score(["Profits rose 14 percent in May.", "Profits rose 41 percent in May."], evidence)
    assert right.probability > 0.99
    assert wrong.probability < 0.4
    assert (right.supported, wrong.supported) == (True, False)


def test_a_label_is_a_threshold_of_the_probability_and_the_base_rate_moves_it():
    claims = [
        "Profits rose 14 percent.",
        "The board approved a merger.",
        "Angry staff protested.",
        "Staff fell in May.",
    ]
    for base_rate in (0.1, 0.5, 0.9):
        scorer = LexicalScorer(base_rate=base_rate)
        verdicts = scorer.score(claims, scorer.prepare(SOURCE, split(SOURCE)))
        assert all(verdict.supported == (verdict.probability >= THRESHOLD) for verdict in verdicts)
    even, rare = (LexicalScorer(base_rate=rate) for rate in (0.5, 0.1))
    evidence = even.prepare(SOURCE, split(SOURCE))
    for first, second in zip(even.score(claims, evidence), rare.score(claims, evidence), strict=True):
        # Odds of one to nine in the place of even ones.
        odds = first.probability / (1 - first.probability) / 9
        assert second.probability == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize("named", ["source", "summary"])
def test_the_reason_never_speaks_for_what_was_decided_against(named):
    # Only what is copied in one piece counts: 1 for a copy, less for words that are joined otherwise.
    scorer = LexicalScorer(named, weights=weights(density=4.0, shift=-2.0))
    evidence = scorer.prepare(SOURCE, split(SOURCE))
    claims = ["Staff numbers fell.", "Board with numbers.", "Angry staff numbers fell."]
    copied, joined, missing = scorer.score(claims, evidence)
    assert (copied.supported, copied.reasons) == (True, ("copied word for word from here",))
    assert (joined.supported, joined.reasons) == (
        False, (f"'Board' and 'numbers' stand in the {named}, but not joined like this",),
    )  # fmt: skip
    assert missing.reasons == (
        f"caution: 'Angry' has no support in the {named}", "the other content words found here",
    )  # fmt: skip


SCRIPTS = {
    "Latin": ("Der Bär schläft im Wald.", "Die Katze trinkt Milch."),
    "Cyrillic": ("Медведь спит зимой в лесу.", "Кошка пьёт молоко дома."),
    "Greek": ("Η αρκούδα κοιμάται στο δάσος.", "Μια γάτα πίνει γάλα."),
    "Arabic": ("ينام الدب في الغابة.", "تشرب القطة حليبا دافئا."),
    "Hebrew": ("הדוב ישן ביער.", "חתולה שותה חלב."),
    "Devanagari": ("भालू जंगल में सोता है।", "बिल्ली दूध पीती थी।"),
    "Han": ("熊在冬天睡觉。", "猫喝牛奶。"),
    "Thai": ("หมีนอนในป่า", "แมวดื่มนม"),
    "Hangul": ("곰은 겨울에 잔다.", "고양이가 우유를 마신다."),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_any_script(script):
    said, other = SCRIPTS[script]
    text = f"{said} 👩‍👩‍👧 {other}"
    same, foreign = judged(said, text), judged(said, other)
    assert same.probability > foreign.probability
    assert (same.supported, foreign.supported) == (True, False)
    assert any(said[:3] in text[a:b] for a, b in same.evidence)


@settings(deadline=None)  # the first claim loads the weights
@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=200))
def test_any_text_gives_valid_spans_and_the_same_verdict_twice(claims, text):
    scorer = LexicalScorer()
    found = scorer.score(claims, scorer.prepare(text, split(text)))
    assert len(found) == len(claims)
    for verdict in found:
        assert verdict.reasons
        assert verdict.probability is None or 0 <= verdict.probability <= 1
        for start, end in verdict.evidence:
            assert 0 <= start < end <= len(text)
            assert text[start:end] == text[start:end].strip()
    assert found == scorer.score(claims, scorer.prepare(text, split(text)))


def test_a_fact_at_the_end_of_a_long_source_is_found():
    filler = [f"Report {i} notes that section {i * 7} of the plan was read by member {i % 90}." for i in range(3600)]
    text = " ".join([*filler, "The heron nested on the lighthouse at dawn."])
    assert len(text.split()) > 50_000
    spans = []
    at = 0
    for sentence in [*filler, "The heron nested on the lighthouse at dawn."]:
        spans.append((at, at + len(sentence)))
        at += len(sentence) + 1
    scorer = LexicalScorer()
    verdict = scorer.score(["A heron nested on the lighthouse."], scorer.prepare(text, spans))[0]
    assert verdict.supported
    assert verdict.evidence == (spans[-1],)


def test_shipped_weights_keep_their_signs():
    for use in shipped().values():
        assert all(weight >= 0 for weight in use.overlap)
        assert set(use.precision) == set(CONFLICTS)
        assert all(0 < right < 1 for right in use.precision.values())
        assert use.slope > 0
    # The number, the name and the month that are not there: more often an error than not.
    assert all(right > 0.5 for right in shipped()["source"].precision.values())


def test_log_odds_by_hand():
    fitted = Weights(-0.5, Overlap(2.0, 0.0, -1.0), {"number": 0.5, "name": 0.2}, slope=2.0, shift=-1.0, dialogue=0.25)
    overlap = Overlap(0.75, 0.3, 1.0)
    assert fitted.log_odds(overlap, {}) == pytest.approx(-1.0)
    assert fitted.log_odds(overlap, {}, is_dialogue=True) == pytest.approx(-0.75)
    # P = .5 * .5 ** 2 * .8 = .1; a third number is no worse than two.
    assert fitted.log_odds(overlap, {"number": 3, "name": 1}) == pytest.approx(2 * math.log(0.1 / 0.9) - 1)
    assert LexicalScorer().probability(1e6) == pytest.approx(1.0)
    assert LexicalScorer().probability(-1e6) == pytest.approx(0.0)
