"""The one tree of errors. Each says what happened, where, and what to do next.

SummeterError                 exit 1
|- UsageError                 exit 2   the command or the call makes no sense
|  `- InputError              exit 2   a file is at fault: named by file, line and field
|- InstallError               exit 2   something is not installed; names the command that adds it
|- GateError                  exit 3
|- CoverageError              exit 4   too few usable judgments
|- BudgetError                exit 130 the next call would pass the budget; the run can be carried on
|- ModelError                 exit 1   a model did not answer
|  |- TransientError                   worth another try (429, 5xx, reset, timeout)
|  |- CapabilityError                  the endpoint lacks something that was asked for
|  |- ContextError                     the prompt is longer than the model reads
|  `- ReplayMiss                       the recorded run holds no such call
`- ReplyError                          a model answered, but not usably; becomes a status, never a number
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple


class SummeterError(Exception):
    """Base of every error summeter raises on purpose."""

    exit_code: ClassVar[int] = 1


class UsageError(SummeterError):
    """A command or call that cannot be carried out as given."""

    exit_code: ClassVar[int] = 2


class Fault(NamedTuple):
    """One thing wrong with an input file; `line` counts from 1, `field` is the column (or None for the row)."""

    file: str
    line: int | None
    field: str | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class InputError(UsageError):
    """Faulty input. Carries every fault found, in file order.

    >>> str(InputError([Fault("a.jsonl", 3, "summary", "is null; give a text (it may be empty)")]))
    'a.jsonl:3: summary: is null; give a text (it may be empty)'
    """

    SHOWN: ClassVar[int] = 20

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[: self.SHOWN]]
        if len(self.faults) > self.SHOWN:
            lines.append(f"... and {len(self.faults) - self.SHOWN} more")
        super().__init__("\n".join(lines))

    @classmethod
    def at(cls, file: str | Path, line: int | None, field: str | None, message: str) -> InputError:
        """One fault."""
        return cls([Fault(str(file), line, field, message)])


class InstallError(UsageError):
    """A missing package; the message names the command that adds it."""

    @classmethod
    def missing(cls, what: str, extra: str) -> InstallError:
        """`what` needs an extra that is not installed."""
        return cls(f"{what} is not installed; add it with: pip install 'summeter[{extra}]'")


class GateError(SummeterError):
    """A score is under the gate that was set."""

    exit_code: ClassVar[int] = 3


class CoverageError(SummeterError):
    """Too small a share of what was to be judged has a usable judgment."""

    exit_code: ClassVar[int] = 4


class BudgetError(SummeterError):
    """The run's budget allows no further call; what is finished is kept and the run can be carried on."""

    exit_code: ClassVar[int] = 130


class ModelError(SummeterError):
    """A model gave no answer."""


class TransientError(ModelError):
    """A failure worth another try; `retry_after` is the server's wish in seconds. `throttled`: the endpoint says that
    it is asked too much (429, 503, 529), which concerns every call to it and not this one alone."""

    def __init__(self, message: str, *, retry_after: float | None = None, throttled: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.throttled = throttled


class AccessError(ModelError):
    """The endpoint turns us away (401, 403, 404): every call would fail alike, so the run stops."""


class CapabilityError(ModelError):
    """The endpoint cannot do what was asked (a response format, a seed, log-probabilities)."""

    def __init__(self, message: str, *, lacks: str) -> None:
        super().__init__(message)
        self.lacks = lacks


class ContextError(ModelError):
    """What is to be judged does not fit into the model's context: one item's failure, no other's."""


class ReplayMiss(ModelError):
    """A replayed run asks for a call that was never recorded."""


ReplyFault = Literal["no_json", "meaningless", "wrong_count", "ambiguous", "truncated", "refused"]
REPLY_FAULTS: dict[ReplyFault, str] = {
    "no_json": "no JSON",  # nothing of the form asked for, or broken: FineSurE's first class of failure
    "meaningless": "meaningless",  # of that form, but it says nothing that could be meant: the second
    "wrong_count": "wrong count",  # too few verdicts, too many, or of other units: the third
    "ambiguous": "ambiguous",  # several answers, and nothing says which one counts
    "truncated": "truncated",  # it ends before the answer does
    "refused": "refused",
}
"""Classes of unusable replies, after section 4.2 of FineSurE (Song et al., 2024) and beyond, and the words that
reasons begin with."""


class ReplyError(SummeterError):
    """A reply that came but cannot be used. `kind` becomes the judgment's status.

    `fault` is its class; the text begins with that in words, save for a refusal, whose status says it.
    `detail` is the message alone.

    >>> str(ReplyError("no entry for sentence 2", fault="wrong_count"))
    'wrong count: no entry for sentence 2'
    """

    def __init__(
        self, message: str, *, kind: Literal["unparsed", "refused"] = "unparsed", fault: ReplyFault | None = None
    ) -> None:
        self.kind: Literal["unparsed", "refused"] = kind
        self.fault: ReplyFault = "refused" if kind == "refused" else fault or "meaningless"
        self.detail = message
        super().__init__(message if kind == "refused" else f"{REPLY_FAULTS[self.fault]}: {message}")

    def within(self, where: str) -> ReplyError:
        """The same failure, with the place it is at before its message."""
        return ReplyError(f"{where}: {self.detail}", kind=self.kind, fault=self.fault)


def fault_of(reason: str | None) -> ReplyFault | None:
    """The class that a stored reason names, or None. It stands first, or behind what was asked for.

    >>> fault_of("key facts from the document: no JSON: the reply is empty")
    'no_json'
    """
    words = {said: fault for fault, said in REPLY_FAULTS.items()}
    return next((words[part] for part in (reason or "").split(": ")[:4] if part in words), None)


def first_error(error: BaseException) -> BaseException:
    """The first single error inside a group of errors (or groups): what a caller can act on.

    >>> first_error(ExceptionGroup("two", [UsageError("a"), UsageError("b")]))
    UsageError('a')
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
