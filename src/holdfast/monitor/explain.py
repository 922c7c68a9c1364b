"""How a monitor finds violations, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holdfast.monitor.access import Access, left_to_check
from holdfast.monitor.bitmap_path import Part
from holdfast.monitor.group_index import GroupIndex
from holdfast.monitor.schedule import Schedule
from holdfast.programs.program import Compare
from holdfast.rules.predicate import quoted_name
from holdfast.rules.relation import operator_of

Naming = Callable[[int], str]


def access_lines(ways: Sequence[tuple[Access, GroupIndex]], columns: Sequence[str]) -> Iterator[str]:
    """A line for each way to the partners of a row."""
    for access, index in ways:
        spec = access.spec
        names = [quoted_name(columns[at]) for at in spec.equal]
        where = f"rows by {', '.join(names)}" if names else "all rows"
        if spec.nulls:
            where += " that have a null in " + " or ".join(
                quoted_name(columns[at]) for at in (spec.x, spec.y) if at is not None
            )
        elif spec.by:
            where += f", in order of {' and of '.join(quoted_name(columns[at]) for at in spec.by)}"
        if spec.flag is not None:
            where += ", those that can take part"
        rest = left_to_check(access)
        checked = f", then {rest} more comparison{'s' if rest > 1 else ''} per row" if rest else ""
        part = "left" if access.left else "right"
        runs = len(index.arena.runs)
        yield f"as {part} row: {where}{checked} ({len(index):,} rows in {runs} run{'' if runs == 1 else 's'})"


def schedule_lines(schedule: Schedule[Part, Compare], rules: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """The rules that go by sets of rows, their predicates in order, and the starts that they share."""

    def compare_text(compare: Compare) -> str:
        left, right = quoted_name(columns[compare.left]), quoted_name(columns[compare.right])
        return f"t.{left} {operator_of(compare.allowed)} s.{right}"

    def several(compares: Sequence[Compare]) -> str:
        return " and ".join(map(compare_text, compares))

    for prefix in schedule.shared:
        helped = ", ".join(dict.fromkeys(rules[at] for at, _ in prefix.others))
        yield f"once for {rules[prefix.rule[0]]} and {helped}: {several(prefix.predicates)}"
    for (at, _), predicates in schedule.rules.items():
        yield f"{rules[at]}: {', then '.join(map(compare_text, predicates))}"
