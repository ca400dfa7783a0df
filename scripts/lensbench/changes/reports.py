"""Reads the report of a test run: results by test id, from JUnit XML, `pytest_starter` or `node_reporter`.

An id is `<file>::<name>`; the id of a file that does not load is the file.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from lensbench.agents.sandbox import WORKSPACE


class TestResult(StrEnum):
    """The result of a test. Only `passed` counts as passed; an unreported test has no result."""

    __test__ = False

    PASSED = "passed"
    ASSERTED = "failed by an assertion"
    FAILED = "failed"
    SKIPPED = "skipped"


class Forged(ValueError):
    """A report that its reporter did not write so; the text says why."""


TestResults = Mapping[str, TestResult]

MAX_REPORT = 64_000_000
_WORST = (TestResult.ASSERTED, TestResult.FAILED, TestResult.SKIPPED, TestResult.PASSED)


def worst(one: TestResult, other: TestResult | None) -> TestResult:
    """The result that counts when there are two for one id."""
    return one if other is None else min(one, other, key=_WORST.index)


def read_junit(content: bytes) -> dict[str, TestResult]:
    """Results by `<file>::<name>`, or `<classname>::<name>` where the report names no file.

    Names of nested suites are joined with ` > `. A duplicate id has the worse result. Raises ValueError for anything
    else than JUnit XML.
    """
    if len(content) > MAX_REPORT or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError("the report is too large, or has a document type")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"the report is not valid XML: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"the report has <{root.tag}> where JUnit has <testsuites>")
    results: dict[str, TestResult] = {}
    nests = all(case.get("classname") == _NODE for case in root.iter("testcase"))
    _collect(root, (), "", nests, results)
    return results


_NODE = "test"
"""The class of every test in node's reporter; its nested suites become part of the test's name."""


def _collect(
    suite: Element, names: tuple[str, ...], file: str, nests: bool, results: dict[str, TestResult]
) -> None:
    for child in suite:
        path = child.get("file") or file
        if child.tag == "testsuite":
            _collect(
                child, (*names, child.get("name", "")) if nests else names, path, nests, results
            )
        elif child.tag == "testcase":
            label = _label(
                _in_repository(path), child.get("classname", ""), [*names, child.get("name", "")]
            )
            results[label] = worst(_result(child), results.get(label))


def _label(file: str, classname: str, names: list[str]) -> str:
    place = _in_repository(classname)
    name = " > ".join(names)
    head, _, suites = place.partition(" > ")
    if suites and (
        head == file or (not file and "." in head)
    ):  # tap: the class is the file with the suites
        file = head
        place = suites
    if _in_repository(name) == (file or place):
        return file or place
    if file and place not in ("", file, _NODE):
        name = f"{place} > {name}"
    return f"{file or place}::{name}"


def _in_repository(path: str) -> str:
    return path.removeprefix(f"{WORKSPACE}/").removeprefix("./")


def _result(case: Element) -> TestResult:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"} or case.get("status") == "failed":
        return _failure(case)
    return TestResult.SKIPPED if "skipped" in tags else TestResult.PASSED


_ASSERTS = re.compile(r"assert|^(Error: )?expect|did not raise|^Failed", re.IGNORECASE)
_ERROR = re.compile(r"\w*(Error|Exception)$")


def _failure(case: Element) -> TestResult:
    """Failed by an assertion when the first line says so."""
    for part in case:
        kind = part.get("type", "")
        text = (part.get("message") or part.text or "").strip().partition("\n")[0]
        is_other = _ERROR.fullmatch(kind) and kind not in ("Error", "AssertionError")
        if part.tag == "failure" and not is_other and _ASSERTS.search(f"{text} {kind}"):
            return TestResult.ASSERTED
    return TestResult.FAILED


def read_lines(content: str, nonce: str) -> dict[str, TestResult]:
    """Results of our own reporters: a JSON list `[nonce, id, result]` per line, and `[nonce, lines]` at the end.

    Raises Forged for a line that the reporter did not write, and ValueError when the end is missing.
    """
    results: dict[str, TestResult] = {}
    count = 0
    is_end = False
    for line in io.StringIO(content):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        match entry:
            case [key, str(name), str(result)] if key == nonce and not is_end:
                results[name] = worst(TestResult(result), results.get(name))
                count += 1
            case [key, int(lines)] if key == nonce and lines == count and not is_end:
                is_end = True
            case _:
                raise Forged("the report has a line that its reporter did not write")
    if not is_end:
        raise ValueError("the tests ended before the report did")
    return results


def with_unloaded(results: TestResults, files: Iterable[str]) -> dict[str, TestResult]:
    """The results, where a hidden file that did not load fails all its tests.

    Tests whose file the report does not name may be of that file, so they fail as well.
    """
    files = set(files)
    failures = unloaded_files(results, files)
    return {
        name: TestResult.FAILED if failures and not _is_of_others(name, failures, files) else result
        for name, result in results.items()
    }


def unloaded_files(results: TestResults, files: Iterable[str]) -> set[str]:
    """Those of the hidden `files` that were reported as failed themselves, in place of their tests."""
    failures = {
        name.rpartition("::")[2] for name, result in results.items() if result is TestResult.FAILED
    }
    return {path for path in files if {path, f"{WORKSPACE}/{path}", module_of(path)} & failures}


def _is_of_others(name: str, failures: set[str], files: set[str]) -> bool:
    place = name.partition("::")[0]
    if any(_is_in(place, path) for path in failures):
        return False
    return "/" in place or any(_is_in(place, path) for path in files - failures)


def _is_in(place: str, path: str) -> bool:
    return place == path or f"{place}.".startswith(f"{module_of(path)}.")


def module_of(path: str) -> str:
    """The dotted name of the file at `path`."""
    return path.rpartition(".")[0].replace("/", ".")
