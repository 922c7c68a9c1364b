"""Which engine runs a job: this process, or Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from holdfast.engines.physical_memory import physical_memory
from holdfast.errors import OptionError, closest_hint

if TYPE_CHECKING:
    from holdfast.tables.read_options import ReadOptions

EngineChoice = Literal["auto", "local", "spark"]
ENGINES: tuple[EngineChoice, ...] = ("auto", "local", "spark")

# A table is read in this process when it is expected to take at most this share of the machine's memory.
MEMORY_SHARE = 0.25
# How much larger a table may be in memory than its files, by what their names have in them; twice otherwise.
_GROWTH = {".gz": 8, ".bz2": 10, ".parquet": 4, ".pq": 4, ".orc": 4}
_LIBRARIES = frozenset({"pandas", "polars", "pyarrow", "duckdb", "_duckdb"})
# A job on files of at most so many bytes takes Spark less time than its start.
BRIEF_BYTES = 4 << 20
# Set where a job was submitted to Spark, or where sessions are on a Connect server.
_SPARK_VARIABLES = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")

_one_command: ContextVar[bool] = ContextVar("one_command", default=False)


def chosen_engine(
    data: Any, options: ReadOptions, *, engine: str = "auto", master: str | None = None, conf: Mapping[str, str] | None
) -> Literal["local", "spark"]:
    """Returns where a job on the data runs. Raises OptionError for `local` where only Spark can read the data.

    `auto` is this process for files and tables in memory that fit a quarter of the memory; it is Spark for its own
    DataFrames and tables, for databases and remote places, where a master or settings of Spark are named, and where the
    caller has a session.
    """
    return chosen_engine_for_all([data], options, engine=engine, master=master, conf=conf)


def chosen_engine_for_all(
    data: Sequence[Any],
    options: ReadOptions,
    *,
    engine: str = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None,
) -> Literal["local", "spark"]:
    """Returns where a job runs that reads all of the data, as chosen_engine() does of one."""
    if engine not in ENGINES:
        raise OptionError(f"engine is {engine!r}.", hint=closest_hint(engine, ENGINES, what="Engines"))
    if engine == "spark":
        return "spark"
    remote = next((own for own in data if not _is_local(own)), None)
    if engine == "local":
        if remote is not None:
            raise OptionError(f"{_named(remote)} can only be read on Spark.", hint="leave out --engine local.")
        return "local"
    if remote is not None or master is not None or conf or (has_session() and not any(map(_is_iceberg_name, data))):
        return "spark"
    size = sum(_bytes_in_memory(own, options) for own in data)
    return "local" if size <= MEMORY_SHARE * physical_memory() else "spark"


def has_session() -> bool:
    """Whether this process has a Spark session, or was submitted to have one."""
    if any(variable in os.environ for variable in _SPARK_VARIABLES):
        return True
    if "pyspark" not in sys.modules:
        return False
    from holdfast.engines.spark.session import running_session

    return running_session() is not None


@contextmanager
def one_command() -> Iterator[None]:
    """Within the block the process does one job and ends, so that a Spark session of its own need not last."""
    token = _one_command.set(True)
    try:
        yield
    finally:
        _one_command.reset(token)


def is_brief(data: str | os.PathLike[str], options: ReadOptions) -> bool:
    """Whether a session that is started for a job on the data does that job alone, and the data are small files."""
    from holdfast.tables.read_local import bytes_on_disk

    size = bytes_on_disk(data, options) if _one_command.get() else None
    return size is not None and size <= BRIEF_BYTES


def is_in_memory(data: Any) -> bool:
    """Whether the data is a table in this process: of pandas, Polars, Arrow or DuckDB, or anything Arrow reads."""
    library = type(data).__module__.partition(".")[0]
    return library != "pyspark" and (library in _LIBRARIES or hasattr(data, "__arrow_c_stream__"))


def _is_local(data: Any) -> bool:
    if not isinstance(data, str | os.PathLike):
        return is_in_memory(data)
    from holdfast.tables.data_files import has_scheme, is_delta

    if _is_iceberg_name(data):
        return True
    # Delta tables are read by Spark's workers.
    name = os.fspath(data)
    return not (has_scheme(name) and not name.startswith("file:")) and not is_delta(name)


def _is_iceberg_name(data: Any) -> bool:
    """Whether the data is an Iceberg table that is read in this process, also where there is a session of Spark."""
    from holdfast.tables.data_files import is_iceberg

    return isinstance(data, str | os.PathLike) and is_iceberg(data)


def _bytes_in_memory(data: Any, options: ReadOptions) -> int:
    """How much memory the table is expected to take."""
    if not isinstance(data, str | os.PathLike):
        size = getattr(data, "nbytes", 0)
        return size if isinstance(size, int) else 0
    from holdfast.tables.read_local import bytes_on_disk

    name = os.fspath(data)
    growth = max((factor for ending, factor in _GROWTH.items() if ending in name.casefold()), default=2)
    return growth * (bytes_on_disk(data, options) or 0)


def _named(data: Any) -> str:
    return os.fspath(data) if isinstance(data, str | os.PathLike) else f"a {type(data).__name__}"
