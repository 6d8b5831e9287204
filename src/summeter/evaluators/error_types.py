"""`error_types`: the error types of each summary sentence, from a trained classifier.

An example is BART fine-tuned on FRANK, with which FineSurE (Song et al., ACL 2024, Table 2) is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from summeter.evaluators.base import Evaluator, Prepared, Role, Tools
from summeter.models.networks import Classify, CountTokens, FindLabels, Framing, Labels, TokenLimit, softmax
from summeter.records import Item, Judgment, UsageError, canonical_error_type, joined_error_types, names_no_error
from summeter.records.taxonomy import NO_ERROR
from summeter.stats.base import Floats

FAITHFULNESS = "faithfulness"
ROLE = "error_types"
FRAMING = Framing(cut="only_first")
"""The document and a sentence are read as a pair; a document that is too long is truncated."""
LEAST = 0.5
"""Minimum probability of an assigned error type in multi-label classification."""


class ErrorTypes(Evaluator):
    """Assign error types to each summary sentence by a local classifier of (document, sentence).

    The classifier has the role `error_types`. The labels in its config are error types, including "no error". If its
    config contains `problem_type: multi_label_classification`, a sentence gets every type with a probability of at
    least 0.5, or the most probable type if there is none; otherwise it gets the most probable type.
    `examples/train_error_types.py` trains such classifiers. Writes one judgment per sentence (aspect faithfulness),
    with the value 1 for a sentence without an error and 0 for other sentences. `error_type` contains the types of the
    sentence, and `confidence` is the lowest of their probabilities. A document that is too long is truncated, and the
    omitted tokens are counted in `truncated_tokens`.
    """

    name, version = "error_types", "1"
    summary = "A classifier trained on human labels predicts the error types of each sentence."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {ROLE: Role("classifier")}
    binary_units = frozenset({"sentence"})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment per sentence."""
        network = tools.network(ROLE)
        builder = self.builder(item, prepared, tools, model=network.id)
        (labels,) = await network.ask([FindLabels()])
        if not any(map(names_no_error, labels.names)):
            raise UsageError(
                f"{network.id} has the labels {', '.join(labels.names)}; {self.name} needs error types, one of them "
                f"{NO_ERROR!r}, in id2label of config.json"
            )
        document, sentences = item.document.text, item.sentences
        requests = [Classify((document, text), len(labels.names), FRAMING) for text in sentences]
        rows = np.array(await network.ask(requests), dtype=np.float64)
        (room,) = await network.ask([TokenLimit(FRAMING)])
        length, *lengths = await network.ask([CountTokens(text) for text in (document, *sentences)])
        judgments = []
        for index, logits in enumerate(rows):
            types, confidence = chosen(logits, labels)
            cut = max(0, length + lengths[index] - room)
            builder = replace(builder, truncated_tokens=cut or None)
            clean = names_no_error(types)
            judgments.append(
                builder.ok(
                    FAITHFULNESS, "sentence", index, value=float(clean), label=int(clean), error_type=types,
                    confidence=confidence, reason=f"{types.replace('+', ', ')} (probability {confidence:.2f})",
                )
            )  # fmt: skip
        return judgments


def chosen(logits: Floats, labels: Labels) -> tuple[str, float]:
    """Return the error types of a sentence as a string, and the lowest of their probabilities.

    >>> labels = Labels(("NoE", "EntE", "OutE"), several=True)
    >>> chosen(np.array([-3.0, 2.0, 1.0]), labels)[0], chosen(np.array([-1.0, -2.0, -3.0]), labels)[0]
    ('entity error+out-of-context error', 'no error')
    """
    shares = 1 / (1 + np.exp(-logits)) if labels.several else softmax(logits)
    indices = np.flatnonzero(shares >= LEAST) if labels.several else np.array([], dtype=np.int64)
    names = {canonical_error_type(labels.names[at]): float(shares[at]) for at in indices}
    if len(names) > 1:
        names.pop(NO_ERROR, None)
    if not names:
        best = int(shares.argmax())
        names = {canonical_error_type(labels.names[best]): float(shares[best])}
    return joined_error_types(names) or NO_ERROR, min(names.values())
