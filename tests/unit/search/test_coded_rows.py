"""Coded rows show the evidence that the reference reads off the rows, also over several words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.kernels.evidence import all_pairs
from holdfast.rules.predicate import Comparison
from holdfast.rules.rule import Nulls
from holdfast.search.coded_rows import CodedRows, EncodingEnded, coded_rows
from holdfast.search.find import find
from holdfast.search.options import DiscoverOptions
from holdfast.search.score import scored
from holdfast.search.space import PredicateSpace, as_masks

KINDS = {"bigint": "number", "double": "number", "string": "text"}


def table_of(rows: int, columns: int, seed: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Columns of three types with few values, every other one with nulls, and rows that repeat."""
    rng = np.random.default_rng(seed)
    types = {f"c{i}": ("bigint", "double", "string")[i % 3] for i in range(columns)}
    made: list[dict[str, Any]] = []
    for _ in range(rows):
        row: dict[str, Any] = {}
        for i, (name, kind) in enumerate(types.items()):
            value = int(rng.integers(0, 3)) + 2 * (i // 6)
            null = i % 2 and rng.random() < 0.2
            row[name] = None if null else {"bigint": value, "double": float(value), "string": f"v{value}"}[kind]
        made.append(row)
    return [*made, made[0], made[0], made[1]], types


def shown_by_the_reference(
    rows: list[dict[str, Any]], types: dict[str, str], coded: CodedRows, nulls: Nulls
) -> Counter[int]:
    relations = [((pair.left, pair.right), pair.relations) for pair in coded.space.pairs]
    found: Counter[int] = Counter()
    for i, t in enumerate(rows):
        for j, s in enumerate(rows):
            if i != j:
                mask = 0
                for (operands, each), first in zip(relations, coded.space.first_bits, strict=False):
                    shown = reference._shown(operands, each, t, s, nulls)
                    mask |= sum(1 << (first + bit) for bit, relation in enumerate(each) if shown & relation)
                found[mask] += 1
    return found


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        (3, {"cross_columns": None}, 1),
        (6, {"cross_columns": 0.3, "one_row": True}, 2),
        (30, {"cross_columns": None}, 2),
        (30, {"cross_columns": None, "order_text": True}, 2),
        (18, {"cross_columns": 0.3, "one_row": True}, 12),
    ],
)
def test_the_evidence_is_the_references(columns: int, options: dict[str, Any], words: int, nulls: Nulls) -> None:
    rows, types = table_of(12, columns, seed=columns)
    table = pa.table({name: [row[name] for row in rows] for name in types})
    coded = coded_rows(
        table, {name: column_type(kind) for name, kind in types.items()}, DiscoverOptions(nulls=nulls, **options)
    )
    assert coded.rows == len(rows)
    assert len(coded.weights) <= len(rows) - 3
    assert coded.space.words == words
    found = coded.evidence(all_pairs(coded.codes, coded.weights, coded.packing))
    told = dict(zip(as_masks(found.words), found.counts.tolist(), strict=True))
    assert told == shown_by_the_reference(rows, types, coded, nulls)
    wanted = reference.operand_pairs(rows, {name: KINDS[kind] for name, kind in types.items()}, **options)
    assert {(pair.left, pair.right): pair.relations for pair in coded.space.pairs} == wanted


def test_listed_pairs_show_the_same_evidence_as_all_pairs() -> None:
    rows, types = table_of(12, 30, seed=1)
    table = pa.table({name: [row[name] for row in rows] for name in types})
    coded = coded_rows(table, {name: column_type(kind) for name, kind in types.items()}, DiscoverOptions())
    left, right = np.triu_indices(len(coded.weights), 1)
    listed = coded.evidence_of_pairs(left, right)
    every = coded.evidence(all_pairs(coded.codes, np.ones(len(coded.weights), np.int64), coded.packing))
    assert np.array_equal(listed.words, every.words)
    assert np.array_equal(listed.counts, every.counts)


def test_coding_ends_at_any_look_when_time_is_up_and_else_says_the_same() -> None:
    rows, types = table_of(20, 6, seed=3)
    arrow = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], arrow[kind]) for name, kind in types.items()})
    kinds, options = {name: column_type(kind) for name, kind in types.items()}, DiscoverOptions(cross_columns=0.3)
    looks = count()

    def counted() -> bool:
        next(looks)
        return False

    assert (
        coded_rows(table, kinds, options, over=counted).codes.tolist()
        == coded_rows(table, kinds, options).codes.tolist()
    )
    made = next(looks)
    assert made > len(types)
    for last in range(made):
        left = iter([False] * last)
        with pytest.raises(EncodingEnded):
            coded_rows(table, kinds, options, over=lambda left=left: next(left, True))  # type: ignore[misc]


def test_flags_and_short_codes_are_alike_by_chance_and_names_are_not() -> None:
    rng = np.random.default_rng(1)
    codes = [a + b for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    countries = sorted(rng.choice(codes, 240, replace=False).tolist())
    towns = [f"{a}{b}{c}" for a in ("North", "South", "Old") for b in ("ham", "ford", "by") for c in ("ton", " on Sea")]
    columns = {
        "gender": ["F", "M"], "married": ["M", "S"], "paid": ["N", "Y"], "seen": ["N", "Y"],
        "continent": [*countries[:3], *(code for code in codes if code not in countries)][:7], "country": countries,
        "born": towns, "lives": towns[3:], "code": countries[40:],
    }  # fmt: skip
    table = pa.table({name: [values[i % len(values)] for i in range(300)] for name, values in columns.items()})
    kinds = {name: column_type("string") for name in columns}
    space = coded_rows(table, kinds, DiscoverOptions(cross_columns=0.3, one_row=True)).space
    across = {(p.left.name, p.right.name): p.by_chance for p in space.pairs if not p.same_column and p.left.row == "t"}
    assert across["gender", "married"]
    assert across["paid", "seen"]
    assert across["continent", "country"]
    assert across["country", "continent"]
    assert not across["born", "lives"]
    assert not across["country", "code"]
    assert not any(pair.by_chance for pair in space.pairs if pair.same_column)
    again = type(space).from_lists(space.to_lists())
    assert [pair.by_chance for pair in again.pairs] == [pair.by_chance for pair in space.pairs]


def test_rules_that_compare_columns_alike_by_chance_have_half_the_score() -> None:
    rows = pa.table({"a": ["x", "y", "z"] * 4, "b": ["y", "z", "w"] * 4, "n": list(range(12))})
    kinds = {"a": column_type("string"), "b": column_type("string"), "n": column_type("bigint")}
    result = find(rows, kinds, DiscoverOptions(cross_columns=0.3))
    plain = PredicateSpace(tuple(replace(pair, by_chance=False) for pair in result.space.pairs))
    shown, before = scored(result), scored(replace(result, space=plain))
    across = [
        any(isinstance(p, Comparison) and not p.same_column for p in result.space.constraint(mask).predicates)
        for mask in as_masks(result.masks)
    ]
    assert any(across)
    assert not all(across)
    assert np.allclose(shown.alone, before.alone * np.where(across, 0.5, 1.0), atol=1e-8)
