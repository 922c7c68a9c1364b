"""The outcome of a check as JUnit XML: a test case per rule, for whatever shows test results."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.plain_text import plain_text
from holdfast.report.words import counts, tolerated, verdict

# What XML has no way to write at all.
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(outcome: CheckOutcome) -> str:
    """One test suite; rules that count and do not hold have failed, others passed, with what they found as output."""
    failed = [found for found in outcome.rules if _failed(found, outcome)]
    totals = {"tests": str(len(outcome.rules)), "failures": str(len(failed)), "errors": "0"}
    time = f"{outcome.seconds:.3f}"
    root = ET.Element("testsuites", {"name": "holdfast", **totals, "time": time})
    suite = ET.SubElement(root, "testsuite", {"name": _text(outcome.table), **totals, "skipped": "0", "time": time})
    for found in outcome.rules:
        case = ET.SubElement(suite, "testcase", {"classname": _text(outcome.table), "name": _text(found.rule.name)})
        said = f"{counts(found)}{tolerated(found)}"
        if _failed(found, outcome):
            failure = ET.SubElement(case, "failure", {"type": verdict(found), "message": _text(said)})
            failure.text = _text(plain_text(found, outcome))
        elif found.violating_rows:
            ET.SubElement(case, "system-out").text = _text(plain_text(found, outcome))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _failed(found: RuleOutcome, outcome: CheckOutcome) -> bool:
    return not found.holds and outcome.counts(found)


def _text(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
