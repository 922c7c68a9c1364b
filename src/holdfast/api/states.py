"""States in folders or on object stores: create one, open it, apply changes, follow a source, show how things are.

A batch of changes is applied once, however often it is given, and whole or not at all.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from holdfast.api.jobs import (
    DEFAULT_LIMIT,
    Data,
    KeyColumns,
    Place,
    Rules,
    Tables,
    engine_for_tables,
    open_table,
    opened_tables,
    table_sources,
)
from holdfast.errors import OptionError, closest_hint
from holdfast.evolving.options import EvolveStrategy, evolve_options, require_strategy
from holdfast.rules.decisions import Decisions, as_decisions
from holdfast.rules.parse import given_names
from holdfast.rules.rule import Nulls
from holdfast.rules.rule_file import as_rule_set, named_key, refuse_tables
from holdfast.search.options import DEFAULT_TOP, how_many

if TYPE_CHECKING:
    from holdfast.engines.choose import EngineChoice
    from holdfast.engines.spark.sources.table import Session
    from holdfast.engines.states.evolved_table import EvolvedTable
    from holdfast.engines.states.fragmented_table import FragmentedTable
    from holdfast.engines.states.state_engine import SourceTable, StateEngine
    from holdfast.engines.states.state_engine_choice import StateEngineChoice
    from holdfast.engines.states.state_table import StateTable
    from holdfast.engines.states.watched_table import WatchedTable
    from holdfast.engines.states.watched_tables import JointWatch
    from holdfast.evolving.outcome import EvolveOutcome, EvolveStatus
    from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
    from holdfast.fragments.sites import SplitTable
    from holdfast.states.batch_outcome import BatchOutcome
    from holdfast.states.messages import Shipped
    from holdfast.states.versions import VerifiedState
    from holdfast.watching.status import WatchStatus

_Table = TypeVar("_Table", bound="StateTable[Any, Any]")
_Outcome = TypeVar("_Outcome")


class _State(Generic[_Table, _Outcome]):
    """A state that is open. `seconds` is how long it took to create it, where it was."""

    _job: ClassVar[str]

    def __init__(self, table: _Table, engines: StateEngineChoice, seconds: float = 0.0) -> None:
        self._table, self._engines, self._seconds = table, engines, seconds

    @classmethod
    def open(
        cls,
        state: Place,
        *,
        engine: EngineChoice = "auto",
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> Self:
        """Returns the state in the folder `state`, or at its address on an object store.

        Raises StateError where there is none, or that of another job.
        `engine` is where its jobs run, as in `check`: a state may be made on one engine and applied to on the other.
        """
        from holdfast.engines.states.state_engine_choice import StateEngineChoice

        engines = StateEngineChoice(engine, master, conf)
        return cls(cls._opened(engines.local(), state), engines)

    @classmethod
    def verify(cls, state: Place) -> VerifiedState:
        """Reads all files of the state in the folder `state`, and says which are not as they were written.

        Raises StateError where there is no such state. No engine is needed, and nothing is changed.
        """
        from holdfast.states.store import open_store
        from holdfast.states.versions import verified

        return verified(open_store(state), cls._job)

    @staticmethod
    def _opened(engine: StateEngine, state: Place) -> _Table:
        raise NotImplementedError

    def _apply(self, changes: Place, batch: str | None, limit: int | None, reading: Mapping[str, Any]) -> _Outcome:
        from holdfast.tables.read_options import ReadOptions

        given = {name: value for name, value in reading.items() if value}
        engine = self._engines.for_data(changes, ReadOptions(**{**self._table.manifest.reading, **given}))

        def applied(engine: StateEngine) -> _Outcome:
            state = self._on(engine)
            outcome: _Outcome = state.apply_file(os.fspath(changes), batch=batch, limit=limit, reading=reading)
            return outcome

        return self._engines.run(engine, applied)

    def _on(self, engine: StateEngine) -> _Table:
        """The newest version of the state, on this engine."""
        return replace(self._table, engine=engine)

    def _follow(
        self,
        source: Place,
        *,
        once: bool,
        from_version: int | None,
        limit: int | None,
        on_batch: Callable[[Any, str], None],
        on_problem: Callable[[str], None],
    ) -> None:
        from holdfast.tables.data_files import is_delta, is_iceberg, is_spark_table

        name = os.fspath(source)
        given: dict[str, Any] = {"once": once, "limit": limit, "on_batch": on_batch, "from_version": from_version}
        if is_iceberg(name):
            self._follow_iceberg(name, **given)
        elif is_spark_table(name):
            self._follow_changelog(name, **given)
        elif is_delta(name):
            self._follow_on_spark(name, **given)
        elif from_version is not None:
            raise OptionError(f"--from-version is for tables with a feed of changes, and {name} is a folder.")
        else:
            self._follow_folder(name, once=once, limit=limit, on_batch=on_batch, on_problem=on_problem)

    def _follow_on_spark(self, source: str, *, once: bool, **options: Any) -> None:
        """Follows a Delta table."""
        from holdfast.engines.spark.states.follow_delta import follow_delta
        from holdfast.engines.spark.states.spark_engine import SparkEngine

        def opened(spark: Session, state: str) -> Any:
            return type(self)._opened(SparkEngine(spark), state)

        spark, place = self._engines.on_spark().spark, os.fspath(self._table.store.root)
        follow_delta(spark, place, source, once=once, opened=opened, **options)

    def _follow_iceberg(self, source: str, *, once: bool, **options: Any) -> None:
        """Follows an Iceberg table in this process; what only Spark can apply is applied there, where that is
        allowed."""
        from holdfast.engines.states.follow_iceberg import IcebergFollower

        follower: IcebergFollower[Any] = IcebergFollower(source, **options)
        engine = self._engines.on_spark() if self._engines.choice == "spark" else self._engines.local()

        def look(engine: StateEngine) -> None:
            def opened() -> Any:
                return self._on(engine)

            follower.look(opened)

        _look(lambda: self._engines.run(engine, look), once=once)

    def _follow_changelog(self, source: str, *, once: bool, **options: Any) -> None:
        """Follows a table of a catalog that Spark has."""
        from holdfast.engines.spark.states.follow_changelog import ChangelogFollower

        engine = self._engines.on_spark()
        follower: ChangelogFollower[Any] = ChangelogFollower(source, **options)

        def opened() -> Any:
            return self._on(engine)

        _look(lambda: follower.look(opened), once=once)

    def _follow_folder(
        self,
        source: str,
        *,
        once: bool,
        limit: int | None,
        on_batch: Callable[[Any, str], None],
        on_problem: Callable[[str], None],
    ) -> None:
        """Follows a folder; what only Spark can apply is applied there, where that is allowed."""
        from holdfast.engines.states.follow_folder import FolderFollower, followed_folder

        follower: FolderFollower[Any] = FolderFollower(followed_folder(source), limit, on_batch, on_problem)
        engine = self._engines.for_rows(0)

        def look(engine: StateEngine) -> None:
            def opened() -> Any:
                return self._on(engine)

            (follower.look_once if once else follower.look)(opened)

        def run() -> None:
            self._engines.run(engine, look)

        run() if once else follower.look_again(run)


def _look(look: Callable[[], None], *, once: bool) -> None:
    """Looks for what is new, and again and again unless it is for `once`."""
    from holdfast.engines.states.follow_folder import LOOK_EVERY

    look()
    while not once:
        time.sleep(LOOK_EVERY)
        look()


def _warned(problem: str) -> None:
    warnings.warn(problem, stacklevel=2)


class WatchState(_State["WatchedTable", "BatchOutcome"]):
    """The violations of a table, kept up to date in a folder.

    The sum of all its changes is what `check` finds on the table as it now is.
    """

    _job = "watch"

    @classmethod
    def create(
        cls,
        state: Place,
        data: Data | Tables,
        rules: Rules,
        *,
        key: KeyColumns | Mapping[str, KeyColumns] | None = None,
        nulls: Nulls | None = None,
        engine: EngineChoice = "auto",
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        **reading: Any,
    ) -> WatchState:
        """Returns a new state in the folder `state`: the table as it is now, and how often it violates each rule.

        `engine` is where it is made, as in `check`. For rules over several tables, `data` and `key` are as there.
        """
        if isinstance(data, Mapping):
            return cls(*_loaded_tables(state, data, rules, key, nulls, engine, master, conf, reading))
        if isinstance(key, Mapping):
            raise OptionError("key is a mapping, and there is one table.", hint="name the key's columns alone.")
        rule_set = as_rule_set(rules, nulls=nulls)
        refuse_tables(rule_set, "watch")

        from holdfast.engines.states.watched_table import init_watch

        def load(engine: StateEngine, table: SourceTable) -> WatchedTable:
            return init_watch(engine, table, rule_set, named_key(rule_set, key), state, reading)

        return cls(*_loaded(data, load, engine, master, conf, reading))

    @staticmethod
    def _opened(engine: StateEngine, state: Place) -> WatchedTable:
        from holdfast.engines.states.watched_tables import opened_watch

        return opened_watch(engine, state)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the state, as rules name them; none where it is of one table."""
        return tuple(table.name for table in self._table.newest().rules.tables)

    @property
    def status(self) -> WatchStatus:
        """The totals of the newest version; nothing is computed."""
        return self._table.newest().status(seconds=self._seconds)

    def apply(
        self,
        changes: Place | Mapping[str, Place],
        *,
        batch: str | None = None,
        limit: int | None = DEFAULT_LIMIT,
        **reading: Any,
    ) -> BatchOutcome:
        """Returns the violations that the changes in a file add and remove, at most `limit` of each rule listed.

        `batch` names the changes; without it the content of the file does. Of several tables, `changes` is a mapping
        from their names to files, which are one batch.
        """
        if isinstance(changes, Mapping):
            return self._apply_to_tables(
                {name: os.fspath(file) for name, file in changes.items()}, batch, limit, reading
            )
        self._require_one_table("say of which table the changes are, with --table NAME=CHANGES.")
        return self._apply(changes, batch, limit, reading)

    def _apply_to_tables(
        self, changes: Mapping[str, str], batch: str | None, limit: int | None, reading: Mapping[str, Any]
    ) -> BatchOutcome:
        from holdfast.tables.read_options import ReadOptions

        self._require_tables(changes)

        def applied(engine: StateEngine) -> BatchOutcome:
            return self._joint_on(engine).apply_files(changes, batch=batch, limit=limit, reading=reading)

        return self._engines.run(self._engines.for_all(list(changes.values()), ReadOptions()), applied)

    def _follow_tables(
        self,
        sources: Mapping[str, str],
        *,
        once: bool,
        from_version: Mapping[str, int],
        limit: int | None,
        on_batch: Callable[[BatchOutcome, str], None],
        on_problem: Callable[[str], None],
    ) -> None:
        """Follows the source of each table, one after the other in each look."""
        from holdfast.engines.states.follow_folder import FolderFollower, followed_folder
        from holdfast.engines.states.follow_iceberg import IcebergFollower
        from holdfast.tables.data_files import is_delta, is_iceberg, is_spark_table

        looks = []
        for name, source in sources.items():

            def announce(outcome: BatchOutcome, batch: str, name: str = name) -> None:
                on_batch(outcome, f"{name}: {batch}")

            first = from_version.get(name)
            if is_iceberg(source):
                commits: IcebergFollower[BatchOutcome] = IcebergFollower(source, first, limit, announce)
                engine = self._engines.on_spark() if self._engines.choice == "spark" else self._engines.local()
                looks.append(self._look_for(name, engine, commits.look))
            elif is_spark_table(source):
                looks.append(self._look_at_changelog(name, source, first, limit, announce))
            elif is_delta(source):
                looks.append(self._look_at_delta(name, source, first, limit, announce))
            elif first is not None:
                raise OptionError(f"--from-version is for tables with a feed of changes, and {source} is a folder.")
            else:
                files: FolderFollower[BatchOutcome] = FolderFollower(
                    followed_folder(source), limit, announce, on_problem
                )
                look = files.look_once if once else files.look
                looks.append(self._look_for(name, self._engines.for_rows(0), look))

        def look_at_all() -> None:
            for look in looks:
                look()

        _look(look_at_all, once=once)

    def _look_for(
        self, name: str, engine: StateEngine, look: Callable[[Callable[[], JointWatch]], object]
    ) -> Callable[[], None]:
        """Takes in what is new of one of the tables, whenever it is called; what only Spark can apply, there."""

        def look_on(engine: StateEngine) -> None:
            look(lambda: self._joint_on(engine).following(name))

        return lambda: self._engines.run(engine, look_on)

    def _look_at_changelog(
        self,
        name: str,
        source: str,
        from_version: int | None,
        limit: int | None,
        on_batch: Callable[[BatchOutcome, str], None],
    ) -> Callable[[], None]:
        """Takes in what is new of a table of Spark's catalogs, whose commits are changes of one of the tables."""
        from holdfast.engines.spark.states.follow_changelog import ChangelogFollower

        follower: ChangelogFollower[BatchOutcome] = ChangelogFollower(source, from_version, limit, on_batch)
        return self._look_for(name, self._engines.on_spark(), follower.look)

    def _look_at_delta(
        self,
        name: str,
        source: str,
        from_version: int | None,
        limit: int | None,
        on_batch: Callable[[BatchOutcome, str], None],
    ) -> Callable[[], None]:
        """Takes in what is new of a Delta table, whose commits are changes of one of the tables."""
        from holdfast.engines.spark.states.follow_delta import delta_follower
        from holdfast.engines.spark.states.spark_engine import SparkEngine

        def opened(spark: Session, _: str) -> JointWatch:
            return self._joint_on(SparkEngine(spark)).following(name)

        spark, place = self._engines.on_spark().spark, os.fspath(self._table.store.root)
        options: dict[str, Any] = {"limit": limit, "on_batch": on_batch, "from_version": from_version}
        return delta_follower(spark, place, source, opened=opened, **options).look

    def _joint_on(self, engine: StateEngine) -> JointWatch:
        """The newest version of the state, which is of several tables, on this engine."""
        from holdfast.engines.states.watched_tables import JointWatch

        state = self._on(engine)
        assert isinstance(state, JointWatch), "a state of several tables"
        return state

    def _require_tables(self, named: Iterable[str]) -> None:
        if not self.tables:
            raise OptionError(
                f"the state {self._table.store.root} is of one table.", hint="give what its changes are in alone."
            )
        for name in named:
            if name not in self.tables:
                raise OptionError(
                    f"the state {self._table.store.root} has no table {name!r}.",
                    hint=closest_hint(name, self.tables, what="Tables"),
                )

    def _require_one_table(self, hint: str) -> None:
        if self.tables:
            raise OptionError(f"the state {self._table.store.root} is of {', '.join(self.tables)}.", hint=hint)

    def follow(
        self,
        source: Place | Mapping[str, Place],
        *,
        once: bool = False,
        from_version: int | Mapping[str, int] | None = None,
        limit: int | None = DEFAULT_LIMIT,
        on_batch: Callable[[BatchOutcome, str], None] = lambda outcome, name: None,
        on_problem: Callable[[str], None] = _warned,
    ) -> None:
        """Applies each file of changes that is in the folder `source` or comes there; with `once`, those there now.

        A file is applied when it has stayed as it is for a second. Of a table that keeps its changes (the folder of a
        Delta table, `iceberg:catalog.db.table`, `spark:catalog.db.table`), the commits: from `from_version` on where
        the state does not know which ones it has. `on_batch` is called with the outcome and the name of each batch,
        `on_problem` with words for a file that has changed after it was applied; with `once` that is a ChangeError in
        the end. Of several tables, `source` is a mapping from their names to folders and such tables, and so is
        `from_version`.
        """
        if isinstance(source, Mapping):
            self._require_tables(source)
            versions = {} if from_version is None else from_version
            if not isinstance(versions, Mapping):
                raise OptionError(
                    f"--from-version {versions} does not say of which table.", hint="write it as NAME=VERSION."
                )
            self._require_tables(versions)
            sources = {name: os.fspath(place) for name, place in source.items()}
            options: dict[str, Any] = {"limit": limit, "on_batch": on_batch, "on_problem": on_problem}
            self._follow_tables(sources, once=once, from_version=versions, **options)
            return
        self._require_one_table("name a folder of each, with --table NAME=DIR.")
        if isinstance(from_version, Mapping):
            raise OptionError("from_version is a mapping, and there is one table.", hint="name the version alone.")
        self._follow(
            source, once=once, from_version=from_version, limit=limit, on_batch=on_batch, on_problem=on_problem
        )

    def show(
        self, *, violations: str | None = None, report: Place | None = None, limit: int | None = DEFAULT_LIMIT
    ) -> WatchStatus:
        """Returns totals and worst rows. With `violations`, all current violations are written to that folder, as
        `check` does; with `report`, an HTML page to that file: totals over time, and what is violated now."""
        from holdfast.states.write_whole import write_whole

        def shown(engine: StateEngine) -> WatchStatus:
            started = time.monotonic()
            table = self._on(engine)
            with table.check(limit=0 if violations is None and report is None else limit) as result:
                if violations is not None:
                    result.write_violations(violations)
                status = table.with_worst_rows(result, seconds=time.monotonic() - started)
                if report is not None:
                    write_whole(report, table.report(status, result))
                return status

        return self._engines.run(self._engines.for_rows(self._table.newest().row_bytes), shown)

    def change_rules(self, rules: Rules, *, nulls: Nulls | None = None) -> tuple[list[str], list[str]]:
        """Watches these rules from now on, without loading the table again. Returns the names of rules that are new or
        changed, and of those gone."""
        rule_set = as_rule_set(rules, nulls=nulls)
        self._require_one_table("make a new state with other rules.")
        refuse_tables(rule_set, "watch")
        engine = self._engines.for_rows(self._table.newest().row_bytes)
        started = time.monotonic()
        changed = self._engines.run(engine, lambda engine: self._on(engine).change_rules(rule_set))
        self._seconds = time.monotonic() - started
        return changed


class EvolveState(_State["EvolvedTable", "EvolveOutcome"]):
    """The rules that a table holds, kept up to date in a folder: always what `discover` finds on the table now."""

    _job = "evolve"

    @classmethod
    def create(
        cls,
        state: Place,
        data: Data,
        *,
        key: KeyColumns,
        strategy: EvolveStrategy = "auto",
        options: Mapping[str, Any] | None = None,
        decisions: Decisions | Place | None = None,
        engine: EngineChoice = "auto",
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        **reading: Any,
    ) -> EvolveState:
        """Returns a new state in the folder `state`: the table as it is now, and the rules it holds.

        `options` and `decisions` are those of `discover`; `engine` is where it is made, as there. The state keeps the
        decisions, for what `show` shows.
        """
        known = as_decisions(decisions)
        chosen = evolve_options(**(options or {}))
        checked_strategy = require_strategy(strategy, chosen)

        from holdfast.engines.states.evolved_table import init_evolve

        def load(engine: StateEngine, table: SourceTable) -> EvolvedTable:
            return init_evolve(engine, table, given_names(key), state, chosen, checked_strategy, reading, known)

        return cls(*_loaded(data, load, engine, master, conf, reading))

    @staticmethod
    def _opened(engine: StateEngine, state: Place) -> EvolvedTable:
        from holdfast.engines.states.evolved_table import evolved_table

        return evolved_table(engine, state)

    def apply(
        self, changes: Place, *, batch: str | None = None, strategy: EvolveStrategy | None = None, **reading: Any
    ) -> EvolveOutcome:
        """Returns the rules that the changes in a file add and remove."""
        table = self._table if strategy is None else self._table.by(require_strategy(strategy, self._table.options))
        return EvolveState(table, self._engines)._apply(changes, batch, None, reading)

    def follow(
        self,
        source: Place,
        *,
        once: bool = False,
        from_version: int | None = None,
        on_batch: Callable[[EvolveOutcome, str], None] = lambda outcome, name: None,
        on_problem: Callable[[str], None] = _warned,
    ) -> None:
        """Applies each file of changes that is in the folder `source` or comes there, or each commit of a table that
        keeps its changes; with `once`, those there now. As of a watch."""
        self._follow(source, once=once, from_version=from_version, limit=None, on_batch=on_batch, on_problem=on_problem)

    def show(self, *, top: int | str | None = DEFAULT_TOP, report: Place | None = None) -> EvolveStatus:
        """Returns the rules as they are now, best first, and what the last batches did to them. With `report`, an HTML
        page is written to that file."""
        shown = how_many(top)

        from holdfast.presented import presentation
        from holdfast.states.write_whole import write_whole

        started, newest = time.monotonic() - self._seconds, self._table.newest()
        if newest.decisions is None:
            status = newest.rules_status(top=shown, started=started)
        else:
            # How kept rules are now is a question to the rows.
            status = self._engines.run(
                self._engines.for_rows(newest.row_bytes),
                lambda engine: self._on(engine).rules_status(top=shown, started=started),
            )
        if report is not None:
            write_whole(report, presentation("discovery_page").evolve_page(status))
        return status


class FragmentsState(_State["FragmentedTable", "FragmentsOutcome"]):
    """The violations of a table that is split over sites, kept up to date in a folder."""

    _job = "fragments"
    _shipped: Shipped | None = None

    @classmethod
    def create(
        cls,
        state: Place,
        sites: SplitTable | Place,
        *,
        data: Mapping[str, Data] | None = None,
        engine: EngineChoice = "auto",
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> FragmentsState:
        """Returns a new state in the folder `state`: what each site knows of its rows, and the violations of all.

        `sites` is a sites file; `data` are the sites' tables, by site, instead of what it says of their data. `engine`
        is where it is made, as in `check`.
        """
        from holdfast.fragments.sites import as_sites, given_data, named_data

        parsed = as_sites(sites)  # before Spark starts: a typo in a file should not cost a start-up
        everything = named_data(parsed) if data is None else given_data(parsed, data)

        from holdfast.engines.states.init_fragments import init_fragments
        from holdfast.engines.states.state_engine_choice import StateEngineChoice
        from holdfast.tables.read_options import ReadOptions

        engines = StateEngineChoice(engine, master, conf)

        def load(engine: StateEngine) -> tuple[FragmentedTable, Shipped, float]:
            started = time.monotonic()
            names = [site.name for site in parsed.sites]
            tables = None if data is None else [*map(partial(_table_of_site, engine), names, everything)]
            table, shipped_ids = init_fragments(engine, parsed, state, tables=tables)
            return table, shipped_ids, time.monotonic() - started

        table, shipped, seconds = engines.run(engines.for_all(everything, ReadOptions()), load)
        created = cls(table, engines, seconds=seconds)
        created._shipped = shipped
        return created

    @staticmethod
    def _opened(engine: StateEngine, state: Place) -> FragmentedTable:
        from holdfast.engines.states.fragmented_table import fragmented

        return fragmented(engine, state)

    @property
    def status(self) -> FragmentsStatus:
        """How many rows violate each rule in the newest version; after `create`, also what crossed between sites."""
        return self._table.newest().status(seconds=self._seconds, shipped=self._shipped)

    def apply(
        self, changes: Place, *, batch: str | None = None, limit: int | None = DEFAULT_LIMIT, **reading: Any
    ) -> FragmentsOutcome:
        """Returns the rows that the changes in a file bring into violation or out of it, and what sites shipped."""
        return self._apply(changes, batch, limit, reading)

    def show(self, *, violations: str | None = None) -> FragmentsStatus:
        """Returns how many rows violate each rule now; with `violations`, all of them are written to that folder."""
        from holdfast.engines.outputs import write_folders

        def shown(engine: StateEngine) -> FragmentsStatus:
            started = time.monotonic()
            table = self._on(engine)
            if violations is not None:
                write_folders({"rows": table.violations}, violations)
            return table.status(seconds=time.monotonic() - started)

        size = 0 if violations is None else self._table.newest().violation_bytes
        return self._engines.run(self._engines.for_rows(size), shown)


def _table_of_site(engine: StateEngine, site: str, data: Data) -> SourceTable:
    """The table that a caller gives for the site."""
    from holdfast.engines.local.sources import given_table
    from holdfast.tables.read_options import ReadOptions

    # On Spark, on the session that the engine has started.
    table = given_table(data, ReadOptions()) if engine.name == "local" else open_table(data)
    return table if isinstance(data, str | os.PathLike) else replace(table, name=f"the data of {site}")


def _loaded(
    data: Data,
    load: Callable[[StateEngine, SourceTable], _Table],
    choice: EngineChoice,
    master: str | None,
    conf: Mapping[str, str] | None,
    reading: Mapping[str, Any],
) -> tuple[_Table, StateEngineChoice, float]:
    """The state that `load` makes of the data, on the engine that is chosen for it, and the seconds it took."""
    from holdfast.engines.choose import chosen_engine
    from holdfast.engines.states.state_engine_choice import StateEngineChoice, note_spark
    from holdfast.errors import ConditionError, OnlySparkError
    from holdfast.tables.read_options import ReadOptions

    options, engines = ReadOptions(**reading), StateEngineChoice(choice, master, conf)
    if chosen_engine(data, options, engine=choice, master=master, conf=conf) == "local":
        from holdfast.engines.local.sources import given_table

        started = time.monotonic()
        try:
            loaded = load(engines.local(), given_table(data, options))
            return loaded, engines, time.monotonic() - started
        except (ConditionError, OnlySparkError) as problem:
            if choice != "auto":
                raise
            note_spark(problem)
    from holdfast.engines.spark.states.spark_engine import SparkEngine

    table = open_table(data, master=master, conf=conf, **reading)
    started = time.monotonic()
    loaded = load(SparkEngine(table.frame.sparkSession), table)
    return loaded, engines, time.monotonic() - started


def _loaded_tables(
    place: Place,
    data: Tables,
    rules: Rules,
    key: KeyColumns | Mapping[str, KeyColumns] | None,
    nulls: Nulls | None,
    choice: EngineChoice,
    master: str | None,
    conf: Mapping[str, str] | None,
    reading: Mapping[str, Any],
) -> tuple[JointWatch, StateEngineChoice, float]:
    """A new state of several tables, on the engine that is chosen for them, and the seconds it took."""
    from holdfast.engines.states.state_engine_choice import StateEngineChoice
    from holdfast.engines.states.watched_tables import init_watch_tables

    rule_set, sources = table_sources(data, rules, key=key, nulls=nulls, **reading)
    where: dict[str, Any] = {"master": master, "conf": conf}
    engines = StateEngineChoice(choice, master, conf)
    chosen = engine_for_tables(sources, engine=choice, **where)
    keys = {name: source.key for name, source in sources.items()}
    read = {name: vars(source.options) for name, source in sources.items()}

    def load(engine: StateEngine) -> tuple[JointWatch, float]:
        started = time.monotonic()
        opened = opened_tables(sources, "local" if engine.name == "local" else "spark", **where)
        loaded = init_watch_tables(engine, opened.tables, rule_set, keys, place, read)
        return loaded, time.monotonic() - started

    loaded, seconds = engines.run(engines.local() if chosen == "local" else engines.on_spark(), load)
    return loaded, engines, seconds
