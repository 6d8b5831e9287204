"""WHAT: the frozen records everything else reads and writes."""

from summeter.records.base import Record, canonical, digest
from summeter.records.errors import (
    REPLY_FAULTS,
    AccessError,
    BudgetError,
    CapabilityError,
    ContextError,
    CoverageError,
    Fault,
    GateError,
    InputError,
    InstallError,
    ModelError,
    ReplayMiss,
    ReplyError,
    ReplyFault,
    SummeterError,
    TransientError,
    UsageError,
    fault_of,
    first_error,
)
from summeter.records.facts import Claim, KeyFact, KeyFacts, Origin
from summeter.records.item import Item
from summeter.records.judgment import Judgment, Status, Target, Unit
from summeter.records.lines import read_lines
from summeter.records.signature import JudgeKey, composite_signature, judge_names, signature
from summeter.records.taxonomy import canonical_error_type, error_types, joined_error_types, names_no_error
from summeter.records.text import Document, Side, Span, Summary

__all__ = [
    "REPLY_FAULTS",
    "AccessError",
    "BudgetError",
    "CapabilityError",
    "Claim",
    "ContextError",
    "CoverageError",
    "Document",
    "Fault",
    "GateError",
    "InputError",
    "InstallError",
    "Item",
    "JudgeKey",
    "Judgment",
    "KeyFact",
    "KeyFacts",
    "ModelError",
    "Origin",
    "Record",
    "ReplayMiss",
    "ReplyError",
    "ReplyFault",
    "Side",
    "Span",
    "Status",
    "Summary",
    "SummeterError",
    "Target",
    "TransientError",
    "Unit",
    "UsageError",
    "canonical",
    "canonical_error_type",
    "composite_signature",
    "digest",
    "error_types",
    "fault_of",
    "first_error",
    "joined_error_types",
    "judge_names",
    "names_no_error",
    "read_lines",
    "signature",
]  # fmt: skip
