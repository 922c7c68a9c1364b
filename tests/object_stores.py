"""Stores to test states on: folders, objects in memory, and those of an S3 server on this machine."""

from __future__ import annotations

import http.client
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import obstore
import pytest
from obstore.store import MemoryStore, from_url

from holdfast.states.object_store import ObjectStore
from holdfast.states.store import Store, open_store

KINDS = ("folder", "memory", "s3")
# What a client of the server finds in its environment.
_KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-to-be-shown", "AWS_REGION": "us-east-1"}


@contextmanager
def s3_server() -> Iterator[str]:
    """The URL of a bucket of a server that runs in a thread; the environment is that of its clients."""
    from moto.server import ThreadedMotoServer  # takes a second

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in {**_KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true"}.items():
            patch.setenv(name, value)
        make_bucket(host, port, "states")
        yield "s3://states"
    server.stop()


def make_bucket(host: str, port: int, name: str) -> None:
    connection = http.client.HTTPConnection(host, port)
    connection.request("PUT", f"/{name}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"the S3 server of the tests has no bucket {name}: {answer.status}")


def fresh_place(bucket: str) -> str:
    """The address of a state that is not there."""
    return f"{bucket}/{uuid4().hex}"


def fresh_store(kind: str, folder: Path, bucket: str) -> Store:
    """An empty store of this kind."""
    if kind == "memory":
        return ObjectStore(f"memory://{uuid4().hex}", client=MemoryStore())
    return open_store(folder / "state" if kind == "folder" else fresh_place(bucket))


def copied_state(source: str, target: str) -> str:
    """Returns the address `target`, where all objects of the state at `source` are, too."""
    old, new = from_url(source), from_url(target)
    for batch in obstore.list(old):
        for own in batch:
            obstore.put(new, own["path"], bytes(obstore.get(old, own["path"]).bytes()))
    return target


def objects_of(place: str) -> dict[str, bytes]:
    """All objects of the state, by name."""
    client = from_url(place)
    return {
        own["path"]: bytes(obstore.get(client, own["path"]).bytes()) for batch in obstore.list(client) for own in batch
    }
