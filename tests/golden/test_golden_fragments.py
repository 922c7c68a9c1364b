"""The papers' worked examples of data that is split over sites, through `holdfast fragments` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.jobs import fragments_plan

DATA = Path(__file__).with_name("data")
EXPECTED = yaml.safe_load((DATA / "expected.yaml").read_text("utf-8"))


def holdfast(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(app, [*map(str, arguments), "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def plan_file(folder: Path, *, replica: bool) -> Path:
    case = EXPECTED["shipment_plan"]
    sites = {**case["sites"], **(case["replica"] if replica else {})}
    content = {"key": "id", "sites": {name: {"columns": own} for name, own in sites.items()}, "rules": case["rules"]}
    (folder / "sites.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder / "sites.yaml"


def test_a_plan_with_fewer_ids_than_the_papers_is_found(tmp_path: Path) -> None:
    case = EXPECTED["shipment_plan"]
    plan = holdfast("fragments", "plan", plan_file(tmp_path, replica=True))
    assert list(plan) == ["method", "alone", "shared", "steps"]
    assert plan["alone"] == case["each_rule_alone"]
    assert fragments_plan(tmp_path / "sites.yaml").chained == case["paper_chains_with_replica"]
    assert plan["shared"] == len(plan["steps"]) < case["paper_plan_with_replica"]
    assert plan["method"] == "exact"
    bare = holdfast("fragments", "plan", plan_file(tmp_path, replica=False))
    assert bare["alone"] == case["each_rule_alone"]
    assert plan["shared"] < bare["shared"] <= case["paper_plan_with_replica"]


def test_a_plan_starts_no_spark(tmp_path: Path) -> None:
    program = (
        "import sys; from holdfast.jobs import fragments_plan; fragments_plan(sys.argv[1]); "
        "assert not any(name.startswith(('pyspark', 'py4j', 'numba')) for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(plan_file(tmp_path, replica=True))], check=True)


@pytest.mark.parametrize(("ending", "told"), [(".svg", "</svg>"), (".dot", '"S6" -> "S8" [label="A, I"]')])
def test_a_plan_is_drawn(ending: str, told: str, tmp_path: Path) -> None:
    holdfast("fragments", "plan", plan_file(tmp_path, replica=True), "--picture", tmp_path / f"plan{ending}")
    assert told in (tmp_path / f"plan{ending}").read_text("utf-8")
