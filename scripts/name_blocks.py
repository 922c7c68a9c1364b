"""For mkdocs: a block that is a file has the file's name above it.

In the pages, and for what runs them in the tests, `<!-- file: a.csv -->` before a block says so. A reader would not see
that.
"""

from __future__ import annotations

import re
from typing import Any

_NAMED = re.compile(r"^<!-- (?:file|shows): (?P<name>\S+) -->\n```(?P<language>\w+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page, with names as titles of blocks.

    >>> on_page_markdown("<!-- file: a.csv -->\\n```csv")
    '```csv title="a.csv"'
    """
    return _NAMED.sub(r'```\g<language> title="\g<name>"', markdown)
