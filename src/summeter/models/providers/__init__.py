"""Clients of LLM providers, and scripted replies for tests."""
