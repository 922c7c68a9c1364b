"""Found rules beside what people decided earlier: what is new, what was kept, and which columns people care for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, overload

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.decisions import Decisions, Rejected
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Allowance, Nulls, Rule
from holdfast.search.column_rule import ColumnRule
from holdfast.search.consequences import follows
from holdfast.search.outcome import FoundRule, found_kinds

# A rule that refines a rejected one says the same where at least this share of the pairs that test that one test it.
SAME_EFFECT = 0.9
# So many more rules than are shown are looked at for those that decisions move up, and one for each decided constraint.
LOOKED_AT = 30
# A column that people neither keep nor reject counts as this many of both: a first decision moves little.
_BEFORE = 2
# Below this score few pairs put a rule to the test; no decision on columns moves such a rule above others.
_FEW_TESTS = 0.25


@dataclass(frozen=True)
class Moved:
    """That decisions on other rules move a rule in the order: the factor of its score there, and why."""

    factor: float
    why: str


@dataclass(frozen=True)
class KeptEarlier:
    """A rule that was kept, and how it is now: whether it holds, and what breaks it. `problem` says why it could not be
    checked, such as a column that is gone."""

    rule: Rule
    holds: bool
    violating_pairs: int | None = None
    violating_rows: int | None = None
    suspect_rows: int | None = None
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": self.rule.name,
            "rule": str(self.rule),
            "holds": self.holds,
            "violating_pairs": self.violating_pairs,
            "violating_rows": self.violating_rows,
            "suspect_rows": self.suspect_rows,
        }
        return entry if self.problem is None else {**entry, "problem": self.problem}


@dataclass(frozen=True)
class ColumnDecisions:
    """How many kept and rejected rules name a column, and the factor that follows from that."""

    column: str
    kept: int
    rejected: int

    @property
    def factor(self) -> float:
        """Above 1 where more rules are kept, below 1 where more are rejected; from 0 to 2.

        >>> ColumnDecisions("id", 0, 6).factor, ColumnDecisions("zip", 1, 0).factor
        (0.4, 1.2)
        """
        return 2 * (self.kept + _BEFORE) / (self.kept + self.rejected + 2 * _BEFORE)

    def __str__(self) -> str:
        parts = [("rejected", self.rejected), ("kept", self.kept)]
        said = [(word, count) for word, count in parts if count]
        if len(said) == 2:
            return f"you rejected {self.rejected:,} and kept {number(self.kept, 'rule')} on {quoted_name(self.column)}"
        ((word, count),) = said
        return f"you {word} {number(count, 'rule')} on {quoted_name(self.column)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column, "kept": self.kept, "rejected": self.rejected, "factor": round(self.factor, 3)
        }  # fmt: skip


@dataclass(frozen=True)
class DecidedSummary:
    """What decisions did to a discovery: the kept rules as they are now, how many found rules were left out since they
    were `rejected`, only `refining` a rejected one, or `following` from a kept one; the columns people decided on; and
    what was `rejected_before`.
    """

    kept: tuple[KeptEarlier, ...] = ()
    rejected: int = 0
    refining: int = 0
    following: int = 0
    columns: tuple[ColumnDecisions, ...] = ()
    rejected_before: tuple[Rejected, ...] = ()

    @property
    def broken(self) -> tuple[KeptEarlier, ...]:
        """The kept rules that no longer hold."""
        return tuple(entry for entry in self.kept if not entry.holds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kept": [entry.to_dict() for entry in self.kept],
            "left_out": {"rejected": self.rejected, "refining": self.refining, "following": self.following},
            "columns": [column.to_dict() for column in self.columns],
        }


class PairCounts(Protocol):
    """How many ordered pairs of rows satisfy all predicates of each constraint."""

    def __call__(self, constraints: Sequence[DenialConstraint]) -> Sequence[int]: ...


@dataclass(frozen=True)
class NewRules:
    """The found rules that nobody decided on, best first; and how many were left out, by why."""

    rules: NewFirst
    left_out: Mapping[str, int]


class NewFirst(Sequence[FoundRule]):
    """Rules in their new order, and after them those of `found` that nobody looked at, made when they are asked for."""

    def __init__(self, first: Sequence[FoundRule], rules: Sequence[FoundRule], looked_at: int) -> None:
        self._first, self._found, self._looked_at = first, rules, looked_at

    @property
    def kinds(self) -> list[str]:
        """The kinds of all rules, without making them."""
        rest = found_kinds(self._found)[self._looked_at :]
        return [*(entry.rule.kind for entry in self._first), *rest]

    def __len__(self) -> int:
        return len(self._first) + len(self._found) - self._looked_at

    @overload
    def __getitem__(self, place: int) -> FoundRule: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[FoundRule, ...]: ...

    def __getitem__(self, place: int | slice) -> FoundRule | tuple[FoundRule, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(len(self))[place])
        place = range(len(self))[place]
        if place < len(self._first):
            return self._first[place]
        return self._found[place - len(self._first) + self._looked_at]


def new_rules(
    rules: Sequence[FoundRule],
    decisions: Decisions,
    holding: Sequence[Rule],
    pairs: PairCounts,
    *,
    top: int | None,
    nulls: Nulls,
) -> NewRules:
    """Returns the rules that nobody decided on, those on columns that people keep before those on columns they reject.

    A rule is left out where it says what a kept or a rejected one says; where it follows from kept rules that hold
    (`holding` are these), from one or several together; and where it refines a rejected one to the same effect. At most
    so many rules are looked at as give `top` new ones and some more; those after them keep their places.
    """
    wanted = None if top is None else rules_looked_at(top, decisions)
    columns, decided = column_decisions(decisions), _Decided(decisions, holding, nulls)
    chosen: list[FoundRule] = []
    left_out: Counter[str] = Counter()
    looked_at = 0
    for batch in _batches(rules, wanted):
        looked_at += len(batch)
        fates = [decided.fate(entry.rule) for entry in batch]
        refining = [(fate.refines, entry.rule) for fate, entry in zip(fates, batch, strict=True) if fate.refines]
        same = iter(_same_effect(refining, pairs))
        for entry, fate in zip(batch, fates, strict=True):
            reason = "refining" if fate.refines is not None and next(same) else fate.left_out
            if reason is not None:
                left_out[reason] += 1
            else:
                chosen.append(
                    _moved(replace(entry, refines=None if fate.refines is None else str(fate.refines)), columns)
                )
        if wanted is not None and len(chosen) >= wanted:
            break
    return NewRules(NewFirst(tuple(sorted(chosen, key=_place)), rules, looked_at), left_out)


def new_column_rules(
    rules: Sequence[ColumnRule], decisions: Decisions, holding: Sequence[Rule], *, nulls: Nulls
) -> tuple[tuple[ColumnRule, ...], Mapping[str, int]]:
    """Returns the rules on single columns that nobody decided on, and how many were left out, by why.

    A weaker rule than a rejected one is new: whoever rejects a list of three values may want one of four.
    """
    decided = _Decided(decisions, holding, nulls)
    fates = [None if entry.rule is None else decided.fate(entry.rule).left_out for entry in rules]
    new = tuple(entry for entry, fate in zip(rules, fates, strict=True) if fate is None)
    return new, Counter(fate for fate in fates if fate is not None)


def rules_looked_at(top: int, decisions: Decisions) -> int:
    """Returns how many rules have to be known where the best `top` beside the decisions are wanted."""
    rules = [*decisions.kept, *(entry.rule for entry in decisions.rejected)]
    return top + LOOKED_AT + sum(len(rule.body.denials) for rule in rules)


def _batches(rules: Sequence[FoundRule], wanted: int | None) -> Iterator[list[FoundRule]]:
    rest = iter(rules)
    while batch := list(islice(rest, wanted)):
        yield batch


@dataclass(frozen=True)
class _Fate:
    """Why a rule is left out, if it is; else the rejected rule that it refines, if there is one."""

    left_out: str | None = None
    refines: Rule | None = None


class _Decided:
    """Rules that people decided on, and those of them that hold now."""

    def __init__(self, decisions: Decisions, holding: Sequence[Rule], nulls: Nulls) -> None:
        self._nulls_equal = nulls == "equal"
        self._kept = _denials(decisions.kept)
        self._rejected = _denials(entry.rule for entry in decisions.rejected)
        self._holding = _denials(holding)
        exact = [rule for rule in holding if rule.allow == Allowance() and rule.allow_pairs is None]
        self._laws = [constraint for rule in exact for constraint in rule.body.denials]

    def fate(self, rule: Rule) -> _Fate:
        denials = rule.body.denials
        if all(any(self._same(denied, kept) for kept in self._covering(self._kept, denied)) for denied in denials):
            return _Fate("kept")
        rejected = [self._covering(self._rejected, denied) for denied in denials]
        if all(
            any(self._same(denied, other) for other in others) for denied, others in zip(denials, rejected, strict=True)
        ):
            return _Fate("rejected")
        if all(self._covering(self._holding, denied) or self._follows(denied) for denied in denials):
            return _Fate("following")
        return _Fate(refines=rejected[0][0].rule) if all(rejected) else _Fate()

    def _covering(self, decided: Sequence[_Denied], special: DenialConstraint) -> list[_Denied]:
        named = {column.name for column in special.columns()}
        return [
            other
            for other in decided
            if other.columns <= named and other.constraint.covers(special, nulls_equal=self._nulls_equal)
        ]

    def _follows(self, denied: DenialConstraint) -> bool:
        """Whether the constraint follows from kept rules together, such as a chain of dependencies."""
        return bool(self._laws) and follows(denied, self._laws)

    def _same(self, special: DenialConstraint, general: _Denied) -> bool:
        return special.covers(general.constraint, nulls_equal=self._nulls_equal)


@dataclass(frozen=True)
class _Denied:
    """One of the constraints that a rule stands for, with its columns."""

    columns: frozenset[str]
    constraint: DenialConstraint
    rule: Rule


def _denials(rules: Iterable[Rule]) -> list[_Denied]:
    return [
        _Denied(frozenset(column.name for column in constraint.columns()), constraint, rule)
        for rule in rules
        for constraint in rule.body.denials
    ]


# What only refines a rejected rule -------------------------------------------------------------------------------


def _same_effect(refined: Sequence[tuple[Rule, Rule]], pairs: PairCounts) -> list[bool]:
    """Per (rejected rule, rule that refines it) whether nearly all pairs that test the first test the second, too.

    A pair tests a constraint when it satisfies all predicates but the one that is least often put to the test, as the
    support of found rules has it.
    """
    tests: dict[DenialConstraint, None] = {}
    for general, special in refined:
        for constraint in (*general.body.denials, *special.body.denials):
            tests |= dict.fromkeys(_without_one(constraint))
    counts = dict(zip(tests, pairs(list(tests)), strict=True)) if tests else {}
    return [
        all(
            any(_share_tested(constraint, other, counts) >= SAME_EFFECT for constraint in general.body.denials)
            for other in special.body.denials
        )
        for general, special in refined
    ]


def _without_one(constraint: DenialConstraint) -> list[DenialConstraint]:
    return [
        DenialConstraint(tuple(other for other in constraint.predicates if other is not predicate))
        for predicate in constraint.predicates
    ]


def _share_tested(
    general: DenialConstraint, special: DenialConstraint, counts: Mapping[DenialConstraint, int]
) -> float:
    shares = [0.0]
    for turned in (special, special.mirrored()):
        if not general.implies(turned):
            continue
        # Of the general constraint the predicate that is least often tested; of the special one the same operands.
        tested = [(counts[rest], i) for i, rest in enumerate(_without_one(general))]
        count, i = min(tested)
        left = _operands(general.predicates[i])
        for j, predicate in enumerate(special.predicates):
            if _operands(predicate) == left or _operands(predicate.mirrored()) == left:
                shares.append(counts[_without_one(special)[j]] / max(count, 1))
    return max(shares)


def _operands(predicate: object) -> frozenset[str]:
    return frozenset(map(str, getattr(predicate, "operands", (predicate,))))


# Columns that people care for ------------------------------------------------------------------------------------


def column_decisions(decisions: Decisions) -> dict[str, ColumnDecisions]:
    """Returns, by column, how many kept and rejected rules name it; those that say much about it first.

    Rules that look at a value of a column alone say nothing about what it has to do with others.
    """
    kept = Counter(name for rule in decisions.kept for name in _related(rule))
    rejected = Counter(name for entry in decisions.rejected for name in _related(entry.rule))
    columns = [ColumnDecisions(name, kept[name], rejected[name]) for name in sorted({*kept, *rejected})]
    return {column.column: column for column in sorted(columns, key=lambda column: -abs(math.log(column.factor)))}


def _related(rule: Rule) -> set[str]:
    columns = set(rule.body.columns)
    return set() if rule.kind == "row" and len(columns) == 1 else columns


def _moved(entry: FoundRule, columns: Mapping[str, ColumnDecisions]) -> FoundRule:
    """The rule, moved by the one of its columns on which people decided most clearly."""
    known = [columns[name] for name in entry.rule.body.columns if name in columns and columns[name].factor != 1]
    if not known:
        return entry
    column = max(known, key=lambda column: (abs(math.log(column.factor)), -column.factor))
    return replace(entry, moved=Moved(round(column.factor, 3), str(column)))


def _place(entry: FoundRule) -> tuple[bool, float]:
    factor = 1.0 if entry.moved is None else entry.moved.factor
    return entry.score < _FEW_TESTS, -entry.score * factor
