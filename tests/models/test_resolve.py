"""Model strings: names, bindings, models shared by roles, and requirements of a replay."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from models.server import asked
from together import together

from summeter.cli.main import main
from summeter.models.base import Completion, Request
from summeter.models.providers import provider as room
from summeter.models.providers.provider import PROVIDERS, Options, Provider, providers
from summeter.models.resolve import CallSettings, bind, parse_binding, parse_bindings, resolve
from summeter.records import ReplayMiss, UsageError
from summeter.runs.calls import CallStore


@together(
    "model, said",
    [
        *(
            (model, r"PROVIDER/MODEL.*openai/MODEL.*scripted")
            for model in ("gpt-4o", "", "/", "openai/", "/m", "openai/ ")
        ),
        ("opnai/gpt-4o", r"did you mean openai/gpt-4o.*ollama.*openai-api/NAME/MODEL"),
        ("zzz/gpt-4o", r"unknown provider 'zzz'; known: "),
        ("local/models/nli", "an LLM is needed"),
    ],
)
def test_an_invalid_model_string_is_refused_with_an_example(model: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve(model, environ={})


@together("timeout", [0, -1, float("nan")])
def test_no_call_may_go_on_for_ever(timeout: float) -> None:
    with pytest.raises(UsageError, match="above 0 seconds"):
        resolve("vllm/m", timeout=timeout, environ={})


def test_unknown_model_names_pass_through() -> None:
    assert resolve("openai/whatever:next@2031", environ={"OPENAI_API_KEY": "k"}).id == "openai/whatever:next@2031"
    assert resolve("openrouter/a/b-c", environ={"OPENROUTER_API_KEY": "k"}).id == "openrouter/a/b-c"


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("openai/gpt-4o", ("judge", "openai/gpt-4o")),
        ("judge=openai/gpt-4o", ("judge", "openai/gpt-4o")),
        (" extractor = nothing", ("judge", "extractor = nothing")),  # no role has a blank; resolve refuses it
        ("second=openai-api/lab/m=4", ("second", "openai-api/lab/m=4")),
        ("openai-api/lab/m=4", ("judge", "openai-api/lab/m=4")),
    ],
)
def test_bindings(text: str, bound: tuple[str, str]) -> None:
    assert parse_binding(text) == bound


def test_faulty_bindings() -> None:
    with pytest.raises(UsageError, match="does not bind a model"):
        parse_binding("judge=")
    with pytest.raises(UsageError, match="bound twice"):
        parse_bindings(["judge=a/b", "a/c"])
    assert parse_bindings(["a/b", "second=a/c", "judge=a/b"]) == {"judge": "a/b", "second": "a/c"}


LAB = Provider("lab", "https://models.lab.example/v1", about="a lab's own models")


class Own:
    """A client of another package with a protocol other than HTTP."""

    def __init__(self, name: str) -> None:
        self.id = f"own/{name}"

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> Own:
        return cls(name)

    async def complete(self, request: Request) -> Completion:
        return Completion(text="hi")

    async def close(self) -> None:
        pass


ROWS = {"lab": LAB, "own": Provider("own", client=Own, hosted=False, about="replies by itself"), "wrong": LAB}


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other packages with providers: a row, a client, a row with the wrong name, and one that cannot be imported."""

    class Point(EntryPoint):
        def load(self) -> object:
            return ROWS[self.name] if self.name in ROWS else super().load()

    values = {"lab": "lab:ROW", "own": "own:ROW", "openai": "elsewhere:stolen"}
    monkeypatch.setattr(
        room, "entry_points", lambda group: [Point(name, value, group) for name, value in values.items()]
    )


@pytest.mark.usefixtures("packages")
def test_other_packages_add_providers_but_replace_none() -> None:
    assert providers()["lab"] is LAB
    assert providers()["openai"] is PROVIDERS["openai"]
    assert asyncio.run(resolve("own/m", environ={}).complete(asked("hello", "own/m"))).text == "hi"
    assert resolve("lab/m", environ={"LAB_API_KEY": "k"}).id == "lab/m"


@pytest.mark.usefixtures("packages")
def test_a_provider_of_another_package_has_its_key_checked_and_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"no key for https://models\.lab\.example/v1: .* LAB_API_KEY"):
        resolve("lab/m", environ={})
    monkeypatch.setenv("LAB_API_KEY", "k")
    with pytest.raises(SystemExit):
        main(["list", "models"])
    listed = capsys.readouterr().out
    assert re.search(r"^lab/\.\.\. +LAB_API_KEY is set; a lab's own models$", listed, re.MULTILINE)
    assert "replies by itself" in listed
    with pytest.raises(SystemExit):
        main(["doctor"])
    assert re.search(r"^ok +LAB_API_KEY +is set$", capsys.readouterr().out, re.MULTILINE)


def test_an_entry_point_without_a_provider_of_its_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, why in (("json:loads", "is not a Provider of that name"), ("no_such_package:X", "cannot be loaded")):
        point = EntryPoint("lab", value, "summeter.providers")
        monkeypatch.setattr(room, "entry_points", lambda group, point=point: [point])
        with pytest.raises(UsageError, match=why):
            resolve("lab/m", environ={})


def _rules(tmp_path: Path, *rules: dict[str, Any]) -> str:
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    return f"scripted/{path}"


def test_roles_with_one_model_share_it(tmp_path: Path) -> None:
    model = _rules(tmp_path, {"reply": "hi"})
    bound = bind({"judge": model, "second": model}, CallStore())

    async def main() -> None:
        for role in ("judge", "second"):
            assert (await bound.llms[role].llm.complete(asked("hello", model))).text == "hi"
        await bound.close()

    asyncio.run(main())
    assert list(bound.models) == [model]
    assert (bound.models[model].usage.sent, bound.models[model].usage.hits) == (1, 1)


def test_a_replay_resolves_nothing() -> None:
    store = CallStore()
    request = asked("hello", "openai/gpt-4o")
    store.put(request.key, request.canonical, Completion(text="hi").model_dump_json(), "openai/gpt-4o")
    # There is no key in the environment given, and none is asked for.
    bound = bind({"judge": "openai/gpt-4o"}, store, CallSettings(replay=True))
    llm = bound.llms["judge"].llm
    assert asyncio.run(llm.complete(request)).text == "hi"
    with pytest.raises(ReplayMiss):
        asyncio.run(llm.complete(asked("other", "openai/gpt-4o")))
    with pytest.raises(UsageError, match="stored calls"):
        bind({"judge": "openai/gpt-4o"}, None, CallSettings(replay=True))
