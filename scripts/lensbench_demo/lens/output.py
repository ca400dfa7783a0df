"""Answers as JSON of limited length."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Answer = dict[str, Any]
"""The content of an answer, as JSON has it."""
MAX_CHARS = 20_000
MAX_ITEMS = 2_000  # more items never fit


def render(answer: Mapping[str, Any]) -> str:
    """The answer as JSON with an indent of two."""
    return json.dumps(answer, indent=2, ensure_ascii=False)


def fit(build: Callable[[int], Answer], sizes: Mapping[str, int]) -> str:
    """The answer with its lists cut to fit into 20,000 characters.

    `build(n)` returns the answer with the first n items of each list; `sizes` is the full length of each list.
    When lists were cut, `omitted` is the number of items omitted per list.
    """

    def text(length: int) -> str:
        omissions = {name: size - length for name, size in sizes.items() if size > length}
        return render(build(length) | ({"omitted": omissions} if omissions else {}))

    low, high = 0, min(max(sizes.values(), default=0), MAX_ITEMS)
    if len(whole := text(high)) <= MAX_CHARS:
        return whole
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(text(middle)) <= MAX_CHARS else (low, middle)
    return text(low)
