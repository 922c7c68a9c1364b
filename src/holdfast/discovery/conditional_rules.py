"""The conditional dependencies of an Arrow table, as rules with scores, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.discovery.conditional import ConditionalPattern, conditional_patterns, least_rows
from holdfast.discovery.constant_values import constant_of
from holdfast.encode.column_type import ColumnType
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Allowance, Rule, readable_name
from holdfast.rules.sentence import dependency_sentence
from holdfast.search.by_rows import column_codes
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import EncodingEnded, coded_rows, family_codes
from holdfast.search.evidence import Codes
from holdfast.search.find import SEARCH_SHARE, reached_within, uncoded
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule, RankedRules

# As in the ranking of other rules: a rule that is tested a few times may hold by chance (_CHANCE), suspects weigh more
# than tests (_STRICT), and a rule that holds for all values of a column says little about one of them (_FOLLOWS).
_CHANCE, _STRICT, _FOLLOWS = 4.0, 4, 0.5
# Between so many rules it is looked whether time is up.
_LOOKED_AT = 256


@dataclass(frozen=True)
class ConditionalRules:
    """Rules, best first, and how the search went.

    Each rule has its text, its score, how many rows or pairs test it (`support`) and their share of all (`coverage`),
    the pairs that break it, its suspect rows, and how many of these it allows.
    """

    rules: tuple[Mapping[str, Any], ...]
    rows: int
    distinct_rows: int
    columns: int
    complete: bool
    why: str | None = None
    phases: Mapping[str, float] = field(default_factory=dict)

    def ranked(self) -> RankedRules:
        scores = np.array([rule["score"] for rule in self.rules], np.float64)
        return RankedRules(lambda i: _discovered_rule(self.rules[i]), ["cfd"] * len(self.rules), scores=scores)


def conditional_rules(table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions) -> ConditionalRules:
    """Returns all conditional dependencies that hold and that no more general one implies; see conditional.py."""
    clock = Clock(options.time_limit)
    try:
        with clock.phase("encode"):
            coded = coded_rows(table, types, options, over=clock.is_over)
            columns = column_codes(coded, options)
            values = _values(table, types, options, over=clock.is_over)
    except EncodingEnded:
        why, rows = uncoded(table.num_rows, types, options, clock).why, table.num_rows
        return ConditionalRules((), rows, rows, len(types), complete=False, why=why, phases=dict(clock.phases))
    with clock.phase("item-sets"):
        sayable = [_sayable(constants, codes) for constants, codes in zip(values, columns, strict=True)]
        outcome = conditional_patterns(columns, sayable, coded.weights, options, clock.part(SEARCH_SHARE))
    pairs = coded.rows * (coded.rows - 1) // 2
    names = list(types)
    rules: list[Mapping[str, Any]] = []
    # From general to special: those that there is no time to write are the more special ones.
    for i, pattern in enumerate(outcome.patterns):
        if i % _LOOKED_AT == 0 and clock.over:
            break
        rules.append(_described(pattern, names, values, coded.rows, max(pairs, 1), options))
    complete, why = outcome.complete, None if outcome.complete else reached_within(outcome.within)
    if len(rules) < len(outcome.patterns):
        complete, why = False, "the time limit was reached before all rules that were found could be written"
    return ConditionalRules(
        tuple(sorted(rules, key=lambda rule: -rule["score"])),
        coded.rows,
        len(coded.weights),
        len(types),
        complete,
        why,
        dict(clock.phases),
    )


def _values(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, *, over: Callable[[], bool]
) -> list[list[Constant | None]]:
    """Returns, per column and code of `column_codes`, the constant for the value; None where rule text has none, and
    for values that too few rows have for a pattern with them."""
    least = least_rows(options, table.num_rows)
    constants_by_column: list[list[Constant | None]] = []
    for name, codes in family_codes(table, [[name] for name in types], over=over).items():
        known, firsts, counts = np.unique(codes, return_index=True, return_counts=True)
        size = int(known.max(initial=-1)) + 1
        known, firsts = known[counts >= least], firsts[counts >= least]
        values = table.column(name).take(pa.array(firsts)).to_pylist()
        shift = 0 if options.nulls == "sql" else 1
        constants: list[Constant | None] = [None] * (size + shift)
        for code, value in zip(known.tolist(), values, strict=True):
            if code >= 0:
                constants[code + shift] = constant_of(value, types[name])
        constants_by_column.append(constants)
    return constants_by_column


def _sayable(constants: Sequence[Constant | None], codes: Codes) -> NDArray[np.bool_]:
    """Returns for each code whether rule text has a constant for its value. Nulls may have a code beyond the values."""
    says = np.zeros(max(len(constants), int(codes.max(initial=-1)) + 1), np.bool_)
    says[: len(constants)] = [value is not None for value in constants]
    return says


def _described(
    pattern: ConditionalPattern, names: Sequence[str], values: Sequence[Sequence[Constant | None]], rows: int,
    pairs: int, options: DiscoverOptions,
) -> Mapping[str, Any]:  # fmt: skip
    given: dict[int, Constant | None] = {column: values[column][code] for column, code in pattern.constants}
    left = sorted([*given, *pattern.free])
    wanted = None if pattern.value is None else values[pattern.right][pattern.value]
    line = Pattern(tuple(given.get(column) for column in left), (wanted,))
    body = CFD(tuple(names[column] for column in left), (names[pattern.right],), (line,), inline=True)
    among = pattern.rows if wanted is not None else pattern.support
    possible = rows if wanted is not None else pairs
    # How often the rule would be broken by chance: as often as the right side differs without the left values.
    expected = pattern.usual if wanted is not None else pattern.broken.tested * pattern.usual / max(pattern.rows, 1)
    lawful = expected / (expected + _CHANCE * (len(left) + 1))
    tested = min(log1p(expected) / log1p(possible), 1.0)
    kept = max(1 - pattern.broken.suspects / pattern.usual, 0.0) if pattern.usual else 0.0
    score = lawful * (2 / (len(left) + 2) + tested) / 2 * kept**_STRICT * (_FOLLOWS if pattern.follows else 1.0)
    return {
        "rule": str(body),
        "score": round(score, 9),
        "support": pattern.broken.tested if wanted is not None else 2 * pattern.broken.tested,
        "coverage": pattern.broken.tested / possible,
        "pairs": pattern.broken.pairs if wanted is None else None,
        "suspects": pattern.broken.suspects,
        "allow": int((1 - options.min_confidence) * among),
    }


def _discovered_rule(described: Mapping[str, Any]) -> FoundRule:
    body = parse_body(described["rule"])
    allow = Allowance(described["allow"]) if described["suspects"] else Allowance()
    rule = Rule(readable_name(body), body, allow=allow, description=_sentence(body) if isinstance(body, CFD) else None)
    return FoundRule(
        rule,
        body.denials[0],
        described["score"],
        described["coverage"],
        described["support"],
        described["pairs"] if described["suspects"] else 0,
        described["suspects"],
    )


def _sentence(body: CFD) -> str:
    """Returns the rule in words."""
    (pattern,) = body.patterns
    given = [f"{n} = {v}" for n, v in zip(body.left, pattern.left, strict=True) if v is not None]
    free = [n for n, v in zip(body.left, pattern.left, strict=True) if v is None]
    where = f"where {' and '.join(given)}, "
    if pattern.right[0] is not None:
        return f"{where}{body.right[0]} is {pattern.right[0]}"
    return f"{where}{dependency_sentence(free, body.right)}"
