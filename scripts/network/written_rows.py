"""Texts and claims written for this network, in `written/`: sources of many kinds, claims as summarizers make them.

Every text, claim and label was written by a language-model assistant while summeter was built; nothing was copied or
adapted. Files whose name starts with `twins` hold short texts with pairs of a true claim and a false one that differs
in one point: all of them are trained on. The others hold longer texts, with claims and with key facts of a summary:
half of these texts (by the hash of their id) are trained on, the other half are development data.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.text.split import split

FOLDER = Path(__file__).resolve().parent / "written"


class Written(NamedTuple):
    """A claim of a summary against its source, or (style `fact`) a key fact against a summary."""

    id: str
    style: str
    text: str
    claim: str
    supported: bool


def kept(name: str) -> bool:
    """Whether the text of this id is development data."""
    return hashlib.sha256(name.encode()).digest()[0] < 128


def written(folder: Path = FOLDER) -> Iterator[Written]:
    for text in _lines(folder, twins=False):
        yield from _of(text)


def _lines(folder: Path, *, twins: bool) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.jsonl")):
        if file.name.startswith("twins") == twins:
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def _of(text: dict[str, Any]) -> Iterator[Written]:
    for claim in text["claims"]:
        yield Written(text["id"], claim["style"], text["text"], claim["text"], claim["label"] == 1)
    for fact in text["facts"]:
        yield Written(text["id"], "fact", text["summary"], fact["text"], fact["label"] == 1)


def pairs(folder: Path = FOLDER) -> Iterator[tuple[str, str, str]]:
    """(premise, claim, label) of what is trained on; of longer texts the premise as the evaluator picks it."""
    yield from _picked(folder, development=False)
    for text in _lines(folder, twins=True):
        for true, false, _ in text["twins"]:
            yield text["text"], true, "entail"
            yield text["text"], false, "not"


def development(folder: Path = FOLDER) -> list[dict[str, str]]:
    """The claims that are not trained on, as rows."""
    names = ("premise", "hypothesis", "label")
    return [dict(zip(names, pair, strict=True)) for pair in _picked(folder, development=True)]


def _picked(folder: Path, *, development: bool) -> Iterator[tuple[str, str, str]]:
    scorer = LexicalScorer()
    for one in written(folder):
        if kept(one.id) == development:
            evidence = prepare(one.text, [(start, end) for start, end in split(one.text)])
            look = scorer.look(one.claim, evidence)
            if isinstance(look, Look):
                yield premises(evidence, look.keys)[-1], one.claim, "entail" if one.supported else "not"
