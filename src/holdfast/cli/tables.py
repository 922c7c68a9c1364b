"""Options of commands that do several tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.errors import OptionError

TableData = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=DATA", help="One of several tables, in place of DATA; may be repeated."),
]


def named_data(pairs: Sequence[str] | None, *, what: str = "DATA") -> dict[str, str]:
    """The data of each table that `--table` names; `what` is what a table is given."""
    named: dict[str, str] = {}
    for pair in pairs or ():
        name, separator, place = pair.partition("=")
        if not separator or not name.strip() or not place.strip():
            raise OptionError(
                f"--table {pair!r} does not say name={what}.", hint="write it as in --table orders=orders.csv."
            )
        if name.strip() in named:
            raise OptionError(f"--table names {name.strip()!r} twice.", hint="give each table a name of its own.")
        named[name.strip()] = place.strip()
    return named
