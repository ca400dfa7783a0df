"""The MCP client: servers from an `mcpServers` file, over stdio or streamable HTTP."""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from typing import IO, Any, Protocol

from lensbench.agents.mcp.stdio import (
    GONE_S,
    Message,
    Program,
    ServerEnded,
    ServerProblem,
    insist_on,
)
from lensbench.agents.mcp.tools import OfferedTool, ToolArguments
from lensbench.core.system.processes import adopt_orphans, end_children

CALL_SECONDS = 45.0
"""A call that takes longer is an error, and its server is not called again."""
_PRINTS = (
    "it prints other text than protocol messages to standard output ({!r}), which makes some agents fail; print it "
    "to standard error"
)
_MOST_PAGES = 100
_NO_END = (
    "its tools/list never ends: it names a next page again and again, which makes some agents fail"
)


@dataclass(frozen=True)
class ServerEntry:
    """A server of the file: a program with its arguments and environment, or an address."""

    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class ServerStatus:
    """A server of the file, and how it is."""

    name: str
    connected: bool = False
    is_late: bool = False
    """It was not ready in time."""
    detail: str = ""
    """Why it is not connected."""
    fault: str = ""
    """What is wrong with it, although it may work: a sentence."""
    said: str = ""
    """The end of its standard error, when it did not start."""
    tools: tuple[OfferedTool, ...] = ()
    instructions: str = ""
    """What it tells the model about itself."""
    version: str = ""
    """The version that its `initialize` reports."""


@dataclass(frozen=True)
class Result:
    """What a call gave."""

    text: str
    is_error: bool
    is_structured: bool = False
    """The text is only in the structured content."""


class Link(Protocol):
    """A connection to a server."""

    def greet(self, seconds: float) -> Message:
        """The handshake; returns what the server says of itself. Raises any error."""

    def ask(self, method: str, params: Message, seconds: float) -> Message:
        """The result of a request. Raises any error."""

    def close(self) -> None:
        """Ends it."""


@dataclass
class _Connection:
    """A server that runs, or that did not start."""

    entry: ServerEntry
    status: ServerStatus
    errors: IO[bytes]
    """Its standard error."""
    link: Link | None = None
    gave_up: bool = False
    """It did not answer a call in time."""


class Servers:
    """The running servers. A context manager: on leaving it, none of their processes is left."""

    def __init__(
        self,
        entries: Mapping[str, ServerEntry | str],
        workspace: str,
        start_seconds: float,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Programs start in `workspace` with `environment`, to which their entries may add. An entry that is a text
        is what is wrong with it."""
        self._usable = {
            name: entry for name, entry in entries.items() if isinstance(entry, ServerEntry)
        }
        self._workspace = workspace
        self._environment = environment
        self._start_seconds = start_seconds
        self._has_programs = any(entry.command for entry in self._usable.values())
        self._running: dict[str, _Connection] = {}
        self._stack = ExitStack()
        self.statuses = tuple(
            ServerStatus(name, detail=entry if isinstance(entry, str) else "")
            for name, entry in entries.items()
        )

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """All tools of the connected servers, by server in the order of the file."""
        return tuple(tool for status in self.statuses for tool in status.tools)

    def __enter__(self) -> Servers:
        try:
            if self._usable:
                self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()
        if self._has_programs:
            end_children(GONE_S)

    def call(self, tool: OfferedTool, arguments: ToolArguments) -> Result:
        """The tool's result; every error is a result with `is_error`."""
        server = self._running[tool.server]
        assert server.link
        if server.gave_up:
            return Result("the server did not answer an earlier call", True)
        try:
            asked = {"name": tool.name, "arguments": arguments}
            return _result(server.link.ask("tools/call", asked, CALL_SECONDS))
        except TimeoutError:
            server.gave_up = True
            return Result(f"no answer in {CALL_SECONDS:g} s", True)
        except ServerEnded:
            return Result("the server ended in this call", True)
        except Exception as error:
            return Result(_reason(error), True)

    def last_words(self, server: str) -> str:
        """The end of a server's standard error, in one line."""
        return _last_line(_end(self._running[server].errors))

    def _start(self) -> None:
        """Starts all servers at once, and waits until each is connected or has failed."""
        if self._has_programs:
            adopt_orphans()
        portal = None
        if any(entry.url for entry in self._usable.values()):
            from lensbench.agents.mcp import http  # half a second

            portal = self._stack.enter_context(http.sdk_thread())
        greetings = []
        for status in self.statuses:
            entry = self._usable.get(status.name)
            if entry is None:
                continue
            errors = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            server = _Connection(entry, status, errors)
            self._running[status.name] = server
            try:
                if portal and entry.url:
                    server.link = http.Address(portal, entry.url, dict(entry.headers))
                else:
                    server.link = self._program(server)
            except (OSError, ValueError) as error:
                status.detail = _reason(error)
                continue
            self._stack.callback(server.link.close)
            greetings.append(threading.Thread(target=self._greet, args=(server,), daemon=True))
        for greeting in greetings:
            greeting.start()
        for greeting in greetings:
            greeting.join()

    def _program(self, server: _Connection) -> Program:
        entry, status = server.entry, server.status

        def note(line: str) -> None:
            status.fault = status.fault or _PRINTS.format(" ".join(line.split())[:80])

        env = {**self._environment, **dict(entry.env)}
        return Program(entry.command, env, self._workspace, server.errors, note)

    def _greet(self, server: _Connection) -> None:
        """Notes how a server is, and what it offers."""
        assert server.link
        status = server.status
        until = monotonic() + self._start_seconds
        try:
            greeting = server.link.greet(self._start_seconds)
            status.tools, ends = _list_tools(server.link, status.name, until)
        except TimeoutError:
            status.is_late = True
            reason = f"not ready in {self._start_seconds:g} s (agent.mcp_start_s)"
        except Exception as error:
            reason = _reason(error)
        else:
            if not ends:
                status.fault = status.fault or _NO_END
            status.instructions = greeting.get("instructions") or ""
            status.version = greeting["serverInfo"].get("version") or ""
            status.connected = True
            return
        status.said = _end(server.errors)
        sentence = f"{server.entry.url}: {reason}" if server.entry.url else reason
        status.detail = ". ".join(part for part in (sentence, _last_line(status.said)) if part)


def read_entry(value: Any) -> ServerEntry | str:
    """A server of an MCP file, or what is wrong with its entry."""
    if not isinstance(value, dict) or ("command" in value) == ("url" in value):
        return "write a mapping with either a command or a url"
    command = value.get("command")
    url = value.get("url")
    kind = value.get("type")
    args = value.get("args", [])
    env = value.get("env", {})
    headers = value.get("headers", {})
    if "url" in value:
        if kind not in (None, "http", "streamable-http"):
            return (
                f"type is {kind!r}, which is not supported; give the server's address for type http"
            )
        if not isinstance(url, str) or not url.startswith(("http://", "https://", "${")):
            return f"url is {url!r}; it must begin with http:// or https://"
        return _no_text("headers", headers) or ServerEntry(url=url, headers=tuple(headers.items()))
    is_line = (
        isinstance(command, str)
        and " " in command
        and "${" not in command
        and not os.path.exists(command)
    )
    if not isinstance(command, str) or not command or is_line:
        return "command must be the program alone, as a text; write its arguments in args"
    if not isinstance(args, list):
        return "args is not a list of texts"
    if problem := _no_text("args", dict(enumerate(args))) or _no_text("env", env):
        return problem
    if home := next((word for word in (command, *args) if word.startswith("~/")), ""):
        return f"has {home!r}; only a shell replaces ~; write ${{HOME}}{home[1:]}"
    return ServerEntry((command, *args), tuple(env.items()))


def _no_text(key: str, value: Any) -> str:
    """What keeps a value from being a mapping of texts; "" when nothing does."""
    if not isinstance(value, dict):
        return f"{key} is not a mapping of texts"
    wrong = next((name for name, item in value.items() if type(item) is not str), None)
    return (
        ""
        if wrong is None
        else f"{key}.{wrong} is {value[wrong]!r}; write a text, in double quotes"
    )


def _list_tools(link: Link, server: str, until: float) -> tuple[tuple[OfferedTool, ...], bool]:
    """The tools of all pages, each once, and whether the pages end."""
    tools: dict[str, OfferedTool] = {}
    cursor = None
    former = set[str | None]()
    grows = True
    while cursor not in former and grows and len(former) < _MOST_PAGES:
        former.add(cursor)
        asked: Message = {"cursor": cursor} if cursor else {}
        page = link.ask("tools/list", asked, until - monotonic())
        listed = _listed(page)
        grows = not listed or any(tool["name"] not in tools for tool in listed)
        for tool in listed:
            tools[tool["name"]] = _offered(tool, server)
        cursor = page.get("nextCursor") or None
    return tuple(tools.values()), cursor is None


def _listed(page: Message) -> list[Message]:
    """The tools of a page. Raises ServerProblem for one that agents do not accept."""
    insist_on(page, "tools", list, "ListToolsResult")
    for number, tool in enumerate(page["tools"], 1):
        of_it = f" of its tool number {number}"
        insist_on(tool, "name", str, "ListToolsResult", of_it)
        insist_on(tool, "inputSchema", dict, "ListToolsResult", of_it)
        insist_on(tool["inputSchema"], "type", str, "ListToolsResult", of_it, "inputSchema.")
    listed: list[Message] = page["tools"]
    return listed


def _offered(tool: Message, server: str) -> OfferedTool:
    hints = tool.get("annotations") or {}
    return OfferedTool(
        server,
        tool["name"],
        tool.get("description") or "",
        tool["inputSchema"],
        changes=hints.get("destructiveHint") is True or hints.get("readOnlyHint") is False,
        reads=hints.get("readOnlyHint") is True,
    )


def _result(result: Message) -> Result:
    """What agents show their model: the blocks of text, also of embedded files; without them the structured content."""
    blocks = [block.get("resource", block) for block in result.get("content") or ()]
    text = "\n".join(block["text"] for block in blocks if block.get("text"))
    is_error = result.get("isError") is True
    structured = result.get("structuredContent")
    if text or not structured:
        return Result(text, is_error)
    return Result(json.dumps(structured, ensure_ascii=False), is_error, is_structured=True)


def _reason(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, ServerProblem):
        return str(error)[:300]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _end(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4000))
    return errors.read().decode("utf-8", "replace").strip()


def _last_line(output: str) -> str:
    """The last line, or the error's own line, below which Node prints its stack and version."""
    lines = sorted(output.splitlines(), key=lambda line: "--help" not in line)
    errors = [line for line in lines if re.match(r"\w*Error\b.*: ", line)]
    return " ".join((errors or lines)[-1].split())[:300] if lines else ""
