"""What is wrong with a text that should be SARIF, JUnit XML or an event of OpenLineage, by the formats' own schemas."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import jsonschema
import rfc3986_validator
import xmlschema
from referencing import Registry, Resource

FORMATS = Path(__file__).parent / "formats"

# Without it jsonschema lets every URI pass.
assert rfc3986_validator, "the schema's URIs are looked at"


@lru_cache(maxsize=1)
def _sarif() -> jsonschema.Draft7Validator:
    schema = json.loads((FORMATS / "sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


@lru_cache(maxsize=1)
def _junit() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(FORMATS / "junit-jenkins.xsd"))


def wrong_in_sarif(text: str) -> list[str]:
    """One line for each place that breaks the schema of SARIF 2.1.0."""
    return [f"{problem.json_path}: {problem.message}" for problem in _sarif().iter_errors(json.loads(text))]


@lru_cache(maxsize=1)
def _openlineage() -> jsonschema.Draft202012Validator:
    event, facet = (
        json.loads((FORMATS / f"openlineage-{name}.json").read_text("utf-8")) for name in ("1-0-3", "assertions-1-0-1")
    )
    # The facet's schema refers to an earlier version of the other, which differs in nothing that it refers to.
    known = dict.fromkeys((event["$id"], "https://openlineage.io/spec/1-0-1/OpenLineage.json"), event)
    registry = Registry().with_resources(
        [(name, Resource.from_contents(content)) for name, content in {**known, facet["$id"]: facet}.items()]
    )
    facets = {"properties": {"inputs": {"items": {"properties": {"inputFacets": {"$ref": facet["$id"]}}}}}}
    schema = {"$schema": event["$schema"], "allOf": [{"$ref": event["$id"]}, facets]}
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator(schema, registry=registry, format_checker=checker)


def wrong_in_openlineage(text: str) -> list[str]:
    """One line for each place that breaks the schema of an event, or of the facet of assertions."""
    return [f"{problem.json_path}: {problem.message}" for problem in _openlineage().iter_errors(json.loads(text))]


def wrong_in_junit(text: str) -> list[str]:
    """One line for each place that breaks Jenkins's schema of JUnit XML."""
    return [f"{problem.path}: {problem.reason}" for problem in _junit().iter_errors(text.encode())]
