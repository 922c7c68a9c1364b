"""What is wrong with a compressed file is told in words, whichever way it is damaged."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.tables.csv_sample import find_damage

TEXT = "".join(f"{random.Random(i).random()}\n" for i in range(500)).encode()


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_damage_is_told_and_nothing_else_is_caught(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    file, packed = tmp_path / f"data.csv.{suffix}", pack(TEXT)
    file.write_bytes(packed)
    assert find_damage(file) is None
    file.write_bytes(packed[:-20])
    assert find_damage(file) == "it ends too early"
    file.write_bytes(b"id,zip\n1,2\n")
    assert find_damage(file)
    for at in range(0, len(packed), max(1, len(packed) // 60)):
        file.write_bytes(packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :])
        told = find_damage(file)  # some flips of a header say nothing of the content
        assert told is None or told.strip()
