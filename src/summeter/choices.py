"""Enumerations of option values, shared by studies and the command line.

This module imports nothing heavy, so `summeter meta correlate --help` is fast.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """Unit of the rows of a study."""

    SENTENCE = "sentence"
    KEY_FACT = "key_fact"
    SUMMARY = "summary"
    DOCUMENT = "document"
    SYSTEM = "system"

    @property
    def base(self) -> Level:
        """Level at which judgments are read: documents and systems are means of summaries."""
        return Level.SUMMARY if self in {Level.DOCUMENT, Level.SYSTEM} else self


class Average(StrEnum):
    """Compute a statistic over all rows, or within each document or system and average it."""

    POOLED = "pooled"
    DOCUMENT = "document"
    SYSTEM = "system"


class Documents(StrEnum):
    """Rank systems on the documents that all of them have a score for, or on all documents of each system."""

    SHARED = "shared"
    ALL = "all"


class AggregationRule(StrEnum):
    """How the votes on a unit are merged into one value."""

    AUTO = "auto"
    MEAN = "mean"
    MAJORITY = "majority"
    MODE_ELSE_MEAN = "mode_else_mean"
    EACH = "each"


class Tie(StrEnum):
    """How a majority vote resolves a tie.

    `finesure` is the rule of FineSurE's released code: a tied sentence is supported (1), and a tied key fact is absent
    (0). `low`, `high` and `half` give the lowest, the highest or the mean of the tied values; `drop` gives no value.
    """

    FINESURE = "finesure"
    LOW = "low"
    HIGH = "high"
    HALF = "half"
    DROP = "drop"


USUAL_COEFFICIENTS = ("pearson", "spearman", "kendall_b")
"""Default coefficients of studies."""
PAIRWISE = "pairwise_accuracy"
"""A further coefficient of `correlate`."""


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
    """Error types of judge and people match if they share one type, if the judge has all of people's, or if equal."""

    ANY = "any"
    ALL = "all"
    EXACT = "exact"


class Annotators(StrEnum):
    """Use the error types of the majority of annotators, or those of any annotator."""

    MAJORITY = "majority"
    ANY = "any"


class CompareTarget(StrEnum):
    """Compare systems by a judge, judges by their agreement with people, or systems by people."""

    SYSTEMS = "systems"
    JUDGES = "judges"
    PEOPLE = "people"


class Population(StrEnum):
    """Resample documents and labels (population), or only which documents are labelled (data)."""

    POPULATION = "population"
    DATA = "data"


class ValueOrLabel(StrEnum):
    """Use the score of a judgment (its `value`, or else a numeric label), or its decision (`label`)."""

    VALUE = "value"
    LABEL = "label"
