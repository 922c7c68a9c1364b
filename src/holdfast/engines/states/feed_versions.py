"""Which versions of a table with a change feed a state has, and which come next."""

from __future__ import annotations

from holdfast.errors import OptionError, StateError


def last_applied(known: int | None, from_version: int | None, table: str, newest: int | None, place: str) -> int:
    """The last version of the table that the state at `place` has; `known` is the one that it has noted.

    `table` names the table in errors; `newest` is its newest version, None where nobody knows that without looking at
    its changes. StateError where neither the state nor `from_version`, the first version to apply, tells; OptionError
    where that leaves changes out, or is no version of the table.
    """
    if from_version is not None and newest is not None and not 0 <= from_version <= newest + 1:
        raise OptionError(
            f"--from-version {from_version}: {table} has the versions 0 to {newest}.",
            hint="name the first version whose changes the state has not got.",
        )
    if known is None and from_version is None:
        which = "versions" if newest is None else f"versions 0 to {newest}"
        raise StateError(
            f"the state {place} was not made of {table}, so that nothing tells which of its {which} it has.",
            hint="make the state of the table itself, or name the first version to apply with --from-version.",
        )
    if known is None:
        assert from_version is not None, "one of the two is there"
        return from_version - 1
    if from_version is not None and from_version > known + 1:
        raise OptionError(
            f"--from-version {from_version} would leave out changes: the state {place} has {table} up to version "
            f"{known}.",
            hint="leave --from-version out; the state goes on where it is.",
        )
    return known


def batch_of_versions(table: str, first: int, last: int) -> str:
    """The name of the batch that these versions of the table are."""
    return f"{table}, version {first}" if first == last else f"{table}, versions {first} to {last}"
