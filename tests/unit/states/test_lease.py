"""A lease keeps a second writer out as long as the first is heard of, and is taken over from one that is not."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from holdfast.errors import BusyStateError, RunError
from holdfast.states.lease import LEASE, FoundObject, Holder, Tag, leased
from holdfast.states.object_store import ObjectStore
from waiting import wait_until

ROOT, SECONDS = "memory://x", 60.0
ELSEWHERE = Holder("another-host", 7)


@dataclass
class Objects:
    """Objects of a store whose clock is set by hand."""

    time: float = 1_000_000.0
    there: dict[str, FoundObject] = field(default_factory=dict)
    writes: int = 0

    def get(self, name: str) -> FoundObject | None:
        return self.there.get(name)

    def put_if(self, name: str, content: bytes, tag: Tag | None) -> Tag | None:
        found = self.there.get(name)
        if tag != (None if found is None else found.tag):
            return None
        self.writes += 1
        self.there[name] = FoundObject(content, {"e_tag": str(self.writes)}, self.time)
        return self.there[name].tag

    def now(self) -> float:
        return self.time

    def held_by(self, holder: Holder, seconds: float = SECONDS) -> None:
        """Somebody has the lease since now."""
        content = json.dumps({"holder": asdict(holder), "seconds": seconds, "token": "theirs"})
        self.writes += 1
        self.there[LEASE] = FoundObject(content.encode(), {"e_tag": str(self.writes)}, self.time)


def refused(objects: Objects) -> str:
    with pytest.raises(BusyStateError) as problem, leased(objects, ROOT, SECONDS):
        pass
    return str(problem.value)


def taken(objects: Objects) -> bool:
    """Whether who takes the lease now has to reckon with another writer; it can be taken."""
    with leased(objects, ROOT, SECONDS) as held:
        return held.others_may_write


def test_the_first_writer_does_not_know_whether_there_was_another() -> None:
    objects = Objects()
    assert taken(objects)
    assert not taken(objects)


def test_a_lease_keeps_others_out_until_it_ends() -> None:
    objects = Objects()
    objects.held_by(ELSEWHERE)
    objects.time += SECONDS - 1
    assert "process 7 on another-host" in refused(objects)
    assert "within 60 seconds" in refused(objects)
    objects.time += 2
    assert taken(objects)


def test_a_writer_without_an_own_clock_is_believed_by_that_of_the_store() -> None:
    objects = Objects(time=-5e8)  # whatever year it thinks it is
    objects.held_by(ELSEWHERE)
    refused(objects)
    objects.time += SECONDS + 1
    assert taken(objects)


def test_a_clock_that_went_back_keeps_nobody_out() -> None:
    objects = Objects()
    objects.held_by(ELSEWHERE)
    objects.time -= 5
    refused(objects)
    objects.time -= 86_400
    assert taken(objects)


def test_a_process_of_this_machine_that_is_no_more_keeps_nobody_out() -> None:
    objects, here = Objects(), Holder.this_process()
    objects.held_by(here)
    refused(objects)
    objects.held_by(replace(here, began="1"))  # its number is another process's now
    assert taken(objects)
    objects.held_by(replace(here, began="1", host="another-host"))
    refused(objects)
    objects.held_by(replace(here, began="1", machine="another boot"))
    refused(objects)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"holder": 3, "seconds": "x", "token": ""}', b"\xff"])
def test_a_damaged_lease_ends_as_others_do(content: bytes) -> None:
    objects = Objects()
    objects.there[LEASE] = FoundObject(content, {"e_tag": "x"}, objects.time)
    refused(objects)
    objects.time += SECONDS + 1
    assert taken(objects)


def test_of_two_who_take_over_one_has_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Objects()
    objects.held_by(ELSEWHERE)
    objects.time += SECONDS + 1
    now = objects.now

    def meanwhile() -> float:
        objects.held_by(Holder("a-third-host", 8))
        return now()

    monkeypatch.setattr(objects, "now", meanwhile)
    assert "another process is writing" in refused(objects)


def test_who_has_lost_the_lease_hears_of_it_and_leaves_it_alone() -> None:
    objects = Objects()
    with leased(objects, ROOT, SECONDS) as held:
        held.confirm()
        objects.held_by(ELSEWHERE)
        theirs = objects.there[LEASE]
        for _ in range(2):
            with pytest.raises(BusyStateError, match="has taken the state memory://x over"):
                held.confirm()
    assert objects.there[LEASE] == theirs


def test_a_lease_is_renewed_while_it_is_held() -> None:
    objects = Objects()
    with leased(objects, ROOT, 0.04):
        before = objects.writes
        wait_until(lambda: objects.writes > before + 2, "its renewal")
    content = json.loads(objects.there[LEASE].content)
    assert content["seconds"] == 0


def test_a_lost_answer_is_no_lost_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Objects()
    put_if = objects.put_if
    with leased(objects, ROOT, SECONDS) as held:

        def lost(name: str, content: bytes, tag: Tag | None) -> Tag | None:
            put_if(name, content, tag)
            raise RunError("no answer")

        monkeypatch.setattr(objects, "put_if", lost)
        with pytest.raises(RunError):
            held.confirm()
        monkeypatch.setattr(objects, "put_if", put_if)
        held.confirm()


def test_what_is_removed_is_removed_by_who_has_the_lease() -> None:
    store = ObjectStore(ROOT, client=MemoryStore())
    store.create("a/x", b"one")
    with store.only_writer() as writer:
        obstore.put(store.client, LEASE, b"{}")  # type: ignore[arg-type]
        with pytest.raises(BusyStateError, match="has taken the state"):
            writer.remove(["a/x"])
    assert store.names("a") == ["x"]


@pytest.mark.parametrize("problem", [GenericError("no answer"), None])
def test_who_has_created_an_object_knows_it_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, problem: Exception | None
) -> None:
    """Where the answer is lost, or where it is to the second try of one whose first had been heard."""
    store, put = ObjectStore(ROOT, client=MemoryStore()), obstore.put

    def lost(*given: Any, **named: Any) -> Any:
        put(*given, **named)
        if problem is not None:
            raise problem
        return put(*given, **named)

    monkeypatch.setattr("holdfast.states.object_store.obstore.put", lost)
    assert store.create("a/x", b"one")
    assert not store.create("a/x", b"one")
    assert store.read("a/x") == b"one"


def test_what_was_not_created_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(ROOT, client=MemoryStore())

    def refuse(*_: Any, **__: Any) -> Any:
        raise GenericError("no answer")

    monkeypatch.setattr("holdfast.states.object_store.obstore.put", refuse)
    with pytest.raises(RunError, match="no answer"):
        store.create("a/x", b"one")
