"""A sequence classifier or a regression: the raw outputs of one text, a pair, or the texts of a template.

Which output means what is the judge's to know, except for the classes of natural-language inference, which are read
from the model's config, never assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.models.local.loaded_model import LoadedModel, by_settings
from summeter.models.local.tokens import Batch
from summeter.models.networks import Classes, Classify, Framing, Labels
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


class LabelOrder(NamedTuple):
    """The places of the three classes among a classifier's outputs."""

    entail: int
    neutral: int
    contradict: int


def label_order(config: Mapping[str, Any], where: str) -> LabelOrder:
    """The order that `id2label` of a model's config gives. UsageError, saying what was found, for any other naming.

    >>> label_order({"id2label": {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}}, "m")
    LabelOrder(entail=2, neutral=1, contradict=0)
    """
    given = config.get("id2label")
    if not isinstance(given, Mapping) or not given:
        raise UsageError(f"{where}: its config.json has no id2label, so nothing says which output is entailment")
    try:
        labels = {int(place): str(label) for place, label in given.items()}
    except (TypeError, ValueError):
        labels = {}
    meant = {place: _NAMES.get(re.sub(r"[\s_-]+", "", label).lower()) for place, label in labels.items()}
    if sorted(labels) != [0, 1, 2] or set(meant.values()) != {"entail", "neutral", "contradict"}:
        named = ", ".join(f"{place}: {label}" for place, label in given.items())
        raise UsageError(
            f"{where}: its labels are {{{named}}}; an NLI model needs three, named entailment, neutral and "
            "contradiction in any order. Put their true names into id2label of its config.json"
        )
    places = {name: place for place, name in meant.items() if name is not None}
    return LabelOrder(**places)


def classify(loaded: LoadedModel, requests: Sequence[Classify], usage: Usage) -> list[NDArray[np.float32]]:
    """The outputs that each request asks for: all in the model's own order, or the classes of inference."""

    def compute(batch: Batch) -> list[NDArray[np.float32]]:
        return list(loaded.backend.logits(*batch))

    def framed(some: Sequence[Classify], settings: tuple[Classes, Framing]) -> list[NDArray[np.float32]]:
        classes, framing = settings
        inputs = loaded.tokens.inputs([request.texts for request in some], framing)
        outputs = loaded.run(inputs, usage, compute)
        if classes == "nli":
            order = label_order(loaded.model.config, loaded.model.name)
            return [row[list(order)] for row in outputs]
        if len(outputs[0]) != classes:
            raise UsageError(
                f"{loaded.model.name} has {_outputs(len(outputs[0]))}, and the evaluator reads {_outputs(classes)}: "
                "it is another kind of checkpoint"
            )
        return outputs

    return by_settings(requests, lambda request: (request.classes, request.framing), framed)


def find_labels(loaded: LoadedModel) -> Labels:
    """The labels in a model's config. UsageError where it names none."""
    given = loaded.model.config.get("id2label")
    if not isinstance(given, Mapping) or sorted(given, key=str) != sorted(map(str, range(len(given)))):
        raise UsageError(f"{loaded.model.name}: its config.json has no id2label that names outputs 0, 1 and so on")
    several = loaded.model.config.get("problem_type") == "multi_label_classification"
    return Labels(tuple(str(given[str(place)]) for place in range(len(given))), several)


def _outputs(number: int) -> str:
    return "1 output" if number == 1 else f"{number} outputs"
