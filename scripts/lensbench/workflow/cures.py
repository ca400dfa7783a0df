"""Writes what a server lacks in a run, as the preflight found it, into the config and the MCP file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from lensbench.core.conditions import read_jsonc
from lensbench.core.preflight_results import Cure
from lensbench.core.system.files import write_atomic, write_json


def write_cures(config: Path, cures: Sequence[Cure]) -> bool:
    """Adds the settings and changes the servers' entries; returns whether that changed a file."""
    files = {config, *(Path(cure.mcp) for cure in cures if cure.mcp)}
    before = {path: path.read_bytes() for path in files}
    for cure in cures:
        text = config.read_text(encoding="utf-8")
        for key, value in cure.settings.items():
            text = with_value(text, key.split("."), value)
        write_atomic(config, text)
        if cure.words or cure.env:
            _change_entry(cure)
    return any(path.read_bytes() != content for path, content in before.items())


def with_value(text: str, path: Sequence[str], value: Sequence[str] | float) -> str:
    """The YAML text with a value at `path`, in a mapping that has keys; the items of a list there stay in it.

    Everything else stays as it is, comments too.
    """
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for number, key in enumerate(path):
        there = _child(node, key)
        if there is None:
            item: Any = value
            for inner in reversed(path[number + 1 :]):
                item = {inner: item}
            first = node.value[0][0].start_mark
            after = ", " if node.flow_style else f"\n{' ' * first.column}"
            return f"{text[: first.index]}{key}: {json.dumps(item)}{after}{text[first.index :]}"
        node = there
    is_block = isinstance(there, yaml.SequenceNode) and not there.flow_style
    last = there.value[-1] if is_block else there
    if isinstance(there, yaml.SequenceNode) and isinstance(value, Sequence):
        value = list(dict.fromkeys([*(item.value for item in there.value), *value]))
    return text[: there.start_mark.index] + json.dumps(value) + text[last.end_mark.index :]


def _child(node: Any, key: str) -> Any:
    """The node under a key of a mapping; None without it."""
    return next((value for name, value in node.value if name.value == key), None)


def _change_entry(cure: Cure) -> None:
    """Changes the server's entry in its MCP file; comments in this file are lost."""
    file = Path(cure.mcp)
    content = read_jsonc(file.read_bytes())
    entry = content["mcpServers"][cure.server]
    command, *args = (cure.words.get(word, word) for word in (entry["command"], *entry.get("args", [])))
    entry |= {"command": command, "args": args}
    if cure.env:
        entry["env"] = {**entry.get("env", {}), **cure.env}
    write_json(file, content)
