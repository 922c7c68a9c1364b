"""What states ask of an engine: tables are read, rows go to tasks, and tasks report.

Jobs of states are written in these terms, so that each runs on every engine: `engines/spark/states` has them on Spark,
`engines/local` in this process. Both run the same tasks and write the same files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from holdfast.encode.column_type import ColumnType
    from holdfast.engines.check_result import CheckResult
    from holdfast.engines.result_table import ResultTable
    from holdfast.engines.tables.result import TablesCheckResult
    from holdfast.fragments.id_packing import IdPacking
    from holdfast.programs.plan import Plan
    from holdfast.rules.predicate import Constant
    from holdfast.rules.rule import RuleSet
    from holdfast.search.options import DiscoverOptions
    from holdfast.search.result import SearchResult
    from holdfast.states.joint_layout import JointLayout
    from holdfast.states.messages import Message
    from holdfast.states.table_schema import FieldJson, SchemaJson
    from holdfast.tables.read_options import Origin, ReadOptions
    from holdfast.watching.pair_groups import GroupedPrograms

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Rows of one partition in, rows or messages out."""
Rows: TypeAlias = Any
"""Rows in partitions, as the engine has them: a DataFrame on Spark, an Arrow table in this process."""


class SourceTable(Protocol):
    """A table that an engine has opened: the name that errors call it by, and where its rows come from."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> Origin | None: ...


@dataclass(frozen=True)
class Changes:
    """Changes under safe names: `ct`, their place `o0`, `o1`, `o2`, and the columns `c0`, ... of the state's types.

    `known` are the positions of the columns that the source has.
    """

    rows: Rows
    table: SourceTable
    known: tuple[int, ...]


@dataclass(frozen=True)
class OpenedSource:
    """What is known of a file or folder before its rows are read: the kind of source, and the types of its columns, by
    name, as SQL calls them. `table` is the table, where opening it is reading it."""

    name: str
    kind: str
    types: Mapping[str, str]
    table: SourceTable | None = None


@dataclass(frozen=True)
class SiteColumns:
    """Sites that hold the same columns: their tables, by the number of the site, and the names of these columns.

    `atoms` are the numbers of what they keep of a row; `conditions` those of all groups of sites on their rows, or None
    where these columns do not tell.
    """

    tables: Mapping[int, SourceTable]
    columns: frozenset[str]
    atoms: tuple[int, ...]
    conditions: tuple[str | None, ...]


class StateEngine(ABC):
    """Reads tables for states, and runs their tasks over partitions."""

    name: ClassVar[str]

    # Tables ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def open_source(self, data: str, options: ReadOptions) -> OpenedSource:
        """Returns what a file or folder is; values are not looked at, but for a sample of CSV files."""

    @abstractmethod
    def read_table(self, data: str, options: ReadOptions) -> SourceTable:
        """Returns the table in a file or folder. A value that does not fit its type is a SourceError, now or later."""

    @abstractmethod
    def table_of(self, frame: Rows, name: str) -> SourceTable:
        """Returns rows that the caller has, under their own column names, as a table of this name."""

    @abstractmethod
    def rows_of(self, rows: pa.Table) -> Rows:
        """Returns rows that are in this process."""

    @abstractmethod
    def frame_of(self, table: SourceTable) -> Rows:
        """Returns the rows of the table under their own column names."""

    @abstractmethod
    def schema_of(self, table: SourceTable) -> SchemaJson:
        """Returns the columns of the table and their types."""

    @abstractmethod
    def typed_changes(self, table: SourceTable, schema: SchemaJson) -> Changes:
        """Returns the changes that the table's rows are, in the columns and types of the schema.

        A value that does not fit its type is a ChangeError, at the latest when tasks run.
        """

    @abstractmethod
    def check(self, table: SourceTable, plan: Plan, *, limit: int | None, whole: bool = False) -> CheckResult:
        """Returns a CheckResult of the table, whose key must name its rows. `whole` keeps all columns for
        checked_rows()."""

    @abstractmethod
    def checked_rows(self, result: CheckResult, table: SourceTable, plan: Plan) -> Rows:
        """Returns the rows that a check with `whole` has read: as of keyed_rows()."""

    @abstractmethod
    def search(
        self, table: SourceTable, types: Mapping[str, ColumnType], options: DiscoverOptions
    ) -> SearchResult | None:
        """Returns what a discovery that compares these columns finds; None where there are no rows."""

    @abstractmethod
    def compared_rows(self, table: SourceTable, types: Mapping[str, ColumnType]) -> Rows:
        """Returns these columns under the names `c0`, `c1`, ..., all rows in one partition."""

    @abstractmethod
    def keyed_rows(self, table: SourceTable, plan: Plan) -> Rows:
        """Returns the table's rows: their key `k`, and under safe names `c0`, ... the columns that the plan needs."""

    @abstractmethod
    def stored_table(self, task: Task, places: int, schema: SchemaJson, name: str) -> SourceTable:
        """Returns the table whose rows the task gives for the numbers `id` from 0 up to `places`: all columns of the
        schema, under their own names."""

    @abstractmethod
    def result_of(self, rows: Rows) -> ResultTable:
        """Returns the rows as a table of a result."""

    # Several tables in one state ------------------------------------------------------------------------------

    @abstractmethod
    def check_tables(
        self,
        tables: Mapping[str, SourceTable],
        rules: RuleSet,
        keys: Mapping[str, tuple[str, ...]],
        *,
        limit: int | None,
    ) -> TablesCheckResult:
        """Returns what a check of the tables, under their names in rules, finds."""

    @abstractmethod
    def joined_table(self, tables: Mapping[str, SourceTable], layout: JointLayout) -> SourceTable:
        """Returns the rows of all tables as one table."""

    @abstractmethod
    def tables_in(self, table: SourceTable, layout: JointLayout) -> dict[str, SourceTable]:
        """Returns each of the tables in the table of all."""

    @abstractmethod
    def joined_changes(self, changes: Mapping[str, Changes], layout: JointLayout) -> Changes:
        """Returns the changes of all tables as changes of the one, which has all columns. Those of rows that come
        without all columns of their own table are LACKING."""

    @abstractmethod
    def whole_rows(self, table: SourceTable, plan: Plan) -> Rows:
        """Returns the table's rows as keyed_rows() does, with all columns."""

    # Tables that are split over sites -------------------------------------------------------------------------

    @abstractmethod
    def entirely_null(self, table: SourceTable, column: str) -> bool:
        """Returns whether the column has no value at all."""

    @abstractmethod
    def row_count(self, tables: Sequence[SourceTable]) -> int:
        """Returns how many rows the tables have together."""

    @abstractmethod
    def packed_sites(self, sites: Sequence[SiteColumns], packing: IdPacking) -> Rows:
        """Returns the rows of all sites, each made of the columns of its own site alone, in the types of the packing:
        `site`, the key `k`, packed `ids` and `bits` of the site's atoms, and in `inside` a byte for each condition.
        """

    @abstractmethod
    def packed_changes(self, changes: Changes, packing: IdPacking, conditions: Sequence[str]) -> Rows:
        """Returns the changes in the same way, `ids` and `bits` of all atoms, with `ct`, `o0`, `o1` and `o2`."""

    @abstractmethod
    def truths(
        self, rows: Sequence[Mapping[str, Constant]], schema: SchemaJson, conditions: Sequence[str]
    ) -> list[set[str]]:
        """Returns which of the conditions are true of each of the rows, which have these constants in these columns of
        the schema, and nulls in others."""

    # Tasks ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tasks are worth having at once."""

    @abstractmethod
    def splits(self, table: SourceTable) -> int:
        """Returns into how many ranges of hashes a batch is divided: a power of two."""

    @abstractmethod
    def keyed(self, rows: Rows, plan: Plan) -> Rows:
        """Returns the rows with `k`, the value of their key column, or a struct of several under their own names."""

    @abstractmethod
    def placed(self, rows: Rows, places: int, *, by: Sequence[str] = (), columns: Sequence[str] | None = None) -> Rows:
        """Returns the rows, in a piece of `work` for each of `places` ranges of their hashes `h`, each whole in one
        partition.

        With `by`, the hash is Spark's `xxhash64` of these columns. With `columns`, other columns are left out.
        """

    @abstractmethod
    def routed(
        self,
        rows: Rows,
        plan: Plan,
        groups: GroupedPrograms,
        splits: int,
        *,
        which: Sequence[int] | None = None,
    ) -> Rows:
        """Returns the rows once for each group they belong to, with forms and flags, the group `g`, the hash `h` and
        the `role` they have there, and the piece of `work` that each goes to; each whole in one partition.

        `which` are the groups of a first load, whose rows all come (`sign` 1): no row alone, and rows that meet by
        nothing are divided by their keys. Otherwise rows are those of RowChangesTask.
        """

    @abstractmethod
    def gathered(self, rows: Rows) -> Rows:
        """Returns the rows, all in one partition."""

    @abstractmethod
    def shared(self, rows: Rows, shares: int) -> Rows:
        """Returns all rows so many times, each time with the number of its `share` and whole in one partition."""

    @abstractmethod
    def run(self, rows: Rows, task: Task, fields: Sequence[FieldJson]) -> Rows:
        """Returns what the task gives for each partition: rows of these columns."""

    def run_both(
        self,
        rows: Rows,
        places: tuple[int, int],
        tasks: tuple[Task, Task],
        fields: tuple[Sequence[FieldJson], Sequence[FieldJson]],
    ) -> Rows:
        """Returns what the second task gives for what the first one gives for the rows: rows of the second fields.

        Pieces of the first are of rows with one key `k`, those of the second of rows with one hash `h`; there are so
        many of each, or as many as the engine sees fit. Rows with one hash have one `part`, by which the first task
        gives them.
        """
        between = self.run(self.placed(rows, places[0], by=["k"]), tasks[0], fields[0])
        return self.run(self.placed(between, places[1]), tasks[1], fields[1])

    @abstractmethod
    def messages(self, rows: Rows, task: Task) -> list[Message]:
        """Returns the messages of the task, run on every partition."""

    @abstractmethod
    def numbers(self, columns: Mapping[str, Sequence[int]], partitions: int) -> Rows:
        """Returns rows of these numbers, in so many partitions."""

    # Errors ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def translate_change_errors(self, table: SourceTable, schema: SchemaJson) -> AbstractContextManager[None]:
        """Turns what is thrown while the table's changes are applied into an error in the user's terms."""

    @abstractmethod
    def translate_load_errors(self, table: SourceTable, doing: str = "loading") -> AbstractContextManager[None]:
        """Turns what is thrown while a state is made of the table into an error in the user's terms."""

    @abstractmethod
    def translate_site_errors(self, tables: Mapping[str, SourceTable], origin: str) -> AbstractContextManager[None]:
        """Turns what is thrown while a state is made of the tables, by site, into an error that names the site."""
