"""`holdfast lint`, as a user and as pre-commit run it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from holdfast.cli import app

ROOT = Path(__file__).parents[2]


def lint(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


def test_exit_codes_and_formats(tmp_path: Path) -> None:
    well, bad = tmp_path / "rules.yaml", tmp_path / "bad.rules.yaml"
    well.write_text("rules: [zip -> city]\n", encoding="utf-8")
    bad.write_text("rules:\n  - zip -> city\n  - {name: x, rule: 'zip -> '}\n", encoding="utf-8")
    done = lint(well)
    assert (done.exit_code, done.stdout) == (0, "1 rule: nothing to say.\n")
    done = lint(well, bad)
    assert done.exit_code == 1
    assert f"error: {bad}, line 3, rule 'x': expected" in done.stdout
    assert "\n  zip -> \n        ^\n" in done.stdout
    done = lint(bad, "--format", "json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["level"], found["check"], found["line"], found["file"]) == ("error", "rule", 3, str(bad))
    assert lint(tmp_path / "none.yaml").exit_code == 2
    assert lint(well, "--data", tmp_path / "none.csv").exit_code == 2
    assert lint(well, "--data", "spark:db.table").exit_code == 2


def test_the_hook_for_pre_commit_runs_what_it_says(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    command, *arguments = shlex.split(hook["entry"])
    assert command == "holdfast"
    named = re.compile(hook["files"])
    assert all(named.search(name) for name in ("rules.yaml", "dq/rules-orders.yml", "orders.rules.yaml"))
    assert not named.search("dq/myrules.yaml")
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [zip -> city, zip -> city]\n", encoding="utf-8")
    assert CliRunner().invoke(app, [*arguments, str(file)]).exit_code == 1
