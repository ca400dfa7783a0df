"""The conditions of an ablation: everything that is in use, nothing of it, and everything without one member each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lensbench.core.conditions import MAX_CONDITION, read_jsonc
from lensbench.core.names import plain_name

EVERYTHING, NOTHING = "all", "none"
"""The conditions with all members, which is the baseline, and with none."""


def members_of(ablation: Mapping[str, Any]) -> list[str]:
    """The names of the tools that `ablate` means, or else of all servers, skills and files, in this order. What cannot
    be read has none: the condition `all` has the same files, and is checked like any other."""
    if ablation.get("tools"):
        return [*map(str, ablation["tools"])]
    members = list(_servers(ablation.get("mcp")))
    members += _skills(ablation.get("skills"))
    members += _files(ablation)
    return members


def parts_of(ablation: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is left out at a time, by its name: a group of `groups`, or a single member."""
    groups = ablation.get("groups")
    parts = {}
    for name, members in (groups if isinstance(groups, Mapping) else {}).items():
        parts[str(name)] = [str(member) for member in members or ()]
    grouped = {member for members in parts.values() for member in members}
    return parts | {member: [member] for member in members_of(ablation) if member not in grouped}


def condition_name(part: str) -> str:
    """The name of the condition that goes without a part."""
    return f"without_{plain_name(part, '_')}"[:MAX_CONDITION].rstrip("_")


def conditions_of(ablation: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of an ablation, as they would be written in a config."""
    everything = {key: ablation[key] for key in ("mcp", "skills", "files") if ablation.get(key)}
    conditions: dict[str, Any] = {EVERYTHING: everything, NOTHING: {}}
    has_tools = bool(ablation.get("tools"))
    members = [*_servers(ablation.get("mcp"))] if has_tools else members_of(ablation)
    if members:
        conditions[NOTHING] = {**everything, "without": members}
    for part, members in parts_of(ablation).items():
        left_out = {"tools": {"without": members}} if has_tools else {"without": members}
        conditions[condition_name(part)] = {**everything, **left_out}
    return conditions


def _servers(file: Any) -> Iterator[str]:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        yield from read_jsonc(Path(file).read_bytes())["mcpServers"]


def _skills(folder: Any) -> Iterator[str]:
    if isinstance(folder, str) and folder:
        yield from sorted(path.parent.name for path in Path(folder).glob("*/SKILL.md"))


def _files(ablation: Mapping[str, Any]) -> Iterator[str]:
    files = ablation.get("files")
    if isinstance(files, Mapping):
        yield from map(str, files)
