"""SQL for the violations that given rows would be in, were they in the table instead of the row with their key.

All rows are encoded: `k`, the columns `c0`, ..., and the forms `f0`, ... and flags `b0`, ... of the plan's programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.programs.program import (
    Compare,
    GroupProgram,
    PairProgram,
    Program,
    Programs,
    RowProgram,
    forms_and_flags,
    shared_equalities,
)
from holdfast.programs.sql_expression import comparison_sql
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class RowConflicts:
    """The SQL of one rule. Rows are told apart by `k`; a row is in no conflict with the one it stands for."""

    program: Program
    nulls: Nulls

    @classmethod
    def of(cls, programs: Programs, i: int) -> RowConflicts:
        return cls(programs.programs[i], programs.nulls)

    @property
    def needed(self) -> list[str]:
        """The forms and flags that the rule compares."""
        forms, flags = forms_and_flags(self.program)
        return [f"f{i}" for i in forms] + [f"b{i}" for i in flags]

    def conditions(self, given: str, other: str) -> list[str]:
        """When a given row and another violate the rule together: one condition, or one for each way round.

        Each way round is a violation of its own, unless the rule is symmetric.
        """
        program = self.program
        if isinstance(program, RowProgram):
            return []
        if isinstance(program, GroupProgram):
            return [self._disagree(program, given, other)]
        conditions = [self._denied(program, given, other)]
        return conditions if program.symmetric else [*conditions, self._denied(program, other, given)]

    def counted(self) -> str:
        """(k, place, value, n): the violations that each row of {variants} would be in; those in none are left out.

        Reads {rows}, the table, and {given}, the rows in it that the variants stand for. Rows of the table that the
        rule cannot tell apart are counted before they are compared.
        """
        parts, by = [], ", ".join(self.needed)
        table = f"(SELECT {by}, count(*) AS n FROM {{rows}} GROUP BY {by})"
        for condition in self.conditions("v", "o"):
            parts.append(f"SELECT v.k, v.place, v.value, o.n FROM {{variants}} v JOIN {table} o ON {condition}")
            parts.append(
                f"SELECT v.k, v.place, v.value, -1L FROM {{variants}} v JOIN {{given}} o ON v.k = o.k AND {condition}"
            )
        if self.program.alone is not None:
            parts.append(f"SELECT k, place, value, 1L AS n FROM {{variants}} WHERE b{self.program.alone}")
        return (
            "SELECT k, place, value, sum(n) AS n FROM (\n  " + "\n  UNION ALL ".join(parts) + ")\n"
            "GROUP BY k, place, value HAVING sum(n) > 0"
        )

    def met(self) -> str:
        """(left, right) of the violations that rows of {given} are in, with rows of {rows}; one alone has no right."""
        parts = []
        conditions = self.conditions("v", "o")
        # Of a symmetric rule the smaller key stands left.
        ends_of = ["v.k AS `left`, o.k AS `right`", "o.k AS `left`, v.k AS `right`"]
        if len(conditions) == 1:
            ends_of = ["IF(v.k < o.k, v.k, o.k) AS `left`, IF(v.k < o.k, o.k, v.k) AS `right`"]
        for ends, condition in zip(ends_of, conditions, strict=False):
            parts.append(f"SELECT {ends} FROM {{given}} v JOIN {{rows}} o ON v.k != o.k AND {condition}")
        if self.program.alone is not None:
            parts.append(f"SELECT k AS `left`, IF(true, NULL, k) AS `right` FROM {{given}} WHERE b{self.program.alone}")
        return "\nUNION ALL ".join(parts)

    def equal(self, forms: Sequence[int], given: str, other: str) -> list[str]:
        """Both rows agree on each of the forms."""
        return [comparison_sql(f"{given}.f{i}", EQ, f"{other}.f{i}", self.nulls) for i in forms]

    def compared(self, compare: Compare, left: str, right: str) -> str:
        return comparison_sql(f"{left}.f{compare.left}", compare.allowed, f"{right}.f{compare.right}", self.nulls)

    def _disagree(self, program: GroupProgram, given: str, other: str) -> str:
        conditions = self.equal(program.left, given, other)
        if program.scope is not None:
            conditions += [f"{given}.b{program.scope}", f"{other}.b{program.scope}"]
        if program.right:
            differ = []
            for side in program.right:
                apart = comparison_sql(f"{given}.f{side.form}", NE, f"{other}.f{side.form}", self.nulls)
                # Both rows are in one group, which is free there or not.
                differ.append(apart if side.free is None else f"({given}.b{side.free} AND {apart})")
            conditions.append(f"({' OR '.join(differ)})")
        return " AND ".join(conditions) or "true"

    def _denied(self, program: PairProgram, left: str, right: str) -> str:
        # What all denials want to be equal stands apart, so that Spark can join by it.
        shared = shared_equalities(program.denials)
        each = [
            " AND ".join(
                [
                    *([f"{left}.b{d.left}"] if d.left is not None else []),
                    *([f"{right}.b{d.right}"] if d.right is not None else []),
                    *(self.compared(c, left, right) for c in d.compares if c not in shared),
                ]
            )
            or "true"
            for d in program.denials
        ]
        conditions = [self.compared(c, left, right) for c in shared]
        return " AND ".join([*conditions, f"({' OR '.join(f'({condition})' for condition in each)})"])


def counted_in_one_pass(programs: Programs) -> str:
    """(i, k, place, value, n), as `counted` of every rule i: each row of {rows} is held against each of {variants}.

    For a few variants: that is one pass over the table, where joins would be several for each rule.
    """
    rules = [RowConflicts.of(programs, i) for i in range(len(programs.programs))]
    pairs, alone = [], []
    for i, rule in enumerate(rules):
        counted = [f"count_if({condition})" for condition in rule.conditions("v", "o")]
        pairs.append(f"{' + '.join(counted) or '0L'} AS n{i}")
        flag = rule.program.alone
        alone.append(f"{'0L' if flag is None else f'IF(b{flag}, 1L, 0L)'} AS n{i}")
    sums = ", ".join(f"sum(n{i}) AS n{i}" for i in range(len(rules)))
    stacked = ", ".join(f"{i}, n{i}" for i in range(len(rules)))
    return (
        f"SELECT i, k, place, value, n FROM (\n"
        f"  SELECT k, place, value, stack({len(rules)}, {stacked}) AS (i, n) FROM (\n"
        f"    SELECT k, place, value, {sums} FROM (\n"
        f"      SELECT v.k, v.place, v.value, {', '.join(pairs)} FROM {{rows}} o CROSS JOIN {{variants}} v\n"
        "      WHERE v.k != o.k GROUP BY v.k, v.place, v.value\n"
        f"      UNION ALL SELECT k, place, value, {', '.join(alone)} FROM {{variants}})\n"
        "    GROUP BY k, place, value)) WHERE n > 0"
    )
