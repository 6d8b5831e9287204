"""Replies that LLMs give and judges must reject, and unusual replies that judges must accept.

A case is built from a good reply of the evaluator under test (`Replies.good`, an object with the keys "1", "2", ...),
another good reply with other verdicts (`other`), and the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from summeter.records import Document, Item, Span, Summary

SENTENCES = ("Ana sold the boat.", "She bought a mill in May.", "It burnt down.")
TEXT = " ".join(SENTENCES)
FACTS = ("Ana sold a boat.", "Ana bought a mill.", "The mill burnt down.")


def _item() -> Item:
    spans = tuple(
        Span(of="summary", start=TEXT.index(text), end=TEXT.index(text) + len(text)) for text in SENTENCES
    )  # fmt: skip
    document = Document(id="d1", text="Ana sold her boat and bought a mill. It's gone.", key_facts=FACTS)
    return Item(
        document=document,
        summary=Summary(document_id="d1", system="s1", text=TEXT, sentences=spans, splitter="given"),
        rival=Summary(document_id="d1", system="s2", text="Ana moved to a mill.", splitter="given"),
    )


ITEM = _item()


class Replies(NamedTuple):
    """Texts of two different good replies of an evaluator, and the prompt."""

    good: str
    other: str
    prompt: str


class Case(NamedTuple):
    """A reply; `counted` marks those that are bad only if the reply must have one entry per unit."""

    name: str
    build: Callable[[Replies], str]
    status: str = "unparsed"
    counted: bool = False


def _fixed(name: str, text: str, status: str = "unparsed") -> Case:
    return Case(name, lambda _: text, status)


def _edited(name: str, edit: Callable[[dict[str, Any]], Any]) -> Case:
    return Case(name, lambda replies: json.dumps(edit(json.loads(replies.good))), counted=True)


def _cut(tenths: int) -> Case:
    return Case(f"cut after {tenths} tenths", lambda replies: replies.good[: len(replies.good) * tenths // 10])


def _with(key: str, entry: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: {**value, key: entry}


def _listed(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": int(key), **entry} for key, entry in value.items()]


def _nulled(value: dict[str, Any]) -> Any:
    first = {key: (None if key != "reason" else entry) for key, entry in value["1"].items()}
    return {**value, "1": first}


REFUSALS = (
    _fixed("refusal: sorry", "I'm sorry, but I can't assist with that request.", "refused"),
    _fixed("refusal: curly apostrophe", "I’m sorry, but I can’t help with that.", "refused"),
    _fixed("refusal: cannot", "I cannot evaluate this content as it may violate our guidelines.", "refused"),
    _fixed("refusal: as an AI", "As an AI language model, I don't judge texts about real people.", "refused"),
    _fixed("refusal: unable", "Unfortunately, I am unable to comply.", "refused"),
    _fixed("refusal: bold", "**I apologize**, this is not something I can do.", "refused"),
    _fixed("refusal: fenced", "```\nI'm sorry, I can't do that.\n```", "refused"),
    _fixed("refusal: Chinese", "抱歉，我无法完成这个请求。", "refused"),
    _fixed("refusal: Chinese, as an AI", "作为一个人工智能语言模型，我不能提供此类评价。", "refused"),
    _fixed("refusal: Japanese", "申し訳ありませんが、お手伝いできません。", "refused"),
    _fixed("refusal: Korean", "죄송하지만 도와드릴 수 없습니다.", "refused"),
    _fixed("refusal: German", "Es tut mir leid, dabei kann ich nicht helfen.", "refused"),
    _fixed("refusal: French", "Je suis désolé, je ne peux pas vous aider.", "refused"),
    _fixed("refusal: Spanish", "Lo siento, no puedo ayudar con eso.", "refused"),
    _fixed("refusal: Russian", "К сожалению, я не могу помочь с этим.", "refused"),
    _fixed("refusal: in JSON", '{"refusal": "I cannot help with that."}'),
)

EMPTY = (
    _fixed("empty", ""),
    _fixed("blanks", " \n\t\r\n "),
    _fixed("zero-width only", "\ufeff\u200b\u200d"),
    _fixed("empty fence", "```json\n```"),
    _fixed("empty object", "{}"),
    _fixed("empty list", "[]"),
    _fixed("null", "null"),
    _fixed("list of null", "[null]"),
    _fixed("thoughts only", "<think>Sentence one looks fine.</think>"),
)

CUT = (
    *(_cut(tenths) for tenths in range(1, 10)),
    Case("last bracket gone", lambda replies: replies.good[:-1]),
    Case("cut in an unclosed fence", lambda replies: "```json\n" + replies.good[:-2]),
    Case("cut, then prose", lambda replies: replies.good[: len(replies.good) // 2] + "\n\nand so on for the rest."),
    Case("thoughts that never end", lambda replies: "<think>Let me draft: " + replies.good),
    Case("a good draft, then a cut answer", lambda replies: replies.good + "\nFinal:\n" + replies.good[:-1]),
    Case("cut inside a string of a wrapper", lambda replies: '{"answer": ' + replies.good + ', "note": "as'),
)

ELSE = (
    _fixed("prose", "All sentences are supported by the document. No errors were found."),
    _fixed("a score", "Score: 9/10"),
    _fixed("a bare number", "1"),
    _fixed("a fraction", "0.87"),
    _fixed("a bare string", '"no error"'),
    _fixed("a list of numbers", "[1, 1, 1]"),
    _fixed("a score in JSON", '{"score": 5}'),
    _fixed("NaN", '{"1": NaN, "2": NaN, "3": NaN}'),
    _fixed("infinite", '{"1": 1e999, "2": 1e999, "3": 1e999}'),
    _fixed("downgrade", "downgrade: the model is busy, served by a smaller one"),
    _fixed("HTML error page", "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1>{nginx}</body></html>"),
    _fixed("error in JSON", '{"error": {"message": "Rate limit reached", "type": "requests", "code": 429}}'),
    _fixed("traceback", "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: ['1']"),
    _fixed("Markdown table", "| sentence | verdict |\n|---|---|\n| 1 | no error |\n| 2 | no error |\n| 3 | no error |"),
    _fixed("YAML", "1:\n  category: no error\n  present: yes\n2:\n  category: no error\n  present: yes\n"),
    _fixed("XML", "<verdicts><v id='1'>no error</v><v id='2'>no error</v></verdicts>"),
    _fixed("elided", '{"1": {...}, "2": {...}, ...}'),
    _fixed("schema", '{"type": "object", "properties": {"1": {"type": "object"}}, "required": ["1"]}'),
    _fixed("schema, properties only", '{"properties": {"1": {"type": "object"}, "2": {"type": "object"}}}'),
    _fixed("brackets without end", "[" * 5000),
    _fixed("nested without sense", "[" * 5000 + "]" * 5000),
    _fixed("brackets that do not match", '{"1": ["no error"}, "2": "no error"]'),
    _fixed("one letter for ever", "A" * 20000),
    Case("prompt echoed", lambda replies: replies.prompt),
    Case("a string that holds the JSON", lambda replies: json.dumps(replies.good)),
    Case(
        "unescaped quote", lambda replies: replies.good.replace('": "', '": "so "called', 1).replace("[", '["x" y', 1)
    ),
    Case("comment inside", lambda replies: replies.good.replace("{", "{ /* checked */", 1)),
    Case("doubled key", lambda replies: replies.good[:-1] + ", " + replies.good[1:]),
    Case("good, then a broken second thought", lambda replies: replies.good + '\nCorrection: {"1": "x" "y"}'),
)

COUNTED = (
    _edited("first entry missing", lambda value: dict(list(value.items())[1:])),
    _edited("last entry missing", lambda value: dict(list(value.items())[:-1])),
    _edited("one entry too many", lambda value: {**value, str(len(value) + 1): value["1"]}),
    _edited("counted from 0", lambda value: {str(int(key) - 1): entry for key, entry in value.items()}),
    _edited("negative number", lambda value: {f"-{key}": entry for key, entry in value.items()}),
    _edited("unknown key", _with("overall", "good")),
    _edited("null entry", _with("1", None)),
    _edited("null inside an entry", _nulled),
    _edited("entry is a number", _with("2", 1)),
    _edited("entry is true", _with("2", True)),
    _edited("entry is a list", _with("2", ["no error"])),
    _edited("entry is empty", _with("2", {})),
    _edited("list too short", lambda value: list(value.values())[:-1]),
    _edited("list too long", lambda value: [*value.values(), value["1"]]),
    _edited("list with a doubled id", lambda value: [*_listed(value)[:-1], _listed(value)[0]]),
    _edited("list with an id missing", lambda value: [*_listed(value)[:-1], value["3"]]),
    _edited("list with an id out of range", lambda value: [*_listed(value)[:-1], {**value["3"], "id": 99}]),
    _edited("list with a null", lambda value: [*list(value.values())[:-1], None]),
    Case("one object a line", lambda r: "\n".join(map(json.dumps, _listed(json.loads(r.good)))), counted=True),
    Case("two answers that differ", lambda replies: f"{replies.other}\n\nOr rather:\n{replies.good}", counted=True),
    Case("a planted answer afterwards", lambda r: f"{r.good}\nThe text asked me to say {r.other}", counted=True),
    Case("a planted answer before", lambda r: f"The text asked me to say {r.other}.\n{r.good}", counted=True),
)

BAD: tuple[Case, ...] = (*REFUSALS, *EMPTY, *CUT, *ELSE, *COUNTED)


def _odd(name: str, build: Callable[[str], str], *, counted: bool = False) -> Case:
    return Case(name, lambda replies: build(replies.good), "ok", counted)


def _again(good: str) -> Any:
    return json.loads(good)


ODD: tuple[Case, ...] = (
    _odd("plain", lambda good: good),
    _odd("fenced", lambda good: f"```json\n{good}\n```"),
    _odd("fence never closed", lambda good: f"```JSON\n{good}"),
    _odd("tildes", lambda good: f"~~~\n{good}\n~~~"),
    _odd("prose around", lambda good: f"Sure! Here's my answer:\n\n{good}\n\nLet me know if that doesn't help :)"),
    _odd("brackets in the prose", lambda good: f"As [see note] and {{this}} and [1] show: {good} (see [2]; [] too)"),
    _odd("byte-order mark", lambda good: "\ufeff" + good),
    _odd("zero-width borders", lambda good: f"\u200b\u2060{good}\u200d\n"),
    _odd("zero-width between tokens", lambda good: good.replace("{", "{\u200b", 1).replace(", ", ",\u00a0")),
    _odd("trailing commas", lambda good: re.sub(r"\n( *[\]}])", r",\n\1", json.dumps(_again(good), indent=1))),
    _odd("Python literal", lambda good: repr(_again(good))),
    _odd("pretty", lambda good: json.dumps(_again(good), indent=4)),
    _odd("CRLF", lambda good: json.dumps(_again(good), indent=1).replace("\n", "\r\n")),
    _odd("thoughts first", lambda good: f"<think>Hmm, maybe {{}} or [0]?</think>\n\n{good}"),
    _odd("given twice, alike", lambda good: f"{good}\n\n{good}"),
    _odd("wrapped", lambda good: json.dumps({"answer": _again(good)})),
    _odd("wrapped twice", lambda good: json.dumps({"results": {"verdicts": _again(good)}})),
    _odd("an example first that does not fit", lambda good: f'In the form {{"1": {{"x": "..."}}}}: {good}'),
    _odd("escaped apostrophe", lambda good: good.replace("it's", "it\\'s")),
    _odd("list in order", lambda good: json.dumps(list(_again(good).values())), counted=True),
    _odd("list with ids", lambda good: json.dumps(_listed(_again(good))), counted=True),
    _odd("list with ids, backwards", lambda good: json.dumps(_listed(_again(good))[::-1]), counted=True),
    _odd("ids as strings", lambda g: json.dumps([{**e, "id": str(e["id"])} for e in _listed(_again(g))]), counted=True),
    _odd("keys with words", lambda g: json.dumps({f"Sentence {k}": v for k, v in _again(g).items()}), counted=True),
    _odd("keys backwards", lambda g: json.dumps(dict(list(_again(g).items())[::-1])), counted=True),
)
