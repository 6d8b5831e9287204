"""The server of the pages of runs, which other machines cannot reach."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from aiohttp import web

from summeter.pages import serving
from summeter.pages.templates import one_file, shell_values
from summeter.records import InputError, Parameter, SummeterError, UsageError
from summeter.report.embedded import embedded_json
from summeter.report.rendering import SCRIPT, STYLE
from summeter.report.words import ALARM, STATUS
from summeter.runs.inspect import runs_in
from summeter.runs.manifest import Manifest
from summeter.runs.run import read_manifest
from summeter.scoring import SystemTable
from summeter.scoring.systems import SystemScore
from summeter.view.index import MAX_WORDS, PAGE, Filters, RunIndex, stamp

HOST = "127.0.0.1"
TEMPLATES = Path(__file__).parent / "templates"
_FORMS = "'self'"


class Entry(NamedTuple):
    """A run in the list. If run.json is damaged, there is no manifest, and `reason` says why.

    `means` are the systems with their means by the column that ranks them, best first; `aspect` is its aspect.
    """

    name: str
    link: str
    manifest: Manifest | None
    reason: str = ""
    aspect: str = ""
    means: Sequence[tuple[str, float | None]] = ()


def make_app(root: Path, note: Callable[[str], None] = lambda _: None) -> web.Application:
    """Return the web application for a run, or for the runs in a folder. Raises UsageError if there is no run."""
    site = _Site(root, note)
    if not site.runs():
        raise UsageError(f"{root} is not a run, and there is no run in it")
    app = web.Application(middlewares=[serving.own_hosts([], _wrong_host), _errors])
    content = f"{shell_values(STYLE, SCRIPT, _FORMS)['policy']}; frame-ancestors 'none'"
    fixed = serving.HEADERS | {"Content-Security-Policy": content, "Cache-Control": "no-store"}

    async def prepare(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(fixed)

    app.on_response_prepare.append(prepare)
    app.router.add_get("/", site.list)
    app.router.add_get("/run/{name:.+}", site.run)
    app.on_cleanup.append(site.close)
    return app


def serve(root: Path, port: int, ready: Callable[[str], None], note: Callable[[str], None]) -> None:
    """Serve the pages of a run, or of the runs in a folder, until interrupted.

    `ready` is called with the address when pages can be opened. The index of a run is built on first use, and `note` is
    called with a message before.

    Raises UsageError if there is no run, or if the port is not free.
    """
    asyncio.run(serving.serve(make_app(root, note), HOST, port, ready, Parameter("port")))


def _wrong_host(host: str) -> Exception:
    return web.HTTPMisdirectedRequest(text=f"this server does not accept the host {host}")


@web.middleware
async def _errors(request: web.Request, handler: serving.Handler) -> web.StreamResponse:
    """Return an expected error as plain text."""
    try:
        return await handler(request)
    except (SummeterError, OSError) as error:
        absent = isinstance(error, UsageError) and not isinstance(error, InputError)
        return web.Response(text=str(error), status=404 if absent else 500)


class _Site:
    """The request handlers, and the open indexes by folder."""

    def __init__(self, root: Path, note: Callable[[str], None]) -> None:
        self.root, self.note = root, note
        self.indexes: dict[Path, RunIndex] = {}
        self.locks = defaultdict[Path, asyncio.Lock](asyncio.Lock)

    def runs(self) -> dict[str, Path]:
        """Return the folders of the runs by name: the path below the folder that is served."""
        return {
            self.root.resolve().name if run == self.root else run.relative_to(self.root).as_posix(): run
            for run in runs_in(self.root)
        }

    async def close(self, _: web.Application) -> None:
        for index in self.indexes.values():
            index.close()

    async def list(self, _: web.Request) -> web.StreamResponse:
        """Show the runs, newest first; a single run is shown at once."""
        runs = await asyncio.to_thread(self.runs)
        if [*runs.values()] == [self.root]:
            raise web.HTTPSeeOther(_link(next(iter(runs))))
        entries = await asyncio.to_thread(lambda: [_entry(name, folder) for name, folder in runs.items()])
        entries.sort(key=lambda entry: entry.manifest.created if entry.manifest else "", reverse=True)
        title = f"Runs in {self.root.resolve().name}"
        return _page("runs.html.j2", {"title": title, "entries": entries})

    async def run(self, request: web.Request) -> web.StreamResponse:
        """Show one page of the summaries that the filters in the address select."""
        name = request.match_info["name"]
        folder = (await asyncio.to_thread(self.runs)).get(name)
        if folder is None:
            raise UsageError(f"there is no run {name} here")
        given = {field: request.query.get(field, "") for field in Filters._fields}
        if "" in request.query.values():  # a form sends all its fields
            raise web.HTTPSeeOther(_link(name, Filters(**given)))
        if (words := len(given["text"].split())) > MAX_WORDS:
            raise web.HTTPBadRequest(text=f"a search may have at most {MAX_WORDS} words; this one has {words:,}")
        number = request.query.get("page", "")
        page = max(1, int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else 1
        async with self.locks[folder]:  # a large index is built only once
            return await asyncio.to_thread(self._run, name, folder, Filters(**given), page)

    def _index(self, folder: Path) -> RunIndex:
        """Return the index of a run, which is built again if the run has changed."""
        index = self.indexes.get(folder)
        if index is None or not index.current():
            if index is not None:
                self.indexes.pop(folder).close()
            index = self.indexes[folder] = RunIndex(folder, self.note)
        return index

    def _run(self, name: str, folder: Path, filters: Filters, page: int) -> web.Response:
        index = self._index(folder)
        try:
            return self._summaries(index, name, filters, page)
        except InputError:
            if index.stamp == stamp(folder):
                raise
            self.indexes.pop(folder).close()  # the files that the index refers to were replaced
            return self._summaries(self._index(folder), name, filters, page)

    def _summaries(self, index: RunIndex, name: str, filters: Filters, page: int) -> web.Response:
        total, numbers = index.find(filters, (page - 1) * PAGE)
        last = max(1, -(-total // PAGE))
        if page > last:
            raise web.HTTPSeeOther(_link(name, filters, last))
        steps = {"First": 1, "Previous": page - 1, "Next": page + 1, "Last": last}
        values: dict[str, Any] = {
            "title": name,
            "one": index.run.folder == self.root,
            "manifest": index.run.manifest,
            "time": index.time,
            "kept": round(index.kept),
            "about": index.about,
            "judges": list(index.judges),
            "fields": _fields(index),
            "filters": filters._asdict(),
            "total": total,
            "first": (page - 1) * PAGE + 1,
            "last": (page - 1) * PAGE + len(numbers),
            "links": [
                (text, _link(name, filters, to) if 1 <= to <= last and to != page else None)
                for text, to in steps.items()
            ],
            "reset": _link(name),
            "ALARM": ALARM,
        }
        return _page("run.html.j2", values, embedded_json(index.items(numbers, filters.judge), calls=True))


def _fields(index: RunIndex) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield the name, the label and the choices of each filter of a page; a choice is a value and its text."""
    about, orders = index.about, list(index.orders)
    for name, values in (("system", about["systems"]), ("domain", about["domains"]), ("judge", index.judges)):
        yield name, name.capitalize(), [(value, value) for value in values]
    yield "error", "Errors", [("any", "any error"), *((name, name) for name in about["errors"])]
    yield "status", "Status", [(name, f"{name}: {STATUS[name]}") for name in about["statuses"]]
    yield "people", "People", [("differ", "people and a judge differ")] if about["people"] else []
    yield "order", "Order", [("" if name == orders[0] else name, f"{name} first") for name in orders]


def _page(template: str, values: Mapping[str, Any], embedded: Any = ()) -> web.Response:
    chunks = one_file(TEMPLATES, template, values, style=STYLE, script=SCRIPT, embedded=embedded, forms=_FORMS)
    return web.Response(text="".join(chunks), content_type="text/html")


def _link(name: str, filters: Filters | None = None, page: int = 1) -> str:
    fields = {key: value for key, value in (filters._asdict() if filters else {}).items() if value}
    query = urlencode(fields | ({"page": str(page)} if page > 1 else {}), errors="replace")
    return f"/run/{quote(name, errors='replace')}" + (f"?{query}" if query else "")


def _entry(name: str, folder: Path) -> Entry:
    """Return the entry of a run in the list, from run.json and summary.json."""
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        return Entry(name, _link(name), None, str(error))
    try:
        rows = json.loads((folder / "summary.json").read_bytes())["rows"]
        table = SystemTable([SystemScore.model_validate(row) for row in rows if row["domain"] is None])
    except (OSError, ValueError, KeyError, TypeError):  # a view, which an unfinished run does not have
        return Entry(name, _link(name), manifest)
    lead = table.lead()
    if lead is None:
        return Entry(name, _link(name), manifest)
    cells = [(system, cell.value) for system in table.ordered({row.system for row in table.rows}, lead)
             if (cell := table.cell(system, lead)) is not None]  # fmt: skip
    return Entry(name, _link(name), manifest, aspect=lead[2], means=cells)
