"""One name per idea: no two public classes share a name, and none is the plural of another."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "holdfast"


def public_classes() -> list[str]:
    return [
        node.name
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_no_two_classes_share_a_name() -> None:
    assert [name for name, count in Counter(public_classes()).items() if count > 1] == []


def test_no_class_is_called_by_the_plural_of_another() -> None:
    names = set(public_classes())
    assert {name for name in names if f"{name}s" in names} == set()
