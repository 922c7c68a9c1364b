"""Work in threads: results in order, the first problem raised, items after a problem left out."""

from __future__ import annotations

import threading

import pytest

from holdfast.engines.local.interruptible import interruptible, interruptible_each


def test_results_come_in_the_order_of_the_items() -> None:
    assert interruptible_each(lambda n: n * n, range(100)) == [n * n for n in range(100)]
    assert interruptible_each(str, []) == []


def test_as_many_items_as_there_are_cores_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    together = threading.Barrier(3, timeout=30)  # which only three threads at once get past
    assert sorted(interruptible_each(lambda _: together.wait(), range(3))) == [0, 1, 2]


def test_a_problem_is_raised_and_what_was_not_begun_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    begun: list[int] = []

    def work(n: int) -> None:
        begun.append(n)
        if n == 2:
            raise ValueError(n)

    with pytest.raises(ValueError, match="2"):
        interruptible_each(work, range(10))
    assert begun == [0, 1, 2]


def test_work_beside_the_main_thread_stays_in_its_thread() -> None:
    here: list[bool] = []

    def beside() -> None:
        here.append(interruptible(threading.current_thread) is threading.current_thread())

    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    assert here == [True]
    assert interruptible(threading.current_thread) is not threading.main_thread()
