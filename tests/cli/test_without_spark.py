"""What needs no Spark runs where PySpark is not installed; what needs it says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.demo.run import copy_demo

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
COMMAND = "sys.argv[0] = 'holdfast'\nfrom holdfast.cli import main\nmain()"
ONE_LINE = 'MissingPackageError: this needs Spark, and PySpark is not installed. Type: pip install "holdfast[spark]"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_demo(tmp_path_factory.mktemp("demo"))


def run(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "check --help",
        "watch apply --help",
        "sql rules.yaml --table orders --key order_id",
        "fragments plan sites.yaml",
        "doctor",
    ],
)
def test_a_command_that_needs_no_spark_runs(command: str, folder: Path) -> None:
    done = run(COMMAND, folder, *command.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout


USE = {
    "parse_rule": "assert hf.parse_rule('a -> b').denials",
    "read_rules": "assert len(hf.read_rules('rules.yaml')) == 10",
    "Monitor": "monitor = hf.Monitor('a -> b', key='k')\n"
    "monitor.insert({'k': 1, 'a': 1, 'b': 1})\nassert monitor.insert({'k': 2, 'a': 1, 'b': 2})",
    "RuleKeeper": "keeper = hf.RuleKeeper([{'k': 1, 'a': 1}, {'k': 2, 'a': 1}], key='k')\nassert keeper",
    "fragments_plan": "assert hf.fragments_plan('sites.yaml').to_dict()",
}


@pytest.mark.parametrize("name", USE)
def test_a_part_of_the_library_that_needs_no_spark_works(name: str, folder: Path) -> None:
    done = run(f"import holdfast as hf\n{USE[name]}", folder)
    assert done.returncode == 0, done.stderr


def test_jobs_on_files_run(folder: Path) -> None:
    ended = {
        "check orders.csv rules.yaml --key order_id --violations found --quarantine split --suggest mends": 1,
        "check orders.csv rules.yaml --key order_id --baseline known.json --metrics metrics --report check.html": 0,
        "check orders.csv rules.yaml --key order_id --annotate marked --where quantity>2": 1,
        "history metrics --report history.html": 0,
        "lint rules.yaml --data orders.csv": 0,
        "explain orders.csv rules.yaml --key order_id SO-2577": 0,
        "discover clean.csv --max-predicates 2 --report found.html -o found.yaml": 0,
        "watch init watched --data orders.csv --rules rules.yaml --key order_id": 0,
        "watch apply watched monday.csv": 0,
        "watch show watched --report watch.html": 0,
        "evolve init evolved --data clean.csv --key order_id --max-predicates 2": 0,
        "evolve apply evolved wednesday.csv": 0,
        "evolve show evolved": 0,
        "fragments init fragmented sites.yaml": 0,
        "fragments apply fragmented monday.csv": 0,
        "fragments show fragmented --violations broken": 0,
    }
    for command, code in ended.items():
        quiet = [] if command.startswith(("lint", "history")) else ["--quiet"]
        done = run(COMMAND, folder, *command.split(), *quiet)
        assert done.returncode == code, f"{command}: {done.stderr}"


@pytest.mark.parametrize(
    "command",
    [
        "check orders.csv rules.yaml --master local[1]",
        "discover clean.csv --master local[1]",
        "watch init state --data orders.csv --rules rules.yaml --key order_id --master local[1]",
        "evolve init state --data clean.csv --key order_id --master local[1]",
        "fragments init state sites.yaml --master local[1]",
    ],
)
def test_a_command_that_needs_spark_says_in_one_line_what_to_install(command: str, folder: Path) -> None:
    done = run(COMMAND, folder, *command.split(), "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", ONE_LINE)


def test_a_condition_that_only_spark_computes_says_so(folder: Path) -> None:
    (folder / "upper.yaml").write_text(
        "key: order_id\nsites:\n  all: {where: \"upper(country) <> ''\", data: orders.csv}\nrules: [zip -> city]\n"
    )
    done = run(COMMAND, folder, "fragments", "init", "upper", "upper.yaml", "--quiet")
    note = "note: this runs on Spark: the condition \"upper(country) <> ''\" cannot be computed without Spark.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", note + ONE_LINE)


def test_the_library_raises_it_as_an_import_error(folder: Path) -> None:
    done = run("import holdfast as hf\ntry:\n    hf.watch(None, 'a -> b', key='k', checkpoint='c')\n"
               "except ImportError as problem:\n    print(problem)", folder)  # fmt: skip
    assert done.stdout == ONE_LINE.partition(": ")[2], done.stderr
