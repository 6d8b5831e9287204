"""Which output of a classifier is which class: read from its config, never assumed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from summeter.records import UsageError

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
