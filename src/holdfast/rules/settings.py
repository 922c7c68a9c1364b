"""What a YAML file may say, setting by setting, and the first thing in it that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Location: TypeAlias = tuple[int | str, ...]


@dataclass(frozen=True)
class SettingProblem:
    """Something wrong at a place of a file: the value there, and what is `wanted` instead.

    A setting that nobody knows, one that is missing, a value that is none of some, one of another type (`wanted` is
    text, a list, or settings), or one that is empty.
    """

    kind: Literal["unknown", "missing", "choice", "type", "empty"]
    location: Location
    value: Any = None
    wanted: str = ""


# Yields what is wrong with a value, which stands at that place.
Check: TypeAlias = Callable[[Any, Location], Iterator[SettingProblem]]


def first_problem(check: Check, content: Any) -> SettingProblem | None:
    """Returns what to tell of the content; None where all is well. A misspelt setting explains a missing one."""
    return min(check(content, ()), key=lambda problem: problem.kind != "unknown", default=None)


def anything(value: Any, location: Location) -> Iterator[SettingProblem]:
    yield from ()


def text(value: Any, location: Location) -> Iterator[SettingProblem]:
    if not isinstance(value, str):
        yield SettingProblem("type", location, value, "text")


def filled_text(value: Any, location: Location) -> Iterator[SettingProblem]:
    yield from text(value, location)
    if value == "":
        yield SettingProblem("empty", location, value)


def choice(*allowed: str) -> Check:
    def check(value: Any, location: Location) -> Iterator[SettingProblem]:
        if value not in allowed:
            yield SettingProblem("choice", location, value, " or ".join(allowed))

    return check


def optional(inner: Check) -> Check:
    """A value that may be left empty."""

    def check(value: Any, location: Location) -> Iterator[SettingProblem]:
        if value is not None:
            yield from inner(value, location)

    return check


def list_of(item: Check, *, filled: bool = False) -> Check:
    def check(value: Any, location: Location) -> Iterator[SettingProblem]:
        if not isinstance(value, list):
            yield SettingProblem("type", location, value, "a list")
        elif filled and not value:
            yield SettingProblem("empty", location, value)
        else:
            for i, inner in enumerate(value):
                yield from item(inner, (*location, i))

    return check


def mapping_of(item: Check, *, filled: bool = False) -> Check:
    """Values by names that are free."""

    def check(value: Any, location: Location) -> Iterator[SettingProblem]:
        if not isinstance(value, dict):
            yield SettingProblem("type", location, value, "settings")
        elif filled and not value:
            yield SettingProblem("empty", location, value)
        else:
            for name, inner in value.items():
                yield from item(inner, (*location, name))

    return check


def settings(known: Mapping[str, Check], *, required: Collection[str] = ()) -> Check:
    """Values by these names."""

    def check(value: Any, location: Location) -> Iterator[SettingProblem]:
        if not isinstance(value, dict):
            yield SettingProblem("type", location, value, "settings")
            return
        for name, inner in known.items():
            if name in value:
                yield from inner(value[name], (*location, name))
            elif name in required:
                yield SettingProblem("missing", (*location, name))
        for name in value:
            if name not in known:
                yield SettingProblem("unknown", (*location, name))

    return check
