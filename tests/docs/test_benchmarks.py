"""The page of benchmarks is what the committed records give, and what it names can be run; nothing is measured here."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))
curve, memory, page, record, run_all = map(importlib.import_module, ("curve", "memory", "page", "record", "run_all"))

# What README says of speed and memory, and the figure of a record that it is.
CLAIMS = {"0.4 seconds": ("local", "commands", "cold", {"command": "check", "engine": "local"})}
_AMOUNT = re.compile(r"\b\d[\d.,]*\s?(?:s|ms|µs|seconds?|minutes?|times|[KMG]i?B)\b")
# The help of all scripts, from one process: what they import takes longer than what they say.
_HELP = """
import contextlib, io, json, pathlib, runpy, sys
sys.path.insert(0, sys.argv[1])
told = {}
for script in sys.argv[2:]:
    sys.argv, said, ended = [script, "--help"], io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        ended = end.code
    told[pathlib.Path(script).name] = said.getvalue() if ended == 0 else None
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """What each script that is named on the page, or runs for it, says of itself."""
    named = set(re.findall(r"benchmarks/(\w+\.py)", PAGE.read_text("utf-8")))
    named |= {step.script for step in (*run_all.SHORT, *run_all.LARGE)} | {"page.py", "run_all.py"}
    scripts = [BENCHMARKS / name for name in sorted(named)]
    assert len(scripts) > 15
    assert not [script.name for script in scripts if not script.is_file()]
    command = [sys.executable, "-c", _HELP, str(BENCHMARKS), *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    told: dict[str, str] = json.loads(done.stdout)
    return told


def test_the_page_is_what_the_records_give() -> None:
    text, drawings = page.written()
    assert text == PAGE.read_text("utf-8"), "run python benchmarks/page.py"
    for name, drawing in drawings.items():
        assert drawing == (ROOT / "docs" / "img" / name).read_text("utf-8"), "run python benchmarks/page.py"
    assert {file.name for file in (ROOT / "docs" / "img").glob("curve_*.svg")} == set(drawings)
    assert len(drawings) >= 6


def test_scripts_that_the_page_names_answer_help(helps: dict[str, str]) -> None:
    assert not [script for script, told in helps.items() if not told]


def test_options_of_the_commands_exist(helps: dict[str, str]) -> None:
    """On the page, and in what `make bench` runs."""
    lines = re.findall(r"^python benchmarks/(.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    lines += [step.command for step in (*run_all.SHORT, *run_all.LARGE)]
    for line in lines:
        script = line.partition(" ")[0]
        assert not [option for option in re.findall(r"--[a-z-]+", line) if option not in helps[script]], line


def test_scripts_of_the_page_keep_what_they_measure(helps: dict[str, str]) -> None:
    assert {path.stem for path in RESULTS} <= {name.removesuffix(".py") for name in helps}
    kept = {path.stem for path in RESULTS} | {step.script.removesuffix(".py") for step in run_all.SHORT}
    assert not [name for name in kept if "--record" not in helps[f"{name}.py"]]


def test_the_short_ones_take_25_minutes() -> None:
    assert 15 < sum(step.minutes for step in run_all.SHORT) <= 25
    assert len({step.command for step in (*run_all.SHORT, *run_all.LARGE)}) == len(run_all.SHORT) + len(run_all.LARGE)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_record_says_when_where_and_how_without_naming_the_machine(path: Path, tmp_path: Path) -> None:
    known = record.Record.read(path)
    assert known.write(tmp_path).read_text("utf-8") == path.read_text("utf-8"), "written as it was read"
    for run in json.loads(path.read_text("utf-8"))["runs"]:
        assert re.fullmatch(rf"python benchmarks/{path.stem}\.py( [^/].*)?", run["command"])
        assert not re.search(r"(^|[\s=])/", run["command"]), "no place of the machine"
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", run["date"])
        assert set(run["machine"]) <= {"cores", "memory", "python", "gpu", "desbordante", *record.PACKAGES}
        assert run["machine"]["cores"] >= 1


def test_amounts_in_the_readme_are_in_the_records() -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    said = [match[0] for match in _AMOUNT.finditer(re.sub(r"`[^`]*`", "", text))]
    assert sorted(said) == sorted(CLAIMS), "each amount has its figure here"
    known = page.Page({path.stem: record.Record.read(path) for path in RESULTS})
    for claim, (script, table, column, where) in CLAIMS.items():
        amount = claim.split()[0]
        digits = len(amount.partition(".")[2])
        assert f"{known.value(script, table, column, **where):.{digits}f}" == amount, f"README says {claim}"
        assert f"[{claim}](docs/benchmarks.md#" in text, f"{claim} leads to where it was measured"


# Records -----------------------------------------------------------------------------------------------------------


def run_of(day: int, note: str = "") -> Any:
    return record.Run("python benchmarks/some.py", f"2026-01-{day:02}", {"cores": 2}, note=note)


def recorded(day: int, *rows: dict[str, Any]) -> Any:
    made = record.Recording()
    table = made.table("rules", keys=("rule", "rows"), units={"ours": "s", "theirs": "s"})
    for cells in rows:
        table.add(**cells)
    return made.record("some", run_of(day))


def test_a_row_takes_the_place_of_the_one_with_the_same_keys(tmp_path: Path) -> None:
    known = recorded(1, {"rule": "a", "rows": 10, "ours": 1.0}, {"rule": "a", "rows": 20, "ours": 2.0})
    path = known.merged(recorded(2, {"rule": "a", "rows": 10, "ours": 0.5})).write(tmp_path)
    rows = record.Record.read(path).tables["rules"].rows
    assert {place: (row.cells["ours"], row.runs["ours"].date) for place, row in rows.items()} == {
        ("a", 10): (0.5, "2026-01-02"),
        ("a", 20): (2.0, "2026-01-01"),
    }


def test_what_a_run_does_not_measure_keeps_its_figure_and_its_date(tmp_path: Path) -> None:
    known = recorded(1, {"rule": "a", "rows": 10, "ours": 1.0, "theirs": 3.0})
    path = known.merged(recorded(2, {"rule": "a", "rows": 10, "ours": 0.5, "theirs": None})).write(tmp_path)
    (row,) = record.Record.read(path).tables["rules"].rows.values()
    assert row.cells == {"rule": "a", "rows": 10, "ours": 0.5, "theirs": 3.0}
    assert (row.runs["ours"].date, row.runs["theirs"].date) == ("2026-01-02", "2026-01-01")


def test_a_run_of_which_nothing_is_left_is_dropped(tmp_path: Path) -> None:
    known = recorded(1, {"rule": "a", "rows": 10, "ours": 1.0})
    path = known.merged(recorded(2, {"rule": "a", "rows": 10, "ours": 0.5})).write(tmp_path)
    assert [run["date"] for run in json.loads(path.read_text("utf-8"))["runs"]] == ["2026-01-02"]


def arguments(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"record": None, "note": "", "seed": 7, **given})


def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/some.py", "--rows", "10"])
    with record.recording(arguments()) as made:
        made.table("rules", keys=("rule",), units={}).add(rule="a", ours=1.0)
    assert not list(tmp_path.iterdir())


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "tables"
    data.mkdir()
    words = ["benchmarks/some.py", "--rows", "10", "--data", str(data), "--record", str(tmp_path), "--note", "busy"]
    monkeypatch.setattr(sys, "argv", words)

    def fails() -> None:
        with record.recording(arguments(record=tmp_path, note="busy")) as made:
            made.table("rules", keys=("rule",), units={}).add(rule="a", ours=1.23456)
            raise ValueError("counts differ")

    with pytest.raises(ValueError, match="counts differ"):
        fails()
    (row,) = record.Record.read(tmp_path / "some.json").tables["rules"].rows.values()
    run = row.runs["ours"]
    assert row.cells["ours"] == 1.235
    assert (run.command, run.seed, run.note) == ("python benchmarks/some.py --rows 10 --data DATA", 7, "busy")
    assert run.machine["python"] == sys.version.split()[0]


# Memory ------------------------------------------------------------------------------------------------------------

on_linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured on Linux only")
TAKES = "import sys; kept = bytearray(b'x') * (150 << 20); print('taken', flush=True); sys.stdin.read()"


@on_linux
def test_memory_that_was_given_back_is_in_the_peak() -> None:
    _, _, before = memory.measured(lambda: None)
    _, size, peak = memory.measured(lambda: len(bytearray(b"x") * (200 << 20)))
    assert peak.driver - before.driver > 0.9 * size / 2**20
    _, _, after = memory.measured(lambda: None)
    assert after.driver < peak.driver - 0.9 * size / 2**20, "the peak of one step is not that of the next"


@on_linux
def test_memory_of_a_child_is_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", TAKES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"taken\n"
        _, _, peak = memory.measured(lambda: None)
        child.communicate(b"")
    assert 150 < peak.others < 300
    assert peak.together >= peak.others + 0.9 * peak.driver


@on_linux
def test_a_shell_that_becomes_a_jvm_is_one(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.symlink_to(sys.executable)
    command = ["sh", "-c", 'read go; exec "$0" -c "$1"', str(java), TAKES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        with memory.PeakMemory() as measured:
            child.stdin.write(b"go\n")
            child.stdin.flush()
            assert child.stdout.readline() == b"taken\n"
        child.communicate(b"")
    assert measured.peak.jvm > 150
    assert measured.peak.others < 50


@on_linux
def test_kinds_of_processes_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {1: b"/usr/lib/jvm/bin/java\0-cp\0x", 2: b"python\0-m\0pyspark.daemon", 3: b"python\0peer.py"}
    for pid, line in lines.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(line)
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert [memory._part(pid) for pid in lines] == ["jvm", "workers", "others"]


def test_without_proc_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    _, result, peak = memory.measured(lambda: 7)
    assert result == 7
    assert set(peak.columns().values()) == {None}
    assert "not measured" in str(peak)


# The page ----------------------------------------------------------------------------------------------------------


def page_of(*records: Any) -> Any:
    known = records[0]
    for other in records[1:]:
        known.merged(other)
    return page.Page({"some": known})


def test_a_column_of_another_day_says_so() -> None:
    first = recorded(1, {"rule": "a", "rows": 10, "ours": 1.0, "theirs": 3.1})
    later = recorded(2, {"rule": "a", "rows": 10, "ours": 0.5}, {"rule": "b", "rows": 10, "ours": 0.25})
    told = page_of(first, later).table("some", "rules", [("Rule", "rule")], [("ours", "ours"), ("theirs", "theirs")])
    assert told.splitlines()[2:] == [
        "| a | 0.50 | 3.1 |",
        "| b | 0.25 | |",
        "",
        "Measured on 2026-01-02; theirs: 2026-01-01.",
    ]


def test_what_is_not_measured_is_said_or_left_out() -> None:
    of = page_of(recorded(1, {"rule": "a", "rows": 10, "ours": 1.5}))
    assert of.cell("some", "rules", "ours", rule="a", rows=20) == "not measured"
    assert of.growth("some", "rules", "ours", "rows", 10, 20) == "not measured"
    told = of.table("some", "rules", [("Rule", "rule")], [("10", "ours", {"rows": 10}), ("20", "ours", {"rows": 20})])
    assert told.startswith("| Rule | 10 |\n|---|---|\n| a | 1.5 |\n")


def test_growth_is_of_rows_that_are_otherwise_the_same() -> None:
    rows = [("a", 10, 1.0), ("a", 100, 5.0), ("b", 10, 2.0), ("b", 100, 40.0), ("c", 100, 900.0)]
    of = page_of(recorded(1, *({"rule": rule, "rows": many, "ours": spent} for rule, many, spent in rows)))
    assert of.growth("some", "rules", "ours", "rows", 10, 100) == "5 to 20"


@pytest.mark.parametrize(
    ("cell", "text"), [(1234567, "1,234,567"), (0.6612, "0.66"), (57.23, "57.2"), (656.3, "656"), (0.043, "0.043")]
)
def test_numbers_have_three_digits_or_are_whole(cell: float, text: str) -> None:
    assert page.number(cell) == text


# Curves ------------------------------------------------------------------------------------------------------------


def test_a_curve_is_drawn_on_logarithmic_axes_and_names_its_lines() -> None:
    lines = {
        "a < b": [(100_000, 0.1), (1_000_000, 1.0), (10_000_000, 10.0)],
        "flat": [(100_000, 1.0), (10_000_000, 1.0)],
    }
    drawn = curve.curve("Seconds", across="rows", up="s", lines=lines)
    tree = ElementTree.fromstring(drawn)
    texts = ["".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "flat", "rows", "100k", "10M"} <= set(texts)
    assert "prefers-color-scheme: dark" in drawn
    (line,) = [path.attrib["d"] for path in tree.iter() if path.get("class") == "l c0"]
    (x1, y1), (x2, y2), (x3, y3) = ([float(n) for n in part.split()] for part in line[1:].split("L"))
    assert (x2 - x1, y2 - y1) == pytest.approx((x3 - x2, y3 - y2), abs=0.2), "ten times more is as far each time"


def test_labels_do_not_cover_each_other() -> None:
    places = curve.apart([50.0, 52.0, 51.0, 300.0, 301.0], 15, 0, 302)
    ordered = sorted(places)
    assert all(later - earlier >= 15 for earlier, later in pairwise(ordered))
    assert places.index(ordered[0]) == 0
    assert ordered[-1] <= 302
