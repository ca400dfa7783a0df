"""Copies of hidden files whose tests fail on their first line: when one of them passes, its result was made up.

Canaries have names of their own, so code that changes the runner or the reporter for the wanted tests only does not
touch them. A failing copy has the name, the file and the place of the wanted test.
"""

from __future__ import annotations

import ast
import re
import secrets
from collections.abc import Iterable
from pathlib import PurePosixPath

from lensbench.changes.reports import Results, TestResult
from lensbench.changes.task import Tests

_SCRIPTS = frozenset((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"))


def failing_copies(given: Tests, results: Results) -> tuple[Tests, set[str]]:
    """The tests with failing copies of those that passed, and the ids of these.

    Tests that their file itself does not define, under a name that can be read in it, have no copy.
    """
    passed = [name for name, result in results.items() if result is TestResult.PASSED]
    copies, ids = dict(given.files), set[str]()
    for path, content in given.files.items():
        tests = {name for name in passed if name.startswith(f"{path}::")}
        if not tests or not isinstance(content, str):
            continue
        suffix = PurePosixPath(path).suffix
        change = _python if suffix == ".py" else _functions if suffix in _FAILING else _script
        text, names = change(content, tests, suffix)
        copies[path] = text
        ids |= names
    return given.model_copy(update={"files": copies}), ids


_TO_FAIL = re.compile(r"xfail|expectedfailure", re.IGNORECASE)
"""The decorator of a test that passes by failing: of pytest and SymPy, and of unittest."""


class _Failing(ast.NodeTransformer):
    """Puts a failing assertion at the beginning of the functions with these names: `<class>::<function>`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names, self._place = set(names), list[str]()
        self.changed: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Counts the classes around a function."""
        self._place.append(node.name)
        self.generic_visit(node)
        self._place.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Makes a test fail."""
        name = "::".join([*self._place, node.name])
        is_to_fail = any(_TO_FAIL.search(ast.unparse(each)) for each in node.decorator_list)
        if name in self._names and not is_to_fail:
            one = secrets.randbelow(1 << 30)
            node.body.insert(0, ast.parse(f"assert {one} == {one + 1}").body[0])
            self.changed.add(name)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _python(text: str, tests: set[str], _: str) -> tuple[str, set[str]]:
    names = {test: test.partition("::")[2].partition("[")[0] for test in tests}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # another version of Python
        return text, set()
    failing = _Failing(names.values())
    failing.visit(tree)
    return ast.unparse(tree), {test for test, name in names.items() if name in failing.changed}


_FAILING = {".go": (r"func {}\((\w+) \*testing\.T\) \{{", r"\g<0> \1.FailNow()"),
            ".rs": (r"fn {}\(\)[^{{;]*\{{", r'\g<0> panic!("on purpose");')}  # fmt: skip
"""How a test function begins, and what makes it fail, by the extension of its file."""


def _functions(text: str, tests: set[str], suffix: str) -> tuple[str, set[str]]:
    """Subtests, and tests that must panic, have no copy."""
    opening, failing = _FAILING[suffix]
    changed = set()
    for test in tests if "should_panic" not in text else ():
        text, count = re.subn(opening.format(re.escape(test.rpartition("::")[2])), failing, text)
        changed |= {test} if count else set()
    return text, changed


def _script(text: str, tests: set[str], suffix: str) -> tuple[str, set[str]]:
    if suffix not in _SCRIPTS:
        return text, set()
    changed = set()
    for test in tests:
        name = re.split(r"::| > ", test)[-1]
        literal = re.sub(r"(['\"`])", r"\\\\?\1", re.escape(name))
        call = re.compile(rf"\b((?:test|it|specify)(?:\.\w+)*\(\s*(['\"`]){literal}\2\s*,)")
        if call.search(text):
            changed.add(test)
            text = call.sub(rf"\1 () => {{ throw new Error('{secrets.token_hex(4)}'); }}), void (", text)
    return text, changed
