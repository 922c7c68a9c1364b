"""The plan of a check: named steps, each a piece of SQL over the rows that one scan yields. Data, printable.

The scan gives a view `rows` with the row's key `k`, the columns the rules need as `c0`, `c1`, ... by their position in
the table, one truth value `w0`, `w1`, ... per `where` condition, and one truth value `m0`, `m1`, ... per look-up in a
long tableau. Every other step reads `{rows}`, a grouping that several rules share (`{g0}`, ...), or the groups of rule
0, 1, ... that have a conflict (`{h0}`, ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.programs.bind import Schema, require_columns
from holdfast.programs.grouped import GroupedSql
from holdfast.programs.grouping import Grouping, make_groupings
from holdfast.programs.joined import joined_pairs_sql
from holdfast.programs.program import Programs, broken_alone, make_programs
from holdfast.programs.sql_expression import DIGITS_FUNCTION, Encoder
from holdfast.programs.tableau import Lookup, LookupBook
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Key, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison, quoted_name
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Nulls, Rule, RuleSet


@dataclass(frozen=True)
class RulePlan:
    """How one rule is checked: SQL for each thing that a check can say of it.

    `summary` yields one row (pairs, rows, suspects, groups, left, right), the last two naming a witness where that is
    no more work. `conflicts` yields (key, conflicts), `pairs` (left, right), `suspects` (key), `groups` the table of
    groups, `in_conflict` the groups that have a conflict, `witness` (left, right) of one pair. None where the rule has
    no such thing; `suspects` is also None where they are a cover of the pairs, `witness` where the summary has it.
    `alone` is the condition on a row `t` that breaks the rule by itself; a rule that has nothing else has no `summary`:
    one pass counts all such rules.
    """

    rule: Rule
    way: str
    by: str
    about: str
    symmetric: bool
    scope: str | None
    summary: str | None
    conflicts: str
    pairs: str | None
    suspects: str | None
    groups: str | None
    in_conflict: str | None
    witness: str | None
    alone: str | None

    @property
    def one_row(self) -> str | None:
        """(k) of the rows that break the rule by themselves."""
        return None if self.alone is None else _rows_alone(self.alone)


@dataclass(frozen=True)
class Plan:
    """All steps of a check, and what its one scan must yield."""

    schema: Schema
    rules: RuleSet
    key: tuple[str, ...]
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    steps: tuple[RulePlan, ...]
    groupings: tuple[Grouping, ...]
    lookups: tuple[Lookup, ...]
    programs: Programs

    def counts(self, number: int) -> str:
        """SQL of a shared grouping: rows counted by its columns, in the form in which they compare."""
        grouping = self.groupings[number]
        encoder = Encoder(self.schema.types, self.rules.nulls, lambda column: f"c{self.schema.position(column.name)}")
        columns = {
            f"c{self.schema.position(n)}": encoder.operands(Column("t", n), Column("t", n))[0] for n in grouping.columns
        }
        columns |= {scope: scope for scope in grouping.scopes}
        # A look-up follows from columns that are there, so it divides nothing further.
        known = [i for i, lookup in enumerate(self.lookups) if set(lookup.names) <= set(grouping.columns)]
        columns |= {f"m{i}": f"m{i}" for i in known}
        listed = ", ".join(f"{value} AS {name}" for name, value in columns.items())
        by = ", ".join(str(i + 1) for i in range(len(columns)))
        return f"SELECT {listed}, count(*) AS n FROM {{rows}} GROUP BY {by}"

    @property
    def functions(self) -> frozenset[str]:
        """Names of functions the SQL calls that Spark does not have."""
        texts = (text for step in self.steps for text in (step.summary or "", step.conflicts, step.pairs or ""))
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
                    lines += [f"    {line}" for line in (step.summary or step.conflicts).splitlines()]
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
    lookups = LookupBook(Encoder(schema.types, rules.nulls, lambda column: f"c{schema.position(column.name)}"))
    dependencies = {
        i: d for i, rule in enumerate(rules) if (d := as_dependency(rule.body)) is not None and _pairs(rule)
    }
    groupings = make_groupings(dependencies, {i: scopes.get(rule.where or "") for i, rule in enumerate(rules)})
    steps = []
    for i, rule in enumerate(rules):
        number = next((n for n, grouping in enumerate(groupings) if i in grouping.which), None)
        grouping = None if number is None else groupings[number]
        counts = f"{{g{number}}}" if grouping is not None and grouping.shared else None
        scope = scopes.get(rule.where or "")
        steps.append(_Planner(rule, rules.nulls, schema, scope, lookups).plan(grouping, counts, f"{{h{i}}}"))
    programs = make_programs(rules, schema, scopes, lookups)
    return Plan(
        schema=schema,
        rules=rules,
        key=tuple(key),
        columns=tuple(name for name in schema.types if name in used),
        conditions=conditions,
        steps=tuple(steps),
        groupings=groupings,
        lookups=tuple(lookups.lookups),
        programs=programs,
    )


def _pairs(rule: Rule) -> list[DenialConstraint]:
    return [constraint for constraint in rule.body.denials if constraint.two_rows]


@dataclass(frozen=True)
class _Planner:
    """Plans one rule. `scope` names the truth value of its `where` condition."""

    rule: Rule
    nulls: Nulls
    schema: Schema
    scope: str | None
    lookups: LookupBook

    def plan(self, grouping: Grouping | None, counts: str | None, found: str) -> RulePlan:
        """A dependency has a grouping; `counts` names its table where it is shared, `found` that of `in_conflict`."""
        encoder = Encoder(self.schema.types, self.nulls, lambda c: f"{c.row}.c{self.schema.position(c.name)}")
        one_row = [constraint for constraint in self.rule.body.denials if not constraint.two_rows]
        alone = None
        if one_row:
            alone = broken_alone(self.rule, one_row, encoder, self.lookups)
            alone = f"{self.scope} AND ({alone})" if self.scope else alone
        if not _pairs(self.rule):
            return self._of_rows(alone)
        of_pairs = self._compared(encoder) if grouping is None else self._grouped(encoder, grouping, counts, found)
        return of_pairs if alone is None else _with_alone(of_pairs, alone)

    def _of_rows(self, alone: str | None) -> RulePlan:
        assert alone is not None, "a rule has at least one denial"
        about = " or ".join(_inner(text) for text in self.rule.denials[:3])
        return RulePlan(
            rule=self.rule,
            way="filter rows",
            by="",
            about=about + (" …" if len(self.rule.denials) > 3 else ""),
            symmetric=False,
            scope=self.scope,
            summary=None,
            conflicts=f"SELECT k AS key, 0L AS conflicts FROM ({_rows_alone(alone)})",
            pairs=None,
            suspects=f"SELECT k AS key FROM ({_rows_alone(alone)})",
            groups=None,
            in_conflict=None,
            witness=None,
            alone=alone,
        )

    def _grouped(self, encoder: Encoder, grouping: Grouping, counts: str | None, found: str) -> RulePlan:
        dependency = as_dependency(self.rule.body)
        assert dependency is not None, "only dependencies are grouped"
        rows, counts = self._in_scope("{rows}"), None if counts is None else self._in_scope(counts)
        grouped = GroupedSql(dependency, self.schema, self.nulls, rows, encoder, self.lookups, counts, found)
        return RulePlan(
            rule=self.rule,
            way="group rows by",
            by=", ".join(map(quoted_name, grouping.left)) or "nothing",
            about=grouped.about(grouping.left),
            symmetric=True,
            scope=self.scope,
            summary=grouped.summary(),
            conflicts=grouped.conflicts(),
            pairs=grouped.pairs(),
            suspects=grouped.suspects(),
            groups=None if isinstance(dependency, Key) else grouped.groups(),
            in_conflict=grouped.in_conflict(),
            witness=grouped.witness(),
            alone=None,
        )

    def _compared(self, encoder: Encoder) -> RulePlan:
        symmetric = is_symmetric(self.rule.body)
        by, about = _meeting_text(_pairs(self.rule))
        pairs = joined_pairs_sql(_pairs(self.rule), symmetric, encoder, self._in_scope("{rows}"))
        return RulePlan(
            rule=self.rule,
            way="compare rows that agree on" if by else "compare all rows",
            by=by,
            about=about,
            symmetric=symmetric,
            scope=self.scope,
            summary=_summary_of_pairs(pairs),
            conflicts=_conflicts_of_pairs(pairs),
            pairs=pairs,
            suspects=None,
            groups=None,
            in_conflict=None,
            witness=None,
            alone=None,
        )

    def _in_scope(self, source: str) -> str:
        return f"(SELECT * FROM {source} WHERE {self.scope})" if self.scope else source


def _with_alone(step: RulePlan, alone: str) -> RulePlan:
    """The step of a rule that rows can also break by themselves."""
    broken = _rows_alone(alone)
    conflicts = (
        "SELECT key, max(conflicts) AS conflicts FROM (\n"
        f"  {step.conflicts}\n  UNION ALL SELECT k, 0L FROM ({broken})) GROUP BY key"
    )
    suspects = None if step.suspects is None else f"({step.suspects}) UNION SELECT k FROM ({broken})"
    counted = "CAST(NULL AS BIGINT)" if suspects is None else f"(SELECT count(*) FROM ({suspects}))"
    summary = (
        f"SELECT pairs, (SELECT count(*) FROM ({conflicts})) AS `rows`, {counted} AS suspects, groups,\n"
        f"  `left`, `right` FROM ({step.summary})"
    )
    return replace(step, summary=summary, conflicts=conflicts, suspects=suspects, alone=alone)


def _rows_alone(alone: str) -> str:
    return f"SELECT t.k FROM {{rows}} t WHERE {alone}"


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
