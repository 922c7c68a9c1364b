"""What can be said of a rule file without any data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import HoldfastError, RuleFileError
from holdfast.linting.finding import Level, LintFinding
from holdfast.linting.implied import denials_of, implied_rules
from holdfast.rules.dependency import Inclusion
from holdfast.rules.fingerprint import rule_fingerprint
from holdfast.rules.pattern import matches_nothing
from holdfast.rules.predicate import Comparison, Constant, NullTest, Operand, TextTest
from holdfast.rules.relation import ANY, EQ, GT, LT, complement
from holdfast.rules.rule import Nulls, Rule
from holdfast.rules.rule_file import RuleFile, entry_rule, file_parts, rule_set_of, table_names
from holdfast.rules.yaml_nodes import line_of


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
            whole = rule_set_of(parts, tables or None, read=[placed.rule for placed in rules])
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
    for first_place, place in _about_one_operand([placed.rule for placed in plain]):
        earlier, later = plain[first_place], plain[place]
        if (what := _contradiction(earlier.rule, later.rule)) is not None:
            with_earlier = f"together with {earlier.rule.name!r} in line {earlier.line}"
            message = f"{with_earlier} it leaves no value that {what} may have."
            yield later.finding("warning", "contradiction", message, "a column without values keeps both.")
    for placed in plain:
        for message in _unmatched(placed.rule):
            yield placed.finding("warning", "pattern", message)


def _implied(rules: Sequence[PlacedRule], nulls: Nulls) -> Iterator[LintFinding]:
    for place, names in implied_rules([placed.rule for placed in rules], nulls):
        beside = ", on rows without nulls" if len(names) > 1 else ""
        message = f"the rule follows from {' and '.join(map(repr, names))}{beside}."
        yield rules[place].finding("warning", "implied", message, "leave it out, unless it is to be seen.")


def _about_one_operand(rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """The places of two rules each, in order, that may leave no value for something: each has a denial that is one
    predicate on it."""
    pairs: set[tuple[int, int]] = set()
    groups: dict[tuple[object, ...], tuple[list[int], dict[Operand, list[int]]]] = {}
    for place, rule in enumerate(rules):
        for denial in denials_of(rule):
            if len(denial.predicates) > 1 or denial.two_rows:
                continue
            (predicate,) = denial.predicates
            if not isinstance(predicate, NullTest | Comparison):
                continue
            operand = predicate.column if isinstance(predicate, NullTest) else predicate.left
            wide, points = groups.setdefault((rule.where, rule.tables, type(predicate), operand), ([], {}))
            pairs.update((other, place) for other in wide)
            if isinstance(predicate, Comparison) and predicate.allowed == EQ:
                # Two values that are denied leave others; so does one, but where all others are denied, too.
                points.setdefault(predicate.right, []).append(place)
            else:
                denied = points.get(predicate.right, ()) if isinstance(predicate, Comparison) else ()
                pairs.update((other, place) for other in denied)
                wide.append(place)
    return sorted((first, second) for first, second in pairs if first != second)


def _contradiction(rule: Rule, other: Rule) -> str | None:
    """What the two rules, each of one predicate on single rows, leave no value for; None where they leave some."""
    if rule.where != other.where or rule.tables != other.tables:
        return None
    for own in denials_of(rule):
        for theirs in denials_of(other):
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
    for denial in denials_of(rule):
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
