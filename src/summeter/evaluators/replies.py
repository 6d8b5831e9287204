"""The forms that LLMs are asked to reply in, and the strict reading of replies: taken as they stand or refused.

Accepted, because it loses nothing: a byte-order mark and zero-width characters, Markdown
fences, prose before and after, a leading `<think>` block, trailing commas, single quotes and Python's
True/False/None, `\\'` inside a string, line breaks inside a string.

Refused: a value that is cut off, one whose brackets do not match, a key given twice (in whatever case), NaN and
infinity, two complete answers that say different things. Each is a ReplyError; so is a refusal, which
has a kind of its own and is looked for only where there is no JSON.

Every step is linear in the length of the reply, whatever it holds.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from summeter.records import ReplyError
from summeter.text.fold import nfkc

T = TypeVar("T")

DEPTH = 64  # no answer asked for here nests deeper than five
MANY = 100  # separate values in one reply; more is noise
REASON: Final = 300
"""Longest reason or quote that the schema allows, in characters; the prompts ask for 40 words."""
YES_NO: Final[dict[str, Any]] = {"type": "string", "enum": ["yes", "no"]}
NO_YES: Final[dict[str, Any]] = {"type": "string", "enum": ["no", "yes"]}
"""No first: a dry run, which takes the first, then counts every window of a long document."""
_THIN = "\ufeff\u200b\u200c\u200d\u2060"
_BLANK = rf"[\s{_THIN}]*+"

# A bracket opens a value only if something follows that can stand there, or nothing (a cut): "[see below]" does not.
_OPENING = re.compile(
    rf"""\{{(?={_BLANK}(?:["'}}]|\Z))|\[(?={_BLANK}(?:["'\[\]{{\d-]|\Z|(?:true|false|null|True|False|None|NaN)\b))"""
)
# A string that never closes is one token to the end of the text; else each quote would be tried anew.
_TOKEN = re.compile(
    r""" "(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z) | '(?:[^'\\]++|\\(?:.|\Z))*+(?:'|\Z) | [\[\]{}] """, re.DOTALL | re.VERBOSE
)
_MENDABLE = re.compile(
    rf""" "(?:[^"\\]++|\\.)*+" | '(?:[^'\\]++|\\.)*+' | ,(?={_BLANK}[\]}}])
        | [{_THIN}\u00a0] | \b(?:True|False|None)\b """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"""\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|" """.strip(), re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z0-9]*")
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:(?:sentence|claim|key[ _-]?fact|fact|line|id|no|s|k)[ _.-]?)?#?0*([0-9]{1,6})\.?", re.IGNORECASE
)

# First words of a refusal. Looked for at the start of a reply that holds no JSON.
_REFUSAL = re.compile(
    r"""(?:
      i(?:['’]?m|\ am)\ (?:really\ |very\ |so\ )?sorry | sorry\b | (?:my\ )?apologies | i\ apologi[sz]e
    | (?:unfortunately,?\ )?i\ (?:can['’]?t|cannot|can\ not|won['’]?t|will\ not|must\ decline)
    | (?:unfortunately,?\ )?i\ am\ (?:not\ able|unable|not\ comfortable)
    | (?:unfortunately,?\ )?i['’]m\ (?:not\ able|unable|not\ comfortable|not\ going\ to)
    | as\ an?\ (?:ai|artificial|language|large\ language) | this\ (?:request|content)\ (?:violates|goes\ against)
    | (?:很)?抱歉 | 对不起 | 對不起 | 不好意思 | 我(?:无法|無法|不能)
    | 作[为為](?:一个|一個|一名)?(?:ai|人工智[能慧]|语言模型|語言模型)
    | 申し訳 | すみません | 恐れ入りますが | 죄송 | 미안
    | es\ tut\ mir\ leid | (?:leider\ )?(?:kann\ ich|ich\ kann)\b.{0,40}?\bnicht | als\ (?:ki|sprachmodell)
    | je\ suis\ (?:vraiment\ )?désolée? | désolée? | je\ ne\ (?:peux|puis) | en\ tant\ qu['’](?:ia|intelligence)
    | lo\ siento | no\ puedo | como\ (?:modelo|una?\ (?:ia|inteligencia|modelo)) | (?:sinto|desculpe) | não\ posso
    | mi\ dispiace | non\ posso | извините | простите | к\ сожалению | я\ не\ могу | как\ (?:ии|языковая\ модель)
    | آسف | عذرا | لا\ أستطيع | क्षमा | मुझे\ खेद
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def object_schema(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The schema of an object with all these properties and no others.

    Only what the strict modes of hosted providers and the grammars of local servers both hold to (design/schemas.md).

    >>> object_schema({"answer": YES_NO})["required"]
    ['answer']
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def keyed_schema(keys: int | Sequence[str], name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with one required entry a key, each with `properties`; a number asks for "1" to that.

    The entry stands once, under $defs, since some servers limit the enum values of a schema in all.

    >>> keyed_schema(2, "vote", {"useful": YES_NO})["required"]
    ['1', '2']
    """
    names = [str(place) for place in range(1, keys + 1)] if isinstance(keys, int) else keys
    entry = {"$ref": f"#/$defs/{name}"}
    return object_schema(dict.fromkeys(names, entry), **{"$defs": {name: object_schema(properties)}})


def text_schema(most: int) -> dict[str, Any]:
    """The schema of a text of so many characters at most: a small model would write on to its limit."""
    return {"type": "string", "maxLength": most}


def list_schema(items: Mapping[str, Any], most: int, least: int | None = 1) -> dict[str, Any]:
    """The schema of a list of `least` to `most` items."""
    bounds = {"maxItems": most} if least is None else {"minItems": least, "maxItems": most}
    return {"type": "array", "items": dict(items), **bounds}


def is_object(value: Any) -> bool:
    """An object that is not empty."""
    return isinstance(value, dict) and bool(value)


def is_record(value: Any) -> bool:
    """An object, or a list that holds an object: what a reply with one entry a unit looks like."""
    entries = value if isinstance(value, list) else [value]
    return bool(value) and any(isinstance(entry, dict) for entry in entries)


def read_reply(
    text: str,
    read: Callable[[Any], T],
    *,
    wanted: Callable[[Any], bool] = is_record,
    same: Callable[[T], object] = lambda answer: answer,
    material: Sequence[str] = (),
    wordless: bool = False,
) -> T:
    """The answer in a reply: `read` applied to its last complete JSON value that is `wanted`.

    `wanted` tells what an answer may look like from what is merely bracketed (default: `is_record`).
    `read` validates and raises ReplyError. Earlier wanted values count too: where one of them also reads
    as a full answer, and differs (in `same`, default: at all), the reply is refused, since nothing says
    which answer was meant: a draft, an example, or a verdict planted in the text under judgment.
    `material` is that text: JSON that stands in it word for word is a quotation and never an answer. `wordless`
    forms leave no room for words of the judge's own, so that an honest answer may stand there too, by chance or
    because somebody wants it unsaid: a reply that is nothing but such an object is an answer.

    >>> read_reply('Sure! ```json\\n{"1": "no error",}\\n```', dict)
    {'1': 'no error'}
    """
    body = answer_text(text)
    found: list[tuple[str, Any]] = []
    fault: str | None = None
    stray = False
    for stretch, start, depth, whole in _stretches(body):
        try:
            value = _parse(stretch, depth, whole=whole)
        except ValueError as error:
            # The good value before a broken one might be a draft of it.
            fault = f"the JSON at character {start} of the reply is not valid: {error}"
            continue
        if wanted(value):
            found.append((_squeezed(stretch), value))
            fault = None
        else:
            stray = True
    if len(found) > MANY:
        raise ReplyError(f"the reply holds {len(found)} separate JSON values", fault="ambiguous")
    if fault:
        raise ReplyError(fault, fault="no_json")
    if not found:
        if not body:
            raise ReplyError("the reply is empty", fault="no_json")
        if stray:
            raise ReplyError("the JSON in the reply is not of the form that was asked for")
        if is_refusal(body):
            raise ReplyError(f"the model refused: {show(body, 200)}", kind="refused")
        raise ReplyError(f"there is no JSON in the reply, which begins {show(body)}", fault="no_json")
    alone = len(found) == 1 and found[0][0] == _squeezed(_FENCE.sub("", body))
    sources = [] if wordless and alone else [_squeezed(source) for source in material if "{" in source]
    answers = [value for words, value in found if not any(words in source for source in sources)]
    if not answers:
        raise ReplyError("the only JSON in the reply is quoted from the text under judgment", fault="no_json")
    answer = read(answers[-1])
    for value in answers[:-1]:
        try:
            differs = same(read(value)) != same(answer)
        except ReplyError:
            continue  # no full answer
        if differs:
            raise ReplyError(
                "the reply holds two complete answers that differ, and nothing says which one counts", fault="ambiguous"
            )
    return answer


def _squeezed(text: str) -> str:
    return "".join(text.split())


def read_answer(
    text: str,
    from_json: Callable[[Mapping[str, Any]], T],
    from_text: Callable[[str], T],
    *,
    same: Callable[[T], object],
    material: Sequence[str] = (),
    wordless: bool = False,
) -> T:
    """The answer in a reply: from its JSON object where it holds a brace, else from its text.

    `from_json` is given an object with keys in lower case, `from_text` the text without fences. The other parameters
    are as for `read_reply`. Raises ReplyError, of kind "refused" where a text without an answer begins as refusals do.
    """
    body = answer_text(text)
    if "{" in body:

        def read(value: Any) -> T:
            value = unwrap(value)
            if not isinstance(value, dict):
                raise ReplyError(f"expected an object, got {show(value)}")
            return from_json(by_choice(value))

        return read_reply(text, read, wanted=is_object, same=same, material=material, wordless=wordless)
    if not body:
        raise ReplyError("the reply is empty", fault="no_json")
    try:
        return from_text(_FENCE.sub("", body))
    except ReplyError:
        if is_refusal(body):
            raise ReplyError(f"the model refused: {show(body, 200)}", kind="refused") from None
        raise


def by_choice(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its keys as `choice` compares them; ReplyError where two of them are one."""
    entry_of = {choice(key) or key: entry for key, entry in value.items()}
    if len(entry_of) < len(value):
        raise ReplyError("a field is given twice", fault="ambiguous")
    return entry_of


def unwrap(value: Any) -> Any:
    """What a one-key object such as {"verdicts": [...]} wraps; a key that is a number is no wrapper."""
    while isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if number(key) is not None or not isinstance(inner, dict | list):
            break
        value = inner
    return value


def entries(value: Any, count: int, noun: str) -> list[Any]:
    """Exactly `count` entries, in order of their units, from any of three forms:

    an object keyed by number {"1": ..., "2": ...}; a list whose entries all carry an `id` (or `statement_id`, as in
    UniSumEval's Figure 8); a list of entries without ids, which is taken in order. `noun` names the unit in messages.
    A missing, extra, doubled or unknown number is a ReplyError.

    >>> entries({"answers": [{"id": 2, "x": "b"}, {"id": 1, "x": "a"}]}, 2, "sentence")
    [{'id': 1, 'x': 'a'}, {'id': 2, 'x': 'b'}]
    """
    value = unwrap(value)
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        if not all(isinstance(entry, dict) for entry in value):
            raise ReplyError(f"the list holds something other than one object per {noun}")
        id_field = next((name for name in ("id", "statement_id") if any(name in entry for entry in value)), None)
        if id_field is None and len(value) != count:
            ending = "y" if len(value) == 1 else "ies"
            nouns = noun if count == 1 else f"{noun}s"
            raise ReplyError(f"{len(value)} entr{ending} for {count} {nouns}", fault="wrong_count")
        pairs = [(place if id_field is None else entry.get(id_field), entry) for place, entry in enumerate(value, 1)]
    else:
        raise ReplyError(f"expected one entry per {noun}, got {show(value)}")
    entry_of: dict[int, Any] = {}
    for key, entry in pairs:
        position = number(key)
        if position is None:
            raise ReplyError(f"{show(key)} is not the number of a {noun}")
        if not 1 <= position <= count:
            raise ReplyError(f"an entry for {noun} {position}, but they run from 1 to {count}", fault="wrong_count")
        if position in entry_of:
            raise ReplyError(f"two entries for {noun} {position}", fault="wrong_count")
        entry_of[position] = entry
    missing = [str(position) for position in range(1, count + 1) if position not in entry_of]
    if missing:
        some = f"{', '.join(missing[:5])}{'...' if len(missing) > 5 else ''}"
        raise ReplyError(f"no entry for {noun} {some}", fault="wrong_count")
    return [entry_of[position] for position in range(1, count + 1)]


def read_entries(
    text: str,
    count: int,
    noun: str,
    read: Callable[[Any, int], T],
    *,
    decision: Callable[[T], object],
    material: Sequence[str] = (),
    wordless: bool = False,
    bare: bool = False,
) -> tuple[T, ...]:
    """One answer for each of exactly `count` entries in a reply (see `entries`).

    `read` is given the entry, an object (or, where `bare` entries are allowed, a text), and its place from 0. A fault
    names the unit, a `noun`. `decision` is what two complete answers must agree in; `material` and `wordless` are as
    for `read_reply`.

    >>> read_entries('{"2": "no", "1": "Yes."}', 2, "sentence", lambda entry, _: yes(entry), decision=bool, bare=True)
    (True, False)
    """

    def answers(value: Any) -> tuple[T, ...]:
        found = []
        for place, entry in enumerate(entries(value, count, noun)):
            try:
                if not isinstance(entry, (dict, str) if bare else dict):
                    raise ReplyError(f"the entry is {show(entry)}, not an object")
                found.append(read(entry, place))
            except ReplyError as error:
                raise error.within(f"{noun} {place + 1}") from None
        return tuple(found)

    return read_reply(
        text, answers, same=lambda found: [decision(one) for one in found], material=material, wordless=wordless
    )


class Texts(NamedTuple):
    """The texts of a list in a reply, without repetitions; `repeated` counts those left out."""

    texts: tuple[str, ...]
    repeated: int


def read_texts(reply: str, names: Sequence[str], noun: str, material: Sequence[str] = ()) -> Texts:
    """The list of texts in a reply's object, under one of these names or under its only key. An entry without a letter
    or digit is a fault of the whole reply; `noun` names it. `material` is what the texts were drawn from."""

    def texts(value: Any) -> Texts:
        value = value if any(name in value for name in names) else unwrap(value)
        listed = field(value, *names) if isinstance(value, dict) else value
        if not isinstance(listed, list) or not listed:
            raise ReplyError(f"expected a list of {noun}s, got {show(listed)}")
        kept: dict[str, str] = {}
        for place, entry in enumerate(listed, 1):
            if not isinstance(entry, str) or not any(map(str.isalnum, entry)):
                raise ReplyError(f"{noun} {place} is {show(entry)}, not a statement")
            kept.setdefault(choice(entry) or clean(entry), clean(entry))
        return Texts(tuple(kept.values()), len(listed) - len(kept))

    return read_reply(reply, texts, wanted=is_object, material=material)


def field(entry: Mapping[str, Any], *names: str) -> Any:
    """The value under the one of these names that is there; ReplyError for none and for several."""
    there = [name for name in names if name in entry]
    if len(there) != 1:
        raise ReplyError(f"it has {'no' if not there else 'more than one'} field named {' or '.join(names)}")
    return entry[there[0]]


def yes(value: Any) -> bool:
    """Whether it says yes or no, in any case, or as a boolean; ReplyError for anything else.

    >>> yes("No.")
    False
    """
    word = str(value).lower() if isinstance(value, bool) else choice(value)
    if word not in {"yes", "no", "true", "false"}:
        raise ReplyError(f"{show(value)} is neither yes nor no")
    return word in {"yes", "true"}


def required_text(entry: Mapping[str, Any], name: str) -> str:
    """The text under a name that must be there; it must not be blank."""
    text = optional_text({name: field(entry, name)}, name)
    if text is None:
        raise ReplyError(f"the {name} is {show(entry[name])}, not a text")
    return text


def optional_text(entry: Mapping[str, Any], name: str = "reason") -> str | None:
    """The text under a name, None where there is none; ReplyError where it is no text."""
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise ReplyError(f"the {name} is {show(value)}, not a text")
    return clean(value) or None if value else None


def number(value: Any) -> int | None:
    """The whole number in 3, "3", "[3]" or "sentence 3"; None for anything else (True and 3.5 included)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        digits = _NUMBERED.fullmatch(value.strip(" []()\n\t" + _THIN))
        return int(digits.group(1)) if digits else None
    return None


def choice(value: Any) -> str | None:
    """A label as it is compared: compatibility forms folded, lower case, single blanks, without invisible
    characters and without quotes, brackets or full stops around it. None where it is no string.

    >>> choice(" **No  Error.** ")
    'no error'
    """
    if not isinstance(value, str):
        return None
    folded = nfkc(value).casefold()
    folded = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return " ".join(folded.replace("_", " ").split()).strip(" .,;:!*'\"`“”‘’()[]<>。")


def clean(value: str) -> str:
    """A text fit to be stored: lone surrogates replaced, invisible borders stripped."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip().strip(_THIN).strip()


def show(value: Any, width: int = 60) -> str:
    """A value as it stands in a message: one line, printable, short."""
    text = ascii(value) if not isinstance(value, str) else repr(clean(value[: 4 * width]))
    return text if len(text) <= width else text[: width - 3] + "..."


def is_refusal(text: str) -> bool:
    """Whether a text without an answer begins as refusals do."""
    return bool(_REFUSAL.match(text.lstrip("*#>\"'`“ \n")))


def answer_text(text: str) -> str:
    """The reply without invisible borders and without a leading block of thoughts; ReplyError where those never end."""
    border = f" \t\r\n{_THIN}"
    body = text.strip(border)
    opening = _THOUGHT.match(body)
    if opening is None:
        return body
    # The first closing tag: a later one may be quoted by the answer, and would hide what stands before it.
    closing = re.compile(f"</{opening.group(1)}>", re.IGNORECASE).search(body)
    if closing is None:
        raise ReplyError("the reply ends inside its thoughts, before any answer", fault="truncated")
    return body[closing.end() :].strip(border)


def _stretches(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """Top-level bracketed stretches, brackets matched outside strings: the text, where it starts, how deep it nests,
    whether its brackets match. Raises where the last is cut off."""
    position = 0
    while opening := _OPENING.search(text, position):
        start, depth = opening.start(), 0
        stack: list[str] = []
        for token in _TOKEN.finditer(text, start):
            mark, position = token.group(), token.end()
            if mark in {"[", "{"}:
                stack.append("]" if mark == "[" else "}")
                depth = max(depth, len(stack))
            elif mark in {"]", "}"}:
                whole = mark == stack.pop()
                if not whole or not stack:
                    yield text[start:position], start, depth, whole
                    break
        else:
            raise ReplyError(
                f"the reply is cut off: the JSON that starts at character {start} never ends", fault="truncated"
            )


def _parse(text: str, depth: int, *, whole: bool) -> Any:
    """The value of a stretch: as JSON, else as JSON with harmless slips mended. ValueError where neither."""
    if not whole:
        raise ValueError("its brackets do not match")
    if depth > DEPTH:
        raise ValueError(f"it nests more than {DEPTH} deep")
    try:
        return _load(text)
    except ValueError as error:
        mended = _MENDABLE.sub(_mend, text)
        if mended == text:
            raise
        try:
            return _load(mended)
        except ValueError:
            raise error from None


def _load(text: str) -> Any:
    return json.loads(text, strict=False, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    times = Counter(key.casefold() for key, _ in pairs)
    if len(times) != len(pairs):
        doubled = next(key for key, _ in pairs if times[key.casefold()] > 1)
        raise ValueError(f"the key {show(doubled)} is given twice")
    return dict(pairs)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return value


def _mend(token: re.Match[str]) -> str:
    mark = token.group()
    if mark[0] in "\"'":
        return '"' + _ESCAPE.sub(_mend_escape, mark[1:-1]) + '"'
    return _JSON_WORDS.get(mark, " " if mark == "\u00a0" else "")  # a trailing comma or an invisible character goes


def _mend_escape(token: re.Match[str]) -> str:
    escape = token.group(1)
    if escape is None:
        return '\\"'  # a bare double quote inside single quotes
    if escape == "'":
        return "'"
    if escape[0] == "x" and len(escape) == 3:
        return "\\u00" + escape[1:]
    if len(escape) == 9 and int(escape[1:], 16) <= 0x10FFFF:
        return json.dumps(chr(int(escape[1:], 16)))[1:-1]
    if escape in set('"\\/bfnrt') or (escape[0] == "u" and len(escape) == 5):
        return "\\" + escape
    return "\\\\" + escape  # as Python reads it: the backslash stands for itself
