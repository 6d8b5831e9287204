"""What the scorers of `support` are fitted and measured on: claims against texts, with labels.

`human`: people's labels on whole documents (`human.jsonl.gz`); a summary of several sentences is one bag of claims, which is
not supported where one of them is not. `written`: texts and claims written for it, checked by a second reader
(`network/written/long*`) or by their writer. `proxies`: tasks made by rule (support_proxies.py).
"""

import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).resolve().parent / "network"))
import support_proxies
from written_rows import long_rows, pairs_of_twins, written

from summeter.evaluators.support.checks import CONFLICTS
from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.features import FEATURES
from summeter.evaluators.support.scorer import LexicalScorer, Look, Support
from summeter.evaluators.support.weights import MOST, Use, Weights, shipped
from summeter.text.ngrams import matched, ngrams, words
from summeter.text.split import split

SOURCES = ("wice", "bump", "diasumfact", "gofigure_xsum", "gofigure_samsum", "ragtruth", "factcc")
FOLDS = 5
COPYING = ("e", "h", "k")
"""The files of twins whose claims copy and fuse, as systems do; in the others true claims share fewer words with the
text than false ones, by design."""


class Claim(NamedTuple):
    """A claim against a text. `bag`: what it is judged with (the sentences of a summary); `group`: never split."""

    set: str
    text: str
    spans: tuple[tuple[int, int], ...]
    claim: str
    supported: bool
    group: str
    bag: str

    @property
    def use(self) -> Use:
        """A sentence against its source, or a key fact against a summary."""
        return "summary" if self.set.startswith("facts") else "source"


def _spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in split(text))


def human(folder: Path) -> Iterator[Claim]:
    with gzip.open(folder / "human.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            text, claim = row["premise"], row["hypothesis"]
            pieces = _spans(claim) if row["unit"] == "summary" else ((0, len(claim)),)
            spans = _spans(text)
            for start, end in pieces:
                supported = row["label"] == "entail"
                yield Claim(row["source"], text, spans, claim[start:end], supported, row["group"], f"human.{number}")


def of_written() -> Iterator[Claim]:
    for row in written():
        if row.style in ("copy", "fact"):
            name = "facts.written" if row.style == "fact" else "written.copy"
            yield Claim(name, row.text, _spans(row.text), row.claim, row.supported, row.id, f"{row.id}.{row.claim}")
    for row in long_rows():
        yield Claim(
            f"long.{row.kind}", row.document, _spans(row.document), row.claim, row.supported, row.document_id, row.id
        )
    for number, (name, text, claim, supported) in enumerate(pairs_of_twins()):
        if name.removeprefix("twins_") in COPYING:
            yield Claim(name, text, _spans(text), claim, supported, text, f"twins.{number}")


def proxies(folder: Path, each: int, premises: Callable[[str], bool] | None = None) -> Iterator[Claim]:
    """At most `each` claims of a proxy, of rows with these premises."""
    support_proxies.PER_PROXY = each
    rows = [row for row in support_proxies.load(folder) if premises is None or premises(row.premise)]
    for number, example in enumerate(support_proxies.examples(rows, dict(shipped().common))):
        spans, at = [], 0
        for sentence in example.sentences:
            spans.append((at, at + len(sentence)))
            at += len(sentence) + 1
        text = " ".join(example.sentences)
        yield Claim(
            example.proxy, text, tuple(spans), example.claim, example.supported, example.group, f"proxy.{number}"
        )


class Table(NamedTuple):
    """Claims with what was measured of them: (claims, features), (claims, kinds of conflict), ROUGE-1 and -2 precision,
    and whether the text is a dialogue."""

    claims: list[Claim]
    features: np.ndarray
    conflicts: np.ndarray
    rouge: np.ndarray
    dialogue: np.ndarray

    def of(self, places: np.ndarray) -> "Table":
        """The claims at these places."""
        at = np.flatnonzero(places) if places.dtype == bool else places
        return Table([self.claims[i] for i in at], *(array[at] for array in self[1:]))

    @property
    def labels(self) -> np.ndarray:
        return np.array([float(claim.supported) for claim in self.claims])

    @property
    def sets(self) -> np.ndarray:
        return np.array([claim.set for claim in self.claims])

    @property
    def is_human(self) -> np.ndarray:
        return np.isin(self.sets, SOURCES)

    @property
    def unmatched(self) -> np.ndarray:
        """The share of each claim's words that the best sentence lacks."""
        best: np.ndarray = 1 - self.features[:, FEATURES.index("sentence")]
        return best

    @property
    def folds(self) -> np.ndarray:
        return np.array([fold_of(claim.group) for claim in self.claims])


def fold_of(group: str) -> int:
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % FOLDS


def precision(claim: Sequence[str], text: Sequence[str], n: int) -> float:
    mine = ngrams(claim, n)
    return matched(mine, ngrams(text, n)) / max(1, sum(mine.values()))


def measured(claims: Iterator[Claim]) -> Table:
    """The claims that have words to check, looked at by the lexical scorer."""
    kept, features, conflicts, rouge, dialogue = [], [], [], [], []
    text, evidence, tokens = None, None, None
    for claim in claims:
        if claim.text != text or evidence is None:
            text, evidence, tokens = claim.text, prepare(claim.text, claim.spans), words(claim.text)
        look = LexicalScorer(claim.use).look(claim.claim, evidence)
        if isinstance(look, Support):
            continue
        kept.append(claim)
        features.append([look.measured.features[name] for name in FEATURES])
        conflicts.append(counts(look))
        rouge.append([precision(words(claim.claim), tokens, n) for n in (1, 2)])
        dialogue.append(evidence.is_dialogue)
    return Table(kept, np.array(features), np.array(conflicts, dtype=float), np.array(rouge), np.array(dialogue))


def joined(tables: Sequence[Table]) -> Table:
    """Tables one after the other."""
    arrays = (np.concatenate(arrays) for arrays in list(zip(*tables, strict=True))[1:])
    return Table([claim for table in tables for claim in table.claims], *arrays)


def counts(look: Look) -> list[int]:
    """How many conflicts of each kind count."""
    return [min(MOST, look.conflicts.get(kind, 0)) for kind in CONFLICTS]


def scores(table: Table, weights: Weights) -> np.ndarray:
    """The scores that the weights give."""
    values = []
    for row, kinds in zip(table.features.tolist(), table.conflicts.astype(int).tolist(), strict=True):
        some = {kind: count for kind, count in zip(CONFLICTS, kinds, strict=True) if count}
        values.append(weights.score(dict(zip(FEATURES, row, strict=True)), some))
    return np.array(values)


def least(claims: Sequence[Claim], values: np.ndarray) -> np.ndarray:
    """The place of the claim with the least value in each bag."""
    places: dict[str, int] = {}
    for i, claim in enumerate(claims):
        if claim.bag not in places or values[i] < values[places[claim.bag]]:
            places[claim.bag] = i
    return np.array(sorted(places.values()))


def balanced(sets: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Equal weight for each set and, within it, each label; sums to 1."""
    weights = np.zeros(len(labels))
    for name in set(sets):
        for label in (0, 1):
            here = (sets == name) & (labels == label)
            weights[here] = 1 / max(1, here.sum())
    return weights / weights.sum()


def auroc(values: np.ndarray, labels: np.ndarray) -> float:
    ranks, ones = rankdata(values), labels.sum()
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def calibration_error(probability: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Expected calibration error over ten equal bins, weighted."""
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(sum(abs(weights[bins == b] @ (probability - labels)[bins == b]) for b in range(10)))


def balanced_accuracy(supported: np.ndarray, labels: np.ndarray) -> float:
    return float((supported[labels == 1].mean() + 1 - supported[labels == 0].mean()) / 2)
