"""Compute the outputs of sequence classifiers, regression models and token classifiers.

The input is a text, a pair or a template. Evaluators know the meaning of the outputs, except for the classes of
natural-language inference, whose order is read from the model's config.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from summeter.models.local.loaded_model import LoadedModel, by_settings
from summeter.models.local.tokens import Batch
from summeter.models.networks import Classes, Classify, ClassifyTokens, Framing, Labels, TokenLogits
from summeter.records import UsageError
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAMES = {
    "entail": "entail", "entails": "entail", "entailed": "entail", "entailment": "entail",
    "neutral": "neutral",
    "contradict": "contradict", "contradicts": "contradict", "contradicted": "contradict",
    "contradiction": "contradict", "contradictory": "contradict",
}  # fmt: skip


def label_order(config: Mapping[str, Any], model: str) -> tuple[int, int, int]:
    """Return the indices of entailment, neutral and contradiction among the outputs.

    They are read from `id2label` in the model's config; `model` is the name of the model for messages. Raises
    UsageError if the labels have other names.

    >>> label_order({"id2label": {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}}, "m")
    (2, 1, 0)
    """
    id2label = config.get("id2label")
    if not isinstance(id2label, Mapping) or not id2label:
        raise UsageError(f"{model}: its config.json has no id2label, which is needed to find the output of entailment")
    try:
        labels = {int(index): str(label) for index, label in id2label.items()}
    except (TypeError, ValueError):
        labels = {}
    index_of = {_NAMES.get(re.sub(r"[\s_-]+", "", label).lower()): index for index, label in labels.items()}
    if sorted(labels) != [0, 1, 2] or set(index_of) != {"entail", "neutral", "contradict"}:
        found = ", ".join(f"{index}: {label}" for index, label in id2label.items())
        raise UsageError(
            f"{model}: its labels are {{{found}}}; an NLI model needs three labels, entailment, neutral and "
            "contradiction in any order. Correct id2label in its config.json"
        )
    return index_of["entail"], index_of["neutral"], index_of["contradict"]


def classify(loaded: LoadedModel, requests: Sequence[Classify], usage: Usage) -> list[NDArray[np.float32]]:
    """Return the logits for each request: all logits in the model's order, or those of the NLI classes.

    Raises UsageError if the model does not have the classes of a request.
    """

    def compute(batch: Batch) -> list[NDArray[np.float32]]:
        return list(loaded.backend.logits(*batch))

    def classified(group: Sequence[Classify], settings: tuple[Classes, Framing]) -> list[NDArray[np.float32]]:
        classes, framing = settings
        inputs = loaded.tokens.inputs([request.texts for request in group], framing)
        outputs = loaded.run(inputs, usage, compute)
        if classes == "nli":
            order = label_order(loaded.model.config, loaded.model.name)
            return [row[list(order)] for row in outputs]
        if len(outputs[0]) != classes:
            raise UsageError(
                f"{loaded.model.name} has {_outputs(len(outputs[0]))}, but the evaluator needs {_outputs(classes)}; "
                "choose another checkpoint"
            )
        return outputs

    return by_settings(requests, lambda request: (request.classes, request.framing), classified)


def classify_tokens(loaded: LoadedModel, requests: Sequence[ClassifyTokens], usage: Usage) -> list[TokenLogits]:
    """Return the logits of all tokens, including special tokens, for each request.

    Raises UsageError if the model does not have as many outputs per token as a request needs.
    """
    # Requests with different framings are computed together.
    inputs = by_settings(
        requests,
        lambda request: request.framing,
        lambda group, framing: loaded.tokens.inputs([request.texts for request in group], framing),
    )
    outputs = loaded.run_by_token(inputs, usage, lambda batch: loaded.backend.token_logits(*batch))
    results = []
    for request, input_, logits in zip(requests, inputs, outputs, strict=True):
        if logits.shape[1] != request.classes:
            raise UsageError(
                f"{loaded.model.name} has {logits.shape[1]} outputs per token, but the evaluator needs "
                f"{request.classes}; choose another checkpoint"
            )
        results.append(TokenLogits(logits, input_.offsets, input_.text, input_.truncated))
    return results


def find_labels(loaded: LoadedModel) -> Labels:
    """Return the labels in a model's config.

    Raises UsageError if there are none.
    """
    id2label = loaded.model.config.get("id2label")
    if not isinstance(id2label, Mapping) or sorted(id2label, key=str) != sorted(map(str, range(len(id2label)))):
        raise UsageError(f"{loaded.model.name}: its config.json has no id2label with names of the outputs 0, 1, ...")
    several = loaded.model.config.get("problem_type") == "multi_label_classification"
    return Labels(tuple(str(id2label[str(index)]) for index in range(len(id2label))), several)


def _outputs(number: int) -> str:
    return "1 output" if number == 1 else f"{number} outputs"
