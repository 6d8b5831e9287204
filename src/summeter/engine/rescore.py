"""Views of a run, made again from its facts."""

from __future__ import annotations

from pathlib import Path

from summeter.engine.api import finish
from summeter.engine.runs import Run
from summeter.runs.journal import Journal


def rescore(folder: str | Path) -> Run:
    """Rebuild a run's views (scores, summary) from its judgments. Asks no model, changes no fact."""
    run = Run(folder)
    with Journal(run.folder) as journal:
        ended = run.manifest.status
        return finish(run, journal, run.manifest, "complete" if ended == "incomplete" else ended)
