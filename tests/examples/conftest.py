"""Shells for the examples: one with the installed command, and one whose `holdfast` is run by the tests' own process,
where the scripts need Spark and should not wait for a JVM of their own."""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.demo.run import copy_demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Shell = Callable[..., subprocess.CompletedProcess[str]]

COMMAND = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    asked.sendall(json.dumps([sys.argv[1:], os.getcwd()]).encode())
    asked.shutdown(socket.SHUT_WR)
    code, out, err = json.loads(b"".join(iter(lambda: asked.recv(65536), b"")))
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


class _Answer(socketserver.StreamRequestHandler):
    """Runs the command with the arguments that were sent, in the folder that was sent."""

    def handle(self) -> None:
        arguments, folder = json.loads(self.rfile.read())
        before = os.getcwd()
        os.chdir(folder)
        try:
            done = CliRunner().invoke(app, arguments, prog_name="holdfast")
        finally:
            os.chdir(before)
        self.wfile.write(json.dumps([done.exit_code, done.stdout, done.stderr]).encode())


@pytest.fixture(scope="session")
def command(spark: SparkSession) -> Iterator[Path]:
    """A folder with an executable `holdfast` that this process answers."""
    place = Path(tempfile.mkdtemp(prefix="hf-"))  # not in tmp_path: the address of a socket has to be short
    address = str(place / "socket")
    executable = place / "holdfast"
    executable.write_text(COMMAND.format(python=sys.executable, address=address), encoding="utf-8")
    executable.chmod(0o755)
    with socketserver.UnixStreamServer(address, _Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield place
        server.shutdown()
        thread.join()
    shutil.rmtree(place)


@pytest.fixture
def shell() -> Shell:
    """Runs bash with these arguments, the installed `holdfast` and this `python` on its PATH."""
    return shell_with()


@pytest.fixture
def spark_shell(command: Path) -> Shell:
    """Runs bash with these arguments; this process, which has a session, answers for `holdfast`."""
    return shell_with(command)


def shell_with(*commands: Path) -> Shell:
    def run(*arguments: str | Path, cwd: Path, first: Path | None = None, **env: str) -> Any:
        folders = [*([first] if first is not None else []), *commands, Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        return subprocess.run(
            ["bash", *map(str, arguments)], cwd=cwd, env={**os.environ, "PATH": path, **env}, capture_output=True,
            text=True, check=False, timeout=900,
        )  # fmt: skip

    return run


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A folder with the demo's files: clean.csv, orders.csv, rules.yaml."""
    return copy_demo(tmp_path / "demo")


@pytest.fixture
def examples() -> Path:
    return Path(__file__).resolve().parents[2] / "examples"
