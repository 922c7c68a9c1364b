"""Iceberg tables, read in this process by the package pyiceberg: their rows, and what changed between two versions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from holdfast.errors import (
    HoldfastError,
    MissingPackageError,
    OptionError,
    SourceError,
    SourceNotFoundError,
    StateError,
    closest_hint,
)
from holdfast.tables.data_files import ICEBERG, ICEBERG_METADATA
from holdfast.tables.normal_types import normal_columns


@dataclass(frozen=True)
class IcebergTable:
    """An Iceberg table at its newest version when it was opened.

    `version` is the sequence number of its newest commit, 0 of a table without any. `feed` names its changes in states.
    """

    name: str
    feed: str
    version: int
    opened: Any = field(repr=False)

    def rows(self, columns: Collection[str] | None = None) -> tuple[pa.Table, tuple[str, ...]]:
        """Returns the rows, in the order of the paths of their files, and notes; only `columns` need be read."""
        snapshot = self.opened.current_snapshot()
        schema = self.opened.schema()
        if columns is not None and not any("." in column.name for column in schema.columns):
            known = [column.name for column in schema.columns]
            # Without a column a table has no rows: one is read where none is needed.
            schema = schema.select(*([name for name in known if name in columns] or known[:1]))
        return normal_columns(self._read(self._units(snapshot).values(), schema))

    def changes_after(self, version: int) -> pa.Table:
        """Returns what the commits after this version changed, together: rows that went as deletes, then inserts.

        A file that was written anew is read before and after, so that rows that it kept are deleted and inserted: as
        changes of a batch these come to nothing. Raises StateError where the version is gone from the table.
        """
        before = self._units(self._snapshot(version))
        now = self._units(self.opened.current_snapshot())
        parts = []
        for kind, units, others in (("delete", before, now), ("insert", now, before)):
            tasks = [task for unit, task in units.items() if unit not in others]
            rows, _ = normal_columns(self._read(tasks, self.opened.schema()))
            parts.append(rows.append_column("_change_type", pa.repeat(pa.scalar(kind), rows.num_rows)))
        return pa.concat_tables(parts)

    def _snapshot(self, version: int) -> Any:
        """The snapshot with this sequence number from which the newest one came; None for the table before all."""
        if version == 0:
            return None
        snapshot = self.opened.current_snapshot()
        while snapshot is not None and (snapshot.sequence_number or 0) > version:
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self.opened.snapshot_by_id(parent)
        if snapshot is None or snapshot.sequence_number != version:
            raise StateError(
                f"the Iceberg table {self.name} no longer has its version {version}, so that nothing tells what has "
                "changed since: its snapshot has expired, or the table was rolled back.",
                hint="make a new state of the table as it is now, and follow that.",
            )
        return snapshot

    def _units(self, snapshot: Any) -> dict[Any, Any]:
        """What is read for the rows of a snapshot: each data file with its files of deletes, by what tells it apart."""
        if snapshot is None:
            return {}
        with self._explained():
            tasks = list(self.opened.scan(snapshot_id=snapshot.snapshot_id).plan_files())
        units = {}
        for task in tasks:
            deletes = {(file.file_path, file.record_count, file.file_size_in_bytes) for file in task.delete_files}
            units[task.file.file_path, frozenset(deletes)] = task
        return units

    def _read(self, tasks: Collection[Any], schema: Any) -> pa.Table:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        scan = ArrowScan(self.opened.metadata, self.opened.io, schema, AlwaysTrue())
        with self._explained():
            return scan.to_table(sorted(tasks, key=lambda task: task.file.file_path))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Exception as problem:  # of the file system, of Parquet, or of what pyiceberg cannot read
            raise SourceError(
                f"{self.name}: the files of the Iceberg table cannot be read: {_first_line(problem)}.",
                hint="what pyiceberg cannot read, Spark may with its own Iceberg package: as spark:catalog.db.table.",
            ) from None


def open_iceberg(data: str | os.PathLike[str]) -> IcebergTable:
    """Returns the table of a catalog, or of a file of metadata, at its newest version.

    Raises SourceNotFoundError and SourceError where it cannot be opened.
    """
    name = os.fspath(data).removeprefix(ICEBERG)
    try:
        import pyiceberg.table  # noqa: F401  an extra
    except ImportError:
        raise MissingPackageError(
            f"{name} is an Iceberg table, and the package that reads those, pyiceberg, is not installed. "
            'Type: pip install "holdfast[iceberg]"'
        ) from None
    by_file = "/" in name or name.endswith(ICEBERG_METADATA)
    try:
        table = _from_metadata(name) if by_file else _from_catalog(name)
        snapshot = table.current_snapshot()
    except HoldfastError:
        raise
    except Exception as problem:  # of the catalog's service or database, or of the file system
        raise SourceError(f"{name} cannot be opened as an Iceberg table: {_first_line(problem)}.") from None
    version = 0 if snapshot is None else snapshot.sequence_number or 0
    return IcebergTable(_title(name) if by_file else name, f"iceberg-{table.metadata.table_uuid}", version, table)


def _title(path: str) -> str:
    """The name of the folder of the table: its metadata lies in a folder of that."""
    folder, file = os.path.split(path)
    above, inner = os.path.split(folder)
    return os.path.basename(above) if inner == "metadata" and os.path.basename(above) else file


def _from_metadata(name: str) -> Any:
    from pyiceberg.table import StaticTable

    path = os.path.expanduser(name)
    if "://" not in path and not os.path.exists(path):
        raise SourceNotFoundError(
            f"There is no file {name}.", hint="an Iceberg table is named by its catalog, or by a file of its metadata."
        )
    return StaticTable.from_metadata(path)


def _from_catalog(name: str) -> Any:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    from pyiceberg.utils.config import Config

    catalog_name, _, identifier = name.partition(".")
    namespace, _, title = identifier.rpartition(".")
    if not (catalog_name and namespace and title):
        raise OptionError(
            f"'{ICEBERG}{name}' names no table of an Iceberg catalog.",
            hint=f"write {ICEBERG}catalog.namespace.table, or {ICEBERG} and the path of a file of its metadata.",
        )
    try:
        # Read now: pyiceberg itself reads its configuration once in a process, when it is imported.
        configured: dict[str, Any] = Config().get_catalog_config(catalog_name) or {}
        catalog = load_catalog(catalog_name, **configured)
    except Exception as problem:
        raise SourceError(
            f"the Iceberg catalog {catalog_name} cannot be opened: {_first_line(problem)}.",
            hint="pyiceberg finds catalogs in ~/.pyiceberg.yaml, or in variables such as "
            f"PYICEBERG_CATALOG__{catalog_name.upper()}__URI.",
        ) from None
    try:
        return catalog.load_table(identifier)
    except (NoSuchNamespaceError, NoSuchTableError):
        namespaces = [".".join(own) for own in catalog.list_namespaces()]
        if namespace in namespaces:
            hint = closest_hint(identifier, [".".join(own) for own in catalog.list_tables(namespace)], what="Tables")
        else:
            hint = closest_hint(namespace, namespaces, what="Namespaces")
    raise SourceNotFoundError(f"the Iceberg catalog {catalog_name} has no table {identifier}.", hint=hint)


def require_versions(table: IcebergTable) -> None:
    """Raises SourceError where the commits of the table have no numbers, by which a state knows what it has."""
    if table.opened.format_version < 2:
        raise SourceError(
            f"the Iceberg table {table.name} is of format 1, whose commits have no numbers, so that its changes cannot "
            "be followed.",
            hint="upgrade it: ALTER TABLE … SET TBLPROPERTIES ('format-version' = '2').",
        )


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0].rstrip(".")
