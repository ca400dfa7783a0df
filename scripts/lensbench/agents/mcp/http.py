"""Speaks MCP with an address by streamable HTTP, with the official SDK. It is asynchronous, so it runs in a thread, and
slow to import, so this module is imported only where there is an address."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from lensbench.agents.mcp.stdio import Message, ServerEnded, ServerProblem
from lensbench.agents.reach import hosts_in
from lensbench.core.system.processes import held_signals

_NO_TOKEN = (
    "it wants a login, and none in a browser (OAuth) is possible: add "
    '"headers": {"Authorization": "Bearer ${TOKEN}"}'
)
_OLD_TOKEN = "the token in its headers is wrong or has expired: export a new one (docs/logins.md)"


@contextmanager
def sdk_thread() -> Iterator[BlockingPortal]:
    """Runs the SDK."""
    logging.disable(logging.CRITICAL)  # it logs a traceback for each broken message
    portal = start_blocking_portal()
    with held_signals():  # one in between would wait forever for a thread that nothing stops
        running = portal.__enter__()
    try:
        yield running
    finally:
        portal.__exit__(None, None, None)


class Address:
    """A connection to an address."""

    def __init__(self, portal: BlockingPortal, url: str, headers: Mapping[str, str]) -> None:
        self._portal = portal
        self._url = url
        self._headers = headers
        self._refusal = ""
        self._client = Future[Client]()
        self._over = portal.call(anyio.Event)
        self._connection = portal.start_task_soon(self._connect)

    def greet(self, seconds: float) -> Message:
        """The handshake; returns what the server says of itself. Raises as `ask`."""
        client = self._result(self._client, seconds)
        about = client.server_info
        version = about.version if about else ""
        return {"instructions": client.instructions, "serverInfo": {"version": version}}

    def ask(self, method: str, params: Message, seconds: float) -> Message:
        """The result of `tools/list` or `tools/call`. Raises ServerProblem, TimeoutError, and errors of the SDK."""
        client = self._client.result(0)

        async def result() -> Any:
            if method == "tools/list":
                return await client.list_tools(cursor=params.get("cursor"))
            return await client.call_tool(params["name"], params["arguments"])

        asked = self._portal.start_task_soon(result)
        try:
            answer = self._result(asked, seconds)
        finally:
            asked.cancel()
        said: Message = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return said

    def close(self) -> None:
        """Ends the connection."""
        self._portal.call(self._over.set)
        if not self._client.done():  # it does not wait for the end yet
            self._connection.cancel()

    def _result(self, future: Future[Any], seconds: float) -> Any:
        try:
            return future.result(seconds)
        except Exception as error:
            cause = _first(error)
            if self._refusal:
                raise ServerProblem(self._refusal) from None
            if isinstance(cause, MCPError) and cause.error.code == CONNECTION_CLOSED:
                raise ServerEnded from None
            if isinstance(cause, httpx2.ConnectError):
                raise ServerProblem(
                    f"{cause}; start the server first, or correct this address"
                ) from None
            raise cause from None

    async def _connect(self) -> None:
        """Keeps the connection until the end."""
        try:
            async with Client(self._transport()) as client:
                self._client.set_result(client)
                await self._over.wait()
        except Exception as error:
            if not self._client.done():
                self._client.set_exception(error)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        """The SDK's, with the headers in every request; a proxy cannot reach this machine."""

        async def note(response: Any) -> None:
            if response.status_code in (401, 403) and not self._refusal:
                remedy = _OLD_TOKEN if self._headers else _NO_TOKEN
                self._refusal = f"{response.status_code} {response.reason_phrase}: {remedy}"

        http = httpx2.AsyncClient(
            headers=dict(self._headers),
            timeout=httpx2.Timeout(30, read=300),
            trust_env=not any(host.is_local for host in hosts_in([self._url])),
            follow_redirects=not self._headers,
            event_hooks={"response": [note]},
        )
        async with http, streamable_http_client(self._url, http_client=http) as streams:
            yield streams


def _first(error: BaseException) -> BaseException:
    """The first error inside groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
