"""The plan of a check as a person reads it, for `--explain`."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.checking.sql_steps import Grouping, sql_steps
from holdfast.programs.plan import Plan
from holdfast.programs.program import GroupProgram, RowProgram
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import CFD, as_dependency
from holdfast.rules.plain_words import text_of_lines
from holdfast.rules.predicate import Comparison, quoted_name
from holdfast.rules.relation import EQ
from holdfast.rules.rule import Rule

# Of a rule on single rows, so many of its denials are shown.
_DENIALS = 3


def filter_note(condition: str) -> str:
    """What a person is told of a check of some of the rows."""
    return f"only rows where {condition}"


def plan_text(plan: Plan, *, sql: bool = False) -> str:
    """The scan, the steps, and the rules that each step serves; with `sql`, the SQL of each rule too."""
    key = ", ".join(map(quoted_name, plan.key)) if plan.key else "_row, their number in file order"
    lines = [
        f"scan {plan.schema.table} once",
        f"  columns: {', '.join(map(quoted_name, plan.columns)) or 'none'}",
        f"  rows are named by {key}",
    ]
    lines += [f"  condition w{i}: {condition}" for i, condition in enumerate(plan.conditions)]
    steps = sql_steps(plan)
    by_title: dict[str, list[tuple[int, str]]] = {}
    for i in range(len(plan.rules)):
        title, about = _title_and_about(plan, i, steps.groupings)
        by_title.setdefault(title, []).append((i, about))
    for title, served in by_title.items():
        lines.append(title)
        for i, about in served:
            scope = plan.scope(i)
            lines.append(f"  {plan.rules.rules[i].name}: {about}{f' where {scope}' if scope else ''}")
            if sql:
                step = steps.rules[i]
                lines += [f"    {line}" for line in (step.summary or step.conflicts).splitlines()]
    if sql:
        legend = [f"f{i} = {text}" for i, text in enumerate(plan.forms)]
        legend += [f"b{i} = {text}" for i, text in enumerate(plan.flags)]
        legend += [f"c{plan.schema.position(name)} = {quoted_name(name)}" for name in plan.columns]
        lines.append(f"in SQL: {', '.join(legend) or 'no columns'}; k names the row")
    return text_of_lines(lines).removesuffix("\n")


def _title_and_about(plan: Plan, i: int, groupings: Sequence[Grouping]) -> tuple[str, str]:
    """The step that a rule belongs to, and what is asked of the rows there."""
    rule, program = plan.rules.rules[i], plan.programs.programs[i]
    if isinstance(program, RowProgram):
        denials = " or ".join(_inner(text) for text in rule.denials[:_DENIALS])
        return "filter rows", denials + (" …" if len(rule.denials) > _DENIALS else "")
    if isinstance(program, GroupProgram):
        grouping = next(grouping for grouping in groupings if i in grouping.which)
        by = ", ".join(quoted_name(plan.programs.forms[form].column) for form in grouping.left)
        return f"group rows by {by or 'nothing'}", _about_groups(plan, rule, program, grouping)
    by, about = _meeting_text([constraint for constraint in rule.body.denials if constraint.two_rows])
    return f"compare rows that agree on {by}" if by else "compare all rows", about


def _about_groups(plan: Plan, rule: Rule, program: GroupProgram, grouping: Grouping) -> str:
    forms = plan.programs.forms
    left = ", ".join(quoted_name(forms[form].column) for form in program.left)
    of_left = "" if set(program.left) == set(grouping.left) else f" of {left or 'all rows'}"
    if not program.right:
        return f"no two in one group{of_left}"
    matching = " where a pattern fits" if isinstance(as_dependency(rule.body), CFD) else ""
    right = " and of ".join(forms[side.form].column for side in program.right)
    return f"one value of {right} in each group{of_left}{matching}"


def _meeting_text(constraints: Sequence[DenialConstraint]) -> tuple[str, str]:
    """What two rows must agree on to be compared, and what is counted among those that do."""
    equalities = [
        [p for p in c.predicates if isinstance(p, Comparison) and p.allowed == EQ and _speaks_of_two_rows(p)]
        for c in constraints
    ]
    shared = [p for p in equalities[0] if all(p in others for others in equalities[1:])]
    by = ", ".join(quoted_name(p.left.name) if p.same_column else str(p) for p in shared)
    rest = [" and ".join(str(p) for p in c.predicates if p not in shared) or "any pair" for c in constraints]
    return by, " or ".join(rest)


def _speaks_of_two_rows(predicate: Comparison) -> bool:
    return len({column.row for column in predicate.columns()}) == 2


def _inner(denial: str) -> str:
    return denial.removeprefix("not(").removesuffix(")")
