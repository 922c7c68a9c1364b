"""A table with what each of its rows breaks, on Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from holdfast.checking.annotated import ERRORS, FIELDS, WARNINGS, column_of
from holdfast.checking.group_sql import value_text_sql
from holdfast.checking.outcome import RuleOutcome
from holdfast.encode.column_type import column_type
from holdfast.engines.spark.frame_result import FrameResult
from holdfast.presented import presentation
from holdfast.rules.message import filled_message, message_columns
from holdfast.rules.rule import Rule


def both_ways(pairs: DataFrame) -> DataFrame:
    """(rule, key, partner): each row of the pairs (rule, left, right) beside the other."""
    there = pairs.select("rule", F.col("left").alias("key"), F.col("right").alias("partner"))
    return there.union(pairs.select("rule", F.col("right").alias("key"), F.col("left").alias("partner")))


def first_partners(partners: DataFrame, most: int) -> DataFrame:
    """(rule, key, partner, place): at most so many partners of each row and rule, the smallest first.

    Of a row in millions of pairs, the others go before they are gathered.
    """
    by_row_and_rule = Window.partitionBy("rule", "key").orderBy("partner")
    placed = partners.select("rule", "key", "partner", F.dense_rank().over(by_row_and_rule).alias("place"))
    return placed.where(F.col("place") <= most)


def annotated_rows(
    rows: DataFrame,
    names: Sequence[str],
    outcomes: Sequence[RuleOutcome],
    lines: DataFrame,
    suspects: DataFrame,
    partners: DataFrame,
) -> FrameResult:
    """The rows, named by `k`, under the table's own `names`, with `_errors` and `_warnings` as in this process.

    `lines` are (rule, key, conflicts), `suspects` (rule, key), and `partners` what first_partners() returns.
    """
    rules = [outcome.rule for outcome in outcomes]
    if not rules:
        nothing = F.lit(None).cast(_entry_type(partners.schema["partner"].dataType))
        return FrameResult(
            rows.select(*(f"c{i}" for i in range(len(names))), nothing, nothing).toDF(*names, ERRORS, WARNINGS)
        )
    number = F.create_map(*(part for i, rule in enumerate(rules) for part in (F.lit(rule.name), F.lit(i))))
    columns = [f"c{place}" for place in range(len(names))]
    nobody = (
        F.lit(None).cast(partners.schema["partner"].dataType).alias("partner"),
        F.lit(None).cast("int").alias("place"),
    )
    unknown, no = F.lit(None).cast("bigint").alias("conflicts"), F.lit(False).alias("suspect")
    marks = (
        lines.select("rule", "key", "conflicts", no, *nobody)
        .union(suspects.select("rule", "key", unknown, F.lit(True).alias("suspect"), *nobody))
        .union(partners.select("rule", "key", unknown, no, "partner", "place"))
    )
    beside = F.when(F.col("place").isNotNull(), F.struct("place", "partner"))
    broken = marks.groupBy("rule", "key").agg(
        F.array_sort(F.collect_set(beside))["partner"].alias("partners"),
        F.max("conflicts").alias("conflicts"),
        F.max("suspect").alias("suspect"),
    )
    broken_rule = F.struct(F.element_at(number, F.col("rule")).alias("i"), "partners", "conflicts", "suspect")
    by_row = broken.groupBy("key").agg(F.sort_array(F.collect_list(broken_rule))).toDF("_hf_key", "_hf_broken")
    joined = rows.join(by_row, F.col("k") == F.col("_hf_key"), "left")
    texts = [_message(rule, names, rows) for rule in rules]
    annotations = [
        _entries([i for i, outcome in enumerate(outcomes) if column_of(outcome) == name], rules, texts)
        for name in (ERRORS, WARNINGS)
    ]
    return FrameResult(joined.select(*columns, *annotations).toDF(*names, ERRORS, WARNINGS))


def _message(rule: Rule, names: Sequence[str], rows: DataFrame) -> Column:
    """What the rule tells one of the rows, whose columns are `c0`, ... and have these names in the table."""
    if rule.message is None:
        return F.lit(presentation("rule_words").message_words(rule))
    columns = {name: f"c{place}" for place, name in enumerate(names)}
    if not columns.keys() >= set(message_columns(rule.message)):
        return F.lit("")  # a rule of another table, which none of these rows breaks

    def text_of(column: str) -> Column:
        place = columns[column]
        return F.expr(value_text_sql(place, column_type(rows.schema[place].dataType.simpleString())))

    return F.concat(*filled_message(rule.message, text_of, F.lit))


def _entry_type(key: DataType) -> ArrayType:
    text = StringType()
    kinds = (text, text, ArrayType(text), text, text, ArrayType(key), LongType(), BooleanType())
    return ArrayType(StructType([StructField(name, kind) for name, kind in zip(FIELDS, kinds, strict=True)]))


def _entries(which: Sequence[int], rules: Sequence[Rule], texts: Sequence[Column]) -> Column:
    """The entries of the rules with these numbers; null where there is none."""

    def of_these(broken_rule: Column) -> Column:
        return broken_rule["i"].isin(list(which))

    def chosen(broken_rule: Column, values: Sequence[Column]) -> Column:
        """The value of the rule that was found, out of those of all rules."""
        choice = F.when(broken_rule["i"] == 0, values[0])
        for i, value in enumerate(values[1:], 1):
            choice = choice.when(broken_rule["i"] == i, value)
        return choice

    def entry(broken_rule: Column) -> Column:
        said = [
            chosen(broken_rule, [F.lit(rule.name) for rule in rules]),
            chosen(broken_rule, texts),
            chosen(broken_rule, [F.array(*map(F.lit, rule.body.columns)) for rule in rules]),
            chosen(broken_rule, [F.lit(rule.where).cast("string") for rule in rules]),
            chosen(broken_rule, [F.lit(rule.kind) for rule in rules]),
        ]
        values = (*said, broken_rule["partners"], broken_rule["conflicts"], broken_rule["suspect"])
        return F.struct(*(value.alias(name) for name, value in zip(FIELDS, values, strict=True)))

    own = F.transform(F.filter("_hf_broken", of_these), entry)
    return F.when(F.size(own) > 0, own)
