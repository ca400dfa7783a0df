"""Checks that a condition's MCP servers start, list their tools and respond on a real workspace as in a run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lensbench.agents import Assignment, load_adapter
from lensbench.agents.mcp.client import ServerEntry, Servers, ServerStatus, read_entry
from lensbench.agents.mcp.tools import Arguments, OfferedTool, arguments, example, role, why_not_called
from lensbench.agents.sandbox import Place
from lensbench.core.preflight_results import BYTES_A_TOKEN, LONG_RESULT, Check, Cure, Outcome
from lensbench.core.records import sha256
from lensbench.runs.reasons import tools_of
from lensbench.runs.server_starts import advice, placed

if TYPE_CHECKING:
    from lensbench.plan.config import Condition  # slow to import

ROLES = ("search", "neighbourhood", "overview")
"""The purposes of tools that are safe to call; the first is the cheapest and most informative."""
_PATH = re.compile(r"[\w.+@/-]{3,300}")
_DEFINITION = re.compile(r"(?m)^\t* *(?:export |pub |async )*(?:def|class|function|func|fn|struct|interface) +(\w{3,})")
_LARGEST_FILE = 1_000_000


class Subject:
    """The workspace that servers are asked about."""

    def __init__(self, root: str) -> None:
        self.root = root

    @cached_property
    def files(self) -> Sequence[str]:
        """The paths of its files; those that are hidden only where there are no others."""
        paths: list[str] = []
        for place, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", "node_modules")]
            paths += (os.path.relpath(os.path.join(place, name), self.root) for name in names)
        return sorted(path for path in paths if not path.startswith(".")) or sorted(paths) or ["README"]

    @cached_property
    def definition(self) -> tuple[str, str]:
        """A file of code and a name that it defines; without one any file and its name."""
        pairs = ((path, match[1]) for path in self.files if (match := _DEFINITION.search(self._text(path))))
        return next(pairs, (self.files[0], Path(self.files[0]).stem))

    def is_named_in(self, result: str) -> bool:
        """True when a result names one of its files."""
        paths = _PATH.findall(result.replace("\\/", "/").replace(f"{self.root}/", ""))
        return not {os.path.normpath(path.rstrip(".")) for path in paths}.isdisjoint(self.files)

    def _text(self, path: str) -> str:
        file = Path(self.root, path)
        is_readable = file.is_file() and not file.is_symlink() and file.stat().st_size < _LARGEST_FILE
        return file.read_text(encoding="utf-8", errors="replace") if is_readable else ""


def check_servers(
    condition: str, settings: Condition, run: Assignment, environment: Mapping[str, str], place: Place, each_tool: bool
) -> tuple[list[Check], Sequence[OfferedTool], int, list[Cure]]:
    """Checks of each server, started as the agent would (`environment`, `place`), of the tools that the config names
    and the tool list; with `each_tool` also one of each tool, called if it only reads. Also all tools, the list's
    tokens, and what servers lack that did not start."""
    entries = {name: placed(read_entry(entry), run, environment, place) for name, entry in run.mcp_servers.items()}
    subject = Subject(place.outside(run.workspace))
    file = f"conditions.{condition}.mcp, {settings.mcp}"
    with Servers(entries, subject.root, run.settings["mcp_start_s"], environment) as servers:
        statuses, tools = servers.statuses, servers.tools
        texts = [json.dumps([tool.full_name, tool.description, tool.schema]) for tool in tools]
        texts += [status.instructions for status in statuses]
        size = len("".join(texts).encode()) // BYTES_A_TOKEN
        results = {
            status.name: _check_server(condition, file, status, servers, run, subject)
            for status in statuses if status.connected
        }  # fmt: skip
        rows = [_check_tool(condition, tool, servers, run, subject) for tool in tools] if each_tool else []
    cures = []
    for status in statuses:  # the others are tried again when no process of these is left
        if not status.connected:
            entry = read_entry(run.mcp_servers[status.name])
            note: str | Cure = ""
            if isinstance(entry, ServerEntry) and entry.command:
                status, note = advice(status.name, entry, status, settings.mcp or "", run, environment, place)
            if isinstance(note, Cure):
                cures.append(note)
                note = f"it starts with {note}"
            parts = [f"did not start: {status.detail}", status.fault, note, f"check {file}"]
            results[status.name] = Check(f"{condition}: {status.name}", "failed", "; ".join(filter(None, parts)))
    checks = [results[status.name] for status in statuses]
    if settings.tools and all(status.connected for status in statuses):
        checks += _compared(condition, settings.tools, tools)
    checks += rows
    if tools:
        note = f"with the instructions about {size:,} tokens of every request (estimated: 4 bytes a token)"
        checks.append(Check(f"{condition}: tool list", "ok", note))
    return checks, tools, size, cures


def hashes(tools: Sequence[OfferedTool], run: Assignment) -> dict[str, str]:
    """The hash of each tool's schema, without the run's own folder."""
    own = run.workspace.rpartition("/")[0]
    return {tool.full_name: sha256(json.dumps(tool.schema, sort_keys=True).replace(own, "").encode()) for tool in tools}


def unreachable(run: Assignment, place: Place, names: Sequence[str], listing: Mapping[str, str], asks: bool) -> str:
    """Why a server of `names` does not respond; "" when all do. One with a command is started again in the workspace.

    With `asks`, also calls a tool about the workspace, which the server must know. With `listing`, the tools and hashes
    ("" for any) of the preflight, also which of them it lacks or changed. One with a command is asked nothing else.
    """
    subset = {name: entry for name, entry in run.mcp_servers.items() if name in names}
    environment = load_adapter(run.settings["kind"]).command(run).env
    subject = Subject(place.outside(run.workspace))
    entries = {name: placed(read_entry(entry), run, environment, place) for name, entry in subset.items()}
    with Servers(entries, subject.root, run.settings["mcp_start_s"], environment) as servers:
        for status in servers.statuses:
            if listing and status.connected:
                own = hashes(status.tools, run)
                before = {name: listing[name] for name in tools_of([status.name], [*listing])}
                if changes := [name for name in before if name not in own or before[name] not in ("", own[name])]:
                    return f"{status.name}: tools unlike in the preflight: {', '.join(changes)}"
            if listing and "command" in subset[status.name]:
                continue
            if not status.connected:
                return f"{status.name}: {status.detail}"
            if not asks:
                continue
            check = _check_server("", subset[status.name].get("url", run.mcp_file), status, servers, run, subject)
            if check.outcome == "failed":
                return f"{status.name}: {check.detail}"
    return ""


def _check_server(
    condition: str, file: str, status: ServerStatus, servers: Servers, run: Assignment, subject: Subject
) -> Check:
    name = f"{condition}: {status.name}"
    listing = ", ".join(tool.name for tool in status.tools)
    if not status.tools:
        return Check(name, "failed", f"started, but lists no tools; check {file}")
    callable_tools = {role(tool): tool for tool in reversed(status.tools)}
    tool = next((callable_tools[use] for use in ROLES if use in callable_tools), None)
    if tool is None:
        why = "none is known to only read and to need just a text or path"
        return Check(name, "warning", f"{listing}; none was called as a check: {why}")
    outcome, message = _call(tool, _guesses(tool, run, subject), servers, run, subject)
    if outcome == "failed":
        return Check(name, outcome, f"{message}; check {file}")
    if status.fault:  # it may have come in the call
        outcome, message = "warning", f"{message}; {status.fault}"
    return Check(name, outcome, f"{listing}; {message}")


def _check_tool(condition: str, tool: OfferedTool, servers: Servers, run: Assignment, subject: Subject) -> Check:
    """What a tool gives for arguments made from its schema. No failure: they may be what is wrong."""
    name, why, guesses = f"{condition}: {tool.server}: {tool.name}", why_not_called(tool), []
    if role(tool):
        guesses = _guesses(tool, run, subject)
    elif not why:
        guess = example(tool, run.workspace, *subject.definition)
        guesses, why = ([], f"nothing is known for its argument {guess!r}") if isinstance(guess, str) else ([guess], "")
    if why:
        return Check(name, "skipped", f"not called: {why}")
    outcome, message = _call(tool, guesses, servers, run, subject)
    return Check(name, "warning" if outcome == "failed" else outcome, message)


def _guesses(tool: OfferedTool, run: Assignment, subject: Subject) -> list[Arguments]:
    """Arguments to try for a tool whose role is known, the best first, with the workspace named as for the agent."""
    file, symbol = subject.definition
    values = (symbol, *(Path(path).stem for path in subject.files[:2])) if role(tool) == "search" else (file, ".")
    return [arguments(tool, value, run.workspace) for value in values]


def _call(
    tool: OfferedTool, guesses: Sequence[Arguments], servers: Servers, run: Assignment, subject: Subject
) -> tuple[Outcome, str]:
    """Calls a tool about the workspace, again while it gives nothing; returns the outcome and a message."""
    answer: tuple[Outcome, str] | None = None
    fault = ""
    for guess in guesses:
        parts = (f"{name}={'<workspace>' if text == run.workspace else repr(text)}" for name, text in guess.items())
        call = f"{tool.name}({', '.join(parts)})"
        result = servers.call(tool, guess)
        reply = " ".join(result.text.split())[:200] or "nothing"
        if result.is_error:
            fault = fault or f"{call} failed: {reply}"
            continue
        if run.errors.found(tool.full_name, result.text):
            remedy = "it must register each workspace: add a setup command to the condition"
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


def _compared(condition: str, names: Sequence[str], tools: Sequence[OfferedTool]) -> Iterator[Check]:
    """Compares the tools in the config (with or without `mcp__<server>__`) with the listed ones."""
    full = {tool.full_name: tool.name for tool in tools}
    config, listing = sorted({full.get(name, name) for name in names}), sorted({tool.name for tool in tools})
    if config != listing:
        detail = f"conditions.{condition}.tools has {', '.join(config)}; listed are {', '.join(listing)}: fix either"
        yield Check(f"{condition}: tools", "failed", detail)
