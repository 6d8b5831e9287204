"""`rts2`: as `rts`, with a shorter definition and only the top of the scale described (Shen et al., 2023, appendix)."""

from __future__ import annotations

from typing import ClassVar

from summeter.evaluators.rating.rts import ReasonThenScore


class ReasonThenScoreShort(ReasonThenScore):
    """The short form of reason-then-score; replies and values are those of `rts`."""

    name: ClassVar[str] = "rts2"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "As rts, by a shorter prompt that describes only the top of the scale (RTS2)."
