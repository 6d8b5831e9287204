"""Checks of a claim against a text, and reasons that are written from the findings.

A check reads a comparison and yields findings. No word is reported twice, because each check skips the words that
earlier findings explain (`Comparison.explained`). The checks were selected by an ablation study (reports/quality.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal

from summeter.evaluators.support.comparison import Comparison, Finding, FindingKind
from summeter.evaluators.support.numbers import Number, letter_multiplier, span_with_sign
from summeter.evaluators.support.words import CONTRACTED, Evidence, Passage, Word, shorten_quote, stem, words_of
from summeter.interrupt import checkpoint

MAX_REASONS = 3
"""Maximum number of reasons for a claim."""
MAX_REASON_LENGTH = 140
"""Maximum number of characters of a reason."""
CAUTION = "caution: "
_MAX_QUOTES: Final = 3  # words quoted in one finding
_PERCENT: Final = ("cent", "percent")

# Word lists: opposites, groups of alternatives, verbs and adjectives that deny, and other words for a number.

_OPPOSITES = """
    rise fall; rise drop; rise decline; increase decrease; increase reduce; increase fall; increase drop
    grow shrink; gain lose; win lose; victory defeat; win defeat; success failure; succeed fail
    up down; above below; over under; before after; inside outside; into out; on off
    more less; more fewer; most least; many few; high low; higher lower; highest lowest; large small
    larger smaller; largest smallest; big small; bigger smaller; biggest smallest; great little; long short
    longer shorter; longest shortest; old young; older younger; oldest youngest; old new; early late
    earlier later; first last; first second; early later; good bad; better worse; best worst; strong weak; rich poor
    hot cold; warm cool; fast slow; hard easy; difficult easy; simple complex; simple difficult; open close
    begin end; start end; start finish; start stop; begin stop; arrive leave; arrive depart; enter leave
    join leave; buy sell; lend borrow; give take; accept reject; accept refuse; approve reject; allow forbid
    allow ban; allow prevent; permit prohibit; agree disagree; agree refuse; support oppose; confirm deny
    admit deny; love hate; like dislike; remember forget; find lose; live die; alive dead; born die; birth death
    male female; man woman; men women; boy girl; father mother; son daughter; brother sister; husband wife
    king queen; north south; east west; northern southern; eastern western; left right; top bottom; front back
    day night; morning evening; summer winter; import export; attack defend; guilty innocent; convict acquit
    arrest release; hire fire; appoint dismiss; legal illegal; possible impossible; able unable; known unknown
    common rare; public private; true false; positive negative; improve worsen; always never; with without
    all none; everyone nobody; everything nothing; same different; include exclude; build destroy; create destroy
    save kill; push pull; raise lower; expand contract; hit miss; major minor; maximum minimum; majority minority
    ancient modern; domestic foreign; safe dangerous; heavy light; wide narrow; deep shallow; full empty
"""

_SIBLINGS = """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last final
    half third quarter
    spring summer autumn fall winter
    morning noon afternoon evening night midnight
    yesterday today tomorrow
    north south east west northern southern eastern western
    second minute hour day week fortnight month quarter year decade century
    hourly daily weekly monthly quarterly annual yearly
    once twice thrice
    mm cm km metre centimetre millimetre kilometre mile foot inch yard centimeter millimeter
    mg g kg gram milligram kilogram tonne ton ounce pound
    ml litre liter millilitre gallon pint
    celsius fahrenheit kelvin
    dollar euro pound yen yuan rupee franc krona krone won peso ruble rouble
    always usually often sometimes occasionally rarely seldom never
    certainly definitely surely probably likely possibly perhaps maybe apparently
    caused cause associated linked correlated related
    doubled tripled quadrupled halved
    black white red green blue yellow orange purple brown pink grey
    mother father brother sister son daughter husband wife uncle aunt nephew niece cousin grandfather grandmother
    single married divorced widowed engaged
    mild moderate severe
    gold silver bronze
    suspected alleged confirmed convicted
"""

_DENYING_WORDS: Final = frozenset(
    map(
        stem,
        words_of("""
            fail refuse deny reject lack prevent avoid stop cancel oppose dismiss decline ban block rule unlikely
            impossible absent missing cease halt withdraw unless instead rather false untrue except
            """),
    )
)
# After a negation, these words make a comparison: not only, no other, no later than.
_COMPARING: Final = words_of("only just least as so other longer more less later fewer")
_AUXILIARY: Final = words_of(
    "do be is am are was were did does has have had will would can could shall should may might must"
)
# Common words. If the text does not contain one of them, a supported sentence needs no caution.
_COMMON: Final = words_of("""
    want take make get give become part include decide also begin start continue use show go come happen involve
    person thing way various several provide according reveal emerge follow hold see know discuss due
    say tell speak talk report announce state note add ask reply answer explain describe mention warn argue claim
    believe think
    """)
_TITLES: Final = words_of("mr mrs ms miss dr sir prof professor president judge")
_NUMBER_SYNONYMS: Final = {
    1.0: "once single first",
    2.0: "twice both pair couple double second",
    3.0: "thrice triple third trio",
}
_ORDINALS: Final = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"


@cache
def _opposites() -> dict[str, frozenset[str]]:
    """Return the stems of the opposites of each stem."""
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.replace("\n", ";").split(";"):
        if pair.strip():
            first, second = map(stem, pair.split())
            table.setdefault(first, set()).add(second)
            table.setdefault(second, set()).add(first)
    return {key: frozenset(others) for key, others in table.items()}


@cache
def _siblings() -> dict[str, tuple[frozenset[str], ...]]:
    """Return the groups of alternatives that contain each word."""
    groups = [words_of(line) for line in _SIBLINGS.strip().splitlines()]
    return {word: tuple(group for group in groups if word in group) for group in groups for word in group}


@cache
def _other_words() -> dict[float, frozenset[str]]:
    """Return the stems of the words that can replace a number, such as "twice" for 2."""
    table = {value: {stem(word) for word in words.split()} for value, words in _NUMBER_SYNONYMS.items()}
    for value, word in enumerate(_ORDINALS.split()):
        table.setdefault(float(value), set()).add(stem(word))
    return {value: frozenset(words) for value, words in table.items()}


RawFinding = tuple[str, Sequence[Word]]
"""The result of a check: the text of a finding, and the words of the claim that the finding explains."""


def _quote_list(quotes: Iterable[str]) -> tuple[str, int]:
    """Return a list of quotations as a string, and the number of distinct quotations.

    The string contains the first quotations and the number of others.
    """
    texts = list(dict.fromkeys(quotes))
    more = f" and {len(texts) - _MAX_QUOTES} more" if len(texts) > _MAX_QUOTES else ""
    return f"{', '.join(texts[:_MAX_QUOTES])}{more}", len(texts)


# Numbers.

_SHARE_TOLERANCE: Final = 0.01  # absolute: a quarter matches 26 percent
_RELATIVE_TOLERANCE: Final = 0.2  # of the share: two of a hundred do not match 3 percent


def numbers_absent(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield the numbers of the claim that the evidence does not contain."""
    for number in comparison.numbers:
        checkpoint()
        if not _in_other_form(comparison, number):
            yield _absent_number(comparison, number)
    for word in comparison.missing:  # digits without a value: a code, or too large for a float
        if comparison.claim.lower(word).isdecimal():
            yield comparison.absence(comparison.claim.quote(word), None), (word,)


def _in_other_form(comparison: Comparison, number: Number) -> bool:
    """Return True if the evidence contains the value in another form.

    Examples are "twice", "eighth", "340m" and "two in five".
    """
    evidence, written = comparison.evidence, comparison.claim.text[number.start : number.end]
    # A number that a hyphen attaches to another number belongs to a score: 3-2.
    is_score = not comparison.claim.number_boundaries.isdisjoint((number.start - 1, number.end + 1))
    others = _other_words().get(number.value, ()) if number.kind == "plain" and not is_score else ()
    if any(key in evidence.positions for key in others):
        return True
    # 123 , 456 in tokenised texts
    if "," in written and re.search(r"\s*,\s*".join(map(re.escape, written.split(","))), evidence.text):
        return True
    times = letter_multiplier(comparison.claim.text, number)
    return _is_same_share(comparison, number.start) or any(
        times != others for others in evidence.multipliers.get(number.value * times, ())
    )


def _is_same_share(comparison: Comparison, at: int) -> bool:
    """Return True if the evidence states the same share, such as "40 percent" for "two in five"."""
    claimed = [share for share in comparison.claim.shares if share.start <= at < share.end]
    return any(
        "plain" in (share.kind, other.kind)
        and abs(other.value - share.value) <= min(_SHARE_TOLERANCE, _RELATIVE_TOLERANCE * other.value)
        for share in claimed
        for other in comparison.evidence.shares
    )


def _absent_number(comparison: Comparison, number: Number) -> RawFinding:
    claim, evidence = comparison.claim, comparison.evidence
    at = claim.index_by_start[number.start]
    word = claim.words[at]
    after = next(claim.words_after(at, 1), None)
    if after and after.start in comparison.missing_starts and number.kind == "plain":
        return (comparison.absence(claim.quote(word, after), None), (word, after))
    claimed, tail = claim.quote(word), ", which has no numbers"
    if evidence.numbers:
        nearest = _nearest_number(comparison, at, number)
        start, end = nearest.start, nearest.end
        if nearest.value == number.value or nearest.kind != number.kind:  # only the sign differs
            claimed = shorten_quote(claim.text, *span_with_sign(claim.text, number))
            start, end = span_with_sign(evidence.text, nearest)
        tail = f"; nearest: {_quote_words(shorten_quote(evidence.text, start, end))}"
    return (f"{_quote_words(claimed)} is not in the {comparison.evidence_name}{tail}", (word,))


def _quote_words(text: str) -> str:
    """Return the text in quotation marks if it begins with a letter, and unchanged otherwise."""
    return f"'{text}'" if text[:1].isalpha() else text


def _nearest_number(comparison: Comparison, at: int, number: Number) -> Number:
    """Return the number of the evidence that best corresponds to the word of the claim at index ``at``.

    The criteria, in this order, are shared neighbouring words, absence from the claim, the same kind, and a small
    difference of the values. The core sentence and then the window come first, if they have numbers.
    """

    def neighbours(passage: Passage, at: int) -> set[str]:
        return {word.key for word in (*passage.words[max(0, at - 1) : at], *passage.words[at + 1 : at + 2])}

    passages = (comparison.core, comparison.window, comparison.evidence)
    passage = next(passage for passage in passages if passage.numbers)
    around = neighbours(comparison.claim, at)
    _, _, nearest = min(
        passage.numbers,
        key=lambda found: (
            -len(around & neighbours(passage, found[0])),
            found[1].key in comparison.claim.number_keys,
            found[2].kind != number.kind,
            abs(found[2].value - number.value),
        ),
    )
    return nearest


# Negations and opposites.


def _denies(passage: Passage, but: str | None = None) -> bool:
    """Return True if a passage contains a negation or a denying word whose key is not ``but``.

    An example of a denying word is "fail".
    """
    return any(word.negation or (word.key in _DENYING_WORDS and word.key != but) for word in passage.words)


def _denials(passage: Passage) -> list[tuple[Word, Word]]:
    """Return, for each negation, its first word and the content word that it negates.

    The first word may be an auxiliary.
    """
    denials = []
    for at, word in enumerate(passage.words):
        if not word.negation:
            continue
        about = next((following for following in passage.words_after(at, 4) if following.content), None)
        after = next(passage.words_after(at, 1), None)
        if about is None or about.number or (after and passage.lower(after) in _COMPARING):
            continue
        first = word
        for before in passage.words_before(at, 2):
            text = passage.lower(before)
            if before.end + 1 < first.start or not (text in _AUXILIARY or text in CONTRACTED or text == "n"):
                break
            first = before
        denials.append((first, about))
    return denials


def negation(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield the first statement that either the claim or the evidence negates, but not both."""
    claim, core = comparison.claim, comparison.core
    denials, core_denials = _denials(claim), _denials(core)
    denied, denied_in_core = {about.key for _, about in denials}, {about.key for _, about in core_denials}
    denials = [denial for denial in denials if denial[1].key not in denied_in_core]
    if comparison.is_question:
        # The claim states what the source asks, and the source answers no.
        question = {word.key for word in core.words if word.content}
        has_answer = comparison.core_index + 1 < len(comparison.evidence.sentences)
        answered = has_answer and 2 * len(question & claim.keys) >= len(question)
        if answered and not denials and not _denies(claim):
            answer = comparison.passage(comparison.core_index + 1, comparison.core_index + 2)
            for at, word in enumerate(answer.words[:3]):
                if word.negation:
                    last = next(answer.words_after(at, 1), word)
                    yield (f"negated in the {comparison.evidence_name}: '{answer.quote(word, last)}'", ())
                    return
        return
    if not denials and not any(word.key in _DENYING_WORDS for word in claim.words):
        for first, about in core_denials:
            if about.key in claim.keys - denied:
                yield (f"negated in the {comparison.evidence_name}: '{core.quote(first, about)}'", ())
                return
    for first, about in denials:
        passage = core if about.key in core.keys else comparison.window
        if about.key in passage.keys and not _denies(passage, but=about.key):
            yield (f"negated here, not in the {comparison.evidence_name}: '{claim.quote(first, about)}'", ())
            return


def opposite(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield words of the claim that are replaced by an opposite in the core sentence.

    Function words ("after", "before") count only if the same content word follows both.
    """
    denied = {about.start for _, about in _denials(comparison.claim)}
    denied_in_core = {about.start for _, about in _denials(comparison.core)}
    core_words = {word.key: word for word in comparison.core.words}
    for word in comparison.claim.words:
        if word.key in core_words or word.start in denied:
            continue
        for key in sorted(_opposites().get(word.key, ())):
            if key not in core_words or key in comparison.claim.keys:
                continue
            other = core_words[key]
            here, there = comparison.claim.next_content_word(word), comparison.core.next_content_word(other)
            same_next = here is not None and there is not None and here.key == there.key
            if other.start not in denied_in_core and (word.content or same_next):
                text = comparison.contrast(comparison.claim.quote(word), comparison.core.quote(other))
                yield (text, (word,))
                break


# Single words: replaced by an alternative, or missing.

Phrase = tuple[Word, ...]


def siblings(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield words that the core sentence replaces by an alternative, such as "June" by "May"."""
    claim, core = comparison.claim, comparison.core
    candidates = [(at, word) for at, word in enumerate(core.words) if word.content and word.key not in claim.keys]
    for at, word in enumerate(claim.words):
        if not word.content or word.key in core.keys:
            continue
        before = claim.key_at(at - 1)
        for group in (group for form in _forms(claim.lower(word)) for group in _siblings().get(form, ())):
            alternatives = [found for found in candidates if not group.isdisjoint(_forms(core.lower(found[1])))]
            if alternatives:
                # An alternative after the same word, or else the first one.
                _, other = min(alternatives, key=lambda at: (at[0] == 0 or core.key_at(at[0] - 1) != before, at[0]))
                describe = comparison.absence if word.start in comparison.missing_starts else comparison.contrast
                yield describe(claim.quote(word), core.quote(other)), (word,)
                break


def _forms(text: str) -> tuple[str, ...]:
    return (text, text[:-1]) if text.endswith("s") else (text,)


def names_missing(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield names that the evidence does not contain.

    Each name is given with the corresponding name in the core sentence, if there is one.
    """
    for phrase in _phrases(comparison, (word for word in comparison.missing if word.start not in comparison.explained)):
        # A name is capitalised inside the sentence. At its start, two words must be capitalised.
        if phrase[-1].capital and (phrase[0].start != comparison.claim.words[0].start or len(phrase) > 1):
            # The corresponding name: next to the same word, or else a name that begins with the same two letters.
            claim, core, start = comparison.claim, comparison.core, comparison.claim.lower(phrase[-1])[:2]
            left = claim.key_at(claim.index_by_start[phrase[0].start] - 1)
            right = claim.key_at(claim.index_by_start[phrase[-1].start] + 1)
            counterpart = (
                _capitalised_words(comparison, left, step=1)
                or _capitalised_words(comparison, right, step=-1)
                or next(
                    (
                        core.quote(word)
                        for word in core.words
                        if word.capital
                        and word.content
                        and word.key not in claim.keys
                        and core.lower(word).startswith(start)
                    ),
                    None,
                )
            )
            yield (comparison.absence(claim.quote(phrase[0], phrase[-1]), counterpart), phrase)


def _phrases(comparison: Comparison, words: Iterable[Word]) -> Iterator[Phrase]:
    """Group adjacent words of the claim into phrases, and skip repeated words."""
    indices = comparison.claim.index_by_start
    phrase: list[Word] = []
    seen: set[str] = set()
    for word in words:
        checkpoint()
        if word.key in seen:
            continue
        seen.add(word.key)
        joined = phrase and indices[word.start] == indices[phrase[-1].start] + 1 and word.capital == phrase[-1].capital
        if phrase and not (joined and not comparison.claim.is_clause_break(phrase[-1], word)):
            yield tuple(phrase)
            phrase = []
        phrase.append(word)
    if phrase:
        yield tuple(phrase)


def _capitalised_words(comparison: Comparison, neighbour: str | None, *, step: Literal[1, -1]) -> str | None:
    """Return the capitalised words next to the word `neighbour` in the core sentence.

    Words of the claim are excluded. The words begin after `neighbour` if `step` is 1 and end before it if `step` is -1.
    Returns None if there are no such words.
    """
    core = comparison.core

    def is_candidate(at: int) -> bool:
        word = core.words[at]
        if not word.capital or not word.content or word.key in comparison.claim.keys:
            return False
        return core.lower(word) not in _TITLES

    for at in range(len(core.words)):
        if neighbour is None or core.key_at(at - step) != neighbour or not is_candidate(at):
            continue
        end = at
        while 0 <= end + step < len(core.words) and is_candidate(end + step):
            end += step
        return core.quote(core.words[min(at, end)], core.words[max(at, end)])
    return None


def words_missing(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield one finding with all other content words that the evidence does not contain."""
    phrases = list(
        _phrases(
            comparison,
            (
                word
                for word in comparison.missing
                if word.start not in comparison.explained and not _is_excused(comparison, word)
            ),
        )
    )
    if phrases:
        texts, count = _quote_list(f"'{comparison.claim.quote(phrase[0], phrase[-1])}'" for phrase in phrases)
        text = f"{texts} {'has' if count == 1 else 'have'} no support in the {comparison.evidence_name}"
        yield (text, tuple(word for phrase in phrases for word in phrase))


def words_elsewhere(comparison: Comparison) -> Iterator[RawFinding]:
    """Yield one finding with the words that occur in the evidence, but outside the best window."""
    words = [word for word in comparison.elsewhere if word.start not in comparison.explained]
    if words:
        texts, count = _quote_list(f"'{comparison.claim.quote(word)}'" for word in words)
        verb = "occurs" if count == 1 else "occur"
        text = f"{texts} {verb} elsewhere in the {comparison.evidence_name}, not near the other words"
        yield (text, tuple(words))


def _is_excused(comparison: Comparison, word: Word) -> bool:
    """Return True if the evidence contains the word in another form.

    Examples are a currency sign and a negation.
    """
    # "14%" has no word for "per cent", and its number was compared including the sign.
    if comparison.claim.lower(word) in _PERCENT or word.negation or _is_same_share(comparison, word.start):
        return True
    at = comparison.claim.index_by_start[word.start]
    number = comparison.claim.words[at - 1].number if at else None
    if number is not None and number.kind == "currency":
        return True
    return word.key in _DENYING_WORDS and _denies(comparison.core)


CHECKS: Final[dict[FindingKind, Callable[[Comparison], Iterator[RawFinding]]]] = {
    "number": numbers_absent,
    "negation": negation,
    "opposite": opposite,
    "sibling": siblings,
    "name": names_missing,
    "missing": words_missing,
    "elsewhere": words_elsewhere,
}
"""The checks in the order in which they run, which is also the order of the reasons."""


def compare(claim: str, words: Sequence[Word], evidence: Evidence, evidence_name: str) -> Comparison:
    """Compare a claim with a text and run all checks.

    `words` are the words of the claim. They must include a content word, and the evidence must contain a word.
    """
    comparison = Comparison.of(Passage(claim, tuple(words)), evidence, evidence_name)
    for kind, check in CHECKS.items():
        for text, explained in check(comparison):
            starts = {word.start for word in explained}
            if not starts or not starts <= comparison.explained:
                comparison.findings.append(Finding(kind, text, tuple(explained)))
                comparison.explained.update(starts)
    return comparison


# Reasons.

_MAX_DISTANCE: Final = 5  # maximum number of words between two connected words


def reasons_for(comparison: Comparison, *, supported: bool) -> tuple[str, ...]:
    """Return the reasons for the decision on a claim, most informative first.

    A supported claim gets one positive reason, preceded by its findings as cautions. For an unsupported claim without
    findings, the reason is a pair of words that the evidence does not connect.
    """
    if not supported:
        texts = [finding.text for finding in comparison.findings] or [_unrelated_words(comparison)]
        return tuple(shorten_reason(text) for text in texts[:MAX_REASONS])
    cautions = [CAUTION + finding.text for finding in comparison.findings if _needs_caution(finding, comparison)]
    if any(finding.kind in ("number", "sibling", "name", "missing") for finding in comparison.findings):
        speaks_for = "the other content words found here"
    elif comparison.overlap.density == 1:
        speaks_for = "copied word for word from here"
    else:
        speaks_for = "all content words found here"
    return tuple(shorten_reason(text) for text in (*cautions[: MAX_REASONS - 1], speaks_for))


def _needs_caution(finding: Finding, comparison: Comparison) -> bool:
    """Return True if a finding needs a caution in a supported sentence; common words do not."""
    if finding.kind == "elsewhere":
        return any(word.capital for word in finding.words)
    if finding.kind != "missing":
        return True
    return not all(comparison.claim.lower(word) in _COMMON or word.key in _COMMON for word in finding.words)


def _unrelated_words(comparison: Comparison) -> str:
    """Return a reason that quotes two adjacent words of the claim that the evidence does not connect."""
    content = [word for word in comparison.claim.words if word.content and word.key not in _PERCENT]
    lines = [[word.key for word in comparison.passage(i, i + 1).words] for i in range(*comparison.best)]
    for left, right in pairwise(content):
        near = (
            right.key in line[max(0, at - _MAX_DISTANCE) : at + _MAX_DISTANCE + 1]
            for line in lines
            for at, key in enumerate(line)
            if key == left.key
        )
        if left.key != right.key and not any(near):
            quotes = f"'{comparison.claim.quote(left)}' and '{comparison.claim.quote(right)}'"
            return f"{quotes} occur in the {comparison.evidence_name}, but not in this combination"
    return f"its words occur in the {comparison.evidence_name}, but not in this combination"


def shorten_reason(text: str) -> str:
    """Return a reason, with an ellipsis at its end if it is longer than MAX_REASON_LENGTH."""
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1].rstrip() + "…"
