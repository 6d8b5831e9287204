"""The probability-weighted score: finding the token of the score, and weighting its alternatives."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.evaluators.geval.weights import SCORES, locate, read_digit, weigh
from summeter.models.base import TokenLogprobs
from summeter.records import ReplyError


def token(text: str, *top: tuple[str, float]) -> TokenLogprobs:
    """A token with alternatives and their probabilities, its own included."""
    logs = {name: math.log(p) for name, p in top}
    return TokenLogprobs(token=text, logprob=logs.get(text, 0.0), top=tuple(logs.items()))


def plain(*texts: str) -> list[TokenLogprobs]:
    return [TokenLogprobs(token=text, logprob=0.0) for text in texts]


def test_the_mean_by_hand() -> None:
    """P(4) = .6, P(5) = .2, P(3) = .1 and .1 elsewhere: (2.4 + 1 + .3) / .9 = 3.7 / .9 = 4.1111..."""
    score = token("4", ("4", 0.6), ("5", 0.2), ("3", 0.1), ("7", 0.05), ("null", 0.05))
    found = weigh([*plain('{"', "score", '":'), score, *plain("}")], 4)
    assert found.value == pytest.approx(3.7 / 0.9, abs=1e-12)
    assert found.shares == pytest.approx((0, 0, 0.1 / 0.9, 0.6 / 0.9, 0.2 / 0.9), abs=1e-12)
    assert found.outside == pytest.approx(0.1, abs=1e-12)
    assert str(found) == "probabilities 1: 0.000, 2: 0.000, 3: 0.111, 4: 0.667, 5: 0.222; outside the scale: 0.100"


def test_spellings_of_one_score_add_up() -> None:
    """ " 4" .3, "4" .2, "4}" .1 are one score: .6; "5" .4: 4 x .6 + 5 x .4 = 4.4."""
    score = token(" 4", (" 4", 0.3), ("4", 0.2), ("4}", 0.1), ("5", 0.4))
    found = weigh([*plain('{"score":'), score, *plain("}")], 4)
    assert found.value == pytest.approx(4.4, abs=1e-12)
    assert found.outside == pytest.approx(0.0, abs=1e-12)


def test_the_sampled_token_counts_even_if_improbable() -> None:
    """A server with a grammar may sample an improbable token: P(2) = .1, sampled; P(4) = .3; the others are text.

    (2 x .1 + 4 x .3) / .4 = 3.5, and .6 of the probability is outside the scale.
    """
    top = tuple((text, math.log(p)) for text, p in (("The", 0.5), ("4", 0.3)))
    tokens = [*plain('{"score": '), TokenLogprobs(token="2", logprob=math.log(0.1), top=top), *plain("}")]
    found = weigh(tokens, 2)
    assert found.value == pytest.approx(3.5, abs=1e-12)
    assert found.outside == pytest.approx(0.6, abs=1e-12)


def test_tokens_with_more_than_the_digit() -> None:
    """`": 4}` is one token that contains one score only, so its alternatives are parsed as they are."""
    score = token('": 4}', ('": 4}', 0.5), ('": 5}', 0.5))
    assert weigh([*plain('{"score'), score], 4).value == pytest.approx(4.5, abs=1e-12)


@together("text, score", [
     ("4", 4), (" 4", 4), ("\n4", 4), ('"4', 4), ('"4"', 4), ("4}", 4), ('4"}', 4), (": 4", 4), ("▁3", 3), ("Ġ3", 3),
     ("0", None), ("6", None), ("45", None), ("4.5", None), ("4.", None), ("-4", None), ("four", None), ("", None),
     (" ", None), ("4 or", None), ("٤", None)])  # fmt: skip
def test_scores_of_alternatives(text: str, score: int | None) -> None:
    assert read_digit(text) == score


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (['{"score": ', "4", "}"], 1),
        (["{", '"', "score", '"', ":", ' "', "4", '"', "}"], 6),
        (['{"score": 4}'], 0),
        (["4"], 0),
        (["**", "4", "**"], 1),
        (["```json\n", '{"score"', ":4", "}\n```"], 2),
        (["<think>", '"score": 4', "</think>", '{"score": ', "4", "}"], 4),
        (["4", "<|im_end|>"], 0),
        (['{"score": 5} no: {"score": ', "4", "}"], 1),  # the tokens of the other score do not count
        (['{"SCORE" : ', "4.0", "}"], 1),
        (["{'score': ", "4", "}"], 1),
        (["", "", '{"score": ', "", "4", "", "}"], 4),
    ],
)
def test_location_of_the_score(texts: list[str], place: int) -> None:
    assert locate(plain(*texts), 4) == place


@pytest.mark.parametrize("texts", [[], ["{}"], ['{"score": 3}'], ['{"score": 44}'], ['{"score": "four"}'], ["4 or 5"]])
def test_a_reply_without_its_score_has_no_weights(texts: list[str]) -> None:
    with pytest.raises(ReplyError, match="no token of the reply contains its score, 4"):
        weigh(plain(*texts), 4)


around = st.text(st.characters(codec="utf-8", exclude_characters="<"), max_size=20).filter(
    lambda text: "score" not in text.lower()
)


@given(st.sampled_from(SCORES), around, st.booleans(), st.lists(st.integers(0, 100), max_size=12))
def test_the_digit_is_found_for_any_tokenization(score: int, before: str, quoted: bool, cuts: list[int]) -> None:
    text = before + json.dumps({"score": str(score) if quoted else score})
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    tokens = plain(*(text[start:end] for start, end in pairwise(edges)))
    place = locate(tokens, score)
    start = sum(len(one.token) for one in tokens[:place])
    digit = text.rindex(str(score))
    assert start <= digit < start + len(tokens[place].token)


@given(
    st.sampled_from(SCORES),
    st.dictionaries(st.sampled_from(["1", "2", "3", "4", "5", " 4", "10", "x"]), st.floats(-30, 0), max_size=8),
    st.floats(-30, 0),
)
def test_the_value_is_on_the_scale_and_shares_sum_to_one(score: int, top: dict[str, float], drawn: float) -> None:
    tokens = [
        *plain('{"score": '),
        TokenLogprobs(token=str(score), logprob=top.get(str(score), drawn), top=tuple(top.items())),
        *plain("}"),
    ]
    found = weigh(tokens, score)
    assert 1 <= found.value <= 5
    assert math.fsum(found.shares) == pytest.approx(1)
    assert 0 <= found.outside <= 1


def test_a_score_of_probability_zero_is_rejected() -> None:
    tokens = [*plain('{"score": '), TokenLogprobs(token="4", logprob=-1e9), *plain("}")]
    with pytest.raises(ReplyError, match="contain no allowed score"):
        weigh(tokens, 4)


@pytest.mark.parametrize("wrong", [0.1, math.inf, -math.inf, math.nan, 1e308])
@pytest.mark.parametrize("place", ["drawn", "alternative"])
def test_invalid_log_probabilities_are_rejected(wrong: float, place: str) -> None:
    drawn, top = (wrong, ()) if place == "drawn" else (-0.1, (("5", wrong),))
    tokens = [*plain('{"score": '), TokenLogprobs.model_construct(token="4", logprob=drawn, top=top), *plain("}")]
    with pytest.raises(ReplyError, match="log-probability"):
        weigh(tokens, 4)
