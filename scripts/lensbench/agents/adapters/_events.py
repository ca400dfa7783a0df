"""Events as lines of JSON, from a program that may print anything."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]
"""An object of JSON: an event, or a part of one."""

_TERMINAL = re.compile(
    r"\x1b(?:[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)|[\x00-\x08\x0b-\x1f\x7f]"
)
"""Control sequences (ECMA-48) and characters, which JSON has only escaped: launchers print them before an event."""
_LARGEST = 2**53
"""The largest integer that all JSON parsers read exactly."""


def read_event(line: str) -> Event | None:
    """The object in a line, if its `type` is a string; unusable numbers in it, such as NaN or 1e999, are None."""
    try:
        value = json.loads(
            _TERMINAL.sub("", line).lstrip("\ufeff"),
            parse_int=_int,
            parse_float=_float,
            parse_constant=_float,
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Event:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """The value if it is a whole number, else None."""
    return value if type(value) is int else None


def number(value: Any) -> int:
    """The value if it is a whole number, else 0."""
    return whole(value) or 0


def words(content: Any) -> str:
    """The text of a content (a string or a list of blocks) on one line."""
    parts = (
        [text(mapping(block).get("text")) for block in content]
        if isinstance(content, list)
        else [text(content)]
    )
    return " ".join(" ".join(parts).split())


@dataclass
class Use:
    """A tool call and its result; empty when there is none."""

    name: str
    call: Event
    result: Event = field(default_factory=dict)


def tool_uses(entries: Iterable[tuple[Hashable, str | None, Event]]) -> list[Use]:
    """The calls in the entries (id, tool, event), where a result has no tool. Some gateways number calls anew in each
    answer: a call whose id has a result is another one, and before its result a duplicate."""
    uses: list[Use] = []
    waiting: dict[Hashable, list[Use]] = {}
    for key, name, event in entries:
        same = waiting.setdefault(key, [])
        if name is None:
            if same:
                same.pop(0).result = event
        elif not same or (same[-1].name, _given(same[-1].call)) != (name, _given(event)):
            uses.append(Use(name, event))
            same.append(uses[-1])
    return uses


def _given(call: Event) -> Any:
    return call.get("input", call.get("parameters"))


def _int(digits: str) -> int | None:
    return None if _float(digits) is None else int(digits)


def _float(digits: str) -> float | None:
    value = float(digits)
    return value if abs(value) <= _LARGEST else None
