"""What is imported when: nothing heavy before it is needed, each claim in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("jinja2", "numba", "numpy", "pandas", "py4j", "pyarrow", "pyspark")


def imported_by(code: str, *arguments: str) -> set[str]:
    """The names of top-level packages that the code has imported."""
    program = f"import json, sys\n{code}\nprint(json.dumps(sorted(name for name in sys.modules if '.' not in name)))"
    ended = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", ["holdfast", "holdfast.cli", "holdfast.api"])
def test_importing_the_library_or_the_command_imports_nothing_heavy(module: str) -> None:
    assert not imported_by(f"import {module}") & set(HEAVY)


def test_importing_the_command_reads_no_rules() -> None:
    assert not imported_by("import holdfast.cli") & {"lark", "rich", "yaml"}


def help_of(*command: str) -> str:
    arguments = [*command, "--help"]
    return f"import contextlib\nfrom holdfast.cli import app\nwith contextlib.suppress(SystemExit):\n    app({arguments!r})"


def test_the_list_of_commands_imports_no_command() -> None:
    parts = "('holdfast.api', 'holdfast.cli.check', 'holdfast.cli.options')"
    code = f"{help_of()}\nassert not any(name in sys.modules for name in {parts})"
    assert not imported_by(code) & {*HEAVY, "lark", "yaml"}


@pytest.mark.parametrize("command", ["check", "discover", "watch", "fragments"])
def test_the_help_of_a_command_imports_nothing_heavy(command: str) -> None:
    assert not imported_by(help_of(command)) & set(HEAVY)


def test_reading_rules_needs_neither_arrays_nor_a_compiler() -> None:
    one = "from holdfast import parse_rule\nparse_rule('a -> b')"
    many = "from holdfast.rules.rule_file import parse_rules\nparse_rules('rules: [\"a -> b\"]')"
    assert not imported_by(f"{one}\n{many}") & set(HEAVY)
