"""Lists that are made when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class LazyList(Sequence[Item], Generic[Item]):
    """A list of known length that is made when it is first looked at."""

    def __init__(self, size: int, make: Callable[[], list[Item]]) -> None:
        self._size, self._make = size, make

    @cached_property
    def _made(self) -> list[Item]:
        made = self._make()
        assert len(made) == self._size, "the list is as long as it said"
        return made

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        return self._made[at]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made == list(other)

    def __repr__(self) -> str:
        return repr(self._made)
