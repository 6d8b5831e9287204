"""Find the line breaks, and the ends of list items within a line, that end a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from summeter.text import abbreviations as abbr

# Stops that always end a sentence, and stops that depend on the context.
STRONG = "。！？｡．؟۔।॥።፧။៕។։"
WEAK = ".!?…‼⁇⁈⁉"
STOPS = frozenset({"", *WEAK, *STRONG})  # "": a line that contains only closing marks counts as ended
OPENERS = "\"'“‘„«‹`(\\[{¿¡「『（【《〈*_#"
NEWLINE = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
BREAK = re.compile(rf"\r\n|[{NEWLINE}]")
SPACE = re.compile(r"\s*")
OPENING = re.compile(rf"[{OPENERS}]*")
_BULLET = re.compile(r"(?:[-*+•⁃–—◦▪·‣●○■]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})[.)])[^\S\n]")
_INLINE_BULLETS = re.compile(r"^[^\S\n]*[•⁃▪‣●■].*?[^\S\n][•⁃▪‣●■]", re.MULTILINE)
_INLINE_BULLET = re.compile(r"(?<=[^\S\n])(?=[•⁃▪‣●■])")
_INLINE_NUMBERS = {
    closing: (
        re.compile(rf"^[^\S\n]*\(?1{closing}[^\S\n].*?[^\S\n]\(?2{closing}[^\S\n]", re.MULTILINE),
        re.compile(rf"(?<=[^\S\n])(?=\(?(\d{{1,2}}){closing}[^\S\n])"),
    )
    for closing in (r"[.)]+", r"\.?\)")
}
_SPEAKER = re.compile(r"(?:[^\W_a-z][\w.'’-]*[^\S\n]?){1,3}:")
_LABEL = re.compile(r"[\w.#@-]{1,24}:\s")


def line_ends(text: str) -> list[int]:
    """Return the offsets of the line breaks that end a sentence."""
    starts: list[int] = []
    start = 0
    after = -1
    for match in BREAK.finditer(text):
        if match.start() < after:
            continue  # another line break of the same white space
        after = past(SPACE, text, match.start())
        breaks = BREAK.findall(text, match.start(), after)
        if len(breaks) > 1 or not _runs_on(text, start, match.start(), after):
            starts.append(match.start())
        start = after
    return starts


def item_ends(text: str, language: str) -> Iterator[int]:
    """Yield the offsets at which the items of lists within a line end.

    Such lists are "• a • b", "1) a 2) b" and, in English only, "1. a 2. b". In other languages, a number with a full
    stop may be an ordinal.
    """
    for line in _INLINE_BULLETS.finditer(text):
        yield from (item.start() for item in _INLINE_BULLET.finditer(text, line.start(), _line_end(text, line.end())))
    lines, items = _INLINE_NUMBERS[r"[.)]+" if language == "en" else r"\.?\)"]
    for line in lines.finditer(text):
        number = 2
        for item in items.finditer(text, line.start(), _line_end(text, line.end())):
            if int(item[1]) == number:
                number += 1
                yield item.start()


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _runs_on(text: str, start: int, end: int, after: int) -> bool:
    """Return whether the line `text[start:end]` continues in the line at `after`.

    The line continues if a hard line break divides a sentence, or if the line is only the name of a speaker ("Anna:").
    """
    first = past(OPENING, text, after)
    if first >= len(text) or _BULLET.match(text, after):
        return False
    tail = text[max(start, end - 32) : end].rstrip()
    last = tail.split()[-1].lower() if tail.split() else ""
    if last in abbr.UNFINISHED or _SPEAKER.fullmatch(text[start:end].strip() if end - start < 48 else ""):
        return True
    if not tail or _LABEL.match(text, after) or tail.rstrip("\"'”’)]»")[-1:] in STOPS:
        return False
    return tail[-1] == "," or text[first].islower()


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the end of the match of a pattern at `at`, or `at` itself if there is no match."""
    match = pattern.match(text, at)
    return match.end() if match else at
