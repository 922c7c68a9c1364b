"""Rules out to other tools, and in from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from holdfast.api.jobs import KeyColumns, Rules, keys_by_table
from holdfast.errors import OptionError, RuleFileError, closest_hint
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.rules.rule_file import as_rule_set, named_key

if TYPE_CHECKING:
    from holdfast.exchange.dbt import DbtTests
    from holdfast.exchange.imported import ImportedRules
    from holdfast.programs.export_sql import DatabaseTable

# What rules are read from: suites of Great Expectations, suggestions of Deequ, rule sets of AWS Glue, checks of DQX,
# contracts of the Open Data Contract Standard.
ImportKind = Literal["ge", "deequ", "dqdl", "dqx", "odcs"]


def export_sql(
    rules: Rules,
    table: str | Mapping[str, str] | None = None,
    *,
    key: KeyColumns | Mapping[str, KeyColumns] | None = None,
    nulls: Nulls | None = None,
    dialect: str = "ansi",
    types: Mapping[str, str] | None = None,
    count: bool = False,
) -> str:
    """The rules as SQL queries that list their violations, for a database; with `count`, one query that counts them.

    `table` is what the database calls the table; of rules over several tables a mapping from their names, where one
    that is left out is called as in the rules. `types` are those of columns, as the command's `--types` takes them:
    with them, constants and differences of dates are written as the types want it.
    """
    from holdfast.programs.export_sql import dialect_named, rules_sql

    chosen = dialect_named(dialect)
    wanted = as_rule_set(rules, nulls=nulls)
    return rules_sql(wanted, tables=_database_tables(wanted, table, key, types or {}), dialect=chosen, count=count)


def export_dbt(
    rules: Rules,
    model: str | Mapping[str, str] | None = None,
    *,
    key: KeyColumns | Mapping[str, KeyColumns] | None = None,
    nulls: Nulls | None = None,
    dialect: str = "ansi",
) -> DbtTests:
    """The rules as tests of a dbt project, as `holdfast export dbt` writes them; `model` is as `table` of `export_sql`.

    The result has the texts of files by their paths in the project, and remarks on what dbt counts otherwise.
    """
    from holdfast.exchange.dbt import dbt_tests
    from holdfast.programs.export_sql import dialect_named

    chosen = dialect_named(dialect)
    wanted = as_rule_set(rules, nulls=nulls)
    return dbt_tests(wanted, tables=_database_tables(wanted, model, key, {}), dialect=chosen)


def export_odcs(rules: Rules, contract: str | Path, *, table: str | None = None) -> str:
    """The text of the contract with the rules in the quality of its tables, and all else as it is in the file.

    Rules of one table without a name belong to `table`, or to the only one of the contract.
    """
    from holdfast.exchange.odcs import written_contract

    return written_contract(_text_of(contract), as_rule_set(rules), origin=str(contract), table=table)


def import_rules(kind: ImportKind, file: str | Path, *, table: str | None = None) -> ImportedRules:
    """Rules read from a file of another tool; the result goes where rules go, and has what was left out and why.

    `table` is what the table is called that the checks are about, where they name another one.
    """
    if kind not in get_args(ImportKind):
        raise OptionError(
            f"{kind!r} is nothing that is read.", hint=closest_hint(kind, get_args(ImportKind), what="Kinds")
        )
    text, origin = _text_of(file), str(file)
    if kind == "dqdl":
        from holdfast.exchange.deequ import read_dqdl

        return read_dqdl(text, origin=origin, table=table)
    content = _content_of(text, origin)
    if kind == "ge":
        from holdfast.exchange.great_expectations import read_suite

        return read_suite(content, origin=origin)
    if kind == "deequ":
        from holdfast.exchange.deequ import read_suggestions

        return read_suggestions(content, origin=origin)
    if kind == "dqx":
        from holdfast.exchange.dqx import read_checks

        return read_checks(content, origin=origin, table=table)
    from holdfast.exchange.odcs import read_contract

    return read_contract(content, origin=origin)


def _text_of(file: str | Path) -> str:
    from holdfast.rules.yaml_nodes import read_yaml_text

    return read_yaml_text(Path(file), "file", RuleFileError)


def _content_of(text: str, origin: str) -> Any:
    """What the JSON or YAML says; numbers of JSON keep their digits."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text, parse_float=Decimal)
        except json.JSONDecodeError:
            pass  # YAML may begin so, too
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        said = " ".join(str(getattr(problem, "problem", None) or problem).split())
        raise RuleFileError(f"{origin} is neither JSON nor YAML: {said}.") from None


def table_names(rules: RuleSet) -> list[str]:
    """The tables that the rules name, or their file; none where there is one without a name."""
    return list(dict.fromkeys([*(table.name for table in rules.tables), *(n for rule in rules for n in rule.tables)]))


def _database_tables(
    rules: RuleSet,
    table: str | Mapping[str, str] | None,
    key: KeyColumns | Mapping[str, KeyColumns] | None,
    types: Mapping[str, str],
) -> dict[str, DatabaseTable]:
    from holdfast.encode.column_type import column_type
    from holdfast.programs.export_sql import DatabaseTable
    from holdfast.tables.csv_types import parse_type

    known = {name: column_type(parse_type(kind, column=name).sql) for name, kind in types.items()}
    names = table_names(rules)
    if not names:
        if not isinstance(table, str) or isinstance(key, Mapping):
            raise OptionError("it is not said what the database calls the table.", hint="name it with --table NAME.")
        return {"": DatabaseTable(table, named_key(rules, key), known)}
    if isinstance(table, str):
        raise OptionError(
            f"--table is {table!r}, and the rules name {', '.join(names)}.",
            hint=f"say which it is, as in --table {names[0]}={table}.",
        )
    called = dict(table or {})
    for name in called:
        if name not in names:
            raise OptionError(f"the rules name no table {name!r}.", hint=closest_hint(name, names, what="Tables"))
    keys = {**{t.name: t.key for t in rules.tables}, **keys_by_table(key, names)}
    return {
        name: DatabaseTable(
            called.get(name, name),
            keys.get(name, ()),
            {column.removeprefix(f"{name}."): kind for column, kind in known.items() if column.startswith(f"{name}.")},
        )
        for name in names
    }
