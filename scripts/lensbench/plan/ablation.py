"""The conditions of an ablation: everything that is in use, nothing of it, and everything without one member each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lensbench.core.conditions import MAX_CONDITION, read_jsonc
from lensbench.core.names import plain_name

EVERYTHING = "all"
"""The condition with all members, which is the baseline."""
NO_MEMBER = "none"
"""The condition with none of them."""


def members_of(ablation: Mapping[str, Any]) -> list[str]:
    """The names of the tools that `ablate` means, or else of all servers, skills and files, in this order. What cannot
    be read has none: the condition `all` has the same files, and is checked like any other."""
    if ablation.get("tools"):
        return [*map(str, ablation["tools"])]
    servers = _servers(ablation.get("mcp"))
    return [*servers, *_skills(ablation.get("skills")), *_files(ablation)]


def parts_of(ablation: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is left out at a time, by its name: a group of `groups`, or a single member."""
    parts: dict[str, list[str]] = {}
    single = dict.fromkeys(members_of(ablation))
    groups = ablation.get("groups")
    if isinstance(groups, Mapping):
        for name, members in groups.items():
            parts[str(name)] = [*map(str, members or ())]
            for member in parts[str(name)]:
                single.pop(member, None)
    return parts | {member: [member] for member in single}


def condition_name(part: str) -> str:
    """The name of the condition that goes without a part."""
    return f"without_{plain_name(part, '_')}"[:MAX_CONDITION].rstrip("_")


def conditions_of(ablation: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of an ablation, as they would be written in a config."""
    everything = {key: ablation[key] for key in ("mcp", "skills", "files") if ablation.get(key)}
    conditions: dict[str, Any] = {EVERYTHING: everything, NO_MEMBER: {}}
    has_tools = ablation.get("tools")
    members = [*_servers(ablation.get("mcp"))] if has_tools else members_of(ablation)
    if members:
        conditions[NO_MEMBER] = {**everything, "without": members}
    for part, members in parts_of(ablation).items():
        left_out: dict[str, Any] = {"without": members}
        if has_tools:
            left_out = {"tools": left_out}
        conditions[condition_name(part)] = everything | left_out
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
