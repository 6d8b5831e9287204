"""JSON schemas of LLM replies, and a strict parser that rejects ambiguous replies.

The parser accepts the following deviations, because they lose no information: a byte-order mark and zero-width
characters, Markdown fences, text before and after the JSON, a leading `<think>` block, trailing commas, single quotes
and Python's True/False/None, `\\'` inside a string, and line breaks inside a string.

It raises ReplyError for a truncated value, unmatched brackets, a repeated key (ignoring case), NaN and infinity, two
complete answers that differ, and refusals. A refusal has the kind "refused" and is only detected in replies without
JSON.

Every step takes time linear in the length of the reply.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from summeter.records import ReplyError
from summeter.text.fold import nfkc

T = TypeVar("T")

DEPTH = 64  # no requested reply nests deeper than five levels
MANY = 100  # maximum number of separate JSON values in one reply
REASON: Final = 300
"""Maximum length of a reason or quote in the schema, in characters; the prompts ask for at most 40 words."""
YES_NO: Final[dict[str, Any]] = {"type": "string", "enum": ["yes", "no"]}
NO_YES: Final[dict[str, Any]] = {"type": "string", "enum": ["no", "yes"]}
""""no" comes first, so that a dry run, which answers with the first value, counts every window of a document."""
_THIN = "\ufeff\u200b\u200c\u200d\u2060"
_BLANK = rf"[\s{_THIN}]*+"

# A bracket opens a value only if a valid token or the end of the text follows it: "[see below]" is not a value.
_OPENING = re.compile(
    rf"""\{{(?={_BLANK}(?:["'}}]|\Z))|\[(?={_BLANK}(?:["'\[\]{{\d-]|\Z|(?:true|false|null|True|False|None|NaN)\b))"""
)
# An unclosed string is one token up to the end of the text, so that matching stays linear.
_TOKEN = re.compile(
    r""" "(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z) | '(?:[^'\\]++|\\(?:.|\Z))*+(?:'|\Z) | [\[\]{}] """, re.DOTALL | re.VERBOSE
)
_REPAIRABLE = re.compile(
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

# First words of a refusal, which are searched at the start of replies without JSON.
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
    """Return the schema of an object that has exactly these properties.

    The schema uses only features that the strict modes of hosted providers and the grammars of local servers support
    (design/schemas.md).

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
    """Return the schema of an object with one required entry per key, each with `properties`.

    If `keys` is a number n, the keys are "1" to "n". The entry is defined once, under $defs, because some servers limit
    the total number of enum values in a schema.

    >>> keyed_schema(2, "vote", {"useful": YES_NO})["required"]
    ['1', '2']
    """
    names = [str(place) for place in range(1, keys + 1)] if isinstance(keys, int) else keys
    entry = {"$ref": f"#/$defs/{name}"}
    return object_schema(dict.fromkeys(names, entry), **{"$defs": {name: object_schema(properties)}})


def text_schema(most: int) -> dict[str, Any]:
    """Return the schema of a string of at most `most` characters.

    Without a limit, small models do not stop.
    """
    return {"type": "string", "maxLength": most}


def list_schema(items: Mapping[str, Any], most: int, least: int | None = 1) -> dict[str, Any]:
    """Return the schema of a list of `least` to `most` items."""
    bounds = {"maxItems": most} if least is None else {"minItems": least, "maxItems": most}
    return {"type": "array", "items": dict(items), **bounds}


def is_object(value: Any) -> bool:
    """Return whether the value is a non-empty object."""
    return isinstance(value, dict) and bool(value)


def is_record(value: Any) -> bool:
    """Return whether the value is an object or a list that contains one."""
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
    """Parse a reply: apply `read` to its last complete JSON value that satisfies `wanted`.

    `read` validates the value and raises ReplyError if it is invalid. `wanted` distinguishes answers from other text in
    brackets (default: `is_record`). The reply is rejected as ambiguous if an earlier value is also a complete answer
    and differs in the result of `same` (default: the answer itself). Such a value may be a draft, an example, or a
    verdict injected into the text under judgment.

    `material` contains the texts under judgment; JSON that is quoted from them verbatim is not an answer. If `wordless`
    is true, the requested form has no free text, so a genuine answer may also occur in `material`; a reply that
    consists only of such an object is then an answer.

    >>> read_reply('Sure! ```json\\n{"1": "no error",}\\n```', dict)
    {'1': 'no error'}
    """
    body = answer_text(text)
    found: list[tuple[str, Any]] = []
    fault: str | None = None
    stray = False
    for stretch, start, depth, balanced in _stretches(body):
        try:
            value = _parse(stretch, depth, balanced=balanced)
        except ValueError as error:
            # A valid value before an invalid one may be a draft of it.
            fault = f"the JSON at character {start} of the reply is not valid: {error}"
            continue
        if wanted(value):
            found.append((_squeezed(stretch), value))
            fault = None
        else:
            stray = True
    if len(found) > MANY:
        raise ReplyError(f"the reply contains {len(found)} separate JSON values", fault="ambiguous")
    if fault:
        raise ReplyError(fault, fault="no_json")
    if not found:
        if not body:
            raise ReplyError("the reply is empty", fault="no_json")
        if stray:
            raise ReplyError("the JSON in the reply does not have the requested form")
        if is_refusal(body):
            raise ReplyError(f"the model refused: {show(body, 200)}", kind="refused")
        raise ReplyError(f"there is no JSON in the reply, which starts with {show(body)}", fault="no_json")
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
            continue  # not a complete answer
        if differs:
            raise ReplyError("the reply contains two complete answers that differ", fault="ambiguous")
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
    """Parse the JSON object of a reply or, if the reply contains no brace, its text.

    `from_json` receives an object with lower-case keys, and `from_text` the text without fences. The other parameters
    are those of `read_reply`. Raises ReplyError if there is no answer; its kind is "refused" if the text starts like a
    refusal.
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


def read_tagged(text: str, tag: str, values: Mapping[str, T]) -> T:
    """Return the value of the only element `<tag>` after the thoughts of a reply without JSON.

    `values` maps the possible contents, in lower case. The contents of other elements named `reason` are not read.
    Raises ReplyError if there is no such element, more than one, or one with other contents; its kind is "refused" if
    the text starts like a refusal.

    >>> read_tagged("<think>No? Yes.</think><answer> Yes </answer>", "answer", {"yes": 1, "no": 0})
    1
    """
    body = answer_text(text)
    if is_refusal(body):
        raise ReplyError(f"the model refused: {show(body, 200)}", kind="refused")
    opening, *rest = re.split(f"<{tag}>", re.sub(r"<reason>.*?</reason>", "", body, flags=re.DOTALL))
    content, closing, _ = rest[0].partition(f"</{tag}>") if rest else ("", "", opening)
    if len(rest) != 1 or not closing or content.strip().lower() not in values:
        raise ReplyError(f"the reply has no single <{tag}> of {' or '.join(values)}: {show(body[-200:])}")
    return values[content.strip().lower()]


def by_choice(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys normalised by `choice`.

    Raises ReplyError if two keys become equal.
    """
    entry_of = {choice(key) or key: entry for key, entry in value.items()}
    if len(entry_of) < len(value):
        raise ReplyError("a field occurs twice", fault="ambiguous")
    return entry_of


def unwrap(value: Any) -> Any:
    """Return the value inside objects with a single key such as {"verdicts": [...]}.

    Objects with a numeric key are returned unchanged.
    """
    while isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if number(key) is not None or not isinstance(inner, dict | list):
            break
        value = inner
    return value


def entries(value: Any, count: int, noun: str) -> list[Any]:
    """Return exactly `count` entries in the order of their units.

    Three forms are accepted: an object with numbers as keys {"1": ..., "2": ...}, a list whose entries have an `id` (or
    a `statement_id`, as in Figure 8 of UniSumEval), and an ordered list of entries without ids. `noun` names the unit
    in messages. Raises ReplyError if a number is missing, repeated or out of range.

    >>> entries({"answers": [{"id": 2, "x": "b"}, {"id": 1, "x": "a"}]}, 2, "sentence")
    [{'id': 1, 'x': 'a'}, {'id': 2, 'x': 'b'}]
    """
    value = unwrap(value)
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        if not all(isinstance(entry, dict) for entry in value):
            raise ReplyError(f"the list contains something other than one object per {noun}")
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
            raise ReplyError(
                f"there is an entry for {noun} {position}, but only {count} were asked for", fault="wrong_count"
            )
        if position in entry_of:
            raise ReplyError(f"there are two entries for {noun} {position}", fault="wrong_count")
        entry_of[position] = entry
    missing = [str(position) for position in range(1, count + 1) if position not in entry_of]
    if missing:
        listed = f"{', '.join(missing[:5])}{'...' if len(missing) > 5 else ''}"
        raise ReplyError(f"there is no entry for {noun} {listed}", fault="wrong_count")
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
    """Parse a reply with exactly `count` entries (see `entries`). Return one answer per entry.

    `read` receives an entry, which is an object (or also a string, if `bare` is true), and its index from 0. Messages
    name the unit by `noun`. Complete answers are compared by the results of `decision`. `material` and `wordless` are
    those of `read_reply`.

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


def listed_in(value: Any, names: Sequence[str], noun: str) -> list[Any]:
    """Return the list in a reply, which is the field of an object under one of `names` or the value of its only key.

    `noun` names an entry in messages. Raises ReplyError if there is no list, or if it is empty.
    """
    listed = unwrap(value)
    if isinstance(listed, dict):
        listed = field(listed, *names)
    if not isinstance(listed, list) or not listed:
        raise ReplyError(f"expected a list of {noun}s, got {show(listed)}")
    return listed


class Texts(NamedTuple):
    """The distinct texts of a list in a reply, and the number of repetitions that were removed."""

    texts: tuple[str, ...]
    repeated: int


def read_texts(reply: str, names: Sequence[str], noun: str, material: Sequence[str] = ()) -> Texts:
    """Parse a reply whose object has a list of strings under one of `names` or under its only key.

    `noun` names an entry in messages. `material` contains the text from which the entries were extracted. Raises
    ReplyError if an entry has no letter or digit.
    """

    def texts(value: Any) -> Texts:
        listed = listed_in(value, names, noun)
        distinct: dict[str, str] = {}
        for place, entry in enumerate(listed, 1):
            if not isinstance(entry, str) or not any(map(str.isalnum, entry)):
                raise ReplyError(f"{noun} {place} is {show(entry)}, not a statement")
            distinct.setdefault(choice(entry) or clean(entry), clean(entry))
        return Texts(tuple(distinct.values()), len(listed) - len(distinct))

    return read_reply(reply, texts, wanted=is_object, material=material)


def field(entry: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the only field in `names` that is present.

    Raises ReplyError if none or several of these fields are present.
    """
    present = [name for name in names if name in entry]
    if len(present) != 1:
        raise ReplyError(f"it has {'more than one' if present else 'no'} field named {' or '.join(names)}")
    return entry[present[0]]


def yes(value: Any) -> bool:
    """Return True for yes and False for no, given as a word (ignoring case) or a boolean.

    Raises ReplyError for other values.

    >>> yes("No.")
    False
    """
    word = str(value).lower() if isinstance(value, bool) else choice(value)
    if word not in {"yes", "no", "true", "false"}:
        raise ReplyError(f"{show(value)} is neither yes nor no")
    return word in {"yes", "true"}


def required_text(entry: Mapping[str, Any], name: str) -> str:
    """Return the text of a field. Raises ReplyError if the field is missing or blank."""
    text = optional_text({name: field(entry, name)}, name)
    if text is None:
        raise ReplyError(f"the {name} is {show(entry[name])}, not a string")
    return text


def optional_text(entry: Mapping[str, Any], name: str = "reason") -> str | None:
    """Return the text of a field, or None if the field is missing or blank.

    Raises ReplyError if the value is not a string.
    """
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise ReplyError(f"the {name} is {show(value)}, not a string")
    return clean(value) or None if value else None


def number(value: Any) -> int | None:
    """Return the whole number in values such as 3, "3", "[3]" or "sentence 3", or None (True, 3.5)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        digits = _NUMBERED.fullmatch(value.strip(" []()\n\t" + _THIN))
        return int(digits.group(1)) if digits else None
    return None


def choice(value: Any) -> str | None:
    """Normalise a label for comparison; return None if the label is not a string.

    Compatibility forms and case are folded, white space is collapsed, and invisible characters, surrounding quotes,
    brackets and full stops are removed.

    >>> choice(" **No  Error.** ")
    'no error'
    """
    if not isinstance(value, str):
        return None
    folded = nfkc(value).casefold()
    folded = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return " ".join(folded.replace("_", " ").split()).strip(" .,;:!*'\"`“”‘’()[]<>。")


def clean(value: str) -> str:
    """Return the text with lone surrogates replaced and invisible characters stripped from its ends."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip().strip(_THIN).strip()


def show(value: Any, width: int = 60) -> str:
    """Return a value as printable text for a message.

    The text is on one line and has at most `width` characters.
    """
    text = ascii(value) if not isinstance(value, str) else repr(clean(value[: 4 * width]))
    return text if len(text) <= width else text[: width - 3] + "..."


def is_refusal(text: str) -> bool:
    """Return whether a text without an answer starts like a refusal."""
    return bool(_REFUSAL.match(text.lstrip("*#>\"'`“ \n")))


def answer_text(text: str) -> str:
    """Return the reply without a leading `<think>` block and invisible characters at its ends.

    Raises ReplyError if the block is not closed.
    """
    border = f" \t\r\n{_THIN}"
    body = text.strip(border)
    opening = _THOUGHT.match(body)
    if opening is None:
        return body
    # Take the first closing tag: the answer may quote a later one.
    closing = re.compile(f"</{opening.group(1)}>", re.IGNORECASE).search(body)
    if closing is None:
        raise ReplyError("the reply ends inside its block of thoughts, before an answer", fault="truncated")
    return body[closing.end() :].strip(border)


def _stretches(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """Yield the top-level bracketed parts of a text, ignoring brackets inside strings.

    Each part is (text, start, nesting depth, whether the brackets match). Raises ReplyError if the last part is not
    closed.
    """
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
                balanced = mark == stack.pop()
                if not balanced or not stack:
                    yield text[start:position], start, depth, balanced
                    break
        else:
            raise ReplyError(
                f"the reply is truncated: the JSON that starts at character {start} is not closed", fault="truncated"
            )


def _parse(text: str, depth: int, *, balanced: bool) -> Any:
    """Parse a bracketed text as JSON, after repairing harmless errors if necessary.

    Raises ValueError if the text is not JSON.
    """
    if not balanced:
        raise ValueError("its brackets do not match")
    if depth > DEPTH:
        raise ValueError(f"it nests deeper than {DEPTH} levels")
    try:
        return _load(text)
    except ValueError as error:
        repaired = _REPAIRABLE.sub(_repair, text)
        if repaired == text:
            raise
        try:
            return _load(repaired)
        except ValueError:
            raise error from None


def _load(text: str) -> Any:
    return json.loads(text, strict=False, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    times = Counter(key.casefold() for key, _ in pairs)
    if len(times) != len(pairs):
        repeated = next(key for key, _ in pairs if times[key.casefold()] > 1)
        raise ValueError(f"the key {show(repeated)} occurs twice")
    return dict(pairs)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return value


def _repair(token: re.Match[str]) -> str:
    mark = token.group()
    if mark[0] in "\"'":
        return '"' + _ESCAPE.sub(_repair_escape, mark[1:-1]) + '"'
    return _JSON_WORDS.get(mark, " " if mark == "\u00a0" else "")  # remove trailing commas and invisible characters


def _repair_escape(token: re.Match[str]) -> str:
    escape = token.group(1)
    if escape is None:
        return '\\"'  # an unescaped double quote inside single quotes
    if escape == "'":
        return "'"
    if escape[0] == "x" and len(escape) == 3:
        return "\\u00" + escape[1:]
    if len(escape) == 9 and int(escape[1:], 16) <= 0x10FFFF:
        return json.dumps(chr(int(escape[1:], 16)))[1:-1]
    if escape in set('"\\/bfnrt') or (escape[0] == "u" and len(escape) == 5):
        return "\\" + escape
    return "\\\\" + escape  # as in Python, the backslash is literal
