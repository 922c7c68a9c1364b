"""Rules as tests of a dbt project: dbt's own where it has them, queries for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from holdfast.exchange.conditions import parsed_sql
from holdfast.programs.export_sql import DatabaseTable, Dialect, rule_sql
from holdfast.rules.dependency import Inclusion, Key, of_its_table
from holdfast.rules.predicate import Column, Membership, NullTest
from holdfast.rules.rule import Allowance, Rule, RuleSet

SCHEMA_FILE = "models/holdfast_schema.yml"
_MODEL = "holdfast_model_"


@dataclass(frozen=True)
class DbtTests:
    """Files of a dbt project, by their paths in it, and remarks on what dbt counts otherwise."""

    files: Mapping[str, str]
    remarks: tuple[str, ...] = ()


def dbt_tests(rules: RuleSet, *, tables: Mapping[str, DatabaseTable], dialect: Dialect) -> DbtTests:
    """Returns the rules as tests: keys, not null, foreign keys and accepted values as dbt's own, in SCHEMA_FILE.

    All others are singular tests, queries in `tests/`, for which rows need a key. `tables` has the models, by the names
    that rules have for them.
    """
    models: dict[str, dict[str, list[Any]]] = {}
    files: dict[str, str] = {}
    remarks: list[str] = []
    for rule in rules:
        counted = _counted(rule)
        if counted is not None:
            remarks.append(f"{rule.name}: {counted}")
        own = _own_test(rule, tables, dialect) if rules.nulls == "sql" else None
        if own is None:
            files[f"tests/{_file_name(rule.name)}.sql"] = _singular(rule, rules, tables, dialect)
        else:
            model, column, test = own
            models.setdefault(model, {}).setdefault(column, []).append(test)
    if models:
        files[SCHEMA_FILE] = _schema(models)
    return DbtTests(files, tuple(remarks))


def _counted(rule: Rule) -> str | None:
    if rule.allow_pairs is not None:
        return "dbt knows no allow_pairs; the test fails on any pair"
    if rule.warn is not None and rule.warn.percent is not None:
        return "dbt knows no share to warn of"
    if rule.allow != Allowance() and rule.kind not in ("row", "ind"):
        return "dbt counts violations, and allow speaks of suspect rows, which are fewer"
    return None


def _schema(models: Mapping[str, Mapping[str, list[Any]]]) -> str:
    listed = [
        {"name": model, "columns": [{"name": column, "data_tests": tests} for column, tests in columns.items()]}
        for model, columns in models.items()
    ]
    return yaml.safe_dump({"version": 2, "models": listed}, sort_keys=False, allow_unicode=True, width=110)


def _own_test(
    rule: Rule, tables: Mapping[str, DatabaseTable], dialect: Dialect
) -> tuple[str, str, dict[str, Any] | str] | None:
    """The model, the column and the test of dbt that says what the rule says; None where there is none."""
    generic = _generic(rule, tables)
    if generic is None or (rule.allow.percent is not None):
        return None
    column, test, arguments = generic
    model = tables[rule.tables[0] if rule.tables else ""].name
    config: dict[str, Any] = {}
    if rule.where is not None:
        config["where"] = parsed_sql(rule.where).sql(dialect=dialect.name)
    config.update(_config(rule))
    settings = {"name": _file_name(rule.name), **({"arguments": arguments} if arguments else {})}
    settings |= {"config": config} if config else {}
    return model, column, {test: settings}


def _config(rule: Rule) -> dict[str, Any]:
    config: dict[str, Any] = {"severity": "warn"} if rule.severity == "warn" else {}
    if rule.allow.count or (rule.warn is not None and rule.warn.count is not None):
        warned = rule.allow if rule.warn is None or rule.warn.count is None else rule.warn
        config |= {"error_if": f">{rule.allow.count or 0}", "warn_if": f">{warned.count or 0}"}
    if rule.tags:
        config["tags"] = list(rule.tags)
    return config


def _generic(rule: Rule, tables: Mapping[str, DatabaseTable]) -> tuple[str, str, dict[str, Any]] | None:
    body = of_its_table(rule.body)
    if isinstance(body, Key):
        return (body.columns[0], "unique", {}) if len(body.columns) == 1 else None
    if isinstance(body, Inclusion):
        if len(body.left) > 1:
            return None
        return body.left[0], "relationships", {"to": f"ref('{tables[body.tables[1]].name}')", "field": body.right[0]}
    if len(body.denials) != 1 or len(body.denials[0].predicates) != 1:
        return None
    (predicate,) = body.denials[0].predicates
    column = next(predicate.columns(), None)
    if column is None or getattr(predicate, "column", None) != column or type(column) is not Column:
        return None
    if isinstance(predicate, NullTest) and predicate.is_null:
        return column.name, "not_null", {}
    if isinstance(predicate, Membership) and not predicate.inside:
        values = [value.value for value in sorted(predicate.values, key=str)]
        # dbt looks for templates in texts, and then writes them between quotation marks as they are.
        if all(isinstance(value, str) and not re.search(r"['\\]|{[{%#]", value) for value in values):
            return column.name, "accepted_values", {"values": values}
        if all(isinstance(value, int) for value in values):
            return column.name, "accepted_values", {"values": values, "quote": False}
    return None


def _singular(rule: Rule, rules: RuleSet, tables: Mapping[str, DatabaseTable], dialect: Dialect) -> str:
    named = {name: replace(table, name=f"{_MODEL}{i}") for i, (name, table) in enumerate(tables.items())}
    query = rule_sql(rule, tables=named, nulls=rules.nulls, dialect=dialect)
    if rule.allow.percent is not None:
        counted = named[rule.tables[0] if rule.tables else ""].name
        where = "" if rule.where is None else f" WHERE {parsed_sql(rule.where).sql(dialect=dialect.name)}"
        most = f"{rule.allow.percent} * (SELECT COUNT(*) FROM {counted}{where})"
        query = (
            f"WITH violations AS (\n{query}\n)\nSELECT * FROM violations\n"
            f"WHERE (SELECT COUNT(*) FROM violations) * 100 > {most}"
        )
    # What dbt would read as its own, in a text of the rule.
    query = re.sub(r"\{(?=[{%#])", "{{ '{' }}", query)
    for i, table in reversed(list(enumerate(tables.values()))):
        query = query.replace(f"{_MODEL}{i}", f"{{{{ ref('{table.name}') }}}}")
    config = ", ".join(f"{name}={value!r}" for name, value in _config(rule).items())
    head = f"{{{{ config({config}) }}}}\n" if config else ""
    said = " ".join(str(rule).split())
    return f"{head}-- {re.sub(r'[{}]', '', said)}\n{query}\n"


def _file_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") or "rule"
