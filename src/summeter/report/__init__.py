"""PAGES: runs and studies for readers. `html` writes the report, `ranking` prints the table of systems and `pairs` that
of pairs, `trust` which systems' ratings are to be checked (`reliabilities`), `markdown` gives all as text.

Nothing here calls a model: a page is a view of what runs and studies hold.
"""

from summeter.report.build import page
from summeter.report.reliability import TOLERANCE, reliabilities
from summeter.report.rendering import html, render
from summeter.report.terminal import markdown, pairs, ranking, trust

__all__ = ["TOLERANCE", "html", "markdown", "page", "pairs", "ranking", "reliabilities", "render", "trust"]
