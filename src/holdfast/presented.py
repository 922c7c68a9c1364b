"""The one door from results to their presentation: what a value looks like is the business of the room `report`.

Rooms import only rooms above them, and `report` stands below all results. A value that can show itself inherits
`Presented`; the room is loaded when somebody looks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Presented:
    """A value that notebooks show as HTML."""

    def _repr_html_(self) -> str:
        return str(presentation("notebook").visible_html(self))


def presentation(module: str) -> Any:
    """Returns a module of the room `report`."""
    return import_module(f"holdfast.report.{module}")
