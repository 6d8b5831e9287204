"""Agreement, annotator statistics, automation bias and exclusion by rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run

from summeter.annotate.analysis.adjudicate import Decision, adjudicate
from summeter.annotate.analysis.aggregate import dataset_of
from summeter.annotate.analysis.automation_bias import automation_bias, cases, endorsement_rate
from summeter.annotate.analysis.exclusion import exclude, proposals, reinstate_rule
from summeter.annotate.analysis.quality import Quality, agreement, annotator_statistics, crowd_of, in_words, quality
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold
from summeter.meta import agree
from summeter.meta._agree import leave_one_out
from summeter.records import Judgment, Target, UsageError
from summeter.scoring.table import JudgmentTable


def test_agreement_equals_meta_agree_by_domain_and_length(tmp_path: Path) -> None:
    rows = made.rows(6, 2, 3)
    for row in rows:
        number = int(row["doc_id"][3:])
        row |= {"domain": "news" if number < 3 else "chat", "document": row["document"] + " It ended." * number}
    folder = crowds.done(tmp_path, [crowds.Profile(accuracy=0.8)] * 3, rows, attention={"rate": 0})
    with CampaignService(folder, readonly=True) as service:
        found = agreement(service, 50)
        plain = agree(dataset_of(service), resamples=50)
    alphas = found.where(statistic="alpha_nominal", domain=None)
    whole = next(row for row in alphas if "group" not in row.details)
    same = plain.one(statistic="alpha_nominal")
    assert (whole.value, whole.low, whole.high, whole.n) == (same.value, same.low, same.high, same.n)
    assert whole.low is not None
    assert {row.domain for row in found} == {None, "news", "chat"}
    assert {row.details.get("group") for row in found} == {None, "short", "medium", "long"}
    assert {row.details["kind"] for row in found} == {"fact_verification"}
    assert sum(row.statistic == "alpha_nominal" for row in found) == 1 + 2 + 3


def test_annotator_agreement_equals_meta_agree() -> None:
    # Of three others a majority says what a pair is, 0, 1/2 or 1; the mean of 1, 1 and 0 would agree with nobody.
    verdicts = [(1, 1, 1, 0), (0, 0, 0, 0), (1, 0.5, 0.5, 0.5), (0, 1, 1, 1), (0.5, 0.5, 0.5, 1), (1, 1, 0, 0)]
    votes = [
        Judgment(
            target=Target(document_id=f"d{i}", system="A", rival="B", unit="pair"), aspect="overall", judge=who,
            signature="human.pairs|v:1", value=float(vote),
        )
        for i, cast in enumerate(verdicts) for who, vote in zip("wxyz", cast, strict=True)
    ]  # fmt: skip
    found = {rater.judge: got for rater, got in leave_one_out(crowd_of(JudgmentTable.of(votes)), "alpha_nominal")}
    same = agree(votes, coefficients=["alpha_nominal"], each=True, resamples=0).where(study="annotator")
    assert {who: (each.value, each.n) for who, each in found.items()} == {
        str(row.judge): (pytest.approx(row.value), row.n) for row in same
    }
    # x, 1 0 1/2 1 1/2 1, beside 1 0 1/2 1 1/2 0: observed 2/12, expected 1 - (5 * 4 + 3 * 2 + 4 * 3) / (12 * 11).
    assert found["x"].value == pytest.approx(1 - (2 / 12) / (94 / 132))


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_status_and_page_show_the_same_agreement(task_type: str, mixed: Callable[[str], CampaignFolder]) -> None:
    """Brief quality equals `meta agree`."""
    with CampaignService(mixed(task_type), readonly=True) as service:
        short, full = quality(service, 50, brief=True), quality(service, 50)
        data = dataset_of(service)
        first = service.task_type.coefficients[0]
        if task_type != "pairwise":
            study = agree(data, coefficients=[first], each=True, resamples=0)
            theirs = {(row.judge, row.aspect): row.value for row in study.where(study="annotator")}
            for annotator in short.annotators:
                for aspect, value in annotator["by_aspect"].items():
                    # All annotators are computed at once, so that the last digits are rounded in another order.
                    assert value in (None, pytest.approx(theirs[annotator["annotator"], aspect], abs=1e-12))
    assert [row.model_dump() for row in short.headline()] == [row.model_dump() for row in full.headline()]
    assert short.annotators == full.annotators


def test_quality_of_a_campaign_without_answers(tmp_path: Path) -> None:
    folder = made.make(tmp_path)
    with CampaignService(folder) as service:
        found = quality(service)
    assert (found.headline(), found.annotators, found.assistance) == ([], [], ())
    assert found.notes == ("no agreement yet: there are no answers yet",)


def helped(tmp_path: Path) -> CampaignFolder:
    """Build a campaign whose machine accepts every sentence, also that of the first check."""
    return crowds.assisted(tmp_path, made.rows(4, 1, 2))


def test_endorsement_by_hand(tmp_path: Path) -> None:
    with CampaignService(helped(tmp_path)) as service:
        one, two, three = (task.key for task in service.tasks.work[:3])
        check = service.tasks.checks[0].key
        # One: two of three say no, so the machine is wrong for all but... each is judged by the *others*.
        #   anna (yes): others no, no -> wrong, she follows. ben (no): others yes, no -> even, no case. un1 the same.
        crowds.say(service, one, {"anna": crowds.YES, "ben": crowds.NO, "un1": crowds.NO})
        # Two: all say yes: the machine is right. Three: all say no: three cases, nobody follows.
        crowds.say(service, two, {"anna": crowds.YES, "ben": crowds.YES, "un1": crowds.YES})
        crowds.say(service, three, {"anna": crowds.NO, "ben": crowds.NO, "un1": crowds.NO})
        # The check is never supported: anna follows the machine, un1 does not.
        crowds.say(service, check, {"anna": crowds.YES, "un1": crowds.NO})
        found = cases(service)
        own = {who: endorsement_rate(case for case in found if case.annotator == who) for who in ("anna", "ben", "un1")}
        assert own == {"anna": (2 / 3, 3), "ben": (0.0, 1), "un1": (0.0, 2)}
        rows = {(row.statistic, row.details["tasks"], row.details.get("arm")): row for row in automation_bias(found)}
        assert rows["endorsement", "all", "assisted"].value == pytest.approx(2 / 4)
        assert rows["endorsement", "checks", "assisted"].value == 1.0
        assert rows["pull", "all", None].value == pytest.approx(2 / 4 - 0)
        assert rows["pull", "all", None].n == 6
        standing = {one["annotator"]: one for one in annotator_statistics(service)}
        assert (standing["anna"]["endorsement"], standing["anna"]["endorsement_n"]) == (pytest.approx(2 / 3), 3)


def test_excluded_annotators_do_not_count_for_automation_bias(tmp_path: Path) -> None:
    with CampaignService(helped(tmp_path)) as service:
        work, check = service.tasks.work[0].key, service.tasks.checks[0].key
        for task in (work, check):
            crowds.say(service, task, {"anna": crowds.YES, "ben": crowds.NO, "cleo": crowds.NO})
        assert endorsement(quality(service)) == {"checks": (1 / 3, 3), "work": (1.0, 1), "all": (1 / 2, 4)}
        service.exclude("anna", "asked to", by="lead")
        figures = quality(service)
        assert endorsement(figures) == {"checks": (0.0, 2), "work": (0.0, 2), "all": (0.0, 4)}
        standing = {one["annotator"]: one for one in figures.annotators}
        assert (standing["anna"]["endorsement"], standing["anna"]["endorsement_n"]) == (1.0, 1)  # her own row keeps it


def endorsement(figures: Quality) -> dict[str, tuple[float | None, int]]:
    rows = [row for row in figures.assistance if row.statistic == "endorsement"]
    return {row.details["tasks"]: (row.value, row.n) for row in rows}


def test_adjudication_decides_whether_the_machine_is_wrong(tmp_path: Path) -> None:
    with CampaignService(helped(tmp_path)) as service:
        key = service.tasks.work[0].key
        crowds.say(service, key, {"anna": crowds.YES, "ben": crowds.YES})
        assert cases(service) == []
        adjudicate(service, [Decision(key, TaskAnswer(**crowds.NO), "lead")])
        assert [one.same for one in cases(service)] == [True, True]


def test_trusting_annotators_endorse_wrong_verdicts(tmp_path: Path) -> None:
    folder = helped(tmp_path)
    with CampaignService(folder) as service:
        profiles = [crowds.Profile(accuracy=1, trust=1.0), *[crowds.Profile(accuracy=1)] * 3]
        simulate(service, crowd(folder, profiles, Gold()))
        found = {one["annotator"]: one for one in annotator_statistics(service)}
    assert found["anna"]["endorsement"] == 1.0
    assert {found[one]["endorsement"] for one in ("ben", "cleo", "dora")} <= {0.0, None}


def test_rules_exclude_and_can_be_reverted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profiles = [crowds.GOOD, crowds.GOOD, crowds.GOOD, crowds.LAZY]
    folder = crowds.done(tmp_path, profiles, attention={"rate": 0.2, "exclude": False, "judge_after": 999})
    with CampaignService(folder) as service:
        before = {key: set(slots.counted) for key, slots in service.state.items.items()}
        found = proposals(annotator_statistics(service), checks_below=0.7, min_checks=2)
        assert [(one.annotator, one.rule) for one in found] == [("p3", "checks")]
        assert "passed 0 of" in found[0].reason
        assert [one.annotator for one in proposals(annotator_statistics(service), seconds_below=8, min_answers=5)] == [
            "p3"
        ]
        with pytest.raises(UsageError, match="no rule is set"):
            proposals(annotator_statistics(service))
        (event,) = exclude(service, found, by="lead")
        assert (event.kind, event.data["rule"], event.data["by"]) == ("excluded", "checks", "lead")
        assert not any("p3" in slots.counted for slots in service.state.items.values())
        assert proposals(annotator_statistics(service), checks_below=0.7, min_checks=2) == []
        with pytest.raises(UsageError, match="rules of current exclusions: checks"):
            reinstate_rule(service, "seconds", "a mistake", by="lead")
        reinstate_rule(service, "checks", "a mistake", by="lead")
        assert {key: set(slots.counted) for key, slots in service.state.items.items()} == before
    assert run("exclude", folder.folder, "--checks-below", 0.7, "--min-checks", 2, "--dry-run") == 0
    assert "1 would be excluded" in capsys.readouterr().out
    assert run("exclude", folder.folder, "--checks-below", 0.7, "--min-checks", 2) == 0
    assert run("reinstate", folder.folder, "p3") == 2
    assert run("reinstate", folder.folder, "--rule", "checks", "--reason", "we talked") == 0
    assert run("exclude", folder.folder, "p0") == 2
    assert run("exclude", folder.folder, "eve", "--reason", "no") == 2
    assert "there is no annotator 'eve'" in capsys.readouterr().err
    assert run("exclude", folder.folder, "p0", "--reason", "asked to") == 0
    capsys.readouterr()
    assert run("status", folder.folder, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["annotator"] for one in said["rows"] if one["excluded"]] == ["p0"]
    assert {"check_rate", "agreement", "pace", "endorsement"} <= set(said["rows"][0])
    assert said["agreement"]


@pytest.fixture(scope="module")
def campus_and_crowd(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Quality, Quality]:
    found = []
    for name in ("dialsummeval", "dialsummeval_amt"):
        folder = crowds.rated(tmp_path_factory.mktemp(name), shared / "data" / f"{name}.jsonl.gz")
        with CampaignService(folder, readonly=True) as service:
            found.append(quality(service, 50))
    return found[0], found[1]


@pytest.mark.shared
def test_dialsummeval_ratings_as_campaign_answers(shared: Path, campus_and_crowd: tuple[Quality, Quality]) -> None:
    entries = json.loads((shared / "data" / "expected.json").read_text(encoding="utf-8"))["entries"]
    want = {(one["dataset"], one["statistic"]): one["recomputed"] for one in entries}
    campus, crowd = campus_and_crowd
    for aspect in ("coherence", "consistency", "fluency", "relevance"):
        for level in ("nominal", "ordinal", "interval"):
            row = next(one for one in campus.agreement if one.aspect == aspect and one.statistic == f"alpha_{level}")
            assert round(row.value or 0, 4) == want[
                "dialsummeval", f"Krippendorff alpha {aspect} {level}, 3 campus annotators"
            ]  # fmt: skip
        row = next(one for one in crowd.headline() if one.aspect == aspect)
        name = f"Krippendorff alpha {aspect} interval, 283 AMT workers"
        assert (round(row.value or 0, 4), row.details["raters"]) == (want["dialsummeval_amt", name], 283)


@pytest.mark.shared
def test_the_quality_page_shows_low_agreement(campus_and_crowd: tuple[Quality, Quality]) -> None:
    campus, crowd = campus_and_crowd
    assert {in_words(row) for row in campus.headline()} == {"above chance, but below the customary limit of 0.667"}
    assert {in_words(row) for row in crowd.headline()} <= {"below chance", "cannot be told from chance"}
    assert min(one["agreement"] or 0 for one in campus.annotators) > 0.3
    known = [one["agreement"] for one in crowd.annotators if one["agreement"] is not None]
    assert sum(one <= 0.2 for one in known) / len(known) > 0.95
