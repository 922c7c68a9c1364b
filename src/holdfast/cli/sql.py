"""`holdfast sql`."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.files import emit, require_writable_files
from holdfast.cli.options import KeyOrFileKey, NullsOrFileNulls, Output, Rules, Telling, assignments
from holdfast.cli.tables import named_data

EXAMPLES = """
Examples:
holdfast sql rules.yaml --table orders --key order_id
holdfast sql "zip -> city" --table shop.orders --key id --dialect bigquery
holdfast sql rules.yaml --table orders --key order_id --dialect duckdb --count --output checks.sql
holdfast sql shop.yaml --table orders=shop.orders --table payments=shop.payments --dialect postgres

Each query lists the violations of a rule, by key; --count makes one query that counts those of all rules. With \
--types, constants and differences of dates are written as the columns want them. What differs between databases stays \
so: how text is ordered and compared, and NaN.
"""


def sql(
    rules: Rules,
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The table, as the database writes it; of several tables, as rules call it and =, may be repeated.",
            show_default=False,
        ),
    ] = None,
    key: KeyOrFileKey = None,
    nulls: NullsOrFileNulls = None,
    dialect: Annotated[
        str,
        typer.Option(
            help="Which SQL: ansi, duckdb, postgres, sqlite, snowflake, bigquery, redshift, databricks, spark, mysql, "
            "tsql."
        ),
    ] = "ansi",
    types: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=TYPE", help="The type of a column: text, int, double, date, …")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="One query that counts the violations of each rule.")] = False,
    output: Output = None,
    telling: Telling,
) -> None:
    """Print rules as SQL queries, to check them in any database. No Spark is started."""
    del telling  # there is nothing to say besides the result
    from holdfast.api import export_sql
    from holdfast.rules.rule_file import as_rule_set

    require_writable_files({"--output": output}, rules)
    wanted = as_rule_set(rules, nulls=nulls)
    single = table is not None and len(table) == 1 and "=" not in table[0]
    places = table[0] if table is not None and single else named_data(table, what="NAME")
    emit(
        export_sql(wanted, places or None, key=key, dialect=dialect, types=assignments(types, "--types"), count=count),
        output,
    )
