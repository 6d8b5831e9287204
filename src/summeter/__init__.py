"""summeter evaluates summaries, and measures how far the evaluator can be trusted.

    import summeter as sm

    run = sm.evaluate("data.jsonl", ["support"], out="runs/first")
    print(run.summary())

Names are imported on first use, so `import summeter` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from summeter._version import __version__
from summeter.lazy import attributes

if TYPE_CHECKING:
    from summeter import annotate as annotate
    from summeter import benchmark as benchmark
    from summeter import data as data
    from summeter import evaluators as evaluators
    from summeter import meta as meta
    from summeter import report as report
    from summeter.data.dataset import Dataset as Dataset
    from summeter.data.dataset import load as load
    from summeter.data.dataset import save as save
    from summeter.engine.api import evaluate as evaluate
    from summeter.engine.api import evaluate_async as evaluate_async
    from summeter.engine.dry import dry_run as dry_run
    from summeter.engine.executors.processes import ProcessExecutor as ProcessExecutor
    from summeter.engine.executors.ray import RayExecutor as RayExecutor
    from summeter.engine.outputs import import_outputs as import_outputs
    from summeter.engine.outputs import import_replies as import_replies
    from summeter.engine.runs import Run as Run
    from summeter.engine.runs import rescore as rescore
    from summeter.evaluators.base import Evaluator as Evaluator
    from summeter.meta._trust import trust as trust
    from summeter.meta._versions import compare as compare
    from summeter.meta.papers import table as table
    from summeter.records import Document as Document
    from summeter.records import Item as Item
    from summeter.records import Judgment as Judgment
    from summeter.records import Span as Span
    from summeter.records import Summary as Summary
    from summeter.records import SummeterError as SummeterError
    from summeter.report import plot as plot

_HOMES = {
    "Dataset": "summeter.data.dataset",
    "Document": "summeter.records",
    "Evaluator": "summeter.evaluators.base",
    "Item": "summeter.records",
    "Judgment": "summeter.records",
    "ProcessExecutor": "summeter.engine.executors.processes",
    "RayExecutor": "summeter.engine.executors.ray",
    "Run": "summeter.engine.runs",
    "Span": "summeter.records",
    "Summary": "summeter.records",
    "SummeterError": "summeter.records",
    "annotate": "summeter",
    "benchmark": "summeter",
    "compare": "summeter.meta._versions",
    "data": "summeter",
    "dry_run": "summeter.engine.dry",
    "evaluate": "summeter.engine.api",
    "evaluate_async": "summeter.engine.api",
    "evaluators": "summeter",
    "import_outputs": "summeter.engine.outputs",
    "import_replies": "summeter.engine.outputs",
    "load": "summeter.data.dataset",
    "meta": "summeter",
    "plot": "summeter.report",
    "report": "summeter",
    "rescore": "summeter.engine.runs",
    "save": "summeter.data.dataset",
    "table": "summeter.meta.papers",
    "trust": "summeter.meta._trust",
}

__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604 - generated from the table
__getattr__, __dir__ = attributes(__name__, _HOMES, "__version__")
