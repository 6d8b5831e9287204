"""Comparison of arms with simulated annotators of known trust in the machine."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate import crowds

from summeter.annotate.analysis.arms import arm_names, arms, table
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.cli.main import main
from summeter.meta.results import Study
from summeter.records import Judgment, UsageError

SHOWN = ("nothing", "verdict", "verdict_and_reason")
DATA = made.rows(8, 2, 3)
FIELDS: dict[str, Any] = {
    "platform": {"name": "local", "accounts": ["anna", "ben", "cleo"]},
    "attention": {"rate": 0.2, "pass_share": 0.0, "form": "unisumeval"},
}


def folder(place: Path, show: str, **plan: Any) -> CampaignFolder:
    """Build an arm whose machine flags one sentence in three."""
    return crowds.assisted(place, DATA, lambda at: int(at % 3 != 0), show=show, **{**FIELDS, **plan})


def study(tmp_path: Path, profile: Profile, shown: tuple[str, ...] = SHOWN) -> Study:
    """Run arms with three annotators each, for whom every sentence is supported."""
    with ExitStack() as stack:
        services = [stack.enter_context(CampaignService(folder(tmp_path / show, show))) for show in shown]
        for service in services:
            about = {"aspect": "faithfulness", "judge": "people", "signature": "g|v:1", "label": 1}
            truth = Gold([Judgment(target=task.target("sentence"), **about) for task in service.tasks.work], seed=3)
            simulate(service, crowd(service.folder, [profile] * 3, truth, seed=5), seed=5)
        return arms(arm_names(services), resamples=200)


def value(result: Study, statistic: str, arm: str) -> float:
    (row,) = [row for row in result if row.statistic == statistic and row.details["arm"] == arm]
    assert row.value is not None
    return row.value


def test_trusting_annotators_override_fewer_verdicts(tmp_path: Path) -> None:
    result = study(tmp_path, Profile(accuracy=1.0, trust=0.5, trust_reasons=1.0))
    assert value(result, "overturned_errors", "nothing") == 1.0, (
        "all flags are wrong by the truth, and nobody sees them"
    )
    assert 0.2 < value(result, "overturned_errors", "verdict") < 0.8
    assert value(result, "overturned_errors", "verdict_and_reason") == 0.0
    assert {value(result, "overturned_passes", arm) for arm in SHOWN} == {0.0}
    gap = value(result, "overturned_errors_difference", "verdict_and_reason")
    assert gap == -1.0
    assert value(result, "checks_passed", "nothing") == 1.0
    assert value(result, "checks_passed", "verdict_and_reason") == 0.5, (
        "a planted verdict is wrong in half of the checks"
    )


def test_annotators_without_trust_are_equal_in_all_arms(tmp_path: Path) -> None:
    result = study(tmp_path, Profile(accuracy=1.0))
    for statistic in ("overturned_errors_difference", "overturned_passes_difference", "checks_passed_difference"):
        assert [row.value for row in result if row.statistic == statistic] == [0.0, 0.0]
    counts = {(row.statistic, row.details["arm"]): row.n for row in result if row.statistic.startswith("overturned")}
    tasks = 8 * 2 * 3
    assert counts["overturned_errors", "nothing"] == tasks // 3
    assert counts["overturned_passes", "nothing"] == tasks - tasks // 3
    assert "nothing" in table(result).text()


def test_agreement_grows_if_all_follow_the_machine(tmp_path: Path) -> None:
    result = study(tmp_path, Profile(accuracy=0.7, trust=0.9))
    agreement = {row.details["arm"]: row.value for row in result if row.statistic == "alpha_nominal"}
    assert (agreement["nothing"] or 0) < 0.4 < (agreement["verdict"] or 0)


def run(*words: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(["annotate", "assistance", *words, "--resamples", "50"])
    return ended.value.code


def test_the_command_prints_one_column_per_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for show in SHOWN[:2]:
        with CampaignService(folder(tmp_path / show, show)) as service:
            simulate(service, crowd(service.folder, [Profile()] * 3, Gold(seed=1)))
    folders = [str(tmp_path / show / "campaign") for show in SHOWN[:2]]
    assert run(*folders) == 0
    assert "overturned errors" in capsys.readouterr().out
    assert run(*folders, "--json") == 0
    rows_ = json.loads(capsys.readouterr().out)["rows"]
    assert {row["details"]["arm"] for row in rows_} == set(SHOWN[:2])


def test_incomparable_arms_are_refused(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a", "verdict"), folder(tmp_path / "b", "nothing", select={"limit": 2})
    bare = made.make(tmp_path / "c", DATA)
    with CampaignService(one) as first, CampaignService(other) as second, CampaignService(bare) as third:
        with pytest.raises(UsageError, match="two campaigns or more"):
            arms(arm_names([first]))
        with pytest.raises(UsageError, match="have different tasks"):
            arms(arm_names([first, second]))
        with pytest.raises(UsageError, match="has no machine verdicts"):
            arm_names([first, third])
        with pytest.raises(UsageError, match="given twice"):
            arm_names([first, first])


def test_missing_or_ambiguous_sources_of_verdicts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no judgment set 'machin'"):
        made.make(tmp_path / "a", DATA, assistance={"machine": {"set": "machin"}})
