"""HOW MUCH: judgments to scores; value, n, missing and interval always together."""

from summeter.scoring.pairs import Preference, preferences
from summeter.scoring.scores import COMPOSED, COMPOSITE, Score, composites, dedupe, summary_scores
from summeter.scoring.systems import SystemScore, SystemTable, show, system_scores, to_frame

__all__ = [
    "COMPOSED", "COMPOSITE", "Preference", "Score", "SystemScore", "SystemTable", "composites", "dedupe",
    "preferences", "show", "summary_scores", "system_scores", "to_frame",
]  # fmt: skip
