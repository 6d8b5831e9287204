"""Type 1 error of report headlines: how often a difference between equal systems is claimed.

    python benchmarks/headlines.py [--sets 2000] [--pages 300]

A set has two equal systems and a page has 25, each with 2 to 50 documents. Scores are the difficulty of a document plus
noise, or shares of 1 to 8 binary labels; in half of the sets, one in ten is missing. A claim is a headline that says
that a system is better. The correction limits claims to 5 % of sets and of pages.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from summeter.report.ranks import leading
from summeter.scoring import ScoreTable, SystemTable, system_scores
from summeter.scoring.table import Categorical

COLUMN = ("judge", "judge|v:1", "faithfulness")


def table(systems: int, rng: np.random.Generator, seed: int) -> SystemTable:
    """Return a table of equal systems over the same documents."""
    documents = int(rng.integers(2, 51))
    if rng.random() < 0.5:
        values = rng.normal(size=(systems, documents)) + rng.normal(size=documents)
    else:
        units = rng.integers(1, 9, documents)
        values = rng.binomial(units, rng.beta(4, 2, documents), (systems, documents)) / units
    if rng.random() < 0.5:
        values[rng.random(values.shape) < 0.1] = np.nan
    rows = systems * documents
    same = {
        name: Categorical.same(text, rows) for name, text in zip(("judge", "signature", "aspect"), COLUMN, strict=True)
    }
    missing = np.isnan(values).ravel().astype(np.int64)
    scores = ScoreTable(
        document=Categorical(
            np.tile(np.arange(documents), systems), tuple(f"d{number}" for number in range(documents))
        ),
        system=Categorical(np.repeat(np.arange(systems), documents), tuple(f"s{number}" for number in range(systems))),
        **same,
        model=Categorical.same(None, rows),
        value=values.ravel(),
        n=1 - missing,
        missing=missing,
        status=Categorical(missing, ("ok", "error")),
        reason=Categorical(missing, (None, "none")),
    )
    return SystemTable(system_scores(scores), scores, seed=seed)


def claims(sets: int, systems: int, seed: int = 0) -> int:
    """Return the number of sets in which the headline claims a difference."""
    rng = np.random.default_rng(seed)
    headlines = (leading(table(systems, rng, number), COLUMN, "judge") for number in range(sets))
    return sum("better than" in headline for headline in headlines)


def main() -> None:
    """Print the share of sets and of pages with a claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000, help="number of sets of 2 systems")
    parser.add_argument("--pages", type=int, default=300, help="number of pages of 25 systems")
    options = parser.parse_args()
    for systems, sets in ((2, options.sets), (25, options.pages)):
        start = time.process_time()
        found = claims(sets, systems)
        spent = time.process_time() - start
        print(f"{systems:2} equal systems: claims in {found} of {sets} ({found / sets:.1%}); {spent:.0f} s of CPU")


if __name__ == "__main__":
    main()
