"""Values that would mend a cell are values of its type, to the last digit."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from holdfast.encode.column_type import column_type
from holdfast.explaining.cell_values import typed


def test_the_greatest_decimals_are_values_of_their_type() -> None:
    values, kind = [Decimal(sign + "9" * 36 + ".99") for sign in ("", "-")], column_type("decimal(38,2)")
    assert typed(values, kind, pa.decimal128(38, 2)).to_pylist() == values
