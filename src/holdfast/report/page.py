"""Reports as single HTML files that need no network and no other file.

Templates escape every value. In addition, the page allows only its own script, by its hash, and loads nothing: the
content of a cell is shown and never run.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import metadata, resources
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound
from markupsafe import Markup

from holdfast.report.words import number, value_text
from holdfast.rules.plain_words import visible

_SCRIPT, _STYLE = "page.js", "page.css"


def page(template: str, *, title: str, **values: Any) -> str:
    """Returns the template of this name in `pages/`, filled with the values, with style and script inline.

    `scripts` among the values are those of `pages/` that it needs besides that of every page.
    """
    script = "".join(map(_bundled, (_SCRIPT, *values.pop("scripts", ()))))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = {"style": Markup(_bundled(_STYLE)), "script": Markup(script), "script_hash": digest}
    return _environment().get_template(template).render(
        title=title, version=metadata.version("holdfast"), **own, **values
    )  # fmt: skip


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=_Bundled(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible_value,
    )
    environment.filters |= {"value": value_text, "number": number, "percent": percent, "key": _key_text}
    return environment


class _Bundled(BaseLoader):
    """Loads templates from the package, also where the package is in an archive."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, None, None]:
        try:
            return _bundled(template), None, None
        except FileNotFoundError:
            raise TemplateNotFound(template) from None


@lru_cache(maxsize=16)
def _bundled(name: str) -> str:
    return resources.files("holdfast.report").joinpath("pages", name).read_text("utf-8")


def _visible_value(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _key_text(key: Any) -> str:
    """Returns the key as text, in brackets where it has several columns."""
    return f"({value_text(key)})" if isinstance(key, tuple) else value_text(key)


def percent(share: float) -> str:
    """Returns the share as a rounded percentage.

    >>> percent(0.254), percent(1.0), percent(0.0004), percent(0)
    ('25%', '100%', '0.04%', '0%')
    """
    if share == 0:
        return "0%"
    return f"{share * 100:.0f}%" if share >= 0.01 else f"{share * 100:.2g}%"
