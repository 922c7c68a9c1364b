"""The programs of a plan as Spark SQL: named steps over the rows of its one scan, with their forms and flags.

Every step reads `{rows}`, a grouping that several rules share (`{g0}`, ...), or the groups of rule 0, 1, ... that have
a conflict (`{h0}`, ...).

Dependencies share a grouping when they have the same left side, or one has part of another's. This is MATCH of the
one-pass papers, with counts in place of sets of row ids. Rows are counted once by all forms that the dependencies of a
grouping compare; each then adds up the counts by its own. Where the dependencies hold, their right sides follow from
the left one, so that counting by all of them makes hardly more lines than one would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.checking.group_sql import GroupSql
from holdfast.programs.plan import Plan
from holdfast.programs.program import GroupProgram, PairDenial, PairProgram, forms_and_flags, one_of_mirrors
from holdfast.programs.sql_expression import comparison_sql
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class RuleSteps:
    """How one rule is checked: SQL for each thing that a check can say of it.

    `summary` yields one row (pairs, rows, suspects, groups, left, right), the last two naming a witness where that is
    no more work. `conflicts` yields (key, conflicts), `pairs` (left, right), `suspects` (key), `groups` the table of
    groups, `in_conflict` the groups that have a conflict, `witness` (left, right) of one pair. None where the rule has
    no such thing; `suspects` is also None where they are a cover of the pairs, `witness` where the summary has it.
    `alone` is the flag of rows `t` that break the rule by themselves; a rule that has nothing else has no `summary`:
    one pass counts all such rules.
    """

    conflicts: str
    summary: str | None = None
    pairs: str | None = None
    suspects: str | None = None
    groups: str | None = None
    in_conflict: str | None = None
    witness: str | None = None
    alone: str | None = None

    @property
    def one_row(self) -> str | None:
        """(k) of the rows that break the rule by themselves."""
        return None if self.alone is None else _rows_alone(self.alone)


@dataclass(frozen=True)
class Grouping:
    """Rows counted by these forms and flags, for the rules at the positions `which`.

    `left` are the forms of the left side that contains those of all its rules.
    """

    left: tuple[int, ...]
    forms: tuple[int, ...]
    flags: tuple[int, ...]
    which: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether it serves several rules; one alone counts by its own columns at once."""
        return len(self.which) > 1

    def counts_sql(self) -> str:
        """(f.., b.., n): the rows of {rows}, counted."""
        columns = ", ".join([*(f"f{i}" for i in self.forms), *(f"b{i}" for i in self.flags)])
        return f"SELECT {columns}, count(*) AS n FROM {{rows}} GROUP BY {columns}"


def make_groupings(programs: Mapping[int, GroupProgram]) -> tuple[Grouping, ...]:
    """The groupings of these dependencies, by position, each in exactly one, in order of first use.

    A key takes in no smaller left sides: when it holds it has as many groups as rows, and adding those up is no less
    work than counting the rows.
    """
    members: dict[frozenset[int], list[int]] = {}
    sides = {i: frozenset(program.left) for i, program in programs.items()}
    wide = [sides[i] for i, program in programs.items() if program.right]
    for i, side in sides.items():
        containing = [other for other in wide if side <= other]
        host = max(containing, key=len, default=side)
        members.setdefault(host, []).append(i)
    groupings = []
    for host, which in members.items():
        first = next(i for i, side in sides.items() if side == host)
        left = programs[first].left
        forms: dict[int, None] = dict.fromkeys(left)
        flags: dict[int, None] = {}
        for i in which:
            own_forms, own_flags = forms_and_flags(programs[i])
            forms |= dict.fromkeys(own_forms)
            flags |= dict.fromkeys(own_flags)
        groupings.append(Grouping(left, tuple(forms), tuple(flags), tuple(which)))
    return tuple(groupings)


@dataclass(frozen=True)
class SqlSteps:
    """The steps of every rule of a plan, and the groupings that some of them share."""

    rules: tuple[RuleSteps, ...]
    groupings: tuple[Grouping, ...]

    def table_sql(self, name: str) -> str:
        """The SQL of a table that steps refer to as `g0`, ... or `h0`, ..."""
        number = int(name[1:])
        sql = self.groupings[number].counts_sql() if name[0] == "g" else self.rules[number].in_conflict
        assert sql is not None, "only dependencies have groups"
        return sql


def sql_steps(plan: Plan) -> SqlSteps:
    """The steps of all rules of the plan."""
    dependencies = {i: p for i, p in enumerate(plan.programs.programs) if isinstance(p, GroupProgram)}
    groupings = make_groupings(dependencies)
    counts = {i: f"{{g{n}}}" for n, grouping in enumerate(groupings) if grouping.shared for i in grouping.which}
    rules = []
    for i, program in enumerate(plan.programs.programs):
        steps = None
        if isinstance(program, GroupProgram):
            steps = _of_groups(plan, program, counts.get(i), f"{{h{i}}}")
        elif isinstance(program, PairProgram):
            steps = _of_pairs(program, plan.programs.nulls)
        rules.append(steps if program.alone is None else _with_alone(steps, f"t.b{program.alone}"))
    return SqlSteps(tuple(step for step in rules if step is not None), groupings)


def _of_groups(plan: Plan, program: GroupProgram, counts: str | None, divided: str) -> RuleSteps:
    grouped = GroupSql(program, plan.programs.nulls, counts, divided)
    forms, types = plan.programs.forms, plan.schema.types
    right = [forms[side.form].column for side in program.right]
    left_types = [types[forms[form].column] for form in program.left]
    return RuleSteps(
        summary=grouped.summary(),
        conflicts=grouped.conflicts(),
        pairs=grouped.pairs(),
        suspects=grouped.suspects(),
        groups=grouped.groups(left_types, [(name, types[name]) for name in right]) if right else None,
        in_conflict=grouped.in_conflict(),
        witness=grouped.witness(),
    )


def _of_pairs(program: PairProgram, nulls: Nulls) -> RuleSteps:
    denials = one_of_mirrors(program.denials) if program.symmetric else program.denials
    pairs = "\nUNION\n".join(_pairs_of_denial(denial, program.symmetric, nulls) for denial in denials)
    return RuleSteps(summary=_summary_of_pairs(pairs), conflicts=_conflicts_of_pairs(pairs), pairs=pairs)


def _pairs_of_denial(denial: PairDenial, symmetric: bool, nulls: Nulls) -> str:
    """(left, right) of its pairs, by a self-join: equalities become join keys, the rest conditions on the pair."""
    conditions = [comparison_sql(f"t.f{c.left}", c.allowed, f"s.f{c.right}", nulls) for c in denial.compares]
    conditions += [f"{row}.b{flag}" for row, flag in (("t", denial.left), ("s", denial.right)) if flag is not None]
    left, right, distinct = "t.k", "s.k", ""
    if symmetric and denial.symmetric:
        conditions.append("t.k < s.k")
    else:
        conditions.append("t.k != s.k")
        if symmetric:  # its mirror is in the rule too: both orders are one pair
            left, right, distinct = "IF(t.k < s.k, t.k, s.k)", "IF(t.k < s.k, s.k, t.k)", "DISTINCT "
    on = " AND ".join(conditions)
    return f"SELECT {distinct}{left} AS `left`, {right} AS `right`\nFROM {{rows}} t JOIN {{rows}} s ON {on}"


def _with_alone(step: RuleSteps | None, alone: str) -> RuleSteps:
    """The steps of a rule that rows can break by themselves, and not only then where it has other steps."""
    broken = _rows_alone(alone)
    if step is None:
        keys = f"SELECT k AS key, 0L AS conflicts FROM ({broken})"
        return RuleSteps(conflicts=keys, suspects=f"SELECT k AS key FROM ({broken})", alone=alone)
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
