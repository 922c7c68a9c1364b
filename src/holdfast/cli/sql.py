"""`holdfast sql`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.files import emit, require_writable_files
from holdfast.cli.options import KeyOrFileKey, NullsOrFileNulls, Output, Rules, Telling

EXAMPLES = """
Examples:
holdfast sql rules.yaml --table orders --key order_id
holdfast sql "zip -> city" --table shop.orders --key id --dialect bigquery
holdfast sql rules.yaml --table orders --key order_id --count --output checks.sql

Each query lists the violations of a rule, by key; --count makes one query that counts those of all rules. What \
differs between databases stays so: how text is ordered and compared, and NaN.
"""


def sql(
    rules: Rules,
    *,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="The table, as the database writes it.", show_default=False)
    ],
    key: KeyOrFileKey = None,
    nulls: NullsOrFileNulls = None,
    dialect: Annotated[
        str, typer.Option(help="How names and texts are written: ansi, spark, mysql, bigquery, tsql.")
    ] = "ansi",
    count: Annotated[bool, typer.Option("--count", help="One query that counts the violations of each rule.")] = False,
    output: Output = None,
    telling: Telling,
) -> None:
    """Print rules as SQL queries, to check them in any database. No Spark is started."""
    del telling  # there is nothing to say besides the result
    from holdfast.programs.export_sql import dialect_named, rules_sql
    from holdfast.rules.rule_file import as_rule_set, named_key, refuse_tables

    require_writable_files({"--output": output}, rules)
    wanted = as_rule_set(rules, nulls=nulls)
    refuse_tables(wanted, "holdfast sql")
    names = named_key(wanted, key)
    emit(rules_sql(wanted, table=table, key=names, dialect=dialect_named(dialect), count=count), output)
