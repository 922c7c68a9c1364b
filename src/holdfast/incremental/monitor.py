"""Violations kept up to date in one process: rows come, go and change, and the change of violations is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from holdfast.detect.bind import Schema, require_columns, require_types
from holdfast.detect.evaluate import UNLIMITED, Part, pair_counts, pairs_of
from holdfast.detect.program import Compare, PairProgram, RowProgram
from holdfast.encode.codes import Coded as Column
from holdfast.encode.column_type import column_type
from holdfast.encode.live_codes import IntegerCoder, LabelCoder
from holdfast.errors import ChangeError, OptionError, TypeMismatchError
from holdfast.incremental.access import Access, accesses, by_range_only, constraint_table, left_to_check
from holdfast.incremental.bitmap_path import BitmapPath, sets_seconds
from holdfast.incremental.coded_batch import Coded, RowBatch, made_coding, require_names, row_batch
from holdfast.incremental.condition import condition_test
from holdfast.incremental.explain import told_schedule, told_ways
from holdfast.incremental.group_index import GroupIndex, IndexSpec
from holdfast.incremental.key_map import KeyMap
from holdfast.incremental.row_store import RowStore, Slots
from holdfast.incremental.rule_program import rule_programs
from holdfast.incremental.slot_pairs import PairCollector, SlotPairs, net_pairs
from holdfast.kernels.runs import COLLIDED, Arena, Asked, alone_together, probed
from holdfast.rules.parse import parse_names
from holdfast.rules.relation import EQ, GT, LT, is_inequality
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import as_rule_set
from holdfast.states.violations_change import LazyList, RuleChange, Violation, ViolationsChange

Keep = Literal["counts", "pairs"]
AccessPath = Literal["auto", "runs", "bitmaps"]
CHANGE_TYPE = "_change_type"
DEFAULT_LIMIT = 1_000_000
_UNLIMITED = 2**40
_ROOM = 1024
_MOST_ROOM = 2**20
_SAMPLE = 2_000
# Below so many rows ranges are always soon looked through.
LEAST_FOR_SETS = 20_000
SAMPLED_PROBES = 32
# From so many first rows on, pairs that are not found by ranges alone are counted by sorting all rows.
LEAST_AT_ONCE = 2_000
# What a candidate that a range lets through costs to look at.
SECONDS_PER_CANDIDATE = 2e-8
_NOBODY = np.zeros(0, np.int32)


class Monitor:
    """The violations of rules on a table that lives in this process. No Spark, no JVM.

    `insert`, `delete`, `update` and `apply` take one row or many and return the change of violations; a batch that
    cannot be made is refused whole, with an error that names the key. Each change costs what it finds: partners of a
    row are looked up, not searched for. `limit` caps the violations that a change lists per rule; counts are exact.

    >>> monitor = Monitor("ZipCode -> City", key="id")
    >>> monitor.insert([{"id": 1, "ZipCode": "10115", "City": "Berlin"}]).added_count
    0
    >>> monitor.insert({"id": 2, "ZipCode": "10115", "City": "Bärlin"}).added
    {'zipcode-city': [(1, 2)]}
    """

    def __init__(
        self,
        rules: RuleSet | Rule | str | Iterable[str | Rule],
        *,
        key: str | Sequence[str] | None = None,
        nulls: Nulls | None = None,
        schema: Mapping[str, str] | None = None,
        limit: int | None = DEFAULT_LIMIT,
        keep: Keep = "counts",
        access: AccessPath = "auto",
    ) -> None:
        wanted = as_rule_set(rules)
        self.rules = wanted if nulls is None else replace(wanted, nulls=nulls)
        self.key = wanted.key if key is None else parse_names(key) if isinstance(key, str) else tuple(key)
        if not self.key:
            raise OptionError("a monitor needs to know the key of its rows.", hint="name it: Monitor(rules, key='id').")
        if keep not in ("counts", "pairs"):
            raise OptionError(f"keep is {keep!r}.", hint="it is 'counts' or 'pairs'.")
        if limit is not None and limit < 0:
            raise OptionError(f"the limit is {limit}.", hint="it is a number of violations, or None for all of them.")
        if access not in ("auto", "runs", "bitmaps"):
            raise OptionError(f"access is {access!r}.", hint="it is 'auto', 'runs' or 'bitmaps'.")
        self.limit, self.keep, self.access = limit, keep, access
        where = {rule.name: condition_test(rule) for rule in self.rules if rule.where is not None}
        self._programs = rule_programs(self.rules, self.key, where)
        self._coding = made_coding(self._programs.columns, self.rules)
        self._columns = {name: at for at, name in enumerate(self._programs.columns)}
        self._known: frozenset[str] | None = None
        self._where_columns = sorted({name for test in where.values() for name in test.columns})
        self._plain_keys: list[Any] | None = []
        self._room = (np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int32))
        self._tables = [
            constraint_table(p.denials) if isinstance(p, PairProgram) else None for p in self._programs.programs
        ]
        self._totals = dict.fromkeys((rule.name for rule in self.rules), 0)
        self._pairs: dict[str, set[Violation]] = {rule.name: set() for rule in self.rules} if keep == "pairs" else {}
        self._start()
        if schema is not None:
            self._adopt({name: column_type(kind) for name, kind in schema.items() if name in self._columns}, schema)

    # What is known ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._store)

    @property
    def totals(self) -> dict[str, int]:
        """By rule, its violating pairs, or rows where it speaks of one row; exact."""
        return dict(self._totals)

    def violations(self, rule: str, *, limit: int | None = None) -> list[Violation]:
        """The violations of the rule as things are, at most `limit` of them: pairs of keys, and (key, None)."""
        at = [one.name for one in self.rules].index(self.rules[rule].name)
        most = _UNLIMITED if limit is None else limit
        if self.keep == "pairs":
            return sorted_violations(self._pairs[rule])[:most]
        program, slots = self._programs.programs[at], self._store.slots()
        alone = slots[self._store.rows.flags[slots, program.alone]] if program.alone is not None else _NOBODY
        lone: list[Violation] = [(key, None) for key in self._keys_of(alone)]
        if isinstance(program, RowProgram):
            return sorted_violations(lone)[:most]
        found: list[Violation] = []
        if self._bitmaps is not None and at in self._bitmaps.programs:
            collector = PairCollector(most)
            for slot in slots.tolist():
                partners = self._bitmaps.partners(slot, left=True).get(at)
                if partners is not None:
                    collector.add(
                        slot, BitMap(r for r in partners if r < slot) if program.symmetric else partners, True
                    )
            every = collector.pairs()
            found = self._named(program, [(every.left, every.right)])
        for way in self._ways[at]:
            if way.access.left:
                ask = way.asked._replace(once=program.symmetric, each=True, enough=True)
                room = min(most, self._totals[rule]) - len(found)
                _, *ends = self._probed(way.access, way.index.arena, slots, ask, room)
                found += self._named(program, [tuple(ends)])
        return sorted_violations([*found, *lone])[:most]

    def explain(self) -> str:
        """Per rule, how the partners of a row are found; then the order in which sets of rows are intersected."""
        names, columns = [rule.name for rule in self.rules], self._programs.columns
        lines = [f"{len(self):,} rows, {self.bytes / 2**20:,.0f} MiB"]
        for at, rule in enumerate(self.rules):
            lines.append(f"{rule.name}: {rule}")
            lines += [f"  {line}" for line in told_ways([(w.access, w.index) for w in self._ways[at]], columns)]
            if self._bitmaps is not None and at in self._bitmaps.programs:
                lines.append("  by sets of rows, in the order below")
            elif isinstance(self._programs.programs[at], RowProgram):
                lines.append("  each row by itself")
        if self._bitmaps is not None:
            lines.append("sets of rows, equalities looked up and inequalities from less-than trees:")
            lines += [f"  {line}" for line in told_schedule(self._bitmaps.schedule, names, columns)]
        return "\n".join(lines)

    # Changes ------------------------------------------------------------------------------------------------------

    def insert(self, rows: Any) -> ViolationsChange:
        """Rows come whose keys are new."""
        batch = row_batch(rows)
        if batch.size == 0:
            return self._nothing()
        coded = self._encoded(batch)
        self._require_new(batch, coded)
        return self._change(_NOBODY, coded, None)

    def delete(self, keys: Any) -> ViolationsChange:
        """Rows go, named by their keys: one key or many; of several columns each key is a tuple."""
        slots = self._slots_of(self._key_list(keys))
        return self._change(slots, None, None)

    def update(self, rows: Any) -> ViolationsChange:
        """Rows take the place of those with their keys."""
        batch = row_batch(rows)
        if batch.size == 0:
            return self._nothing()
        coded = self._encoded(batch)
        slots = self._slots_of(self._batch_keys(batch))
        return self._change(slots, coded, slots)

    def apply(self, changes: Any) -> ViolationsChange:
        """A batch of changes, in order, as one: what counts is its net effect.

        Rows have a column `_change_type`: insert, delete, update_preimage, update_postimage; without it all come.
        """
        batch = row_batch(changes)
        if batch.size == 0:
            return self._nothing()
        if CHANGE_TYPE not in batch.columns:
            return self.insert(changes)
        kinds, rows = batch.listed(CHANGE_TYPE), batch.without(CHANGE_TYPE)
        first, last = _net(kinds, self._batch_keys(rows), self._is_there)
        gone = self._slots_of([key for key, was in first.items() if was], checked=True)
        # Rows that are only named by their key to be deleted need no other columns.
        places = [at for at in last.values() if at is not None]
        come = rows.take(places)
        if not places:
            return self._change(gone, None, None)
        coded = self._encoded(come)
        keys = list(last)
        old = dict(zip((key for key, was in first.items() if was), gone.tolist(), strict=True))
        before = np.array([old.get(key, -1) for key in keys if last[key] is not None], np.int32)
        return self._change(gone, coded, before)

    def _nothing(self) -> ViolationsChange:
        return ViolationsChange({}, self.totals)

    def _change(self, gone: Slots, coded: Coded | None, before: Slots | None) -> ViolationsChange:
        """Rows go, others come; `before` has, per row that comes, the slot of the row it replaces or -1."""
        store = self._store
        come = _NOBODY
        if coded is not None:
            flags = np.zeros((len(coded), len(self._programs.tests)), np.bool_)
            for at, test in enumerate(self._programs.tests):
                flags[:, at] = test(coded)
            come = store.add(coded.all_codes, coded.all_valid, flags)
            if self._plain_keys is not None:
                self._plain_keys += self._batch_keys(coded.batch)
        kept = before is not None and bool(len(gone))
        if kept:
            assert before is not None, "some rows replace others"
            store.rows.twin[gone], store.rows.twin[come] = -1, before
            replaced = before >= 0
            store.rows.twin[before[replaced]] = come[replaced]
        if len(gone):
            store.remove(gone)
            self._map.remove(store.rows.codes, gone)
        if len(come):
            self._map.add(store.rows.codes, come)
        if len(come) > max(4 * self._planned, 1000):
            self._plan(before=int(come[0]))
        changes = {}
        runs: dict[tuple[IndexSpec, bool], Arena] = {}
        if len(come) == len(store) and len(come) >= LEAST_AT_ONCE:
            by_sets = self._at_once(come)
        else:
            by_sets = self._by_sets(gone, come, kept)
        for at, name in enumerate(self._totals):
            lost, new = by_sets.get(at, (None, None))
            removed = self._found(at, gone, kept, runs, lost, coming=False) if len(gone) else _NOTHING
            added = self._found(at, come, kept, runs, new, coming=True) if len(come) else _NOTHING
            if added[0] or removed[0]:
                changes[name] = RuleChange(added[2], removed[2], added[0], removed[0])
                self._totals[name] += added[1] - removed[1]
        for index in self._indexes.values():
            if len(gone):
                index.remove(gone)
            if len(come):
                index.add(come, runs.get((index.spec, True)))
        if kept:
            store.rows.twin[come] = come
        for name, change in changes.items() if self.keep == "pairs" else ():
            self._pairs[name].difference_update(change.removed)
            self._pairs[name].update(change.added)
        self._tidy()
        return ViolationsChange(changes, self.totals)

    def _found(
        self,
        at: int,
        slots: Slots,
        kept: bool,
        runs: dict[tuple[IndexSpec, bool], Arena],
        known: SlotPairs | None,
        *,
        coming: bool,
    ) -> tuple[int, int, Sequence[Violation]]:
        """(violations, those that the total counts, some listed) of these rows with each other and with all others.

        `known` are its pairs where they were found by sets of rows.
        """
        program, rows = self._programs.programs[at], self._store.rows
        limit = _UNLIMITED if self.limit is None or self.keep == "pairs" else self.limit
        alone = _NOBODY
        if program.alone is not None:
            alone = slots[rows.flags[slots, program.alone]]
            if kept:
                other = rows.twin[alone]
                alone = alone[(other < 0) | ~rows.flags[np.maximum(other, 0), program.alone]]
        many = len(alone)
        alone = alone[:limit]
        if isinstance(program, RowProgram):
            return many, many, self._lazily(None, alone, [])
        room = limit - len(alone)
        if known is not None:
            listed = (known.left[:room], known.right[:room])
            return many + known.count, known.count, self._lazily(program, alone, [listed])
        pairs, parts = 0, []
        for way in self._ways[at]:
            asked = way.asked
            if kept or way.index.dead or not coming:
                asked = asked._replace(each=True, kept=kept)
            found = self._probed(way.access, way.index.arena, slots, asked, room)
            if found[0]:
                pairs, room = pairs + found[0], room - len(found[1])
                parts.append(found[1:])
            if way.access.left and len(slots) > 1:
                # Rows that come together meet each other here, and nowhere else.
                place = (way.access.spec, coming)
                if place not in runs:
                    runs[place] = way.index.run_of(slots)
                found = self._among(way, runs[place], slots, kept, room)
                if found[0]:
                    pairs, room = pairs + found[0], room - len(found[1])
                    parts.append(found[1:])
        if not many and not pairs:
            return _NOTHING
        return many + pairs, pairs, self._lazily(program, alone, parts)

    def _at_once(self, come: Slots) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """The pairs of the first rows of all, under rules for which each row would have to look at many others.

        They are counted as `check` does, by sorting.
        """
        if self._bitmaps is not None:
            self._bitmaps.load(come)
        limit = UNLIMITED if self.limit is None or self.keep == "pairs" else self.limit
        rows, found = self._store.rows, {}
        coded = [Column(rows.codes[come, at].copy(), rows.valid[come, at].copy()) for at in range(len(self._columns))]
        flags = [rows.flags[come, at].copy() for at in range(len(self._programs.tests))]
        part = Part(len(come), coded, flags, np.arange(len(come)), self.rules.nulls)
        for at, program in enumerate(self._programs.programs):
            ways = self._ways[at]
            hard = not ways or any(left_to_check(way.access) or len(way.access.probe.others) for way in ways)
            if isinstance(program, PairProgram) and hard:
                as_left, _ = pair_counts(program, part)
                count = int(as_left.sum()) // (2 if program.symmetric else 1)
                left, right = pairs_of(program, part, limit=min(limit, count))
                found[at] = (_NO_PAIRS, SlotPairs(count, come[left], come[right]))
        return found

    def _by_sets(self, gone: Slots, come: Slots, kept: bool) -> dict[int, tuple[SlotPairs, SlotPairs]]:
        """Of the rules that go by sets of rows, the pairs that go and those that come; net of each other."""
        path = self._bitmaps
        if path is None:
            return {}
        limit = _UNLIMITED if self.limit is None or kept or self.keep == "pairs" else self.limit
        lost = {at: PairCollector(limit) for at in path.programs}
        new = {at: PairCollector(limit) for at in path.programs}
        for slot in gone.tolist():
            path.remove(slot)
            self._collect(path, slot, lost)
        for slot in come.tolist():
            self._collect(path, slot, new)
            path.add(slot)
        found = {at: (lost[at].pairs(), new[at].pairs()) for at in path.programs}
        if not kept:
            return found
        twin = self._store.rows.twin
        return {at: net_pairs(*both, twin, path.programs[at].symmetric) for at, both in found.items()}

    def _collect(self, path: BitmapPath, slot: int, into: Mapping[int, PairCollector]) -> None:
        for left in (True, False):
            for at, partners in path.partners(slot, left=left).items():
                if left or not path.programs[at].symmetric:
                    into[at].add(slot, partners, left)

    def _among(self, way: _Way, run: Arena, slots: Slots, kept: bool, limit: int) -> tuple[int, Slots, Slots]:
        """The pairs that rows of one change make with each other."""
        access, symmetric = way.access, way.symmetric
        asked = way.asked._replace(once=symmetric, each=True, alive=False, kept=kept)
        probe = access.probe
        by_range = len(probe.compares) == probe.equal + probe.by and not run.runs[:, COLLIDED].any()
        if kept or not by_range or len(probe.others) or (symmetric and not access.mutual) or len(run.runs) == 0:
            return self._probed(access, run, slots, asked, limit)
        # Counted without being met one by one: both ends of a pair, and rows with themselves, are counted too.
        rows = self._store.rows
        count, _ = probed(rows, run, slots, probe, asked._replace(once=False, each=False), _NOBODY, _NOBODY)
        count -= alone_together(rows, run.slots, probe)
        count = count // 2 if symmetric else count
        if count == 0:
            return 0, _NOBODY, _NOBODY
        _, left, right = self._probed(access, run, slots, asked._replace(enough=True), min(limit, count))
        return count, left, right

    def _probed(self, access: Access, arena: Arena, slots: Slots, asked: Asked, limit: int) -> tuple[int, Slots, Slots]:
        """(pairs, left slots, right slots of some of them)."""
        mine, others = self._room
        if limit < len(mine):
            mine, others = mine[:limit], others[:limit]
        rows = self._store.rows
        count, listed = probed(rows, arena, slots, access.probe, asked, mine, others)
        if count == 0:
            return 0, _NOBODY, _NOBODY
        if (count > listed or asked.enough) and len(mine) == listed < limit:
            room = limit if asked.enough else min(count, limit)
            mine, others = np.empty(room, np.int32), np.empty(room, np.int32)
            count, listed = probed(rows, arena, slots, access.probe, asked, mine, others)
            if len(self._room[0]) < room <= _MOST_ROOM:  # the next change is likely to need as much
                self._room = (np.empty(2 * room, np.int32), np.empty(2 * room, np.int32))
        mine, others = mine[:listed].copy(), others[:listed].copy()
        return (count, mine, others) if access.left else (count, others, mine)

    def _lazily(
        self, program: PairProgram | None, alone: Slots, parts: Sequence[tuple[Slots, Slots]]
    ) -> Sequence[Violation]:
        """The violations by key, named when they are first looked at: rows alone, then pairs."""
        sides = [alone, *(end for part in parts for end in part)]
        names = self._names(np.concatenate(sides))
        ends = list(accumulate(map(len, sides)))

        def made() -> list[Violation]:
            keys = names()
            found: list[Violation] = [(key, None) for key in keys[: ends[0]]]
            for i in range(0, len(ends) - 1, 2):
                left, right = keys[ends[i] : ends[i + 1]], keys[ends[i + 1] : ends[i + 2]]
                found += _oriented(zip(left, right, strict=True), program is not None and program.symmetric)
            return found

        return LazyList(len(alone) + sum(len(left) for left, _ in parts), made)

    def _named(self, program: PairProgram, parts: Sequence[tuple[Any, ...]]) -> list[Violation]:
        return [
            pair
            for left, right in parts
            for pair in _oriented(zip(self._keys_of(left), self._keys_of(right), strict=True), program.symmetric)
        ]

    # Rows and keys ------------------------------------------------------------------------------------------------

    def _encoded(self, batch: RowBatch) -> Coded:
        needed = [*self._columns, *self._where_columns]
        require_names(batch, needed, self._known)
        learned = self._coding.learned(batch)
        if learned:
            self._adopt(learned, batch.columns)
        codes, valid = self._coding.encoded(batch, self.key)
        moved = self._coding.moved()
        if moved:
            self._recode(moved)
            codes, valid = self._coding.encoded(batch, self.key)
        self._known = frozenset(batch.columns)
        missing = ~valid[:, : len(self.key)]
        if missing.any():
            row, part = (int(i) for i in np.argwhere(missing)[0])
            raise ChangeError(
                f"row {row} of the change has no value in the key column {self.key[part]!r}.",
                hint="nothing was changed. Every row needs a key.",
            )
        return Coded(self._columns, codes, valid, self.rules.nulls, self._coding, batch)

    def _adopt(self, kinds: Mapping[str, Any], columns: Iterable[str]) -> None:
        """Types become known; TypeMismatchError, and nothing is, where a rule compares what cannot be compared."""
        types = {**self._coding.kinds, **kinds}
        schema = Schema("of the monitor", {**dict.fromkeys(columns, column_type("void")), **types})
        require_columns(self.rules, self.key, schema)
        require_types(self.rules, schema)
        for name in self.key:
            if types[name].family == "other":
                raise TypeMismatchError(f"the key column {name!r} holds {types[name]}, which cannot be compared.")
        self._coding.learn(kinds)
        if self._plain_keys is not None and len(self._store) == 0:
            self._plain_keys = None if self._whole_number_key() else []

    def _whole_number_key(self) -> bool:
        return len(self.key) == 1 and isinstance(self._coding.coder(self.key[0]), IntegerCoder)

    def _batch_keys(self, batch: RowBatch) -> list[Any]:
        for name in self.key:
            if name not in batch.columns:
                raise ChangeError(f"the change has no key column {name!r}.", hint="every row needs a key.")
        columns = [batch.listed(name) for name in self.key]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def _keys_of(self, slots: Slots) -> list[Any]:
        return self._names(slots)()

    def _names(self, slots: Slots) -> Callable[[], list[Any]]:
        """The keys of the rows, to be listed later, when the rows may have gone."""
        if self._plain_keys is None:
            codes = self._store.rows.codes[slots, 0]
            return lambda: list(codes.tolist())
        keys = self._plain_keys  # grows, and is replaced as a whole
        return lambda: [keys[slot] for slot in slots.tolist()]

    def _key_list(self, keys: Any) -> list[Any]:
        if hasattr(keys, "to_pylist"):
            keys = keys.to_pylist()
        elif hasattr(keys, "tolist"):
            keys = keys.tolist()
        single = isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable)
        if single or (isinstance(keys, tuple) and len(self.key) > 1):
            keys = [keys]
        return [tuple(key) if isinstance(key, list) else key for key in keys]

    def _slots_of(self, keys: Sequence[Any], *, checked: bool = False) -> Slots:
        """The slots of the keys. ChangeError when one is not there, or is named twice."""
        found = self._lookup(keys)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            raise ChangeError(
                f"there is no row with key {keys[missing[0]]!r}.",
                hint="nothing was changed. Only rows that are there can be deleted or updated.",
            )
        if not checked:
            self._require_once(keys, found)
        return found

    def _lookup(self, keys: Sequence[Any]) -> Slots:
        codes = np.zeros((len(keys), len(self.key)), np.int64)
        known = np.ones(len(keys), np.bool_)
        for i, key in enumerate(keys):
            parts = key if len(self.key) > 1 else (key,)
            if not isinstance(parts, tuple) or len(parts) != len(self.key):
                raise ChangeError(f"{key!r} is no key of {len(self.key)} columns.", hint="give a tuple per key.")
            for j, (name, value) in enumerate(zip(self.key, parts, strict=True)):
                code = self._known_code(name, value)
                if code is None:
                    known[i] = False
                else:
                    codes[i, j] = code
        found = self._map.find(self._store.rows.codes, codes)
        found[~known] = -1
        return found

    def _known_code(self, name: str, value: Any) -> int | None:
        coder = self._coding.coder(name)
        if coder is None or value is None:
            return None
        try:
            return coder.find(value)
        except TypeMismatchError as problem:
            raise ChangeError(f"{value!r} is no key: {problem.message}.", hint="nothing was changed.") from None

    def _require_once(self, keys: Sequence[Any], slots: Slots) -> None:
        ordered = np.sort(slots)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            key = keys[int(np.flatnonzero(slots == ordered[again[0]])[0])]
            raise ChangeError(f"the key {key!r} is named twice in one change.", hint="nothing was changed.")

    def _require_new(self, batch: RowBatch, coded: Coded) -> None:
        key_codes = coded.all_codes[:, : len(self.key)]
        there = np.flatnonzero(self._map.find(self._store.rows.codes, key_codes) >= 0)
        if len(there):
            key = self._batch_keys(batch.take([int(there[0])]))[0]
            raise ChangeError(
                f"there is a row with key {key!r} already.",
                hint="nothing was changed. Use update for rows that are there.",
            )
        if len(coded) > 1:
            order = np.lexsort(key_codes.T)
            ordered = key_codes[order]
            again = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
            if len(again):
                key = self._batch_keys(batch.take([int(order[again[0]])]))[0]
                raise ChangeError(f"the key {key!r} is named twice in one change.", hint="nothing was changed.")

    def _is_there(self, keys: Sequence[Any]) -> list[bool]:
        return [slot >= 0 for slot in self._lookup(keys).tolist()]

    # Indexes ------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._store = RowStore(len(self._columns), len(self._programs.tests))
        self._map = KeyMap(len(self.key))
        self._plain_keys = []
        self._indexes: dict[IndexSpec, GroupIndex] = {}
        self._bitmaps: BitmapPath | None = None
        self._planned = 0
        self._plan()

    def _plan(self, before: int | None = None) -> None:
        """Chooses the indexes by what is now known of the rows; those that are chosen again stay.

        Rows from slot `before` on are known and not indexed yet.
        """
        equal = self.rules.nulls == "equal"
        ways = [
            accesses(p, nulls_equal=equal, share=self._share) if isinstance(p, PairProgram) else ()
            for p in self._programs.programs
        ]
        by_sets = {at for at, some in enumerate(ways) if some and self._goes_by_sets(some)}
        chosen = [() if at in by_sets else some for at, some in enumerate(ways)]
        specs = dict.fromkeys(access.spec for ways in chosen for access in ways)
        slots = self._store.slots()
        everything, slots = slots, slots if before is None else slots[: np.searchsorted(slots, before)]
        kept = {}
        for spec in specs:
            index = self._indexes.get(spec)
            if index is None:
                index = GroupIndex(spec, self._store)
                if len(slots):
                    index.add(slots)
            kept[spec] = index
        self._indexes = kept
        self._planned = len(everything)
        self._plan_sets(by_sets, slots)
        self._ways = [
            [self._way(access, program, table) for access in ways]
            for ways, program, table in zip(chosen, self._programs.programs, self._tables, strict=True)
        ]

    def _goes_by_sets(self, ways: Sequence[Access]) -> bool:
        """Whether sets of rows find a row's partners sooner than ranges, from what ranges let through in a sample."""
        if self.access != "auto":
            return self.access == "bitmaps"
        slots = self._store.slots()
        if len(slots) < LEAST_FOR_SETS or all(left_to_check(access) == 0 for access in ways):
            return False
        some = np.random.default_rng(7).choice(slots, SAMPLED_PROBES).astype(np.int32)
        met = 0
        for access in ways:
            index = self._indexes.get(access.spec)
            if index is None or len(index) < len(slots) // 2:  # not indexed yet
                index = GroupIndex(access.spec, self._store)
                index.add(slots)
            asked = Asked(False, False, False, True, False, access.left, *constraint_table(()))
            count, _ = probed(self._store.rows, index.arena, some, by_range_only(access), asked, _NOBODY, _NOBODY)
            met += count
        inequalities = max(sum(is_inequality(int(c[2])) for c in access.probe.compares) for access in ways)
        return met / SAMPLED_PROBES * SECONDS_PER_CANDIDATE > sets_seconds(len(slots), inequalities) * len(ways)

    def _plan_sets(self, which: set[int], slots: Slots) -> None:
        if not which:
            self._bitmaps = None
        elif self._bitmaps is None or set(self._bitmaps.programs) != which:
            programs = {at: p for at, p in enumerate(self._programs.programs) if at in which}
            equal = self.rules.nulls == "equal"
            self._bitmaps = BitmapPath(self._store, cast(dict[int, PairProgram], programs), nulls_equal=equal)
            self._bitmaps.load(slots)

    def _way(self, access: Access, program: PairProgram | RowProgram, table: Any) -> _Way:
        assert isinstance(program, PairProgram), "rules over one row need no partners"
        asked = Asked(False, bool(len(access.probe.others)), False, True, False, access.left, *table)
        return _Way(access, self._indexes[access.spec], asked, program.symmetric)

    def _share(self, compares: Sequence[Compare]) -> float:
        """The share of pairs that the comparisons let through, of those that agree where they should; from a sample."""
        slots = self._store.slots()
        if len(slots) < 2:
            return 0.5
        rows, draw = self._store.rows, np.random.default_rng(7)
        a, b = draw.choice(slots, _SAMPLE), draw.choice(slots, _SAMPLE)
        agree = [c for c in compares if c.allowed == EQ]
        if agree:
            # Pairs that agree are rare among all: each row of the sample with the next one in the order of what agrees.
            a = slots[np.lexsort([rows.codes[slots, c.left] for c in agree])]
            at = draw.integers(0, max(len(a) - 64, 1), _SAMPLE)
            a, b = a[at], a[np.minimum(at + draw.integers(1, 64, _SAMPLE), len(a) - 1)]
        held = np.ones(len(a), np.bool_)
        for c in compares:
            x, y = rows.codes[a, c.left], rows.codes[b, c.right]
            related = np.where(x < y, LT, np.where(x == y, EQ, GT))
            held &= rows.valid[a, c.left] & rows.valid[b, c.right] & ((related & c.allowed) > 0)
        return float(held.mean())

    def _tidy(self) -> None:
        """Plans again when the table has grown fourfold, and gives the room of rows that went back."""
        if self._store.gone > max(4096, self._store.size // 2):
            self._compact()
        elif len(self._store) > max(4 * self._planned, 1000):
            self._plan()

    def _compact(self) -> None:
        slots, rows = self._store.slots(), self._store.rows
        parts = rows.codes[slots], rows.valid[slots], rows.flags[slots]
        keys = None if self._plain_keys is None else [self._plain_keys[slot] for slot in slots.tolist()]
        for family, coder in self._coding.coders.items():
            if isinstance(coder, LabelCoder):
                columns = [self._columns[name] for name in family]
                coder.keep(np.unique(np.concatenate([parts[0][parts[1][:, at], at] for at in columns])))
        self._coding.bounds.clear()
        self._start()
        self._plain_keys = keys
        self._load(*parts)

    def _recode(self, moved: Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
        """Codes of a family have changed: those of the rows follow, and all is indexed again."""
        slots, rows = self._store.slots(), self._store.rows
        codes, valid, flags = rows.codes[slots], rows.valid[slots], rows.flags[slots]
        keys = None if self._plain_keys is None else [self._plain_keys[slot] for slot in slots.tolist()]
        for column, (old, new) in moved.items():
            order = np.argsort(old)
            there = valid[:, column]
            codes[there, column] = new[order][np.searchsorted(old[order], codes[there, column])]
        self._start()
        self._plain_keys = keys
        self._load(codes, valid, flags)

    def _load(self, codes: NDArray[np.int64], valid: NDArray[np.bool_], flags: NDArray[np.bool_]) -> None:
        if len(codes):
            slots = self._store.add(codes, valid, flags)
            self._map.add(self._store.rows.codes, slots)
            self._plan_anew()

    def _plan_anew(self) -> None:
        self._indexes, self._bitmaps = {}, None
        self._plan()

    @property
    def bytes(self) -> int:
        """Memory of the rows' codes and of all indexes."""
        parts = sum(part.nbytes for part in self._store.rows)
        return parts + self._map.bytes + sum(index.bytes for index in self._indexes.values())

    def assert_invariants(self) -> None:
        """Every index holds exactly the rows that are there; every key leads to its row."""
        for index in self._indexes.values():
            index.assert_invariants()
        if self._bitmaps is not None:
            self._bitmaps.assert_invariants()
        slots = self._store.slots()
        assert sorted(self._map.slots().tolist()) == slots.tolist(), "the keys are those of the rows"
        found = self._map.find(self._store.rows.codes, self._store.rows.codes[slots])
        assert (found == slots).all(), "a key leads to its row"
        there = self._store.rows.twin[slots]
        assert (there == slots).all(), "between changes every row stands for itself"
        for (name, pairs), program in zip(self._pairs.items(), self._programs.programs, strict=False):
            lone = 0 if isinstance(program, RowProgram) else sum(right is None for _, right in pairs)
            assert len(pairs) - lone == self._totals[name], "the pairs kept are those counted"


@dataclass(frozen=True)
class _Way:
    """A way to the partners of a row, its index, and how pairs are counted there when nothing goes."""

    access: Access
    index: GroupIndex
    asked: Asked
    symmetric: bool


_NO_PAIRS = SlotPairs(0, _NOBODY, _NOBODY)
_NOTHING: tuple[int, int, Sequence[Violation]] = (0, 0, ())


def _oriented(pairs: Iterable[Violation], symmetric: bool) -> Iterable[Violation]:
    """Of a symmetric rule the smaller key left."""
    return ((a, b) if a < b else (b, a) for a, b in pairs) if symmetric else pairs


def sorted_violations(violations: Iterable[Violation]) -> list[Violation]:
    """In order of left key, then right key; rows alone first."""
    return sorted(violations, key=lambda v: (v[0], v[1] is not None, v[0] if v[1] is None else v[1]))


def _net(kinds: Sequence[Any], keys: Sequence[Any], there: Any) -> tuple[dict[Any, bool], dict[Any, int | None]]:
    """Per key, whether it was there before the batch, and the place of the row it has after it (None: no row)."""
    once = list(dict.fromkeys(keys))
    first = dict(zip(once, there(once), strict=True))
    last: dict[Any, int | None] = {}
    now = dict(first)
    for at, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind == "insert":
            if now[key]:
                raise ChangeError(f"there is a row with key {key!r} already.", hint="nothing was changed.")
            now[key], last[key] = True, at
        elif kind in ("delete", "update_preimage", "update_postimage"):
            if not now[key]:
                raise ChangeError(f"there is no row with key {key!r}.", hint="nothing was changed.")
            if kind == "delete":
                now[key], last[key] = False, None
            elif kind == "update_postimage":
                last[key] = at
        else:
            raise ChangeError(
                f"{kind!r} is no kind of change.",
                hint=f"{CHANGE_TYPE} is insert, delete, update_preimage or update_postimage.",
            )
    touched = {key: first[key] for key in once if key in last}
    return touched, {key: last[key] for key in once if key in last}
