"""The GitHub Action: its steps, run in bash, against an API on this machine that answers as GitHub does."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).resolve().parents[2]


class FakeGitHub(ThreadingHTTPServer):
    """Comments of pull requests, in memory; `refuses` is the status of what it does not allow to be written."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.comments: dict[int, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.refuses = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: FakeGitHub

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def _send(self, content: Any, status: int = 200) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        self.server.asked.append(("GET", self.path))
        assert self.headers["Authorization"] == "Bearer secret"
        page = int(self.path.rpartition("page=")[2])
        found = [{"id": i, "body": body} for i, body in self.server.comments.items()]
        self._send(found[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        self._write(max(self.server.comments, default=0) + 1, 201)

    def do_PATCH(self) -> None:
        self._write(int(self.path.rpartition("/")[2]), 200)

    def _write(self, number: int, status: int) -> None:
        self.server.asked.append((self.command, self.path))
        body = self._body()
        if self.server.refuses:
            self._send({"message": "no"}, self.server.refuses)
            return
        self.server.comments[number] = body
        self._send({"html_url": f"{self.server.url}/{number}"}, status)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def act(shell: Shell, github: FakeGitHub, demo: Path) -> Callable[..., tuple[int, str]]:
    """Runs the steps of the action but the installation, each where those before it have succeeded."""
    steps = [
        step
        for step in yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
        if step["name"] != "Install"
    ]
    (demo / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))

    def run(**inputs: str) -> tuple[int, str]:
        output = demo / "output"
        output.write_text("")
        given = {"data": "", "key": "", "baseline": "", "token": "secret", **inputs}
        env = {
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": "ann/shop",
            "GITHUB_EVENT_PATH": str(demo / "event.json"),
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(demo),
        }
        said = ""
        for step in steps:
            code = output.read_text().strip().removeprefix("code=")
            known = {"${{ github.action_path }}": str(ROOT), "${{ steps.check.outputs.code }}": code}
            known |= {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
            own = {name: known[value] for name, value in step.get("env", {}).items()}
            done = shell("-eo", "pipefail", "-c", step["run"], cwd=demo, **env, **own)
            said += done.stdout + done.stderr
            if done.returncode != 0:
                return done.returncode, said
        return 0, said

    return run


def test_a_pull_request_has_one_comment_that_is_kept_up_to_date(
    act: Callable[..., tuple[int, str]], github: FakeGitHub
) -> None:
    github.comments.update({i: f"words of a person {i}" for i in range(1, 121)})
    code, said = act(data="orders.csv", rules="rules.yaml", key="order_id")
    assert code == 1, said
    assert github.asked[-1] == ("POST", "/repos/ann/shop/issues/7/comments")
    comment = github.comments[121]
    assert comment.startswith("<!-- holdfast -->\n**Holdfast**: 8 of 10 rules are violated (240 rows).")
    assert "| ❌ | zip\\-place | ` zip -> city, state ` | 55 | 2 |" in comment
    assert "| ⚠️ | one\\-address |" in comment
    code, said = act(data="clean.csv", rules="rules.yaml", key="order_id")
    assert (code, github.asked[-1][0]) == (0, "PATCH")
    assert len(github.comments) == 121
    assert github.comments[121].startswith("<!-- holdfast -->\n**Holdfast**: all 10 rules hold")


def test_only_what_is_new_fails_beside_a_baseline(
    act: Callable[..., tuple[int, str]], github: FakeGitHub, demo: Path
) -> None:
    asked = {"data": "orders.csv", "rules": "rules.yaml", "key": "order_id", "baseline": "known.json"}
    assert act(**asked)[0] == 0  # the first run writes it
    assert (demo / "known.json").exists()
    assert act(**asked)[0] == 0
    assert "all 10 rules hold" in github.comments[1]


def test_a_file_may_name_its_tables(act: Callable[..., tuple[int, str]], github: FakeGitHub) -> None:
    code, said = act(rules="shop.yaml")
    assert code == 1, said
    assert "rules are violated" in github.comments[1]


def test_without_a_verdict_there_is_no_comment(act: Callable[..., tuple[int, str]], github: FakeGitHub) -> None:
    code, said = act(data="nowhere.csv", rules="rules.yaml")
    assert code == 1  # the step's; what it says is the command's
    assert "nowhere.csv" in said
    assert github.asked == []


def test_where_comments_are_refused_the_verdict_stays(act: Callable[..., tuple[int, str]], github: FakeGitHub) -> None:
    github.refuses = 403
    code, said = act(data="orders.csv", rules="rules.yaml", key="order_id")
    assert code == 1
    assert "::warning::the comment could not be written: 403" in said
    assert "8 of 10 rules are violated" in said
    assert "secret" not in said


def test_names_cannot_speak_in_a_comment(demo: Path, shell: Shell) -> None:
    rule = {"name": "@ann <b>|x|", "rule": "not(t.`a|b` = '``')", "severity": "error", "holds": False}
    counts = {"violating_rows": 3, "suspect_rows": None}
    (demo / "result.json").write_text(json.dumps({"rows": 3, "rules": [{**rule, **counts}] * 2000}))
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from comment_on_pull_request import comment_text; "
        "print(comment_text(json.load(open('result.json'))))"
    )
    done = shell("-c", 'python -c "$PROGRAM" "$SCRIPTS"', cwd=demo, PROGRAM=program, SCRIPTS=str(ROOT / "scripts"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) < 65_536
    assert "| @\u200bann \\<b\\>\\|x\\| | ``` not(t.`a\\|b` = '``') ``` | 3 |  |" in done.stdout
    assert "more |" in done.stdout
