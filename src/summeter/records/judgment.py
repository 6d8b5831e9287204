"""Judgment: the one record that people, LLM judges and local models all produce."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from summeter.records.base import Record
from summeter.records.facts import Claim
from summeter.records.text import Span

UNNAMED = "?"
"""How the judge of a vote begins whose annotator is not known: `?1`, `?2`."""

Unit = Literal["document", "summary", "sentence", "claim", "key_fact", "span", "pair"]
Status = Literal["ok", "unparsed", "refused", "skipped", "error"]


def unnamed(judge: str | None) -> bool:
    """Whether a judge is an annotator who is not known, so that the same name elsewhere may be somebody else.

    >>> unnamed("?1"), unnamed("ben")
    (True, False)
    """
    return judge is not None and judge.startswith(UNNAMED)


class Target(Record):
    """What was judged. `index` counts from 0 within the unit; `list_id` names the list it counts in
    where that is not the summary's own sentences (a list of key facts, say)."""

    document_id: str
    system: str
    rival: str | None = None
    unit: Unit = "summary"
    index: int | None = None
    list_id: str | None = None

    @property
    def item(self) -> tuple[str, str, str | None]:
        """(document_id, system, rival): the item the target is part of."""
        return self.document_id, self.system, self.rival


def _decided(label: int | str | None) -> int | str | None:
    if isinstance(label, int) and label not in (0, 1):
        raise ValueError(f"a label is 1 (supported, present), 0 (not) or a name, not {label}")
    return label


class Judgment(Record):
    """One verdict.

    `value` is the judge's raw score (a probability, a rating, a share), `label` the decision: 1 supported
    or present, 0 not; a name where the judge gives names. `error_type` names what is wrong (or
    "no error"). `evidence` points into the document or the summary. A judgment whose status is not `ok`
    has neither value nor label, and says why in `reason`. `claim` is what was judged where the unit is a claim:
    it stands nowhere else. `confidence`, from 0 to 1, is how sure the judge is, where it says so.
    `truncated_tokens` is how much of the document the judge was not shown (estimated); None where all of it was.
    """

    target: Target
    aspect: str
    judge: str
    signature: str
    model: str | None = None
    value: float | None = None
    label: Annotated[int | str | None, AfterValidator(_decided)] = None
    error_type: str | None = None
    evidence: tuple[Span, ...] = ()
    reason: str | None = None
    status: Status = "ok"
    prepared: str | None = None
    calls: tuple[str, ...] = ()
    # A line leaves out the fields from here on where they have their default, so that a new one changes no other line.
    claim: Claim | None = None
    confidence: float | None = None
    truncated_tokens: int | None = None

    @model_validator(mode="after")
    def _failure_is_no_number(self) -> Self:
        if self.status != "ok":
            if self.value is not None or self.label is not None:
                raise ValueError(f"a judgment with status {self.status!r} must have no value and no label")
            if not self.reason:
                raise ValueError(f"a judgment with status {self.status!r} must say why in `reason`")
        elif self.value is None and self.label is None:
            raise ValueError("a judgment with status 'ok' needs a value or a label")
        return self

    @property
    def line(self) -> str:
        """The judgment as a line of JSON; what only few judgments have is left out where it is absent."""
        return self.model_dump_json(exclude={name for name, absent in _RARE.items() if getattr(self, name) == absent})

    @property
    def key(self) -> tuple[Any, ...]:
        """Two judgments with one key are two answers to one question; the later one counts."""
        target = self.target
        return (
            self.judge, self.signature, target.document_id, target.system, target.rival,
            target.unit, target.index, target.list_id, self.aspect,
        )  # fmt: skip


_ALWAYS = 1 + list(Judgment.model_fields).index("calls")
_RARE = {
    name: field.get_default(call_default_factory=True) for name, field in list(Judgment.model_fields.items())[_ALWAYS:]
}
