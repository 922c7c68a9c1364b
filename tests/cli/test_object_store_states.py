"""States on an object store, as a user types them: all commands of all three jobs, and what is said of mistakes."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from obstore.store import from_url
from typer.testing import CliRunner

from holdfast.cli import app
from object_stores import fresh_place

SITES = """key: id
sites:
  places: {columns: [zip], data: people.csv}
  cities: {columns: [city], data: cities.csv}
rules: ["zip -> city"]
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("id,zip,city\n1,02139,Cambridge\n2,02139,Cambridge\n3,02139,Cambrige\n")
    Path("people.csv").write_text("id,zip\n1,02139\n2,02139\n3,02139\n")
    Path("cities.csv").write_text("id,city\n1,Cambridge\n2,Cambridge\n3,Cambrige\n")
    Path("sites.yaml").write_text(SITES)
    Path("in").mkdir()
    Path("in/1.csv").write_text("id,zip,city,_change_type\n3,02139,Cambridge,update_postimage\n")


def run(*arguments: str, code: int = 0) -> str:
    engine = [] if arguments[1] == "verify" else ["--engine", "local"]
    done = CliRunner().invoke(app, [*arguments, *engine])
    assert done.exit_code == code, done.output
    assert "not-to-be-shown" not in done.output
    return done.stdout if code == 0 else done.output


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--format", "json"))


@pytest.mark.parametrize("job", ["watch", "evolve", "fragments"])
def test_commands_say_the_same_of_a_state_on_an_object_store(job: str, tmp_path: Path, s3_bucket: str) -> None:
    says = []
    for place in (str(tmp_path / "state"), fresh_place(s3_bucket)):
        init = {
            "watch": ["--data", "table.csv", "--key", "id", "--rules", "zip -> city"],
            "evolve": ["--data", "table.csv", "--key", "id"],
            "fragments": ["sites.yaml"],
        }[job]
        run(job, "init", place, *init)
        if job == "fragments":
            batch = told(job, "apply", place, "in/1.csv")
        else:
            (batch,) = (
                json.loads(line)
                for line in run(job, "run", place, "--source", "in", "--once", "--format", "json").splitlines()
            )
        again = told(job, "apply", place, "in/1.csv")
        shown = told(job, "show", place)
        verified = told(job, "verify", place)
        assert verified.pop("state") == place
        verified.pop("bytes")  # of random names
        for own in (batch, again, shown):
            own.pop("seconds", None)
        assert (batch["applied"], again["applied"], verified["whole"]) == (True, False, True)
        says.append((batch, again, shown, verified))
    assert says[0] == says[1]


def test_a_damaged_object_is_named(tmp_path: Path, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fresh_place(s3_bucket)
    run("watch", "init", place, "--data", "table.csv", "--key", "id", "--rules", "zip -> city")
    client = from_url(place)
    (name,) = (own["path"] for batch in client.list("rows") for own in batch)
    content = bytes(client.get(name).bytes())
    client.put(name, content[:-1] + b"x")
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "empty"))
    for command in ("show", "verify"):
        assert f"{name} has another content than was written" in run("watch", command, place, code=2)
    client.put(name, content[:-1])
    assert f"{name} has " in run("watch", "apply", place, "in/1.csv", code=2)
    client.delete(name)
    assert f"{name} is missing" in run("watch", "show", place, code=2)
    client.put(name, content)
    run("watch", "show", place)


def test_what_is_wrong_with_an_address_is_said(s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(place: str, code: int = 2) -> str:
        return run("watch", "show", place, code=code)

    assert "there is no state at s3://states/nowhere" in refused("s3://states/nowhere/")
    assert "there is no bucket nobodys" in refused("s3://nobodys/state")
    assert "names no bucket" in refused("s3://")
    for place in ("s3://me:not-to-be-shown@states/x", "abfss://box@account.dfs.core.windows.net/x?sig=not-to-be-shown"):
        assert "leave out keys and tokens" in refused(place)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    assert "AWS_ALLOW_HTTP=true" in refused("s3://states/x")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        said = refused("s3://states/x", code=3)
    assert "cannot be reached" in said
    assert "AWS_ENDPOINT_URL" in said


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "holdfast.states.object_store", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    assert "pip install 'holdfast[objectstore]'" in run("watch", "show", "s3://states/x", code=2)
