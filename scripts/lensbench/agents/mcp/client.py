"""The MCP client: servers from an `mcpServers` file, over stdio or streamable HTTP, with the official SDK. The SDK is
asynchronous and slow to import, so it is imported only when there is a server to start, and runs in its own thread."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import IO, Any

from lensbench.agents.mcp.tools import Arguments, OfferedTool
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
    "the token in its headers is wrong or has expired: export a new one",
)
_NO_END = "its tools/list never ends: it names a next page again and again, which makes some agents fail"


@dataclass(frozen=True)
class ServerEntry:
    """A server of the file: a program with its arguments and environment, or an address."""

    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ServerStatus:
    """How the start of a server ended."""

    name: str
    connected: bool
    detail: str = ""
    fault: str = ""
    """What is wrong with it, although it may work: a sentence."""
    said: str = ""
    """The end of its standard error, when it did not start."""


@dataclass(frozen=True)
class Result:
    """What a call gave."""

    text: str
    is_error: bool
    is_structured: bool = False
    """The text is only in the structured content."""


@dataclass(frozen=True)
class _Connection:
    call: Callable[[str, Arguments], Any]
    tools: tuple[OfferedTool, ...]


class Servers:
    """The running servers. A context manager: on leaving it, none of their processes is left."""

    def __init__(
        self,
        entries: dict[str, ServerEntry | str],
        workspace: str,
        start_seconds: float,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Programs start in `workspace` with `environment`, to which their entries may add."""
        self._entries = entries
        self._workspace = workspace
        self._environment = environment
        self._start_seconds = start_seconds
        self._connections: dict[str, _Connection] = {}
        self._stack = ExitStack()
        self._dead: set[str] = set()
        self._reasons: dict[str, Any] = {}
        self._faults: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._errors: dict[str, IO[bytes]] = {}  # their standard error
        self._refusals: dict[str, str] = {}  # why an address refuses requests
        self.instructions: dict[str, str] = {}  # what each server tells the model about itself

    @property
    def statuses(self) -> tuple[ServerStatus, ...]:
        """How each server is, in the order of the file."""
        reasons = {name: reason if isinstance(reason, str) else "" for name, reason in self._reasons.items()}
        return tuple(
            ServerStatus(name, name in self._connections, reason, self._faults.get(name, ""), self._said.get(name, ""))
            for name, reason in reasons.items()
        )

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """All tools of the connected servers, by server in the order of the file."""
        return tuple(tool for connection in self._connections.values() for tool in connection.tools)

    def __enter__(self) -> Servers:
        usable = {name: entry for name, entry in self._entries.items() if isinstance(entry, ServerEntry)}
        try:
            outcomes = self._start(usable) if usable else {}
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._connections = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, _Connection)}
        self._reasons = self._entries | outcomes
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if any(isinstance(entry, ServerEntry) and entry.command for entry in self._entries.values()):
            end_children()

    def call(self, tool: OfferedTool, arguments: Arguments) -> Result:
        """The tool's result; every error is a result with `is_error`."""
        if tool.server in self._dead:
            return Result("the server did not answer an earlier call", True)
        try:
            result: Result = self._connections[tool.server].call(tool.name, arguments)
        except TimeoutError:
            self._dead.add(tool.server)
            return Result(f"no answer in {CALL_SECONDS:g} s", True)
        except Exception as error:
            reason = self._refusals.get(tool.server) or _reason(error)
            return Result(reason.replace("MCPError: Connection closed", "the server ended in this call"), True)
        return result

    def last_words(self, server: str) -> str:
        """The end of a server's standard error, in one line."""
        return _last_line(_end(self._errors[server]))

    def _start(self, entries: dict[str, ServerEntry]) -> dict[str, _Connection | str]:
        """Starts all servers at once. Returns each one's connection, or why it has none."""
        import anyio
        from anyio.from_thread import start_blocking_portal

        logging.disable(logging.CRITICAL)  # the SDK logs a traceback for each line that a broken server prints
        if any(entry.command for entry in entries.values()):
            adopt_orphans()
        ready: dict[str, Future[_Connection | str]] = {name: Future() for name in entries}
        self._errors = {name: self._stack.enter_context(tempfile.TemporaryFile()) for name in entries}  # noqa: SIM115
        with held_signals():  # a signal in between would wait forever for a thread that nothing stops
            portal = self._stack.enter_context(start_blocking_portal())
            portal.call(signal.pthread_sigmask, signal.SIG_SETMASK, ())  # processes that it starts must receive signals
        stop = portal.call(anyio.Event)
        running: dict[str, Future[None]] = {}

        def end() -> None:
            portal.call(stop.set)
            for name, task in running.items():
                if not ready[name].done():  # still starting, so it does not wait for `stop`
                    task.cancel()

        self._stack.callback(end)
        for name, entry in entries.items():
            running[name] = portal.start_task_soon(self._serve, name, entry, ready[name], stop, portal)
        return {name: future.result() for name, future in ready.items()}

    async def _serve(
        self, name: str, entry: ServerEntry, ready: Future[_Connection | str], stop: Any, portal: Any
    ) -> None:
        """Keeps one server connected until `stop`; sets `ready` to the outcome of its start."""
        import anyio
        from mcp.client.client import Client

        async def call(tool: str, arguments: Arguments) -> Result:
            with anyio.fail_after(CALL_SECONDS):
                result = await client.call_tool(tool, arguments)
            return _result(result)

        async def heard(message: Any) -> None:
            if isinstance(message, Exception):
                errors: Sequence[Mapping[str, Any]] = getattr(message, "errors", list)()
                line = str(errors[0].get("input", "") if errors else message)  # that is no message
                self._faults.setdefault(name, _PRINTS.format(" ".join(line.split())[:80]))

        reason = f"not ready in {self._start_seconds:g} s (agent.mcp_start_s)"
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._start_seconds) as starting:
                transport = (
                    _http_transport(entry, partial(self._refusals.setdefault, name))
                    if entry.url
                    else _stdio_transport(entry, self._workspace, self._environment, self._errors[name])
                )
                async with Client(transport, message_handler=heard) as client:
                    tools, ends = await _list_tools(client, name)
                    if not ends:
                        self._faults.setdefault(name, _NO_END)
                    starting.deadline = float("inf")
                    self.instructions[name] = client.instructions or ""
                    ready.set_result(_Connection(lambda tool, values: portal.call(call, tool, values), tools))
                    await stop.wait()
        except Exception as error:
            reason = self._refusals.get(name) or _reason(error)
        if not ready.done():
            remedy = "; start the server first, or correct this address" if reason.startswith("ConnectError") else ""
            sentence = f"{entry.url}: {reason}{remedy}" if entry.url else reason
            self._said[name] = _end(self._errors[name])
            ready.set_result(". ".join(part for part in (sentence, _last_line(self._said[name])) if part))


def read_entry(value: Any) -> ServerEntry | str:
    """A server of an MCP file, or what is wrong with its entry."""
    if not isinstance(value, dict) or ("command" in value) == ("url" in value):
        return "write a mapping with either a command or a url"
    command, url, kind = value.get("command"), value.get("url"), value.get("type")
    args, env, headers = value.get("args", []), value.get("env", {}), value.get("headers", {})
    if "url" in value:
        if kind not in (None, "http", "streamable-http"):
            return f"type is {kind!r}, which is not supported; give the server's address for type http"
        if not isinstance(url, str) or not url.startswith(("http://", "https://", "${")):
            return f"url is {url!r}; it must begin with http:// or https://"
        return _no_text("headers", headers) or ServerEntry(url=url, headers=tuple(headers.items()))
    is_line = isinstance(command, str) and " " in command and "${" not in command and not os.path.exists(command)
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
    return "" if wrong is None else f"{key}.{wrong} is {value[wrong]!r}; write a text, in double quotes"


def _stdio_transport(entry: ServerEntry, workspace: str, environment: Mapping[str, str], errors: IO[bytes]) -> Any:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = entry.command
    env = {**environment, **dict(entry.env)}
    parameters = StdioServerParameters(command=program, args=arguments, env=env, cwd=workspace)
    return stdio_client(parameters, errlog=errors)  # type: ignore[arg-type]  # passed to the process unchanged


@asynccontextmanager
async def _http_transport(entry: ServerEntry, refuse: Callable[[str], object]) -> AsyncIterator[Any]:
    """The SDK's HTTP transport, with the entry's headers in every request; a proxy cannot reach this machine. `refuse`
    gets why the server refuses a request, which the SDK does not tell."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def note(response: Any) -> None:
        if response.status_code in (401, 403):
            refuse(f"{response.status_code} {response.reason_phrase}: {_NO_TOKEN[bool(entry.headers)]}")

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
    cursor, former, grows = None, set[str | None](), True
    while cursor not in former and grows:
        former.add(cursor)
        page = await client.list_tools(cursor=cursor)
        grows = not page.tools or any(tool.name not in tools for tool in page.tools)
        for tool in page.tools:
            hints = tool.annotations
            changes = bool(hints and (hints.destructive_hint or hints.read_only_hint is False))
            reads, description = bool(hints and hints.read_only_hint), tool.description or ""
            tools[tool.name] = OfferedTool(server, tool.name, description, dict(tool.input_schema), changes, reads)
        cursor = page.next_cursor or None
    return tuple(tools.values()), cursor is None


def _result(result: Any) -> Result:
    """What agents show their model: the blocks of text, also of embedded files; without them the structured content."""
    blocks = [getattr(block, "resource", block) for block in result.content]
    text = "\n".join(block.text for block in blocks if getattr(block, "text", None))
    if text or not result.structured_content:
        return Result(text, bool(result.is_error))
    return Result(json.dumps(result.structured_content, ensure_ascii=False), bool(result.is_error), is_structured=True)


def _reason(error: BaseException) -> str:
    """The first error inside groups of them, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _end(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4000))
    return errors.read().decode("utf-8", "replace").strip()


def _last_line(output: str) -> str:
    """The last line, or the error's own line, below which Node prints its stack and version."""
    lines = sorted(output.splitlines(), key=lambda line: "--help" not in line)
    errors = [line for line in lines if re.match(r"\w*Error\b.*: ", line)]
    return " ".join((errors or lines)[-1].split())[:300] if lines else ""
