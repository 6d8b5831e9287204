"""WHAT: the frozen records everything else reads and writes."""

from summeter.records.base import Record, canonical, digest
from summeter.records.errors import (
    AccessError,
    BudgetError,
    CapabilityError,
    CoverageError,
    Fault,
    GateError,
    InputError,
    InstallError,
    ModelError,
    ReplayMiss,
    ReplyError,
    SummeterError,
    TransientError,
    UsageError,
    first_error,
)
from summeter.records.facts import Claim, KeyFact, KeyFacts, Origin
from summeter.records.item import Item
from summeter.records.judgment import Judgment, Status, Target, Unit
from summeter.records.signature import composite_signature, signature
from summeter.records.text import Document, Side, Span, Summary

__all__ = [
    "AccessError", "BudgetError",
    "CapabilityError", "Claim", "CoverageError", "Document", "Fault", "GateError", "InputError",
    "InstallError", "Item", "Judgment", "KeyFact", "KeyFacts", "ModelError", "Origin", "Record",
    "ReplayMiss", "ReplyError", "Side", "Span", "Status", "Summary", "SummeterError", "Target",
    "TransientError", "Unit", "UsageError", "canonical", "composite_signature", "digest", "first_error",
    "signature",
]  # fmt: skip
