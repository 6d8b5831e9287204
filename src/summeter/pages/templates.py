"""Jinja templates, and whole pages in one file.

A page in one file fetches nothing: style and script are inline and named by hash in a content security policy that
forbids everything else. Jinja escapes every text, or the text stands in embedded JSON that the script reads.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter._version import __version__
from summeter.pages.figures import across, shade
from summeter.pages.numbers import count, interval, number, ordinal, percent
from summeter.tables import Table, p_value

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

COMPONENTS = Path(__file__).parent / "templates"
"""The templates, style and script that all pages share."""
ICON = (
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnIHZpZXdCb3g9JzAgMCAxNiAxNic+PH"
    "JlY3Qgd2lkdGg9JzE2JyBoZWlnaHQ9JzE2JyByeD0nNCcgZmlsbD0nIzFiNWU4YScvPjxwYXRoIGQ9J00zIDVoMTBNMyA4aDEwTTMgMTFoNS"
    "cgc3Ryb2tlPScjZmZmJyBzdHJva2Utd2lkdGg9JzEuNicvPjwvc3ZnPg=="
)
# Pieces of text that are written together: those of some ten summaries.
AT_A_TIME = 50
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@cache
def environment(folder: Path) -> Environment:
    """The templates of `folder`, and those that all pages share.

    Texts are escaped and an unknown name is an error. Templates may call the functions of `numbers`, `across`,
    `shade` and `p_value`, and write a `Table` by the filter `table`.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([folder, COMPONENTS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (number, interval, count, ordinal, percent, across, shade, p_value)
    made.globals |= {function.__name__: function for function in functions}
    made.globals["icon"] = ICON
    made.filters["table"] = _table
    return made


def _table(table: Table, *, bare: bool = False) -> Markup:
    """The table as HTML; `bare` without its title and notes."""
    from markupsafe import Markup

    shown = replace(table, title=None, notes=()) if bare else table
    return Markup(shown.html())  # noqa: S704 - its own escaping


def one_file(
    folder: Path,
    template: str,
    values: Mapping[str, Any],
    *,
    style: str = "",
    script: str = "",
    embedded: Iterable[tuple[str, str]] = (),
) -> Iterator[str]:
    """Fill a template of `folder` that extends `shell.html.j2`: a page as one file, some lines at a time.

    `style` and `script` are files of `folder` that follow those of all pages. `embedded` are (id, JSON as
    `script_json` writes it) for the script. Control characters are replaced.
    """
    styles = _joined(COMPONENTS / "base.css", COMPONENTS / "page.css", folder / style if style else None)
    scripts = _joined(COMPONENTS / "page.js", folder / script if script else None)
    inline = {"style-src": _hash(styles), "script-src": _hash(scripts), "img-src": "data:"}
    shell = {"version": __version__, "policy": policy(inline), "style": styles, "script": scripts}
    pieces = environment(folder).get_template(template).generate({**values, **shell, "embedded": embedded})
    buffer: list[str] = []
    for piece in pieces:
        buffer.append(piece)
        if piece.endswith("\n") and len(buffer) >= AT_A_TIME:
            yield without_controls("".join(buffer).removesuffix("\n"))
            buffer.clear()
    yield without_controls("".join(buffer))


def without_controls(text: str) -> str:
    """Replace what has no place in HTML, escaped or not: control characters and halves of surrogate pairs."""
    return _CONTROL.sub("\ufffd", text)


@cache
def _joined(*files: Path | None) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in files if file)


def policy(allowed: Mapping[str, str]) -> str:
    """A content security policy: nothing from anywhere but what is `allowed`, and no markup from a script's text.

    >>> policy({"script-src": "'self'", "form-action": "'self'"})
    "default-src 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; \
trusted-types 'none'; script-src 'self'"
    """
    none = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    typed = {"require-trusted-types-for": "'script'", "trusted-types": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in {**none, **typed, **allowed}.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
