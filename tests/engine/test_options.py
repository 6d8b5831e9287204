"""The options of a run: one list, which Python callers, type checkers and the command line all go by."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any, get_type_hints

import pytest
import typer

import summeter
from summeter.audit import injection, sensitivity
from summeter.cli.main import app
from summeter.engine.options import OptionArgs, Options
from summeter.records import UsageError

ROW = [{"document": "It rained.", "summary": "It rained."}]


def test_the_types_for_type_checkers_are_those_of_the_options() -> None:
    wanted = {name: field.annotation for name, field in Options.model_fields.items()}
    found = get_type_hints(OptionArgs)
    assert set(found) == set(wanted)
    assert found.pop("context") == dict[str, int] | int  # a number alone is of all roles
    assert found == {name: kind for name, kind in wanted.items() if name != "context"}


@pytest.mark.parametrize(
    "function", [summeter.evaluate, summeter.evaluate_async, summeter.dry_run, injection, sensitivity]
)
def test_help_shows_every_option(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    text = pydoc.plain(pydoc.render_doc(function))
    for name, field in Options.model_fields.items():
        assert parameters[name].default == field.get_default(call_default_factory=True)
        assert field.description
        assert f"{name}: {field.description[:30]}" in text
    assert "options" not in parameters


def test_the_command_line_offers_every_option() -> None:
    commands: Any = typer.main.get_command(app)
    offered = {option.name: option for option in commands.get_command(None, "score").params}
    for name, field in Options.model_fields.items():
        assert (offered[name].help or "").startswith((field.description or "").removesuffix("."))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tempreature": 1}, "there is no option 'tempreature' (did you mean temperature?). Options are: limit, seed"),
        ({"limit": 0}, "limit is 0; give at least 1"),
        ({"on_overflow": "widow"}, "on_overflow is 'widow'; give"),
        ({"context": {"judge": 0}}, "context['judge'] is 0; give at least 1"),
        ({"context": {"jugde": 9000}}, "context names the role 'jugde', which has no model"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_usage_error(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        summeter.evaluate(ROW, ["support"], **options)
    assert str(caught.value).startswith(told)
    assert caught.value.exit_code == 2
