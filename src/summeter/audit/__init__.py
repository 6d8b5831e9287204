"""Audits of the robustness of judges to prompt injection."""

from summeter.audit.attacks import Attack, read_attacks
from summeter.audit.injection import injection

__all__ = ["Attack", "injection", "read_attacks"]
