"""The user's own files that a config names: MCP files, which agents must accept, those that conditions bring into
workspaces, and those in the run folder, which no stage writes, repairs or deletes."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lensbench.agents import programs
from lensbench.agents.mcp.client import read_entry
from lensbench.core.conditions import read_jsonc, texts_in
from lensbench.core.handed_over import text_of
from lensbench.core.pasted import pasted
from lensbench.core.run_folder import PLACES, RunFolder
from lensbench.core.system.files import read_checksums
from lensbench.core.system.yaml_places import KeyPath
from lensbench.plan.ablation import members_of
from lensbench.plan.config import Condition, Config

WRITTEN = {name.partition("/")[0] for name in PLACES if not name.startswith(".")} - {
    RunFolder.human,
    RunFolder.imported,
}
"""Names that stages write in a run folder, besides those that start with a dot."""


def run_folder(config: Config) -> Path:
    """The run folder, relative to the folder where lensbench runs."""
    return Path("bench") / config.run_id


def place_of_tasks(config: Config, folder: Path) -> Path:
    """The path for the frozen tasks: next to scenarios.md when that is the user's own file."""
    is_named = any(RunFolder.tasks in _names(folder, path) for path in config.scenario_files)
    place = RunFolder(folder)
    if is_named or place.tasks_beside.exists():
        return place.tasks_beside
    is_strange = place.tasks.exists() and not place.plan.exists()
    if is_strange and RunFolder.tasks not in read_checksums(folder):
        return place.tasks_beside
    return place.tasks


def own_files(config: Config, config_files: Iterable[str]) -> set[str]:
    """The names of the user's own files in the run folder whose names stages would write, too."""
    folder = run_folder(config)
    own: set[str] = set()
    if any(RunFolder.config in _names(folder, path) for path in config_files):
        own.add(RunFolder.config)
    if place_of_tasks(config, folder).name == RunFolder.tasks_beside:
        own.add(RunFolder.tasks)
    return own


def misplaced(config: Config, config_files: Iterable[str] = ()) -> Iterator[tuple[KeyPath, str]]:
    """Paths of the config that a stage would overwrite, as they have such a name in the run folder."""
    for key, path in _texts(config.model_dump(mode="json")):
        may_be = [RunFolder.tasks] if key[0] == "scenarios" else []
        problem = in_the_way(config, path, may_be)
        if problem:
            yield key, f"{'.'.join(map(str, key))}: {problem}"
    for path in config_files:
        problem = in_the_way(config, path, [RunFolder.config])
        if problem:
            yield (), problem


def in_the_way(config: Config, path: str, exceptions: Iterable[str] = ()) -> str:
    """Why the user's path must not be where it is; "" when it may."""
    folder = run_folder(config)
    names = {name.split("/")[0] for name in _names(folder, path) - set(exceptions)}
    if any(name in WRITTEN or name.startswith(".") for name in names):
        return (
            f"{path} would be overwritten, because lensbench writes a file of that name to {folder}/;"
            " move it elsewhere"
        )
    return ""


def _texts(value: Any, key: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, (dict, list)):
        for part, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*key, part))
    elif isinstance(value, str):
        yield key, value


def local_paths(source: object) -> list[str]:
    paths = (getattr(source, key, "") for key in ("path", "git"))
    return [path for path in paths if path]


def _names(folder: Path, path: str) -> set[str]:
    """The names of a path relative to `folder`, as written and with links resolved; empty when it is outside."""
    if not path or "://" in path:
        return set()
    full = os.path.expanduser(path)
    names: set[str] = set()
    for resolved in (os.path.abspath, os.path.realpath):
        top = resolved(folder)
        target = resolved(full)
        if target.startswith(f"{top}/"):
            names.add(os.path.relpath(target, top))
    return names


_MOST_BYTES = 1_000_000
"""Of all files of a condition: they are kept in the plan."""


def sources(condition: Condition, kind: str) -> dict[str, Path]:
    """The user's file for each path in the workspace. Skills are where the kind of agent looks for them."""
    folder = Path(condition.skills)
    place = programs()[kind].skills if kind in programs() else ""
    brought: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")) if condition.skills and place else ():
        inside = path.relative_to(folder)
        if path.is_file() and inside.parts[0] not in condition.without:
            brought[f"{place}/{inside.as_posix()}"] = path
    for named, text_file in condition.files.items():
        if named not in condition.without:
            brought[named] = Path(text_file)
    return brought


def members(condition: Condition) -> list[str]:
    """What a condition could go `without`: servers, skills and files, by their names."""
    return members_of({"mcp": condition.mcp, "skills": condition.skills, "files": condition.files})


def texts(condition: Condition, kind: str) -> dict[str, str]:
    """The text for each path in the workspace. Raises OSError and UnicodeDecodeError; `problems` explains both."""
    return {path: text_of(file.read_bytes()) for path, file in sources(condition, kind).items()}


def condition_files(config: Config) -> list[str]:
    """The user's files that conditions name: MCP files, and what is brought into the workspace."""
    conditions = config.conditions.values()
    named = [condition.mcp for condition in conditions if condition.mcp]
    named += [condition.describe for condition in conditions if condition.describe]
    files: dict[str, None] = {}
    for condition in conditions:
        files |= dict.fromkeys(map(str, sources(condition, config.agent.kind).values()))
    return [*named, *files]


def problems(condition: Condition, kind: str) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with these files, each with its key in the condition, as the end of a sentence."""
    total = 0
    for path in condition.files:
        if path != posixpath.normpath(path) or path.split("/")[0] in ("", ".git", ".", ".."):
            yield (
                ("files", path),
                f"must be the path of a file in the workspace, such as CLAUDE.md; it is {path!r}",
            )
    if condition.skills and not (kind in programs() and programs()[kind].skills):
        yield ("skills",), f"is not possible for agent.kind {kind!r}; name each file in files"
    elif condition.skills and not list(Path(condition.skills).glob("*/SKILL.md")):
        yield (
            ("skills",),
            f"must be a folder with skills, <name>/SKILL.md; {condition.skills} has none",
        )
    for path, file in sources(condition, kind).items():
        key: KeyPath = ("files", path) if path in condition.files else ("skills",)
        try:
            total += len(text_of(file.read_bytes()).encode())
        except OSError as error:
            yield key, f"{file} cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            yield key, f"{file} is not a text in UTF-8"
    if total > _MOST_BYTES:
        yield (), f"brings files of {total:,} bytes; {_MOST_BYTES:,} are possible"


_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
EDITORS = re.compile(r"\$\{(?:(?:input|env):([\w.-]+)|workspaceFolder|workspaceRoot)\}")
"""A variable as editors write it: one that they ask for, one of the environment, or their folder."""
_LOGIN = "token_command"
_ENTRY_KEYS = {"type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad", _LOGIN}


def mcp_problem(path: Path) -> str:
    """What is wrong with an MCP file, as the end of a sentence that starts with its name. Agents silently ignore an
    entry with a misspelt key, which would turn a run WITH into a run WITHOUT."""
    try:
        content = read_jsonc(path.read_bytes())
    except FileNotFoundError:
        return "is not there; write the path of an MCP file, or omit the key for a condition without servers"
    except ValueError as error:
        lines = path.read_bytes().decode(errors="replace").split("\n")
        for number, line in enumerate(lines, 1):
            why = pasted(line, False)
            if why:
                return f"is not JSON: line {number} {why}"
        return f"is not JSON: {error}"
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
            return (
                f"names a server {name!r}; use letters, digits, '-' and single '_' only, at most 64"
            )
        unknown = sorted(set(entry) - _ENTRY_KEYS) if isinstance(entry, dict) else []
        if unknown:
            keys = ", ".join(sorted(_ENTRY_KEYS))
            return f"gives server {name!r} the key {unknown[0]!r}, which agents ignore; known are {keys}"
        read = read_entry(entry)
        problem = read if isinstance(read, str) else _login_problem(entry)
        for why in filter(None, map(pasted, texts_in(entry))):
            problem = problem or f"it {why}"
        if problem:
            return f"has a wrong server {name!r}: {problem}"
    match = EDITORS.search(json.dumps(entries))
    if match:
        return f"has {match[0]}, which only an editor fills; write ${{{match[1] or 'workspace'}}}"
    return ""


def _login_problem(entry: dict[str, Any]) -> str:
    """What is wrong with an entry's `token_command` and its use; "" when nothing is."""
    used = set()
    for key, value in entry.items():
        if any("${token}" in text for text in texts_in(value)):
            used.add(key)
    if used - {"env", "headers"}:
        return "${token} may be in env and headers only, where other users cannot see it"
    command = entry.get(_LOGIN)
    if command is None:
        return f"has ${{token}} without {_LOGIN}, which prints it" if used else ""
    is_words = isinstance(command, list) and all(isinstance(word, str) for word in command)
    if not is_words or not "".join(command[:1]):
        return f"{_LOGIN} must be a list of texts, the program and its arguments"
    if not used:
        return f'{_LOGIN} is not used; write "Authorization": "Bearer ${{token}}" in headers, or ${{token}} in env'
    return ""


def servers_of(condition: Condition) -> list[str]:
    """The names of a condition's MCP servers; none when its file is invalid."""
    if condition.mcp is None or mcp_problem(Path(condition.mcp)):
        return []
    servers = read_jsonc(Path(condition.mcp).read_bytes())["mcpServers"]
    return sorted(set(servers) - set(condition.without))
