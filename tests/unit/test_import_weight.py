"""What is imported when: nothing heavy before it is needed, each claim in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("jinja2", "numba", "numpy", "pandas", "py4j", "pyarrow", "pydantic", "pyspark")


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
    called = f"with contextlib.suppress(SystemExit):\n    app({[*command, '--help']!r})"
    return f"import contextlib\nfrom holdfast.cli import app\n{called}"


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


SMALL_CHECK = """
import numpy as np, pyarrow as pa
from holdfast.checking.task import Task
from holdfast.encode.column_type import column_type
from holdfast.programs.bind import Schema
from holdfast.programs.plan import make_plan
from holdfast.rules.rule import parse_rule, rule_set
texts = "a -> b", "unique(a, b)", "if t.a < s.a then t.b <= s.b", "not(t.a != s.b and t.c < s.c and t.b > s.b)"
rules = rule_set([parse_rule(text, name=text) for text in texts])
plan = make_plan(rules, Schema("table", dict.fromkeys("kabc", column_type("int"))), ("k",))
def numbers(most):
    values = np.random.default_rng(most).integers(0, most, 240)
    return pa.Array.from_buffers(pa.int64(), 240, [None, pa.py_buffer(values)])
forms = {f"f{i}": numbers(8) for i in range(len(plan.programs.forms))}
flags = {f"b{i}": numbers(2).cast(pa.bool_()) for i in range(len(plan.programs.flags))}
table = pa.Table.from_arrays([numbers(10**12), *forms.values(), *flags.values()], ["k", *forms, *flags])
for mode in "summary", "rows", "pairs":
    assert list(Task(plan.programs, (0, 1, 2, 3), mode, 10**6)(iter(table.to_batches())))
"""


def test_a_check_of_few_rows_loads_no_compiler() -> None:
    assert not imported_by(SMALL_CHECK) & {"numba", "pyspark"}


def test_arrow_imports_no_pandas_in_the_command() -> None:
    begun = "from holdfast.tables.pandas_later import allow_pandas, postpone_pandas\npostpone_pandas()"
    assert "pandas" not in imported_by(f"{begun}\n{SMALL_CHECK}\nallow_pandas()")
    used = "import pandas, pyarrow\nassert pyarrow.table({'a': [1]}).to_pandas()['a'].sum() == 1"
    assert "pandas" in imported_by(f"{begun}\n{SMALL_CHECK}\nallow_pandas()\n{used}")


def test_pandas_that_is_imported_stays() -> None:
    code = "import pandas\nfrom holdfast.tables.pandas_later import *\npostpone_pandas()\nallow_pandas()\nimport pandas"
    assert "pandas" in imported_by(code)


def test_the_command_begins_without_pandas() -> None:
    begun = "import contextlib\nsys.argv[1:] = ['--version']\nfrom holdfast.cli import main"
    ended = "with contextlib.suppress(SystemExit):\n    main()\nimport pyarrow\npyarrow.array([1])"
    assert "pandas" not in imported_by(f"{begun}\n{ended}")
    assert "pandas" in imported_by(f"{begun}\n{ended}\nimport holdfast.engines.spark, pandas")


def test_the_command_does_not_walk_over_all_its_objects_as_it_ends() -> None:
    begun = "import contextlib, gc\nsys.argv[1:] = ['--version']\nfrom holdfast.cli import main"
    ended = "with contextlib.suppress(SystemExit):\n    main()\nbefore = gc.get_freeze_count()"
    imported_by(f"{begun}\nassert gc.get_freeze_count() == 0\n{ended}\nassert before > 10_000, before")
    imported_by(f"{begun}\nkept = gc.get_threshold()\n{ended}\nassert gc.get_threshold() == kept")


def test_the_engine_of_states_imports_what_only_other_jobs_need_when_they_run() -> None:
    needed = "import holdfast.engines.local.local_engine, holdfast.engines.states.evolved_table"
    others = "('holdfast.watching', 'holdfast.fragments', 'holdfast.discovery', 'holdfast.engines.discovery')"
    imported_by(f"{needed}\nassert not [name for name in sys.modules if name.startswith({others})]")
