"""`variant=legacy`: deviations of the released code (version 0.1.14) from the paper, and those not reproduced.

Results of the released code are reproduced. If it crashes, returns NaN, or returns a cached result of another input,
the item has a status and a reason instead; the tests state what the released code does.
"""

from __future__ import annotations

import pytest
from evaluators.fenice.test_fenice_paper import CLAIM, SENTENCES, SOURCE, cut, fenice, window
from evaluators.fenice.test_fenice_paper import one as verdict
from evaluators.networks import Row, document, judge, table_coreference, table_nli

from summeter.evaluators.fenice.evaluator import Fenice, sentence_windows
from summeter.records import Document, Judgment

LEGACY, RESOLVING = fenice(variant="legacy"), fenice(variant="legacy", coref=True)


def one(
    table: dict[str, Row], evaluator: Fenice = LEGACY, source: Document = SOURCE, **tools: object
) -> Judgment:  # fmt: skip
    return verdict(table, evaluator, source, **tools)


class TestPairScore:
    """The released code computes p_entail - p_neutral, the paper p_entail - p_contradict."""

    def test_contradiction_scores_0_and_neutral_minus_1(self) -> None:
        contradicted = dict.fromkeys([*SENTENCES, window(0), window(1), SOURCE.text], (0.0, 0.0, 1.0))
        assert one(contradicted).value == 0.0
        assert one({}).value == -1.0
        # In the paper it is the other way round.
        assert one(contradicted, fenice()).value == -1.0
        assert one({}, fenice()).value == 0.0

    def test_a_contradiction_outranks_unrelated_passages(self) -> None:
        found = one({SENTENCES[2]: (0.0, 0.0, 1.0)})
        assert found.value == 0.0
        assert cut(found) == [SENTENCES[2]]
        assert found.reason is not None
        assert found.reason.startswith(
            f'"{CLAIM}" is contradicted by sentence 3 (of 6): score .00 '
            "(entailment .00, neutral .00, contradiction 1.00)"
        )


class TestLevels:
    def test_without_a_gate_the_maximum_of_all_levels_counts(self) -> None:
        # The sentence has .95, which is over any T, but the window's .99 counts.
        table = {SENTENCES[0]: (0.95, 0.0, 0.05), window(0): (0.99, 0.0, 0.01)}
        assert one(table).value == pytest.approx(0.99)
        # If the window's score is lower, the sentence's counts (in the paper, below T, the window's would).
        low = {SENTENCES[0]: (0.5, 0.1, 0.4), window(0): (0.3, 0.1, 0.6)}
        assert one(low).value == pytest.approx(0.4)

    def test_windows_and_document_need_six_sentences(self) -> None:
        for size, expected in ((5, -1.0), (6, 1.0)):
            source = document(*SENTENCES[:size])
            assert one({source.text: (1.0, 0.0, 0.0)}, source=source).value == expected
        # In the paper, a document of five sentences is also read whole.
        five = document(*SENTENCES[:5])
        assert one({five.text: (1.0, 0.0, 0.0)}, fenice(), five).value == 1.0

    def test_ties_between_levels(self) -> None:
        same = (0.7, 0.1, 0.2)
        assert cut(one(dict.fromkeys([SENTENCES[4], SENTENCES[1]], same))) == [SENTENCES[1]]
        assert cut(one(dict.fromkeys([SENTENCES[4], window(0), SOURCE.text], same))) == [SENTENCES[4]]
        assert cut(one(dict.fromkeys([window(1), window(0), SOURCE.text], same))) == [window(0)]
        assert cut(one({SOURCE.text: same})) == [SOURCE.text]

    def test_ties_with_coreference(self) -> None:
        source = document("Ana came.", "She won.", *SENTENCES[:4])
        wide = " ".join(source.sentence_texts[:5])
        same = (0.7, 0.1, 0.2)
        rows = {"She won.": (0.5, 0.2, 0.3), "Ana won.": same, wide: same, source.text: same}
        found = one(rows, RESOLVING, source, coref=table_coreference(["Ana", "She"]))
        assert [span.cut(source.text) for span in found.evidence] == ["She won.", "Ana"]
        found = one({**rows, "She won.": same}, RESOLVING, source, coref=table_coreference(["Ana", "She"]))
        assert [span.cut(source.text) for span in found.evidence] == ["She won."]


class TestNotCopied:
    """Faults of the released code that are not reproduced."""

    def test_results_do_not_depend_on_earlier_calls(self) -> None:
        # The keys of the released cache have a claim's index instead of its text, so that with coreference a second
        # call returns the first call's score for the claim with the same index: 1.00 instead of .33.
        source = document("Ana came home.", "She won gold.")
        table = {
            ("She won gold.", "Ana won gold."): (0.5, 0.5, 0.0), ("Ana won gold.", "Ana won gold."): (1.0, 0.0, 0.0),
            ("She won gold.", "Ana won silver."): (0.3, 0.5, 0.2),
            ("Ana won gold.", "Ana won silver."): (0.5, 0.17, 0.33),
        }  # fmt: skip
        coref = table_coreference(["Ana", "She"])
        ((first,), (second,)) = judge(
            RESOLVING, source, "Ana won gold.", "Ana won silver.", nli=table_nli(table), coref=coref
        )
        assert (first.value, second.value) == (1.0, pytest.approx(0.33))

    def test_a_document_is_prepared_once(self) -> None:
        # The released code splits, resolves and windows the document 12 times for 12 systems' summaries.
        nli, coref = table_nli(), table_coreference(["Sentence", ("Sentence", 1)])
        judge(RESOLVING, SOURCE, *[CLAIM] * 12, nli=nli, coref=coref)
        assert len(coref.asked) == 1
        assert len(nli.texts) == len(set(nli.texts)) == 6 + 2 + 1


class TestSentences:
    """The choice of a sentence, and the passages."""

    def test_the_first_of_equal_sentences_is_resolved(self) -> None:
        # The best sentence is located by its stripped text, so the mentions of the first equal sentence count.
        source = document("Bo came.", "He won.", "Cy came.", "He won.")
        coref = table_coreference(["Bo", ("He", 0)], ["Cy", ("He", 1)])
        rows = {"He won.": (0.4, 0.6, 0.0), "Bo won.": (0.7, 0.3, 0.0), "Cy won.": (1.0, 0.0, 0.0)}
        assert one(rows, RESOLVING, source, coref=coref).value == pytest.approx(0.4)

    def test_a_short_document_has_one_unused_window(self) -> None:
        assert sentence_windows(3, 5, 1, "legacy") == [(0, 3)]
        nli = table_nli()
        judge(LEGACY, document(*SENTENCES[:3]), CLAIM, nli=nli)
        # The released code classifies the window and the document in vain; here they are not asked about.
        assert nli.texts == [(text, CLAIM) for text in SENTENCES[:3]]

    def test_with_one_window_only_sentences_count(self) -> None:
        # n = 6, j = 5: the starts are 0 and 1, of which only 0 is a multiple of 5.
        assert sentence_windows(6, 5, 5, "legacy") == [(0, 5)]
        everything = {window(0): (1.0, 0.0, 0.0), SOURCE.text: (1.0, 0.0, 0.0)}
        assert one(everything, fenice(variant="legacy", stride=5)).value == -1.0
        assert one(everything).value == 1.0
