"""The outcome of a check as SARIF 2.1.0, with a result per violated rule."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from typing import Any
from urllib.parse import quote

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.rule_words import rule_words
from holdfast.report.words import plain_text, rule_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_text(outcome: CheckOutcome) -> str:
    """Returns one run; a rule within its allowance is a note, a violated rule of severity warn a warning.

    The location of a result is the path of the table's file, by which code hosts find it in a checkout.
    """
    driver = {
        "name": "holdfast",
        "version": metadata.version("holdfast"),
        "rules": [_rule(result) for result in outcome.rules],
    }
    results = [_result(i, result, outcome) for i, result in enumerate(outcome.rules) if result.violating_rows]
    run = {"tool": {"driver": driver}, "results": results, "properties": {"rows": outcome.rows}}
    text = json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)
    return _writable(text).decode() + "\n"


def _rule(result: RuleOutcome) -> dict[str, Any]:
    rule = result.rule
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.description or rule_words(rule)},
        "fullDescription": {"text": rule_text(rule)},
        "defaultConfiguration": {"level": "error" if rule.severity == "error" else "warning"},
        "properties": {"kind": rule.kind, **rule.labels},
    }


def _result(place: int, result: RuleOutcome, outcome: CheckOutcome) -> dict[str, Any]:
    level = "note" if result.holds else "error" if outcome.counts(result) else "warning"
    where = {"artifactLocation": {"uri": quote(_writable(outcome.place or outcome.table))}, "region": {"startLine": 1}}
    said = f"{result.rule.name}\0{rule_text(result.rule)}"
    return {
        "ruleId": result.rule.name,
        "ruleIndex": place,
        "level": level,
        "message": {"text": plain_text(result, outcome)},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"rule/v1": hashlib.sha256(_writable(said)).hexdigest()},
        "properties": result.to_dict(),
    }


def _writable(text: str) -> bytes:
    """Returns the text as UTF-8; lone surrogates, which file names may have, are escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace")
