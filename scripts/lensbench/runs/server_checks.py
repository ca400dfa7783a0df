"""Checks that a condition's MCP servers start, list their tools and respond on a real workspace as in a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lensbench.agents import Assignment, load_adapter
from lensbench.agents.mcp.client import ServerEntry, Servers, ServerStatus, read_entry
from lensbench.agents.mcp.question import read_question
from lensbench.agents.mcp.tools import (
    Arguments,
    OfferedTool,
    arguments,
    example,
    queries,
    role,
    suggestions,
    why_not_called,
)
from lensbench.agents.mcp.workspace import Workspace
from lensbench.agents.sandbox import Place
from lensbench.core.preflight_results import BYTES_A_TOKEN, LONG_RESULT, Check, Cure, Outcome
from lensbench.core.records import sha256
from lensbench.runs.reasons import tools_of
from lensbench.runs.server_starts import advice, placed

if TYPE_CHECKING:
    from lensbench.plan.config import Condition  # slow to import

ROLES = ("search", "neighbourhood", "overview")
"""The purposes of tools that are safe to call; the first is the cheapest and most informative."""
_DEFINITION = re.compile(r"(?m)^\t* *(?:export |pub |async )*(?:def|class|function|func|fn|struct|interface) +(\w{3,})")


def check_servers(
    condition: str, settings: Condition, run: Assignment, environment: Mapping[str, str], place: Place, each_tool: bool
) -> tuple[list[Check], Sequence[OfferedTool], int, list[Cure]]:
    """Checks of each server, the tools that the config names, and the tool list; all tools, the list's tokens, and
    what servers lack that did not start.

    `each_tool`: also one of each tool, called if it only reads.

    Servers are started as the agent would: with its `environment`, and in its sandbox (`place`).
    """
    named = json.loads(Path(place.outside(run.mcp_file)).read_text(encoding="utf-8"))["mcpServers"]
    entries = {name: placed(read_entry(entry), run, environment, place) for name, entry in named.items()}
    workspace = Workspace(place.outside(run.workspace))
    file = f"conditions.{condition}.mcp, {settings.mcp}"
    with Servers(entries, workspace.root, run.settings["mcp_start_s"], environment) as servers:
        statuses, tools = servers.statuses, servers.tools
        shown = [json.dumps([tool.full_name, tool.description, tool.schema]) for tool in tools]
        added = len("".join([*shown, *servers.instructions.values()]).encode()) // BYTES_A_TOKEN
        checked = {
            status.name: _check_server(condition, file, status, servers, run, workspace)
            for status in statuses if status.connected
        }  # fmt: skip
        rows = [_check_tool(condition, tool, servers, run, workspace) for tool in tools] if each_tool else []
    cures = []
    for status in statuses:  # the others are tried again when no process of these is left
        if not status.connected:
            entry = read_entry(named[status.name])
            told: str | Cure = ""
            if isinstance(entry, ServerEntry) and entry.command:
                told = advice(status.name, entry, status, settings.mcp or "", run, environment, place)
            if isinstance(told, Cure):
                cures.append(told)
                told = f"it starts with {told}"
            checked[status.name] = _not_started(condition, file, status, run, told)
    checks = [checked[status.name] for status in statuses]
    if settings.tools and all(status.connected for status in statuses):
        checks += _compared(condition, settings.tools, tools)
    told = f"with the instructions about {added:,} tokens of every request (estimated: 4 bytes a token)"
    return [*checks, *rows, Check(f"{condition}: tool list", "ok", told)], tools, added, cures


def hashes(tools: Sequence[OfferedTool], run: Assignment) -> dict[str, str]:
    """The hash of each tool's schema, without the run's own folder."""
    own = run.workspace.rpartition("/")[0]
    return {tool.full_name: sha256(json.dumps(tool.schema, sort_keys=True).replace(own, "").encode()) for tool in tools}


def unreachable(
    run: Assignment,
    place: Place,
    asks: bool,
    names: Sequence[str] | None = None,
    listed: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Why a server of `names` (else those with a URL, which agents do not always report) does not respond now; "" when
    all respond. One with a command is started again in the same workspace.

    With `asks`, also calls one tool about the workspace, as the preflight does: the server must know it. With `listed`,
    the tools and hashes ("" for any) of the preflight, also which of them it lacks or changed: what it adds is what it
    does. One with a command is asked nothing else.
    """
    named = {
        name: entry for name, entry in run.mcp_servers.items() if ("url" in entry if names is None else name in names)
    }
    if not named:
        return ""
    environment = load_adapter(run.settings["kind"]).command(run).env
    workspace = Workspace(place.outside(run.workspace))
    entries = {name: placed(read_entry(entry), run, environment, place) for name, entry in named.items()}
    with Servers(entries, workspace.root, run.settings["mcp_start_s"], environment) as servers:
        for status in servers.statuses:
            if listed and status.connected:
                own = hashes([tool for tool in servers.tools if tool.server == status.name], run)
                before = {name: listed[name] for name in tools_of([status.name], [*listed])}
                if changed := [name for name in before if name not in own or before[name] not in ("", own[name])]:
                    return f"{status.name}: tools unlike in the preflight: {', '.join(changed)}"
            if listed and "command" in named[status.name]:
                continue
            if not status.connected:
                return f"{status.name}: {status.detail}"
            if not asks:
                continue
            check = _check_server("", named[status.name].get("url", run.mcp_file), status, servers, run, workspace)
            if check.outcome == "failed":
                return f"{status.name}: {check.detail}"
    return ""


def _not_started(condition: str, file: str, status: ServerStatus, run: Assignment, told: str) -> Check:
    parts = [f"did not start: {status.detail}", status.fault, told, f"check {file}"]
    limit = f"agent.mcp_start_s is {run.settings['mcp_start_s']:g}"
    return Check(f"{condition}: {status.name}", "failed", f"{'; '.join(filter(None, parts))} ({limit})")


def _check_server(
    condition: str, file: str, status: ServerStatus, servers: Servers, run: Assignment, workspace: Workspace
) -> Check:
    name = f"{condition}: {status.name}"
    own = [tool for tool in servers.tools if tool.server == status.name]
    listed = ", ".join(tool.name for tool in own)
    if not own:
        return Check(name, "failed", f"started, but lists no tools; check {file}")
    callable_tools = {role(tool): tool for tool in reversed(own)}
    tool = next((callable_tools[use] for use in ROLES if use in callable_tools), None)
    if tool is None:
        return Check(
            name,
            "warning",
            f"{listed}; none was called as a check: none is known to only read and to need just a text or path",
        )
    outcome, said = _call(tool, _guesses(tool, run, workspace), servers, run, workspace)
    if outcome == "failed":
        return Check(name, outcome, f"{said}; check {file}")
    if fault := next((each.fault for each in servers.statuses if each.name == status.name), ""):
        outcome, said = "warning", f"{said}; {fault}"
    return Check(name, outcome, f"{listed}; {said}")


def _check_tool(condition: str, tool: OfferedTool, servers: Servers, run: Assignment, workspace: Workspace) -> Check:
    """What a tool gives for arguments made from its schema. No failure: they may be what is wrong."""
    name, why, guesses = f"{condition}: {tool.server}: {tool.name}", why_not_called(tool), []
    if role(tool):
        guesses = _guesses(tool, run, workspace)
    elif not why:
        given = example(tool, run.workspace, *_definition(workspace))
        guesses, why = ([], f"nothing is known for its argument {given!r}") if isinstance(given, str) else ([given], "")
    if why:
        return Check(name, "skipped", f"not called: {why}")
    outcome, said = _call(tool, guesses, servers, run, workspace)
    return Check(name, "warning" if outcome == "failed" else outcome, said)


def _files(workspace: Workspace) -> Sequence[str]:
    return [path for path in workspace.files if not path.startswith(".")] or list(workspace.files) or ["README"]


def _definition(workspace: Workspace) -> tuple[str, str]:
    """A file of code and a name that it defines; without one any file and its name."""
    files = _files(workspace)
    found = ((file, match[1]) for file in files if (match := _DEFINITION.search(workspace.text(file))))
    return next(found, (files[0], Path(files[0]).stem))


def _guesses(tool: OfferedTool, run: Assignment, workspace: Workspace) -> list[Arguments]:
    """Arguments to try for a tool whose role is known, the best first, with the workspace named as for the agent."""
    searched = [*queries(tool, read_question(run.prompt))[:1], *(Path(file).stem for file in _files(workspace)[:2])]
    values = searched if role(tool) == "search" else (_definition(workspace)[0], ".")
    return [arguments(tool, value, run.workspace) for value in values]


def _call(
    tool: OfferedTool, guesses: Sequence[Arguments], servers: Servers, run: Assignment, workspace: Workspace
) -> tuple[Outcome, str]:
    """Calls a tool about the workspace; returns the outcome and a message.

    It is called again while it gives nothing, since some servers call that an error.
    """
    answered: tuple[Outcome, str] | None = None
    failed = ""
    for given in guesses:
        shown = (f"{name}={'<workspace>' if text == run.workspace else repr(text)}" for name, text in given.items())
        asked = f"{tool.name}({', '.join(shown)})"
        result = servers.call(tool, given)
        said = " ".join(result.text.split())[:200] or "nothing"
        if result.is_error:
            failed = failed or f"{asked} failed: {said}"
            continue
        if run.errors.found(tool.full_name, result.text):
            remedy = "it must register each workspace: add a setup command to the condition"
            return "failed", f"{asked}: does not know the workspace: {said}; {remedy}"
        gave = f"{asked} answered with {len(result.text):,} characters"
        gave += " in structuredContent only" if result.is_structured else ""
        if len(result.text) > LONG_RESULT:
            return "warning", f"{gave}, too long for most agents' models"
        if suggestions(result.text.replace(f"{run.workspace}/", ""), workspace):
            return "ok", f"{gave}; nothing found is an error there: {failed}" if failed and role(
                tool
            ) == "search" else gave
        if role(tool) in ("search", "overview"):
            answered = "warning", f"{gave}, but named no file of the workspace: {said}"
        else:
            answered = "ok" if result.text.strip() else "warning", f"{gave}: {said}"
    return answered or ("failed", failed)


def _compared(condition: str, wanted: Sequence[str], tools: Sequence[OfferedTool]) -> Iterator[Check]:
    """Compares the tools in the config (with or without `mcp__<server>__`) with the listed ones."""
    full = {tool.full_name: tool.name for tool in tools}
    expected, listed = sorted({full.get(name, name) for name in wanted}), sorted({tool.name for tool in tools})
    if expected != listed:
        detail = f"conditions.{condition}.tools has {', '.join(expected)}; listed are {', '.join(listed)}: fix either"
        yield Check(f"{condition}: tools", "failed", detail)
