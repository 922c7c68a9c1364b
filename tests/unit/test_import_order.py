"""The import law: it holds for the package as it is, and it sees each kind of breach."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "import_order.py"


def run(package: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), str(package)], capture_output=True, text=True, check=False)


def planted(folder: Path, file: str, text: str) -> Path:
    package = folder / "holdfast"
    target = package / file
    target.parent.mkdir(parents=True)
    target.write_text(text)
    return package


def test_the_package_keeps_the_law() -> None:
    result = run(ROOT / "src" / "holdfast")
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("rules/rule.py", "from holdfast.programs.plan import Plan", "programs is below rules"),
        ("rules/rule.py", "from ..programs import plan", "programs is below rules"),
        ("rules/rule.py", "from holdfast import programs", "programs is below rules"),
        ("rules/rule.py", "import holdfast", "__init__ is below rules"),
        ("report/text.py", "from holdfast.engines.spark.session import get_session", "report knows no engine"),
        ("kernels/cover.py", "from holdfast.errors import RunError", "nothing of ours"),
        ("kernels/cover.py", "import pandas as pd", "numpy and its compiler only"),
        ("reference.py", "from holdfast.kernels import cover", "reference imports rules only"),
        ("checking/plan.py", "import holdfast.reference", "only tests and docs"),
        ("__init__.py", "from holdfast.reference import check", "only tests and docs"),
        (
            "watching/plan.py",
            "from holdfast.checking.outcome import CheckOutcome",
            "no job imports the room of another",
        ),
        ("checking/plan.py", "from holdfast.discovery import task", "no job imports the room of another"),
        ("engines/local.py", "import pyspark", "only engines/spark imports Spark"),
        ("api.py", "from pyspark.sql import DataFrame", "only engines/spark imports Spark"),
        ("cli.py", "def f():\n    import pyspark", "only engines/spark imports Spark"),
        ("api.py", "import importlib\nimportlib.import_module('pyspark.sql')", "only engines/spark imports Spark"),
        ("utils.py", "", "'utils' is not a room"),
        ("rules/rule.py", "from holdfast.utils import x", "no such room"),
        (
            "rules/rule.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from holdfast.api import check",
            "api is below rules",
        ),
    ],
)
def test_a_breach_is_named_with_file_and_line(tmp_path: Path, file: str, text: str, says: str) -> None:
    package = planted(tmp_path, file, text)
    result = run(package)
    assert result.returncode == 1
    assert says in result.stdout
    assert result.stdout.startswith(f"{package / file}:{max(text.count(chr(10)) + 1, 1)}: ")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("api.py", "from holdfast.engines.spark.session import get_session\nfrom . import rules, errors"),
        ("rules/rule.py", "from .relation import Relation\nfrom ..errors import HoldfastError"),
        ("reference.py", "from holdfast.rules import rule\nfrom holdfast.errors import HoldfastError"),
        ("kernels/cover.py", "import math\nimport numpy as np\nimport numba"),
        ("engines/spark/session.py", "from pyspark.sql import SparkSession"),
        ("__init__.py", "import importlib\nimportlib.import_module('holdfast.api')"),
    ],
)
def test_what_the_law_allows_passes(tmp_path: Path, file: str, text: str) -> None:
    result = run(planted(tmp_path, file, text))
    assert (result.returncode, result.stdout) == (0, "")
