"""The outcome of a check as text on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.view import TEXT_WIDTH, print_view, view_text
from holdfast.report.words import closing, counts, expectation, key_name, labels_text, tolerated, verdict
from holdfast.rules.plain_words import number, on_one_line, value_text
from holdfast.rules.rule import Rule, rule_text
from holdfast.violations.witness import Witness

_STYLES = {"holds": "green", "allowed": "green", "warning": "yellow", "violated": "bold red"}
_MARKS = {"holds": "✓", "allowed": "✓", "warning": "!", "violated": "✗"}

NAME_WIDTH = 32
RULE_WIDTH = 28


def print_summary(outcome: CheckOutcome, console: Console) -> None:
    """Prints the outcome as `holdfast check` does."""
    print_view(lambda width: summary_view(outcome, width=width), console)


def summary_text(outcome: CheckOutcome, *, width: int = TEXT_WIDTH) -> str:
    """Returns what `holdfast check` prints, without colours and trailing blanks."""
    return view_text(lambda columns: summary_view(outcome, width=columns), width=width)


def summary_view(outcome: CheckOutcome, *, width: int) -> RenderableType:
    """Returns all rules with their verdicts, then each violated rule with a witness, for rich to print."""
    size = f"{number(outcome.rows, 'row')}, {number(len(outcome.rules), 'rule')}, {outcome.seconds:.1f} s"
    notes = [Text(on_one_line(f"note: {note}"), style="yellow") for note in outcome.notes]
    parts: list[RenderableType] = [Text.assemble((on_one_line(outcome.table), "bold"), f"  {size}"), *notes, Text()]
    parts.append(_overview(outcome, width=width))
    violated = [result for result in outcome.rules if not result.holds]
    for result in violated:
        parts += [Text(), *_details(result, outcome)]
    parts += [Text(), Text(closing(outcome), style="bold" if outcome.holds else "bold red")]
    if any(result.suspect_rows for result in violated):
        parts.append(Text("suspects: rows that would have to go for the rule to hold", style="dim"))
    return Group(*parts)


def _overview(outcome: CheckOutcome, *, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    lines = []
    for result in outcome.rules:
        word = verdict(result)
        tally = counts(result) + tolerated(result)
        cells = [
            Text(f"{_MARKS[word]} {word}", style=_STYLES[word]),
            Text(on_one_line(result.rule.name), style="bold"),
            Text(result.rule.kind, style="dim"),
            Text(tally),
        ]
        lines.append([*cells, Text(on_one_line(rule_text(result.rule)))])
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


def _details(result: RuleOutcome, outcome: CheckOutcome) -> list[RenderableType]:
    word = verdict(result)
    head = Text.assemble((on_one_line(f"{_MARKS[word]} {result.rule.name}"), _STYLES[word]))
    if result.rule.description:
        head.append(f"  {result.rule.description}", style="italic")
    parts: list[RenderableType] = [head, Text(on_one_line(f"  {rule_text(result.rule)}"), style="dim")]
    if result.witness is not None:
        parts.append(Padding(witness_table(result.witness, result.rule, outcome.key_label), (0, 0, 0, 2)))
        wanted = expectation(result)
        if wanted is not None:
            parts.append(Text(on_one_line(f"  expected: {wanted}")))
        parts += [Text(on_one_line(f"  {message}")) for message in result.witness.messages]
    if result.missing:
        more = " …" if (result.violating_groups or 0) > len(result.missing) else ""
        values = ", ".join(f"{value_text(value.value)} ({number(value.rows, 'row')})" for value in result.missing)
        parts.append(Text(on_one_line(f"  missing: {values}{more}")))
    # Rows far below the worst are mostly the others in its pairs.
    worst = [row for row in result.worst if 2 * row.conflicts >= result.worst[0].conflicts]
    if worst and worst[0].conflicts > 1:
        listed = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in worst)
        parts.append(Text(f"  {'worst row' if len(worst) == 1 else 'worst rows'}: {listed}"))
    elif result.violating_pairs is None and len(result.worst) > 1:
        more = " …" if result.violating_rows > len(result.worst) else ""
        parts.append(Text(f"  rows: {', '.join(value_text(row.key) for row in result.worst)}{more}"))
    if said := labels_text(result.rule):
        parts.append(Text(on_one_line(f"  {said}"), style="dim"))
    if result.pairs_cut and outcome.limit is not None:
        unknown = ": suspects are not known" if result.suspect_rows is None else ""
        parts.append(Text(f"  more pairs than the limit of {outcome.limit:,}{unknown}", style="yellow"))
    return parts


def witness_table(witness: Witness, rule: Rule, key: str | list[str]) -> Table:
    """Returns a table with a line for each row of the witness; what breaks the rule is red."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # Which row is t and which is s matters where the rule does not treat them alike.
    named = bool(witness.tables) or (witness.right is not None and rule.kind in ("order", "dc"))
    heads = (*witness.tables, *witness.tables) if witness.tables else ("t", "s")
    if named:
        table.add_column("")
    table.add_column(Text(on_one_line(key_name(key))), style="dim")
    shown = [name for name in witness.shown if name != key]
    for name in shown:
        table.add_column(Text(on_one_line(name)), header_style="bold" if name in witness.marked else "")
    for row, row_key, values in zip(
        heads, (witness.left_key, witness.right_key), (witness.left, witness.right), strict=False
    ):
        if values is not None:
            texts = [value_text(values[name]) if name in values else "" for name in shown]
            marks = ["red bold" if name in witness.marked else "" for name in shown]
            cells = [Text(text, style=style) for text, style in zip(texts, marks, strict=True)]
            table.add_row(*([row] if named else []), Text(value_text(row_key)), *cells)
    return table
