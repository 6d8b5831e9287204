"""Split sentences by fast, deterministic rules, whose version `SPLITTER` is in signatures.

English is split by these rules alone. For other languages, `sentencex` contributes its lists of abbreviations: a full
stop ends a sentence only if the rules and sentencex agree. (The offsets of sentencex are not used, because version
1.0.32 panics on a no-break space before an initial and counts offsets in different units.)

The F1 of English sentence spans is, for these rules and sentencex 1.0.32 respectively, .996 and .996 on QAGS-CNN, .994
and .953 on REALSumm, 1.000 and .962 on the samples of FineSurE, and 1.000 and .722 on the cases of
`tests/text/test_split.py`. The rules take 8 to 9 ms for 1,000 sentences, and sentencex takes 1 to 1.5 ms.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from summeter.text import abbreviations as abbr
from summeter.text.fold import Fold, Folded, Offsets
from summeter.text.lines import BREAK, NEWLINE, OPENING, SPACE, STRONG, WEAK, item_ends, line_ends, past

SPLITTER: Final = "rules-1"
"""Version of the rules. It is part of signatures, so a change in behaviour requires a new version.

For languages other than English, the behaviour also depends on the installed version of sentencex.
"""


class SentenceNotFoundError(ValueError):
    """A given sentence does not occur in the text after the previous sentences."""

    def __init__(self, index: int, sentence: str) -> None:
        self.index = index
        self.sentence = sentence
        what = "is empty" if not sentence.strip() else "does not occur in the text after the previous sentence"
        super().__init__(f"sentence {index} {what}: {sentence!r}")


_CLOSERS = "\"'”’»›)\\]}」』）】》〉〕］｝*_"
_LETTER = r"[^\W\d_]"

_STOP = re.compile(
    rf"(?P<run>\.(?:[ ]\.)+[{WEAK}]*|[{WEAK}{STRONG}]+)"
    rf"(?P<close>[{_CLOSERS}]*(?:[“«](?=\s|$)|[ \u00a0\u202f]»(?!\w))?(?:\[\d{{1,3}}\])*)"
)
_MARKER = re.compile(r"(?:[•⁃▪‣●■]\s*)?\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]+")
_OPENING_MARKS = "\"'“‘„«([{`*_"
_FIRST_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)?")
_ACRONYM = re.compile(rf"{_LETTER}(?:\.{_LETTER})+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")
_HIRAGANA = re.compile(r"[\u3040-\u309f]")
_SPACED_CLOSER = re.compile(r"[ \t]+(''|[”’»)\]]|-rrb-|-RRB-|[\"'])(?!\S)")
_LONE_QUOTE = re.compile(r"(?<!\S)['`](?!\S)")
_SAID = re.compile(rf"(?:(?:he|she|they|we|it|i|mr\.?|mrs\.?|ms\.?|{_LETTER}+) ){{0,2}}(?:{abbr.SPEECH})\b")
_NAME_SAID = re.compile(rf"(?:[A-Z][\w.'’-]* ){{1,3}}(?:{abbr.SPEECH})\b")
# Emoji and emoticons after a stop belong to the sentence before them.
_AFTERTHOUGHT = re.compile(
    "(?:[ \t]*(?:[\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f000-\U0001faff]+|[:;]-?[)(DPp])(?!\\S))*"
)
_LINKED = re.compile(r"[/@_\\=]|www\.|\w\.\w+\.\w")


def split(text: str, language: str = "en") -> tuple[Offsets, ...]:
    """Return the sentence spans of `text`, in order.

    The spans do not overlap, do not start or end with white space, and cover all other characters. `language` is an ISO
    639-1 code ("en-GB" is treated as "en"). The running time is linear in the length of the text. Marks without a word
    ("***", an emoji) belong to the previous sentence.

    >>> [text[a:b] for text in ["Dr. No left. Did he? (Yes.)"] for a, b in split(text)]
    ['Dr. No left.', 'Did he?', '(Yes.)']
    """
    spans: list[Offsets] = []
    start, has_word = 0, False  # whether the last span contains a word
    for end in _ends(text, language.lower().partition("-")[0]):
        if end > start:
            has_word = _append(spans, text, start, end, has_word=has_word)
            start = end
    return tuple(spans)


def locate(text: str, sentences: Sequence[str]) -> tuple[Offsets, ...]:
    """Return the spans of given sentences, which must occur in `text` in this order.

    The sentences are searched for at the strictest level at which all of them are found. The levels are: exact; with
    Unicode NFKC and collapsed white space; also ignoring letter case and variants of quotation marks and dashes; also
    ignoring white space (so that "left ." matches "left.").

    Raises SentenceNotFoundError (a ValueError) with the first sentence that is not found at the last level.

    >>> locate("He left.  She\\nstayed.", ["He left.", "She stayed."])
    (Offsets(start=0, end=8), Offsets(start=10, end=21))
    """
    error: SentenceNotFoundError | None = None
    for level in (None, Fold.SPACE, Fold.FORM, Fold.BARE):
        folded, cursor, spans = Folded(text, level), 0, list[Offsets]()
        for index, sentence in enumerate(sentences):
            needle = Folded(sentence, level).text.strip()
            at = folded.find(needle, cursor) if needle else None
            if at is None:
                error = SentenceNotFoundError(index, sentence)
                break
            cursor = at + len(needle)
            spans.append(folded.span(at, cursor))
        else:
            return tuple(spans)
    assert error is not None  # noqa: S101 - the loop ran
    raise error


def _append(spans: list[Offsets], text: str, start: int, end: int, *, has_word: bool) -> bool:
    """Add the text from start to end, and return whether the last span contains a word.

    If the text or the last span contains no word, the text is joined to the last span.
    """
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    if left >= right:
        return has_word
    word = text[left].isalnum() or any(map(str.isalnum, text[left:right]))
    if spans and not (word and has_word):
        spans[-1] = Offsets(spans[-1].start, right)
        return word or has_word
    spans.append(Offsets(left, right))
    return word


def _ends(text: str, language: str) -> Iterator[int]:
    """Yield the offsets of sentence ends, in ascending order, including the end of the text."""
    stops = _Stops(text, language)
    lines = sorted({*line_ends(text), *item_ends(text, language)}, reverse=True)
    start = 0
    for match in _STOP.finditer(text):
        while lines and lines[-1] <= match.start():
            start = lines.pop()
            yield start
        if match.start() < start:
            continue  # a closing mark that belongs to the previous sentence
        end = stops.end(match, start)
        if end is not None:
            start = end
            yield end
    while lines:
        yield lines.pop()
    yield len(text)


class _Stops:
    """Decide for each run of stops whether it ends a sentence, and where."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.sentencex_ends = None if language == "en" or "." not in text else _sentencex_ends(text, language)
        self._marks: dict[str, list[int]] = {}

    def end(self, match: re.Match[str], start: int) -> int | None:
        """Return the end of the sentence that began at or after `start`, or None if it continues."""
        end = match.end()
        after = self._after(end)
        if after is None:
            return None
        if not match["run"].isascii() and any(char in STRONG for char in match["run"]):
            return end if self._strong(match, after) else None
        if after == end:
            return end if self._glued(match) else None
        if match.start() > start and self.text[match.start() - 1].isspace():
            return self._tokenised(match)
        if end - start < 24 and _MARKER.fullmatch(self.text[start:end].lstrip()):
            return None  # "2." begins an item of a list
        return past(_AFTERTHOUGHT, self.text, end) if self._spaced(match, after) else None

    def _after(self, end: int) -> int | None:
        """Return the offset of the text after a stop.

        Returns None at the end of the text, or if a line break ends the sentence.
        """
        if self.text[end : end + 1] == " " and not self.text[end + 1 : end + 2].isspace():
            after = end + 1
        else:
            after = past(SPACE, self.text, end)
            if after - end > 1 or self.text[end : end + 1] in NEWLINE:
                after = -1 if BREAK.search(self.text, end, after) else after
        return after if 0 <= after < len(self.text) else None

    def _strong(self, match: re.Match[str], after: int) -> bool:
        text, end = self.text, match.end()
        following = text[after]
        if after > end:
            return True
        if following in "，、,;；:：" or (following.isdigit() and match["run"] == "．"):
            return False
        return not (match["close"] and _HIRAGANA.match(following))

    def _glued(self, match: re.Match[str]) -> bool:
        """Return whether a stop without white space after it ends a sentence.

        The stop ends a sentence in "ended.The next", but not in "3.5", "node.js" or "U.S.A".
        """
        text, at, end = self.text, match.start(), match.end()
        before, following = text[at - 1 : at], text[end]
        if _CJK.match(before) and _CJK.match(following):
            return "…" not in match["run"] and ".." not in match["run"]
        if not following.isupper() or _LINKED.search(_token(text, at, end)):
            return False
        word = _last_word(text, at)
        if len(word) < 2 or word.lower() in abbr.LEADING or _ACRONYM.fullmatch(word):
            return False
        follower = _FIRST_WORD.match(text, end)
        right = follower.group() if follower else ""
        if right.isupper() and right not in {"I", "A"}:
            return False
        if right in {"I", "A"} and not text[end + 1 : end + 2].isspace():
            return False
        return word[-1].islower() and (word.islower() or right.lower() in abbr.OPENERS or match["run"] in "?!")

    def _tokenised(self, match: re.Match[str]) -> int | None:
        """Return the sentence end at a stop between spaces, or None if the sentence continues.

        Such stops occur in tokenised text: "he was jailed . the bank said .".
        """
        text, end = self.text, match.end()
        run = match["run"]
        while (closer := _SPACED_CLOSER.match(text, end)) and self._closes(closer):
            end = closer.end()
        quoted = end > match.end() or bool(match["close"])
        after = self._after(end)
        if after is None:
            return None
        first = past(OPENING, text, after)
        if len(run) > 1 and "." in run and not text[first : first + 1].isupper():
            return None
        leads = run == "." and _last_word(text, match.start() - 1).lower() in abbr.LEADING
        if leads or (quoted and _SAID.match(text, after)):
            return None
        return end

    def _closes(self, closer: re.Match[str]) -> bool:
        """Return whether a quotation mark between spaces is a closing mark.

        A closing mark is preceded by an odd number of marks of the same kind.
        """
        mark = closer.group(1)
        if mark not in {"'", '"'}:
            return True
        if mark not in self._marks:
            pattern = _LONE_QUOTE if mark == "'" else re.compile('"')
            self._marks[mark] = [hit.start() for hit in pattern.finditer(self.text)]
        return bisect_left(self._marks[mark], closer.start(1)) % 2 == 1

    def _spaced(self, match: re.Match[str], after: int) -> bool:
        """Return whether a stop with white space after it, but not before it, ends a sentence."""
        text, run, close = self.text, match["run"], match["close"]
        first = after if text[after].isalnum() else past(OPENING, text, after)
        elided = close[:1] in ("]", ")") and ("…" in run or ".." in run)
        if elided and match.start() and text[match.start() - 1] in "[(":
            return False  # "[...]" marks omitted words
        if text[first : first + 1].islower() and (close or "…" in run or ".." in run or ". ." in run):
            return False
        word = _last_word(text, match.start())
        if run != "." and close and "." not in run:
            name_said = _NAME_SAID.match(text, after)
            return name_said is None or name_said.group().split()[0].lower() in abbr.OPENERS
        if run != ".":
            return run != "!" or word.lower() not in abbr.MARKED_NAMES
        agreed = self.sentencex_ends is None or after in self.sentencex_ends
        return self._stop_after(word, match.start(), first) and agreed

    def _stop_after(self, word: str, at: int, first: int) -> bool:
        """Return whether a full stop at `at` ends the sentence.

        `word` is the word before the full stop, and `first` is the offset of the text after it.
        """
        low = word.lower()
        following = self.text[first : first + 1]
        initial = len(word) == 1 and (word.isupper() or word.islower())
        if low in abbr.LEADING:
            return False
        if word.isdigit() and len(word) < 3:
            # The number of an item of a list within a line ("two things: 1. ...").
            start = at - len(word)
            if self.text[max(0, start - 4) : start].rstrip(" (")[-1:] in tuple(":;"):
                return False
        if following.islower():
            return not (initial or low in abbr.NUMBERED - abbr.WORDS_TOO or _abbreviated(word))
        if following.isdigit():
            return not (initial or low in abbr.NUMBERED or low in abbr.MONTHS)
        if initial or _abbreviated(word):
            return self._after_abbreviation(word, at, first)
        return True

    def _after_abbreviation(self, word: str, at: int, first: int) -> bool:
        """Return whether an abbreviation or initial ends a sentence.

        A lower-case letter does not follow; `first` is the offset of the text after the full stop.
        """
        follower = _FIRST_WORD.match(self.text, first)
        right = follower.group().lower() if follower else ""
        if word.lower() in abbr.CLOCK:
            return right not in abbr.AFTER_CLOCK
        if len(word) == 1:
            return word.islower() or self._after_initial(at - 1, right)
        return right in abbr.OPENERS or not self.text[first : first + 1].isalpha()

    def _after_initial(self, at: int, right: str) -> bool:
        """Return whether a sentence ends after an initial.

        A sentence ends in "plan B. The next", but not in "J. K. Rowling".
        """
        before = _last_word(self.text, at) if self.text[at - 1 : at].isspace() else ""
        if not before or before[0].isupper() or not before.isalpha():
            return right in abbr.OPENERS - abbr.NAME_LIKE
        return right in abbr.OPENERS


def _abbreviated(word: str) -> bool:
    low = word.lower()
    if len(word) < 4 and low in {"sat", "sun", "mon", "wed", "am"} and word.islower():
        return False
    return low in abbr.CLOSING or (low in abbr.MONTHS and not word.islower()) or bool(_ACRONYM.fullmatch(word))


def _last_word(text: str, end: int) -> str:
    """Return the word that ends at `end`, without opening marks.

    Only the last 24 characters of a long word are returned.
    """
    last_word = text[max(0, end - 24) : end].rsplit(None, 1)
    return last_word[-1].lstrip(_OPENING_MARKS) if last_word else ""


def _token(text: str, start: int, end: int) -> str:
    """Return the white-space delimited token around a stop.

    At most 64 characters on each side of the stop are returned.
    """
    left = text[max(0, start - 64) : start].rsplit(None, 1)
    right = text[end : end + 64].split(None, 1)
    head = "" if not left or text[start - 1 : start].isspace() else left[-1]
    return head + text[start:end] + (right[0] if right else "")


def _sentencex_ends(text: str, language: str) -> frozenset[int]:
    """Return the offsets at which sentencex begins a new sentence.

    The input of sentencex is a copy of equal length. In it, quotes and brackets are replaced because sentencex never
    ends a sentence inside them, and white space other than spaces is replaced because sentencex panics on some
    characters.
    """
    import sentencex

    plain = _HIDDEN.sub(" ", text)
    ends: set[int] = set()
    at = 0
    for piece in sentencex.segment(language, plain):
        at += len(piece)
        while at < len(plain) and plain[at] == " ":  # the space after a stop may belong to the next piece
            at += 1
        ends.add(at)
    return frozenset(ends)


_HIDDEN = re.compile(r"[^\S ]|[\"'“”„‘’‚«»‹›()\[\]{}「」『』【】《》〈〉`*_\ud800-\udfff]")
