"""Words and the embedded network together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
from evaluators.networks import table_nli

from summeter.evaluators.support import network, scorer
from summeter.evaluators.support.checks import CONFLICTS
from summeter.evaluators.support.features import Overlap
from summeter.evaluators.support.network import BOUND, ROOM, log_odds, premise, score
from summeter.evaluators.support.scorer import LexicalScorer, Weights
from summeter.evaluators.support.words import prepare
from summeter.models.networks import Entailment
from summeter.records import UsageError

TEXT = "Profits rose 14 percent in May. It rained all week. Staff numbers fell in May."
SPANS = [(0, 31), (32, 51), (52, 78)]
# Words count as their share, the network half, and as much again where no word is matched.
SIMPLE = Weights(0.0, Overlap(1.0, 0.0, 0.0), dict.fromkeys(CONFLICTS, 0.6), slope=1.0, shift=0.0)
BOTH = {"words": 1.0, "network": 0.5, "reworded": 0.5, "shift": 0.0}
JOINT = {"card": {"network": "table/nli"}, "model": {"source": BOTH, "summary": BOTH}}


@pytest.fixture(autouse=True)
def joint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "combination", lambda: JOINT)
    monkeypatch.setattr(scorer, "shipped", lambda: {"source": SIMPLE, "summary": SIMPLE})
    monkeypatch.setattr(network, "DOUBT", (0.0, 1.0))  # every claim is asked about, but where a test says otherwise


def scored(claims: Sequence[str], nli: Any) -> list[Any]:
    return asyncio.run(score(claims, prepare(TEXT, SPANS), "source", nli))


def test_the_joint_score_is_the_words_score_and_a_share_of_the_log_odds() -> None:
    claim = "Staff fell."
    nli = table_nli({(TEXT, claim): (0.8, 0.15, 0.05)})
    (verdict,) = scored([claim], nli)
    # Both words are there: 1. ln(.8 / .2) = 1.386294; half of it is added.
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(-1 - 0.5 * 1.3862943611)), abs=1e-9)
    assert verdict.evidence[0] == (52, 78)


def test_the_network_counts_more_where_words_are_not_matched() -> None:
    claim = "Staff sang."
    nli = table_nli({(TEXT, claim): (0.8, 0.15, 0.05)})
    (verdict,) = scored([claim], nli)
    # One of two words is there: .5; a half of the log-odds is added, and of another half the half that is unmatched.
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(-0.5 - 0.75 * 1.3862943611)), abs=1e-9)


def test_log_odds_are_those_of_entailment_against_the_rest() -> None:
    assert log_odds(Entailment(0.5, 0.4, 0.1)) == pytest.approx(0.0)


def test_no_answer_counts_as_certain() -> None:
    assert log_odds(Entailment(1.0, 0.0, 0.0)) == pytest.approx(BOUND)
    assert log_odds(Entailment(0.0, 1.0, 0.0)) == pytest.approx(-BOUND)
    assert math.isfinite(log_odds(Entailment(1 - 1e-17, 0.0, 0.0)))


def test_it_is_asked_once_about_each_claim_all_in_one_call() -> None:
    nli = table_nli()
    scored(["Profits and staff rose in May.", "It rained."], nli)
    assert nli.texts == [(TEXT, "Profits and staff rose in May."), (TEXT, "It rained.")]


def test_a_claim_without_words_is_not_asked_about() -> None:
    nli = table_nli()
    first, second = scored(["...", "It rained."], nli)
    assert first.probability is None
    assert second.probability is not None
    assert {claim for _, claim in nli.texts} == {"It rained."}


def test_it_is_asked_where_words_leave_doubt_and_they_decide_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = ["Profits rose 14 percent in May.", "Staff sang.", "Zebras grazed beside 41 lakes."]
    evidence = prepare(TEXT, SPANS)
    alone = LexicalScorer().score(claims, evidence)
    copied, doubted, foreign = (verdict.probability for verdict in alone)
    assert copied is not None
    assert doubted is not None
    assert foreign is not None
    assert foreign < doubted < copied
    monkeypatch.setattr(network, "DOUBT", ((foreign + doubted) / 2, (doubted + copied) / 2))
    nli = table_nli()
    verdicts = scored(claims, nli)
    assert {claim for _, claim in nli.texts} == {"Staff sang."}
    assert [verdicts[0], verdicts[2]] == [alone[0], alone[2]]
    assert verdicts[1].probability != alone[1].probability


def test_what_is_in_doubt_does_not_depend_on_the_base_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DOUBT", (0.3, 0.7))
    rare, usual = table_nli(), table_nli()
    claims = ["Profits rose in May.", "Staff sang."]
    for nli, rate in ((rare, 0.02), (usual, 0.5)):
        asyncio.run(score(claims, prepare(TEXT, SPANS), "source", nli, rate))
    assert rare.texts == usual.texts


def test_a_number_that_is_not_there_decides_whatever_the_network_says() -> None:
    claim = "Profits rose 41 percent in May."
    nli = table_nli({(TEXT, claim): (0.99, 0.01, 0.0)})
    (verdict,) = scored([claim], nli)
    assert verdict.supported is False
    assert "41 is not in the source" in verdict.reasons[0]


def test_the_network_is_quoted_where_it_is_sure() -> None:
    claim = "Staff numbers rose in May."
    (verdict,) = scored([claim], table_nli({(TEXT, claim): (0.01, 0.04, 0.95)}))
    if verdict.supported is False:
        assert verdict.reasons[-1] == "contradicted here, says the network (.95)"
    (verdict,) = scored(["Headcount shrank in May."], table_nli())
    assert verdict.supported is False
    assert verdict.reasons[-1] == "it does not follow from this, says the network (.00)"


def test_another_network_is_refused() -> None:
    nli = table_nli()
    nli.id = "hf/org/nli@1"
    with pytest.raises(UsageError, match=r"weighs the answers of table/nli.*bound to hf/org/nli@1"):
        scored(["It rained."], nli)


def spans_of(sentences: list[str]) -> tuple[str, list[tuple[int, int]]]:
    text = " ".join(sentences)
    starts = [text.index(sentence) for sentence in sentences]
    return text, [(start, start + len(sentence)) for start, sentence in zip(starts, sentences, strict=True)]


def filler(name: str, words: int = 49) -> str:
    return f"{name} " + "filler " * (words - 2) + "end."


def test_a_premise_stays_within_its_room() -> None:
    evidence = prepare(*spans_of([filler(f"Alpha{n}") for n in range(4)]))
    assert len(premise(evidence, {"filler"}).split()) <= ROOM
    assert len(premise(prepare(*spans_of([filler("Alpha", 200)])), {"alpha"}).split()) == 200


def test_a_premise_without_a_shared_word_has_the_first_sentences() -> None:
    assert premise(prepare(TEXT, SPANS), {"zebra"}) == TEXT
    names = ["Alpha", "Beta", "Gamma", "Delta"]
    evidence = prepare(*spans_of([filler(name) for name in names]))
    assert [word for word in premise(evidence, {"zebra"}).split() if word in names] == ["Alpha", "Beta"]


def test_a_rare_word_counts_more_than_one_that_every_sentence_has() -> None:
    sentences = [filler(f"Company {name}", 36) for name in ("Ann", "Ben", "Cleo", "Dora", "Emil")]
    text = premise(prepare(*spans_of([*sentences, "Zebras ran. " + filler("Nobody", 40)])), {"compani", "cleo"})
    assert "Company Cleo" in text


def test_the_neighbour_of_a_sentence_that_speaks_of_the_claim_comes_before_strangers() -> None:
    names = ["Rain", "Snow", "Ines", "She", "Wall", "Hail"]
    sentences = [filler(name, 36) if name != "She" else "She opposed the harbour wall." for name in names]
    text = premise(prepare(*spans_of(sentences)), {"oppos", "harbour"})
    assert [word for word in text.split() if word in names] == ["Ines", "She", "Wall"]


def test_sentences_that_are_needed_come_first() -> None:
    names = ["Alpha", "Beta", "Gamma", "Delta"]
    evidence = prepare(*spans_of([filler(name) for name in names]))
    assert [word for word in premise(evidence, {"alpha"}, [3]).split() if word in names] == ["Alpha", "Delta"]
