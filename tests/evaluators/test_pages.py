"""The pages of the judges document every setting and template, and their commands refer to existing files."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest
from together import together

from summeter.engine.roles import check_roles, parts_of
from summeter.evaluators.aspects import RATED, read_aspects
from summeter.evaluators.catalog import CATALOG, build, find
from summeter.models.local.names import is_local, parse
from summeter.models.resolve import resolve

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "finesure.md": (["finesure", "finesure.align"], "finesure"),
    "rating.md": (["h2h"], "rating"),
    "geval.md": (["geval", "geval_plus"], "geval"),
    "omissions.md": (["omissions", "qapyramid"], "omission"),
    "faithjudge.md": (["faithjudge"], "faithjudge"),
    "claims.md": (["factscore"], "claims"),
    "ensemble.md": (["ensemble"], None),
    "fenice.md": (["fenice", "summac"], None),
    "similarity.md": (["bertscore", "similarity"], None),
}


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_every_setting_and_template(page: str) -> None:
    text, (names, family) = text_of(page), PAGES[page]
    for name in names:
        assert [field for field in find(name).model_fields if f"`{field}`" not in text] == []
    if family is not None:
        files = (resources.files(f"summeter.evaluators.{family}") / "prompts").iterdir()
        templates = [file.name for file in files if file.is_file()]  # folders contain those of other languages
        assert [name for name in templates if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", [*PAGES, "long-documents.md"])
def test_every_evaluator_in_a_command_can_be_built(page: str) -> None:
    text = text_of(page)
    named = [quoted or bare for quoted, bare in re.findall(r'-e (?:"([^"]+)"|(\S+))', text)]
    for name in [*named, *re.findall(r"`(geval\w*\[[^`]*\])`", text)]:
        if not re.search(r"FILE|model=judges/fused|\.json|prompts=", name):  # files that are not in the repository
            assert build(name).active_aspects or build(name).prepares_only


def test_the_rating_page_lists_every_aspect(tmp_path: Path) -> None:
    text = text_of("rating.md")
    assert [aspect for aspect in RATED if aspect not in text] == []
    file = tmp_path / "tone.yaml"
    file.write_text(text.split("```yaml\n")[1].split("```")[0])
    assert read_aspects(file)["tone"].levels[1] == "mostly another tone"


# --- baselines ---

PAGE = text_of("baselines.md")
COMMANDS = [line.removeprefix("$ ") for line in PAGE.replace("\\\n", " ").splitlines() if "summeter score" in line]
TABLE = PAGE.partition("## Checkpoints, inputs and licences")[2].partition("##")[0].splitlines()
NAMED = re.findall(r"`([\w.]+)`", " ".join(line.split("|")[1] for line in TABLE if line.startswith("| `")))


def values(command: str, option: str) -> list[str]:
    return [value for word, value in pairwise(shlex.split(command)) if word == option]


@together("command", COMMANDS)
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


def test_every_baseline_has_a_row_with_its_licences_and_a_command() -> None:
    assert len(NAMED) == len(set(NAMED)) >= 12
    with_weights = {name for name in CATALOG if any(role.checkpoints for role in find(name).roles.values())}
    assert with_weights <= set(NAMED) <= set(CATALOG)
    asked = {build(text).name for command in COMMANDS for text in values(command, "-e")}
    assert asked | {"lite3pyramid", "menli.combined"} >= set(NAMED)
    for name in NAMED:
        row = next(line for line in TABLE if f"`{name}`" in line)
        for checkpoint in (one for role in find(name).roles.values() for one in role.checkpoints):
            assert checkpoint.commercial or f"{checkpoint.licence}, non-commercial" in row
