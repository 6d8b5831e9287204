"""Plant errors in English summaries, and rewrite them without changing the meaning.

The rules are deliberately strict: they change a text only where the source shows that the changed claim is wrong, or
where the rewrite is certainly harmless, and otherwise plant nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from summeter.evaluators.support.numbers import MONEY, Number, numbers
from summeter.evaluators.support.words import FUNCTION_WORDS, Evidence, analyse, index_text, number_key, stem, words_of
from summeter.records import Document, Span, Summary
from summeter.text.ngrams import words
from summeter.text.spans import TextSpan, sentence_spans

_ENGLISH = 0.2  # least share of English function words; English texts have about 0.4, German and French 0.1
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_NUMBER_WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_DIGITS = re.compile(r"\d(?:[\d,.]*\d)?")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_OF_MONTH = re.compile(rf"{_MONTH} $")
_MONTH_NEXT = re.compile(rf" (?:of )?{_MONTH}\b")
_COUNTED = re.compile(
    r" (?!(?:and|out|per|percent|hundred|thousand|million|billion|thirds?|quarters?|fifths?)\b|o'clock)[a-z]{3}"
)
_UNITS = [
    line.split()
    for line in (
        "minute hour day week month year", "metre kilometre mile", "meter kilometer mile", "mm cm km",
        "gram kilogram tonne", "mg kg", "litre gallon", "liter gallon", "dollar euro pound",
    )
]  # fmt: skip
_UNIT = re.compile(rf"([\s-])({'|'.join(sorted({unit for group in _UNITS for unit in group}))})(s?)\b")
_NAME = re.compile(r"(?<![\w'’-])[^\W\d_]{2,}(?:-[^\W\d_]+)*(?: [^\W\d_]{2,}(?:-[^\W\d_]+)*)*")
_NOT_NAMES = words_of("""
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """)
_TITLES = words_of("mr mrs ms miss dr sir prof professor president judge mayor minister captain detective inspector")
_ROLES = words_of("agent customer interviewer interviewee chair speaker host guest moderator caller operator")
_SPEECH = "said|says|told|tells|asked|asks|added|adds|explained|explains|wrote|writes"
# Verbs whose subject and object cannot be exchanged.
_DIRECTED = frozenset(map(stem, words_of("""
    tell ask give send invite help thank warn advise lend pay beat defeat replace succeed criticise criticize accuse
    sue hire teach remind buy sell offer promise show blame praise reject owe visit urge inform
    """)))  # fmt: skip
_HEDGED = re.compile(r"\b(?:if|whether|unless|all|every|each|both|either|n't)\b|\?|n['’]t\b", re.IGNORECASE)
_AUXILIARY = r"(?:is|are|was|were|will|would|can|must|has|have|had|should)"
_AFFIRMED = re.compile(
    rf"\b({_AUXILIARY})(?= (?!not\b|no\b|only\b|just\b|also\b|still\b|even\b|already\b|never\b|to\b)(\w+))"
)
_DENIED = re.compile(rf"\b(?:({_AUXILIARY}) not|(can)not)\b(?! only| just)")
_PERFECT = re.compile(r"been|\w+(?:ed|en)")
_ANAPHORA = words_of("""
    he she it they him her them his hers its their theirs himself herself itself themselves this that these those such
    there both another other others same latter former also too then later earlier after before afterwards next first
    second finally meanwhile however therefore thus hence instead otherwise moreover besides still yet but and so or
    because although though ago again who which
    """)
_CONTRACTIONS = {
    **{f"{verb} not": f"{verb}n't" for verb in (
        "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "would", "could", "should", "need",
    )},
    "cannot": "can't", "will not": "won't",
}  # fmt: skip
_CONTRACTIONS |= {contracted: full for full, contracted in _CONTRACTIONS.items()}
# Words that can replace each other in any sentence, in lower case. `_BOTH` may be exchanged in either direction.
_BOTH = {"nearly": "almost", "movie": "film", "movies": "films", "perhaps": "maybe", "kids": "children"}
_SYNONYMS = {
    **_BOTH, **{new: old for old, new in _BOTH.items()},
    "purchased": "bought", "attempted to": "tried to", "began": "started", "commenced": "began", "obtained": "got",
    "assisted": "helped", "frequently": "often", "rapidly": "quickly", "in order to": "to", "percent": "per cent",
    "approximately": "about", "intends to": "plans to", "intend to": "plan to",
}  # fmt: skip

Edit = tuple[int, int, str]
"""A start, an end and the text that replaces what is between them."""
Edits = tuple[Edit, ...]


class Planted(NamedTuple):
    """A change of a summary of `system`; the changed `summary` has the system `SYSTEM/KIND`.

    `at` is the index of the changed sentence, or None if sentences were removed or exchanged. `original`, `changed` and
    `marked` are the passage before, after, and with the changes as `[old → new]`. `source` is the sentence of the
    document that has most words in common with the passage.
    """

    kind: str
    system: str
    summary: Summary
    at: int | None
    original: str
    changed: str
    marked: str
    source: str


class Subject:
    """A summary to change, with its source. No error is planted in the sentences with an index in `wrong`."""

    def __init__(self, document: Document, summary: Summary, wrong: Collection[int] = ()) -> None:
        self.wrong = wrong
        self.summary = summary
        self.document = document.text
        self.sentences = sentence_spans(summary)
        self.source: Evidence = index_text(document.text, [span.offsets for span in sentence_spans(document)])

    @cached_property
    def names(self) -> dict[str, str]:
        """The names in the source that can be told to be of a `person` or a `place`, with this kind."""
        kinds: dict[str, str] = {}
        for start, name, titled in _names(self.document):
            end = start + len(name)
            before, after = self.document[max(0, start - 12) : start], self.document[end : end + 1000]
            spoken = re.match(rf",? (?:{_SPEECH})\b", after) or re.match(r" ?:.*\n", after)
            if titled or spoken or re.search(rf"\b(?:{_SPEECH}) $", before):
                kinds[name] = "person"
            elif re.search(r"\b(?:in|near|from|at) $", before):
                kinds.setdefault(name, "place")
        of_word = {word: kind for name, kind in kinds.items() for word in name.split()}
        return {name: kind for name, kind in kinds.items() if {of_word[word] for word in name.split()} == {kind}}

    @cached_property
    def keys(self) -> list[frozenset[str]]:
        """The keys of the words in each sentence of the source."""
        count = len(self.source.sentences)
        return [frozenset(word.key for word in self.source.words_of(at, at + 1)) for at in range(count)]

    def shared(self, passage: str, without: str = "") -> list[int]:
        """Return, for each sentence of the source, the number of content words in common with a passage."""
        keys = _content(passage) - _content(without)
        return [len(keys & said) for said in self.keys]

    def says(self, passage: str, name: str, *, without: str = "") -> bool:
        """Return whether a name occurs in a sentence of the source that shares many content words with a passage.

        These are at least two words, and no other sentence shares more. If the passage contains another name, which is
        given by `without`, half as many as the sentence that shares most are enough. Names do not count.
        """
        shared = self.shared(passage, without or name)
        keys, most = _content(name), max(shared)
        enough = max(2, most / 2 if without else most)
        return any(count >= enough and keys & said for count, said in zip(shared, self.keys, strict=True))

    def nearest(self, passage: str) -> tuple[int, str]:
        """Return the index and the text of the source sentence with most words in common with a passage."""
        shared = self.shared(passage)
        at = shared.index(max(shared))
        return at, self.document[slice(*self.source.sentences[at])]


def is_english(*texts: str) -> bool:
    """Return whether texts have as many function words as English texts have.

    >>> is_english("The cat is on the mat and it sleeps."), is_english("Die Katze liegt auf der Matte und schläft.")
    (True, False)
    """
    found = [word.text for text in texts for word in words(text)]
    return bool(found) and sum(word in FUNCTION_WORDS for word in found) >= _ENGLISH * len(found)


def plant(subject: Subject, kind: str, seed: Sequence[int]) -> Planted | None:
    """Return the summary with one change of a kind, drawn by the seed, or None if no change of this kind suits."""
    candidates: list[tuple[int | None, Edits]] = []
    if not subject.source.words:
        return None
    if kind in _IN_SUMMARY:
        candidates += ((None, edits) for edits in _IN_SUMMARY[kind](subject))
    else:
        for at, span in enumerate(subject.sentences):
            if kind in ERRORS and at in subject.wrong:
                continue  # another error could correct it
            found = _REWRITTEN[kind](span.text) if kind in _REWRITTEN else _IN_SENTENCE[kind](subject, span)
            moved = (tuple((span.start + a, span.start + b, new) for a, b, new in edits) for edits in found)
            candidates += ((at, edits) for edits in moved)
    if not candidates:
        return None
    drawn = int(np.random.default_rng([*seed, *kind.encode()]).integers(len(candidates)))
    changed, edits, text = candidates[drawn][0], tuple(sorted(candidates[drawn][1])), subject.summary.text
    passage = subject.sentences[changed] if changed is not None else TextSpan.of(text, edits[0][0], edits[-1][1])
    spans = []
    for span in subject.sentences:
        start, end = (_moved(offset, edits) for offset in span.offsets)
        if start < end:
            spans.append(Span(of="summary", start=start, end=end))
    update = {
        "system": f"{subject.summary.system}/{kind}",
        "text": _applied(text, 0, len(text), edits),
        "sentences": tuple(spans),
    }
    return Planted(
        kind=kind,
        system=subject.summary.system,
        summary=Summary(**{**dict(subject.summary), **update}),
        at=changed,
        original=passage.text.strip(),
        changed=_applied(text, *passage.offsets, edits).strip(),
        marked=_applied(text, *passage.offsets, edits, marked=True).strip(),
        source=subject.nearest(passage.text)[1],
    )


def _moved(offset: int, edits: Edits) -> int:
    """Return an offset after the edits; one within a deleted passage moves to its start."""
    shifts = (len(new) - (end - start) if end <= offset else min(0, start - offset) for start, end, new in edits)
    return offset + sum(shifts)


def _applied(text: str, start: int, end: int, edits: Edits, *, marked: bool = False) -> str:
    pieces = []
    for first, last, new in edits:
        old = text[first:last].strip()
        pieces += [text[start:first], f"[{old} → {new}]" if marked else new]
        start = last
    return "".join([*pieces, text[start:end]])


def _content(text: str) -> frozenset[str]:
    return frozenset(word.key for word in analyse(text) if word.content)


def _names(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the names in a text with their starts, and whether a title precedes them.

    A name is made of capitalised words. One that starts a sentence or line counts only if it also occurs elsewhere.
    """
    found: list[tuple[int, str, bool, bool]] = []
    for match in _NAME.finditer(text):
        run: list[re.Match[str]] = []
        for word in [*re.finditer(r"\S+", match.group()), None]:
            if word and word.group()[0].isupper() and not word.group().isupper():
                run.append(word)
                continue
            while run and run[0].group().lower() in FUNCTION_WORDS | _TITLES:
                run = run[1:]
            if run and not any(part.group().lower() in _NOT_NAMES for part in run):
                start = match.start() + run[0].start()
                before = text[max(0, start - 50) : start].rstrip(" “\"'‘")
                titled = bool(re.search(rf"\b(?:{'|'.join(_TITLES)})\.?$", before[-12:], re.IGNORECASE))
                starts = not titled and (not before or before[-1] in ".!?:\n—")
                name = match.group()[run[0].start() : run[-1].end()]
                found.append((start, name, titled, starts))
            run = []
    inside = {name for _, name, _, starts in found if not starts}
    lines = Counter(re.findall(r"^([^\W\d_]+) ?:", text, re.MULTILINE))
    speakers = {name for name, count in lines.items() if count > 1}  # a heading occurs once
    for start, name, titled, starts in found:
        if name.lower() not in _ROLES and (not starts or name in inside or name in speakers or " " in name):
            yield start, name, titled


# ---- errors ----


def _number(subject: Subject, span: TextSpan) -> Iterator[Edits]:
    """Replace a number of the source by one that the source does not contain."""
    text, source = span.text, subject.source
    shares = {round(share.value, 4) for share in source.shares}
    for number in numbers(text):
        before, after = text[: number.start], text[number.end :]
        attached = before.endswith(("-", ":", ".", "/", "a ", "an ")) or re.match(r"[:/]|-?[A-Z\d]", after)
        if attached or number.kind == "decade" or number_key(number.value) not in source.positions:
            continue
        for start, end, new in _other_numbers(text, number):
            made = text[:start] + new + text[end:]
            value = next((each.value for each in numbers(made) if each.start == number.start), None)
            if value is None or value in {1, 2, 3} or number_key(value) in source.positions:
                continue
            if number.kind != "percent" or (value <= 100 and round(value / 100, 4) not in shares):
                yield ((start, end, new),)


def _other_numbers(text: str, number: Number) -> Iterator[Edit]:
    """Yield replacements of a number in the same form; years, days and hours remain possible ones."""
    written = text[number.start : number.end]
    if written in _NUMBER_WORDS:
        yield from ((number.start, number.end, word) for word in _NUMBER_WORDS[4:] if word != written)
        return
    digits = _DIGITS.match(written)
    if digits is None or written[digits.end() :][:1].isalpha():
        return
    day = _OF_MONTH.search(text[: number.start]) or _MONTH_NEXT.match(text, number.end)
    hour = re.match(r"\s?[ap]\.?m\b", text[number.end :])
    most = 28 if day else 12 if hour else None
    old = digits.group()
    first = next((at for at, digit in enumerate(old) if digit in "123456789"), None)
    at = len(old) - 1 if most or _YEAR.fullmatch(old) else first
    for digit in "123456789":
        if at is not None and digit != old[at]:
            new = old[:at] + digit + old[at + 1 :]
            if most is None or float(new.replace(",", "")) <= most:
                yield number.start, number.start + len(old), new


def _unit(subject: Subject, span: TextSpan) -> Iterator[Edits]:
    """Replace the unit or currency of a number by one that the source does not contain."""
    known = subject.source.positions
    for number in numbers(span.text):
        unit, sign = _UNIT.match(span.text, number.end), span.text[max(0, number.start - 1) : number.start]
        if unit and stem(unit[2] + unit[3]) in known:
            for group in _UNITS:
                others = group if unit[2] in group else []
                yield from (((unit.start(2), unit.end(), new + unit[3]),) for new in others if stem(new) not in known)
        if sign in MONEY and sign in subject.document:
            others = [new for new in "$€£" if new not in subject.document and stem(MONEY[new]) not in known]
            yield from (((number.start - 1, number.start, new),) for new in others)


def _name(subject: Subject, span: TextSpan) -> Iterator[Edits]:
    """Replace a name that the source connects with the claim by one of the same kind that it does not."""
    for start, end, name, kind in _known_names(subject, span):
        for other, kind_of_other in subject.names.items():
            known = kind != kind_of_other or any(part in span.text for part in other.split())
            if not known and subject.says(span.text, name) and not subject.says(span.text, other, without=name):
                yield ((start, end, other),)


def _known_names(subject: Subject, span: TextSpan) -> Iterator[tuple[int, int, str, str]]:
    """Yield the names of the source in a sentence, in order, with their spans and kinds."""
    of_word = {word: kind for name, kind in subject.names.items() for word in name.split()}
    pattern = "|".join(map(re.escape, sorted(of_word, key=len, reverse=True)))
    for match in re.finditer(rf"(?<![\w-])(?:{pattern})(?: (?:{pattern}))*(?!\w|-)", span.text) if pattern else ():
        kinds = {of_word[word] for word in match.group().split()}
        longer = re.match(r" [A-Z]", span.text[match.end() :]) or re.search(r"[A-Z]\w+ $", span.text[: match.start()])
        if len(kinds) == 1 and not longer:
            yield *match.span(), match.group(), kinds.pop()


def _role(subject: Subject, span: TextSpan) -> Iterator[Edits]:
    """Exchange two names of the same kind around a verb whose subject and object cannot be exchanged."""
    found = list(_known_names(subject, span))
    for (start, end, name, kind), (start_2, end_2, name_2, kind_2) in pairwise(found):
        between = analyse(span.text[end:start_2])
        directed = any(word.key in _DIRECTED for word in between) and not any(word.negation for word in between)
        if kind == kind_2 and directed and not set(name.split()) & set(name_2.split()):
            counts = [span.text.count(each) for each in (name, name_2)]
            if counts == [1, 1] and not re.search(r"[,;:]| and ", span.text[end:start_2]):
                yield (start, end, name_2), (start_2, end_2, name)


def _negation(subject: Subject, span: TextSpan) -> Iterator[Edits]:
    """Negate a sentence that the source states without a negation, or remove a negation that the source has too."""
    at, nearest = subject.nearest(span.text)
    content = _content(span.text)
    stated = subject.shared(span.text)[at] * 2 >= len(content) > 2
    denied = any(word.negation for word in analyse(nearest))
    here = [word for word in analyse(span.text) if word.negation]
    if not stated or _HEDGED.search(span.text):
        return
    if not here and not denied:
        match = _AFFIRMED.search(span.text)  # the first auxiliary, which is usually that of the main clause
        if match and (match[1] not in {"has", "have", "had"} or _PERFECT.fullmatch(match[2])):
            yield ((*match.span(1), "cannot" if match[1] == "can" else f"{match[1]} not"),)
    elif len(here) == 1 and denied:
        yield from (((*match.span(), match[1] or match[2]),) for match in _DENIED.finditer(span.text))


def _omission(subject: Subject) -> Iterator[Edits]:
    """Remove a sentence of at least four content words, most of them in the source and in no other sentence."""
    spans, contents = subject.sentences, [_content(span.text) for span in subject.sentences]
    for at, keys in enumerate(contents if len(spans) > 1 else ()):
        others = frozenset().union(*contents[:at], *contents[at + 1 :])
        carried = {key for key in keys - others if key in subject.source.positions}
        if at not in subject.wrong and len(keys) >= 4 and len(carried) * 2 >= len(keys):
            last = at == len(spans) - 1
            yield (
                (spans[at - 1].end if last else spans[at].start, spans[at].end if last else spans[at + 1].start, ""),
            )


# ---- rewrites ----


def _substitutions(text: str, table: dict[str, str], condition: str = "") -> Iterator[Edits]:
    """Replace a word or phrase by one with the same meaning, unless the text after it contradicts the condition."""
    for old, new in table.items():
        for match in re.finditer(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-]){condition}", text.replace("’", "'")):
            if not re.search(r"\ban? $", text[: match.start()]):
                yield ((*match.span(), new),)


def _digits(text: str) -> Iterator[Edits]:
    """Write a number from 2 to 12 as digits instead of a word, or the reverse."""
    for number in numbers(text):
        written, before = text[number.start : number.end], text[: number.start]
        counted = _COUNTED.match(text, number.end)
        inside = re.search(r"(?<!\bto)(?<!\bor)(?<!\band)(?<=[a-z,]) $", before)
        if not counted or number.kind != "plain" or not inside or _OF_MONTH.search(before):
            continue
        if written in _NUMBER_WORDS[2:]:
            yield ((number.start, number.end, str(_NUMBER_WORDS.index(written))),)
        elif written.isdigit() and 2 <= int(written) < len(_NUMBER_WORDS):
            yield ((number.start, number.end, _NUMBER_WORDS[int(written)]),)


def _date(text: str) -> Iterator[Edits]:
    """Write the day after the month instead of before it, or the reverse."""
    day, year = r"(?<![\w-])(?P<day>\d{1,2})", r"(?P<year>\d{4})"
    later = r"(?! ?[-–]|\w| (?:to|and|or|\d))"
    for match in re.finditer(rf"(?<!the )(?<!to )(?<!and ){day} (?P<month>{_MONTH})(?: {year})?\b{later}", text):
        new = f"{match['month']} {match['day']}" + (f", {match['year']}" if match["year"] else "")
        yield ((*match.span(), new),)
    for match in re.finditer(rf"\b(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:, {year})?\b{later}", text):
        new = f"{match['day']} {match['month']}" + (f" {match['year']}" if match["year"] else "")
        yield ((*match.span(), new),)


def _order(subject: Subject) -> Iterator[Edits]:
    """Exchange two neighbouring sentences without common words, and without words that refer to other sentences."""
    spans = subject.sentences
    bound = [any(word.text in _ANAPHORA for word in words(span.text)) for span in spans]
    for at in range(len(spans) - 1):
        first, second = spans[at], spans[at + 1]
        following = at + 2 < len(spans) and bound[at + 2]
        if not (bound[at] or bound[at + 1] or following or _content(first.text) & _content(second.text)):
            yield (*first.offsets, second.text), (*second.offsets, first.text)


_IN_SENTENCE: dict[str, Callable[[Subject, TextSpan], Iterator[Edits]]] = {
    "number": _number, "name": _name, "negation": _negation, "unit": _unit, "role": _role,
}  # fmt: skip
_REWRITTEN: dict[str, Callable[[str], Iterator[Edits]]] = {
    # Contract a negation ("is not", "isn't") or expand it, unless a subject follows.
    "contraction": lambda text: _substitutions(
        text, _CONTRACTIONS, r"(?! (?:I|you|he|she|it|we|they|that|this|there|only|just)\b)"
    ),
    "digits": _digits,
    "date": _date,
    "synonym": lambda text: _substitutions(text, _SYNONYMS),
}
_IN_SUMMARY: dict[str, Callable[[Subject], Iterator[Edits]]] = {"omission": _omission, "order": _order}
ERRORS = ("number", "name", "negation", "unit", "role", "omission")
"""Kinds of planted errors."""
REWRITES = ("contraction", "digits", "date", "order", "synonym")
"""Kinds of rewrites that keep the meaning."""
