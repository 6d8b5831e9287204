"""Accuracy of `support` against human labels, compared with ROUGE precision on the same units.

    python benchmarks/quality.py [--data ../shared/data] [--write]

Three human-annotated sets are used: QAGS CNN/DailyMail and QAGS XSum (summary sentences against the document) and
REALSumm (key facts against the summary). Gold is the majority vote; a tie counts as an error (sentences) or absent (key
facts). ROUGE-n precision is the share of the claim's n-grams that match, with the reference tokeniser. AUROC is over
all units of a set; intervals are paired bootstraps over documents. No part of `support` was fitted on these sets.
"words" is `support`.

Without the data the script exits with status 2 and a message. ``--write`` replaces the marked part of
reports/quality.md.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from summeter.evaluators.support.scorer import ClaimSupport, EvidenceName, LexicalScorer
from summeter.evaluators.support.words import index_text
from summeter.stats.classification import auroc, classify
from summeter.text.ngrams import matched, ngrams, words
from summeter.text.split import split

ROOT = Path(__file__).resolve().parent.parent
SETS = ("qags_cnndm", "qags_xsum", "realsumm")
RESAMPLES, SEED = 1000, 7
COLUMNS = (
    "set",
    "units",
    "supported",
    "ROUGE-1",
    "ROUGE-2",
    "words",
    "words against ROUGE-1",
    "words against ROUGE-2",
    "labels: balanced accuracy",
    "no score",
)
BEGIN, END = "<!-- quality table: begin -->", "<!-- quality table: end -->"


class LabelledClaim(NamedTuple):
    """A claim with the index of its evidence text, its document and its gold label."""

    text: int
    document: str
    claim: str
    label: int


class Case(NamedTuple):
    """A prepared dataset: its evidence texts and its units."""

    name: str
    texts: list[tuple[str, tuple[tuple[int, int], ...]]]
    units: list[LabelledClaim]


def majority(votes: Any) -> int | None:
    """Return 1 if more than half of the votes are 1, else 0; None without votes. A single label is unchanged."""
    if not isinstance(votes, dict):
        return None if votes is None else int(votes)
    labels = [int(vote) for vote in votes.values() if vote is not None]
    return int(sum(labels) * 2 > len(labels)) if labels else None


def sentence_spans(summary: str, sentences: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the spans of the sentences in the summary; if one is not found, the summary is split again."""
    spans, at = [], 0
    for sentence in sentences:
        found = summary.find(sentence, at)
        if found < 0:
            return tuple((span[0], span[1]) for span in split(summary))
        at = found + len(sentence)
        spans.append((found, at))
    return tuple(spans)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def load(folder: Path, name: str) -> Case:
    facts = name == "realsumm"
    texts: list[tuple[str, tuple[tuple[int, int], ...]]] = []
    units = []
    for row in rows_of(folder / f"{name}.jsonl.gz"):
        if facts:
            texts.append((row["summary"], sentence_spans(row["summary"], row["sentences"])))
            pairs = zip(row["key_facts"], row["human"]["key_fact_labels"], strict=True)
        else:
            spans = split(row["document"])
            texts.append((row["document"], tuple((span[0], span[1]) for span in spans)))
            pairs = zip(row["sentences"], row["human"]["sentence_labels"], strict=True)
        for claim, votes in pairs:
            label = majority(votes)
            if label is not None:
                units.append(LabelledClaim(len(texts) - 1, row["doc_id"], claim, label))
    return Case(name, texts, units)


def rouge_scores(case: Case, n: int) -> list[float]:
    held = [ngrams(words(text), n) for text, _ in case.texts]
    found = []
    for unit in case.units:
        grams = ngrams(words(unit.claim), n)
        found.append(matched(grams, held[unit.text]) / max(1, sum(grams.values())))
    return found


def support_scores(case: Case, scorer: LexicalScorer) -> list[ClaimSupport]:
    found: list[ClaimSupport] = []
    prepared, at = None, -1
    for unit in case.units:
        if unit.text != at:
            at = unit.text
            prepared = index_text(*case.texts[at])
        assert prepared is not None
        found.extend(scorer.score([unit.claim], prepared))
    return found


def area(labels: np.ndarray, scores: np.ndarray) -> float:
    found = auroc(labels, scores)
    return float("nan") if found.value is None else found.value


def gaps(case: Case, columns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(resamples, columns) AUROCs over documents drawn with replacement, the same draw for every column."""
    rng = np.random.default_rng(SEED)
    documents = sorted({unit.document for unit in case.units})
    members: dict[str, list[int]] = {document: [] for document in documents}
    for i, unit in enumerate(case.units):
        members[unit.document].append(i)
    drawn = []
    for _ in range(RESAMPLES):
        picked = rng.integers(0, len(documents), len(documents))
        rows = np.concatenate([members[documents[p]] for p in picked])
        drawn.append([area(labels[rows], columns[rows, k]) for k in range(columns.shape[1])])
    return np.array(drawn)


def interval(values: np.ndarray) -> str:
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return f"{low:+.3f} to {high:+.3f}"


def speed(scorer: LexicalScorer, case: Case, words_wanted: int = 50_000) -> tuple[float, float, float]:
    """Claims a second on the set (preparing included), and seconds to prepare and to score 10 claims on a long text."""
    start = time.perf_counter()
    support_scores(case, scorer)
    rate = len(case.units) / (time.perf_counter() - start)
    text = " ".join(text for text, _ in case.texts)
    while len(text.split()) < words_wanted:
        text = f"{text} {text}"
    pieces = [m.span() for m in re.finditer(r"\S+", text)]
    text = text[: pieces[words_wanted - 1][1]]
    spans = [(m.start(), m.end()) for m in re.finditer(r"[^.]+\.?", text)]
    start = time.perf_counter()
    evidence = index_text(text, spans)
    prepared = time.perf_counter()
    scorer.score([unit.claim for unit in case.units[:10]], evidence)
    return rate, prepared - start, time.perf_counter() - prepared


def table(folder: Path) -> str:
    lines = [
        f"Words: `{LexicalScorer().id}`; intervals are 95 % over {RESAMPLES} draws of documents, seed {SEED}.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    points, draws = [], []
    for name in SETS:
        case = load(folder, name)
        evidence_name: EvidenceName = "summary" if name == "realsumm" else "source"
        verdicts = support_scores(case, LexicalScorer(evidence_name))
        kept = [i for i in range(len(case.units)) if verdicts[i].probability is not None]
        missing = len(case.units) - len(kept)
        one, two = rouge_scores(case, 1), rouge_scores(case, 2)
        columns = np.array([[one[i], two[i], verdicts[i].probability] for i in kept], dtype=float)
        case = case._replace(units=[case.units[i] for i in kept])
        labels = np.array([unit.label for unit in case.units], dtype=float)
        point = [area(labels, columns[:, k]) for k in range(3)]
        drawn = gaps(case, columns, labels)
        points.append(point)
        draws.append(drawn)
        cells = [f"{value:.3f}" for value in point]
        found = classify(labels, [float(bool(verdicts[i].supported)) for i in kept])["balanced_accuracy"]
        decided = "undefined" if found.value is None else f"{found.value:.3f}"
        against = [f"{point[2] - point[k]:+.3f} ({interval(drawn[:, 2] - drawn[:, k])})" for k in range(2)]
        counts = [name, str(len(labels)), f"{labels.mean():.2f}"]
        lines.append(f"| {' | '.join([*counts, *cells, *against, decided, str(missing)])} |")
    mean, drawn = np.mean(points, axis=0), np.mean(draws, axis=0)
    against = [f"{mean[2] - mean[k]:+.3f} ({interval(drawn[:, 2] - drawn[:, k])})" for k in range(2)]
    lines.append(f"| mean | | | {' | '.join([*(f'{value:.3f}' for value in mean), *against])} | | |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the datasets")
    parser.add_argument("--write", action="store_true", help="write the table to reports/quality.md")
    parser.add_argument("--speed", action="store_true", help="only measure the speed of the scorer")
    options = parser.parse_args()
    absent = [name for name in SETS if not (options.data / f"{name}.jsonl.gz").is_file()]
    if absent:
        print(
            f"quality: {options.data} has no {', '.join(absent)} (.jsonl.gz); nothing was measured",
            file=sys.stderr,
        )
        return 2
    if options.speed:
        rate, prepare_s, score_s = speed(LexicalScorer(), load(options.data, "qags_cnndm"))
        print(f"{rate:.0f} claims/s; 50,000 words: {prepare_s:.2f} s to prepare, {score_s * 100:.1f} ms a claim")
        return 0
    made = table(options.data)
    print(made)
    if options.write:
        page = ROOT / "reports" / "quality.md"
        before, rest = page.read_text(encoding="utf-8").split(BEGIN, 1)
        page.write_text(f"{before}{BEGIN}\n{made}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
