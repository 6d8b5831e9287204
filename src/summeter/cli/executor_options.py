"""Where a run is carried out: the options of the executors."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from summeter.engine.executors.base import Executor as AnyExecutor


class Kind(StrEnum):
    """What judges."""

    LOCAL = "local"
    PROCESSES = "processes"
    RAY = "ray"


Executor = Annotated[
    Kind | None,
    typer.Option(help="Where to judge: in this process (local), in processes of this machine, or on a Ray cluster. "
                 "Default: ray where --ray-address or --gpus-per-worker is given, else processes where --workers is "
                 "given, else local."),
]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Judge with N workers, each a process with models of its own. Default: one "
                 "for each CPU; on Ray, twice as many as the cluster has room for."),
]  # fmt: skip
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="ADDRESS", help="The Ray cluster (HOST:6379). Default: RAY_ADDRESS; "
                 "without it, Ray is started on this machine for the run."),
]  # fmt: skip
CpusPerWorker = Annotated[
    float | None,
    typer.Option(
        "--cpus-per-worker",
        metavar="C",
        help="CPUs of one worker, and its threads; on Ray also a fraction. Default: 1.",
    ),
]
GpusPerWorker = Annotated[
    float | None,
    typer.Option("--gpus-per-worker", metavar="G", help="GPUs of one worker on Ray; may be a fraction. Default: 0."),
]


def executor_of(
    kind: Kind | None, workers: int | None, address: str | None, cpus: float | None, gpus: float | None
) -> AnyExecutor | None:
    """The executor that these options name; None for this process. UsageError where they contradict each other."""
    from summeter.records import UsageError

    if kind is None:
        kind = (
            Kind.RAY if address is not None or gpus is not None else Kind.LOCAL if workers is None else Kind.PROCESSES
        )
    if cpus is not None and not 0 < cpus < math.inf:
        raise UsageError(f"--cpus-per-worker is {cpus:g}; it must be a number above 0")
    if gpus is not None and not 0 <= gpus < math.inf:
        raise UsageError(f"--gpus-per-worker is {gpus:g}; it must be 0 or a number above 0")
    match kind:
        case Kind.LOCAL:
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
        case Kind.PROCESSES:
            from summeter.engine.executors.processes import ProcessExecutor

            if address is not None or gpus is not None:
                option = "--gpus-per-worker" if address is None else "--ray-address"
                raise UsageError(f"{option} goes with --executor ray")
            if cpus is not None and not cpus.is_integer():
                raise UsageError(f"--cpus-per-worker {cpus:g} must be a whole number for processes of this machine")
            given_workers = {} if workers is None else {"workers": workers}
            return ProcessExecutor(threads=int(cpus or 1), **given_workers)
        case Kind.RAY:
            from summeter.engine.executors.ray import RayExecutor

            return RayExecutor(
                address=address, workers=workers, cpus_per_worker=cpus or 1.0, gpus_per_worker=gpus or 0.0
            )
