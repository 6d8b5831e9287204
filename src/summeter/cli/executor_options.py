"""Options that choose where a run is executed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from summeter.cli.common import keyword, with_options

if TYPE_CHECKING:
    from summeter.engine.executors.base import Executor

Kind = Literal["local", "processes", "ray"]
_KIND = (
    "Judge in this process (local), in processes on this machine, or on a Ray cluster. Default: ray with --ray-address "
    "or --gpus-per-worker, else processes with --workers, else local."
)
_WORKERS = (
    "Number of worker processes, each with its own models. Default: one per CPU; on Ray, twice the capacity of the "
    "cluster."
)
_ADDRESS = (
    "Address of the Ray cluster (HOST:6379). Default: RAY_ADDRESS, else a cluster started on this machine for the run."
)
_CPUS = "CPUs, and threads, per worker; may be a fraction on Ray. Default: 1."
_GPUS = "GPUs per worker on Ray; may be a fraction. Default: 0."
_OPTIONS = (
    keyword("executor", Annotated[Kind | None, typer.Option(help=_KIND)]),
    keyword("workers", Annotated[int | None, typer.Option(min=1, metavar="N", help=_WORKERS)]),
    keyword("ray_address", Annotated[str | None, typer.Option(metavar="ADDRESS", help=_ADDRESS)]),
    keyword("cpus_per_worker", Annotated[float | None, typer.Option(metavar="C", help=_CPUS)]),
    keyword("gpus_per_worker", Annotated[float | None, typer.Option(metavar="G", help=_GPUS)]),
)


def executor_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the keyword `executor` of a command, which receives an Executor or None, by the options."""
    return with_options(command, "executor", _OPTIONS, lambda values: executor_of(*values.values()))


def executor_of(
    kind: Kind | None, workers: int | None, address: str | None, cpus: float | None, gpus: float | None
) -> Executor | None:
    """Return the executor for these options, or None if this process judges the summaries.

    Raises UsageError if the options contradict each other.
    """
    from summeter.records import UsageError

    if kind is None:
        kind = "ray" if address is not None or gpus is not None else "local" if workers is None else "processes"
    for option, value, kinds in (
        ("--workers", workers, ("processes", "ray")),
        ("--cpus-per-worker", cpus, ("processes", "ray")),
        ("--gpus-per-worker", gpus, ("ray",)),
        ("--ray-address", address, ("ray",)),
    ):
        if value is not None and kind not in kinds:
            raise UsageError(f"{option} needs --executor {' or --executor '.join(kinds)}")
    if cpus is not None and not 0 < cpus < math.inf:
        raise UsageError(f"--cpus-per-worker is {cpus:g}; it must be a number above 0")
    if gpus is not None and not 0 <= gpus < math.inf:
        raise UsageError(f"--gpus-per-worker is {gpus:g}; it must be 0 or a number above 0")
    match kind:
        case "local":
            return None
        case "processes":
            from summeter.engine.executors.processes import ProcessExecutor

            if cpus is not None and not cpus.is_integer():
                raise UsageError(f"--cpus-per-worker {cpus:g} must be a whole number with --executor processes")
            given_workers = {} if workers is None else {"workers": workers}
            return ProcessExecutor(threads=int(cpus or 1), **given_workers)
        case "ray":
            from summeter.engine.executors.ray import RayExecutor

            return RayExecutor(
                address=address, workers=workers, cpus_per_worker=cpus or 1.0, gpus_per_worker=gpus or 0.0
            )
