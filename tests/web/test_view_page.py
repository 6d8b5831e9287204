"""`summeter view` in a real browser: filters, evidence, prompts and replies, hostile texts."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from report import fake_runs as fake
from report import xss
from web.steps import PATIENCE, expect

from summeter.runs.calls import CallStore
from summeter.runs.run import CALLS
from summeter.view.server import make_app

pytestmark = pytest.mark.web
KEY = "0" * 64


def asked(document: Any, summary: Any, entry: Any) -> list[Any]:
    return [one.model_copy(update={"calls": (KEY,)}) for one in fake.fact_check(document, summary, entry)]


@pytest.fixture
def visit(chrome: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path, str], Any]]:
    """Yield `visit(root, path)`, which serves runs and opens a page that may load nothing from other hosts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    runners: list[web.AppRunner] = []
    page = chrome.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(dialog.message))

    async def start(root: Path) -> str:
        runner = web.AppRunner(make_app(root))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        runners.append(runner)
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    def opened(root: Path, path: str = "/") -> Any:
        address = asyncio.run_coroutine_threadsafe(start(root), loop).result(PATIENCE)
        page.on(
            "request",
            lambda request: None if request.url.startswith((address, "data:")) else problems.append(request.url),
        )
        page.goto(f"{address}{path}")
        return page

    yield opened
    page.close()
    for runner in runners:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    assert problems == []


def test_filters_evidence_and_calls(visit: Callable[..., Any], tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run", judges=[(fake.FACT_CHECK, asked), (fake.ALIGN, fake.align)])
    request = json.dumps({"messages": [{"role": "user", "content": f"Is this true? {xss.CORPUS[0]}"}]})
    with CallStore(run.folder / CALLS) as store:
        store.put(KEY, request, json.dumps({"text": xss.CORPUS[3]}), "scripted/one")
    page = visit(run.folder)
    expect(page.locator(".card")).to_have_count(4)
    page.locator("[name=system]").select_option("cedar")
    page.locator("[name=error]").select_option("entity error")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".card")).to_have_count(1)
    assert page.url.endswith("/run/run?system=cedar&error=entity+error")
    expect(page.locator("[name=error]")).to_have_value("entity error")
    page.locator(".hit").first.press("Enter")
    expect(page.locator(".pane mark")).to_have_text("for 14 months")
    page.locator(".why .calls summary").click()
    expect(page.locator(".calls pre")).to_have_text([f"Is this true? {xss.CORPUS[0]}", xss.CORPUS[3]])
    page.get_by_role("link", name="Reset").click()
    expect(page.locator(".card")).to_have_count(4)
    page.get_by_role("link", name="link").last.click()
    expect(page.locator(".card")).to_have_count(1)
    assert page.url.endswith("?document=talk&system=aster")


def test_hostile_texts_do_nothing(visit: Callable[..., Any], tmp_path: Path) -> None:
    xss.run(tmp_path / "runs" / "a")
    xss.run(tmp_path / "runs" / "b")
    page = visit(tmp_path / "runs")
    page.locator("td, th").get_by_role("link").first.click()
    expect(page.locator(".card")).to_have_count(len(xss.CORPUS))
    for hit in page.locator(".hit").all():
        hit.click()
    page.locator("[name=system]").select_option(index=3)
    page.locator("[name=text]").fill(xss.CORPUS[3])
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("[name=text]")).to_have_value(xss.CORPUS[3])
