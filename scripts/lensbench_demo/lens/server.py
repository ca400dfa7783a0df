"""The server of the SDK, for HTTP: the same tools as over stdio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from lensbench import __version__
from lensbench_demo.lens.tools import listing

Context = ServerRequestContext[Any, Any]


def make_server(call_tool: Callable[[str, object], dict[str, Any]]) -> Server[Any]:
    """The server, whose calls are answered by `call_tool`."""

    async def list_tools(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult.model_validate({"tools": listing()})

    async def call(context: Context, params: CallToolRequestParams) -> CallToolResult:
        result = await anyio.to_thread.run_sync(call_tool, params.name, params.arguments)
        return CallToolResult.model_validate(result)

    return Server("lens", version=__version__, on_list_tools=list_tools, on_call_tool=call)


def serve(call_tool: Callable[[str, object], dict[str, Any]], host: str, port: int) -> None:
    """Serves `/mcp` until the process is stopped."""
    app = make_server(call_tool).streamable_http_app(host=host)
    uvicorn.run(app, host=host, port=port, log_level="warning")
