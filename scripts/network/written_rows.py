"""Texts and claims written for this network, in `written/`: sources of many kinds, claims as summarizers make them.

    python scripts/network/written_rows.py --blind FILE FROM TO      # documents FROM to TO of FILE, claims without labels
    python scripts/network/written_rows.py --compare ANSWERS [FILE]  # a second reader's labels beside the writer's

Every text, claim and label was written by a language-model assistant while summeter was built; nothing was copied or
adapted. Three forms, told apart by the file's name:

- `twins*`: short texts with pairs of a true claim and a false one that differs in one point. All are trained on.
- `long*`: documents of 150 words and more with minimal pairs of claims of eight KINDS (`long_rows`).
- the others: longer texts, with claims and with key facts of a summary (`written`).

Of the last two, half of the documents (by the hash of their id, `kept`) are development data.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.text.split import split

FOLDER = Path(__file__).resolve().parent / "written"
KINDS = ("role", "time", "cause", "quantity", "negation", "speaker", "implied", "fusion")
LABELS = ("entail", "not")


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
    """Whether the text of this id is development data."""
    return hashlib.sha256(name.encode()).digest()[0] < 128


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


def pairs(folder: Path = FOLDER) -> Iterator[tuple[str, str, str]]:
    """(premise, claim, label) of what is trained on; of longer texts the premise as the evaluator picks it."""
    yield from _picked(folder, development=False)
    for _, text, claim, supported in pairs_of_twins(folder):
        yield text, claim, "entail" if supported else "not"


def pairs_of_twins(folder: Path = FOLDER) -> Iterator[tuple[str, str, str, bool]]:
    """(file, text, claim, whether it is supported) of `twins*`."""
    for file in sorted(folder.glob("twins*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for text in map(json.loads, lines):
                for true, false, _ in text["twins"]:
                    yield file.stem, text["text"], true, True
                    yield file.stem, text["text"], false, False


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
