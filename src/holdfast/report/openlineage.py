"""The outcome of a check as an event of OpenLineage, with the facet of data quality assertions on each table."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from importlib import metadata
from typing import Any

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.rule_words import rule_words
from holdfast.report.words import rule_text
from holdfast.rules.dependency import Inclusion, of_its_table
from holdfast.rules.predicate import Membership, NullTest

EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
FACET = (
    "https://openlineage.io/spec/facets/1-1-0/DataQualityAssertionsDatasetFacet.json"
    "#/$defs/DataQualityAssertionsDatasetFacet"
)


def openlineage_text(outcome: CheckOutcome, *, namespace: str = "holdfast") -> str:
    """Returns a run that is complete, with an input for each table; a rule over two is an assertion on the first.

    An assertion succeeds where its rule holds, whatever its severity. The run's id and time are those of this call.
    """
    producer = f"urn:holdfast:{metadata.version('holdfast')}"
    names = [table.name for table in outcome.tables] or [outcome.table]
    by_table: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for result in outcome.rules:
        by_table[result.rule.tables[0] if outcome.tables else outcome.table].append(_assertion(result))
    event = {
        "eventType": "COMPLETE",
        "eventTime": dt.datetime.now(dt.UTC).isoformat(),
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": namespace, "name": f"check {', '.join(names)}"},
        "inputs": [
            {
                "namespace": namespace,
                "name": name,
                "inputFacets": {
                    "dataQualityAssertions": {"_producer": producer, "_schemaURL": FACET, "assertions": assertions}
                },
            }
            for name, assertions in by_table.items()
        ],
        "outputs": [],
        "producer": producer,
        "schemaURL": EVENT,
    }
    text = json.dumps(event, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _assertion(result: RuleOutcome) -> dict[str, Any]:
    rule = result.rule
    body = of_its_table(rule.body)
    columns = body.left if isinstance(body, Inclusion) else body.columns
    suspects = result.violating_rows if result.suspect_rows is None else result.suspect_rows
    return {
        "assertion": _kind(result),
        "success": result.holds,
        **({"column": columns[0]} if len(columns) == 1 else {}),
        "severity": rule.severity,
        "name": rule.name,
        "description": rule.description or rule_words(rule),
        "expected": str(rule.allow),
        "actual": str(suspects),
        "content": rule_text(rule),
        "contentType": "expression",
    }


def _kind(result: RuleOutcome) -> str:
    """The name that others have for the rule, where they have one, or the kind that it is."""
    rule = result.rule
    if rule.kind in ("key", "ind"):
        return {"key": "unique", "ind": "relationships"}[rule.kind]
    predicates = [predicate for constraint in rule.body.denials for predicate in constraint.predicates]
    match predicates:
        case [NullTest(is_null=True)]:
            return "not_null"
        case [Membership(inside=False)]:
            return "accepted_values"
    return rule.kind
