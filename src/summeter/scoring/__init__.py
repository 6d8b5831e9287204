"""Scores of summaries and means of systems, computed from judgments.

Each has a sample size, a missing count and, for means, an interval.
"""

from summeter.scoring.frames import Frames, Records
from summeter.scoring.pairs import PairScore, Preference, pair_scores, preferences
from summeter.scoring.replies import ReplyCount, reply_counts
from summeter.scoring.scores import (
    COMPOSED,
    COMPOSITE,
    Score,
    ScoreTable,
    composites,
    coverage,
    dedupe,
    is_rating,
    summary_scores,
)
from summeter.scoring.systems import SystemScore, SystemTable, show, system_scores
from summeter.scoring.table import JudgmentTable

__all__ = [
    "COMPOSED",
    "COMPOSITE",
    "Frames",
    "JudgmentTable",
    "PairScore",
    "Preference",
    "Records",
    "ReplyCount",
    "Score",
    "ScoreTable",
    "SystemScore",
    "SystemTable",
    "composites",
    "coverage",
    "dedupe",
    "is_rating",
    "pair_scores",
    "preferences",
    "reply_counts",
    "show",
    "summary_scores",
    "system_scores",
]  # fmt: skip
