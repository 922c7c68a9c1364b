"""A group whose commands are imported when they are called: most of the command's time would go there otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class LazyCommand:
    """A command that is not imported yet: its line in the list of commands, and what adds it to an app."""

    help: str
    add: Callable[[typer.Typer], None]

    def load(self, name: str) -> Any:
        """Returns the command itself."""
        app = typer.Typer(rich_markup_mode="rich")
        self.add(app)
        return typer.main.get_group(app).commands[name]


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """Returns the class of a group that has these commands; its help lists them without importing any."""

    class LazyGroup(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands: Any = _Loaded(commands)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return _Listed(cmd_name, commands[cmd_name]) if cmd_name in commands else None

    return LazyGroup


class _Loaded(Mapping[str, Any]):
    """Commands by name, each imported when it is looked up."""

    def __init__(self, commands: Mapping[str, LazyCommand]) -> None:
        self._commands = commands

    def __getitem__(self, name: str) -> Any:
        return self._commands[name].load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class _Listed(TyperCommand):
    """A command as the list of commands shows it. Whoever calls it, or asks for its help, gets the command itself."""

    def __init__(self, name: str, command: LazyCommand) -> None:
        super().__init__(name, help=command.help, rich_markup_mode="rich")
        self._command = command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        assert self.name is not None, "every command of a group has a name"
        return self._command.load(self.name).make_context(info_name, args, parent=parent, **extra)
