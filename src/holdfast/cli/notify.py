"""Sending the outcome of a check to a webhook; where it goes is a secret, and is never printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from holdfast.checking.outcome import CheckOutcome
from holdfast.errors import OptionError

NotifyOn = Literal["violated", "warning", "always"]
_SECONDS = 10
_HINT = "write https://…, or better env:NAME for an address that the environment variable NAME has."


@dataclass(frozen=True)
class Destination:
    """Where a message goes, what that is called in public, and whether it is Slack's form of a message."""

    name: str
    url: str = field(repr=False)
    slack: bool


def destinations(given: Sequence[str] | None) -> list[Destination]:
    """The destinations that `--notify` names: a URL, or `env:NAME`; with `slack:` before it in Slack's form.

    Raises OptionError, which shows no address, where there is none.
    """
    places = []
    for place, text in enumerate(given or (), 1):
        slack = text.startswith("slack:")
        address = text.removeprefix("slack:")
        name = f"--notify number {place}"
        if address.startswith("env:"):
            variable = address.removeprefix("env:")
            name = f"env:{variable}"
            address = os.environ.get(variable, "").strip()
            if not address:
                raise OptionError(f"--notify: the environment variable {variable!r} is not set.", hint=_HINT)
        try:
            parts = urlsplit(address)
            host, fit = (
                parts.hostname,
                parts.scheme in ("http", "https") and address.isascii() and address.isprintable(),
            )
            parts.port  # noqa: B018 (refuses a port that is no number)
        except ValueError:
            host, fit = None, False
        if not fit or not host or " " in address:
            raise OptionError(f"{name} is no address of a webhook.", hint=_HINT)
        places.append(Destination(name, address, slack or host == "slack.com" or host.endswith(".slack.com")))
    return places


def notify(outcome: CheckOutcome, to: Sequence[Destination], on: NotifyOn) -> None:
    """Sends the outcome to each destination, where it is one to be told of; what fails is a note on standard error."""
    if not _tells(outcome, on):
        return
    from holdfast.report.notification import notification

    message = notification(outcome)
    for destination in to:
        content = {"text": message["text"]} if destination.slack else message
        problem = _post(destination.url, content)
        if problem is not None:
            print(f"note: the notification to {destination.name} was not sent: {problem}", file=sys.stderr)


def _tells(outcome: CheckOutcome, on: NotifyOn) -> bool:
    if on == "always":
        return True
    return not outcome.holds if on == "violated" else any(not rule.holds for rule in outcome.rules)


class _NoRedirect(HTTPRedirectHandler):
    """A message goes where it was sent, and nowhere else."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def _post(url: str, content: object) -> str | None:
    """Posts the content as JSON. Returns what went wrong, in words without the address; None where nothing did."""
    body = json.dumps(content, ensure_ascii=True).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json", "User-Agent": "holdfast"}, method="POST")
        with build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            answer.read(1)
        return None
    except HTTPError as problem:
        problem.close()
        return f"the answer was HTTP {problem.code}"
    except URLError as problem:
        reason = problem.reason
        return (reason.strerror if isinstance(reason, OSError) else None) or "it could not be reached"
    except TimeoutError:
        return f"there was no answer in {_SECONDS} seconds"
    except (OSError, HTTPException, ValueError) as problem:  # their texts may have the address
        return f"it could not be reached ({type(problem).__name__})"
