"""Cleaning of raw texts, with counts of the changes. Words are never changed."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence

from summeter.records import InstallError

PAGE = "\f"
"""Separator between the pages of a text."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MIN_PAGES = 3
"""Minimum number of pages with a line for it to be a header or footer, in addition to being on most pages."""


def decode(content: bytes) -> tuple[str, Counter[str]]:
    """Decode the content of a text file. Returns the text, and the number of changes of each type.

    The encoding is that of the byte order mark, or else UTF-8, or else Windows-1252, which is counted as a change.
    Raises ValueError with the reason if the content cannot be decoded.

    >>> decode("naïve".encode("cp1252"))
    ('naïve', Counter({'encoding windows-1252': 1}))
    """
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            try:
                return content.decode(encoding), Counter({"encoding " + encoding.removesuffix("-sig"): 1})
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"has the byte order mark of {encoding} but is not {encoding} text: {error.reason} at byte "
                    f"{error.start + 1}"
                ) from None
    if b"\0" in content:
        raise ValueError("is not text: it contains NUL bytes")
    try:
        return content.decode("utf-8"), Counter()
    except UnicodeDecodeError as error:
        try:
            return content.decode("cp1252"), Counter({"encoding windows-1252": 1})
        except UnicodeDecodeError:
            why = f"is neither UTF-8 nor Windows-1252 text (byte {error.start + 1}). Save it as UTF-8"
            raise ValueError(why) from None


def clean(text: str, *, pages: bool = False) -> tuple[str, Counter[str]]:
    """Clean a text. Returns the text, and the number of changes of each type.

    ftfy repairs characters (wrongly decoded text, control characters, ligatures). Soft hyphens and zero-width
    characters are removed, words that are hyphenated at line ends are joined, and whitespace is normalized. With
    `pages` (the text of a PDF, with form feeds between pages), headers, footers and page numbers are removed, and the
    lines of a paragraph are joined. Raises InstallError if the extra `sources` is not installed.

    >>> clean("It rained in the val-\\nley.")
    ('It rained in the valley.', Counter({'hyphens joined': 1}))
    """
    try:
        from ftfy import TextFixerConfig, fix_text
    except ImportError as error:
        raise InstallError.missing("ftfy (raw documents)", "sources") from error
    counts: Counter[str] = Counter()
    lines = re.split(r"\r\n|[\r\n\u2028\u2029]", text)
    config = TextFixerConfig(uncurl_quotes=False, unescape_html=False, fix_character_width=False, explain=False)
    repaired = [fix_text(line, config) for line in lines]
    counts["lines repaired"] = sum(old != new for old, new in zip(lines, repaired, strict=True))
    text, counts["invisible characters"] = _INVISIBLE.subn("", "\n".join(repaired))
    text = _BLANKS.sub(" ", text)
    if pages:
        text = _remove_margins(text.split(PAGE), counts)
    text = _join_hyphenated(text.replace(PAGE, "\n"), counts)
    if pages:
        text = _join_lines(text, counts)
    text, counts["repeated spaces"] = re.subn(r"(?<=\S) {2,}(?=\S)", " ", text)
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r" *\n *", "\n", text)).strip()
    return text, +counts


_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_BLANKS = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000\t\v]")
_NUMBER = re.compile(r"(?:page|p\.)?\s*[-–—(\[]*\s*\d{1,4}\s*[-–—)\]]*(?:\s*(?:of|/)\s*\d{1,4})?", re.IGNORECASE)


def _remove_margins(pages: Sequence[str], counts: Counter[str]) -> str:
    """Join the pages without headers, footers and page numbers.

    Headers and footers are lines that start or end most pages, ignoring digits. A new page starts a new paragraph
    unless a sentence continues on it.
    """
    filled = [page.strip().split("\n") for page in pages if page.strip()]
    margins = Counter(mark for lines in filled for mark in {_margin(lines[0], 0), _margin(lines[-1], -1)})
    often = max(_MIN_PAGES, len(filled) // 2 + 1)
    text = ""
    for lines in filled:
        for end in (0, -1):
            while lines and (_NUMBER.fullmatch(lines[end].strip()) or margins[_margin(lines[end], end)] >= often):
                del lines[end]
                counts["header and footer lines"] += 1
        page = "\n".join(lines).strip("\n")
        continues = text and not re.search(r"[.!?:;\"”')\]]\s*$", text)
        text += ("\n" if continues else "\n\n") + page if text and page else page
    return text


def _margin(line: str, end: int) -> tuple[int, str]:
    return end, re.sub(r"\d+", "#", line.strip())


_DIVIDED = re.compile(r"(?<![^\W\d_])(?P<head>[^\W\d_]{2,})[-\u2010]\n[ ]*(?P<tail>[^\W\d_]{2,})")


def _join_hyphenated(text: str, counts: Counter[str]) -> str:
    """Join words that are hyphenated at line ends.

    The hyphen is kept if the hyphenated word occurs elsewhere in the text.
    """
    known = set(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text.casefold()))

    def join(match: re.Match[str]) -> str:
        head, tail = match["head"], match["tail"]
        if not tail[0].islower():
            return f"{head}-{tail}" if tail[0].isupper() and head[0].isupper() else match[0]
        counts["hyphens joined"] += 1
        whole, hyphened = (f"{head}{between}{tail}".casefold() in known for between in ("", "-"))
        return f"{head}-{tail}" if hyphened and not whole else head + tail

    return _DIVIDED.sub(join, text)


def _join_lines(text: str, counts: Counter[str]) -> str:
    """Join the lines of each paragraph.

    A line that ends a sentence and is much shorter than usual ends the paragraph.
    """
    paragraphs = re.split(r"\n[ ]*\n", text)
    joined = []
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.split("\n") if line.strip()]
        width = max(map(len, lines), default=0)
        whole = ""
        for index, line in enumerate(lines):
            whole += line
            if index + 1 == len(lines):
                break
            ends = len(line) < 0.7 * width and re.search(r"[.!?:]['\"”’)]*$", line)
            listed = re.match(r"[•‣▪–*-] |\(?\d{1,2}[.)] ", lines[index + 1])
            counts["lines joined"] += not (ends or listed)
            whole += "\n" if ends or listed else " "
        joined.append(whole)
    return "\n\n".join(filter(None, joined))
