"""`holdfast export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.command import add_group
from holdfast.cli.files import emit, require_writable_files
from holdfast.cli.options import KeyOrFileKey, NullsOrFileNulls, Output, Rules, Telling
from holdfast.cli.tables import named_data
from holdfast.errors import OutputError
from holdfast.rules.plain_words import on_one_line
from holdfast.rules.rule_file import as_rule_set

DBT = """
Examples:
holdfast export dbt rules.yaml --model orders --key order_id -o dbt-project --dialect duckdb
holdfast export dbt shop.yaml -o dbt-shop --dialect postgres
"""
DBT_NOTES = """
Keys, not null, foreign keys and accepted values are dbt's own tests, in models/holdfast_schema.yml; all other rules \
are queries in tests/. With a new run, these files take the place of the old ones.
"""
ODCS = """
Examples:
holdfast export odcs rules.yaml --into contract.yaml --output promised.yaml
"""
ODCS_NOTES = """
Rules are entries of the contract's quality; one of the same name is replaced, and all else stays as it is written. \
Without --output the contract itself is written anew.
"""


def dbt(
    rules: Rules,
    *,
    project: Annotated[
        Path, typer.Option("-o", "--output-dir", metavar="DIR", help="The dbt project.", show_default=False)
    ] = Path("."),
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The model; of several tables, as rules call it and =, may be repeated."),
    ] = None,
    key: KeyOrFileKey = None,
    nulls: NullsOrFileNulls = None,
    dialect: Annotated[str, typer.Option(help="The SQL of the project's database, as of holdfast sql.")] = "ansi",
    telling: Telling,
) -> None:
    """Write rules as tests of a dbt project."""
    from holdfast.api import export_dbt
    from holdfast.states.write_whole import write_whole

    single = model is not None and len(model) == 1 and "=" not in model[0]
    places = model[0] if model is not None and single else named_data(model, what="NAME")
    project_files = export_dbt(as_rule_set(rules, nulls=nulls), places or None, key=key, dialect=dialect)
    try:
        for name, text in project_files.files.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(project / name, text)
    except OSError as problem:
        raise OutputError(f"-o {str(project)!r}: {problem.strerror}.") from None
    for remark in project_files.remarks:
        print(on_one_line(f"note: {remark}"), file=sys.stderr)
    if not telling.quiet:
        print("".join(f"{project / name}\n" for name in sorted(project_files.files)), end="")


def odcs(
    rules: Rules,
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="FILE", help="The contract, which is YAML.", show_default=False)
    ],
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="The contract's table that rules without one are about.")
    ] = None,
    output: Output = None,
    telling: Telling,
) -> None:
    """Write rules into a contract of the Open Data Contract Standard, version 3."""
    del telling  # there is nothing to say besides the result
    from holdfast.api import export_odcs

    require_writable_files({"--output": output or into}, rules)
    emit(export_odcs(as_rule_set(rules), into, table=table), output or into)


def add_export(app: typer.Typer) -> None:
    add_group(
        app,
        "export",
        ("dbt", dbt, DBT + DBT_NOTES),
        ("odcs", odcs, ODCS + ODCS_NOTES),
        help="Write rules for other tools: tests of a dbt project, or a data contract.",
        examples=(DBT, ODCS),
        notes="SQL for a database: holdfast sql. Results for lineage: holdfast check --format openlineage.",
    )
