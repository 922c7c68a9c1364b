"""What can be said of a rule file without any data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from holdfast.errors import HoldfastError, RuleFileError
from holdfast.linting.finding import Level, LintFinding
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Inclusion, of_its_table
from holdfast.rules.fingerprint import rule_fingerprint
from holdfast.rules.pattern import matches_nothing
from holdfast.rules.predicate import Comparison, Constant, NullTest, TextTest
from holdfast.rules.relation import ANY, EQ, GT, LT, complement
from holdfast.rules.rule import Allowance, Nulls, Rule
from holdfast.rules.rule_file import RuleFile, entry_rule, file_parts, rule_set_of, table_names
from holdfast.rules.yaml_nodes import line_of
from holdfast.search.entries import follows

# Whether a rule follows from several together is looked at among so many rules.
MOST_TOGETHER = 200


@dataclass(frozen=True)
class PlacedRule:
    """A rule with the file and the line where it stands."""

    rule: Rule
    file: str
    line: int

    def finding(self, level: Level, check: str, message: str, hint: str | None = None) -> LintFinding:
        return LintFinding(level, check, message, self.file, self.line, self.rule.name, hint)


@dataclass(frozen=True)
class ReadFile:
    """What could be read of a rule file and those it includes."""

    rules: tuple[PlacedRule, ...]
    findings: tuple[LintFinding, ...]
    nulls: Nulls = "sql"


def lint_file(file: str, variables: Mapping[str, str], tables: Collection[str] = ()) -> ReadFile:
    """The rules of a file that can be read, and what is wrong with it, as far as that shows without data.

    Rules may name `tables`, beside those of the file. SourceNotFoundError where there is no file.
    """
    try:
        parts = file_parts(file, variables)
    except RuleFileError as problem:
        return ReadFile((), (_finding(problem, "file", file),))
    try:
        known = table_names(parts, tables or None)
    except RuleFileError as problem:
        return ReadFile((), (_finding(problem, "file", file),))
    rules, findings = [], []
    for part in parts:
        for i in range(len(part.entries)):
            try:
                rules.append(PlacedRule(entry_rule(part, i, known), part.origin, _line(part, i)))
            except RuleFileError as problem:
                findings.append(_finding(problem, "rule", part.origin, _line(part, i)))
    nulls: Nulls = "sql"
    if not findings:
        try:
            whole = rule_set_of(parts, tables or None)
            nulls = whole.nulls
            rules = [PlacedRule(rule, at.file, at.line) for rule, at in zip(whole, rules, strict=True)]
        except RuleFileError as problem:
            findings.append(_finding(problem, "name", file))
    findings += _said_twice(rules, nulls)
    return ReadFile(tuple(rules), tuple(findings), nulls)


def _line(part: RuleFile, i: int) -> int:
    return line_of(part.root, ("rules", i))


def _finding(problem: HoldfastError, check: str, file: str, line: int | None = None) -> LintFinding:
    has_line = isinstance(problem, RuleFileError) and problem.line is not None
    place = problem.line if has_line else line  # type: ignore[attr-defined]
    return LintFinding("error", check, problem.message, file, place, None, problem.hint)


def _said_twice(rules: Sequence[PlacedRule], nulls: Nulls) -> Iterator[LintFinding]:
    """What rules say that others say, too, or that cannot all be meant."""
    first: dict[str, PlacedRule] = {}
    fresh: list[PlacedRule] = []
    for placed in rules:
        said = rule_fingerprint(placed.rule, nulls)
        earlier = first.setdefault(said, placed)
        if earlier is placed:
            fresh.append(placed)
        else:
            message = f"the rule says the same as {earlier.rule.name!r} in line {earlier.line}."
            if earlier.file != placed.file:
                message = f"the rule says the same as {earlier.rule.name!r} in {earlier.file}, line {earlier.line}."
            yield placed.finding("warning", "duplicate", message, "leave one of both out.")
    plain = [placed for placed in fresh if not isinstance(placed.rule.body, Inclusion)]
    yield from _implied(plain, nulls)
    for earlier, later in combinations(plain, 2):
        if (what := _contradiction(earlier.rule, later.rule)) is not None:
            with_earlier = f"together with {earlier.rule.name!r} in line {earlier.line}"
            message = f"{with_earlier} it leaves no value that {what} may have."
            yield later.finding("warning", "contradiction", message, "a column without values keeps both.")
    for placed in plain:
        for message in _unmatched(placed.rule):
            yield placed.finding("warning", "pattern", message)


def _implied(rules: Sequence[PlacedRule], nulls: Nulls) -> Iterator[LintFinding]:
    """Rules that could all be left out together: each follows from those that are then left."""
    left = list(rules)
    for by in (implied_by_one, implied_by_several):
        for placed in reversed(rules):
            others = [other for other in left if other is not placed]
            names = by(placed.rule, [other.rule for other in others], nulls) if placed in left else []
            if names:
                left = others
                beside = ", on rows without nulls" if len(names) > 1 else ""
                message = f"the rule follows from {' and '.join(map(repr, names))}{beside}."
                yield placed.finding("warning", "implied", message, "leave it out, unless it is to be seen.")


def implied_by_one(rule: Rule, others: Sequence[Rule], nulls: Nulls) -> list[str]:
    """The name of a rule from which the rule follows, in a list; an empty one where there is none."""
    wanted, equal = _denials(rule), nulls == "equal"
    for other in _strict(rule, others):
        if all(any(own.covers(denial, nulls_equal=equal) for own in _denials(other)) for denial in wanted):
            return [other.name]
    return []


def implied_by_several(rule: Rule, others: Sequence[Rule], nulls: Nulls) -> list[str]:
    """The names of rules from which the rule follows together, none of which could be left out."""
    together = _strict(rule, others)[:MOST_TOGETHER]

    def suffice(used: Iterable[Rule]) -> bool:
        given = [denial for other in used for denial in _denials(other)]
        return all(follows(denial, given) for denial in _denials(rule))

    if len(rule.tables) > 1 or not suffice(together):
        return []
    for other in list(together):
        rest = [kept for kept in together if kept is not other]
        together = rest if suffice(rest) else together
    return [other.name for other in together]


def _strict(rule: Rule, others: Iterable[Rule]) -> list[Rule]:
    """Those that tolerate nothing, speak of all the rows that the rule speaks of, and are of no lower severity."""
    return [
        other
        for other in others
        if (other.allow, other.allow_pairs, other.warn) == (Allowance(), None, None)
        and other.where in (None, rule.where)
        and other.tables == rule.tables
        and (other.severity == "error" or rule.severity == "warn")
    ]


def _denials(rule: Rule) -> tuple[DenialConstraint, ...]:
    body = of_its_table(rule.body) if len(rule.tables) == 1 else rule.body
    return tuple(body.denials)


def _contradiction(rule: Rule, other: Rule) -> str | None:
    """What the two rules, each of one predicate on single rows, leave no value for; None where they leave some."""
    if rule.where != other.where or rule.tables != other.tables:
        return None
    for own in _denials(rule):
        for theirs in _denials(other):
            if len(own.predicates) == len(theirs.predicates) == 1 and not own.two_rows and not theirs.two_rows:
                a, b = own.predicates[0], theirs.predicates[0]
                if isinstance(a, NullTest) and isinstance(b, NullTest) and a.negated() == b:
                    return str(a.column)
                if isinstance(a, Comparison) and isinstance(b, Comparison) and a.left == b.left and _nothing_left(a, b):
                    return str(a.left)
    return None


def _nothing_left(a: Comparison, b: Comparison) -> bool:
    """Whether each value satisfies one of two comparisons of the same operand."""
    if a.right == b.right:
        return a.allowed | b.allowed == ANY
    if not isinstance(a.right, Constant) or not isinstance(b.right, Constant) or a.right.kind != b.right.kind:
        return False
    if a.right.kind in ("raw", "boolean"):
        return False
    if _is_less(b.right, a.right):
        a, b = b, a
    # How a value may lie to the smaller constant and to the larger one.
    places = ((LT, LT), (EQ, LT), (GT, LT), (GT, EQ), (GT, GT))
    return not any(low & complement(a.allowed) and high & complement(b.allowed) for low, high in places)


def _is_less(constant: Constant, other: Constant) -> bool:
    return constant.value < other.value  # type: ignore[operator]


def _unmatched(rule: Rule) -> Iterator[str]:
    """What is said of patterns that no text matches, and of texts that a pattern of the same denial refuses."""
    for denial in _denials(rule):
        for test in denial.predicates:
            if not isinstance(test, TextTest):
                continue
            if matches_nothing(test.argument):
                yield f"no text matches the pattern {test.argument!r}."
            fixed = [
                other for other in denial.predicates if isinstance(other, Comparison) and other.left == test.column
            ]
            for other in fixed:
                value = other.right.value if isinstance(other.right, Constant) and other.allowed == EQ else None
                if isinstance(value, str) and not test.holds(value):
                    yield f"no row can break the rule: {other} and {test} are never true of one row."
