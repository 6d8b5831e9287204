"""The probability-weighted score of a reply (G-Eval; Liu et al., EMNLP 2023, equation 1).

A reply such as {"score": 4} is a sequence of tokens, each with its most probable alternatives. The token that contains
the digit is found by the offsets of the tokens in the text. The mean is taken over this token and those of its
alternatives that contain another allowed digit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from summeter.models.base import TokenLogprobs
from summeter.records import ReplyError

SCORES = (1, 2, 3, 4, 5)
# The score in an object, with any quotes; or else a reply that consists of a digit (and an end mark).
_IN_JSON = re.compile(r"""["'“”]?score["'“”]?\s*[:=]\s*["'“”]?\s*([1-5])(?!\d)(?!\.[0-9]*[1-9])""", re.IGNORECASE)
_ALONE = re.compile(r"""[\s"'*_`]*([1-5])(?:\.0*)?[\s"'*_`.]*(?:<[^<>]{1,40}>\s*)?""")
_THOUGHTS_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
# Other characters that a token may contain before and after the digit.
_DIGIT = re.compile(r"""[\s:="'“”*_`▁Ġ]*([1-5])[\s"'“”*_`}\],]*""")


class Weighted(NamedTuple):
    """The weighted mean `value` of the scores 1 to 5.

    `shares` are the probabilities of the five scores, which sum to 1. `outside` is the probability of all other tokens
    at this position.
    """

    value: float
    shares: tuple[float, ...]
    outside: float

    def __str__(self) -> str:
        shares = ", ".join(f"{score}: {share:.3f}" for score, share in zip(SCORES, self.shares, strict=True))
        return f"probabilities {shares}; outside the scale: {self.outside:.3f}"


def weigh(tokens: Sequence[TokenLogprobs], score: int) -> Weighted:
    """Return the weighted score of a reply from the alternatives of the token that contains `score`.

    Servers report probabilities before a grammar is applied, for at most twenty alternatives. The probabilities of the
    five scores are renormalised to sum to 1, and the remaining probability is reported. Raises ReplyError if no token
    contains the score or if a log-probability is invalid (above 0 or not finite).

    In this example, 4 has the probability 0.6 and 5 has 0.2, so the score is (4 x 0.6 + 5 x 0.2) / 0.8 = 4.25, and the
    probability outside is 0.2.

    >>> from math import log
    >>> token = TokenLogprobs(token=" 4", logprob=log(0.6), top=((" 4", log(0.6)), ("5", log(0.2)), ("n", log(0.1))))
    >>> found = weigh([TokenLogprobs(token='{"score":', logprob=0.0), token, TokenLogprobs(token="}", logprob=0.0)], 4)
    >>> round(found.value, 9), round(found.outside, 9)
    (4.25, 0.2)
    """
    token = tokens[locate(tokens, score)]
    mass = [0.0] * len(SCORES)
    for text, logprob in dict(token.alternatives).items():
        digit = score if text == token.token else read_digit(text)
        if digit is not None:
            mass[digit - 1] += math.exp(logprob)
    inside = math.fsum(mass)
    if not inside > 0:
        raise ReplyError("the log-probabilities contain no allowed score")
    shares = tuple(share / inside for share in mass)
    value = math.fsum(score * share for score, share in zip(SCORES, shares, strict=True))
    return Weighted(value, shares, max(0.0, 1.0 - inside))


def locate(tokens: Sequence[TokenLogprobs], score: int) -> int:
    """Return the index of the token that contains the digit of the score.

    The first occurrence after the model's reasoning is used, because later repetitions depend on it. Raises ReplyError
    if no token contains the digit.
    """
    text = "".join(token.token for token in tokens)
    ends = list(accumulate(len(token.token) for token in tokens))
    body = max((match.end() for match in _THOUGHTS_END.finditer(text)), default=0)
    spots = [match.start(1) for match in _IN_JSON.finditer(text, body) if int(match[1]) == score]
    if not spots and (alone := _ALONE.fullmatch(text, body)) and int(alone[1]) == score:
        spots = [alone.start(1)]
    if not spots:
        raise ReplyError(f"no token of the reply contains its score, {score}, so it has no probabilities")
    return next(place for place, end in enumerate(ends) if spots[0] < end)


def read_digit(token: str) -> int | None:
    """Return the score that a token would have written in place of the sampled token, or None.

    >>> [read_digit(token) for token in ("4", ' "4', "4}", "10", "4.5", "four", "0")]
    [4, 4, 4, None, None, None, None]
    """
    match = _DIGIT.fullmatch(token)
    return int(match[1]) if match else None
