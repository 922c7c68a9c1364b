"""The rules that a discovery shows, as lines for a person: one for each entry, which is one fact in all its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.report.decided_lines import decided_note
from holdfast.report.words import number
from holdfast.rules.dependency import FD
from holdfast.rules.rule import Allowance
from holdfast.rules.sentence import dependency_sentence
from holdfast.search.entries import Reason
from holdfast.search.outcome import DiscoverOutcome, FoundRule

_KIND_NAMES = {
    "key": ("key", "keys"),
    "fd": ("FD", "FDs"),
    "cfd": ("conditional dependency", "conditional dependencies"),
    "order": ("order rule", "order rules"),
    "dc": ("other denial constraint", "other denial constraints"),
    "row": ("rule on single rows", "rules on single rows"),
}
# What a kind says of rows, for somebody who sees its short name.
KIND_WORDS = {
    "column": "what the values of one column keep",
    "key": "no two rows have the same values",
    "fd": "functional dependency: some values determine another",
    "cfd": "conditional dependency: a dependency among some of the rows",
    "order": "values rise or fall together",
    "dc": "denial constraint: what no two rows do",
    "row": "what no single row does",
}
# How many of the rules of an entry are written out below its first.
ALSO = 3


@dataclass(frozen=True)
class DiscoveryLine:
    """One line: the rule in words, as text in a rule file, its score, what tests and what breaks it, and how likely it
    is an accident. `since` is what each row keeps that lets the other rules of its entry follow from it.

    Of several rules on one line, `tested` is that of the rule with the fewest tests, and `accident` the highest. `note`
    is what earlier decisions say about the rule. `also` are the other rules of its entry.
    """

    kind: str
    words: str
    text: str
    score: float
    tested: str
    broken: str | None = None
    note: str | None = None
    accident: float | None = None
    also: tuple[str, ...] = ()
    since: tuple[str, ...] = ()


def discovery_lines(outcome: DiscoverOutcome) -> list[DiscoveryLine]:
    """Returns a line for each entry of shown rules, in the order of the best rule of each; dependencies with the same
    left side, that nothing breaks, are said at once."""
    shown, entries = outcome.shown, outcome.entries
    lines = []
    for members in entries:
        first, *others = _said_at_once([shown[i] for i in members if not entries.variants[i]])
        others += _said_at_once([shown[i] for i in members if entries.variants[i]])
        line = replace(_line(first, outcome), also=tuple(map(_noted_text, others)))
        head = entries.head(members[0])
        words = since_each_row(line.words, entries.reasons.get(head))
        since = dict.fromkeys(
            order.words for i in members if i != head and i in entries.reasons for order in entries.reasons[i].orders
        )
        lines.append(replace(line, words=words, since=() if words != line.words else tuple(since)))
    return lines


def since_each_row(words: str, reason: Reason | None) -> str:
    """Returns the rule in words, and before them what each row keeps where the rule says no more than that."""
    if reason is None or reason.rules or not reason.orders:
        return words
    return f"{' and '.join(order.words for order in reason.orders)}, so {words}"


def also_text(texts: Sequence[str]) -> str:
    """Returns the other rules of an entry, the first few of them."""
    rest = len(texts) - ALSO
    return f"{'; '.join(texts[:ALSO])}{f'; and {rest:,} more' if rest > 0 else ''}"


def _said_at_once(rules: list[FoundRule]) -> list[list[FoundRule]]:
    together: dict[object, list[FoundRule]] = {}
    for entry in rules:
        body, said = entry.rule.body, object()
        if isinstance(body, FD) and body.left and broken_by(entry) is None:
            said = body.left, decided_note(entry)
        together.setdefault(said, []).append(entry)
    return list(together.values())


def _noted_text(rules: list[FoundRule]) -> str:
    note = decided_note(rules[0])
    return _text(rules) if note is None else f"{_text(rules)} ({note})"


def _text(rules: list[FoundRule]) -> str:
    return str(rules[0].rule) if len(rules) == 1 else str(FD(*_sides(rules)))


def _line(rules: list[FoundRule], outcome: DiscoverOutcome) -> DiscoveryLine:
    first = rules[0]
    words = first.rule.description or "" if len(rules) == 1 else dependency_sentence(*_sides(rules))
    least = min(rules, key=lambda entry: entry.support)
    known = [entry.accident for entry in rules if entry.accident is not None]
    accident = max(known) if len(known) == len(rules) else None
    tested, broken, note = tested_by(least, outcome), broken_by(first), decided_note(first)
    return DiscoveryLine(first.rule.kind, words, _text(rules), first.score, tested, broken, note, accident)


def tested_by(entry: FoundRule, outcome: DiscoverOutcome) -> str:
    """Returns how many pairs test the rule (rows, for a rule on single rows), and their share of all."""
    share = entry.coverage * 100
    percent = "100%" if share > 99.995 else f"{share:.2g}%" if share >= 0.0001 or share == 0 else "below 0.0001%"
    if entry.rule.kind == "row":
        count = number(entry.support // max(outcome.rows - 1, 1), "row")
    elif entry.rule.kind == "cfd" and not entry.constraint.two_rows:
        count = number(entry.support, "row")
    else:
        count = number(entry.support, "pair")
    # These strategies do not compare every pair, so the count is an estimate.
    about = "about " if outcome.strategy in ("hybrid", "sample") else ""
    return f"{about}{count} ({percent})"


def broken_by(entry: FoundRule) -> str | None:
    """Returns how many pairs and suspect rows break the rule, and the share that a sample estimates; None for none."""
    parts = []
    if entry.violating_pairs:
        parts.append(number(entry.violating_pairs, "pair"))
    if entry.violating_pairs or entry.suspect_rows:
        word = "suspect" if entry.violating_pairs else "row"
        parts.append("suspects unknown" if entry.suspect_rows is None else number(entry.suspect_rows, word))
    if entry.interval is not None:
        low, high = (f"{share * 100:.3g}%" for share in entry.interval)
        parts.append(f"in the sample {low} to {high} of the pairs")
    return ", ".join(parts) or None


def _sides(rules: list[FoundRule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    bodies = [entry.rule.body for entry in rules]
    sides = [(body.left, body.right) for body in bodies if isinstance(body, FD)]
    return sides[0][0], tuple(name for _, right in sides for name in right)


# Sentences about the whole ---------------------------------------------------------------------------------------


def size(outcome: DiscoverOutcome) -> str:
    """Returns the size of the table and of the search, and the strategy."""
    evidence = f"{outcome.evidence:,} {'kind' if outcome.evidence == 1 else 'kinds'} of evidence"
    return (
        f"{number(outcome.rows, 'row')}, {number(outcome.predicates, 'predicate')}, {evidence}, "
        f"{outcome.seconds:.1f} s, {outcome.strategy}{'' if outcome.device == 'cpu' else f' on {outcome.device}'}"
    )


def tally(outcome: DiscoverOutcome) -> str:
    """Returns how many rules there are of each kind, and whether these are all.

    Such as `36 rules: 3 keys, 12 FDs, 21 other denial constraints. There are no others.`
    """
    not_all = outcome.least_score is not None
    count = len(outcome.shown) if not_all else len(outcome.found)
    if not count and outcome.decided is not None and outcome.complete:
        return "No new rules."
    if not count:
        return "No rules." if outcome.complete else f"No rules yet: {outcome.why}."
    kinds = Counter(entry.rule.kind for entry in outcome.shown) if not_all else outcome.kinds
    counts = [f"{kinds[kind]:,} {names[kinds[kind] != 1]}" for kind, names in _KIND_NAMES.items() if kinds[kind]]
    word = "rule" if outcome.decided is None else "new rule"
    text = f"{'The best ' if not_all else ''}{number(count, word)}: {', '.join(counts)}."
    if not outcome.complete:
        return f"{text} Not all there is: {outcome.why}."
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
    if (not_all or outcome.cut) and outcome.decided is not None:
        return text  # decisions move rules, so nothing is said of those that are not shown
    if outcome.cut:
        return f"{text} Left out: {number(outcome.cut, 'other')}, likelier accidents or of a lower score."
    if not_all:
        return f"{text} No other{short} scores more than {outcome.shown[-1].score:.2f}."
    return f"{text} There are no others{short}{within}."


def closing(outcome: DiscoverOutcome) -> str | None:
    """Returns how many rules are not shown, and how to see them; None when all are shown."""
    if outcome.least_score is not None:
        return "Rules of a lower score were left out. More with --top N or all."
    hidden = len(outcome.found) - len(outcome.shown)
    if not hidden:
        return None
    facts = len(list(outcome.entries))
    folded = f", which are {number(facts, 'fact')}" if facts < len(outcome.shown) else ""
    rules = number(len(outcome.found), "rule")
    return f"Shown: the best {len(outcome.shown):,} of {rules}{folded}. More with --top N or all."


# Where belief ends -------------------------------------------------------------------------------------------------

# Below this estimate a rule is surely no accident.
SURELY_NONE = 0.001
# From the line on, of the rules for which it was estimated more than this share are accidents.
LINE = 0.5
# Where nothing was estimated: below this score so few violations would be expected that having none means little.
WEAK_SCORE = 0.25


@dataclass(frozen=True)
class BeliefLine:
    """How many rules, or lines, stand above the line; and what it says."""

    place: int
    words: str


def belief_line(shown: Sequence[FoundRule | DiscoveryLine]) -> BeliefLine:
    """Returns where belief ends among rules or lines, best first.

    The first one below the line is an accident more likely than not, and of those from there on, more than half are
    expected to be. Where nothing was estimated, as for rules that evolve, it is the score that decides.
    """
    if all(entry.accident is None for entry in shown):
        weak = next((i for i, entry in enumerate(shown) if entry.score < WEAK_SCORE), len(shown))
        return BeliefLine(weak, "These may be accidents, so few pairs put them to the test:")
    expected, known, place = 0.0, 0, len(shown)
    for i in range(len(shown) - 1, -1, -1):
        accident = shown[i].accident
        if accident is None:
            continue
        expected, known = expected + accident, known + 1
        if accident > LINE and expected > LINE * known:
            place = i
    return BeliefLine(place, "Below here expect more than half to be accidents of this table:")


def accident_words(accident: float | None) -> str | None:
    """Returns how likely it is an accident, in words; None where that was not estimated.

    >>> [accident_words(value) for value in (1.0, 0.31, 0.0421, 1e-40)]
    ['probably an accident', 'accident: 31%', 'accident: 4.2%', 'accident: below 0.1%']
    """
    if accident is None:
        return None
    if accident > 0.99:
        return "probably an accident"
    return f"accident: {accident * 100:.2g}%" if accident >= SURELY_NONE else "accident: below 0.1%"
