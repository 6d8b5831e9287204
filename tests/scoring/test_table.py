"""The table of judgments: records and JSON lines give the same columns."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.records import InputError, Judgment, Span, Target
from summeter.scoring import JudgmentTable
from summeter.scoring.table import Categorical, Groups, row_keys


@pytest.fixture(autouse=True, params=[0, 2**26], ids=["duckdb", "records"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with both readers: DuckDB (for large files) and records (for small ones)."""
    monkeypatch.setattr("summeter.scoring.table._AS_RECORDS", request.param)


def judgment(index: int | None = None, unit: str = "sentence", **fields: Any) -> Judgment:
    about = {"document_id": "d1", "system": "A", "unit": unit, "index": index, **fields.pop("target", {})}
    target = Target(**about)
    defaults = {"aspect": "faithfulness", "judge": "j", "signature": "j|v:1", **fields}
    return Judgment(target=target, **defaults)


MIXED = [
    judgment(0, value=0.25, label=1, reason="the passage says so", evidence=(Span(of="summary", start=0, end=3),)),
    judgment(1, label="EntE", error_type='a "quoted" type'),
    judgment(2, label="1"),
    judgment(3, status="unparsed", reason="no JSON: prose", calls=("k1", "k2")),
    judgment(None, "summary", status="skipped", reason="empty", target={"document_id": "d\u00e9 2", "system": "[B]*"}),
    judgment(0, "key_fact", value=1.0, target={"list_id": "abc"}, model="m", truncated_tokens=12),
    judgment(None, "pair", value=0.5, target={"rival": "C"}, aspect="coherence"),
    judgment(0, "claim", value=1e-9, confidence=0.5),
]


def write(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


def columns(table: JudgmentTable) -> dict[str, list[Any]]:
    found = {}
    for name, column in vars(table).items():
        rows = column.labels() if isinstance(column, Categorical) else column
        found[name] = [None if row != row else row for row in rows.tolist()]  # noqa: PLR0124 - NaN
    return found


def disordered(one: Judgment, rng: random.Random) -> str:
    """Return the line of a judgment with shuffled keys and unknown keys."""
    row = json.loads(one.line)
    target = [*row.pop("target").items(), ("colour", None)]
    rng.shuffle(target)
    rest = [*row.items(), ("target", dict(target)), ("votes", [1, {"by": "x"}]), ("error_kind", "none")]
    rng.shuffle(rest)
    return json.dumps(dict(rest), ensure_ascii=bool(rng.getrandbits(1)))


def test_lines_and_records_give_equal_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "judge[x]*.jsonl", [one.line for one in MIXED])
    assert columns(JudgmentTable.read(file)) == columns(JudgmentTable.of(MIXED))


@pytest.mark.parametrize("seed", range(3))
def test_neither_the_order_nor_the_number_of_keys_matters(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    file = write(tmp_path / "judge.jsonl", [disordered(one, rng) for one in MIXED])
    assert columns(JudgmentTable.read(file)) == columns(JudgmentTable.of(MIXED))


def test_hostile_names_are_unchanged(tmp_path: Path) -> None:
    names = ('d "system": x', 'A\\"unit":', "d\u2028\x00é", "'); DROP TABLE judgments; --", "null", "", "nan", "[0]")
    odd = [
        judgment(0, value=0.5, target={"document_id": name, "system": names[at - 1]}, aspect=names[at - 2] or "a")
        for at, name in enumerate(names)
    ]
    file = write(tmp_path / "judge.jsonl", [one.line for one in odd])
    assert columns(JudgmentTable.read(file)) == columns(JudgmentTable.of(odd))


def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    long = [judgment(0, value=1.0, reason="x" * 3_000_000), judgment(1, value=0.5)]
    table = JudgmentTable.read(write(tmp_path / "judge.jsonl", [one.line for one in long]))
    assert table.value.tolist() == [1.0, 0.5]


@given(st.lists(st.tuples(*[st.integers(0, 10**6)] * 5), min_size=1, max_size=30))
def test_row_keys_are_equal_exactly_where_rows_are(rows: list[tuple[int, ...]]) -> None:
    # Five columns of a million values overflow 63 bits unless the keys are renumbered.
    key = row_keys(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))
    assert len(set(key.tolist())) == len(set(rows))


def test_defaults_of_missing_keys(tmp_path: Path) -> None:
    short = {"target": {"document_id": "d1", "system": "A"}, "aspect": "a", "judge": "j", "signature": "s", "value": 2}
    table = JudgmentTable.read(write(tmp_path / "judge.jsonl", [json.dumps(short)]))
    assert (table.unit.names, table.status.names, table.value.tolist()) == (("summary",), ("ok",), [2.0])


def test_the_last_judgment_counts_in_the_order_of_the_first(tmp_path: Path) -> None:
    twice = [judgment(0, value=0.0), judgment(1, value=1.0), judgment(0, value=0.5)]
    for table in (
        JudgmentTable.of(twice),
        JudgmentTable.read(write(tmp_path / "judge.jsonl", [one.line for one in twice])),
        JudgmentTable.join([JudgmentTable.of(twice[:2]), JudgmentTable.of(twice[2:])]),
    ):
        assert (table.index.tolist(), table.value.tolist()) == ([0, 1], [0.5, 1.0])


def test_an_incomplete_last_line_is_ignored(tmp_path: Path) -> None:
    file = write(tmp_path / "judge.jsonl", [one.line for one in MIXED])
    file.write_text(file.read_text()[:-30])
    assert columns(JudgmentTable.read(file)) == columns(JudgmentTable.of(MIXED[:-1]))


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{nonsense}", None),
        ("[1]", None),
        ('{"a": 1}', "target"),
        (MIXED[0].line.replace('"value":0.25', '"value":"high"'), "value"),
        (MIXED[0].line.replace('"unit":"sentence"', '"unit":"word"'), "target.unit"),
        *((re.sub('"label":[^,]*', f'"label":{label}', MIXED[0].line), "label") for label in ("7", "-1")),
        (MIXED[3].line.replace('"reason":"no JSON: prose"', '"reason":null'), None),
        (MIXED[3].line.replace('"value":null', '"value":1.0'), None),
    ],
)
def test_a_damaged_line_is_reported(tmp_path: Path, line: str, field: str | None) -> None:
    file = write(tmp_path / "judge.jsonl", [MIXED[0].line, line, MIXED[1].line])
    with pytest.raises(InputError) as raised:
        JudgmentTable.read(file)
    (fault,) = raised.value.faults
    assert (fault.file, fault.line, fault.field) == (str(file), 2, field)


def test_rows_are_chosen_by_name_and_grouped_in_order() -> None:
    table = JudgmentTable.of(MIXED)
    assert len(table.where(unit=("sentence", "claim"), status="ok")) == 4
    assert table.where(system="nobody").questions() == {}
    groups = Groups.by(Categorical.of(["b", "a", "b"]), np.array([0, 0, 1]))
    assert (groups.first.tolist(), groups.of.tolist()) == ([0, 1, 2], [0, 1, 2])
    assert [rows.tolist() for rows in Groups.by(Categorical.of(["b", "a", "b"])).rows()] == [[0, 2], [1]]
