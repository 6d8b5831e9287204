"""Presets that convert the files of public datasets to flat rows.

The module `base` explains how to write a preset. A preset renames the columns that it knows and leaves the others
unchanged. It raises `LayoutError` if a row does not have the expected layout. Label 1 means supported. The layouts were
taken from the released files or from the documentation of their authors.
"""

from __future__ import annotations

from summeter.data.presets.aggrefact import AGGREFACT, TYPES
from summeter.data.presets.base import LayoutError, Preset
from summeter.data.presets.claims import BUMP, FACTCC, GOFIGURE, LLM_AGGREFACT, STORY_SUMMEVAL, SUMMAC, SUMMEDITS
from summeter.data.presets.key_facts import FINESURE, LITE3PYRAMID, ROSE, UNISUMEVAL
from summeter.data.presets.labelling import LABEL_STUDIO, POTATO
from summeter.data.presets.ratings import DIALSUMMEVAL, POLYTOPE, SUMMEVAL_OP
from summeter.data.presets.realsumm import REALSUMM
from summeter.data.presets.sentences import COGENSUMM, FRANK, QAGS, STORYSUMM, TOFUEVAL
from summeter.data.presets.spans import DIASUMFACT, FAITHBENCH, RAGTRUTH, XSUMFAITH
from summeter.data.presets.summeval import SHEN2023, SUMMEVAL
from summeter.data.presets.tables import TABLES
from summeter.data.presets.traces import OPENAI_BATCH, TRACES
from summeter.records import UsageError, nearest

__all__ = ["PRESETS", "LayoutError", "Preset", "preset_named"]

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        TABLES, FINESURE, UNISUMEVAL, SUMMEVAL, SHEN2023, FRANK, REALSUMM, LITE3PYRAMID, QAGS, AGGREFACT, TYPES,
        LLM_AGGREFACT, SUMMAC, FACTCC, COGENSUMM, POLYTOPE, XSUMFAITH, TOFUEVAL, RAGTRUTH, FAITHBENCH, STORYSUMM, ROSE,
        SUMMEDITS, DIALSUMMEVAL, DIASUMFACT, BUMP, GOFIGURE, STORY_SUMMEVAL, SUMMEVAL_OP, OPENAI_BATCH, TRACES,
        LABEL_STUDIO, POTATO,
    )
}  # fmt: skip


def preset_named(name: str) -> Preset:
    """Return the preset called `name`. Raises UsageError if the name is unknown."""
    if name not in PRESETS:
        raise UsageError(f"unknown preset {name!r}{nearest(name, PRESETS)}; presets are: {', '.join(PRESETS)}")
    return PRESETS[name]
