"""`mcq2`: as `mcq`, with a shorter definition and options that name their points (Shen et al., 2023, appendix)."""

from __future__ import annotations

from typing import ClassVar

from summeter.evaluators.rating.mcq import MultipleChoice


class MultipleChoiceShort(MultipleChoice):
    """The short form of the multiple-choice judge; replies and values are those of `mcq`."""

    name: ClassVar[str] = "mcq2"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "As mcq, by a shorter prompt whose options name their points (MCQ2)."
