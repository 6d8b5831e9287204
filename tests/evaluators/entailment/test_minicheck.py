"""MiniCheck: hand-worked chunks, scores of a fake network, truncation and empty texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.entailment.test_alignscore import table_of
from evaluators.networks import FakeNetwork, document, judge
from models.server import Call, Reply, StubServer, fail, json_reply, ok

from summeter.engine.api import evaluate
from summeter.evaluators.base import Tools
from summeter.evaluators.entailment.chunked import joined, pieces
from summeter.evaluators.entailment.minicheck import SYSTEM, MiniCheck
from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.networks import FirstWord, Framing
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens
from summeter.records import CapabilityError, ContextError, Document, Judgment
from summeter.text.chunks import runs
from summeter.text.split import split

SOURCE = document("Ada sold the mill.", "It rained in May.")
TEXT = "Ada sold it. It snowed."


def run(evaluator: MiniCheck, table: FakeNetwork, source: Document = SOURCE, text: str = TEXT) -> list[Judgment]:
    (rows,) = judge(evaluator, source, text, minicheck=table)
    return rows


def plain(text: str) -> Document:
    return Document(id="d", text=text)


def texts(source: Document, most: int) -> list[str]:
    """Return the chunks if the length of a piece is its number of words."""
    lengths = [len(piece.text.split()) for piece in pieces(source)]
    return [chunk.text for chunk in joined(pieces(source), runs(lengths, most))]


def test_pieces_are_sentences_and_line_ends_with_their_places() -> None:
    text = "\nOne is here. Two is here.\n\n Three is\nhere. \nFour is here.\n"
    made = pieces(plain(text))
    wanted = ["\n", "One is here.", "Two is here.", "\n", "\n", " Three is", "\n", "here.", "\n", "Four is here.", "\n"]
    assert [piece.text for piece in made] == wanted
    assert all(text[piece.start : piece.end] == piece.text for piece in made)


def test_chunks_join_lines_and_drop_blank_ones() -> None:
    text = "One is here. Two is here.\nThree is here.\n\nFour is here."
    assert texts(plain(text), 100) == ["One is here. Two is here.\nThree is here.\n\n Four is here."], (
        "behind a blank line one blank stays, as in the released code"
    )
    assert texts(plain(text), 6) == ["One is here. Two is here.", "Three is here.\n\n Four is here."]
    assert texts(plain("One.\n\n\n" + "w " * 9 + "end."), 5) == ["One.", "w " * 9 + "end."]


def test_each_sentence_has_its_best_chunk() -> None:
    source = document(
        *split_texts("Ada sold the mill to her brother Bo. It rained in all of May and in June. The end.")
    )
    first, second = texts(source, 16)
    table = table_of(
        {(first, "Ada sold it."): (0, 2), (second, "Ada sold it."): (0, 1), (second, "It snowed."): (3, 0)}
    )
    whole, ada, snow = run(MiniCheck(chunk=16), table, source)
    assert (ada.value, ada.label) == (pytest.approx(1 / (1 + np.exp(-2))), 1)
    assert (snow.value, snow.label) == (pytest.approx(0.5), 1), "the first chunk says nothing: even"
    assert whole.value == pytest.approx((ada.value + snow.value) / 2)  # type: ignore[operator]
    assert [span.cut(source.text) for span in ada.evidence] == [first]
    framing = Framing("only_first", "{0}{eos}{1}", limit=2048)
    assert {(one.classes, one.framing) for one in table.asked} == {(2, framing)}
    worst, *_ = run(MiniCheck(chunk=16, pool="min"), table, source)
    assert worst.value == snow.value
    (claim,) = run(MiniCheck(chunk=16, claims="summary"), table, source)
    assert (claim.target.unit, claim.value) == ("summary", pytest.approx(0.5))
    assert {text for _, text in table.texts[-2:]} == {TEXT}


def split_texts(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


def test_t5_uses_first_words_and_chunks_of_words() -> None:
    source = document("Ada sold the mill to her brother Bo.", "It rained in all of May and in June.", "The end.")
    shares = {("Ada sold the mill to her brother Bo.", "Ada sold it."): (0.01, 0.04)}
    network = FakeNetwork({FirstWord: lambda request: np.log(shares.get(request.source, (0.3, 0.1)))})
    (rows,) = judge(MiniCheck(network="t5", chunk=16), source, "Ada sold it.", minicheck_t5=network)
    assert rows[0].value == pytest.approx(0.8), "of the two words alone"
    assert network.texts == [
        ("Ada sold the mill to her brother Bo.", "Ada sold it."),
        ("It rained in all of May and in June. The end.", "Ada sold it."),
    ]
    framing = Framing("only_first", "predict: {0}{eos}{1}", limit=2048)
    assert {(one.words, one.framing) for one in network.asked} == {(("0", "1"), framing)}
    assert MiniCheck(network="t5").required_roles == ("minicheck_t5",)


# ---- the LLM ----

Tops = tuple[tuple[str, float], ...]
YES: Tops = (("Yes", 0.7), ("yes", 0.1), ("No", 0.15), (" Yes", 0.02), ("YES!", 0.01))


def first(*tops: tuple[str, float]) -> Completion:
    """Return a reply of one token that ends at the limit, as servers send it."""
    logs = tuple((text, float(np.log(share))) for text, share in tops)
    token = TokenLogprobs(token=logs[0][0], logprob=logs[0][1], top=logs)
    return Completion(text=token.token, finish_reason="length", logprobs=(token,))


def ask(
    reply: Callable[[Request], Completion], source: Document = SOURCE, text: str = TEXT, *,
    settings: Settings | None = None, **set_to: Any,
) -> tuple[list[Judgment], list[Request]]:  # fmt: skip
    llm = Scripted(reply)
    (rows,) = judge(MiniCheck(network="llm", **set_to), source, text, tools=Tools("s", llms={
        "judge": BoundLLM(llm, settings or Settings(max_tokens=900, temperature=0.7, format="json_schema"))
    }))  # fmt: skip
    return rows, llm.requests


def test_the_llm_prompt_and_sampling_are_those_of_its_training() -> None:
    (row,), (request,) = ask(lambda _: first(*YES))
    system, user = request.messages
    assert (system.role, user.role) == ("system", "user")
    assert system.content == (
        "Determine whether the provided claim is consistent with the corresponding document. Consistency in this "
        "context implies that all information presented in the claim is substantiated by the document. If not, it "
        "should be considered inconsistent. Please assess the claim's consistency with the document by responding "
        'with either "Yes" or "No".'
    )
    assert user.content == f"Document: {SOURCE.text}\nClaim: {TEXT}", "the whole summary is the claim"
    assert (request.format, request.schema_, request.temperature) == ("text", None, 0.0)
    assert (request.max_tokens, request.top_logprobs) == (1, 5)
    assert row.value == pytest.approx(0.8), "yes in any case, and nothing that is only like it"
    assert (row.target.unit, row.label, row.status) == ("summary", 1, "ok")
    assert row.calls == (request.key,)
    assert [span.cut(SOURCE.text) for span in row.evidence] == [SOURCE.text]


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        (first((" Yes", 0.9), ("The", 0.1)), "unparsed", "neither yes nor no .* starts with ' Yes'"),
        (Completion(text="", finish_reason="length"), "unparsed", "the reply is empty"),
        (Completion(text="", refusal="I will not."), "refused", "I will not"),
        (first(("Yes", 1.5)), "unparsed", "log-probability .* finite"),
    ],
)
def test_unusable_replies_have_no_value_and_no_retry(reply: Completion, status: str, why: str) -> None:
    (row,), requests = ask(lambda _: reply)
    assert (row.status, row.value, row.label) == (status, None, None)
    assert re.search(why, row.reason or "")
    assert len(requests) == 1


def test_a_server_without_log_probabilities_is_an_error() -> None:
    with pytest.raises(CapabilityError, match=r"without log-probabilities.*minicheck\[llm\]"):
        ask(lambda _: Completion(text="Yes", finish_reason="length"))


def test_the_best_chunk_decides_and_sentences_may_be_claims() -> None:
    source = document(
        *split_texts(
            "Ada sold the mill to her brother Bo in the spring. It rained in all of May and in June and once in July."
        )
    )
    supported = {"Ada sold it.": "spring.", "It snowed.": "June?"}

    def reply(request: Request) -> Completion:
        text, claim = request.messages[1].content.removeprefix("Document: ").split("\nClaim: ")
        return first(("Yes", 0.75), ("No", 0.25)) if supported[claim] in text else first(("No", 0.8), ("Yes", 0.2))

    (whole, ada, snow), requests = ask(reply, source, chunk=16, claims="sentence", pool="min")
    assert len(requests) == 4
    assert (ada.value, snow.value, whole.value) == pytest.approx((0.75, 0.2, 0.2))
    assert [span.cut(source.text) for span in ada.evidence] == ["Ada sold the mill to her brother Bo in the spring."]
    assert ada.calls == tuple(request.key for request in requests[:2])
    assert whole.calls == tuple(request.key for request in requests)


def test_a_long_document_is_truncated_and_counted() -> None:
    sentence = "word " * 2000 + "end."
    claim = "The end is near. " * 20
    (row,), (request,) = ask(lambda _: first(*YES), document(sentence), claim, settings=Settings(context=800))
    assert request.messages[1].content.endswith(f"\nClaim: {claim}")
    size = tokens(request.prompt)
    assert 650 < size <= 720, "of 800 tokens, a tenth is left for what the estimate misses"
    assert row.truncated_tokens == pytest.approx(tokens(sentence) + tokens(claim) + tokens(SYSTEM) - size, abs=12)
    with pytest.raises(ContextError, match="has room for"):
        ask(lambda _: first(*YES), document(sentence), claim, settings=Settings(context=200))
    with pytest.raises(ContextError, match="smaller `chunk`"):
        ask(lambda _: first(*YES), document(sentence), claim, settings=Settings(context=800, on_overflow="error"))


def test_chunk_length_depends_on_training_and_context() -> None:
    source = plain("\n".join("It rained on that day." for _ in range(6000)))
    lengths = [tokens(piece.text) for piece in pieces(source)]
    _, requests = ask(lambda _: first(*YES), source, settings=Settings())
    assert len(requests) == len(runs(lengths, 32468)) == 2
    _, requests = ask(lambda _: first(*YES), source, settings=Settings(context=8192))
    assert len(requests) == len(runs(lengths, 8192 * 9 // 10 - 300)) > 4


def test_a_run_on_a_server_can_be_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")
    (tmp_path / "data.jsonl").write_text(
        '{"document": "Ada sold the mill.", "summary": "Ada sold it.", "id": "a"}\n'
        '{"document": "Ada sold the mill.", "summary": "Ada is ill.", "id": "b"}\n'
    )
    sent = []

    def behave(call: Call) -> Reply:
        sent.append(call.body)
        if len(sent) == 1:
            return fail(429, "slow down", retry_after="0.01")
        yes, no = (-0.1, -2.5) if "sold it" in call.prompt else (-4.0, -0.01)
        tops = [{"token": "Yes", "logprob": yes, "bytes": None}, {"token": "No", "logprob": no, "bytes": None}]
        content = [{**max(tops, key=lambda top: top["logprob"]), "top_logprobs": tops}]
        body = json.loads(ok(content[0]["token"], finish="length").content)
        body["choices"][0]["logprobs"] = {"content": content}
        return json_reply(body)

    asked: dict[str, Any] = {"evaluators": ["minicheck[llm]"], "progress": False}
    with StubServer(behave) as server:
        models = {"judge": "openai-api/stub/bespokelabs/Bespoke-MiniCheck-7B"}
        run = evaluate(tmp_path / "data.jsonl", **asked, models=models, base_url=server.url, out=tmp_path / "run")
    values = sorted(row.value for row in run.judgments() if row.value is not None)
    assert values == pytest.approx([np.exp(-4.0), np.exp(-0.1)])
    assert len(sent) == 3
    assert {(body["temperature"], body["logprobs"], body["top_logprobs"]) for body in sent} == {(0.0, True, 5)}
    assert all("response_format" not in body for body in sent)
    again = evaluate(tmp_path / "data.jsonl", **asked, replay=tmp_path / "run", out=tmp_path / "again")
    assert sorted(row.value for row in again.judgments() if row.value is not None) == values
