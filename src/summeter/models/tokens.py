"""How many tokens a text has, about, without any vendor's tokenizer."""

from __future__ import annotations

import re

from summeter.models.base import Request
from summeter.runs.usage import Usage

# A pattern, what a run of it counts, and what each of its characters adds.
_WEIGHTS = (
    (re.compile(r"[A-Za-z]+"), 0.4, 0.137),
    (re.compile(r"[0-9]+"), 0.0, 0.85),
    (re.compile(r"[!-/:-@\[-`{-~]+"), 1.06, 0.0),
    (re.compile(r"\n+"), 1.3, 0.0),
    (re.compile(r"[\u00a1-\u024f]+"), 0.0, 2.0),
    (re.compile(r"[\u0250-\u2dff]+"), 0.0, 0.52),
    (re.compile(r"[\u2e80-\U0010ffff]+"), 0.0, 0.9),
)

REPLY = 200  # tokens of a judge's reply, where nothing better is known


def expected(request: Request) -> Usage:
    """What a call is thought to take, before it is made: the tokens of the request, and those of a usual reply."""
    return Usage(tokens_in=tokens(request.prompt), tokens_out=min(REPLY, request.max_tokens or REPLY))


def tokens(text: str) -> int:
    """Estimated number of tokens of a text, of any language.

    A word counts a constant and some for each letter, a digit and a run of signs one each, and so on: weights
    fitted to what five tokenizers (GPT-4o, Claude, Gemini, Llama 3, Qwen 3) make of summeter's own prompts, where
    the estimate lies within 6 % of each. For scripts on which the five differ by a factor of three, it lies between.
    It is the likeliest number; `summeter.text.tokens` has one that is rather too large, for what must fit.

    >>> tokens("The council voted 9 to 4.")  # 5 * 0.4 + 17 * 0.137 + 2 * 0.85 + 1.06
    7
    """
    total = 0.0
    for pattern, run, sign in _WEIGHTS:
        runs = pattern.findall(text)
        total += run * len(runs) + sign * sum(map(len, runs))
    return round(total)
