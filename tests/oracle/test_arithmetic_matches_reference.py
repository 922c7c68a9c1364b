"""discover finds the sums, products and multiples that reference.py finds by trying them all, but for what follows."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.engines.arithmetic import arithmetic_rules
from holdfast.engines.local.discover import LocalDiscovery
from holdfast.reference import ComputedColumn
from holdfast.rules.rule import Nulls
from holdfast.search.clock import Clock
from holdfast.search.options import DiscoverOptions
from holdfast.tables.local_table import LocalTable
from strategies import ARROW, RandomTable

TYPES = ("bigint", "double", "decimal(20,2)")


def typed(value: Decimal | None, kind: str, digits: int) -> Any:
    """The number as a value of the type, rounded to so many digits."""
    if value is None:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if kind == "bigint":
        return int(rounded)
    return float(rounded) if kind == "double" else rounded.quantize(Decimal("0.01"))


@st.composite
def computed_tables(draw: st.DrawFn) -> RandomTable:
    """A few columns of numbers, a share, and columns computed from them; here and there a null, a NaN or an error."""
    size = draw(st.integers(7, 16))
    values: dict[str, list[Decimal | None]] = {}
    kinds: dict[str, tuple[str, int]] = {}

    def add(name: str, column: Sequence[Decimal | None]) -> None:
        kind = draw(st.sampled_from(TYPES))
        kinds[name] = (kind, 0 if kind == "bigint" else draw(st.integers(0, 2)))
        values[name] = list(column)

    for name in ("a", "zip code", "B")[: draw(st.integers(2, 3))]:
        most = draw(st.sampled_from([3, 30, 3000]))
        add(name, [Decimal(n) / 2 for n in draw(st.lists(st.integers(-most, most), min_size=size, max_size=size))])
    if draw(st.booleans()):
        shares = draw(st.lists(st.integers(0, 20), min_size=size, max_size=size))
        values["off"], kinds["off"] = [Decimal(n) / 100 for n in shares], (draw(st.sampled_from(TYPES[1:])), 2)

    def typed_columns() -> dict[str, list[Any]]:
        return {name: [typed(v, *kinds[name]) for v in column] for name, column in values.items()}

    for name in ("x", "y", "not")[: draw(st.integers(1, 3))]:
        now = {n: [None if v is None else Decimal(str(v)) for v in column] for n, column in typed_columns().items()}
        one, two = (draw(st.sampled_from(sorted(now))) for _ in range(2))
        way = draw(st.sampled_from(["+", "-", "*", "k", "off", "other"]))
        times = Decimal(draw(st.sampled_from(["2", "0.5", "1", "1.19", "100", "-3"])))
        made: list[Decimal | None] = []
        for i in range(size):
            p, q = now[one][i] or Decimal(0), now[two][i] or Decimal(0)
            off = (now["off"][i] or Decimal(0)) if "off" in now else Decimal(0)
            ways = {
                "+": p + q,
                "-": p - q,
                "*": p * q,
                "k": times * p,
                "off": p * q * (1 - off),
                "other": p * (1 + off),
            }
            made.append(ways[way])
        add(name, made)
    table = typed_columns()
    for _ in range(draw(st.integers(0, 3))):
        name, at = draw(st.sampled_from(sorted(table))), draw(st.integers(0, size - 1))
        table[name][at] = draw(st.sampled_from([None, None, float("nan") if kinds[name][0] == "double" else None]))
    if draw(st.integers(0, 4)) == 0:
        name, at = draw(st.sampled_from(sorted(table))), draw(st.integers(0, size - 1))
        table[name][at] = typed(Decimal(draw(st.integers(0, 3))), *kinds[name])
    types = {name: kinds[name][0] for name in table}
    return RandomTable(types, tuple({name: table[name][i] for name in table} for i in range(size)))


Line = dict[object, float]


def equation(computed: ComputedColumn) -> Line:
    """The relation as an equation: of sums, or of logarithms."""
    if computed.shape == "product":
        return {(computed.result, 0): 1.0, **dict.fromkeys(computed.factors, -1.0)}
    (first, _), *others = computed.factors
    more: Line = {name: 1.0 if computed.shape == "difference" else -1.0 for name, _ in others}
    return {computed.result: 1.0, first: -float(computed.multiple), **more}


def in_logarithms(computed: ComputedColumn) -> Line:
    """A multiple as an equation of logarithms, in which its number is a variable."""
    number: Line = {} if computed.multiple == 1 else {("number", computed.multiple): -1.0}
    return {(computed.result, 0): 1.0, computed.factors[0]: -1.0, **number}


def rank(lines: Sequence[Line]) -> int:
    places = {name: i for i, name in enumerate(dict.fromkeys(name for line in lines for name in line))}
    matrix = np.zeros((len(lines), len(places) + 1))
    for i, line in enumerate(lines):
        for name, value in line.items():
            matrix[i, places[name]] = value
    return int(np.linalg.matrix_rank(matrix)) if lines else 0


def assert_says_all(shown: Sequence[ComputedColumn], wanted: Sequence[ComputedColumn]) -> None:
    """What is wanted follows from what is shown, by adding and by multiplying."""
    sums, products = ([one for one in wanted if (one.shape == "product") == which] for which in (False, True))
    assert rank([equation(one) for one in shown if one in sums]) == rank([equation(one) for one in sums])
    multiples = [in_logarithms(one) for one in wanted if one.shape == "multiple"]
    said = rank([*multiples, *(equation(one) for one in shown if one in products)])
    assert said == rank([*multiples, *(equation(one) for one in products)])


@settings(
    max_examples=200,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(table=computed_tables(), nulls=st.sampled_from(["sql", "sql", "equal"]))
def test_arithmetic_matches_reference(table: RandomTable, nulls: Nulls) -> None:
    columns = {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    types = {name: column_type(kind) for name, kind in table.types.items()}
    source = LocalDiscovery(LocalTable(pa.table(columns), "t"))
    arithmetic = arithmetic_rules(source, types, DiscoverOptions(nulls=nulls), len(table.rows), clock=Clock(None))
    found = arithmetic.rules
    wanted = {one.rule: one for one in reference.arithmetic(table.rows, list(table.types), nulls=nulls)}
    assert not arithmetic.notes
    assert arithmetic.cut is None
    shown = [str(entry.constraint) for entry in found]
    assert set(shown) <= set(wanted)
    assert_says_all([wanted[text] for text in shown], list(wanted.values()))
    assert hf.check(pa.table(columns), [entry.rule for entry in found], nulls=nulls).holds
    for entry in found:
        known = [row for row in table.rows if all(row[name] is not None for name in entry.rule.body.columns)]
        assert entry.support == len(known) * (len(table.rows) - 1)
        assert 0 < entry.score <= 1
