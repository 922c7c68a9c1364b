"""Messages read back as they were written, whatever their type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import get_args

import pyarrow as pa
import pytest

from holdfast.states.messages import (
    MESSAGE,
    FragmentProblem,
    LogFile,
    Message,
    Refusal,
    RefusedChange,
    RefusedFragment,
    RepairedRules,
    RowCount,
    Shipped,
    SpaceNote,
    Unit,
    ViolationCount,
    WrittenSegment,
    message_batch,
    message_from,
    message_text,
    messages_in,
    net_rows,
    of_type,
    segments_of,
    total_shipped,
)
from holdfast.states.segment import Segment

SEGMENT = Segment("rows/a.arrow", 3, -(2**63), 2**63 - 1, True, False)
MESSAGES: list[Message] = [
    WrittenSegment("rows", SEGMENT),
    RowCount(3, 1),
    ViolationCount("zip -> city", Unit.PAIRS, 2, 0),
    ViolationCount("n", Unit.ROWS, 0, 7),
    LogFile("000000000001-x.parquet"),
    RefusedChange(Refusal.NULL_KEY, None),
    RefusedFragment(FragmentProblem.KEY_MISSING_AT_SITE, ["a", 1], 0, other=2),
    Shipped(1, 2, 3),
    RepairedRules("kept/a.npz", 5, {"added": [["a -> b", None, None]], "notes": []}),
    SpaceNote("column a has more values"),
]


def test_every_type_is_here() -> None:
    assert {type(message) for message in MESSAGES} == set(get_args(Message))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_reads_back_as_it_was(message: Message) -> None:
    assert message_from(message_text(message)) == message


def test_messages_of_a_batch_come_in_order_and_rows_are_none() -> None:
    rows = pa.table({MESSAGE: pa.nulls(2, pa.string())})
    assert messages_in([message_batch(*MESSAGES), rows, message_batch()]) == MESSAGES


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ({"a": 1, "b": dt.date(2020, 1, 2)}, [1, "2020-01-02"]),
        (Decimal("1.50"), "1.50"),
        (b"\x01", "0x01"),
        ("x", "x"),
        (float("nan"), "nan"),
    ],
)
def test_a_refused_key_is_as_json_has_it(key: object, shown: object) -> None:
    assert message_from(message_text(RefusedChange.of(Refusal.EXISTS, key))) == RefusedChange(Refusal.EXISTS, shown)


def test_files_are_those_of_the_table() -> None:
    assert segments_of([*MESSAGES, WrittenSegment("pairs-0-0", SEGMENT)], "rows") == (SEGMENT,)
    assert segments_of(MESSAGES, "pairs-0-0") == ()


def test_counts_add_up() -> None:
    assert net_rows([*MESSAGES, RowCount(0, 5)]) == -3
    assert total_shipped([*MESSAGES, Shipped(1, 1, 1)]) == Shipped(2, 3, 4)
    assert of_type(MESSAGES, LogFile) == [LogFile("000000000001-x.parquet")]
