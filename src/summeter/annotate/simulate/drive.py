"""The steps of made annotators, taken straight at the desk: all at once, so that each commit holds many answers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from random import Random
from typing import Any

from summeter.annotate.desk import Desk
from summeter.annotate.simulate.script import Script, Steps

Json = dict[str, Any]


def simulate(desk: Desk, scripts: Sequence[Script], *, seed: int = 0) -> int:
    """Have everybody work until nothing is left for them; the number of answers given.

    In each round everyone still at work takes one step, in random order.
    """
    rng = Random(seed)
    waiting: list[tuple[Script, Steps, Json | None]] = [(one, one.steps(), None) for one in scripts]
    while waiting:
        rng.shuffle(waiting)
        asked: list[tuple[Script, Steps, Future[Json]]] = []
        for script, steps, reply in waiting:
            try:
                request, body = next(steps) if reply is None else steps.send(reply)
            except StopIteration:
                continue
            asked.append((script, steps, desk.submit(request, script.visitor, body)))
        waiting = [(script, steps, future.result()) for script, steps, future in asked]
    return sum(one.answers for one in scripts)
