"""Natural-language inference: a sequence classifier whose three classes its config names."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from summeter.models.base import Entailment, Framing
from summeter.models.local.batcher import Codec, LocalUsage, Texts
from summeter.models.local.classifier import LabelOrder, LocalClassifier, label_order
from summeter.models.local.opened import Opened
from summeter.runs.results import Results

PAIRS: Codec[Entailment] = Codec(
    "nli", lambda entailment: struct.pack("<3d", *entailment), lambda data: Entailment(*struct.unpack("<3d", data))
)


class LocalNLI(LocalClassifier):
    """Probabilities of (premise, hypothesis) pairs; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage, replay=replay)
        if self._maybe_opened is not None:
            model = self._maybe_opened.model
            self._order: LabelOrder = label_order(model.config, model.name)
        self._pairs = self._batcher(PAIRS, self._classify)

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """Probabilities of each pair, in their order. A pair longer than the model reads is cut, the longer text
        first, and counted in `usage`."""
        rows = await self._pairs.ask(list(pairs))
        self._valid(np.array(rows))
        return rows

    def _classify(self, pairs: Sequence[Texts]) -> list[Entailment]:
        return [probabilities(logits, self._order) for logits in self.outputs(pairs, Framing())]


def probabilities(logits: Sequence[float], order: LabelOrder) -> Entailment:
    """The softmax of three logits, in the order of `Entailment`.

    >>> probabilities([0.0, 0.0, 0.0], LabelOrder(2, 1, 0)).entail
    0.3333333333333333
    """
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max())
    shares = powers / powers.sum()
    return Entailment(*(float(shares[place]) for place in order))
