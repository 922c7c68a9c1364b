"""Rules over two rows checked by kernels in many tasks: for tables too large for one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    LongType,
    NumericType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from holdfast.checking.grid import BandTask, BlockTask, Decided, grid_compares
from holdfast.checking.outcome import Summary
from holdfast.checking.task import WORST_ROWS, Mode, Task
from holdfast.encode.spark_partition import partition_numbers
from holdfast.engines.spark.checking.engine import CheckEngine, union_of
from holdfast.engines.spark.checking.kernel_engine import findings_schema
from holdfast.engines.spark.checking.scan import Scan
from holdfast.engines.spark.checking.sql_engine import greedy_covers
from holdfast.engines.spark.kept import KeptFrame
from holdfast.programs.program import Compare, PairProgram, Program
from holdfast.violations.evaluate import UNLIMITED
from holdfast.violations.route import (
    Blocks,
    Meeting,
    dividing_compare,
    meeting,
    needed_columns,
    needed_rows_sql,
    routes_sql,
)
from holdfast.violations.witness import WorstRow

_SAMPLE = 200_000


@dataclass(frozen=True, kw_only=True)
class SpreadLimits:
    """How many rows one piece of work has: enough to be worth a task, few enough for its memory."""

    least_rows: int = 20_000
    most_rows: int = 1_000_000


_DEFAULT_LIMITS = SpreadLimits()


@dataclass(frozen=True)
class _Routed:
    """Rows of some rules, with the piece of work each goes to, and whether any row goes to several."""

    frame: DataFrame
    which: tuple[int, ...]
    works: int
    shared: bool


@dataclass(frozen=True)
class _Gridded:
    """Rows of a rule with two inequalities, each block in a partition of its own, pairs across blocks counted."""

    frame: DataFrame
    block_form: int
    decided: Decided


class SpreadEngine(CheckEngine):
    """Programs over two rows. Rules that meet by the same equalities share one shuffle."""

    def __init__(
        self, scan: Scan, which: Sequence[int], limit: int | None, limits: SpreadLimits = _DEFAULT_LIMITS
    ) -> None:
        super().__init__(scan, which, limit)
        self._count, self._limits = scan.count, limits
        self._to_cover: list[int] = []
        self._known_routings: dict[Meeting, list[_Routed]] = {}

    def limited(self, limit: int) -> Self:
        return type(self)(self._scan, self.which, limit, self._limits)

    @staticmethod
    def takes(program: Program) -> bool:
        """Whether this engine checks the program: one over pairs."""
        return isinstance(program, PairProgram)

    @cached_property
    def _parallelism(self) -> int:
        # How many tasks the cluster runs at once, asked in a way that Spark Connect has too.
        return self._spark.range(1_000_000).select(F.spark_partition_id()).distinct().count()

    @cached_property
    def _target(self) -> int:
        wanted = math.ceil(self._count / (4 * self._parallelism))
        return min(max(wanted, self._limits.least_rows), self._limits.most_rows)

    @cached_property
    def _by_meeting(self) -> dict[Meeting, list[int]]:
        by_meeting: dict[Meeting, list[int]] = {}
        for i in self.which:
            by_meeting.setdefault(meeting(self._program(i)), []).append(i)
        return by_meeting

    def _routings(self, which: Sequence[int]) -> list[_Routed]:
        """The routings that serve these rules."""
        routings = []
        for meets, served in self._by_meeting.items():
            if any(i in which for i in served):
                if meets not in self._known_routings:
                    heavy = self._heavy_values(meets, served)
                    # Blocks follow a rule's own inequality, so rules share a routing only where nothing is heavy.
                    groups = [[i] for i in served] if heavy else [served]
                    self._known_routings[meets] = [self._routed(meets, group, heavy) for group in groups]
                routings += [routed for routed in self._known_routings[meets] if any(i in which for i in routed.which)]
        return routings

    @cached_property
    def _grids(self) -> dict[int, _Gridded]:
        """The rules that are counted on a grid: two inequalities on more rows than one piece of work should have."""
        alone = self._by_meeting.get(Meeting((), ()), []) if self._count > self._target else []
        grids = {}
        for i in alone:
            compares = grid_compares(self._plan.programs, i)
            gridded = None if compares is None else self._gridded(i, compares)
            if gridded is not None:
                grids[i] = gridded
        return grids

    def _gridded(self, i: int, compares: tuple[Compare, Compare]) -> _Gridded | None:
        """The rows with their block and band, counted by both; None where a column cannot be cut into ranges."""
        base = self._base(Meeting((), ()), [i]).drop("hl", "hr")
        base = base.where(" AND ".join(f"f{compare.left} IS NOT NULL" for compare in compares))
        cuts = [self._cut(base, compare, math.ceil(self._count / self._target), self._count) for compare in compares]
        blocks, bands = cuts
        if blocks is None or bands is None:
            return None
        block_form = len(self._plan.programs.forms)
        form, other = (compare.left for compare in compares)
        placed = base.selectExpr("*", f"{blocks.of(form)} AS f{block_form}", f"{bands.of(other)} AS band")
        (denial,) = self._program(i).denials
        fit = ("true" if flag is None else f"b{flag}" for flag in (denial.left, denial.right))
        lefts, rights = (F.count_if(F.expr(condition)) for condition in fit)
        by_cell = placed.groupBy(F.col(f"f{block_form}").alias("block"), "band")
        lines = by_cell.agg(lefts.alias("lefts"), rights.alias("rights")).collect()
        decided = Decided.of(compares, lines, (blocks.count, bands.count))
        programs = self._plan.programs
        banded = self._placed(placed.withColumn("work", F.col("band")), bands.count)
        schema = StructType([*banded.schema.fields, *(StructField(n, LongType()) for n in ("as_left", "as_right"))])
        counted = banded.mapInArrow(BandTask(programs, i, block_form), schema).withColumn(
            "work", F.col(f"f{block_form}")
        )
        return _Gridded(self._placed(counted, blocks.count), block_form, decided)

    def _program(self, i: int) -> PairProgram:
        program = self._plan.programs.programs[i]
        assert isinstance(program, PairProgram), "other rules are checked elsewhere"
        return program

    def _base(self, meets: Meeting, which: Sequence[int], share: float = 1.0) -> DataFrame:
        """What the rules read of each row that can meet another, and its hashes; of a share of the rows."""
        needed = [needed_columns(self._program(i)) for i in which]
        forms = sorted({*meets.left, *meets.right}.union(*(forms for forms, _ in needed)))
        flags = sorted(set().union(*(flags for _, flags in needed)))
        rows = self._rows if share == 1.0 else self._rows.sample(fraction=share, seed=1)
        base = rows.selectExpr("k", *self._plan.form_columns(forms, flags))
        condition = needed_rows_sql(meets, [self._program(i) for i in which], self._plan.programs.nulls)
        base = base if condition is None else base.where(condition)
        left, right = meets.hashes_sql
        return base.selectExpr("*", f"{left} AS hl", f"{right} AS hr")

    def _heavy_values(self, meets: Meeting, which: Sequence[int]) -> dict[int, int]:
        """Hashes of values that hold more rows than a piece of work should, with how many; from a sample."""
        if not meets.left:
            return {0: self._count} if self._count > self._target else {}
        share = min(1.0, _SAMPLE / max(self._count, 1))
        sides = self._base(meets, which, share).selectExpr("explode(array(hl, hr)) AS h")
        counted = sides.groupBy("h").count().where(F.col("count") > self._target * share).collect()
        # Every row was counted as left row and as right row.
        heavy = {row["h"]: int(row["count"] / share / 2) + 1 for row in counted}
        return {h: n for h, n in heavy.items() if 2 * n > self._target}

    def _routed(self, meets: Meeting, which: Sequence[int], heavy: dict[int, int]) -> _Routed:
        base = self._base(meets, which)
        buckets = max(1, math.ceil((self._count - sum(heavy.values())) / self._target)) if meets.left else 1
        blocks = self._blocks(base, which, heavy) if heavy else None
        works = buckets
        if blocks is not None:
            firsts = [(h, buckets + n * blocks.count**2) for n, h in enumerate(sorted(heavy))]
            works = buckets + len(heavy) * blocks.count**2
            for side in ("l", "r"):
                known = self._spark.createDataFrame(firsts, f"h{side} bigint, o{side} int")
                base = base.join(F.broadcast(known), f"h{side}", "left")
        routes = base.selectExpr("*", f"explode({routes_sql(meets, buckets, blocks)}) AS route")
        spare = [c for c in ("hl", "hr", "ol", "or", "route") if c in routes.columns]
        shared = blocks is not None or not meets.in_one_place
        parts = ("route.work", "route.role", "route.twin") if shared else ("route.work",)
        placed = self._placed(routes.selectExpr("*", *parts).drop(*spare), works)
        return _Routed(placed, tuple(which), works, shared)

    def _placed(self, frame: DataFrame, works: int) -> DataFrame:
        """The frame with each piece of work in a partition of its own."""
        if works == 1:
            return frame.coalesce(1)
        # A partition is chosen by the hash of a column: here, of a number that hashes to the partition.
        numbers = ", ".join(map(str, partition_numbers(works)))
        return (
            frame.selectExpr("*", f"CAST(array({numbers})[work] AS INT) AS slot")
            .repartition(works, "slot")
            .drop("slot")
        )

    def _blocks(self, base: DataFrame, which: Sequence[int], heavy: dict[int, int]) -> Blocks:
        largest = max(heavy.values())
        # Left and right rows of a pair of blocks together are one piece of work.
        count = max(2, math.ceil(2 * largest / self._target))
        # More blocks mean more copies of each row: no more than keep every core busy, or than memory asks for.
        busy = math.ceil(math.sqrt(8 * self._parallelism))
        count = max(min(count, busy), math.ceil(2 * largest / (4 * self._limits.most_rows)))
        compare = dividing_compare(self._program(which[0]))
        if compare is None:
            return Blocks(count)
        listed = ", ".join(map(str, heavy))
        return self._cut(base.where(f"hl IN ({listed})"), compare, count, largest) or Blocks(count)

    def _cut(self, rows: DataFrame, compare: Compare, count: int, size: int) -> Blocks | None:
        """Ranges of the compared forms with about as many rows each; None where there is no cheap way to cut them."""
        types = {f: rows.schema[f"f{f}"].dataType for f in (compare.left, compare.right)}
        values = {f: _as_double(f"f{f}", kind) for f, kind in types.items()}
        if None in values.values():
            return None
        sample = rows.sample(fraction=min(1.0, _SAMPLE / size), seed=1)
        shares = ", ".join(str(n / count) for n in range(1, count))
        row = sample.selectExpr(f"percentile_approx({values[compare.left]}, array({shares}), 1000) AS b").first()
        bounds = tuple(sorted(set((row and row["b"]) or ())))
        if not bounds:
            return None
        return Blocks(len(bounds) + 1, compare, {f: str(v) for f, v in values.items()}, bounds)

    def _run(self, mode: Mode, which: Sequence[int]) -> list[tuple[tuple[int, ...], bool, DataFrame]]:
        """Per job: the rules it serves, whether counts of rows are to be added up, and its findings."""
        limit = UNLIMITED if self._limit is None else self._limit
        schema = findings_schema(self._rows.schema["k"].dataType)
        gridded = [i for i in which if i in self._grids] if mode != "pairs" else []
        runs: list[tuple[tuple[int, ...], bool, DataFrame]] = []
        for i in gridded:
            grid = self._grids[i]
            task = BlockTask(self._plan.programs, i, grid.block_form, grid.decided, mode)
            runs.append(((i,), False, grid.frame.mapInArrow(task, schema)))
        routed_too = [i for i in which if i not in gridded]
        for routed in self._routings(routed_too):
            own = tuple(i for i in routed.which if i in routed_too)
            task_of_rows = Task(self._plan.programs, own, mode, limit, routed=True)
            runs.append((own, routed.shared, routed.frame.mapInArrow(task_of_rows, schema)))
        return runs

    @cached_property
    def _scattered(self) -> list[int]:
        """Rules whose pairs no single piece of work knows all of: their suspects follow from pairs gathered first."""
        others = [i for i in self.which if i not in self._grids]
        return [*self._grids, *(i for routed in self._routings(others) if routed.shared for i in routed.which)]

    @cached_property
    def summaries(self) -> dict[int, Summary]:
        """The summary of every rule: one job per routing, and one more where pieces of work have to be added up."""
        result: dict[int, Summary] = {}
        for which, shared, findings in self._run("summary", self.which):
            lines = self._collected(findings) if shared else [row.asDict() for row in findings.collect()]
            for i in which:
                result[i] = self._summary(i, [line for line in lines if line["i"] == i])
        uncovered = [i for i in self._scattered if result[i].pairs and self._may_list(result[i].pairs)]
        if uncovered:
            self._to_cover = uncovered
            counts = {r["i"]: r["count"] for r in self._covers.frame.groupBy("i").count().collect()}
            for i in uncovered:
                result[i] = replace(result[i], suspects=counts[i])
        return result

    def _collected(self, findings: DataFrame) -> list[dict[str, Any]]:
        """The findings as few lines: partial counts of rows are added up by Spark, not here."""
        kept = KeptFrame(findings)
        try:
            lines = [row.asDict() for row in kept.frame.where("what != 'partial'").collect()]
            by_row = self._by_row(kept.frame)
            totals = by_row.groupBy("i").agg(
                F.sum("ends").alias("ends"),
                F.count("*").alias("rows"),
                F.max_by("key", F.struct("conflicts")).alias("key"),
                F.max("conflicts").alias("worst"),
            )
            for row in totals.collect():
                symmetric = self._program(row["i"]).symmetric
                pairs = row["ends"] // 2 if symmetric else row["ends"]
                lines += [
                    {"i": row["i"], "what": "pairs", "n": pairs},
                    {"i": row["i"], "what": "rows", "n": row["rows"]},
                    {"i": row["i"], "what": "worst", "n": row["worst"], "key": row["key"]},
                ]
            return lines
        finally:
            kept.close()

    def _by_row(self, findings: DataFrame) -> DataFrame:
        """(i, key, ends, conflicts): partial counts of each row added up."""
        symmetric = [i for i in self.which if self._program(i).symmetric]
        listed = ", ".join(map(str, symmetric)) or "-1"
        sums = findings.where("what = 'partial'").groupBy("i", "key").agg(F.sum("n").alias("n"), F.sum("m").alias("m"))
        return sums.selectExpr("i", "key", "n AS ends", f"IF(i IN ({listed}), n, n + m) AS conflicts")

    def _summary(self, i: int, lines: Sequence[dict[str, Any]]) -> Summary:
        def total(what: str) -> int:
            return sum(line["n"] for line in lines if line["what"] == what)

        pairs, rows = total("pairs"), total("rows")
        kinds = [line["what"] for line in lines]
        # A piece of work with more pairs than may be looked at tells no suspects.
        suspects: int | None = total("suspects") if kinds.count("pairs") == kinds.count("suspects") else None
        if i in self._scattered:
            # Without pairs, only rows that break the rule alone; with pairs, a cover is made later.
            suspects = None if pairs else rows
        shown = [line for line in lines if line["what"] == "witness"]
        witness = next((line for line in shown if line["other"] is not None), shown[0] if shown else {})
        if pairs and witness.get("other") is None:  # every pair is of rows in two pieces of work
            witness = self._one_pair(i)
        worst = sorted((line for line in lines if line["what"] == "worst"), key=lambda line: -line["n"])[:WORST_ROWS]
        worst_rows = tuple(WorstRow(line["key"], line["n"]) for line in worst)
        return Summary(pairs, rows, suspects, None, witness.get("key"), witness.get("other"), worst_rows)

    def _one_pair(self, i: int) -> dict[str, Any]:
        ((_, listed),) = self._listed([i])
        row = listed.first()
        return {} if row is None else {"key": row["left"], "other": row["right"]}

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        listed = self._pairs(which)
        return None if listed is None else self._named(listed, which)

    def _pairs(self, which: Sequence[int]) -> DataFrame | None:
        frames = []
        for served, listed in self._listed(which):
            for i in served:
                of_rule = listed.where(f"i = {i}")
                cut = self._limit is not None and (self.summaries[i].pairs or 0) > self._limit
                frames.append(of_rule.limit(self._limit) if cut and self._limit is not None else of_rule)
        return union_of(frames)

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        frames: list[DataFrame] = []
        for _, shared, findings in self._run("rows", which):
            frames.append(findings.where("what = 'row'").selectExpr("i", "key", "n AS conflicts"))
            if shared:
                frames.append(self._by_row(findings).select("i", "key", "conflicts"))
        union = union_of(frames)
        return None if union is None else self._named(union, which)

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        which = self._own(which)
        known = [i for i in which if self.summaries[i].suspects is not None]
        whole = [i for i in known if i not in self._scattered]
        covered = [i for i in known if i in self._to_cover]
        frames = [findings.where("suspect").select("i", "key") for _, _, findings in self._run("rows", whole)]
        if covered:
            frames.append(self._covers.frame.where(F.col("i").isin(covered)))
        union = union_of(frames)
        unknown = self.rows([i for i in which if i not in whole and i not in covered])
        return union_of(
            [
                None if union is None else self._named(union, known),
                None if unknown is None else unknown.select("rule", "key"),
            ]
        )

    @cached_property
    def _covers(self) -> KeptFrame:
        pairs = reduce(DataFrame.union, [listed for _, listed in self._listed(self._to_cover)])
        flags = {i: self._program(i).alone for i in self._to_cover}
        alone = union_of(
            self._rows.where(self._plan.flags[flag]).selectExpr(f"{i} AS i", "k AS key")
            for i, flag in flags.items()
            if flag is not None
        )
        return greedy_covers(self._spark, pairs, alone)

    def _listed(self, which: Sequence[int]) -> list[tuple[tuple[int, ...], DataFrame]]:
        """(i, left, right) of the pairs each routing finds, cut only within its pieces of work."""
        runs = self._run("pairs", which)
        return [(served, findings.selectExpr("i", "key AS `left`", "other AS `right`")) for served, _, findings in runs]

    def close(self) -> None:
        if "_covers" in self.__dict__:
            self._covers.close()


def _as_double(name: str, kind: DataType) -> str | None:
    """The column as a double in the same order, where there is a cheap way."""
    if isinstance(kind, NumericType):
        return f"CAST({name} AS DOUBLE)"
    if isinstance(kind, DateType):
        return f"CAST(unix_date({name}) AS DOUBLE)"
    if isinstance(kind, TimestampType):
        return f"CAST(unix_micros({name}) AS DOUBLE)"
    if isinstance(kind, TimestampNTZType):
        return f"CAST(datediff({name}, DATE '1970-01-01') AS DOUBLE)"
    return None
