"""Executors, which run judges in this process, in worker processes or on a Ray cluster."""
