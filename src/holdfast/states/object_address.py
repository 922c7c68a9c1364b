"""The address of a state on an object store."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from holdfast.errors import StateError

# What people write, and what it is called here.
_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "az": "az", "abfs": "abfss", "abfss": "abfss"}


def object_store_root(given: str) -> str:
    """Returns the address as it is shown and compared: without a slash at its end.

    Raises StateError where a state cannot be kept there, and where it holds a password, which it does not repeat.

    >>> object_store_root("s3a://bucket/orders/state/")
    's3://bucket/orders/state'
    """
    scheme, _, rest = given.partition(":")
    own = _SCHEMES.get(scheme.lower())
    if own is None:
        raise StateError(
            f"a state cannot be kept at {without_secrets(given)}: what a state needs of a file system was never tested "
            f"on '{scheme}'.",
            hint=f"name a folder that all machines see under one path, or an object store: {', '.join(_SCHEMES)}.",
        )
    address = f"{own}://{rest.lstrip('/').rstrip('/')}"
    place = urlsplit(address)
    if place.password is not None or place.query or (place.username is not None and own != "abfss"):
        raise StateError(
            f"the address {without_secrets(address)} holds more than a place.",
            hint="leave out keys and tokens: they come from the environment, as AWS_ACCESS_KEY_ID does.",
        )
    if not place.hostname:
        raise StateError(f"the address {given} names no bucket.", hint="write s3://bucket/folder.")
    return address


def without_secrets(text: str) -> str:
    """Returns the text without what may be secret in the addresses in it: passwords, and what follows a `?`.

    >>> without_secrets("PUT https://me:key@account.example/box/a?sig=abc failed")
    'PUT https://…@account.example/box/a?… failed'
    """
    text = re.sub(r"(://)[^/\s@]*:[^/\s@]*@", r"\1…@", text)
    return re.sub(r"(://[^\s?\"')]*)\?[^\s\"')]+", r"\1?…", text)
