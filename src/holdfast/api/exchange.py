"""Rules out to other tools, and in from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.api.jobs import KeyColumns, Rules, keys_by_table
from holdfast.errors import OptionError, closest_hint
from holdfast.rules.rule import Nulls, RuleSet
from holdfast.rules.rule_file import as_rule_set, named_key

if TYPE_CHECKING:
    from holdfast.programs.export_sql import DatabaseTable


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
