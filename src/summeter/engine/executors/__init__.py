"""Executors, which run judges in worker processes or on a Ray cluster."""
