"""Presets: the column names and conventions of public layouts, converted to flat rows, one small file each.

`base` says how one is written. A preset moves the columns it knows, leaves every other column as it is, and raises
`LayoutError` rather than guess where a row is not in its layout. In labels, 1 means supported. Layouts
were read from the released files or their authors' documentation.
"""

from __future__ import annotations

from summeter.data.faults import meant
from summeter.data.presets.aggrefact import AGGREFACT, TYPES
from summeter.data.presets.base import LayoutError, Preset
from summeter.data.presets.bump import BUMP
from summeter.data.presets.cogensumm import COGENSUMM
from summeter.data.presets.dialsummeval import DIALSUMMEVAL
from summeter.data.presets.diasumfact import DIASUMFACT
from summeter.data.presets.factcc import FACTCC
from summeter.data.presets.faithbench import FAITHBENCH
from summeter.data.presets.finesure import FINESURE
from summeter.data.presets.frank import FRANK
from summeter.data.presets.gofigure import GOFIGURE
from summeter.data.presets.lite3pyramid import LITE3PYRAMID
from summeter.data.presets.llm_aggrefact import LLM_AGGREFACT
from summeter.data.presets.polytope import POLYTOPE
from summeter.data.presets.qags import QAGS
from summeter.data.presets.ragtruth import RAGTRUTH
from summeter.data.presets.realsumm import REALSUMM
from summeter.data.presets.rose import ROSE
from summeter.data.presets.shen2023 import SHEN2023
from summeter.data.presets.story_summeval import STORY_SUMMEVAL
from summeter.data.presets.storysumm import STORYSUMM
from summeter.data.presets.summac import SUMMAC
from summeter.data.presets.summedits import SUMMEDITS
from summeter.data.presets.summeval import SUMMEVAL
from summeter.data.presets.summeval_op import SUMMEVAL_OP
from summeter.data.presets.tables import TABLES
from summeter.data.presets.tofueval import TOFUEVAL
from summeter.data.presets.unisumeval import UNISUMEVAL
from summeter.data.presets.xsumfaith import XSUMFAITH
from summeter.records import UsageError

__all__ = ["PRESETS", "LayoutError", "Preset", "preset_named"]

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        TABLES,
        FINESURE,
        UNISUMEVAL,
        SUMMEVAL,
        SHEN2023,
        FRANK,
        REALSUMM,
        LITE3PYRAMID,
        QAGS,
        AGGREFACT,
        TYPES,
        LLM_AGGREFACT,
        SUMMAC,
        FACTCC,
        COGENSUMM,
        POLYTOPE,
        XSUMFAITH,
        TOFUEVAL,
        RAGTRUTH,
        FAITHBENCH,
        STORYSUMM,
        ROSE,
        SUMMEDITS,
        DIALSUMMEVAL,
        DIASUMFACT,
        BUMP,
        GOFIGURE,
        STORY_SUMMEVAL,
        SUMMEVAL_OP,
    )
}


def preset_named(name: str) -> Preset:
    """The preset of that name, or of that alias. Raises UsageError."""
    if name not in PRESETS:
        raise UsageError(f"unknown preset {name!r}{meant(name, PRESETS)}; presets are: {', '.join(PRESETS)}")
    return PRESETS[name]
