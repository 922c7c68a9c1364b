"""The plan of a check: named steps, each a piece of SQL over the rows that one scan yields. Data, printable.

The scan gives a view `rows` with the row's key `k`, the columns the rules need as `c0`, `c1`, ... by their position in
the table, and one truth value `w0`, `w1`, ... per `where` condition. Every other step reads `{rows}` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.detect.bind import Schema, require_columns
from holdfast.detect.grouped import GroupedSql
from holdfast.detect.joined import joined_pairs_sql
from holdfast.detect.program import Programs, broken_alone, make_programs
from holdfast.encode.expression import DIGITS_FUNCTION, Encoder
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, FD, Key, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison, quoted_name
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class RulePlan:
    """How one rule is checked: SQL for each thing that a check can say of it.

    `summary` yields one row (pairs, rows, suspects, groups, left, right), the last two naming a witness. `conflicts`
    yields (key, conflicts), `pairs` (left, right), `suspects` (key), `groups` the table of groups. None where the rule
    has no such thing; `suspects` is also None where they are a cover of the pairs.
    """

    rule: Rule
    way: str
    by: str
    about: str
    symmetric: bool
    scope: str | None
    summary: str
    conflicts: str
    pairs: str | None
    suspects: str | None
    groups: str | None
    one_row: str | None


@dataclass(frozen=True)
class Plan:
    """All steps of a check, and what its one scan must yield."""

    schema: Schema
    rules: RuleSet
    key: tuple[str, ...]
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    steps: tuple[RulePlan, ...]
    programs: Programs

    @property
    def functions(self) -> frozenset[str]:
        """Names of functions the SQL calls that Spark does not have."""
        texts = (text for step in self.steps for text in (step.summary, step.pairs or ""))
        return frozenset({DIGITS_FUNCTION} if any(DIGITS_FUNCTION in text for text in texts) else ())

    def explain(self, *, sql: bool = False) -> str:
        """The plan as a person reads it: its steps, and the rules each serves; with `sql`, the SQL of each rule too."""
        named = ", ".join(map(quoted_name, self.key)) if self.key else "_row, their number in file order"
        lines = [
            f"scan {self.schema.table} once",
            f"  columns: {', '.join(map(quoted_name, self.columns)) or 'none'}",
            f"  rows are named by {named}",
        ]
        lines += [f"  condition w{i}: {condition}" for i, condition in enumerate(self.conditions)]
        steps: dict[str, list[RulePlan]] = {}
        for step in self.steps:
            steps.setdefault(f"{step.way} {step.by}".rstrip(), []).append(step)
        for title, served in steps.items():
            lines.append(title)
            for step in served:
                scope = f" where {step.scope}" if step.scope else ""
                lines.append(f"  {step.rule.name}: {step.about}{scope}")
                if sql:
                    lines += [f"    {line}" for line in step.summary.splitlines()]
        if sql:
            legend = ", ".join(f"c{self.schema.position(name)} = {quoted_name(name)}" for name in self.columns)
            lines.append(f"in SQL: {legend or 'no columns'}; k names the row")
        return "\n".join(lines)


def make_plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    """The plan of checking these rules on a table of this schema, its rows named by `key`, or numbered without one."""
    require_columns(rules, key, schema)
    used = {name for rule in rules for name in rule.body.columns}
    conditions = tuple(dict.fromkeys(rule.where for rule in rules if rule.where is not None))
    scopes = {condition: f"w{i}" for i, condition in enumerate(conditions)}
    return Plan(
        schema=schema,
        rules=rules,
        key=tuple(key),
        columns=tuple(name for name in schema.types if name in used),
        conditions=conditions,
        steps=tuple(_rule_plan(rule, rules, schema, scopes) for rule in rules),
        programs=make_programs(rules, schema, scopes),
    )


def _rule_plan(rule: Rule, rules: RuleSet, schema: Schema, scopes: Mapping[str, str]) -> RulePlan:
    place = {name: f"c{i}" for i, name in enumerate(schema.types)}
    scope = scopes[rule.where] if rule.where is not None else None
    rows = f"(SELECT * FROM {{rows}} WHERE {scope})" if scope else "{rows}"

    def naming(column: Column) -> str:
        return f"{column.row}.{place[column.name]}"

    encoder = Encoder(schema.types, rules.nulls, naming)
    two_row = [constraint for constraint in rule.body.denials if constraint.two_rows]
    one_row = [constraint for constraint in rule.body.denials if not constraint.two_rows]
    broken = f"SELECT t.k FROM {rows} t WHERE {broken_alone(rule, one_row, encoder)}" if one_row else None
    if not two_row:
        return _one_row_plan(rule, broken, scope)

    dependency = as_dependency(rule.body)
    symmetric = is_symmetric(rule.body)
    if isinstance(dependency, Key | FD | CFD):
        grouped = GroupedSql(dependency, schema, rules.nulls, rows, encoder)
        way, by, about = "group rows by", ", ".join(map(quoted_name, grouped.left)) or "nothing", grouped.about
        pairs, conflicts = grouped.pairs(), grouped.conflicts()
        suspects: str | None = grouped.suspects()
        groups = None if isinstance(dependency, Key) else grouped.groups()
        summary = grouped.summary()
    else:
        by, about = _meeting_text(two_row)
        way = "compare rows that agree on" if by else "compare all rows"
        pairs = joined_pairs_sql(two_row, symmetric, encoder, rows)
        conflicts, suspects, groups = _conflicts_of_pairs(pairs), None, None
        summary = _summary_of_pairs(pairs)
    if broken is not None:
        conflicts = (
            "SELECT key, max(conflicts) AS conflicts FROM (\n"
            f"  {conflicts}\n  UNION ALL SELECT k, 0L FROM ({broken})) GROUP BY key"
        )
        suspects = None if suspects is None else f"({suspects}) UNION SELECT k FROM ({broken})"
        summary = _summary_of_both(summary, conflicts, suspects)
    return RulePlan(rule, way, by, about, symmetric, scope, summary, conflicts, pairs, suspects, groups, broken)


def _meeting_text(constraints: Sequence[DenialConstraint]) -> tuple[str, str]:
    """What two rows must agree on to be compared, and what is counted among those that do."""
    equal = [
        [p for p in c.predicates if isinstance(p, Comparison) and p.allowed == EQ and len(set(_rows(p))) == 2]
        for c in constraints
    ]
    shared = [p for p in equal[0] if all(p in others for others in equal[1:])]
    by = ", ".join(quoted_name(p.left.name) if p.same_column else str(p) for p in shared)
    rest = [" and ".join(str(p) for p in c.predicates if p not in shared) or "any pair" for c in constraints]
    return by, " or ".join(rest)


def _rows(predicate: Comparison) -> list[str]:
    return [column.row for column in predicate.columns()]


def _inner(denial: str) -> str:
    return denial.removeprefix("not(").removesuffix(")")


def _one_row_plan(rule: Rule, broken: str | None, scope: str | None) -> RulePlan:
    assert broken is not None, "a rule has at least one denial"
    return RulePlan(
        rule=rule,
        way="filter rows",
        by="",
        about=" or ".join(_inner(text) for text in rule.denials[:3]) + (" …" if len(rule.denials) > 3 else ""),
        symmetric=False,
        scope=scope,
        summary="SELECT CAST(NULL AS BIGINT) AS pairs, count(*) AS `rows`, count(*) AS suspects, "
        f"CAST(NULL AS BIGINT) AS groups, min(k) AS `left`, min(IF(false, k, NULL)) AS `right` FROM ({broken})",
        conflicts=f"SELECT k AS key, 0L AS conflicts FROM ({broken})",
        pairs=None,
        suspects=f"SELECT k AS key FROM ({broken})",
        groups=None,
        one_row=broken,
    )


def _conflicts_of_pairs(pairs: str) -> str:
    return (
        "SELECT key, count(*) AS conflicts FROM (\n"
        f"  SELECT explode(array(`left`, `right`)) AS key FROM ({pairs})) GROUP BY key"
    )


def _summary_of_pairs(pairs: str) -> str:
    return (
        "SELECT coalesce(sum(conflicts), 0) DIV 2 AS pairs, count(*) AS `rows`, CAST(NULL AS BIGINT) AS suspects,\n"
        "  CAST(NULL AS BIGINT) AS groups, min(w).`left` AS `left`, min(w).`right` AS `right` FROM (\n"
        "  SELECT key, count(*) AS conflicts, min(w) AS w FROM (\n"
        "    SELECT explode(array(`left`, `right`)) AS key, named_struct('left', `left`, 'right', `right`) AS w\n"
        f"    FROM ({pairs})) GROUP BY key)"
    )


def _summary_of_both(summary: str, conflicts: str, suspects: str | None) -> str:
    counted = "CAST(NULL AS BIGINT)" if suspects is None else f"(SELECT count(*) FROM ({suspects}))"
    return (
        f"SELECT pairs, (SELECT count(*) FROM ({conflicts})) AS `rows`, {counted} AS suspects, groups,\n"
        f"  `left`, `right` FROM ({summary})"
    )
