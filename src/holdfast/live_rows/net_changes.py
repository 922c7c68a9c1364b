"""The net effect of changes made one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.errors import ChangeError
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES


def net_changes(
    kinds: Sequence[Any], keys: Sequence[Any], there: Callable[[Sequence[Any]], Sequence[bool]]
) -> tuple[dict[Any, bool], dict[Any, int | None]]:
    """Per key that changes, whether it was there before, and the place of the row it has in the end (None: no row).

    A change without a kind is an insert. ChangeError where a key comes that is there, or one goes or changes that is
    not, at its place in the order; also where a key has more images before an update than after one.
    """
    once = list(dict.fromkeys(keys))
    first = dict(zip(once, there(once), strict=True))
    last: dict[Any, int | None] = {}
    now = dict(first)
    waiting = dict.fromkeys(once, 0)
    for at, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind is None or kind == "insert":
            if now[key]:
                raise ChangeError(f"there is a row with key {key!r} already.", hint="nothing was changed.")
            now[key], last[key] = True, at
        elif kind in ("delete", "update_preimage", "update_postimage"):
            if not now[key]:
                raise ChangeError(f"there is no row with key {key!r}.", hint="nothing was changed.")
            if kind == "delete":
                now[key], last[key] = False, None
            elif kind == "update_postimage":
                waiting[key] -= 1
                last[key] = at
            else:
                waiting[key] += 1
        else:
            raise ChangeError(
                f"{kind!r} is no kind of change.",
                hint=f"{CHANGE_TYPE} is one of {', '.join(CHANGE_TYPES)}.",
            )
    alone = next((key for key in once if waiting[key] > 0), None)
    if alone is not None:
        raise ChangeError(
            f"the key {alone!r} has an update_preimage without its update_postimage.",
            hint="nothing was changed. Send both, or the postimage alone; a new key is a delete and an insert.",
        )
    touched = {key: first[key] for key in once if key in last}
    return touched, {key: last[key] for key in once if key in last}
