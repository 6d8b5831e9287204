"""`a2cu`: content units that a network writes of the reference, and whether the summary holds them (A2CU: Liu et al.,
EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from summeter.evaluators.base import (
    Checkpoint,
    Evaluator,
    JudgmentBuilder,
    Prepared,
    Role,
    Semicolons,
    Tools,
)
from summeter.models.networks import Classify, Framing, Generate, Generation, softmax
from summeter.records import Claim, Document, Item, Judgment, KeyFacts, digest

Measure = Literal["recall", "precision", "f1"]

RECALL, PRECISION, F1 = "a2cu_recall", "a2cu_precision", "a2cu_f1"
ASPECTS: Mapping[Measure, str] = {"recall": RECALL, "precision": PRECISION, "f1": F1}
BETWEEN = "|||"
"""What the writing network puts between units."""
WRITTEN = Generation(max_new_tokens=511, num_beams=4, length_penalty=1.0, early_stopping=True)
READ = 256
"""Tokens that are read of a text whose units are written."""
TEXT, UNIT = 200, 100
"""Tokens that are read of a text and of a unit it may hold."""
THRESHOLD = 0.5
HELD = 2
"""The matching network's class of a unit that the text holds."""


class A2CU(Evaluator):
    """Which content units of the reference the summary holds: one network writes them, another matches them (A2CU).

    Roles `acu_writer` (units of a text, `|||` between them) and `acu_matcher` (a classifier of text and unit, whose
    third class is that the text holds the unit). `measures`, with semicolons: `recall`, the share of the reference's
    units that the summary holds; `precision`, with both sides swapped; `f1`, 2PR / (P + R + 1e-10). Equal units count
    once, and none that is empty.

    Against several references each score is their mean. A reference's units are written once for all summaries. Writes
    one judgment of the summary a measure, in [0, 1], one of each unit of the reference (unit key_fact), and for
    precision one of each unit of the summary (unit claim). Label 1: over .5, held.
    """

    name, version = "a2cu", "1"
    summary = "which content units of the reference, written by a network, the summary holds (A2CU)"
    aspects = (RECALL, PRECISION, F1)
    needs = frozenset({"reference"})
    roles: ClassVar[Mapping[str, Role]] = {
        "acu_writer": Role(
            "seq2seq",
            hint="The paper's network is hf/Yale-LILY/a2cu-generator.",
            checkpoints=(Checkpoint("Yale-LILY/a2cu-generator", "none stated"),),
        ),
        "acu_matcher": Role(
            "classifier",
            hint="The paper's network is hf/Yale-LILY/a2cu-classifier.",
            checkpoints=(Checkpoint("Yale-LILY/a2cu-classifier", "none stated"),),
        ),
    }
    code_licence = "none"
    reduce = "whole"
    reads_sentences = False
    positional_setting = "measures"

    measures: Semicolons[Measure] = ("recall",)

    @model_validator(mode="after")
    def _measures_something(self) -> Self:
        if not self.measures or len(set(self.measures)) < len(self.measures):
            raise ValueError(f"measures: name some of {', '.join(ASPECTS)}, each once")
        return self

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """An aspect a measure."""
        return tuple(ASPECTS[measure] for measure in self.measures)

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The units of every reference, one list, and how many each reference has."""
        texts = [text for text in document.references if text.strip()]
        if not texts:
            return Prepared(document_id=document.id)
        units = await self._written(texts, tools)
        facts = KeyFacts.of([unit for own in units for unit in own], "reference")
        data = {"key_facts": list(facts.texts), "origin": facts.origin, "units": [len(own) for own in units]}
        return Prepared(document_id=document.id, data=data)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary a measure, one of each unit."""
        matcher = tools.network("acu_matcher")
        builder = self.builder(item, prepared, tools, model=matcher.id)
        units = iter(prepared.data["key_facts"])
        by_text = [list(islice(units, size)) for size in prepared.data["units"]]
        held = [await self._held(item.summary.text, own, tools) for own in by_text]
        values: dict[Measure, list[float]] = {"recall": [_share(own) for own in held if len(own)]}
        judgments = []
        if "recall" in self.measures:
            list_id = KeyFacts.of(prepared.data["key_facts"], "reference").id
            for at, share in enumerate(np.concatenate(held)):
                fields: dict[str, Any] = {
                    "value": float(share),
                    "label": int(share > THRESHOLD),
                    "reason": _says(share),
                }
                judgments.append(builder.ok(RECALL, "key_fact", at, list_id=list_id, **fields))
        if {"precision", "f1"} & set(self.measures):
            (claims,) = await self._written([item.summary.text], tools)
            references = [text for text in item.references if text.strip()]
            by_reference = [await self._held(reference, claims, tools) for reference in references]
            values["precision"] = [_share(own) for own in by_reference if len(own)]
            both = [
                (_share(one), _share(two)) for one, two in zip(by_reference, held, strict=True) if len(one) and len(two)
            ]
            values["f1"] = [2 * precision * recall / (precision + recall + 1e-10) for precision, recall in both]
            # Each unit of the summary, at the reference that holds it best.
            for at, (text, share) in enumerate(zip(claims, np.max(np.stack(by_reference), axis=0), strict=True)):
                fields = {"value": float(share), "label": int(share > THRESHOLD), "reason": _says(share)}
                about = {"list_id": digest(claims, 12), "claim": Claim(text=text)}
                judgments.append(builder.ok(PRECISION, "claim", at, **fields, **about))
        return [*(self._whole(builder, measure, values[measure]) for measure in self.measures), *judgments]

    async def _written(self, texts: Sequence[str], tools: Tools) -> list[list[str]]:
        """The units that the network writes of each text, equal ones once, in their order."""
        framing = Framing(limit=READ)
        rows = await tools.network("acu_writer").ask([Generate((text,), WRITTEN, framing) for text in texts])
        return [list(dict.fromkeys(part.strip() for part in row.split(BETWEEN) if part.strip())) for row in rows]

    async def _held(self, text: str, units: Sequence[str], tools: Tools) -> NDArray[np.float64]:
        """The probability that a text holds each unit."""
        how = Framing((TEXT, UNIT))
        logits = await tools.network("acu_matcher").ask([Classify((text, unit), 3, how) for unit in units])
        return softmax(np.array(logits, dtype=np.float64).reshape(-1, 3))[:, HELD]

    def _whole(self, builder: JudgmentBuilder, measure: Measure, values: Sequence[float]) -> Judgment:
        aspect = ASPECTS[measure]
        if not values:
            whose = "summary" if measure == "precision" else "reference"
            return builder.failed(aspect, "skipped", f"the network wrote no unit of the {whose}")
        several = f" (mean of {len(values)} references)" if len(values) > 1 else ""
        what = {"recall": "the reference's units", "precision": "the summary's units", "f1": "both sides' units"}[
            measure
        ]
        return builder.ok(aspect, value=float(np.mean(values)), reason=f"share of {what} that is held{several}")


def _share(held: NDArray[np.float64]) -> float:
    return float(np.mean(held > THRESHOLD))


def _says(share: float) -> str:
    return f"{'held' if share > THRESHOLD else 'not held'} (probability {share:.2f})"
