"""Which value of one cell would mend a row: candidates from the rules, each tried against the whole table, in this
process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import Coded, compacted, shared_codes
from holdfast.encode.one_array import decoded
from holdfast.encode.spark_text import spark_text
from holdfast.explaining.candidates import Candidates, CandidateSource, Floats, sets_bounds
from holdfast.explaining.cell_values import plain_array
from holdfast.explaining.limits import CHANGES_PER_ROW, TRIED_PER_ROW
from holdfast.explaining.row_meetings import conflict_counts, violating_pairs, violation_counts
from holdfast.programs.arrow_rows import TableColumns, form_columns
from holdfast.programs.plan import Plan
from holdfast.programs.program import forms_and_flags
from holdfast.violations.part import Ints, Part, families


@dataclass(frozen=True)
class RowTrial:
    """Rows to be mended among all rows of a table, and what would mend them.

    `rows` is the whole table under its own column names, `keys` the key of each row (a value, a struct of several, or
    the row's number), `part` the coded forms and flags of all rows, as `part_of` makes them. `suspects` tells the
    positions of the suspect rows of rule i; `given` are the positions of the rows to be mended, each once.
    """

    rows: pa.Table
    keys: pa.ChunkedArray
    plan: Plan
    part: Part
    suspects: Callable[[int], Ints]
    given: Ints

    def of_rows(self, given: Ints) -> RowTrial:
        """The trial of other rows of the same table."""
        return replace(self, given=given)

    @cached_property
    def before(self) -> Ints:
        """By rule and given row, the number of violations that the row is in."""
        programs = self.plan.programs.programs
        return np.array(
            [violation_counts(program, self.part, self.given, self.given, self.part.size) for program in programs],
            np.int64,
        ).reshape(len(programs), len(self.given))

    @cached_property
    def broken(self) -> list[int]:
        """The rules that some of the given rows break."""
        return np.flatnonzero(self.before.any(axis=1)).tolist()

    def met(self, most: int) -> dict[int, list[tuple[int, int | None]]]:
        """By rule that they break, the first violations of the given rows, by position; one alone has no right row."""
        return {i: self._met(i, most) for i in self.broken}

    def _met(self, i: int, most: int) -> list[tuple[int, int | None]]:
        program, order = self.plan.programs.programs[i], self.part.order
        left, right = violating_pairs(program, self.part, self.given, self.part.size)
        if program.alone is not None:
            alone = self.given[self.part.flags[program.alone][self.given]]
            left, right = np.append(left, alone), np.append(right, np.full(len(alone), -1))
        # By key; a row alone comes before its pairs.
        second = np.where(right < 0, np.iinfo(np.int64).min, order[right])
        first = np.lexsort((second, right >= 0, order[left]))[:most]
        return [(int(left[at]), None if right[at] < 0 else int(right[at])) for at in first]

    def conflicts(self, i: int, rows: Ints) -> Ints:
        """How many violating pairs of rule i each of these rows of the table is in."""
        return conflict_counts(self.plan.programs.programs[i], self.part, rows, rows, self.part.size)

    def suggestions(self) -> pa.Table:
        """(key, column, value, suggested, resolves, adds, rules, confidence, low, high): of each given row, at most
        CHANGES_PER_ROW changes of one cell that resolve more violations than they add.

        `resolves` and `adds` count violations of all rules; `confidence` is the share of the row's violations that go,
        less those that come, times how much speaks for the value. By key, the best of each row first.
        """
        rules = [rule.name for rule in self.plan.rules]
        return self.best_changes(self._tried, self.effect(self._tried), self.before.sum(axis=0), rules)

    def best_changes(self, tried: CellChanges, effect: Effect, before: Ints, rules: Sequence[str]) -> pa.Table:
        """Of changes whose effect is known, those that `suggestions` tells. `before` has the violations of each given
        row, `rules` the names of the rules that the effect is on."""
        total = before[tried.of]
        net = effect.resolves - effect.adds
        confidence = tried.backing * net / np.maximum(total, 1)
        useful = np.flatnonzero(net > 0)
        order = self.part.order[self.given][tried.of]
        best = useful[np.lexsort((tried.text_codes[useful], tried.places[useful], -confidence[useful], order[useful]))]
        best = best[_among_first(tried.of[best], CHANGES_PER_ROW)]
        names = list(self.plan.schema.types)
        improved = [sorted(rules[i] for i in np.flatnonzero(effect.improved[:, at]).tolist()) for at in best]
        taken = pa.array(best)
        return pa.table(
            {
                "key": self.keys.take(pa.array(self.given[tried.of[best]])),
                "column": pa.array([names[place] for place in tried.places[best]], pa.string()),
                "value": tried.now.take(taken),
                "suggested": tried.texts.take(taken),
                "resolves": pa.array(effect.resolves[best], pa.int64()),
                "adds": pa.array(effect.adds[best], pa.int64()),
                "rules": pa.array(improved, pa.list_(pa.string())),
                "confidence": pa.array(confidence[best], pa.float64()),
                "low": tried.low.take(taken),
                "high": tried.high.take(taken),
            }
        )

    @property
    def tried(self) -> int:
        """How many changes are tried."""
        return len(self._tried.of)

    def candidates(self) -> list[Candidates]:
        """The values that the rules suggest which the given rows break."""
        source = CandidateSource(self.rows, self.plan, self.part, self.given)
        suggested: list[Candidates] = []
        for i in self.broken:
            suggested += source.candidates(i, self.suspects(i) if sets_bounds(self.plan, i) else None)
        return suggested

    @cached_property
    def _tried(self) -> CellChanges:
        return CellChanges.of_candidates(self, self.candidates())

    def effect(self, changes: CellChanges) -> Effect:
        """What the changes of given rows do to the violations that these are in."""
        return Effect.of(self, changes)

    def touching(self, i: int) -> set[int]:
        """The columns whose values matter to the rule; what a condition reads is not known."""
        rule, schema = self.plan.rules.rules[i], self.plan.schema
        if rule.where is not None:
            return set(range(len(schema.types)))
        return {schema.position(name) for name in rule.body.columns}


def suggestions_schema(key: pa.DataType) -> pa.Schema:
    """The columns of `RowTrial.suggestions`, for keys of this type."""
    text, number = pa.string(), pa.int64()
    rest = {"column": text, "value": text, "suggested": text, "resolves": number, "adds": number}
    rest |= {"rules": pa.list_(text), "confidence": pa.float64(), "low": text, "high": text}
    return pa.schema({"key": key, **rest})


@dataclass(frozen=True)
class CellChanges:
    """CellChanges of one cell to be tried: whose (`of`, places among the given rows), of which column, and to what.

    `values` has, by column, the values of those changes that are of it, in order.
    """

    of: Ints
    places: Ints
    texts: pa.Array
    text_codes: Ints
    now: pa.Array
    backing: Floats
    low: pa.Array
    high: pa.Array
    values: dict[int, pa.Array]

    @classmethod
    def of_candidates(cls, trial: RowTrial, suggested: Sequence[Candidates]) -> CellChanges:
        """The values that most speaks for, each once, none that is there, at most TRIED_PER_ROW of a row."""
        position = trial.plan.schema.position
        of = _joined([candidates.of for candidates in suggested], np.int64)
        places = _joined(
            [np.full(len(candidates.of), position(candidates.column), np.int64) for candidates in suggested], np.int64
        )
        backing = _joined([candidates.backing for candidates in suggested], np.float64)
        texts, low, high = (
            _texts([getattr(candidates, name) for candidates in suggested]) for name in ("texts", "low", "high")
        )
        now = _texts(
            [
                spark_text(trial.rows.column(candidates.column).take(pa.array(trial.given[candidates.of])))
                for candidates in suggested
            ]
        )
        text_coded, now_coded = shared_codes([pa.chunked_array([texts]), pa.chunked_array([now])])
        # Of one text for one cell the best backed, and of those as well backed one with an interval.
        bounds = [_null_first(shared_codes([pa.chunked_array([bound])])[0]) for bound in (low, high)]
        order = np.lexsort((-bounds[1], -bounds[0], -backing, text_coded.codes, places, of))
        same = np.zeros(len(order), np.bool_)
        for part in (of, places, text_coded.codes):
            same |= np.diff(part[order], prepend=-1) != 0
        first = order[same]
        new = first[~now_coded.valid[first] | (now_coded.codes[first] != text_coded.codes[first])]
        ranked = new[np.lexsort((text_coded.codes[new], places[new], -backing[new], of[new]))]
        kept = ranked[_among_first(of[ranked], TRIED_PER_ROW)]
        sizes = np.cumsum([0, *(len(candidates.of) for candidates in suggested)])
        values: dict[int, pa.Array] = {}
        for place in dict.fromkeys(places[kept].tolist()):
            blocks = [j for j, candidates in enumerate(suggested) if position(candidates.column) == place]
            shift = np.concatenate([np.arange(sizes[j], sizes[j + 1]) for j in blocks])
            wanted = np.searchsorted(shift, kept[places[kept] == place])
            values[place] = pa.concat_arrays([suggested[j].values for j in blocks]).take(pa.array(wanted))
        taken = pa.array(kept)
        described = (texts.take(taken), text_coded.codes[kept], now.take(taken), backing[kept])
        return cls(of[kept], places[kept], *described, low.take(taken), high.take(taken), values)

    def of_columns(self, places: Mapping[int, int]) -> tuple[CellChanges, Ints]:
        """The changes of the columns at these places, which get other places; and which of all changes they are."""
        which = np.flatnonzero(np.isin(self.places, list(places)))
        taken = pa.array(which)
        moved = np.array([places[place] for place in self.places[which].tolist()], np.int64)
        texts, now, low, high = (array.take(taken) for array in (self.texts, self.now, self.low, self.high))
        values = {places[place]: own for place, own in self.values.items() if place in places}
        described = (texts, self.text_codes[which], now, self.backing[which], low, high)
        return CellChanges(self.of[which], moved, *described, values), which

    def variants(self, rows: pa.Table, own: Ints, names: Sequence[str]) -> pa.Table:
        """The rows at these positions with their cells changed; `names` are those of the columns, by place."""
        taken = rows.take(pa.array(own))
        for place, values in self.values.items():
            cells = plain_array(taken.column(names[place]))
            at = np.arange(len(own))
            at[self.places == place] = len(own) + np.arange(len(values))
            changed = pa.concat_arrays([cells, values.cast(cells.type)]).take(pa.array(at))
            taken = taken.set_column(taken.column_names.index(names[place]), names[place], changed)
        return taken


@dataclass(frozen=True)
class Effect:
    """By change, the violations that go and that come, and by rule and change whether the rule has fewer."""

    resolves: Ints
    adds: Ints
    improved: np.ndarray

    @classmethod
    def of(cls, trial: RowTrial, tried: CellChanges) -> Effect:
        size, programs = len(tried.of), trial.plan.programs.programs
        resolves, adds = np.zeros(size, np.int64), np.zeros(size, np.int64)
        improved = np.zeros((len(programs), size), np.bool_)
        if size == 0:
            return cls(resolves, adds, improved)
        touched = {i: np.flatnonzero(np.isin(tried.places, list(trial.touching(i)))) for i in range(len(programs))}
        touched = {i: which for i, which in touched.items() if len(which)}
        part = with_variants(trial, tried, sorted(touched))
        own = trial.given[tried.of]
        for i, which in touched.items():
            behind = part.size - size + which
            after = violation_counts(programs[i], part, behind, own[which], trial.part.size)
            fewer = trial.before[i][tried.of[which]] - after
            resolves[which] += np.maximum(fewer, 0)
            adds[which] += np.maximum(-fewer, 0)
            improved[i, which] = fewer > 0
        return cls(resolves, adds, improved)

    @classmethod
    def of_fewer(cls, fewer: Ints) -> Effect:
        """The effect on one rule, of changes after which it has so many violations less."""
        return cls(np.maximum(fewer, 0), np.maximum(-fewer, 0), (fewer > 0)[np.newaxis])

    def among(self, which: Ints, size: int) -> Effect:
        """The effect of changes that are these among so many, of which the others have none."""
        counts = np.zeros((2, size), np.int64)
        counts[:, which] = self.resolves, self.adds
        improved = np.zeros((len(self.improved), size), np.bool_)
        improved[:, which] = self.improved
        return Effect(counts[0], counts[1], improved)

    def beside(self, other: Effect) -> Effect:
        """The effect of the same changes on the rules of both."""
        improved = np.concatenate([self.improved, other.improved])
        return Effect(self.resolves + other.resolves, self.adds + other.adds, improved)


def with_variants(trial: RowTrial, tried: CellChanges, rules: Sequence[int]) -> Part:
    """The trial's part with the changed rows behind it, for these rules; forms and flags of others are empty."""
    plan, part, own = trial.plan, trial.part, trial.given[tried.of]
    programs = plan.programs
    names = list(plan.schema.types)
    changed = {names[place] for place in tried.values}
    forms: set[int] = set()
    flags: set[int] = set()
    for i in rules:
        program = programs.programs[i]
        needed_forms, needed_flags = forms_and_flags(program)
        forms.update(needed_forms)
        flags.update(needed_flags, [] if program.alone is None else [program.alone])
    variants = tried.variants(trial.rows, own, names)
    columns = form_columns(variants, plan, sorted(forms), sorted(flags))
    nothing, nobody = Coded(np.zeros(0, np.int64), np.zeros(0, np.bool_)), np.zeros(0, np.bool_)
    coded = [nothing] * len(part.forms)
    for family in families(programs.programs, len(part.forms)):
        needed = [form for form in family if form in forms]
        if any(changed.intersection(plan.base(programs.forms[form].column)) for form in needed):
            for form, codes in _codes_of_family(trial, needed, columns).items():
                coded[form] = codes
        else:
            for form in needed:
                known = part.forms[form]
                coded[form] = Coded(np.append(known.codes, known.codes[own]), np.append(known.valid, known.valid[own]))
    return replace(
        part,
        size=part.size + len(own),
        forms=coded,
        flags=[
            np.append(flag, np.asarray(columns[f"b{i}"].to_numpy(zero_copy_only=False), np.bool_))
            if i in flags
            else nobody
            for i, flag in enumerate(part.flags)
        ],
        order=np.append(part.order, part.order[own]),
    )


def _codes_of_family(
    trial: RowTrial, family: Sequence[int], variants: dict[str, pa.ChunkedArray | pa.Array]
) -> dict[int, Coded]:
    """The codes of forms that are compared with each other, of all rows and of the variants behind them."""
    new = {form: _chunked(variants[f"f{form}"]) for form in family}
    known = {form: trial.part.forms[form] for form in family}
    if all(_has_own_codes(column.type) for column in new.values()):
        behind = {form: shared_codes([column])[0] for form, column in new.items()}
    else:
        # Codes are places among all values, so that new values move them: each value is looked at once.
        size = trial.part.size
        everything = compacted(np.concatenate([coded.codes for coded in known.values()]))
        by_form = np.split(everything, len(known))
        known = {form: Coded(own, known[form].valid) for form, own in zip(known, by_form, strict=True)}
        valid = np.flatnonzero(np.concatenate([coded.valid for coded in known.values()]))
        row = np.full(int(everything.max(initial=0)) + 1, -1, np.int64)
        row[everything[valid]] = valid
        codes, parts = [], []
        for number, form in enumerate(family):
            own = np.flatnonzero((row >= 0) & (row // size == number)) if size else np.empty(0, np.int64)
            wanted = trial.plan.programs.forms[form]
            taken = trial.rows.take(pa.array(row[own] - number * size))
            column = decoded(TableColumns.of(taken, trial.plan).form(wanted))
            codes.append(own)
            parts += column.cast(new[family[0]].type).chunks
        values, *coded_new = shared_codes([pa.chunked_array(parts, new[family[0]].type), *new.values()])
        moved = np.zeros(len(row), np.int64)
        moved[np.concatenate(codes)] = values.codes
        known = {form: Coded(moved[coded.codes], coded.valid) for form, coded in known.items()}
        behind = dict(zip(family, coded_new, strict=True))
    return {
        form: Coded(np.append(known[form].codes, behind[form].codes), np.append(known[form].valid, behind[form].valid))
        for form in family
    }


def _has_own_codes(kind: pa.DataType) -> bool:
    """Whether the code of a value of the type does not depend on other values."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal)
    return any(test(kind) for test in tests) or (pa.types.is_decimal(kind) and kind.precision <= 18)


def _chunked(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return decoded(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.empty(0, kind), *arrays])


def _texts(arrays: Sequence[pa.Array]) -> pa.Array:
    return pa.concat_arrays([pa.array([], pa.string()), *arrays])


def _null_first(coded: Coded) -> Ints:
    """Codes of texts, which are from 0 up, with one for nulls that is below them."""
    return np.where(coded.valid, coded.codes, -1)


def _among_first(groups: Ints, most: int) -> np.ndarray:
    """Which places are among the first of their group, where groups come one after the other."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(np.append(starts, len(groups)))
    return np.arange(len(groups)) - np.repeat(starts, sizes) < most
