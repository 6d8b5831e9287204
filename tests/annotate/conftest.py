"""Fixtures of the tests of campaigns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from annotate import campaigns as made
from annotate import crowds

from summeter.annotate.campaign.folder import CampaignFolder


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], CampaignFolder]:
    """Return a function that builds a campaign of a task type, once, whose annotators often differ."""

    @cache
    def build(task_type: str) -> CampaignFolder:
        plan = {"answers_per_item": 4, "attention": {"rate": 0.2, "exclude": False, "judge_after": 999}}
        profiles, rows = [crowds.Profile(accuracy=0.6)] * 4, made.rows(4, 2, 3)
        return crowds.done(tmp_path_factory.mktemp("mixed"), profiles, rows, task_type=task_type, **plan)

    return build
