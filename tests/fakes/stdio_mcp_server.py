"""A small MCP server over stdio for the tests of agents: two tools, `find` and `crash`, and whatever goes wrong.

It speaks JSON-RPC by hand, because it must start in a moment, late, or not at all.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
        },
    }
    for name, description in (
        ("find", "Finds code."),
        ("crash", "Ends the server in the middle of the call."),
    )
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that it does not have: clients ask, and wait for that."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lens", "version": "1"},
            "instructions": "Prefer find.",
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        if params["name"] == "crash":
            sys.exit(1)
        text = f"found {params['arguments']['query']} in src/cart.py:3"
        return {
            "content": [{"type": "text", "text": text}],
            "isError": params["arguments"]["query"] == "fail",
        }
    return {} if method == "ping" else None


def main() -> None:
    """Serves until standard input ends."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--start-s", type=float, default=0, help="seconds before it can be spoken to"
    )
    parser.add_argument(
        "--lists", type=int, default=len(TOOLS), help="how many of its tools it lists"
    )
    parser.add_argument("--call-it", default="find", help="the name of find")
    parser.add_argument(
        "--describe", default=TOOLS[0]["description"], help="the description of find"
    )
    parser.add_argument("--require", default="query", help="the argument that find requires")
    parser.add_argument(
        "--tokens", type=Path, help="a file with the values of TOKEN that are valid"
    )
    arguments = parser.parse_args()
    TOOLS[0]["inputSchema"]["required"] = [arguments.require]
    TOOLS[0] |= {"name": arguments.call_it, "description": arguments.describe}
    del TOOLS[arguments.lists :]
    time.sleep(arguments.start_s)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params", {}))
        valid = arguments.tokens.read_text(encoding="utf-8").split() if arguments.tokens else None
        is_call = request["method"] == "tools/call"
        if is_call and valid is not None and os.environ["TOKEN"] not in valid:
            text = "upstream: 401 Unauthorized, the token has expired"
            result = {"content": [{"type": "text", "text": text}], "isError": True}
        said = (
            {"error": {"code": -32601, "message": "no such method"}}
            if result is None
            else {"result": result}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
