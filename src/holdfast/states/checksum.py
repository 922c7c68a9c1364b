"""What a file was written with: its length, and a checksum of its content."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1 << 20


@dataclass(frozen=True)
class FileSum:
    """The length of a file in bytes, and the CRC-32 of its content."""

    length: int
    crc: int

    def to_json(self) -> list[int]:
        return [self.length, self.crc]


def sum_of_bytes(content: bytes) -> FileSum:
    return sum_of_pieces([content])


def sum_of_pieces(pieces: Iterable[bytes]) -> FileSum:
    length = crc = 0
    for piece in pieces:
        length, crc = length + len(piece), zlib.crc32(piece, crc)
    return FileSum(length, crc)


def sum_of_file(path: Path) -> FileSum:
    """Reads the file. Raises OSError where it cannot be read."""
    with open(path, "rb", buffering=0) as file:
        return sum_of_pieces(iter(lambda: file.read(_PIECE), b""))
