"""`a2cu`: whether the summary contains the content units extracted from the reference.

See Liu et al. (EMNLP 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from summeter.evaluators.base import Checkpoint, Choices, Evaluator, Prepared, Role, Tools
from summeter.models.networks import Classify, Framing, Generate, Generation, softmax
from summeter.records import Claim, Document, Item, Judgment, KeyFacts, digest

Measure = Literal["recall", "precision", "f1"]

RECALL, PRECISION, F1 = "a2cu_recall", "a2cu_precision", "a2cu_f1"
ASPECTS: Mapping[Measure, str] = {"recall": RECALL, "precision": PRECISION, "f1": F1}
BETWEEN = "|||"
"""Separator between the extracted units."""
WRITTEN = Generation(max_new_tokens=511, num_beams=4, length_penalty=1.0, early_stopping=True)
READ = 256
"""Maximum number of tokens of a text whose units are extracted."""
TEXT, UNIT = 200, 100
"""Maximum number of tokens of a text and a unit together when they are matched."""
THRESHOLD = 0.5
HELD = 2
"""The class that the matching network assigns to a unit that the text contains."""


class A2CU(Evaluator):
    """Compute the share of the reference's content units that the summary contains (A2CU).

    The network in the role `acu_writer` extracts the units of a text, separated by `|||`. The network in the role
    `acu_matcher` classifies pairs of a text and a unit; its third class means that the text contains the unit.
    `measures` lists the measures, separated by semicolons: `recall` is the share of the reference's units that the
    summary contains, `precision` the share of the summary's units that the reference contains, and `f1` is 2PR / (P + R
    + 1e-10). Repeated and empty units are removed.

    If there are several references, each score is the mean over them. The units of a reference are extracted once for
    all summaries. Writes one judgment of the summary per measure, in [0, 1], one of each unit of the reference (unit
    key_fact), and for precision one of each unit of the summary (unit claim). The label is 1 if the probability exceeds
    0.5.
    """

    name, version = "a2cu", "1"
    summary = "One network extracts the reference's content units, another finds them in the summary (A2CU)."
    aspects = (RECALL, PRECISION, F1)
    needs = frozenset({"reference"})
    roles: ClassVar[Mapping[str, Role]] = {
        "acu_writer": Role(
            "seq2seq",
            hint="The paper's network is hf/Yale-LILY/a2cu-generator.",
            checkpoints=(Checkpoint("Yale-LILY/a2cu-generator", "none stated", size=2800),),
        ),
        "acu_matcher": Role(
            "classifier",
            hint="The paper's network is hf/Yale-LILY/a2cu-classifier.",
            checkpoints=(Checkpoint("Yale-LILY/a2cu-classifier", "none stated", size=750),),
        ),
    }
    code_licence = "none"
    reduce = "whole"
    reads_sentences = False
    positional_setting = "measures"

    measures: Choices[Measure] = ("recall",)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """One aspect per measure."""
        return tuple(ASPECTS[measure] for measure in self.measures)

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the units of all references in one list, and the number of units of each reference."""
        texts = [text for text in document.references if text.strip()]
        if not texts:
            return Prepared(document_id=document.id)
        units = await self._written(texts, tools)
        facts = KeyFacts.of([unit for of_text in units for unit in of_text], "reference")
        data = {"key_facts": list(facts.texts), "origin": facts.origin, "units": [len(of_text) for of_text in units]}
        return Prepared(document_id=document.id, data=data)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary per measure, and one per unit."""
        matcher = tools.network("acu_matcher")
        builder = self.builder(item, prepared, tools, model=matcher.id)
        units = iter(prepared.data["key_facts"])
        by_text = [list(islice(units, size)) for size in prepared.data["units"]]
        matched = [await self._matched(item.summary.text, of_text, tools) for of_text in by_text]
        values: dict[Measure, list[float]] = {"recall": [_share(of_text) for of_text in matched if len(of_text)]}
        judgments = []
        if "recall" in self.measures:
            list_id = KeyFacts.of(prepared.data["key_facts"], "reference").id
            judgments += [
                builder.ok(RECALL, "key_fact", at, list_id=list_id, **_verdict(share))
                for at, share in enumerate(np.concatenate(matched))
            ]
        if {"precision", "f1"} & set(self.measures):
            (claims,) = await self._written([item.summary.text], tools)
            by_reference = [await self._matched(reference, claims, tools) for reference in item.references]
            values["precision"] = [_share(one) for one in by_reference if len(one)]
            both = [
                (_share(one), _share(two))
                for one, two in zip(by_reference, matched, strict=True)
                if one.size and two.size
            ]
            values["f1"] = [2 * precision * recall / (precision + recall + 1e-10) for precision, recall in both]
            # Each unit of the summary, with its highest probability over the references.
            for at, (text, share) in enumerate(zip(claims, np.max(np.stack(by_reference), axis=0), strict=True)):
                about = {"list_id": digest(claims, 12), "claim": Claim(text=text)}
                judgments.append(builder.ok(PRECISION, "claim", at, **_verdict(share), **about))
        for number, measure in enumerate(self.measures):
            aspect, of_references = ASPECTS[measure], values[measure]
            if not of_references:
                side = "summary" if measure == "precision" else "reference"
                why = f"the network extracted no unit from the {side}"
                judgments.insert(number, builder.failed(aspect, "skipped", why))
                continue
            units_of = {"recall": "the reference's", "precision": "the summary's", "f1": "both texts'"}[measure]
            several = f" (mean of {len(of_references)} references)" if len(of_references) > 1 else ""
            reason = f"share of {units_of} units in the other text{several}"
            judgments.insert(number, builder.ok(aspect, value=float(np.mean(of_references)), reason=reason))
        return judgments

    async def _written(self, texts: Sequence[str], tools: Tools) -> list[list[str]]:
        """Return the distinct units that the network extracts from each text, in order."""
        framing = Framing(limit=READ)
        rows = await tools.network("acu_writer").ask([Generate((text,), WRITTEN, framing) for text in texts])
        return [list(dict.fromkeys(unit.strip() for unit in row.split(BETWEEN) if unit.strip())) for row in rows]

    async def _matched(self, text: str, units: Sequence[str], tools: Tools) -> NDArray[np.float64]:
        """Return the probability that a text contains each unit."""
        how = Framing((TEXT, UNIT))
        logits = await tools.network("acu_matcher").ask([Classify((text, unit), 3, how) for unit in units])
        return softmax(np.array(logits, dtype=np.float64).reshape(-1, 3))[:, HELD]


def _share(matched: NDArray[np.float64]) -> float:
    return float(np.mean(matched > THRESHOLD))


def _verdict(share: float) -> dict[str, Any]:
    """Return the fields of the judgment of a unit from the probability that the other text contains it."""
    contained = bool(share > THRESHOLD)
    reason = f"{'contained' if contained else 'not contained'} (probability {share:.2f})"
    return {"value": float(share), "label": int(contained), "reason": reason}
