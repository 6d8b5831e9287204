"""BUILDING: how a benchmark of summaries comes to be: its steps (`step`), and the chain of them (`chain`)."""

from summeter.benchmark.chain import chain_status, run_chain
from summeter.benchmark.step import run_step

__all__ = ["chain_status", "run_chain", "run_step"]
