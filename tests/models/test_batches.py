"""Batches with the APIs of OpenAI and Anthropic: submission, results, resumed sessions, and no duplicate calls."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from models.batch_server import BatchServer, Body, Outcome

from summeter.models.base import Completion, Message, Request
from summeter.models.layers.batches import Batches
from summeter.models.layers.budget import Budget, CallBudget
from summeter.models.layers.cache import Stored
from summeter.models.prices import Price
from summeter.models.providers.http import HttpLLM
from summeter.models.resolve import CallSettings, bind, resolve
from summeter.records import (
    AccessError,
    BudgetError,
    CapabilityError,
    InputError,
    PendingCall,
    SummeterError,
    TransientError,
    UsageError,
    WriteError,
    first_error,
)
from summeter.runs.batches import BatchLog
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

MODELS = {"openai": "openai/m", "anthropic": "anthropic/m"}
ENVIRON = {"OPENAI_API_KEY": "sk-secret-0123456789", "ANTHROPIC_API_KEY": "sk-secret-0123456789"}
SCHEMA: dict[str, Any] = {"format": "json_schema", "schema_name": "s", "schema_": {"type": "object"}}


@pytest.fixture(params=sorted(MODELS))
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(number: int, vendor: str, **fields: Any) -> Request:
    return Request(model=MODELS[vendor], messages=(Message(role="user", content=f"question {number}"),), **fields)


def number_of(body: Body) -> int:
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return int(text.split()[-1])


def echo(body: Body) -> Outcome:
    return ("ok", f"answer {number_of(body)}")


def strict(body: Body) -> bool:
    return "output_config" in body or "response_format" in body


def without_schemas(body: Body) -> Outcome:
    return ("error", (400, "unknown parameter: response_format")) if strict(body) else echo(body)


class Session:
    """A session of a run: a model with the log and the call store of the run. Sleeps take no time and are recorded."""

    def __init__(
        self,
        server: BatchServer,
        vendor: str,
        folder: Path,
        *,
        most: int | None = None,
        retries: int = 8,
        budget: CallBudget | None = None,
    ) -> None:
        llm = resolve(MODELS[vendor], base_url=server.url(vendor), environ=ENVIRON)
        assert isinstance(llm, HttpLLM)
        api = llm.batches()
        assert api is not None
        if most is not None:
            api.most = most
        self.slept: list[float] = []
        self.told: list[str] = []
        self.log = BatchLog(folder / "batches.jsonl")
        self.store = CallStore(folder / "calls.sqlite")
        usage = Usage()
        self.batches = Batches(
            llm, api, self.store, self.log, usage=usage, budget=budget, max_retries=retries, sleep=self._sleep,
            tell=self.told.append,
        )  # fmt: skip
        self.model = Stored(llm.id, self.store, self.batches.missing, usage=usage)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0.001)

    async def round(self, requests: list[Request]) -> list[Completion | SummeterError]:
        """Return the outcome of each request in one round."""
        found = await asyncio.gather(*(self.model.complete(one) for one in requests), return_exceptions=True)
        assert all(isinstance(one, (Completion, SummeterError)) for one in found), found
        return found  # type: ignore[return-value]

    async def all(self, requests: list[Request]) -> list[Completion | SummeterError]:
        """Return the final outcome of each request: rounds and fetches until no call is pending."""
        found = await self.round(requests)
        while any(isinstance(one, PendingCall) for one in found):
            try:
                await self.batches.fetch()
            except ExceptionGroup as group:
                raise first_error(group) from None
            found = await self.round(requests)
        return found

    async def close(self) -> None:
        await self.batches.close()
        self.store.close()


@asynccontextmanager
async def sitting(*args: Any, **settings: Any) -> AsyncIterator[Session]:
    session = Session(*args, **settings)
    try:
        yield session
    finally:
        await session.close()


def texts(found: list[Completion | SummeterError]) -> list[str]:
    return [one.text if isinstance(one, Completion) else f"{type(one).__name__}: {one}" for one in found]


def run(server: BatchServer, vendor: str, folder: Path, requests: list[Request], **settings: Any) -> Any:
    """Return the replies of one session, and the session."""

    async def main() -> Any:
        async with sitting(server, vendor, folder, **settings) as session:
            return await session.all(requests), session

    return asyncio.run(main())


class TestWhatComes:
    def test_every_call_has_its_own_reply_and_says_its_batch(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            found, session = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(20)])
        assert texts(found) == [f"answer {n}" for n in range(20)]
        assert server.sizes == [20]
        batch = next(iter(server.batches))
        assert {(one.batch, one.tokens_in, one.tokens_out, one.seconds) for one in found} == {(batch, 11, 7, None)}
        assert session.log.open == []

    def test_a_rejected_reply_costs_the_batch_price(self, tmp_path: Path) -> None:
        price = Price(input=100.0, output=200.0, date=date(2026, 1, 1)).batched
        budget = Budget(None, 1.0)
        with BatchServer(echo) as server:
            requests = [ask(0, "openai", top_logprobs=5)]
            (found,), _ = run(server, "openai", tmp_path, requests, budget=CallBudget(budget, price))
            batch = next(iter(server.batches))
        assert isinstance(found, CapabilityError)
        assert budget.spent.cost == pytest.approx(price.cost(11, 7))
        with CallStore(tmp_path / "calls.sqlite") as store:
            assert [(call.tokens_in, call.batch) for call in store.tokens("turned_away")] == [(11, batch)]

    def test_hundreds_over_full_batches(self, vendor: str, tmp_path: Path) -> None:
        requests = [ask(n, vendor) for n in range(500)]
        with BatchServer(echo) as server:
            found, _ = run(server, vendor, tmp_path, requests, most=80)
            # 500 = 6 * 80 + 20
            assert server.sizes == [80] * 6 + [20]
            assert texts(found) == [f"answer {n}" for n in range(500)]
            assert len(set(server.handed_in)) == len(server.handed_in) == 500
            again, _ = run(server, vendor, tmp_path, requests)
            assert again == found
            assert len(server.batches) == 7

    def test_large_requests_and_signs_of_all_kinds(self, vendor: str, tmp_path: Path) -> None:
        # 30 times 100,000 characters, of which some take three bytes, and a lone surrogate, which has no UTF-8.
        long = '\u96e8\udc00"\n' + "x" * 100_000
        turns = [(Message(role="user", content=f"{long} {n}"),) for n in range(30)]
        requests = [Request(model=MODELS[vendor], messages=turn) for turn in turns]
        with BatchServer(lambda body: ("ok", f"\u96e8\udc00 {number_of(body)}")) as server:
            found, _ = run(server, vendor, tmp_path, requests)
            assert server.sizes == [30]
        assert texts(found) == [f"\u96e8\ufffd {n}" for n in range(30)]

    def test_waits_grow_and_are_reported(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.done = lambda made: len([one for one in server.seen if one == made.id]) > 12
            _, session = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(3)])
        # 30 s, half as much again each time, ten minutes at most.
        assert session.slept[:4] == [30.0, 45.0, 67.5, 101.25]
        assert session.slept[-1] == 600.0
        batch = next(iter(server.batches))
        assert session.told[0].startswith("submitting 3 calls")
        assert session.told[1].startswith(f"3 calls in batch {batch}: in_progress, 0 of 3 done; since 20")


class TestWhatFails:
    def test_mixed_errors(self, vendor: str, tmp_path: Path) -> None:
        tried: Counter[int] = Counter()

        def answer(body: Body) -> Outcome:
            n = number_of(body)
            tried[n] += 1
            # Both of OpenAI's files are made from these answers: a request is asked about twice a batch there.
            first = tried[n] <= (2 if vendor == "openai" else 1)
            once: dict[int, Outcome] = {
                1: ("error", (500, "broke")), 2: ("expired", None), 3: ("gone", None), 4: ("error", (429, "busy")),
            }  # fmt: skip
            always: dict[int, Outcome] = {
                5: ("error", (400, "no such thing")), 6: ("cancelled", None), 7: ("error", (500, "for ever")),
            }  # fmt: skip
            return always.get(n) or (once.get(n) if first else None) or echo(body)

        with BatchServer(answer) as server:
            found, session = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(9)], retries=2)
        said = texts(found)
        assert [said[n] for n in (0, 1, 2, 3, 4, 8)] == [f"answer {n}" for n in (0, 1, 2, 3, 4, 8)]
        assert "no such thing" in said[5]
        assert said[5].startswith("ModelError")
        assert "was cancelled" in said[6]
        assert said[6].startswith("ModelError")
        assert "for ever" in said[7]
        assert "gave up after 3 tries" in said[7]
        # What failed for now goes on together: 1, 2, 3, 4 and 7; then 7 alone.
        assert server.sizes == [9, 5, 1]
        assert session.model.usage.retries == 6

    def test_invalid_and_duplicate_lines(self, vendor: str, tmp_path: Path) -> None:
        def mangle(lines: list[bytes]) -> list[bytes]:
            if len(lines) < 5:
                return lines
            second = lines[1].replace(b"answer", b"wrong!")
            stray = lines[2].replace(json.loads(lines[2])["custom_id"].encode(), b"ours-it-is-not")
            return [lines[0][: len(lines[0]) // 2], *lines[1:], second, stray, b'"text"', b""]

        with BatchServer(echo) as server:
            server.mangle = mangle
            found, _ = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(5)])
        assert texts(found) == [f"answer {n}" for n in range(5)]
        assert server.sizes == [5, 1]

    def test_a_missing_line_fails_only_its_call(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(lambda body: ("gone", None) if number_of(body) == 2 else echo(body)) as server:
            found, _ = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(4)], retries=1)
        assert isinstance(found[2], TransientError)
        assert "have no usable line for this call" in str(found[2])
        assert [texts(found)[n] for n in (0, 1, 3)] == ["answer 0", "answer 1", "answer 3"]

    def test_a_weaker_format_is_used_and_remembered_after_a_refused_schema(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(without_schemas) as server:
            found, _ = run(server, vendor, tmp_path, [ask(n, vendor, **SCHEMA) for n in range(3)])
            assert texts(found) == [f"answer {n}" for n in range(3)]
            assert {one.format for one in found} == {"text"}
            # Anthropic's json_object is refused without asking.
            assert server.sizes == ([3, 3, 3] if vendor == "openai" else [3, 3])

    def test_refused_formats_are_not_asked_again_by_the_next_session(self, vendor: str, tmp_path: Path) -> None:
        request = ask(1, vendor, **SCHEMA)

        async def killed() -> None:
            async with sitting(server, vendor, tmp_path) as session:
                doing = asyncio.create_task(session.all([request]))
                await until(lambda: server.batches and not strict(list(server.batches.values())[-1].entries[0][1]))
                await until(lambda: session.log.open and session.log.open[-1].id is not None)
                doing.cancel()
                await asyncio.wait([doing])

        with BatchServer(without_schemas) as server:
            server.done = lambda made: strict(made.entries[0][1])
            asyncio.run(killed())
            before = list(server.handed_in)
            server.done = lambda _: True
            found, _ = run(server, vendor, tmp_path, [request])
            assert texts(found) == ["answer 1"]
            assert server.handed_in == before

    def test_a_rejected_batch_reports_the_reason(self, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.turn_away = lambda number: "model_not_found" if number == 0 else None
            found, _ = run(server, "openai", tmp_path, [ask(n, "openai") for n in range(3)])
            assert {type(one) for one in found} == {AccessError}
            assert "was rejected: model_not_found / it is model_not_found" in str(found[0])
            # Mended, the same command hands in anew.
            again, _ = run(server, "openai", tmp_path, [ask(n, "openai") for n in range(3)])
        assert texts(again) == [f"answer {n}" for n in range(3)]

    def test_a_batch_beyond_the_queue_limit_is_split(self, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.turn_away = lambda number: "token_limit_exceeded" if number < 2 else None
            found, _ = run(server, "openai", tmp_path, [ask(n, "openai") for n in range(12)])
        assert texts(found) == [f"answer {n}" for n in range(12)]
        # 12 are too many, so are 6; then 3 at a time.
        assert server.sizes[:2] == [12, 6]
        assert max(server.sizes[2:]) == 3

    def test_a_rejected_key_ends_the_run(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.statuses = [401]
            found, session = run(server, vendor, tmp_path, [ask(1, vendor)])
            assert isinstance(found[0], AccessError)
            assert "sk-secret" not in str(found[0])
            assert session.log.open == []

    def test_a_server_without_a_batch_api_is_reported(self, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.statuses = [404]
            found, _ = run(server, "openai", tmp_path, [ask(1, "openai")])
        assert "may have no batch API (run without batch)" in str(found[0])


def stopped_before_the_answer(folder: Path) -> Path:
    """Return the log of a run that was killed between a submission and its answer."""
    log = folder / "batches.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    for file in folder.glob("calls.sqlite*"):
        file.unlink()
    return log


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - the server's thread knows nothing of this loop
        await asyncio.sleep(0.005)


class TestResume:
    def test_a_batch_whose_answer_was_lost_is_found(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.lose = lambda number: number == 0
            found, _ = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(4)])
        assert texts(found) == [f"answer {n}" for n in range(4)]
        assert server.sizes == [4]

    @pytest.mark.parametrize("arrived", [True, False])
    def test_a_kill_between_a_submission_and_its_answer(self, vendor: str, tmp_path: Path, arrived: bool) -> None:
        requests = [ask(n, vendor) for n in range(4)]
        with BatchServer(echo) as server:
            run(server, vendor, tmp_path, requests)
            for others in range(3):  # more than a page of the list
                run(server, vendor, tmp_path / f"other-{others}", [ask(100 + others, vendor)])
            log = stopped_before_the_answer(tmp_path)
            log.write_bytes(log.read_bytes() + b'{"event": "submi')
            if not arrived:
                del server.batches[next(iter(server.batches))]
                server.handed_in = server.handed_in[4:]
            found, _ = run(server, vendor, tmp_path, requests)
            assert texts(found) == [f"answer {n}" for n in range(4)]
            assert len(server.handed_in) == len(set(server.handed_in)) == 7

    def test_a_batch_of_another_user_is_recognised_by_its_results(self, tmp_path: Path) -> None:
        # Anthropic's carry no word of ours: one of the same size and minute is taken for it until its results are read.
        with BatchServer(echo) as server:
            run(server, "anthropic", tmp_path, [ask(n, "anthropic") for n in range(2)])
            stopped_before_the_answer(tmp_path)
            server.batches.clear()
            run(server, "anthropic", tmp_path / "other", [ask(n, "anthropic") for n in (7, 8)])
            found, _ = run(server, "anthropic", tmp_path, [ask(n, "anthropic") for n in range(2)])
        assert texts(found) == ["answer 0", "answer 1"]
        assert server.sizes == [2, 2]

    def test_after_the_batch_of_another_user_the_search_continues(self, tmp_path: Path) -> None:
        requests = [ask(n, "anthropic") for n in range(2)]
        with BatchServer(echo) as server:
            run(server, "anthropic", tmp_path, requests)
            run(server, "anthropic", tmp_path / "other", [ask(n, "anthropic") for n in (7, 8)])
            ours, other = server.batches.values()
            other.at, ours.at = ours.at, ours.at + 30  # theirs is the nearer one to the time we noted
            log = stopped_before_the_answer(tmp_path)
            found, session = run(server, "anthropic", tmp_path, requests)
            assert texts(found) == ["answer 0", "answer 1"]
            assert server.sizes == [2, 2]  # nothing was handed in twice
        events = [json.loads(line) for line in log.read_bytes().splitlines()]
        assert [one["event"] for one in events] == ["submitting", "submitted", "mistaken", "submitted", "ended"]
        assert BatchLog(log).ids == {ours.id, other.id}  # who reads on does not take it again
        assert session.log.open == []

    def test_a_batch_that_is_not_listed_yet_is_waited_for(self, vendor: str, tmp_path: Path) -> None:
        requests = [ask(n, vendor) for n in range(2)]
        with BatchServer(echo) as server:
            run(server, vendor, tmp_path, requests)
            made = next(iter(server.batches))
            stopped_before_the_answer(tmp_path)
            server.unlisted = {made}

            async def main() -> Any:
                async with sitting(server, vendor, tmp_path) as session:
                    doing = asyncio.create_task(session.all(requests))
                    await until(lambda: any("may have been submitted" in one for one in session.told))
                    server.unlisted = set()
                    return await doing

            assert texts(asyncio.run(main())) == ["answer 0", "answer 1"]
            assert server.sizes == [2]

    def test_the_nearest_of_two_similar_batches_is_chosen(self, tmp_path: Path) -> None:
        requests = [ask(n, "anthropic") for n in range(2)]
        with BatchServer(echo) as server:
            run(server, "anthropic", tmp_path / "other", [ask(n, "anthropic") for n in (7, 8)])
            run(server, "anthropic", tmp_path, requests)
            run(server, "anthropic", tmp_path / "third", [ask(n, "anthropic") for n in (5, 6)])
            for made, late in zip(server.batches.values(), (-60.0, 0.0, 60.0), strict=True):
                made.at += late
            stopped_before_the_answer(tmp_path)
            found, _ = run(server, "anthropic", tmp_path, requests)
        assert texts(found) == ["answer 0", "answer 1"]
        assert server.sizes == [2, 2, 2]

    def test_a_busy_server_is_retried_later(self, vendor: str, tmp_path: Path) -> None:
        with BatchServer(echo) as server:
            server.statuses = [429, 503]
            found, session = run(server, vendor, tmp_path, [ask(1, vendor)])
        assert texts(found) == ["answer 1"]
        assert session.slept == [30.0, 45.0]
        assert server.sizes == [1]

    def test_another_address_is_refused(self, vendor: str, tmp_path: Path) -> None:
        logged(tmp_path, vendor)
        with BatchServer(echo) as server, pytest.raises(UsageError, match=r"submitted to http://elsewhere"):
            Session(server, vendor, tmp_path)

    def test_pending_calls_are_not_made_again_without_batches(self, vendor: str, tmp_path: Path) -> None:
        waits = ask(1, vendor)
        logged(tmp_path, vendor, waits.key)
        calls = CallSettings(base_url="http://127.0.0.1:9", batches=BatchLog(tmp_path / "batches.jsonl"))
        with pytest.MonkeyPatch.context() as patch, CallStore() as store:
            for name, value in ENVIRON.items():
                patch.setenv(name, value)
            bound = bind({"judge": MODELS[vendor]}, store, calls)

            async def main() -> None:
                try:
                    await bound.models[MODELS[vendor]].complete(waits)
                finally:
                    await bound.close()

            with pytest.raises(UsageError, match=r"batch b-1 of this run .*batch to fetch its replies"):
                asyncio.run(main())

    def test_a_full_disk_prevents_the_submission_of_a_batch(
        self, vendor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with BatchServer(echo) as server:
            with monkeypatch.context() as patch:
                patch.setattr("summeter.runs.batches.os.fsync", full)
                with pytest.raises(WriteError, match="No space left on device"):  # it ends the run, not only its items
                    run(server, vendor, tmp_path, [ask(1, vendor)])
            assert server.batches == {}
            assert (tmp_path / "batches.jsonl").read_bytes() == b""
            again, _ = run(server, vendor, tmp_path, [ask(1, vendor)])
            assert texts(again) == ["answer 1"]

    def test_resumption_after_each_event_of_the_log(self, vendor: str, tmp_path: Path) -> None:
        # Whatever line the log ends with, whole or torn, and even if no reply was stored: a new session asks nothing
        # twice, and all have their replies.
        requests = [ask(n, vendor) for n in range(4)]
        with BatchServer(lambda body: ("gone", None) if number_of(body) == 3 else echo(body)) as server:
            run(server, vendor, tmp_path, requests, retries=1)
            whole = (tmp_path / "batches.jsonl").read_bytes().splitlines(keepends=True)
            assert [json.loads(line)["event"] for line in whole] == ["submitting", "submitted", "ended"] * 2
            server.answer = echo
            for kept in range(1, len(whole) + 1):
                torn = b"".join(whole[kept : kept + 1])[:7]
                (tmp_path / "batches.jsonl").write_bytes(b"".join(whole[:kept]) + torn)
                for file in tmp_path.glob("calls.sqlite*"):
                    file.unlink()
                before = len(server.batches)
                found, _ = run(server, vendor, tmp_path, requests)
                assert texts(found) == [f"answer {n}" for n in range(4)]
                # After the third line the second batch is unknown to the log, as if it had never been sent; after the
                # last line it is known that the second batch, too, had no reply to the last call.
                assert len(server.batches) == before + (kept in (3, 6))

    def test_an_invalid_log(self, tmp_path: Path) -> None:
        file = tmp_path / "batches.jsonl"
        file.write_text('{"event": "submitted", "nonce": "?", "id": "b"}\n')
        with pytest.raises(InputError, match=r"batches.jsonl:1: is not a line of a batch log"):
            BatchLog(file)


def logged(folder: Path, vendor: str, *keys: str) -> None:
    """Write a log with one pending batch."""
    lines = [
        {"event": "submitting", "nonce": "n", "model": MODELS[vendor], "address": "http://elsewhere", "at": 1e9,
         "keys": keys},
        {"event": "submitted", "nonce": "n", "id": "b-1"},
    ]  # fmt: skip
    (folder / "batches.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


class TestMoney:
    def test_a_budget_is_checked_before_anything_is_handed_in(self, vendor: str, tmp_path: Path) -> None:
        # A call is thought to take some tokens of prompt and 200 of reply: two fit into 420. They took 11 + 7 each, and
        # the other three, now thought to take about as much, fit into what is left together.
        with BatchServer(echo) as server:
            budget = CallBudget(Budget(420, None), None)
            found, _ = run(server, vendor, tmp_path, [ask(n, vendor) for n in range(5)], budget=budget)
        assert texts(found) == [f"answer {n}" for n in range(5)]
        assert server.sizes == [2, 3]
        with BatchServer(echo) as server:
            budget = CallBudget(Budget(20, None), None)
            found, _ = run(server, vendor, tmp_path / "b", [ask(1, vendor)], budget=budget)
        assert isinstance(found[0], BudgetError)
        assert server.batches == {}


class TestWho:
    @pytest.mark.parametrize("model", ["mistral/m", "google/m", "ollama/m", "vllm/m", "azure/m", "openrouter/a/b"])
    def test_a_provider_without_batches(self, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MISTRAL", "GOOGLE", "OPENROUTER", "AZURE_OPENAI"):
            monkeypatch.setenv(f"{name}_API_KEY", "k")
        with pytest.raises(UsageError, match=rf"{model} has no batch API that summeter supports; run without batch"):
            bind({"judge": model}, None, CallSettings(base_url="http://127.0.0.1:9", batch=True))
