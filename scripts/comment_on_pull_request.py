"""Keeps one comment on a pull request of GitHub that says what a check found; for the action in action.yml.

    comment_on_pull_request.py RESULT.json

RESULT is what `holdfast check --format json` printed. GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_API_URL and
GITHUB_TOKEN are as GitHub sets them. A comment of an earlier run is changed, so that there is never more than one.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- holdfast -->"
# The longest comment that GitHub takes is 65,536 characters.
MOST = 60_000
PAGE = 100


def comment_text(result: dict[str, Any]) -> str:
    """Returns the comment: a line per rule that is violated, and how many hold."""
    broken = [rule for rule in result["rules"] if not rule["holds"]]
    rules = len(result["rules"])
    if not broken:
        return f"{MARK}\n**Holdfast**: all {rules} rules hold ({result['rows']:,} rows).\n"
    head = f"{MARK}\n**Holdfast**: {len(broken)} of {rules} rules are violated ({result['rows']:,} rows).\n\n"
    head += "| | rule | | rows | suspects |\n|---|---|---|---|---|\n"
    lines = [_line(rule) for rule in broken]
    shown: list[str] = []
    for line in lines:
        if len(head) + sum(map(len, shown)) + len(line) > MOST:
            shown.append(f"| | and {len(lines) - len(shown)} more | | | |\n")
            break
        shown.append(line)
    return head + "".join(shown)


def _line(rule: dict[str, Any]) -> str:
    sign = "❌" if rule["severity"] == "error" else "⚠️"
    suspects = rule.get("new_suspect_rows", rule["suspect_rows"])
    said = "" if suspects is None else f"{suspects:,}"
    return f"| {sign} | {_cell(rule['name'])} | {_code(rule['rule'])} | {rule['violating_rows']:,} | {said} |\n"


def _cell(text: str) -> str:
    """The text without a meaning in Markdown; no name calls a person."""
    return re.sub(r"([\\`*_{}\[\]<>()#+.!|~@-])", r"\\\1", " ".join(text.split())).replace("\\@", "@\u200b")


def _code(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    return f"{fence} {plain} {fence}"


def keep_comment(text: str, *, api: str, repository: str, number: int, token: str) -> str:
    """Writes the comment, or changes the one of an earlier run. Returns its address."""
    comments = f"{api}/repos/{repository}/issues/{number}/comments"
    page = 1
    while True:
        found = _asked("GET", f"{comments}?per_page={PAGE}&page={page}", token)
        for comment in found:
            if str(comment.get("body", "")).startswith(MARK):
                own = f"{api}/repos/{repository}/issues/comments/{comment['id']}"
                return str(_asked("PATCH", own, token, {"body": text})["html_url"])
        if len(found) < PAGE:
            return str(_asked("POST", comments, token, {"body": text})["html_url"])
        page += 1


def _asked(method: str, url: str, token: str, content: Any = None) -> Any:
    request = urllib.request.Request(
        url,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def main(arguments: list[str]) -> int:
    (file,) = arguments
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    text = comment_text(json.loads(Path(file).read_text("utf-8")))
    try:
        place = keep_comment(
            text,
            api=os.environ.get("GITHUB_API_URL", "https://api.github.com"),
            repository=os.environ["GITHUB_REPOSITORY"],
            number=int(event["pull_request"]["number"]),
            token=os.environ["GITHUB_TOKEN"],
        )
    except urllib.error.HTTPError as problem:
        # A pull request from a fork may not write; the verdict does not hang on the comment.
        print(f"::warning::the comment could not be written: {problem.code} {problem.reason}", file=sys.stderr)
        print(text)
        return 0
    print(place)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
