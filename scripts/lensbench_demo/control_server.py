"""The control server: an MCP server over stdio that starts, lists one tool, and has no useful function.

python -I server.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

TOOL = {
    "name": "rest",
    "description": "Does nothing.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


def reply(method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that the server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "control", "version": "1"},
        }
    results: dict[str, dict[str, Any]] = {
        "ping": {},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "rested"}], "isError": False},
    }
    return results.get(method)


def main() -> None:
    """Serves until standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = reply(request["method"], request.get("params", {}))
            answer = (
                {"error": {"code": -32601, "message": "no such method"}}
                if result is None
                else {"result": result}
            )
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
