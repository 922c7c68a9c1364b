"""Rules checked by kernels on Arrow batches, in the executors: a whole small table in one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructField, StructType

from holdfast.detect.evaluate import UNLIMITED, Part, evaluate, pairs_of
from holdfast.detect.outcome import Summary, WorstRow
from holdfast.detect.plan import Plan
from holdfast.detect.program import GroupProgram, PairProgram, Program, Programs, RowProgram
from holdfast.encode.codes import Coded, shared_codes

WORST_ROWS = 3

Array: TypeAlias = NDArray[Any]
Mode = Literal["summary", "rows", "pairs"]


class KernelEngine:
    """The plan's programs, run in one task over all rows."""

    def __init__(
        self, spark: SparkSession, rows: DataFrame, plan: Plan, which: Sequence[int], limit: int | None
    ) -> None:
        self._spark, self._rows, self._plan, self._limit = spark, rows, plan, limit
        self.which = tuple(which)

    @cached_property
    def _found(self) -> dict[int, list[tuple[str, int, object, object]]]:
        found: dict[int, list[tuple[str, int, object, object]]] = {}
        for row in self._run("summary", self.which).collect():
            found.setdefault(row["i"], []).append((row["what"], row["n"], row["key"], row["other"]))
        return found

    @property
    def key_twice(self) -> tuple[object, int] | None:
        """A key that two rows have, and how many have it."""
        return next(((key, n) for what, n, key, _ in self._found.get(-1, ()) if what == "twice"), None)

    @cached_property
    def summaries(self) -> dict[int, Summary]:
        """The summary of every rule, from one job."""
        result = {}
        for i in self.which:
            found = self._found.get(i)
            if found is None:  # a task without rows says nothing
                result[i] = _nothing(self._plan.programs.programs[i])
                continue
            counts = {what: n for what, n, _, _ in found if what not in ("witness", "worst")}
            left, right = next(((key, other) for what, _, key, other in found if what == "witness"), (None, None))
            worst = tuple(WorstRow(key, n) for what, n, key, _ in found if what == "worst")
            suspects, groups = counts.get("suspects"), counts.get("groups")
            result[i] = Summary(counts.get("pairs"), counts["rows"], suspects, groups, left, right, worst)
        return result

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, left, right), at most `limit` of each rule."""
        return self._named("pairs", which, lambda f: f.selectExpr("i", "key AS `left`", "other AS `right`"))

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key, conflicts) of every violating row."""
        return self._named("rows", which, lambda f: f.selectExpr("i", "key", "n AS conflicts"))

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key) of the rows that would have to go; all violating rows where those are unknown."""
        return self._named("rows", which, lambda f: f.where("suspect").select("i", "key"))

    def close(self) -> None:
        """Nothing is kept."""

    def _named(self, mode: Mode, which: Sequence[int], shape: Callable[[DataFrame], DataFrame]) -> DataFrame | None:
        mine = [i for i in which if i in self.which]
        if not mine:
            return None
        names = self._spark.createDataFrame([(i, self._plan.steps[i].rule.name) for i in mine], "i int, rule string")
        found = shape(self._run(mode, mine))
        return found.join(F.broadcast(names), "i").select("rule", *[c for c in found.columns if c != "i"])

    def _run(self, mode: Mode, which: Sequence[int]) -> DataFrame:
        programs = self._plan.programs
        columns = [f"{sql} AS f{i}" for i, sql in enumerate(programs.forms)]
        columns += [f"coalesce({sql}, false) AS b{i}" for i, sql in enumerate(programs.flags)]
        run = _Run(programs, tuple(which), mode, UNLIMITED if self._limit is None else self._limit)
        prepared = self._rows.selectExpr("k", *columns).coalesce(1)
        return prepared.mapInArrow(run, _schema(self._rows.schema["k"].dataType))


def _nothing(program: Program) -> Summary:
    pairs = None if isinstance(program, RowProgram) else 0
    groups = 0 if isinstance(program, GroupProgram) and program.right else None
    return Summary(pairs, 0, 0, groups, worst=())


def _schema(key: DataType) -> StructType:
    return StructType(
        [
            StructField("i", IntegerType()),
            StructField("what", StringType()),
            StructField("n", LongType()),
            StructField("suspect", BooleanType()),
            StructField("key", key),
            StructField("other", key),
        ]
    )


class _Run:
    """What a task does with its batches; knows the programs, and what to say of them."""

    def __init__(self, programs: Programs, which: tuple[int, ...], mode: Mode, limit: int) -> None:
        self._programs, self._which, self._mode, self._limit = programs, which, mode, limit

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived = list(batches)
        if not arrived:
            return
        table = pa.Table.from_batches(arrived)
        del arrived
        part = self._part(table)
        keys = table.column("k")
        if self._mode == "summary":
            yield from _Lines(keys).key_twice(part.order)
        for i in self._which:
            program = self._programs.programs[i]
            lines = _Lines(keys, i)
            match self._mode:
                case "summary":
                    yield from lines.summary(program, part, self._limit)
                case "rows":
                    yield from lines.rows(program, part, self._limit)
                case "pairs":
                    yield from lines.pairs(program, part, self._limit)

    def _part(self, table: pa.Table) -> Part:
        order = shared_codes([table.column("k")])[0].codes
        flags = [table.column(f"b{i}").to_numpy().astype(np.bool_) for i in range(len(self._programs.flags))]
        return Part(table.num_rows, self._coded(table), flags, order, self._programs.nulls)

    def _coded(self, table: pa.Table) -> list[Coded]:
        """Every form as codes; forms that some program compares with each other share theirs."""
        coded: dict[int, Coded] = {}
        for family in _families(self._programs.programs, len(self._programs.forms)):
            columns = [table.column(f"f{i}") for i in family]
            coded |= zip(family, shared_codes(columns), strict=True)
        return [coded[i] for i in range(len(self._programs.forms))]


def _families(programs: Sequence[Program], size: int) -> list[list[int]]:
    root = list(range(size))

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for program in programs:
        if isinstance(program, PairProgram):
            for compare in (c for denial in program.denials for c in denial.compares):
                root[find(compare.left)] = find(compare.right)
    families: dict[int, list[int]] = {}
    for i in range(size):
        families.setdefault(find(i), []).append(i)
    return list(families.values())


class _Lines:
    """Findings as Arrow batches in the findings' schema."""

    def __init__(self, keys: pa.ChunkedArray, i: int = -1) -> None:
        self._keys, self._i = keys, i

    def key_twice(self, order: Array) -> Iterator[pa.RecordBatch]:
        ordered = np.argsort(order, kind="stable")
        again = np.flatnonzero(order[ordered][1:] == order[ordered][:-1])
        if len(again):
            first = ordered[again[0]]
            yield self._batch("twice", np.array([int((order == order[first]).sum())]), np.array([first]))

    def summary(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        found = evaluate(program, part, limit=limit)
        counts = {
            "pairs": found.pairs,
            "rows": int(found.violating.sum()),
            "suspects": None if found.suspects is None else len(found.suspects),
            "groups": found.groups,
        }
        for what, n in counts.items():
            if n is not None:
                yield self._batch(what, np.array([n]))
        if found.witness is not None:
            left, right = found.witness
            yield self._batch("witness", None, np.array([left]), None if right is None else np.array([right]))
        rows = np.flatnonzero(found.violating)
        worst = rows[np.lexsort((part.order[rows], -found.conflicts[rows]))[:WORST_ROWS]]
        if len(worst):
            yield self._batch("worst", found.conflicts[worst], worst)

    def rows(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        found = evaluate(program, part, limit=limit)
        rows = np.flatnonzero(found.violating)
        suspect = np.zeros(part.size, np.bool_)
        suspect[rows if found.suspects is None else found.suspects] = True
        for some in _slices(rows):
            yield self._batch("row", found.conflicts[some], some, suspect=suspect[some])

    def pairs(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        left, right = pairs_of(program, part, limit=limit)
        for some in _slices(np.arange(len(left))):
            yield self._batch("pair", None, left[some], right[some])

    def _batch(
        self,
        what: str,
        n: Array | None = None,
        key: Array | None = None,
        other: Array | None = None,
        suspect: Array | None = None,
    ) -> pa.RecordBatch:
        size = next(len(array) for array in (n, key, other) if array is not None)
        columns = [
            pa.array(np.full(size, self._i, np.int32)),
            pa.array([what] * size, pa.string()),
            pa.nulls(size, pa.int64()) if n is None else pa.array(n, pa.int64()),
            pa.nulls(size, pa.bool_()) if suspect is None else pa.array(suspect),
            self._taken(key, size),
            self._taken(other, size),
        ]
        return pa.RecordBatch.from_arrays(columns, names=["i", "what", "n", "suspect", "key", "other"])

    def _taken(self, rows: Array | None, size: int) -> pa.Array:
        if rows is None:
            return pa.nulls(size, self._keys.type)
        taken = self._keys.take(pa.array(rows))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _slices(rows: Array) -> Iterator[Array]:
    for start in range(0, len(rows), 100_000):
        yield rows[start : start + 100_000]
