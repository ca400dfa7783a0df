"""Keeping secrets out of everything that is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

SHORTEST = 6
"""Shorter values are no secrets, and hiding them would tear holes into every answer."""


class Redactor:
    """Replaces the values of the named environment variables wherever they occur in a text, plain or inside JSON."""

    def __init__(self, names: Sequence[str], environment: Mapping[str, str]) -> None:
        values = {
            form: name
            for name in names
            if len(environment.get(name, "")) >= SHORTEST
            for form in _forms(environment[name])
        }
        self._values = sorted(values.items(), key=lambda item: -len(item[0]))

    def __call__(self, text: str) -> str:
        """The text with `[redacted: NAME]` in place of each value."""
        for value, name in self._values:
            text = text.replace(value, f"[redacted: {name}]")
        return text


def _forms(value: str) -> Iterator[str]:
    """The value as it is, line by line (agents are read in lines), and as JSON writers escape it."""
    for part in (value, *(line for line in value.splitlines() if len(line) >= SHORTEST)):
        yield part
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield json.dumps(part)[1:-1].replace("/", "\\/")
