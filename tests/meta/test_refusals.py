"""Inputs and keywords that studies refuse, by the error and the field or value that its message names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from meta.makers import people, ratings, voted
from report import fake_runs as fake

from summeter.meta import (
    advise,
    agree,
    agreement_with_people,
    bridge,
    card,
    compare,
    compare_runs,
    jury,
    plan_calibration,
    plan_comparison,
    recheck,
    sources,
    trust,
)
from summeter.records import InputError, UsageError
from summeter.runs.run import RunFolder

SCORES = ratings({f"d{at}": {"A": 1.0 + at % 3, "B": 2.0} for at in range(8)})
ONE_SYSTEM = ratings({f"d{at}": {"A": float(at)} for at in range(3)})
GRADES = ratings({f"d{at}": {"A": at % 2 / 2 + 0.2} for at in range(8)}, judge="unsure")
GOLD = people({(f"d{at}", system): {"ann": at % 2 + 1.0} for at in range(8) for system in "AB"})
LABELS = people({(f"d{at}", "A"): {"ann": float(at % 2)} for at in range(8)})
VOTES = [{"item": at, "judge": at % 2, "human_1": at % 2, "human_2": 1} for at in range(40)]


RUN = object()
"""Stands for a small run."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return fake.make(tmp_path_factory.mktemp("refusals") / "run")


@pytest.mark.parametrize(
    ("study", "keywords", "named"),
    [
        (compare, {"runs": ONE_SYSTEM}, "2 systems"),
        (compare, {"runs": SCORES, "aspect": "style"}, "style"),
        (compare, {"runs": SCORES, "aspect": ["coherence", "style"]}, "style"),
        (compare, {"runs": SCORES, "judge": "k"}, "judge .k."),
        (compare, {"runs": SCORES, "alpha": 0}, "alpha"),
        (compare, {"runs": SCORES, "level": "system"}, "level=.*of=systems"),
        (compare, {"runs": SCORES, "merge": "mean"}, "merge=.*of=systems"),
        (compare, {"runs": None, "gold": GOLD, "aspect": "style"}, "style.*coherence"),
        (compare, {"runs": SCORES, "gold": voted({("d0", "A"): [{"ann": 1}]})}, "aspects of the judges"),
        (compare, {"runs": None}, "runs=.*gold=DATA"),
        (agree, {"gold": GOLD, "judges": SCORES, "judge": "k"}, "judge 'k'"),
        (jury, {"run": GRADES, "gold": LABELS}, "unsure.*judge_at_least"),
        (jury, {"run": SCORES, "gold": GOLD, "judges": "jj"}, "'jj'"),
        (recheck, {"run": SCORES, "gold": GOLD}, "gold_at_least"),
        (agreement_with_people, {"run": SCORES}, "gold"),
        (agreement_with_people, {"run": SCORES, "gold": GOLD, "judge": "k"}, "judge 'k'"),
        (bridge, {"old": SCORES, "new": SCORES, "judges": "a,b"}, "'a'.*choose from: j"),
        (bridge, {"old": SCORES, "new": SCORES, "judges": "j,b"}, "'b'.*choose from: j"),
        (bridge, {"old": SCORES, "new": SCORES, "aspect": "nope"}, "'nope'.*choose from: coherence"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "Z")}, "'Z'.*A, B"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "A")}, "A twice"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "B"), "aspect": "wit"}, "'wit'.*coherence"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "B"), "labels": 500}, "8 items"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "B"), "labels": 1}, "labels.*2"),
        (plan_comparison, {"runs": SCORES, "systems": ("A", "B"), "expect": 2}, "expect"),
        (plan_comparison, {"runs": SCORES[:6], "systems": ("A", "B")}, "at least 4"),
        (plan_calibration, {"runs": SCORES, "judge": "two"}, "'two'.*: j"),
        (card, {}, "give a run"),
        (trust, {"votes": VOTES, "scale": "one to five"}, "scale"),
        (trust, {"votes": VOTES, "judge": "judgee"}, "judge: .*did you mean judge"),
        (trust, {"votes": VOTES, "expert": "nobody"}, "expert: .*human_1"),
        (trust, {"votes": VOTES, "gold": GOLD}, "gold"),
        (trust, {"votes": [{"id": 1, "a": 1, "b": 2}]}, "judge"),
        (card, {"run": RUN, "judge": "nobody"}, "judge .nobody."),
        (card, {"run": RUN, "aspect": ("faithfulness", "style")}, "'style'.*abstractive"),
        (card, {"run": RUN, "by": ("x",)}, "column 'x'"),
        (card, {"run": RUN, "redacted": "z"}, "column 'z'"),
        (advise, {"runs": RUN, "merge": "each"}, "merge"),
        (sources, {"run": RUN}, "by_source"),
        (trust, {"votes": RUN, "item": "id"}, "item"),
        (compare_runs, {"a": RUN, "b": RUN, "aspect": "fluency"}, "fluency"),
        (compare_runs, {"a": RUN, "b": RUN, "pair_systems": {"older": "aster"}}, "pair_systems: .*'older'"),
        (compare_runs, {"a": RUN, "b": RUN, "pair_systems": {"aster": "newer"}}, "pair_systems: .*'newer'"),
        (compare_runs, {"a": RUN, "b": RUN, "pair_systems": {"aster": "cedar", "cedar": "cedar"}}, "pair_systems"),
    ],
)
def test_unusable_inputs_and_keywords(
    run: RunFolder, study: Callable[..., object], keywords: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        study(**{name: run if value is RUN else value for name, value in keywords.items()})


@pytest.mark.parametrize(
    ("rows", "keywords", "place"),
    [
        ([*VOTES[:9], {**VOTES[9], "human_2": "maybe"}, *VOTES[10:]], {}, "rows:10: human_2: "),
        ([*VOTES[:3], VOTES[2]], {}, "rows:4: judge: "),
        (VOTES, {"scale": "1..5"}, "rows:1: judge: "),
        (
            [{"rater": None, "score": 1, "item": 1, "judge": 1}, *VOTES],
            {"rater": "rater", "value": "score"},
            "rows:1: ",
        ),
    ],
)
def test_faulty_votes_are_named_by_line_and_column(
    rows: list[dict[str, Any]], keywords: dict[str, Any], place: str
) -> None:
    with pytest.raises(InputError, match=f"^{place}"):
        trust(rows, **keywords)


def test_runs_of_different_texts(tmp_path: Path, run: RunFolder) -> None:
    rows = [{**row, "summary": "A dog ran.", "human": {}} for row in fake.ROWS]
    with pytest.raises(UsageError, match="different texts"):
        bridge(run, fake.make(tmp_path / "other", rows))
