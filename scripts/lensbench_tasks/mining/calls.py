"""Calls across files, as far as names alone identify them with certainty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lensbench_tasks.parsers.code import CALLABLES, Definition, text_of, walk
from lensbench_tasks.survey import Survey

_CALLS = {"call", "call_expression", "new_expression"}
MIN_LENGTH = 4


class CallSite(NamedTuple):
    """A function that calls a definition in another file, with the text of the call up to the bracket."""

    caller: Definition
    callee: Definition
    quote: str


def calls(survey: Survey) -> Iterator[CallSite]:
    """The calls by a bare name that is defined once, at the top level of another file visible from the caller's file.

    Only the first call of a function by the same caller.
    """
    for path, definitions in survey.defined.items():
        own = {one.name for one in definitions}
        for caller in definitions:
            if caller.kind not in CALLABLES or caller.local:
                continue
            names = set()
            for name, quote in _called(caller):
                callee = survey.only(name) if name not in own and name not in names else None
                if (
                    callee
                    and callee.kind in (*CALLABLES, "class")
                    and _sees(path, callee.path, survey)
                ):
                    names.add(name)
                    yield CallSite(caller, callee, quote)


def _called(caller: Definition) -> Iterator[tuple[str, str]]:
    for node in walk(caller.node):
        if node.type in _CALLS:
            function = node.child_by_field_name("function") or node.child_by_field_name(
                "constructor"
            )
            name = text_of(function)
            if len(name) >= MIN_LENGTH and re.fullmatch(r"[A-Za-z_$][\w$]*", name):
                yield name, f"{name}("


def _sees(path: str, other: str, survey: Survey) -> bool:
    if path == other or survey.languages[path] != survey.languages[other]:
        return False
    same_package = (
        survey.languages[path] == "go" and path.rpartition("/")[0] == other.rpartition("/")[0]
    )
    return same_package or other in survey.imports.get(path, ())
