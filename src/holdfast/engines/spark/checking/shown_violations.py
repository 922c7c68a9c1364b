"""What a report shows of a check on Spark: a handful of jobs, however many violations there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from holdfast.checking.shown_check import DOTS, GROUPS, KEYS, LINES, SIDES, WORST, Duplicate, ShownGroup, Side
from holdfast.engines.check_result import plain_key
from holdfast.engines.spark.checking.engine import union_of
from holdfast.rules.dependency import Key
from holdfast.violations.witness import WorstRow

if TYPE_CHECKING:
    from holdfast.engines.spark.checking.check import SparkCheckResult


def worst_rows(result: SparkCheckResult) -> dict[int, list[WorstRow]]:
    place = {by_rule.rule.name: i for i, by_rule in enumerate(result.outcome.rules)}
    order = Window.partitionBy("rule").orderBy(F.desc("conflicts"), "key")
    first = result.rows.to_spark().withColumn("n", F.row_number().over(order)).where(F.col("n") <= WORST)
    by_rule: dict[int, list[WorstRow]] = {}
    for row in sorted(first.collect(), key=lambda row: row["n"]):
        by_rule.setdefault(place[row["rule"]], []).append(WorstRow(plain_key(row["key"]), row["conflicts"]))
    return by_rule


def some_pairs(result: SparkCheckResult, which: Sequence[int]) -> dict[int, list[tuple[Any, Any]]]:
    """At most LINES pairs of each rule."""
    place = {by_rule.rule.name: i for i, by_rule in enumerate(result.outcome.rules)}
    pairs = union_of(engine.limited(LINES).pairs([i for i in which if i in engine.which]) for engine in result.engines)
    by_rule: dict[int, list[tuple[Any, Any]]] = {}
    for row in () if pairs is None else pairs.collect():
        by_rule.setdefault(place[row["rule"]], []).append((row["left"], row["right"]))
    return by_rule


def largest_groups(result: SparkCheckResult) -> dict[str, list[ShownGroup]]:
    """By rule, the groups with most rows beside the largest side."""
    side = F.struct("rows", "value", F.slice("keys", 1, KEYS).alias("keys"))
    sides = (
        result.groups.to_spark()
        .groupBy("rule", "column", "group")
        .agg(
            F.sum("rows").alias("all"),
            F.max("rows").alias("largest"),
            F.count("*").alias("many"),
            F.slice(F.sort_array(F.collect_list(side), asc=False), 1, SIDES).alias("sides"),
        )
    )
    order = Window.partitionBy("rule", "column").orderBy(F.desc(F.col("all") - F.col("largest")), "group")
    by_rule: dict[str, list[ShownGroup]] = {}
    shown = sides.withColumn("n", F.row_number().over(order)).where(F.col("n") <= GROUPS)
    for row in sorted(shown.collect(), key=lambda row: (row["rule"], row["column"], row["n"])):
        listed = tuple(Side(s["value"], s["rows"], tuple(map(plain_key, s["keys"]))) for s in row["sides"])
        group = ShownGroup(row["group"], row["column"], row["all"], listed, row["many"] - len(listed))
        by_rule.setdefault(row["rule"], []).append(group)
    return by_rule


def duplicates(result: SparkCheckResult, keys: Mapping[int, Key]) -> dict[int, list[Duplicate]]:
    """By rule, the key values that most rows have."""
    frames = []
    for i, body in keys.items():
        columns = [f"c{result.plan.schema.position(name)}" for name in body.columns]
        rows = _in_scope(result, i)
        if result.plan.rules.nulls == "sql":
            rows = rows.where(" AND ".join(f"{column} IS NOT NULL" for column in columns))
        grouped = rows.groupBy(*columns).agg(
            F.count("*").alias("n"), F.slice(F.sort_array(F.collect_list("k")), 1, KEYS).alias("keys")
        )
        first = grouped.where("n > 1").orderBy(F.desc("n"), *columns).limit(GROUPS)
        texts = F.array(*(F.col(column).cast("string") for column in columns))
        frames.append(first.select(F.lit(i).alias("i"), texts.alias("texts"), "n", "keys"))
    listed = union_of(frames)
    by_rule: dict[int, list[Duplicate]] = {}
    for row in () if listed is None else listed.collect():
        duplicate = Duplicate(tuple(row["texts"]), row["n"], tuple(map(plain_key, row["keys"])))
        by_rule.setdefault(row["i"], []).append(duplicate)
    return by_rule


def dots(
    result: SparkCheckResult, i: int, columns: tuple[str, str], within: Sequence[tuple[str, Any]]
) -> list[tuple[Any, Any]]:
    """A sample of the rows that the rule speaks of and that have these values, by the two columns."""
    rows = _in_scope(result, i)
    for name, value in within:
        rows = rows.where(F.col(f"c{result.plan.schema.position(name)}").eqNullSafe(F.lit(value)))
    x, y = (f"c{result.plan.schema.position(name)}" for name in columns)
    sample = rows.na.drop(subset=[x, y]).orderBy(F.xxhash64("k")).limit(DOTS)
    return [(row[0], row[1]) for row in sample.select(x, y).collect()]


def _in_scope(result: SparkCheckResult, i: int) -> DataFrame:
    scope = result.plan.scope(i)
    return result.scanned if scope is None else result.scanned.where(F.col(scope))
