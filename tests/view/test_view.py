"""`summeter view`: filters and pages of the summaries of a run, over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from report import fake_runs as fake
from report import xss

from summeter.cli.main import main
from summeter.records import UsageError
from summeter.report.embedded import embedded_json
from summeter.report.items import ItemList
from summeter.report.views import sources, views
from summeter.view.index import PAGE, Filters, RunIndex
from summeter.view.server import make_app

PIECE = re.compile(r'<script type="application/json" id="([a-z]+(?:-\d+)?)">(.*?)</script>', re.DOTALL)
SECOND = fake.FACT_CHECK.model_copy(
    update={"name": "second", "signature": "second|v:1", "file": "second", "model": None, "models": {}}
)
JUDGES = (
    (fake.FACT_CHECK, fake.fact_check), (SECOND, fake.lenient), (fake.ALIGN, fake.align), (fake.NOVELTY, fake.novelty),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pages(root: Path, *paths: str, host: str = "127.0.0.1") -> list[tuple[int, str, Any]]:
    """Return the status, the text and the headers of pages, from the application on a loopback port."""

    async def fetch() -> list[tuple[int, str, Any]]:
        async with TestClient(TestServer(make_app(root))) as client:
            replies = [await client.get(path, headers={"Host": host}) for path in paths]
            return [(reply.status, await reply.text(), reply.headers) for reply in replies]

    return asyncio.run(fetch())


def pieces(page: str) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in PIECE.findall(page)}


def shown(page: str) -> list[str]:
    """Return the summaries of a page as `system document`."""
    data = pieces(page)
    shared = data["shared"]
    return [
        f"{shared['systems'][system]} {data[f'document-{document}']['id']}"
        for system, document in zip(shared["summaries"]["system"], shared["summaries"]["document"], strict=True)
    ]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["cedar bridge", "cedar talk", "aster bridge", "aster talk"]),  # lowest composite first
        ("system=aster", ["aster bridge", "aster talk"]),
        ("system=aster&domain=news", ["aster bridge"]),
        ("system=aster&document=talk", ["aster talk"]),
        ("error=any", ["cedar bridge"]),
        ("error=entity+error&judge=mock.fact_check", ["cedar bridge"]),
        ("error=any&judge=second", []),
        ("status=unparsed", ["cedar bridge"]),
        ("status=skipped&judge=second", ["aster talk"]),
        ("status=error", ["aster bridge"]),
        ("people=differ&judge=second", ["cedar bridge"]),  # 41 is an error for people and the first judge
        ("people=differ&judge=mock.fact_check", []),
        ("text=CYCLISTS+months.", ["cedar bridge", "aster bridge"]),  # in the source of both, or in the summary
        ("text=41", ["cedar bridge"]),
        ("text=zebra", []),
        ("order=highest+abstractiveness", ["aster bridge", "cedar bridge", "cedar talk", "aster talk"]),
        ("system=nobody", []),
        ("judge=nobody", []),
        ("page=9", ["cedar bridge", "cedar talk", "aster bridge", "aster talk"]),  # the last page
    ],
)
def test_filters_are_in_the_address(tmp_path: Path, query: str, wanted: list[str]) -> None:
    fake.make(tmp_path / "run", judges=JUDGES, errors=[("bridge", "aster", "the host is down")])
    status, page, _ = pages(tmp_path / "run", f"/run/run?{query}")[0]
    assert status == 200
    assert shown(page) == wanted, query
    for name, value in (pair.split("=") for pair in query.split("&") if "nobody" not in query and pair):
        if name not in {"text", "page", "document"}:
            chosen = re.findall(rf'<select name="{name}">.*?</select>', page)[0]
            assert f'<option value="{value.replace("+", " ")}" selected>' in unescape(chosen)


def test_a_search_has_a_limit_of_words(tmp_path: Path) -> None:
    fake.make(tmp_path / "run", judges=JUDGES)
    allowed, refused = pages(tmp_path / "run", "/run/run?text=" + "+a" * 50, "/run/run?text=" + "+a" * 1500)
    assert (allowed[0], refused[0]) == (200, 400)
    assert "50 words" in refused[1]


def verdicts(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the verdicts, votes and values on each summary, with words instead of their numbers."""
    words = data["shared"]["words"]
    found = {}
    for at, (system, document) in enumerate(
        zip(*map(data["shared"]["summaries"].get, ("system", "document")), strict=True)
    ):
        summary, names = data[f"summary-{at}"], ("aspect", "unit", "style", "decision", "index")
        rows = [zip(*map(summary[part].get, names), strict=True) for part in ("verdicts", "votes")]
        named = [[tuple(words[cell] if isinstance(cell, int) else cell for cell in row[:4]) + row[4:] for row in part]
                 for part in rows]  # fmt: skip
        places = summary["verdicts"]["inDocument"], sorted(map(str, summary["scores"]["value"]))
        found[f"{data['shared']['systems'][system]} {data[f'document-{document}']['id']}"] = [*named, *places]
    return found


def test_a_page_has_the_verdicts_of_the_report(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run", judges=JUDGES, errors=[("talk", "cedar", "the host is down")])
    run_views = views([run])
    report = {name: json.loads(text) for name, text in embedded_json(ItemList(run_views, sources(run_views)))}
    served = pieces(pages(tmp_path / "run", "/run/run?order=lowest+abstractiveness")[0][1])
    assert verdicts(served) == verdicts(report)
    assert len(verdicts(report)["cedar bridge"][0]) > 5


def test_an_index_is_reused_until_the_run_changes(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run", documents=1)
    index = RunIndex(run.folder)
    (file,) = (tmp_path / "cache").rglob("*.duckdb")
    built = file.stat().st_mtime_ns
    assert index.find(Filters(), 0) == (2, [0, 1])
    assert index.current()
    index.close()
    RunIndex(run.folder).close()
    assert file.stat().st_mtime_ns == built
    with fake.Journal(run.folder) as journal:
        document, (summary, _) = list(run.data.items())[1]
        journal.judged(fake.NOVELTY, (document.id, summary.system, None), fake.novelty(document, summary, fake.NOVELTY))
    assert not index.current()
    again = RunIndex(run.folder)
    assert again.find(Filters(), 0)[0] == 3
    again.close()
    file.write_bytes(b"damaged")
    RunIndex(run.folder).close()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_index_of_a_run_that_goes_on_is_kept_for_a_while(tmp_path: Path) -> None:
    def judge(at: int) -> None:
        document, (summary, _) = list(run.data.items())[at]
        with fake.Journal(run.folder) as journal:
            key = document.id, summary.system, None
            journal.judged(fake.NOVELTY, key, fake.novelty(document, summary, fake.NOVELTY))

    run = fake.make(tmp_path / "run", documents=1, status="running")
    (page,) = pages(run.folder, "/run/run")
    assert re.search(r"read at \d\d:\d\d:\d\d UTC", page[1])
    index = RunIndex(run.folder)
    judge(1)
    assert index.current()
    assert len(index.items(index.find(Filters(), 0)[1])) == 2  # it still fits the files
    with fake.Journal(run.folder) as journal:
        journal.manifest(run.manifest.model_copy(update={"status": "complete"}))
    assert not index.current()
    index.close()
    with fake.Journal(run.folder) as journal:
        journal.manifest(run.manifest)
    index = RunIndex(run.folder)
    index.kept = 0
    judge(0)
    assert not index.current()
    index.close()


def test_a_running_run_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    async def fetch() -> None:
        fake.make(tmp_path / "run", status="running")
        async with TestClient(TestServer(make_app(tmp_path))) as client:
            assert len(shown(await (await client.get("/run/run")).text())) == 4
            shutil.rmtree(tmp_path / "run")
            fake.make(tmp_path / "run", fake.ROWS[:2], status="running")
            reply = await client.get("/run/run")
            assert (reply.status, shown(await reply.text())) == (200, ["cedar bridge", "aster bridge"])

    asyncio.run(fetch())


def test_a_run_is_shown_while_the_index_of_another_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.make(tmp_path / "large")
    fake.make(tmp_path / "small")
    shown_first = threading.Event()

    def opened(folder: Path, note: Any) -> RunIndex:
        assert folder.name == "small" or shown_first.wait(20)
        return RunIndex(folder, note)

    async def fetch() -> None:
        async with TestClient(TestServer(make_app(tmp_path))) as client:
            large = asyncio.create_task(client.get("/run/large"))
            await asyncio.sleep(0.1)
            assert (await asyncio.wait_for(client.get("/run/small"), 10)).status == 200
            assert not large.done()
            shown_first.set()
            assert (await large).status == 200

    monkeypatch.setattr("summeter.view.server.RunIndex", opened)
    asyncio.run(fetch())


def test_pages_of_many_summaries(tmp_path: Path) -> None:
    rows = [{"doc_id": f"d{at:02}", "system": "a", "document": "It rained.", "summary": "It rained. " * (at + 1)}
            for at in range(2 * PAGE + 5)]  # fmt: skip
    fake.make(tmp_path / "run", rows, [(fake.NOVELTY, fake.novelty)])
    first, third = (page for _, page, _ in pages(tmp_path / "run", "/", "/run/run?system=a&page=3"))
    assert len(shown(first)) == PAGE
    assert len(shown(third)) == 5
    assert "41–45 of 45" in third
    links = [unescape(link) for link in re.findall(r'href="(/run/[^"]*page=[^"]*)"', third)]
    assert set(links) == {"/run/run?system=a&page=2"}


def test_a_folder_lists_its_runs(tmp_path: Path) -> None:
    fake.make(tmp_path / "a" / "first run")
    fake.make(tmp_path / "second", status="interrupted")
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "run.json").write_text("{")
    listed, nested, absent, damaged = pages(tmp_path, "/", "/run/a/first%20run", "/run/../first", "/run/third")
    assert [unescape(link) for link in re.findall(r'<a href="(/run/[^"]*)">', listed[1])] == [
        "/run/a/first%20run", "/run/second", "/run/third",
    ]  # fmt: skip
    assert "interrupted" in listed[1]
    assert "damaged" in listed[1]
    assert (nested[0], absent[0], damaged[0]) == (200, 404, 500)
    assert len(shown(nested[1])) == 4


def test_other_hosts_are_refused_and_nothing_is_loaded(tmp_path: Path) -> None:
    xss.run(tmp_path / "run")
    assert pages(tmp_path / "run", "/", host="evil.example")[0][0] == 421
    query = "&".join(f"{name}={xss.CORPUS[3]}" for name in ("system", "judge", "text", "order"))
    for status, page, headers in pages(tmp_path / "run", "/", f"/run/run?{query}"):
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "'unsafe-inline'" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert set(re.findall(r"<(script|style|img|iframe|svg|base|math|form|link)\b[^>]*", page)) <= {
            "script", "style", "form", "link",
        }  # fmt: skip
        assert page.count("<script") == len(pieces(page)) + 1
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)


def test_what_is_not_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="is not a run, and there is no run in it"):
        make_app(tmp_path)
    for arguments in ((str(tmp_path),), (str(tmp_path / "absent"),)):
        with pytest.raises(SystemExit) as caught:
            main(["view", *arguments])
        assert caught.value.code == 2
    assert "no run" in capsys.readouterr().err
