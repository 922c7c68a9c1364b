"""Names say what a thing is: one public class per name, and no name that only says that something happened."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

# A list of pairs is `pairs`, not `found`; an answer is `answer`, not `told`.
SAYS_NOTHING = {"told", "asked", "found", "one", "some", "made", "mine"}

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


def names_given(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and name of the variables, parameters and functions of a module; fields, which users know, are left out."""
    names = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                names.append((node.lineno, name))
            case ast.Name(id=name, ctx=ast.Store()):
                names.append((node.lineno, name))
    fields = {
        (statement.lineno, statement.target.id)
        for holder in ast.walk(tree)
        if isinstance(holder, ast.ClassDef)
        for statement in holder.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return [place for place in names if place not in fields]


def test_no_variable_or_function_has_a_name_that_says_nothing() -> None:
    vague = [
        f"{file.relative_to(PACKAGE)}:{line} {name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, name in names_given(ast.parse(file.read_text("utf-8")))
        if name.strip("_") in SAYS_NOTHING
    ]
    assert vague == []
