"""The outcome of a check as text on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.view import TEXT_WIDTH, print_view, view_text
from holdfast.report.words import closing, counts, expectation, number, rule_text, tolerated, value_text, verdict
from holdfast.rules.rule import Rule
from holdfast.violations.witness import Witness

_STYLES = {"holds": "green", "allowed": "green", "warning": "yellow", "violated": "bold red"}
_MARKS = {"holds": "✓", "allowed": "✓", "warning": "!", "violated": "✗"}

NAME_WIDTH = 32
RULE_WIDTH = 28


def print_summary(outcome: CheckOutcome, console: Console) -> None:
    """Prints the outcome as `holdfast check` does."""
    print_view(lambda width: summary_view(outcome, width=width), console)


def summary_text(outcome: CheckOutcome, *, width: int = TEXT_WIDTH) -> str:
    """The outcome as `holdfast check` prints it, as one string without colours and trailing blanks."""
    return view_text(lambda columns: summary_view(outcome, width=columns), width=width)


def summary_view(outcome: CheckOutcome, *, width: int) -> RenderableType:
    """The outcome as something rich prints: the rules with their verdicts, then each violated one with a witness."""
    size = f"{number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}, {outcome.seconds:.1f} s"
    notes = [Text(f"note: {note}", style="yellow") for note in outcome.notes]
    parts: list[RenderableType] = [Text.assemble((outcome.table, "bold"), f"  {size}"), *notes, Text()]
    parts.append(_overview(outcome, width=width))
    violated = [found for found in outcome.rules if not found.holds]
    for found in violated:
        parts += [Text(), *_details(found, outcome)]
    parts += [Text(), Text(closing(outcome), style="bold" if outcome.holds else "bold red")]
    if any(found.suspect_rows for found in violated):
        parts.append(Text("suspects: rows that would have to go for the rule to hold", style="dim"))
    return Group(*parts)


def _overview(outcome: CheckOutcome, *, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    lines = []
    for found in outcome.rules:
        word = verdict(found)
        tally = counts(found) + tolerated(found)
        cells = [
            Text(f"{_MARKS[word]} {word}", style=_STYLES[word]),
            Text(found.rule.name, style="bold"),
            Text(found.rule.kind, style="dim"),
            Text(tally),
        ]
        lines.append([*cells, Text(rule_text(found.rule))])
    widest = [max((len(line[place]) for line in lines), default=0) for place in range(4)]
    shown = [widest[0], min(widest[1], NAME_WIDTH), widest[2], widest[3]]
    # Long names and counts fold where there is no room; the rule's text stands here only where there is.
    with_text = width - sum(shown) - 2 * len(shown) >= RULE_WIDTH
    for place, least in enumerate((shown[0], 10, shown[2], 12)):
        table.add_column(overflow="fold", min_width=least, max_width=NAME_WIDTH if place == 1 else None)
    if with_text:
        table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*(line if with_text else line[:4]))
    return table


def _details(found: RuleOutcome, outcome: CheckOutcome) -> list[RenderableType]:
    word = verdict(found)
    head = Text.assemble((f"{_MARKS[word]} {found.rule.name}", _STYLES[word]))
    if found.rule.description:
        head.append(f"  {found.rule.description}", style="italic")
    parts: list[RenderableType] = [head, Text(f"  {rule_text(found.rule)}", style="dim")]
    if found.witness is not None:
        parts.append(Padding(witness_table(found.witness, found.rule, outcome.key_label), (0, 0, 0, 2)))
        wanted = expectation(found)
        if wanted is not None:
            parts.append(Text(f"  expected: {wanted}"))
    # Rows far below the worst are mostly the others in its pairs.
    worst = [row for row in found.worst if 2 * row.conflicts >= found.worst[0].conflicts]
    if worst and worst[0].conflicts > 1:
        listed = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in worst)
        parts.append(Text(f"  {'worst row' if len(worst) == 1 else 'worst rows'}: {listed}"))
    elif found.violating_pairs is None and len(found.worst) > 1:
        more = " …" if found.violating_rows > len(found.worst) else ""
        parts.append(Text(f"  rows: {', '.join(value_text(row.key) for row in found.worst)}{more}"))
    if found.pairs_cut and outcome.limit is not None:
        parts.append(Text(f"  more pairs than the limit of {outcome.limit:,}: suspects are not known", style="yellow"))
    return parts


def witness_table(witness: Witness, rule: Rule, key: str | list[str]) -> Table:
    """The rows of the witness below each other, what breaks the rule in red."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # Which row is t and which is s matters where the rule does not treat them alike.
    named = witness.right is not None and rule.kind in ("order", "dc")
    if named:
        table.add_column("")
    table.add_column(", ".join(key) if isinstance(key, list) else key, style="dim")
    shown = [name for name in witness.shown if name != key]
    for name in shown:
        table.add_column(Text(name), header_style="bold" if name in witness.marked else "")
    for row, row_key, values in (("t", witness.left_key, witness.left), ("s", witness.right_key, witness.right)):
        if values is not None:
            cells = [Text(value_text(values[n]), style="red bold" if n in witness.marked else "") for n in shown]
            table.add_row(*([row] if named else []), Text(value_text(row_key)), *cells)
    return table
