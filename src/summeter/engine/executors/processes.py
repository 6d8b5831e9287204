"""Judge in processes on this machine, using only the standard library."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import current_process, parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.resource_tracker import ensure_running
from types import ModuleType
from typing import Any

from pydantic import Field

from summeter.engine.executors.base import P, R, WorkerDied, packed, thread_environment, unpacked
from summeter.records import Record, UsageError, WorkerError

_MAIN = b"_main__"
"""The part of a pickle that refers to the main module: `__main__`, or `__mp_main__` in a spawned process."""

_STARTING = threading.Lock()
"""A lock held while a worker is started, since this temporarily changes the environment and `sys.modules`."""


class ProcessExecutor(Record):
    """Judge in `workers` processes on this machine, each with `threads` threads for its networks.

    `workers` defaults to the number of CPUs that this process may use. A part has `documents_per_part` documents; by
    default, the run chooses the number. A crashed worker is replaced, and its part is judged again.

    >>> import summeter as sm
    >>> sm.ProcessExecutor(workers=2).threads
    1
    """

    workers: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1)
    threads: int = Field(default=1, ge=1)
    documents_per_part: int | None = Field(default=None, ge=1)

    def check(self) -> None:
        """Raise UsageError if this process cannot start other processes."""
        imported = sys.modules.get("__mp_main__")
        if imported is not None and imported is not sys.modules["__main__"]:
            # This process was spawned and is importing the main module.
            raise UsageError(
                "a script that uses workers must call evaluate under `if __name__ == '__main__':`, because workers "
                "import the script"
            )
        if current_process().daemon:
            raise UsageError(
                "this is a daemon process (for example of a multiprocessing.Pool), which cannot start workers. "
                "Fix: judge without an executor, or in a process that is not a daemon"
            )

    async def map(self, function: Callable[[P], R], parts: Iterator[P]) -> AsyncGenerator[tuple[P, R | WorkerDied]]:
        """Yield (part, `function(part)`) for each part, in the order in which parts are finished."""
        pickled = packed(function)
        main = sys.modules["__main__"]
        file = getattr(main, "__file__", None)
        importable = getattr(main, "__spec__", None) is not None or (file is not None and os.path.exists(file))  # noqa: ASYNC240, PTH110
        if _MAIN in pickled and not importable:
            raise UsageError(
                "judges defined in a notebook, at a prompt or in a script on stdin cannot be sent to processes. Define "
                "them in a module and import it"
            )
        results: asyncio.Queue[tuple[P, R | WorkerDied] | BaseException | None] = asyncio.Queue()

        async def work() -> None:
            worker: _Worker | None = None
            try:
                for part in parts:
                    died = ""
                    for _ in range(2):
                        worker = worker or _Worker(pickled, self.threads)
                        try:
                            results.put_nowait((part, await worker.apply(part)))
                            break
                        except BrokenProcessPool:
                            died, worker = worker.ending(), None
                    else:
                        results.put_nowait((part, WorkerDied(died)))
                results.put_nowait(None)
            except Exception as error:  # noqa: BLE001 - raised again below
                results.put_nowait(error)
            finally:
                if worker is not None:
                    worker.kill()

        tasks = [asyncio.ensure_future(work()) for _ in range(self.workers)]
        try:
            working = len(tasks)
            while working:
                result = await results.get()
                if isinstance(result, BaseException):
                    raise result
                if result is None:
                    working -= 1
                else:
                    yield result
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Worker:
    """A worker process, implemented as a pool of one process.

    A broken pool therefore identifies the part on which the process died.
    """

    def __init__(self, function: bytes, threads: int) -> None:
        self._function = function
        context = _Context()
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_initialize)
        with _STARTING, _startup_environment(function, thread_environment(threads)):
            self._started = self._pool.submit(os.getpid)
        (self._process,) = context.processes

    async def apply(self, part: object) -> Any:
        """Return the result of applying the function to a part.

        Raises BrokenProcessPool if the process dies, and WorkerError if it cannot start.
        """
        try:
            await asyncio.wrap_future(self._started)
        except BrokenProcessPool as error:
            ending = self.ending()
            if (self._process.exitcode or 0) < 0:
                raise  # it was killed, which may happen to any worker
            raise WorkerError(f"a worker cannot start ({ending}). See its message above") from error
        return await asyncio.wrap_future(self._pool.submit(_call, self._function, part))

    def ending(self) -> str:
        """Return a description of how the process ended, for messages."""
        deadline = time.monotonic() + 5
        # While the pool's own thread reads the exit code, it is None for this thread, and `join` returns at once.
        while (code := self._process.exitcode) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        self._pool.shutdown(wait=False)
        if code is not None and code < 0:
            return f"process {self._process.pid} was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"process {self._process.pid} ended with code {code}"

    def kill(self) -> None:
        """Kill the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._process.kill()
        self._process.join()


class _Context(SpawnContext):
    """A spawn context that records the processes it creates."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **settings: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802 - its name
        process = SpawnProcess(*args, **settings)
        self.processes.append(process)
        return process


@contextmanager
def _startup_environment(function: bytes, environment: Mapping[str, str]) -> Iterator[None]:
    """Prepare the start of a worker.

    A process started in this context has the given environment variables, imports the main module only if the pickled
    function refers to that module, and ignores Ctrl-C, which a terminal sends to the whole process group.
    """
    before = {name: os.environ.get(name) for name in environment}
    main = sys.modules["__main__"]
    ensure_running()  # starting the resource tracker later would unblock the signal
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        os.environ.update(environment)
        if _MAIN not in function:
            sys.modules["__main__"] = ModuleType("__main__")
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# ---- in the worker ----


def _initialize() -> None:
    """Make the worker ignore Ctrl-C, and exit when the main process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def exit_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(0)

    threading.Thread(target=exit_with_parent, name="summeter-parent", daemon=True).start()


def _call(function: bytes, part: object) -> Any:
    return unpacked(function)(part)
