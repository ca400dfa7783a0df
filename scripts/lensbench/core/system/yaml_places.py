"""Reads untrusted YAML: with limits, without aliases, and with the line of every key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from lensbench.core.handed_over import decoded
from lensbench.core.pasted import pasted

KeyPath = tuple[str | int, ...]

MAX_YAML_BYTES = 8_000_000
MAX_YAML_DEPTH = 24


class DocumentError(ValueError):
    """The text cannot be read; `line` is 1-based."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Document:
    """A YAML value and the line of each of its keys and items."""

    value: Any
    lines: dict[KeyPath, int]

    def at(self, path: KeyPath) -> Any:
        """The value at `path`, which must be one of `lines`."""
        value = self.value
        for part in path:
            value = value[part]
        return value

    def line(self, path: KeyPath) -> int:
        """The 1-based line of `path`, or of the nearest part of it that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse_document(source: bytes) -> Document:
    """The YAML value in `source`, with lines. Raises DocumentError for what is too large or too deep, for anchors and
    aliases (a few hundred bytes of them can expand without end), tags, keys given twice, and keys that are not text."""
    if len(source) > MAX_YAML_BYTES:
        raise DocumentError(
            f"is {len(source)} bytes; at most {MAX_YAML_BYTES} are read. Split it into several files"
        )
    try:
        text = decoded(source)
    except UnicodeDecodeError as error:
        raise DocumentError(
            "is not UTF-8 text; save it as UTF-8", source[: error.start].count(b"\n") + 1
        ) from None
    try:
        _check_events(text)
        loader = yaml.CSafeLoader(text)
        try:
            node = loader.get_single_node()
            lines = dict(_lines(node, ())) if node else {}
            return Document(loader.construct_document(node) if node else None, lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        near = [*enumerate(text.split("\n")[:line], 1)][-3:]
        for number, why in (
            (n, why) for n, there in near if (why := pasted(there.partition("#")[0], False))
        ):
            raise DocumentError(why, number) from None
        wrong = f"{reason} (column {column}){_remedy(text, line, reason)}"
        raise DocumentError(f"is not valid YAML: {wrong}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(f"is not valid YAML: {' '.join(str(error).split())}") from None


def _remedy(text: str, line: int, reason: str) -> str:
    """How to fix the most common mistakes; "" for others."""
    lines = text.splitlines()
    here = lines[line - 1] if line <= len(lines) else ""
    if "\t" in here[: len(here) - len(here.lstrip())] or "'\\t'" in reason:
        return "; a tab: indent with spaces"
    if "cannot start any token" in reason:
        return "; put this value in quotes"
    if (
        "expected <block end>" in reason
        or "expected key" in reason
        or "mapping values are not allowed" in reason
    ):
        return "; indent this line like the lines that it belongs to, and put values with `: ` in quotes"
    return ""


def _check_events(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise DocumentError("uses a YAML anchor or alias (& or *); write the text out", line)
        if tag := getattr(event, "tag", None):
            raise DocumentError(f"uses the YAML tag {tag}; write the plain value", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_YAML_DEPTH:
                raise DocumentError(f"is nested deeper than {MAX_YAML_DEPTH} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _lines(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                name = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                if name == "<<":
                    raise DocumentError("uses a YAML merge key (<<); write the keys out", line)
                raise DocumentError(
                    f"has the key {name!r}, which is not text; put it in quotes", line
                )
            if why := pasted(key.value):
                raise DocumentError(why, line)
            if key.value in keys:
                raise DocumentError(f"gives the key {key.value!r} twice", line)
            keys.add(key.value)
            yield from _lines(value, (*path, key.value))
            yield (*path, key.value), line
