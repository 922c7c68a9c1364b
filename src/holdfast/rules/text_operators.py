"""Tests of one text against another: how rules write them, and what they mean.

An operator is an entry of OPERATORS: its words are read by the parser, its meaning is what every engine must agree
with. `programs.sql_expression` and `programs.export_sql` say how it is written in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from holdfast.rules.pattern import common_pattern


@dataclass(frozen=True)
class TextOperator:
    """`holds(value, argument)`; `checked` returns the argument, or raises ValueError with what is wrong with it."""

    holds: Callable[[str, str], bool]
    checked: Callable[[str], str] = str


def _matches(value: str, pattern: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(common_pattern(pattern))


def _readable_pattern(pattern: str) -> str:
    common_pattern(pattern)
    return pattern


OPERATORS: Mapping[str, TextOperator] = {"matches": TextOperator(_matches, _readable_pattern)}
