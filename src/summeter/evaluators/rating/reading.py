"""Scores, stars and letters in plain text, as the published forms ask for them; and the fields of a JSON answer.

A text counts when it is an answer of the form asked for, or ends with one, or begins with one that a plain explanation
follows: "4", "..., earning a score of 4 for fluency", "Score: 4. The summary ...". A number that is merely spoken of is
none ("far from a score of 5"), nor is one end of a range, a bound or a fraction; and a text that names two is refused.
Half points are kept where the form has them: a judge that answers 3.5 has answered, and rounding would be a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from summeter.evaluators.replies import choice, clean, show
from summeter.records import ReplyError
from summeter.text.fold import nfkc


class Scale(NamedTuple):
    """What is asked for: a number from `low` to `high`, called a `noun` in messages; `whole` refuses half points."""

    low: float
    high: float
    noun: str = "score"
    whole: bool = False

    def checked(self, value: float) -> float:
        """The value; ReplyError where it is not on the scale."""
        if not self.low <= value <= self.high or (self.whole and not value.is_integer()):
            kind = "a whole number " if self.whole else ""
            raise ReplyError(f"the {self.noun} is {value:.10g}, which is not {kind}from {self.low:g} to {self.high:g}")
        return value


POINTS: Final = Scale(1, 5)
STARS: Final = Scale(1, 5, "number of stars")

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_WORDS = {
    **{word: value for value, word in enumerate(f"{_UNITS} eighteen nineteen".split())},
    **{
        word: 10 * tens
        for tens, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
    },
    "hundred": 100,
}
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER = rf"(?:[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?|(?:{_WORD})(?:[ -](?:{_WORD}))?)(?!(?![分点점で])\w)(?!\.[0-9])"
_MARKS = r"[\s*_\"'`“”]*"
_OUT_OF = r"\s*(?:/|\(?(?:points?\s+)?out\s+of)\s*(?:a\s+(?:possible|maximum\s+of)\s+)?"
_TEXT_OF = rf"{_OUT_OF}(?P<of>{_NUMBER})"

# --- where a number is spoken of as a score: two that differ are no answer ---

# As in: score: 4; a score of 4 out of 5; scoring a one; Score (1-5): 4; I rate it a 3.
_SCORE = re.compile(
    rf"""\b(?:scor(?:e[sd]?|ing)|rat(?:e[sd]?|ings?))\b
    (?:\s*\(\s*[01]\s*(?:-|–|to)\s*(?:5|100)\s*\))?
    (?:\s+(?:it|this|the\s+summary|this\s+summary)\b)?
    {_MARKS} (?: (?:is|of|as|at|a|an|be|would\ be|will\ be|was|=|:|[-–—](?=\s)) (?![\w]) {_MARKS} ){{0,4}}
    (?P<number>{_NUMBER}) (?:{_TEXT_OF})?""",
    re.IGNORECASE | re.VERBOSE,
)
# As in: 4 out of 5; (4/5). Alone it must end a phrase, since "2 out of 5 goals" is no score.
_OUT = re.compile(
    rf"(?<![\w./,-])(?P<number>{_NUMBER}){_TEXT_OF}"
    r"(?=\s*(?:[.,;:!)*\]]|$|\n|for\b|in\b|on\b|points?\b|overall\b|because\b|as\b|with\b))",
    re.IGNORECASE,
)
_STARRED = re.compile(
    rf"(?<![\w./,-])(?P<number>{_NUMBER})(?:{_TEXT_OF}|\s+of\s+(?P<of2>{_NUMBER}))?[\s-]*stars?\b"
    rf"|\bstars?\b{_MARKS}[:=]{_MARKS}(?P<number2>{_NUMBER})(?:{_OUT_OF}(?P<of3>{_NUMBER}))?",
    re.IGNORECASE,
)
# What makes a number one end of a range, or less than the whole number.
_MORE = re.compile(
    rf"(?:\s*[-–—]\s*\d|[-–—]\w|,\d|\s+(?:to|or)\s+{_NUMBER}|[\s-]+and[\s-]+(?:a[\s-]+)?half|\s*\d*⁄\d|\s+\d/\d)", re.I
)
# "not a score of 5", "less than a score of 4": at most three words before the number's own phrase.
_HEDGE = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bcannot|\bwithout|\brather\s+than|\binstead\s+of|\b(?:less|more|lower|higher)\s+than"
    r"|\bat\s+(?:least|most)|\babove|\bbelow|\bunder|\bover|\bbetween|\bnearly|\balmost)(?:\s+\w+){0,3}\s*$",
    re.IGNORECASE,
)

# --- what an answer looks like: a line or a sentence that is one, or ends with one ---

_LABEL = (
    r"(?:score|rating|grade|mark|verdict|answer|assessment|evaluation|stars?|bewertung|punktzahl|note|nota|antwort"
    r"|puntuación|puntuacion|calificación|respuesta|valutazione|punteggio|voto|оценка|балл)"
)
_CJK_LABEL = r"(?:评分|得分|分数|評分|スコア|評価|点数|점수|평가)\s*(?:は|是|为|은|는|:)\s*"
_SO = r"(?:(?:so|thus|therefore|hence|overall|finally|accordingly|and|in\s+conclusion|as\s+a\s+result)\b,?\s*+)"
_FIRST = rf"(?:{_SO}|(?:to\s+repeat|my|the|its|final|total|(?P<corrected>corrected|revised|updated))\b\s*+[,:]?\s*+)*+"
_ASPECT = (
    r"(?:(?!(?:no|not|without|max|maximum|minimum|lowest|highest|perfect|top|example|possible|previous|first)\b)"
    r"[^\W\d]+\s+)?"
)
_RANGE = r"(?:\s*\(\s*[01]\s*(?:-|–|to)\s*(?:5|100)\s*\))?"
_A = r"(?:an?\s+|the\s+)?(?:(?:final|overall|total)\s+)?"
_END = (
    rf"(?P<number>{_NUMBER})(?:{_TEXT_OF}|\s*(?:of|de|von|sur|su|из)\s+(?P<of2>{_NUMBER}))?"
    rf"(?:[\s-]*(?:points?|stars?|Punkte|puntos|分|点|점)(?:{_OUT_OF}(?P<of3>{_NUMBER}))?)?"
    r"(?:\s+for\s+(?!(?:if|not)\b)[^\d,;:()]{1,60})?(?:\s*\((?P<gloss>[^()]{1,60})\))?"
)
_GIVE = (
    rf"(?:as\s+an\s+ai\s+language\s+model,\s+)?{_FIRST}I(?:\s+(?:would|will)|['’](?:d|ll))?"
    r"\s+(?:give|rate|score|assign|award|grade)(?:\s+(?:it|this|that|the\s+summary|this\s+summary))?(?:\s+(?:as|at))?"
    rf"\s+{_A}(?:(?:score|rating|grade|mark)\s+of\s+)?{_END}"
)
_GEBE = rf"(?:(?:daher|deshalb|somit|insgesamt)\s+)?(?:ver)?gebe\s+ich\s+(?:die\s+note|eine?)\s+{_END}"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_FIRST}{_ASPECT}{_LABEL}\b{_RANGE}\s*(?:[:=]|[-–—](?=\s))\s*{_A}{_END}",  # My final score: 4/5
        rf"{_FIRST}(?:an?\s+)?{_LABEL}(?:\s+(?:is|of|ist|est|es|would\s+be|will\s+be))?\s+{_A}{_END}",  # The score is 4
        rf"[^\s\d]{{0,12}}?{_CJK_LABEL}{_END}(?:です)?",
        _GIVE,  # I would give it a 4
        _GEBE,  # Daher vergebe ich die Note 4
    )
)
_GETS = r"(?:earns|receives|deserves|gets|is\s+given)\s+"
_UNLESS = "".join(rf"(?<!\b{word})" for word in ("not", "never", "of", "from", "than", "without", "almost"))
# ", earning a score of 4"; "hence a score of 3"; ", scoring a 2"; ", so it receives a score of 4".
_LEADS = re.compile(
    rf"""(?: (?:^|[,;:]\s*|{_UNLESS}(?<!n['’]t)\s)
         (?:resulting\s+in|leading\s+to|earning(?:\s+it)?|receiving|deserving|giving\s+it|hence|thus|therefore)
         (?:,?\s+(?:it\s+{_GETS}|I\s+(?:would\s+)?give\s+(?:it\s+)?|given\s+))? ,?\s*
         {_A}{_LABEL}(?:\s+(?:of|is|at)|\s*:)?\s+
       | [,;]\s*(?:and\s+)?scoring\s+an?\s+ | [,;]\s*{_SO}it\s+scores\s+(?:an?\s+)? | [,;]\s*and\s+gets\s+
       | [,;]\s*{_SO}(?:(?:it|the\s+summary)\s+)?{_GETS}{_A}{_LABEL}\s+of\s+ | [,;]\s*{_SO}the\s+{_A}{_LABEL}\s+is\s+
    ){_A}{_END}$""",
    re.IGNORECASE | re.VERBOSE,
)
# "It receives a score of 4"; ", the score is 4"; ", with a score of one"; ", score of 3"; "and scores a 2".
_FOLLOWS = re.compile(
    rf"""(?: (?:^|[,;]\s*)(?:it|the\s+summary)\s+{_GETS}{_A}{_LABEL}\s+of\s+ | [,;]\s*the\s+{_A}{_LABEL}\s+is\s+
       | [,;]\s*with\s+{_A}{_LABEL}\s+of\s+ | [,;]\s*{_LABEL}\s+(?:of\s+)? | \band\s+scor(?:es|ing)\s+an?\s+
    ){_END}$""",
    re.IGNORECASE | re.VERBOSE,
)
_OUT_AT_END = re.compile(rf"(?:^|\()(?P<number>{_NUMBER}){_TEXT_OF}\)?$", re.IGNORECASE)
_STARRED_SUMMARY = re.compile(rf"(?:an?\s+)?(?P<number>{_NUMBER})-star\s+(?:summary|rating)", re.IGNORECASE)
_BARE = re.compile(_END, re.IGNORECASE)
_GLYPHS = re.compile(r"(?P<full>[★⭐🌟]+)(?P<empty>[☆✩]*)(?:\s*\((?P<gloss>[^()]{1,60})\))?")
_SENTENCES = re.compile(r"(?<=[.!?。;])\s+|\s[-–—]\s(?=[A-Z])")
_CONDITION = re.compile(r"^(?:if|unless|were|had|without)\b", re.IGNORECASE)
_WEAK = re.compile(rf"\b(?:if|unless|could|might|perhaps|maybe)\b|{_HEDGE.pattern}", re.IGNORECASE)
# A "#" is markup before a blank alone ("#4" is a rank), a ">" not before a number ("> 4" is a bound), and
# what stands between two digits never is ("4*2" is not 42).
_MARKUP = re.compile(
    r"(?<![*_`\"“”„«»])(?:(?<!\d)[*_`\"“”„«»]++|[*_`\"“”„«»]++(?!\d))|\\[\[\]()]|</?[a-z]+>|^\#{1,6}\s|^>+(?!\s*\d)|^\|+|^[-•]\s",
    re.IGNORECASE | re.MULTILINE,
)
_FORMULA = re.compile(r"\$([^$\n]{1,100})\$")
_DENIALS = frozenset("❌✗✘✖❎🚫👎⛔🙅°")

# --- what may stand behind an answer: an explanation, and nothing that takes the answer back ---

_EXPLAINS = re.compile(
    r"\W*(?:(?:reason(?:ing)?|explanation|rationale|justification)\b\W*:|(?:the|this)\s+summary\b"
    r"|(?:most|some|half|all|none)\s+of\s+(?:it|its|the|what)\b)",
    re.IGNORECASE,
)
_IT_EXPLAINS = re.compile(rf"{_EXPLAINS.pattern}|\W*it\s+\w+", re.IGNORECASE)
_LABEL_ALONE = re.compile(r"\W*(?:reason(?:ing)?|explanation|rationale|justification)\W*", re.IGNORECASE)
_NEGATES = re.compile(r"\b(?:no|not|never|nor|neither|nothing|hardly|cannot)\b|n['’]t\b", re.IGNORECASE)
_RETRACTS = re.compile(
    r"\W*(?:no|not|nope|nah|never|wait|actually|sorry|correction|rather|or|wrong|false|just)\b"
    r"|.*?\b(?:kidding|joking|jokes?|opposite|scratch|disregard|ignore|on\s+second\s+thoughts?|scores?|ratings?|stars?"
    r"|answers?|options?|letters?|choices?|deserv\w+|merits?|fits?|appl(?:y|ies)|take\s+(?:it|that)\s+back)\b",
    re.IGNORECASE | re.DOTALL,
)
# Possessive, since the classes overlap: a long row of asterisks is tried once.
_LETTER = re.compile(
    r"""\s*+(?:\#{1,6}\s++)?+[\s*_"'`“(\[>]*+
    (?:(?:(?:my|the|your)\s+)?(?:(?:final|correct|best)\s+)?(?:answer|option|choice)\b\s*+(?:is\b)?[\s:=*_"'`“]*+)?
    (?:(?:option|choice)\b\s*+)? [*_"'`“(\[]*+ (?P<letter>[A-Za-z])(?![\w'’])
    (?P<mark>[\s*_"'`”]*(?:[)\].:,]|\s[–—-]\s)[\s*_"'`”)\]]*+|[*_"'`”]*+\s*\n|[\s*_"'`”]*$) """,
    re.IGNORECASE | re.VERBOSE,
)
_LETTER_LINE = re.compile(
    r"""^([\s*_"'`“#>]*(?:(?:final|my|the)\s+)*(?:answer|option|choice|antwort|respuesta|réponse|risposta)\b
    (?:\s+is\b)?[\s:=*_"'`“(\[]*([A-Za-z])[\s*_"'`”)\].]*)$""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_QUOTATION = re.compile(r"""["][^"]*["]|“[^”]*”|„[^“”]*[“”]|«[^»]*»""")
_OTHER = re.compile(r"(?<![\w'’#.-])(?:[B-E](?![\w'’.])|[A-E][).:](?!\w))")


class Letter(NamedTuple):
    """The letter chosen, and what the reply says beside it."""

    letter: str
    rest: str


def field(value: Mapping[str, Any], name: str) -> Any:
    """The value under a key that must be there."""
    if name not in value:
        raise ReplyError(f"the answer has no {name}")
    return value[name]


def text(value: Mapping[str, Any], name: str = "reason") -> str:
    """The text under a key that must be there; it must not be blank."""
    words = field(value, name)
    if not isinstance(words, str) or not clean(words):
        raise ReplyError(f"the {name} is {show(words)}, not a text")
    return clean(words)


def point(value: Any, scale: Scale = POINTS) -> float:
    """A number on the scale, given as a number, in digits or as a word.

    >>> point("four"), point(3.5)
    (4.0, 3.5)
    """
    if isinstance(value, str) and (number := re.fullmatch(_NUMBER, value.strip(), re.IGNORECASE)):
        return scale.checked(_number(number.group()))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**9:
        return scale.checked(float(value))
    raise ReplyError(f"the {scale.noun} is {show(value)}, not a number from {scale.low:g} to {scale.high:g}")


def number_in(text: str, scale: Scale = POINTS, material: Sequence[str] = ()) -> float:
    """The one number that a text answers with: it is all of the text, or the text ends with it, or an explanation
    follows it. Words that stand in `material` as well may be quoted, and answer nothing.

    >>> number_in("Well written, but dull. Score: 4/5."), number_in("4"), number_in("4 out of 5 stars", STARS)
    (4.0, 4.0, 4.0)
    """
    answers = list(_answers(text, scale, material))
    if answers and answers[-1].corrected and answers[-1].outermost:
        return answers[-1].value
    spoken_of = [*_STARRED.finditer(text)] if scale.noun == STARS.noun else []
    spoken_of += [*_SCORE.finditer(text), *_OUT.finditer(text)]
    values = {_spoken(match, scale) for match in own(spoken_of, material)} | {answer.value for answer in answers}
    if len(values) > 1:
        named = ", ".join(f"{value:g}" for value in sorted(values))
        raise ReplyError(f"the reply names more than one {scale.noun} ({named})", fault="ambiguous")
    if not any(answer.outermost for answer in answers):
        raise ReplyError(f"the reply names no {scale.noun}; it ends {show(text[-50:])}", fault="no_json")
    return values.pop()


def is_bare(text: str) -> bool:
    """Whether a text is a number and nothing else, not even what it is out of."""
    return re.fullmatch(_NUMBER, _trimmed(_bare_text(text)), re.IGNORECASE) is not None


class _Answer(NamedTuple):
    """A line or sentence that is an answer; `outermost` where it is the text's last one, or its first before an
    explanation."""

    value: float
    outermost: bool
    corrected: bool


def _answers(text: str, scale: Scale, material: Sequence[str]) -> Iterator[_Answer]:
    # Blanks are made single, and the forms above repeat possessively: so each is tried in linear time.
    lines = [line for line in (_trimmed(line) for line in _bare_text(text).splitlines()) if line]
    known = _folded(material)
    for place, line in enumerate(lines):
        sentences = [line] if _answer(line, scale, whole=True) else _SENTENCES.split(line)
        for at, sentence in enumerate(sentences):
            match = _answer(_trimmed(sentence), scale, whole=len(sentences) == 1)
            if match is None or (match.re is not _BARE and _stands_in(match.group(), known)):
                continue
            last = place == len(lines) - 1 and at == len(sentences) - 1
            corrected = match.groupdict().get("corrected") is not None
            outermost = last or (place == at == 0 and explains("\n".join([*sentences[1:], *lines[1:]])))
            yield _Answer(_value(match, scale), outermost, corrected)


def _bare_text(text: str) -> str:
    return _MARKUP.sub("", _FORMULA.sub(r"\1", text))


def explains(text: str, opening: re.Pattern[str] = _EXPLAINS) -> bool:
    """Whether a text behind an answer speaks of the summary, and no sentence of it takes the answer back.

    >>> explains("The summary leaves out the date."), explains("The summary is fine. NOT.")
    (True, False)
    """
    sentences = [sentence for line in text.splitlines() for sentence in _SENTENCES.split(line) if sentence.strip()]
    return opening.match(text) is not None and not any(
        _RETRACTS.match(sentence) or (len(sentence.split()) < 3 and not _LABEL_ALONE.fullmatch(sentence))
        for sentence in sentences
    )


def _answer(sentence: str, scale: Scale, *, whole: bool) -> re.Match[str] | None:
    """The answer that a sentence is, or ends with. A `whole` line may be a bare number."""
    if _CONDITION.search(sentence):
        return None
    forms = list(_FORMS)
    if whole:
        forms += [_BARE, _GLYPHS, _STARRED_SUMMARY] if scale.noun == STARS.noun else [_BARE]
    for form in forms:
        if match := form.fullmatch(sentence):
            return match
    if match := _LEADS.search(sentence) or _OUT_AT_END.search(sentence):
        return match
    match = _FOLLOWS.search(sentence)
    return None if match is None or _WEAK.search(sentence[: match.start()]) else match


def _trimmed(text: str) -> str:
    """A line without what may stand around an answer: blanks, full stops, pictures, brackets around all of it."""
    text = " ".join(text.split())
    end = len(text)
    while end and (text[end - 1] in " .!。" or _is_picture(text[end - 1])):
        end -= 1
    text = text[:end]
    for _ in range(4):
        if len(text) > 2 and text[0] + text[-1] in {"()", "[]", "''"}:
            text = text[1:-1].strip()
    return text


def _is_picture(char: str) -> bool:
    return unicodedata.category(char) in {"So", "Sk", "Mn", "Cf"} and char not in {*"★☆⭐🌟✩", *_DENIALS}


def own(matches: Iterable[re.Match[str]], material: Sequence[str]) -> list[re.Match[str]]:
    """The matches whose words do not stand in the material as well."""
    known = _folded(material)
    return [match for match in matches if not _stands_in(match.group(), known)]


def _stands_in(words: str, folded: Sequence[str]) -> bool:
    return any(" ".join(words.casefold().split()) in text for text in folded)


def unquoted(text: str, material: Sequence[str]) -> str:
    """A text without what it quotes, in quotation marks and in more than one word, from the material.

    >>> unquoted('It says "The answer is yes." No.', ["A fact. The answer is yes."])
    'It says  No.'
    """
    known = _folded(material)

    def keep(quote: re.Match[str]) -> str:
        inside = " ".join(quote.group()[1:-1].casefold().split())
        return "" if " " in inside and any(inside in text for text in known) else quote.group()

    return _QUOTATION.sub(keep, text)


def _folded(material: Sequence[str]) -> list[str]:
    return [" ".join(nfkc(text).casefold().split()) for text in material]


def _value(match: re.Match[str], scale: Scale) -> float:
    groups = {name: group for name, group in match.groupdict().items() if group}
    noun, text = scale.noun, match.string
    if "full" in groups:
        shown = len(groups["full"]) + len(groups.get("empty", ""))
        if "empty" in groups and shown != scale.high:
            raise ReplyError(f"the {noun} is out of {shown}, not out of {scale.high:g}")
        return _glossed(scale.checked(float(len(groups["full"]))), groups.get("gloss"), scale)
    number = groups.get("number") or groups["number2"]
    for name in ("of", "of2", "of3"):
        if name in groups and _number(groups[name]) != scale.high:
            raise ReplyError(f"the {noun} is out of {groups[name]}, not out of {scale.high:g}")
    if more := _MORE.match(text, match.end()):
        raise ReplyError(f"the {noun} is not one number: {show(match.group() + more.group())}")
    return _glossed(scale.checked(_number(number)), groups.get("gloss"), scale)


def _spoken(match: re.Match[str], scale: Scale) -> float:
    value = _value(match, scale)
    # The clause the number stands in, as far as it goes before it.
    before = re.split(r"[.,;:\n]", match.string[max(0, match.start() - 80) : match.start()])[-1]
    if _HEDGE.search(before):
        raise ReplyError(f"the {scale.noun} is only spoken of: {show(before.strip()[-40:] + ' ' + match.group())}")
    return value


def _glossed(value: float, gloss: str | None, scale: Scale) -> float:
    """The value, where what stands behind it in brackets says no other number."""
    if gloss is not None and (_RETRACTS.match(gloss) or _NEGATES.search(gloss)) and not re.search(r"\d", gloss):
        raise ReplyError(f"the {scale.noun} is {value:g} and {show(gloss)}", fault="ambiguous")
    if gloss is None or not re.search(r"\d", gloss):
        return value
    same = re.fullmatch(rf"\s*({_NUMBER})\s*(?:%|{_TEXT_OF})\s*", gloss, re.IGNORECASE)
    whole = 100.0 if same and same["of"] is None else _number(same["of"]) if same else 1.0
    if same is None or _number(same[1]) * scale.high != value * whole:
        raise ReplyError(f"the {scale.noun} is {value:g} and {show(gloss)}", fault="ambiguous")
    return value


def _number(text: str) -> float:
    if text[0].isdigit():
        return float(text)
    words = [_WORDS[word] for word in re.split(r"[ -]", text.lower())]
    if len(words) == 2 and words[1] == 100:
        return float(words[0] * 100)
    if len(words) == 2 and not (words[0] >= 20 and words[0] % 10 == 0 and 0 < words[1] < 10):
        raise ReplyError(f"{show(text)} is not one number")
    return float(sum(words))


def letter(value: Any, letters: str) -> str:
    """One of the letters, from the field of an answer; "D", "d)" and "D." are one."""
    answer = (choice(value) or "").upper()
    if len(answer) != 1 or answer not in letters:
        raise ReplyError(f"the answer is {show(value)}, not one letter from {letters[0]} to {letters[-1]}")
    return answer


def _repeats(rest: str, chosen: str) -> bool:
    """Whether a text is the letter again, or ends by calling it the answer."""
    lines = list(_LETTER_LINE.finditer(rest))
    named = lines[-1][2] if lines and lines[-1].end() == len(rest) else choice(rest)
    return (named or "").upper() == chosen


def explains_letter(letter: str, behind: str) -> bool:
    """Whether a text behind a letter explains it; on the letter's own line it also negates nothing."""
    del letter
    return explains(behind, _IT_EXPLAINS) if behind[:1] == "\n" else explains(behind) and not _NEGATES.search(behind)


def letter_in(text: str, letters: str, agrees: Callable[[str, str], bool] = explains_letter) -> Letter:
    """The one letter a text answers with: at its beginning, or (called the answer) in its last line; `rest` is what
    else it says.

    `agrees` says whether a text may follow a letter; the text begins with a line break where the letter stands alone
    in its line.

    >>> letter_in("Answer: D. Most of it is there.", "ABCDE")
    Letter(letter='D', rest='Most of it is there.')
    """
    text = _FORMULA.sub(r"\1", text.strip())
    match = _LETTER.match(text)
    named = [] if match else _LETTER_LINE.findall(text)
    if named and text.endswith(named[-1][0]) and len({letter.upper() for _, letter in named}) == 1:
        line, letter = named[-1]
        if letter.upper() in letters:
            return Letter(letter.upper(), text.removesuffix(line).strip())
    rest = text[match.end() :].strip() if match else ""
    # In running text a small letter is a word ("a - in short - poor summary"), so it must stand alone.
    if match is None or (rest and match["letter"].islower()):
        what = f"the reply does not begin with a letter from {letters[0]} to {letters[-1]}: {show(text)}"
        raise ReplyError(what, fault="no_json")
    chosen = match["letter"].upper()
    if chosen not in letters:
        raise ReplyError(f"the answer is {chosen}, not a letter from {letters[0]} to {letters[-1]}")
    others = sorted({match.group()[0] for match in _OTHER.finditer(rest)} - {chosen})
    if others:
        raise ReplyError(f"the reply names more than one letter ({', '.join([chosen, *others])})", fault="ambiguous")
    behind = "\n" * ("\n" in match["mark"]) + rest
    if rest and not _repeats(rest, chosen) and not agrees(chosen, behind):
        raise ReplyError(
            f"the letter {chosen} and what follows it do not plainly agree: {show(rest)}", fault="ambiguous"
        )
    return Letter(chosen, rest)
