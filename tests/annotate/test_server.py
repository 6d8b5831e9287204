"""The server over HTTP: access, CSRF, and the content of responses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer
from annotate import campaigns as made
from report import xss

from summeter.annotate.campaign.bodies import LARGEST
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.app import make_app
from summeter.annotate.server.security import CSRF

Client = TestClient[Any, Any]
SECRET = ("expected", "planned", "role", "passed", "check", "feedback", "system", "systems", "rival", "group")
"""Names of fields that annotators' browsers never receive."""


def serve(
    folder: CampaignFolder,
    body: Callable[[CampaignService, Callable[[], Client]], Awaitable[None]],
    known: CampaignService | None = None,
) -> None:
    """Run a coroutine with a served campaign (`known`, if it is open) and a function that returns new clients."""

    async def inside(service: CampaignService) -> None:
        server = TestServer(make_app(service))
        await server.start_server()
        clients: list[Client] = []

        def browser() -> Client:
            clients.append(TestClient(server, cookie_jar=CookieJar(unsafe=True)))
            return clients[-1]

        try:
            await body(service, browser)
        finally:
            for one in clients:
                await one.close()
            await server.close()

    with CampaignService(folder) if known is None else nullcontext(known) as service:
        asyncio.run(inside(service))


async def enter(client: Client, folder: CampaignFolder, name: str) -> dict[str, str]:
    """Open the link and return the headers of a write."""
    reply = await client.get("/" + folder.links()[name], allow_redirects=False)
    assert (reply.status, reply.headers["Location"]) == (303, "/work")
    return {CSRF: (await (await client.get("/api/session")).json())["csrf"]}


def test_a_link_sets_a_cookie_and_writes_nothing(tmp_path: Path) -> None:
    folder = made.make(tmp_path)

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        reply = await client.get("/" + folder.links()["anna"], allow_redirects=False)
        cookie = reply.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        session = await (await client.get("/api/session")).json()
        assert (session["annotator"], session["stage"], session["batch"]) == ("anna", "work", None)
        assert service.log.last_seq == 0
        for query in ("?token=anna.0000", "?token=eve." + "0" * 32, "?token=%00", "?PROLIFIC_PID=x", "?token="):
            assert (await browser().get("/" + query)).status == 401
        assert (await browser().get("/work")).status == 401
        refused = await browser().get("/api/session")
        assert (refused.status, (await refused.json())["error"]["code"]) == (401, "no_session")
        forged = await browser().get("/api/session", headers={"Cookie": "summeter=" + "e30." + "0" * 64})
        assert forged.status == 401

    serve(folder, body)


@pytest.mark.parametrize(
    ("platform", "query", "proxy", "wanted"),
    [
        ("prolific", "?PROLIFIC_PID=5f", "", {"SameSite=Lax"}),
        ("prolific", "?PROLIFIC_PID=5f", "https", {"SameSite=Lax", "Secure"}),
        # A page in Mechanical Turk's frame keeps no other cookie than this; over plain HTTP no frame can be served.
        ("mturk", "?workerId=W1&assignmentId=A1", "https", {"SameSite=None", "Secure", "Partitioned"}),
        ("mturk", "?workerId=W1&assignmentId=A1", "http", {"SameSite=Lax"}),
    ],
)
def test_cookie_attributes(platform: str, query: str, proxy: str, wanted: set[str], tmp_path: Path) -> None:

    async def body(_: CampaignService, browser: Callable[[], Client]) -> None:
        more = {"X-Forwarded-Proto": proxy} if proxy else {}
        reply = await browser().get("/" + query, headers=more, allow_redirects=False)
        parts = set(reply.headers["Set-Cookie"].split("; ")[1:])
        assert parts == {"Path=/", "Max-Age=5184000", "HttpOnly", *wanted}

    serve(made.make(tmp_path, platform={"name": platform}), body)


def test_a_proxy_can_change_the_host(tmp_path: Path) -> None:
    folder = made.make(tmp_path)

    async def body(_: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        head = await enter(client, folder, "anna") | {"Origin": "https://study.example"}
        for site, status in (("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("", 403)):
            reply = await client.post("/api/batch", json={}, headers={**head, "Sec-Fetch-Site": site})
            assert reply.status == status
        assert (await client.post("/api/batch", json={}, headers=head)).status == 403

    serve(folder, body)


def test_every_write_needs_the_csrf_token_of_its_session(tmp_path: Path) -> None:
    folder = made.make(tmp_path)

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        anna, ben = browser(), browser()
        head = await enter(anna, folder, "anna")
        other = await enter(ben, folder, "ben")
        for path in ("consent", "instructions", "qualification", "training", "batch", "opened", "answers",
                     "finish", "return"):  # fmt: skip
            for wrong in ({}, {CSRF: "0" * 40}, other, {**head, "Origin": "https://evil.example"},
                          {**head, "Sec-Fetch-Site": "cross-site"}):  # fmt: skip
                reply = await anna.post(f"/api/{path}", json={}, headers=wrong)
                assert (reply.status, (await reply.json())["error"]["code"]) == (403, "csrf")
            assert (await browser().post(f"/api/{path}", json={}, headers=head)).status == 401
            assert (await anna.get(f"/api/{path}")).status == 405
        assert service.log.last_seq == 0
        assert (await anna.post("/api/batch", json={}, headers=head)).status == 200

    serve(folder, body)


def test_all_stages_and_refusals(tmp_path: Path) -> None:
    folder = made.make(tmp_path, answers_per_item=1, batch={"size": 4})

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        anna, ben = browser(), browser()
        head, bens = await enter(anna, folder, "anna"), await enter(ben, folder, "ben")
        batch = (await (await anna.post("/api/batch", json={}, headers=head)).json())["batch"]
        await ben.post("/api/batch", json={}, headers=bens)
        task = batch["tasks"][0]
        given = made.body(task, seconds=4)
        foreign = await ben.post("/api/answers", json=given, headers=bens)
        assert (foreign.status, (await foreign.json())["error"]["code"]) == (403, "not_yours")
        for name in ("fv/doc0/s0/0", "", None, 7, ["x"], "../../keys.json"):
            assert (await anna.post("/api/opened", json={"task": name}, headers=head)).status == 403
        for data, status in ((b"{", 400), (b"[]", 400), (b'{"a": NaN}', 400), (b"[" * 60_000, 400),
                             (b" " * (LARGEST + 1), 413)):  # fmt: skip
            assert (await anna.post("/api/answers", data=data, headers=head)).status == status
        replies = [await (await anna.post("/api/answers", json=given, headers=head)).json() for _ in range(3)]
        assert replies[0] == replies[1] == replies[2]
        early = await anna.post("/api/finish", json={}, headers=head)
        assert (early.status, (await early.json())["error"]["code"]) == (409, "unfinished")
        assert (await (await anna.post("/api/return", json={}, headers=head)).json())["returned"] > 0

    serve(folder, body)


def test_paths_are_confined_and_responses_have_security_headers(tmp_path: Path) -> None:
    folder = made.make(tmp_path)

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        for path in ("/", "/nothing", "/api/nothing", "/api/session", "/static/", "/static/none.js", "/static/task.js",
                     "/admin",
                     "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2f..%2fdesk.py",
                     "/static//etc/passwd", "/static/%00", "/static/....//server.py",
                     "/static/../../../../keys.json"):  # fmt: skip
            reply = await client.get(path)
            text = await reply.text(errors="replace")
            assert reply.status in {200, 401, 403, 404}, path
            assert "aiohttp import" not in text
            assert folder.keys["secret"] not in text
            policy = reply.headers["Content-Security-Policy"]
            for allowed in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "trusted-types 'none'"):
                assert allowed in policy.split("; ")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert reply.headers["X-Content-Type-Options"] == "nosniff"

    serve(folder, body)


def test_hostile_texts_are_sent_as_json_only(tmp_path: Path) -> None:
    data = [
        {"doc_id": f"d{index} {text}", "document": f"{text} One. Two.", "system": text, "summary": f"{text} Three."}
        for index, text in enumerate(xss.CORPUS) if text.strip()
    ]  # fmt: skip
    folder = made.make(tmp_path, data, consent=xss.CORPUS[0], instructions="\n\n".join(xss.CORPUS), title=xss.CORPUS[0])

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        head = await enter(client, folder, "anna")
        page = await (await client.get("/work")).text()
        assert "<script>alert" not in page
        assert "onerror=" not in page.replace("&quot;", '"').split("<body", 1)[0]
        assert "javascript:" not in page or 'href="javascript:' not in page
        await client.post("/api/consent", json={"agreed": True}, headers=head)
        await client.post("/api/instructions", json={}, headers=head)
        reply = await client.post("/api/batch", json={}, headers=head)
        assert reply.content_type == "application/json"
        batch = (await reply.json())["batch"]
        assert any(text in json.dumps(batch, ensure_ascii=False) for text in ("<script", "<img"))
        task = batch["tasks"][0]
        answer = {**made.plain(task), "comment": xss.CORPUS[0]}
        given = made.body(task, answer, seconds=4)
        assert (await client.post("/api/answers", json=given, headers=head)).status == 200
        shown = await client.get("/api/session")
        assert shown.content_type == "application/json"

    serve(folder, body)


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_no_response_contains_expected_answers(task_type: str, tmp_path: Path) -> None:
    folder = made.make(
        tmp_path, task_type=task_type, attention={"rate": 0.5}, training={"made": 2},
        qualification={"questions": [{"question": "?", "choices": ["a", "b"], "answer": 1}]},
    )  # fmt: skip

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        head = await enter(client, folder, "anna")
        seen = [await (await client.get("/api/session")).text(), await (await client.get("/work")).text()]
        await client.post("/api/qualification", json={"answers": {"q0": 1}}, headers=head)
        session = await (await client.get("/api/session")).json()
        seen.append(json.dumps(session))
        for task in session["training"]["tasks"]:
            given = made.body(task, seconds=4)
            assert (await client.post("/api/training", json=given, headers=head)).status == 200
        reply = await (await client.post("/api/batch", json={}, headers=head)).json()
        seen.append(json.dumps(reply))
        for task in reply["batch"]["tasks"]:
            given = made.body(task, seconds=4)
            answered = await (await client.post("/api/answers", json=given, headers=head)).json()
            assert set(answered) == {"ok", "answer_id", "task", "seq"}
        seen.append(await (await client.get("/api/session")).text())
        for text in seen:
            assert not any(f'"{name}"' in text for name in SECRET)
            assert not any(task.key in text for task in service.tasks.by_key.values())

    serve(folder, body)


def test_the_researcher_needs_the_token(tmp_path: Path) -> None:
    folder = made.make(tmp_path)

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        anna, admin = browser(), browser()
        head = await enter(anna, folder, "anna")
        await anna.post("/api/batch", json={}, headers=head)
        assert (await anna.get("/admin?token=" + "x" * 32)).status == 401
        reply = await admin.get(f"/admin?token={folder.keys['admin']}", allow_redirects=False)
        assert reply.headers["Location"] == "/admin"
        assert (await admin.get("/admin")).status == 200
        page = await (await admin.get("/admin/annotator?name=anna")).text()
        csrf = re.findall(r'name="csrf" value="(\w+)"', page)[0]
        order = {"annotator": "anna", "reason": "a test"}
        foreign = {"Sec-Fetch-Site": "cross-site"}
        assert (await admin.post("/admin/exclude", data=order)).status == 422
        assert (await anna.post("/admin/exclude", data={**order, "csrf": csrf})).status == 401
        assert (await admin.post("/admin/exclude", data={**order, "csrf": csrf}, headers=foreign)).status == 403
        for bad in ({"reason": " "}, {"annotator": "eve"}, {"csrf": "x"}):
            assert (await admin.post("/admin/exclude", data={**order, "csrf": csrf, **bad})).status == 422
        assert not service.state.people["anna"].excluded
        done = await admin.post("/admin/exclude", data={**order, "csrf": csrf}, allow_redirects=False)
        assert (done.status, done.headers["Location"]) == (303, "/admin/annotator?name=anna")
        assert service.state.people["anna"].excluded
        assert (await admin.post("/admin/exclude", data={**order, "csrf": csrf})).status == 422
        assert (await admin.post("/admin/reinstate", data={**order, "csrf": csrf})).status == 200

    serve(folder, body)


def test_crowd_workers_enter_by_platform_links(tmp_path: Path) -> None:
    turk = made.make(tmp_path / "t", platform={"name": "mturk"})

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        await client.get("/?workerId=W1&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1")
        session = await (await client.get("/api/session")).json()
        assert session["preview"]
        assert session["sample"] is not None
        blocked = await client.post("/api/batch", json={}, headers={CSRF: session["csrf"]})
        assert (blocked.status, (await blocked.json())["error"]["code"]) == (403, "preview")
        assert service.log.last_seq == 0
        worker = browser()
        entered = await worker.get("/?workerId=W1&assignmentId=A1&hitId=H1&turkSubmitTo=https://evil.example")
        assert "frame-ancestors https://www.mturk.com" in entered.headers["Content-Security-Policy"]
        session = await (await worker.get("/api/session")).json()
        await worker.post("/api/batch", json={}, headers={CSRF: session["csrf"]})
        name = session["annotator"]
        assert "W1" not in name
        assert service.state.people[name].visitor == {
            "platform": "mturk",
            "id": "W1",
            "study": "H1",
            "session": "A1",
        }
        await asyncio.to_thread(service.log.append, "ended", name, data={"outcome": "completed"})
        await worker.post("/api/return", json={}, headers={CSRF: session["csrf"]})
        done = (await (await worker.get("/api/session")).json())["done"]
        assert done["form"]["action"] == "https://www.mturk.com/mturk/externalSubmit"
        assert done["form"]["fields"]["assignmentId"] == "A1"

    serve(turk, body)
