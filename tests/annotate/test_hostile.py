"""Hostile requests are refused, reveal nothing, and delay nobody else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar
from annotate import campaigns as made
from annotate.test_server import Client, enter, serve

from summeter.annotate.campaign.bodies import LARGEST, Refusal, read_body
from summeter.annotate.campaign.requests import REQUESTS
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.security import RateLimit

WRITES = [name for name in REQUESTS if name != "session"]
EVILS: list[Any] = [
    None, True, -1, 10**400, -(10**30), 1.5, "", "x" * 9_000, "\x00", "\ud800", "AAA", "Z", "tie", [], [[]] * 50, {},
    {"": {}}, {"A": None}, [None] * 30, [2**53 + 1], {"__proto__": 1}, "sysname1", "sysname2",
]  # fmt: skip
RAW = [
    b'{"seconds": 1e400}', b'{"seconds": -1e400}', b'{"seconds": NaN}', b'{"seconds": Infinity}', b"\xff\xfe", b"[",
    b'"', b"1", b'{"a": ' + b"9" * 5_000 + b"}", b'{"a":' * 3_000, b'{"a":' * 60 + b"1" + b"}" * 60,
    b'{"a": "\\ud800"}', b'{"a": 1, "a": 2}', json.dumps({"a": "x" * 20_000}).encode(),
    json.dumps({"x" * 300: 1}).encode(), json.dumps([0] * 100).encode(), json.dumps({"a": [0] * 21_000}).encode(),
    b"{" + b" " * LARGEST + b"}",
]  # fmt: skip


READ = [b'{"a": "\\ud800"}', b'{"a": 1, "a": 2}', b"{" + b" " * LARGEST + b"}"]
"""Of those, what is JSON within the bounds (aiohttp refuses the last one for its size)."""


def rows() -> list[dict[str, Any]]:
    """Return rows with system names that no page may show."""
    return [
        {"doc_id": f"doc{n}", "document": "One. Two.", "system": f"sysname{s}", "summary": "A. B.", "key_facts": ["A."]}
        for n in range(3)
        for s in (1, 2)
    ]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of an answer."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from leaves(part, (*path, name))


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """Return a value with a changed part."""
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


def hostile(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield bodies with replaced, removed or added parts."""
    for path in leaves(body):
        if not path:
            continue
        for evil in EVILS:
            yield changed(body, path, lambda _, evil=evil: evil)
        parent = path[:-1]

        def without(value: Any, name: Any = path[-1]) -> Any:
            if isinstance(value, dict):
                return {other: part for other, part in value.items() if other != name}
            return [part for at, part in enumerate(value) if at != name]

        yield changed(body, parent, without)
        yield changed(
            body, parent, lambda value: {**value, "B": 1, "sysname1": 2} if isinstance(value, dict) else value
        )


def words_of(service: CampaignService) -> list[str]:
    """Return texts that no reply may contain."""
    keys = [task.key for task in service.tasks.by_key.values()]
    return ["sysname", "Traceback", "expected", "planned", service.folder.keys["secret"], *keys]


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_errors_reveal_only_what_the_page_shows(task_type: str, tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, rows(), task_type=task_type)) as service:
        task = service.request("batch", made.who("anna"))["batch"]["tasks"][0]
        good = made.body(task, seconds=9)
        refused = 0
        for body in hostile(good):
            refusal = refusal_of(service, body)
            if refusal is None:
                continue
            refused += 1
            said, shown = json.dumps(refusal.to_json()), json.dumps([body, task])
            assert refusal.status in {400, 403, 409, 422}, said
            assert [word for word in words_of(service) if word in said and word not in shown] == [], said
            assert len(said) < 1_000
        assert refused > 50
        assert service.state.digest() == made.replayed(service)
        service.request("answers", made.who("anna"), good)


def refusal_of(service: CampaignService, body: dict[str, Any]) -> Refusal | None:
    """Return the error for an invalid body."""
    try:
        given = read_body(json.dumps({**body, "answer_id": made.answer_id()}).encode())
        service.request("answers", made.who("anna"), given)
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.parametrize("raw", RAW)
def test_body_limits(raw: bytes) -> None:
    if raw in READ:
        assert "\ud800" not in str(read_body(raw))
        return
    with pytest.raises(Refusal) as refusal:
        read_body(raw)
    assert refusal.value.status in {400, 422}


def test_hostile_requests_do_not_affect_others_in_a_commit(tmp_path: Path) -> None:
    """All requests are committed together, and only the hostile ones are refused."""
    with CampaignService(made.make(tmp_path, rows(), task_type="rating", answers_per_item=3)) as service:
        state = service.state
        names = ("anna", "ben", "cleo")
        tasks = {name: service.request("batch", made.who(name))["batch"]["tasks"][0] for name in names}
        evil = tasks["anna"]
        gate, rng = made.Gate(service), Random(1)
        good = made.body(evil, seconds=9)
        bad = rng.sample([{**body, "answer_id": body.get("answer_id")} for body in hostile(good)], 150)
        wrong = [service.submit(rng.choice(WRITES), made.who("anna"), body) for body in bad]
        honest = []
        for name in ("ben", "cleo"):
            given = {"task": tasks[name]["id"], "answer": made.plain(tasks[name]), "seconds": 9}
            honest.append(service.submit("answers", made.who(name), {**given, "answer_id": made.answer_id()}))
        gate.open()
        assert all(future.result()["ok"] for future in honest)
        assert all(isinstance(future.exception(), Refusal | None) for future in wrong)
        assert service.state is state  # not made anew


def test_hostile_clients_do_not_delay_others(tmp_path: Path) -> None:
    """Honest requests are answered while hostile ones are sent to all addresses."""
    folder = made.make(tmp_path, made.rows(12, 1, 4), answers_per_item=2, batch={"size": 40})

    async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
        anna, ben = browser(), browser()
        head, bens = await enter(anna, folder, "anna"), await enter(ben, folder, "ben")
        mine = (await (await anna.post("/api/batch", json={}, headers=head)).json())["batch"]["tasks"][0]
        tasks = (await (await ben.post("/api/batch", json={}, headers=bens)).json())["batch"]["tasks"]
        given = made.body(mine, seconds=9)
        bodies = [*RAW, *(json.dumps(one).encode() for one in Random(2).sample([*hostile(given)], 100))]
        statuses: list[int] = []

        async def attack(path: str, raw: bytes) -> None:
            reply = await anna.post(f"/api/{path}", data=raw, headers=head)
            statuses.append(reply.status)

        attacks = [asyncio.create_task(attack(path, raw)) for raw in bodies for path in WRITES]
        waits = []
        for task in tasks:
            answer = made.body(task, seconds=9)
            began = time.perf_counter()
            reply = await ben.post("/api/answers", json=answer, headers=bens)
            waits.append(time.perf_counter() - began)
            assert reply.status == 200
            await asyncio.sleep(0.01)
        for attempt in attacks:
            attempt.cancel()
        await asyncio.gather(*attacks, return_exceptions=True)
        assert statuses
        assert not [status for status in statuses if status >= 500]
        assert max(waits) < 5, waits  # benchmarks/annotate.py measures them

    serve(folder, body)


def test_many_refused_requests_delay_a_session() -> None:
    now = [0.0]
    limit = RateLimit(free=20, pause=2.0, clock=lambda: now[0])

    async def refused(times: int) -> None:
        for _ in range(times):
            with pytest.raises(Refusal):
                async with limit.request("eve"):
                    raise Refusal(422, "invalid", "is wrong")

    asyncio.run(refused(20))
    assert limit.wait("eve") == 0.0
    asyncio.run(refused(1))
    assert (limit.wait("eve"), limit.wait("anna")) == (2.0, 0.0)
    now[0] += 60
    assert limit.wait("eve") == 0.0


def test_other_hosts_are_refused(tmp_path: Path) -> None:
    folder = made.make(tmp_path, hosts=["study.example"])

    async def body(_: CampaignService, browser: Callable[[], Client]) -> None:
        client = browser()
        wanted = {
            "study.example": 200, "STUDY.example.:443": 200, "localhost:8300": 200, "127.0.0.1": 200,
            "[::1]:80": 200, "10.1.2.3:8300": 200, "evil.example": 421, "study.example.evil.example": 421,
            "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "127.0.0.1:80@evil.example": 421,
        }  # fmt: skip
        for host, status in wanted.items():
            async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as http:
                address = client.make_url("/")
                reply = await http.get(address, headers={"Host": host, "X-Forwarded-Host": "study.example"})
                assert reply.status == status, host
                if status == 421:
                    assert f"does not accept the host {host.partition(':')[0]}" in await reply.text() or "@" in host

    serve(folder, body)
