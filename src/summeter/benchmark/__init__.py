"""BUILDING: how a benchmark of summaries comes to be: its steps (`step`), and the chain of them (`chain`)."""

from summeter.benchmark.chain import chain_status, run_chain
from summeter.benchmark.step import run_step
from summeter.benchmark.summarize import Summarizing, summarize

__all__ = ["Summarizing", "chain_status", "run_chain", "run_step", "summarize"]
