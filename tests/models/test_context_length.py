"""Context lengths reported by each kind of server; failures are never errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, asked, fail, json_reply, ok
from together import together

from summeter.models.context_length import context_lengths
from summeter.models.layers.checks import truncated_prompt
from summeter.models.providers.provider import Options
from summeter.models.resolve import CallSettings, bind
from summeter.records import ContextError
from summeter.runs.calls import CallStore
from summeter.runs.manifest import ModelContext

KEYS = {"OPENROUTER_API_KEY": "k" * 12, "MISTRAL_API_KEY": "k" * 12, "STUB_BASE_URL": ""}


def ask(server: StubServer, model: str, *, load: bool = True) -> ModelContext:
    options = Options(server.url, timeout=10, environ=KEYS)
    return asyncio.run(context_lengths([model], options, load=load))[model]


def listing(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


LISTS = [
    ("vllm/lab/big", listing({"id": "lab/big", "max_model_len": 8192}, {"id": "other", "max_model_len": 1}), 8192),
    # An adapter reads what its base does.
    ("vllm/mine", listing({"id": "b", "max_model_len": 4096}, {"id": "mine", "parent": "b"}), 4096),
    ("openrouter/a/b", listing({"id": "a/b", "context_length": 4096, "top_provider": {"context_length": 2048}}), 2048),
    ("openrouter/a/b:nitro", listing({"id": "a/b", "context_length": 65536, "top_provider": {}}, {"id": "c"}), 65536),
    ("mistral/strange", listing({"id": "strange", "max_context_length": 32768}), 32768),
    ("openai-api/stub/m", listing({"id": "m", "context_window": 16384}, {"id": "n"}), 16384),
    ("openai-api/stub/alias", listing({"id": "x.gguf", "aliases": ["alias"], "meta": {"n_ctx": 2048}}), 2048),
    ("openai-api/stub/any", listing({"id": "whatever.gguf", "max_model_len": 2048}), 2048),  # it has but one
    ("openai-api/stub/m", listing({"id": "m"}), None),
    ("openai-api/stub/m", listing({"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}), None),
    ("openai-api/stub/m", {"data": "nonsense"}, None),
    ("openai-api/stub/m", listing({"id": "m", "max_model_len": -1, "context_window": "8"}), None),
    ("vllm/m", listing({"id": "m", "max_model_len": 10**4000}), None),
    ("vllm/m", listing({"id": ["m"], "meta": [], "aliases": {"m": 1}, "top_provider": "x", "parent": ["b"]}), None),
]  # fmt: skip


SLOT = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4}
FILE = listing({"id": "f", "meta": {"n_ctx_train": 99, "n_ctx": 512}})
# A model of LM Studio may be loaded with far less than its maximum, and what is longer is then cut.
STUDIO = listing(
    {"id": "m", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 4096},
    {"id": "n", "state": "not-loaded", "max_context_length": 8192},
)
PROPS, MODELS, LOADED = "/props?model=tiny", "/v1/models", "/api/v0/models"


@together(
    "model, gets, tokens, got",
    [
        *((model, {MODELS: models}, tokens, [MODELS]) for model, models, tokens in LISTS),
        ("llamacpp/tiny", {"/props": SLOT}, 4096, [PROPS]),
        # Without properties, the list of models is used.
        ("llamacpp/tiny", {MODELS: FILE}, 512, [PROPS, MODELS]),
        ("llamacpp/tiny", {"/props": {"default_generation_settings": {"n_ctx": 0}}, MODELS: FILE}, 512,
         [PROPS, MODELS]),
        ("lmstudio/m", {LOADED: STUDIO}, 4096, [LOADED]),
        ("lmstudio/n", {LOADED: STUDIO}, None, [LOADED]),
    ],
)  # fmt: skip
def test_context_lengths_that_servers_report(
    model: str, gets: dict[str, Any], tokens: int | None, got: list[str]
) -> None:
    with StubServer(lambda _: ok()) as server:
        server.gets = gets
        found = ask(server, model)
        assert found.tokens == tokens
        assert f"the server at {server.url}" in found.said
        assert ("before the model is loaded" in found.said) == (model == "lmstudio/n")
        assert server.got == got
        assert not server.calls


class Ollama(StubServer):
    """An Ollama server that loads a model with `context` on request; its card has `parameters` and the training
    context."""

    def __init__(self, context: int | None, parameters: str = "") -> None:
        super().__init__(self._behave)
        self.gets = {"/api/ps": {"models": []}}
        self._context, self._parameters = context, parameters

    def _behave(self, call: Call) -> Reply:
        if call.path == "/api/generate":
            self.gets = {"/api/ps": {"models": [{"name": "m:latest", "context_length": self._context}]}}
            return json_reply({"done": True, "done_reason": "load"})
        if call.path == "/api/show":
            card = {"general.architecture": "llama", "llama.context_length": 8192}
            return json_reply({"parameters": self._parameters, "model_info": card})
        return fail(404)


def test_ollama_reports_the_loaded_context() -> None:
    with Ollama(4096) as server:
        assert ask(server, "ollama/m").tokens == 4096
        assert [call.path for call in server.calls] == ["/api/generate"]
        assert server.calls[0].body == {"model": "m", "stream": False}  # no prompt: it loads and no more
        assert ask(server, "ollama/m:latest").tokens == 4096
        assert len(server.calls) == 1  # it is loaded by now


def test_a_dry_run_loads_no_model_in_ollama() -> None:
    with Ollama(4096) as server:
        found = ask(server, "ollama/m", load=False)
        assert found.tokens is None
        assert "does not report it before the model is loaded" in found.said
        assert [call.path for call in server.calls] == ["/api/show"]


def test_invalid_lists_of_ollama_are_not_an_error() -> None:
    with Ollama(None) as server:
        server.gets = {"/api/ps": {"models": [{"name": ["m"], "model": {"m": 1}, "context_length": 9}, 7]}}
        assert ask(server, "ollama/m", load=False).tokens is None


# A Modelfile's num_ctx counts up to what the model was trained for, 8,192; the training alone says nothing.
@together(
    "parameters, tokens",
    [('stop  "<x>"\nnum_ctx          2048', 2048), ("num_ctx 99999", 8192), ("num_ctx many", None), ("", None)],
)
def test_older_ollama_versions_report_the_modelfile(parameters: str, tokens: int | None) -> None:
    with Ollama(None, parameters) as server:
        assert ask(server, "ollama/m").tokens == tokens


def test_hosted_models_are_looked_up_in_the_table_without_requests() -> None:
    with StubServer(lambda _: ok()) as server:
        found = asyncio.run(context_lengths(["openai/gpt-4o"], Options(server.url, environ={})))
        assert found["openai/gpt-4o"] == ModelContext(tokens=128_000, said="its vendor")
        assert not server.got


def test_a_model_without_a_known_context_length_is_reported() -> None:
    keys = {"GOOGLE_API_KEY": "k" * 12, "OPENAI_API_KEY": "k" * 12}
    models = ["google/strange", "openai/strange", "google/strange", "scripted/replies.jsonl"]  # the last reads all
    said = "it is not in summeter's table of context lengths, and {} does not report it"
    assert asyncio.run(context_lengths(models, Options(environ=keys))) == {
        f"{vendor}/strange": ModelContext(said=said.format(vendor)) for vendor in ("google", "openai")
    }


def test_openrouter_that_does_not_answer_leaves_the_table() -> None:
    with StubServer(lambda _: ok()) as server:
        assert ask(server, "openrouter/openai/gpt-4o") == ModelContext(tokens=128_000, said="its vendor")
        assert server.got == ["/v1/models"]


def test_a_server_that_is_down_or_a_missing_key_is_reported_without_error() -> None:
    with StubServer(lambda _: ok()) as server:
        url = server.url
    found = asyncio.run(context_lengths(["vllm/m", "ollama/m"], Options(base_url=url, environ={})))
    assert [one.tokens for one in found.values()] == [None, None]
    assert all("127.0.0.1" in one.said for one in found.values())
    missing = asyncio.run(context_lengths(["openrouter/a/b"], Options(environ={})))
    assert "OPENROUTER_API_KEY" in missing["openrouter/a/b"].said


def test_an_error_of_a_server_is_reported_with_its_status() -> None:
    with StubServer(lambda _: ok()) as server:
        assert ask(server, "vllm/m") == ModelContext(said=f"{server.url} answered 404 to /v1/models")


# Prompts that were cut


def reply(read: int) -> Callable[[Call], Reply]:
    def behave(call: Call) -> Reply:
        del call
        usage = {"prompt_tokens": read, "completion_tokens": 3}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "5"}}
        return json_reply({"model": "m", "choices": [choice], "usage": usage})

    return behave


# 6,000 words are about 5,688 tokens: 6,000 * 0.4 + 24,000 * 0.137 = 5,688.
LONG = "word " * 6000


@pytest.mark.parametrize(
    ("read", "context", "cut"),
    [
        (4096, 4096, True),  # filled to the last token
        (4095, 4096, True),
        (4094, 4096, False),
        (4096, None, True),  # a round number, and more than a tenth more was sent
        (4100, None, False),
        (5120, 8192, False),  # a round number by chance: the server reads more
        (2800, 8192, True),  # 5,688 > 2 * 2,800
        (2850, 8192, False),
        (6100, 4096, False),  # the server reads more than it said
        (11, None, False),  # no context is that small: the server counts otherwise
    ],
)
def test_a_truncated_prompt_is_detected(read: int, context: int | None, cut: bool) -> None:
    assert truncated_prompt(LONG, read, context) == (5688 if cut else None)


def test_the_tolerance_is_larger_for_scripts_on_which_tokenizers_differ() -> None:
    text = "\u0938\u092e\u093e\u091a\u093e\u0930 " * 2000
    sent = truncated_prompt(text, 700)
    assert sent is not None
    assert truncated_prompt(text, sent // 3) is None


def test_a_truncated_prompt_is_an_error_and_is_not_stored() -> None:
    request = asked(LONG, "ollama/m")

    async def one(server: StubServer, store: CallStore) -> str:
        calls = CallSettings(base_url=server.url, contexts={"ollama/m": 4096})
        bound = bind({"judge": "ollama/m"}, store, calls)
        try:
            return (await bound.llms["judge"].llm.complete(request)).text
        finally:
            await bound.close()

    with StubServer(reply(4096)) as server, CallStore() as store:
        with pytest.raises(ContextError, match=r"read 4,096 tokens of a prompt of about 5,688.*context=TOKENS"):
            asyncio.run(one(server, store))
        assert len(store) == 0
        assert len(server.calls) == 1  # cut again it would be, were it sent again
        server.behave = reply(6003)  # started anew, with a larger context
        assert asyncio.run(one(server, store)) == "5"
        assert len(store) == 1
