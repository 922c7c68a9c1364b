"""What tasks report to the driver: one frozen dataclass per kind of message, and one codec for all of them.

Messages travel as JSON texts with a `type`, in the column MESSAGE of what a task yields. Rows and messages may share
batches on their way from one task to the next; rows then have null there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import reduce
from typing import Any, TypeVar, get_args

import pyarrow as pa

from holdfast.states.key_json import from_json, plain_json
from holdfast.states.lawful import Mergeable
from holdfast.states.segment import Segment

MESSAGE = "message"


class Refusal(StrEnum):
    """Why a batch with such a change is refused."""

    NULL_KEY = "null"
    EXISTS = "exists"
    NOT_THERE_TO_DELETE = "delete"
    NOT_THERE_TO_UPDATE = "update"
    PREIMAGE_ALONE = "alone"
    UNKNOWN_TYPE = "type"
    MISSING_COLUMNS = "columns"
    AT_NO_SITE = "nowhere"
    AT_SEVERAL_SITES = "several"


class FragmentProblem(StrEnum):
    """Why the tables of sites are not fragments of one table."""

    NULL_KEY = "null"
    REPEATED_KEY = "twice"
    KEY_IN_SEVERAL_GROUPS = "shared"
    KEY_MISSING_AT_SITE = "lacking"
    OUTSIDE_OWN_CONDITION = "outside"
    INSIDE_OTHER_CONDITION = "overlap"


class Unit(StrEnum):
    """What a count of violations counts."""

    PAIRS = "pairs"
    ROWS = "rows"


@dataclass(frozen=True)
class WrittenSegment:
    """A new file of the table of this name."""

    table: str
    segment: Segment


@dataclass(frozen=True)
class RowCount:
    """How many rows came and how many went; an update is both."""

    added: int
    removed: int


@dataclass(frozen=True)
class ViolationCount:
    """How many violations of the rule of this name came and how many went."""

    rule: str
    unit: Unit
    added: int
    removed: int


@dataclass(frozen=True)
class LogFile:
    """A new file of the log, by its name."""

    name: str


@dataclass(frozen=True)
class RefusedChange:
    """A change that does not fit the rows that are there; `key` is as JSON has it."""

    reason: Refusal
    key: Any

    @classmethod
    def of(cls, reason: Refusal, key: Any) -> RefusedChange:
        return cls(reason, plain_json(key))


@dataclass(frozen=True)
class RefusedFragment:
    """A row of `site` that shows that the sites do not hold fragments of one table; `key` is as JSON has it.

    `other` is the site that has the key too, or lacks it; `group` the group of sites whose condition is at odds.
    """

    problem: FragmentProblem
    key: Any
    site: int
    other: int = -1
    group: int = -1


@dataclass(frozen=True)
class Shipped(Mergeable):
    """What crossed between sites: ids of equivalence classes, keys and rows of constant rules and broadcasts, bytes."""

    eqids: int = 0
    tuples: int = 0
    bytes: int = 0

    def plus(self, other: Shipped) -> Shipped:
        return Shipped(self.eqids + other.eqids, self.tuples + other.tuples, self.bytes + other.bytes)

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True)
class RepairedRules:
    """The rules after a batch: the file that has them, of how many rows they are true, and what changed, as JSON.

    `indexed` are the tables of indexes that have all rows after it.
    """

    kept: str
    rows: int
    change: Mapping[str, Any] = field(default_factory=dict)
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpaceNote:
    """What a discovery of the rows as they are now would compare otherwise, for a person to read."""

    text: str


Message = (
    WrittenSegment
    | RowCount
    | ViolationCount
    | LogFile
    | RefusedChange
    | RefusedFragment
    | Shipped
    | RepairedRules
    | SpaceNote
)
AnyMessage = TypeVar("AnyMessage", bound=Message)
_TYPES: Mapping[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def message_text(message: Message) -> str:
    """Returns the message as JSON; `message_from` reads it back."""
    return json.dumps({"type": type(message).__name__, **asdict(message)})


def message_from(text: str) -> Message:
    """Returns the message that `message_text` wrote."""
    given = json.loads(text)
    message: Message = from_json(given, _TYPES[given.pop("type")])
    return message


def message_batch(*messages: Message) -> pa.RecordBatch:
    """Returns a batch of nothing but messages."""
    return pa.RecordBatch.from_pydict({MESSAGE: pa.array(map(message_text, messages), pa.string())})


def messages_in(batches: Iterable[pa.RecordBatch | pa.Table]) -> list[Message]:
    """Returns the messages in the batches' column MESSAGE, in order."""
    # Nearly all rows have none.
    return [message_from(text) for batch in batches for text in batch.column(MESSAGE).drop_null().to_pylist()]


def of_type(messages: Iterable[Message], kind: type[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages of one type, in order."""
    return [message for message in messages if isinstance(message, kind)]


def segments_of(messages: Iterable[Message], table: str) -> tuple[Segment, ...]:
    """Returns the new files of the table of this name."""
    return tuple(written.segment for written in of_type(messages, WrittenSegment) if written.table == table)


def net_rows(messages: Iterable[Message]) -> int:
    """Returns by how many rows the table grew."""
    return sum(count.added - count.removed for count in of_type(messages, RowCount))


def total_shipped(messages: Iterable[Message]) -> Shipped:
    """Returns the sum of all that crossed between sites."""
    return reduce(Shipped.plus, of_type(messages, Shipped), Shipped())
