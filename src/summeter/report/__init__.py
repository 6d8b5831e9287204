"""Reports on runs and studies.

`html` writes a report, and `outcome` returns its lead as plain text. `ranking` prints the table of systems, `pairs` the
table of pairs, and `trust` the systems whose ratings should be checked (see `reliabilities`); `markdown` returns all of
these as a string. `dataset_html` writes an overview of a dataset, and `agreements` and `agreement_line` report the
agreement of its annotators. No function calls a model.
"""

from summeter.report import plot
from summeter.report.build import page
from summeter.report.dataset import agreement_line, agreements, dataset_html
from summeter.report.reliability import TOLERANCE, reliabilities
from summeter.report.rendering import html, render
from summeter.report.terminal import markdown, outcome, pairs, ranking, score_parts, trust

__all__ = [
    "TOLERANCE",
    "agreement_line",
    "agreements",
    "dataset_html",
    "html",
    "markdown",
    "outcome",
    "page",
    "pairs",
    "plot",
    "ranking",
    "reliabilities",
    "render",
    "score_parts",
    "trust",
]
