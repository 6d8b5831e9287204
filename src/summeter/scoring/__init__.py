"""HOW MUCH: judgments to scores; value, n, missing and interval always together."""

from summeter.scoring.held import HeldScores
from summeter.scoring.pairs import Compared, PairScore, Preference, pair_scores, preferences
from summeter.scoring.replies import ReplyCount, ReplyCounter, reply_counts
from summeter.scoring.scores import (
    COMPOSED,
    COMPOSITE,
    Score,
    composites,
    coverage,
    dedupe,
    is_rating,
    summary_scores,
    unit_scores,
)
from summeter.scoring.systems import SystemScore, SystemTable, show, system_scores, to_frame

__all__ = [
    "COMPOSED", "COMPOSITE", "Compared", "HeldScores", "PairScore", "Preference", "ReplyCount", "ReplyCounter", "Score",
    "SystemScore", "SystemTable", "composites", "coverage", "dedupe", "is_rating", "pair_scores", "preferences",
    "reply_counts", "show", "summary_scores", "system_scores", "to_frame", "unit_scores",
]  # fmt: skip
