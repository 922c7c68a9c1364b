"""Which device relates all pairs, told without one: a fake card stands in for CuPy's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from holdfast.discovery.task import ConstantsTask, EvidenceTask, FindTask, read_search
from holdfast.encode.column_type import column_type
from holdfast.errors import OptionError, SessionError
from holdfast.evolving.rule_keeper import RuleKeeper
from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import all_pairs, listed_pairs, merged
from holdfast.search import device as devices
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows, coded_rows
from holdfast.search.device import count_pairs, uses_gpu
from holdfast.search.find import ALL_PAIRS_ROWS, chosen_strategy, find_in
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions

TYPES = {"a": column_type("bigint"), "b": column_type("bigint")}


def table(many: int) -> pa.Table:
    return pa.table({"a": np.arange(many), "b": np.arange(many) % 7})


FROM_50_ROWS = SearchLimits(least_gpu_rows=50)


def rows(many: int) -> CodedRows:
    return coded_rows(table(many), TYPES, DiscoverOptions())


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A card that counts as the cores do, and notes how it was called."""
    calls: list[dict[str, Any]] = []

    def counted(columns: Any, weights: Any, packing: Any, **how: Any) -> Any:
        calls.append(how)
        if "first" in how:  # pairs of one of the first rows with a later one
            left, right = np.nonzero(np.triu(np.ones((how["first"], columns.shape[1]), np.bool_), 1))
            return listed_pairs(columns, left, right, packing)
        return all_pairs(columns, weights, packing, share=how["share"], shares=how["shares"])

    monkeypatch.setattr(gpu_evidence, "missing", lambda: None)
    monkeypatch.setattr(gpu_evidence, "all_pairs", counted)
    return calls


def test_a_card_counts_where_it_pays(card: list[dict[str, Any]]) -> None:
    few, many = rows(40), rows(60)
    assert count_pairs(few, "auto", limits=FROM_50_ROWS).device == "cpu"
    assert count_pairs(few, "gpu", limits=FROM_50_ROWS).device == "gpu"
    assert count_pairs(many, "cpu", limits=FROM_50_ROWS).device == "cpu"
    on = count_pairs(many, "auto", limits=FROM_50_ROWS)
    assert on.device == "gpu"
    twin = all_pairs(many.codes, many.weights, many.packing)
    assert (merged([on.counted]).counts == merged([twin]).counts).all()
    assert len(card) == 2


def test_a_task_uses_the_card_it_was_given(card: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.CARD, "3")
    count_pairs(rows(60), "auto", share=1, shares=2, limits=FROM_50_ROWS)
    assert card == [{"share": 1, "shares": 2, "card": 3}]


def test_with_a_card_all_pairs_of_many_rows_are_looked_at(card: list[dict[str, Any]]) -> None:
    many = rows(ALL_PAIRS_ROWS + 1)
    assert chosen_strategy(many, DiscoverOptions(), cores=1) == "all-pairs"
    assert chosen_strategy(many, DiscoverOptions(device="cpu"), cores=1) == "hybrid"
    assert chosen_strategy(many, DiscoverOptions(strategy="hybrid"), cores=1) == "hybrid"


def test_what_was_used_is_told(card: list[dict[str, Any]]) -> None:
    found = find_in(rows(60), DiscoverOptions(limits=FROM_50_ROWS), Clock(None), threads=1)
    assert (found.device, found.strategy) == ("gpu", "all-pairs")


def test_a_card_that_fails_is_told_and_the_cores_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise MemoryError("out of memory allocating 8 bytes\nat some place")

    monkeypatch.setattr(gpu_evidence, "missing", lambda: None)
    monkeypatch.setattr(gpu_evidence, "all_pairs", full)
    on = count_pairs(rows(10), "auto", limits=SearchLimits(least_gpu_rows=1))
    assert on.device == "cpu, since the GPU failed: out of memory allocating 8 bytes"
    assert on.counted.counts.sum() == 45
    with pytest.raises(SessionError, match="the GPU failed: out of memory"):
        count_pairs(rows(10), "gpu")


def test_a_card_that_is_asked_for_and_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_evidence, "missing", lambda: "CuPy is not installed")
    assert not uses_gpu(10**6, "auto")
    with pytest.raises(SessionError, match="but CuPy is not installed"):
        uses_gpu(10, "gpu")
    batch = table(10).rename_columns(["c0", "c1"]).to_batches()
    lines = [
        (line["part"], line["piece"], line["bytes"])
        for out in FindTask(TYPES, DiscoverOptions(device="gpu"))(iter(batch))
        for line in out.to_pylist()
    ]
    with pytest.raises(SessionError, match="a GPU is asked for"):
        read_search(lines + lines)


def test_there_are_three_devices() -> None:
    with pytest.raises(OptionError, match="no device"):
        DiscoverOptions(device="tpu")  # type: ignore[arg-type]
    assert EvidenceTask(2).device == "auto"


def test_without_cupy_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    assert gpu_evidence.missing() == "CuPy is not installed"


def fake_cupy(count_cards: Callable[[], int]) -> Any:
    return SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=count_cards)))


def test_with_cupy_the_driver_says_whether_there_is_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> int:
        raise RuntimeError("the driver is too old")

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(lambda: 1))
    assert gpu_evidence.missing() is None
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(lambda: 0))
    assert gpu_evidence.missing() == "there is no GPU"
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(no_driver))
    assert gpu_evidence.missing() == "no GPU answers (the driver is too old)"


def test_rules_with_values_are_refused_in_words_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_evidence, "missing", lambda: "there is no GPU")
    batch = table(10).rename_columns(["c0", "c1"]).to_batches()
    task = ConstantsTask(TYPES, DiscoverOptions(device="gpu", constants=True))
    lines = [(line["part"], line["piece"], line["bytes"]) for out in task(iter(batch)) for line in out.to_pylist()]
    with pytest.raises(SessionError, match="but there is no GPU"):
        read_search(lines)


def test_changes_are_counted_on_a_card_and_witnesses_found_beside_it(card: list[dict[str, Any]]) -> None:
    random = np.random.default_rng(3)
    table = pa.table({"k": np.arange(60), **{c: random.integers(0, 25, 60) for c in "abcd"}})
    limits = SearchLimits(breaking_rows=2, least_gpu_rows=50)
    options: dict[str, Any] = {"key": "k", "exclude": "k", "cross_columns": "off", "limits": limits}
    keepers = [RuleKeeper(table.slice(0, 40), device=device, **options) for device in ("gpu", "cpu")]
    card.clear()
    changes = [keeper.insert(table.slice(40)) for keeper in keepers]
    assert [how["first"] for how in card] == [20]
    assert sorted(changes[0].removed_rules) == sorted(changes[1].removed_rules) != []
    for removed in changes[0].removed:
        assert removed.witness is not None
        for name, a, b in removed.witness.values:
            rows_of = [
                table.slice(key, 1).column(name)[0].as_py() for key in (removed.witness.left, removed.witness.right)
            ]
            assert [a, b] == rows_of
    for keeper in keepers:
        keeper.delete([3, 50])
        keeper.assert_invariants()
    assert sorted(keepers[0].denials) == sorted(keepers[1].denials)


def test_a_card_that_fails_leaves_changes_to_the_cores(
    card: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise MemoryError("out of memory")

    table = pa.table({"k": np.arange(40), "a": np.arange(40) % 7, "b": np.arange(40) % 3})
    limits = SearchLimits(least_gpu_pairs=1, least_gpu_rows=50)
    options: dict[str, Any] = {"key": "k", "exclude": "k", "cross_columns": "off", "limits": limits}
    auto, forced = (RuleKeeper(table.slice(0, 30), device=device, **options) for device in ("auto", "gpu"))
    monkeypatch.setattr(gpu_evidence, "all_pairs", failing)
    auto.insert(table.slice(30))
    auto.assert_invariants()
    with pytest.raises(SessionError, match="out of memory"):
        forced.insert(table.slice(30))
    assert len(forced) == 30
