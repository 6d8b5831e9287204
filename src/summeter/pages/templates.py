"""Jinja templates and self-contained pages.

A self-contained page loads no other resources: its style and script are inline, and a content security policy allows
only their hashes. Texts are escaped by Jinja or embedded as JSON for the script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from summeter._version import __version__
from summeter.pages.embedded import isolated, script_json, without_controls
from summeter.pages.figures import shade, stack, whisker
from summeter.pages.language import ENGLISH, page_language
from summeter.pages.numbers import count, interval, number, ordinal, percent, signed
from summeter.records import Phrase
from summeter.tables import Table, p_value

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

COMPONENTS = Path(__file__).parent / "templates"
"""Folder with the templates, styles and scripts that all pages share."""
ICON = (
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnIHZpZXdCb3g9JzAgMCAxNiAxNic+PH"
    "JlY3Qgd2lkdGg9JzE2JyBoZWlnaHQ9JzE2JyByeD0nNCcgZmlsbD0nIzFiNWU4YScvPjxwYXRoIGQ9J00zIDVoMTBNMyA4aDEwTTMgMTFoNS"
    "cgc3Ryb2tlPScjZmZmJyBzdHJva2Utd2lkdGg9JzEuNicvPjwvc3ZnPg=="
)
# Number of rendered pieces that are joined into one chunk, about as many as ten summaries have
PIECES_PER_CHUNK = 50


# A text of a script: `t("key")`
_TEXT_OF_SCRIPT = re.compile(r'\bt\("((?:[^"\\]|\\.)*)"')


@cache
def environment(folder: Path, language: str = ENGLISH.language) -> Environment:
    """Return a Jinja environment for the templates of a folder and the shared templates, and a language.

    Texts are escaped, and undefined variables are errors. `t(key, name=value)` returns a text in the language of the
    page, by its English text, which may contain markup. A `Phrase` is translated wherever it is shown. Templates can
    also call `bdi`, `p_value`, `shade`, `stack`, `whisker` and the functions of `pages.numbers`. They render a `Table`
    with the filter `table`, and link to it as a CSV file with the filter `csv_link`. The filter `sentence` renders a
    text that was made by code, and marks it as English if it has no translation; `word` leaves it unmarked.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    words = page_language(language)

    def t(key: str, **values: object) -> Markup:
        shown = {name: words.shown(value) for name, value in values.items()}
        return Markup(words.form(key, values.get("n"))).format(**shown)  # noqa: S704 - keys and translations are ours

    def sentence(text: str) -> str:
        said = words.phrase(text)
        if said is not None:
            return isolated(said) if words.direction == "ltr" else said
        return Markup('<span lang="en" dir="ltr">{}</span>').format(isolated(text))

    def table(shown: Table, *, bare: bool = False, most: int | None = None) -> Markup:
        """Return a table, or its first `most` rows, as HTML; with `bare`, title and notes are left out."""
        shown = replace(shown, title=None, notes=()) if bare else shown
        shown = replace(shown, rows=shown.rows[:most])
        return Markup(shown.html())  # noqa: S704 - Table.html escapes its texts

    def ltr(write: Callable[..., str]) -> Callable[..., str]:
        """Return a function that writes numbers from left to right also between words of a right-to-left script."""

        @wraps(write)
        def isolated_number(*values: Any) -> str:
            text = write(*values)
            return f"\u2066{text}\u2069" if text and words.direction == "rtl" else text

        return isolated_number

    def bdi(text: object) -> Markup:
        return Markup("<bdi>{}</bdi>").format(words.shown(text) if isinstance(text, Phrase) else text)

    jinja = Environment(
        loader=FileSystemLoader([folder, COMPONENTS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: words.shown(value) if isinstance(value, Phrase) else value,
    )
    functions = (
        number,
        ltr(interval),
        count,
        ordinal,
        ltr(percent),
        ltr(signed),
        shade,
        stack,
        whisker,
        p_value,
        t,
        bdi,
    )
    jinja.globals |= {function.__name__: function for function in functions}
    jinja.globals |= {"icon": ICON, "language": words}
    jinja.filters |= {"table": table, "csv_link": _csv_link, "sentence": sentence, "word": words.word}
    return jinja


def _csv_link(table: Table) -> str:
    """Return a data URI with the table as CSV."""
    return f"data:text/csv;charset=utf-8,{quote(without_controls(table.csv()), safe=' ,()')}"


def one_file(
    folder: Path,
    template: str,
    values: Mapping[str, Any],
    *,
    style: Path | None = None,
    script: Path | None = None,
    embedded: Iterable[tuple[str, str]] = (),
    forms: str = "'none'",
    language: str = ENGLISH.language,
) -> Iterator[str]:
    """Render a template that extends `shell.html.j2` as a self-contained page.

    The page is yielded in chunks. `style` and `script` are appended to the shared style and script. `embedded` contains
    data for the script, as pairs of an element id and JSON (see `script_json`). `forms` are the sources to which forms
    may be sent. `language` is that of the page (see `page_languages`). Control characters are replaced.
    """
    shell = shell_values(style, script, forms)
    strings = page_language(language).strings
    texts = {key: strings[key] for key in _TEXT_OF_SCRIPT.findall(shell["script"]) if key in strings}
    embedded = chain([("texts", script_json(texts))] if texts else [], embedded)
    pieces = environment(folder, language).get_template(template).generate({**values, **shell, "embedded": embedded})
    buffer: list[str] = []
    for piece in pieces:
        buffer.append(piece)
        if piece.endswith("\n") and len(buffer) >= PIECES_PER_CHUNK:
            yield without_controls("".join(buffer).removesuffix("\n"))
            buffer.clear()
    yield without_controls("".join(buffer))


def shell_values(style: Path | None, script: Path | None, forms: str = "'none'") -> dict[str, str]:
    """Return the variables of `shell.html.j2`, of which `policy` is the content security policy of the page."""
    styles = _joined(COMPONENTS / "base.css", COMPONENTS / "page.css", style)
    scripts = _joined(COMPONENTS / "page.js", script)
    inline = {"style-src": _hash(styles), "script-src": _hash(scripts), "img-src": "data:", "form-action": forms}
    return {"version": __version__, "policy": policy(inline), "style": styles, "script": scripts}


@cache
def _joined(*files: Path | None) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in files if file)


def policy(allowed: Mapping[str, str]) -> str:
    """Return a content security policy that forbids everything except `allowed`.

    The policy also requires trusted types, so that scripts cannot insert markup.

    >>> policy({"script-src": "'self'", "form-action": "'self'"})
    "default-src 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; \
trusted-types 'none'; script-src 'self'"
    """
    none = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    typed = {"require-trusted-types-for": "'script'", "trusted-types": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in {**none, **typed, **allowed}.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
