"""Which inclusions are references that somebody meant: foreign keys first, accidents of small numbers last."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np

from holdfast.discovery.inclusions import ColumnValues, FoundInclusion
from holdfast.discovery.names_alike import name_likeness, says_it_measures, says_it_refers, words_in_table

# Inclusions of at least this score are shown: others hold by chance as often as not.
SHOWN_SCORE = 0.25
# Where nearly all numbers of a range are there, that a value is among them says nothing.
_DENSE = 0.9
# Numbers that start so far from zero, as a share of the greatest, are no numbers that other columns have as well.
_FAR = 0.1
# That values are there by chance is out of the question where it would happen once in e**20 cases.
_SURE = 20.0
_NO_KEY, _IS_KEY_ITSELF, _MEASURE, _SECOND = 0.2, 0.4, 0.3, 0.3
_ALIKE = 0.6


def scored(
    tables: Mapping[str, Sequence[ColumnValues]], inclusions: Sequence[FoundInclusion]
) -> list[tuple[float, FoundInclusion]]:
    """The inclusions with their scores from 0 to 1, best first.

    What counts: that the right side is a key; names; how unlikely the values are to be there by chance, which they are
    not among numbers from 1 to n; how much of the right side's range they use. A column refers to one other: all but
    its best one get a lower score. So does a key that is among the values of another, unless their names say so, and
    what is missing counts against an inclusion.
    """
    words = {
        (table, column.name): own
        for table, columns in tables.items()
        for column, own in zip(columns, words_in_table([column.name for column in columns]), strict=True)
    }
    plain = [(_score(inclusion, words), inclusion) for inclusion in inclusions]
    best: dict[object, float] = {}
    for score, inclusion in plain:
        best[_left(inclusion)] = max(best.get(_left(inclusion), 0.0), score)
    ranked = []
    for score, inclusion in plain:
        second = score < best[_left(inclusion)] and best[_left(inclusion)] >= SHOWN_SCORE
        ranked.append((round(score * (_SECOND if second else 1.0), 6), inclusion))
    return sorted(ranked, key=lambda pair: -pair[0])


def _left(inclusion: FoundInclusion) -> object:
    return tuple((column.table, column.name) for column in inclusion.left)


def _score(inclusion: FoundInclusion, words: Mapping[tuple[str, str], tuple[str, ...]]) -> float:
    pairs = list(zip(inclusion.left, inclusion.right, strict=True))
    names = [
        name_likeness(words[left.table, left.name], words[right.table, right.name], right.table)
        for left, right in pairs
    ]
    alike, values = min(names), min(_by_values(left, right) for left, right in pairs)
    if len(pairs) > 1:
        values = max(values, _by_pairs(inclusion))
    named = max(alike, 0.3 if all(says_it_refers(words[left.table, left.name]) for left, _ in pairs) else 0.0)
    least = 0.2 if all(_is_dense(right) for _, right in pairs) else 0.45
    score = values * (least + (1 - least) * named)
    score *= 1.0 if inclusion.is_key else _NO_KEY
    if alike < _ALIKE and all(left.is_key for left, _ in pairs):
        score *= _IS_KEY_ITSELF
    if alike < 0.9 and any(says_it_measures(words[left.table, left.name]) for left, _ in pairs):
        score *= _MEASURE
    return score * float(1 - inclusion.missing / max(inclusion.known, 1)) ** 4


def _number(value: object) -> float:
    if isinstance(value, dt.datetime):
        return value.timestamp() / 86_400
    if isinstance(value, dt.date):
        return float(value.toordinal())
    return float(value)  # type: ignore[arg-type]


def _density(column: ColumnValues) -> float | None:
    """The share of the whole numbers, or days, of its range that a column has; None where it holds other values."""
    if column.kind.family not in ("integer", "date", "float", "decimal") or column.ends is None:
        return None
    low, high = map(_number, column.ends)
    if not np.isfinite(high - low) or low % 1 or high % 1:
        return None
    return min(len(column.values) / (high - low + 1), 1.0)


def _is_dense(column: ColumnValues) -> bool:
    """Whether the column holds the whole numbers from about 1 to some number, which many columns do."""
    density = _density(column)
    if density is None or density < _DENSE or column.ends is None:
        return False
    least, most = map(_number, column.ends)
    return least <= _FAR * most


def _by_values(left: ColumnValues, right: ColumnValues) -> float:
    """From 0 to 1, how little the values of one column are among those of the other by chance."""
    different = len(left.values)
    if left.comparable_with == "text" or left.ends is None or right.ends is None:
        return different / (different + 0.5)
    spread = _spread(left.ends, right.ends)
    density = _density(right)
    if density is not None and density < _DENSE and different * -log(max(density, 1e-300)) >= _SURE:
        return 0.95
    return 0.9 * spread * different / (different + 3)


def _spread(own: tuple[Any, Any], whole: tuple[Any, Any]) -> float:
    """The share of the whole range that the values have between their ends; of an endless one, all or nothing."""
    part, total = (_number(high) - _number(low) for low, high in (own, whole))
    if np.isfinite(total):
        return min(part / total, 1.0) if total > 0 else 1.0
    return 0.0 if np.isfinite(part) else 1.0


def _by_pairs(inclusion: FoundInclusion) -> float:
    """The same of lists: how sparse their combinations are among all that there could be."""
    possible = np.prod([float(len(column.values)) for column in inclusion.right])
    density = inclusion.right[0].rows / max(float(possible), 1.0)
    evidence = inclusion.distinct * -log(max(min(density, 1.0), 1e-300))
    return 0.95 * evidence / (evidence + _SURE)
