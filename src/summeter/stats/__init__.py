"""HOW SURE: pure numpy on arrays; typed results, never NaN."""

from .base import Statistic, Status
from .resample import Comparison, Interval, Method, bootstrap, bootstrap_mean, paired_bootstrap

__all__ = [
    "Comparison",
    "Interval",
    "Method",
    "Statistic",
    "Status",
    "bootstrap",
    "bootstrap_mean",
    "paired_bootstrap",
]
