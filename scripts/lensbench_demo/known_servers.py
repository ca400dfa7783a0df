"""What `lensbench init` knows of servers: those in the configuration of another program (`--from FILE`), whose secrets
are not copied (our files have `${NAME}` in their place), and what the preflight found that one lacks in a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lensbench.agents.mcp.client import read_entry
from lensbench.core.conditions import read_jsonc
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.preflight_results import Cure
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.redaction import literal_secrets
from lensbench.plan.own_files import EDITORS
from lensbench_demo.server_files import EDITORS_FOLDER, FileServer, read_servers

_OPTION = re.compile(
    r"-{1,2}((?:[\w-]*[_-])?(?:key|token|secret|password|passwd|pat))(?:=(.+))?", re.IGNORECASE
)


class KnownServer(NamedTuple):
    """A server from the configuration of another program, with its name there."""

    name: str
    entry: Mapping[str, Any]
    """The entry for our MCP file, without secrets."""
    variables: tuple[str, ...] = ()
    """The environment variables that replace secrets and must be set."""
    dropped: tuple[str, ...] = ()
    """The keys of its entry there that have no place in our MCP file."""


def servers_of(file: Path, folder: Path) -> tuple[dict[str, KnownServer], list[str]]:
    """The servers in a file by name, and why others cannot be used. Raises UserError without any."""
    try:
        found = read_servers(file, folder)
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", error)
        raise UserError(f"{file}: cannot be read: {why}") from None
    table: dict[str, KnownServer] = {}
    reasons = []
    for label, server in found.items():
        if problem := _problem(server.entry):
            reasons.append(f"{label}: {problem}")
        else:
            ours = _ours(label, server)
            table[ours.name] = ours
    if not table:
        nothing = "names no MCP server in a form that is known (docs/servers.md)"
        raise UserError(f"{file}: {'; '.join(reasons) or nothing}")
    return table, reasons


def server_of(file: Path, name: str | None, folder: Path) -> KnownServer:
    """The server with that name in a file, or its only server. Raises UserError when that is not clear."""
    table, _ = servers_of(file, folder)
    if name is None and len(table) > 1:
        raise UserError(
            f"{file}: has several servers, {', '.join(table)}; add --server with one of them"
        )
    if name is not None and name not in table:
        raise UserError(
            f"{file}: has no server {name!r}; it has {', '.join(table)}{did_you_mean(name, table)}"
        )
    return table[name or next(iter(table))]


def _problem(entry: Any) -> str:
    """Why a server cannot be used; "" when it can."""
    usable = read_entry(entry)
    return usable if isinstance(usable, str) else ""


def _ours(name: str, server: FileServer) -> KnownServer:
    """The entry with `${workspace}` for an editor's variable, and variables for secrets."""
    fields = server.entry
    text = EDITORS_FOLDER.sub("${workspace}", json.dumps(fields))
    variables = {_variable(question) for question in EDITORS.findall(text)}
    text = EDITORS.sub(lambda match: f"${{{_variable(match[1])}}}", text)
    secrets = literal_secrets({"": fields})
    secrets = {**secrets, **dict(_told_secrets(fields.get("args", [])))}
    longest_first = sorted(secrets, key=lambda label: -len(secrets[label]))
    for label in longest_first:  # one may be part of another
        variable = _variable(label)
        written = json.dumps(secrets[label])[1:-1]
        if written in text:
            text = text.replace(written, f"${{{variable}}}")
            variables.add(variable)
    fit = re.sub(r"[^A-Za-z0-9_-]+|__+", "-", name)
    return KnownServer(
        name=fit.strip("-_")[:64] or "server",
        entry=json.loads(text),
        variables=tuple(sorted(variables)),
        dropped=server.dropped,
    )


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").upper()


def _told_secrets(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values of options such as `--api-key`, in the next argument or behind `=`."""
    for option, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        match = _OPTION.fullmatch(option)
        if not match:
            continue
        value = match[2]
        if value is None:
            value = following
        if value and "${" not in value and not value.startswith("-"):
            yield match[1], value


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
    """The YAML text with a value at `path`, in a mapping that has keys; items of a list there stay in it."""
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for number, key in enumerate(path):
        there: Any = next((item for name, item in node.value if name.value == key), None)
        if there is None:
            item: Any = value
            for inner in reversed(path[number + 1 :]):
                item = {inner: item}
            first = node.value[0][0].start_mark
            added = f"{key}: {json.dumps(item)}"
            if node.flow_style:
                added += ", "
            else:
                added += f"\n{'':{first.column}}"
            return text[: first.index] + added + text[first.index :]
        node = there
    is_block = isinstance(there, yaml.SequenceNode) and not there.flow_style
    last = there.value[-1] if is_block else there
    if isinstance(there, yaml.SequenceNode) and isinstance(value, Sequence):
        value = list(dict.fromkeys([*(item.value for item in there.value), *value]))
    return text[: there.start_mark.index] + json.dumps(value) + text[last.end_mark.index :]


def _change_entry(cure: Cure) -> None:
    """Changes the server's entry in its MCP file; comments in this file are lost."""
    file = Path(cure.mcp)
    content = read_jsonc(file.read_bytes())
    entry = content["mcpServers"][cure.server]
    words = [entry["command"], *entry.get("args", [])]
    command, *args = (cure.words.get(word, word) for word in words)
    entry["command"] = command
    entry["args"] = args
    if cure.env:
        entry["env"] = {**entry.get("env", {}), **cure.env}
    write_json(file, content)
