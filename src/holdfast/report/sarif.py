"""The outcome of a check as SARIF 2.1.0: a result per broken rule, for whatever shows what analysers find."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from typing import Any
from urllib.parse import quote

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.plain_text import plain_text
from holdfast.report.rule_words import rule_words
from holdfast.report.words import rule_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(outcome: CheckOutcome) -> str:
    """One run; a rule within what it allows is a note, one of severity warn a warning.

    A result stands at the table's file: by its path, since that is how code hosts find it in a checkout.
    """
    driver = {
        "name": "holdfast",
        "version": metadata.version("holdfast"),
        "rules": [_rule(found) for found in outcome.rules],
    }
    results = [_result(i, found, outcome) for i, found in enumerate(outcome.rules) if found.violating_rows]
    run = {"tool": {"driver": driver}, "results": results, "properties": {"rows": outcome.rows}}
    text = json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)
    return _writable(text).decode() + "\n"


def _rule(found: RuleOutcome) -> dict[str, Any]:
    rule = found.rule
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.description or rule_words(rule)},
        "fullDescription": {"text": rule_text(rule)},
        "defaultConfiguration": {"level": "error" if rule.severity == "error" else "warning"},
        "properties": {"kind": rule.kind},
    }


def _result(place: int, found: RuleOutcome, outcome: CheckOutcome) -> dict[str, Any]:
    level = "note" if found.holds else "error" if outcome.counts(found) else "warning"
    where = {"artifactLocation": {"uri": quote(_writable(outcome.place or outcome.table))}, "region": {"startLine": 1}}
    said = f"{found.rule.name}\0{rule_text(found.rule)}"
    return {
        "ruleId": found.rule.name,
        "ruleIndex": place,
        "level": level,
        "message": {"text": plain_text(found, outcome)},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"rule/v1": hashlib.sha256(_writable(said)).hexdigest()},
        "properties": found.to_dict(),
    }


def _writable(text: str) -> bytes:
    """The text as UTF-8; halves of characters, which file names may hold, as JSON escapes them."""
    return text.encode("utf-8", "backslashreplace")
