"""Writes results of cases as JUnit XML, which CI systems show."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from tidemark.records.cases import CaseDifference, CaseRecord, CasesRecord

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(record: CasesRecord, pipeline: str) -> str:
    """The XML of a record: one test suite a file, one test case a case."""
    root = ElementTree.Element("testsuites", {"name": "tidemark test", **_counts(record["cases"])})
    for file, cases in groupby(record["cases"], key=lambda case: case["file"]):
        own = [*cases]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(file), **_counts(own)})
        for case in own:
            _add(suite, case, f"{pipeline}.{Path(file).name}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(cases: list[CaseRecord]) -> dict[str, str]:
    errors = sum(case["failure"] is not None for case in cases)
    failures = sum(not case["passed"] for case in cases) - errors
    seconds = sum(case["seconds"] for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{seconds:.3f}",
    }


def _add(suite: ElementTree.Element, case: CaseRecord, group: str) -> None:
    attributes = {"classname": _xml(group), "name": _xml(case["name"]), "time": f"{case['seconds']:.3f}"}
    attributes |= {"file": _xml(case["file"]), "line": str(case["line"])}
    node = ElementTree.SubElement(suite, "testcase", attributes)
    if case["failure"] is not None:
        ElementTree.SubElement(node, "error", message=_xml(case["failure"]))
    elif not case["passed"]:
        count = len(case["differences"])
        failure = ElementTree.SubElement(
            node, "failure", message=f"{count} rows differ" if count > 1 else "1 row differs"
        )
        failure.text = _xml("\n".join(map(_sentence, case["differences"])))


def _sentence(found: CaseDifference) -> str:
    def shown(row: object) -> str:
        return "no row" if row is None else json.dumps(row, ensure_ascii=False)

    given = f" given {shown(found['given'])}:" if found["given"] else ""
    return f"{found['table']}:{given} expected {shown(found['expected'])}, got {shown(found['got'])}"


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("?", text)
