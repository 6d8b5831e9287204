"""Rendering of runs and studies as one self-contained HTML file. The same runs give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from summeter.data.atomic import write_lines
from summeter.meta.results import Study
from summeter.meta.verdicts import UNITS, agreement_name
from summeter.pages.templates import one_file
from summeter.report.blocks import Page
from summeter.report.build import page
from summeter.report.embedded import embedded_json
from summeter.report.reliability import TOLERANCE
from summeter.report.studies import digits
from summeter.report.words import ALARM, STATUS, gloss
from summeter.runs.run import RunFolder

TEMPLATES = Path(__file__).parent / "templates"


def html(
    parts: Sequence[RunFolder | Study], out: str | Path, *, title: str | None = None, tolerance: float = TOLERANCE
) -> Path:
    """Write the report of runs and studies (results of `sm.meta`) to `out`, atomically, and return its path.

    With several runs, the others are compared with the first. Studies may be given in any position, or alone. `title`
    replaces the name of the data. If a judge rated an aspect both as RTS and as MCQ, systems on which the two correlate
    (Spearman) less than `tolerance` are flagged. No model is called, and the runs are not changed.

    Raises UsageError without a run or a study, and InputError if a run's files are damaged.

        html([run, sm.meta.correlate(run, gold)], "page.html")
    """
    target = Path(out)
    write_lines(target, render(page(parts, title=title, tolerance=tolerance)))
    return target


def render(blocks: Page) -> Iterator[str]:
    """Yield the HTML of a page in chunks of lines; the summaries are read while they are written."""
    values = {"title": blocks.title, "page": blocks, "ALARM": ALARM, "STATUS": STATUS, "UNITS": UNITS}
    functions = {function.__name__: function for function in (agreement_name, digits, gloss)}
    embedded = embedded_json(blocks.items)
    return one_file(
        TEMPLATES, "report.html.j2", {**values, **functions}, style="report.css", script="report.js", embedded=embedded
    )
