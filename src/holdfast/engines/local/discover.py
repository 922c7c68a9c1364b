"""A discovery in this process: the search itself, over one Arrow table, on all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from holdfast.checking.outcome import RuleOutcome
from holdfast.discovery.column_rules import column_rules_first
from holdfast.discovery.conditional_rules import conditional_rules
from holdfast.discovery.explain import ExplainTask
from holdfast.discovery.with_constants import find_with_constants
from holdfast.encode.column_type import ColumnType
from holdfast.engines.discovery import DiscoverySource, Searched
from holdfast.engines.local.check import plan_check, run_check, schema_of
from holdfast.engines.local.interruptible import interruptible
from holdfast.engines.rule_examples import SampledRows, sampled_rows
from holdfast.rules.rule import RuleSet
from holdfast.search.find import find
from holdfast.search.lines import own_cores
from holdfast.search.options import DiscoverOptions
from holdfast.tables.local_table import LocalTable


class LocalDiscovery(DiscoverySource):
    """A table in this process whose rules are discovered."""

    engine = "local"

    def __init__(self, table: LocalTable) -> None:
        self._table, self.name, self.notes = table, table.name, table.notes

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return schema_of(self._table).types

    def row_count(self) -> int:
        return int(self._table.rows.num_rows)

    def search(self, types: Mapping[str, ColumnType], options: DiscoverOptions, *, column_rules: bool) -> Searched:
        return interruptible(lambda: self._search(types, options, column_rules))

    def _search(self, types: Mapping[str, ColumnType], options: DiscoverOptions, column_rules: bool) -> Searched:
        rows, columns = self._compared(types), None
        if rows.num_rows == 0:
            return Searched()
        if column_rules:
            columns, options = column_rules_first(rows, types, options)
        if options.conditional:
            return Searched(conditional_rules(rows, types, options), None, columns)
        if options.constants:
            return Searched(*find_with_constants(rows, types, options, threads=own_cores()), columns)
        return Searched(find(rows, types, options, threads=own_cores()), None, columns)

    def space_json(self, types: Mapping[str, ColumnType], options: DiscoverOptions) -> str | None:
        lines = list(ExplainTask(types, options)(iter(self._compared(types).to_batches())))
        return lines[0].column("space")[0].as_py() if lines else None

    def counted(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]:
        return run_check(self._table, plan_check(self._table, rules, ()), limit=limit).outcome.rules

    def sample(self, columns: Sequence[str], *, most: int, seed: int) -> pa.Table:
        rows = self._table.rows.select(list(columns))
        if rows.num_rows <= most:
            return rows
        drawn = np.random.default_rng(seed).choice(rows.num_rows, most, replace=False)
        return rows.take(pa.array(drawn))

    def example_rows(self) -> SampledRows:
        return sampled_rows(self._table.rows)

    def _compared(self, types: Mapping[str, ColumnType]) -> pa.Table:
        return self._table.rows.select(list(types))
