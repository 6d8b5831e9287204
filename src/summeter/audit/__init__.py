"""Audits of judges: their resistance to prompt injection, and their sensitivity to planted errors."""

from summeter.audit.attacks import Attack, read_attacks
from summeter.audit.injection import injection
from summeter.audit.sensitivity import sensitivity

__all__ = ["Attack", "injection", "read_attacks", "sensitivity"]
