"""Estimate the number of tokens in a text without a vendor's tokenizer."""

from __future__ import annotations

import re

from summeter.models.base import Request
from summeter.runs.usage import Usage

# A pattern, the number of tokens per match, and the number of tokens per character of a match.
_WEIGHTS = (
    (re.compile(r"[A-Za-z]+"), 0.4, 0.137),
    (re.compile(r"[0-9]+"), 0.0, 0.85),
    (re.compile(r"[!-/:-@\[-`{-~]+"), 1.06, 0.0),
    (re.compile(r"\n+"), 1.3, 0.0),
    (re.compile(r"[\u00a1-\u024f]+"), 0.0, 2.0),
    (re.compile(r"[\u0250-\u2dff]+"), 0.0, 0.52),
    (re.compile(r"[\u2e80-\U0010ffff]+"), 0.0, 0.9),
)

REPLY = 200  # expected number of tokens of a judge's reply


def expected(request: Request) -> Usage:
    """Return the expected usage of a call.

    It consists of the estimated numbers of tokens of the prompt and of a typical reply.
    """
    return Usage(tokens_in=tokens(request.prompt), tokens_out=min(REPLY, request.max_tokens or REPLY))


def tokens(text: str) -> int:
    """Return the estimated number of tokens of a text in any language.

    The estimate is a weighted count of words, letters, digits, punctuation and other characters. The weights are fitted
    to five tokenizers (GPT-4o, Claude, Gemini, Llama 3, Qwen 3) on summeter's prompts, where the estimate is within 6 %
    of each tokenizer's count. For scripts on which the five counts differ by a factor of three, the estimate lies
    between them. The estimate is unbiased; `summeter.text.tokens` has an estimate that tends to be too high, for texts
    that must fit into a context.

    >>> tokens("The council voted 9 to 4.")  # 5 * 0.4 + 17 * 0.137 + 2 * 0.85 + 1.06
    7
    """
    total = 0.0
    for pattern, per_match, per_character in _WEIGHTS:
        matches = pattern.findall(text)
        total += per_match * len(matches) + per_character * sum(map(len, matches))
    return round(total)
