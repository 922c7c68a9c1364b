"""Whoever ends a command while it works finds nothing half-written and no process left, and reads no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from faults.test_watch_crashes import workers
from waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
HOLDFAST = Path(sys.executable).with_name("holdfast")


def processes_of(session: int) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(entry.name)
    return found


def cpu_seconds(process: int) -> float:
    """How long the process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("engine", "sent", "code", "words"),
    [
        ("local", signal.SIGINT, 130, "interrupted"),
        ("local", signal.SIGTERM, 143, "terminated"),
        ("spark", signal.SIGINT, 130, "interrupted"),
        pytest.param("spark", signal.SIGTERM, 143, "terminated", marks=pytest.mark.soak),
    ],
)
def test_a_command_that_is_ended_leaves_nothing(
    tmp_path: Path, engine: str, sent: signal.Signals, code: int, words: str
) -> None:
    chance = Random(7)
    lines = [",".join(map(str, (i, *(chance.randrange(10**6) for _ in "abcd")))) for i in range(200_000)]
    (tmp_path / "big.csv").write_text("id,a,b,c,d\n" + "\n".join(lines) + "\n")
    # Four inequalities are counted pair by pair, which takes far longer than the test.
    rule = "not(t.a > s.a and t.b < s.b and t.c > s.c and t.d < s.d)"
    command = [str(HOLDFAST), "check", "big.csv", rule, "--violations", "found", "--report", "report.html"]
    command += ["--engine", engine]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests in the background of a shell ignore Ctrl-C, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert running.stderr is not None
        said = ""
        while "checking" not in said:
            said = running.stderr.readline()
            assert said, "it ended by itself"
        if engine == "spark":
            wait_until(lambda: workers(running.pid), "Spark to work", seconds=300)
        else:
            before = cpu_seconds(running.pid)
            wait_until(lambda: cpu_seconds(running.pid) > before + 2, "the kernels to work", seconds=300)
        assert running.poll() is None
        os.killpg(running.pid, sent) if sent is signal.SIGINT else running.send_signal(sent)  # as a terminal does
        out, err = running.communicate(timeout=300)
        assert running.returncode == code
        assert out == ""
        assert words in err
        assert "Traceback" not in err
        wait_until(lambda: processes_of(running.pid) == [], "all its processes to end", seconds=120)
        assert [entry.name for entry in tmp_path.iterdir()] == ["big.csv"]
    finally:
        running.kill()
