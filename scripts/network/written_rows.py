"""Texts and claims written for this network, in `written/`: sources of many kinds, claims as summarizers make them.

    python scripts/network/written_rows.py --blind FILE FROM TO      # documents FROM to TO of FILE, claims without labels
    python scripts/network/written_rows.py --compare ANSWERS [FILE]  # a second reader's labels beside the writer's

Every text, claim and label was written by a language-model assistant while summeter was built; nothing was copied or
adapted. Three forms, told apart by the file's name:

- `twins*`: short texts with pairs of a true claim and a false one that differs in one point. All are trained on.
- `long*`: documents of 150 words and more with minimal pairs of claims of nine KINDS (`long_rows`).
- the others: longer texts, with claims and with key facts of a summary (`written`).

Of the last two, some of the documents (by the hash of their id, `kept`) are development data.
"""

import argparse
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from summeter.evaluators.support.network import premise
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.evaluators.support.words import prepare
from summeter.text.split import split

FOLDER = Path(__file__).resolve().parent / "written"
KINDS = ("role", "time", "cause", "quantity", "negation", "speaker", "implied", "fusion", "added")
LABELS = ("entail", "not")
LATER = 200


class Written(NamedTuple):
    """A claim of a summary against its source, or (style `fact`) a key fact against a summary."""

    id: str
    style: str
    text: str
    claim: str
    supported: bool


class LongRow(NamedTuple):
    """A claim about a document of `long*`. `pair` is the id of its twin, which differs in one point and in the label."""

    id: str
    document_id: str
    genre: str
    document: str
    claim: str
    supported: bool
    kind: str
    pair: str


def kept(name: str) -> bool:
    """Whether the text of this id is development data: half of the texts, and a fifth of the documents from long-200 on
    (the first five files of `long*` have lower numbers)."""
    form, _, number = name.partition("-")
    share = 51 if form == "long" and int(number) >= LATER else 128
    return hashlib.sha256(name.encode()).digest()[0] < share


def written(folder: Path = FOLDER) -> Iterator[Written]:
    for text in _lines(folder, "others"):
        yield from _of(text)


def long_rows(folder: Path = FOLDER, *, development: bool | None = None) -> Iterator[LongRow]:
    """The claims of `long*`: all, or those of the development documents (True), or those of the others (False)."""
    for text in _lines(folder, "long"):
        if development is None or kept(text["id"]) == development:
            yield from _rows(text)


def _rows(text: dict[str, Any]) -> Iterator[LongRow]:
    for claim in text["claims"]:
        supported = LABELS.index(claim["label"]) == 0
        yield LongRow(
            claim["id"], text["id"], text["kind"], text["text"], claim["text"], supported, claim["kind"], claim["pair"]
        )


def _lines(folder: Path, form: str) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.jsonl")):
        if form == next((name for name in ("twins", "long") if file.name.startswith(name)), "others"):
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def _of(text: dict[str, Any]) -> Iterator[Written]:
    for claim in text["claims"]:
        yield Written(text["id"], claim["style"], text["text"], claim["text"], claim["label"] == 1)
    for fact in text["facts"]:
        yield Written(text["id"], "fact", text["summary"], fact["text"], fact["label"] == 1)


def training(folder: Path = FOLDER) -> dict[str, list[dict[str, Any]]]:
    """The rows that are trained on, by form: premise, hypothesis, label; `twin` where rows differ in one point; `prior`.

    Of longer texts the premise is what the evaluator picks, with the sentences that decide the claim. True claims stand
    beside the same document without those sentences as well, as `not`.
    """
    documents = [text for text in _lines(folder, "long") if not kept(text["id"])]
    claims = [claim for text in documents for claim in text["claims"]]
    groups = [text["id"] for text in documents for _ in text["claims"]]
    labels = [claim["label"] == "entail" for claim in claims]
    priors = iter(sounds([claim["text"] for claim in claims], labels, groups))
    long: list[dict[str, Any]] = []
    for text in documents:
        for claim in text["claims"]:
            more = {"twin": min(claim["id"], claim["pair"]), "prior": round(next(priors), 3)}
            spans = [
                (at, at + len(quote)) for quote in claim.get("evidence", ()) if (at := text["text"].find(quote)) >= 0
            ]
            rows = [_row(text["text"], claim["text"], claim["label"], spans)]
            if spans and claim["label"] == "entail":
                rows.append(_row(_without(text["text"], spans), claim["text"], "not"))
            long += [{**row, **more} for row in rows if row is not None]
    others = [
        row
        for each in written(folder)
        if not kept(each.id) and (row := _row(each.text, each.claim, LABELS[not each.supported])) is not None
    ]
    twins = [
        {"premise": text, "hypothesis": claim, "label": LABELS[not supported], "twin": f"{file} {number // 2}"}
        for number, (file, text, claim, supported) in enumerate(pairs_of_twins(folder))
    ]
    return {"long": long, "written": others, "twins": twins}


def _row(text: str, claim: str, label: str, spans: Sequence[tuple[int, int]] = ()) -> dict[str, Any] | None:
    """A claim beside what is read of its text, the sentences with `spans` included; None for one without a word."""
    evidence = prepare(text, split(text))
    look = LexicalScorer().look(claim, evidence)
    if not isinstance(look, Look):
        return None
    needed = [number for number, own in enumerate(evidence.sentences) if _meets(own, spans)]
    return {"premise": premise(evidence, look.keys, needed), "hypothesis": claim, "label": label}


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return " ".join(text[slice(*own)].strip() for own in split(text) if not _meets(own, spans))


def _meets(sentence: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(sentence[0] < last and first < sentence[1] for first, last in spans)


def sounds(claims: Sequence[str], labels: Sequence[bool], groups: Sequence[str]) -> list[float]:
    """The log-odds that a claim is true by its words alone, without a text: naive Bayes over words and their pairs, from
    the claims of other groups (five folds), times the slope that fits best."""
    grams = [_grams(claim) for claim in claims]
    folds = np.array([hashlib.sha256(group.encode()).digest()[1] % 5 for group in groups])
    truth = np.array(labels, dtype=float)
    odds = np.zeros(len(claims))
    for fold in range(5):
        counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for at in np.flatnonzero(folds != fold):
            counts[labels[at]].update(grams[at])
        for at in np.flatnonzero(folds == fold):
            odds[at] = sum(math.log((counts[1][gram] + 3) / (counts[0][gram] + 3)) for gram in grams[at])
    slopes = np.arange(0, 1, 0.02)
    losses = [float(np.logaddexp(0, -slope * odds * (2 * truth - 1)).mean()) for slope in slopes]
    return (odds * slopes[int(np.argmin(losses))]).tolist()


def _grams(claim: str) -> set[str]:
    words = ["^", *("#" if word.isdigit() else word for word in re.findall(r"[a-z]+|\d+|[^\sa-z\d]", claim.lower()))]
    return {*words, *(f"{first} {second}" for first, second in pairwise(words)), f"{len(words) // 4} fours"}


def pairs_of_twins(folder: Path = FOLDER) -> Iterator[tuple[str, str, str, bool]]:
    """(file, text, claim, whether it is supported) of `twins*`, a true claim and its false twin one after the other."""
    for file in sorted(folder.glob("twins*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for text in map(json.loads, lines):
                for true, false, _ in text["twins"]:
                    yield file.stem, text["text"], true, True
                    yield file.stem, text["text"], false, False


def blind(file: Path, start: int, end: int) -> Iterator[str]:
    """Documents `start` to `end` (from 1, both counted) with the ids and texts of their claims, and no labels."""
    with file.open(encoding="utf-8") as lines:
        texts = [json.loads(line) for line in lines]
    if not 1 <= start <= end <= len(texts):
        raise SystemExit(f"{file} has documents 1 to {len(texts)}, not {start} to {end}")
    for text in texts[start - 1 : end]:
        yield f"=== {text['id']} ({text['kind']})\n{text['text']}\n"
        for row in _rows(text):
            yield f"{row.id}  {row.claim}"
        yield ""


def answered(file: Path, known: set[str]) -> dict[str, str]:
    """A second reader's label of each claim: one JSON object a line, with `id` and `label`."""
    answers: dict[str, str] = {}
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                _ = row["id"], row["label"]
            except (ValueError, TypeError, KeyError) as error:
                raise SystemExit(f"{file}, line {number}: not a JSON object with `id` and `label`") from error
            if row["id"] not in known:
                raise SystemExit(f"{file}, line {number}: no claim has the id {row['id']!r}")
            if row["label"] not in LABELS:
                raise SystemExit(
                    f"{file}, line {number}: the label is {row['label']!r}, not one of {', '.join(LABELS)}"
                )
            if answers.setdefault(row["id"], row["label"]) != row["label"]:
                raise SystemExit(f"{file}, line {number}: {row['id']} has another label further up")
    return answers


def compared(rows: list[LongRow], answers: dict[str, str]) -> Iterator[str]:
    """Counts by kind of what the second reader labelled otherwise, and each such claim."""
    read = [row for row in rows if row.id in answers]
    differ = [row for row in read if answers[row.id] != LABELS[not row.supported]]
    totals, others = Counter(row.kind for row in read), Counter(row.kind for row in differ)
    yield f"{len(read)} of {len(rows)} claims answered, {len(differ)} labelled otherwise"
    for kind in KINDS:
        yield f"{kind:9} {others[kind]:4} of {totals[kind]}"
    for row in differ:
        yield f"{row.id}  {row.kind}  writer {LABELS[not row.supported]}, reader {answers[row.id]}: {row.claim}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--blind", nargs=3, metavar=("FILE", "FROM", "TO"), help="print claims without labels")
    action.add_argument("--compare", nargs="+", metavar=("ANSWERS", "FILE"), help="compare labels of a second reader")
    arguments = parser.parse_args()
    if arguments.blind:
        file, start, end = arguments.blind
        if not (start.isdecimal() and end.isdecimal()):
            parser.error(f"FROM and TO are numbers of documents, not {start!r} and {end!r}")
        print("\n".join(blind(Path(file), int(start), int(end))))
        return
    if len(arguments.compare) > 2:
        parser.error("--compare takes a file of answers and at most one file of claims")
    rows = list(long_rows())
    answers = answered(Path(arguments.compare[0]), {row.id for row in rows})
    if len(arguments.compare) == 2:
        with Path(arguments.compare[1]).open(encoding="utf-8") as lines:
            rows = [row for line in lines for row in _rows(json.loads(line))]
    print("\n".join(compared(rows, answers)))


if __name__ == "__main__":
    main()
