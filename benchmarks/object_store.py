"""How long a batch takes in a state on an object store beside one in a folder, on an S3 server on this machine.

    python benchmarks/object_store.py [--rows 10000 100000] [--changes 100] [--batches 9] [--delay 0 20]

Seconds of `WatchState.apply`, in this process, on generated orders with two rules: the median of the batches, and the
requests of one. The server is moto, which keeps objects in memory and answers in milliseconds; with `--delay` each of
its answers comes so many milliseconds later, as from a store that is further away. What a fresh machine takes, which
has no copies of the files of the state, is measured once more, with an empty cache.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from memory import PeakMemory
from record import add_record_options, recording

from holdfast.api import WatchState

RULES = ["customer -> city", "not(t.customer = s.customer and t.at < s.at and t.points > s.points)"]


class Counted:
    """A server's program that counts requests and answers late."""

    def __init__(self, program: Any) -> None:
        self.program, self.requests, self.delay = program, 0, 0.0

    def __call__(self, environ: Any, start: Any) -> Any:
        self.requests += 1
        time.sleep(self.delay)
        return self.program(environ, start)


@contextmanager
def served() -> Iterator[Counted]:
    """An S3 server with a bucket `states`, which clients find by the environment."""
    from threading import Thread

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    counted = Counted(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, counted, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}", "AWS_ALLOW_HTTP": "true"}
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("PUT", "/states")
    assert connection.getresponse().status == 200
    yield counted
    server.shutdown()


def orders(first: int, rows: int, chance: np.random.Generator) -> pa.Table:
    customer = chance.integers(0, 20_000, rows)
    at = chance.integers(0, 1_000_000, rows)
    noise = (chance.random(rows) < 0.01) * chance.integers(0, 50, rows)
    columns = {"id": np.arange(first, first + rows), "customer": customer, "city": customer % 300, "at": at}
    return pa.table({**columns, "points": at // 100 + noise})


def measure(place: str, folder: Path, rows: int, changes: int, batches: int, server: Counted) -> dict[str, Any]:
    chance = np.random.default_rng(1)
    pq.write_table(orders(0, rows, chance), folder / "orders.parquet")
    started = time.perf_counter()
    WatchState.create(place, folder / "orders.parquet", RULES, key="id", engine="local")
    seconds: dict[str, Any] = {"init": round(time.perf_counter() - started, 3)}
    times, requests = [], []
    for batch in range(batches + 1):
        file = folder / f"{batch}.parquet"
        pq.write_table(orders(rows + batch * changes, changes, chance), file)
        if batch == batches:
            os.environ["HOLDFAST_CACHE"] = str(folder / "another-cache")
        before, started = server.requests, time.perf_counter()
        WatchState.open(place, engine="local").apply(file)
        times.append(time.perf_counter() - started)
        requests.append(server.requests - before)
    seconds |= {"apply": round(statistics.median(times[:-1]), 3), "requests": int(statistics.median(requests[:-1]))}
    return {**seconds, "apply, empty cache": round(times[-1], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--batches", type=int, default=9)
    parser.add_argument("--delay", type=float, nargs="+", default=[0, 20], help="milliseconds")
    add_record_options(parser)
    given = parser.parse_args()
    with recording(given) as record, served() as server, tempfile.TemporaryDirectory() as warm:
        measure(f"{warm}/state", Path(warm), 1000, 10, 2, server)  # compiles and imports
        units = dict.fromkeys(("init", "apply", "fresh"), "s")
        kept = record.table("states", keys=("rows", "changes", "state"), units=units)
        for rows in given.rows:
            for delay in (None, *given.delay):
                with tempfile.TemporaryDirectory() as folder:
                    os.environ["HOLDFAST_CACHE"] = f"{folder}/cache"
                    server.delay = (delay or 0) / 1000
                    place = f"{folder}/state" if delay is None else f"s3://states/{rows}-{delay:g}"
                    with PeakMemory() as memory:
                        told = measure(place, Path(folder), rows, given.changes, given.batches, server)
                    where = "folder" if delay is None else f"S3, {delay:g} ms"
                    # A folder needs no copies, so that a fresh machine is like any other.
                    fresh = None if delay is None else told["apply, empty cache"]
                    known = {name: told[name] for name in ("init", "apply", "requests")}
                    kept.add(memory.peak, rows=rows, changes=given.changes, state=where, fresh=fresh, **known)
                    print(json.dumps({"rows": rows, "changes": given.changes, "state": where, **told}), flush=True)


if __name__ == "__main__":
    main()
