"""The help of all commands, at 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from summeter.cli.main import COMMANDS, GROUPS, app


def commands(command: Any, parent: Any = None) -> Iterator[tuple[Any, typer.Context]]:
    """Yield each command below `command` and its context."""
    context = typer.Context(command, info_name=command.name, parent=parent)
    yield command, context
    for name in getattr(command, "commands", ()):
        yield from commands(command.get_command(context, name), context)


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, typer.Context]]:
    monkeypatch.setenv("COLUMNS", "80")
    return list(commands(typer.main.get_command(app)))


def test_descriptions_of_commands_are_not_cut(every: list[tuple[Any, typer.Context]]) -> None:
    assert len(every) > len(COMMANDS) + 40
    for command, context in every:
        assert command.help, context.command_path
        text = command.get_help(context)
        assert max(map(len, text.splitlines())) <= 80
        listed = text.partition("\nCommands:\n")[2]
        cut = [line for line in listed.splitlines() if line.endswith("...")]
        assert cut == [], context.command_path


def test_an_option_is_described_in_one_sentence(every: list[tuple[Any, typer.Context]]) -> None:
    for command, context in every:
        for parameter in command.params:
            text = getattr(parameter, "help", None)
            where = f"{context.command_path} {parameter.name}: {text}"
            assert text, where
            if parameter.name != "batch":  # two notes matter before money is spent
                more = re.split(r"(?<=[.?])\s+(?=[A-Z])", text)[1:]
                assert all(each.startswith(("Default: ", "Repeatable", "Choose from: ")) for each in more), where


def test_the_overview_has_each_command_under_a_heading(every: list[tuple[Any, typer.Context]]) -> None:
    command, context = every[0]
    text = command.get_help(context)
    assert [heading for heading in GROUPS if f"\n{heading}:\n" in text] == list(GROUPS)
    for name, (_, about) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(about)}$", text, re.MULTILINE)
