"""REPORTS: runs and studies for readers. `html` writes the report, `ranking` prints the table of systems and `pairs`
that of pairs, `trust` which systems' ratings are to be checked (`reliabilities`), `markdown` gives all as text;
`dataset_html` writes what is in a dataset, `agreements` and `agreement_line` say how far its annotators agree.

Nothing here calls a model: a page is a view of what runs and studies hold.
"""

from summeter.report.build import page
from summeter.report.dataset import agreement_line, agreements, dataset_html
from summeter.report.reliability import TOLERANCE, reliabilities
from summeter.report.rendering import html, render
from summeter.report.terminal import markdown, pairs, ranking, trust

__all__ = [
    "TOLERANCE",
    "agreement_line",
    "agreements",
    "dataset_html",
    "html",
    "markdown",
    "page",
    "pairs",
    "ranking",
    "reliabilities",
    "render",
    "trust",
]
