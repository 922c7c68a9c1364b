"""The predicate space of a discovery as text, for `--explain`."""

from __future__ import annotations

from holdfast.discovery.explain import ExplainedSpace, Overlap
from holdfast.report.words import number
from holdfast.rules.plain_words import text_of_lines
from holdfast.rules.predicate import quoted_name
from holdfast.search.space import OperandPair

MOST_OVERLAPS = 20


def space_text(explained: ExplainedSpace) -> str:
    """Returns which operands are compared and how, which columns overlap, and what is left out."""
    space, options = explained.space, explained.options
    lines = [
        f"{explained.table}  {number(explained.rows, 'row')}: {number(len(space.pairs), 'operand pair')}, "
        f"{number(space.predicates, 'predicate')}",
        *(f"note: {note}" for note in explained.notes),
        "",
        "Each column with itself, over two rows:",
        *_listed([pair for pair in space.pairs if pair.same_column]),
    ]
    across = [pair for pair in space.pairs if not pair.same_column and not pair.one_row]
    within = [pair for pair in space.pairs if pair.one_row]
    if options.cross_columns is None:
        lines += ["", "Columns are not compared with each other (--cross-columns off)."]
    else:
        share = f"{options.cross_columns:.0%} of the smaller one's values"
        lines += ["", f"Two columns that share at least {share}, over two rows:", *_listed(across)]
        lines += ["", "The same within one row:", *_listed(within)] if options.one_row else []
        lines += _overlaps(explained)
    return text_of_lines(lines)


def _listed(pairs: list[OperandPair]) -> list[str]:
    return [f"  {pair}" for pair in pairs] or ["  none"]


def _overlaps(explained: ExplainedSpace) -> list[str]:
    shown = [overlap for overlap in explained.overlaps if overlap.share > 0]
    if not shown:
        return []
    wanted = explained.options.cross_columns
    assert wanted is not None, "there are overlaps only where columns are compared with each other"
    more = [f"  … and {len(shown) - MOST_OVERLAPS:,} more"] if len(shown) > MOST_OVERLAPS else []
    return ["", "How much columns of one type overlap:", *(_overlap(o, wanted) for o in shown[:MOST_OVERLAPS]), *more]


def _overlap(overlap: Overlap, wanted: float) -> str:
    verdict = "compared" if overlap.share >= wanted else "not compared"
    share = "below 1%" if overlap.share < 0.01 else f"{overlap.share:.0%}"
    return f"  {quoted_name(overlap.left)}, {quoted_name(overlap.right)}: {share}, {verdict}"
