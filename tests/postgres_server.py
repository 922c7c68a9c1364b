"""A PostgreSQL server for one test, where the machine has one, and the jar of its JDBC driver."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from waiting import wait_until

JARS = [Path.home() / ".m2/repository/org/postgresql/postgresql", Path("/usr/share/java")]


def driver_jar() -> Path | None:
    found = [jar for place in JARS if place.is_dir() for jar in sorted(place.rglob("postgresql*.jar"))]
    return found[-1] if found else None


@contextmanager
def postgres_server(folder: Path, commands: Sequence[str]) -> Iterator[str]:
    """The URL of a database in which psql has run these commands; skips where there is no server or no driver."""
    if driver_jar() is None:
        pytest.skip("there is no JDBC driver of PostgreSQL in ~/.m2 or /usr/share/java")
    with postgres_port(folder) as port:
        for command in commands:
            psql(port, command)
        yield f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=ann"


def psql(port: int, command: str) -> str:
    """What the server prints, a row per line; RuntimeError where it refuses."""
    options = [
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-U",
        "ann",
        "-d",
        "postgres",
        "-At",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        "-",
    ]
    asked = subprocess.run(["psql", *options], input=command, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise RuntimeError(asked.stderr)
    return asked.stdout


@contextmanager
def postgres_port(folder: Path) -> Iterator[int]:
    """The port of an empty server; skips where there is none."""
    binaries = {name: shutil.which(name) for name in ("initdb", "postgres", "psql")}
    missing = [name for name, path in binaries.items() if path is None]
    if missing:
        pytest.skip(f"PostgreSQL is not here: no {', '.join(missing)} on PATH")
    place = folder / "pg"
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        try:
            import pwd

            nobody = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        place = Path("/tmp") / f"holdfast-pg-{os.getpid()}"
        place.mkdir(mode=0o700)
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        data = place / "data"
        subprocess.run(
            [str(binaries["initdb"]), "-D", str(data), "-U", "ann", "-A", "trust", "--no-sync"],
            check=True, capture_output=True, cwd="/", **user,
        )  # fmt: skip
        options = ["-c", "fsync=off", "-c", f"unix_socket_directories={place}", "-c", "listen_addresses=127.0.0.1"]
        server = subprocess.Popen(
            [str(binaries["postgres"]), "-D", str(data), "-p", str(port), *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **user,
        )  # fmt: skip
        try:
            asked = [str(binaries["psql"]), "-h", "127.0.0.1", "-p", str(port), "-U", "ann", "-d", "postgres", "-c"]

            def answers() -> bool:
                if server.poll() is not None:
                    pytest.skip("PostgreSQL does not start here")
                return subprocess.run([*asked, "select 1"], capture_output=True, check=False).returncode == 0

            wait_until(answers, "PostgreSQL to answer", seconds=60)
            yield port
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(place, ignore_errors=True)
