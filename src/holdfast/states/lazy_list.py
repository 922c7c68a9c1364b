"""Lists that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from holdfast.errors import RunError

Item = TypeVar("Item")


class LazyList(Sequence[Item], Generic[Item]):
    """A list of known length that is computed when it is first read."""

    def __init__(self, size: int, make: Callable[[], list[Item]]) -> None:
        self._size, self._make = size, make

    @cached_property
    def _items(self) -> list[Item]:
        items = self._make()
        if len(items) != self._size:
            raise RunError(f"a list that was said to have {self._size:,} items has {len(items):,}.")
        return items

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        return self._items[at]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._items == list(other)

    def __repr__(self) -> str:
        return repr(self._items)
