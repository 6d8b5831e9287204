"""docs/extending.md: its provider row and its client file work."""

from __future__ import annotations

import asyncio
import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, json_reply
from models.vendors import ask

from summeter.cli.main import main
from summeter.models.base import Completion, Message
from summeter.models.prompts import Prompt
from summeter.models.providers.provider import PROVIDERS, Options, Provider
from summeter.models.providers.replies import Answer
from summeter.models.resolve import CallSettings, bind
from summeter.models.structured import Form
from summeter.records import CapabilityError, UsageError


@pytest.fixture
def section(root: Path) -> str:
    page = (root / "docs" / "extending.md").read_text("utf-8")
    return page.split("\n## A new vendor\n")[1].split("\n## ")[0]


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    before = dict(PROVIDERS)
    yield
    PROVIDERS.clear()
    PROVIDERS.update(before)


def test_its_python_runs(section: str) -> None:
    test = doctest.DocTestParser().get_doctest(section, {}, "extending.md", "docs/extending.md", 0)
    faults: list[str] = []
    doctest.DocTestRunner().run(test, out=faults.append)
    assert faults == []
    assert len(test.examples) == 8


def test_its_table_names_fields_of_a_row(section: str) -> None:
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert set(named) <= set(Provider.__dataclass_fields__)
    assert len(named) == 8


@pytest.fixture
def lab(section: str) -> Provider:
    (source,) = [code for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if "class Lab" in code]
    names: dict[str, Any] = {"__name__": "lab"}
    exec(compile(source, "lab.py", "exec"), names)
    PROVIDERS["lab"] = names["LAB"]
    return names["LAB"]


def _ask(server: StubServer, **settings: Any) -> Any:
    calls = CallSettings(base_url=server.root, **settings)
    bound = bind({"judge": "lab/tiny"}, None, calls)

    async def ask() -> Any:
        try:
            prompt = Prompt("p", "h", (Message(role="user", content="Sum 1 and 2."),))
            return await bound.llms["judge"].ask(prompt, Form("n", {"type": "object"}, json.loads))
        finally:
            await bound.close()

    return asyncio.run(ask())


@pytest.mark.usefixtures("lab")
def test_its_own_dialect_is_asked_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", "a-key-of-the-lab")

    def behave(call: Call) -> Reply:
        return json_reply({"output": '{"n": 3}', "read": 5, "written": 4})

    with StubServer(behave) as server:
        answer = _ask(server)
    assert (answer.status, answer.data) == ("ok", {"n": 3})
    (call,) = server.calls  # the formats it lacks were never sent
    assert call.path == "/generate"
    assert call.body == {"model": "tiny", "prompt": "Sum 1 and 2.", "temperature": 0.0}
    assert call.headers["Authorization"] == "Bearer a-key-of-the-lab"


def test_its_own_dialect_is_listed_and_its_faults_are_named(
    lab: Provider, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_API_KEY", raising=False)
    with pytest.raises(SystemExit):
        main(["list", "models"])
    assert re.search(r"^lab/\.\.\. +LAB_API_KEY not set; the lab's own models$", capsys.readouterr().out, re.MULTILINE)
    with pytest.raises(UsageError, match="LAB_API_KEY"):
        bind({"judge": "lab/tiny"})
    llm = lab.open("tiny", Options(environ={"LAB_API_KEY": "k"}))
    with pytest.raises(CapabilityError, match="seed"):
        asyncio.run(llm.complete(ask(seed=1)))
    assert isinstance(llm.completion({"output": "x"}, _answer()), Completion)  # type: ignore[attr-defined]


def _answer() -> Any:
    return Answer("lab/tiny", "https://api.lab.example", 200, {}, b"")
