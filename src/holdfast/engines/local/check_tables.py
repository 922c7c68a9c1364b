"""A check of several tables in this process: the rules of each table, those over two, and inclusions.

The rules of one table are a check of that table. Rules that compare rows of two tables are a check of the rows of both
together, in which every column has the name of its table before its own, and flags say of which table a row is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.checking.group_sql import KEYS_PER_GROUP
from holdfast.checking.outcome import CheckOutcome, FailOn, MissingValue, RuleOutcome, TableSummary, rule_holds
from holdfast.checking.output_folders import BROKEN_RULES, QUARANTINE_FOLDERS, VIOLATION_FOLDERS
from holdfast.checking.plan_text import plan_text
from holdfast.checking.shown_check import KEYS, PAIRS, SIDES, WORST, ShownCheck, ShownGroup, ShownRule, Side
from holdfast.encode.codes import shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array
from holdfast.encode.spark_text import spark_text
from holdfast.engines.check_result import ShownResult, key_missing, key_twice, plain_key
from holdfast.engines.local.check import (
    LocalCheckResult,
    LocalScan,
    plain_value,
    plan_check,
    run_check,
    schema_of,
    value_texts,
)
from holdfast.engines.local.interruptible import interruptible
from holdfast.engines.local.metrics_folder import append_metric_lines
from holdfast.engines.outputs import write_folders
from holdfast.engines.result_table import ArrowResult, ResultTable
from holdfast.errors import unknown_column
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.bind import Schema, mismatched_columns, require_types, without_types
from holdfast.programs.compile import TABLE
from holdfast.programs.form import Where
from holdfast.programs.inclusion import InclusionProgram, compile_inclusion
from holdfast.programs.plan import Plan, make_plan
from holdfast.rules.dependency import Inclusion, of_its_table, table_columns
from holdfast.rules.plain_words import value_text
from holdfast.rules.predicate import joint_name, quoted_name
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import require_table
from holdfast.states.segment import key_of
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.tables.read_options import ReadOptions
from holdfast.violations.inclusion import DanglingRows, missing_values
from holdfast.violations.witness import HIDDEN, Witness, WorstRow, hidden_keys, hidden_witness

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# So many missing values are told of an inclusion.
_MISSING = 3


@dataclass(frozen=True)
class TableSource:
    """Where the rows of one of several tables are, how they are read, and the columns that name them."""

    data: Any
    key: tuple[str, ...] = ()
    options: ReadOptions = field(default_factory=ReadOptions)

    @cached_property
    def whole(self) -> LocalTable:
        """The table with all its columns."""
        if isinstance(self.data, str | os.PathLike):
            return read_local(self.data, self.options)
        table = local_table_of(self.data)
        assert table is not None, "what is no path is in memory"
        return table


@dataclass(frozen=True)
class TablesPlan:
    """What a check of several tables will do: a plan per table that has rules, per two tables that have some in
    common, and a program per inclusion; each with the numbers of its rules."""

    rules: RuleSet
    tables: Mapping[str, LocalTable]
    keys: Mapping[str, tuple[str, ...]]
    own: tuple[tuple[str, tuple[int, ...], Plan], ...]
    joined: tuple[tuple[JoinedRows, tuple[int, ...], Plan], ...]
    inclusions: tuple[tuple[int, InclusionProgram], ...]
    notes: tuple[str, ...]

    def text(self, *, sql: bool = False) -> str:
        """The plan as a person reads it, for `--explain`."""
        parts = [plan_text(plan, sql=sql) for _, _, plan in self.own]
        parts += [plan_text(plan, sql=sql) for _, _, plan in self.joined]
        named = [self.rules.rules[i] for i, _ in self.inclusions]
        if named:
            parts.append("\n".join(["look up values in the other table", *(f"  {r.name}: {r}" for r in named)]))
        return "\n".join(parts)


@dataclass(frozen=True)
class JoinedRows:
    """The rows of two tables, one after the other; a column of one is null in the rows of the other."""

    names: tuple[str, str]
    sizes: tuple[int, int]
    table: LocalTable

    def place(self, row: int) -> tuple[int, int]:
        """Which of the tables a row is of, and its position there."""
        return (0, row) if row < self.sizes[0] else (1, row - self.sizes[0])


def joined_rows(names: tuple[str, str], tables: Sequence[LocalTable], columns: Iterable[str]) -> JoinedRows:
    """The rows of both tables with those of their columns that are wanted, under their joint names."""
    wanted = set(columns)
    sizes = (tables[0].rows.num_rows, tables[1].rows.num_rows)
    joined: dict[str, pa.ChunkedArray] = {}
    for at, (name, table) in enumerate(zip(names, tables, strict=True)):
        for column in table.rows.column_names:
            if joint_name(name, column) not in wanted:
                continue
            values = decoded(table.rows.column(column))
            nothing = pa.nulls(sizes[1 - at], values.type)
            chunks = [*values.chunks, nothing] if at == 0 else [nothing, *values.chunks]
            joined[joint_name(name, column)] = pa.chunked_array(chunks, values.type)
    places = pa.array(np.repeat(np.arange(2, dtype=np.int32), sizes))
    joined[TABLE] = pa.chunked_array([pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))])
    return JoinedRows(names, sizes, LocalTable(pa.table(joined), " and ".join(names)))


# Planning -----------------------------------------------------------------------------------------------------


def plan_tables(sources: Mapping[str, TableSource], rules: RuleSet) -> TablesPlan:
    """The plan of checking the rules on the tables. Refuses tables and columns that are not there, senseless
    comparisons, and rules that do not say of which table they are."""
    for rule in rules:
        require_table(rule, sources)
    tables = {name: replace(source.whole, name=name) for name, source in sources.items()}
    schemas = {name: schema_of(table) for name, table in tables.items()}
    for rule in rules:
        for column in table_columns(rule.body):
            if column.own not in schemas[column.table].types:
                named = f"rule {rule.name!r} compares {str(column)!r}"
                raise unknown_column(named, column.own, column.table, schemas[column.table].types)
    keys, notes = {}, [f"{name}: {note}" for name, table in tables.items() for note in table.notes]
    for name, table in tables.items():
        keys[name], problem = _usable_key(table, schemas[name], sources[name].key)
        notes += [] if problem is None else [f"{name}: {problem}; its rows are named by _row instead"]
    return TablesPlan(
        rules,
        tables,
        keys,
        tuple(_own_plans(tables, keys, rules)),
        tuple(_joined_plans(tables, rules)),
        tuple(_inclusion_programs(tables, schemas, rules)),
        tuple(notes),
    )


def _usable_key(table: LocalTable, schema: Schema, key: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The key, or none and the reason, where it is null in some row or two rows share it."""
    plan = plan_check(table, RuleSet((), key), key)
    scan = LocalScan(table, make_plan(RuleSet(()), schema, plan.key))
    problem = key_missing(key, scan.missing_keys)
    if problem is None and key:
        twice = scan.findings("summary", (), None)
        lines = list(zip(twice["key"].to_pylist(), twice["n"].to_pylist(), strict=True))
        named = (scan.keys[lines[0][0]].as_py(), lines[0][1]) if lines else None
        problem = key_twice(key, named, frozenset())
    return (key, None) if problem is None else ((), problem)


def _own_plans(
    tables: Mapping[str, LocalTable], keys: Mapping[str, tuple[str, ...]], rules: RuleSet
) -> Iterable[tuple[str, tuple[int, ...], Plan]]:
    for name, table in tables.items():
        which = [i for i, rule in enumerate(rules) if rule.tables == (name,) and rule.kind != "ind"]
        if which:
            own = [replace(rules.rules[i], body=of_its_table(rules.rules[i].body), table=None) for i in which]
            yield name, tuple(which), plan_check(table, RuleSet(tuple(own), keys[name], rules.nulls), keys[name])


def _joined_plans(
    tables: Mapping[str, LocalTable], rules: RuleSet
) -> Iterable[tuple[JoinedRows, tuple[int, ...], Plan]]:
    by_tables: dict[tuple[str, str], list[int]] = {}
    for i, rule in enumerate(rules):
        if len(rule.tables) == 2 and rule.kind != "ind":
            by_tables.setdefault((rule.tables[0], rule.tables[1]), []).append(i)
    for names, which in by_tables.items():
        compared = [rules.rules[i] for i in which]
        columns = {column.name for rule in compared for column in table_columns(rule.body)}
        rows = joined_rows(names, [tables[name] for name in names], columns)
        yield rows, tuple(which), plan_check(rows.table, RuleSet(tuple(compared), (), rules.nulls), ())


def _inclusion_programs(
    tables: Mapping[str, LocalTable], schemas: Mapping[str, Schema], rules: RuleSet
) -> Iterable[tuple[int, InclusionProgram]]:
    types: dict[str, ColumnType] = {
        joint_name(name, column): kind for name, schema in schemas.items() for column, kind in schema.types.items()
    }
    for i, rule in enumerate(rules):
        if not isinstance(rule.body, Inclusion):
            continue
        known = Schema(" and ".join(rule.tables), {name: types[name] for name in rule.body.columns})
        alone = replace(rules, rules=(rule,))
        odd = mismatched_columns(alone, known)
        empty = [c.name for c in table_columns(rule.body) if c.name in odd and _is_empty(tables[c.table], c.own)]
        known = without_types(known, empty)
        require_types(alone, known)
        if rule.where is not None:  # whether it can be computed shows without any row
            table = tables[rule.body.tables[0]]
            flag_values(Where(rule.where), _columns(replace(table, rows=table.rows.slice(0, 0)), rules.nulls))
        yield i, compile_inclusion(rule.body, known.types, rules.nulls)


def _is_empty(table: LocalTable, column: str) -> bool:
    return bool(table.rows.column(column).null_count == table.rows.num_rows)


def _columns(table: LocalTable, nulls: Nulls) -> TableColumns:
    return TableColumns(table.rows, schema_of(table).types, nulls)


# Running ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedTable:
    """One of the tables of a check: its rows, and how they are named and ordered."""

    name: str
    table: LocalTable
    key: tuple[str, ...]
    hidden: frozenset[str]

    @cached_property
    def keys(self) -> pa.ChunkedArray:
        rows = self.table.rows
        if not self.key:
            return pa.chunked_array([pa.array(np.arange(rows.num_rows))])
        return key_of(pa.table({name: decoded(rows.column(name)) for name in self.key}), self.key, self.key)

    @cached_property
    def order(self) -> Ints:
        return shared_codes([self.keys])[0].codes

    @property
    def hides_key(self) -> bool:
        return bool(self.hidden & set(self.key))

    @property
    def hidden_joint(self) -> frozenset[str]:
        """The columns whose values nobody is shown, under their joint names."""
        return frozenset(joint_name(self.name, column) for column in self.hidden)

    def key_at(self, position: int) -> Any:
        """The key of a row, as a person is shown it."""
        return HIDDEN if self.hides_key else plain_key(plain_value(self.keys[position]))

    @cached_property
    def key_texts(self) -> pa.Array:
        """The keys as text."""
        return _key_texts(one_array(self.keys))


@dataclass(frozen=True)
class RowLines:
    """Violating rows of a rule, by their positions in the table with this number."""

    rule: int
    table: int
    rows: Ints
    conflicts: Ints
    suspect: Bools


@dataclass(frozen=True)
class PairLines:
    """Violating pairs of a rule, by the positions of their rows in the two tables with these numbers."""

    rule: int
    tables: tuple[int, int]
    left: Ints
    right: Ints


class RulesPart(Protocol):
    """Some of the rules of a check, and what was found of them; rules by their numbers among all."""

    def outcomes(self) -> dict[int, RuleOutcome]: ...

    def detailed(self) -> dict[int, RuleOutcome]: ...

    def shown(self) -> dict[int, ShownRule]: ...

    def row_lines(self) -> Iterable[RowLines]: ...

    def pair_lines(self) -> Iterable[PairLines]: ...

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        """(number of the table, its groups), with keys as the table has them."""


@dataclass(frozen=True)
class OwnRules:
    """The rules of one table, which are a check of it."""

    which: tuple[int, ...]
    rules: RuleSet
    place: int
    table: CheckedTable
    result: LocalCheckResult

    def outcomes(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.outcome.rules)

    def detailed(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.detailed.rules)

    def shown(self) -> dict[int, ShownRule]:
        numbered: dict[int, ShownRule] = {}
        for i, shown in zip(self.which, self.result.shown.rules, strict=True):
            witnesses = tuple(replace(witness, tables=(self.table.name,)) for witness in shown.witnesses)
            numbered[i] = replace(shown, found=self._named(i, shown.found), witnesses=witnesses)
        return numbered

    def _numbered(self, found: Sequence[RuleOutcome]) -> dict[int, RuleOutcome]:
        return {i: self._named(i, outcome) for i, outcome in zip(self.which, found, strict=True)}

    def _named(self, i: int, outcome: RuleOutcome) -> RuleOutcome:
        witness = None if outcome.witness is None else replace(outcome.witness, tables=(self.table.name,))
        return replace(outcome, rule=self.rules.rules[i], witness=witness)

    def row_lines(self) -> Iterable[RowLines]:
        for i, rows, conflicts, suspect in _lines_of(self.result):
            yield RowLines(self.which[i], self.place, rows, conflicts, suspect)

    def pair_lines(self) -> Iterable[PairLines]:
        for i, left, right in _pairs_of(self.result):
            yield PairLines(self.which[i], (self.place, self.place), left, right)

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        yield self.place, self.result.groups.to_arrow()


@dataclass(frozen=True)
class JoinedRules:
    """Rules that compare rows of two tables, which are a check of the rows of both together."""

    which: tuple[int, ...]
    rules: RuleSet
    places: tuple[int, int]
    tables: tuple[CheckedTable, CheckedTable]
    rows: JoinedRows
    result: LocalCheckResult

    def outcomes(self) -> dict[int, RuleOutcome]:
        return {i: self._named(i, found) for i, found in zip(self.which, self.result.outcome.rules, strict=True)}

    def detailed(self) -> dict[int, RuleOutcome]:
        return {i: self._named(i, found) for i, found in zip(self.which, self.result.detailed.rules, strict=True)}

    def shown(self) -> dict[int, ShownRule]:
        numbered: dict[int, ShownRule] = {}
        for i, shown in zip(self.which, self.result.shown.rules, strict=True):
            numbered[i] = replace(
                shown,
                found=self._named(i, shown.found),
                witnesses=tuple(map(self._witness, shown.witnesses)),
                worst=tuple(map(self._worst, shown.worst)),
            )
        return numbered

    def _named(self, i: int, found: RuleOutcome) -> RuleOutcome:
        rule = self.rules.rules[i]
        left, right = self.rows.sizes
        holds = rule_holds(
            rule,
            suspects=found.suspect_rows,
            violating_rows=found.violating_rows,
            pairs=found.violating_pairs,
            symmetric=False,
            rows=left + right,
            possible_pairs=left * right,
        )
        witness = None if found.witness is None else self._witness(found.witness)
        return replace(found, rule=rule, holds=holds, witness=witness, worst=tuple(map(self._worst, found.worst)))

    def _witness(self, witness: Witness) -> Witness:
        """The witness with the keys of the tables, each row with the columns of its table."""
        assert witness.right is not None, "such a rule is broken by pairs"
        named = []
        for row, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
            at, position = self.rows.place(row)
            own = {joint_name(self.tables[at].name, column) for column in self.tables[at].table.rows.column_names}
            named.append(
                (self.tables[at].key_at(position), {name: value for name, value in values.items() if name in own})
            )
        (left_key, left), (right_key, right) = named
        return replace(witness, left_key=left_key, left=left, right_key=right_key, right=right, tables=self.rows.names)

    def _worst(self, row: WorstRow) -> WorstRow:
        at, position = self.rows.place(row.key)
        return WorstRow(f"{self.tables[at].name} {value_text(self.tables[at].key_at(position))}", row.conflicts)

    def row_lines(self) -> Iterable[RowLines]:
        for i, rows, conflicts, suspect in _lines_of(self.result):
            of_first = rows < self.rows.sizes[0]
            for place, fit, before in ((0, of_first, 0), (1, ~of_first, self.rows.sizes[0])):
                yield RowLines(self.which[i], self.places[place], rows[fit] - before, conflicts[fit], suspect[fit])

    def pair_lines(self) -> Iterable[PairLines]:
        for i, left, right in _pairs_of(self.result):
            yield PairLines(self.which[i], self.places, left, right - self.rows.sizes[0])

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        return ()


@dataclass(frozen=True)
class InclusionRule:
    """An inclusion, and the rows of the first table that refer to what the second does not have."""

    i: int
    rule: Rule
    body: Inclusion
    place: int
    table: CheckedTable
    asked: int
    missing: DanglingRows

    def outcomes(self) -> dict[int, RuleOutcome]:
        many = len(self.missing.rows)
        holds = rule_holds(self.rule, suspects=many, violating_rows=many, pairs=None, symmetric=False, rows=self.asked)
        return {self.i: RuleOutcome(self.rule, holds, None, many, many, self.missing.distinct)}

    @cached_property
    def _sides(self) -> tuple[list[Side], int]:
        """The missing values that most rows have, as a report shows them, and how many others there are."""
        sizes, members, ends = self.missing.members(self.table.order, KEYS)
        starts = np.concatenate([[0], ends])
        shown = min(SIDES, len(sizes))
        first = pa.array(members[starts[:shown]], pa.int64()) if shown else pa.array([], pa.int64())
        texts = self._texts(first).to_pylist()
        sides = [
            Side(
                HIDDEN if self._hides_values else texts[at],
                int(sizes[at]),
                () if self.table.hides_key else tuple(map(self.table.key_at, members[starts[at] : ends[at]].tolist())),
            )
            for at in range(shown)
        ]
        return sides, len(sizes) - shown

    @property
    def _hides_values(self) -> bool:
        return bool(self.table.hidden & set(self.body.left))

    def _texts(self, rows: pa.Array) -> pa.Array:
        """The values of these rows in the columns of the inclusion, as text with commas between."""
        columns = [value_texts(self.table.table.rows.column(name).take(rows)) for name in self.body.left]
        if len(columns) == 1:
            return columns[0]
        return pc.binary_join_element_wise(*(pc.fill_null(column, "null") for column in columns), ", ")

    def detailed(self) -> dict[int, RuleOutcome]:
        found = self.outcomes()[self.i]
        if not found.violating_rows:
            return {self.i: found}
        first = self._first_rows(_MISSING)
        missing = tuple(MissingValue(side.value, side.rows) for side in self._sides[0][:_MISSING])
        worst = tuple(WorstRow(self.table.key_at(row), 0) for row in first)
        return {self.i: replace(found, witness=self._witness(first[0]), worst=worst, missing=missing)}

    def _first_rows(self, most: int) -> list[int]:
        rows = self.missing.rows
        listed: list[int] = rows[np.argsort(self.table.order[rows], kind="stable")[:most]].tolist()
        return listed

    def _witness(self, row: int) -> Witness:
        rows = self.table.table.rows
        values = {joint_name(self.table.name, n): plain_value(rows.column(n)[row]) for n in self.body.left}
        witness = Witness(
            self.table.key_at(row), values, shown=tuple(values), marked=tuple(values), tables=(self.table.name,)
        )
        return hidden_witness(witness, self.table.hidden_joint, False)

    def shown(self) -> dict[int, ShownRule]:
        found = self.detailed()[self.i]
        if not found.violating_rows:
            return {self.i: ShownRule(found)}
        sides, more = self._sides
        other = self.body.tables[1]
        group = ShownGroup(
            f"not in {other}({', '.join(map(quoted_name, self.body.right))})",
            ", ".join(self.body.left),
            found.violating_rows,
            tuple(sides),
            more,
            suggests=False,
        )
        first = self._first_rows(WORST)
        worst = hidden_keys(tuple(WorstRow(self.table.key_at(row), 0) for row in first), self.table.hides_key)
        witnesses = tuple(self._witness(row) for row in first[:PAIRS])
        return {self.i: ShownRule(found, witnesses, worst, (group,))}

    def row_lines(self) -> Iterable[RowLines]:
        rows = self.missing.rows
        yield RowLines(self.i, self.place, rows, np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_))

    def pair_lines(self) -> Iterable[PairLines]:
        return ()

    def group_tables(self) -> Iterable[tuple[int, pa.Table]]:
        sizes, members, ends = self.missing.members(self.table.order, KEYS_PER_GROUP)
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        texts = self._texts(pa.array(members[offsets[:-1]], pa.int64()))
        columns = ", ".join(self.body.left)
        yield (
            self.place,
            pa.table(
                {
                    "rule": pa.repeat(self.rule.name, len(sizes)),
                    "group": pc.fill_null(texts, "null"),
                    "column": pa.repeat(columns, len(sizes)),
                    "value": texts,
                    "rows": pa.array(sizes),
                    "keys": pa.ListArray.from_arrays(
                        pa.array(offsets), one_array(self.table.keys.take(pa.array(members, pa.int64())))
                    ),
                }
            ),
        )


def _key_texts(keys: pa.Array) -> pa.Array:
    """Keys as text; of several columns, their values with commas between."""
    if not pa.types.is_struct(keys.type):
        return spark_text(keys)
    return pc.binary_join_element_wise(*(spark_text(part) for part in keys.flatten()), ", ")


def _lines_of(result: LocalCheckResult) -> Iterable[tuple[int, Ints, Ints, Bools]]:
    """(rule, positions, conflicts, suspect) of the rules that have violating rows."""
    lines = result.row_findings
    rule, row, n = (lines[name].to_numpy() for name in ("i", "key", "n"))
    suspect = lines["suspect"].to_numpy().astype(np.bool_)
    for i in np.unique(rule).tolist():
        fit = rule == i
        yield i, row[fit], n[fit], suspect[fit]


def _pairs_of(result: LocalCheckResult) -> Iterable[tuple[int, Ints, Ints]]:
    lines = result.pair_findings
    rule, left, right = (lines[name].to_numpy() for name in ("i", "key", "other"))
    for i in np.unique(rule).tolist():
        fit = rule == i
        yield i, left[fit], right[fit]


def run_tables_check(
    plan: TablesPlan, *, limit: int | None, fail_on: FailOn, redact: Sequence[str], started: float
) -> TablesCheckResult:
    """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact."""
    hidden = _hidden(redact, plan.tables)
    tables = {name: CheckedTable(name, table, plan.keys[name], hidden[name]) for name, table in plan.tables.items()}
    number = {name: at for at, name in enumerate(tables)}
    notes = list(plan.notes)
    parts: list[RulesPart] = []
    for name, which, own in plan.own:
        result = run_check(plan.tables[name], own, limit=limit, fail_on=fail_on, redact=sorted(hidden[name]))
        known = set(plan.tables[name].notes)
        notes += [f"{name}: {note}" for note in result.outcome.notes if note not in known]
        parts.append(OwnRules(which, plan.rules, number[name], tables[name], result))
    for rows, which, joined in plan.joined:
        left, right = (tables[name] for name in rows.names)
        order = np.concatenate([left.order, right.order + (1 + left.order.max(initial=0) - right.order.min(initial=0))])
        unseen = sorted((left.hidden_joint | right.hidden_joint) & set(rows.table.rows.column_names))
        result = run_check(rows.table, joined, limit=limit, fail_on=fail_on, redact=unseen, row_order=order)
        notes += result.outcome.notes
        places = (number[rows.names[0]], number[rows.names[1]])
        parts.append(JoinedRules(which, plan.rules, places, (left, right), rows, result))
    for i, program in plan.inclusions:
        parts.append(_inclusion(i, plan.rules.rules[i], program, tables, number))
    found: dict[int, RuleOutcome] = {}
    for part in parts:
        found.update(part.outcomes())
    outcome = CheckOutcome(
        table=", ".join(tables),
        rows=sum(table.rows.num_rows for table in plan.tables.values()),
        key=(),
        seconds=time.monotonic() - started,
        rules=tuple(found[i] for i in range(len(plan.rules))),
        fail_on=fail_on,
        limit=limit,
        notes=tuple(dict.fromkeys(notes)),
        engine="local",
        tables=tuple(TableSummary(name, table.table.rows.num_rows, table.key) for name, table in tables.items()),
    )
    return TablesCheckResult(outcome, tuple(tables.values()), tuple(parts))


def _hidden(redact: Sequence[str], tables: Mapping[str, LocalTable]) -> dict[str, frozenset[str]]:
    """Per table, the columns that nobody is shown: `orders.card`, or `card` for those of all tables that have one."""
    hidden: dict[str, set[str]] = {name: set() for name in tables}
    joint = [joint_name(name, column) for name, table in tables.items() for column in table.rows.column_names]
    for wanted in redact:
        fit = [
            (name, column)
            for name, table in tables.items()
            for column in table.rows.column_names
            if wanted in (column, joint_name(name, column))
        ]
        if not fit:
            raise unknown_column(f"--redact names {wanted!r}", wanted, ", ".join(tables), joint)
        for name, column in fit:
            hidden[name].add(column)
    return {name: frozenset(columns) for name, columns in hidden.items()}


def _inclusion(
    i: int, rule: Rule, program: InclusionProgram, tables: Mapping[str, CheckedTable], number: Mapping[str, int]
) -> InclusionRule:
    assert isinstance(rule.body, Inclusion), "a program of an inclusion is made of one"
    first, second = (tables[name] for name in rule.body.tables)
    columns = [_joint_columns(table, program.nulls) for table in (first, second)]
    scope = None
    if rule.where is not None:
        scope = flag_values(Where(rule.where), _columns(first.table, program.nulls))

    def search() -> DanglingRows:
        pairs = zip(program.left, program.right, strict=True)
        sides = [shared_codes([columns[0].form(a), columns[1].form(b)]) for a, b in pairs]
        return missing_values([(left, right) for left, right in sides], program.nulls, scope)

    asked = first.table.rows.num_rows if scope is None else int(scope.sum())
    missing = interruptible(search)
    return InclusionRule(i, rule, rule.body, number[first.name], first, asked, missing)


def _joint_columns(table: CheckedTable, nulls: Nulls) -> TableColumns:
    """The table's columns under their joint names."""
    types = schema_of(table.table).types
    rows = table.table.rows
    renamed = rows.rename_columns([joint_name(table.name, column) for column in rows.column_names])
    return TableColumns(renamed, {joint_name(table.name, column): kind for column, kind in types.items()}, nulls)


class TablesCheckResult(ShownResult):
    """What a check of several tables found; tables of violations are computed when they are used.

    In them a row is named by its table and its key. Keys keep their type where all tables have keys of one type, and
    are text otherwise.
    """

    def __init__(self, outcome: CheckOutcome, tables: tuple[CheckedTable, ...], parts: tuple[RulesPart, ...]) -> None:
        self.outcome, self._tables, self._parts = outcome, tables, parts

    def __enter__(self) -> TablesCheckResult:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is kept but the rows themselves, which go with this result."""

    @cached_property
    def detailed(self) -> CheckOutcome:
        found: dict[int, RuleOutcome] = {}
        for part in self._parts:
            found.update(part.detailed())
        return replace(self.outcome, rules=tuple(found[i] for i in range(len(found))))

    @cached_property
    def shown(self) -> ShownCheck:
        shown: dict[int, ShownRule] = {}
        for part in self._parts:
            shown.update(part.shown())
        return ShownCheck(self.outcome, tuple(shown[i] for i in range(len(shown))))

    # Tables ----------------------------------------------------------------------------------------------------

    @property
    def _key_type(self) -> pa.DataType:
        kinds = {table.keys.type for table in self._tables}
        return kinds.pop() if len(kinds) == 1 else pa.string()

    def _keys(self, table: int, rows: Ints) -> pa.Array:
        own = self._tables[table]
        keys = own.key_texts if self._key_type == pa.string() else one_array(own.keys)
        return keys.take(pa.array(rows, pa.int64()))

    def _rule_name(self, i: int) -> str:
        return self.outcome.rules[i].rule.name

    @cached_property
    def _row_lines(self) -> list[RowLines]:
        lines = [line for part in self._parts for line in part.row_lines() if len(line.rows)]
        return sorted(lines, key=lambda line: line.rule)

    @cached_property
    def pairs(self) -> ResultTable:
        """(rule, left, right, left_table, right_table): the violating pairs of two-row rules, at most `limit` each."""
        schema = pa.schema(
            {
                "rule": pa.string(),
                "left": self._key_type,
                "right": self._key_type,
                "left_table": pa.string(),
                "right_table": pa.string(),
            }
        )

        def compute() -> pa.Table:
            lines = sorted((line for part in self._parts for line in part.pair_lines()), key=lambda line: line.rule)
            return _stacked(
                schema,
                (
                    [
                        pa.repeat(self._rule_name(line.rule), len(line.left)),
                        self._keys(line.tables[0], line.left),
                        self._keys(line.tables[1], line.right),
                        pa.repeat(self._tables[line.tables[0]].name, len(line.left)),
                        pa.repeat(self._tables[line.tables[1]].name, len(line.left)),
                    ]
                    for line in lines
                ),
            )

        return ArrowResult(schema, compute)

    @cached_property
    def rows(self) -> ResultTable:
        """(rule, key, conflicts, table): every violating row, with the number of violating pairs it is in."""
        schema = pa.schema({"rule": pa.string(), "key": self._key_type, "conflicts": pa.int64(), "table": pa.string()})

        def compute() -> pa.Table:
            return _stacked(
                schema,
                (
                    [
                        pa.repeat(self._rule_name(line.rule), len(line.rows)),
                        self._keys(line.table, line.rows),
                        pa.array(line.conflicts, pa.int64()),
                        pa.repeat(self._tables[line.table].name, len(line.rows)),
                    ]
                    for line in self._row_lines
                ),
            )

        return ArrowResult(schema, compute)

    @cached_property
    def suspects(self) -> ResultTable:
        """(rule, key, table): the rows that would have to go; where those are unknown, all violating rows."""
        schema = pa.schema({"rule": pa.string(), "key": self._key_type, "table": pa.string()})

        def compute() -> pa.Table:
            return _stacked(
                schema,
                (
                    [
                        pa.repeat(self._rule_name(line.rule), int(line.suspect.sum())),
                        self._keys(line.table, line.rows[line.suspect]),
                        pa.repeat(self._tables[line.table].name, int(line.suspect.sum())),
                    ]
                    for line in self._row_lines
                ),
            )

        return ArrowResult(schema, compute)

    @cached_property
    def groups(self) -> ResultTable:
        """(rule, group, column, value, rows, keys, table): how the groups that violate an FD or CFD are divided; of an
        inclusion, the values that are missing."""
        schema = pa.schema(
            {
                "rule": pa.string(),
                "group": pa.string(),
                "column": pa.string(),
                "value": pa.string(),
                "rows": pa.int64(),
                "keys": pa.list_(self._key_type),
                "table": pa.string(),
            }
        )
        as_text = self._key_type == pa.string()

        def compute() -> pa.Table:
            parts = []
            for part in self._parts:
                for number, groups in part.group_tables():
                    keys = one_array(groups["keys"])
                    inner = _key_texts(keys.values) if as_text else keys.values
                    listed = pa.ListArray.from_arrays(keys.offsets, inner)
                    table = pa.repeat(self._tables[number].name, groups.num_rows)
                    parts.append(
                        groups.drop_columns(["keys"]).append_column("keys", listed).append_column("table", table)
                    )
            order = {outcome.rule.name: i for i, outcome in enumerate(self.outcome.rules)}
            whole = pa.concat_tables([table.cast(schema) for table in parts]) if parts else schema.empty_table()
            ranks = np.array([order[name] for name in whole["rule"].to_pylist()], np.int64)
            return whole.take(pa.array(np.argsort(ranks, kind="stable"), pa.int64()))

        return ArrowResult(schema, compute)

    def split(self) -> dict[str, tuple[ResultTable, ResultTable]]:
        """Per table (clean, quarantined): it without its suspect rows, and those, with the rules they break."""
        counted = {o.rule.name for o in self.outcome.rules if self.outcome.counts(o)}
        broken: list[dict[int, list[str]]] = [{} for _ in self._tables]
        for line in self._row_lines:
            name = self._rule_name(line.rule)
            for row in line.rows[line.suspect].tolist() if name in counted else ():
                broken[line.table].setdefault(row, []).append(name)
        return {
            table.name: _split(table.table.rows, by_row) for table, by_row in zip(self._tables, broken, strict=True)
        }

    # Files -----------------------------------------------------------------------------------------------------

    def write_violations(self, folder: str) -> None:
        """Writes `pairs`, `rows` and `groups` as Parquet below the folder, replacing earlier results."""
        write_folders(dict(zip(VIOLATION_FOLDERS, (self.pairs, self.rows, self.groups), strict=True)), folder)

    def write_quarantine(self, folder: str) -> None:
        """Writes, below the folder, a folder per table with its `clean` and its `quarantined` rows as Parquet."""
        tables = {
            os.path.join(name, part): table
            for name, split in self.split().items()
            for part, table in zip(QUARANTINE_FOLDERS, split, strict=True)
        }
        write_folders(tables, folder, parts=tuple(table.name for table in self._tables))

    def append_metrics(self, folder: str) -> None:
        """Adds a line for each rule to the Parquet table in the folder."""
        append_metric_lines(self.outcome, folder)


def _stacked(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> pa.Table:
    tables = [pa.table(columns, schema=schema) for columns in parts]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _split(rows: pa.Table, broken: Mapping[int, Sequence[str]]) -> tuple[ResultTable, ResultTable]:
    whole = pa.table([decoded(column) for column in rows.columns], names=rows.column_names)

    def clean() -> pa.Table:
        kept = np.ones(whole.num_rows, np.bool_)
        kept[list(broken)] = False
        return whole.filter(pa.array(kept))

    def quarantined() -> pa.Table:
        positions = sorted(broken)
        names = pa.array([sorted(broken[position]) for position in positions], pa.list_(pa.string()))
        return whole.take(pa.array(positions, pa.int64())).append_column(BROKEN_RULES, names)

    with_rules = whole.schema.append(pa.field(BROKEN_RULES, pa.list_(pa.string())))
    return ArrowResult(whole.schema, clean), ArrowResult(with_rules, quarantined)
