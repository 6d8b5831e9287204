"""Fit the scorer of `support`, and measure the contribution of each check.

    python scripts/support.py --data ../shared/nli_train           # print the tables
    python scripts/support.py --data ../shared/nli_train --write   # write weights and reports/quality.md

The weights for sentences and their documents are fitted on `human.jsonl.gz`, which has claims and summaries from seven
sources with human labels. The weights for key facts and summaries are fitted on `support_key_facts.jsonl`, which was
written and labelled by a language-model assistant. Each figure is cross-fitted in five folds by `group`, so the weights
have not seen the document of the claim. All sources have the same weight, and so have both labels within a source. A
summary of several sentences is scored by its least supported sentence.

The precision of a check is the share of its findings that occur in unsupported claims. The weights of word overlap are
those of a logistic regression with one intercept per source. The intercepts are averaged afterwards, because sources differ
in how much their claims copy. Slope, shift and the shift for dialogues are fitted last, over all sources.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy.optimize import minimize

from summeter.evaluators.support.comparison import CONFLICTS, Overlap
from summeter.evaluators.support.scorer import MAX_COUNTED, REVISION, EvidenceName, LexicalScorer, digest
from summeter.evaluators.support.words import index_text
from summeter.stats import Bootstrap, auroc
from summeter.text.ngrams import matched, ngrams, words
from summeter.text.split import split

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("wice", "bump", "diasumfact", "gofigure_xsum", "gofigure_samsum", "ragtruth", "factcc")
PACKAGE = ROOT / "src/summeter/evaluators/support"
FOLDS, RIDGE, ROUNDS, RESAMPLES, SEED = 5, 0.002, 3, 1000, 7
FEATURES = Overlap._fields


class Claim(NamedTuple):
    """A claim and a text.

    `bag` identifies the summary that contains the claim, and `group` the document. A group is never divided between folds.
    """

    source: str
    text: str
    claim: str
    supported: bool
    group: str
    bag: str


class Table(NamedTuple):
    """Columns with one row per claim.

    The shape of `features` is (claims, features), and that of `findings` is (claims, kinds of findings).
    """

    features: np.ndarray
    findings: np.ndarray
    dialogue: np.ndarray
    rouge: np.ndarray
    labels: np.ndarray
    sources: np.ndarray
    folds: np.ndarray
    groups: np.ndarray
    bags: np.ndarray

    def of(self, rows: np.ndarray) -> "Table":
        """Return a table with the selected rows."""
        return Table(*(column[rows] for column in self))

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the index of the row with the lowest value in each bag, in ascending order."""
        order = np.lexsort((values, self.bags))
        return np.sort(order[np.append(True, np.diff(self.bags[order]) != 0)])

    @property
    def weights(self) -> np.ndarray:
        """Row weights with a sum of 1, equal for each source and for both labels of a source."""
        weights = np.zeros(len(self.labels))
        for source in set(self.sources):
            for label in (0, 1):
                here = (self.sources == source) & (self.labels == label)
                weights[here] = 1 / max(1, here.sum())
        return weights / weights.sum()


class Model(NamedTuple):
    """Weights for one kind of evidence, for the selected columns of features and findings."""

    features: list[int]
    checks: list[int]
    intercept: float
    overlap: np.ndarray
    precision: np.ndarray
    calibration: np.ndarray

    def score(self, table: Table) -> np.ndarray:
        """Return the uncalibrated log-odds that the overlap shows support and no finding is an error."""
        overlap = self.intercept + table.features[:, self.features] @ self.overlap
        found = table.findings[:, self.checks] @ -np.log1p(-self.precision)
        log_p = np.minimum(-np.logaddexp(0, -overlap) - found, -1e-12)
        return np.where(found > 0, log_p - np.log(-np.expm1(log_p)), overlap)

    def log_odds(self, table: Table) -> np.ndarray:
        """Return the calibrated log-odds. The threshold of the label is 0."""
        slope, shift, dialogue = self.calibration
        return slope * self.score(table) + shift + dialogue * table.dialogue


def human_claims(folder: Path) -> Iterator[Claim]:
    """Yield the claims with human labels."""
    with gzip.open(folder / "human.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            claim = row["hypothesis"]
            pieces = split(claim) if row["unit"] == "summary" else [(0, len(claim))]
            for start, end in pieces:
                supported = row["label"] == "entail"
                yield Claim(row["source"], row["premise"], claim[start:end], supported, row["group"], str(number))


def key_fact_claims() -> Iterator[Claim]:
    """Yield the key facts written for `support`, each with its summary as the text."""
    for text in map(json.loads, Path(__file__).with_name("support_key_facts.jsonl").read_text("utf-8").splitlines()):
        for fact in text["facts"]:
            name = f"{text['id']} {fact['text']}"
            yield Claim("facts", text["summary"], fact["text"], fact["label"] == 1, text["id"], name)


def planted_claims() -> Iterator[Claim]:
    """Yield the development sentences with planted errors, each after its correct version."""
    data = yaml.safe_load((ROOT / "tests/evaluators/support/planted.yaml").read_text("utf-8"))
    for number, (text, _, sound, wrong, paraphrased) in enumerate(data["pairs"]):
        source = "other words" if paraphrased else "its words"
        for claim, supported in ((sound, True), (wrong, False)):
            yield Claim(source, data["sources"][text], claim, supported, "", f"{number} {supported}")


def build_table(claims: Iterator[Claim], evidence_name: EvidenceName) -> Table:
    """Return the features and findings of all claims that the scorer can compare."""
    rows: list[tuple[Any, ...]] = []
    text, evidence, tokens = None, None, None
    scorer = LexicalScorer(evidence_name)
    for claim in claims:
        if claim.text != text or evidence is None:
            text, evidence, tokens = claim.text, index_text(claim.text, split(claim.text)), words(claim.text)
        comparison = scorer.analyse(claim.claim, evidence)
        if isinstance(comparison, str):
            continue
        claim_words = words(claim.claim)
        rouge = [matched(ngrams(claim_words, n), ngrams(tokens, n)) / max(1, len(claim_words) - n + 1) for n in (1, 2)]
        found = [float(min(MAX_COUNTED, comparison.conflicts.get(kind, 0))) for kind in CONFLICTS]
        fold = int(hashlib.sha256(claim.group.encode()).hexdigest(), 16) % FOLDS
        facts_of_claim = (float(claim.supported), claim.source, fold, claim.group, claim.bag)
        rows.append((comparison.overlap, found, float(evidence.is_dialogue), rouge, *facts_of_claim))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Table(*columns[:8], np.unique(columns[8], return_inverse=True)[1])


def precision(table: Table) -> np.ndarray:
    """Return the weighted share of the findings of each check that occur in unsupported claims."""
    weights, found = table.weights, table.findings > 0
    return ((weights * (1 - table.labels)) @ found + 1e-9) / (weights @ found + 2e-9)


def fit(table: Table, features: Sequence[str] = FEATURES, checks: Sequence[str] = CONFLICTS) -> Model:
    """Fit the weights of overlap by maximum likelihood with a lower bound of 0, and then the calibration."""
    columns, kinds = [FEATURES.index(name) for name in features], [CONFLICTS.index(kind) for kind in checks]
    right = np.minimum(precision(table)[kinds], 0.95)
    model = Model(columns, kinds, 0.0, np.ones(len(columns)), right, np.array([1.0, 0.0, 0.0]))
    for _ in range(ROUNDS):
        model = fit_overlap(table.of(table.least(model.score(table))), model)
    worst = table.of(table.least(model.score(table)))
    weights, signs = worst.weights, 1 - 2 * worst.labels
    x = np.c_[model.score(worst), np.ones(len(signs)), worst.dialogue]
    curve = minimize(lambda b: weights @ np.logaddexp(0, signs * (x @ b)) + 1e-6 * b @ b, np.zeros(3)).x
    return model._replace(calibration=curve)


def fit_overlap(table: Table, model: Model) -> Model:
    """Return the model with maximum-likelihood weights of overlap, given the precision of its checks."""
    x, names = table.features[:, model.features], sorted(set(table.sources))
    mean, spread, k = x.mean(axis=0), x.std(axis=0) + 1e-9, x.shape[1]
    scaled, is_source = (x - mean) / spread, (table.sources[:, None] == np.array(names)).astype(float)
    found, weights, labels = table.findings[:, model.checks] @ -np.log1p(-model.precision), table.weights, table.labels

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = scaled @ b[:k] + is_source @ b[k:]
        log_p = -np.logaddexp(0, -z) - found
        p = np.clip(np.exp(log_p), 1e-9, 1 - 1e-9)
        value = -weights @ (labels * log_p + (1 - labels) * np.log1p(-p)) + RIDGE * b[:k] @ b[:k]
        slope = weights * ((1 - labels) * p / (1 - p) - labels) / (1 + np.exp(z))
        return value, np.r_[scaled.T @ slope + 2 * RIDGE * b[:k], is_source.T @ slope]

    bounds = [(0.0, None)] * k + [(None, None)] * len(names)
    b = minimize(loss, np.r_[np.full(k, 0.1), np.zeros(len(names))], jac=True, method="L-BFGS-B", bounds=bounds).x
    return model._replace(intercept=b[k:].mean() - b[:k] @ (mean / spread), overlap=b[:k] / spread)


def cross_fitted(table: Table, features: Sequence[str] = FEATURES, checks: Sequence[str] = CONFLICTS) -> np.ndarray:
    """Return the log-odds of each claim from weights that were fitted without its fold."""
    log_odds = np.full(len(table.labels), np.nan)
    for fold in range(FOLDS):
        in_fold = table.folds == fold
        log_odds[in_fold] = fit(table.of(~in_fold), features, checks).log_odds(table.of(in_fold))
    return log_odds


def areas(table: Table, values: np.ndarray) -> np.ndarray:
    """Return the AUROC of each source and of each bootstrap draw of its groups; the shape is (sources, 1 + draws)."""
    rows = []
    for source in SOURCES:
        here = table.of(table.sources == source)
        at = here.least(values[table.sources == source])
        draws = Bootstrap(here.groups[at].tolist(), RESAMPLES, seed=SEED)
        area = auroc(here.labels[at], values[table.sources == source][at], draws.codes)
        rows.append(np.concatenate([[area.value], *map(area.weighted, draws.weights())], axis=None))
    return np.array(rows)


def balanced_accuracy(table: Table, values: np.ndarray) -> dict[str, float]:
    """Return the balanced accuracy of the labels, by source."""
    worst, low = table.of(at := table.least(values)), values[at] < 0
    return {
        source: float(1 - np.mean([(low != (label == 0))[here & (worst.labels == label)].mean() for label in (0, 1)]))
        for source in sorted(set(table.sources))
        for here in [worst.sources == source]
    }


def interval(draws: np.ndarray, form: str = ".3f") -> str:
    low, high = np.nanpercentile(draws[1:], [2.5, 97.5])
    return f"{draws[0]:{form}} ({low:{form}} to {high:{form}})"


def ablation(table: Table, errors: Table) -> Iterator[str]:
    """Yield a table with one row for each set of checks."""
    every = {"all": (FEATURES, CONFLICTS), "none": (FEATURES, ())}
    every |= {f"without {kind}": (FEATURES, tuple(other for other in CONFLICTS if other != kind)) for kind in CONFLICTS}
    every |= {f"{kind} alone": (FEATURES, (kind,)) for kind in CONFLICTS}
    every |= {f"all, overlap without {name}": (tuple(set(FEATURES) - {name}), CONFLICTS) for name in FEATURES}
    columns = "AUROC, mean of sources", "difference to all", "balanced accuracy", *SOURCES, "planted errors", "twins"
    yield f"| checks | {' | '.join(columns)} |\n{'|---' * (1 + len(columns))}|"
    first = None
    for name, (features, checks) in every.items():
        log_odds = cross_fitted(table, features, checks)
        low = fit(table, features, checks).log_odds(errors) < 0
        counts = [
            ", ".join(
                str((low & (errors.labels == label) & (errors.sources == style)).sum())
                for style in ("its words", "other words")
            )
            for label in (0, 1)
        ]
        first = areas(table, log_odds) if first is None else first
        yield _row(name, table, log_odds, first, counts)


def _row(name: str, table: Table, log_odds: np.ndarray, first: np.ndarray, counts: list[str]) -> str:
    found = areas(table, log_odds)
    labels = np.mean(list(balanced_accuracy(table, log_odds).values()))
    means = interval(found.mean(axis=0)), interval((found - first).mean(axis=0), "+.3f"), f"{labels:.3f}"
    return f"| {' | '.join([name, *means, *(f'{row[0]:.3f}' for row in found), *counts])} |"


def checks_table(table: Table) -> Iterator[str]:
    """Yield a table with the number of findings and the precision of each check."""
    yield "| check | claims | of them unsupported | the same, sources and labels weighing the same |\n|---|---|---|---|"
    for kind, right, found in zip(CONFLICTS, precision(table), (table.findings > 0).T, strict=True):
        yield f"| {kind} | {found.sum()} | {1 - table.labels[found].mean():.2f} | {right:.2f} |"


def held_out(table: Table, log_odds: np.ndarray) -> Iterator[str]:
    """Yield a table with the AUROC of ROUGE precision and of the scorer, and the accuracy of the labels, by source."""
    columns = [areas(table, values) for values in (*table.rouge.T, log_odds)]
    accuracy = balanced_accuracy(table, log_odds)
    yield "| source | n | ROUGE-1 | ROUGE-2 | words | labels: balanced accuracy |\n|---|---|---|---|---|---|"
    for number, source in enumerate(SOURCES):
        n = len(set(table.bags[table.sources == source]))
        cells = [f"{column[number][0]:.3f}" for column in columns]
        yield f"| {source} | {n} | {' | '.join(cells)} | {accuracy[source]:.3f} |"
    cells = [interval(column.mean(axis=0)) for column in columns]
    yield f"| mean | | {' | '.join(cells)} | {np.mean(list(accuracy.values())):.3f} |"
    at = table.least(log_odds)
    probability, weights = 1 / (1 + np.exp(-log_odds[at])), table.of(at).weights
    bins = np.minimum((probability * 10).astype(int), 9)
    error = sum(abs(weights[bins == b] @ (probability - table.labels[at])[bins == b]) for b in range(10))
    yield f"\nExpected calibration error: {error:.3f}."


def stored(model: Model) -> dict[str, Any]:
    """Return the weights in the format of weights.json."""
    slope, shift, dialogue = np.round(model.calibration, 4).tolist()
    overlap = dict(zip(FEATURES, np.round(model.overlap, 4).tolist(), strict=True))
    right = dict(zip(CONFLICTS, np.round(model.precision, 3).tolist(), strict=True))
    numbers = {"slope": slope, "shift": shift, "dialogue": dialogue}
    return {"intercept": round(float(model.intercept), 4), "overlap": overlap, "precision": right, **numbers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that contains human.jsonl.gz")
    parser.add_argument("--write", action="store_true", help="write the weights and the tables of reports/quality.md")
    options = parser.parse_args()
    table = build_table(human_claims(options.data), "source")
    fact = build_table(key_fact_claims(), "summary")
    model = {"source": stored(fit(table)), "summary": stored(fit(fact))}
    log_odds, fact_log_odds = cross_fitted(table), cross_fitted(fact)
    area = auroc(fact.labels, fact_log_odds).value
    tables = {
        "held-out": [f"Words: `lexical@{digest(model)}`.\n", *held_out(table, log_odds)],
        "checks": [
            f"{datetime.now(UTC).date()}; {len(table.labels)} claims; intervals: {RESAMPLES} draws of documents.\n",
            *checks_table(table),
            "",
            *ablation(table, build_table(planted_claims(), "source")),
            f"\nKey facts: AUROC {area:.3f}, balanced accuracy {balanced_accuracy(fact, fact_log_odds)['facts']:.3f}.",
        ],
    }
    for lines in tables.values():
        print("\n".join(lines), flush=True)
    if options.write:
        card = {
            "what": "weights of word overlap and checks: the probability that a text supports a claim",
            "licence": "Apache-2.0 for the numbers; the rows are not distributed",
            "sources": "WiCE (ODC-BY), BUMP, DiaSumFact, RAGTruth (MIT), GO FIGURE (Apache-2.0), FactCC (BSD-3-Clause)",
            "data_sha256": hashlib.sha256((options.data / "human.jsonl.gz").read_bytes()).hexdigest(),
            "made": str(datetime.now(UTC).date()),
            "revision": REVISION,
            "claims": len(table.labels),
            "key_facts": len(fact.labels),
        }
        text = json.dumps({"card": card, "model": model}, indent=1)
        (PACKAGE / "weights.json").write_text(f"{text}\n", encoding="utf-8")
        page = ROOT / "reports/quality.md"
        for name, lines in tables.items():
            begin, end = f"<!-- {name} table: begin -->", f"<!-- {name} table: end -->"
            before, rest = page.read_text("utf-8").split(begin, 1)
            text = "\n".join(lines)
            page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
