"""Cleaning a raw text: what is done, and how often, so that a manifest can say so. Nothing is reworded."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

PAGE = "\f"
"""Divides pages in a text; PDF pages are joined by it."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EDGE_LINES, _LONG_PAGE = 2, 8
"""So many lines at either end of a page may be a header or footer; of a page of less than so many lines, one."""
_LEAST_PAGES = 3
"""A line is a header only where it stands on so many pages, and on most of them."""


class Cleaned(NamedTuple):
    """A text after cleaning, and how often each thing was done to it."""

    text: str
    counts: Counter[str]


def decode(content: bytes) -> Cleaned:
    """The text of a file: by its byte order mark, else UTF-8, else Windows-1252 (counted).

    Raises ValueError, which says why, for what is no text in any of them.

    >>> decode("naïve".encode("cp1252"))
    Cleaned(text='naïve', counts=Counter({'encoding windows-1252': 1}))
    """
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            try:
                return Cleaned(content.decode(encoding), Counter({"encoding " + encoding.removesuffix("-sig"): 1}))
            except UnicodeDecodeError as error:
                raise ValueError(f"begins as {encoding} and is not: {error.reason} at byte {error.start + 1}") from None
    if b"\0" in content:
        raise ValueError("is no text: it holds zero bytes")
    try:
        return Cleaned(content.decode("utf-8"), Counter())
    except UnicodeDecodeError as error:
        try:
            return Cleaned(content.decode("cp1252"), Counter({"encoding windows-1252": 1}))
        except UnicodeDecodeError:
            why = f"is neither UTF-8 nor Windows-1252 text (byte {error.start + 1}); save it as UTF-8"
            raise ValueError(why) from None


def clean(text: str, *, pages: bool = False, boilerplate: bool = True) -> Cleaned:
    """The text with what is no part of it taken out: see the keys of `counts`.

    In this order: text that was decoded wrongly ("Ã©") is put right; control characters, soft hyphens and zero-width
    characters go; ligatures are spelt out; headers, footers and page numbers go (of a text in pages, divided by form
    feeds); words that a line end divides are joined; lines that belong to a web page, not to its text ("Advertisement")
    go (`boilerplate`); blanks are evened out. `pages` also joins the lines of a paragraph, as PDF needs it.

    >>> clean("It rained in the val-\\nley.\\n\\nAdvertisement")
    Cleaned(text='It rained in the valley.', counts=Counter({'hyphens joined': 1, 'boilerplate lines': 1}))
    """
    counts: Counter[str] = Counter()
    text = _mended(text, counts)
    text = _plain(text, counts)
    if PAGE in text:
        text = _without_margins(text.split(PAGE), counts)
    text = _joined_words(text, counts)
    if boilerplate:
        text = _without_boilerplate(text, counts)
    if pages:
        text = _joined_lines(text, counts)
    return Cleaned(_evened(text, counts), +counts)


# ---- characters ----

_BROKEN = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122]+"
)
"""What UTF-8 looks like where it was read as Windows-1252."""


def _mended(text: str, counts: Counter[str]) -> str:
    def mend(match: re.Match[str]) -> str:
        raw = bytearray()
        for char in match[0]:
            try:
                raw += char.encode("cp1252")
            except UnicodeEncodeError:
                if ord(char) > 0xFF:
                    return match[0]
                raw.append(ord(char))
        try:
            mended = raw.decode("utf-8")
        except UnicodeDecodeError:
            return match[0]
        counts["wrongly decoded"] += 1
        return mended

    return _BROKEN.sub(mend, text)


_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_BLANKS = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000\t\v]")


def _plain(text: str, counts: Counter[str]) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    text, counts["invisible characters"] = _INVISIBLE.subn("", text)
    text = _BLANKS.sub(" ", text)
    kept = [char for char in text if char in "\n\f" or unicodedata.category(char) not in ("Cc", "Cs", "Co")]
    counts["control characters"] = len(text) - len(kept)
    counts["ligatures"] = sum(char in _LIGATURES for char in kept)
    return "".join(_LIGATURES.get(char, char) for char in kept)


def _evened(text: str, counts: Counter[str]) -> str:
    text, counts["blanks evened"] = re.subn(r"(?<=\S) {2,}(?=\S)", " ", text)
    text = re.sub(r"[ \f]*\n[ \f]*", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


# ---- pages ----

_NUMBER = re.compile(
    r"(?:page|p\.|seite)?\s*[-–—(\[]*\s*\d{1,4}\s*[-–—)\]]*(?:\s*(?:of|/|von)\s*\d{1,4})?", re.IGNORECASE
)


def _without_margins(pages: Sequence[str], counts: Counter[str]) -> str:
    """The pages joined, without the lines that stand at the same end of most of them (numbers in them may differ) and
    without page numbers."""
    filled = [page.split("\n") for page in pages if page.strip()]
    seen: Counter[tuple[str, str]] = Counter()
    for page in filled:
        seen.update({place for place, _ in _margins(page)})
    often = max(_LEAST_PAGES, len(filled) // 2 + 1)
    joined = []
    for page in filled:
        gone = {index for place, index in _margins(page) if seen[place] >= often}
        gone |= {index for _, index in _edges(page) if _NUMBER.fullmatch(page[index].strip())}
        counts["header and footer lines"] += len(gone)
        joined.append("\n".join(line for index, line in enumerate(page) if index not in gone).strip("\n"))
    return _bridged(joined)


def _edges(page: Sequence[str]) -> list[tuple[str, int]]:
    filled = [index for index, line in enumerate(page) if line.strip()]
    most = _EDGE_LINES if len(filled) >= _LONG_PAGE else 1
    return [("top", index) for index in filled[:most]] + [("end", index) for index in filled[-most:]]


def _margins(page: Sequence[str]) -> list[tuple[tuple[str, str], int]]:
    return [((end, re.sub(r"\d+", "#", page[index].strip())), index) for end, index in _edges(page)]


def _bridged(pages: Sequence[str]) -> str:
    """Pages joined: a sentence that goes on over the page goes on, else a new paragraph begins."""
    text = ""
    for page in filter(None, pages):
        goes_on = text and not re.search(r"[.!?:;\"”')\]]\s*$", text)
        text += ("\n" if goes_on else "\n\n") + page if text else page
    return text


# ---- lines ----

_DIVIDED = re.compile(r"(?<![^\W\d_])(?P<head>[^\W\d_]{2,})[-\u2010]\n[ ]*(?P<tail>[^\W\d_]{2,})")


def _joined_words(text: str, counts: Counter[str]) -> str:
    """Words that a hyphen and a line end divide: joined, but for those that the text also writes with a hyphen."""
    known = set(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text.casefold()))

    def join(match: re.Match[str]) -> str:
        head, tail = match["head"], match["tail"]
        if not tail[0].islower():
            return f"{head}-{tail}" if tail[0].isupper() and head[0].isupper() else match[0]
        counts["hyphens joined"] += 1
        whole, hyphened = (f"{head}{between}{tail}".casefold() in known for between in ("", "-"))
        return f"{head}-{tail}" if hyphened and not whole else head + tail

    return _DIVIDED.sub(join, text)


_BOILERPLATE = re.compile(
    r"""\W*(?:
        advertisement|story\ continues\ below(?:\ advertisement)?|scroll\ down\ for\ (?:more|video)
        |(?:read|see|watch|related)\ ?(?:more|also|next|stories|articles|coverage)?:?(?:\ (?:here|on\ this))?
        |(?:click|tap)\ here(?:\ (?:to|for)\ .{1,80})?
        |share(?:\ (?:this|on|via|with))?(?:\ (?:article|story|page|facebook|twitter|x|email|whatsapp|linkedin|link))?
        |(?:follow|like|find)\ us\ on\ .{1,40}|subscribe(?:\ (?:now|today|to)\b.{0,80})?|sign\ up\ (?:for|to)\b.{0,80}
        |(?:copyright|©|\(c\))\W.{0,120}|.{0,80}all\ rights\ reserved.{0,40}
        |(?:we|this\ (?:site|website|page))\ uses?\ cookies\b.{0,120}|accept\ (?:all\ )?cookies
        |cookie\ (?:policy|settings)
        |privacy\ policy|terms\ (?:of\ (?:use|service)|and\ conditions)|skip\ to\ (?:main\ )?content|back\ to\ top
        |print\ this(?:\ page)?|e-?mail\ this(?:\ page)?|leave\ a\ (?:comment|reply)|log\ ?in|sign\ in|home|menu
    )\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Whole lines of a web page that are no part of its text."""


def _without_boilerplate(text: str, counts: Counter[str]) -> str:
    lines = text.split("\n")
    kept = [line for line in lines if not (line.strip() and len(line) <= 200 and _BOILERPLATE.fullmatch(line))]
    counts["boilerplate lines"] = len(lines) - len(kept)
    return "\n".join(kept)


def _joined_lines(text: str, counts: Counter[str]) -> str:
    """The lines of a paragraph as one; a line that ends its sentence well before the usual width ends the paragraph."""
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
