import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from summeter.evaluators.support.comparison import CONFLICTS, Overlap
from summeter.evaluators.support.scorer import THRESHOLD, LexicalScorer, Weights, shipped_weights, sigmoid
from summeter.evaluators.support.words import index_text
from summeter.text.split import split

SOURCE = "Profits rose 14 percent in May. Staff numbers fell. The board did not approve a merger with Acme."


def support_of(claim, text=SOURCE):
    return LexicalScorer().score([claim], index_text(text, split(text)))[0]


@together(
    "claim, reason, text",
    [
        *(
            (*row, SOURCE)
            for row in [
                ("Profits rose 41 percent in May.", "41 is not in the source; nearest: 14"),
                ("Profits rose 14 percent in June.", "'June' is not in the source; nearest: 'May'"),
                ("Quarterly profits rose.", "caution: 'Quarterly' has no support in the source"),
                ("Angry penguins protested.", "'Angry', 'penguins protested' have no support in the source"),
                ("The board approved a merger with Acme.", "negated in the source: 'did not approve'"),
                ("Profits never rose in May.", "negated here, not in the source: 'never rose'"),
                ("Profits fell 14 percent in May.", "'fell', but the source says 'rose'"),
                ("Staff numbers rose.", "'rose', but the source says 'fell'"),
                ("Profits rose in May.", "all content words found here"),
                ("Staff numbers fell.", "copied word for word from here"),
            ]
        ),
        ("He met 5 men.", "5 is not in the source; nearest: 'three'", "He met three men."),
        ("She paid 5 euros.", "5 is not in the source, which has no numbers", "She paid nothing."),
        ("Costs rose $4.", "$4 is not in the source; nearest: 4%", "Costs rose 4%."),
        ("The old grey cat sat.", "'old grey' has no support in the source", "The cat sat."),
        ("Angry dogs fell near Ghent.", "'Ghent' is not in the source", "It fell."),
        # Other shares do not match.
        ("Sales at the firm rose by 25 percent.", "25 percent is not", "Sales at the firm rose in the third quarter."),
        ("Sales rose by 50 percent in the second half.", "50 is not", "Sales rose by 20 percent in the second half."),
        ("The firm sold 1 percent.", "1 percent is not in the source", "The firm sold 12 in 2019."),
        ("The team won 3 percent of its games.", "3 percent is not in the source", "The team won 2 of 100 games."),
        ("The U.S. waited in Mali.", "'U' is not in the source", "They told us to wait in Mali."),
    ],
)
def test_reasons(claim, reason, text):
    assert any(reason in found for found in support_of(claim, text).reasons)


@together(
    "claim, text",
    [
        ("The U.S. sent aid to Mali.", "The US sent aid to Mali."),
        ("The UN met in Geneva.", "The U.N. met in Geneva."),
        ("She read the email on Monday.", "She read the e-mail on Monday."),
        ("E-mail was down on Monday.", "Email was down on Monday."),
        ("The co-operation ended.", "The cooperation ended."),
        ("The code X200 failed.", "The code X-200 failed."),
    ],
)
def test_spelling_variants_are_not_reported_as_missing(claim, text):
    assert not any("is not in" in reason or "no support" in reason for reason in support_of(claim, text).reasons)


def test_evidence_points_at_the_sentence():
    (span,) = support_of("The merger with Acme was not approved.").evidence
    assert SOURCE[slice(*span)] == "The board did not approve a merger with Acme."
    assert support_of("Penguins swim.").evidence == ()


def test_texts_without_words_have_no_probability():
    for claim in ("", "It was.", "...", "👍", "And then they did it."):
        verdict = support_of(claim)
        assert verdict.probability is None
        assert verdict.reasons == ("no content words to check",)
    assert support_of("Profits rose.", "").reasons == ("the source has no words",)
    assert support_of("Profits rose.", "🎉 —").probability is None


def weights(words=0.0, density=0.0, checks=None, shift=0.0):
    """Weights of two shares; other checks have a precision of 0."""
    return Weights(0.0, Overlap(words, 0.0, density), {**dict.fromkeys(CONFLICTS, 0.0), **(checks or {})}, 1.0, shift)


def test_a_conflict_lowers_the_probability_of_a_near_copy():
    # A copy has log-odds of 9, and 60 % of missing numbers are errors.
    scorer = LexicalScorer(weights=weights(words=9.0, checks={"number": 0.6}))
    evidence = index_text(SOURCE, split(SOURCE))
    right, wrong = scorer.score(["Profits rose 14 percent in May.", "Profits rose 41 percent in May."], evidence)
    assert right.probability > 0.99
    assert wrong.probability < 0.4
    assert (right.supported, wrong.supported) == (True, False)


def test_labels_and_base_rate():
    claims = [
        "Profits rose 14 percent.",
        "The board approved a merger.",
        "Angry staff protested.",
        "Staff fell in May.",
    ]
    for base_rate in (0.1, 0.5, 0.9):
        scorer = LexicalScorer(base_rate=base_rate)
        verdicts = scorer.score(claims, index_text(SOURCE, split(SOURCE)))
        assert all(verdict.supported == (verdict.probability >= THRESHOLD) for verdict in verdicts)
    even, rare = (LexicalScorer(base_rate=rate) for rate in (0.5, 0.1))
    evidence = index_text(SOURCE, split(SOURCE))
    for first, second in zip(even.score(claims, evidence), rare.score(claims, evidence), strict=True):
        # The prior odds are 1 to 9 instead of 1 to 1.
        odds = first.probability / (1 - first.probability) / 9
        assert second.probability == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize("evidence_name", ["source", "summary"])
def test_positive_reasons_only_for_supported_claims(evidence_name):
    # Only density has a weight. It is 1 for a copy and lower for the same words in another combination.
    scorer = LexicalScorer(evidence_name, weights=weights(density=4.0, shift=-2.0))
    evidence = index_text(SOURCE, split(SOURCE))
    claims = ["Staff numbers fell.", "Board with numbers.", "Angry staff numbers fell."]
    copied, recombined, missing = scorer.score(claims, evidence)
    assert (copied.supported, copied.reasons) == (True, ("copied word for word from here",))
    assert (recombined.supported, recombined.reasons) == (
        False, (f"'Board' and 'numbers' occur in the {evidence_name}, but not in this combination",),
    )  # fmt: skip
    assert missing.reasons == (
        f"caution: 'Angry' has no support in the {evidence_name}", "the other content words found here",
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
def test_scripts(script):
    sentence, other = SCRIPTS[script]
    text = f"{sentence} 👩‍👩‍👧 {other}"
    same, foreign = support_of(sentence, text), support_of(sentence, other)
    assert same.probability > foreign.probability
    assert (same.supported, foreign.supported) == (True, False)
    assert any(sentence[:3] in text[a:b] for a, b in same.evidence)


@settings(deadline=None)  # the first claim loads the weights
@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=200))
def test_any_text_gives_valid_spans_and_the_same_verdict_twice(claims, text):
    scorer = LexicalScorer()
    found = scorer.score(claims, index_text(text, split(text)))
    assert len(found) == len(claims)
    for verdict in found:
        assert verdict.reasons
        assert verdict.probability is None or 0 <= verdict.probability <= 1
        for start, end in verdict.evidence:
            assert 0 <= start < end <= len(text)
            assert text[start:end] == text[start:end].strip()
    assert found == scorer.score(claims, index_text(text, split(text)))


def test_a_fact_at_the_end_of_a_long_source_is_found():
    filler = [f"Report {i} notes that section {i * 7} of the plan was read by member {i % 90}." for i in range(900)]
    last = "The heron nested on the lighthouse at dawn."
    text = " ".join([*filler, last])
    verdict = support_of("A heron nested on the lighthouse.", text)
    assert verdict.supported
    assert verdict.evidence == ((len(text) - len(last), len(text)),)


def test_shipped_weights_keep_their_signs():
    for weights in shipped_weights().values():
        assert all(weight >= 0 for weight in weights.overlap)
        assert set(weights.precision) == set(CONFLICTS)
        assert all(0 < right < 1 for right in weights.precision.values())
        assert weights.slope > 0
    # The findings of each check are errors in the majority of cases.
    assert all(right > 0.5 for right in shipped_weights()["source"].precision.values())


def test_worked_example_of_log_odds():
    fitted = Weights(-0.5, Overlap(2.0, 0.0, -1.0), {"number": 0.5, "name": 0.2}, slope=2.0, shift=-1.0, dialogue=0.25)
    overlap = Overlap(0.75, 0.3, 1.0)
    assert fitted.log_odds(overlap, {}) == pytest.approx(-1.0)
    assert fitted.log_odds(overlap, {}, is_dialogue=True) == pytest.approx(-0.75)
    # P = .5 * .5 ** 2 * .8 = .1, because at most two findings of a kind count.
    assert fitted.log_odds(overlap, {"number": 3, "name": 1}) == pytest.approx(2 * math.log(0.1 / 0.9) - 1)
    assert sigmoid(1e6) == pytest.approx(1.0)
    assert sigmoid(-1e6) == pytest.approx(0.0)
