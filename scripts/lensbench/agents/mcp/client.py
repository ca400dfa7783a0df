"""The MCP client: servers from an `mcpServers` file, over stdio or streamable HTTP, with the official SDK. The SDK is
asynchronous and slow to import, so it is imported only when there is a server to start, and runs in its own thread."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import IO, Any

from lensbench.agents.mcp.tools import OfferedTool, ToolArguments
from lensbench.agents.reach import hosts_in
from lensbench.core.system.processes import adopt_orphans, end_children, held_signals

CALL_SECONDS = 45.0
"""A call that takes longer is an error, and its server is not called again."""
_PRINTS = (
    "it prints other text than protocol messages to standard output ({!r}), which makes some agents fail; print it "
    "to standard error"
)
_NO_TOKEN = (
    'it wants a login, and none in a browser (OAuth) is possible: add "headers": {"Authorization": "Bearer ${TOKEN}"}',
    "the token in its headers is wrong or has expired: export a new one (docs/logins.md)",
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


@dataclass
class _Connection:
    """What keeps a server running."""

    entry: ServerEntry
    status: ServerStatus
    errors: IO[bytes]
    """Its standard error."""
    started: Event = field(default_factory=Event)
    """Done when its start has succeeded or failed."""
    call: Callable[[str, ToolArguments], Result] = lambda tool, arguments: Result(
        "it is not connected", True
    )
    refusal: str = ""
    """Why its address refuses requests, which the SDK does not tell."""


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
        if any(entry.command for entry in self._usable.values()):
            end_children()

    def call(self, tool: OfferedTool, arguments: ToolArguments) -> Result:
        """The tool's result; every error is a result with `is_error`."""
        server = self._running[tool.server]
        try:
            return server.call(tool.name, arguments)
        except TimeoutError:
            server.call = lambda name, values: Result(
                "the server did not answer an earlier call", True
            )
            return Result(f"no answer in {CALL_SECONDS:g} s", True)
        except Exception as error:
            reason = server.refusal or _reason(error)
            return Result(
                reason.replace("MCPError: Connection closed", "the server ended in this call"), True
            )

    def last_words(self, server: str) -> str:
        """The end of a server's standard error, in one line."""
        return _last_line(_end(self._running[server].errors))

    def _start(self) -> None:
        """Starts all servers at once, and waits until each is connected or has failed."""
        import logging

        import anyio
        from anyio.from_thread import start_blocking_portal

        logging.disable(
            logging.CRITICAL
        )  # the SDK logs a traceback for each line that a broken server prints
        if any(entry.command for entry in self._usable.values()):
            adopt_orphans()
        for status in self.statuses:
            if entry := self._usable.get(status.name):
                errors = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
                self._running[status.name] = _Connection(entry, status, errors)
        with (
            held_signals()
        ):  # a signal in between would wait forever for a thread that nothing stops
            portal = self._stack.enter_context(start_blocking_portal())
            portal.call(
                signal.pthread_sigmask, signal.SIG_SETMASK, ()
            )  # processes that it starts must receive signals
        stop = portal.call(anyio.Event)
        tasks: list[tuple[_Connection, Any]] = []

        def end() -> None:
            portal.call(stop.set)
            for server, task in tasks:
                if not server.started.is_set():  # still starting, so it does not wait for `stop`
                    task.cancel()

        self._stack.callback(end)
        for server in self._running.values():
            tasks.append((server, portal.start_task_soon(self._serve, server, stop, portal)))
        for server in self._running.values():
            server.started.wait()

    async def _serve(self, server: _Connection, stop: Any, portal: Any) -> None:
        """Keeps one server connected until `stop`."""
        import anyio
        from mcp.client.client import Client

        status, entry = server.status, server.entry

        async def call(tool: str, arguments: ToolArguments) -> Result:
            with anyio.fail_after(CALL_SECONDS):
                result = await client.call_tool(tool, arguments)
            return _result(result)

        async def heard(message: Any) -> None:
            if isinstance(message, Exception):
                errors: Sequence[Mapping[str, Any]] = getattr(message, "errors", list)()
                line = str(errors[0].get("input", "") if errors else message)  # that is no message
                status.fault = status.fault or _PRINTS.format(" ".join(line.split())[:80])

        reason = f"not ready in {self._start_seconds:g} s (agent.mcp_start_s)"
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._start_seconds) as starting:
                transport = (
                    _http_transport(server)
                    if entry.url
                    else _stdio_transport(entry, self._workspace, self._environment, server.errors)
                )
                async with Client(transport, message_handler=heard) as client:
                    status.tools, ends = await _list_tools(client, status.name)
                    status.fault = status.fault or ("" if ends else _NO_END)
                    starting.deadline = float("inf")
                    status.instructions, status.connected = client.instructions or "", True
                    status.version = client.server_info.version if client.server_info else ""
                    server.call = partial(portal.call, call)
                    server.started.set()
                    await stop.wait()
            status.is_late = starting.cancelled_caught
        except Exception as error:
            reason = server.refusal or _reason(error)
        if not server.started.is_set():
            remedy = (
                "; start the server first, or correct this address"
                if reason.startswith("ConnectError")
                else ""
            )
            sentence = f"{entry.url}: {reason}{remedy}" if entry.url else reason
            status.said = _end(server.errors)
            status.detail = ". ".join(part for part in (sentence, _last_line(status.said)) if part)
            server.started.set()


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


def _stdio_transport(
    entry: ServerEntry, workspace: str, environment: Mapping[str, str], errors: IO[bytes]
) -> Any:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = entry.command
    env = {**environment, **dict(entry.env)}
    parameters = StdioServerParameters(command=program, args=arguments, env=env, cwd=workspace)
    return stdio_client(parameters, errlog=errors)  # type: ignore[arg-type]  # passed to the process unchanged


@asynccontextmanager
async def _http_transport(server: _Connection) -> AsyncIterator[Any]:
    """The SDK's HTTP transport, with the entry's headers in every request; a proxy cannot reach this machine."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    entry = server.entry

    async def note(response: Any) -> None:
        if response.status_code in (401, 403) and not server.refusal:
            remedy = _NO_TOKEN[bool(entry.headers)]
            server.refusal = f"{response.status_code} {response.reason_phrase}: {remedy}"

    is_local = any(host.is_local for host in hosts_in([entry.url]))
    client = partial(
        httpx2.AsyncClient,
        timeout=httpx2.Timeout(30, read=300),
        trust_env=not is_local,
        event_hooks={"response": [note]},
    )
    async with (
        client(headers=dict(entry.headers), follow_redirects=not entry.headers) as http,
        streamable_http_client(entry.url, http_client=http) as streams,
    ):
        yield streams


async def _list_tools(client: Any, server: str) -> tuple[tuple[OfferedTool, ...], bool]:
    """The tools of all pages, each once, and whether the pages end."""
    tools: dict[str, OfferedTool] = {}
    cursor = None
    former = set[str | None]()
    grows = True
    while cursor not in former and grows and len(former) < _MOST_PAGES:
        former.add(cursor)
        page = await client.list_tools(cursor=cursor)
        grows = not page.tools or any(tool.name not in tools for tool in page.tools)
        for tool in page.tools:
            hints = tool.annotations
            changes = bool(hints and (hints.destructive_hint or hints.read_only_hint is False))
            reads = bool(hints and hints.read_only_hint)
            description = tool.description or ""
            tools[tool.name] = OfferedTool(
                server, tool.name, description, dict(tool.input_schema), changes, reads
            )
        cursor = page.next_cursor or None
    return tuple(tools.values()), cursor is None


def _result(result: Any) -> Result:
    """What agents show their model: the blocks of text, also of embedded files; without them the structured content."""
    blocks = [getattr(block, "resource", block) for block in result.content]
    text = "\n".join(block.text for block in blocks if getattr(block, "text", None))
    if text or not result.structured_content:
        return Result(text, bool(result.is_error))
    return Result(
        json.dumps(result.structured_content, ensure_ascii=False),
        bool(result.is_error),
        is_structured=True,
    )


def _reason(error: BaseException) -> str:
    """The first error inside groups of them, in one line."""
    from pydantic import ValidationError  # MCP's messages are its models

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        wrong = "is missing" if first["type"] == "missing" else f"is wrong: {first['msg']}"
        place = ".".join(map(str, first["loc"]))
        if tool := re.fullmatch(r"tools\.(\d+)\.(.+)", place):
            place = f"{tool[2]} of its tool number {int(tool[1]) + 1}"
        return f"its answer is no {error.title} of MCP: {place} {wrong}"[:300]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _end(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4000))
    return errors.read().decode("utf-8", "replace").strip()


def _last_line(output: str) -> str:
    """The last line, or the error's own line, below which Node prints its stack and version."""
    lines = sorted(output.splitlines(), key=lambda line: "--help" not in line)
    errors = [line for line in lines if re.match(r"\w*Error\b.*: ", line)]
    return " ".join((errors or lines)[-1].split())[:300] if lines else ""
