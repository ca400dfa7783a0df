"""The server over stdio: JSON-RPC, a message a line.

The SDK would do the same, but its import takes half a second, more than the rest of a run of the demo.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import IO, Any

from lensbench import __version__
from lensbench_demo.lens.tools import listing

Json = dict[str, Any]
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first; they do not differ in what is used here."""
NO_JSON, NO_REQUEST, NO_METHOD, NO_PARAMETERS = -32700, -32600, -32601, -32602


def serve(
    lines: Iterable[bytes], replies: IO[str], call_tool: Callable[[str, object], Json]
) -> None:
    """Answers the requests in `lines` until they end, one after the other."""
    for line in lines:
        reply = _reply(line, call_tool)
        if reply:
            replies.write(json.dumps({"jsonrpc": "2.0", **reply}) + "\n")
            replies.flush()


def _reply(line: bytes, call_tool: Callable[[str, object], Json]) -> Json | None:
    """The reply to a line; None where none is due: to a notification, or to a reply of the client."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, **_error(NO_JSON, "This line is not JSON")}
    if not isinstance(message, dict):
        return {"id": None, **_error(NO_REQUEST, "This message is not an object")}
    if "id" not in message or "method" not in message:
        return None
    return {"id": message["id"], **_answer(message["method"], message.get("params"), call_tool)}


def _answer(method: object, params: object, call_tool: Callable[[str, object], Json]) -> Json:
    given = params if isinstance(params, dict) else {}
    if method == "initialize" and isinstance(asked := given.get("protocolVersion"), str):
        return {"result": _introduction(asked)}
    if method == "tools/list":
        return {"result": {"tools": listing()}}
    if method == "tools/call" and isinstance(name := given.get("name"), str):
        return {"result": call_tool(name, given.get("arguments"))}
    if method == "ping":
        return {"result": {}}
    if method in ("initialize", "tools/call"):
        return _error(NO_PARAMETERS, "Invalid request parameters")
    return _error(NO_METHOD, "Method not found")


def _introduction(asked: str) -> Json:
    """What the server is; it speaks the version that the client asks for, if it can."""
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "lens", "version": __version__},
    }


def _error(code: int, message: str) -> Json:
    return {"error": {"code": code, "message": message}}
