"""Building a benchmark of summaries: single steps (`step`) and chains of steps (`chain`)."""

from summeter.benchmark.chain import chain_status, run_chain
from summeter.benchmark.step import run_step

__all__ = ["chain_status", "run_chain", "run_step"]
