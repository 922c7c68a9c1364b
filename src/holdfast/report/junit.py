"""The outcome of a check as JUnit XML, with a test case per rule."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.words import counts, plain_text, tolerated, verdict

# Characters that XML cannot express, even escaped.
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(outcome: CheckOutcome) -> str:
    """Returns one test suite: a violated rule is a failure if it counts (`fail_on`), else its violations are output."""
    failed = [result for result in outcome.rules if _failed(result, outcome)]
    totals = {"tests": str(len(outcome.rules)), "failures": str(len(failed)), "errors": "0"}
    time = f"{outcome.seconds:.3f}"
    root = ET.Element("testsuites", {"name": "holdfast", **totals, "time": time})
    suite = ET.SubElement(root, "testsuite", {"name": _text(outcome.table), **totals, "skipped": "0", "time": time})
    for result in outcome.rules:
        case = ET.SubElement(suite, "testcase", {"classname": _text(outcome.table), "name": _text(result.rule.name)})
        said = f"{counts(result)}{tolerated(result)}"
        if _failed(result, outcome):
            failure = ET.SubElement(case, "failure", {"type": verdict(result), "message": _text(said)})
            failure.text = _text(plain_text(result, outcome))
        elif result.violating_rows:
            ET.SubElement(case, "system-out").text = _text(plain_text(result, outcome))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _failed(result: RuleOutcome, outcome: CheckOutcome) -> bool:
    return not result.holds and outcome.counts(result)


def _text(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
