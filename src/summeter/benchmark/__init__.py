"""BUILDING: how a benchmark of summaries comes to be. The first half: N models summarize the documents."""

from summeter.benchmark.summarize import Summarizing, summarize

__all__ = ["Summarizing", "summarize"]
