"""How the files of a state are written, by the number of their format, and how those of earlier formats are read.

Format 3 of a manifest has sums, of itself too. Format 2 names each table, format 1 had its tables in a list; a state
of fragments knew them by place. Format 2 of what a state of fragments fixes has ids that both engines make alike; those
of floats and of decimals with many digits were made of the text that Spark has for them.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from holdfast.errors import StateError
from holdfast.states.checksum import FileSum
from holdfast.states.manifest import ROWS, Body, EvolveBody, FragmentsBody, Manifest, StoredTable, WatchBody, by_name
from holdfast.states.past import PastFile
from holdfast.states.segment import Segment

MANIFEST_FORMAT = 3
READABLE_MANIFESTS = (1, 2, 3)
# What a state of fragments fixes when it is made.
FRAGMENTS_PLAN_FORMAT = 2
READABLE_FRAGMENTS_PLANS = (1, 2)

_BODIES: Mapping[str, type[Body]] = {body.job: body for body in (WatchBody, EvolveBody, FragmentsBody)}
_SINCE_3 = ("sums", "past")
_HEADER = tuple(field.name for field in fields(Manifest) if field.name not in ("body", *_SINCE_3))
# What ends a manifest: the sum of all that is before it.
_SUM = re.compile(rb', "sum": "([0-9a-f]{8})"\}\Z')


def require_format(given: object, readable: Collection[int], root: str) -> None:
    """Raises StateError where a file of the state at `root` is of a format that is not readable here."""
    if given not in readable:
        raise StateError(
            f"the state {root} is of format {given}; this Holdfast reads format {' and '.join(map(str, readable))}.",
            hint="use the Holdfast that made it, or make the state anew from its table.",
        )


def manifest_to_json(manifest: Manifest[Any]) -> bytes:
    """Returns the manifest in the newest format."""
    body = manifest.body
    content = {
        "format": MANIFEST_FORMAT,
        "job": body.job,
        **{name: getattr(manifest, name) for name in _HEADER},
        "tables": {
            name: {"about": table.about, "segments": [segment.to_json() for segment in table.segments]}
            for name, table in body.tables.items()
        },
        **{name: getattr(body, name) for name in _more(type(body))},
        "sums": {name: own.to_json() for name, own in manifest.sums.items()},
        "past": [file.to_json() for file in manifest.past],
    }
    text = json.dumps(content, ensure_ascii=False).encode().removesuffix(b"}")
    return text + f', "sum": "{zlib.crc32(text):08x}"}}'.encode()


def manifest_from_json(text: bytes, root: str) -> Manifest[Any]:
    """Returns the manifest that the text is, in any readable format; `root` names its state in errors.

    Raises ValueError where the text is not as it was written.
    """
    own = _SUM.search(text)
    if own is not None and int(own[1], 16) != zlib.crc32(text[: own.start()]):
        raise ValueError("it has another content than was written")
    content = json.loads(text)
    require_format(content.get("format"), READABLE_MANIFESTS, root)
    if content["format"] >= 3 and own is None:
        raise ValueError("it does not end with its sum")
    if content["format"] == 1:
        content = _from_format_1(content)
    body = _BODIES[content["job"]]
    tables = (
        StoredTable(name, tuple(map(Segment.from_json, given["segments"])), given["about"])
        for name, given in content["tables"].items()
    )
    header = {name: content[name] for name in _HEADER}
    listed = {name: tuple(header[name]) for name in ("key", "batches", "log")}
    more = {name: content[name] for name in _more(body)}
    sums = {name: FileSum(*given) for name, given in content.get("sums", {}).items()}
    past = tuple(map(PastFile.from_json, content.get("past", ())))
    return Manifest(**{**header, **listed}, body=body(by_name(tables), **more), sums=sums, past=past)


def _more(body: type[Body]) -> list[str]:
    """What such a body has besides its tables."""
    return [field.name for field in fields(body) if field.name != "tables"]


def _from_format_1(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a manifest of format 1 in the next: folders are the names of tables."""
    # The first states of this format, all of watches, do not name their job.
    job = content.get("job", "watch")
    rows = {} if job == "fragments" else {ROWS: {"about": "", "segments": content["row_table"]}}
    return {**content, "job": job, "tables": {**rows, **{table["folder"]: table for table in content["pair_tables"]}}}
