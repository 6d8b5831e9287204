"""What a user chooses from: the enumerations that studies take and the command line offers, each defined once.

Nothing heavy is imported here, so that `summeter meta correlate --help` can list them at once.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """What one row of a study is."""

    SENTENCE = "sentence"
    KEY_FACT = "key_fact"
    SUMMARY = "summary"
    DOCUMENT = "document"
    SYSTEM = "system"

    @property
    def base(self) -> Level:
        """The level that judgments are read at: documents and systems are means of summaries."""
        return Level.SUMMARY if self in {Level.DOCUMENT, Level.SYSTEM} else self


class Average(StrEnum):
    """Over what a statistic is taken: all rows at once, or within each document or system and then averaged."""

    POOLED = "pooled"
    DOCUMENT = "document"
    SYSTEM = "system"


class Documents(StrEnum):
    """Which documents systems are ranked on: those that all of them have a score of, or each one's own."""

    SHARED = "shared"
    ALL = "all"


class AggregationRule(StrEnum):
    """How the votes on one unit become one value."""

    AUTO = "auto"
    MEAN = "mean"
    MAJORITY = "majority"
    MODE_ELSE_MEAN = "mode_else_mean"
    EACH = "each"


class Tie(StrEnum):
    """What a majority does when two values have equally many votes.

    `finesure` is FineSurE's rule, 0 in the polarity of its files: a sentence is then supported (1), a key fact
    absent (0). `low` and `high` take the lower or higher of the tied values, `half` their mean, `drop` none.
    """

    FINESURE = "finesure"
    LOW = "low"
    HIGH = "high"
    HALF = "half"
    DROP = "drop"


USUAL_COEFFICIENTS = ("pearson", "spearman", "kendall_b")
"""What studies compute where no coefficient is named."""
PAIRWISE = "pairwise_accuracy"
"""What `correlate` computes besides the coefficients."""


class QuestionType(StrEnum):
    """What a question of a campaign's own takes for an answer.

    A scale gives numbers in an order, `choice` one name, `choices` a set of names, `yes_no` 1 or 0, `text` anything.
    The judgments are signed with the type: `human.choice|v:1`.
    """

    SCALE = "scale"
    CHOICE = "choice"
    CHOICES = "choices"
    YES_NO = "yes_no"
    TEXT = "text"


class Match(StrEnum):
    """When a judge's error types of a sentence fit people's: one in common, all of people's, or the same set."""

    ANY = "any"
    ALL = "all"
    EXACT = "exact"


class Annotators(StrEnum):
    """Which error types are people's: those of the majority, or all that anyone named."""

    MAJORITY = "majority"
    ANY = "any"


class CompareTarget(StrEnum):
    """What is compared: systems by a judge, judges by their agreement with people, systems by people."""

    SYSTEMS = "systems"
    JUDGES = "judges"
    PEOPLE = "people"


class Population(StrEnum):
    """What a simulation of labelling samples: the documents too, or only which of them people label."""

    POPULATION = "population"
    DATA = "data"


class ValueOrLabel(StrEnum):
    """What of a judgment is used: its score (`value`, else a label that is a number), or its decision (`label`)."""

    VALUE = "value"
    LABEL = "label"
