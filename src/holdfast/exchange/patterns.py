"""Patterns of other tools as those of `matches`, which are for the whole value."""

from __future__ import annotations

from holdfast.errors import ConditionError
from holdfast.rules.pattern import common_pattern

_ANYTHING = r"(?:.|\n)*"
_SPECIAL = frozenset(r"\.[]{}()*+?^$|")


def whole_pattern(searched: str) -> str:
    """Returns the pattern that matches all of a value exactly where the given one is found in it.

    >>> whole_pattern("^[0-9]{5}$"), whole_pattern("@")
    ('[0-9]{5}', '(?:.|\\\\n)*@(?:.|\\\\n)*')
    """
    branches = [_whole_branch(branch) for branch in _branches(searched)]
    pattern = branches[0] if len(branches) == 1 else "|".join(branches)
    try:
        common_pattern(pattern)
    except ValueError as problem:
        raise ConditionError(f"the pattern {searched!r} cannot be written: {problem}") from None
    return pattern


def like_pattern(like: str) -> str:
    """Returns the pattern of SQL's LIKE.

    >>> like_pattern("a_%.")
    'a(?:.|\\\\n)(?:.|\\\\n)*\\\\.'
    """
    if "\\" in like:
        raise ConditionError(f"the LIKE pattern {like!r} has a backslash, which databases read differently.")
    return "".join(
        _ANYTHING if sign == "%" else r"(?:.|\n)" if sign == "_" else f"\\{sign}" if sign in _SPECIAL else sign
        for sign in like
    )


def _whole_branch(branch: str) -> str:
    start, end = branch.startswith(("^", r"\A")), _ends_there(branch)
    inner = branch[(1 if branch.startswith("^") else 2) if start else 0 :]
    inner = inner[: -(1 if inner.endswith("$") else 2)] if end else inner
    return f"{'' if start else _ANYTHING}{inner}{'' if end else _ANYTHING}"


def _ends_there(branch: str) -> bool:
    if branch.endswith("$"):
        before = branch[:-1]
        return (len(before) - len(before.rstrip("\\"))) % 2 == 0
    return branch.endswith((r"\Z", r"\z"))


def _branches(pattern: str) -> list[str]:
    """The alternatives outside of all groups and sets."""
    branches, depth, in_set, skipped = [""], 0, False, False
    for sign in pattern:
        plain = not skipped and not in_set
        if plain and sign == "|" and depth == 0:
            branches.append("")
            continue
        if not skipped:
            in_set = sign != "]" if in_set else sign == "["
            depth += plain * ((sign == "(") - (sign == ")"))
        skipped = sign == "\\" and not skipped
        branches[-1] += sign
    return branches
