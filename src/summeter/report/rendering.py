"""Rendering of runs and studies as one self-contained HTML file.

The same runs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from summeter.data.atomic import write_lines
from summeter.meta._versions import outcome
from summeter.meta.results import Study, digits
from summeter.meta.selection import group_label
from summeter.meta.verdicts import UNITS, agreement_name
from summeter.pages.language import ENGLISH, page_languages
from summeter.pages.templates import one_file
from summeter.records import UsageError
from summeter.report.build import Page, page
from summeter.report.embedded import embedded_json
from summeter.report.reliability import TOLERANCE
from summeter.report.words import ALARM, STATUS, gloss
from summeter.runs.run import RunFolder
from summeter.text.language import language_of

TEMPLATES = Path(__file__).parent / "templates"
_READ = 20
"""Number of documents by which the language of the data is recognised."""
STYLE, SCRIPT = TEMPLATES / "report.css", TEMPLATES / "report.js"


def html(
    parts: Sequence[RunFolder | Study],
    out: str | Path,
    *,
    title: str | None = None,
    tolerance: float = TOLERANCE,
    calls: bool = False,
    language: str = ENGLISH.language,
) -> Path:
    """Write a report on runs and studies to `out`, and return the path.

    Studies are results of `sm.meta`; they may be given in any position, or without a run. If there are several runs,
    the first is compared with each of the others. `title` replaces the name of the data. If a judge rated an aspect
    both as RTS and as MCQ, the systems for which the Spearman correlation of the two ratings is below `tolerance` are
    flagged. With `calls`, the page contains the prompt and the raw reply behind each verdict; they are left out by
    default because pages are shared. `language` is that of the page: ar, de, en (the default), es, fr, ja or zh, or
    "auto" for the language of the documents, if it is one of these. Texts without a translation, such as the reasons of
    judges, are shown as they are. The file is written atomically. No model is called, and the runs are not changed.

    Raises UsageError if there is neither a run nor a study, or no page in the language, and InputError if the files of
    a run are damaged.

        html([run, sm.meta.correlate(run, gold)], "page.html")
    """
    target = Path(out)
    write_lines(target, render(page(parts, title=title, tolerance=tolerance), calls=calls, language=language))
    return target


def render(blocks: Page, *, calls: bool = False, language: str = ENGLISH.language) -> Iterator[str]:
    """Yield the HTML of a page in chunks, with prompts and replies if `calls` is True.

    Summaries are read while the page is written, so that they need not all fit into memory.
    """
    values = {"title": blocks.title, "page": blocks, "ALARM": ALARM, "STATUS": STATUS, "UNITS": UNITS}
    functions = {function.__name__: function for function in (agreement_name, digits, gloss, group_label, outcome)}
    if language == "auto":
        found = language_of("\n".join(document.text for document in blocks.items.documents[:_READ]))
        language = found if found in page_languages() else ENGLISH.language
    elif language not in page_languages():
        known = ", ".join(page_languages())
        raise UsageError(f"there are no pages in the language {language!r}; use one of {known}, or auto")
    embedded = embedded_json(blocks.items, calls=calls, language=language)
    return one_file(
        TEMPLATES, "report.html.j2", {**values, **functions}, style=STYLE, script=SCRIPT, embedded=embedded,
        language=language,
    )  # fmt: skip
