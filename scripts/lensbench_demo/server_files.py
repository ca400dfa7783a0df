"""The files in which programs name their MCP servers: read for `lensbench init --from`, each server as an entry of our
MCP file, with the keys that are left out."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lensbench.core.conditions import read_jsonc

KEYS = ("type", "command", "args", "env", "url", "headers", "timeout")
"""What an entry of our MCP file may have."""
_SILENT = {"disabled", "enabled", "name", "description", "trust", "bundled", "available_tools"}
"""Keys of others whose loss changes no run."""


class FileServer(NamedTuple):
    """A server as a file has it, in our keys."""

    entry: Mapping[str, Any]
    dropped: tuple[str, ...] = ()
    """The keys of the file that we have no use for."""


def read_servers(path: Path, folder: Path) -> dict[str, FileServer]:
    """The servers that a file has for a folder; of several with one name the nearest. Raises OSError or ValueError."""
    document = _document(path)
    servers: dict[str, FileServer] = {}
    project = _project_of(path, folder)
    for section, read in _sections(document, path, folder):
        for name, entry in section.items():
            if name not in servers:
                servers[name] = _in_our_keys(read(entry), path, project)
    return servers


def _document(path: Path) -> Mapping[str, Any]:
    """The mapping in a file of TOML, YAML, or JSON with comments, by its name. Raises OSError or ValueError."""
    content = path.read_bytes()
    if path.suffix == ".toml":
        return tomllib.loads(content.decode())
    if path.suffix in (".yaml", ".yml"):
        try:
            return _mapping(yaml.safe_load(content))
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None
    return _mapping(read_jsonc(content))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


Read = Callable[[Any], Any]


def _sections(
    document: Mapping[str, Any], path: Path, folder: Path
) -> Iterator[tuple[Mapping[str, Any], Read]]:
    """The parts of a document that name servers, the nearest first, with what reads an entry."""
    projects = _mapping(document.get("projects"))
    project = _mapping(projects.get(str(folder.resolve())))
    yield _mapping(project.get("mcpServers")), _plain
    for key in ("mcpServers", "servers", "context_servers"):
        yield _mapping(document.get(key)), _plain
    yield _mapping(document.get("mcp_servers")), _of_codex
    yield _mapping(document.get("mcp")), _of_opencode
    yield _mapping(document.get("extensions")), _of_goose
    name = str(document.get("name", path.stem))
    bundle = _mapping(document.get("server")).get("mcp_config")
    if isinstance(bundle, dict):
        yield {name: bundle}, _plain
    if isinstance(document.get("packages"), list) or isinstance(document.get("remotes"), list):
        yield {name.rpartition("/")[2]: document}, _of_registry
    if document and all(_starts_something(entry) for entry in document.values()):
        yield document, _plain  # a plugin of Claude Code has them at the top


def _starts_something(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("command", entry.get("url")), str)


def _plain(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    renamed = dict(entry)
    if "httpUrl" in renamed:  # Gemini CLI
        renamed |= {"type": "http", "url": renamed.pop("httpUrl")}
    if renamed.get("type") == "streamable-http":
        renamed["type"] = "http"
    return renamed


def _renamed(entry: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in entry.items()}


def _of_codex(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    renamed = _renamed(entry, {"http_headers": "headers"})
    token = renamed.pop("bearer_token_env_var", None)
    if isinstance(token, str):
        headers = renamed.setdefault("headers", {})
        headers["Authorization"] = f"Bearer ${{{token}}}"
    variables = _mapping(renamed.pop("env_http_headers", None))
    for header, variable in variables.items():
        headers = renamed.setdefault("headers", {})
        headers[header] = f"${{{variable}}}"
    return renamed


def _of_opencode(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    renamed = _renamed(entry, {"environment": "env"})
    renamed.pop("type", None)
    words = renamed.get("command")
    if isinstance(words, list) and words:
        renamed["command"] = words[0]
        renamed["args"] = [*words[1:], *renamed.get("args", [])]
    text = re.sub(r"\{env:(\w+)\}", r"${\1}", json.dumps(renamed))
    return json.loads(text)


def _of_goose(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    renamed = _renamed(entry, {"cmd": "command", "envs": "env", "uri": "url"})
    renamed.pop("type", None)
    variables = renamed.pop("env_keys", None) or ()
    for variable in variables:
        env = renamed.setdefault("env", {})
        env[variable] = f"${{{variable}}}"
    return renamed


_LAUNCHERS = {"npm": ["npx", "-y"], "pypi": ["uvx"]}


def _of_registry(document: Any) -> Any:
    """The first package that a launcher of npm or PyPI fetches, else the first address."""
    packages = document.get("packages") or ()
    for package in packages:
        if package.get("registryType") in _LAUNCHERS:
            return _of_package(package)
    for remote in document.get("remotes") or ():
        return _plain({"type": remote.get("type", "http"), "url": remote.get("url")})
    return {"type": ", ".join(str(package.get("registryType")) for package in packages)}


def _of_package(package: Mapping[str, Any]) -> dict[str, Any]:
    """The entry that starts a package of the registry with its launcher."""
    command, *words = _LAUNCHERS[package["registryType"]]
    name = package["identifier"]
    if package.get("version"):
        name += f"@{package['version']}"
    words.append(name)
    for argument in package.get("packageArguments", ()):
        if "value" in argument:
            words.append(str(argument["value"]))
    entry: dict[str, Any] = {"command": command, "args": words}
    for variable in package.get("environmentVariables", ()):
        env = entry.setdefault("env", {})
        env[variable["name"]] = f"${{{variable['name']}}}"
    return entry


_FOLDERS = re.compile(r"\$\{(?:__dirname|CLAUDE_PLUGIN_ROOT|extensionPath)\}")
"""The folder of the file, as bundles, plugins and extensions call it."""
_ASKED = re.compile(r"\$\{user_config\.([\w.-]+)\}")
_SUFFIX = re.compile(r"(?i)\.(?:exe|cmd|bat)$")
"""The suffix that programs have on Windows."""


EDITORS_FOLDER = re.compile(r"\$\{(?:workspaceFolder|workspaceRoot|PWD)\}")
_IN_PROJECT = re.compile(EDITORS_FOLDER.pattern + r"([/\\][^\s;:\"']+)")
"""A path in the editor's folder, with the separators of any system."""
_OF_USER = ("Library", "AppData")
"""Folders at home with the settings of programs, beside those that begin with a dot."""
_TAKE_PROJECT = ("--directory", "--project", "--prefix")
"""Options of launchers that name the folder of the server."""


def _project_of(path: Path, folder: Path) -> Path:
    """The project that an editor means by its folder: it holds the file, or is the present `folder` where the file has
    the settings for all projects."""
    file = path.resolve()
    home = Path.home().resolve()
    if file.is_relative_to(home):
        top = file.relative_to(home).parts[0]
        if top.startswith(".") or top in _OF_USER:
            return folder.resolve()
    is_hidden = file.parent.name.startswith(".")
    return file.parent.parent if is_hidden else file.parent


def _with_project(entry: dict[str, Any], project: Path) -> dict[str, Any]:
    """The entry with what belongs to its server written out: paths in the editor's folder, and this folder where a
    launcher or an interpreter looks for the program. Elsewhere the folder alone is what the server works on."""
    entry = _written_out(entry, project)
    words = entry.get("args")
    if isinstance(words, list):
        for place, option in enumerate(words[:-1]):
            if option in _TAKE_PROJECT:
                words[place + 1] = _named(words[place + 1], project)
    env = entry.get("env")
    if isinstance(env, dict):
        for name in env:
            if name.endswith("PATH"):
                env[name] = _named(env[name], project)
    if "cwd" in entry:
        entry["cwd"] = _named(entry["cwd"], project)
    return entry


def _written_out(value: Any, project: Path) -> Any:
    if isinstance(value, str):
        return _IN_PROJECT.sub(lambda match: str(project) + match[1].replace("\\", "/"), value)
    if isinstance(value, list):
        return [_written_out(item, project) for item in value]
    if isinstance(value, dict):
        return {key: _written_out(item, project) for key, item in value.items()}
    return value


def _named(value: Any, project: Path) -> Any:
    return EDITORS_FOLDER.sub(lambda _: str(project), value) if isinstance(value, str) else value


def _in_our_keys(entry: Any, path: Path, project: Path) -> FileServer:
    """The entry with what its own program would have filled in, and what is left out of it."""
    if not isinstance(entry, dict):
        return FileServer(entry)
    text = _ASKED.sub(lambda match: f"${{{match[1].upper()}}}", json.dumps(entry))
    home = json.dumps(str(path.resolve().parent))[1:-1]
    entry = _with_project(json.loads(_FOLDERS.sub(lambda _: home, text)), project)
    if isinstance(entry.get("command"), str) and isinstance(entry.get("args", []), list):
        words = _without_windows([entry["command"], *entry.get("args", [])])
        words = _in_folder(words, entry.get("cwd"), path)
        entry["command"] = words[0]
        if "args" in entry:
            entry["args"] = words[1:]
    ours = {key: entry[key] for key in KEYS if key in entry}
    dropped = tuple(sorted(key for key in entry if key not in KEYS and key not in _SILENT))
    return FileServer(ours, dropped)


def _without_windows(words: list[str]) -> list[str]:
    """The command line without the shell of Windows, `cmd /c`, and the path and suffix that programs have there."""
    if re.fullmatch(r"(?i)(?:.*\\)?cmd(?:\.exe)?", words[0]):
        rest = words[1:]
        while rest and re.fullmatch(r"/\w", rest[0]):
            rest = rest[1:]
        words = rest or words
    return [_SUFFIX.sub("", words[0].rpartition("\\")[2]), *words[1:]]


def _in_folder(words: list[str], cwd: Any, path: Path) -> list[str]:
    """The command line with absolute paths for files in the folder where it was started."""
    if not isinstance(cwd, str):
        return words
    folder = path.resolve().parent / cwd
    if cwd.startswith("${") or not folder.is_dir():
        return words
    found = []
    for word in words:
        is_here = isinstance(word, str) and (folder / word).is_file()
        found.append(str(folder / word) if is_here else word)
    return found
