"""Annotation campaigns: people judge summaries in a browser, and every answer is logged.

    from summeter import annotate

    campaign = annotate.CampaignFolder("campaigns/first")

Each name is imported when it is first used. See also design/annotate.md.
"""

from __future__ import annotations

from summeter.lazy import attributes

_HOMES = {
    "Campaign": "summeter.annotate.campaign.config",
    "CampaignFolder": "summeter.annotate.campaign.folder",
    "CampaignService": "summeter.annotate.campaign.service",
    "adjudicate": "summeter.annotate.analysis.adjudicate",
    "build": "summeter.annotate.campaign.build",
    "dataset_of": "summeter.annotate.analysis.aggregate",
    "disputes": "summeter.annotate.analysis.adjudicate",
    "exclude": "summeter.annotate.analysis.exclusion",
    "judgments_of": "summeter.annotate.analysis.aggregate",
    "task_type_named": "summeter.annotate.tasks",
    "merge": "summeter.annotate.analysis.aggregate",
    "merged_of": "summeter.annotate.analysis.aggregate",
    "platform_named": "summeter.annotate.platforms",
    "proposals": "summeter.annotate.analysis.exclusion",
    "quality": "summeter.annotate.analysis.quality",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a table, not a copy of it
__getattr__, __dir__ = attributes(__name__, _HOMES)
