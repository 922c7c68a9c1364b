"""Values of changes take a state's types without loss, up to the last of 38 digits."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from holdfast.engines.local.typed_changes import typed_changes
from holdfast.errors import ChangeError
from holdfast.states.table_schema import schema_json
from holdfast.tables.local_table import LocalTable


@pytest.mark.parametrize("text", ["9" * 37, "-" + "9" * 37, "9" * 30])
def test_a_decimal_of_another_precision_fits_where_its_digits_do(text: str) -> None:
    given = LocalTable(pa.table({"v": pa.array([Decimal(text)], pa.decimal128(37, 0))}), "changes.csv")
    schema = schema_json(pa.schema({"v": pa.decimal128(38, 0)}))
    assert typed_changes(given, schema)[0].column("c0").to_pylist() == [Decimal(text)]


def test_a_decimal_with_more_digits_than_its_type_is_refused() -> None:
    given = LocalTable(pa.table({"v": pa.array([Decimal("9" * 38)], pa.decimal128(38, 0))}), "changes.csv")
    with pytest.raises(ChangeError):
        typed_changes(given, schema_json(pa.schema({"v": pa.decimal128(37, 0)})))
