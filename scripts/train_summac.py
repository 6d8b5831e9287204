"""Fit the convolution of SummaC-Conv on labelled summaries, or convert released weights.

    python scripts/train_summac.py DATA -m local/FOLDER -o weights.json
    python scripts/train_summac.py --released summac_conv.bin --bins percentile -o weights.json    (requires torch)
    summeter score DATA -e "summac[method=conv,weights=weights.json]" -m nli=local/FOLDER -o RUN

DATA is a dataset in any format that `summeter score` reads, with a column that is 1 (consistent) or 0 (`--label`,
default `label`). The network (`-m`) scores every sentence of every summary against every passage of its document; then
scikit-learn (`summeter[train]`) fits the weights, with a unique optimum. The ridge penalty of RIDGES with the best
held-out likelihood over five folds of documents is used; the card in the file contains the held-out results. Weights
are specific to a network, because networks differ in the distribution of their probabilities.
"""

import argparse
import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from summeter.data.dataset import Dataset, load
from summeter.evaluators.entailment.convolution import EVEN50, Convolution, histogram, released
from summeter.evaluators.entailment.premises import Floats, Premises, fitted
from summeter.evaluators.entailment.summac import Grain, passages_of
from summeter.models.networks import Network
from summeter.records import UsageError
from summeter.text.spans import sentence_spans

RIDGES = (0.1, 1.0, 10.0, 100.0)
FOLDS = 5
PERCENTILE = (
    0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97,
    0.975, 0.98, 0.985, 0.99, 0.995, 1.0,
)  # fmt: skip
BINS = {"even50": EVEN50, "percentile": PERCENTILE}


class Rows(NamedTuple):
    """Labelled summaries for the fit, with their documents."""

    tables: list[list[Floats]]
    labels: list[int]
    documents: list[str]

    def take(self, indexes: Sequence[int]) -> "Rows":
        return Rows(*([column[at] for at in indexes] for column in self))


async def read(data: Dataset, nli: Network, label: str, grain: Grain = "sentence") -> Rows:
    """Return the network's output for all labelled summaries; raises UsageError for a label other than 0 or 1."""
    rows = Rows([], [], [])
    for document, summaries in data.items():
        sentences = sentence_spans(document, "punkt")
        passages = await fitted(document.text, passages_of(document.text, sentences, grain), sentences, nli)
        premises = Premises(nli, [one.text for one in passages])
        for summary in summaries:
            value = {"0": 0, "1": 1}.get(str(summary.extra.get(label)))
            if value is None:
                shown = repr(summary.extra[label]) if label in summary.extra else "missing"
                raise UsageError(f"{document.id}/{summary.system}: column {label!r} is {shown}, not 0 or 1")
            texts = [sentence.text for sentence in sentence_spans(summary, "punkt")]
            if passages and texts:
                rows.tables.append(await premises.against(texts))
                rows.labels.append(value)
                rows.documents.append(document.id)
    return rows


def fit(
    summaries: Sequence[Sequence[Floats]],
    consistent: Sequence[int],
    *,
    bins: Sequence[float] = EVEN50,
    labels: str = "e",
    ridge: float = 1.0,
) -> Convolution:
    """Return the maximum-likelihood weights for the labelled summaries.

    With the mean over sentences the model is linear in the mean histogram: a logistic regression with `ridge` / 2 times
    the squared weights added to the loss. Raises UsageError unless both labels occur.
    """
    if len(summaries) != len(consistent) or set(consistent) != {0, 1}:
        raise UsageError("SummaC-Conv needs summaries with label 1 (consistent) and with label 0")
    means = np.array([np.mean([histogram(table, bins, labels) for table in tables], axis=0) for tables in summaries])
    model = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=100_000).fit(means, consistent)
    card = {"summaries": len(consistent), "consistent": sum(consistent), "ridge": ridge}
    weights, bias = tuple(model.coef_[0].tolist()), float(model.intercept_[0])
    return Convolution(tuple(map(float, bins)), labels, weights, bias, card=card)


def held_out(rows: Rows, bins: Sequence[float], labels: str, ridge: float) -> Floats:
    """Return the probability of every summary from a fit on the documents of the other folds."""
    fold = np.array([int(hashlib.sha256(one.encode()).hexdigest(), 16) % FOLDS for one in rows.documents])
    probabilities = np.full(len(fold), np.nan)
    for number in range(FOLDS):
        rest, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(held):
            training = rows.take(rest.tolist())
            if len(set(training.labels)) < 2:
                raise UsageError(f"{len(set(rows.documents))} documents are too few for {FOLDS} folds: the other folds "
                                 "of each need summaries with label 1 and with label 0")  # fmt: skip
            made = fit(training.tables, training.labels, bins=bins, labels=labels, ridge=ridge)
            probabilities[held] = [made.probability([made.score(one) for one in rows.tables[at]]) for at in held]
    return probabilities


def evaluate(probabilities: Floats, truth: Floats) -> dict[str, float]:
    """Return log-loss, balanced accuracy at .5, and AUROC."""
    clipped = np.clip(probabilities, 1e-9, 1 - 1e-9)
    ones, zeros = probabilities[truth == 1], probabilities[truth == 0]
    order = (ones[:, None] > zeros[None]).mean() + 0.5 * (ones[:, None] == zeros[None]).mean()
    return {
        "log_loss": float(-np.mean(truth * np.log(clipped) + (1 - truth) * np.log(1 - clipped))),
        "balanced_accuracy": float(((ones >= 0.5).mean() + (zeros < 0.5).mean()) / 2), "auroc": float(order),
    }  # fmt: skip


def train(rows: Rows, bins: Sequence[float], labels: str = "e") -> tuple[Convolution, dict[str, Any]]:
    """Return the weights with the best ridge penalty, and the held-out results."""
    truth = np.array(rows.labels, dtype=np.float64)
    tried = {ridge: evaluate(held_out(rows, bins, labels, ridge), truth) for ridge in RIDGES}
    best = min(tried, key=lambda ridge: tried[ridge]["log_loss"])
    return fit(rows.tables, rows.labels, bins=bins, labels=labels, ridge=best), {
        "held_out": tried[best],
        "folds": FOLDS,
    }


def network(text: str) -> Network:
    """Return the network with the given model string."""
    from summeter.models.local.load import build, identify

    return build([identify("nli", text, "classifier")])["nli"]


def convert(file: Path, bins: Sequence[float], aggregate: str) -> Convolution:
    """Return weights from a file of the released code."""
    import torch

    state = torch.load(file, map_location="cpu", weights_only=True)
    layers = {name: value.double().tolist() for name, value in state.items()}
    mlp = (layers["mlp.weight"][0], layers["mlp.bias"][0])
    final = (layers["layer_final.weight"], layers["layer_final.bias"])
    made = released(mlp, final, bins=bins, aggregate=aggregate)
    return replace(made, card={"from": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="dataset with labelled summaries")
    parser.add_argument("-m", "--model", help="network: hf/ORG/NAME@REVISION, local/FOLDER or a path")
    parser.add_argument("-o", "--out", type=Path, required=True, help="output file")
    parser.add_argument("--label", default="label", help="column that is 1 or 0")
    parser.add_argument("--granularity", default="sentence", help="granularity of document passages")
    parser.add_argument("--bins", choices=BINS, default="even50", help="bins of the histogram")
    parser.add_argument("--count", default="e", help="probabilities to count: e, c, n or several of them")
    parser.add_argument("--released", type=Path, help="weights of the released code to convert")
    parser.add_argument("--aggregate", choices=("mean", "min", "max", "all"), default="mean", help="over sentences")
    options = parser.parse_args(arguments)
    if options.released is not None:
        made = convert(options.released, BINS[options.bins], options.aggregate)
    else:
        if not options.data or not options.model:
            parser.error("give DATA and -m, or --released FILE")
        data, nli = load(options.data), network(options.model)
        rows = asyncio.run(read(data, nli, options.label, options.granularity))
        made, card = train(rows, BINS[options.bins], options.count)
        about = {"network": nli.id, "data": data.card.name, "data_hash": data.hash, "granularity": options.granularity}
        made = replace(made, card={**made.card, **card, **about})
    made.save(options.out)
    print(f"{options.out}: {made.card}")


if __name__ == "__main__":
    main()
