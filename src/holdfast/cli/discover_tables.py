"""`holdfast discover` over several tables: --table NAME=DATA, or --tables FOLDER."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from holdfast.api.jobs import discover_tables
from holdfast.cli.files import emit, emit_json, require_writable_files
from holdfast.cli.options import OnEngine, Printing, Reading
from holdfast.errors import OptionError
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import dump_rules
from holdfast.tables.data_files import format_of


def named_tables(data: str | None, table: list[str] | None, folder: str | None) -> dict[str, str] | None:
    """The tables that --table and --tables name; None for the one table DATA."""
    if not table and folder is None:
        if data is None:
            raise OptionError(
                "there is no DATA.", hint="name a file, or several tables with --table name=DATA or --tables FOLDER."
            )
        return None
    if data is not None:
        raise OptionError(
            f"both DATA ({data!r}) and several tables are given.",
            hint="name the data of each table with --table name=DATA.",
        )
    named = {} if folder is None else _tables_in(folder)
    for pair in table or ():
        name, separator, place = (part.strip() for part in pair.partition("="))
        if not separator or not name or not place:
            raise OptionError(
                f"--table {pair!r} does not say name=DATA.", hint="write it as in --table orders=orders.csv."
            )
        if name in named:
            raise OptionError(f"{name!r} names two tables.", hint="give each table a name of its own.")
        named[name] = place
    return named


def _tables_in(folder: str) -> dict[str, str]:
    """The files of a folder, each a table that is called as the file is."""
    if not os.path.isdir(folder):
        raise OptionError(
            f"--tables {folder!r} is no folder.", hint="name a folder of files, or each file with --table name=DATA."
        )
    named: dict[str, str] = {}
    for file in sorted(Path(folder).iterdir()):
        if file.name.startswith((".", "_")) or not file.is_file() or format_of(file.name) is None:
            continue
        name = re.sub(r"\W+", "_", file.name.partition(".")[0]).strip("_")
        if name in named:
            raise OptionError(
                f"{named[name]!r} and {str(file)!r} would both be called {name!r}.",
                hint="name them one by one with --table name=DATA.",
            )
        named[name] = str(file)
    if not named:
        raise OptionError(f"--tables {folder!r} has no data files.", hint="CSV, Parquet, JSON and ORC files are read.")
    return named


def discover_named_tables(
    tables: Mapping[str, str],
    *,
    rules: Path | None,
    report: Path | None,
    printing: Printing,
    reading: Reading,
    spark: OnEngine,
    **options: Any,
) -> None:
    """Finds the references between the tables, and prints and writes them."""
    if report is not None:
        raise OptionError("--report is for the discovery of one table.", hint="leave it out; -o writes the rules.")
    require_writable_files({"-o": rules, "--output": printing.output}, *tables.values())
    progress = spark.progress
    with progress.step(f"discovering references between {', '.join(tables)}"):
        result = discover_tables(tables, **options, **spark.job_options, **reading.job_options)
    if rules is not None:
        emit(dump_rules(_beside(rules, result.rules, reading)), rules)
    if printing.format == "json":
        emit_json(result.to_dict(), printing.output)
    elif printing.output is not None:
        emit(result.summary() + "\n", printing.output)
    else:
        from holdfast.report.tables_discovery_text import print_tables_discovery

        print_tables_discovery(result.outcome, Console())
    if printing.format == "text" and len(result.rules):
        named = [part for name, place in tables.items() for part in ("--table", f"{name}={place}")]
        written = ("check", str(rules)) if rules is not None else ("discover", *named, "-o", "rules.yaml")
        progress.next("holdfast", *written)


def _beside(file: Path, rules: RuleSet, reading: Reading) -> RuleSet:
    """The rules as a file has them: where data is, relative to the file's folder, and how it was read."""
    given = {name: value for name, value in reading.job_options.items() if value not in (None, (), {})}

    def place(data: str | None) -> str | None:
        return None if data is None else os.path.relpath(data, file.absolute().parent)

    tables = tuple(replace(table, data=place(table.data), reading=given) for table in rules.tables)
    return replace(rules, tables=tables)
