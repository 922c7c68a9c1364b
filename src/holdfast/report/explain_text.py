"""The explanation of one row as text on a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.report.summary_text import witness_table
from holdfast.report.view import print_view, view_text
from holdfast.report.words import key_name, number, rule_text, value_text
from holdfast.rules.plain_words import on_one_line


def print_explanation(explanation: RowExplanation, console: Console) -> None:
    """Prints the explanation as `holdfast explain` does."""
    print_view(lambda _: _view(explanation), console)


def explanation_text(explanation: RowExplanation) -> str:
    """Returns what `holdfast explain` prints, without colours and trailing blanks."""
    return view_text(lambda _: _view(explanation))


def _view(explanation: RowExplanation) -> RenderableType:
    size = f"{number(explanation.rules, 'rule')}, {explanation.seconds:.1f} s"
    named = f"{key_name(explanation.key)} {value_text(explanation.row)}"
    head = Text.assemble((on_one_line(f"{explanation.table}  {named}"), "bold"), f"  {size}")
    if not explanation.broken:
        return Group(head, Text(), Text(_none_broken(explanation.rules), style="green"))
    rules, times = number(explanation.rules, "rule"), number(explanation.violations, "time")
    verdict = f"It breaks {len(explanation.broken)} of {rules}, {times} in all."
    parts: list[RenderableType] = [head, Text(), Text(verdict, style="bold red")]
    for broken in explanation.broken:
        parts += [Text(), *_broken(broken, explanation)]
    parts += [Text(), *_suggested(explanation)]
    return Group(*parts)


def _none_broken(rules: int) -> str:
    return "It does not break the rule." if rules == 1 else f"It breaks none of the {rules:,} rules."


def _broken(broken: BrokenRule, explanation: RowExplanation) -> list[RenderableType]:
    head = Text.assemble((on_one_line(f"✗ {broken.rule.name}"), "bold red"))
    if broken.rule.description:
        head.append(f"  {broken.rule.description}", style="italic")
    parts: list[RenderableType] = [head, Text(on_one_line(f"  {rule_text(broken.rule)}"), style="dim")]
    if broken.witness is not None:
        key = "key" if len(broken.witness.tables) > 1 else explanation.key
        parts.append(Padding(witness_table(broken.witness, broken.rule, key), (0, 0, 0, 2)))
    if broken.others:
        listed = ", ".join(value_text(other.key) for other in broken.others)
        more = broken.violations - len(broken.others)
        parts.append(Text(f"  in conflict with {listed}" + (f" and {number(more, 'other')}" if more > 0 else "")))
    if broken.likelier:
        first = broken.likelier[0]
        parts.append(
            Text(f"  {value_text(first.key)} is more likely wrong: it breaks this rule {first.conflicts:,} times")
        )
    return parts


def _suggested(explanation: RowExplanation) -> list[RenderableType]:
    if not explanation.suggestions:
        return [Text("No change of one cell of this row would mend it.")]
    parts: list[RenderableType] = [Text("What would mend it (nothing is changed):", style="bold")]
    for place, suggestion in enumerate(explanation.suggestions, start=1):
        parts.append(
            Text.assemble(
                on_one_line(f"  {place}. {suggestion.column}: "),
                (value_text(suggestion.value), "red"),
                " -> ",
                (value_text(suggestion.suggested), "green"),
                f"   {_effect(suggestion, explanation)}, confidence {suggestion.confidence:.0%}",
            )
        )
    return parts


def _effect(suggestion: Suggestion, explanation: RowExplanation) -> str:
    text = f"resolves {suggestion.resolves:,} of {number(explanation.violations, 'violation')}"
    if suggestion.adds:
        text += f", adds {suggestion.adds:,}"
    if suggestion.low is not None and suggestion.high is not None and suggestion.low != suggestion.high:
        text += f"; anything from {value_text(suggestion.low)} to {value_text(suggestion.high)} would"
    elif suggestion.low is not None and suggestion.high is None:
        text += f"; anything from {value_text(suggestion.low)} up would"
    elif suggestion.high is not None and suggestion.low is None:
        text += f"; anything up to {value_text(suggestion.high)} would"
    return text
