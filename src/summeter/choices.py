"""Enumerations of option values, shared by studies and the command line.

This module imports nothing heavy, so `summeter meta correlate --help` is fast.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """What each row of a study is: a unit of a summary, a summary, a document or a system."""

    SENTENCE = "sentence"
    KEY_FACT = "key_fact"
    SUMMARY = "summary"
    DOCUMENT = "document"
    SYSTEM = "system"

    @property
    def base(self) -> Level:
        """Level of the judgments from which the values are computed: `summary` for means.

        The values of documents and systems are means over summaries.
        """
        return Level.SUMMARY if self in {Level.DOCUMENT, Level.SYSTEM} else self


class Average(StrEnum):
    """Rows over which a statistic is computed.

    These are all rows, or the rows of each document or each system, whose statistics are then averaged.
    """

    POOLED = "pooled"
    DOCUMENT = "document"
    SYSTEM = "system"


class AggregationRule(StrEnum):
    """Rule by which the votes on a unit are merged into one value."""

    AUTO = "auto"
    MEAN = "mean"
    MAJORITY = "majority"
    MODE_ELSE_MEAN = "mode_else_mean"
    EACH = "each"


class Tie(StrEnum):
    """How a majority vote resolves a tie.

    `finesure` is the rule of FineSurE's released code: a tied sentence is supported (1), and a tied key fact is absent
    (0). `low`, `high` and `half` give the lowest, the highest and the mean of the tied values; `drop` gives no value.
    """

    FINESURE = "finesure"
    LOW = "low"
    HIGH = "high"
    HALF = "half"
    DROP = "drop"


USUAL_COEFFICIENTS = ("pearson", "spearman", "kendall_b")
"""Default coefficients of studies."""
PAIRWISE = "pairwise_accuracy"
"""An additional coefficient of `correlate`."""


class QuestionType(StrEnum):
    """Answer type of a question that a campaign adds.

    Answers are ordered numbers (`scale`), one name (`choice`), a set of names (`choices`), 1 or 0 (`yes_no`), or free
    text (`text`). The type is part of the signature of the judgments, such as `human.choice|v:1`.
    """

    SCALE = "scale"
    CHOICE = "choice"
    CHOICES = "choices"
    YES_NO = "yes_no"
    TEXT = "text"


class Match(StrEnum):
    """Condition under which the error types of a judge match those of people.

    They match if they share a type (`any`), if the judge named all types that people named (`all`), or if they are
    equal (`exact`).
    """

    ANY = "any"
    ALL = "all"
    EXACT = "exact"


class Annotators(StrEnum):
    """Whether to use the error types that most annotators assigned, or all that any assigned."""

    MAJORITY = "majority"
    ANY = "any"


class CompareTarget(StrEnum):
    """What is compared: systems by judges, judges by agreement, or systems by people."""

    SYSTEMS = "systems"
    JUDGES = "judges"
    PEOPLE = "people"


class ValueOrLabel(StrEnum):
    """Whether the score (`value`, or else the numeric label) or the decision (`label`) is used."""

    VALUE = "value"
    LABEL = "label"
