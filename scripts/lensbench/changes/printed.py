"""Reads results from what a test runner prints: unittest, Django, SymPy, `go test -json`, `cargo test`, or TAP.

An id is `<hidden file>::<name>`. Ordinals are no part of it: of a test in TAP, of one of several subtests with one name
in Go, of a line in Rust's documentation.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from lensbench.changes.reports import TestResult, module_of, worst

Files = Mapping[str, object]
"""The hidden files, by path."""
PrintedResults = Iterator[tuple[str, TestResult]]
_PASSED, _FAILED, _SKIPPED = TestResult.PASSED, TestResult.FAILED, TestResult.SKIPPED
_ASSERTED = TestResult.ASSERTED


def read_printed(content: str, files: Files) -> tuple[dict[str, TestResult], dict[str, str]]:
    """Results by id; a hidden file that does not compile has failed itself.

    The second value has the id for each other name that unittest and SymPy print: a test's docstring, or
    `<test> (<class>)`. Raises ValueError when the output has no test.
    """
    results: dict[str, TestResult] = {}
    names: dict[str, str] = {}
    reader = next((reader for form, reader in _READERS if form.search(content)), None)
    for label, result in reader(content, files) if reader else _unittest(content, files, names):
        results[label] = worst(result, results.get(label))
    if not results:
        raise ValueError("the tests printed no result")
    return results, names


_GO = {"pass": _PASSED, "fail": _ASSERTED, "skip": _SKIPPED}
_GO_COUNT = re.compile(r"#\d\d+(?=/|$)")
_GO_ERROR = re.compile(r"(?:\./)?(\S+_test\.go):\d+:")


def _go(content: str, files: Files) -> PrintedResults:
    panicked = set[str]()
    for line in io.StringIO(content):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        match event:
            case {"Action": "output", "Package": str(package), "Output": str(output)} if (
                output.startswith("panic: ")
            ):
                panicked.add(package)
            case {"Action": str(action), "Package": str(package), "Test": str(test)} if (
                action in _GO
            ):
                result = _FAILED if action == "fail" and package in panicked else _GO[action]
                yield f"{_go_file(package, test, files)}::{_GO_COUNT.sub('', test)}", result
            case {"Action": "build-output", "Output": str(output)} if error := _GO_ERROR.match(
                output
            ):
                yield error[1], _FAILED


def _go_file(package: str, test: str, files: Files) -> str:
    """The hidden file of the package that defines the test; else the package, in which its name is unique."""
    pattern = re.compile(rf"^func {re.escape(test.partition('/')[0])}\(", re.MULTILINE)
    return next(
        (
            path
            for path, text in files.items()
            if isinstance(text, str)
            and pattern.search(text)
            and f"/{package}/".endswith(f"/{path.rpartition('/')[0]}/".replace("//", "/"))
        ),
        package,
    )


_CARGO_FILE = re.compile(r"\s*Running (?:unittests )?(\S+\.rs)\b")
_CARGO_TEST = re.compile(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b.*")
_CARGO_EXAMPLE = re.compile(r"(\S+\.rs) - (.*?) ?\(line \d+\).*")
_CARGO_BROKEN = re.compile(r"error: could not compile `.+` \(test \"([\w-]+)\"\)")
_CARGO_PANIC = re.compile(
    r"^---- (.+?) stdout ----\n(?:.*\n){0,3}?.*\bpanicked at (?:'|.*:\n)(.*)", re.MULTILINE
)
_LANGUAGES_OWN = re.compile(
    r"called `(?:Option|Result)::|index out of bounds|attempt to |(?:range|slice|byte) (?:start |end )?index"
    r"|already (?:mutably )?borrowed|not (?:yet )?implemented|internal error: entered unreachable code"
    r"|capacity overflow|cannot access a Thread Local"
)
"""Messages of panics that no assertion raises: a helper that compares by hand panics in its own words."""
_CARGO_WORDS = {"ok": _PASSED, "FAILED": _FAILED, "ignored": _SKIPPED}


def _cargo(content: str, files: Files) -> PrintedResults:
    panics = _CARGO_PANIC.findall(content)
    file = ""
    asserted = {test for test, said in panics if not _LANGUAGES_OWN.match(said)}
    for line in map(str.rstrip, io.StringIO(content)):
        if match := _CARGO_FILE.match(line):
            file = next((path for path in files if f"/{path}".endswith(f"/{match[1]}")), match[1])
        elif match := _CARGO_TEST.fullmatch(line):
            example = _CARGO_EXAMPLE.fullmatch(match[1])
            label = "::".join(example.groups() if example else (file, match[1]))
            is_asserted = match[2] == "FAILED" and match[1] in asserted
            yield label, _ASSERTED if is_asserted else _CARGO_WORDS[match[2]]
        elif match := _CARGO_BROKEN.match(line):
            yield from ((path, _FAILED) for path in files if PurePosixPath(path).stem == match[1])


_TAP_ASSERTED = re.compile(r"AssertionError|\bassertion:")
_TAP = re.compile(r"(not )?ok \d+(?: - )?(.*?)(?: # (SKIP|TODO)\b.*)?")


def _tap(content: str, files: Files) -> PrintedResults:
    """Of AVA, which names a test's file, without its extension, only where it runs several."""
    stems = {PurePosixPath(path).name.partition(".")[0]: path for path in files}
    lines = [line.rstrip() for line in io.StringIO(content)]
    for number, line in enumerate(lines, 1):
        if not (match := _TAP.fullmatch(line)):
            continue
        first, _, rest = match[2].partition(" \u203a ")
        file = stems.get(
            first.partition(" exited with")[0].rpartition("/")[2].partition(".")[0], ""
        )
        label = (
            f"{file}::{rest}" if file and rest else file or f"{next(iter(files), '')}::{match[2]}"
        )
        if match[3]:
            yield label, _SKIPPED
        elif match[1]:
            details = itertools.takewhile(lambda line: line.strip() != "...", lines[number:])
            yield label, _ASSERTED if _TAP_ASSERTED.search("\n".join(details)) else _FAILED
        else:
            yield label, _PASSED


_OUTCOMES = {
    "ok": _PASSED,
    "FAIL": _ASSERTED,
    "F": _ASSERTED,
    "f": _PASSED,
    "expected failure": _PASSED,
    **dict.fromkeys("swTK", _SKIPPED),
}
"""Words of unittest and letters of SymPy's runner; `F` failed by an assertion, `f` is an expected
failure. Others are failures."""
_SYMPY_FILE = re.compile(r"(\S+\.py)\[(?:\d+|\?)\]")
_SYMPY_TEST = re.compile(r"(test_\w+)(?: \[.*\])? (ok|[a-zA-Z])(?:\s.*)?")
_UNITTEST = re.compile(r"(\w+) \(([\w.]+)\)(.*)")
_RESULT = re.compile(
    r"(?:.*\.\.\. ?)?\b(ok|FAIL|ERROR|expected failure|unexpected success|skipped\b.*)"
)


def _unittest(content: str, files: Files, names: dict[str, str]) -> PrintedResults:
    file = ""
    pending = ""
    for line in map(str.strip, io.StringIO(content)):
        if match := _SYMPY_FILE.match(line):
            file = match[1]
        elif file and (match := _SYMPY_TEST.fullmatch(line)):
            names[match[1]] = label = f"{file}::{match[1]}"
            yield label, _OUTCOMES.get(match[2], _FAILED)
        else:
            if match := _UNITTEST.match(line):
                module, _, kind = match[2].removesuffix(f".{match[1]}").rpartition(".")
                path = next(
                    (path for path in files if f".{module_of(path)}".endswith(f".{module}")), module
                )
                pending = f"{path}::{kind}::{match[1]}"
                names[line.partition(" ... ")[0]] = names[f"{match[1]} ({module}.{kind})"] = pending
            elif pending and " ... " in line:
                names[line.partition(" ... ")[0]] = pending
            if pending and (match := _RESULT.fullmatch(line)):
                word = match[1].partition(" '")[0]
                yield (
                    pending,
                    _SKIPPED if word.startswith("skipped") else _OUTCOMES.get(word, _FAILED),
                )
                pending = ""


_READERS: tuple[tuple[re.Pattern[str], Callable[[str, Files], PrintedResults]], ...] = (
    (re.compile(r'^\{"(Time|ImportPath)":', re.MULTILINE), _go),
    (re.compile(r"^TAP version \d+$", re.MULTILINE), _tap),
    (re.compile(r"^running \d+ tests?$|^error: could not compile `", re.MULTILINE), _cargo),
)
"""By what only that runner prints."""
