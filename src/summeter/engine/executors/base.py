"""Define the interface of executors, which apply a function to parts in worker processes."""

from __future__ import annotations

import pickle
from collections.abc import AsyncGenerator, Callable, Iterator
from traceback import format_exception
from typing import Any, NamedTuple, Protocol, TypeVar

from summeter.records import ModelError, SummeterError, UsageError

P = TypeVar("P")
R = TypeVar("R")


class WorkerDied(NamedTuple):
    """The result of a part on which two workers died; `why` says how the second worker ended."""

    why: str


class Executor(Protocol):
    """An object that runs judges in workers.

    `documents_per_part` is the number of documents in a part; if it is None, the run chooses the number.
    """

    @property
    def documents_per_part(self) -> int | None: ...

    def check(self) -> None:
        """Raise UsageError or InstallError if no worker can be started.

        This is called before anything is written.
        """

    def map(self, function: Callable[[P], R], parts: Iterator[P]) -> AsyncGenerator[tuple[P, R | WorkerDied]]:
        """Yield (part, `function(part)`) for each part, in the order in which parts are finished.

        Parts are drawn as workers become free. If two workers die on a part, WorkerDied takes the place of the result.
        The function, the parts and the results are pickled. Closing the generator ends all workers.
        """


def portable(error: BaseException) -> BaseException:
    """Return the error of a worker in a form that can be pickled, with the worker's traceback as a note.

    An error that cannot be pickled is replaced by an error of the most specific base class that can.
    """
    trace = "".join(format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - a constructor may need other arguments
    except Exception:  # noqa: BLE001 - a class of another package may raise any error here
        replacement = next((base for base in (ModelError, SummeterError) if isinstance(error, base)), RuntimeError)
        error = replacement(str(error) if isinstance(error, SummeterError) else f"{type(error).__name__}: {error}")
    error.add_note(f"in a worker:\n{trace}")
    return error


def packed(function: Callable[..., Any], dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """Return a function in pickled form for workers.

    Raises UsageError if the function cannot be pickled.
    """
    try:
        return dumps(function)
    except Exception as error:
        raise UsageError(f"these judges cannot be sent to workers: {error}") from error


def unpacked(data: bytes) -> Callable[..., Any]:
    """Return a function that was pickled for workers.

    Raises UsageError if the worker cannot import the function.
    """
    try:
        function: Callable[..., Any] = pickle.loads(data)  # noqa: S301 - sent by our main process
    except (AttributeError, ImportError) as error:
        raise UsageError(
            f"a worker cannot import these judges: {error}. Fix: define each judge at the top level of a module, "
            "outside functions and `if __name__ == '__main__':`, and install that module where the workers run"
        ) from error
    return function


def thread_environment(threads: int) -> dict[str, str]:
    """Return the environment variables that limit the number of threads of numerical libraries.

    They take effect when the libraries are loaded.
    """
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM")
    return {f"{name}_NUM_THREADS": str(threads) for name in names}
