"""fenice by the paper's equations (1 to 8, section 3.2), worked by hand with a fake network."""

from __future__ import annotations

from typing import ClassVar

import pytest
from evaluators.networks import Row, document, judge, table_coreference, table_nli, table_seq2seq

from summeter.evaluators.fenice.evaluator import Fenice
from summeter.records import Document, Judgment, UsageError
from summeter.scoring import summary_scores

SENTENCES = tuple(f"Sentence {name} is here." for name in ("one", "two", "three", "four", "five", "six"))
SOURCE = document(*SENTENCES)
CLAIM = "Ada sold the mill."


def fenice(**settings: object) -> Fenice:
    """FENICE with each sentence of the summary as one claim."""
    return Fenice(claims="sentence", **settings)


def window(first: int, size: int = 5) -> str:
    return " ".join(SENTENCES[first : first + size])


def one(
    table: dict[str, Row], evaluator: Fenice | None = None, source: Document = SOURCE, **tools: object
) -> Judgment:  # fmt: skip
    """Return the verdict on the only claim; `table` maps passages to probabilities."""
    nli = table_nli({(premise, CLAIM): row for premise, row in table.items()})
    ((found,),) = judge(evaluator or fenice(), source, CLAIM, nli=nli, **tools)  # type: ignore[arg-type]
    return found


def cut(found: Judgment, source: Document = SOURCE) -> list[str]:
    return [span.cut(source.text) for span in found.evidence]


def test_a_sentence_that_reaches_the_gate_decides() -> None:
    # Sentence 2: .95 - .01 = .94; sentence 4: .97 - .02 = .95, the best. .95 >= T = .8: no windows are read.
    table = {SENTENCES[1]: (0.95, 0.04, 0.01), SENTENCES[3]: (0.97, 0.01, 0.02), window(0): (0.99, 0.01, 0.0)}
    found = one(table)
    assert found.value == pytest.approx(0.95)
    assert (found.label, found.target.unit, found.model) == (1, "claim", "table/nli")
    assert cut(found) == [SENTENCES[3]]
    assert found.reason == (
        '"Ada sold the mill." is supported by sentence 4 (of 6): score .95 (entailment .97, contradiction .02)'
    )


def test_below_the_gate_a_larger_passage_decides() -> None:
    # Best sentence .79 < .8. Windows of 5 of 6 sentences: two (i = 1, 2). Second window .90 - .05 = .85.
    table = {SENTENCES[0]: (0.80, 0.19, 0.01), window(1): (0.90, 0.05, 0.05), SOURCE.text: (0.84, 0.16, 0.0)}
    found = one(table)
    assert found.value == pytest.approx(0.85)
    assert cut(found) == [window(1)]
    assert found.reason == (
        '"Ada sold the mill." is supported by the window of sentences 2 to 6 (of 6): score .85 '
        "(entailment .90, contradiction .05)"
    )


def test_a_larger_passage_decides_even_with_a_lower_score() -> None:
    # Sentence .7; windows 0; document .2 - .1 = .1: by the paper, .1 counts.
    found = one({SENTENCES[0]: (0.7, 0.3, 0.0), SOURCE.text: (0.2, 0.7, 0.1)})
    assert found.value == pytest.approx(0.1)
    assert cut(found) == [SOURCE.text]
    assert found.label == 0
    assert found.reason is not None
    assert "; sentence 1 (of 6) has .70, which is below the gate of .80 and does not decide" in found.reason


def test_a_claim_is_contradicted_unless_it_is_supported() -> None:
    against = {SENTENCES[2]: (0.05, 0.0, 0.95)}
    assert one(against).contradicted is True
    assert one({**against, SENTENCES[0]: (0.9, 0.1, 0.0)}).contradicted is False
    assert one({}).contradicted is False


def test_the_maximum_hides_a_contradiction() -> None:
    # One sentence contradicts (-.9), the others are neutral (0): the maximum is 0; the reason mentions the first.
    found = one({SENTENCES[2]: (0.05, 0.0, 0.95)})
    assert found.value == pytest.approx(0.0)
    assert found.reason is not None
    assert "sentence 3 contradicts it (entailment .05, contradiction .95)" in found.reason
    assert SENTENCES[2] in cut(found)
    # If every passage contradicts the claim, the score is negative.
    everywhere = dict.fromkeys([*SENTENCES, window(0), window(1), SOURCE.text], (0.1, 0.0, 0.9))
    told = one(everywhere)
    assert told.value == pytest.approx(-0.8)
    assert told.reason is not None
    assert told.reason.startswith(
        '"Ada sold the mill." is contradicted by the window of sentences 1 to 5 (of 6): score -.80 '
        "(entailment .10, contradiction .90)"
    )


def test_a_short_document_has_no_window() -> None:
    short = document(*SENTENCES[:3])
    found = one({short.text: (0.9, 0.1, 0.0)}, source=short)
    assert (found.value, cut(found, short)) == (pytest.approx(0.9), [short.text])


def test_windows_cover_the_whole_document() -> None:
    nli = table_nli()
    many = document(*(f"Number {at} is here." for at in range(12)))
    judge(fenice(window=5, stride=5), many, CLAIM, nli=nli)
    asked = {premise for premise, _ in nli.texts}
    texts = many.sentence_texts
    for first in (0, 5, 7):  # the last window ends with the document
        assert " ".join(texts[first : first + 5]) in asked
    assert len(asked) == 12 + 3 + 1


BILES = document("Simone Biles came home.", "She won gold.")


class TestCoreference:
    def test_a_pronoun_is_replaced_by_its_antecedent(self) -> None:
        # The sentence alone: .5. "Simone Biles won gold.": .95, over the gate.
        table = {"She won gold.": (0.5, 0.5, 0.0), "Simone Biles won gold.": (0.95, 0.05, 0.0)}
        coref = table_coreference(["Simone Biles", "She"])
        found = one(table, fenice(coref=True), BILES, coref=coref)
        assert found.value == pytest.approx(0.95)
        assert cut(found, BILES) == ["She won gold.", "Simone Biles"]
        assert found.reason is not None
        assert found.reason.startswith(
            f"\"{CLAIM}\" is supported by sentence 2 (of 2) with 'She' read as 'Simone Biles': score .95"
        )

    def test_only_the_best_sentence_is_resolved_if_that_helps(self) -> None:
        table = {"She won gold.": (0.9, 0.1, 0.0), "Simone Biles won gold.": (0.2, 0.8, 0.0)}
        found = one(table, fenice(coref=True), BILES, coref=table_coreference(["Simone Biles", "She"]))
        assert (found.value, cut(found, BILES)) == (pytest.approx(0.9), ["She won gold."])

    def test_mentions_of_two_clusters_are_not_combined(self) -> None:
        source = document("Ana met Bo.", "She saw him there.")
        claim = "Ana saw Bo there."
        nli = table_nli(
            {
                ("Ana met Bo.", claim): (0.0, 0.5, 0.5),
                ("She saw him there.", claim): (0.3, 0.3, 0.4),
                ("Ana saw him there.", claim): (0.6, 0.4, 0.0),
            }
        )
        # s*: "Ana met Bo." is -.5, "She saw him there." -.1.
        ((found,),) = judge(
            fenice(step="nli_coref"), source, claim, nli=nli, coref=table_coreference(["Ana", "She"], ["Bo", "him"])
        )
        assert found.value == pytest.approx(0.6)
        versions = {premise for premise, _ in nli.texts} - set(source.sentence_texts)
        assert versions == {"Ana saw him there.", "She saw Bo there."}

    def test_a_missing_model_is_named(self) -> None:
        with pytest.raises(UsageError, match=r"models=\{'coref': "):
            judge(fenice(coref=True), BILES, CLAIM, nli=table_nli())
        with pytest.raises(UsageError, match=r"models=\{'nli': "):
            judge(fenice(), BILES, CLAIM)
        with pytest.raises(UsageError, match=r"models=\{'seq2seq': "):
            judge(Fenice(), BILES, CLAIM, nli=table_nli())


class TestLadder:
    """FENICE, table 5: the contribution of each step."""

    TEXT = "Ada sold the mill and bought a boat."
    # The sentence scores .3; the claims .9 and .4; the second .6 with "She" replaced by "Ada", and .7 in the document.
    SOURCE = document("Ada sold her mill.", "She has a new boat.")
    BOUGHT = "Ada bought a boat."
    TABLE: ClassVar = {
        ("She has a new boat.", TEXT): (0.3, 0.7, 0.0),
        ("Ada sold her mill.", CLAIM): (0.9, 0.1, 0.0),
        ("She has a new boat.", BOUGHT): (0.4, 0.6, 0.0),
        ("Ada has a new boat.", BOUGHT): (0.6, 0.4, 0.0),
        (SOURCE.text, BOUGHT): (0.7, 0.3, 0.0),
    }

    @pytest.mark.parametrize(
        ("settings", "values"),
        [
            ({"step": "nli_sent"}, [0.3]),
            ({"step": "nli_claim"}, [0.9, 0.4]),
            ({"step": "nli_coref"}, [0.9, 0.6]),
            ({"coref": True}, [0.9, 0.7]),
        ],
    )
    def test_steps(self, settings: dict[str, object], values: list[float]) -> None:
        networks = {
            "nli": table_nli(self.TABLE),
            "coref": table_coreference([("Ada", 0), "She"]),
            "seq2seq": table_seq2seq({self.TEXT: f"{CLAIM} {self.BOUGHT}"}),
        }
        (found,) = judge(Fenice(**settings), self.SOURCE, self.TEXT, **networks)
        assert [one.value for one in found] == pytest.approx(values)
        (score,) = summary_scores(found, {"fenice": Fenice.reduce})
        assert score.value == pytest.approx(sum(values) / len(values))

    def test_nli_sent_needs_no_extractor(self) -> None:
        lowest = Fenice(step="nli_sent", claims="llm")
        assert lowest.required_roles == ("nli",)
        ((found,),) = judge(lowest, self.SOURCE, self.TEXT, nli=table_nli())
        assert (found.target.unit, found.target.index, found.claim) == ("sentence", 0, None)


class TestClaims:
    def test_generated_sentences_are_distinct_claims(self) -> None:
        text = "Ada sold the mill and moved."
        writer = table_seq2seq({text: "Ada sold the mill. Ada moved. Ada sold the mill."})
        (found,) = judge(Fenice(), SOURCE, text, nli=table_nli(), seq2seq=writer)
        assert [one.claim.text for one in found if one.claim] == ["Ada sold the mill.", "Ada moved."]
        assert [one.claim.span.cut(text) for one in found if one.claim and one.claim.span] == [text, text]


class TestLongDocuments:
    STORY = document(*(f"Chapter {at} tells of day {at}." for at in range(664)))

    def test_a_long_document_is_split_for_the_document_level(self) -> None:
        # Six words per sentence and 120 tokens, a quarter for the hypothesis: 90 are left, 15 sentences per part.
        nli = table_nli({(" ".join(self.STORY.sentence_texts[30:45]), CLAIM): (0.9, 0.1, 0.0)}, limit=120)
        ((found,),) = judge(fenice(), self.STORY, CLAIM, nli=nli)
        assert found.value == pytest.approx(0.9)
        assert cut(found, self.STORY) == [" ".join(self.STORY.sentence_texts[30:45])]
        assert all(len(premise.split()) <= 90 for premise, _ in nli.texts)
        # 664 sentences, 660 windows and 45 parts, each once.
        assert len(nli.texts) == len(set(nli.texts)) == 664 + 660 + 45

    def test_nearest_limits_the_passages(self) -> None:
        nli = table_nli(limit=120)
        ((found,),) = judge(fenice(nearest=3), self.STORY, "Chapter 500 tells of rain.", nli=nli)
        assert len(nli.texts) == 3 + 3  # sentences; windows and parts
        assert self.STORY.sentence_texts[500] in {premise for premise, _ in nli.texts}
        assert found.value == 0.0
