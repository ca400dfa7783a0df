"""Events as lines of JSON, from a program that may print anything."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Sequence
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
    parts = [text(content)]
    for block in sequence(content):
        parts.append(text(mapping(block).get("text")))
    return " ".join(" ".join(parts).split())


_REPORT = re.compile(r"(?mi)^[#*]{1,6} ?Report\b")
"""The heading of the section in which agents describe their run."""
_BYTES_PER_TOKEN = 4


def answer_among(texts: Sequence[str], last: str) -> str:
    """The last text of a run, or the newest of the model's own `texts` that is not blank: a model that has written its
    answer and calls a tool in the same message may have nothing to add."""
    if last.strip():
        return last
    return next((text for text in reversed(texts) if text.strip()), last)


def has_longer_report(texts: Sequence[str], answer: str) -> bool:
    """True when the model wrote a longer text with a report before its answer, which may be a mere remark."""
    return any(len(text) > len(answer) and _REPORT.search(text) for text in texts)


def least_tokens(written: Iterable[Any]) -> int:
    """The fewest tokens of what a model wrote (texts, thinking, inputs of tools): 4 bytes make at most one."""
    size = 0
    for part in written:
        if not part:
            continue
        text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        size += len(text.encode(errors="replace"))
    return size // _BYTES_PER_TOKEN


def least_usage(written: Iterable[Any]) -> dict[str, int] | None:
    """The tokens of a stream that ends before it shows any, at least; None where nothing was written."""
    output = least_tokens(written)
    if not output:
        return None
    return {"input": 0, "output": output, "cache_read": 0, "cache_write": 0}


def shown_tokens(tokens: dict[str, int], written: Iterable[Any]) -> dict[str, int] | None:
    """The counts, or None when they have no output although the model wrote: some gateways report no usage, which
    programs show as 0."""
    is_unshown = not tokens["output"] and least_tokens(written)
    return None if is_unshown else tokens


@dataclass
class Use:
    """A tool call and its result; empty when there is none."""

    name: str
    call: Event
    result: Event = field(default_factory=dict)


def tool_uses(entries: Iterable[tuple[Hashable, str | None, Event]]) -> list[Use]:
    """The calls in the entries (id, tool, event), where a result has no tool. Some gateways number calls anew in each
    answer, or not at all: a call whose id has a result is another one, and before its result a duplicate, unless that
    gets a result, too."""
    uses: list[Use] = []
    waiting: dict[Hashable, list[Use]] = {}
    copies: dict[Hashable, list[Use]] = {}
    for key, name, event in entries:
        same = waiting.setdefault(key, [])
        repeated = copies.setdefault(key, [])
        if name is None:
            if same:
                same.pop(0).result = event
            elif repeated:
                uses.append(repeated.pop())
                uses[-1].result = event
            continue
        use = Use(name, event)
        if same and (same[-1].name, _given(same[-1].call)) == (name, _given(event)):
            repeated.append(use)
            continue
        if not same:
            repeated.clear()
        uses.append(use)
        same.append(use)
    return uses


def _given(call: Event) -> Any:
    return call.get("input", call.get("parameters"))


def _int(digits: str) -> int | None:
    return None if _float(digits) is None else int(digits)


def _float(digits: str) -> float | None:
    value = float(digits)
    return value if abs(value) <= _LARGEST else None
