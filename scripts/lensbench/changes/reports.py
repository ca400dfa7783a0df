"""Reading what a test run reported: results by test id, from JUnit XML or from our own pytest reporter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from xml.etree import ElementTree
from xml.etree.ElementTree import Element


class TestResult(StrEnum):
    """What a test did. Only `passed` counts as passed; a test that was not reported has no result."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


Results = Mapping[str, TestResult]

MAX_REPORT = 64_000_000
_WORST = (TestResult.FAILED, TestResult.SKIPPED, TestResult.PASSED)


def worst(one: TestResult, other: TestResult | None) -> TestResult:
    """What counts of two results for one id."""
    return one if other is None else min(one, other, key=_WORST.index)


def read_junit(content: bytes) -> dict[str, TestResult]:
    """Results by `<classname>::<name>`; names of nested suites are joined with ` > `.

    An id that stands there twice has the worse result. Raises ValueError for what is no JUnit XML.
    """
    if len(content) > MAX_REPORT or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError("the report is too large, or has a document type")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"the report is no XML: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"the report has <{root.tag}> where JUnit has <testsuites>")
    results: dict[str, TestResult] = {}
    nested = all(case.get("classname") == _NODE for case in root.iter("testcase"))
    _collect(root, (), nested, results)
    return results


_NODE = "test"
"""The class that node's reporter gives every test; the suites that it nests are part of the test's name."""


def _collect(suite: Element, names: tuple[str, ...], nested: bool, results: dict[str, TestResult]) -> None:
    for child in suite:
        if child.tag == "testsuite":
            _collect(child, (*names, child.get("name", "")) if nested else names, nested, results)
        elif child.tag == "testcase":
            place = child.get("classname") or child.get("file") or ""
            label = f"{place}::{' > '.join([*names, child.get('name', '')])}"
            results[label] = worst(_result(child), results.get(label))


def _result(case: Element) -> TestResult:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"} or case.get("status") == "failed":
        return TestResult.FAILED
    return TestResult.SKIPPED if "skipped" in tags else TestResult.PASSED


def read_lines(content: str, nonce: str) -> dict[str, TestResult]:
    """Results of our own pytest reporter: a JSON list `[nonce, id, result]` a line, and `[nonce, count]` at the end.

    A line without the nonce was written by somebody else. Raises ValueError for such a line, and when the end is
    missing.
    """
    results: dict[str, TestResult] = {}
    ended = False
    for line in content.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            raise ValueError("the report has a line that its reporter did not write") from None
        match said:
            case [given, str(name), str(result)] if given == nonce and not ended:
                results[name] = worst(TestResult(result), results.get(name))
            case [given, int()] if given == nonce and not ended:
                ended = True
            case _:
                raise ValueError("the report has a line that its reporter did not write")
    if not ended:
        raise ValueError("the tests ended before the report did")
    return results
