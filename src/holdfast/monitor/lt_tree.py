"""The less-than tree: all rows whose value is smaller than a given one, as a union along one path (Weever 4).

A balanced tree over the distinct values. Each node holds the rows that have its value, and the set of all rows in its
left subtree. The path to a value goes right at every smaller value, and there takes the node's own rows and those to
its left. Where the path ends at the value itself, the rows to its left are taken too (the paper's Algorithm 1 stops one
step short of that).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap


class _Node:
    """A value with its rows, and the rows of all smaller values below it."""

    __slots__ = ("height", "left", "less", "right", "rows", "value")

    def __init__(self, value: int, rows: BitMap) -> None:
        self.value, self.rows, self.less = value, rows, BitMap()
        self.left: _Node | None = None
        self.right: _Node | None = None
        self.height = 1


class LessThanTree:
    """Rows by value, balanced as an AVL tree: a look-up is a union of at most 1.44 log2(values) sets.

    Coming and going costs one step in the set of each node at which the path goes left.
    """

    def __init__(self) -> None:
        self._root: _Node | None = None
        self.rows = BitMap()

    @classmethod
    def of(cls, values: NDArray[np.int64], rows: NDArray[np.int32]) -> LessThanTree:
        """The tree of all rows at once; cost: a sort, and one union per node."""
        tree = cls()
        order = np.argsort(values, kind="stable")
        values, rows = values[order], rows[order]
        starts = np.flatnonzero(np.concatenate([values[:1] == values[:1], values[1:] != values[:-1]]))
        distinct = values[starts].tolist()
        parts = np.split(rows, starts[1:])

        def build(low: int, high: int) -> tuple[_Node | None, BitMap]:
            if low >= high:
                return None, BitMap()
            middle = (low + high) // 2
            node = _Node(distinct[middle], BitMap(parts[middle]))
            node.left, node.less = build(low, middle)
            node.right, above = build(middle + 1, high)
            node.height = 1 + max(_height(node.left), _height(node.right))
            return node, node.less | node.rows | above

        tree._root, tree.rows = build(0, len(distinct))
        return tree

    def __len__(self) -> int:
        """Distinct values."""
        return sum(1 for _ in self._nodes(self._root))

    def add(self, value: int, row: int) -> None:
        self._root = _added(self._root, value, row)
        self.rows.add(row)

    def remove(self, value: int, row: int) -> None:
        """The row, which has the value, goes; the value goes with its last row."""
        self._root = _removed(self._root, value, row)
        self.rows.discard(row)

    def smaller(self, value: int) -> BitMap:
        """All rows whose value is smaller."""
        return BitMap.union(*self._path(value, equal=False), BitMap())

    def smaller_or_equal(self, value: int) -> BitMap:
        return BitMap.union(*self._path(value, equal=True), BitMap())

    def _path(self, value: int, *, equal: bool) -> Iterator[BitMap]:
        node = self._root
        while node is not None:
            if value < node.value:
                node = node.left
                continue
            yield node.less
            if value > node.value or equal:
                yield node.rows
            if value == node.value:
                return
            node = node.right

    def _nodes(self, node: _Node | None) -> Iterator[_Node]:
        if node is not None:
            yield from self._nodes(node.left)
            yield node
            yield from self._nodes(node.right)

    @property
    def values(self) -> list[int]:
        """The distinct values, in order."""
        return [node.value for node in self._nodes(self._root)]

    def assert_invariants(self) -> None:
        """Values are in order, the tree is balanced, and every set of smaller rows is that of the left subtree."""

        def checked(node: _Node | None) -> tuple[int, BitMap]:
            if node is None:
                return 0, BitMap()
            left, below = checked(node.left)
            right, above = checked(node.right)
            assert abs(left - right) <= 1, "the tree is balanced"
            assert node.height == 1 + max(left, right), "heights are known"
            assert node.less == below, "smaller rows are those of the left subtree"
            assert len(node.rows), "a value has rows"
            assert not node.rows & (below | above), "a row has one value"
            return node.height, below | node.rows | above

        _, rows = checked(self._root)
        assert rows == self.rows, "all rows are in the tree"
        values = self.values
        assert all(a < b for a, b in pairwise(values)), "values are in order"


def _height(node: _Node | None) -> int:
    return 0 if node is None else node.height


def _balanced(node: _Node) -> _Node:
    tilt = _height(node.left) - _height(node.right)
    if tilt > 1:
        assert node.left is not None, "the higher side is there"
        if _height(node.left.left) < _height(node.left.right):
            node.left = _turned_left(node.left)
        return _turned_right(node)
    if tilt < -1:
        assert node.right is not None, "the higher side is there"
        if _height(node.right.right) < _height(node.right.left):
            node.right = _turned_right(node.right)
        return _turned_left(node)
    node.height = 1 + max(_height(node.left), _height(node.right))
    return node


def _turned_right(node: _Node) -> _Node:
    top = node.left
    assert top is not None, "only a node with a left child turns right"
    node.left, top.right = top.right, node
    node.less = node.less - top.less - top.rows
    node.height = 1 + max(_height(node.left), _height(node.right))
    top.height = 1 + max(_height(top.left), node.height)
    return top


def _turned_left(node: _Node) -> _Node:
    top = node.right
    assert top is not None, "only a node with a right child turns left"
    node.right, top.left = top.left, node
    top.less = top.less | node.less | node.rows
    node.height = 1 + max(_height(node.left), _height(node.right))
    top.height = 1 + max(_height(top.right), node.height)
    return top


def _added(node: _Node | None, value: int, row: int) -> _Node:
    if node is None:
        return _Node(value, BitMap([row]))
    if value == node.value:
        node.rows.add(row)
        return node
    if value < node.value:
        node.less.add(row)
        node.left = _added(node.left, value, row)
    else:
        node.right = _added(node.right, value, row)
    return _balanced(node)


def _removed(node: _Node | None, value: int, row: int) -> _Node | None:
    assert node is not None, "a row that goes is in the tree"
    if value < node.value:
        node.less.discard(row)
        node.left = _removed(node.left, value, row)
    elif value > node.value:
        node.right = _removed(node.right, value, row)
    else:
        node.rows.discard(row)
        if len(node.rows) == 0:
            return _without(node)
    return _balanced(node)


def _without(node: _Node) -> _Node | None:
    """The subtree without its top: the next greater value takes its place."""
    if node.left is None or node.right is None:
        return node.left or node.right
    node.right, next_up = _first_taken(node.right)
    node.value, node.rows = next_up.value, next_up.rows
    return _balanced(node)


def _first_taken(node: _Node) -> tuple[_Node | None, _Node]:
    """(the subtree without its smallest value, that value's node)."""
    if node.left is None:
        return node.right, node
    node.left, first = _first_taken(node.left)
    node.less = node.less - first.rows
    return _balanced(node), first
