"""How a run's batches stand, and calling them off: once, twice, too late, and never somebody else's."""

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
    """A session that is stopped while its batch waits."""

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


def test_looking_changes_nothing(vendor: str, tmp_path: Path) -> None:
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


def test_one_that_has_ended_is_left_alone(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.done = lambda _: True
        (found,) = look(server, vendor, tmp_path, cancel=True)
        assert found.ended
        assert not server.cancels


def test_one_that_ends_at_that_very_moment_is_no_error(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.done = lambda _: bool(server.cancels)  # it has, when the cancelling arrives
        (found,) = look(server, vendor, tmp_path, cancel=True)
        assert found.ended
        assert len(server.cancels) == 1


def test_only_the_batches_that_are_named(vendor: str, tmp_path: Path) -> None:
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


def test_the_vendor_that_knows_no_such_batch_is_an_error(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server:
        hand_in(server, vendor, tmp_path)
        server.batches.clear()
        with pytest.raises(ModelError, match="may belong to another account"):
            look(server, vendor, tmp_path, cancel=True)


def test_a_key_goes_to_no_address_that_only_the_folder_names(vendor: str, tmp_path: Path) -> None:
    with BatchServer(echo) as server, BatchServer(echo) as other:
        hand_in(server, vendor, tmp_path)
        with pytest.raises(UsageError, match="was submitted to"):
            look(other, vendor, tmp_path, cancel=True)
        assert not other.seen


def without_an_answer(folder: Path) -> None:
    log = folder / "batches.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])


def test_of_one_whose_id_never_came_ours_is_cancelled_and_no_guess(vendor: str, tmp_path: Path) -> None:
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


def test_two_whose_ids_never_came_are_not_the_same_batch(vendor: str, tmp_path: Path) -> None:
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


def test_one_that_was_found_by_likeness_is_cancelled_by_its_id_alone(tmp_path: Path) -> None:
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
