"""Layers around an LLM: caching, rate limits, retries, budgets and checks.

Each layer is itself an LLM.
"""
