"""`holdfast mcp` as an agent meets it: a process that speaks the protocol, asked by the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.demo.run import copy_demo
from holdfast.errors import OptionError, SourceNotFoundError
from holdfast.serving.served_files import served_files

# The package is imported where it is used: the import takes a second, and other processes collect these tests, too.
pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the package mcp is not installed")

COMMAND = "import sys; from holdfast.cli import main; sys.argv[0] = 'holdfast'; main()"
SERVED = ("clean.csv", "orders.csv", "rules.yaml", "decisions.yaml")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_demo(tmp_path_factory.mktemp("mcp"))
    (folder / "secret.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return folder


def asked(demo: Path, served: Sequence[str], *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the tools answer, one call after the other in one process: the answers, or the words of errors."""
    mcp = import_module("mcp")

    async def ask() -> list[Any]:
        place = mcp.StdioServerParameters(
            command=sys.executable, args=["-c", COMMAND, "mcp", *served], cwd=str(demo), env=dict(os.environ)
        )
        async with mcp.Client(place) as client:
            answers = [await client.call_tool(tool, given) for tool, given in calls]
        return [one.content[0].text if one.is_error else one.structured_content for one in answers]

    return asyncio.run(asyncio.wait_for(ask(), 120))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_written(demo: Path) -> Iterator[None]:
    before = {path: path.stat().st_mtime_ns for path in demo.rglob("*")}
    yield
    assert {path: path.stat().st_mtime_ns for path in demo.rglob("*")} == before


def test_the_tools_say_what_they_do_and_that_they_only_read(demo: Path) -> None:
    mcp = import_module("mcp")

    async def ask() -> Any:
        place = mcp.StdioServerParameters(
            command=sys.executable, args=["-c", COMMAND, "mcp", *SERVED], cwd=str(demo), env=dict(os.environ)
        )
        async with mcp.Client(place) as client:
            return (await client.list_tools()).tools, client.server_info

    tools, info = asyncio.run(asyncio.wait_for(ask(), 120))
    assert [tool.name for tool in tools] == ["files", "discover", "check", "explain", "test_rule"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    described = [value for tool in tools for value in tool.input_schema["properties"].values()]
    assert all(value.get("description") for value in described)
    assert info.name == "holdfast"


def test_a_proposed_rule_comes_back_with_counts_and_a_counterexample(demo: Path) -> None:
    wrong, right, alone = asked(
        demo,
        SERVED,
        ("test_rule", {"data": "orders.csv", "rule": "zip -> city", "key": "order_id"}),
        ("test_rule", {"data": "clean.csv", "rule": "zip -> city"}),
        ("test_rule", {"data": "orders.csv", "rule": "not(t.ordered > t.shipped)", "key": "order_id"}),
    )
    counted = hf.check(demo / "orders.csv", "zip -> city", key="order_id").to_dict()["rules"][0]
    assert wrong["true"] is False
    for name in ("violating_pairs", "violating_rows", "suspect_rows", "violating_groups"):
        assert wrong[name] == counted[name]
    left, other = wrong["counterexample"]["rows"]
    assert left["values"]["zip"] == other["values"]["zip"]
    assert left["values"]["city"] != other["values"]["city"]
    assert wrong["counterexample"]["breaks_on"] == ["city"]
    assert left["row"].startswith("SO-")
    assert (right["true"], right["violating_rows"], right["counterexample"]) == (True, 0, None)
    assert right["denials"] == ["not(t.zip = s.zip and t.city != s.city)"]
    (row,) = alone["counterexample"]["rows"]
    assert row["values"]["ordered"] > row["values"]["shipped"]


def test_discover_check_and_explain_answer_as_the_library_does(demo: Path) -> None:
    listed, found, checked, texts, explained = asked(
        demo,
        SERVED,
        ("files", {}),
        ("discover", {"data": "clean.csv", "columns": ["zip", "city", "state"], "decisions": "decisions.yaml"}),
        ("check", {"data": "orders.csv", "rules": "rules.yaml"}),
        ("check", {"data": "orders.csv", "rules": ["zip -> city", "unique(order_id)"]}),
        ("explain", {"data": "orders.csv", "rules": "rules.yaml", "row": "SO-2486", "key": "order_id"}),
    )
    assert listed == {"tables": ["clean.csv", "orders.csv"], "rule_files": ["rules.yaml", "decisions.yaml"]}
    beside = hf.discover(demo / "clean.csv", columns="zip,city,state", decisions=demo / "decisions.yaml").to_dict()
    assert [rule["rule"] for rule in found["rules"]] == [rule["rule"] for rule in beside["rules"]]
    assert [entry["holds"] for entry in found["decisions"]["kept"]] == [True, True]
    wanted = hf.check(demo / "orders.csv", demo / "rules.yaml").to_dict()
    for mine, theirs in zip(checked["rules"], wanted["rules"], strict=True):
        assert {name: mine[name] for name in theirs} == theirs
        assert (mine["counterexample"] is None) == (not theirs["violating_rows"])
    assert [rule["holds"] for rule in texts["rules"]] == [False, True]
    assert explained["row"] == "SO-2486"
    assert explained["suggestions"][0]["suggested"] == "Cambridge"


@pytest.mark.parametrize("place", ["secret.csv", "{demo}/secret.csv", "/etc/passwd", "../secret.csv", "spark:db.t", ""])
def test_only_files_that_are_named_are_read(demo: Path, place: str) -> None:
    name = place.format(demo=demo)
    answers = asked(
        demo,
        SERVED,
        ("test_rule", {"data": name, "rule": "a -> b"}),
        ("discover", {"data": name}),
        ("check", {"data": "clean.csv", "rules": f"{name}.yaml"}),
        ("check", {"data": "clean.csv", "rules": name}),
        ("check", {"data": "clean.csv", "rules": [name]}),
        ("discover", {"data": "clean.csv", "decisions": name}),
    )
    for answer in answers[:3]:
        assert "is served here" in answer
    assert all(isinstance(answer, str) for answer in answers), "each is refused"


def test_what_is_wrong_is_told_in_words_and_the_server_goes_on(demo: Path) -> None:
    syntax, column, tables, fine = asked(
        demo,
        SERVED,
        ("test_rule", {"data": "clean.csv", "rule": "zip ->"}),
        ("test_rule", {"data": "clean.csv", "rule": "zipcode -> city"}),
        ("test_rule", {"data": "clean.csv", "rule": "a(x) in b(y)"}),
        ("test_rule", {"data": "clean.csv", "rule": "unique(order_id)"}),
    )
    assert "expected a column name" in syntax
    assert "no such column" in column
    assert "names the tables a, b" in tables
    assert fine["true"] is True


def test_values_of_redacted_columns_are_given_to_nobody(demo: Path) -> None:
    wrong, found, explained, discovered = asked(
        demo,
        (*SERVED, "--redact", "city,tier"),
        ("test_rule", {"data": "orders.csv", "rule": "zip -> city"}),
        ("check", {"data": "orders.csv", "rules": ["zip -> city"]}),
        ("explain", {"data": "orders.csv", "rules": "rules.yaml", "row": "SO-2486", "key": "order_id"}),
        ("discover", {"data": "clean.csv", "columns": ["tier", "country"]}),
    )
    assert "not(t.country not in ('CH', 'DE', 'US'))" in [rule["rule"] for rule in discovered["column_rules"]]
    assert "gold" not in str(discovered)
    for answer in (wrong, found, explained):
        assert "Cambr" not in str(answer)
    assert wrong["violating_pairs"] > 0


def started(demo: Path, before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", before + COMMAND, "mcp", *arguments]
    return subprocess.run(command, cwd=demo, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def test_without_the_package_one_line_says_how_to_install_it(demo: Path) -> None:
    ended = started(demo, "import sys; sys.modules['mcp'] = None; ", "clean.csv")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert 'pip install "holdfast[mcp]"' in ended.stderr
    assert ended.stdout == ""


def test_the_command_ends_with_its_input_and_refuses_what_is_not_there(demo: Path) -> None:
    assert started(demo, "", "clean.csv").returncode == 0
    ended = started(demo, "", "clean.csv", "no.csv")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "there is no file or folder 'no.csv'" in ended.stderr


def test_files_are_served_under_short_names(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("x.csv", "a/x.csv", "r.yaml"):
        (tmp_path / name).write_text("a\n1\n", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("x.csv", "a/x.csv", "r.yaml")]
    served = served_files(paths)
    assert [file.name for file in served.files] == [*paths[:2], "r.yaml"]
    assert served.data(paths[1]) == os.path.realpath(paths[1])
    with pytest.raises(OptionError, match=r"no table 'r\.yaml' is served here"):
        served.data("r.yaml")
    with pytest.raises(OptionError, match="named twice"):
        served_files([paths[0], paths[0]])
    with pytest.raises(OptionError, match="nothing to serve"):
        served_files([])
    with pytest.raises(SourceNotFoundError):
        served_files([str(tmp_path / "no.csv")])
