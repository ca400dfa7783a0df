"""Removes secrets, also encoded ones, from everything that is written."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

SHORTEST = 6
"""Shorter values are not secrets, and hiding them would remove ordinary words from answers."""
SHORTEST_CODED = 8
"""Minimum length of an encoded form, and of a value searched across a line break: shorter ones match by chance."""
DEPTH = 4
"""Maximum depth of JSON inside strings of JSON."""

_BREAK = re.compile(r"\s+|\\[nrt]")
_GAP = r"(?:\s|\\[nrt])*"
_HARMLESS = re.compile(
    r"/.*|[a-z]:\\.*|[0-9.,:]+|[a-z]+([-_ ][a-z]+)*|true|false|https?://[^@]*",
    re.IGNORECASE | re.DOTALL,
)
"""Values in an MCP file's `env` that are settings: paths, numbers, words, addresses without a password."""
_CREDENTIAL = re.compile(r"key|token|secret|pass|auth|credential|cookie", re.IGNORECASE)


def literal_secrets(servers: Mapping[str, Any]) -> dict[str, str]:
    """The secrets in the `env` and `headers` of MCP entries, by `<server>.<variable>`."""
    secrets: dict[str, str] = {}
    for server, entry in servers.items():
        for section in ("env", "headers"):
            values = entry.get(section) if isinstance(entry, dict) else None
            for name, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, str) and "${" not in value and is_secret(name, value):
                    secrets[f"{server}.{name}"] = value.removeprefix("Bearer ").removeprefix(
                        "Basic "
                    )
    return secrets


def is_secret(name: str, value: str) -> bool:
    """True unless a setting's name and its value are harmless."""
    return bool(_CREDENTIAL.search(name) or not _HARMLESS.fullmatch(value))


class Redactor:
    """Replaces secrets in a text: plain, inside JSON, in base64, in hex, percent-encoded, or broken over two lines.
    Secrets are the values of the named environment variables, and `others` by their names."""

    def __init__(
        self,
        names: Sequence[str],
        environment: Mapping[str, str],
        others: Mapping[str, str] | None = None,
    ) -> None:
        self._names: dict[str, str] = {}
        self.learn({**{name: environment.get(name, "") for name in names}, **(others or {})})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Hides further secrets from now on, such as a token that a command printed."""
        for name, value in secrets.items():
            if len(value) >= SHORTEST:
                self._names.update(dict.fromkeys(_forms(value), name))
        self._values = sorted(self._names.items(), key=lambda item: -len(item[0]))
        self._broken = [
            (form, name)
            for form, name in self._values
            if len(_BREAK.sub("", form)) >= SHORTEST_CODED
        ]

    def __call__(self, text: str) -> str:
        """The text with `[redacted: NAME]` in place of each secret."""
        return str(self.all(text))

    def all(self, value: Any, depth: int = 0) -> Any:
        """Plain data with every string redacted, including keys."""
        if isinstance(value, str):
            text = self._hide(value)
            if depth > DEPTH or not self._values or "\\" not in text:
                return text
            return "".join(self._hide_in_json(line, depth) for line in io.StringIO(text))
        if isinstance(value, list):
            return [self.all(item, depth) for item in value]
        if isinstance(value, dict):
            return {self.all(key, depth): self.all(item, depth) for key, item in value.items()}
        return value

    def _hide(self, text: str) -> str:
        for value, name in self._values:
            text = text.replace(value, f"[redacted: {name}]")
        if self._broken and _BREAK.search(text):
            whole_text = _BREAK.sub("", text)
            for value, name in self._broken:
                whole = _BREAK.sub("", value)
                if whole in whole_text:
                    text = re.sub(_GAP.join(map(re.escape, whole)), f"[redacted: {name}]", text)
        return text

    def _hide_in_json(self, line: str, depth: int) -> str:
        r"""A line of JSON that contains a secret with other escapes (`\u0073k-...`), serialized again."""
        if line.lstrip()[:1] not in ("{", "[", '"') or "\\" not in line:
            return line
        try:
            value = json.loads(line)
            clean = self.all(value, depth + 1)
        except (ValueError, RecursionError):
            return line
        end = line[len(line.rstrip("\r\n")) :]
        return line if clean == value else json.dumps(clean, ensure_ascii=False) + end


def _forms(value: str) -> Iterator[str]:
    """The value itself, its lines (output is read line by line), the value with JSON escapes, and encoded forms."""
    for part in (value, *(line for line in value.splitlines() if len(line) >= SHORTEST)):
        yield part
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield json.dumps(part)[1:-1].replace("/", "\\/")
        yield from (
            form for form in _coded(part.encode(errors="replace")) if len(form) >= SHORTEST_CODED
        )


def _coded(value: bytes) -> Iterator[str]:
    """Base64 for each offset of the value in the encoded data, hex, and percent-encoding."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + value).decode()
        first = (0, 2, 3)[before]  # the characters with bits of the preceding bytes
        last = (
            (before + len(value)) * 8
        ) // 6  # the characters after it have bits of the following bytes
        yield whole[first:last]
        yield whole[first:last].replace("+", "-").replace("/", "_")
    yield value.hex()
    yield value.hex().upper()
    for form in (quote(value, safe=""), quote(value), "".join(f"%{byte:02X}" for byte in value)):
        yield form
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), form)
