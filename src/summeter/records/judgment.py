"""Define the record of a judgment by an annotator or an evaluator."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from summeter.records.base import Record
from summeter.records.facts import Claim
from summeter.records.text import Span

UNNAMED = "?"
"""Prefix of the names of unidentified annotators, such as `?1`."""

Unit = Literal["document", "summary", "sentence", "claim", "key_fact", "span", "pair"]
Status = Literal["ok", "unparsed", "refused", "skipped", "error"]


def unnamed(judge: str | None) -> bool:
    """Return whether a judge's name is the name of an unidentified annotator.

    Equal names of unidentified annotators may denote different people on different summaries.

    >>> unnamed("?1"), unnamed("ben")
    (True, False)
    """
    return judge is not None and judge.startswith(UNNAMED)


class Target(Record):
    """The unit under judgment.

    `index` is the index of the unit, from 0, in the list `list_id`, such as a list of key facts; if `list_id` is None,
    the list is the sentences of the summary. `rival` is the system of the other summary in a pairwise comparison.
    """

    document_id: str
    system: str
    rival: str | None = None
    unit: Unit = "summary"
    index: int | None = None
    list_id: str | None = None

    @property
    def item(self) -> tuple[str, str, str | None]:
        """The judged item: (document_id, system, rival)."""
        return self.document_id, self.system, self.rival


def _check_label(label: int | str | None) -> int | str | None:
    if isinstance(label, int) and label not in (0, 1):
        raise ValueError(f"a label is 1 (supported, present), 0 (not) or a name, not {label}")
    return label


class Judgment(Record):
    """A judgment of one unit.

    `value` is the raw score (a probability, a rating or a share). `label` is the decision: 1 for supported or
    present, 0 for unsupported or absent, or the name of a category. `error_type` is the type of the error, or "no
    error". `evidence` contains spans of the document or the summary. A judgment with a status other than `ok` has a
    `reason`, but neither a value nor a label. `claim` is set if the unit is a claim, or a key fact that the judge
    listed for this summary. `confidence` is the judge's certainty, from 0 to 1. `truncated_tokens` is the estimated
    number of document tokens that were cut off, or None if the document was not truncated. `contradicted` says whether
    the document contradicts the unit, and is None if the judge does not distinguish this from a silent document.
    """

    target: Target
    aspect: str
    judge: str
    signature: str
    model: str | None = None
    value: float | None = None
    label: Annotated[int | str | None, AfterValidator(_check_label)] = None
    error_type: str | None = None
    evidence: tuple[Span, ...] = ()
    reason: str | None = None
    status: Status = "ok"
    prepared: str | None = None
    calls: tuple[str, ...] = ()
    # `line` omits the following fields if they have their defaults, so that a new field does not change other lines.
    claim: Claim | None = None
    confidence: float | None = None
    truncated_tokens: int | None = None
    contradicted: bool | None = None

    @model_validator(mode="after")
    def _check_status(self) -> Self:
        if self.status != "ok":
            if self.value is not None or self.label is not None:
                raise ValueError(f"a judgment with status {self.status!r} must have neither a value nor a label")
            if not self.reason:
                raise ValueError(f"a judgment with status {self.status!r} must have a `reason`")
        elif self.value is None and self.label is None:
            raise ValueError("a judgment with status 'ok' needs a value or a label")
        return self

    @property
    def line(self) -> str:
        """Return the judgment as one line of JSON.

        Rarely used fields are omitted if they have their default values.
        """
        return self.model_dump_json(
            exclude={name for name, default in _OPTIONAL.items() if getattr(self, name) == default}
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """The identity of the judgment. If several judgments have the same key, the last one counts."""
        target = self.target
        return (
            self.judge, self.signature, target.document_id, target.system, target.rival,
            target.unit, target.index, target.list_id, self.aspect,
        )  # fmt: skip


_FIRST_OPTIONAL = 1 + list(Judgment.model_fields).index("calls")
_OPTIONAL = {
    name: field.get_default(call_default_factory=True)
    for name, field in list(Judgment.model_fields.items())[_FIRST_OPTIONAL:]
}
