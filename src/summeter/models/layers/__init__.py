"""Layers: each wraps an LLM and is an LLM."""
