"""What a treatment's first request has that the baseline's lacks, and the other way round."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A part of one request that the other lacks."""

    place: str
    """Where it is: `tools[4]`, `messages[0].content`."""
    is_added: bool
    """True for a part of the treatment's request."""
    text: str
    """The part: JSON, or lines of a text."""

    @property
    def line(self) -> str:
        """The part on one line, as in a patch: `+ tools[4]: {"name": "find" ...`."""
        return f"{'+' if self.is_added else '-'} {self.place}: {self.text}"


def differences(baseline: Any, treatment: Any, place: str = "") -> Iterator[Difference]:
    """The differences of two JSON documents. Entries that were put into a list, and lines that were put into a text,
    are added parts; whatever else changed is a part of each."""
    if isinstance(baseline, Mapping) and isinstance(treatment, Mapping):
        yield from _of_mappings(baseline, treatment, place)
    elif isinstance(baseline, list) and isinstance(treatment, list):
        yield from _of_lists(baseline, treatment, place)
    elif isinstance(baseline, str) and isinstance(treatment, str):
        yield from _of_texts(baseline, treatment, place)
    elif baseline != treatment:
        yield Difference(place, False, _json(baseline))
        yield Difference(place, True, _json(treatment))


def _of_mappings(
    baseline: Mapping[str, Any], treatment: Mapping[str, Any], place: str
) -> Iterator[Difference]:
    for key in dict.fromkeys((*baseline, *treatment)):
        inner = f"{place}.{key}" if place else key
        if key not in treatment:
            yield Difference(inner, False, _json(baseline[key]))
        elif key not in baseline:
            yield Difference(inner, True, _json(treatment[key]))
        else:
            yield from differences(baseline[key], treatment[key], inner)


def _of_lists(
    baseline: Sequence[Any], treatment: Sequence[Any], place: str
) -> Iterator[Difference]:
    before = [_json(value) for value in baseline]
    after = [_json(value) for value in treatment]
    for start, end, new_start, new_end in _changes(before, after):
        paired = min(end - start, new_end - new_start)
        for offset in range(paired):
            number = new_start + offset
            yield from differences(
                baseline[start + offset], treatment[number], f"{place}[{number}]"
            )
        for number in range(start + paired, end):
            yield Difference(f"{place}[{number}]", False, before[number])
        for number in range(new_start + paired, new_end):
            yield Difference(f"{place}[{number}]", True, after[number])


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The ranges that differ: start and end in `before`, start and end in `after`. What both begin and end with is the
    same, so that one entry more among equal ones is one difference."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    inner_before = before[first : len(before) - last]
    inner_after = after[first : len(after) - last]
    matcher = SequenceMatcher(None, inner_before, inner_after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield first + start, first + end, first + new_start, first + new_end


def _of_texts(baseline: str, treatment: str, place: str) -> Iterator[Difference]:
    before = baseline.split("\n")
    after = treatment.split("\n")
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        for is_added, lines in ((False, before[start:end]), (True, after[new_start:new_end])):
            if before[start:end] != after[new_start:new_end] and lines:
                yield Difference(place, is_added, "\n".join(lines))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
