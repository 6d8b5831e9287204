"""`lite2pyramid` and `lite3pyramid`: the content units of the references that a summary entails.

See Zhang and Bansal (EMNLP 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools, named_file
from summeter.evaluators.entailment.classified import unread
from summeter.evaluators.entailment.premises import ENTAIL, Floats
from summeter.evaluators.entailment.reasons import rounded
from summeter.evaluators.entailment.stus import RoleSentence, role_sentences, units_of
from summeter.models.fitted import DataFile
from summeter.models.networks import Classify, Framing, softmax
from summeter.records import InputError, Item, Judgment, KeyFacts
from summeter.text import english

COMPLETENESS = "completeness"
LONGEST = 400
"""Maximum number of tokens of a summary and a unit together, including special tokens."""
THRESHOLD = 0.5
TUNED = ("tac08", "tac09", "realsumm", "pyrxsum")
"""The datasets on which the published checkpoints were tuned."""

Score = Literal["p2c", "l2c", "p3c", "l3c"]


class ContentUnit(BaseModel):
    """A content unit of the references, with its weight."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


CHECKPOINTS = tuple(Checkpoint(f"shiyue/roberta-large-{data}", "none stated", size=355) for data in TUNED)


class Lite2Pyramid(Evaluator):
    """Compute the share of content units (key facts) that the summary entails (Lite2Pyramid).

    The summary is the premise and each unit a hypothesis. `score` selects the value of a unit. `p2c` (the paper's
    choice for the checkpoints tuned on human labels) is sigmoid(e - (n + c)), where e, n and c are the logits of
    entailment, neutral and contradiction. `l2c` is 1 if p2c is at least 0.5, and otherwise 0. `p3c` is the probability
    of entailment. `l3c` (the paper's choice for networks that are not tuned) is 1 if entailment is the most probable
    class, and otherwise 0.

    The units are the key facts in the data, or those of the file `units`, a JSON object with a list for each document
    id. The elements of a list are strings, objects {"text": ..., "weight": ...}, or sentences with semantic roles
    {"words": [...], "frames": [[tag, ...], ...]}, from which STUs are extracted. The score is the weighted mean over
    units. `variant=legacy` follows the released code, in which marks inside a text are special tokens, and an auxiliary
    before a verb of several words is left out of an STU. The network has the role `lite2pyramid`.

    Writes one judgment per unit (aspect completeness, unit key_fact; `list_id` identifies the list) and one of the
    summary, in [0, 1]. The label is 1 if the value is at least 0.5. Inputs of more than 400 tokens are truncated, the
    longer text first, and the omitted tokens are counted in `truncated_tokens`.
    """

    name, version = "lite2pyramid", "1"
    summary = "An NLI network decides which content units the summary entails (Lite2Pyramid)."
    aspects = (COMPLETENESS,)
    roles: ClassVar[Mapping[str, Role]] = {"lite2pyramid": Role("classifier", checkpoints=CHECKPOINTS)}
    code_licence = "none"
    reduce = "whole"
    reads_sentences = False
    positional_setting = "score"

    score: Score = "p2c"
    variant: Literal["paper", "legacy"] = "paper"
    units: Annotated[DataFile | None, named_file("content units")] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.units is not None:
            read_units(self.units, legacy=self.variant == "legacy")
        return self

    @property
    def decision_threshold(self) -> float:
        """The lowest value at which a unit counts as present."""
        return THRESHOLD

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a lack of units, or None."""
        if why := super().skip_reason(item):
            return why
        if self._units(item):
            return None
        return "there are no key facts" if self.units is None else "the file of units has no unit of this document"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and one per unit."""
        (role,) = self.roles
        network = tools.network(role)
        builder = self.builder(item, prepared, tools, model=network.id)
        units = self._units(item)
        texts = [unit.text for unit in units]
        how = Framing(limit=LONGEST, marks=self.variant == "legacy")
        logits = await network.ask([Classify((item.summary.text, text), "nli", how) for text in texts])
        present = values(np.array(logits, dtype=np.float64), self.score)
        weights = np.array([unit.weight for unit in units])
        value = float((present * weights).sum() / weights.sum())
        builder = replace(builder, truncated_tokens=await unread(network, [item.summary.text], texts, how))
        count = int((present >= THRESHOLD).sum())
        reason = f"{count} of {len(units)} units present ({self.score})"
        overall = builder.ok(COMPLETENESS, value=value, label=int(value >= THRESHOLD), reason=reason)
        list_id = KeyFacts.of(texts, "given").id
        judgments = [overall]
        for at, share in enumerate(map(float, present)):
            label = int(share >= THRESHOLD)
            reason = f"{'present' if label else 'not present'} ({self.score} {rounded(share, THRESHOLD)})"
            judgments.append(
                builder.ok(COMPLETENESS, "key_fact", at, value=share, label=label, reason=reason, list_id=list_id)
            )
        return judgments

    def _units(self, item: Item) -> list[ContentUnit]:
        if self.units is None:
            return [ContentUnit(text=text) for text in item.key_facts if text.strip()]
        return read_units(self.units, legacy=self.variant == "legacy").get(item.document.id, [])


class Lite3Pyramid(Lite2Pyramid):
    """Compute Lite2Pyramid with units (STUs) that are extracted automatically (Lite3Pyramid).

    The arithmetic, settings and judgments are those of `lite2pyramid`; the network has the role `lite3pyramid`. The
    paper extracts STUs from the references with the coreference resolution and semantic role labelling of AllenNLP. To
    reproduce this, use the published STUs or a file of semantic roles. If `parsed` is true, units are extracted from a
    dependency parse of the references by the same rules (English; extra `parse`). These are not the units of the paper,
    so the signature contains the parser.
    """

    name = "lite3pyramid"
    summary = "An NLI network decides which extracted units of the references the summary entails (Lite3Pyramid)."
    roles: ClassVar[Mapping[str, Role]] = {"lite3pyramid": Role("classifier", checkpoints=CHECKPOINTS)}

    parsed: bool = False

    @model_validator(mode="after")
    def _check_origin(self) -> Self:
        if self.parsed and self.units is not None:
            raise ValueError("units: parsed=true extracts units itself; remove one of the two")
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """Return the signature fields of `lite2pyramid`, and the parser if the parser extracts the units."""
        return {**super().signature_fields(), **({"parser": english.version()} if self.parsed else {})}

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a missing reference, or None."""
        if self.parsed and not item.references:
            return "there is no reference summary to extract units from"
        return super().skip_reason(item)

    def _units(self, item: Item) -> list[ContentUnit]:
        return list(parsed_units(item.references)) if self.parsed else super()._units(item)


@lru_cache(maxsize=64)
def parsed_units(references: tuple[str, ...]) -> tuple[ContentUnit, ...]:
    """Return the distinct units of all references from the dependency parser.

    Raises InstallError if the parser is not installed.
    """
    sentences = (sentence for text in references for sentence in role_sentences(english.parse(text).words))
    return tuple(
        ContentUnit(text=text) for text in dict.fromkeys(text for sentence in sentences for text in units_of(sentence))
    )


def values(logits: Floats, score: Score) -> Floats:
    """Return the value of each unit from its logits (entailment, neutral, contradiction).

    p2c is a softmax over (e, n + c), where n + c is a sum of logits. Unlike p3c, it changes if all three logits are
    shifted by the same amount.

    >>> logits = np.array([[2.0, 1.0, 0.5]])
    >>> [values(logits, score).round(4).tolist() for score in ("p2c", "l2c", "p3c", "l3c")]
    [[0.6225], [1.0], [0.6285], [1.0]]
    """
    margin = logits[:, 0] - (logits[:, 1] + logits[:, 2])
    match score:
        case "p2c":
            return np.asarray(1 / (1 + np.exp(-margin)))
        case "l2c":
            return np.asarray(margin >= 0, dtype=np.float64)
        case "p3c":
            return softmax(logits)[:, ENTAIL]
        case "l3c":
            return np.asarray(logits.argmax(axis=1) == ENTAIL, dtype=np.float64)


_LISTS = TypeAdapter(dict[str, list[str | ContentUnit | RoleSentence]])


@lru_cache(maxsize=8)
def read_units(file: DataFile, *, legacy: bool = False) -> Mapping[str, list[ContentUnit]]:
    """Read the units of each document from a file.

    `legacy` is that of `units_of`. Raises InputError if an entry is invalid.
    """
    try:
        lists = _LISTS.validate_json(file.text)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise InputError.at(file.path, f"is not valid JSON: {first['ctx']['error']}") from error
        field = str(next(iter(first["loc"]), "")) or None
        why = (
            "must be a JSON object with a list of units for each document id. A unit is a text, "
            '{"text": ..., "weight": a number above 0}, or {"words": [...], "frames": lists with one tag per word}'
        )
        raise InputError.at(file.path, why, field=field) from error
    units: dict[str, list[ContentUnit]] = {}
    for document, entries in lists.items():
        of_document = units.setdefault(document, [])
        for entry in entries:
            match entry:
                case RoleSentence():
                    of_document += [ContentUnit(text=text) for text in units_of(entry, legacy=legacy)]
                case ContentUnit() if entry.text.strip():
                    of_document.append(entry)
                case str() if entry.strip():
                    of_document.append(ContentUnit(text=entry))
    return units
