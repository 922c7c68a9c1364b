"""A whole rule set is checked from one scan of the source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.spark.checking.check import EngineName, plan_check, run_check
from holdfast.engines.spark.sources.table import Table
from holdfast.rules.rule import rule_set

datasource = pytest.importorskip("pyspark.sql.datasource", reason="sources in Python came with PySpark 4")

PARTITIONS, ROWS = 3, 40
RULES = [
    "unique(a, b)",
    "a -> b",
    "a, b -> c, d",
    "a = 1, b -> c",
    "a = 1 -> c = 2",
    "not(t.a = s.a and t.b > s.b and t.c < s.c)",
    "not(t.b > s.b and t.c < s.c)",
    "not(t.a = s.b and t.b = s.a and t.c != s.c)",
    "not(t.a > t.b and t.c = 3)",
    "if t.a = s.a and t.b > s.b then t.d >= s.d",
]


class CountedReader(datasource.DataSourceReader):  # type: ignore[misc,name-defined]
    """Rows that leave a file behind each time a partition of them is read."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def partitions(self) -> list[Any]:
        return [datasource.InputPartition(i) for i in range(PARTITIONS)]

    def read(self, partition: Any) -> Iterator[tuple[int, ...]]:
        import tempfile

        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=f"read-{partition.value}-", delete=False):
            pass
        for i in range(ROWS):
            at = partition.value * ROWS + i
            yield (at, at % 5, at % 7, at * 13 % 11, at * 7 % 6)


class CountedSource(datasource.DataSource):  # type: ignore[misc,name-defined]
    """A source for spark.read.format("counted")."""

    @classmethod
    def name(cls) -> str:
        return "counted"

    def schema(self) -> str:
        return "id bigint, a bigint, b bigint, c bigint, d bigint"

    def reader(self, schema: object) -> CountedReader:
        return CountedReader(self.options["folder"])


# A rule of every kind: planning the queries of ten takes Spark a minute where they are not one task.
FEW_RULES = [RULES[n] for n in (0, 1, 3, 5, 7, 8)]


@pytest.mark.parametrize(
    ("engine", "key", "rules"),
    [
        ("auto", "id", RULES),
        ("auto", "", RULES),
        ("sql", "id", FEW_RULES),
        ("spread", "id", FEW_RULES),
        pytest.param("sql", "id", RULES, marks=pytest.mark.soak),
        pytest.param("spread", "id", RULES, marks=pytest.mark.soak),
    ],
)
def test_rules_of_all_kinds_share_one_scan(
    spark: SparkSession, tmp_path: Path, engine: EngineName, key: str, rules: list[str]
) -> None:
    spark.dataSource.register(CountedSource)
    frame = spark.read.format("counted").option("folder", str(tmp_path)).load()
    table = Table(frame, "counted")
    plan = plan_check(table, rule_set(rules), (key,) if key else ())
    with run_check(spark, table, plan, limit=None, engine=engine) as result:
        assert {found.rule.kind for found in result.outcome.rules} == {"key", "fd", "cfd", "order", "dc", "row"}
        assert sum(not found.holds for found in result.outcome.rules) >= len(rules) - 2
        assert result.detailed.rules[0].witness is not None
        for found in (result.pairs, result.rows, result.suspects):
            assert found.count() > 0
    assert len(list(tmp_path.iterdir())) == PARTITIONS


def test_several_tables_are_scanned_once_each(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(CountedSource)
    folders = [tmp_path / name for name in ("left", "right")]
    for folder in folders:
        folder.mkdir()
    left, right = (spark.read.format("counted").option("folder", str(folder)).load() for folder in folders)
    rules: list[str | hf.Rule] = [
        "left(a) in right(d)",
        "right(d) in left(b)",
        "not(left.id = right.id and left.c < right.b)",
        hf.parse_rule("a -> b", table="left"),
    ]
    keys = {"left": "id", "right": "id"}
    with hf.check({"left": left, "right": right}, rules, key=keys, limit=None) as result:
        assert [found.rule.kind for found in result.outcome.rules] == ["ind", "ind", "dc", "fd"]
        assert result.detailed.rules[2].witness is not None
        for found in (result.pairs, result.rows, result.suspects, result.groups):
            assert found.count() > 0
    for folder in folders:
        assert len(list(folder.iterdir())) == PARTITIONS
