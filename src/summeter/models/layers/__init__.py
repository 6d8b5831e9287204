"""Layers around an LLM, for caching, rate limits, retries, budgets and checks.

Each layer is itself an LLM.
"""
