"""A rule as a sentence in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import kind_of
from holdfast.rules.predicate import Call, Column, Comparison, Constant, Operand, Predicate, difference_of
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE, complement, is_inequality, operator_of

_STANDING = {LT: "a lower", LE: "the same or a lower", GT: "a higher", GE: "the same or a higher"}
_BESIDE = {
    LT: "is below",
    LE: "is at most",
    EQ: "equals",
    NE: "differs from",
    GE: "is at least",
    GT: "is above",
}
_EVERY = {
    LT: "below",
    LE: "at most",
    EQ: "equal to",
    NE: "different from",
    GE: "at least",
    GT: "above",
}
_APART = {LT: "less than", LE: "at most", EQ: "exactly", NE: "not exactly", GE: "at least", GT: "more than"}
# What is left when the relation is denied, such as: never lower, always higher.
_LEFT_OVER = {LT: "never has a lower", LE: "always has a higher", GT: "never has a higher", GE: "always has a lower"}


def sentence(constraint: DenialConstraint, *, kind: str | None = None) -> str:
    """Returns the constraint in words without `t` and `s`; where it does not only compare columns, its predicates as
    text. `kind`, if known, saves finding it out.

    >>> from holdfast.rules.parse import parse_constraint as dc
    >>> sentence(dc("not(t.Zip = s.Zip and t.City != s.City)"))
    'rows with the same Zip have the same City'
    >>> sentence(dc("not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)"))
    'within one State, a higher Salary never has a lower Rate'
    >>> sentence(dc("not(t.High < s.High and t.Close >= s.High)"))
    "there are no two rows where one has a lower High than the other and its Close is at least the other's High"
    >>> sentence(dc("not(t.total != t.net + t.tax)"))
    'every row has total equal to net + tax'
    >>> sentence(dc("not(t.sensor = s.sensor and abs(t.at - s.at) <= 60 and abs(t.temp - s.temp) > 5)"))
    'no two rows with the same sensor have at at most 60 apart and temp more than 5 apart'
    """
    comparisons = [p for p in constraint.predicates if isinstance(p, Comparison) and isinstance(p.right, Column)]
    if any(isinstance(operand, Call) for p in constraint.predicates for operand in _operands(p)):
        return _with_expressions(constraint)
    if not comparisons or len(comparisons) < len(constraint.predicates):
        return f"it is not so that {' and '.join(map(str, constraint.predicates))}"
    match kind or kind_of([constraint]):
        case "key":
            return f"no two rows have the same {listed(_agree(comparisons))}"
        case "fd":
            return dependency_sentence(_agree(comparisons), [p.left.name for p in comparisons if p.allowed == NE])
        case "order":
            return _order(comparisons)
        case "row":
            return _single_row(comparisons)
        case _:
            return _denial(comparisons)


def _operands(predicate: Predicate) -> tuple[Operand, ...]:
    return predicate.operands if isinstance(predicate, Comparison) else (predicate.column,)


def _with_expressions(constraint: DenialConstraint) -> str:
    """A constraint with expressions: single comparisons of a row, and differences of two rows; others as their text."""
    predicates = constraint.predicates
    if not constraint.two_rows and len(predicates) == 1 and isinstance(predicates[0], Comparison):
        only = predicates[0]
        right = str(only.right) if isinstance(only.right, Constant) else only.right.name
        return f"every row has {only.left.name} {_EVERY[complement(only.allowed)]} {right}"
    agree = [p.left.name for p in predicates if isinstance(p, Comparison) and p.same_column and p.allowed == EQ]
    apart = [text for p in predicates if (text := _apart(p)) is not None]
    if constraint.symmetric and len(agree) + len(apart) == len(predicates):
        among = f"no two rows with the same {listed(agree)}" if agree else "no two rows"
        return f"{among} have {listed(apart)}"
    return f"it is not so that {' and '.join(map(str, predicates))}"


def _apart(predicate: Predicate) -> str | None:
    """An absolute difference of one expression in two rows, in words; None for anything else."""
    if not isinstance(predicate, Comparison):
        return None
    difference = difference_of(predicate.left)
    if difference is None or not difference.absolute or difference.left != difference.right.mirrored():
        return None
    return f"{difference.left.name} {_APART[predicate.allowed]} {predicate.right} apart"


def dependency_sentence(left: Sequence[str], right: Sequence[str]) -> str:
    """Returns a functional dependency in words.

    >>> dependency_sentence(["Zip"], ["City", "State"])
    'rows with the same Zip have the same City and State'
    """
    same = f"have the same {listed(right)}"
    return f"rows with the same {listed(left)} {same}" if left else f"all rows {same}"


def listed(words: Sequence[str]) -> str:
    """Returns the words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _agree(comparisons: Sequence[Comparison]) -> list[str]:
    return [p.left.name for p in comparisons if p.allowed == EQ]


def _order(comparisons: Sequence[Comparison]) -> str:
    first, last = (p for p in comparisons if is_inequality(p.allowed))
    if first.allowed in (LT, LE):
        first, last = _turned(first), _turned(last)
    agree = _agree(comparisons)
    where = f"within one {listed(agree)}, " if agree else ""
    return f"{where}{_STANDING[first.allowed]} {first.left.name} {_LEFT_OVER[last.allowed]} {last.left.name}"


def _turned(comparison: Comparison) -> Comparison:
    """Returns `s.A op t.A` as a comparison of t with s."""
    return Comparison(comparison.left, comparison.mirrored().allowed, comparison.right)


def _denial(comparisons: Sequence[Comparison]) -> str:
    same = [p for p in comparisons if p.same_column]
    beside = [p for p in comparisons if not p.same_column]
    agree = _agree(same)
    differ = [p.left.name for p in same if p.allowed == NE]
    standing = [f"{_STANDING[p.allowed]} {p.left.name}" for p in same if is_inequality(p.allowed)]
    if len(comparisons) == len(beside) == 1:
        (only,) = beside
        return f"no row's {only.left.name} {_BESIDE[only.allowed]} another row's {_name(only.right)}"
    have = [f"the same {listed(agree)}"] if agree else []
    have += [f"different {listed(differ)}"] if differ else []
    head = f"no two rows have {' but '.join(have)}" if have else "there are no two rows"
    parts = [f"one has {listed(standing)} than the other"] if standing else []
    for comparison in beside:
        whose = "the other's" if comparison.left.row == "s" else "its" if parts else "one's"
        others = "its" if comparison.right == Column("t", _name(comparison.right)) else "the other's"
        parts.append(f"{whose} {comparison.left.name} {_BESIDE[comparison.allowed]} {others} {_name(comparison.right)}")
    return f"{head} where {listed(parts)}" if parts else head


def _single_row(comparisons: Sequence[Comparison]) -> str:
    if len(comparisons) == 1:
        (only,) = comparisons
        return f"every row's {only.left.name} {_BESIDE[complement(only.allowed)]} its {_name(only.right)}"
    parts = [
        f"{comparison.left.name} {operator_of(comparison.allowed)} {_name(comparison.right)}"
        for comparison in comparisons
    ]
    return f"no row has {listed(parts)}"


def _name(operand: Operand) -> str:
    assert isinstance(operand, Column), "`sentence` handles constraints with constants before"
    return operand.name
