"""The encoder layers that BERTScore uses, and the baseline scores of unrelated sentences.

The layers are those that correlated best with human judgments on WMT16 (to-English). The baselines are the mean scores
of pairs of unrelated English sentences from Common Crawl at that layer. Both were published in the repository of the
`bert_score` package (Zhang et al., MIT licence): `model2layers` and `rescale_baseline/en`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from summeter.models.fitted import DataFile
from summeter.records import InputError, UsageError

BASELINE_FILE = "baselines"


class Baseline(NamedTuple):
    """Precision, recall and F1 of unrelated sentences, which are rescaled to 0."""

    precision: float
    recall: float
    f1: float

    def rescaled(self, scores: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return (score - baseline) / (1 - baseline) for each score.

        >>> [round(one, 9) for one in Baseline(0.5, 0.6, 0.8).rescaled((0.75, 0.6, 1.0))]
        [0.5, 0.0, 1.0]
        """
        precision, recall, f1 = ((score - base) / (1 - base) for score, base in zip(scores, self, strict=True))
        return precision, recall, f1


LAYERS: dict[str, int] = {
    "albert-base-v2": 9,
    "albert-large-v2": 14,
    "albert-xlarge-v2": 13,
    "albert-xxlarge-v2": 8,
    "bart-base": 6,
    "bart-large": 10,
    "bart-large-cnn": 10,
    "bart-large-mnli": 11,
    "bart-large-xsum": 9,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bigbird-roberta-base": 10,
    "bigbird-roberta-large": 14,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-v2-xlarge": 10,
    "deberta-v2-xlarge-mnli": 17,
    "deberta-v2-xxlarge": 21,
    "deberta-v2-xxlarge-mnli": 22,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
    "deberta-v3-small": 4,
    "deberta-v3-xsmall": 10,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-multilingual-cased": 5,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "electra-base-discriminator": 9,
    "electra-large-discriminator": 14,
    "longformer-base-4096": 7,
    "longformer-large-4096": 14,
    "mdeberta-v3-base": 10,
    "mpnet-base": 8,
    "mt5-base": 11,
    "mt5-large": 19,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "scibert_scivocab_cased": 9,
    "scibert_scivocab_uncased": 8,
    "sup-simcse-roberta-base": 10,
    "sup-simcse-roberta-large": 16,
    "t5-base": 11,
    "t5-large": 23,
    "t5-small": 6,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "xlnet-base-cased": 5,
    "xlnet-large-cased": 7,
}
"""Published layers, by the last component of the model's name."""

BASELINES: dict[tuple[str, int], Baseline] = {
    ("bert-large-uncased", 18): Baseline(0.4278576, 0.42786714, 0.42646673),
    ("deberta-base-mnli", 9): Baseline(0.53045946, 0.5304829, 0.52866036),
    ("deberta-large-mnli", 18): Baseline(0.45358238, 0.45362508, 0.45173016),
    ("deberta-xlarge-mnli", 40): Baseline(0.5169066, 0.5170288, 0.5150192),
    ("distilbert-base-uncased", 5): Baseline(0.6666034, 0.66660464, 0.66620487),
    ("roberta-large", 17): Baseline(0.83150584, 0.8314941, 0.83122575),
}
"""Baselines for English, by the last component of the model's name and the layer."""


def backbone(model: str) -> str:
    """Return the last component of a model's name.

    >>> backbone("hf/FacebookAI/roberta-large@722cf37"), backbone("local/models/roberta-large@12ab")
    ('roberta-large', 'roberta-large')
    """
    return model.partition("@")[0].partition("[")[0].rstrip("/").rpartition("/")[2]


def layer_of(model: str, layers: int) -> int:
    """Return the published layer of a model that has `layers` layers.

    Raises UsageError if no layer is published.
    """
    layer = LAYERS.get(backbone(model).lower())
    if layer is None:
        raise UsageError(
            f"there is no published layer for {backbone(model)!r}; set one from 1 to {layers}, such as "
            f"bertscore[layer={layers}]"
        )
    return layer


def baseline_of(model: str, layer: int, file: str | Path | DataFile | None = None) -> Baseline:
    """Return the baseline of a model and layer.

    It is read from `file`, with lines of the form LAYER,P,R,F, or from the table if `file` is None.

    Raises UsageError if the table has no baseline for this model and layer, and InputError if the file has none.
    """
    if file is not None:
        file = DataFile.read(file, BASELINE_FILE)
        for number, line in enumerate(file.text.split(), 1):
            fields = line.split(",")
            if fields[0] != str(layer):
                continue
            try:
                precision, recall, f1 = map(float, fields[1:])
            except ValueError as error:
                raise InputError.at(file.path, f"is not LAYER,P,R,F: {line!r}", line=number) from error
            if not max(precision, recall, f1) < 1:
                raise InputError.at(file.path, f"a baseline must be below 1: {line!r}", line=number)
            return Baseline(precision, recall, f1)
        raise InputError.at(file.path, f"has no line for layer {layer}")
    known = BASELINES.get((backbone(model).lower(), layer))
    if known is None:
        raise UsageError(
            f"there is no published baseline for layer {layer} of {backbone(model)!r}; set baseline=FILE with the "
            "lines LAYER,P,R,F, or remove rescale"
        )
    return known
