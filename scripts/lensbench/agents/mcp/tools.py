"""Determines the purpose of an unknown MCP tool, and how to call it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ToolArguments = dict[str, Any]
"""The arguments of a call, by their names in the schema of the tool."""
Role = Literal["search", "neighbourhood", "overview"]
_ROOTS = """repo repopath repository repositorypath root rootpath rootdir workspace workspacepath project projectpath
    projectroot cwd workdir basepath"""
ROOT_NAMES = frozenset(_ROOTS.split())
QUERY_NAMES = re.compile(r"(?i)query|pattern|search|term|keyword|^text$|^q$")
FILE_NAMES = re.compile(r"(?i)^(relative_?)?(path|file)(_?(path|name))?$")
OVERVIEW = re.compile(r"(?i)graph|map\b|overview|structure|outline|architecture")
CHANGING = re.compile(
    r"(?i)index|write|delete|remove|create|update|edit|insert|rename|exec|run|send|post|upload|install|commit|push"
    r"|apply|save|reset|clear|refresh|sync|kill|stop|set(?=_|[A-Z]|$)|add(?=_|[A-Z]|$)"
)
READING = re.compile(
    r"(?i)^(\w+_)?(get|list|find|search|read|show|look|query|grep|count|describe|status|info)"
)
DEFINED_NAMES = re.compile(
    r"(?i)symbol|identifier|^name(_?path\w*)?$|^(function|class|method)(_?name)?$"
)
EXAMPLES = re.compile(r"""(?:e\.g\.|such as),? ['"`]([^'"`]+)""")
RESULTS = 12


@dataclass(frozen=True)
class OfferedTool:
    """A tool of an MCP server, as `tools/list` describes it."""

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    changes: bool
    """The server's own hint that the tool is not read-only."""
    reads: bool = False
    """The server's own hint that the tool is read-only."""

    @property
    def full_name(self) -> str:
        """The name by which agents call it."""
        return f"mcp__{self.server}__{self.name}"


def role(tool: OfferedTool) -> Role | None:
    """The tool's purpose; None for tools that change something or need unknown arguments."""
    if tool.changes or CHANGING.search(tool.name):
        return None
    names = [name for name in _required(tool) if not _is_root(name)]
    if not names:
        return "overview" if OVERVIEW.search(f"{tool.name} {tool.description}") else None
    if len(names) > 1 or _type(tool, names[0]) != "string":
        return None
    if QUERY_NAMES.search(names[0]):
        return "search"
    return "neighbourhood" if FILE_NAMES.search(names[0]) else None


def arguments(tool: OfferedTool, value: str, root: str) -> ToolArguments:
    """The arguments to call `tool` with: `value` for what it searches or looks at, `root` for the workspace."""
    values: ToolArguments = {name: root if _is_root(name) else value for name in _required(tool)}
    limit = tool.schema.get("properties", {}).get("limit")
    if isinstance(limit, dict) and "limit" not in values:
        highest = limit.get("maximum", RESULTS)
        values["limit"] = min(RESULTS, highest) if isinstance(highest, int) else RESULTS
    return values


def why_not_called(tool: OfferedTool) -> str:
    """Why nobody but the agent calls a tool; "" when it only reads, by its own hint or else by its name."""
    if tool.changes:
        return "it says that it changes something"
    if tool.reads or role(tool):
        return ""
    if CHANGING.search(tool.name):
        return "its name says that it changes something, and no readOnlyHint says otherwise"
    return (
        ""
        if READING.search(tool.name)
        else "neither a readOnlyHint nor its name says that it only reads"
    )


def example(tool: OfferedTool, root: str, file: str, symbol: str) -> ToolArguments | str:
    """Arguments for a call about a workspace, a file in it and a name; else the argument that is not known."""

    def values(name: str, entry: Any) -> list[Any]:
        if not isinstance(entry, dict):
            return []
        choices = [entry[key] for key in ("default", "const") if key in entry]
        choices += [
            entry[key][0]
            for key in ("examples", "enum")
            if isinstance(entry.get(key), list) and entry[key]
        ]
        choices += (
            EXAMPLES.findall(str(entry.get("description", "")))
            if entry.get("type") == "string"
            else []
        )
        match entry.get("type", "string"):
            case "string" if _is_root(name) or (searches and FILE_NAMES.search(name)):
                choices.append(root)
            case "string" if FILE_NAMES.search(name):
                choices.append(file)
            case "string" if QUERY_NAMES.search(name) or DEFINED_NAMES.search(name):
                choices.append(symbol)
            case "array":
                choices += [[item] for item in values(name.removesuffix("s"), entry.get("items"))]
            case "integer" | "number":
                choices.append(entry.get("minimum", 1))
            case "boolean":
                choices.append(False)
        return choices

    result: ToolArguments = {}
    searches = any(map(QUERY_NAMES.search, _required(tool)))  # in a folder, not in one file
    for name in _required(tool):
        options = values(name, tool.schema.get("properties", {}).get(name))
        if not options:
            return name
        result[name] = options[0]
    return result


def _required(tool: OfferedTool) -> Sequence[str]:
    names = tool.schema.get("required", [])
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _type(tool: OfferedTool, name: str) -> str:
    entry = tool.schema.get("properties", {}).get(name, {})
    return str(entry.get("type", "string")) if isinstance(entry, dict) else "string"


def _is_root(name: str) -> bool:
    return re.sub(r"[_-]", "", name).lower() in ROOT_NAMES


LONGEST_NAME = 64
"""Characters of a tool's name with its server's prefix that OpenAI accepts."""
MOST_TOOLS = 128
"""Tools of a request that OpenAI accepts."""
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOP = ("anyOf", "oneOf", "allOf", "not", "enum")


def refused_by_services(tools: Sequence[OfferedTool]) -> Iterator[str]:
    """What is valid in a tool list, and what model services refuse with status 400, every request: the tool and the
    rule, one sentence each."""
    if len(tools) > MOST_TOOLS:
        yield f"{len(tools)} tools: OpenAI refuses more than {MOST_TOOLS}, the agent's own included"
    for tool in tools:
        if combined := [key for key in _TOP if key in tool.schema]:
            yield (
                f"{tool.name}: {combined[0]} at the top of its inputSchema, which Anthropic and OpenAI refuse; put it "
                "into a property"
            )
        if len(tool.full_name) > LONGEST_NAME:
            yield (
                f"{tool.name}: its name has {len(tool.full_name)} characters with the prefix, {tool.full_name}; OpenAI "
                f"refuses more than {LONGEST_NAME}"
            )
        if not _NAME.fullmatch(tool.name):
            yield f"{tool.name}: its name may have letters, digits, _ and - only"
        properties = tool.schema.get("properties", {})
        wrong = [key for key in properties if not _PROPERTY.fullmatch(key)]
        if wrong:
            yield (
                f"{tool.name}: its argument {wrong[0]!r}: Anthropic accepts at most 64 letters, digits, _, . and -"
            )
