"""What a check of several tables found in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.checking.annotated import DEFAULT_PARTNERS, require_annotatable
from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import BROKEN_RULES
from holdfast.encode.one_array import one_array
from holdfast.engines.local.annotated import BrokenRows, annotated_rows, broken_rows
from holdfast.engines.local.check import plain_rows
from holdfast.engines.local.metrics_folder import append_metric_lines
from holdfast.engines.local.tables.explain import TableTrials
from holdfast.engines.local.tables.parts import LocalPart, RowLines
from holdfast.engines.local.tables.rows import CheckedTable, key_texts
from holdfast.engines.result_table import ArrowResult
from holdfast.engines.tables.plan import TablesPlan
from holdfast.engines.tables.result import TablesCheckResult
from holdfast.explaining.explanation import RowExplanation, redacted_explanation
from holdfast.explaining.trial import suggestions_schema

Ints = NDArray[np.int64]


class LocalTablesResult(TablesCheckResult):
    """What a check of several tables found in this process; tables are computed when they are used."""

    def __init__(
        self, outcome: CheckOutcome, plan: TablesPlan, tables: tuple[CheckedTable, ...], parts: Sequence[LocalPart]
    ) -> None:
        super().__init__(outcome, [part.part for part in parts])
        self._plan, self._tables, self._local = plan, tables, tuple(parts)

    def close(self) -> None:
        """Nothing is kept but the rows themselves, which go with this result."""

    # Tables ----------------------------------------------------------------------------------------------------

    @property
    def _key_type(self) -> pa.DataType:
        kinds = {table.keys.type for table in self._tables}
        return kinds.pop() if len(kinds) == 1 else pa.string()

    def _keys(self, table: int, rows: Ints) -> pa.Array:
        return self._all_keys(table).take(pa.array(rows, pa.int64()))

    def _all_keys(self, table: int) -> pa.Array:
        own = self._tables[table]
        return own.key_texts if self._key_type == pa.string() else one_array(own.keys)

    def _rule_name(self, i: int) -> str:
        return self.outcome.rules[i].rule.name

    @cached_property
    def _row_lines(self) -> list[RowLines]:
        lines = [line for part in self._local for line in part.row_lines() if len(line.rows)]
        return sorted(lines, key=lambda line: line.rule)

    @cached_property
    def pairs(self) -> ArrowResult:
        kinds = {"left": self._key_type, "right": self._key_type, "left_table": pa.string(), "right_table": pa.string()}
        schema = pa.schema({"rule": pa.string(), **kinds})

        def compute() -> pa.Table:
            lines = sorted((line for part in self._local for line in part.pair_lines()), key=lambda line: line.rule)
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
    def rows(self) -> ArrowResult:
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
    def suspects(self) -> ArrowResult:
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
    def groups(self) -> ArrowResult:
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
            for part in self._local:
                for number, groups in part.group_tables():
                    keys = one_array(groups["keys"])
                    inner = key_texts(keys.values) if as_text else keys.values
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

    def split(self) -> dict[str, tuple[ArrowResult, ArrowResult]]:
        counted = set(self._counted_names)
        broken: list[dict[int, list[str]]] = [{} for _ in self._tables]
        for line in self._row_lines:
            name = self._rule_name(line.rule)
            for row in line.rows[line.suspect].tolist() if name in counted else ():
                broken[line.table].setdefault(row, []).append(name)
        return {
            table.name: _split(table.table.rows, by_row) for table, by_row in zip(self._tables, broken, strict=True)
        }

    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> dict[str, ArrowResult]:
        for table in self._tables:
            require_annotatable(table.name, table.table.rows.column_names, partners)
        return {
            table.name: annotated_rows(
                plain_rows(table.table.rows), partial(self._broken_rows, at), self._key_type, partners
            )
            for at, table in enumerate(self._tables)
        }

    def _broken_rows(self, at: int) -> list[BrokenRows]:
        """The rows of the table with this number that break each rule, beside those that break it with them."""
        pairs = {line.rule: line for part in self._local for line in part.pair_lines()}
        broken = []
        for line in self._row_lines:
            if line.table != at:
                continue
            found_rule, of_rule = self.outcome.rules[line.rule], pairs.get(line.rule)
            terms = (found_rule, line.rows, line.conflicts, line.suspect)
            if of_rule is None or of_rule.tables[0] == of_rule.tables[1]:
                both = None if of_rule is None else (of_rule.left, of_rule.right)
                broken.append(broken_rows(*terms, both, self._all_keys(at), self._tables[at].order))
            else:
                side = of_rule.tables.index(at)
                ends = (of_rule.left, of_rule.right)
                other = of_rule.tables[1 - side]
                broken.append(
                    BrokenRows(*terms, ends[side], ends[1 - side], self._all_keys(other), self._tables[other].order)
                )
        return broken

    def append_metrics(self, folder: str) -> None:
        append_metric_lines(self.outcome, folder)

    # Explaining ------------------------------------------------------------------------------------------------

    def explain(self, row: Any, *, table: str) -> RowExplanation:
        self.require_table(table)
        trials = self._trials[table]
        explanation = trials.explained_row(row, seconds=self.outcome.seconds)
        return redacted_explanation(explanation, trials.table.hidden)

    @cached_property
    def _trials(self) -> dict[str, TableTrials]:
        return {table.name: TableTrials(table, self._plan, self._local) for table in self._tables}

    @cached_property
    def suggestions(self) -> ArrowResult:
        schema = suggestions_schema(self._key_type).append(pa.field("table", pa.string()))

        def compute() -> pa.Table:
            parts = []
            for place, (name, trials) in enumerate(self._trials.items()):
                suggestions = trials.suggestions(self._suspects_of(place)[: trials.most_rows])
                keys = key_texts(one_array(suggestions["key"])) if self._key_type == pa.string() else suggestions["key"]
                named = suggestions.set_column(0, "key", keys)
                parts.append(named.append_column("table", pa.repeat(name, suggestions.num_rows)).cast(schema))
            return pa.concat_tables(parts)

        return ArrowResult(schema, compute)

    def _suspects_of(self, table: int) -> Ints:
        """The suspect rows of the table with this number, by key."""
        lines = [line.rows[line.suspect] for line in self._row_lines if line.table == table]
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *lines]))
        return rows[np.argsort(self._tables[table].order[rows], kind="stable")]

    def tried_rows(self) -> int | None:
        cut = [
            trials.most_rows
            for place, trials in enumerate(self._trials.values())
            if len(self._suspects_of(place)) > trials.most_rows
        ]
        return min(cut) if cut else None


def _stacked(schema: pa.Schema, parts: Iterable[list[pa.Array]]) -> pa.Table:
    tables = [pa.table(columns, schema=schema) for columns in parts]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _split(rows: pa.Table, broken: Mapping[int, Sequence[str]]) -> tuple[ArrowResult, ArrowResult]:
    whole = plain_rows(rows)

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
