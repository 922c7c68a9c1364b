"""The tasks of a discovery. What they pass on is in lines of bytes: (part, piece, bytes).

For a small table one task does it all. On a cluster three kinds of tasks follow each other: one encodes the rows, many
count the evidence of their share of all pairs, one derives the constraints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.discovery.column_rules import SingleColumns, column_rules_first, column_rules_json, read_column_rules
from holdfast.discovery.conditional_rules import ConditionalRules, conditional_rules
from holdfast.discovery.with_constants import ConstantsOutcome, Given, PartRules, find_with_constants
from holdfast.encode.column_type import ColumnType
from holdfast.errors import SessionError
from holdfast.kernels.evidence import Counted, Packing, merged
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Comparison, Constant
from holdfast.search.accident import with_accidents
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, EncodingEnded, coded_rows
from holdfast.search.device import count_pairs
from holdfast.search.evidence import Evidence
from holdfast.search.find import SEARCH_SHARE, chosen_strategy, find_in_coded, search_evidence, uncoded, what_rows_keep
from holdfast.search.lines import PIECE_BYTES, Batches, Parts, arrived, joined_parts, lines_of, own_cores, parts_in
from holdfast.search.options import Device, DiscoverOptions
from holdfast.search.result import ByRows, SearchResult
from holdfast.search.row_orders import orders_from_lists, orders_to_lists
from holdfast.search.space import PredicateSpace

# The part that has the rules on single columns.
_COLUMNS = "columns"


@dataclass(frozen=True)
class TableTask:
    """A task on all rows of a table; their columns are c0, c1, ... in the order of `types`. With `column_rules` it also
    returns what single columns are likely to keep."""

    types: Mapping[str, ColumnType]
    options: DiscoverOptions
    piece_bytes: int = field(default=PIECE_BYTES, kw_only=True)
    column_rules: bool = field(default=False, kw_only=True)

    def __call__(self, batches: Batches) -> Batches:
        # Rows take their time to arrive, which is the limit's, too.
        clock = Clock(self.options.time_limit)
        table = arrived(batches, self.types)
        if table is not None:
            now = replace(self, options=self.options.within(clock.left))
            yield from lines_of(_unless_refused(lambda: now._all_parts(table)), piece_bytes=self.piece_bytes)

    def _all_parts(self, table: pa.Table) -> Parts:
        if not self.column_rules:
            return self.parts(table)
        columns, options = column_rules_first(table, self.types, self.options)
        return {**replace(self, options=options).parts(table), _COLUMNS: column_rules_json(columns).encode()}

    def parts(self, table: pa.Table) -> Parts:
        raise NotImplementedError


@dataclass(frozen=True)
class FindTask(TableTask):
    """Finds the constraints. `space` is the predicate space where it is known already."""

    space: PredicateSpace | None = None

    def __call__(self, batches: Batches) -> Batches:
        encoded = self._encoded(batches)
        # From here on the table's own values are gone: the search needs codes alone, which are a third of them.
        if encoded is not None:
            rows, clock, columns = encoded

            def search() -> Parts:
                if isinstance(rows, SearchResult):
                    return {**_search_parts(rows), **columns}
                return {**_search_parts(find_in_coded(rows, self.options, clock, threads=own_cores())), **columns}

            yield from lines_of(_unless_refused(search), piece_bytes=self.piece_bytes)

    def _encoded(self, batches: Batches) -> tuple[CodedRows | SearchResult, Clock, Parts] | None:
        """The rows that arrive as codes, or what is known where time is up before; the clock that counted that, and the
        rules on single columns if asked for."""
        # Rows take their time to arrive, which is the limit's, too.
        arriving = Clock(self.options.time_limit)
        table = arrived(batches, self.types)
        if table is None:
            return None
        options, columns = self.options.within(arriving.left), {}
        if self.column_rules:
            single, options = column_rules_first(table, self.types, options)
            columns = {_COLUMNS: column_rules_json(single).encode()}
        clock = Clock(options.time_limit)
        try:
            with clock.phase("encode"):
                rows = coded_rows(table, self.types, options, self.space, over=clock.is_over)
        except EncodingEnded:
            return uncoded(table.num_rows, self.types, options, clock), clock, columns
        return rows, clock, columns


@dataclass(frozen=True)
class ConstantsTask(TableTask):
    """Finds what a FindTask finds, and the rules of the rows with given values."""

    def parts(self, table: pa.Table) -> Parts:
        result, with_values = find_with_constants(table, self.types, self.options, threads=own_cores())
        return {**_search_parts(result), **_constants_parts(with_values)}


@dataclass(frozen=True)
class ConditionalTask(TableTask):
    """Finds the conditional dependencies."""

    def parts(self, table: pa.Table) -> Parts:
        return {"conditional": json.dumps(vars(conditional_rules(table, self.types, self.options))).encode()}


@dataclass(frozen=True)
class EncodeTask(TableTask):
    """Returns the codes of the rows, and the strategy for so many cores."""

    cores: int

    def parts(self, table: pa.Table) -> Parts:
        clock = Clock(None)
        with clock.phase("encode"):
            rows = coded_rows(table, self.types, self.options)
        strategy = chosen_strategy(rows, self.options, cores=self.cores)
        return _rows_parts(rows, {"strategy": strategy, "phases": clock.phases})


@dataclass(frozen=True)
class EvidenceTask:
    """Returns the evidence of its share of all pairs, which the column `share` names, of `shares`."""

    shares: int
    device: Device = "auto"

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        own_shares = np.unique(table.column("share").to_numpy())
        parts = parts_in(table.filter(pa.array(table.column("share").to_numpy() == own_shares[0])))
        del table  # the parts are copies
        rows, about = _rows_of(parts)

        def counted() -> Parts:
            # One thread: the other cores work on the other shares.
            counts = [count_pairs(rows, self.device, share=int(share), shares=self.shares) for share in own_shares]
            pairs, name = merged([part.counted for part in counts]), f"counted-{int(own_shares[0])}"
            return {
                f"{name}-packed": pairs.packed.tobytes(),
                f"{name}-counts": pairs.counts.tobytes(),
                f"{name}-device": counts[0].device.encode(),
                **(_rows_parts(rows, about) if 0 in own_shares else {}),
            }

        yield from lines_of(_unless_refused(counted))


@dataclass(frozen=True)
class SolveTask:
    """Returns the constraints of coded rows, from evidence that other tasks have counted, or without it."""

    options: DiscoverOptions

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        parts = parts_in(table)
        del table  # the parts are copies
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

        def search() -> SearchResult:
            cores = own_cores()
            if not counted:
                return find_in_coded(rows, self.options, clock, threads=cores, strategy=about["strategy"])
            orders = what_rows_keep(rows, self.options, clock)
            evidence, device = rows.evidence(merged(counted)), " and ".join(devices)
            searching = clock.part(SEARCH_SHARE)
            result = search_evidence(rows, evidence, self.options, searching, threads=cores, device=device)
            return replace(with_accidents(rows, result, self.options, clock), row_orders=orders)

        yield from lines_of(_unless_refused(lambda: _search_parts(search())))


def worth_sharing(about: bytes, least: int) -> bool:
    """Whether the strategy is to compare all pairs, and there are at least so many distinct rows."""
    values = json.loads(about)
    return bool(values["strategy"] == "all-pairs" and values["distinct_rows"] >= least)


def read_search(lines: Iterable[tuple[str, int, bytes]]) -> SearchResult | None:
    """Returns the result of a search from the lines of its task; None without lines. Raises SessionError where the task
    did not have the device that was asked for."""
    parts = joined_parts(lines)
    if not parts:
        return None
    if "refused" in parts:
        # Several tasks may have refused; the first reason is enough.
        (message, hint), _ = json.JSONDecoder().raw_decode(parts["refused"].decode())
        raise SessionError(message, hint=hint)
    about = json.loads(parts["about"])
    space = PredicateSpace.from_lists(about["pairs"])
    words, masks = (np.frombuffer(parts[name], np.uint64).reshape(-1, space.words) for name in ("words", "masks"))
    return SearchResult(
        space=space,
        masks=masks,
        support=np.frombuffer(parts["support"], np.int64),
        violating=np.frombuffer(parts["violating"], np.int64),
        accidents=np.frombuffer(parts["accidents"], np.float64) if "accidents" in parts else None,
        error=Decimal(about["error"]),
        by_rows=_by_rows(parts),
        ranges=None if about["ranges"] is None else {name: (a, b) for name, (a, b) in about["ranges"].items()},
        evidence=Evidence(words, np.frombuffer(parts["counts"], np.int64)),
        row_orders=orders_from_lists(about["row_orders"]),
        **{name: about[name] for name in _PLAIN_FIELDS},
    )


def read_columns(lines: Iterable[tuple[str, int, bytes]]) -> SingleColumns | None:
    """Returns the rules on single columns from the lines of a task; None where it did not look for them."""
    parts = joined_parts(line for line in lines if line[0] == _COLUMNS)
    return read_column_rules(parts[_COLUMNS].decode()) if parts else None


def read_constants(lines: Iterable[tuple[str, int, bytes]]) -> ConstantsOutcome | None:
    """Returns the rules of rows with given values from the lines of a ConstantsTask; None without lines."""
    parts = joined_parts(lines)
    if not parts:
        return None
    about = json.loads(parts["within"])
    ends = np.cumsum([0, *about["counts"]])
    arrays: dict[str, Any] = {name: np.frombuffer(parts[f"within-{name}"], kind) for name, kind in _WITHIN.items()}
    if about["given"]:
        arrays["masks"] = arrays["masks"].reshape(len(arrays["scores"]), -1)
    return ConstantsOutcome(
        tuple(
            PartRules(_given_of(given), rows, **{name: array[ends[i] : ends[i + 1]] for name, array in arrays.items()})
            for i, (given, rows) in enumerate(zip(about["given"], about["rows"], strict=True))
        ),
        about["complete"],
        about["why"],
    )


def read_conditional(lines: Iterable[tuple[str, int, bytes]]) -> ConditionalRules | None:
    """Returns the conditional dependencies from the lines of a ConditionalTask; None without lines."""
    parts = joined_parts(lines)
    if not parts:
        return None
    values = json.loads(parts["conditional"])
    return ConditionalRules(**{**values, "rules": tuple(values["rules"])})


# Values to bytes and back ------------------------------------------------------------------------------------------

_PLAIN_FIELDS = (
    "rows", "distinct_rows", "strategy", "exact", "complete", "why", "least_score", "phases", "sampled", "device"
)  # fmt: skip


def _unless_refused(search: Callable[[], Parts]) -> Parts:
    """Returns the result of the search, or why the task refuses it: an error would reach the driver as a traceback."""
    try:
        return search()
    except SessionError as problem:
        return {"refused": json.dumps([problem.message, problem.hint]).encode()}


def _by_rows(parts: Parts) -> ByRows | None:
    if "by-rows-suspects" not in parts:
        return None
    floats = (np.frombuffer(parts[f"by-rows-{name}"], np.float64) for name in ("kept", "agree", "differ"))
    return ByRows(np.frombuffer(parts["by-rows-suspects"], np.int64), *floats)


def _search_parts(result: SearchResult) -> Parts:
    by_rows = {} if result.by_rows is None else vars(result.by_rows)
    plain = {name: getattr(result, name) for name in _PLAIN_FIELDS}
    about = {
        "pairs": result.space.to_lists(),
        "error": str(result.error),
        "ranges": result.ranges,
        "row_orders": orders_to_lists(result.row_orders),
        **plain,
    }
    return {
        "about": json.dumps(about).encode(),
        "masks": result.masks.tobytes(),
        "support": result.support.tobytes(),
        "violating": result.violating.tobytes(),
        **({} if result.accidents is None else {"accidents": result.accidents.tobytes()}),
        "words": result.evidence.words.tobytes(),
        "counts": result.evidence.counts.tobytes(),
        **{f"by-rows-{name}": values.tobytes() for name, values in by_rows.items()},
    }


_WITHIN = {"masks": np.uint64, "support": np.int64, "violating": np.int64, "scores": np.float64}


def _constants_parts(outcome: ConstantsOutcome) -> Parts:
    about = {
        "given": [[[name, str(value)] for name, value in part.given] for part in outcome.parts],
        "rows": [part.rows for part in outcome.parts],
        "counts": [len(part.masks) for part in outcome.parts],
        "complete": outcome.complete,
        "why": outcome.why,
    }
    arrays = {
        f"within-{name}": b"".join(np.ascontiguousarray(getattr(part, name), kind).tobytes() for part in outcome.parts)
        for name, kind in _WITHIN.items()
    }
    return {"within": json.dumps(about).encode(), **arrays}


def _given_of(texts: Iterable[tuple[str, str]]) -> Given:
    """Returns columns with values, from texts; a value is written as in rule text, which has a form for each type."""
    given = []
    for name, text in texts:
        (predicate,) = parse_constraint(f"not(t.x = {text})").predicates
        assert isinstance(predicate, Comparison), "a value is compared"
        assert isinstance(predicate.right, Constant), "with a constant"
        given.append((name, predicate.right))
    return tuple(given)


def _rows_parts(rows: CodedRows, more: Mapping[str, Any]) -> Parts:
    packing = rows.packing
    about = {
        "pairs": rows.space.to_lists(),
        "packing": [packing.left, packing.right, packing.ways, packing.states],
        "shown": rows.shown,
        "lines": len(rows.codes),
        "distinct_rows": len(rows.weights),
        "left_out": rows.left_out,
        "possible": rows.possible,
        **more,
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
        PredicateSpace.from_lists(about["pairs"]), packing, shown, codes, np.frombuffer(parts["weights"], np.int64),
        left_out=about["left_out"],
        possible=about["possible"],
    )  # fmt: skip
    return rows, {"strategy": about["strategy"], "phases": about["phases"]}
