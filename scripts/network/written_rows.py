"""Texts and claims written for this network, in `written/`: sources of many kinds, claims as summarizers make them.

Every text, claim and label was written by a language-model assistant while summeter was built; nothing was copied or
adapted. Half of the texts (by the hash of their id) are trained on, the other half are development data.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from summeter.evaluators.support.evidence import Evidence, prepare
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.text.split import split

FOLDER = Path(__file__).resolve().parent / "written"


class Written(NamedTuple):
    """A claim against a text: `use` is 'source' (a claim of a summary) or 'summary' (a key fact against a summary)."""

    id: str
    kind: str
    use: str
    style: str
    text: str
    claim: str
    supported: bool


def kept(name: str) -> bool:
    """Whether the text of this id is development data."""
    return hashlib.sha256(name.encode()).digest()[0] < 128


def written(folder: Path = FOLDER) -> Iterator[Written]:
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for text in map(json.loads, lines):
                yield from _of(text)


def _of(text: dict[str, Any]) -> Iterator[Written]:
    for claim in text["claims"]:
        yield Written(
            text["id"], text["kind"], "source", claim["style"], text["text"], claim["text"], claim["label"] == 1
        )
    for fact in text["facts"]:
        yield Written(text["id"], text["kind"], "summary", "fact", text["summary"], fact["text"], fact["label"] == 1)


def evidence_of(text: str) -> Evidence:
    return prepare(text, [(start, end) for start, end in split(text)])


def pairs(folder: Path = FOLDER) -> Iterator[tuple[str, str, str]]:
    """(premise, claim, label) of the texts that are trained on, the premise as the evaluator picks it."""
    scorer = LexicalScorer()
    for one in written(folder):
        if not kept(one.id):
            evidence = evidence_of(one.text)
            look = scorer.look(one.claim, evidence)
            if isinstance(look, Look):
                yield premises(evidence, look.keys)[-1], one.claim, "entail" if one.supported else "not"
