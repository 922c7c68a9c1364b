"""Values, names of columns and names of files are data: a terminal shows them, and obeys none of them."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.report.explain_text import explanation_text
from holdfast.report.summary_text import print_summary

ESC, CSI, BELL, TURNED = "\x1b[31m", "\x9b31m", "\x07", "\u202e"
# Whatever a terminal obeys, but for the end of a line.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
NAMES = ["[/x]", "[red]k[/red]", f"a{ESC}b", f"c{CSI}d", "e\nf", f"g{TURNED}h", "[bold", "\\[x]", "i\rj", f"k{BELL}l"]


def run(*arguments: object, code: int = 0) -> str:
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert ended.exit_code == code, ended.output
    assert not OBEYED.search(ended.output), ascii(ended.output)
    return ended.output


def table_of(name: str) -> pa.Table:
    return pa.table({name: [1, 2, 3], "v": [f"x{ESC}", f"x{ESC}", "y"], "w": ["a", f"b{TURNED}", "c"]})


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_summary_shows_names_and_values_as_they_are_written(name: str) -> None:
    quoted = name.replace('"', '""')
    result = hf.check(table_of(name), ["v -> w", f'not(t."{quoted}" > 2)'], key=name, engine="local")
    said = result.summary()
    assert not OBEYED.search(said)
    shown = name.encode("unicode_escape").decode() if OBEYED.search(name) or "\n" in name else name
    assert shown.replace("\\x9b", "\\u009b") in said
    assert r"x\x1b[31m" in said
    explained = hf.explain(table_of(name), ["v -> w"], 2, key=name, engine="local")
    assert not OBEYED.search(explanation_text(explained))
    assert not OBEYED.search(result._repr_html_())


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_colours_on_a_terminal_are_those_of_holdfast(name: str) -> None:
    result = hf.check(table_of(name), ["v -> w"], key=name, engine="local")
    target = io.StringIO()
    print_summary(result.detailed, Console(file=target, force_terminal=True, width=100, color_system="standard"))
    said = target.getvalue()
    own = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert not OBEYED.search(own), ascii(own)
    assert "\x1b[31m\n" not in said
    assert r"x\x1b[31m" in own


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table and changes in files whose names, columns and values are hostile."""
    monkeypatch.chdir(tmp_path)
    data = Path(f"t{ESC}[x].csv")
    header = f'id,"z{ESC}[/x]",city\n'
    data.write_text(header + f"1,1,a\n2,1,b{ESC}\n3,2,c\n")
    Path(f"c{ESC}\n[red].csv").write_text("_change_type," + header + f"insert,4,2,d{BELL}\n")
    return data


def test_commands_show_what_is_in_files(hostile: Path) -> None:
    rule = f'"z{ESC}[/x]" -> city'
    assert r"\x1b" in run("check", hostile, rule, "--key", "id", code=1)
    run("check", hostile, rule, "--key", "id", "--explain", "--engine", "local")
    run("discover", hostile)
    run("discover", hostile, "--explain")
    run("explain", hostile, rule, "2", "--key", "id")
    run("watch", "init", "state", "--data", hostile, "--rules", rule, "--key", "id")
    changes = next(name for name in os.listdir() if name.startswith("c"))
    assert r"c\x1b[31m\n[red].csv" in run("watch", "apply", "state", changes)
    run("watch", "apply", "state", changes)
    run("watch", "show", "state")
    run("watch", "rules", "state", f'unique("z{ESC}[/x]", city)')
    run("watch", "verify", "state")
    run("evolve", "init", "kept", "--data", hostile, "--key", "id")
    run("evolve", "apply", "kept", changes)
    run("evolve", "show", "kept")
    assert r"\x1b" in run("check", f"no{ESC}.csv", rule, code=2)
    assert r"\x1b" in run("check", hostile, f'"q{ESC}" -> city', code=2)


@pytest.mark.parametrize(
    "command", [["check", "{data}", "{rule}", "--key", "id", "--report"], ["discover", "{data}", "--report"]]
)
def test_pages_show_what_is_in_files(hostile: Path, command: list[str]) -> None:
    words = [word.format(data=hostile, rule=f'"z{ESC}[/x]" -> city') for word in command]
    CliRunner().invoke(app, [*words, "page.html"])
    page = Path("page.html").read_text("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
    assert r"\x1b[31m[/x]" in page


def test_json_says_exactly_what_is_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f'"k{CSI}{TURNED}",v\n1,a\n2,b\n', "utf-8")
    rule = f'not(t."k{CSI}{TURNED}" > 1)'
    said = json.loads(run("check", "t.csv", rule, "--format", "json", "--quiet", code=1))
    assert said["rules"][0]["rule"] == rule


def test_a_table_of_a_result_shows_names_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    show: Callable[..., Any] = hf.check(table_of("[/x]"), ["v -> w"], key="[/x]", engine="local").groups.show
    show()
    assert not OBEYED.search(capsys.readouterr().out)
