"""Checks the MCP files of a config: whether agents would accept them, and which servers they define."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lensbench.agents.mcp.client import read_entry
from lensbench.core.conditions import read_jsonc, texts_in
from lensbench.core.pasted import pasted
from lensbench.plan.config import Condition

_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
EDITORS = re.compile(r"\$\{(?:(?:input|env):([\w.-]+)|workspaceFolder|workspaceRoot)\}")
"""A variable as editors write it: one that they ask for, one of the environment, or their folder."""
_ENTRY_KEYS = {"type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad"}


def mcp_problem(path: Path) -> str:
    """What is wrong with an MCP file, as the end of a sentence that starts with its name. Agents silently ignore an
    entry with a misspelt key, which would turn a run WITH into a run WITHOUT."""
    try:
        content = read_jsonc(path.read_bytes())
    except FileNotFoundError:
        return "is not there; write the path of an MCP file, or omit the key for a condition without servers"
    except ValueError as error:
        lines = enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1)
        return f"is not JSON: {next((f'line {n} {why}' for n, line in lines if (why := pasted(line, False))), error)}"
    except (OSError, RecursionError):
        content = None
    entries = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        form = '{"mcpServers": {"<name>": {"command": ...}}}'
        return f"is not an MCP file; write {form}, as `lensbench init --from {path}` does from an editor's file"
    if not entries:
        return "names no server; omit the key for a condition without servers"
    for name, entry in entries.items():
        if not _SERVER.fullmatch(name):
            return f"names a server {name!r}; use letters, digits, '-' and single '_' only, at most 64"
        if unknown := sorted(set(entry) - _ENTRY_KEYS) if isinstance(entry, dict) else []:
            keys = ", ".join(sorted(_ENTRY_KEYS))
            return f"gives server {name!r} the key {unknown[0]!r}, which agents ignore; known are {keys}"
        if isinstance(problem := read_entry(entry), str):
            return f"has a wrong server {name!r}: {problem}"
        if why := next(filter(None, map(pasted, texts_in(entry))), ""):
            return f"has a wrong server {name!r}: it {why}"
    if match := EDITORS.search(json.dumps(entries)):
        return f"has {match[0]}, which only an editor fills; write ${{{match[1] or 'workspace'}}}"
    return ""


def servers_of(condition: Condition) -> list[str]:
    """The names of a condition's MCP servers; none when its file is invalid."""
    if condition.mcp is None or mcp_problem(Path(condition.mcp)):
        return []
    return sorted(read_jsonc(Path(condition.mcp).read_bytes())["mcpServers"])
