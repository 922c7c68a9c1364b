"""Rules kept up to date in one process: rows come, go and change, and the change of the rules is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.encode.column_type import ColumnType
from holdfast.errors import TypeMismatchError, UnknownColumnError, closest_hint
from holdfast.evolving.changed_evidence import KeptRows, NewPair, small_codes
from holdfast.evolving.evolve import (
    KeptRules,
    MovedRows,
    ShownPair,
    evidence_change,
    evolved,
    keeps_evidence,
    repaired_by_indexes,
    rules_change,
    searched,
    way_of_change,
)
from holdfast.evolving.live_table import LiveTable, TableChange
from holdfast.evolving.options import EvolveStrategy, evolve_options, require_strategy
from holdfast.evolving.outcome import RulesChange
from holdfast.evolving.rule_indexes import RuleIndexes
from holdfast.evolving.select_index import SelectOptions
from holdfast.evolving.settled_space import is_due, other_pairs
from holdfast.live_rows.coded_batch import row_batch
from holdfast.live_rows.row_store import Slots
from holdfast.presented import Presented
from holdfast.rules.parse import given_names
from holdfast.rules.rule import RuleSet
from holdfast.search.coded_rows import together
from holdfast.search.find import find
from holdfast.search.lines import own_cores
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import RankedRules
from holdfast.search.rank import ranked
from holdfast.search.space import PredicateSpace, as_masks


@dataclass(frozen=True)
class _Rows:
    """Rows that go, stay and come, and the slots of those that stay."""

    gone: KeptRows
    stay: KeptRows
    come: KeptRows
    slots: NDArray[np.int64]

    @property
    def after(self) -> int:
        return self.stay.size + self.come.size


class RuleKeeper(Presented):
    """The rules of a table that lives in this process: at any time those that `discover` would find. No Spark, no JVM.

    `insert`, `delete`, `update` and `apply` take one row or many and return the rules that came and went; a batch that
    cannot be made is refused whole, with an error that names the key. A change costs its rows times those of the
    table, not the square of the table.

    >>> keeper = RuleKeeper([{"id": 1, "zip": "10115", "city": "Berlin"}, {"id": 2, "zip": "20095", "city": "Hamburg"},
    ...                      {"id": 3, "zip": "10115", "city": "Berlin"}], key="id", exclude="id")
    >>> sorted(keeper.denials)
    ['not(t.zip != s.zip and t.city = s.city)', 'not(t.zip = s.zip and t.city != s.city)']
    >>> change = keeper.insert({"id": 4, "zip": "10115", "city": "Bärlin"})
    >>> change.removed[0].rule, change.removed[0].witness.values
    ('not(t.zip = s.zip and t.city != s.city)', (('zip', '10115', '10115'), ('city', 'Bärlin', 'Berlin')))
    """

    def __init__(
        self,
        rows: Any,
        *,
        key: str | Sequence[str],
        strategy: EvolveStrategy = "auto",
        indexes: SelectOptions | None = None,
        **options: Any,
    ) -> None:
        """`rows` are those that are there now; `options` are those of `discover`. The predicate space is settled
        here. Rules are kept by counted evidence, or, of tables too large for all their pairs, by indexes, which may
        also be asked for; `indexes` has the thresholds by which they are chosen."""
        self.key = given_names(key)
        self.options = evolve_options(**options)
        self.strategy = require_strategy(strategy, self.options)
        self._index_options = indexes or SelectOptions()
        table = row_batch(rows).to_arrow()
        types = _types(table, self.key, self.options)
        self._threads = own_cores()
        self._columns = {name: types[name] for name in table.column_names if _compared(name, types, self.options)}
        exact = keeps_evidence(table.num_rows, self.strategy)
        searching = replace(self.options, strategy="all-pairs") if exact else self.options
        result = find(table.select(list(self._columns)), self._columns, searching, threads=self._threads)
        self._kept = replace(KeptRules.of(result), exact=result.exact and exact)
        self._table = _live_table(self.key, types, self._columns, self._kept.space, self.options)
        if table.num_rows:
            self._table.make(self._table.inserting(table.select(list(self._table.names))))
        self._extra = [name for name in table.column_names if name not in self._table.names]
        self._indexes, self._generation = self._no_indexes(), self._table.generation
        self._named = self._generation
        self._unseen = 0

    def _no_indexes(self) -> RuleIndexes:
        return RuleIndexes(self._kept.space, self.options.nulls, self._index_options)

    # What is known ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._table)

    @property
    def total(self) -> int:
        """How many rules there are."""
        return len(self._kept.masks)

    @property
    def denials(self) -> list[str]:
        """Every rule as a denial constraint, in no particular order."""
        return [str(self._kept.space.constraint(mask)) for mask in as_masks(self._kept.masks)]

    @property
    def ranked_rules(self) -> RankedRules:
        """Every rule with what speaks for it, best first."""
        return ranked(self._kept.search_result(self.options, threads=self._threads))

    @property
    def rules(self) -> RuleSet:
        """Every rule, best first, ready for a check."""
        return RuleSet(tuple(entry.rule for entry in self.ranked_rules), nulls=self.options.nulls)

    @property
    def bytes(self) -> int:
        """Memory of the rows' codes, their keys and the evidence."""
        evidence = self._kept.evidence
        return self._table.bytes + evidence.words.nbytes + evidence.counts.nbytes

    # Changes ------------------------------------------------------------------------------------------------------

    def insert(self, rows: Any) -> RulesChange:
        """Rows come whose keys are new."""
        return self._change(self._table.inserting(self._without_extra(rows)))

    def delete(self, keys: Any) -> RulesChange:
        """Rows go, named by their keys: one key or many; of several columns each key is a tuple."""
        return self._change(self._table.deleting(keys))

    def update(self, rows: Any) -> RulesChange:
        """Rows take the place of those with their keys."""
        return self._change(self._table.updating(self._without_extra(rows)))

    def apply(self, changes: Any) -> RulesChange:
        """A batch of changes, in order, as one: what counts is its net effect.

        Rows have a column `_change_type`: insert, delete, update_preimage, update_postimage; without it all come.
        """
        return self._change(self._table.applying(self._without_extra(changes)))

    def _without_extra(self, rows: Any) -> Any:
        if not self._extra:
            return rows
        table = row_batch(rows).to_arrow()
        return table.drop_columns([name for name in self._extra if name in table.column_names])

    def _change(self, change: TableChange) -> RulesChange:
        columns = list(self._columns)
        # Slots of another generation are those of other rows.
        before = self._kept if self._table.generation == self._named else replace(self._kept, pairs=None)
        stay = self._table.slots_but(change.gone)
        rows = _Rows(
            gone=self._table.rows(change.gone, columns),
            stay=self._table.rows(stay, columns),
            come=self._table.coming(change, columns),
            slots=stay.astype(np.int64),
        )
        after, pairs, way = self._evolved(before, rows, change)

        shown = [self._shown(pair, change, rows, stay) for pair in pairs]
        notes = self._notes(rows)
        rule_changes = rules_change(before, after, shown, strategy=way, notes=notes)
        generation = self._table.generation
        coming = self._table.make(change)
        self._keep_indexes(rows, change, coming)
        known = after.pairs if self._table.generation == generation else None
        self._kept = replace(after, pairs=None if known is None else known.named(coming.astype(np.int64)))
        self._named = self._table.generation
        return rule_changes

    def _notes(self, rows: _Rows) -> tuple[str, ...]:
        """What a discovery would compare otherwise, looked at from time to time."""
        self._unseen += rows.gone.size + rows.come.size
        if not is_due(self._unseen, rows.after, self.options):
            return ()
        self._unseen = 0
        codes = small_codes(rows.stay.plus(rows.come), together(self._columns, self.options))
        return other_pairs(self._kept.space, codes, self._columns, self.options)

    def _evolved(self, before: KeptRules, rows: _Rows, change: TableChange) -> tuple[KeptRules, Sequence[NewPair], str]:
        """The rules after the change, pairs that break those that fell, and how it was done."""
        threads = self._threads
        way = way_of_change(before, rows.gone.size, rows.come.size, rows.stay.size, self.strategy)
        if way == "evidence":
            moved = evidence_change(before, self.options, rows.gone, rows.come, rows.stay, threads=threads)
            after = evolved(before, moved, rows.after, self.options, threads=threads)
            return after, moved.new_pairs, way if moved.device == "cpu" else f"{way}, on {moved.device}"
        families = together(self._columns, self.options)
        if way == "index":
            if self._generation != self._table.generation:
                self._indexes, self._generation = self._no_indexes(), self._table.generation
            gone = change.gone.astype(np.int64)
            changed = MovedRows(
                rows.gone,
                rows.come,
                rows.stay,
                gone_ids=gone,
                come_ids=-1 - np.arange(rows.come.size),  # they have no slots yet
                stay_ids=rows.slots,
                places=rows.slots,
                gone_places=gone,
            )
            repaired = repaired_by_indexes(before, self._indexes, changed, families, self.options, threads=threads)
            if repaired is not None:
                return repaired
        return searched(before, rows.come, rows.stay, families, self.options, threads=threads)

    def _keep_indexes(self, rows: _Rows, change: TableChange, coming: Slots) -> None:
        """The indexes have the rows that are there."""
        if self._generation == self._table.generation and len(self._indexes):
            self._indexes.remove(rows.gone, change.gone.astype(np.int64))
            self._indexes.add(rows.come, coming.astype(np.int64))

    def _shown(self, pair: NewPair, change: TableChange, rows: _Rows, stay: Slots) -> ShownPair:
        """The pair with the keys and values of its rows, which may change their codes later."""
        at = pair.right - rows.stay.size
        key = self._table.key_of(int(stay[pair.right])) if at < 0 else change.keys[at]
        second = self._values(rows.stay, pair.right) if at < 0 else self._values(rows.come, at)
        return ShownPair((change.keys[pair.left], self._values(rows.come, pair.left)), (key, second), pair.words)

    def _values(self, rows: KeptRows, at: int) -> dict[str, Any]:
        value = self._table.value
        return {name: value(name, int(rows.codes[name][at]), bool(rows.valid[name][at])) for name in self._columns}

    def assert_invariants(self) -> None:
        """The evidence is that of all pairs of the rows that are there, and every key leads to its row."""
        self._table.assert_invariants()
        self._indexes.assert_invariants()
        if not self._kept.exact:
            return
        everyone = self._table.slots_but(np.zeros(0, np.int32))
        rows, nobody = self._table.rows(everyone, list(self._columns)), np.zeros(0, np.int32)
        none = self._table.rows(nobody, list(self._columns))
        again = evidence_change(self._kept, replace(self.options, device="cpu"), none, rows, none, threads=1).came
        assert np.array_equal(again.words, self._kept.evidence.words), "the evidence is that of the rows"
        assert np.array_equal(again.counts, self._kept.evidence.counts), "and is counted"


def _types(table: pa.Table, key: Sequence[str], options: DiscoverOptions) -> dict[str, ColumnType]:
    """The types of the key's columns and of all that can be compared, in this order."""
    for what, names in (("the key", key), ("columns", options.columns), ("exclude", options.exclude)):
        for name in names:
            if name not in table.column_names:
                raise UnknownColumnError(
                    f"{what} names {name!r}, but the rows have no such column.",
                    hint=closest_hint(name, table.column_names),
                )
    kinds = {name: arrow_column_type(table.schema.field(name).type) for name in table.column_names}
    for name in (*key, *options.columns):
        if kinds[name].family in _NOT_KEPT:
            raise TypeMismatchError(f"the column {name!r} holds {kinds[name]}, which a keeper cannot compare.")
    others = [name for name in table.column_names if name not in key and kinds[name].family not in _NOT_KEPT]
    return {name: kinds[name] for name in (*key, *others)}


_NOT_KEPT = ("other", "interval")


def _compared(name: str, types: Mapping[str, ColumnType], options: DiscoverOptions) -> bool:
    return name in types and name not in options.exclude and (not options.columns or name in options.columns)


def _live_table(
    key: Sequence[str], types: Mapping[str, ColumnType], compared: Mapping[str, ColumnType], space: PredicateSpace,
    options: DiscoverOptions,
) -> LiveTable:  # fmt: skip
    """An empty table with these columns. Columns of one kind share their codes where they may be compared."""
    family = {name: tuple(names) for names in together(compared, options) for name in names}
    ordered = frozenset(name for pair in space.pairs if pair.ordered for name in (pair.left.name, pair.right.name))
    names = {name: kind for name, kind in types.items() if name in key or name in compared}
    return LiveTable(key, names, {name: family.get(name, (name,)) for name in names}, ordered)
