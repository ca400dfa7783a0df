"""The wrong copy of hidden tests: as they are, with other values. A test that fails by an assertion in its wrong copy
with the reference must fail there with every patch.

Whatever weakens assertions, in any syntax or library, lets wrong ones hold as well, so no list of tricks is needed. The
values depend on the tests, which no agent knows.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lensbench.changes.other_values import OtherValues
from lensbench.changes.syntax import SCRIPTS, Edit, edited, field, parse, replaced, text_of, walk
from lensbench.changes.task import EXIT, Tests
from lensbench.changes.wrong_kinds import CopyKind
from lensbench.changes.wrong_python import WrongPython
from lensbench.changes.wrong_script import WrongScript

if TYPE_CHECKING:
    from tree_sitter import Node

Kinds = Mapping[str, CopyKind]
"""The kind of copy by the id of a test."""


def wrong_copy(tests: Tests, kinds: Kinds) -> Tests:
    """The tests with wrong copies of those in `kinds`. Others, and files without a grammar, are as they were."""
    salt = repr(sorted((path, str(content)) for path, content in tests.files.items()))
    parts = frozenset(part for name in tests.fail_to_pass for part in re.split(r"::| > |/", name))
    values = OtherValues(salt, parts)
    files = dict(tests.files)
    for path, content in tests.files.items():
        if isinstance(content, str):
            files[path] = _wrong_text(path, content, kinds, values)
    return tests.model_copy(update={"files": files})


def test_names(tests: Tests) -> list[str]:
    """The names of all tests in the hidden files, in order: where only the exit status counts, each is wrong alone."""
    names: dict[str, None] = {}
    for path, content in tests.files.items():
        root = parse(path, content) if isinstance(content, str) else None
        if root is not None:
            names |= dict.fromkeys(
                name for _, name in _editor(path, OtherValues("", frozenset())).tests(root)
            )
    return [name for name in names if name]


def _wrong_text(path: str, text: str, kinds: Kinds, values: OtherValues) -> str:
    root = parse(path, text)
    if root is None:
        return text
    suffix = PurePosixPath(path).suffix
    by_name = {own_name(name, suffix): kind for name, kind in kinds.items()}
    editor = _editor(path, values)
    edits: list[Edit] = []
    for node, form in editor.tests(root):
        if (kind := _kind_of(form, suffix, by_name)) is not None:
            edits += editor.edits(node, kind)
    if edits and CopyKind.EXPECTED in by_name.values():
        edits += editor.helper_edits(root)
    return edited(text, edits) + editor.helpers if edits else text


_WORDS = ("value", "make", "item", "read", "given", "part", "name", "count")
"""What helpers are called after, so that no program finds them by their names."""


def _editor(path: str, values: OtherValues) -> WrongPython | WrongScript | _Plain:
    suffix = PurePosixPath(path).suffix
    helper = "_".join(secrets.choice(_WORDS) for _ in range(3)) + secrets.token_hex(2)
    if suffix == ".py":
        return WrongPython(values, helper)
    if suffix in SCRIPTS:
        return WrongScript(values, helper, is_typed="t" in suffix)
    return _Plain(values, suffix)


def _kind_of(form: str, suffix: str, by_name: Kinds) -> CopyKind | None:
    """The kind for a test by its name, which is a pattern in a script."""
    if suffix not in SCRIPTS:
        return by_name.get(form)
    for name, kind in by_name.items():
        if not form or re.fullmatch(form, name, re.DOTALL):
            return kind
    return None


def own_name(name: str, suffix: str) -> str:
    """The name of a test in its file, by its id."""
    if suffix == ".go":
        return (name.partition("::")[2] or name).partition("/")[0]
    if suffix in SCRIPTS:
        return re.split(r"::| > ", name)[-1]
    return name.partition("[")[0].rpartition("::")[2]


_GO_ASSERTION = re.compile(
    r"(?:t|assert|require|is|qt|c)\.\w+|(?=\w*?(?:[aA]ssert|[cC]heck|[sS]ame|[eE]qual))\w+"
)
_OPPOSITES = {"!=": "==", "==": "!="}


class _Plain:
    """The edits of a test file in Go or Rust, where no value can claim to equal others."""

    helpers = ""

    def __init__(self, values: OtherValues, suffix: str) -> None:
        self._values = values
        self._is_go = suffix == ".go"

    def tests(self, root: Node) -> Iterator[tuple[Node, str]]:
        """The test functions with their names."""
        kind = "function_declaration" if self._is_go else "function_item"
        for node in walk(root):
            name = text_of(field(node, "name"))
            if node.type == kind and (not self._is_go or name.startswith("Test")):
                yield node, name

    def edits(self, test: Node, kind: CopyKind) -> Iterator[Edit]:
        """The edits of a test for a kind of copy."""
        body = field(test, "body")
        if body is None or _must_panic(test):
            return
        if kind in (CopyKind.EACH, CopyKind.EVERYTHING):
            yield from self._values.edits(body, _is_index)
            return
        for unit in filter(self._is_assertion, walk(body)):
            if kind is CopyKind.ASSERTIONS:
                yield from self._values.edits(unit, _is_index)
            elif unit.type == "if_statement":
                yield from self._turned(unit)
            elif unit.type == "macro_invocation":
                macro = unit.children[0]
                if text_of(macro) == "assert_eq":
                    yield replaced(macro, "assert_ne")
            else:
                yield from self._values.edits(unit, _is_index)

    def helper_edits(self, root: Node) -> Iterator[Edit]:
        """None: helpers are as they were."""
        yield from ()

    def _is_assertion(self, node: Node) -> bool:
        if node.type == "macro_invocation":
            return text_of(node.children[0]).startswith("assert")
        if not self._is_go:
            return False
        if node.type == "if_statement":
            return bool(re.search(r"\bt\.(Error|Fatal|Fail)", text_of(field(node, "consequence"))))
        function = text_of(field(node, "function"))
        return node.type == "call_expression" and bool(_GO_ASSERTION.fullmatch(function))

    def _turned(self, unit: Node) -> Iterator[Edit]:
        condition = field(unit, "condition")
        for node in walk(condition) if condition is not None else ():
            operator = field(node, "operator")
            if operator is not None and text_of(operator) in _OPPOSITES:
                yield replaced(operator, _OPPOSITES[text_of(operator)])


def _must_panic(test: Node) -> bool:
    before = test.prev_sibling
    while before is not None and before.type == "attribute_item":
        if "should_panic" in text_of(before):
            return True
        before = before.prev_sibling
    return False


def _is_index(node: Node) -> bool:
    """What says where a value is, or how many there are."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "index_expression":
        return node != parent.children[0]
    return parent.type in ("array_type", "slice_expression")


EXIT_COPIES = 16
"""The maximum number of copies where only the exit status counts."""


def wrong_copies(tests: Tests, kinds: Kinds) -> Iterator[tuple[Tests, set[str]]]:
    """The wrong copies, each with the ids that must not pass in it."""
    if tests.report != EXIT:
        if kinds:
            yield wrong_copy(tests, kinds), set(kinds)
        return
    for name, kind in kinds.items():
        yield wrong_copy(tests, {name: kind}), {EXIT}
