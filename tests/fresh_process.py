"""Commands as a user types them: in a process that has no Spark session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.engines import choose


@pytest.fixture(scope="package", autouse=True)
def no_session_of_the_caller() -> Iterator[None]:
    """The tests share a process, and a session that another test has started would send every command to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "has_session", lambda: False)
        yield
