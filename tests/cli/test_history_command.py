"""What a check leaves for others: metrics with a history, and messages to webhooks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

RULES = """\
key: id
rules:
  - {name: zip-city, rule: zip -> city, owner: logistics, tags: [daily]}
  - {name: pay, rule: not(t.pay > 9), severity: warn}
"""
HEAD = "id,zip,city,pay\n"
WELL, WRONG, WARNED = "1,a,x,1\n2,a,x,1\n", "1,a,x,1\n2,a,y,1\n", "1,a,x,1\n2,a,x,10\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    return tmp_path


def check(folder: Path, rows: str, *more: str) -> Any:
    (folder / "t.csv").write_text(HEAD + rows, encoding="utf-8")
    return CliRunner().invoke(app, ["check", str(folder / "t.csv"), str(folder / "rules.yaml"), "-q", *more])


def test_checks_leave_a_history_beside_metrics_of_earlier_versions(folder: Path) -> None:
    metrics = folder / "metrics"
    metrics.mkdir()
    old = {"run_id": ["old"], "rule": ["zip-city"], "rows": [2], "violating_rows": [0], "violating_pairs": [0]}
    times = pa.array([1_700_000_000_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({**old, "run_time": times, "seconds": [0.1]}), metrics / "part-0.parquet")
    for rows in (WELL, WRONG):
        check(folder, rows, "--metrics", str(metrics))
    done = CliRunner().invoke(app, ["history", str(metrics), "--report", str(folder / "h.html")])
    assert done.exit_code == 0, done.output
    assert "3 runs, 2023-11-14 to " in done.stdout
    assert "violated  zip-city  ▁█  1 of 2 rows suspect (50%)" in done.stdout
    assert "zip-city  holds -> violated, 0 of 2 -> 1 of 2 rows suspect" in done.stdout
    assert "1 rule got worse" in (folder / "h.html").read_text("utf-8")
    told = json.loads(CliRunner().invoke(app, ["history", str(metrics), "--format", "json"]).stdout)
    assert (told["runs"], [entry["rule"] for entry in told["worse"]]) == (3, ["zip-city"])
    newest = [point for rule in told["rules"] if rule["table"] == "t.csv" for point in rule["points"]]
    assert {point["verdict"] for point in newest} == {"holds", "violated"}
    assert len({point["fingerprint"] for point in newest}) == 2
    for bad in ("none", "rules.yaml"):
        assert CliRunner().invoke(app, ["history", str(folder / bad)]).exit_code == 2
    (folder / "empty").mkdir()
    assert CliRunner().invoke(app, ["history", str(folder / "empty")]).exit_code == 2
    pq.write_table(pa.table({"a": [1]}), metrics / "x.parquet")
    refused = CliRunner().invoke(app, ["history", str(metrics)])
    assert refused.exit_code == 2
    assert "is not of a table of metrics" in refused.stderr


def test_a_table_of_metrics_has_the_history_of_their_folder(folder: Path) -> None:
    tables = []
    for rows in (WELL, WRONG):
        (folder / "t.csv").write_text(HEAD + rows, encoding="utf-8")
        with hf.check(folder / "t.csv", folder / "rules.yaml") as result:
            result.append_metrics(str(folder / "metrics"))
            tables.append(result.metrics.to_arrow())
            assert result.metrics.to_arrow().equals(tables[-1])
    told = [hf.history(metrics).to_dict() for metrics in (pa.concat_tables(tables), folder / "metrics")]
    for history in told:
        for rule in history["rules"]:
            for point in rule["points"]:
                del point["run_id"], point["run_time"]
    assert told[0] == told[1]
    assert [entry["rule"] for entry in told[0]["worse"]] == ["zip-city"]
    with pytest.raises(hf.HoldfastError, match="is not of a table of metrics"):
        hf.history(pa.table({"a": [1]}))


class Server(ThreadingHTTPServer):
    """Answers with a code, and keeps what it was sent."""

    code = 200
    bodies: list[tuple[str, dict[str, Any]]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append((self.path, json.loads(body)))
        self.send_response(self.server.code)
        if self.server.code == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.bodies.append((self.path, {}))

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as made:
        made.bodies = []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("HOOK", f"http://127.0.0.1:{made.server_port}/s3cret")
        yield made
        made.shutdown()
        thread.join()


def test_a_message_is_sent_where_the_check_fails(folder: Path, server: Server) -> None:
    assert check(folder, WELL, "--notify", "env:HOOK").exit_code == 0
    assert check(folder, WARNED, "--notify", "env:HOOK").exit_code == 0
    assert server.bodies == []
    assert check(folder, WRONG, "--notify", "env:HOOK", "--notify", "slack:env:HOOK").exit_code == 1
    (path, told), (_, slack) = server.bodies
    assert (path, told["table"], told["holds"], told["violated_count"]) == ("/s3cret", "t.csv", False, 1)
    (rule,) = told["violated"]
    assert (rule["name"], rule["suspect_rows"], rule["owner"], rule["tags"]) == ("zip-city", 1, "logistics", ["daily"])
    counts = "1 pair, 2 rows, 1 suspect, 1 group"
    text = f"t.csv (2 rows): 1 of 2 rules is violated.\nviolated: zip-city, {counts}, owner logistics"
    assert slack == {"text": text}
    assert told["text"] == text
    check(folder, WARNED, "--notify", "env:HOOK", "--notify-on", "warning")
    check(folder, WELL, "--notify", "env:HOOK", "--notify-on", "always")
    assert [body["holds"] for _, body in server.bodies[2:]] == [True, True]


@pytest.mark.parametrize("code", [500, 302, None])
def test_a_message_that_fails_is_a_note_without_the_address(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    if code is None:
        monkeypatch.setenv("HOOK", "http://127.0.0.1:1/s3cret")
    else:
        server.code = code
    done = check(folder, WRONG, "--notify", "env:HOOK", "--verbose")
    assert done.exit_code == 1
    assert "note: the notification to env:HOOK was not sent: " in done.stderr
    assert "s3cret" not in done.output + done.stderr
    assert "zip-city" in done.stdout
    assert [path for path, _ in server.bodies] == ([] if code is None else ["/s3cret"])


@pytest.mark.parametrize(
    "given", ["env:NO_SUCH_HOOK", "ftp://x/s3cret", "s3cret", "http://h:s3cret/", "http://x/s3 cret"]
)
def test_what_is_no_address_is_refused_before_anything_runs_and_not_shown(folder: Path, given: str) -> None:
    done = check(folder, WRONG, "--notify", given, "--metrics", str(folder / "m"))
    assert done.exit_code == 2
    assert "s3" not in done.output + done.stderr
    assert not (folder / "m").exists()
