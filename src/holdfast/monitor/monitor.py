"""Violations kept up to date in one process: rows come, go and change, and the change of violations is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from holdfast.encode.column_type import VOID, ColumnType, column_type
from holdfast.errors import ChangeError, OptionError, TypeMismatchError
from holdfast.live_rows.coded_batch import CodedBatch, RowBatch, coding_for, kind_of_values, require_names
from holdfast.live_rows.joint_tables import JointTables
from holdfast.live_rows.keyed_rows import NOBODY, Coming, KeyedRows, NamedRows
from holdfast.live_rows.row_store import Slots
from holdfast.monitor.access import access_lines
from holdfast.monitor.partners import AccessPath, Partners
from holdfast.monitor.reference_index import ReferenceIndex
from holdfast.monitor.schedule import schedule_lines
from holdfast.monitor.slot_pairs import NO_PAIRS, SlotPairs
from holdfast.monitor.tuning import DEFAULT_TUNING, MonitorTuning
from holdfast.presented import Presented
from holdfast.programs.arrow_expression import computed_values_of
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.bind import Schema, require_columns, require_types
from holdfast.programs.compile import compile_rules
from holdfast.programs.condition import rule_condition
from holdfast.programs.form import Form
from holdfast.programs.lower import calculated_columns, lower_rules
from holdfast.programs.program import PairProgram, RowProgram, is_symmetric
from holdfast.rules.joint_rules import joint_rules
from holdfast.rules.parse import given_names, is_table_name
from holdfast.rules.predicate import joint_name
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import as_rule_set, refuse_tables, require_table
from holdfast.states.lazy_list import LazyList
from holdfast.states.violations_change import RuleViolationsChange, Violation, ViolationsChange

Keep = Literal["counts", "pairs"]
DEFAULT_LIMIT = 1_000_000
_UNLIMITED = 2**40
_NO_ROWS = (NOBODY, NOBODY)


class Monitor(KeyedRows, Presented):
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
        key: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
        nulls: Nulls | None = None,
        schema: Mapping[str, str] | Mapping[str, Mapping[str, str]] | None = None,
        limit: int | None = DEFAULT_LIMIT,
        keep: Keep = "counts",
        access: AccessPath = "auto",
        tuning: MonitorTuning = DEFAULT_TUNING,
    ) -> None:
        """`schema` names the types of columns, as Spark does; those it does not name are told from the first values.

        For rules over several tables `key` is a mapping from their names to the key of each, and so is `schema`.

        With `keep="pairs"` all violations are kept in memory, which `violations` then lists at once. `access` and
        `tuning` are for comparing: how partners are found is otherwise chosen by what the rows are like.
        """
        self.rules = as_rule_set(rules, nulls=nulls, tables=key if isinstance(key, Mapping) else None)
        self._tables, self._joint = _joint_tables(self.rules, key)
        if self._tables is not None:
            named = self._tables.key
        else:
            named = self.rules.key if key is None or isinstance(key, Mapping) else given_names(key)
        if not named:
            raise OptionError("a monitor needs to know the key of its rows.", hint="name it: Monitor(rules, key='id').")
        if keep not in ("counts", "pairs"):
            raise OptionError(f"keep is {keep!r}.", hint="it is 'counts' or 'pairs'.")
        if limit is not None and limit < 0:
            raise OptionError(f"the limit is {limit}.", hint="it is a number of violations, or None for all of them.")
        if access not in ("auto", "runs", "bitmaps"):
            raise OptionError(f"access is {access!r}.", hint="it is 'auto', 'runs' or 'bitmaps'.")
        self.limit, self.keep, self.access, self._tuning = limit, keep, access, tuning
        self._given = _given_types(schema, self._tables)
        self._calculated = calculated_columns(self._joint)
        self._begun: frozenset[str] = frozenset()
        self._set_up(named, self._given)

    def _set_up(self, key: tuple[str, ...], types: Mapping[str, ColumnType]) -> None:
        """Programs and indexes for columns of these types, without rows; other columns have no type yet."""
        conditions = [condition for rule in self._joint if (condition := rule_condition(rule)) is not None]
        own = list(dict.fromkeys(name for rule in self._joint for name in rule.body.columns))
        if self._tables is not None:  # the rows may come to be entered again, by what is kept of them
            own = list(dict.fromkeys([*own, *(condition.column for condition in self._tables.conditions)]))
        self._types = {**dict.fromkeys([*key, *own], VOID), **types}
        if self._calculated:
            require_types(self._joint, Schema("of the monitor", self._types))
        lowered = lower_rules(self._joint, self._types)
        self._computed = lowered.computed
        self._programs = compile_rules(self._joint, first=tuple(map(Form, key)), lowered=lowered).as_pairs()
        # A form is the column with its number; columns that only flags read come after those.
        forms = [form.column for form in self._programs.forms]
        names = tuple(dict.fromkeys([*forms, *own, *self._computed]))
        self._columns = {name: at for at, name in enumerate(names)}
        read = [*names, *(name for condition in conditions for name in condition.columns)]
        needed = [name for name in dict.fromkeys(read) if self._tables is None or name not in self._computed]
        coding = coding_for(names, lowered.constraints)
        super().__init__(key, coding, needed=needed, flags=len(self._programs.flags), tables=self._tables)
        self._totals = dict.fromkeys((rule.name for rule in self.rules), 0)
        self._pairs: dict[str, set[Violation]] = (
            {rule.name: set() for rule in self.rules} if self.keep == "pairs" else {}
        )
        if types:
            self._adopt({name: kind for name, kind in types.items() if name in self._columns}, types)
        computed = {name: column.kind for name, column in self._computed.items() if column.kind.family != "void"}
        self._coding.learn(computed)
        self._reloaded()

    def _prepared(self, batch: RowBatch) -> RowBatch:
        """The rows with the values of expressions. Their types are those of the first rows where nobody named them."""
        if not self._calculated:
            return batch
        require_names(batch, [name for name in self._needed if name not in self._computed], None)
        unnamed = [name for name in self._calculated if name not in self._given]
        fresh = {name: kind_of_values(batch.columns[name], name) for name in unnamed if not self._has_rows_with(name)}
        first = {name: kind for name, kind in fresh.items() if kind.family != "void"}
        if len(self) == 0 and unnamed:
            self._set_up(self.key, {**self._given, **first})
        elif any(self._types[name] != kind for name, kind in first.items()):
            self._set_up_again(first)
        for name in unnamed:
            if self._types[name].family == "void" and kind_of_values(batch.columns[name], name).family != "void":
                raise ChangeError(
                    f"column {name!r}, which a rule calculates with, has its first values only now.",
                    hint=f"nothing was changed. Name the type of {name!r} from the start with schema={{{name!r}: …}}.",
                )
        return self._with_computed(batch)

    def _with_computed(self, batch: RowBatch) -> RowBatch:
        values = {
            name: computed_values_of(column, batch.columns, self._types, batch.size)
            for name, column in self._computed.items()
        }
        return RowBatch(batch.size, {**batch.columns, **values})

    def _has_rows_with(self, name: str) -> bool:
        """Whether rows have come that have this column."""
        return len(self) > 0 if self._tables is None else name.partition(".")[0] in self._begun

    def _set_up_again(self, types: Mapping[str, ColumnType]) -> None:
        """As `_set_up`, with the rows of other tables, which do not have the columns whose types become known."""
        slots, rows, coding = self._store.slots(), self._store.rows, self._coding
        names, totals, pairs = self._keys.names(slots)(), self._totals, self._pairs
        columns: dict[str, list[Any]] = {}
        for at, name in enumerate(coding.names):
            coder, valid = coding.coder(name), rows.valid[slots, at].tolist()
            codes = rows.codes[slots, at].tolist()
            columns[name] = [
                coder.value(code) if here and coder is not None else None
                for code, here in zip(codes, valid, strict=True)
            ]
        known = {name: kind for name, kind in coding.kinds.items() if kind.family != "void" and name in self._types}
        self._set_up(self.key, {**known, **types})
        self._totals, self._pairs = totals, pairs
        batch = self._with_computed(RowBatch(len(slots), columns))
        self._keys.add(self._come(Coming(batch, *self._encoded(batch))), lambda: names)
        self._reloaded()

    # What is known ------------------------------------------------------------------------------------------------

    @property
    def totals(self) -> dict[str, int]:
        """By rule, its violating pairs, or rows where it speaks of one row; exact."""
        return dict(self._totals)

    def unit(self, rule: Rule) -> str:
        """What a total of the rule counts: pair, or row where it speaks of one row."""
        at = self.rules.rules.index(rule)
        return "row" if self._counts_rows(at) else "pair"

    def _counts_rows(self, at: int) -> bool:
        return self._of_rows[at]

    def violations(self, rule: str, *, limit: int | None = None) -> list[Violation]:
        """The violations of the rule as things are, at most `limit` of them: pairs of keys, and (key, None)."""
        at = self.rules.rules.index(self.rules[rule])
        most = _UNLIMITED if limit is None else limit
        if self.keep == "pairs":
            return _sorted(self._pairs[rule])[:most]
        program, slots = self._programs.programs[at], self._store.slots()
        if at in self._references:
            return _sorted(self._listed(at, self._references[at].current(), NO_PAIRS)[:most])
        alone = slots[self._store.rows.flags[slots, program.alone]] if program.alone is not None else NOBODY
        pairs = NO_PAIRS
        if not isinstance(program, RowProgram):
            pairs = self._partners.current(at, min(most, self._totals[rule]))
        return _sorted(self._listed(at, alone, pairs)[:most])

    def explain(self) -> str:
        """Per rule, how the partners of a row are found; then the order in which sets of rows are intersected."""
        columns, bitmaps = tuple(self._columns), self._partners.bitmaps
        lines = [f"{len(self):,} rows, {self.bytes / 2**20:,.0f} MiB"]
        for at, rule in enumerate(self.rules):
            lines.append(f"{rule.name}: {rule}")
            lines += [f"  {line}" for line in access_lines(self._partners.ways(at), columns)]
            if bitmaps is not None and at in bitmaps.programs:
                lines.append("  by sets of rows, in the order below")
            elif at in self._references:
                lines += [f"  {line}" for line in self._references[at].lines(columns)]
            elif isinstance(self._programs.programs[at], RowProgram):
                lines.append("  each row by itself")
        if bitmaps is not None:
            names = [rule.name for rule in self.rules]
            lines.append("sets of rows, equalities looked up and inequalities from less-than trees:")
            lines += [f"  {line}" for line in schedule_lines(bitmaps.schedule, names, columns)]
        return "\n".join(lines)

    @property
    def bytes(self) -> int:
        """Memory of the rows' codes, their keys and all indexes but the sets of rows."""
        references = sum(index.bytes for index in self._references.values())
        return super().bytes + self._partners.bytes + references

    # Changes ------------------------------------------------------------------------------------------------------

    # Of several tables, each takes what is given of one with `table`, or a mapping from tables to what is given of
    # each, which is one change.

    def insert(self, rows: Any, *, table: str | None = None) -> ViolationsChange:
        """Rows come whose keys are new."""
        return self._change(self._inserting(self._of_tables(rows, table, "rows")))

    def delete(self, keys: Any, *, table: str | None = None) -> ViolationsChange:
        """Rows go, named by their keys: one key or many; of several columns each key is a tuple."""
        return self._change(self._deleting(self._of_tables(keys, table, "keys")))

    def update(self, rows: Any, *, table: str | None = None) -> ViolationsChange:
        """Rows take the place of those with their keys."""
        return self._change(self._updating(self._of_tables(rows, table, "rows")))

    def apply(self, changes: Any, *, table: str | None = None) -> ViolationsChange:
        """A batch of changes, in order, as one: what counts is its net effect.

        Rows have a column `_change_type`: insert, delete, update_preimage, update_postimage; those without come. What
        is applied and what is refused is the same as in `holdfast watch apply`.
        """
        return self._change(self._applying(self._of_tables(changes, table, "changes")))

    def _of_tables(self, given: Any, table: str | None, what: str) -> Any:
        if self._tables is not None:
            return self._tables.of_one(given, table, what)
        if table is not None:
            raise OptionError(f"the monitor is of one table, and table is {table!r}.", hint="leave it out.")
        return given

    def _change(self, named: NamedRows) -> ViolationsChange:
        """Rows go, others come, and the violations with them."""
        gone, coming, before = named.gone, named.coming, named.before
        if coming is None and not len(gone):
            return ViolationsChange({}, self.totals)
        come = NOBODY if coming is None else self._come(coming)
        kept = before is not None and len(gone) > 0
        if before is not None and kept:
            self._store.replace(gone, come, before)
        if len(gone):
            self._store.remove(gone)
            self._keys.remove(gone)
        if coming is not None:
            self._keys.add(come, lambda: self._keys.of_batch(coming.batch))
        limit = _UNLIMITED if self.limit is None or self.keep == "pairs" else self.limit
        pairs = self._partners.changed(gone, come, kept=kept, limit=limit)
        absent = {at: index.changed(gone, come, kept=kept) for at, index in self._references.items()}
        changes = {}
        for at, name in enumerate(self._totals):
            lost, new = pairs.get(at, (NO_PAIRS, NO_PAIRS))
            if at in absent:
                lone = (absent[at].gone, absent[at].come)
            elif self._alone_flags[at] is None:
                lone = _NO_ROWS
            else:
                lone = (self._alone(at, gone, kept), self._alone(at, come, kept))
            added, removed = len(lone[1]) + new.count, len(lone[0]) + lost.count
            if not added and not removed:
                continue
            listed = (
                self._lazily(at, lone[1], new, limit) if added else (),
                self._lazily(at, lone[0], lost, limit) if removed else (),
            )
            changes[name] = RuleViolationsChange(*listed, added, removed)
            rows = len(lone[1]) - len(lone[0])
            self._totals[name] += rows if self._counts_rows(at) else new.count - lost.count
        if kept:
            self._store.settle(come)
        for name, change in changes.items() if self.keep == "pairs" else ():
            self._pairs[name].difference_update(change.removed)
            self._pairs[name].update(change.added)
        if self._store.mostly_gone:
            self._compact()
        return ViolationsChange(changes, self.totals)

    def _come(self, coming: Coming) -> Slots:
        coded = CodedBatch(self._columns, coming.codes, coming.valid, self.rules.nulls, self._coding, coming.batch)
        flags = np.zeros((len(coded), len(self._programs.flags)), np.bool_)
        for at, flag in enumerate(self._programs.flags):
            flags[:, at] = flag_values(flag, coded)
        self._known = frozenset(coming.batch.columns)
        if self._tables is not None:
            self._begun |= self._tables.tables_in(coming.batch)
        return self._store.add(coming.codes, coming.valid, flags)

    def _alone(self, at: int, slots: Slots, kept: bool) -> Slots:
        """Those of the rows that break the rule by themselves, and did not, or will not, in their other version."""
        flag = self._alone_flags[at]
        if flag is None or not len(slots):
            return NOBODY
        rows = self._store.rows
        alone: Slots = slots[rows.flags[slots, flag]]
        if kept:
            other = rows.twin[alone]
            alone = alone[(other < 0) | ~rows.flags[np.maximum(other, 0), flag]]
        return alone

    def _lazily(self, at: int, alone: Slots, pairs: SlotPairs, limit: int) -> Sequence[Violation]:
        """At most `limit` violations by key, named when they are first looked at."""
        if len(alone) + len(pairs.left) > limit:
            alone = alone[:limit]
            pairs = pairs.cut(limit - len(alone))
        return LazyList(len(alone) + len(pairs.left), self._naming(at, alone, pairs))

    def _listed(self, at: int, alone: Slots, pairs: SlotPairs) -> list[Violation]:
        return self._naming(at, alone, pairs)()

    def _naming(self, at: int, alone: Slots, pairs: SlotPairs) -> Callable[[], list[Violation]]:
        """The violations by key, rows alone first; of a symmetric rule the smaller key left."""
        alone_names = self._keys.names(alone)
        left, right = self._keys.names(pairs.left), self._keys.names(pairs.right)
        program = self._programs.programs[at]

        def name_violations() -> list[Violation]:
            symmetric = is_symmetric(program)
            rows: list[Violation] = [(key, None) for key in alone_names()]
            ends = zip(left(), right(), strict=True)
            return rows + [(b, a) if symmetric and b < a else (a, b) for a, b in ends]

        return name_violations

    # Rows ---------------------------------------------------------------------------------------------------------

    def _adopt(self, kinds: Mapping[str, ColumnType], columns: Iterable[str]) -> None:
        """Types become known; TypeMismatchError, and nothing is, where a rule compares what cannot be compared."""
        types = {**self._types, **self._coding.kinds, **kinds}
        schema = Schema("of the monitor", {**dict.fromkeys(columns, column_type("void")), **types})
        require_columns(self._joint, self.key, schema)
        require_types(self._joint, schema)
        for name in self.key:
            if types[name].family == "other":
                raise TypeMismatchError(f"the key column {name!r} holds {types[name]}, which cannot be compared.")
        super()._adopt(kinds, columns)

    def _reloaded(self) -> None:
        nulls, tuning, programs = self.rules.nulls, self._tuning, self._programs
        inclusions = [at for at, rule in enumerate(self.rules) if rule.kind == "ind"]
        self._partners = Partners(self._store, programs, nulls, self.access, tuning=tuning, absent=inclusions)
        self._references: dict[int, ReferenceIndex] = {}
        for at in inclusions:
            program = programs.programs[at]
            assert isinstance(program, PairProgram), "an inclusion is what a row and its partner satisfy"
            self._references[at] = ReferenceIndex(self._store, program, nulls_equal=nulls == "equal", tuning=tuning)
        self._alone_flags = [program.alone for program in programs.programs]
        self._of_rows = [at in inclusions or isinstance(p, RowProgram) for at, p in enumerate(programs.programs)]

    def assert_invariants(self) -> None:
        """Every index holds exactly the rows that are there; every key leads to its row."""
        self._partners.assert_invariants()
        self._keys.assert_invariants()
        for index in self._references.values():
            index.assert_invariants()
        for at, (name, pairs) in enumerate(self._pairs.items()):
            lone = 0 if self._counts_rows(at) else sum(right is None for _, right in pairs)
            assert len(pairs) - lone == self._totals[name], "the pairs kept are those counted"


def _joint_tables(
    rules: RuleSet, key: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
) -> tuple[JointTables | None, RuleSet]:
    """The tables that the rules are over, and the rules over the rows of all; None where there is one table."""
    named = {table.name: table.key for table in rules.tables if table.key}
    if not isinstance(key, Mapping):
        if key is not None or not named:
            refuse_tables(rules, "a monitor with one key", hint="say how rows of each are named: key={'orders': …}.")
            return None, rules
    else:
        named |= {name: given_names(columns) for name, columns in key.items()}
    for name, columns in named.items():
        if not is_table_name(name):
            raise OptionError(
                f"a table cannot be called {name!r} in a rule.",
                hint="name it by a word of letters, digits and _, other than t and s.",
            )
        if not columns:
            raise OptionError(f"the table {name} has no key.", hint=f"name its columns: key={{{name!r}: …}}.")
    for rule in rules:
        require_table(rule, named)
    joint = joint_rules(rules)
    return JointTables(named, joint.conditions), joint.rules


def _given_types(schema: Mapping[str, Any] | None, tables: JointTables | None) -> dict[str, ColumnType]:
    """The types that a caller names, by the names that columns have among the rows of all tables."""
    types: dict[str, ColumnType] = {}
    for name, kind in (schema or {}).items():
        if isinstance(kind, Mapping):
            if tables is None or name not in tables.keys:
                raise OptionError(f"schema names the table {name!r}, which the monitor does not have.")
            types |= {joint_name(name, column): column_type(own) for column, own in kind.items()}
        else:
            types[name] = column_type(kind)
    return types if tables is None else {**types, **tables.types}


def _sorted(violations: Iterable[Violation]) -> list[Violation]:
    """In order of left key, then right key; rows alone first."""
    return sorted(violations, key=lambda v: (v[0], v[1] is not None, v[0] if v[1] is None else v[1]))
