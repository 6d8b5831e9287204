"""Judge in tasks on a Ray cluster.

Ray schedules and retries tasks, replaces nodes, and scales the cluster.
"""

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

WARN_AFTER = 60.0
"""Seconds without any result after which a warning says what the run is waiting for."""


class RayExecutor(Record):
    """Judge in tasks on a Ray cluster, at most `workers` of them at a time.

    The numbers of CPUs and GPUs per worker may be fractions. `address` is the address of the cluster and defaults to
    the environment variable RAY_ADDRESS; if neither is set, Ray is started on this machine for the run. If `workers` is
    None, tasks are submitted for twice the capacity of the cluster, so that an autoscaler sees waiting tasks. A part
    has `documents_per_part` documents; by default, the run chooses the number. `options` are passed to Ray with every
    task (`resources`, `scheduling_strategy`, ...). Nodes need neither the run folder nor the data, because parts and
    results are sent through Ray.

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
        """The number of threads of a worker: its number of CPUs, rounded down, but at least 1."""
        return max(1, math.floor(self.cpus_per_worker))

    def check(self) -> None:
        """Raise InstallError if Ray is not installed."""
        if find_spec("ray") is None:
            raise InstallError.missing("Ray", "ray")

    async def map(self, function: Callable[[P], R], parts: Iterator[P]) -> AsyncGenerator[tuple[P, R | WorkerDied]]:
        """Yield (part, `function(part)`) for each part, in the order in which parts are finished."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        # Ray's pickler includes the definitions of the main module.
        pickled = packed(function, ray.cloudpickle.dumps)
        connected_here = self._connect()
        running: dict[asyncio.Future[Any], tuple[P, Any]] = {}
        try:
            if connected_here and self._address is None and not self._capacity():
                raise UsageError(
                    f"this machine has no capacity for a worker with {self.cpus_per_worker:g} CPUs and "
                    f"{self.gpus_per_worker:g} GPUs"
                )
            # With max_calls=0, a worker keeps its networks loaded, even on a GPU.
            task = ray.remote(max_calls=0)(_call).options(
                num_cpus=self.cpus_per_worker,
                num_gpus=self.gpus_per_worker,
                max_retries=1,
                runtime_env={"env_vars": thread_environment(self.threads)},
                **self.options,
            )
            installed = (sys.prefix, sys.base_prefix)
            path = [str(Path(entry).resolve()) for entry in sys.path if not entry.startswith(installed)]  # noqa: ASYNC240
            shared = ray.put(pickled)
            has_result = False
            while True:
                limit = self.workers or 2 * max(1, self._capacity())
                while len(running) < limit and (part := next(parts, None)) is not None:
                    reference = task.remote(shared, path, part)
                    running[asyncio.wrap_future(reference.future())] = part, reference
                if not running:
                    return
                done, _ = await asyncio.wait(running, timeout=WARN_AFTER, return_when=asyncio.FIRST_COMPLETED)
                if not done and not has_result:
                    log.warning(
                        "no part is finished yet; Ray has capacity for %d workers with %g CPUs and %g GPUs each",
                        self._capacity(),
                        self.cpus_per_worker,
                        self.gpus_per_worker,
                    )
                has_result = has_result or bool(done)
                for future in done:
                    part, _ = running.pop(future)
                    try:
                        result = future.result()
                    except RayTaskError as error:  # the worker could not run the function
                        raise error.cause from error
                    except RayError as error:
                        result = WorkerDied(" ".join(str(error).split()))
                    yield part, result
        finally:
            if ray.is_initialized():
                for future, (_, reference) in running.items():
                    future.cancel()
                    ray.cancel(reference, force=True)
                if connected_here:
                    with _restore_sigterm():
                        ray.shutdown()

    @property
    def _address(self) -> str | None:
        return self.address or os.environ.get("RAY_ADDRESS")

    def _connect(self) -> bool:
        """Connect to the cluster, and return False if this process was already connected.

        Raises UsageError if this process is connected to a different cluster.
        """
        import ray

        if ray.is_initialized():
            if self.address not in (None, "auto", ray.get_runtime_context().gcs_address):
                raise UsageError(
                    f"this process is connected to Ray at {ray.get_runtime_context().gcs_address}, not at "
                    f"{self.address}. Call ray.shutdown() first"
                )
            return False
        address = self._address
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
        with _restore_sigterm():
            try:
                if address is not None:
                    host, _, port = address.rpartition(":")
                    if host and "/" not in host and port.isdigit():
                        # Fails at once if nothing listens, while Ray would retry for minutes.
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

    def _capacity(self) -> int:
        """Return the number of workers for which the current nodes have resources."""
        import ray

        required = {"CPU": self.cpus_per_worker, "GPU": self.gpus_per_worker}
        return sum(
            min(math.floor(node["Resources"].get(name, 0) / count + 1e-6) for name, count in required.items() if count)
            for node in ray.nodes()
            if node["Alive"]
        )


@contextmanager
def _restore_sigterm() -> Iterator[None]:
    """Restore the SIGTERM handler at the end of the context, since Ray replaces it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not signal.getsignal(signal.SIGTERM):
            signal.signal(signal.SIGTERM, before)


def _call(function: bytes, path: list[str], part: Any) -> Any:
    """Apply the pickled function to a part in a worker.

    `path` holds the main process's import paths that lie outside its Python installation.
    """
    sys.path.extend(entry for entry in path if entry not in sys.path)
    return unpacked(function)(part)
