"""The released ChatGPT replies of Shen et al. (2023), read by both parsers, and the paper's figures from the run.

shen2023.outputs has 9,900 RTS and MCQ replies (300 ids occur twice; the last counts), shen2023.h2h 2,400 head-to-head
replies (three pairs, both orders), and shen2023.expected.json the printed cells, recomputed.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from summeter.data.dataset import Dataset, load
from summeter.engine.outputs import Imported, import_outputs
from summeter.engine.runs import Run
from summeter.evaluators.rating import legacy
from summeter.evaluators.rating.h2h import HeadToHead
from summeter.evaluators.rating.mcq import MultipleChoice
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.records import Judgment, ReplyError
from summeter.scoring import pair_scores, preferences, summary_scores
from summeter.stats import order_effect

pytestmark = pytest.mark.shared

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
STATISTICS: dict[str, Callable[[Any, Any], Any]] = {
    "spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau,
}  # fmt: skip
Key = tuple[str, str, str, str]  # judge, aspect, document, system


def _lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class World(NamedTuple):
    """The data, the annotators' sums of three ratings, and the printed cells."""

    data: Dataset
    human: dict[tuple[str, str, str], int]
    cells: dict[tuple[str, str, str], dict[str, Any]]

    def cell(self, table: str, row: str, col: str) -> float:
        return float(self.cells[table, row, col]["recomputed"])


@pytest.fixture(scope="module")
def world(shared: Path) -> World:
    rows = _lines(shared / "data" / "shen2023.jsonl.gz")
    human = {
        (aspect, row["doc_id"], row["system"]): sum(row["human"]["ratings"][aspect].values())
        for row in rows
        for aspect in DIMENSIONS
    }
    cells = json.loads((shared / "data" / "shen2023.expected.json").read_text("utf-8"))["cells"]
    bare = [{key: row[key] for key in ("doc_id", "system", "document", "summary")} for row in rows]
    return World(load(bare), human, {(one["table"], one["row"], one["col"]): one for one in cells})


class Done(NamedTuple):
    """The imported rows and the scores of the run."""

    results: tuple[Imported, ...]
    scores: dict[Key, float]
    judgments: list[Judgment]


def _import(world: World, raw: Path, out: Path) -> Done:
    results = import_outputs(world.data, raw, out, "legacy").imported
    run = Run(out)
    judgments = run.judgments()
    scores = {
        (one.judge, one.aspect, one.doc_id, one.system): one.value
        for one in summary_scores(judgments, run.reduce)
        if one.value is not None
    }
    return Done(results, scores, judgments)


@pytest.fixture(scope="module")
def rated(world: World, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    return _import(world, shared / "data" / "shen2023.outputs.jsonl.gz", tmp_path_factory.mktemp("rated") / "run")


@pytest.fixture(scope="module")
def compared(world: World, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    return _import(world, shared / "data" / "shen2023.h2h.jsonl.gz", tmp_path_factory.mktemp("compared") / "run")


def _last(shared: Path, evaluator: str) -> list[str]:
    rows = _lines(shared / "data" / "shen2023.outputs.jsonl.gz")
    found: dict[tuple[str, str, str], tuple[int, str]] = {}
    for row in rows:
        key = (row["aspect"], row["doc_id"], row["system"])
        if row["evaluator"] == evaluator and row["attempt"] >= found.get(key, (0, ""))[0]:
            found[key] = (row["attempt"], row["output"])
    return [output for _, output in found.values()]


def test_the_released_rules_hit_as_often_as_in_the_release(shared: Path) -> None:
    ruled = [legacy.rts(output) for output in _last(shared, "rts")]
    assert Counter(one.rule for one in ruled) == {1: 1829, 3: 2791, 4: 172, 6: 8}
    assert sum(one.score != int(one.score) for one in ruled) == 162


def test_every_released_choice_is_one_letter_to_both_parsers(shared: Path) -> None:
    strict = MultipleChoice()
    outputs = _last(shared, "mcq")
    assert len(outputs) == 4800
    assert all(strict.strict(output).value == legacy.mcq(output) for output in outputs)


def test_strict_reading_differs_only_where_the_last_rule_misreads(shared: Path) -> None:
    strict = ReasonThenScore()
    unread, misread = [], []
    for output in _last(shared, "rts"):
        ruled = legacy.rts(output)
        try:
            score = strict.strict(output).value
        except ReplyError as error:
            unread.append((output, str(error)))
            continue
        if score != ruled.score:
            misread.append((ruled, score))
    # Two end in "(1)", which is not a score; six in "3 out of 5" or "(1/5)", which rule 6 reads as 5.
    assert len(unread) == 2
    assert all(output.endswith("(1).") and "contains no score" in why for output, why in unread)
    assert len(misread) == 6
    assert all(ruled == legacy.Ruled(5.0, 6) and score < 5 for ruled, score in misread)


def test_all_comparisons_are_read_alike_by_both_parsers(shared: Path) -> None:
    outputs = [row["output"] for row in _lines(shared / "data" / "shen2023.h2h.jsonl.gz")]
    strict = HeadToHead()
    verdicts = Counter(strict.strict(output).value for output in outputs)
    assert verdicts == Counter(legacy.h2h(output) for output in outputs) == {1.0: 1210, 0.0: 1165, 0.5: 25}


def test_the_import_keeps_the_last_of_two_and_loses_nothing(rated: Done) -> None:
    assert {one.judge: (one.rows, one.repeated, one.ok, one.failed, one.absent) for one in rated.results} == {
        "rts": (4800, 0, 4800, 0, 0),
        "mcq": (4800, 300, 4800, 0, 0),
    }
    assert len(rated.scores) == 9600


@pytest.mark.parametrize(("judge", "row"), [("rts", "ChatGPT-RTS"), ("mcq", "ChatGPT-MCQ")])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_table_4(world: World, rated: Done, judge: str, row: str, dimension: str) -> None:
    scores = rated.scores
    keys = [key for key in scores if key[:2] == (judge, dimension)]
    assert len(keys) == 1200
    machine = [scores[key] for key in keys]
    people = [world.human[key[1:]] / 3 for key in keys]
    for name, statistic in STATISTICS.items():
        found = float(statistic(machine, people)[0])
        assert found == pytest.approx(world.cell("4", row, f"{dimension}.{name}"), abs=1e-6)


@pytest.mark.parametrize(("judge", "table"), [("rts", "23"), ("mcq", "24")])
def test_tables_23_and_24_by_system(world: World, rated: Done, judge: str, table: str) -> None:
    scores = rated.scores
    checked = 0
    for (number, system, col), one in world.cells.items():
        if number != table:
            continue
        dimension, name = col.split(".")
        keys = [key for key in scores if key[:2] == (judge, dimension) and key[3] == system]
        machine = [scores[key] for key in keys]
        people = [world.human[key[1:]] / 3 for key in keys]
        assert float(STATISTICS[name](machine, people)[0]) == pytest.approx(one["recomputed"], abs=1e-6)
        checked += 1
    assert checked == 144


def test_table_25_means_of_systems(world: World, rated: Done) -> None:
    scores = rated.scores
    for judge, column in (("rts", "chat_rts"), ("mcq", "chat_mcq")):
        for dimension in DIMENSIONS:
            for system in sorted({key[3] for key in scores}):
                found = fmean(v for key, v in scores.items() if key[:2] == (judge, dimension) and key[3] == system)
                assert found == pytest.approx(world.cell("25", system, f"{dimension}.{column}"), abs=1e-6)


def test_table_22_points_of_both_orders(world: World, compared: Done) -> None:
    (imported,) = compared.results
    assert (imported.rows, imported.ok, imported.failed, imported.absent) == (2400, 2400, 0, 0)
    found = preferences(compared.judgments)
    assert len(found) == 1200  # 3 pairs x 100 documents x 4 aspects
    assert all(one.n == 2 and one.missing == 0 for one in found)
    for pair in ("M22-M23", "M8-M9", "M10-M20"):
        first, second = pair.split("-")
        for dimension in DIMENSIONS:
            rows = [one for one in found if {one.system, one.rival} == {first, second} and one.aspect == dimension]
            values = [one.value if one.system == first else 1 - (one.value or 0) for one in rows]
            assert len(values) == 100
            assert sum(value for value in values if value is not None) == world.cell("22", pair, f"{dimension}.llm")


def test_flips_are_counted_as_the_order_effect_counts_them(compared: Done) -> None:
    verdicts = {
        (one.aspect, one.target.document_id, one.target.system, one.target.rival): one.value
        for one in compared.judgments
    }
    counted = Counter(one.aspect for one in preferences(compared.judgments) if one.flipped)
    for dimension in DIMENSIONS:
        pairs = [
            (
                value,
                1 - verdicts[aspect, document, rival, system],
            )  # of the system shown first in the first order
            for (aspect, document, system, rival), value in verdicts.items()
            if aspect == dimension and system < (rival or "")
        ]
        effect = order_effect(np.array([one for one, _ in pairs]), np.array([two for _, two in pairs]))
        assert effect.n == 300
        assert effect.first_slot + effect.second_slot == counted[dimension]
        by_pair = [one for one in pair_scores(preferences(compared.judgments)) if one.aspect == dimension]
        assert [one.n for one in by_pair] == [100, 100, 100]
        assert sum(one.flip_rate or 0 for one in by_pair) == pytest.approx(counted[dimension] / 100)
