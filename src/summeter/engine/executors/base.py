"""What an executor is: settings, and one function that applies a function to parts in worker processes."""

from __future__ import annotations

import pickle
from collections.abc import AsyncGenerator, Callable, Iterator
from traceback import format_exception
from typing import Any, NamedTuple, Protocol, TypeVar

from summeter.records import ModelError, SummeterError, UsageError

P = TypeVar("P")
R = TypeVar("R")


class WorkerDied(NamedTuple):
    """The result of a part that two workers died on, one after the other; `why` says how the second one ended."""

    why: str


class Executor(Protocol):
    """Where the judges of a run compute. `documents_per_part` None lets the run decide."""

    @property
    def documents_per_part(self) -> int | None: ...

    def check(self) -> None:
        """Raise UsageError or InstallError where no worker can be started. Called before anything is written."""

    def map(self, function: Callable[[P], R], parts: Iterator[P]) -> AsyncGenerator[tuple[P, R | WorkerDied]]:
        """Yield each part with `function(part)`, as they are finished. Parts are drawn as workers become free.

        The function, the parts and the results are pickled. Closing the generator ends all workers.
        """


class RemoteError(NamedTuple):
    """An error of a worker, in a form that can be pickled."""

    pickled: bytes
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> RemoteError:
        """The error with its traceback. One that cannot be pickled becomes the nearest error class that can."""
        trace = "".join(format_exception(error))
        try:
            data = pickle.dumps(error)
            pickle.loads(data)  # noqa: S301 - a constructor may need more than its message
        except Exception:  # noqa: BLE001 - another package's class may raise anything here
            nearest = next((kind for kind in (ModelError, SummeterError) if isinstance(error, kind)), RuntimeError)
            text = str(error) if isinstance(error, SummeterError) else f"{type(error).__name__}: {error}"
            data = pickle.dumps(nearest(text))
        return cls(data, trace)

    @property
    def error(self) -> BaseException:
        """The error; its cause shows the worker's traceback."""
        error: BaseException = pickle.loads(self.pickled)  # noqa: S301 - written by our own worker
        error.__cause__ = RemoteTraceback(self.traceback)
        return error


class RemoteTraceback(Exception):
    """The traceback of an error in a worker, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def packed(function: Callable[..., Any], dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """Pickle what workers run. Raises UsageError where that is not possible."""
    try:
        return dumps(function)
    except Exception as error:
        raise UsageError(f"these judges cannot be sent to workers: {error}") from error


def unpacked(data: bytes) -> Callable[..., Any]:
    """In a worker: what `packed` pickled. Raises UsageError where the worker cannot import what it names."""
    try:
        function: Callable[..., Any] = pickle.loads(data)  # noqa: S301 - sent by our own command
    except (AttributeError, ImportError) as error:
        raise UsageError(
            f"a worker cannot import these judges: {error}. Fix: define each judge at the top level of a module, "
            "outside functions and `if __name__ == '__main__':`, and install that module where the workers run"
        ) from error
    return function


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables that limit the threads of numerical libraries; they are read when a library is loaded."""
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM")
    return {f"{name}_NUM_THREADS": str(threads) for name in names}
