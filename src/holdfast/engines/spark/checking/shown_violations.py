"""A bounded part of what a check found, collected for a report: a handful of Spark jobs, however many violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from holdfast.checking.shown_check import (
    DOTS,
    GROUPS,
    KEYS,
    LINES,
    PAIRS,
    RULES_IN_DETAIL,
    SIDES,
    WORST,
    Duplicate,
    Plot,
    ShownCheck,
    ShownGroup,
    ShownRule,
    Side,
    plotted_columns,
)
from holdfast.engines.spark.checking.check import CheckResult, hashable
from holdfast.engines.spark.checking.engine import union_of
from holdfast.engines.spark.checking.scan import plain
from holdfast.rules.dependency import Key, as_dependency
from holdfast.violations.witness import WorstRow


def shown_violations(result: CheckResult) -> ShownCheck:
    """What a report shows of the check: per violated rule pairs, worst rows, groups, duplicates and a plot."""
    outcome = result.outcome
    violated = [i for i, rule in enumerate(outcome.rules) if rule.violating_rows][:RULES_IN_DETAIL]
    if not violated:
        return ShownCheck(outcome, tuple(map(ShownRule, outcome.rules)))
    worst = _worst(result)
    pairs = _pairs(result, [i for i in violated if outcome.rules[i].violating_pairs])
    ends = {i: pairs.get(i) or [(row.key, None) for row in worst.get(i, ())[:PAIRS]] for i in violated}
    values = result.values_of([key for listed in ends.values() for pair in listed for key in pair if key is not None])
    groups, duplicates = _groups(result), _duplicates(result, violated)
    plots = _plots(result, pairs, values)
    rules = [ShownRule(rule) for rule in outcome.rules]
    for i in violated:
        witnesses = [witness for pair in ends[i][:PAIRS] if (witness := result.witness(i, pair, values)) is not None]
        rules[i] = replace(
            rules[i],
            found=replace(outcome.rules[i], witness=witnesses[0] if witnesses else None),
            witnesses=tuple(witnesses),
            worst=tuple(worst.get(i, ())),
            groups=tuple(groups.get(outcome.rules[i].rule.name, ())),
            duplicates=tuple(duplicates.get(i, ())),
            plot=plots.get(i),
        )
    return ShownCheck(outcome, tuple(rules))


def _worst(result: CheckResult) -> dict[int, list[WorstRow]]:
    place = {by_rule.rule.name: i for i, by_rule in enumerate(result.outcome.rules)}
    order = Window.partitionBy("rule").orderBy(F.desc("conflicts"), "key")
    first = result.rows.withColumn("n", F.row_number().over(order)).where(F.col("n") <= WORST)
    by_rule: dict[int, list[WorstRow]] = {}
    for row in sorted(first.collect(), key=lambda row: row["n"]):
        by_rule.setdefault(place[row["rule"]], []).append(WorstRow(plain(row["key"]), row["conflicts"]))
    return by_rule


def _pairs(result: CheckResult, which: Sequence[int]) -> dict[int, list[tuple[Any, Any]]]:
    """At most LINES pairs of each rule."""
    place = {by_rule.rule.name: i for i, by_rule in enumerate(result.outcome.rules)}
    pairs = union_of(engine.limited(LINES).pairs([i for i in which if i in engine.which]) for engine in result.engines)
    by_rule: dict[int, list[tuple[Any, Any]]] = {}
    for row in () if pairs is None else pairs.collect():
        by_rule.setdefault(place[row["rule"]], []).append((row["left"], row["right"]))
    return by_rule


def _groups(result: CheckResult) -> dict[str, list[ShownGroup]]:
    """By rule, the groups with most rows beside the largest side."""
    if not any(by_rule.violating_groups for by_rule in result.outcome.rules):
        return {}
    side = F.struct("rows", "value", F.slice("keys", 1, KEYS).alias("keys"))
    sides = result.groups.groupBy("rule", "column", "group").agg(
        F.sum("rows").alias("all"),
        F.max("rows").alias("largest"),
        F.count("*").alias("many"),
        F.slice(F.sort_array(F.collect_list(side), asc=False), 1, SIDES).alias("sides"),
    )
    order = Window.partitionBy("rule", "column").orderBy(F.desc(F.col("all") - F.col("largest")), "group")
    by_rule: dict[str, list[ShownGroup]] = {}
    shown = sides.withColumn("n", F.row_number().over(order)).where(F.col("n") <= GROUPS)
    for row in sorted(shown.collect(), key=lambda row: (row["rule"], row["column"], row["n"])):
        listed = tuple(Side(s["value"], s["rows"], tuple(map(plain, s["keys"]))) for s in row["sides"])
        group = ShownGroup(row["group"], row["column"], row["all"], listed, row["many"] - len(listed))
        by_rule.setdefault(row["rule"], []).append(group)
    return by_rule


def _duplicates(result: CheckResult, which: Sequence[int]) -> dict[int, list[Duplicate]]:
    """By rule, the key values that most rows have."""
    frames = []
    for i in which:
        body = as_dependency(result.outcome.rules[i].rule.body)
        if not isinstance(body, Key):
            continue
        columns = [f"c{result.plan.schema.position(name)}" for name in body.columns]
        rows = _in_scope(result, i)
        if result.plan.rules.nulls == "sql":
            rows = rows.na.drop(subset=columns)
        grouped = rows.groupBy(*columns).agg(
            F.count("*").alias("n"), F.slice(F.sort_array(F.collect_list("k")), 1, KEYS).alias("keys")
        )
        first = grouped.where("n > 1").orderBy(F.desc("n"), *columns).limit(GROUPS)
        texts = F.array(*(F.col(column).cast("string") for column in columns))
        frames.append(first.select(F.lit(i).alias("i"), texts.alias("texts"), "n", "keys"))
    duplicates = union_of(frames)
    by_rule: dict[int, list[Duplicate]] = {}
    for row in () if duplicates is None else duplicates.collect():
        duplicate = Duplicate(tuple(row["texts"]), row["n"], tuple(map(plain, row["keys"])))
        by_rule.setdefault(row["i"], []).append(duplicate)
    return by_rule


def _plots(result: CheckResult, pairs: dict[int, list[tuple[Any, Any]]], values: dict[Any, Row]) -> dict[int, Plot]:
    """By order rule, a sample of the rows that agree with most of its pairs, and those pairs."""
    plots: dict[int, Plot] = {}
    for i, rule_pairs in pairs.items():
        columns = plotted_columns(result.outcome.rules[i].rule)
        if columns is None:
            continue
        x, y, agree = columns
        place = {name: f"c{result.plan.schema.position(name)}" for name in (x, y, *agree)}
        ends = [(values.get(hashable(left)), values.get(hashable(right))) for left, right in rule_pairs]
        known = [(a, b) for a, b in ends if a is not None and b is not None]
        groups = [tuple(hashable(a[place[name]]) for name in agree) for a, _ in known]
        if not known:
            continue
        ((most, _),) = Counter(groups).most_common(1)
        of_group = [pair for pair, group in zip(known, groups, strict=True) if group == most]
        lines = tuple(((a[place[x]], a[place[y]]), (b[place[x]], b[place[y]])) for a, b in of_group)
        within = tuple((name, of_group[0][0][place[name]]) for name in agree)
        rows = _in_scope(result, i)
        for name, value in within:
            rows = rows.where(F.col(place[name]).eqNullSafe(F.lit(value)))
        # Each rule has columns of types of its own, so that each has a job of its own.
        sample = rows.na.drop(subset=[place[x], place[y]]).orderBy(F.xxhash64("k")).limit(DOTS)
        dots = tuple((row[0], row[1]) for row in sample.select(place[x], place[y]).collect())
        plots[i] = Plot(x, y, within, dots, lines)
    return plots


def _in_scope(result: CheckResult, i: int) -> DataFrame:
    scope = result.plan.scope(i)
    return result.scanned if scope is None else result.scanned.where(F.col(scope))
