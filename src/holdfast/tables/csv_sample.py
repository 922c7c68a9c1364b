"""What a few places of a CSV file show: its header, some rows, its delimiter, line breaks inside quotes.

Read by Python without Spark, so that opening a table costs no scan. The other half of this file finds the
place of an error after a scan has failed; it may read everything.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from holdfast.errors import SourceError
from holdfast.tables.read_options import DEFAULT_SAMPLE, CsvLayout, CsvSampleLimits

_DELIMITERS = ",;\t|"

_MAGIC = (
    (b"PAR1", "a Parquet file", "name it .parquet, or read it with --input-format parquet."),
    (b"ORC", "an ORC file", "name it .orc, or read it with --input-format orc."),
    (b"\x1f\x8b", "compressed with gzip", "add .gz to its name, or unpack it."),
    (b"BZh", "compressed with bzip2", "add .bz2 to its name, or unpack it."),
    (b"PK\x03\x04", "a zip archive (or an Excel workbook)", "unpack it, or save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it; .gz and .bz2 can be read as they are."),
    (b"\xfd7zXZ\x00", "compressed with xz", "unpack it; .gz and .bz2 can be read as they are."),
)


@dataclass(frozen=True)
class CsvSample:
    """A header and some rows of the same width, in no order that matters."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    delimiter: str
    quoted_breaks: bool


@dataclass(frozen=True)
class Place:
    """A data row in a file, numbered from 1 after the header, and the line where it starts."""

    file: Path
    row: int
    line: int
    fields: tuple[str, ...] = ()


def sample_files(
    files: Sequence[Path], *, delimiter: str | None, encoding: str | None, limits: CsvSampleLimits = DEFAULT_SAMPLE
) -> CsvSample | None:
    """The common header of the files and rows from several places in them; None when all are empty.

    Every file's header is compared with the first one's: Spark binds columns by position, so that files
    with reordered columns would swap values silently. Cost: one open per file, and about 2 MB read.
    """
    first: Path | None = None
    header: tuple[str, ...] = ()
    filled: list[Path] = []
    for file in files:
        check_magic(file)
        line = _header_line(file, encoding)
        if line is None:
            continue
        if first is None:
            first = file
            delimiter = delimiter or sniff_delimiter(line)
            header = _fields(line, delimiter)
        elif (other := _fields(line, cast(str, delimiter))) != header:
            raise SourceError(
                f"{file.name} and {first.name} are read as one table, but their headers differ: "
                f"{_first_difference(file.name, other, first.name, header)}.",
                hint="give every file the same columns in the same order, or read them one by one.",
            )
        filled.append(file)
    if first is None or delimiter is None:
        return None
    picked = _spread(filled, limits.files)
    rows: list[tuple[str, ...]] = []
    breaks = any("\n" in name for name in header)
    for file in picked:
        head, block_rows, file_breaks = _sample_file(
            file, delimiter, encoding, width=len(header), share=len(picked), limits=limits
        )
        breaks |= file_breaks
        rows += head
        # A block that starts inside quotes is cut into wrong fields: it counts only without such breaks.
        rows += [] if file_breaks else block_rows
    return CsvSample(header, tuple(rows), delimiter, breaks)


def sample_lines(lines: Sequence[str], *, delimiter: str | None, complete: bool) -> CsvSample | None:
    """The same from lines that something else has read; `complete` when the last one ends the file."""
    text = "\n".join(lines)
    if not text.strip():
        return None
    delimiter = delimiter or sniff_delimiter(next(line for line in lines if line.strip()))
    records = _records_of(text, delimiter)
    header, rows = tuple(records[0]), records[1:] if complete else records[1:-1]
    breaks = any("\n" in field for record in (header, *rows) for field in record if len(record) == len(header))
    return CsvSample(header, tuple(row for row in rows if len(row) == len(header)), delimiter, breaks)


def sniff_delimiter(header_line: str) -> str:
    """The delimiter that cuts the header into the most fields; a comma when none cuts it.

    >>> sniff_delimiter('"a,b";c;d')
    ';'
    """
    return max(_DELIMITERS, key=lambda delimiter: (len(_fields(header_line, delimiter)), delimiter == ","))


def check_magic(file: Path) -> None:
    """Nothing when the file may be text or what its name says; SourceError when its first bytes disagree."""
    with file.open("rb") as stream:
        start = stream.read(8)
    suffix = file.suffix.lower()
    if suffix in (".gz", ".bz2"):
        right = b"\x1f\x8b" if suffix == ".gz" else b"BZh"
        if start and not start.startswith(right):
            packer = "gzip" if suffix == ".gz" else "bzip2"
            raise SourceError(
                f"{file.name} is named {suffix} but is not compressed with {packer}.",
                hint=f"take {suffix} off its name if it is plain text; otherwise it is damaged.",
            )
        return
    for magic, what, hint in _MAGIC:
        if start.startswith(magic):
            raise SourceError(f"{file.name} is read as CSV but is {what}.", hint=hint)


def find_ragged(files: Sequence[Path], layout: CsvLayout, width: int) -> Place | None:
    """The first row that has not `width` fields."""
    return next((place for place in _places(files, layout) if len(place.fields) != width), None)


def find_value(files: Sequence[Path], layout: CsvLayout, column: int, start: str) -> Place | None:
    """The first row whose field in `column` is `start`, or begins with it where an error cut it short."""
    prefix: Place | None = None
    for place in _places(files, layout):
        if len(place.fields) > column:
            value = place.fields[column]
            if value == start:
                return place
            if prefix is None and len(start) >= 200 and value.startswith(start):
                prefix = place
    return prefix


def find_bad_bytes(files: Sequence[Path], layout: CsvLayout) -> Place | None:
    """The first row that is not UTF-8."""
    for place in _places(files, layout, errors="surrogateescape"):
        if any("\udc80" <= char <= "\udcff" for field in place.fields for char in field):
            return place
    return None


def find_damage(file: Path) -> str | None:
    """Why the compressed file cannot be unpacked to its end; None when it can."""
    try:
        with open_file(file) as stream:
            while stream.read(1 << 20):
                pass
    except EOFError:
        return "it ends too early"
    except (OSError, ValueError, zlib.error) as error:
        return str(error)
    return None


def _sample_file(
    file: Path, delimiter: str, encoding: str | None, *, width: int, share: int, limits: CsvSampleLimits
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], bool]:
    """Rows of the file's head, rows of blocks further on, and whether quotes hold line breaks."""
    with open_file(file) as stream:
        start, ended = _head(stream, max(limits.head_bytes // share, limits.block_bytes))
        records = _records_of(_decode(start, file, encoding), delimiter)
        records = records[1:] if ended else records[1:-1]
        head = [row for row in records if len(row) == width][: max(limits.head_rows // share, 250)]
        # A table of one column cannot show a cut value by its number of fields: it is never cut by lines.
        breaks = width == 1 or any("\n" in field for row in head for field in row)
        if ended or breaks or _wide(encoding):
            return head, [], breaks
        blocks: list[tuple[str, ...]] = []
        for text in _blocks(stream, file, len(start), encoding, share=share, limits=limits):
            rows = [row for row in _records_of(text, delimiter) if len(row) == width]
            breaks |= any("\n" in field for row in rows for field in row)
            blocks += rows
        return head, blocks, breaks


def _blocks(
    stream: BinaryIO, file: Path, after: int, encoding: str | None, *, share: int, limits: CsvSampleLimits
) -> Iterator[str]:
    """Whole lines from places spread over the rest of the file, as many as are its share of all blocks."""
    count, size = max(1, limits.blocks // share), limits.block_bytes
    packed = file.suffix.lower() in (".gz", ".bz2")
    end = after + limits.compressed_reach if packed else file.stat().st_size
    step = max((end - after) // count, size)
    for offset in range(after, end, step):
        try:
            stream.seek(min(offset, max(after, end - size)))
            block = stream.read(size)
        except (OSError, EOFError):
            return  # damage is the scan's to report, with the file's name
        _, _, whole = block.partition(b"\n")
        yield _decode(whole[: whole.rfind(b"\n") + 1], file, encoding)


def _header_line(file: Path, encoding: str | None) -> str | None:
    """The text up to the first line break that is not in quotes; None when there is none but blanks."""
    with open_file(file) as stream:
        start, _ = _head(stream, 1 << 14)
    if not start.strip():
        return None
    if encoding is None:
        _check_wide(start, file)
    # Only the header is wanted here: bytes further on, perhaps cut in a character, are checked later.
    text = start.decode(_python_encoding(encoding), errors="replace").lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    while lines and not lines[0].strip():
        del lines[0]
    line = ""
    for part in lines:
        line += part
        if line.count('"') % 2 == 0:
            break
    else:
        line = lines[0] if lines else ""
    return line.rstrip("\r\n")


def _check_wide(start: bytes, file: Path) -> None:
    known = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    encoding = next((name for mark, name in known.items() if start.startswith(mark)), None)
    if encoding is None and b"\x00" in start[:200]:
        encoding = "utf-16le" if start[1:2] == b"\x00" else "utf-16be"
    if encoding is not None:
        raise SourceError(
            f"{file.name} is not UTF-8: its first bytes are those of UTF-16.",
            hint=f"read it with --encoding {encoding}.",
        )


def _decode(raw: bytes, file: Path, encoding: str | None) -> str:
    if encoding is not None:
        return raw.decode(encoding, errors="replace").lstrip("\ufeff")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        layout = CsvLayout(delimiter="\x00", encoding="utf-8", multiline=False)
        raise not_utf8(file.name, find_bad_bytes([file], layout)) from None


def not_utf8(name: str, place: Place | None) -> SourceError:
    """The error for bytes that are not UTF-8, at a place if it is known."""
    where = name if place is None else f"{place.file.name}, {where_in_file(place)},"
    return SourceError(
        f"{where} holds bytes that are not UTF-8.",
        hint="name the encoding it was written in, such as --encoding latin1.",
    )


def where_in_file(place: Place) -> str:
    """A row as messages name it."""
    return "the header" if place.row == 0 else f"row {place.row} (line {place.line})"


def _head(stream: BinaryIO, size: int) -> tuple[bytes, bool]:
    """The file's first whole lines, at least one, and whether they are all there is."""
    start = stream.read(size)
    while b"\n" not in start and (more := stream.read(size)):
        start += more
    more = stream.read(1)
    if not more:
        return start, True
    # What was read of the next line is left out, but the stream's position is past it: blocks seek anyway.
    return start[: start.rfind(b"\n") + 1], False


def _places(files: Sequence[Path], layout: CsvLayout, errors: str = "replace") -> Iterator[Place]:
    """Every data row of every file as Spark counts them: blank lines are no rows."""
    for file in files:
        row = -1
        try:
            with (
                open_file(file) as raw,
                io.TextIOWrapper(raw, encoding=_python_encoding(layout.encoding), errors=errors, newline="") as text,
            ):
                for line, fields in _split(text, layout):
                    row += 1
                    if row or errors == "surrogateescape":
                        yield Place(file, row, line, fields)
        except (OSError, EOFError):
            continue  # a damaged file has rows up to the damage


def _split(text: io.TextIOWrapper, layout: CsvLayout) -> Iterator[tuple[int, tuple[str, ...]]]:
    if layout.multiline:
        reader = csv.reader(text, delimiter=layout.delimiter)
        line = 1
        for record in reader:
            if record:
                yield line, tuple(record)
            line = reader.line_num + 1
        return
    for line, content in enumerate(text, start=1):
        if content.strip():
            yield line, _fields(content.rstrip("\r\n"), layout.delimiter)


def _records_of(text: str, delimiter: str) -> list[tuple[str, ...]]:
    records: list[tuple[str, ...]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record and (len(record) > 1 or record[0].strip()):
                records.append(tuple(record))
    except csv.Error:
        pass  # a field too long for Python's reader: what came before it is sample enough
    return records


def _fields(line: str, delimiter: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), []))
    except csv.Error:
        return (line,)


def _first_difference(file: str, columns: tuple[str, ...], first: str, header: tuple[str, ...]) -> str:
    for position, (here, there) in enumerate(zip(columns, header, strict=False), start=1):
        if here != there:
            return f"column {position} is '{here}' in {file} and '{there}' in {first}"
    return f"{len(columns)} columns in {file} and {len(header)} in {first}"


def _spread(files: Sequence[Path], most: int) -> list[Path]:
    if len(files) <= most:
        return list(files)
    return [files[round(i * (len(files) - 1) / (most - 1))] for i in range(most)]


def open_file(file: Path) -> BinaryIO:
    """The file's bytes, unpacked when its name says that it is packed."""
    suffix = file.suffix.lower()
    if suffix == ".gz":
        return cast(BinaryIO, gzip.open(file, "rb"))
    return cast(BinaryIO, bz2.open(file, "rb")) if suffix == ".bz2" else file.open("rb")


def _python_encoding(encoding: str | None) -> str:
    return "utf-8-sig" if encoding is None or encoding == "utf-8" else encoding


def _wide(encoding: str | None) -> bool:
    """Whether a line break is more than one byte, so that lines cannot be cut before decoding."""
    return encoding is not None and encoding.replace("_", "-").lower().startswith(("utf-16", "utf-32"))
