"""One self-contained HTML file from runs and studies. Draws blocks; computes nothing but where ink goes.

Nothing on the page is fetched: style and script are inline and named by hash in a content security policy
that forbids everything else. Every text is escaped by Jinja2 or stands in embedded JSON that the script reads; the
script builds text nodes only. Equal runs give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter.data.atomic import write_lines
from summeter.meta.results import Study
from summeter.report.blocks import Page
from summeter.report.build import page
from summeter.report.embedded import embedded_json
from summeter.report.reliability import TOLERANCE
from summeter.report.studies import digits
from summeter.report.words import STATUS, count, interval, number, ordinal
from summeter.runs.run import RunFolder
from summeter.tables import p_value

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
# Pieces of text that are written together: those of some ten summaries.
AT_A_TIME = 50
# Width of the little interval drawings, in their own units.
DRAWN = 100.0
MOST_DIGITS = 6
# Control characters have no place in HTML, escaped or not.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def html(
    parts: Sequence[RunFolder | Study], out: str | Path, *, title: str | None = None, tolerance: float = TOLERANCE
) -> Path:
    """Write the report of runs and studies (what `sm.meta` returns) to `out`, whole or not at all; returns its path.

    With two or more runs the first is the one that the others are compared with; studies may stand anywhere among
    them, or alone. `title` stands in place of the name of the data. Where a judge rated an aspect both as RTS and as
    MCQ, systems on which the two correlate (Spearman) less than `tolerance` are flagged. No model is asked and nothing
    of the runs is changed.

    Raises UsageError without a run or a study, InputError where a run's files are damaged.

        html([run, sm.meta.correlate(run, gold)], "page.html")
    """
    target = Path(out)
    write_lines(target, render(page(parts, title=title, tolerance=tolerance)))
    return target


def render(blocks: Page) -> Iterator[str]:
    """The HTML of a page's blocks, some lines at a time: the summaries are read while they are written."""
    return filled("report.html.j2", blocks, embedded_json(blocks.items))


def filled(template: str, page: Any, embedded: Iterable[tuple[str, str]] = ()) -> Iterator[str]:
    """A template that extends `shell.html.j2`, filled with what it calls `page`; `embedded` are (id, JSON) for the
    script. Some lines at a time."""
    style, script = _asset("report.css"), _asset("report.js")
    pieces = (
        _environment()
        .get_template(template)
        .generate(page=page, style=style, script=script, policy=policy(style, script), embedded=embedded)
    )
    buffer: list[str] = []
    for piece in pieces:
        buffer.append(piece)
        if piece.endswith("\n") and len(buffer) >= AT_A_TIME:
            yield _CONTROL.sub("\ufffd", "".join(buffer).removesuffix("\n"))
            buffer.clear()
    yield _CONTROL.sub("\ufffd", "".join(buffer))


def policy(style: str, script: str) -> str:
    """The content security policy: this style, this script, and nothing else from anywhere."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tools: dict[str, Any] = {
        "number": number,
        "interval": interval,
        "count": count,
        "ordinal": ordinal,
        "across": across,
        "percent": percent,
        "coverage_words": coverage_words,
        "show_p": p_value,
        "digits": digits,
    }
    environment.globals |= {**tools, "own": Markup, "STATUS": STATUS}
    return environment


def across(value: float, low: float, high: float) -> str:
    """Where a value lies on a drawing of 100 units whose ends are `low` and `high`; in its middle where floats of that
    size do not tell these apart, or their difference is none.

    >>> across(3, 1, 5), across(1e308, 1e308, 1e308 + 0.5)
    ('50.0', '50.0')
    """
    width = high - low
    share = (value - low) / width if 0 < width < math.inf else 0.5
    return f"{share * DRAWN:.1f}"


def percent(share: float) -> str:
    """A share for reading; what is not nothing and not everything never reads as if it were.

    >>> percent(0.9996), percent(0.5), percent(1.0), percent(0.0004)
    ('99.96 %', '50 %', '100 %', '0.04 %')
    """
    for decimals in range(1, MOST_DIGITS + 1):
        text = f"{share * 100:.{decimals}f}"
        if share in (0, 1) or float(text) not in (0, 100):
            return f"{text.removesuffix('.0')} %"
    return "less than a millionth" if share < 0.5 else "all but a millionth"


def coverage_words(value: float | None) -> str:
    """Coverage, or why there is none."""
    return "nothing to judge" if value is None else percent(value)
