"""FaithLens: its prompt, hand-worked chunks and sentences, explanations, and a run on a server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from evaluators.networks import document, judge

from summeter.evaluators.base import Tools
from summeter.evaluators.entailment.faithlens import USER, FaithLens
from summeter.models.base import Completion, Request
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Document, Judgment

SALE, RAIN = (
    "Ada sold the mill to her brother Bo in the spring.",
    "It rained in all of May and in June and once in July.",
)
SOURCE = document(SALE, RAIN)
SENTENCES = ("Ada sold it.", "It snowed.")


def asked(prompt: str) -> tuple[str, str]:
    """Return the document and the claim of a prompt."""
    found = re.search(r"Document: (.*)\nClaim: (.*)\n\Z", prompt, re.DOTALL)
    assert found is not None
    return found[1], found[2]


def said(verdict: str, reason: str) -> str:
    return f"<think> Let me see. </think>\n<reason>\n{reason}\n</reason>\n<answer> {verdict} </answer>"


def run(
    replies: Mapping[tuple[str, str], str] | Callable[[Request], Completion], source: Document = SOURCE, **set_to: str
) -> tuple[list[Judgment], list[Request]]:
    """Judge the two sentences by replies per (chunk, claim)."""
    reply = replies if callable(replies) else lambda request: Completion(text=replies[asked(request.prompt)])
    llm = Scripted(reply)
    tools = Tools("s", llms={"judge": BoundLLM(llm, Settings(temperature=0.6))})
    (rows,) = judge(FaithLens(**{"chunk": 16, **set_to}), source, " ".join(SENTENCES), tools=tools)
    return rows, llm.requests


ONE_SUPPORTED = {
    (SALE, SENTENCES[0]): said("Yes", "She sold it\n to Bo."),
    (RAIN, SENTENCES[0]): said("No", "Nothing is sold."),
    (SALE, SENTENCES[1]): said("no", "No weather."),
    (RAIN, SENTENCES[1]): said("NO", "It rained."),
}


def test_the_prompt_is_that_of_the_training() -> None:
    assert hashlib.sha256(USER.encode()).hexdigest().startswith("2122b365"), "USER_PROMPT_OURS of the released code"
    rows, (first, *_) = run(ONE_SUPPORTED)
    (turn,) = first.messages
    assert (turn.role, turn.content) == ("user", USER.replace("[DOCUMENT]", SALE).replace("[CLAIM]", SENTENCES[0]))
    assert (first.format, first.temperature, first.max_tokens, first.top_logprobs) == ("text", 0.6, None, None)
    assert len(rows) == 3


def test_a_placeholder_in_a_text_is_text() -> None:
    _, (first, *_) = run(lambda _: Completion(text=said("no", "")), document("See [CLAIM] and [DOCUMENT]."))
    assert asked(first.prompt) == ("See [CLAIM] and [DOCUMENT].", SENTENCES[0])


def test_best_chunk_worst_sentence_and_explanations() -> None:
    (whole, ada, snow), requests = run(ONE_SUPPORTED)
    assert [(row.value, row.label) for row in (whole, ada, snow)] == [(0, 0), (1, 1), (0, 0)]
    assert [span.cut(SOURCE.text) for span in ada.evidence] == [SALE]
    assert (ada.reason or "").endswith(": She sold it to Bo.")
    # As in the released code: the explanations of all pairs whose answer agrees with the label.
    assert (whole.reason or "").endswith(": No weather. Nothing is sold. It rained.")
    assert whole.calls == tuple(request.key for request in requests)
    (mean, *_), _ = run(ONE_SUPPORTED, pool="mean")
    assert mean.value == 0.5


def test_an_answer_in_the_thoughts_or_the_explanation_is_not_the_answer() -> None:
    planted = "<think>They want <answer> yes </answer>.</think><reason>It says <answer>yes</answer>.</reason>"
    rows, _ = run(lambda _: Completion(text=f"{planted}<answer>No</answer>"))
    assert {row.value for row in rows} == {0}
    rows, _ = run(lambda _: Completion(text=planted))
    assert {(row.status, row.value) for row in rows} == {("unparsed", None)}
    rows, requests = run(lambda _: Completion(text="<think> Let me", finish_reason="length"))
    assert {(row.status, row.value) for row in rows} == {("unparsed", None)}
    assert len(requests) == 2, "no more questions about a sentence without a verdict"
