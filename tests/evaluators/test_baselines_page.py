"""The page of the baselines: its commands name what there is, and its table what is in the catalog."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from summeter.engine.roles import check_roles, parts_of
from summeter.evaluators.catalog import CATALOG, build, find
from summeter.models.local.names import is_local, parse
from summeter.models.resolve import resolve

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text("utf-8")
COMMANDS = [
    line.removeprefix("$ ") for line in PAGE.replace("\\\n", " ").splitlines() if "summeter score" in line
]  # fmt: skip
TABLE = PAGE.partition("## What each takes")[2].partition("##")[0].splitlines()
NAMED = re.findall(r"`([\w.]+)`", " ".join(line.split("|")[1] for line in TABLE if line.startswith("| `")))


def values(command: str, option: str) -> list[str]:
    words = shlex.split(command)
    return [value for word, value in pairwise(words) if word == option]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_binds_every_network_that_its_evaluators_ask(command: str) -> None:
    evaluators = [build(text) for text in values(command, "-e")]
    models = dict(value.split("=", 1) for value in values(command, "-m"))
    assert evaluators
    check_roles(evaluators, models)
    assert {role for part in parts_of(evaluators) for role in part.required_roles} == set(models)
    local = {name for part in parts_of(evaluators) for name, role in part.roles.items() if role.kind != "llm"}
    for role, model in models.items():
        assert is_local(model) == (role in local)
        if role in local:
            parse(model)
        else:
            resolve(model, environ={})


def test_every_baseline_has_a_row_and_a_command() -> None:
    assert len(NAMED) == len(set(NAMED)) >= 12
    assert set(NAMED) <= set(CATALOG)
    # Judges whose weights summeter names are baselines.
    with_weights = {name for name in CATALOG if any(role.checkpoints for role in find(name).roles.values())}
    assert with_weights <= set(NAMED)
    asked = {build(text).name for command in COMMANDS for text in values(command, "-e")}
    assert asked | {"lite3pyramid", "menli.combined"} >= set(NAMED)


def test_what_is_not_for_commercial_use_is_said() -> None:
    for name in NAMED:
        for checkpoint in (one for role in find(name).roles.values() for one in role.checkpoints):
            row = next(line for line in TABLE if f"`{name}`" in line)
            assert checkpoint.commercial or f"{checkpoint.licence}, non-commercial" in row
