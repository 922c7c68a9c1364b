"""What tasks of a discovery do. Everything they pass on travels as lines of bytes: (part, piece, bytes).

A small table is one task: rows in, findings out. On a cluster three kinds of tasks follow each other: one encodes the
rows, many count the evidence of their share of all pairs, one derives the constraints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.discovery.conditional_rules import ConditionalRules, conditional_rules
from holdfast.discovery.with_constants import FoundWithin, Given, Within, find_with_constants
from holdfast.encode.column_type import ColumnType
from holdfast.errors import SessionError
from holdfast.kernels.evidence import Counted, Packing, merged
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Comparison, Constant
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, coded_rows
from holdfast.search.device import count_pairs
from holdfast.search.evidence import Evidence
from holdfast.search.find import ByRows, Found, chosen_strategy, find, find_in, found_from
from holdfast.search.lines import PIECE_BYTES, Batches, Parts, arrived, joined_parts, lines_of, own_cores, parts_in
from holdfast.search.options import Device, DiscoverOptions
from holdfast.search.space import PredicateSpace


@dataclass(frozen=True)
class FindTask:
    """Finds the constraints of the rows that arrive, which are all; columns come as c0, c1, ... in the types' order.

    `space` is the predicate space where it is settled already.
    """

    types: Mapping[str, ColumnType]
    options: DiscoverOptions
    space: PredicateSpace | None = None
    piece_bytes: int = PIECE_BYTES

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches, self.types)
        if table is not None:
            yield from lines_of(_unless_refused(lambda: _found_parts(self._found(table))), piece_bytes=self.piece_bytes)

    def _found(self, table: pa.Table) -> Found:
        return find(table, self.types, self.options, threads=own_cores(), space=self.space)


@dataclass(frozen=True)
class ConstantsTask:
    """As a FindTask, with rules among the rows with given values, too."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches, self.types)
        if table is not None:
            yield from lines_of(_unless_refused(lambda: self._parts(table)))

    def _parts(self, table: pa.Table) -> Parts:
        found, within = find_with_constants(table, self.types, self.options, threads=own_cores())
        return {**_found_parts(found), **_within_parts(within)}


@dataclass(frozen=True)
class ConditionalTask:
    """Finds the conditional dependencies of the rows that arrive, which are all; columns come in the types' order."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches, self.types)
        if table is not None:
            found = conditional_rules(table, self.types, self.options)
            yield from lines_of({"conditional": json.dumps(vars(found)).encode()})


@dataclass(frozen=True)
class EncodeTask:
    """The rows that arrive, which are all, as codes, with the strategy for so many cores."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions
    cores: int

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches, self.types)
        if table is None:
            return
        clock = Clock(None)
        with clock.phase("encode"):
            rows = coded_rows(table, self.types, self.options)
        strategy = chosen_strategy(rows, self.options, cores=self.cores)
        yield from lines_of(_rows_parts(rows, {"strategy": strategy, "phases": clock.phases}))


@dataclass(frozen=True)
class EvidenceTask:
    """The evidence of one share of all pairs, of `shares`; which one comes as a column beside the coded rows."""

    shares: int
    device: Device = "auto"

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        mine = np.unique(table.column("share").to_numpy())
        one = table.filter(pa.array(table.column("share").to_numpy() == mine[0]))
        parts = parts_in(one)
        rows, about = _rows_of(parts)
        # A task has its slot's one core: the others are at work on the other shares.
        try:
            on = [count_pairs(rows, self.device, share=int(share), shares=self.shares) for share in mine]
        except SessionError as problem:
            yield from lines_of(_refused(problem))
            return
        counted = merged([one.counted for one in on])
        name = f"counted-{int(mine[0])}"
        yield from lines_of({
            f"{name}-packed": counted.packed.tobytes(),
            f"{name}-counts": counted.counts.tobytes(),
            f"{name}-device": on[0].device.encode(),
        })  # fmt: skip
        if 0 in mine:
            yield from lines_of(_rows_parts(rows, about))


@dataclass(frozen=True)
class SolveTask:
    """The constraints of coded rows: by the evidence that was counted elsewhere, or all from here on."""

    options: DiscoverOptions

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        parts = parts_in(table)
        if "refused" in parts:
            yield from lines_of({"refused": parts["refused"]})
            return
        rows, about = _rows_of(parts)
        clock = Clock(self.options.time_limit)
        clock.phases.update(about["phases"])
        width = len(rows.packing.sizes)
        counted = [
            Counted(
                np.frombuffer(parts[name], np.uint16).reshape(-1, width),
                np.frombuffer(parts[name.replace("-packed", "-counts")], np.int64),
            )
            for name in sorted(parts)
            if name.endswith("-packed")
        ]
        devices = sorted({bytes(content).decode() for name, content in parts.items() if name.endswith("-device")})

        def found() -> Found:
            cores = own_cores()
            if not counted:
                return find_in(rows, self.options, clock, threads=cores, strategy=about["strategy"])
            evidence = rows.evidence(merged(counted))
            return found_from(rows, evidence, self.options, clock, threads=cores, device=" and ".join(devices))

        yield from lines_of(_unless_refused(lambda: _found_parts(found())))


def worth_sharing(about: bytes, least: int) -> bool:
    """Whether the task that encoded the rows says that all pairs are wanted, and rows are so many at least."""
    told = json.loads(about)
    return bool(told["strategy"] == "all-pairs" and told["distinct_rows"] >= least)


def found_in(lines: Iterable[tuple[str, int, bytes]]) -> Found | None:
    """What a task found, from its lines; None when there are none. SessionError where it lacked what was asked for."""
    parts = joined_parts(lines)
    if not parts:
        return None
    if "refused" in parts:
        # Several tasks may have said so, one after the other.
        (message, hint), _ = json.JSONDecoder().raw_decode(parts["refused"].decode())
        raise SessionError(message, hint=hint)
    about = json.loads(parts["about"])
    space = PredicateSpace.from_lists(about["pairs"])
    words, masks = (np.frombuffer(parts[name], np.uint64).reshape(-1, space.words) for name in ("words", "masks"))
    return Found(
        space=space,
        masks=masks,
        support=np.frombuffer(parts["support"], np.int64),
        violating=np.frombuffer(parts["violating"], np.int64),
        error=Decimal(about["error"]),
        by_rows=_by_rows(parts),
        evidence=Evidence(words, np.frombuffer(parts["counts"], np.int64)),
        **{name: about[name] for name in _TOLD},
    )


def within_in(lines: Iterable[tuple[str, int, bytes]]) -> FoundWithin | None:
    """What a ConstantsTask found among rows with given values, from its lines; None when there are none."""
    parts = joined_parts(lines)
    if not parts:
        return None
    told = json.loads(parts["within"])
    ends = np.cumsum([0, *told["counts"]])
    arrays: dict[str, Any] = {name: np.frombuffer(parts[f"within-{name}"], kind) for name, kind in _WITHIN.items()}
    if told["given"]:
        arrays["masks"] = arrays["masks"].reshape(len(arrays["scores"]), -1)
    return FoundWithin(
        tuple(
            Within(_given_of(given), rows, **{name: array[ends[i] : ends[i + 1]] for name, array in arrays.items()})
            for i, (given, rows) in enumerate(zip(told["given"], told["rows"], strict=True))
        ),
        told["complete"],
        told["why"],
    )


def conditional_in(lines: Iterable[tuple[str, int, bytes]]) -> ConditionalRules | None:
    """What a ConditionalTask found, from its lines; None when there are none."""
    parts = joined_parts(lines)
    if not parts:
        return None
    told = json.loads(parts["conditional"])
    return ConditionalRules(**{**told, "rules": tuple(told["rules"])})


# Values to bytes and back ------------------------------------------------------------------------------------------

_TOLD = ("rows", "distinct_rows", "strategy", "exact", "complete", "why", "phases", "sampled", "device")


def _unless_refused(search: Callable[[], Parts]) -> Parts:
    """What is found, or why a task could not do what was asked: an error would reach the driver as a traceback."""
    try:
        return search()
    except SessionError as problem:
        return _refused(problem)


def _refused(problem: SessionError) -> Parts:
    return {"refused": json.dumps([problem.message, problem.hint]).encode()}


def _by_rows(parts: Parts) -> ByRows | None:
    if "by-rows-suspects" not in parts:
        return None
    floats = (np.frombuffer(parts[f"by-rows-{name}"], np.float64) for name in ("kept", "agree", "differ"))
    return ByRows(np.frombuffer(parts["by-rows-suspects"], np.int64), *floats)


def _found_parts(found: Found) -> Parts:
    rows = {} if found.by_rows is None else {f"by-rows-{name}": v.tobytes() for name, v in vars(found.by_rows).items()}
    told = {name: getattr(found, name) for name in _TOLD}
    about = {"pairs": found.space.to_lists(), "error": str(found.error), **told}
    return {
        "about": json.dumps(about).encode(),
        "masks": found.masks.tobytes(),
        "support": found.support.tobytes(),
        "violating": found.violating.tobytes(),
        "words": found.evidence.words.tobytes(),
        "counts": found.evidence.counts.tobytes(),
        **rows,
    }


_WITHIN = {"masks": np.uint64, "support": np.int64, "violating": np.int64, "scores": np.float64}


def _within_parts(found: FoundWithin) -> Parts:
    told = {
        "given": [[[name, str(value)] for name, value in part.given] for part in found.parts],
        "rows": [part.rows for part in found.parts],
        "counts": [len(part.masks) for part in found.parts],
        "complete": found.complete,
        "why": found.why,
    }
    arrays = {
        f"within-{name}": b"".join(np.ascontiguousarray(getattr(part, name), kind).tobytes() for part in found.parts)
        for name, kind in _WITHIN.items()
    }
    return {"within": json.dumps(told).encode(), **arrays}


def _given_of(told: Iterable[tuple[str, str]]) -> Given:
    """Names and values; a value is told as rule text, which says what kind it is."""
    given = []
    for name, text in told:
        (predicate,) = parse_constraint(f"not(t.x = {text})").predicates
        assert isinstance(predicate, Comparison), "a value is compared"
        assert isinstance(predicate.right, Constant), "with a constant"
        given.append((name, predicate.right))
    return tuple(given)


def _rows_parts(rows: CodedRows, told: Mapping[str, Any]) -> Parts:
    packing = rows.packing
    about = {
        "pairs": rows.space.to_lists(),
        "packing": [packing.left, packing.right, packing.ways, packing.states],
        "shown": rows.shown,
        "lines": len(rows.codes),
        "distinct_rows": len(rows.weights),
        **told,
    }
    return {
        "about": json.dumps(about).encode(),
        "codes": rows.codes.tobytes(),
        "weights": rows.weights.tobytes(),
    }


def _rows_of(parts: Parts) -> tuple[CodedRows, dict[str, Any]]:
    about = json.loads(parts["about"])
    codes = np.frombuffer(parts["codes"], np.int32).reshape(about["lines"], -1)
    packing = Packing(*(tuple(values) for values in about["packing"]))
    shown = tuple(map(tuple, about["shown"]))
    rows = CodedRows(
        PredicateSpace.from_lists(about["pairs"]), packing, shown, codes, np.frombuffer(parts["weights"], np.int64)
    )
    return rows, {"strategy": about["strategy"], "phases": about["phases"]}
