"""Run: a run's folder with what can be made of it again."""

from __future__ import annotations

from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import rebuild
from summeter.runs.run import RunFolder


class Run(RunFolder):
    """Read access to a run, and its evaluators rebuilt.

    `print(run.summary())` shows the means; `run.judgments()`, `run.scores()` are the records behind them.
    """

    @property
    def specs(self) -> list[Evaluator]:
        """The evaluators of the run: pass them to `evaluate` again. Imported judgments have none."""
        return [rebuild(judge.name, judge.settings) for judge in self.manifest.judges if not judge.imported]
