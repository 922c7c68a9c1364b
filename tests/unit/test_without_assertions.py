"""What Holdfast promises does not hang on assertions, which `python -O` leaves out."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import holdfast

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(holdfast.__path__[0])
# Some of everything that needs no JVM: states and what guards them, rules that are kept, checks, monitors, fragments.
CORE = (
    "tests/unit/states",
    "tests/unit/evolving",
    "tests/unit/live_rows",
    "tests/unit/kernels/test_hitting_sets.py",
    "tests/unit/programs/test_expressions.py",
    "tests/golden/test_golden_fragments.py",
    "tests/golden/test_golden_monitor.py",
    "tests/oracle/test_local_check_matches_reference.py",
    "tests/oracle/test_watch_tasks_match_reference.py",
    "tests/oracle/test_fragment_tasks_match_reference.py",
)

# Methods that an assertion may call: they change nothing.
LOOKING = {
    *("_chain_places", "all", "any", "arange", "array_equal", "diff", "find", "keys"),
    *("reshape", "slots", "sort", "tolist", "unique", "values"),
}


def test_the_core_of_the_tests_passes_without_assertions() -> None:
    """Those of the tests stay: pytest writes them as conditions that raise."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "quick_tests", "--hypothesis-seed=0"]
    paths = [str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "MOST_EXAMPLES": "5", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    ran = subprocess.run(
        [sys.executable, "-O", "-m", "pytest", *options, *CORE],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    (passed,) = re.findall(r"(\d+) passed", ran.stdout)
    assert int(passed) > 150


def test_an_assertion_does_nothing_but_look() -> None:
    """What an assertion would do besides is not done under -O."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Assert):
                parts = list(ast.walk(node.test))
                called = {part.func.attr for part in parts if _is_method(part)}  # type: ignore[attr-defined]
                assert not [part for part in parts if isinstance(part, ast.NamedExpr)], f"{file}:{node.lineno}"
                assert called <= LOOKING, f"{file}:{node.lineno}: {called - LOOKING}"


def test_assertions_are_the_only_thing_that_is_left_out() -> None:
    assert not [file for file in SOURCE.rglob("*.py") if "__debug__" in file.read_text("utf-8")]


def _is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
