"""What is to be said of one row, as text on a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.report.text import witness_table
from holdfast.report.view import print_view, view_text
from holdfast.report.words import number, rule_text, value_text


def print_explanation(told: RowExplanation, console: Console) -> None:
    """Prints the explanation as `holdfast explain` does."""
    print_view(lambda _: _view(told), console)


def explanation_text(told: RowExplanation) -> str:
    """The explanation as `holdfast explain` prints it, as one string without colours and trailing blanks."""
    return view_text(lambda _: _view(told))


def _view(told: RowExplanation) -> RenderableType:
    size = f"{number(told.rules, 'rule')}, {told.seconds:.1f} s"
    named = f"{told.key if isinstance(told.key, str) else ', '.join(told.key)} {value_text(told.row)}"
    head = Text.assemble((f"{told.table}  {named}", "bold"), f"  {size}")
    if not told.broken:
        return Group(head, Text(), Text(_none_broken(told.rules), style="green"))
    verdict = f"It breaks {len(told.broken)} of {number(told.rules, 'rule')}, {number(told.violations, 'time')} in all."
    parts: list[RenderableType] = [head, Text(), Text(verdict, style="bold red")]
    for one in told.broken:
        parts += [Text(), *_broken(one, told)]
    parts += [Text(), *_suggested(told)]
    return Group(*parts)


def _none_broken(rules: int) -> str:
    return "It does not break the rule." if rules == 1 else f"It breaks none of the {rules:,} rules."


def _broken(one: BrokenRule, told: RowExplanation) -> list[RenderableType]:
    head = Text.assemble((f"✗ {one.rule.name}", "bold red"))
    if one.rule.description:
        head.append(f"  {one.rule.description}", style="italic")
    parts: list[RenderableType] = [head, Text(f"  {rule_text(one.rule)}", style="dim")]
    if one.witness is not None:
        parts.append(Padding(witness_table(one.witness, one.rule, told.key), (0, 0, 0, 2)))
    if one.others:
        listed = ", ".join(value_text(other.key) for other in one.others)
        more = one.violations - len(one.others)
        parts.append(Text(f"  in conflict with {listed}" + (f" and {number(more, 'other')}" if more > 0 else "")))
    if one.likelier:
        first = one.likelier[0]
        parts.append(
            Text(f"  {value_text(first.key)} is more likely wrong: it breaks this rule {first.conflicts:,} times")
        )
    return parts


def _suggested(told: RowExplanation) -> list[RenderableType]:
    if not told.suggestions:
        return [Text("No change of one cell of this row would mend it.")]
    parts: list[RenderableType] = [Text("What would mend it (nothing is changed):", style="bold")]
    for place, one in enumerate(told.suggestions, start=1):
        parts.append(
            Text.assemble(
                f"  {place}. {one.column}: ",
                (value_text(one.value), "red"),
                " -> ",
                (value_text(one.suggested), "green"),
                f"   {_effect(one, told)}, confidence {one.confidence:.0%}",
            )
        )
    return parts


def _effect(one: Suggestion, told: RowExplanation) -> str:
    text = f"resolves {one.resolves:,} of {number(told.violations, 'violation')}"
    if one.adds:
        text += f", adds {one.adds:,}"
    if one.low is not None and one.high is not None and one.low != one.high:
        text += f"; anything from {value_text(one.low)} to {value_text(one.high)} would"
    elif one.low is not None and one.high is None:
        text += f"; anything from {value_text(one.low)} up would"
    elif one.high is not None and one.low is None:
        text += f"; anything up to {value_text(one.high)} would"
    return text
