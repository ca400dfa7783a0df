"""Answers as JSON that never exceeds what an agent can take in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

MAX_CHARS = 20_000
MAX_ITEMS = 2_000  # more items than this cannot fit, whatever they are


def render(answer: Mapping[str, Any]) -> str:
    """The answer as JSON, indented by two."""
    return json.dumps(answer, indent=2, ensure_ascii=False)


def fit(build: Callable[[int], dict[str, Any]], sizes: Mapping[str, int]) -> str:
    """The answer with its lists as long as 20,000 characters allow.

    `build(n)` gives the answer with each list cut after its n first items, `sizes` the full length of each list.
    Where something was cut, `omitted` counts the items per list that were left out.
    """

    def text(length: int) -> str:
        omitted = {name: size - length for name, size in sizes.items() if size > length}
        return render(build(length) | ({"omitted": omitted} if omitted else {}))

    low, high = 0, min(max(sizes.values(), default=0), MAX_ITEMS)
    if len(whole := text(high)) <= MAX_CHARS:
        return whole
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(text(middle)) <= MAX_CHARS else (low, middle)
    return text(low)
