"""The conditional dependencies of a table that is at hand: patterns to rules as text, the ones worth reading first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discovery.conditional import FoundPattern, conditional_patterns
from holdfast.discovery.constant_values import constant_of
from holdfast.encode.column_type import ColumnType
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Allowance, Rule, readable_name
from holdfast.rules.sentence import dependency_sentence
from holdfast.search.by_rows import Codes, column_codes
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import coded_rows, family_codes
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule, RankedRules

# As in the ranking of other rules: what holds a few times may hold by chance, what is broken weighs more than that it
# could have been, and what holds for all values of a column is no news for one of them.
_CHANCE, _STRICT, _FOLLOWS = 4.0, 4, 0.5


@dataclass(frozen=True)
class ConditionalRules:
    """Per rule, best first: its text, score, how many rows or pairs put it to the test and which share that is of all,
    and what breaks it (pairs, suspect rows, and how many of these it tolerates). And how the search went."""

    rules: tuple[Mapping[str, Any], ...]
    rows: int
    distinct_rows: int
    columns: int
    complete: bool
    why: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)

    def ranked(self) -> RankedRules:
        scores = np.array([one["score"] for one in self.rules], np.float64)
        return RankedRules(lambda i: _found_rule(self.rules[i]), ["cfd"] * len(self.rules), scores=scores)


def conditional_rules(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> ConditionalRules:
    """All conditional dependencies that hold and that no more general one implies; see discovery/conditional.py."""
    clock = Clock(options.time_limit)
    with clock.phase("encode"):
        coded = coded_rows(table, types, options)
        columns = column_codes(coded, options)
        values = _values(table, types, options)
    with clock.phase("item-sets"):
        sayable = [_sayable(some, codes) for some, codes in zip(values, columns, strict=True)]
        told = conditional_patterns(columns, sayable, coded.weights, options, clock)
    pairs = coded.rows * (coded.rows - 1) // 2
    rules = [_told(one, list(types), values, coded.rows, max(pairs, 1), options) for one in told.found]
    why = f"the time limit was reached; all rules of up to {told.within} columns are there"
    return ConditionalRules(
        tuple(sorted(rules, key=lambda one: -one["score"])),
        coded.rows,
        len(coded.weights),
        len(types),
        told.complete,
        None if told.complete else why,
        dict(clock.phases),
    )


def _values(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> list[list[Constant | None]]:
    """Per column and code, as `column_codes` gives them, the constant that rules name it by."""
    found: list[list[Constant | None]] = []
    for name, codes in family_codes(table, [[name] for name in types]).items():
        known, firsts = np.unique(codes, return_index=True)
        some = table.column(name).take(pa.array(firsts)).to_pylist()
        shift = 0 if options.nulls == "sql" else 1
        constants: list[Constant | None] = [None] * (int(known.max(initial=-1)) + 1 + shift)
        for code, value in zip(known.tolist(), some, strict=True):
            if code >= 0:
                constants[code + shift] = constant_of(value, types[name])
        found.append(constants)
    return found


def _sayable(constants: Sequence[Constant | None], codes: Codes) -> NDArray[np.bool_]:
    """Per code whether a rule can name its value; a null that is a value like others may have a code beyond them."""
    says = np.zeros(max(len(constants), int(codes.max(initial=-1)) + 1), np.bool_)
    says[: len(constants)] = [value is not None for value in constants]
    return says


def _told(
    one: FoundPattern, names: Sequence[str], values: Sequence[Sequence[Constant | None]], rows: int, pairs: int,
    options: DiscoverOptions,
) -> Mapping[str, Any]:  # fmt: skip
    given: dict[int, Constant | None] = {column: values[column][code] for column, code in one.constants}
    left = sorted([*given, *one.free])
    wanted = None if one.value is None else values[one.right][one.value]
    pattern = Pattern(tuple(given.get(column) for column in left), (wanted,))
    body = CFD(tuple(names[column] for column in left), (names[one.right],), (pattern,), inline=True)
    among = one.rows if wanted is not None else one.support
    possible = rows if wanted is not None else pairs
    # How often chance would break it: so often as the right side differs where its left values are not looked at.
    expected = one.usual if wanted is not None else one.broken.tested * one.usual / max(one.rows, 1)
    lawful = expected / (expected + _CHANCE * (len(left) + 1))
    tested = min(log1p(expected) / log1p(possible), 1.0)
    kept = max(1 - one.broken.suspects / one.usual, 0.0) if one.usual else 0.0
    score = lawful * (2 / (len(left) + 2) + tested) / 2 * kept**_STRICT * (_FOLLOWS if one.follows else 1.0)
    return {
        "rule": str(body),
        "score": round(score, 9),
        "support": one.broken.tested if wanted is not None else 2 * one.broken.tested,
        "coverage": one.broken.tested / possible,
        "pairs": one.broken.pairs if wanted is None else None,
        "suspects": one.broken.suspects,
        "allow": int((1 - options.min_confidence) * among),
    }


def _found_rule(told: Mapping[str, Any]) -> FoundRule:
    body = parse_body(told["rule"])
    allow = Allowance(told["allow"]) if told["suspects"] else Allowance()
    rule = Rule(readable_name(body), body, allow=allow, description=_sentence(body) if isinstance(body, CFD) else None)
    return FoundRule(
        rule,
        body.denials[0],
        told["score"],
        told["coverage"],
        told["support"],
        told["pairs"] if told["suspects"] else 0,
        told["suspects"],
    )


def _sentence(body: CFD) -> str:
    """What the rule says, in words."""
    (pattern,) = body.patterns
    given = [f"{n} = {v}" for n, v in zip(body.left, pattern.left, strict=True) if v is not None]
    free = [n for n, v in zip(body.left, pattern.left, strict=True) if v is None]
    where = f"where {' and '.join(given)}, "
    if pattern.right[0] is not None:
        return f"{where}{body.right[0]} is {pattern.right[0]}"
    return f"{where}{dependency_sentence(free, body.right)}"
