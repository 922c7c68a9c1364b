"""`holdfast discover` says how likely rules are accidents, and leaves out those that are likely ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli.app import app
from holdfast.errors import OptionError

RUN = CliRunner()
LAW = "zip -> city"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Few rows with one law among columns that have nothing to do with each other."""
    random = np.random.default_rng(5)
    zips = random.integers(0, 9, 60)
    columns = {"zip": zips, "city": [f"c{code // 3}" for code in zips]}
    columns |= {f"x{i}": [f"v{code}" for code in random.integers(0, 12, 60)] for i in range(4)}
    path = tmp_path / "few.csv"
    csv.write_csv(pa.table(columns), path)
    return path


def discovered(*arguments: str) -> str:
    done = RUN.invoke(app, ["discover", *arguments, "--quiet"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_has_the_estimate_of_each_rule_and_the_law_is_none(table: Path) -> None:
    rules = json.loads(discovered(str(table), "--format", "json"))["rules"]
    by_text = {rule["rule"]: rule["accident"] for rule in rules}
    assert by_text[LAW] < 1e-6
    others = [accident for text, accident in by_text.items() if "x" in text]
    assert others
    assert all(accident > 0.05 for accident in others)


def test_the_line_stands_below_the_law(table: Path) -> None:
    text = discovered(str(table))
    assert text.index(LAW) < text.index("Below here expect more than half to be accidents")
    assert "probably an accident" in text


def test_likely_accidents_are_cut_from_everything_that_is_written(table: Path, tmp_path: Path) -> None:
    written, page = tmp_path / "rules.yaml", tmp_path / "page.html"
    out = ("--no-column-rules", "-o", str(written), "--report", str(page))
    text = discovered(str(table), "--max-accidents", "5%", *out)
    assert "more likely than 5% to be accidents" in text
    assert "x0" not in text
    assert LAW in written.read_text()
    assert "x0" not in written.read_text()
    assert "Below here" not in page.read_text()
    assert [str(rule) for rule in hf.discover(table, max_accidents=0.05).rules] == [LAW]


@pytest.mark.parametrize("wrong", ["a lot", "2", "-1%"])
def test_a_share_that_is_none_is_refused(table: Path, wrong: str) -> None:
    with pytest.raises(OptionError, match="max-accidents"):
        hf.discover(table, max_accidents=wrong)


def test_rules_that_name_values_have_no_estimate(table: Path) -> None:
    with pytest.raises(OptionError, match="no estimate"):
        hf.discover(table, max_accidents=0.05, conditional=True)
    assert all(rule["accident"] is None for rule in hf.discover(table, conditional=True).to_dict()["rules"])
