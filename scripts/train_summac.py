"""Fit the convolution of SummaC-Conv on labelled summaries, or take over released weights.

    python scripts/train_summac.py DATA -m local/FOLDER -o weights.json
    python scripts/train_summac.py --released summac_conv.bin --bins percentile -o weights.json    (needs torch)
    summeter score DATA -e "summac[method=conv,weights=weights.json]" -m nli=local/FOLDER -o RUN

DATA is anything `summeter score` reads, each summary with a column that is 1 (consistent) or 0 (`--label`, default
`label`). The network (`-m`) is asked about every sentence of every summary and every passage of its document; then the
weights are fitted by scikit-learn (`summeter[train]`): one optimum, the same on every machine. The ridge is the one of RIDGES with the best
held-out likelihood over five folds of documents; the card in the file says what was measured on documents that the fit
had not seen. Weights belong to their network: another one spreads its probabilities in another way.
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
    """Labelled summaries as the fit sees them, and the documents they are of."""

    tables: list[list[Floats]]
    labels: list[int]
    documents: list[str]

    def take(self, places: Sequence[int]) -> "Rows":
        return Rows(*([column[at] for at in places] for column in self))


async def read(data: Dataset, nli: Network, label: str, grain: Grain = "sentence") -> Rows:
    """What the network says of every labelled summary. UsageError for a label that is not 0 or 1."""
    rows = Rows([], [], [])
    for document, summaries in data.items():
        sentences = sentence_spans(document, "punkt")
        passages = await fitted(document.text, passages_of(document.text, sentences, grain), sentences, nli)
        premises = Premises(nli, [one.text for one in passages])
        for summary in summaries:
            told = {"0": 0, "1": 1}.get(str(summary.extra.get(label)))
            if told is None:
                said = repr(summary.extra[label]) if label in summary.extra else "missing"
                raise UsageError(f"{document.id}/{summary.system}: column {label!r} is {said}, not 0 or 1")
            texts = [sentence.text for sentence in sentence_spans(summary, "punkt")]
            if passages and texts:
                rows.tables.append(await premises.against(texts))
                rows.labels.append(told)
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
    """The weights under which the labelled summaries are likeliest.

    With the mean over sentences the model is linear in the mean histogram: a logistic regression with the squared
    weights times `ridge` / 2 added to the loss.
    """
    if len(summaries) != len(consistent) or set(consistent) != {0, 1}:
        raise UsageError("SummaC-Conv is fitted on summaries of both kinds, each labelled 1 (consistent) or 0")
    means = np.array([np.mean([histogram(table, bins, labels) for table in tables], axis=0) for tables in summaries])
    model = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=100_000).fit(means, consistent)
    card = {"summaries": len(consistent), "consistent": sum(consistent), "ridge": ridge}
    weights, bias = tuple(model.coef_[0].tolist()), float(model.intercept_[0])
    return Convolution(tuple(map(float, bins)), labels, weights, bias, card=card)


def held_out(rows: Rows, bins: Sequence[float], labels: str, ridge: float) -> Floats:
    """The probability of every summary from a fit on the other folds' documents."""
    fold = np.array([int(hashlib.sha256(one.encode()).hexdigest(), 16) % FOLDS for one in rows.documents])
    told = np.full(len(fold), np.nan)
    for number in range(FOLDS):
        rest, own = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(own):
            seen = rows.take(rest.tolist())
            if len(set(seen.labels)) < 2:
                raise UsageError(f"{len(set(rows.documents))} documents are too few: {FOLDS} folds of them are needed, "
                                 "each rest with summaries labelled 1 and 0")  # fmt: skip
            made = fit(seen.tables, seen.labels, bins=bins, labels=labels, ridge=ridge)
            told[own] = [made.probability([made.score(one) for one in rows.tables[at]]) for at in own]
    return told


def measured(told: Floats, truth: Floats) -> dict[str, float]:
    """Log-loss, balanced accuracy at .5, and the share of (consistent, inconsistent) pairs in the right order."""
    sure = np.clip(told, 1e-9, 1 - 1e-9)
    ones, zeros = told[truth == 1], told[truth == 0]
    order = (ones[:, None] > zeros[None]).mean() + 0.5 * (ones[:, None] == zeros[None]).mean()
    return {
        "log_loss": float(-np.mean(truth * np.log(sure) + (1 - truth) * np.log(1 - sure))),
        "balanced_accuracy": float(((ones >= 0.5).mean() + (zeros < 0.5).mean()) / 2), "auroc": float(order),
    }  # fmt: skip


def train(rows: Rows, bins: Sequence[float], labels: str = "e") -> tuple[Convolution, dict[str, Any]]:
    """The weights with the best ridge, and what was measured on documents held out."""
    truth = np.array(rows.labels, dtype=np.float64)
    tried = {ridge: measured(held_out(rows, bins, labels, ridge), truth) for ridge in RIDGES}
    best = min(tried, key=lambda ridge: tried[ridge]["log_loss"])
    return fit(rows.tables, rows.labels, bins=bins, labels=labels, ridge=best), {
        "held_out": tried[best],
        "folds": FOLDS,
    }


def network(text: str) -> Network:
    """The network that `-m` names."""
    from summeter.models.local.load import build, identify

    return build([identify("nli", text, "classifier")])["nli"]


def take_over(file: Path, bins: Sequence[float], aggregate: str) -> Convolution:
    """Weights as the released code stores them."""
    import torch

    state = torch.load(file, map_location="cpu", weights_only=True)
    layers = {name: value.double().tolist() for name, value in state.items()}
    mlp = (layers["mlp.weight"][0], layers["mlp.bias"][0])
    final = (layers["layer_final.weight"], layers["layer_final.bias"])
    made = released(mlp, final, bins=bins, aggregate=aggregate)
    return replace(made, card={"from": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="labelled summaries")
    parser.add_argument("-m", "--model", help="the network: hf/ORG/NAME@REVISION, local/FOLDER or a path")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--label", default="label", help="the column that is 1 or 0")
    parser.add_argument("--granularity", default="sentence", help="what a passage of the document is")
    parser.add_argument("--bins", choices=BINS, default="even50")
    parser.add_argument("--count", default="e", help="which probabilities are counted: e, c, n or several")
    parser.add_argument("--released", type=Path, help="weights of the released code, to be taken over")
    parser.add_argument("--aggregate", choices=("mean", "min", "max", "all"), default="mean")
    given = parser.parse_args(arguments)
    if given.released is not None:
        made = take_over(given.released, BINS[given.bins], given.aggregate)
    else:
        if not given.data or not given.model:
            parser.error("give DATA and -m, or --released FILE")
        data, nli = load(given.data), network(given.model)
        rows = asyncio.run(read(data, nli, given.label, given.granularity))
        made, card = train(rows, BINS[given.bins], given.count)
        about = {"network": nli.id, "data": data.card.name, "data_hash": data.hash, "granularity": given.granularity}
        made = replace(made, card={**made.card, **card, **about})
    made.save(given.out)
    print(f"{given.out}: {made.card}")


if __name__ == "__main__":
    main()
