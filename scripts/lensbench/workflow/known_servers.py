"""MCP servers that are already configured on this machine: for Claude Code, an editor or a project.

Secrets are not copied: the files that we write have `${NAME}` in their place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.agents.offline.servers import read_entry
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.system.redaction import literal_secrets

PLACES = (
    ".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", "~/.claude.json", "~/.cursor/mcp.json",
    "~/.config/Code/User/mcp.json", "~/Library/Application Support/Claude/claude_desktop_config.json",
)  # fmt: skip
"""Where programs keep their servers; `claude mcp add` writes to `~/.claude.json`."""
_WORKSPACE = re.compile(r"\$\{(?:workspaceFolder|workspaceRoot|PWD)\}")

_OPTION = re.compile(r"-{1,2}((?:[\w-]*[_-])?(?:key|token|secret|password|passwd|pat))(?:=(.+))?", re.IGNORECASE)


class KnownServer(NamedTuple):
    """A server from the configuration of another program, with its name there."""

    name: str
    file: str
    entry: Mapping[str, Any]
    """The entry for our MCP file, without secrets."""
    variables: tuple[str, ...] = ()
    """The environment variables that replace secrets and must be set."""


def known_servers(folder: Path, home: Path) -> list[KnownServer]:
    """The servers in all readable places; the first one of each name."""
    found: dict[str, KnownServer] = {}
    for place in PLACES:
        path = home / place[2:] if place.startswith("~/") else folder / place
        for server in _servers(path, place, folder):
            found.setdefault(server.name, server)
    return list(found.values())


def server_of(file: Path, name: str | None, folder: Path) -> KnownServer:
    """The server with that name in a file, or its only server. Raises UserError when that is not clear."""
    if not file.exists():
        raise UserError(f"--from {file}: there is no such file")
    found = {server.name: server for server in _servers(file, str(file), folder)}
    if not found:
        raise UserError(f"--from {file}: names no MCP server that can be started or reached (mcpServers or servers)")
    if name is None and len(found) > 1:
        raise UserError(f"--from {file}: has several servers, {', '.join(found)}; add --server with one of them")
    if name is not None and name not in found:
        raise UserError(f"--from {file}: has no server {name!r}; it has {', '.join(found)}{did_you_mean(name, found)}")
    return found[name] if name is not None else next(iter(found.values()))


def _servers(path: Path, shown: str, folder: Path) -> Iterator[KnownServer]:
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))  # VS Code has comments
    except (OSError, ValueError):
        return
    if not isinstance(value, dict):
        return
    projects = value.get("projects")
    here = projects.get(str(folder.resolve())) if isinstance(projects, dict) else None
    own = here.get("mcpServers") if isinstance(here, dict) else None
    for section in (own, value.get("mcpServers"), value.get("servers")):
        for name, entry in section.items() if isinstance(section, dict) else ():
            if isinstance(entry, dict) and not isinstance(read_entry(entry), str):
                yield _ours(name, shown, entry)


def _ours(name: str, file: str, entry: Mapping[str, Any]) -> KnownServer:
    """The entry with the keys that we know, `${workspace}` for an editor's variable, and variables for secrets."""
    kept = {key: entry[key] for key in ("type", "command", "args", "env", "url", "headers") if key in entry}
    if kept.get("type") == "streamable-http":
        kept["type"] = "http"
    text = _WORKSPACE.sub("${workspace}", json.dumps(kept))
    secrets = {**literal_secrets({"": kept}), **dict(_told_secrets(kept.get("args", [])))}
    variables = set()
    for called, secret in sorted(
        secrets.items(), key=lambda item: -len(item[1])
    ):  # longest first: one may be part of another
        variable = re.sub(r"\W+", "_", called).strip("_").upper()
        if json.dumps(secret)[1:-1] in text:
            text = text.replace(json.dumps(secret)[1:-1], f"${{{variable}}}")
            variables.add(variable)
    fit = re.sub(r"[^A-Za-z0-9_-]+|__+", "-", name).strip("-_")[:64] or "server"
    return KnownServer(fit, file, json.loads(text), tuple(sorted(variables)))


def _told_secrets(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values of options such as `--api-key`, in the next argument or behind `=`."""
    for option, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if found := _OPTION.fullmatch(option):
            value = found[2] if found[2] is not None else following
            if value and "${" not in value and not value.startswith("-"):
                yield found[1], value
