"""Rules checked by Spark SQL alone: groups, joins and filters over the scanned rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.checking.outcome import Summary
from holdfast.checking.sql_steps import SqlSteps, sql_steps
from holdfast.checking.task import WORST_ROWS
from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.engines.spark.checking.engine import CheckEngine, union_of
from holdfast.engines.spark.checking.scan import Scan
from holdfast.engines.spark.kept import KeptFrame, kept_plainly
from holdfast.engines.spark.unfit_workers import unfit_workers
from holdfast.kernels.cover import greedy_cover
from holdfast.programs.sql_text import text_literal
from holdfast.violations.witness import WorstRow


class SqlEngine(CheckEngine):
    """The programs as SQL over the scanned rows, with their forms and flags."""

    def __init__(self, scan: Scan, which: Sequence[int], limit: int | None) -> None:
        super().__init__(scan, which, limit)
        self._to_cover: list[int] = []
        self._kept: dict[str, KeptFrame] = {}

    @cached_property
    def _formed(self) -> DataFrame:
        """The scanned rows with their forms and flags."""
        return self._rows.selectExpr("k", *self._plan.form_columns())

    @cached_property
    def _steps(self) -> SqlSteps:
        return sql_steps(self._plan)

    @cached_property
    def summaries(self) -> dict[int, Summary]:
        """The summary of every rule: one job for rules over pairs, one for rules over single rows, and one more where
        suspects are a cover of pairs."""
        parts = [(i, step.summary) for i in self.which if (step := self._steps.rules[i]).summary is not None]
        by_rule = {}
        if parts:
            listed = self._sql(" UNION ALL ".join(f"SELECT {i} AS i, * FROM ({summary})" for i, summary in parts))
            with kept_plainly(self._spark):
                by_rule = {row["i"]: row for row in listed.collect()}
        listable = [i for i, row in by_rule.items() if row["pairs"] and self._may_list(row["pairs"])]
        self._to_cover = [i for i in listable if by_rule[i]["suspects"] is None]
        covered = {}
        if self._to_cover:
            counted = self._covers.frame.groupBy("i").agg(F.count("*").alias("n")).collect()
            covered = {row["i"]: row["n"] for row in counted}
        result = self._filtered()
        for i, row in by_rule.items():
            suspects = row["suspects"]
            if suspects is None:
                suspects = covered.get(i) if row["pairs"] else row["rows"]
            result[i] = Summary(row["pairs"], row["rows"], suspects, row["groups"], row["left"], row["right"])
        return result

    def _filtered(self) -> dict[int, Summary]:
        """The summaries of rules over single rows: one pass over the rows for all of them."""
        alone = {i: step.alone for i in self.which if (step := self._steps.rules[i]).summary is None}
        if not alone:
            return {}
        parts = [f"count_if({c}) AS n{i}, min(IF({c}, k, NULL)) AS k{i}" for i, c in alone.items()]
        row = self._sql(f"SELECT {', '.join(parts)} FROM {{rows}} t").first()
        assert row is not None, "an aggregate has one row"
        return {i: Summary(None, row[f"n{i}"], row[f"n{i}"], None, row[f"k{i}"]) for i in alone}

    def witnesses(self, which: Sequence[int]) -> dict[int, tuple[Any, Any]]:
        parts = []
        for i in self._own(which):
            step = self._steps.rules[i]
            if self.summaries[i].left is None and step.witness is not None:
                parts.append(f"SELECT {i} AS i, * FROM ({step.witness})")
            if step.summary is not None and step.one_row is not None:
                parts.append(
                    f"SELECT {i} AS i, min(k) AS `left`, min(IF(false, k, NULL)) AS `right` FROM ({step.one_row})"
                )
        witnesses = super().witnesses(which)
        for row in self._sql(" UNION ALL ".join(parts)).collect() if parts else ():
            if row["left"] is not None and (row["right"] is not None or witnesses[row["i"]][0] is None):
                witnesses[row["i"]] = (row["left"], row["right"])
        return witnesses

    def worst(self, which: Sequence[int]) -> dict[int, tuple[WorstRow, ...]]:
        parts = [
            f"SELECT * FROM (SELECT {i} AS i, * FROM ({self._steps.rules[i].conflicts}) "
            f"ORDER BY conflicts DESC, key LIMIT {WORST_ROWS})"
            for i in self._own(which)
        ]
        by_rule: dict[int, list[WorstRow]] = {}
        for row in self._sql("\nUNION ALL\n".join(parts)).collect() if parts else ():
            by_rule.setdefault(row["i"], []).append(WorstRow(row["key"], row["conflicts"]))
        return {i: tuple(sorted(rows, key=lambda r: -r.conflicts)) for i, rows in by_rule.items()}

    def groups(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, group, column, value, rows, keys) of the rules that have groups."""
        return self._by_name((i, self._steps.rules[i].groups) for i in which)

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        limit = "" if self._limit is None else f" LIMIT {self._limit}"
        listed = ((i, self._steps.rules[i].pairs) for i in self._own(which))
        return self._by_name((i, None if pairs is None else f"{pairs}{limit}") for i, pairs in listed)

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        return self._by_name((i, self._steps.rules[i].conflicts) for i in self._own(which))

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        parts, covered = [], []
        for i in self._own(which):
            step, summary = self._steps.rules[i], self.summaries[i]
            if step.suspects is not None:
                parts.append((i, step.suspects))
            elif not summary.pairs or summary.suspects is None:
                parts.append((i, f"SELECT key FROM ({step.conflicts})"))
            else:
                covered.append(i)
        return union_of([self._by_name(parts), self._named(self._covers.frame, covered) if covered else None])

    def close(self) -> None:
        if "_covers" in self.__dict__:
            self._covers.close()
        for table in self._kept.values():
            table.close()

    def _by_name(self, queries: Iterable[tuple[int, str | None]]) -> DataFrame | None:
        """What the queries of these rules yield, with the rule's name in front."""
        named = [(text_literal(self._rule_name(i)), query) for i, query in queries if query is not None]
        return self._union([f"SELECT {name} AS rule, * FROM ({query})" for name, query in named])

    def _sql(self, text: str) -> DataFrame:
        named = dict.fromkeys(re.findall(r"(?<=\{)[gh]\d+(?=\})", text))
        tables: dict[str, Any] = {name: self._table(name) for name in named}
        return self._spark.sql(text, None, rows=self._formed, **tables)

    def _table(self, name: str) -> DataFrame:
        """A table that several queries read: rows counted for several rules, or the groups of a rule in conflict."""
        if name not in self._kept:
            self._kept[name] = KeptFrame(self._sql(self._steps.table_sql(name)))
        # Something made from what is persisted: SQL over that itself would not find it again.
        return self._kept[name].frame.where("n > 0" if name[0] == "g" else "ends > 0")

    def _union(self, parts: Sequence[str]) -> DataFrame | None:
        return self._sql("\nUNION ALL\n".join(parts)) if parts else None

    @cached_property
    def _covers(self) -> KeptFrame:
        steps = self._steps.rules
        parts = [f"SELECT {i} AS i, * FROM ({steps[i].pairs})" for i in self._to_cover]
        alone = [f"SELECT {i} AS i, k AS key FROM ({steps[i].one_row})" for i in self._to_cover if steps[i].one_row]
        return greedy_covers(self._spark, self._sql("\nUNION ALL\n".join(parts)), self._union(alone))


def greedy_covers(spark: SparkSession, pairs: DataFrame, alone: DataFrame | None) -> KeptFrame:
    """(i, key): per rule, a greedy cover of its pairs (i, left, right), and the rows (i, key) that break it alone.

    Kept: it is as small as the pairs, which are limited.
    """
    kept = KeptFrame(pairs)
    all_pairs = kept.frame.where("i >= 0")  # all of it: SQL over a persisted frame itself would compute it again
    try:
        ids = spark.sql(
            "SELECT i, key, row_number() OVER (PARTITION BY i ORDER BY key) - 1 AS id FROM (\n"
            "  SELECT DISTINCT i, explode(array(`left`, `right`)) AS key FROM {pairs})",
            pairs=all_pairs,
        )
        ends = spark.sql(
            "SELECT p.i, CAST(a.id AS BIGINT) AS a, CAST(b.id AS BIGINT) AS b FROM {pairs} p\n"
            "JOIN {ids} a ON p.i = a.i AND p.`left` = a.key JOIN {ids} b ON p.i = b.i AND p.`right` = b.key",
            pairs=all_pairs,
            ids=ids,
        )
        covers = _taken(spark, ends).join(ids, ["i", "id"]).select("i", "key")
        result = KeptFrame(covers if alone is None else covers.union(alone).distinct())
        result.frame.count()
        return result
    finally:
        kept.close()


def _taken(spark: SparkSession, ends: DataFrame) -> DataFrame:
    """(i, id) of the covers, a task per rule; in the driver where no worker can, as pairs are limited."""
    taken = KeptFrame(ends.repartition("i").mapInArrow(_cover_batches, "i int, id bigint"))
    try:
        taken.frame.count()
        return taken.frame
    except PySparkException as problem:
        if unfit_workers(problem) is None:
            raise
        covers = _cover_batches(iter(arrow_table(ends).to_batches()))
        lines = [line for batch in covers for line in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
        return spark.createDataFrame(lines, "i int, id bigint")


def _cover_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    arrived = list(batches)
    if not arrived:
        return
    whole = pa.Table.from_batches(arrived)
    rule, left, right = (whole.column(name).to_numpy() for name in ("i", "a", "b"))
    for i in np.unique(rule):
        of_rule = rule == i
        size = int(max(left[of_rule].max(), right[of_rule].max())) + 1
        ids = greedy_cover(left[of_rule].astype(np.int64), right[of_rule].astype(np.int64), size)
        yield pa.RecordBatch.from_arrays([pa.array(np.full(len(ids), i, np.int32)), pa.array(ids)], names=["i", "id"])
