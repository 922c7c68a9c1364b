"""A check in this process: the programs of a plan, run by the tasks of a check over one Arrow table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.checking.annotated import DEFAULT_PARTNERS, require_annotatable
from holdfast.checking.group_sql import KEYS_PER_GROUP
from holdfast.checking.outcome import CheckOutcome, FailOn, Summary
from holdfast.checking.output_folders import BROKEN_RULES
from holdfast.checking.plan_text import filter_note
from holdfast.checking.shown_check import DOTS, GROUPS, KEYS, LINES, SIDES, WORST, Duplicate, ShownGroup, Side
from holdfast.checking.task import Mode, Task, summaries
from holdfast.encode.codes import Coded, dense_ids, shared_codes
from holdfast.encode.column_type import column_type
from holdfast.encode.one_array import decoded, one_array
from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.encode.spark_json import spark_json
from holdfast.encode.spark_text import cell_texts, spark_text
from holdfast.engines.check_result import (
    CheckResult,
    Values,
    hashable,
    hidden_columns,
    key_missing,
    key_twice,
    plain_key,
    rounding_notes,
    rule_outcome,
)
from holdfast.engines.local.annotated import BrokenRows, annotated_rows, broken_rows
from holdfast.engines.local.interruptible import interruptible, interruptible_each
from holdfast.engines.local.metrics_folder import append_metric_lines
from holdfast.engines.result_table import ArrowResult
from holdfast.errors import SourceError
from holdfast.explaining.explained_row import explained_row
from holdfast.explaining.explanation import RowExplanation, redacted_explanation
from holdfast.explaining.limits import most_rows
from holdfast.explaining.trial import RowTrial, suggestions_schema
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.bind import (
    Schema,
    mismatched_columns,
    require_columns,
    require_key_types,
    require_types,
    without_types,
)
from holdfast.programs.form import Where
from holdfast.programs.plan import Plan, make_plan
from holdfast.programs.program import GroupProgram
from holdfast.rules.dependency import Key
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import RuleSet
from holdfast.states.segment import key_of
from holdfast.tables.local_table import LocalTable
from holdfast.violations.evaluate import UNLIMITED, group_sides
from holdfast.violations.part import Part, families
from holdfast.violations.witness import WorstRow

Ints = NDArray[np.int64]


def schema_of(table: LocalTable) -> Schema:
    """The table's columns with the types that rules see. Raises SourceError where two have one name."""
    names = table.rows.column_names
    twice = sorted(name for name, many in Counter(names).items() if many > 1)
    if twice:
        raise SourceError(
            f"the table {table.name} has two columns called {', '.join(map(quoted_name, twice))}.",
            hint="rename one of them before the check.",
        )
    return Schema(table.name, {name: column_type(sql) for name, sql in table.sql_types.items()})


def filtered_table(table: LocalTable, condition: str | None) -> LocalTable:
    """The rows of the table that satisfy the condition, which a note says; all of them where there is none.

    Raises ConditionError where it says more than can be computed in this process.
    """
    if condition is None:
        return table
    fit = flag_values(Where(condition), TableColumns(table.rows, schema_of(table).types, "sql"))
    return replace(table, rows=table.rows.filter(pa.array(fit)), notes=(*table.notes, filter_note(condition)))


def plan_check(table: LocalTable, rules: RuleSet, key: Sequence[str]) -> Plan:
    """The plan of checking the rules on the table; refuses columns that are not there and senseless comparisons.

    Raises ConditionError where a `where` says more than can be computed in this process.
    """
    schema = schema_of(table)
    require_columns(rules, key, schema)
    require_key_types(key, schema)
    odd = mismatched_columns(rules, schema)
    if odd:
        # A column that is entirely null has no type and compares with anything.
        rows = table.rows
        schema = without_types(schema, [name for name in odd if rows.column(name).null_count == rows.num_rows])
        require_types(rules, schema)
    plan = make_plan(rules, schema, key)
    columns = TableColumns(table.rows.slice(0, 0), schema.types, rules.nulls)
    for condition in plan.conditions:
        flag_values(Where(condition), columns)  # whether it can be computed shows without any row
    return plan


@dataclass(frozen=True)
class LocalScan:
    """The rows of a table as the programs of a plan read them."""

    table: LocalTable
    plan: Plan
    # The order of the rows, where it is another than that of their keys.
    row_order: Ints | None = None

    @cached_property
    def columns(self) -> TableColumns:
        return TableColumns.of(self.table.rows, self.plan)

    @cached_property
    def keys(self) -> pa.ChunkedArray:
        """The name of each row: the value of its key column, a struct of several, or its number."""
        rows, key = self.table.rows, self.plan.key
        if not key:
            return pa.chunked_array([pa.array(np.arange(rows.num_rows))])
        return key_of(pa.table({name: decoded(rows.column(name)) for name in key}), key, key)

    @cached_property
    def part(self) -> Part:
        """Forms and flags as arrays; forms that some program compares with each other share their codes."""
        programs, columns = self.plan.programs, self.columns
        forms: dict[int, Coded] = {}
        flags: list[NDArray[np.bool_]] = []

        def encode(family: Sequence[int]) -> None:
            values = [columns.form(programs.forms[i]) for i in family]
            forms.update(zip(family, shared_codes(values), strict=True))

        def decide_flags() -> None:
            flags.extend(flag_values(flag, columns) for flag in programs.flags)

        def order_keys() -> Ints:
            return shared_codes([self.keys])[0].codes if self.row_order is None else self.row_order

        works: list[Callable[[], Any]] = [order_keys, decide_flags]
        works += [partial(encode, family) for family in families(programs.programs, len(programs.forms))]
        order = interruptible_each(lambda work: work(), works)[0]
        return Part(len(columns), [forms[i] for i in range(len(forms))], flags, order, programs.nulls)

    @property
    def missing_keys(self) -> int:
        """In how many rows a column of the key is null."""
        columns = [self.table.rows.column(name) for name in self.plan.key]
        if not any(column.null_count for column in columns):
            return 0
        valid = [column.is_valid().to_numpy() for column in columns]
        return int((~np.logical_and.reduce(valid)).sum())

    def in_scope(self, i: int) -> NDArray[np.bool_] | None:
        """Which rows rule i speaks of; None for all."""
        where = self.plan.rules.rules[i].where
        return None if where is None else flag_values(Where(where), self.columns)

    def findings(self, mode: Mode, which: Iterable[int], limit: int | None) -> pa.Table:
        """The findings of the rules; `key` and `other` are positions of rows."""
        part, which = self.part, tuple(which)
        if not which and mode == "summary" and (part.order[1:] > part.order[:-1]).all():
            return _FINDINGS.empty_table()  # positions of very many rows take time to write down
        positions = pa.chunked_array([pa.array(np.arange(part.size))])
        task = Task(self.plan.programs, which, mode, UNLIMITED if limit is None else limit)
        twice = interruptible(lambda: task.key_twice(positions, part))
        if twice is not None:
            return pa.Table.from_batches([twice], _FINDINGS)
        by_rule = interruptible_each(lambda i: list(task.findings_of(i, positions, part)), task.which)
        return pa.Table.from_batches(chain.from_iterable(by_rule), _FINDINGS)


_FINDINGS = pa.schema(
    {
        "i": pa.int32(),
        "what": pa.string(),
        "n": pa.int64(),
        "m": pa.int64(),
        "suspect": pa.bool_(),
        "key": pa.int64(),
        "other": pa.int64(),
    }
)


def run_check(
    table: LocalTable,
    plan: Plan,
    *,
    limit: int | None,
    fail_on: FailOn = "error",
    key_required: bool = False,
    redact: Sequence[str] = (),
    whole: Callable[[], pa.Table] | None = None,
    started: float | None = None,
    row_order: Ints | None = None,
) -> LocalCheckResult:
    """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact.

    A key that is null or occurs twice is told in the notes, and rows are numbered instead; with `key_required`, that is
    a SourceError. The values of the columns in `redact` are not shown to anybody. `whole` reads the table with all its
    columns, where it has not got all. `started` is when the job began, by the monotonic clock. `row_order` is the order
    of rows without a key.
    """
    hidden = hidden_columns(redact, table.rows.column_names, table.name)
    begun = time.monotonic() if started is None else started
    notes = list(table.notes)
    scan = LocalScan(table, plan, row_order)
    everything = range(len(plan.rules))
    summaries: dict[int, Summary] = {}
    problem = key_missing(plan.key, scan.missing_keys)
    if problem is None:
        summaries, twice = _summaries(scan, everything, limit)
        named = None if twice is None else (scan.keys[int(twice[0])].as_py(), twice[1])
        problem = key_twice(plan.key, named, hidden)
    if problem is not None:
        if key_required:
            raise SourceError(f"{table.name}: {problem}.", hint="name a key that every row has, and no two rows share.")
        notes.append(f"{problem}; rows are named by _row instead")
        scan = LocalScan(table, replace(plan, key=()))
        summaries, _ = _summaries(scan, everything, limit)
    scopes = [scan.in_scope(i) for i in everything]
    counted = [scan.part.size if scope is None else int(scope.sum()) for scope in scopes]
    for vanishing in plan.vanishing:
        scope, gone = scopes[vanishing.rule], scan.columns.vanishes(vanishing.column)
        if many := int((gone if scope is None else gone & scope).sum()):
            notes.append(vanishing.note(plan.rules.rules[vanishing.rule].name, many))
    outcomes = tuple(rule_outcome(scan.plan, i, summaries[i], rows=counted[i], limit=limit) for i in everything)
    outcome = CheckOutcome(
        table=table.name,
        rows=scan.part.size,
        key=scan.plan.key,
        seconds=time.monotonic() - begun,
        rules=outcomes,
        fail_on=fail_on,
        limit=limit,
        notes=(*notes, *rounding_notes(plan, outcomes)),
        place=table.place,
        engine="local",
        nulls=plan.rules.nulls,
    )
    return LocalCheckResult(scan, outcome, hidden, summaries, tuple(counted), whole or (lambda: table.rows))


def _summaries(
    scan: LocalScan, which: Iterable[int], limit: int | None
) -> tuple[dict[int, Summary], tuple[Any, int] | None]:
    lines = scan.findings("summary", which, limit).select(["i", "what", "n", "key", "other"])
    rows = zip(*(column.to_pylist() for column in lines.columns), strict=True)
    return summaries(rows, scan.plan.programs, which)


class LocalCheckResult(CheckResult):
    """What a check found in this process; tables of violations are computed when they are used."""

    def __init__(
        self,
        scan: LocalScan,
        outcome: CheckOutcome,
        hidden: frozenset[str],
        summaries: Mapping[int, Summary],
        scopes: tuple[int, ...],
        whole: Callable[[], pa.Table],
    ) -> None:
        super().__init__(scan.plan, outcome, hidden)
        self._scan, self._found, self._scopes, self._read_whole = scan, summaries, scopes, whole
        # Where rows are that somebody has been given the key of.
        self._positions: dict[Any, int] = {}

    def in_scope(self, i: int) -> int:
        return self._scopes[i]

    # Tables ----------------------------------------------------------------------------------------------------

    @property
    def _key_type(self) -> pa.DataType:
        return self._scan.keys.type

    @cached_property
    def pairs(self) -> ArrowResult:
        def compute() -> pa.Table:
            lines = self._pair_findings
            return self._named(lines, {"left": self._keys(lines["key"]), "right": self._keys(lines["other"])})

        return self._table({"left": self._key_type, "right": self._key_type}, compute)

    @cached_property
    def rows(self) -> ArrowResult:
        def compute() -> pa.Table:
            return self._named(self._rows, {"key": self._keys(self._rows["key"]), "conflicts": self._rows["n"]})

        return self._table({"key": self._key_type, "conflicts": pa.int64()}, compute)

    @cached_property
    def suspects(self) -> ArrowResult:
        def compute() -> pa.Table:
            return self._named(self._suspect_lines, {"key": self._keys(self._suspect_lines["key"])})

        return self._table({"key": self._key_type}, compute)

    @cached_property
    def groups(self) -> ArrowResult:
        kinds = {
            "group": pa.string(),
            "column": pa.string(),
            "value": pa.string(),
            "rows": pa.int64(),
            "keys": pa.list_(self._key_type),
        }
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_groups]

        def compute() -> pa.Table:
            parts = [part for i in which for part in self._groups_of(i)]
            return pa.concat_tables(parts) if parts else pa.schema({"rule": pa.string(), **kinds}).empty_table()

        return self._table(kinds, compute)

    def _groups_of(self, i: int) -> Iterable[pa.Table]:
        program, forms = self.plan.programs.programs[i], self.plan.programs.forms
        assert isinstance(program, GroupProgram), "only dependencies have groups"
        table = self._scan.table.rows
        for sides in group_sides(program, self._scan.part, most=KEYS_PER_GROUP):
            first = pa.array(sides.first)
            left = [
                pc.fill_null(value_texts(table.column(forms[form].column).take(first)), "null") for form in program.left
            ]
            group = pc.binary_join_element_wise(*left, ", ") if left else pa.repeat("", len(first))
            column = forms[program.right[sides.right].form].column
            value = pc.if_else(pa.array(sides.is_null), None, value_texts(table.column(column).take(first)))
            offsets = pa.array(np.concatenate([[0], sides.ends]).astype(np.int32))
            keys = pa.ListArray.from_arrays(offsets, one_array(self._keys(pa.array(sides.members))))
            yield pa.table(
                {
                    "rule": pa.repeat(self.plan.rules.rules[i].name, len(first)),
                    "group": group,
                    "column": pa.repeat(column, len(first)),
                    "value": value,
                    "rows": pa.array(sides.rows),
                    "keys": keys,
                }
            )

    def split(self) -> tuple[ArrowResult, ArrowResult]:
        whole = self._whole_rows
        schema = whole.schema
        lines = self._suspect_lines
        counted = set(self._counted_names)
        rules = [rule.name for rule in self.plan.rules]
        by_row: dict[int, list[str]] = {}
        for i, position in zip(lines["i"].to_pylist(), lines["key"].to_pylist(), strict=True):
            if rules[i] in counted:
                by_row.setdefault(position, []).append(rules[i])

        def clean() -> pa.Table:
            kept = np.ones(whole.num_rows, np.bool_)
            kept[list(by_row)] = False
            return whole.filter(pa.array(kept))

        def quarantined() -> pa.Table:
            positions = sorted(by_row)
            broken = pa.array([sorted(by_row[position]) for position in positions], pa.list_(pa.string()))
            return whole.take(pa.array(positions, pa.int64())).append_column(BROKEN_RULES, broken)

        with_rules = schema.append(pa.field(BROKEN_RULES, pa.list_(pa.string())))
        return ArrowResult(schema, clean), ArrowResult(with_rules, quarantined)

    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> ArrowResult:
        require_annotatable(self.outcome.table, self._whole_rows.column_names, partners)
        return annotated_rows(self._whole_rows, self._broken_rows, self._key_type, partners)

    def _broken_rows(self) -> list[BrokenRows]:
        """The rows that break each rule, beside those that break it with them."""
        pairs = {i: (left, right) for i, left, right in self.pairs_by_rule()}
        rules = self.outcome.rules
        return [
            broken_rows(rules[i], rows, conflicts, suspect, pairs.get(i), self._scan.keys, self._scan.part.order)
            for i, rows, conflicts, suspect in self.rows_by_rule()
        ]

    @cached_property
    def _whole_rows(self) -> pa.Table:
        return plain_rows(self._read_whole())

    @cached_property
    def _rows(self) -> pa.Table:
        """The findings that name each violating row."""
        return self._scan.findings("rows", self._violated, self.outcome.limit)

    def rows_by_rule(self) -> Iterable[tuple[int, Ints, Ints, NDArray[np.bool_]]]:
        """(rule, positions, conflicts, suspect) of the rules that have violating rows."""
        rule, row, n = (self._rows[name].to_numpy() for name in ("i", "key", "n"))
        suspect = self._rows["suspect"].to_numpy().astype(np.bool_)
        for i in np.unique(rule).tolist():
            fit = rule == i
            yield i, row[fit], n[fit], suspect[fit]

    def pairs_by_rule(self) -> Iterable[tuple[int, Ints, Ints]]:
        """(rule, positions of left rows, of right rows) of the pairs that are listed."""
        lines = self._pair_findings
        rule, left, right = (lines[name].to_numpy() for name in ("i", "key", "other"))
        for i in np.unique(rule).tolist():
            fit = rule == i
            yield i, left[fit], right[fit]

    @property
    def _pair_findings(self) -> pa.Table:
        """The findings that name each pair that is listed, by the positions of its rows."""
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_pairs]
        return self._scan.findings("pairs", which, self.outcome.limit)

    @cached_property
    def _suspect_lines(self) -> pa.Table:
        """The findings that name each suspect row."""
        return self._rows.filter(self._rows["suspect"])

    def _table(self, kinds: Mapping[str, pa.DataType], compute: Callable[[], pa.Table]) -> ArrowResult:
        schema = pa.schema({"rule": pa.string(), **kinds})
        return ArrowResult(schema, compute if self._violated else schema.empty_table)

    def _named(self, lines: pa.Table, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
        names = pa.array([rule.name for rule in self.plan.rules], pa.string())
        return pa.table({"rule": names.take(one_array(lines["i"])), **columns})

    def _keys(self, positions: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
        return self._scan.keys.take(positions)

    def _key(self, position: int) -> Any:
        """The key of the row, which values_of() then knows where to find."""
        key = plain_value(self._scan.keys[position])
        self._positions[hashable(key)] = position
        return key

    # Single violations -----------------------------------------------------------------------------------------

    def _ends(self, violated: Sequence[int]) -> dict[int, tuple[Any, Any]]:
        ends = {i: (self._found[i].left, self._found[i].right) for i in violated}
        return {i: (self._key(left), None if right is None else self._key(right)) for i, (left, right) in ends.items()}

    def _worst(self, violated: Sequence[int]) -> dict[int, tuple[WorstRow, ...]]:
        return {
            i: tuple(WorstRow(plain_key(self._key(row.key)), row.conflicts) for row in self._found[i].worst or ())
            for i in violated
        }

    def values_of(self, keys: Sequence[Any]) -> dict[Any, Values]:
        once_each = {name: self._positions[name] for name in map(hashable, keys)}
        rows = self._scan.table.rows
        return {
            name: {column: plain_value(rows.column(column)[position]) for column in self.plan.columns}
            for name, position in once_each.items()
        }

    def _worst_listed(self) -> dict[int, list[WorstRow]]:
        rule, row, conflicts = (self._rows[name].to_numpy() for name in ("i", "key", "n"))
        order = np.lexsort((self._scan.part.order[row], -conflicts, rule))
        listed: dict[int, list[WorstRow]] = {}
        for start, end in _runs(rule[order]):
            first = order[start : min(end, start + WORST)]
            listed[int(rule[first[0]])] = [
                WorstRow(plain_key(self._key(int(row[at]))), int(conflicts[at])) for at in first
            ]
        return listed

    def _pairs_listed(self, which: Sequence[int]) -> dict[int, list[tuple[Any, Any]]]:
        lines = self._scan.findings("pairs", which, LINES)
        by_rule: dict[int, list[tuple[Any, Any]]] = {}
        for i, left, right in zip(*(lines[name].to_pylist() for name in ("i", "key", "other")), strict=True):
            by_rule.setdefault(i, []).append((self._key(left), self._key(right)))
        return by_rule

    def _groups_listed(self) -> dict[str, list[ShownGroup]]:
        table = self.groups.to_arrow()
        rule, column, group = (shared_codes([table.column(name)])[0].codes for name in ("rule", "column", "group"))
        rows = table.column("rows").to_numpy()
        ids = dense_ids([rule, column, group], len(rows))
        size = int(ids.max(initial=-1)) + 1
        everything, largest, first = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(everything, ids, rows)
        np.maximum.at(largest, ids, rows)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        present = np.flatnonzero(everything)
        at = first[present]
        order = np.lexsort((group[at], -(everything - largest)[present], column[at], rule[at]))
        of_column = dense_ids([rule[at], column[at]], len(at))[order]
        by_rule: dict[str, list[ShownGroup]] = {}
        for start, end in _runs(of_column):
            for number in present[order[start : min(end, start + GROUPS)]]:
                sides = table.filter(pa.array(ids == number)).to_pylist()
                sides.sort(key=_side_order, reverse=True)
                listed = tuple(
                    Side(side["value"], side["rows"], tuple(map(plain_key, side["keys"][:KEYS])))
                    for side in sides[:SIDES]
                )
                shown = ShownGroup(
                    sides[0]["group"], sides[0]["column"], int(everything[number]), listed, len(sides) - len(listed)
                )
                by_rule.setdefault(sides[0]["rule"], []).append(shown)
        return by_rule

    def _duplicates_listed(self, keys: Mapping[int, Key]) -> dict[int, list[Duplicate]]:
        part, by_rule = self._scan.part, {}
        for i, body in keys.items():
            program = self.plan.programs.programs[i]
            assert isinstance(program, GroupProgram), "a key is a program over groups"
            sides = [part.forms[form] for form in program.left]
            fit = part.flag(program.scope)
            if part.nulls == "sql":
                fit = np.logical_and.reduce([fit, *(side.valid for side in sides)])
            rows = np.flatnonzero(fit)
            codes = [array[rows] for side in sides for array in (side.valid, np.where(side.valid, side.codes, 0))]
            ids = dense_ids([code.astype(np.int64) for code in codes], len(rows))
            sizes = np.bincount(ids, minlength=1)
            twice = np.flatnonzero(sizes[ids] > 1) if len(rows) else rows
            first = twice[np.unique(ids[twice], return_index=True)[1]]
            order = np.lexsort((*(code[first] for code in reversed(codes)), -sizes[ids[first]]))
            by_rule[i] = [self._duplicate(body, rows, ids, at) for at in first[order[:GROUPS]]]
        return {i: listed for i, listed in by_rule.items() if listed}

    def _duplicate(self, body: Key, rows: Ints, ids: Ints, at: int) -> Duplicate:
        members = rows[ids == ids[at]]
        shown = members[np.argsort(self._scan.part.order[members])][:KEYS]
        table = self._scan.table.rows
        texts = (spark_text(one_array(decoded(table.column(name).slice(int(rows[at]), 1))))[0] for name in body.columns)
        keys = tuple(plain_key(self._key(int(row))) for row in shown)
        return Duplicate(tuple(text.as_py() for text in texts), len(members), keys)

    def _dots(self, i: int, columns: tuple[str, str], within: Sequence[tuple[str, Any]]) -> list[tuple[Any, Any]]:
        rows, scope = self._scan.table.rows, self._scan.in_scope(i)
        kept = np.ones(rows.num_rows, np.bool_) if scope is None else scope.copy()
        for name, value in within:
            kept &= _equals(rows.column(name), value)
        for name in columns:
            kept &= rows.column(name).is_valid().to_numpy()
        positions = np.flatnonzero(kept)
        hashes = spark_xxhash64([self._keys(pa.array(positions))])
        sample = positions[np.argsort(hashes, kind="stable")[:DOTS]]
        x, y = ([plain_value(value) for value in rows.column(name).take(pa.array(sample))] for name in columns)
        return list(zip(x, y, strict=True))

    # Files -----------------------------------------------------------------------------------------------------

    def _named_suspects(self, most: int) -> list[tuple[str, str]]:
        table = self.suspects.to_arrow().slice(0, most)
        return list(zip(table.column("rule").to_pylist(), spark_json("key", table.column("key")), strict=True))

    def _new_suspects(self, known: Mapping[str, frozenset[str]]) -> dict[str, int]:
        new: dict[str, int] = {}
        for rule, name in self._named_suspects(self.suspects.count()):
            if name not in known.get(rule, ()):
                new[rule] = new.get(rule, 0) + 1
        return new

    def append_metrics(self, folder: str) -> None:
        append_metric_lines(self.outcome, folder)

    # Explaining ------------------------------------------------------------------------------------------------

    @cached_property
    def suggestions(self) -> ArrowResult:
        def compute() -> pa.Table:
            positions = np.unique(self._suspect_lines["key"].to_numpy())
            first = positions[np.argsort(self._scan.part.order[positions])][: self._most_rows]
            return self.row_trial(first).suggestions()

        return ArrowResult(suggestions_schema(self._key_type), compute)

    @property
    def _most_rows(self) -> int:
        return most_rows(self.plan, self.outcome.rows)

    def _tried_rows(self) -> int | None:
        suspects = len(np.unique(self._suspect_lines["key"].to_numpy()))
        return self._most_rows if suspects > self._most_rows else None

    def row_trial(self, given: Ints) -> RowTrial:
        """The rows at these positions, to be mended among all rows."""
        lines = self._suspect_lines
        rule, row = lines["i"].to_numpy(), lines["key"].to_numpy()
        rows, known = self._whole_rows, self.plan.schema
        types = schema_of(replace(self._scan.table, rows=rows)).types
        whole = replace(known, types={name: known.types.get(name, kind) for name, kind in types.items()})
        plan = replace(self.plan, schema=whole)
        return RowTrial(rows, self._scan.keys, plan, self._scan.part, lambda i: row[rule == i], given)

    def explain(self, row: Any) -> RowExplanation:
        trial = self.row_trial(np.empty(0, np.int64))
        explanation = explained_row(trial, row, table=self.outcome.table, seconds=self.outcome.seconds)
        return redacted_explanation(explanation, self.hidden)

    def close(self) -> None:
        """Nothing is kept but the rows themselves, which go with this result."""


def plain_rows(rows: pa.Table) -> pa.Table:
    """The table with each value in its place, as results give it."""
    return pa.table([decoded(column) for column in rows.columns], names=rows.column_names)


def value_texts(column: pa.ChunkedArray) -> pa.Array:
    """Values as results write them; bytes in hexadecimal."""
    # Groups have one zero, as on Spark.
    floating = pa.types.is_floating(column.type)
    return cell_texts(pc.add(column, pa.scalar(0.0, column.type)) if floating else column)


def _side_order(side: Mapping[str, Any]) -> tuple[int, bool, str]:
    return side["rows"], side["value"] is not None, side["value"] or ""


def plain_value(scalar: pa.Scalar) -> Any:
    """The value as Spark's rows have it in Python: times with a zone as local times without one."""
    value = scalar.as_py()
    if pa.types.is_timestamp(scalar.type) and scalar.type.tz is not None and value is not None:
        return value.astimezone().replace(tzinfo=None)
    return value


def _equals(column: pa.ChunkedArray, value: Any) -> NDArray[np.bool_]:
    """Which values are the same as this one, null and NaN among them."""
    if value is None:
        return np.asarray(column.is_null().to_numpy(), np.bool_)
    values = decoded(column)
    distinct = pc.unique(values)
    same = [i for i, own in enumerate(map(plain_value, distinct)) if own == value or (own != own and value != value)]
    places = pc.index_in(values, value_set=distinct.take(pa.array(same, pa.int64())))
    return np.asarray(places.is_valid().to_numpy(), np.bool_)


def _runs(values: NDArray[Any]) -> list[tuple[int, int]]:
    """(start, end) of each run of equal values."""
    cuts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.empty(0, np.int64)
    return list(zip(cuts.tolist(), [*cuts[1:].tolist(), len(values)], strict=True)) if len(cuts) else []
