"""Finds the data files of a name on this machine, and their format."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import OptionError, SourceError, SourceNotFoundError, closest_hint

Format = Literal["csv", "parquet", "json", "orc", "arrow", "excel"]

FORMATS: tuple[Format, ...] = ("csv", "parquet", "json", "orc", "arrow", "excel")
LOCAL_FORMATS: tuple[Format, ...] = ("arrow", "excel")  # Spark does not read these
_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".xlsx": "excel",
}
ICEBERG, ICEBERG_METADATA = "iceberg:", ".metadata.json"
SPARK_TABLE = "spark:"
_PACKED = (".gz", ".bz2")
_OTHER_PACKED = (".zip", ".xz", ".zst", ".7z", ".lz4", ".rar", ".tar", ".tgz")


@dataclass(frozen=True)
class DataFiles:
    """The data files of one table: `local` ones, and `remote` ones, which only Spark can read.

    `roots` are the local files and folders that were named; `load` are the paths with which Spark reads the files.
    """

    name: str
    format: Format
    load: tuple[str, ...]
    roots: tuple[Path, ...] = ()
    local: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()
    name_filter: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def tabs(self) -> bool:
        """Whether all names end in .tsv, so that tabs separate fields."""
        names = [file.name for file in self.local] or list(self.remote)
        return bool(names) and all(_bare(name).endswith(".tsv") for name in names)


def find_local_files(data: str, input_format: str | None) -> DataFiles | None:
    """Returns the files of `data`, a path that exists or a pattern; None where this process sees no such files.

    Raises SourceError and SourceNotFoundError where there is something, but not the files of one table.
    """
    wanted = wanted_format(input_format)
    if not data.strip():
        raise SourceNotFoundError("The name of the data is empty.", hint="name a file, a folder, or spark:db.table.")
    if has_scheme(data) and not os.path.lexists(data):
        return None
    path = Path(data).expanduser()
    if os.path.exists(path):  # of a name too long for a file this is false, where Path raises
        return _local_files([path], path.name or str(path), wanted)
    if os.path.islink(path):
        raise SourceNotFoundError(f"{data} is a link to {os.readlink(path)}, which does not exist.")
    matches = sorted(Path(match) for match in glob.glob(str(path))) if glob.has_magic(data) else []
    if matches:
        return _local_files([m for m in matches if not _ignored(m.name)] or matches, data, wanted)
    return None


def wanted_format(input_format: str | None) -> Format | None:
    """Returns the format that `--input-format` names. Raises OptionError for an unknown one."""
    if input_format is not None and input_format not in FORMATS:
        raise OptionError(
            f"--input-format '{input_format}' is not a format.",
            hint=closest_hint(input_format, FORMATS, what="Formats"),
        )
    return input_format


def has_scheme(data: str) -> bool:
    """Whether the name begins as a URL does, such as `s3:`."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", data) is not None


def is_delta(data: str | os.PathLike[str]) -> bool:
    """Whether there is a Delta table at the path."""
    return os.path.isdir(Path(os.fspath(data)).expanduser() / "_delta_log")


def is_iceberg(data: str | os.PathLike[str]) -> bool:
    """Whether the name is that of an Iceberg table: `iceberg:catalog.namespace.table`, or a file of its metadata."""
    name = os.fspath(data)
    return name.startswith(ICEBERG) or name.endswith(ICEBERG_METADATA)


def is_spark_table(data: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table of a catalog that Spark has: `spark:catalog.db.table`."""
    return os.fspath(data).startswith(SPARK_TABLE)


def missing_data(data: str) -> SourceNotFoundError:
    """Returns the error for a path or a pattern at which there is nothing."""
    if glob.has_magic(data):
        return SourceNotFoundError(f"No file matches {data}.", hint=f"the current folder is {os.getcwd()}.")
    folder = Path(data).parent
    if "://" not in data and os.path.isdir(folder):
        names = sorted(p.name for p in folder.iterdir() if not _ignored(p.name))
        shown = f"Files in {folder}" if str(folder) != "." else "Files here"
        return SourceNotFoundError(
            f"There is no file or folder {data}.", hint=closest_hint(Path(data).name, names, what=shown)
        )
    return SourceNotFoundError(f"There is no file or folder {data}.", hint="check the path.")


def in_row_order(files: Sequence[Path]) -> list[Path]:
    """Returns the files in the order in which their rows are numbered: by the URL that Spark gives a file."""
    return sorted(files, key=lambda file: re.sub('[ "#%<>?[\\]^`{|}]', _percent, str(file.absolute())))


def _percent(character: re.Match[str]) -> str:
    return f"%{ord(character[0]):02X}"


def escape_glob(path: str) -> str:
    """Returns the path with the characters escaped that Hadoop would read as a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def _local_files(roots: Sequence[Path], name: str, wanted: Format | None) -> DataFiles:
    data_files: list[Path] = []
    left_out: list[Path] = []
    folders = [root for root in roots if root.is_dir()]
    for root in roots:
        if root.is_dir():
            inside = list(_walk(root))
            known = inside if wanted else known_files(inside)
            data_files += known
            left_out += [file for file in inside if file not in set(known)]
            for file in known:
                _check_nesting(root, file, wanted or format_of(file.name))
        else:
            data_files.append(root)
    if not data_files:
        raise _no_data(name, roots, left_out)
    for file in data_files:
        _check_readable(file)
    format = wanted or common_format(data_files, name)
    if folders and len(folders) != len(roots):
        raise SourceError(f"{name} matches both files and folders.", hint="name the files, or the folders.")
    notes = []
    if left_out:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        notes.append(f"{name}: files of other kinds are left out ({left_out[0].name}{more})")
    # Spark reads every file of a folder; the filter leaves out the same files.
    endings = sorted({ending(file.name) for file in data_files})
    return DataFiles(
        name=name,
        format=format,
        load=tuple("file:" + escape_glob(str(root.absolute())) for root in roots),
        roots=tuple(roots),
        local=tuple(sorted(data_files)),
        name_filter="*{" + ",".join(endings) + "}" if left_out else None,
        notes=tuple(notes),
    )


def _walk(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        raise SourceError(f"The folder {folder} cannot be read: permission denied.") from None
    for entry in entries:
        if _ignored(entry.name):
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield entry


def _check_nesting(root: Path, file: Path, format: Format | None) -> None:
    steps = file.relative_to(root).parent.parts
    if not steps:
        return
    if format == "csv":
        raise SourceError(
            f"The folder {root.name} holds CSV in a subfolder, {file.relative_to(root).parent}.",
            hint="name the subfolder, or a pattern such as 'folder/*/*.csv'.",
        )
    # Spark reads subfolders only as partitions, and skips others without a message.
    plain = next((step for step in steps if "=" not in step), None)
    if plain is not None:
        raise SourceError(
            f"The folder {root.name} holds data in the subfolder {plain}, which is not a partition (name=value).",
            hint="name the subfolder, or a pattern such as 'folder/*'.",
        )


def _check_readable(file: Path) -> None:
    if not os.access(file, os.R_OK):
        raise SourceError(f"{file} cannot be read: permission denied.")
    if not file.is_file():
        raise SourceError(f"{file} is neither a file nor a folder.", hint="write what it gives into a file first.")
    if _ignored(file.name):
        raise SourceError(
            f"{file.name} begins with '{file.name[0]}': Spark takes it for hidden and reads none of its rows.",
            hint="rename it, or name a copy.",
        )
    if ":" in file.name:
        raise SourceError(
            f"{file.name} has a colon in its name, which Spark's file system does not allow.", hint="rename it."
        )


def _no_data(name: str, roots: Sequence[Path], left_out: Sequence[Path]) -> Exception:
    what = f"The folder {name}" if len(roots) == 1 else name
    if left_out:
        return unknown_format(name, left_out[0].name)
    return SourceNotFoundError(
        f"{what} holds no data files.",
        hint="names that begin with '_' or '.' do not count; data files end in .csv, .tsv, .parquet, .json or .orc.",
    )


def known_files(files: Sequence[Path]) -> list[Path]:
    """Returns the files whose names say a format that every engine reads; where there are none, those of others."""
    formats = {file: format_of(file.name) for file in files}
    common = [file for file, format in formats.items() if format is not None and format not in LOCAL_FORMATS]
    return common or [file for file, format in formats.items() if format is not None]


def common_format(files: Sequence[Path], name: str) -> Format:
    """Returns the one format of the files. Raises SourceError where they have several, or a name says none."""
    by_format: dict[Format, str] = {}
    for file in files:
        format = format_of(file.name)
        if format is None:
            raise unknown_format(name, file.name)
        by_format.setdefault(format, file.name)
    if len(by_format) > 1:
        shown = ", ".join(f"{format} ({file})" for format, file in by_format.items())
        raise SourceError(
            f"{name} holds files of several formats: {shown}.",
            hint="name a pattern that matches one of them, such as 'folder/*.csv'.",
        )
    return next(iter(by_format))


def unknown_format(name: str, file: str) -> SourceError:
    """Returns the error for a file whose name does not say its format."""
    where = "" if file == name else f" in {name}"
    if file.lower().endswith(_OTHER_PACKED):
        return SourceError(
            f"{file}{where} is compressed in a way that Spark does not read.",
            hint="unpack it; .gz and .bz2 can be read.",
        )
    return SourceError(
        f"The name {file}{where} does not say what format it is.",
        hint="say it with --input-format csv, parquet, json or orc; endings that say it: "
        + ", ".join(_EXTENSIONS)
        + ".",
    )


def format_of(name: str) -> Format | None:
    """Returns the format that the end of a name says; None where it says none."""
    format = _EXTENSIONS.get(Path(_bare(name)).suffix)
    packed = name.lower().endswith(_PACKED)
    return None if packed and format not in ("csv", "json") else format


def _bare(name: str) -> str:
    lower = name.lower()
    return next((lower.removesuffix(packed) for packed in _PACKED if lower.endswith(packed)), lower)


def ending(name: str) -> str:
    """Returns the end of a name, as written, from the suffix of its format on, such as `.CSV.gz`."""
    bare = Path(_bare(name)).suffix
    return name[name.lower().rindex(bare) :] if bare else name


def _ignored(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
