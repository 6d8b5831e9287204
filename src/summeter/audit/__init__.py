"""Audits of a judge: what it does when somebody tries to make it do something else."""

from summeter.audit.attacks import Attack, read_attacks
from summeter.audit.injection import injection

__all__ = ["Attack", "injection", "read_attacks"]
