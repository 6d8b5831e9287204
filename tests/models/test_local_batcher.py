"""The batcher and the result store: what is asked at one time is computed together, once, and found again."""

from __future__ import annotations

import asyncio
import sqlite3
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from summeter.interrupt import STOP, checkpoint
from summeter.models.base import Kind
from summeter.models.layers.item_timeout import within
from summeter.models.local.batcher import Batcher, Codec
from summeter.models.local.bind import KINDS, identify
from summeter.records import InputError, ModelError, ReplayMiss, UsageError
from summeter.runs.results import ResultStore, result_key

LENGTHS: Codec[int] = Codec("length", lambda one: struct.pack("<q", one), lambda data: struct.unpack("<q", data)[0])
WORDS: Codec[str] = Codec("word", str.encode, bytes.decode)


class Computer:
    """Computes lengths; remembers what it was given together."""

    def __init__(self) -> None:
        self.given: list[list[tuple[str, ...]]] = []

    def __call__(self, inputs: Sequence[tuple[str, ...]]) -> list[int]:
        self.given.append(list(inputs))
        if any("bad" in text for one in inputs for text in one):
            raise ModelError("it broke")
        return [sum(map(len, one)) for one in inputs]


def test_concurrent_calls_go_to_the_model_together_and_equal_inputs_once() -> None:
    computer = Computer()

    async def main() -> list[list[int]]:
        batcher = Batcher("m", LENGTHS, computer)
        return await asyncio.gather(*(batcher.ask([("a" * n, "b"), ("a", "b")]) for n in range(1, 6)))

    assert asyncio.run(main()) == [[2, 2], [3, 2], [4, 2], [5, 2], [6, 2]]
    assert len(computer.given) == 1
    assert len(computer.given[0]) == 5


def test_what_is_stored_is_not_computed_again(tmp_path: Path) -> None:
    computer = Computer()
    with ResultStore(tmp_path / "results.sqlite") as store:
        batcher = Batcher("m", LENGTHS, computer, store=store)
        assert asyncio.run(batcher.ask([("a", "b")])) == [2]
        assert asyncio.run(batcher.ask([("a", "b"), ("ab", "")])) == [2, 2]
        assert (batcher.usage.asked, batcher.usage.stored, batcher.usage.computed) == (3, 1, 2)
    with ResultStore(tmp_path / "results.sqlite") as store:
        replayed = Batcher("m", LENGTHS, None, store=store)
        assert asyncio.run(replayed.ask([("ab", ""), ("a", "b")])) == [2, 2]
        with pytest.raises(ReplayMiss, match="no length result of m for 'c'"):
            asyncio.run(replayed.ask([("c",)]))
        other = Batcher("m@other-weights", LENGTHS, None, store=store)
        with pytest.raises(ReplayMiss):
            asyncio.run(other.ask([("a", "b")]))


def test_an_error_reaches_those_who_asked_and_later_calls_go_on() -> None:
    computer = Computer()

    async def main() -> list[object]:
        batcher = Batcher("m", LENGTHS, computer)
        first = await asyncio.gather(batcher.ask([("bad",)]), return_exceptions=True)
        return [*first, await batcher.ask([("good",)])]

    error, good = asyncio.run(main())
    assert isinstance(error, ModelError)
    assert good == [4]


def test_who_leaves_takes_nothing_from_those_who_stay() -> None:
    async def main() -> list[int]:
        batcher = Batcher("m", LENGTHS, Computer())
        leaving = asyncio.create_task(batcher.ask([("shared",)]))
        staying = asyncio.create_task(batcher.ask([("shared",)]))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert asyncio.run(main()) == [6]


def test_no_inputs_ask_nothing() -> None:
    computer = Computer()
    assert asyncio.run(Batcher("m", LENGTHS, computer).ask([])) == []
    assert computer.given == []


def test_keys_tell_apart_model_task_and_every_split_of_a_text() -> None:
    keys = {
        result_key(*one)
        for one in [
            ("m", "nli", ("ab", "c")), ("m", "nli", ("a", "bc")), ("m", "nli", ("abc",)), ("m", "nli", ("abc", "")),
            ("m", "other", ("ab", "c")), ("n", "nli", ("ab", "c")), ("m", "nli", ("ab\ud800", "c")),
        ]
    }  # fmt: skip
    assert len(keys) == 7


def test_the_store_keeps_the_first_value_and_survives_being_closed(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "r.sqlite") as store:
        store.put("m", {bytes([one // 256, one % 256]): b"v" for one in range(1200)})
        store.put("n", {b"\0\0": b"w"})
    with ResultStore(tmp_path / "r.sqlite") as store:
        found = store.get(bytes([one // 256, one % 256]) for one in range(1300))
        assert len(found) == 1200
        assert found[b"\0\0"] == b"v"
        assert store.counts() == {"m": 1200}
        assert b"\0\1" in store
        assert b"zz" not in store
    with pytest.raises(UsageError, match="closed"):
        store.get([b"k"])


def test_a_file_that_is_no_result_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be told from an empty one " * 20)
    with pytest.raises(InputError, match="not a readable result store"):
        ResultStore(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    with pytest.raises(InputError, match="not one of stored results"):
        ResultStore(tmp_path / "other.sqlite")


def test_a_role_for_a_network_takes_no_llm() -> None:
    for kind in get_args(Kind):
        assert kind in KINDS
        with pytest.raises(UsageError, match="takes a local model"):
            identify(kind, "openai/gpt-4o", kind)


class TestEnding:
    """Work in the batcher's thread is for all who wait: no item's time ends it, and Ctrl-C does."""

    @staticmethod
    def slowly(texts: Sequence[tuple[str, ...]]) -> list[str]:
        for _ in range(100):
            checkpoint()
            time.sleep(0.003)
        return [text.upper() for (text,) in texts]

    def test_the_time_of_the_item_that_began_it_does_not_end_it(self) -> None:
        batcher = Batcher("m", WORDS, self.slowly)

        async def both() -> list[object]:
            asked = (within(0.05, batcher.ask([("a",)])), within(60.0, batcher.ask([("b",)])))
            return list(await asyncio.gather(*asked, return_exceptions=True))

        early, late = asyncio.run(both())
        assert isinstance(early, ModelError)
        assert late == ["B"]

    def test_it_ends_where_the_run_is_to_stop(self) -> None:
        batcher = Batcher("m", WORDS, self.slowly)
        stop = threading.Timer(0.05, STOP.set)
        stop.start()
        try:
            with pytest.raises(asyncio.CancelledError):
                asyncio.run(batcher.ask([("a",)]))
        finally:
            stop.join()
            STOP.clear()
