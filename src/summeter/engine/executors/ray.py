"""Workers as tasks of a Ray cluster. Ray schedules them, retries them, replaces dead nodes and scales the cluster."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field

from summeter.engine.executors.base import P, R, WorkerDied, packed, thread_environment, unpacked
from summeter.records import InstallError, Record, UsageError

log = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds without any result after which the log says what the run waits for."""


class RayExecutor(Record):
    """Judge in tasks of a Ray cluster, at most `workers` at a time, each with so many CPUs and GPUs (also fractions).

    `address` is the cluster's address; without one RAY_ADDRESS counts, and without that Ray is started on this machine
    for the run. Without `workers` the cluster is kept full, with as many tasks again waiting, so that an autoscaler
    sees them. `options` are passed to Ray with every task (`resources`, `scheduling_strategy`, ...).
    Nodes need neither the run's folder nor the data: parts and results go through Ray.

    >>> import summeter as sm
    >>> sm.RayExecutor(workers=8, gpus_per_worker=1).threads
    1
    """

    address: str | None = None
    workers: int | None = Field(default=None, ge=1)
    cpus_per_worker: float = Field(default=1.0, gt=0)
    gpus_per_worker: float = Field(default=0.0, ge=0)
    documents_per_part: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def threads(self) -> int:
        """Threads of a worker: its CPUs."""
        return max(1, math.floor(self.cpus_per_worker))

    def check(self) -> None:
        """Raise InstallError where Ray is not installed."""
        if find_spec("ray") is None:
            raise InstallError.missing("Ray", "ray")

    async def map(self, function: Callable[[P], R], parts: Iterator[P]) -> AsyncGenerator[tuple[P, R | WorkerDied]]:
        """Yield each part with `function(part)`, as they are finished."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        # Ray's own pickler includes what the main module defines.
        sent = packed(function, ray.cloudpickle.dumps)
        ours = self._connect()
        running: dict[asyncio.Future[Any], tuple[P, Any]] = {}
        try:
            if ours and self._address is None and not self._room():
                raise UsageError(
                    f"this machine has no room for a worker with {self.cpus_per_worker:g} CPUs and "
                    f"{self.gpus_per_worker:g} GPUs"
                )
            # With max_calls=0 a worker keeps its networks, also on a GPU.
            task = ray.remote(max_calls=0)(_call).options(
                num_cpus=self.cpus_per_worker,
                num_gpus=self.gpus_per_worker,
                max_retries=1,
                runtime_env={"env_vars": thread_environment(self.threads)},
                **self.options,
            )
            shared, path = ray.put(sent), _own_path()
            heard = False
            while True:
                wanted = self.workers or 2 * max(1, self._room())
                while len(running) < wanted and (part := next(parts, None)) is not None:
                    reference = task.remote(shared, path, part)
                    running[asyncio.wrap_future(reference.future())] = part, reference
                if not running:
                    return
                done, _ = await asyncio.wait(running, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
                if not done and not heard:
                    log.warning(
                        "no part is finished yet: Ray has room for %d workers with %g CPUs and %g GPUs each",
                        self._room(),
                        self.cpus_per_worker,
                        self.gpus_per_worker,
                    )
                heard = heard or bool(done)
                for future in done:
                    part, _ = running.pop(future)
                    try:
                        result = future.result()
                    except RayTaskError as error:  # the worker could not run the function at all
                        raise error.cause from error
                    except RayError as error:
                        result = WorkerDied(" ".join(str(error).split()))
                    yield part, result
        finally:
            if ray.is_initialized():
                for future, (_, reference) in running.items():
                    future.cancel()
                    ray.cancel(reference, force=True)
                if ours:
                    with _handlers_kept():
                        ray.shutdown()

    @property
    def _address(self) -> str | None:
        return self.address or os.environ.get("RAY_ADDRESS")

    def _connect(self) -> bool:
        """Connect to the cluster; returns False where this process was connected already."""
        import ray

        if ray.is_initialized():
            if self.address not in (None, "auto", ray.get_runtime_context().gcs_address):
                raise UsageError(
                    f"this process is connected to Ray at {ray.get_runtime_context().gcs_address}, not at "
                    f"{self.address}: call ray.shutdown() first"
                )
            return False
        address = self._address
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
        with _handlers_kept():
            try:
                if address is not None:
                    host, _, port = address.rpartition(":")
                    if host and "/" not in host and port.isdigit():
                        # Where nothing listens, Ray itself would try for minutes.
                        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
                    ray.init(address=address, **quiet)
                else:
                    workers = self.workers or len(os.sched_getaffinity(0))
                    cpus = math.ceil(workers * self.cpus_per_worker)
                    ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            except (OSError, ValueError, RuntimeError) as error:
                where = "on this machine" if address is None else f"at {address}"
                raise UsageError(f"Ray cannot be reached {where}: {error}") from error
        return True

    def _room(self) -> int:
        """The number of workers that the present nodes have room for."""
        import ray

        wanted = {"CPU": self.cpus_per_worker, "GPU": self.gpus_per_worker}
        return sum(
            min(math.floor(node["Resources"].get(name, 0) / number + 1e-6) for name, number in wanted.items() if number)
            for node in ray.nodes()
            if node["Alive"]
        )


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not signal.getsignal(signal.SIGTERM):
            signal.signal(signal.SIGTERM, before)


def _own_path() -> list[str]:
    """Where this process imports modules from, without its installation."""
    installed = (sys.prefix, sys.base_prefix)
    return [str(Path(place).resolve()) for place in sys.path if not place.startswith(installed)]


def _call(function: bytes, path: list[str], part: Any) -> Any:
    """In the worker: apply the function. `path` is where the command imports modules from."""
    sys.path.extend(place for place in path if place not in sys.path)
    return unpacked(function)(part)
