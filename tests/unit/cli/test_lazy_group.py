"""The command lists its commands without importing them, and each line there is that of the command itself."""

from __future__ import annotations

import pytest
import typer

from holdfast.cli.app import COMMANDS, app


def test_the_group_has_every_command_in_order() -> None:
    group = typer.main.get_group(app)
    assert list(group.commands) == list(COMMANDS)
    assert [command.name for command in group.commands.values()] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_that_of_the_command(name: str) -> None:
    assert COMMANDS[name].load(name).help == COMMANDS[name].help
