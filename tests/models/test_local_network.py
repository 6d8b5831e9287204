"""Local networks and the result store: concurrent requests are computed together and once, and stored."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from summeter.interrupt import STOP, checkpoint
from summeter.models.layers.item_timeout import within
from summeter.models.local.load import COMPUTE, TASKS, identify
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import (
    INTEGER,
    AspectRating,
    Classify,
    ClassifyTokens,
    CompareStates,
    CountTokens,
    FindCoreference,
    Framing,
    ModelTask,
    NetworkRequest,
    Rate,
    Rated,
    StatesMeasure,
    TokenLogits,
)
from summeter.records import ModelError, ReplayMiss, UsageError
from summeter.runs.results import ResultStore, result_key
from summeter.runs.usage import Usage


@dataclass(frozen=True)
class Length(NetworkRequest[int]):
    """The length of a text."""

    codec = INTEGER

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Shout(NetworkRequest[str]):
    """A text in capital letters, which is not stored."""

    codec = None

    text: str


class Computer:
    """Computes lengths and records which requests were computed together."""

    def __init__(self) -> None:
        self.given: list[list[Length]] = []

    def __call__(self, requests: Sequence[Length]) -> list[int]:
        self.given.append(list(requests))
        if any("bad" in text for request in requests for text in request.texts):
            raise ModelError("it broke")
        return [sum(map(len, request.texts)) for request in requests]


def lengths(*texts: tuple[str, ...]) -> list[Length]:
    return [Length(one) for one in texts]


def test_concurrent_calls_go_to_the_model_together_and_equal_inputs_once() -> None:
    computer = Computer()

    async def main() -> list[list[int]]:
        network = LocalNetwork("m", computer)
        return await asyncio.gather(*(network.ask(lengths(("a" * n, "b"), ("a", "b"))) for n in range(1, 6)))

    assert asyncio.run(main()) == [[2, 2], [3, 2], [4, 2], [5, 2], [6, 2]]
    assert len(computer.given) == 1
    assert len(computer.given[0]) == 5


def test_what_is_stored_is_not_computed_again(tmp_path: Path) -> None:
    computer = Computer()
    with ResultStore(tmp_path / "results.sqlite") as store:
        network = LocalNetwork("m", computer, store=store)
        assert asyncio.run(network.ask(lengths(("a", "b")))) == [2]
        assert asyncio.run(network.ask(lengths(("a", "b"), ("ab", "")))) == [2, 2]
        assert (network.usage.asked, network.usage.stored, network.usage.computed) == (3, 1, 2)
    with ResultStore(tmp_path / "results.sqlite") as store:
        replayed = LocalNetwork("m", None, store=store)
        assert asyncio.run(replayed.ask(lengths(("ab", ""), ("a", "b")))) == [2, 2]
        with pytest.raises(ReplayMiss, match=r"does not contain this result of m.*Length .*\"c\""):
            asyncio.run(replayed.ask(lengths(("c",))))
        other = LocalNetwork("m@other-weights", None, store=store)
        with pytest.raises(ReplayMiss):
            asyncio.run(other.ask(lengths(("a", "b"))))


def test_an_error_is_raised_for_its_requests_and_later_ones_succeed() -> None:
    computer = Computer()

    async def main() -> list[object]:
        network = LocalNetwork("m", computer)
        first = await asyncio.gather(network.ask(lengths(("bad",))), return_exceptions=True)
        return [*first, await network.ask(lengths(("good",)))]

    error, good = asyncio.run(main())
    assert isinstance(error, ModelError)
    assert good == [4]


def test_a_cancelled_waiter_does_not_affect_the_others() -> None:
    async def main() -> list[int]:
        network = LocalNetwork("m", Computer())
        leaving = asyncio.create_task(network.ask(lengths(("shared",))))
        staying = asyncio.create_task(network.ask(lengths(("shared",))))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert asyncio.run(main()) == [6]


def test_keys_tell_apart_model_task_and_every_split_of_a_text() -> None:
    requests = [
        Classify(("ab", "c"), 3), Classify(("a", "bc"), 3), Classify(("abc",), 3), Classify(("abc", ""), 3),
        Classify(("ab", "c"), "nli"), Classify(("ab", "c"), 3, Framing(limit=9)), Classify(("ab\ud800", "c"), 3),
        ClassifyTokens(("ab", "c"), 3),
    ]  # fmt: skip
    keys = {result_key("m", type(request).__name__, request.key) for request in requests}
    assert len(keys | {result_key("n", "Classify", requests[0].key)}) == 9
    same = CompareStates("a", "b", 3, StatesMeasure("f1", lambda *_: 0.0))
    assert same.key == CompareStates("a", "b", 3, StatesMeasure("f1", lambda *_: 1.0)).key


def test_results_that_are_never_stored_are_computed_in_a_replay_too(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "results.sqlite") as store:
        network = LocalNetwork("m", lambda asked: [one.text.upper() for one in asked], store, replay=True)
        assert asyncio.run(network.ask([Shout("a"), Shout("b")])) == ["A", "B"]
        assert store.counts() == {}
        with pytest.raises(ReplayMiss):
            asyncio.run(network.ask(lengths(("a",))))


@pytest.mark.parametrize(
    "result",
    [
        np.array([0.5, -1.5], np.float32),
        TokenLogits(np.ones((2, 3), np.float32), np.array([[0, 0], [0, 4]]), np.array([-1, 0]), truncated=True),
        Rated({"coherence": AspectRating(3.5, 3.0, None, 0.9)}, None, {"coherence": 7}),
        [[(0, 3), (9, 12)]],
    ],
    ids=["logits", "token logits", "ratings", "clusters"],
)
def test_a_result_comes_back_from_the_store_as_it_was(result: Any) -> None:
    requests: dict[type, NetworkRequest[Any]] = {
        np.ndarray: Classify(("a",), 2), TokenLogits: ClassifyTokens(("a",), 3), Rated: Rate("a", "b"),
        list: FindCoreference("a"),
    }  # fmt: skip
    request = requests[type(result)]
    with ResultStore() as store:
        asyncio.run(LocalNetwork("m", lambda _: [result], store).ask([request]))
        (again,) = asyncio.run(LocalNetwork("m", None, store).ask([request]))
    assert repr(again) == repr(result)


def test_requests_to_the_tokenizer_are_not_counted() -> None:
    network = LocalNetwork("m", lambda asked: [len(one.text) for one in asked])
    assert asyncio.run(network.ask([CountTokens("ab")])) == [2]
    assert network.usage == Usage()


def test_a_role_for_a_network_takes_no_llm() -> None:
    for task in get_args(ModelTask):
        assert task in TASKS
        with pytest.raises(UsageError, match="needs a local model"):
            identify("role", "openai/gpt-4o", task)


def test_every_request_is_computed_by_something() -> None:
    assert set(NetworkRequest.__subclasses__()) - {Length, Shout} == set(COMPUTE)


class TestEnding:
    """Requests of several items are computed together, so no item's timeout ends the work, but Ctrl-C does."""

    @staticmethod
    def slowly(requests: Sequence[Shout]) -> list[str]:
        for _ in range(100):
            checkpoint()
            time.sleep(0.003)
        return [request.text.upper() for request in requests]

    def test_the_timeout_of_the_first_item_does_not_end_the_work(self) -> None:
        network = LocalNetwork("m", self.slowly)

        async def both() -> list[object]:
            asked = (within(0.05, network.ask([Shout("a")])), within(60.0, network.ask([Shout("b")])))
            return list(await asyncio.gather(*asked, return_exceptions=True))

        early, late = asyncio.run(both())
        assert isinstance(early, ModelError)
        assert late == ["B"]

    def test_the_work_ends_when_the_run_stops(self) -> None:
        network = LocalNetwork("m", self.slowly)
        stop = threading.Timer(0.05, STOP.set)
        stop.start()
        try:
            with pytest.raises(asyncio.CancelledError):
                asyncio.run(network.ask([Shout("a")]))
        finally:
            stop.join()
            STOP.clear()
