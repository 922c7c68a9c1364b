"""The rules a discovery shows, as lines for a person: dependencies with one left side stand together."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.report.words import number
from holdfast.rules.dependency import FD
from holdfast.rules.rule import Allowance
from holdfast.rules.sentence import dependency_sentence
from holdfast.search.outcome import DiscoverOutcome, FoundRule

_KIND_NAMES = {
    "key": ("key", "keys"),
    "fd": ("FD", "FDs"),
    "cfd": ("conditional dependency", "conditional dependencies"),
    "order": ("order rule", "order rules"),
    "dc": ("other denial constraint", "other denial constraints"),
    "row": ("rule on single rows", "rules on single rows"),
}
# Below this score too few violations were to be expected for their absence to mean much.
WEAK_SCORE = 0.25


@dataclass(frozen=True)
class FoundLine:
    """One line: what it says, how a rule file says it, what speaks for it (of several rules the least that does), and
    what breaks it."""

    kind: str
    words: str
    text: str
    score: float
    tested: str
    broken: str | None = None

    @property
    def weak(self) -> bool:
        return self.score < WEAK_SCORE


def found_lines(outcome: DiscoverOutcome) -> list[FoundLine]:
    """The shown rules, best first; a dependency that nothing breaks stands with the first that has its left side."""
    together: dict[object, list[FoundRule]] = {}
    for place, one in enumerate(outcome.shown):
        body = one.rule.body
        alike = isinstance(body, FD) and body.left and broken_by(one) is None
        key = ("fd", body.left) if isinstance(body, FD) and alike else place
        together.setdefault(key, []).append(one)
    # Where not every pair was looked at, the pairs that test a rule are estimated.
    about = "" if outcome.strategy not in ("hybrid", "sample") else "about "
    return [_line(rules, outcome.rows, about) for rules in together.values()]


def _line(rules: list[FoundRule], rows: int, about: str) -> FoundLine:
    first = rules[0]
    words, text = first.rule.description or "", str(first.rule)
    if len(rules) > 1:
        left, right = _sides(rules)
        words, text = dependency_sentence(left, right), str(FD(left, right))
    least = min(rules, key=lambda one: one.support)
    return FoundLine(first.rule.kind, words, text, first.score, about + tested_by(least, rows), broken_by(first))


def tested_by(one: FoundRule, rows: int) -> str:
    """How many pairs put the rule to the test, or rows where it speaks of one, and which share of all that is."""
    share = one.coverage * 100
    told = "100%" if share > 99.995 else f"{share:.2g}%" if share >= 0.0001 or share == 0 else "below 0.0001%"
    count = number(one.support // max(rows - 1, 1), "row") if one.rule.kind == "row" else number(one.support, "pair")
    if not one.constraint.two_rows and one.rule.kind == "cfd":
        count = number(one.support, "row")
    return f"{count} ({told})"


def broken_by(one: FoundRule) -> str | None:
    """How many pairs and suspect rows break the rule, and of which share a sample speaks; None for none."""
    told = []
    if one.violating_pairs:
        told.append(number(one.violating_pairs, "pair"))
    if one.violating_pairs or one.suspect_rows:
        word = "suspect" if one.violating_pairs else "row"
        told.append("suspects unknown" if one.suspect_rows is None else number(one.suspect_rows, word))
    if one.interval is not None:
        low, high = (f"{share * 100:.3g}%" for share in one.interval)
        told.append(f"in the sample {low} to {high} of the pairs")
    return ", ".join(told) or None


def _sides(rules: list[FoundRule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    bodies = [one.rule.body for one in rules]
    sides = [(body.left, body.right) for body in bodies if isinstance(body, FD)]
    return sides[0][0], tuple(name for _, right in sides for name in right)


# Sentences about the whole ---------------------------------------------------------------------------------------


def size(outcome: DiscoverOutcome) -> str:
    """How large the search was, and how it went about it."""
    evidence = f"{outcome.evidence:,} {'kind' if outcome.evidence == 1 else 'kinds'} of evidence"
    return (
        f"{number(outcome.rows, 'row')}, {number(outcome.predicates, 'predicate')}, {evidence}, "
        f"{outcome.seconds:.1f} s, {outcome.strategy}{'' if outcome.device == 'cpu' else f' on {outcome.device}'}"
    )


def tally(outcome: DiscoverOutcome) -> str:
    """How many rules there are, of which kinds, and whether these are all.

    As in `36 rules: 3 keys, 12 FDs, 21 other denial constraints. There are no others.`
    """
    found = len(outcome.found)
    if not found:
        return "No rules." if outcome.complete else f"No rules yet: {outcome.why}."
    kinds = outcome.kinds
    counts = [f"{kinds[kind]:,} {names[kinds[kind] != 1]}" for kind, names in _KIND_NAMES.items() if kinds[kind]]
    text = f"{number(found, 'rule')}: {', '.join(counts)}."
    if not outcome.complete:
        return f"{text} Not all there are: {outcome.why}."
    most, error = outcome.options.max_predicates, outcome.options.error
    short = "" if most is None else f" of up to {number(most, 'predicate')}"
    rows, options = outcome.options.error_rows, outcome.options
    within = f" that at most {Allowance(None, error * 100)} of the pairs break" if error else ""
    if rows is not None:
        within = f" among keys and dependencies for which at most {Allowance(None, rows * 100)} of the rows have to go"
    if options.conditional:
        support, whole = options.min_support, options.min_support >= 1
        least = number(int(support), "row") if whole else f"{Allowance(None, support * 100)} of the rows"
        within = f" with a support of {least} and a confidence of {Allowance(None, options.min_confidence * 100)}"
    return f"{text} There are no others{short}{within}."


def closing(outcome: DiscoverOutcome) -> str | None:
    """What is not shown, and how to see it; None when all is."""
    hidden = len(outcome.found) - len(outcome.shown)
    if not hidden:
        return None
    return f"Shown: the best {len(outcome.shown):,} of {number(len(outcome.found), 'rule')}. More with --top N or all."
