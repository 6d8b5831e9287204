"""State and cancellation of a run's batches, including repeated and late cancellation and batches of others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from models.batch_server import BatchServer
from models.test_batches import ENVIRON, MODELS, ask, echo, run, sitting, texts, until

from summeter.models.pending_batches import PendingBatch, pending_batches
from summeter.records import ModelError, UsageError
from summeter.runs.batches import BatchLog


@pytest.fixture(params=sorted(MODELS))
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def hand_in(server: BatchServer, vendor: str, folder: Path, numbers: range = range(3)) -> None:
    """Run a session that is stopped while its batch is pending."""

    async def interrupted() -> None:
        async with sitting(server, vendor, folder) as session:
            before = len(session.log.ids)
            doing = asyncio.create_task(session.all([ask(n, vendor) for n in numbers]))
            await until(lambda: len(session.log.ids) == before + 1)
            doing.cancel()
            await asyncio.wait([doing])

    server.done = lambda _: False
    asyncio.run(interrupted())


def look(
    server: BatchServer, vendor: str, folder: Path, *, cancel: bool = False, only: tuple[str, ...] = ()
) -> list[PendingBatch]:
    async def main() -> list[PendingBatch]:
        log = BatchLog(folder / "batches.jsonl")
        there = {"base_url": server.url(vendor), "environ": ENVIRON}
        return [one async for one in pending_batches(log, cancel=cancel, only=only, **there)]  # type: ignore[arg-type]

    return asyncio.run(main())


def test_listing_changes_nothing(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        before = (tmp_path / "batches.jsonl").read_bytes()
        (found,) = look(server, vendor, tmp_path)
        assert (found.model, found.calls, found.ended) == (MODELS[vendor], 3, False)
        assert found.words == "in_progress, 0 of 3 done"
        assert not server.cancels
        assert (tmp_path / "batches.jsonl").read_bytes() == before


def test_a_batch_is_cancelled_once_and_its_calls_are_made_anew_when_asked_again(vendor: str, tmp_path: Path) -> None:
    requests = [ask(n, vendor) for n in range(3)]
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        (batch,) = server.batches
        for _ in range(2):
            (found,) = look(server, vendor, tmp_path, cancel=True)
            assert (found.batch, found.ended) == (batch, False)
            assert found.words.startswith("cancel")
        assert server.cancels == [batch]

        # One call had been answered by then.
        server.done = lambda _: True
        server.answer = lambda body: echo(body) if echo(body)[1].endswith(" 0") else ("cancelled", None)
        replies, _ = run(server, vendor, tmp_path, requests, retries=0)
        assert texts(replies)[0] == "answer 0"
        assert all("the batch was cancelled before this call" in one for one in texts(replies)[1:])
        assert server.sizes == [3]
        assert look(server, vendor, tmp_path, cancel=True) == []  # nothing is waited for any more

        server.answer = echo
        replies, _ = run(server, vendor, tmp_path, requests)
        assert texts(replies) == ["answer 0", "answer 1", "answer 2"]
        assert server.sizes == [3, 2]


def test_an_ended_batch_is_not_cancelled(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.done = lambda _: True
        (found,) = look(server, vendor, tmp_path, cancel=True)
        assert found.ended
        assert not server.cancels


def test_a_batch_that_ends_during_its_cancellation_is_not_an_error(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.done = lambda _: bool(server.cancels)  # it has, when the cancelling arrives
        (found,) = look(server, vendor, tmp_path, cancel=True)
        assert found.ended
        assert len(server.cancels) == 1


def test_only_selected_batches_are_cancelled(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        hand_in(server, vendor, tmp_path, range(10, 12))
        assert [one.calls for one in look(server, vendor, tmp_path)] == [3, 2]
        second = list(server.batches)[1]
        (found,) = look(server, vendor, tmp_path, cancel=True, only=(second,))
        assert found.batch == second
        assert server.cancels == [second]
        with pytest.raises(UsageError, match="'nonsense' is not a pending batch of this run; pending batches: batch-"):
            look(server, vendor, tmp_path, cancel=True, only=("nonsense",))


def test_a_batch_unknown_to_the_vendor_is_an_error(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.batches.clear()
        with pytest.raises(ModelError, match="may belong to another account"):
            look(server, vendor, tmp_path, cancel=True)


def test_a_key_is_not_sent_to_an_address_from_the_folder(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server, BatchServer(echo) as other:
        hand_in(server, vendor, tmp_path)
        with pytest.raises(UsageError, match="was submitted to"):
            look(other, vendor, tmp_path, cancel=True)
        assert not other.seen


def without_an_answer(folder: Path) -> None:
    log = folder / "batches.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])


def test_a_batch_without_an_id_is_cancelled_only_if_identified(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        without_an_answer(tmp_path)
        (found,) = look(server, vendor, tmp_path, cancel=True)
        if vendor == "openai":  # its batches carry our word
            assert found.words.startswith("cancelling")
            assert len(server.cancels) == 1
        else:
            assert "only its time and size match this run; cancel it at the vendor" in found.words
            assert not server.cancels
        server.batches.clear()
        (found,) = look(server, vendor, tmp_path, cancel=True)
        assert found.words == "the vendor does not list this batch; it may never have arrived"


def test_two_batches_without_ids_are_distinguished(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        (batch,) = server.batches
        without_an_answer(tmp_path)
        log = tmp_path / "batches.jsonl"
        # A session before it asked the same, and what it handed in never arrived.
        line = json.loads(log.read_bytes())
        log.write_text("".join(json.dumps(one) + "\n" for one in (line | {"nonce": "n", "at": line["at"] - 60}, line)))
        first, second = look(server, vendor, tmp_path)
        assert (first.batch, first.words) == ("?", "the vendor does not list this batch; it may never have arrived")
        assert second.batch == batch


def test_a_batch_found_by_time_and_size_is_cancelled_only_by_its_id(tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, "anthropic", tmp_path)
        without_an_answer(tmp_path)
        (batch,) = server.batches
        nonce = json.loads((tmp_path / "batches.jsonl").read_bytes())["nonce"]
        BatchLog(tmp_path / "batches.jsonl").submitted(nonce, batch, found=True)
        (found,) = look(server, "anthropic", tmp_path, cancel=True)
        assert "give its id to cancel it" in found.words
        assert not server.cancels
        look(server, "anthropic", tmp_path, cancel=True, only=(batch,))
        assert server.cancels == [batch]
