"""PEOPLE: campaigns in which people judge summaries, and nothing they answer is lost. See design/annotate.md.

    from summeter import annotate

    campaign = annotate.CampaignFolder("campaigns/first")

Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Campaign": "campaign.config",
    "CampaignFolder": "campaign.folder",
    "CampaignService": "campaign.service",
    "adjudicate": "after.adjudicate",
    "build": "campaign.build",
    "dataset_of": "after.aggregate",
    "disputes": "after.adjudicate",
    "exclude": "after.exclusion",
    "judgments_of": "after.aggregate",
    "kind_named": "tasks",
    "merge": "after.aggregate",
    "merged_of": "after.aggregate",
    "plan_calibration": "after.plan",
    "plan_comparison": "after.plan",
    "platform_named": "platforms",
    "proposals": "after.exclusion",
    "quality": "after.quality",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605 - a table, not a copy of it


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'summeter.annotate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
