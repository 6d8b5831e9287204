"""Options that choose where a run is executed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from summeter.engine.executors.base import Executor as AnyExecutor


Kind = Literal["local", "processes", "ray"]
Executor = Annotated[
    Kind | None,
    typer.Option(help="Judge in this process (local), in processes on this machine, or on a Ray cluster. Default: ray "
                 "with --ray-address or --gpus-per-worker, else processes with --workers, else local."),
]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of worker processes, each with its own models. Default: one per "
                 "CPU; on Ray, twice the capacity of the cluster."),
]  # fmt: skip
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="ADDRESS", help="Address of the Ray cluster (HOST:6379). Default: "
                 "RAY_ADDRESS, else a cluster started on this machine for the run."),
]  # fmt: skip
CpusPerWorker = Annotated[
    float | None,
    typer.Option(
        "--cpus-per-worker",
        metavar="C",
        help="CPUs, and threads, per worker; may be a fraction on Ray. Default: 1.",
    ),
]
GpusPerWorker = Annotated[
    float | None,
    typer.Option("--gpus-per-worker", metavar="G", help="GPUs per worker on Ray; may be a fraction. Default: 0."),
]


def executor_of(
    kind: Kind | None, workers: int | None, address: str | None, cpus: float | None, gpus: float | None
) -> AnyExecutor | None:
    """Return the executor for these options, or None if this process judges the summaries.

    Raises UsageError if the options contradict each other.
    """
    from summeter.records import UsageError

    if kind is None:
        kind = "ray" if address is not None or gpus is not None else "local" if workers is None else "processes"
    if cpus is not None and not 0 < cpus < math.inf:
        raise UsageError(f"--cpus-per-worker is {cpus:g}; it must be a number above 0")
    if gpus is not None and not 0 <= gpus < math.inf:
        raise UsageError(f"--gpus-per-worker is {gpus:g}; it must be 0 or a number above 0")
    match kind:
        case "local":
            options = {
                "--workers": workers,
                "--cpus-per-worker": cpus,
                "--gpus-per-worker": gpus,
                "--ray-address": address,
            }
            if given := [name for name, value in options.items() if value is not None]:
                ray_only = given[0] in ("--gpus-per-worker", "--ray-address")
                raise UsageError(f"{given[0]} needs --executor {'ray' if ray_only else 'processes or --executor ray'}")
            return None
        case "processes":
            from summeter.engine.executors.processes import ProcessExecutor

            if address is not None or gpus is not None:
                option = "--gpus-per-worker" if address is None else "--ray-address"
                raise UsageError(f"{option} requires --executor ray")
            if cpus is not None and not cpus.is_integer():
                raise UsageError(f"--cpus-per-worker {cpus:g} must be a whole number with --executor processes")
            given_workers = {} if workers is None else {"workers": workers}
            return ProcessExecutor(threads=int(cpus or 1), **given_workers)
        case "ray":
            from summeter.engine.executors.ray import RayExecutor

            return RayExecutor(
                address=address, workers=workers, cpus_per_worker=cpus or 1.0, gpus_per_worker=gpus or 0.0
            )
