"""Runs on many workers and many summaries: what they reach, and what breaks first.

simulate   up to 1,000 workers that sleep, with the real scheduler and a computed clock: what the driver's costs allow
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))


# simulate


def lengths(count: int, mean: float, seed: int = 0) -> Iterator[float]:
    """Seconds of documents: most near the mean, some several times as long (log-normal, sigma .5)."""
    rng = random.Random(seed)
    for _ in range(count):
        yield mean * rng.lognormvariate(-0.125, 0.5)


def simulate(arguments: argparse.Namespace) -> None:
    from engine.simulation import Simulation

    print(
        f"driver: {1000 * arguments.unit_cost:g} ms a document, {1000 * arguments.bundle_cost:g} ms a bundle, "
        f"{1000 * arguments.latency:g} ms a message; each worker has work for {arguments.minutes:g} minutes"
    )
    print(
        f"{'workers':>8} {'s/document':>10} {'lifetime':>9} {'documents':>10} {'efficiency':>10} {'driver busy':>11} "
        f"{'documents/s':>11} {'held':>7} {'deaths':>6} {'scheduler':>14}"
    )
    for lifetime in (None, *arguments.lifetime):
        for mean in arguments.seconds:
            for workers in arguments.workers:
                count = min(arguments.most, int(workers * arguments.minutes * 60 / mean))
                simulation = Simulation(
                    lengths(count, mean), workers, arguments.slots, total=count, latency=arguments.latency,
                    bundle_cost=arguments.bundle_cost, unit_cost=arguments.unit_cost, lifetime=lifetime,
                )  # fmt: skip
                before = time.process_time()
                outcome = simulation.run()
                took = time.process_time() - before
                print(
                    f"{workers:>8,} {mean:>10g} {'-' if lifetime is None else f'{lifetime:g}':>9} {count:>10,} "
                    f"{outcome.efficiency:>10.3f} {outcome.driver:>11.2f} {count / outcome.seconds:>11,.1f} "
                    f"{outcome.held:>7,} {outcome.deaths:>6,} {1e6 * took / count:>6.0f} us a doc",
                    flush=True,
                )


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(required=True, metavar="MODE")
    mode = modes.add_parser("simulate")
    mode.set_defaults(run=simulate)
    mode.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 300, 1_000])
    mode.add_argument("--slots", type=int, default=1)
    mode.add_argument("--seconds", type=float, nargs="+", default=[0.1, 1, 10], help="a document takes on average")
    mode.add_argument("--minutes", type=float, default=5.0, help="of work for each worker")
    mode.add_argument("--most", type=int, default=200_000, help="documents in all")
    mode.add_argument("--unit-cost", type=float, default=0.002, help="seconds of the driver a document")
    mode.add_argument("--bundle-cost", type=float, default=0.005, help="seconds of the driver a bundle")
    mode.add_argument("--latency", type=float, default=0.005, help="seconds a message takes")
    mode.add_argument("--lifetime", type=float, nargs="*", default=[3600.0], help="seconds a worker lives on average")
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
