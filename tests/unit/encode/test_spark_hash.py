"""Hashes are those that Spark SQL's xxhash64 was seen to give; `tests/agreement` compares with a live session."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.kernels import xxhash64

NTZ = pa.timestamp("us")
STRUCT = pa.struct([("x", pa.int32()), ("y", pa.string())])
KNOWN: list[tuple[int, list[tuple[Any, pa.DataType]]]] = [
    (-6698625589789238999, [(1, pa.int8())]),
    (2017008487422258757, [(-1, pa.int16())]),
    (2786828215451145335, [(7, pa.int32())]),
    (-3246596055638297850, [(2**63 - 1, pa.int64())]),
    (-6698625589789238999, [(True, pa.bool_())]),
    (3614696996920510707, [(False, pa.bool_())]),
    (2017008487422258757, [(dt.date(1969, 12, 31), pa.date32())]),
    (-6045550564350153773, [(dt.datetime(1969, 12, 31, 23, 59, 59, 500_000), NTZ)]),
    (-5252525462095825812, [(0.0, pa.float64())]),
    (-5252525462095825812, [(-0.0, pa.float64())]),
    (-3127944061524951246, [(float("nan"), pa.float64())]),
    (6163473420726370430, [(1.5, pa.float32())]),
    (2287599437899865974, [(Decimal("1.25"), pa.decimal128(3, 2))]),
    (7280968364475777497, [(Decimal("12345678901234567890.5"), pa.decimal128(38, 10))]),
    (8453381918404127357, [(Decimal(-1), pa.decimal128(38, 20))]),
    (-8959994473701255385, [(Decimal(0), pa.decimal128(20, 0))]),
    (-389073342472772268, [(Decimal(-170141183460469231731687), pa.decimal128(38, 0))]),
    (-7444071767201028348, [("", pa.string())]),
    (-8582455328737087284, [("a", pa.string())]),
    (2065146811275570100, [("é", pa.large_string())]),
    (2065146811275570100, [("é", pa.string_view())]),
    (-1716462135722163746, [("x" * 31, pa.string())]),
    (1299777543150008824, [("x" * 32, pa.string())]),
    (-7757244001119365405, [("xyz" * 30, pa.string())]),
    (879945414100663330, [(b"\x00\xff", pa.binary())]),
    (879945414100663330, [(b"\x00\xff", pa.binary(2))]),
    (42, [(None, pa.int32())]),
    (42, [(None, pa.null())]),
    (-8527884376001292090, [(1, pa.int64()), ("a", pa.string())]),
    (-8582455328737087284, [(None, pa.int64()), ("a", pa.string())]),
    (8205864924878002737, [({"x": 1, "y": "a"}, STRUCT)]),
    (-8198029865082835910, [([1, None, 2], pa.list_(pa.int64()))]),
    (4873107316074688783, [(dt.timedelta(days=1, hours=2, minutes=3, seconds=4), pa.duration("us"))]),
]


@pytest.fixture(params=[True, False], ids=["compiled", "by numpy"])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xxhash64, "compiler_pays", lambda steps: request.param)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("known", "values"), KNOWN)
def test_a_row_has_the_hash_it_has_on_spark(known: int, values: list[tuple[Any, pa.DataType]]) -> None:
    # Among others, and in slices: where an array starts in its buffers does not matter.
    arrays = [pa.array([None, None, value, None], kind) for value, kind in values]
    assert spark_xxhash64(arrays).tolist() == [42, 42, known, 42]
    assert spark_xxhash64([array.slice(2, 1) for array in arrays]).tolist() == [known]
    assert spark_xxhash64([pa.chunked_array([array[:2], array[2:]]) for array in arrays])[2] == known


@pytest.mark.usefixtures("compiled")
def test_a_dictionary_hashes_as_its_values() -> None:
    plain = pa.array(["b", None, "a", "b"])
    for columns in ([plain], [plain, pa.array([1, 2, 3, 4])], [pa.array([1, 2, None, 4]), plain]):
        encoded = [column.dictionary_encode() if column is plain else column for column in columns]
        assert spark_xxhash64(encoded).tolist() == spark_xxhash64(columns).tolist()


@pytest.mark.usefixtures("compiled")
def test_no_rows_have_no_hashes() -> None:
    assert spark_xxhash64([pa.array([], pa.string()), pa.array([], pa.decimal128(38, 2))]).tolist() == []
