"""Checks that a condition's MCP servers start, list their tools and respond on a real workspace as in a run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lensbench.agents import Assignment, load_adapter, model_hosts
from lensbench.agents.mcp.client import ServerEntry, Servers, ServerStatus, read_entry
from lensbench.agents.mcp.tools import (
    OfferedTool,
    ToolArguments,
    arguments,
    example,
    refused_by_services,
    role,
    why_not_called,
)
from lensbench.agents.sandbox import Place
from lensbench.core.conditions import filtered_out, is_named
from lensbench.core.errors import did_you_mean, printable
from lensbench.core.frozen_plan import ToolFilter
from lensbench.core.preflight_results import (
    BYTES_A_TOKEN,
    LONG_RESULT,
    Check,
    CheckOutcome,
    Cure,
    PreflightFindings,
)
from lensbench.core.records import sha256
from lensbench.runs.reasons import tools_of
from lensbench.runs.server_packages import own_command

if TYPE_CHECKING:
    from lensbench.plan.config import Condition  # slow to import

ROLES = ("search", "neighbourhood", "overview")
"""The purposes of tools that are safe to call; the first is the cheapest and most informative."""
_PATH = re.compile(r"[\w.+@/-]{3,300}")
_DEFINITION = re.compile(
    r"(?m)^\t* *(?:export |pub |async )*(?:def|class|function|func|fn|struct|interface) +(\w{3,})"
)
_LARGEST_FILE = 1_000_000
_DESCRIBED = 2000  # characters of a tool's description that are kept


def placed(
    entry: ServerEntry | str, run: Assignment, environment: Mapping[str, str], place: Place
) -> ServerEntry | str:
    """The entry, changed to start inside the sandbox."""
    if isinstance(entry, str) or not entry.command:
        return entry
    try:
        env = {**environment, **dict(entry.env)}
        return replace(
            entry,
            command=place.wrap(entry.command, env, run.mcp_file, agents=model_hosts(run.settings)),
        )
    except OSError as error:
        return f"{entry.command[0]}: {error.strerror}"


class FailedStart(NamedTuple):
    """A server that did not start as in a run."""

    name: str
    entry: ServerEntry
    status: ServerStatus
    mcp: str
    """The user's MCP file."""
    run: Assignment
    env: Mapping[str, str]
    """The agent's."""
    place: Place


Advise = Callable[[FailedStart], tuple[ServerStatus, str | Cure]]
"""What finds out what a server lacks in a run, in words or as what to write; and the status to show."""


def name_doctor(failed: FailedStart) -> tuple[ServerStatus, str | Cure]:
    """Leaves it to a command: to try what a server lacks takes minutes."""
    return failed.status, "`lensbench doctor` tries what it lacks in a run"


class Subject:
    """The workspace of a run, which its servers are asked about."""

    def __init__(self, run: Assignment, place: Place) -> None:
        self.run = run
        self.root = place.outside(run.workspace)
        self.refusals: dict[str, str] = {}
        """What servers say that do not know it, by their names."""

    def servers(
        self, names: Iterable[str], environment: Mapping[str, str], place: Place
    ) -> Servers:
        """Those of the run's servers, to be started as its agent starts them."""
        entries = {
            name: placed(read_entry(self.run.mcp_servers[name]), self.run, environment, place)
            for name in names
        }
        return Servers(entries, self.root, self.run.settings["mcp_start_s"], environment)

    @cached_property
    def files(self) -> Sequence[str]:
        """The paths of its files; those that are hidden only where there are no others."""
        paths: list[str] = []
        for place, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", "node_modules")]
            paths += (os.path.relpath(os.path.join(place, name), self.root) for name in names)
        return (
            sorted(path for path in paths if not path.startswith("."))
            or sorted(paths)
            or ["README"]
        )

    @cached_property
    def definition(self) -> tuple[str, str]:
        """A file of code and a name that it defines; without one any file and its name."""
        pairs = (
            (path, match[1])
            for path in self.files
            if (match := _DEFINITION.search(self._text(path)))
        )
        return next(pairs, (self.files[0], Path(self.files[0]).stem))

    def is_named_in(self, result: str) -> bool:
        paths = _PATH.findall(result.replace("\\/", "/").replace(f"{self.root}/", ""))
        return not {os.path.normpath(path.rstrip(".")) for path in paths}.isdisjoint(self.files)

    def _text(self, path: str) -> str:
        file = Path(self.root, path)
        is_readable = (
            file.is_file() and not file.is_symlink() and file.stat().st_size < _LARGEST_FILE
        )
        return file.read_text(encoding="utf-8", errors="replace") if is_readable else ""


class Listing(NamedTuple):
    """The servers of a condition, as they were tried."""

    statuses: Sequence[ServerStatus]
    run: Assignment

    def part(self, names: Sequence[str]) -> Listing | None:
        """The listing of a condition with these of the servers; None when one of them was not tried."""
        statuses = [status for status in self.statuses if status.name in names]
        return self._replace(statuses=statuses) if len(statuses) == len(names) else None


def check_servers(
    name: str,
    settings: Condition,
    run: Assignment,
    environment: Mapping[str, str],
    place: Place,
    each_tool: bool,
    findings: PreflightFindings,
    advise: Advise,
) -> Listing:
    """Adds to the findings checks of each server of a condition, started as the agent would (`environment`, `place`);
    with `each_tool` also one of each tool, called if it only reads. Also what `advise` says of servers that did not
    start. Returns what they list."""
    subject = Subject(run, place)
    file = f"conditions.{name}.mcp, {settings.mcp}"
    with subject.servers(run.mcp_servers, environment, place) as servers:
        statuses = servers.statuses
        tools = servers.tools
        results = {
            one.name: _check_server(name, file, one, servers, subject, each_tool)
            for one in statuses
            if one.connected
        }
        rows = [_check_tool(name, tool, servers, subject) for tool in tools] if each_tool else []
    for server, text in subject.refusals.items():
        program = run.mcp_servers[server].get("command", "")
        setup = own_command(text, program, findings.packages)
        if setup and not settings.setup:
            lacking = Cure({f"conditions.{name}.setup": setup})
            findings.cures.append(lacking)
            found = results[server]
            results[server] = replace(found, detail=f"{found.detail}; try {lacking}")
    for status in statuses:  # the others are tried again when no process of these is left
        if not status.connected:
            entry = read_entry(run.mcp_servers[status.name])
            note = f"check {file}"
            if isinstance(entry, ServerEntry) and entry.command:
                mcp = settings.mcp or ""
                failed = FailedStart(status.name, entry, status, mcp, run, environment, place)
                status, cure = advise(failed)
                findings.cures += [cure] if isinstance(cure, Cure) else []
                note = f"it starts with {cure}" if isinstance(cure, Cure) else f"{cure}; {note}"
            parts = [f"did not start: {status.detail}", status.fault, note]
            results[status.name] = Check(
                f"{name}: {status.name}", "failed", "; ".join(filter(None, parts))
            )
    findings.checks += [results[status.name] for status in statuses]
    findings.checks += [
        row for row in rows if not any(row.detail in said.detail for said in results.values())
    ]
    return Listing(statuses, run)


def check_listing(
    name: str, settings: Condition, listing: Listing, findings: PreflightFindings
) -> None:
    """Adds to the findings checks of what the servers of a condition list: of the tools that the config names, and of
    the tool list. Also all tools, and the list's tokens."""
    statuses, run = listing
    tools = tuple(tool for status in statuses for tool in status.tools)
    are_connected = all(status.connected for status in statuses)
    if settings.filter and are_connected:
        excluded = filtered_out(settings.filter, [tool.full_name for tool in tools])
        findings.checks += _filtered(name, settings.filter, tools, excluded)
        findings.excluded[name] = excluded
        tools = tuple(tool for tool in tools if tool.full_name not in excluded)
    elif isinstance(settings.tools, tuple) and settings.tools and are_connected:
        findings.checks += _compared(name, settings.tools, tools)
    words = run.words or {}
    if words and are_connected:
        findings.checks += _unlisted(name, words, tools)
        tools = tuple(replace(tool, description=_described(tool, words)) for tool in tools)
    texts = [json.dumps([tool.full_name, tool.description, tool.schema]) for tool in tools]
    size = (
        len("".join([*texts, *(status.instructions for status in statuses)]).encode())
        // BYTES_A_TOKEN
    )
    if refused := list(refused_by_services(tools)):
        findings.checks.append(Check(f"{name}: tool schemas", "warning", "; ".join(refused)))
    if tools:
        note = f"with the instructions about {size:,} tokens of every request (estimated: 4 bytes a token)"
        findings.checks.append(Check(f"{name}: tool list", "ok", note))
    findings.list_tokens[name] = size
    findings.versions[name] = {
        status.name: printable(status.version) for status in statuses if status.version
    }
    findings.tools[name] = hashes(tools, run)
    findings.descriptions |= {tool.full_name: tool.description[:_DESCRIBED] for tool in tools}


def hashes(tools: Sequence[OfferedTool], run: Assignment) -> dict[str, str]:
    """The hash of each tool's schema, without the run's own folder."""
    own = run.workspace.rpartition("/")[0]
    return {
        tool.full_name: sha256(json.dumps(tool.schema, sort_keys=True).replace(own, "").encode())
        for tool in tools
    }


def unreachable(
    run: Assignment, place: Place, names: Sequence[str], listing: Mapping[str, str], asks: bool
) -> str:
    """Why a server of `names` does not respond; "" when all do. One with a command is started again. With `asks`, also
    calls a tool about the workspace; with `listing`, the preflight's tools and hashes ("" for any), looks for those."""
    if not names:
        return ""
    subject = Subject(run, place)
    environment = load_adapter(run.settings["kind"]).command(run).env
    with subject.servers(names, environment, place) as servers:
        for status in servers.statuses:
            if listing and status.connected:
                own = hashes(status.tools, run)
                before = {name: listing[name] for name in tools_of([status.name], [*listing])}
                if changes := [
                    name
                    for name in before
                    if name not in own or before[name] not in ("", own[name])
                ]:
                    return f"{status.name}: tools unlike in the preflight: {', '.join(changes)}"
            if listing and "command" in run.mcp_servers[status.name]:
                continue
            if not status.connected:
                return f"{status.name}: {status.detail}"
            if not asks:
                continue
            file = run.mcp_servers[status.name].get("url", run.mcp_file)
            check = _check_server("", file, status, servers, subject)
            if check.outcome == "failed":
                return f"{status.name}: {check.detail}"
    return ""


def _check_server(
    condition: str,
    file: str,
    status: ServerStatus,
    servers: Servers,
    subject: Subject,
    each_tool: bool = False,
) -> Check:
    name = f"{condition}: {status.name}"
    listing = ", ".join(tool.name for tool in status.tools)
    if not status.tools:
        return Check(name, "failed", f"started, but lists no tools; check {file}")
    callable_tools = {role(tool): tool for tool in reversed(status.tools)}
    tool = next((callable_tools[use] for use in ROLES if use in callable_tools), None)
    if tool is None and each_tool:
        return Check(name, "ok", listing)  # the rows of its tools say more
    if tool is None:
        return Check(
            name,
            "warning",
            f"{listing}; none was called: none is known to only read and to need just a text",
        )
    outcome, message = _call(tool, _guesses(tool, subject), servers, subject)
    if outcome == "failed":
        return Check(name, outcome, f"{message}; check {file}")
    if status.fault:  # it may have come in the call
        outcome = "warning"
        message = f"{message}; {status.fault}"
    return Check(name, outcome, f"{listing}; {message}")


def _check_tool(condition: str, tool: OfferedTool, servers: Servers, subject: Subject) -> Check:
    """What a tool gives for arguments made from its schema. No failure: they may be what is wrong."""
    name = f"{condition}: {tool.server}: {tool.name}"
    why = why_not_called(tool)
    guesses = []
    if role(tool):
        guesses = _guesses(tool, subject)
    elif not why:
        guess = example(tool, subject.run.workspace, *subject.definition)
        guesses, why = (
            ([], f"nothing is known for its argument {guess!r}")
            if isinstance(guess, str)
            else ([guess], "")
        )
    if why:
        return Check(name, "skipped", f"not called: {why}")
    outcome, message = _call(tool, guesses, servers, subject)
    return Check(name, "warning" if outcome == "failed" else outcome, message)


def _guesses(tool: OfferedTool, subject: Subject) -> list[ToolArguments]:
    """Arguments to try for a tool whose role is known, the best first, with the workspace named as for the agent."""
    file, symbol = subject.definition
    values = (
        (symbol, *(Path(path).stem for path in subject.files[:2]))
        if role(tool) == "search"
        else (file, ".")
    )
    return [arguments(tool, value, subject.run.workspace) for value in values]


def _call(
    tool: OfferedTool, guesses: Sequence[ToolArguments], servers: Servers, subject: Subject
) -> tuple[CheckOutcome, str]:
    """Calls a tool about the workspace, again while it gives nothing; returns the outcome and a message."""
    run = subject.run
    answer: tuple[CheckOutcome, str] | None = None
    fault = ""
    for guess in guesses:
        parts = (
            f"{name}={'<workspace>' if text == run.workspace else repr(text)}"
            for name, text in guess.items()
        )
        call = f"{tool.name}({', '.join(parts)})"
        result = servers.call(tool, guess)
        reply = " ".join(result.text.split())[:200] or "nothing"
        if result.is_error:
            fault = fault or f"{call} failed: {reply}"
            continue
        if run.errors.found(tool.full_name, result.text):
            subject.refusals[tool.server] = result.text
            remedy = (
                "add a setup command to the condition, and writes for an index (docs/servers.md)"
            )
            return "failed", f"{call}: does not know the workspace: {reply}; {remedy}"
        gave = f"{call} answered with {len(result.text):,} characters"
        gave += " in structuredContent only" if result.is_structured else ""
        if len(result.text) > LONG_RESULT:
            return "warning", f"{gave}, too long for most agents' models"
        if subject.is_named_in(result.text.replace(f"{run.workspace}/", "")):
            is_odd = fault and role(tool) == "search"
            return "ok", f"{gave}; nothing found is an error there: {fault}" if is_odd else gave
        if role(tool) in ("search", "overview"):
            answer = "warning", f"{gave}, but named no file of the workspace: {reply}"
        else:
            answer = "ok" if result.text.strip() else "warning", f"{gave}: {reply}"
    end = servers.last_words(tool.server)
    return answer or ("failed", f"{fault}; its standard error ends with {end}" if end else fault)


def _described(tool: OfferedTool, words: Mapping[str, Mapping[str, Any]]) -> str:
    """The description of a tool in the words of its condition."""
    text: str = words.get(tool.server, {}).get("tools", {}).get(tool.name, tool.description)
    return text


def _unlisted(
    condition: str, words: Mapping[str, Mapping[str, Any]], tools: Sequence[OfferedTool]
) -> Iterator[Check]:
    """Words for tools that no server lists, or that the condition leaves out."""
    for server, own in words.items():
        known = [tool.name for tool in tools if tool.server == server]
        for name in own["tools"]:
            if name not in known:
                what = f"conditions.{condition}.describe has {name!r}, which {server} does not list"
                hint = did_you_mean(name, known)
                yield Check(f"{condition}: words", "failed", f"{what}{hint}")


def _filtered(
    condition: str, tools: ToolFilter, listing: Sequence[OfferedTool], excluded: Sequence[str]
) -> Iterator[Check]:
    """Whether a condition's filter names tools that its servers list, and leaves each server one."""
    check = f"{condition}: tools"
    known = [tool.name for tool in listing]
    for key, names in tools.items():
        for name in names:
            if not any(is_named(tool.full_name, name) for tool in listing):
                what = f"conditions.{condition}.tools.{key} has {name!r}, which no server lists"
                yield Check(check, "failed", f"{what}{did_you_mean(name, known)}")
    left = {tool.server for tool in listing if tool.full_name not in excluded}
    without = sorted({tool.server for tool in listing} - left)
    for server in without:
        what = f"conditions.{condition}.tools leaves {server} no tool"
        yield Check(check, "failed", f"{what}; leave the server out: without: [{server}]")
    if not without:
        yield Check(check, "ok", f"the agent's filter leaves out {', '.join(excluded) or 'none'}")


def _compared(
    condition: str, names: Sequence[str], tools: Sequence[OfferedTool]
) -> Iterator[Check]:
    """Compares the tools in the config (with or without `mcp__<server>__`) with the listed ones."""
    full = {tool.full_name: tool.name for tool in tools}
    config = sorted({full.get(name, name) for name in names})
    listing = sorted({tool.name for tool in tools})
    if config != listing:
        detail = f"conditions.{condition}.tools has {', '.join(config)}; listed are {', '.join(listing)}: fix either"
        yield Check(f"{condition}: tools", "failed", detail)
